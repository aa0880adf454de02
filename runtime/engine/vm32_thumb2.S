/* SPDX-License-Identifier: LGPL-2.1-only */
/* The common instructions of 32-bit clean programs in Thumb-2, for the Cortex-M3 and later. What is rare, and what fails, goes to
 * lpn_step32 (vm32.c), which does one instruction.
 *
 *     r4  ip: the address of this instruction        r8  where the budget ends, less 8
 *     r5  its first word: opcode, dst, src, offset   r10 reads: per register the region of its last load
 *     r6  the registers (lpn_vm32)                   r11 writes: and of its last store
 *     r7  the table of handlers                      r9  the region last found for a load, by the slow way
 *
 * r0-r3, r12 and lr are free. An instruction fetches the next one's word among its own loads, because loads behind loads take one cycle. */
#if defined(__thumb2__)

#include "vm32_offsets.h"

    .syntax unified
    .thumb
    .text

/* Jump to what the opcode in r5 asks for. */
.macro GO
    uxtb r0, r5
    ldr pc, [r7, r0, lsl #2]
.endm

.macro NEXT
    ldr r5, [r4, #8]!
    GO
.endm

.macro DST reg
    ubfx \reg, r5, #8, #4
.endm

.macro SRC reg
    ubfx \reg, r5, #12, #4
.endm

/* d = OP(d, b): b is the immediate, then a register. `mask`: of shift counts. */
.macro ALU name, operation, mask=0
\name\()_imm:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    ldr r5, [r4, #8]!
    .if \mask
    and r3, r3, #\mask
    .endif
    \operation r2, r2, r3
    str r2, [r6, r1, lsl #2]
    GO
\name\()_reg:
    SRC r3
    DST r1
    ldr r3, [r6, r3, lsl #2]
    ldr r2, [r6, r1, lsl #2]
    ldr r5, [r4, #8]!
    .if \mask
    and r3, r3, #\mask
    .endif
    \operation r2, r2, r3
    str r2, [r6, r1, lsl #2]
    GO
.endm

.macro COMPARE name, operation, condition
\name\()_imm:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    \operation r2, r3
    b\condition taken
    NEXT
\name\()_reg:
    SRC r3
    DST r1
    ldr r3, [r6, r3, lsl #2]
    ldr r2, [r6, r1, lsl #2]
    \operation r2, r3
    b\condition taken
    NEXT
.endm

/* r3 = the address of n bytes, base in register number r1; `hi` unless inside the region that \near has for it. A region there has 8 bytes or more, so size - n does not wrap, and below its start the difference is larger than any. */
.macro CHECKED n, near
    ldr r12, [\near, r1, lsl #2]
    ldr r3, [r6, r1, lsl #2]
    ldr r0, [r12, #REGION_START]
    ldr r12, [r12, #REGION_SIZE]
    add r3, r3, r5, asr #16
    sub r0, r3, r0
    sub r12, r12, #\n
    cmp r0, r12
.endm

/* Where that failed, for a load: programs read the packet through many registers. Then by all regions. */
.macro SECOND_CHANCE n, back
    ldr r12, [r9, #REGION_START]
    ldr r0, [r9, #REGION_SIZE]
    sub r12, r3, r12
    sub r0, r0, #\n
    cmp r12, r0
    bhi 3f
    str r9, [r10, r1, lsl #2]
    b \back
3:  movs r0, #\n
    bl find_load
    b \back
.endm

.macro TRUSTED
    ldr r3, [r6, r1, lsl #2]
    add r3, r3, r5, asr #16
.endm

.macro LOAD name, n, operation
\name:
    SRC r1
    DST r2
    CHECKED \n, r10
    bhi 2f
1:  \operation r3, [r3]
    ldr r5, [r4, #8]!
    str r3, [r6, r2, lsl #2]
    GO
2:  SECOND_CHANCE \n, 1b
trusted_\name:
    SRC r1
    DST r2
    TRUSTED
    \operation r3, [r3]
    ldr r5, [r4, #8]!
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
put\n:
    DST r1
    ldr r2, [r4, #4]
    CHECKED \n, r11
    bhi 2f
1:  WRITE \n, \operation, 1
2:  movs r0, #\n
    bl find_store
    b 1b
trusted_put\n:
    DST r1
    ldr r2, [r4, #4]
    TRUSTED
    WRITE \n, \operation, 1
store\n:
    DST r1
    SRC r2
    ldr r2, [r6, r2, lsl #2]
    CHECKED \n, r11
    bhi 2f
1:  WRITE \n, \operation, 0
2:  movs r0, #\n
    bl find_store
    b 1b
trusted_store\n:
    DST r1
    SRC r2
    ldr r2, [r6, r2, lsl #2]
    TRUSTED
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
    ldr r0, [r6, #VM32_TRUSTED]
    ldr r7, =trusted_handlers
    cbnz r0, enter
    ldr r7, =handlers
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
enter:
    ldr r4, [r6, #VM32_IP]
    ldr r8, [r6, #VM32_LIMIT]
    sub r8, r8, #8
    ldr r5, [r4]
    GO

/* The region of r0 bytes at r3, remembered for register number r1; or what happens when there is none. */
find_load:
    push {r1-r3, lr}
    mov r1, r3
    mov r2, r0
    movs r3, #1
    ldr r0, [r6, #VM32_RUN]
    bl lpn_find32
    pop {r1-r3, lr}
    cbz r0, slow
    ldr r12, [r0, #REGION_SIZE]
    cmp r12, #8                     /* smaller ones are looked up each time */
    bhs 1f
    bx lr
1:  mov r9, r0
    str r0, [r10, r1, lsl #2]
    bx lr
find_store:
    push {r1-r3, lr}
    mov r1, r3
    mov r2, r0
    movs r3, #2
    ldr r0, [r6, #VM32_RUN]
    bl lpn_find32
    pop {r1-r3, lr}
    cbz r0, slow
    ldr r12, [r0, #REGION_SIZE]
    cmp r12, #8
    bhs 1f
    bx lr
1:  str r0, [r11, r1, lsl #2]
    bx lr

slow:
    str r4, [r6, #VM32_IP]
    add r8, r8, #8
    str r8, [r6, #VM32_LIMIT]
    mov r0, r6
    bl lpn_step32
    cmp r0, #0
    beq enter
    pop {r3-r11, pc}

leave:
    ldr r0, [r6, #VM32_DEPTH]
    cmp r0, #0
    bne slow
    add r8, r8, #8
    subs r0, r8, r4
    str r4, [r6, #VM32_IP]
    str r8, [r6, #VM32_LIMIT]
    ite gt
    movgt r0, #VM32_END
    movle r0, #VM32_BUDGET
    pop {r3-r11, pc}

/* The budget is compared where a jump is taken: nothing else can go on for ever. */
taken:
ja:
    asrs r0, r5, #16
    add r4, r4, r0, lsl #3
    add r8, r8, r0, lsl #3
    subs r0, r8, r4
    ble budget
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
    ALU sub, sub
    ALU mul, mul
    ALU or, orr
    ALU and, and
    ALU xor, eor
    ALU lsh, lsl, 31
    ALU rsh, lsr, 31
    ALU arsh, asr, 31

mov_imm:
    DST r1
    ldr r3, [r4, #4]
    ldr r5, [r4, #8]!
    str r3, [r6, r1, lsl #2]
    GO
mov_reg:
    cmp r5, #0x10000                /* an offset: with sign extension */
    bhs slow
    SRC r3
    DST r1
    ldr r3, [r6, r3, lsl #2]
    ldr r5, [r4, #8]!
    str r3, [r6, r1, lsl #2]
    GO
neg:
    DST r1
    ldr r3, [r6, r1, lsl #2]
    ldr r5, [r4, #8]!
    rsbs r3, r3, #0
    str r3, [r6, r1, lsl #2]
    GO
to_le:
    DST r1
    ldr r3, [r4, #4]
    ldr r2, [r6, r1, lsl #2]
    cmp r3, #16
    bne 1f
    uxth r2, r2
1:  ldr r5, [r4, #8]!
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
1:  ldr r5, [r4, #8]!
    str r2, [r6, r1, lsl #2]
    GO
lddw:
    tst r5, #0xf000                 /* a source: an address in the image */
    bne slow
    DST r1
    ldr r3, [r4, #4]
    adds r4, #8                     /* its two slots count as one */
    add r8, r8, #8
    ldr r5, [r4, #8]!
    str r3, [r6, r1, lsl #2]
    GO

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
    .ltorg
    .size lpn_loop32, . - lpn_loop32

/* The handlers by opcode. A row is 16 opcodes: loads at 1 and 9, stores at 2, 3, a and b, arithmetic at 4, 7, c and f, jumps at
 * 5, 6, d and e. Addresses have bit 0 set, as jumps to Thumb code must. */
.macro WORDS names:vararg
    .irp name, \names
    .word \name + 1
    .endr
.endm

.macro ROW alu, jump, x1=slow, x2=slow, x3=slow, x8=slow, x9=slow, xa=slow, xb=slow
    WORDS slow, \x1, \x2, \x3, \alu\()_imm, \jump\()_imm, \jump\()_imm, \alu\()_imm
    WORDS \x8, \x9, \xa, \xb, \alu\()_reg, \jump\()_reg, \jump\()_reg, \alu\()_reg
.endm

.macro TABLE t
    WORDS slow, slow, slow, slow, add_imm, ja, slow, add_imm, slow, slow, slow, slow, add_reg, slow, slow, add_reg
    ROW sub, jeq, x8=lddw
    ROW mul, jgt
    ROW slow, jge
    ROW or, jset
    ROW and, jne
    ROW lsh, jsgt, \t\()load4, \t\()put4, \t\()store4, slow, \t\()load2, \t\()put2, \t\()store2
    ROW rsh, jsge, \t\()load1, \t\()put1, \t\()store1, slow, \t\()load8, \t\()put8, \t\()store8
    WORDS slow, \t\()load4, slow, slow, neg, slow, slow, neg, slow, \t\()load2s, slow, slow, slow, slow, slow, slow
    WORDS slow, \t\()load1s, slow, slow, slow, leave, slow, slow, slow, slow, slow, slow, slow, slow, slow, slow
    ROW xor, jlt
    ROW mov, jle
    ROW arsh, jslt
    WORDS slow, slow, slow, slow, to_le, jsle_imm, jsle_imm, swap, slow, slow, slow, slow, swap, jsle_reg, jsle_reg, slow
.endm

    .set slow_imm, slow
    .set slow_reg, slow
    .section .rodata
    .balign 4
handlers:
    TABLE
trusted_handlers:
    TABLE trusted_

#endif
