@ Functions for tests/test_m3_core.py: what each costs is written there.
    .syntax unified
    .thumb
    .text
    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
    .balign 8
\name:
    .endm

function plain              @ 2, bx 1 + refill
    movs r0, #1
    adds r0, #2
    bx lr
function loads              @ 2 + 1 + 2 (its address was just loaded)
    ldr r1, [r0]
    ldr r2, [r0, #4]
    ldr r3, [r2]
    bx lr
function stores             @ 1 + 2, the last one less behind a load
    str r0, [r0]
    str r0, [r0, r1]
    ldr r2, [r0]
    str r3, [r0, r1]
    bx lr
function load_behind_store  @ nothing is pipelined behind a store: 1 + 2
    str r0, [r0]
    ldr r2, [r0]
    bx lr
function many               @ 1 + 3, 3, 3, 1 + 3 + refill
    push {r4, r5, lr}
    ldrd r2, r3, [r0]
    strd r2, r3, [r0, #8]
    pop {r4, r5, pc}
function products           @ 1, 2, 3 + operands, 4 + operands
    mul r2, r0, r1
    mla r2, r0, r1, r2
    umull r2, r3, r0, r1
    umlal r2, r3, r0, r1
    bx lr
function quotient           @ 2 to 12
    udiv r2, r0, r1
    bx lr
function not_taken          @ 1, 1 and the return
    cmp r0, r0
    bne 1f
    bx lr
1:  movs r0, #1
    bx lr
function taken              @ 1, 1 + refill and the return
    cmp r0, r0
    beq 1f
    nop
1:  bx lr
function to_the_next        @ 1, 1, bx 1 + refill: to what lies behind it
    adr.w r1, 1f
    orr r1, r1, #1
    bx r1
1:  bx lr
function in_it_block        @ r0 <= 5: cmp, it, 2 loads and 1 skipped; else 1 load and 2 skipped; then movs
    cmp r1, #5
    itte ls
    ldrls r2, [r0]
    ldrls r3, [r0, #4]
    ldrhi r2, [r0, #8]
    b 1f
    nop
1:  movs r0, #9
    movs r3, #8
    bx lr
function literal            @ a load from flash
    ldr r0, =0x12345678
    bx lr
    .ltorg
function quotient_in_it_block @ of r0 by r1: unsigned unless r2
    cmp r2, #0
    ite eq
    udiveq r3, r0, r1
    sdivne r3, r0, r1
    bx lr

function literal_in_it_block
    cmp r1, #5
    it ls
    ldrls r0, =0x87654321
    b 1f
    nop
1:  movs r2, #9
    movs r3, #8
    adds r0, r2, r3
    bx lr
    .ltorg
function table              @ tbb: 2 + refill, then the place jumped to
    tbb [pc, r0]
    .byte 1, 2
    bx lr
    bx lr
function wide               @ eight 32-bit instructions in a row: the flash delivers 8 bytes every 3 cycles
    .rept 8
    add.w r0, r0, #1
    .endr
    bx lr
function peek
    ldr r0, [r0]
    bx lr
function poke
    str r1, [r0]
    bx lr
function peek_half
    ldrh r0, [r0]
    bx lr
function poke_half
    strh r1, [r0]
    bx lr
function peek_byte
    ldrb r0, [r0]
    bx lr
function poke_byte
    strb r1, [r0]
    bx lr
function peek_if            @ the load is executed if r1 is 5
    cmp r1, #5
    it eq
    ldreq r0, [r0]
    bx lr
function forever
    b forever
