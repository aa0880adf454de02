/* SPDX-License-Identifier: LGPL-2.1-only */
/* The common instructions of 32-bit clean programs in Thumb-2, for the Cortex-M3 and later, as a plan has them (vm32_plan.c). What is
 * rare, and what fails, goes to lpn_step32 (vm32.c), which does one instruction.
 *
 *     r4  ip: the address of this instruction        r8  where the budget ends, less 8
 *     r5  its first word: opcode, dst, src, offset   r10 reads: per register the region of its last load
 *     r6  the registers (lpn_vm32)                   r11 writes: and of its last store
 *     r7  the table of handlers                      r9  the region last found for a load, by the slow way
 *     lr  the plan's byte for this instruction
 *
 * r0-r3 and r12 are free. An instruction fetches the next one's word and byte among its own loads, because loads behind loads take one
 * cycle. */
#include "vm32_offsets.h"

#if defined(__thumb2__) && !LPN_SMALLEST

#include "vm32_ops.h"

    .syntax unified
    .thumb
    .text

/* The word and the byte of what comes `slots` behind. */
.macro FETCH slots=1
    ldr r5, [r4, #8 * \slots]!
    ldrb r0, [lr, #\slots]!
.endm

/* Jump to the handler in r0. */
.macro GO
    ldr pc, [r7, r0, lsl #2]
.endm

.macro NEXT slots=1
    FETCH \slots
    GO
.endm

.macro DST reg
    ubfx \reg, r5, #8, #4
.endm

.macro SRC reg
    ubfx \reg, r5, #12, #4
.endm

/* r3 = the second operand, r1 = the number of the first one's register. */
.macro OPERANDS_imm
    DST r1
    ldr r3, [r4, #4]
.endm
.macro OPERANDS_reg
    SRC r3
    DST r1
    ldr r3, [r6, r3, lsl #2]
.endm

/* Both forms of an instruction. The smallest engine has the rest of it once. */
.macro FORMS name, rest:vararg
#if LPN_FUSE
\name\()_imm:
    OPERANDS_imm
    \rest
\name\()_reg:
    OPERANDS_reg
    \rest
#else
\name\()_reg:
    OPERANDS_reg
    b 1f
\name\()_imm:
    OPERANDS_imm
1:  \rest
#endif
.endm

/* d = OP(d, b). `mask`: of shift counts. Operations that set the flags, which nobody asks, take 2 bytes. */
.macro ALU_REST operation, mask
    ldr r2, [r6, r1, lsl #2]
    FETCH
    .if \mask
    and r3, r3, #\mask
    .endif
    \operation r2, r2, r3
    str r2, [r6, r1, lsl #2]
    GO
.endm
.macro ALU name, operation, mask=0
    FORMS \name, ALU_REST \operation, \mask
.endm

.macro COMPARE_REST operation, condition
    ldr r2, [r6, r1, lsl #2]
    \operation r2, r3
    b\condition taken
    NEXT
.endm
.macro COMPARE name, operation, condition
    FORMS \name, COMPARE_REST \operation, \condition
.endm

/* r3 = the address of n bytes, base in register number r1; `hi` unless inside the region that \near has for it. A region there has 8 bytes
 * or more, so size - n does not wrap, and below its start the difference is larger than any. */
.macro CHECKED n, near, temp
    ldr \temp, [\near, r1, lsl #2]
    ldr r3, [r6, r1, lsl #2]
    ldr r0, [\temp, #REGION_START]
    ldr \temp, [\temp, #REGION_SIZE]
    add r3, r3, r5, asr #16
    subs r0, r3, r0
    subs \temp, \temp, #\n
    cmp r0, \temp
.endm

/* Where that failed: by all regions. */
.macro FIND n, find, back
    movs r0, #\n
    mov r12, lr
    bl \find
    mov lr, r12
    b \back
.endm

/* For a load by the last one's first: programs read the packet through many registers. */
.macro SECOND_CHANCE n, back
    ldr r2, [r9, #REGION_START]
    ldr r0, [r9, #REGION_SIZE]
    subs r2, r3, r2
    subs r0, r0, #\n
    cmp r2, r0
    bhi 3f
    str r9, [r10, r1, lsl #2]
    b \back
3:  FIND \n, find_load, \back
.endm

.macro TRUSTED
    ldr r3, [r6, r1, lsl #2]
    add r3, r3, r5, asr #16
.endm

.macro LOAD name, n, operation
    .if !LPN_CERTIFIED_ONLY
\name:
    SRC r1
    CHECKED \n, r10, r2
    bhi 2f
1:  DST r2
    \operation r3, [r3]
    FETCH
    str r3, [r6, r2, lsl #2]
    GO
2:  SECOND_CHANCE \n, 1b
    .endif
trusted_\name:
    SRC r1
    DST r2
    TRUSTED
    \operation r3, [r3]
    FETCH
    str r3, [r6, r2, lsl #2]
    GO
.endm

/* Of 8 bytes the upper four are 0, or the immediate's sign. */
.macro WRITE n, operation, sign
    \operation r2, [r3]
    .if \n == 8
    .if \sign
    asrs r2, r2, #31
    .else
    movs r2, #0
    .endif
    str r2, [r3, #4]
    .endif
    NEXT
.endm

.macro STORE n, operation
    .if !LPN_CERTIFIED_ONLY
put\n:
    DST r1
    ldr r2, [r4, #4]
    CHECKED \n, r11, r12
    bhi 2f
1:  WRITE \n, \operation, 1
2:  FIND \n, find_store, 1b
    .endif
trusted_put\n:
    DST r1
    ldr r2, [r4, #4]
    .if LPN_FUSE || \n == 8
    TRUSTED
    WRITE \n, \operation, 1
    .else
    b 3f
    .endif
    .if !LPN_CERTIFIED_ONLY
store\n:
    DST r1
    SRC r2
    ldr r2, [r6, r2, lsl #2]
    CHECKED \n, r11, r12
    bhi 2f
1:  WRITE \n, \operation, 0
2:  FIND \n, find_store, 1b
    .endif
trusted_store\n:
    DST r1
    SRC r2
    ldr r2, [r6, r2, lsl #2]
3:  TRUSTED
    WRITE \n, \operation, 0
.endm

/* int lpn_loop32(lpn_vm32 *vm): run until lpn_step32 says that it is over; returns what it says, or VM32_BUDGET. */
    .global lpn_loop32
    .type lpn_loop32, %function
    .balign 8                       /* wherever it is linked, flash is fetched in the same lines */
    .thumb_func
lpn_loop32:
    push {r3-r11, lr}
    mov r6, r0
    movw r7, #:lower16:handlers
    movt r7, #:upper16:handlers
#if !LPN_CERTIFIED_ONLY
    ldr r0, [r6, #VM32_TRUSTED]
    cbnz r0, enter
    ldr r1, [r6, #VM32_READS]       /* the first is set: as all others */
    mov r2, r1
    mov r3, r1
    mov r4, r1
    mov r5, r1
    mov r8, r1
    mov r9, r1
    mov r12, r1
    mov lr, r1
    mov r11, r1
    mov r0, r1
    add r10, r6, #VM32_READS
    stm r10!, {r0-r5, r8, r9, r11, r12, lr}
    stm r10, {r0-r5, r8, r9, r11, r12, lr}
    add r10, r6, #VM32_READS
    add r11, r6, #VM32_WRITES
#endif
enter:
    ldr r0, [r6, #VM32_TEXT]
    ldr r4, [r6, #VM32_IP]
    ldr lr, [r6, #VM32_PLAN]
    ldr r8, [r6, #VM32_LIMIT]
    subs r0, r4, r0
    add lr, lr, r0, lsr #3
    sub r8, r8, #8
    ldr r5, [r4]
    ldrb r0, [lr]
    GO

#if !LPN_CERTIFIED_ONLY
/* The region of r0 bytes at r3, remembered for register number r1; or what happens when there is none. r1 to r3 and r12 stay. */
.macro REMEMBER access
    push {r0-r3, r12, lr}
    mov r1, r3
    mov r2, r0
    movs r3, #\access
    ldr r0, [r6, #VM32_RUN]
    bl lpn_find
    add sp, #4
    cbz r0, missed
    ldr r3, [r0, #REGION_SIZE]
    cmp r3, #8                      /* smaller ones are looked up each time */
    pop {r1-r3, r12, lr}
    it lo
    bxlo lr
.endm
find_load:
    REMEMBER 1
    mov r9, r0
    str r0, [r10, r1, lsl #2]
    bx lr
find_store:
    REMEMBER 2
    str r0, [r11, r1, lsl #2]
    bx lr

#endif
leave:
    ldr r0, [r6, #VM32_DEPTH]
    cbnz r0, slow
    add r8, r8, #8
    cmp.w r8, r4
    str r4, [r6, #VM32_IP]
    str r8, [r6, #VM32_LIMIT]
    ite hi
    movhi r0, #VM32_END
    movls r0, #VM32_BUDGET
    pop {r3-r11, pc}

#if !LPN_CERTIFIED_ONLY
missed:
    add sp, #20
#endif
slow:
    str r4, [r6, #VM32_IP]
    add r8, r8, #8
    str r8, [r6, #VM32_LIMIT]
    mov r0, r6
    bl lpn_step32
    cmp r0, #0
    beq enter
    pop {r3-r11, pc}
    nop                             /* never done: what follows waits less for its lines */
#if !LPN_CERTIFIED_ONLY
    nop
#endif

/* Jump as r5 says. The budget is compared where a jump is taken: nothing else can go on for ever. Its end may lie above 0x80000000. */
.macro TAKE
    asrs r0, r5, #16
    add r4, r4, r0, lsl #3
    add r8, r8, r0, lsl #3
    add lr, r0
    cmp.w r8, r4
    bls budget
    NEXT
.endm

#if LPN_FUSE
/* Of several instructions the third, or the second, is a jump that is taken. */
third:
    ldr r5, [r4, #16]!
    add lr, lr, #2
    TAKE
second:
    ldr r5, [r4, #8]!
    add lr, lr, #1
    TAKE
#endif
/* Not zero: the jump of most loops. */
jne_zero:
    DST r1
    ldr r2, [r6, r1, lsl #2]
    cbz r2, 1f
taken:
ja:
    TAKE
1:  NEXT
jeq_zero:
    DST r1
    ldr r2, [r6, r1, lsl #2]
    cmp r2, #0
    beq taken
    NEXT
budget:
    adds r4, #8
    str r4, [r6, #VM32_IP]
    add r8, r8, #8
    str r8, [r6, #VM32_LIMIT]
    movs r0, #VM32_BUDGET
    pop {r3-r11, pc}

    COMPARE jeq, cmp, eq
    COMPARE jne, cmp, ne
    COMPARE jgt, cmp, hi
    COMPARE jge, cmp, hs
    COMPARE jlt, cmp, lo
    COMPARE jle, cmp, ls
    COMPARE jset, tst, ne
    COMPARE jsgt, cmp, gt
    COMPARE jsge, cmp, ge
    COMPARE jslt, cmp, lt
    COMPARE jsle, cmp, le

    ALU add, add
    ALU sub, subs
    ALU mul, muls
    ALU or, orrs
    ALU and, ands
    ALU xor, eors
    ALU lsh, lsls, 31
    ALU rsh, lsrs, 31
    ALU arsh, asrs, 31

mov_imm:
    DST r1
    ldr r3, [r4, #4]
    FETCH
    str r3, [r6, r1, lsl #2]
    GO
mov_reg:
    SRC r3
    DST r1
    ldr r3, [r6, r3, lsl #2]
    FETCH
    str r3, [r6, r1, lsl #2]
    GO
neg:
    DST r1
    ldr r3, [r6, r1, lsl #2]
    FETCH
    rsbs r3, r3, #0
    str r3, [r6, r1, lsl #2]
    GO
to_le:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    cmp r3, #16
    bne set
    uxth r2, r2
    b set
div_reg:
    SRC r3
    ldr r3, [r6, r3, lsl #2]
    b 1f
div_imm:
    ldr r3, [r4, #4]
1:  DST r1
    ldr r2, [r6, r1, lsl #2]
#include "vm32_divide.inc"
set:
    FETCH
    str r2, [r6, r1, lsl #2]
    GO
swap:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    cmp r3, #32
    bhi slow
    rev r2, r2
    beq 1f
    lsrs r2, r2, #16
1:  FETCH
    str r2, [r6, r1, lsl #2]
    GO
lddw:
    DST r1
    ldr r3, [r4, #4]
    add r8, r8, #8                  /* its two slots count as one */
    FETCH 2
    str r3, [r6, r1, lsl #2]
    GO
    nop                             /* as above */

    LOAD load1, 1, ldrb
    LOAD load2, 2, ldrh
    LOAD load4, 4, ldr
    LOAD load8, 8, ldr
    LOAD load1s, 1, ldrsb
    LOAD load2s, 2, ldrsh
    STORE 1, strb
    STORE 2, strh
    STORE 4, str
    STORE 8, str

#if LPN_FUSE
/* ---- several instructions at once: what they have in common is in vm32_plan.c. Most begin a line of the flash, of 8 bytes. */

/* mov d, s; OP d, imm */
.macro MOV_OP name, operation, mask=0
    .balign 8
mov_\name:
    SRC r3
    DST r1
    ldr r2, [r6, r3, lsl #2]
    ldr r3, [r4, #12]
    FETCH 2
    .if \mask
    and r3, r3, #\mask
    .endif
    \operation r2, r2, r3
    str r2, [r6, r1, lsl #2]
    GO
.endm
    MOV_OP add, add
    MOV_OP or, orrs
    MOV_OP and, ands
    MOV_OP lsh, lsls, 31
    MOV_OP rsh, lsrs, 31

/* mov d, s; add d, t */
    .balign 8
mov_add_reg:
    SRC r3
    DST r1
    ldrb r12, [r4, #9]
    ldr r2, [r6, r3, lsl #2]
    lsr r12, r12, #4
    ldr r3, [r6, r12, lsl #2]
    FETCH 2
    add r2, r2, r3
    str r2, [r6, r1, lsl #2]
    GO
/* mov d, s; add d, t; ldx e, [d] */
.macro MOV_ADD_LOAD n, operation
    .balign 8
mov_add_load\n:
    SRC r3
    DST r1
    ldrb r12, [r4, #9]
    ldr r2, [r6, r3, lsl #2]
    ldr r5, [r4, #16]
    lsr r12, r12, #4
    ldr r3, [r6, r12, lsl #2]
    add r2, r2, r3
    str r2, [r6, r1, lsl #2]
    DST r1
    add r2, r2, r5, asr #16
    \operation r2, [r2]
    FETCH 3
    str r2, [r6, r1, lsl #2]
    GO
.endm
    MOV_ADD_LOAD 1, ldrb
    MOV_ADD_LOAD 2, ldrh
/* lsh d, imm; or d, s */
    .balign 8
lsh_or:
    DST r1
    ldrb r12, [r4, #9]
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    lsr r12, r12, #4
    lsls r2, r3
    ldr r3, [r6, r12, lsl #2]
    FETCH 2
    orrs r2, r3
    str r2, [r6, r1, lsl #2]
    GO
/* mov d, s; rsh d, imm; and d, imm */
    .balign 8
mov_rsh_and:
    SRC r3
    DST r1
    ldr r2, [r6, r3, lsl #2]
    ldr r3, [r4, #12]
    ldr r12, [r4, #20]
    FETCH 3
    lsrs r2, r3
    and r2, r2, r12
    str r2, [r6, r1, lsl #2]
    GO
/* mov d, s; add d, imm; jgt d, t */
mov_add_jgt:
    SRC r3
    DST r1
    ldrb r12, [r4, #17]
    ldr r2, [r6, r3, lsl #2]
    ldr r3, [r4, #12]
    lsr r12, r12, #4
    add r2, r2, r3
    ldr r3, [r6, r12, lsl #2]
    str r2, [r6, r1, lsl #2]
    cmp r2, r3
    bhi third
    NEXT 3
/* mov d, s; and d, imm; jeq or jne d, imm */
.macro MOV_AND_JUMP name, condition
mov_and_\name:
    SRC r3
    DST r1
    ldr r2, [r6, r3, lsl #2]
    ldr r3, [r4, #12]
    ldr r12, [r4, #20]
    ands r2, r3
    str r2, [r6, r1, lsl #2]
    cmp r2, r12
    b\condition third
    NEXT 3
.endm
    MOV_AND_JUMP jeq, eq
    MOV_AND_JUMP jne, ne
/* and d, imm; jeq or jne d, imm */
.macro AND_JUMP name, condition
and_\name:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    ldr r12, [r4, #12]
    ands r2, r3
    str r2, [r6, r1, lsl #2]
    cmp r2, r12
    b\condition second
    NEXT 2
.endm
    AND_JUMP jeq, eq
    AND_JUMP jne, ne
/* add d, imm; mov e, s */
    .balign 8
add_mov:
    DST r1
    ldrb r12, [r4, #9]
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    add r2, r2, r3
    str r2, [r6, r1, lsl #2]
    lsr r3, r12, #4
    and r12, r12, #15
    ldr r3, [r6, r3, lsl #2]
    FETCH 2
    str r3, [r6, r12, lsl #2]
    GO
/* mov d, s; jeq e, imm */
mov_jeq:
    SRC r3
    DST r1
    ldrb r12, [r4, #9]
    ldr r3, [r6, r3, lsl #2]
    ldr r2, [r4, #12]
    str r3, [r6, r1, lsl #2]
    and r12, r12, #15
    ldr r3, [r6, r12, lsl #2]
    cmp r3, r2
    beq second
    NEXT 2
/* mov d, imm; jeq e, imm */
mov_imm_jeq:
    DST r1
    ldrb r12, [r4, #9]
    ldr r3, [r4, #4]
    ldr r2, [r4, #12]
    str r3, [r6, r1, lsl #2]
    and r12, r12, #15
    ldr r3, [r6, r12, lsl #2]
    cmp r3, r2
    beq second
    NEXT 2
/* jeq d, imm; jeq or jne d, imm; jne d, imm */
jeq_jeq_jne:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    ldr r12, [r4, #12]
    ldr r1, [r4, #20]
    cmp r2, r3
    beq taken
    cmp r2, r12
    beq second
    cmp r2, r1
    bne third
    NEXT 3
.macro JEQ_JUMP name, condition
jeq_\name:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    ldr r12, [r4, #12]
    cmp r2, r3
    beq taken
    cmp r2, r12
    b\condition second
    NEXT 2
.endm
    JEQ_JUMP jeq, eq
    JEQ_JUMP jne, ne
/* r3 = the address of a load; r2 = its register. */
.macro LOAD_FROM
    SRC r1
    DST r2
    ldr r3, [r6, r1, lsl #2]
    add r3, r3, r5, asr #16
.endm
/* ldxh d, [s]; add e, d */
    .balign 8
load2_add:
    LOAD_FROM
    ldrb r12, [r4, #9]
    ldrh r3, [r3]
    str r3, [r6, r2, lsl #2]
    and r12, r12, #15
    ldr r2, [r6, r12, lsl #2]
    FETCH 2
    add r2, r2, r3
    str r2, [r6, r12, lsl #2]
    GO
/* ldxh d, [s + 0]; add e, d; add s, imm */
    .balign 8
load2_add_step:
    SRC r1
    DST r2
    ldr r3, [r6, r1, lsl #2]
    ldrb r12, [r4, #9]
    ldrh r0, [r3]
    str r0, [r6, r2, lsl #2]
    and r12, r12, #15
    ldr r2, [r6, r12, lsl #2]
    ldr r5, [r4, #20]
    add r2, r2, r0
    add r3, r3, r5
    str r2, [r6, r12, lsl #2]
    FETCH 3
    str r3, [r6, r1, lsl #2]
    GO
/* ldx d, [s]; swap d */
    .balign 8
load2_swap:
    LOAD_FROM
    ldrh r3, [r3]
    FETCH 2
    rev16 r3, r3
    str r3, [r6, r2, lsl #2]
    GO
    .balign 8
load4_swap:
    LOAD_FROM
    ldr r3, [r3]
    FETCH 2
    rev r3, r3
    str r3, [r6, r2, lsl #2]
    GO
#endif
    .size lpn_loop32, . - lpn_loop32

/* By their numbers in a plan. Addresses have bit 0 set, as jumps to Thumb code must. */
#define WORD(name) .word name + 1;
    .section .rodata
    .balign 4
handlers:
    LPN_VM32_ONES(WORD)
    LPN_VM32_TWO(WORD)
    LPN_VM32_THREE(WORD)

#endif
