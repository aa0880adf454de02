/* SPDX-License-Identifier: LGPL-2.1-only */
/* The certificate's checker in Thumb-2 itself, for the Cortex-M3 and later: what certificate.c says, function by function, under its names. Other cores
 * have the C; both give the same verdict, reason and slot (tests/test_certificate_same.py).
 *
 *     r4, r5, r6  are kept by all that is called; r6 is the instruction's first word, else the caller's
 *     r7   the frame below: the checker            r8   the certificate
 *     r9   varint, called by READ                  r10  registers, words of the stack, map (reg)
 *     r11  the symbols (sym)                       r0 to r3, r12: free
 *
 * A value is a word: kind, symbol, and the offset in the upper half. A symbol is three: room, lowest, highest. An operand is what `look` finds: a value,
 * where its symbol is, its own lowest and highest. The first refusal ends the check wherever it is found: nobody returns from it. */
#include "lpn_options.h"

#if defined(__thumb2__) && !LPN_CERTIFICATE_IN_C

#include "certificate_offsets.h"
#include "lpn_context.h"
#include "lpn_helpers.h"

    .syntax unified
    .thumb
    .text
    .balign 4                           /* tables are found by where the instruction is */

/* The frame. What is used most comes first: up to 124 an instruction on it takes 2 bytes, and further up while nothing is pushed, or it is known what. */
#define A 0                     /* operands: what the instruction works on */
#define B 16                    /* ... and what is compared with a label: what this says, with the room in the symbol's place */
#define LOW 32                  /* bytes that are accessed */
#define SPAN 36
#define FRAME 40                /* where a label says of the words of the stack what they still are; 0: they may be others */
#define MAP 44                  /* what a label's symbols stand for in this state */
#define REFS 48                 /* of the label that is read: shared symbols end here */
#define SYMBOLS 52              /* so many; new ones begin at FIRST, and the next one may be NEXT */
#define FIRST 56
#define NEXT 60
#define SUSPECT 64              /* values from here to the map may have it */
#define COST 68                 /* what is left to be executed from here on */
#define SIZE 72                 /* of the certificate */
#define NOW 76                  /* its next byte to read */
#define ROWS 80                 /* of the loops, from number 0 on */
#define LOOP 84
#define INDEX 88                /* where it is */
#define MODE 92                 /* 0: what the label says is taken over; else it is compared, and this is its slot + 1 */
#define CLAIMED 96              /* the certificate's beginning: cost, */
#define LABELS 100
#define WORDS 104
#define SHARE 108
#define LOOPS 112
#define START 116
#define PC 120
#define LIMIT 124               /* of each kind */
#define TO 188                  /* the instruction's registers */
#define FROM 192
#define IMM 196
#define TABLE 200
#define COUNT 204
#define TEXT 208
#define ON 212                  /* control may come to the next instruction from this one: 0 or 1 */
#define DONE 216                /* labels before the next one */
#define SLOT 220                /* of the next label */
#define HERE 224                /* what it says begins here */
#define BEHIND 228              /* and the one after it there */
#define KIND 232                /* of a sum */
#define FRAME_SIZE 236

#define OF_A(field) (A + (field))
#define OF_B(field) (B + (field))
#define SYM 4
#define LO 8
#define HI 12
#define ROOM SYM
#define OF_ROOM 0               /* of a symbol */
#define OF_LO 4
#define OF_HI 8
#define REG(n) (4 * (n))
#define STACK_WORDS REG(11)

#define ZERO 0
#define LENGTH 1
#define FIRST_SYMBOL 2
#define UNREAD 255
#define DEAD 0
#define NUMBER 1
#define PKT 2
#define LOWER 3
#define CTX 4
#define STACK 5
#define REC 6
#define STATE 7
#define OUT 8
#define RODATA 9
#define DATA 10
#define BYTES 11
#define UPPER 12
#define VERSION 16
#define FIELDS 5
#define MASK 16
#define POOL 32
#define MAX_OFFSET 0x20000
#define MOST_SYMBOLS 127
#define ROW 3
#define LOOP_ROW 9

/* The next number of the certificate, in r0, if \condition holds. It changes r1 to r3. */
.macro READ condition
  .ifnb \condition
    it \condition
  .endif
    blx\condition r9
.endm

.macro REFUSE name, reason
\name:
    movs r0, #\reason
    b refuse
.endm

/* The place of the symbol with this number, which is in another register. */
.macro SYMBOL place, number
    movs \place, #12
    muls \place, \number
    add \place, r11
.endm

#include "certificate_values.inc"
#include "certificate_compare.inc"
#include "certificate_labels.inc"
#include "certificate_index.inc"

/* ------------------------------------------------------------------------------------ the pass
 * int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at) */
    .global lpn_certificate_check
    .type lpn_certificate_check, %function
    .thumb_func
lpn_certificate_check:
    push {r3-r11, lr}
    sub sp, #FRAME_SIZE
    mov r7, sp
    mov r10, r1
    adr r9, varint + 1                  /* Thumb */
    mov r4, r0
    mov r5, r2
    mov r0, sp
    add r1, sp, #FRAME_SIZE
    bl clear
    ldr r0, [r4, #IMAGE_CERTIFICATE]
    mov r8, r0
    ldr r0, [r4, #IMAGE_CERTIFICATE_SIZE]
    str r0, [sp, #SIZE]
    ldr r0, [r4, #IMAGE_TEXT]
    str r0, [sp, #TEXT]
    ldr r0, [r4, #IMAGE_TEXT_SIZE]
    lsrs r0, r0, #3
    str r0, [sp, #COUNT]
    movs r0, #1
    lsls r0, r0, #17                    /* MAX_OFFSET */
    str r0, [sp, #LIMIT + 4 * PKT]
    add r0, sp, #LIMIT + 4 * STACK
    ldrh r1, [r4, #IMAGE_STACK_USED]
    adds r1, #7
    lsrs r6, r1, #3                     /* eight bytes each */
    lsls r1, r6, #3
    ldrh r2, [r4, #IMAGE_RECORD_SIZE]
    ldrh r3, [r4, #IMAGE_STATE_SIZE]
    stmia r0!, {r1-r3}                  /* STACK, REC, STATE */
    ldrh r1, [r4, #IMAGE_OUT_SIZE]
    ldr r2, [r4, #IMAGE_RODATA_SIZE]
    ldr r3, [r4, #IMAGE_DATA_SIZE]
    stmia r0!, {r1-r3}                  /* OUT, RODATA, DATA */

/* How it begins: how many numbers follow, and these. */
    READ
    subs r0, #VERSION
    mov r12, r0
    cmp r0, #FIELDS
    bhi refuse_form
    add r4, sp, #CLAIMED
    b 2f
1:  READ
    lsrs r1, r0, #28
    bne refuse_form
    stmia r4!, {r0}
2:  subs r12, #1
    bpl 1b

/* The tables. */
    ldr r0, [sp, #NOW]
    subs r1, r0, #4
    add r1, r8
    str r1, [sp, #INDEX]
    ldr r1, [sp, #LABELS]
    lsrs r1, r1, #3
    add r0, r0, r1, lsl #2              /* loops */
    mov r1, r8
    adds r1, r1, r0
    subs r1, #LOOP_ROW
    str r1, [sp, #ROWS]
    ldr r1, [sp, #LOOPS]
    add r1, r1, r1, lsl #3
    adds r0, r0, r1
    str r0, [sp, #TABLE]
    ldr r1, [sp, #WORDS]
    add r1, r1, r1, lsl #1
    adds r1, r1, r0
    str r1, [sp, #START]
    ldr r2, [sp, #SIZE]
    cmp r1, r2
    bhi refuse_form
    lsls r3, r6, #2                     /* cert[row] + 1 >= limit[STACK] / 2 */
    b 4f
3:  ldrb r2, [r8, r0]
    adds r2, #1
    cmp r2, r3
    bhs refuse_form
    adds r0, #ROW
4:  cmp r0, r1
    blo 3b

/* The work area: registers, words of the stack, map, symbols. */
    add r0, r10, r6, lsl #3
    adds r0, #STACK_WORDS
    str r0, [sp, #MAP]
    ldr r1, [sp, #SHARE]
    adds r1, #FIRST_SYMBOL
    add r0, r0, r1, lsl #2
    mov r11, r0
    add r5, r10
    subs r3, r5, r0
    blo refuse_memory                   /* size < used */
    movs r2, #12
    udiv r3, r3, r2
    cmp r3, #MOST_SYMBOLS
    it hi
    movhi r3, #MOST_SYMBOLS
    str r3, [sp, #SYMBOLS]
    cmp r3, r1
    bls refuse_memory
    movs r1, #1
    lsls r1, r1, #15
    rsbs r1, r1, #0                     /* NO_ROOM */
    movs r2, #0
    movs r3, #0
    stmia r0!, {r1-r3}                  /* sym[ZERO] */

/* What holds at the start. */
    movs r1, #FIRST_SYMBOL
    str r1, [sp, #REFS]
    ldr r1, [sp, #MAP]
    ldr r3, [sp, #CLAIMED]
    bl begin_block                      /* r0 is the map then */
    movs r1, #CTX
    str r1, [r10, #REG(1)]
    movs r1, #NUMBER
    str r1, [sp, #ON]
    add r2, r1, #LENGTH << 8
    stmia r0!, {r1, r2}
    bl next_label
    b slot

    REFUSE refuse_label, REFUSE_LABEL
    REFUSE refuse_cost, REFUSE_COST
    REFUSE refuse_memory, REFUSE_MEMORY

/* The end: r0 says why, the caller's word where, or what it costs at most. */
refuse_form:
    movs r0, #REFUSE_FORM
refuse:
    mov sp, r7
    ldr r1, [sp, #PC]
told:
    ldr r2, [sp, #FRAME_SIZE]
    str r1, [r2]
    add sp, #FRAME_SIZE + 4
    pop {r4-r11, pc}
finished:
    ldr r0, [sp, #DONE]
    ldr r1, [sp, #LABELS]
    subs r0, r0, r1                     /* never more */
    blo refuse_label
    ldr r1, [sp, #CLAIMED]
    b told

/* What the instruction's first register becomes: any number; one in 0..r3, r2..r3; what has no room, of kind r0; with room r1. */
put_any:
    movs r3, #0
    mvns r3, r3
put_upto:
    movs r2, #0
put_number:
    movs r0, #NUMBER
put_plain:
    ldr r1, [r11, #OF_ROOM]             /* of symbol 0: NO_ROOM */
put_some:
    ldr r4, [sp, #TO]
put_there:                              /* at r4, and in the register, too */
    bl put
set_to:
    ldr r1, [sp, #TO]
    str r0, [r1]

/* One instruction after the other. */
done:
    ldr r0, [sp, #PC]
    uxtb r1, r6
    cmp r1, #0x18
    it eq
    addeq r0, #1
skip:
    adds r0, #1
    str r0, [sp, #PC]
slot:
    ldr r1, [sp, #SLOT]
    ldr r0, [sp, #PC]
    ldr r2, [sp, #COUNT]
    cmp r0, r2
    bhs finished
    cmp r0, r1
    bne fetch
    ldr r1, [sp, #HERE]
    str r1, [sp, #NOW]
    adds r0, #1
    ldr r1, [sp, #ON]
    muls r0, r1
    bl label                            /* compared, if control comes here, and then, as if it did not, taken over */
    ldr r0, [sp, #ON]
    movs r1, #1
    eors r0, r1
    str r0, [sp, #ON]
    beq slot
    ldr r0, [sp, #DONE]
    adds r0, #1
    str r0, [sp, #DONE]
    ldr r1, [sp, #BEHIND]
    str r1, [sp, #NOW]
    bl next_label
    ldr r0, [sp, #PC]
fetch:
    ldr r1, [sp, #ON]
    cmp r1, #0
    beq skip
    ldr r2, [sp, #TEXT]
    add r2, r2, r0, lsl #3
    ldr r6, [r2]
    ldr r5, [r2, #4]
    movs r1, #15 << 2
    lsrs r3, r6, #6
    ands r3, r1
    add r3, r10
    lsrs r4, r6, #10
    ands r4, r1
    add r4, r10
    add r0, sp, #TO
    stmia r0!, {r3-r5}                  /* TO, FROM, IMM */
    ldr r0, [sp, #COST]
    subs r0, #1
    blo refuse_cost
    str r0, [sp, #COST]
    lsls r0, r6, #29
    beq wide_load
    bpl access
    lsls r0, r6, #1                     /* the classes 4 and 7 have the same in the two lowest bits */
    eors r0, r6
    lsls r0, r0, #30
    bmi 1f
    b arithmetic
1:  b jump

#include "certificate_memory.inc"
#include "certificate_alu.inc"
#include "certificate_jump.inc"

    .size lpn_certificate_check, . - lpn_certificate_check
#endif
