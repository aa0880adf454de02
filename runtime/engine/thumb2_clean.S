/* SPDX-License-Identifier: LGPL-2.1-only */
/* The translator's common ways in Thumb-2 itself, for the Cortex-M3 and later: its loop, and what 32-bit clean programs consist of. What is rare is in C
 * (thumb2.c and its parts), as are all of these for other cores; both write the same code.
 *
 *     r0  where code goes           r7   the slot's text
 *     r1  the state (emitter)       r8   its place in the map
 *     r2  the slot's first word     r9   where the code begins
 *     r3  and its constant          r10  no slot's code begins behind this; r11: the state, too
 *
 * r4 to r6 and r12 are free. What C calls, too, keeps r7 to r11 and does not look at them, unless a program is clean. */
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

/* ------------------------------------------------------------------------------------ all slots
 * emit(e, text): from the first on, until there is no room. Returns where the code ends. */
    .global lpn_thumb2_emit
FUNCTION lpn_thumb2_emit
    push {r3-r11, lr}
    mov r7, r1
    mov r11, r0
    mov r1, r0
    ldr r9, [r0, #THUMB2_CODE]
    ldr r10, [r0, #THUMB2_FULL]
    ldr r8, [r0, #THUMB2_FIRST]
    mov r0, r9
    b slot
next:
    adds r7, #8
    add r8, #2
slot:
    ldrh r4, [r8]
    cbnz r4, waited
write:
    cmp r0, r10
    bhi over
    sub r4, r0, r9
    lsrs r4, #1
    strh r4, [r8]
    ldr r2, [r7]
    ldr r3, [r7, #4]
    ldr r5, [r1, #THUMB2_CLASSES]
    and r4, r2, #15
    adr lr, next + 1
    ldr pc, [r5, r4, lsl #2]

waited:
    lsls r5, r4, #16
    bmi target
    cmp r4, #THUMB2_DONE
    bne 1f
    sub r4, r0, r9
    lsrs r4, #1
    strh r4, [r8]
    b next
1:  movw r5, #THUMB2_END
    cmp r4, r5
    bne next
    sub r4, r0, r9
    lsrs r4, #1
    strh r4, [r8]
over:
    pop {r3-r11, pc}

target:
    str r8, [r1, #THUMB2_SLOT]
    movs r5, #0
    str r5, [r1, #THUMB2_ZERO]
    str r5, [r1, #THUMB2_TOLD]
    ldr r5, [r1, #THUMB2_LAST]
    cmp r5, r8
    beq 1f
    ubfx r2, r4, #0, #15
    cmp r2, #0
    beq write
    bl arrive
    b write
1:  mov r2, r8
    mov r3, r7
    bl lpn_thumb2_begin
    mov r1, r11
    b write

/* mark_back(slot, text, count, any): the targets of jumps back. Four slots at once: class 5 or 6 and an offset below 0, or one that has none; of
 * the first ones, each. */
    .global lpn_thumb2_mark_back
FUNCTION lpn_thumb2_mark_back
    push {r4-r9, lr}
    cbz r3, 1f
    mov r3, #-1
1:  movs r12, #0
2:  lsls r4, r2, #30
    beq 3f
    bl back
    adds r0, #2
    adds r1, #8
    subs r2, #1
    b 2b
3:  cbz r2, 6f
4:  ldr r4, [r1]
    ldr r5, [r1, #8]
    ldr r6, [r1, #16]
    ldr r7, [r1, #24]
    and r4, r4, r4, lsl #29
    and r5, r5, r5, lsl #29
    and r6, r6, r6, lsl #29
    and r7, r7, r7, lsl #29
    orr r8, r4, r5
    orr r8, r6
    orr r8, r7
    orrs r8, r3
    bmi 7f
5:  adds r1, #32
    adds r0, #8
    subs r2, #4
    bne 4b
6:  pop {r4-r9, pc}
7:  .irp reg, r4, r5, r6, r7
    orrs \reg, r3
    it mi
    blmi back
    add r12, #1
    .endr
    movs r4, #0
    mov r12, r4
    b 5b

/* The target of the slot r12 behind r1, if it jumps back. */
back:
    ldr r8, [r1, r12, lsl #3]
    and r9, r8, #7
    cmp r9, #5
    it ne
    cmpne r9, #6
    bne 2f
    uxtb r9, r8
    cmp r9, #0x06
    it ne
    cmpne r9, #0x85
    bne 1f
    add r8, r1, r12, lsl #3
    ldr r8, [r8, #4]
    b 3f
1:  asr r8, r8, #16
3:  add r8, #1
    cmp r8, #0
    bgt 2f
    add r8, r12
    mov r9, #THUMB2_TARGET
    add r8, r0, r8, lsl #1
    strh r9, [r8]
2:  bx lr

#include "thumb2_const.inc"
#include "thumb2_memory.inc"
#include "thumb2_imm.inc"
#include "thumb2_reg.inc"
#include "thumb2_jump.inc"

/* ------------------------------------------------------------------------------------ what C does, of a slot */

.macro LEFT_TO name
    .global lpn_thumb2_to_\name
FUNCTION lpn_thumb2_to_\name
to_\name:
    str r8, [r1, #THUMB2_SLOT]
    push {r1, lr}
    bl lpn_thumb2_\name
    pop {r1, pc}
.endm

    LEFT_TO load_address
    LEFT_TO call_local
#if !LPN_CLEAN32_ONLY
    LEFT_TO load_other
    LEFT_TO store_other
    LEFT_TO alu
    LEFT_TO leave
    LEFT_TO clear_upper
#endif

/* ------------------------------------------------------------------------------------ what C calls, too */

.macro SHARED name
    .global lpn_thumb2_\name
FUNCTION lpn_thumb2_\name
    push {r4-r6, lr}
    bl \name
    pop {r4-r6, pc}
.endm

    SHARED load_const
    SHARED add_const
    SHARED put_long
    SHARED arrive
#if !LPN_CLEAN32_ONLY
    SHARED op_const
    SHARED access_mem
    SHARED alu_imm
    SHARED alu_reg
    SHARED byte_swap
    SHARED move_other
#endif

#endif
