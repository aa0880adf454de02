/* SPDX-License-Identifier: LGPL-2.1-only */
/* The interpreter of the smallest engine (lpn_options.h), whole: certified, 32-bit clean programs, on cores with Thumb-2.
 *
 *     r4  the address of this instruction            r8   where the budget ends, less 8
 *     r5  its first word: opcode, dst, src, offset   r9   the run
 *     r6  the plan's byte for it                     r10  the program
 *     r7  where handlers are counted from            r11  where the next caller's registers are kept
 *     sp  the registers, each in 8 bytes, the upper four 0: so helpers find their arguments
 *
 * A plan's byte is half of the distance from r7 to a handler. What is common has its own; what is not, is decoded once more there: the less of
 * it there is, the better. A handler is given the number of the first register in r1, and may change r0 to r3, r5, r12 and lr. */
#include "vm32_offsets.h"

#if defined(__thumb2__) && LPN_SMALLEST

    .syntax unified
    .thumb
    .text

#define SCRATCH 11                  /* the register that nobody reads */
#define BUDGET (8 * SCRATCH + 4)
#define FRAME 100

/* On to the next instruction. */
.macro NEXT
    ldr r5, [r4, #8]!
    ldrb r0, [r6, #1]!
    ubfx r1, r5, #8, #4
    add r0, r7, r0, lsl #1
    mov pc, r0
.endm

/* And r2 is what the first register becomes; a store behind loads takes a cycle less. */
.macro SET_NEXT
    ldr r5, [r4, #8]!
    ldrb r0, [r6, #1]!
    str r2, [sp, r1, lsl #3]
    ubfx r1, r5, #8, #4
    add r0, r7, r0, lsl #1
    mov pc, r0
.endm

.macro GET reg, number
    ldr \reg, [sp, \number, lsl #3]
.endm

/* The second register's value. */
.macro SOURCE reg
    ubfx \reg, r5, #12, #4
    GET \reg, \reg
.endm

.macro IMMEDIATE reg
    ldr \reg, [r4, #4]
.endm

/* int lpn_execute(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2) */
    .global lpn_execute
    .type lpn_execute, %function
    .thumb_func
lpn_execute:
    push {r4-r11, lr}
    mov r9, r0
    mov r10, r1
    ldr r7, [sp, #36]
    ldr r4, [r0, #RUN_FUEL]
    lsrs r3, r4, #28
    it ne
    mvnne r4, #0xf0000000           /* LPN_MAX_FUEL */
    push {r4, r5}
    movs r0, #0
    movs r3, #0
    movs r4, #0
    movs r5, #0
    movs r6, #0
    push {r0, r3-r6}
    push {r0, r3-r6}
    push {r0, r3-r6}
    push {r0, r3-r6}
    push {r0, r3, r4}
    str r2, [sp, #8 * 1]
    str r7, [sp, #8 * 2]
    add r0, r9, #RUN_STACK_END
    str r0, [sp, #8 * 10]
    add r11, r9, #RUN_CALL
    adr r7, handlers
    ldr r4, [r1, #PROGRAM_TEXT]
    ldr r6, [r1, #PROGRAM_PLAN]
    ldr r5, [sp, #BUDGET]
    ldrb r2, [r1, #PROGRAM_CERTIFIED]
    subs r4, #8
    add r8, r4, r5, lsl #3
    movs r0, #E_LEFT_OUT
    cbz r6, before
    cbz r2, before
    subs r6, #1
    cmp r5, #0
    bne next
budget:
    movs r0, #E_FUEL
before:                             /* the instruction behind r4 */
    adds r4, #8
    add r8, r8, #8
end:                                /* r0: LPN_OK, or what was wrong with this one */
    subs r1, r8, r4
    bic r1, r1, r1, asr #31         /* what is left of the budget, if anything is */
    mov r3, r9
    ldr r2, [sp, #BUDGET]
    ldr r5, [r3, #RUN_FUEL]
    ldr r6, [r10, #PROGRAM_TEXT]
    ldr r7, [sp]
    sub r1, r2, r1, asr #3
    str r1, [r3, #RUN_INSNS]
    subs r5, r5, r1
    str r5, [r3, #RUN_FUEL]
    subs r4, r4, r6
    lsrs r4, r4, #3
    str r4, [r3, #RUN_PC]
    str r7, [r3, #RUN_R0]
    movs r1, #0
    str r1, [r3, #RUN_R0 + 4]
    add sp, #FRAME
    pop {r4-r11, pc}
    .size lpn_execute, . - lpn_execute

    .type lpn_loop32, %function
    .balign 8                       /* wherever it is linked, flash is fetched in the same lines */
    .thumb_func
lpn_loop32:
handlers:
mov_reg:
    SOURCE r2
set:
    SET_NEXT

far:
    IMMEDIATE r0
    b jump
ja:
    lsrs r0, r5, #1
    bcc far
taken:
    asrs r0, r5, #16
jump:                               /* by r0 slots, counted from the next one; nothing else can go on for ever */
    add r4, r4, r0, lsl #3
    add r8, r8, r0, lsl #3
    add r6, r0
    cmp r8, r4
    bls budget
next:
    NEXT

compare_reg:
    SOURCE r3
    b 1f
compare_imm:
    IMMEDIATE r3
1:  GET r2, r1
    ubfx r0, r5, #4, #4
    cmp r2, r3
    tbb [pc, r0]
2:  .byte 0, (jeq - 2b) / 2, (jgt - 2b) / 2, (jge - 2b) / 2, (jset - 2b) / 2, (jne - 2b) / 2, (jsgt - 2b) / 2, (jsge - 2b) / 2
    .byte 0, 0, (jlt - 2b) / 2, (jle - 2b) / 2, (jslt - 2b) / 2, (jsle - 2b) / 2
jeq_imm:
    IMMEDIATE r3
    GET r2, r1
    cmp r2, r3
jeq:
    beq taken
    NEXT
jne_imm:
    IMMEDIATE r3
    GET r2, r1
    cmp r2, r3
jne:
    bne taken
    NEXT
jset:
    tst r2, r3
    b jne
jge:                                /* what is not greater or equal is not greater */
    bhs taken
jgt:
    bhi taken
    b next
jle:
    bls taken
jlt:
    blo taken
    b next
jsge:
    bge taken
jsgt:
    bgt taken
    b next
jsle:
    ble taken
jslt:
    blt taken
    b next

store_imm:
    IMMEDIATE r3
    asrs r0, r3, #31                /* of 8 bytes the upper four */
    b 1f
store_reg:
    SOURCE r3
    movs r0, #0
1:  GET r2, r1
    add r2, r2, r5, asr #16
    lsls r1, r5, #28                /* the opcode's size: carry and sign */
    bcs 2f
    bmi 3f
    str r3, [r2]
    b next
3:  strh r3, [r2]
    b next
2:  bmi 3f
    strb r3, [r2]
    b next
3:  str r3, [r2]
    str r0, [r2, #4]
    b next

load1:
    SOURCE r3
    add r3, r3, r5, asr #16
    ldrb r2, [r3]
    b set
load2:
    SOURCE r3
    add r3, r3, r5, asr #16
    ldrh r2, [r3]
    SET_NEXT

operate_reg:
    SOURCE r3
    b 1f
operate_imm:
    IMMEDIATE r3
1:  GET r2, r1
    ubfx r0, r5, #4, #4
    tbb [pc, r0]
2:  .byte (add - 2b) / 2, (sub - 2b) / 2, (mul - 2b) / 2, (div - 2b) / 2, (or - 2b) / 2, (and - 2b) / 2, (lsh - 2b) / 2, (rsh - 2b) / 2
    .byte (neg - 2b) / 2, (div - 2b) / 2, (xor - 2b) / 2, (extend - 2b) / 2, (arsh - 2b) / 2, (swap - 2b) / 2

add_reg:
    SOURCE r3
    b 1f
add_imm:
    IMMEDIATE r3
1:  GET r2, r1
add:
    adds r2, r2, r3
    SET_NEXT
mov_imm:
    IMMEDIATE r2
    b set
and_imm:
    IMMEDIATE r3
    GET r2, r1
and:
    ands r2, r2, r3
    b set
rsh_imm:
    IMMEDIATE r3
    GET r2, r1
rsh:
    and r3, r3, #31
    lsrs r2, r2, r3
    b set

load:                               /* with a sign, unless it is one that acquires */
    SOURCE r3
    add r3, r3, r5, asr #16
    lsls r0, r5, #28
    bcs 2f
    bmi 3f
1:  ldr r2, [r3]
    b set
3:  ldrh r2, [r3]
    lsls r0, r5, #25
    it pl
    sxthpl r2, r2
    b set
2:  bmi 1b
    ldrb r2, [r3]
    lsls r0, r5, #25
    it pl
    sxtbpl r2, r2
    b set

lddw:
    movs r2, #0
    lsls r0, r5, #16                    /* the second register's number: 0, 8, 9 */
    bpl address
    lsls r0, r0, #3
    bmi data
rodata:
    ldr r2, [r10, #PROGRAM_RODATA]
    b address
data:
    ldr r2, [r10, #PROGRAM_DATA]
address:
    IMMEDIATE r3
    adds r2, r2, r3
    adds r4, #8                     /* its two slots count as one */
    adds r6, #1
    add r8, r8, #8
    b set

/* Loads and stores among them are as others. What is fetched goes to the second register, else to nobody's. Of 8 bytes a register's upper four are 0. */
atomic:
    IMMEDIATE r0
    lsrs r2, r0, #9
    bcc rmw
    lsls r0, r0, #28
    bcc load
    b store_reg

call_or_exit:
    cmp r8, r4
    blo spent
    lsls r0, r5, #28
    bcs exit
    tst r5, #0xf000
    bne call
    add r0, sp, #4                  /* the result's place: the upper half of r0, whose lower half says so to the helper */
    str r0, [sp]
    mov r0, r9
    adds r1, r0, #RUN_VIEW
    ldr r0, [r0, #RUN_ENV]
    IMMEDIATE r2
    add r3, sp, #8
    bl lpn_env_call
    ldr r2, [sp, #4]
    str r2, [sp]
    cbnz r0, end_here
    b next
spent:
    movs r0, #E_FUEL
end_here:
    b end

sub:
    subs r2, r2, r3
    b set
mul:
    muls r2, r3, r2
    b set
or:
    orrs r2, r2, r3
    b set
xor:
    eors r2, r2, r3
    b set
neg:
    negs r2, r2
    b set
lsh:
    and r3, r3, #31
    lsls r2, r2, r3
    b set
arsh:
    and r3, r3, #31
    asrs r2, r2, r3
    b set

div:
#include "vm32_divide.inc"
    b set
/* A move with an offset extends the sign. */
extend:
    asrs r0, r5, #16
    mov r2, r3
    cmp r0, #16
    it eq
    sxtheq r2, r3
    it lo
    sxtblo r2, r3
    b set
/* Of 64 bits, swapped, the lower 32 are what was above: 0. */
swap:
    IMMEDIATE r3
    uxtb r0, r5
    cmp r0, #0xd4
    beq 1f
    rev r2, r2
    cmp r3, #32
    it hi
    movhi r2, #0
    it lo
    lsrlo r2, r2, #16
    b set
1:  cmp r3, #16
    it eq
    uxtheq r2, r2
    b set

/* A local function keeps the caller's r6-r9 and gets the stack below its frame. */
call:
    mov r5, r10
    ldr r3, [r5, #PROGRAM_TEXT]
    subs r3, r4, r3
    ldr r0, [r5, #PROGRAM_FUNC]
    ldrb r1, [r5, #PROGRAM_FUNCS]
    add r0, r0, r1, lsl #2
1:  ldr r1, [r0, #-4]!              /* the caller: the last that begins before */
    uxth r2, r1
    cmp r3, r2, lsl #3
    blo 1b
    lsrs r1, r1, #16
    movs r0, #E_DEPTH
    add r3, r9, #RUN_CALL + 24 * (MAX_DEPTH - 1)
    cmp r11, r3
    beq end_here
    movs r0, #E_STACK
    ldr r2, [sp, #8 * 10]
    subs r2, r2, r1
    add r3, r9, #RUN_STACK_END
    subs r3, r3, r2
    ldrh r5, [r5, #PROGRAM_STACK]
    cmp r3, r5
    bhi end_here
    str r2, [sp, #8 * 10]
    ldr r0, [sp, #8 * 6]
    ldr r2, [sp, #8 * 7]
    ldr r3, [sp, #8 * 8]
    ldr r5, [sp, #8 * 9]
    stm r11!, {r0, r1, r2, r3, r4, r5}
    b far
exit:
    movs r0, #0
    add r3, r9, #RUN_CALL
    cmp r11, r3
    beq end
    ldmdb r11!, {r0, r1, r2, r3, r5, r12}
    str r0, [sp, #8 * 6]
    str r2, [sp, #8 * 7]
    str r3, [sp, #8 * 8]
    str r12, [sp, #8 * 9]
    ldr r2, [sp, #8 * 10]
    adds r2, r2, r1
    str r2, [sp, #8 * 10]
    subs r0, r5, r4
    asrs r0, r0, #3
    b jump

rmw:
    GET r2, r1
    add r2, r2, r5, asr #16
    ubfx r1, r5, #12, #4
    GET r3, r1
    ldr r12, [r2]
    lsrs r0, r0, #1
    it cc
    movcc r1, #SCRATCH
    cmp r0, #0x28
    beq and_memory
    bhi 2f
    cbz r0, add_memory
    orr r3, r3, r12
    b put
2:  cmp r0, #0x70
    beq exchange
    bhi compare_memory
    eor r3, r3, r12
    b put
add_memory:
    adds r3, r3, r12
    bcc put
    lsls r0, r5, #28
    bpl put
    ldr r0, [r2, #4]
    adds r0, #1
    b 4f
and_memory:
    ands r3, r3, r12
    b exchange
compare_memory:
    movs r1, #0
    ldr r0, [sp]
    cmp r0, r12
    bne 3f
    lsls r0, r5, #28
    bpl put
    ldr r0, [r2, #4]
    cbnz r0, 3f
exchange:
    lsls r0, r5, #28                    /* 8 bytes: the sign */
    bpl put
    movs r0, #0
4:  str r0, [r2, #4]
put:
    str r3, [r2]
3:  mov r2, r12
    b set
    .size lpn_loop32, . - lpn_loop32

/* void lpn_plan32(const lpn_program *program, uint8_t *plan, bool fuse) */
    .global lpn_plan32
    .type lpn_plan32, %function
    .thumb_func
lpn_plan32:
    push {r4-r6, lr}
    ldr r2, [r0, #PROGRAM_COUNT]
    ldr r0, [r0, #PROGRAM_TEXT]
    adr r5, plans
1:  ldmia r0!, {r3, r4}
    and r4, r3, #7
    ldrb r4, [r5, r4]               /* by the class where its operations are */
    ubfx r6, r3, #3, #5
    adds r4, r4, r6
    ldrb r4, [r5, r4]
    cbnz r4, 2f                     /* mov_reg: with an offset it extends the sign */
    lsrs r3, r3, #16
    it ne
    ldrbne r4, [r5, #8 + 3]        /* as sub's */
2:  strb r4, [r1], #1
    subs r2, r2, #1
    bne 1b
    pop {r4-r6, pc}

.macro PLAN names:vararg
    .irp name, \names
    .byte (\name - handlers) / 2
    .endr
.endm
    .balign 4
plans:
    .byte lddws - plans - 3, loads - plans - 12, puts - plans - 12, stores - plans - 12, 8, jumps - plans, jumps - plans, 8
    PLAN add_imm, add_reg, operate_imm, operate_reg, operate_imm, operate_reg, operate_imm, operate_reg
    PLAN operate_imm, operate_reg, and_imm, operate_reg, operate_imm, operate_reg, rsh_imm, operate_reg
    PLAN operate_imm, operate_reg, operate_imm, operate_reg, operate_imm, operate_reg, mov_imm, mov_reg
    PLAN operate_imm, operate_reg, operate_imm, operate_reg
jumps:
    PLAN ja, ja, jeq_imm, compare_reg, compare_imm, compare_reg, compare_imm, compare_reg
    PLAN compare_imm, compare_reg, jne_imm, compare_reg, compare_imm, compare_reg, compare_imm, compare_reg
    PLAN call_or_exit
lddws:
    PLAN lddw
    PLAN call_or_exit, ja, compare_imm, compare_reg, compare_imm, compare_reg
    PLAN compare_imm, compare_reg, compare_imm, compare_reg
puts:
    PLAN store_imm, store_imm, store_imm, store_imm
stores:
    PLAN store_reg, store_reg, store_reg, store_reg
    PLAN ja, data, ja, ja, ja, rodata, ja, ja
    PLAN atomic, atomic, atomic, atomic
loads:
    PLAN load, load2, load1, load, load, load, load
    .size lpn_plan32, . - lpn_plan32
#endif
