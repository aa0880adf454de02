/* SPDX-License-Identifier: LGPL-2.1-only */
/* The plan of a 32-bit clean program: for each slot the handler of vm32_thumb2.S that begins there. It is made once, so the loop looks
 * at no opcode; and where instructions follow each other that often do, one handler does them all. A jump may lead into the midst of
 * those: each slot's own handler is in its place, whatever the slots before it have. */
#include "vm.h"
#include "vm32_ops.h"

#if !LPN_WHOLE
#define NAME(name) OP_##name,
enum { LPN_VM32_ONES(NAME) LPN_VM32_TWO(NAME) LPN_VM32_THREE(NAME) OPS };
#undef NAME
#if LPN_CERTIFIED_ONLY
#define NAME(name) OP_##name = OP_trusted_##name,
enum { LPN_VM32_ACCESSES(NAME) };
#undef NAME
#endif

/* By the operation of arithmetic, then of jumps: with an immediate, with a register. */
#define BOTH(name) OP_##name##_imm, OP_##name##_reg
#define NONE OP_slow, OP_slow
static const uint8_t handlers[2][32] = {
    { BOTH(add), BOTH(sub), BOTH(mul), BOTH(div), BOTH(or), BOTH(and), BOTH(lsh), BOTH(rsh), OP_neg, OP_slow, BOTH(div), BOTH(xor), BOTH(mov), BOTH(arsh),
      OP_to_le, OP_swap },
    { OP_ja, OP_slow, BOTH(jeq), BOTH(jgt), BOTH(jge), BOTH(jset), BOTH(jne), BOTH(jsgt), BOTH(jsge), NONE, OP_leave, OP_slow, BOTH(jlt), BOTH(jle),
      BOTH(jslt), BOTH(jsle) },
};

/* The handler of one instruction. */
static unsigned handler_of(const uint8_t *p, bool trusted)
{
    const uint32_t w = lpn_get32(p), op = w & 0xff, class = op & 7;
    if (class >= 4) {
        const unsigned handler = handlers[(class + 1) >> 1 & 1][op >> 3];
        if (handler <= OP_arsh_reg) {
            return w >> 16 != 0 ? OP_slow : handler;            /* a move with an offset extends the sign */
        }
        return op == 0x06 ? OP_slow : handler + (op == 0xd7);   /* with an immediate, too, this one swaps */
    }
    const unsigned handler = (op >> 3 & 3) + (trusted ? OP_trusted_load4 : OP_load4);
    if ((op & 0xe0) == 0x60) {
        return handler + 4 * (class - 1);
    }
    if (op == 0x18) {
        return (w & 0xf000) == 0 ? OP_lddw : OP_slow;
    }
    return op == 0x89 || op == 0x91 ? handler - 3 : op == 0x81 ? handler : OP_slow;      /* of 32 bits the sign needs no extension */
}

#if LPN_FUSE
/* Has the third this register, too? */
static bool third(const uint8_t *p)
{
    return ((p[1] ^ p[17]) & 15) == 0;
}

/* The handler of what begins at p, where a, b, c are those of single instructions: of this slot and the next two. Behind the end
 * they are slow. */
static unsigned several(const uint8_t *p, unsigned a, unsigned b, unsigned c)
{
    if (b == OP_slow) {
        return a;
    }
    const unsigned dst = p[1] & 15, src = p[1] >> 4, dst2 = p[9] & 15, src2 = p[9] >> 4;
    const bool same = dst == dst2;
    switch (a) {
    case OP_mov_reg:
        if (b == OP_jeq_imm) {
            return OP_mov_jeq;
        }
        if (!same) {
            break;
        }
        switch (b) {
        case OP_add_imm:
            return c == OP_jgt_reg && p[17] >> 4 != dst && third(p) ? OP_mov_add_jgt : OP_mov_add;
        case OP_or_imm:
            return OP_mov_or;
        case OP_and_imm:
            return c == OP_jeq_imm && third(p) ? OP_mov_and_jeq : c == OP_jne_imm && third(p) ? OP_mov_and_jne : OP_mov_and;
        case OP_lsh_imm:
            return OP_mov_lsh;
        case OP_rsh_imm:
            return c == OP_and_imm && lpn_get32(p + 12) < 32 && third(p) ? OP_mov_rsh_and : OP_mov_rsh;
        case OP_add_reg:
            return src2 == dst ? a : c == OP_trusted_load1 && p[17] >> 4 == dst ? OP_mov_add_load1
                   : c == OP_trusted_load2 && p[17] >> 4 == dst ? OP_mov_add_load2 : OP_mov_add_reg;
        default:
            break;
        }
        break;
    case OP_and_imm:
        if (same) {
            return b == OP_jeq_imm ? OP_and_jeq : b == OP_jne_imm ? OP_and_jne : a;
        }
        break;
    case OP_lsh_imm:
        return b == OP_or_reg && same && src2 != dst && lpn_get32(p + 4) < 32 ? OP_lsh_or : a;
    case OP_add_imm:
        return b == OP_mov_reg ? OP_add_mov : a;
    case OP_mov_imm:
        return b == OP_jeq_imm ? OP_mov_imm_jeq : a;
    case OP_jeq_imm:
        if (!same) {
            break;
        }
        if (b == OP_jeq_imm) {
            return c == OP_jne_imm && third(p) ? OP_jeq_jeq_jne : OP_jeq_jeq;
        }
        return b == OP_jne_imm ? OP_jeq_jne : a;
    case OP_trusted_load2:
        if (b == OP_add_reg && src2 == dst && dst2 != dst) {
            return c == OP_add_imm && lpn_get16(p + 2) == 0 && (p[17] & 15) == src && src != dst && src != dst2 ? OP_load2_add_step : OP_load2_add;
        }
        return b == OP_swap && same && lpn_get32(p + 12) == 16 ? OP_load2_swap : a;
    case OP_trusted_load4:
        return b == OP_swap && same && lpn_get32(p + 12) == 32 ? OP_load4_swap : a;
    default:
        break;
    }
    return a;
}
#else
#define several(p, a, b, c) ((void)(b), (void)(c), (a))
#endif

void lpn_plan32(const lpn_program *program, uint8_t *plan, bool fuse)
{
    const uint8_t *p = program->text + 8 * (size_t)program->count;
    unsigned b = OP_slow, c = OP_slow;
    for (uint32_t pc = program->count; pc-- > 0;) {
        p -= 8;
        const unsigned a = handler_of(p, program->certified);
        unsigned handler = fuse ? several(p, a, b, c) : a;
        LPN_HIDE(handler);              /* or gcc asks this at each of its origins */
        if ((handler == OP_jeq_imm || handler == OP_jne_imm) && lpn_get32(p + 4) == 0) {
            handler = handler == OP_jeq_imm ? OP_jeq_zero : OP_jne_zero;
        }
        plan[pc] = (uint8_t)handler;
        c = b;
        b = a;
    }
}
#endif
