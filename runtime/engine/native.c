/* SPDX-License-Identifier: LGPL-2.1-only */
/* What translated code calls, and how it is called. */
#include "bytes.h"
#include "lpn_helpers.h"
#include "thumb2.h"

static uint32_t call_helper(lpn_native *native, uint32_t number, const uint32_t *r)
{
    lpn_native_frame *frame = (lpn_native_frame *)native;
    uint32_t value;
    int error;
    if (frame->error != LPN_OK) {               /* an interpreter would have ended the run */
        return 0;
    }
#if !LPN_NO_TABLES
    if (number == LPN_HELPER_LOOKUP) {          /* addresses have 32 bits where this code runs */
        error = lpn_env_lookup(frame->env, (const uintptr_t *)r, &value);
    } else
#endif
    {
        uint64_t args[5], *to = args;
        const uint32_t *upper = native->upper, *const end = r + 5;
        do {
            *to++ = *r++;
        } while (r != end);
        if (upper != NULL) {
            do {
                lpn_put32((uint8_t *)to - 4, upper[5]);
                upper--;
            } while (--to != args);
        }
        error = lpn_env_call(frame->env, frame->view, number, args, &value);
    }
    frame->error = error;
    return value;
}

/* RFC 9669 section 5.3. Nothing else of this engine runs until it is done, which is all the atomicity there is to have on
 * one core. */
static uint32_t run_atomic(lpn_native *native, uint32_t address, uint32_t code, uint32_t value, uint32_t r0)
{
    uint8_t *p = lpn_pointer(address);
    const bool two = (code & 0x10000) != 0;
    const uint32_t op = code & 0xffff, reg = code >> 17;
    uint64_t old = two ? lpn_get64(p) : lpn_get32(p), v = value, expected = r0;
    if (two && native->upper != NULL) {
        v |= (uint64_t)native->upper[reg] << 32;
        expected |= (uint64_t)native->upper[0] << 32;
    }
    switch (op) {
    case 0x00: case 0x01: v = old + v; break;
    case 0x40: case 0x41: v = old | v; break;
    case 0x50: case 0x51: v = old & v; break;
    case 0xa0: case 0xa1: v = old ^ v; break;
    case 0xf1: v = old == expected ? v : old; break;
    default: break;             /* exchange */
    }
    lpn_put32(p, (uint32_t)v);
    if (two) {
        lpn_put32(p + 4, (uint32_t)(v >> 32));
        if (native->upper != NULL && (op & 1) != 0) {
            native->upper[op == 0xf1 ? 0 : reg] = (uint32_t)(old >> 32);
        }
    }
    return (uint32_t)old;
}

#if !LPN_CLEAN32_ONLY
/* Section 4.1: shift counts are masked; a division by zero gives 0, a modulo the dividend; the one signed overflow wraps. */
static uint64_t mul(uint64_t a, uint64_t b) { return a * b; }
static uint64_t lsh(uint64_t a, uint64_t b) { return a << (b & 63); }
static uint64_t rsh(uint64_t a, uint64_t b) { return a >> (b & 63); }
static uint64_t arsh(uint64_t a, uint64_t b) { return (uint64_t)((int64_t)a >> (b & 63)); }
static uint64_t div_(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static uint64_t mod(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }

static uint64_t sdiv(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t smod(uint64_t a, uint64_t b)
{
    return b == 0 ? a : b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}
#endif

void lpn_native_begin(lpn_native_frame *frame, const lpn_env *env, const lpn_view *view)
{
#if LPN_CLEAN32_ONLY
    uint64_t (*const *const wide)(uint64_t, uint64_t) = NULL;
#else
    static uint64_t (*const wide[LPN_WIDE_OPS])(uint64_t, uint64_t) = {
        [LPN_WIDE_MUL] = mul, [LPN_WIDE_LSH] = lsh, [LPN_WIDE_RSH] = rsh, [LPN_WIDE_ARSH] = arsh,
        [LPN_WIDE_DIV] = div_, [LPN_WIDE_MOD] = mod, [LPN_WIDE_SDIV] = sdiv, [LPN_WIDE_SMOD] = smod };
#endif
    frame->native.upper = NULL;
    frame->native.helper = call_helper;
    frame->native.atomic = run_atomic;
    frame->native.wide = wide;
    frame->env = env;
    frame->view = view;
    frame->error = LPN_OK;
}

int lpn_container_translate(lpn_container *container, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used)
{
    lpn_program *program = &container->program;
    if (!program->certified) {
        *used = 0;
        return LPN_E_UNCERTIFIED;
    }
    lpn_func *const whole = program->func;
    const uint16_t seen = whole->frame;
    if (seen < lpn_get16(container->image + LPN_IMAGE_STACK)) {
        whole->frame = program->stack;     /* what was proved, where the loader saw less: whole words, as sp has */
    }
    lpn_thumb2 job = { program, program->clean32, (uint32_t)lpn_address(program->rodata),
                       (uint32_t)lpn_address(program->data), code, size, map };
    int error = lpn_thumb2_translate(&job, used);
    whole->frame = seen;        /* where it is interpreted, the functions that it calls have their stack right below what it uses itself */
    if (error == LPN_OK) {              /* the lowest bit, which is 0, says: Thumb */
        container->native = (lpn_native_code *)((uintptr_t)code + 1);
    }
    return error;
}
