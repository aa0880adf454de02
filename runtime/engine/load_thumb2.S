/* SPDX-License-Identifier: LGPL-2.1-only */
/* lpn_check_function of load.c in Thumb-2 itself, for the Cortex-M3 and later: what is usual is judged by a table, in some thirty cycles an instruction. What its
 * form does not say all about is load.c's to judge (lpn_check_closely). Other cores have the C; both say the same (tests/test_load_same.py).
 *
 *     r0  the next instruction        r6  dst              r12  the instruction's form
 *     r1  *used; bits of registers    r7  src              lr   what must be zero and is not
 *         whose distance to r10 is    r8  the table
 *         known, as `follow` has it   r9  0x10000
 *     r2  free                        r10 behind the last instruction
 *     r3  free                        r11 the program
 *     r4  the instruction's first word, r5 its second */
#if defined(__thumb2__)

#include "load_offsets.h"

    .syntax unified
    .thumb
    .text

/* The frame: distances to r10, lowest register first; the arguments; the fifth one is behind what is saved. */
#define FUNC 64
#define USED 68
#define FRAME 76
#define AT (FRAME + 36)

/* int lpn_check_function(lpn_program *program, lpn_func *f, uint32_t last, uint32_t *used, uint32_t *pc) */
    .global lpn_check_function
    .type lpn_check_function, %function
    .thumb_func
lpn_check_function:
    push {r4-r11, lr}
    sub sp, #FRAME
    strd r1, r3, [sp, #FUNC]
    mov r11, r0
    ldr r4, [r0, #PROGRAM_TEXT]
    ldrh r0, [r1, #FUNC_ENTRY]
    ldr r1, [r3]
    orr r1, r1, #1 << 10
    add r10, r4, r2, lsl #3
    add r0, r4, r0, lsl #3
    movs r4, #0
    str r4, [sp, #4 * 10]
    ldr r8, =lpn_forms
    mov r9, #0x10000
1:  ldr r4, [r0], #8
    ldr r5, [r0, #-4]
    ubfx r6, r4, #8, #4
    ubfx r7, r4, #12, #4
    lsl r2, r9, r6
    orrs r1, r2
    uxtb r2, r4
    ldrb r12, [r8, r2]
    add lr, r8, r12, lsl #3
    ldrd r2, lr, [lr, #LIMITS_AT]
    orr r3, r1, r2                      /* registers that it must not have, or that are known */
    lsrs r3, r6
    orr r2, r1, r2, lsr #16
    lsrs r2, r7
    orrs r3, r2
    and r2, r5, lr, asr #31
    and lr, r4, lr, lsl #16
    orr lr, lr, r2
    orrs r3, lr, r3, lsl #31
    bne known
right:
    cmp r12, #SWAP
    bhs further
2:  cmp r0, r10
    bne 1b
    ldr r2, [sp, #USED]
    bfc r1, #0, #16
    str r1, [r2]
    movs r0, #0
out:
    add sp, #FRAME
    pop {r4-r11, pc}

/* What it swaps, where it jumps. */
further:
    beq swap
    cmp r12, #BAD_FORM
    bhs closely
    ldrd r2, r3, [r11, #PROGRAM_TEXT]
    asrs r4, r4, #16
    bmi back
3:  subs r5, r0, r2
    add r4, r5, r4, lsl #3
    cmp r3, r4, lsr #3
    bls closely
    ldrb r4, [r2, r4]                   /* no instruction begins with 0, but what lies behind lddw's first half does */
    cmp r4, #0
    bne 2b
    b closely
back:
    ldrh r5, [r11, #PROGRAM_MARKS]
    orr r5, r5, #MARK_BACK
    strh r5, [r11, #PROGRAM_MARKS]
    b 3b
swap:
    cmp r5, #16
    it ne
    cmpne r5, #32
    it ne
    cmpne r5, #64
    beq 2b
closely:
    mov r5, r0
    mov r6, r1
    ldr r2, [r11, #PROGRAM_TEXT]
    subs r1, r0, r2
    lsrs r1, r1, #3
    subs r1, #1
    ldr r2, [sp, #AT]
    str r1, [r2]
    mov r0, r11
    bl lpn_check_closely
    cmp r0, #0
    bne out
    mov r0, r5
    mov r1, r6
    lsls r4, r4, #29                    /* lddw has two slots */
    it eq
    addeq r0, #8
    b 2b

/* A register is known, or something is wrong. First what is wrong without the known ones. */
known:
    add r2, r8, r12, lsl #3
    ldr r2, [r2, #LIMITS_AT]
    lsr r3, r2, r6
    lsrs r2, r2, #16
    lsrs r2, r7
    orrs r3, r2
    orr lr, lr, r3, lsl #31
    lsr r2, r1, r6
    lsr r3, r1, r7
    orrs r2, r3
    lsls r2, r2, #31
    bpl judged

/* follow: loads, stores and atomics first. */
    ands r2, r4, #7
    beq forget
    cmp r2, #4
    bhs 5f
    mov r3, r6
    cmp r2, #1
    it eq
    moveq r3, r7
    lsr r2, r1, r3
    lsls r2, r2, #31
    bpl 4f
    ldr r2, [sp, r3, lsl #2]
    add r2, r2, r4, asr #16

/* r2: the lowest address. */
down:
    rsbs r2, r2, #0
    adds r2, #7
    asrs r2, r2, #3
    cmp r2, #BOTTOM / 8
    it gt
    movgt r2, #BOTTOM / 8
    lsls r2, r2, #3
    ldr r3, [sp, #FUNC]
    ldrh r9, [r3, #FUNC_FRAME]
    cmp r2, r9
    it gt
    strhgt r2, [r3, #FUNC_FRAME]
    mov r9, #0x10000
4:  lsls r2, r4, #30                    /* loads; stores of constants; stores and atomics, or sums */
    bpl forget
    lsls r2, r2, #1
    beq judged
    lsls r2, r4, #29
    bmi 7f
    uxtb r2, r4                         /* what an atomic one loads (load-acquire) */
    cmp r2, #0xc0
    blo judged
    cmp r5, #0x100
    bne judged
    b forget

5:  beq forget                          /* of 32 bits */
    cmp r2, #7
    bne judged
    uxtb r2, r4
    cmp r2, #0xbf
    beq 6f
    bic r2, r2, #0x10
    cmp r2, #0x07
    bne 9f
    lsr r2, r1, r6                      /* plus, minus a constant */
    lsls r2, r2, #31
    bpl forget
    add r3, r5, #2 * BOTTOM
    cmp r3, #4 * BOTTOM
    bhi 8f
    ldr r7, [sp, r6, lsl #2]
    lsls r2, r4, #27
    ite mi
    submi r7, r5
    addpl r7, r5
    mov r2, r7
    b down
7:  add r2, r7, #BOTTOM
    cmp r2, #BOTTOM
    bhi forget
    b remember
8:  movs r7, #3                         /* further away than the stack is long: below it, or nowhere */
    lsls r2, r4, #27
    eors r2, r5
    bpl forget
    lsls r2, r7, #30                    /* as far as any */
    b down

6:  lsrs r2, r4, #16                    /* a copy */
    bne forget
    lsr r2, r1, r7
    lsls r2, r2, #31
    bpl forget
    ldr r7, [sp, r7, lsl #2]
remember:
    str r7, [sp, r6, lsl #2]
    movs r2, #1
    lsls r2, r6
    orrs r1, r2
    b judged
9:  cmp r2, #0x0f                       /* plus, minus an index: known as before, or not */
    beq judged
forget:
    movs r2, #1
    lsls r2, r6
    bics r1, r2
judged:
    movs r2, lr
    beq right
    b closely
    .size lpn_check_function, . - lpn_check_function
#endif
