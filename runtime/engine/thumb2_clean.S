/* SPDX-License-Identifier: LGPL-2.1-only */
/* The translator in Thumb-2 itself, for the Cortex-M3 and later: its loop, functions, and what 32-bit clean programs consist of. What others need besides is
 * in C (thumb2.c and its parts), as is all of this for other cores; both write the same code.
 *
 *     r0  where code goes             r6   what else is asked: a condition, what a load moves, the register that an operation begins with
 *     r1  the state (emitter)         r7   the slot's text
 *     r2  the slot's first word       r8   its place in the map
 *     r3  and its constant            r9   where the code begins
 *     r4  its destination             r10  no slot's code begins behind this
 *     r5  its source                  r11  where a slot's handler returns to: lr, too, where it begins
 *
 * What writes an instruction takes registers from r4 and r5, and may change r2 to r6 and r12; some leave r4, r5 or r6, as those who need that know. What C
 * calls, too, does not look at r7 to r10, unless a program is clean. */
#if defined(__thumb2__)

#include "thumb2_offsets.h"

    .syntax unified
    .thumb
    .text

.macro DST reg
    ubfx \reg, r2, #8, #4
.endm
.macro SRC reg
    ubfx \reg, r2, #12, #4
.endm
/* The register that an operation begins with. */
.macro A reg
    ubfx \reg, r2, #20, #4
.endm

.macro FUNCTION name
    .thumb_func
    .type \name, %function
\name:
.endm

/* The next slot is done with, from here on, and is the one looked at. */
.macro TAKE_NEXT free
    sub \free, r0, r9
    lsrs \free, \free, #1
    strh \free, [r8, #2]!
    adds r7, #8
.endm

/* To `otherwise`, if the program is not clean. */
.macro UNLESS_CLEAN otherwise
#if !LPN_CLEAN32_ONLY
    ldrb r12, [r1, #THUMB2_WIDE]
    cmp r12, #0
    bne \otherwise
#endif
.endm

#include "thumb2_begin.inc"

/* ------------------------------------------------------------------------------------ all slots
 * from the first on, until there is no room. */
begun:
    mov r0, r9
    adr r6, next + 1
    mov r11, r6
    subs r7, #8
    sub r8, #2
next:
    adds r7, #8
    ldrh r4, [r8, #2]!
    cbnz r4, waited
write:
    cmp r0, r10
    bhi over
    sub r4, r0, r9
    lsrs r4, #1
    strh r4, [r8]
    ldr r2, [r7]
    ldr r3, [r7, #4]
    mov lr, r11
    DST r4
    SRC r5
#if LPN_CLEAN32_ONLY
    and r6, r2, #7
    tbh [pc, r6, lsl #1]
classes:
    .hword (to_load_address - classes) / 2, (to_load - classes) / 2, (to_store_const - classes) / 2, (to_store_reg - classes) / 2
    .hword (clean_alu - classes) / 2, (to_jump - classes) / 2, (to_jump - classes) / 2, (clean_alu - classes) / 2
#else
    ldr r12, [r1, #THUMB2_CLASSES]
    and r6, r2, #15
    ldr pc, [r12, r6, lsl #2]
#endif

waited:
    lsls r5, r4, #16
    bmi target
    cmp r4, #THUMB2_DONE
    beq 1f
    adds r5, r4, #1
    lsls r5, #16
    bpl next                            /* not THUMB2_END, which is THUMB2_TARGET - 1 */
    cmp r0, r10
    bhi over
1:  sub r5, r0, r9
    lsrs r5, #1
    strh r5, [r8]
    cmp r4, #THUMB2_DONE
    beq next
    movs r5, #0
    b finish

/* Others jump to it, or a function begins with it. */
target:
    movs r5, #0
    str r5, [r1, #THUMB2_TOLD]
#if !LPN_CLEAN32_ONLY
    str r5, [r1, #THUMB2_ZERO]
#endif
    ldr r5, [r1, #THUMB2_LAST]
    cmp r5, r8
    beq begin
arrived:
    bl arrive
    b write

#if !LPN_CLEAN32_ONLY
/* By class, without and with the bit that says: of a register. */
    .balign 4
classes:
    .irp any, to_load_address, to_load, to_store_const, to_store_reg, clean_imm, to_jump, to_jump, clean_imm
    .word \any + 1
    .endr
    .irp any, to_load_address, to_load, to_store_const, to_store_reg, clean_reg, to_jump, to_jump, clean_reg
    .word \any + 1
    .endr
    .rept 2
    .irp any, to_load_address, to_load_other, to_store_const, to_store_reg, to_alu, to_jump, to_jump, to_alu
    .word \any + 1
    .endr
    .endr
#endif

#include "thumb2_jump.inc"
#include "thumb2_function.inc"
#include "thumb2_reg.inc"
#include "thumb2_imm.inc"
#include "thumb2_const.inc"
#include "thumb2_memory.inc"

#if !LPN_CLEAN32_ONLY
/* ------------------------------------------------------------------------------------ what C does, of a slot */

.macro LEFT_TO name
to_\name:
    str r8, [r1, #THUMB2_SLOT]
    push {r1, r2}
    bl lpn_thumb2_\name
    pop {r1, r2}
    bx r11
.endm

    LEFT_TO load_other
    LEFT_TO store_other
    LEFT_TO alu
    LEFT_TO leave
    LEFT_TO clear_upper

/* ------------------------------------------------------------------------------------ what C calls, too */

.macro SHARED name, registers:vararg
    .global lpn_thumb2_\name
FUNCTION lpn_thumb2_\name
    push {r4-r6, r11, lr}
    adr r11, back + 1
    mov lr, r11
    \registers
    b \name
.endm
.macro REGISTERS
    DST r4
    SRC r5
.endm
.macro BEGUN with
    REGISTERS
    A \with
    bic r2, #0xf00000
.endm

    SHARED load_const, mov r4, r2
    SHARED add_const, BEGUN r5
    SHARED alu_imm, BEGUN r5
    SHARED alu_reg, BEGUN r6
    SHARED byte_swap, REGISTERS
    SHARED move_other, REGISTERS
    SHARED access_mem

access_mem:
    and r5, r2, #15
    ubfx r4, r2, #4, #4
    ubfx r6, r2, #8, #9
    cmp r2, #0
    blt 1f
    cmp r6, #0x100
    blo access
    b access_wide
1:  ldr r12, [r1, #THUMB2_TOLD]
    cmp r12, r0
    beq keep
    b access
    .balign 4
back:
    pop {r4-r6, r11, pc}
#endif

#endif
