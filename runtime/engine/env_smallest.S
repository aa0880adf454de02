/* SPDX-License-Identifier: LGPL-2.1-only */
/* What env.c says, function by function, in Thumb-2 itself: for the smallest engine (lpn_options.h). Addresses and registers have 32 bits there, so nobody
 * asks for what is above them. tests/test_m3_helpers.py holds that both do the same. */
#include "env_offsets.h"
#include "lpn_helpers.h"
#include "lpn_options.h"

#if defined(__thumb2__) && LPN_SMALLEST

    .syntax unified
    .thumb
    .text

/* void lpn_zero(uint8_t *to, size_t n): the words beyond whole turns first. */
    .global lpn_zero
    .type lpn_zero, %function
    .thumb_func
lpn_zero:
    mvns r3, r1
    ubfx r3, r3, #2, #4
    lsls r3, r3, #1                 /* of a turn what is left out, in bytes of code; it begins so far before `to`, and a word */
    sub r0, r0, r3, lsl #1
    subs r0, #4
    movs r2, #0
    add pc, r3                      /* there are 4 bytes from here to what `pc` says: all 16 words are left out at most */
1:  .irp word, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    str r2, [r0, #4 * \word]
    .endr
    adds r0, #64
    subs r1, #64
    bhs 1b
    lsls r1, r1, #31                /* two bytes: carry; one more: the sign */
    it cs
    strhcs r2, [r0], #2
    it mi
    strbmi r2, [r0]
    bx lr
    .size lpn_zero, . - lpn_zero

/* int lpn_env_call(const lpn_env *env, const lpn_view *view, uint32_t number, const uint64_t *r, uint32_t *value)
 *
 * r4: where the value goes, r5: the helper, r0: the env until it is known who is called. Of the frame the first three words are the arguments', and free
 * for what a call takes on the stack. */
#define FRAME 32
#define VIEW 0
#define ARGUMENTS 8
    .global lpn_env_call
    .type lpn_env_call, %function
    .thumb_func
lpn_env_call:
    push {r1-r7, lr}
    ldr r4, [sp, #FRAME]
    movs r5, #0
    str r5, [r4]
    mov r5, r2
    cmp r2, #LPN_HELPER_LOOKUP
    beq words
    cmp r2, #LPN_HELPER_CLOCK_US
    beq clock
    cmp r2, #LPN_HELPER_TRACE
    beq trace
    subs r2, #LPN_HELPER_BUFFER_PUT
    cmp r2, #LPN_HELPER_BUFFER_DROP - LPN_HELPER_BUFFER_PUT
    bls clock
    cmp r5, #LPN_HELPER_OWN
    bhs words
    cbz r0, 1f
    ldr r7, [r0, #ENV_CALL]
    cbz r7, 1f
    ldr r0, [r0, #ENV_USER]
    mov r1, r5
    mov r2, r3
    mov r3, r4
    blx r7
    b done
1:  movs r0, #E_HELPER
    b done

trace:
    cbz r0, good
    ldr r7, [r0, #ENV_TRACE]
    cbz r7, good
    ldr r0, [r0, #ENV_USER]
    ldm r3, {r2, r3, r5, r6}        /* two numbers of 64 bits */
    strd r5, r6, [sp]
    blx r7
    b good

clock:                              /* buffers ask for it, too */
    cbz r0, 1f
    ldr r7, [r0, #ENV_CLOCK]
    cbz r7, 2f
    ldr r0, [r0, #ENV_USER]
    blx r7
    b 1f
2:  ldr r0, [r0, #ENV_NOW]
1:  cmp r5, #LPN_HELPER_CLOCK_US
    beq valued
#if LPN_NO_BUFFERS
    movs r0, #E_LEFT_OUT
    b done
#else
    subs r5, #LPN_HELPER_BUFFER_PUT /* enum lpn_buffer_call has the helpers' order */
    mov r1, r5
    mov r3, r0
    ldr r0, [sp, #VIEW]
    ldr r2, [sp, #ARGUMENTS]
    str r4, [sp]
    bl lpn_buffers_call
    b done
#endif

words:                              /* the arguments, a register each */
    ldr r1, [r3]
    ldr r2, [r3, #8]
    ldr r6, [r3, #24]
    ldr r7, [r3, #32]
    ldr r3, [r3, #16]
    subs r5, #LPN_HELPER_OWN
    blo lookup
    cbz r0, 1f
    ldr r12, [r0, #ENV_EXTERN_COUNT]
    cmp r5, r12
    bhs 1f
    ldr r0, [r0, #ENV_EXTERNS]
    add r5, r0, r5, lsl #EXTERN_BITS
    push {r1-r3, r6, r7, lr}        /* a word more: the stack stays 8-aligned */
    mov r1, sp
    ldr r0, [r5, #EXTERN_USER]
    ldr r5, [r5, #EXTERN_CALL]
    blx r5
    add sp, #24
valued:
    str r0, [r4]
good:
    movs r0, #0
done:
    add sp, #12
    pop {r4-r7, pc}
1:  movs r0, #E_EXTERN
    b done
    .size lpn_env_call, . - lpn_env_call

#if LPN_NO_TABLES
    .type lookup, %function
lookup:
    movs r0, #E_LEFT_OUT
    b done
    .size lookup, . - lookup
#else
/* int lpn_env_lookup(const lpn_env *env, const uintptr_t *r, uint32_t *action) */
    .global lpn_env_lookup
    .type lpn_env_lookup, %function
    .thumb_func
lpn_env_lookup:
    push {r1-r7, lr}
    mov r4, r2
    ldm r1, {r1-r3}
    movs r5, #0
    str r5, [r4]
lookup:                             /* r1: which table, and sizes (LPN_SIZE2, LPN_SIZE3), r2: the key, r3: where the data goes */
    cbz r0, 6f
    ldr r5, [r0, #ENV_TABLE_COUNT]
    uxtb r6, r1
    cmp r6, r5
    bhs 6f
    ldr r0, [r0, #ENV_TABLES]
    add r0, r0, r6, lsl #TABLE_BITS
    ldrh r5, [r0, #TABLE_KEY]
    ubfx r6, r1, #8, #8
    cmp r6, r5
    bne 6f
    lsrs r7, r1, #16                    /* the room */
    mov r6, r3
    ldrh r5, [r0, #TABLE_DATA]
    cmp r7, r5
    blo 6f
    cmp r7, #MOST_DATA
    bhi 6f
    mov r1, r2
    mov r2, sp
    bl lpn_table_lookup
    str r0, [r4]
    cbnz r0, 1f
    movs r5, #0                     /* none matches: all of it is zeroed */
1:  ldr r3, [sp]
    subs r1, r7, r5
    adds r0, r6, r5
    b 3f
2:  ldr r2, [r3, r5]                /* the last words first, then what is before them */
    str r2, [r6, r5]
3:  subs r5, #4
    bhs 2b
    adds r5, #4
    b 5f
4:  ldrb r2, [r3, r5]
    strb r2, [r6, r5]
5:  subs r5, #1
    bhs 4b
    bl lpn_zero
    b good
6:  movs r0, #E_HELPER_ARG
    b done
    .size lpn_env_lookup, . - lpn_env_lookup
#endif

/* int lpn_extern_bind(lpn_extern *slot, const lpn_extern *offered, uint32_t count, const char *name, size_t size, uint32_t args) */
    .global lpn_extern_bind
    .type lpn_extern_bind, %function
    .thumb_func
lpn_extern_bind:
    push {r4-r7, lr}
    ldr r6, [sp, #20]               /* size */
1:  subs r2, #1
    blo 5f
    ldrh r4, [r1, #EXTERN_ARGS]
    ldr r5, [sp, #24]
    cmp r4, r5
    bne 4f
    ldr r4, [r1, #EXTERN_NAME]
    movs r5, #0
    b 3f
2:  ldrb r12, [r3, r5]
    cmp r7, r12
    bne 4f
    cbz r7, 4f
    adds r5, #1
3:  ldrb r7, [r4, r5]
    cmp r5, r6
    bne 2b
    cbnz r7, 4f                     /* it has more */
    ldm r1, {r1-r4}
    stm r0!, {r1-r4}
    mov r0, r7
    pop {r4-r7, pc}
4:  adds r1, #1 << EXTERN_BITS
    b 1b
5:  movs r0, #E_EXTERN
    pop {r4-r7, pc}
    .size lpn_extern_bind, . - lpn_extern_bind
#endif
