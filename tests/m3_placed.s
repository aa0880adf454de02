@ Two functions, A and B octets behind a line of the flash, for tests/test_m3_core.py.
    .syntax unified
    .thumb
    .text
    .macro function name place
    .global \name
    .type \name, %function
    .thumb_func
    .balign 8
    .space \place
\name:
    .endm

function outer A
    push {r4, lr}
    movw r4, #3
again:
    bl inner
    subs.w r4, r4, #1
    bne again
    pop {r4, pc}
    .size outer, . - outer

function inner B
    add.w r1, r1, r0
    eor.w r2, r1, r0
    cbz r2, none
    add.w r1, r1, #5
    orr.w r2, r1, r0
none:
    bx lr
    .size inner, . - inner
