/* SPDX-License-Identifier: LGPL-2.1-only */
/* Arithmetic and comparisons: what numbers and pointers have of them, and whether 32 bits do the same. */
#include "inside.h"

/* x OP y in `bits` bits; 1 if it must not be. Operands are cut to the width. */
static int compute(uint32_t code, int off, uint64_t x, uint64_t y, uint32_t bits, uint64_t *out)
{
    int64_t sx = (int64_t)it_extend(x, bits), sy = (int64_t)it_extend(y, bits);
    uint64_t mask = bits == 64 ? ~0ull : 0xFFFFFFFFull, r;
    switch (code) {
    case 0x00: r = x + y; break;
    case 0x10: r = x - y; break;
    case 0x20: r = x * y; break;
    case 0x30: case 0x90:
        if (!y)
            return 1;
        if (!off)
            r = code == 0x30 ? x / y : x % y;
        else if (sy == -1)
            r = code == 0x30 ? 0 - x : 0;
        else
            r = (uint64_t)(code == 0x30 ? sx / sy : sx % sy);
        break;
    case 0x40: r = x | y; break;
    case 0x50: r = x & y; break;
    case 0xA0: r = x ^ y; break;
    case 0x60: case 0x70: case 0xC0:
        if (y >= bits)
            return 1;
        r = code == 0x60 ? x << y : code == 0x70 ? x >> y : it_arithmetic_right(sx, (uint32_t)y);
        break;
    default: return 1;
    }
    *out = r & mask;
    return 0;
}

int it_arithmetic(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int off, int32_t imm)
{
    uint32_t code = op & 0xF0, wide = (op & 7) == 7, bits = wide ? 64 : 32;
    uint64_t mask = wide ? ~0ull : 0xFFFFFFFFull, out;
    uint64_t b = (uint64_t)(int64_t)imm;
    uint8_t bk = IT_NUM, br = 0;
    if (op & 8 && code != 0xD0) {
        b = m->reg[src], bk = m->kind[src], br = m->region_of[src];
        if (bk == IT_NONE)
            return it_fail(m, F_UNINITIALISED, src, 0, 0);
    }
    if (code == 0xB0) {
        if (off) {
            if (bk != IT_NUM)
                return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
            return it_set(m, dst, it_extend(b, (uint32_t)off) & mask, IT_NUM, 0);
        }
        if (bk != IT_NUM && !wide)
            bk = IT_HALF;
        return it_set(m, dst, b & mask, bk, br);
    }
    uint64_t a = m->reg[dst];
    uint8_t ak = m->kind[dst], ar = m->region_of[dst];
    if (ak == IT_NONE)
        return it_fail(m, F_UNINITIALISED, dst, 0, 0);
    if (code == 0xD0 || code == 0x80) {
        if (ak != IT_NUM)
            return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
        if (code == 0x80)
            return it_set(m, dst, (0 - a) & mask, IT_NUM, 0);
        uint32_t n = (uint32_t)imm / 8;
        uint64_t low = it_cut(a, 8 * n), swapped = 0;
        for (uint32_t i = 0; i < n; i++)
            swapped |= (low >> 8 * i & 255) << 8 * (n - 1 - i);
        return it_set(m, dst, op & 8 || wide ? swapped : low, IT_NUM, 0);
    }
    if (ak == IT_NUM && bk == IT_NUM) {
        if (compute(code, off, a & mask, b & mask, bits, &out))
            return it_fail(m, code == 0x30 || code == 0x90 ? F_DIVISION : F_SHIFT, op & 8 ? src : dst, a, b);
        /* What is 32-bit clean does the same in 32 bits. */
        uint64_t half;
        if (wide && m->p->claims && !m->p->wide[m->pc] && !((code == 0x60 || code == 0x70 || code == 0xC0) && b > 31)) {
            if (compute(code, off, a & 0xFFFFFFFF, b & 0xFFFFFFFF, 32, &half) || half != out)
                return it_fail(m, F_CLAIM_CLEAN, dst, out, half);
        }
        return it_set(m, dst, out, IT_NUM, 0);
    }
    if (code == 0xA0 && wide && ak == IT_PTR && bk == IT_NUM && b == ~0ull)
        return it_set(m, dst, ~a, IT_COMPLEMENT, ar);
    if (code == 0x00 && wide && ((ak == IT_COMPLEMENT && bk == IT_PTR) || (ak == IT_PTR && bk == IT_COMPLEMENT)))
        return ar != br ? it_fail(m, F_OTHER_REGION, dst, ar, br) : it_set(m, dst, a + b, IT_NUM, 0);
    int ac = ak == IT_COMPLEMENT || ak == IT_LOW_COMPLEMENT, bc = bk == IT_COMPLEMENT || bk == IT_LOW_COMPLEMENT;
    int ap = ak == IT_PTR || ak == IT_HALF, bp = bk == IT_PTR || bk == IT_HALF;
    if (code == 0xA0 && !wide && ap && bk == IT_NUM && (b & mask) == mask)
        return it_set(m, dst, ~a & mask, IT_LOW_COMPLEMENT, ar);
    if (code == 0x00 && !wide && ((ac && bp) || (ap && bc)))
        return ar != br ? it_fail(m, F_OTHER_REGION, dst, ar, br) : it_set(m, dst, (a + b) & mask, IT_NUM, 0);
    if (code == 0x40 && wide && !(a & b) && (ak == IT_PTR) != (bk == IT_PTR) && (ak == IT_NUM || bk == IT_NUM))
        code = 0x00;                    /* without a bit of both it is the sum */
    if (ac || bc || (code != 0x00 && code != 0x10))
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
    if (code == 0x10 && ak != IT_NUM && bk != IT_NUM) {
        if (ar != br)
            return it_fail(m, F_OTHER_REGION, dst, ar, br);
        if (wide && (ak == IT_HALF || bk == IT_HALF))
            return it_fail(m, F_POINTER_ARITHMETIC, dst, ak, bk);
        return it_set(m, dst, (a - b) & mask, IT_NUM, 0);
    }
    if ((ak != IT_NUM && bk != IT_NUM) || (code == 0x10 && ak == IT_NUM))
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
    uint8_t kind = ak == IT_NUM ? bk : ak, region = ak == IT_NUM ? br : ar;
    if (wide == (kind == IT_HALF))
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, kind);
    return it_set(m, dst, (code == 0x00 ? a + b : a - b) & mask, kind, region);
}

static int holds(uint32_t code, uint64_t a, uint64_t b, uint32_t bits)
{
    int64_t x = (int64_t)it_extend(a, bits), y = (int64_t)it_extend(b, bits);
    switch (code) {
    case 0x10: return a == b;
    case 0x20: return a > b;
    case 0x30: return a >= b;
    case 0x40: return (a & b) != 0;
    case 0x50: return a != b;
    case 0x60: return x > y;
    case 0x70: return x >= y;
    case 0xA0: return a < b;
    case 0xB0: return a <= b;
    case 0xC0: return x < y;
    default: return x <= y;
    }
}

int it_branch(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int32_t imm)
{
    uint32_t code = op & 0xF0, wide = (op & 7) == 5, bits = wide ? 64 : 32;
    uint64_t mask = wide ? ~0ull : 0xFFFFFFFFull;
    uint64_t a = m->reg[dst], b = (uint64_t)(int64_t)imm;
    uint8_t ak = m->kind[dst], bk = IT_NUM, br = 0;
    if (op & 8)
        b = m->reg[src], bk = m->kind[src], br = m->region_of[src];
    if (ak == IT_NONE || bk == IT_NONE)
        return it_fail(m, F_UNINITIALISED, ak == IT_NONE ? dst : src, 0, 0), -1;
    if (!wide && (ak == IT_PTR || ak == IT_HALF) && bk == IT_NUM && !b && (code == 0x10 || code == 0x50))
        return holds(code, a & mask, 0, 32);
    if (!wide && (ak == IT_PTR || ak == IT_HALF) && (bk == IT_PTR || bk == IT_HALF) && m->region_of[dst] == br && (code == 0x10 || code == 0x50))
        return holds(code, a & mask, b & mask, 32);
    if (ak != IT_NUM || bk != IT_NUM) {
        int null = wide && (code == 0x10 || code == 0x50) && ((bk == IT_NUM && !b) || (ak == IT_NUM && !a));
        if (!null && (!wide || ak != IT_PTR || bk != IT_PTR || m->region_of[dst] != br || (code >= 0x60 && code < 0xA0) || code == 0x40
                      || code >= 0xC0))
            return it_fail(m, F_POINTER_COMPARED, dst, ak, bk), -1;
        return holds(code, a, b, 64);
    }
    int taken = holds(code, a & mask, b & mask, bits);
    if (wide && m->p->claims && !m->p->wide[m->pc] && holds(code, a & 0xFFFFFFFF, b & 0xFFFFFFFF, 32) != taken)
        return it_fail(m, F_CLAIM_CLEAN, dst, a, b), -1;
    return taken;
}
