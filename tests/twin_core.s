/* Small programs for the emulated controller: the vector table, and what each test runs (see test_twin_core.py). */
.syntax unified
.cpu cortex-m3
.thumb

.section .text
.word 0x20004000                /* the stack */
.word start + 1
.space 4 * 9
.word svc + 1                   /* 11 */
.space 4 * 2
.word pendsv + 1                /* 14 */
.word tick + 1                  /* 15 */
.rept 60
.word interrupt + 1
.endr

.macro function name
.global \name
.type \name, %function
.thumb_func
\name:
.endm

/* Every exception appends its number to a list in RAM: 0x20000000 its length, then bytes. */
function note
    ldr r0, =0x20000000
    ldr r1, [r0]
    adds r2, r0, r1
    mrs r3, IPSR
    strb r3, [r2, #4]
    adds r1, #1
    str r1, [r0]
    bx lr
function svc
    push {r4, lr}
    bl note
    pop {r4, pc}
function pendsv
    push {r4, lr}
    bl note
    pop {r4, pc}
function tick
    push {r4, lr}
    bl note
    pop {r4, pc}
function interrupt
    push {r4, lr}
    bl note
    ldr r0, =0x40000010         /* TIM2_SR */
    movs r1, #0
    str r1, [r0]
    ldr r0, =0x20000100         /* whoever wants it: pend an interrupt from inside a handler, once */
    ldr r1, [r0]
    movs r2, #0
    str r2, [r0]
    ldr r0, =0xE000E200
    str r1, [r0]
    dsb
    pop {r4, pc}

/* What to run: its address is at 0x20000200. */
function start
    ldr r0, =0x20000200
    ldr r0, [r0]
    bx r0

function exceptions             /* SVC, then PendSV twice: the second one masked for a while */
    svc 1
    ldr r0, =0xE000ED04
    ldr r1, =0x10000000
    str r1, [r0]
    isb
    cpsid i
    str r1, [r0]
    isb
    movs r4, #77
    ldr r5, =0x20000000
    ldr r5, [r5]                /* 2: SVC and PendSV, not the third one yet */
    cpsie i
    isb
    ldr r6, =0x20000000
    ldr r6, [r6]
    b .

function registers              /* an exception keeps all registers and flags */
    movs r0, #10
    movs r1, #11
    movs r2, #12
    movs r3, #13
    mov r12, r3
    cmp r0, r0
    svc 1
    ite eq
    moveq r4, #1
    movne r4, #2
    b .

function process                /* a thread on the process stack goes through SVC */
    ldr r0, =0x20003000
    msr PSP, r0
    movs r0, #2
    msr CONTROL, r0
    isb
    mov r4, sp
    svc 1
    mov r5, sp
    mrs r6, CONTROL
    b .

function sleeps                 /* TIM2 at 1 MHz wakes the core after 1000 us; 8 MHz */
    ldr r0, =0x40000000
    movs r1, #7
    str r1, [r0, #0x28]         /* PSC */
    movs r1, #1
    str r1, [r0, #0x14]         /* EGR */
    movs r1, #0
    str r1, [r0, #0x10]         /* SR */
    ldr r1, =1000
    str r1, [r0, #0x34]         /* CCR1 */
    movs r1, #2
    str r1, [r0, #0x0C]         /* DIER */
    ldr r2, =0xE000E100
    ldr r3, =0x10000000         /* interrupt 28 */
    str r3, [r2]
    movs r1, #1
    str r1, [r0]                /* CR1 */
    wfi
    ldr r4, [r0, #0x24]
    b .

function masked                 /* WFI wakes with PRIMASK set, without the handler */
    cpsid i
    ldr r0, =0xE000E100
    ldr r1, =0x00000400         /* interrupt 10 */
    str r1, [r0]
    ldr r2, =0xE000E200
    str r1, [r2]
    wfi
    ldr r4, =0x20000000
    ldr r4, [r4]
    cpsie i
    isb
    ldr r5, =0x20000000
    ldr r5, [r5]
    b .

function nested                 /* an interrupt that pends a more urgent one, and a less urgent one */
    ldr r0, =0xE000E400
    movs r1, #0x80
    strb r1, [r0, #5]
    movs r1, #0x40
    strb r1, [r0, #6]
    movs r1, #0xC0
    strb r1, [r0, #7]
    ldr r0, =0xE000E100
    movs r1, #0xE0              /* interrupts 5, 6, 7 */
    str r1, [r0]
    ldr r2, =0x20000100
    movs r1, #0xC0              /* from the first handler: 6 and 7 */
    str r1, [r2]
    ldr r0, =0xE000E200
    movs r1, #0x20
    str r1, [r0]
    isb
    b .

function counts                 /* SysTick every 100 cycles */
    ldr r0, =0xE000E010
    movs r1, #99
    str r1, [r0, #4]
    movs r1, #0
    str r1, [r0, #8]
    movs r1, #7
    str r1, [r0]
1:  ldr r2, =0x20000000
    ldr r2, [r2]
    cmp r2, #5
    bne 1b
    movs r1, #0
    str r1, [r0]
    b .

function says                   /* polls TXE of USART1 at 9600 baud, 8 MHz */
    ldr r0, =0x40013800
    ldr r1, =833
    str r1, [r0, #8]
    ldr r1, =0x200C
    str r1, [r0, #0x0C]
    movs r2, #65
1:  ldr r1, [r0]
    lsls r1, r1, #24
    bpl 1b
    str r2, [r0, #4]
    adds r2, #1
    cmp r2, #70
    bne 1b
2:  ldr r1, [r0]
    lsls r1, r1, #25
    bpl 2b
    movs r4, #1
    b .

function peripherals_in_it      /* accesses of registers inside IT blocks */
    ldr r0, =0x40002800         /* RTC */
    ldr r1, =0x40007000         /* power: keeps what is written */
    movs r2, #5
    movs r4, #0
    cmp r2, #5
    itte eq
    streq r2, [r1]
    ldreq r3, [r1]
    movne r3, #99
    adds r4, #1
    cmp r2, #6
    ittee eq
    streq r4, [r1]
    ldreq r3, [r1]
    strne r2, [r1, #4]
    ldrne r5, [r1, #4]
    adds r4, #1
    adds r4, #1
    b .

function bits                   /* the alias of single bits: bit 3 of the power control register */
    ldr r0, =0x420E000C
    movs r1, #1
    str r1, [r0]
    ldr r2, =0x40007000
    ldr r4, [r2]
    ldr r5, [r0]
    b .

function wild
    ldr r0, =0x60000000
    ldr r0, [r0]
    b .

function in_ram                 /* code in RAM that is replaced between two calls */
    ldr r4, =0x20000401
    ldr r0, =0x20000400
    ldr r1, =0x47702001         /* movs r0, #1; bx lr */
    str r1, [r0]
    dsb
    isb
    blx r4
    mov r5, r0
    ldr r0, =0x20000400
    ldr r1, =0x47702002         /* movs r0, #2; bx lr */
    str r1, [r0]
    dsb
    isb
    blx r4
    mov r6, r0
    b .

function costs                  /* 10 + 3 * 8 instructions, see the test */
    movs r0, #8
    movs r1, #0
1:  adds r1, #1
    subs r0, #1
    bne 1b
    movs r2, #100
    movs r3, #7
    udiv r4, r2, r3
    b .
.ltorg

.macro busy                     /* until SR says that it is not */
9:  ldr r0, [r7, #12]
    tst r0, #1
    bne 9b
.endm

function flash                  /* a page is erased, a halfword programmed, and once more: r4 to r6 what is there then, r8 and r9 SR */
    ldr r7, =0x40022000
    ldr r0, =0x45670123
    str r0, [r7, #4]
    ldr r0, =0xCDEF89AB
    str r0, [r7, #4]
    ldr r2, =0x08004800
    movs r0, #2                 /* PER, AR, STRT */
    str r0, [r7, #16]
    str r2, [r7, #20]
    movs r0, #0x42
    str r0, [r7, #16]
    busy
    ldrh r4, [r2]
    movs r0, #1                 /* PG */
    str r0, [r7, #16]
    ldr r1, =0x1234
    strh r1, [r2]
    busy
    ldr r8, [r7, #12]
    ldrh r5, [r2]
    ldr r1, =0x5678
    strh r1, [r2]               /* it is not blank any more */
    busy
    ldr r9, [r7, #12]
    ldrh r6, [r2]
    movs r0, #0x80              /* LOCK */
    str r0, [r7, #16]
    movs r3, #1
    b .

function locked                 /* a store that nobody allowed */
    ldr r2, =0x08004800
    movs r1, #0
    strh r1, [r2]
    b .
.ltorg
