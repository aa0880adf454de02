/* SPDX-License-Identifier: LGPL-2.1-only */
/* The plan of a 32-bit clean program: for each slot the handler of vm32_thumb2.S that begins there. It is made once, so the loop looks
 * at no opcode; and where instructions follow each other that often do, one handler does them all. A jump may lead into the midst of
 * those: each slot's own handler is in its place, whatever the slots before it have. */
#include "vm.h"
#include "vm32_ops.h"

#define NAME(name) OP_##name,
enum { LPN_VM32_ONES(NAME) LPN_VM32_SEVERAL(NAME) OPS };
#undef NAME
#if LPN_CERTIFIED_ONLY
#define NAME(name) OP_##name = OP_trusted_##name,
enum { LPN_VM32_ACCESSES(NAME) };
#undef NAME
#endif

/* The handler by opcode, where nothing else matters. */
#define WITH(op, name) ((op) & 8 ? OP_##name##_reg : OP_##name##_imm)
#define SIZED(op, name) (((op) >> 3 & 3) == 0 ? OP_##name##4 : ((op) >> 3 & 3) == 1 ? OP_##name##2 : ((op) >> 3 & 3) == 2 ? OP_##name##1 : OP_##name##8)
#define ALU(op) \
    ((op) >> 4 == 0 ? WITH(op, add) : (op) >> 4 == 1 ? WITH(op, sub) : (op) >> 4 == 2 ? WITH(op, mul) : (op) >> 4 == 4 ? WITH(op, or) \
     : (op) >> 4 == 5 ? WITH(op, and) : (op) >> 4 == 6 ? WITH(op, lsh) : (op) >> 4 == 7 ? WITH(op, rsh) : (op) >> 4 == 8 ? OP_neg \
     : (op) >> 4 == 10 ? WITH(op, xor) : (op) >> 4 == 11 ? WITH(op, mov) : (op) >> 4 == 12 ? WITH(op, arsh) \
     : (op) >> 4 == 13 ? ((op) == 0xd4 ? OP_to_le : OP_swap) : OP_slow)
#define JUMP(op) \
    ((op) == 0x05 ? OP_ja : (op) == 0x95 ? OP_leave \
     : (op) >> 4 == 1 ? WITH(op, jeq) : (op) >> 4 == 2 ? WITH(op, jgt) : (op) >> 4 == 3 ? WITH(op, jge) : (op) >> 4 == 4 ? WITH(op, jset) \
     : (op) >> 4 == 5 ? WITH(op, jne) : (op) >> 4 == 6 ? WITH(op, jsgt) : (op) >> 4 == 7 ? WITH(op, jsge) : (op) >> 4 == 10 ? WITH(op, jlt) \
     : (op) >> 4 == 11 ? WITH(op, jle) : (op) >> 4 == 12 ? WITH(op, jslt) : (op) >> 4 == 13 ? WITH(op, jsle) : OP_slow)
#define HANDLER(op) \
    (((op) & 3) == 3 && ((op) & 7) != 3 ? ALU(op) : ((op) & 7) == 4 ? ALU(op) : ((op) & 7) == 5 || ((op) & 7) == 6 ? JUMP(op) \
     : (op) == 0x18 ? OP_lddw : (op) == 0x89 ? OP_load2s : (op) == 0x91 ? OP_load1s : ((op) & 0xe0) != 0x60 ? OP_slow \
     : ((op) & 7) == 1 ? SIZED(op, load) : ((op) & 7) == 2 ? SIZED(op, put) : ((op) & 7) == 3 ? SIZED(op, store) : OP_slow)
#define HANDLERS4(op) HANDLER(op), HANDLER((op) + 1), HANDLER((op) + 2), HANDLER((op) + 3)
#define HANDLERS16(op) HANDLERS4(op), HANDLERS4((op) + 4), HANDLERS4((op) + 8), HANDLERS4((op) + 12)
#define HANDLERS64(op) HANDLERS16(op), HANDLERS16((op) + 16), HANDLERS16((op) + 32), HANDLERS16((op) + 48)
static const uint8_t handlers[256] = { HANDLERS64(0), HANDLERS64(64), HANDLERS64(128), HANDLERS64(192) };

/* The handler of one instruction. */
static unsigned handler_of(const uint8_t *p, bool trusted)
{
    const uint32_t w = lpn_get32(p);
    const unsigned handler = handlers[w & 0xff];
    if (handler >= OP_load4) {
        return trusted ? handler + (OP_trusted_load4 - OP_load4) : handler;
    }
    if (handler <= OP_arsh_reg) {
        return w >> 16 != 0 ? OP_slow : handler;        /* a move with an offset extends the sign */
    }
    if (handler == OP_jeq_imm || handler == OP_jne_imm) {
        return lpn_get32(p + 4) != 0 ? handler : handler == OP_jeq_imm ? OP_jeq_zero : OP_jne_zero;
    }
    return handler == OP_lddw && (w & 0xf000) != 0 ? OP_slow : handler;
}

#if LPN_FUSE
/* The handler of what begins at p, where a, b, c are those of single instructions: of this slot and the next two. Behind the end
 * they are slow,. */
static unsigned several(const uint8_t *p, unsigned a, unsigned b, unsigned c)
{
    if (b == OP_slow) {
        return a;
    }
    const unsigned dst = p[1] & 15, src = p[1] >> 4, dst2 = p[9] & 15, src2 = p[9] >> 4;
    const bool same = dst == dst2, all = same && c != OP_slow && (p[17] & 15) == dst;
    switch (a) {
    case OP_mov_reg:
        if (b == OP_jeq_imm || b == OP_jeq_zero) {
            return OP_mov_jeq;
        }
        if (!same) {
            break;
        }
        switch (b) {
        case OP_add_imm:
            return all && c == OP_jgt_reg && p[17] >> 4 != dst ? OP_mov_add_jgt : OP_mov_add;
        case OP_or_imm:
            return OP_mov_or;
        case OP_and_imm:
            return all && (c == OP_jeq_imm || c == OP_jeq_zero) ? OP_mov_and_jeq : all && (c == OP_jne_imm || c == OP_jne_zero) ? OP_mov_and_jne
                   : OP_mov_and;
        case OP_lsh_imm:
            return OP_mov_lsh;
        case OP_rsh_imm:
            return all && c == OP_and_imm && lpn_get32(p + 12) < 32 ? OP_mov_rsh_and : OP_mov_rsh;
        case OP_add_reg:
            return src2 == dst ? a : c == OP_trusted_load1 && p[17] >> 4 == dst ? OP_mov_add_load1
                   : c == OP_trusted_load2 && p[17] >> 4 == dst ? OP_mov_add_load2 : OP_mov_add_reg;
        default:
            break;
        }
        break;
    case OP_and_imm:
        if (same) {
            return b == OP_jeq_imm || b == OP_jeq_zero ? OP_and_jeq : b == OP_jne_imm || b == OP_jne_zero ? OP_and_jne : a;
        }
        break;
    case OP_lsh_imm:
        return b == OP_or_reg && same && src2 != dst && lpn_get32(p + 4) < 32 ? OP_lsh_or : a;
    case OP_add_imm:
        return b == OP_mov_reg ? OP_add_mov : a;
    case OP_mov_imm:
        return b == OP_jeq_imm || b == OP_jeq_zero ? OP_mov_imm_jeq : a;
    case OP_jeq_imm: case OP_jeq_zero:
        if (!same) {
            break;
        }
        if (b == OP_jeq_imm || b == OP_jeq_zero) {
            return all && (c == OP_jne_imm || c == OP_jne_zero) ? OP_jeq_jeq_jne : OP_jeq_jeq;
        }
        return b == OP_jne_imm || b == OP_jne_zero ? OP_jeq_jne : a;
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
        plan[pc] = (uint8_t)(fuse ? several(p, a, b, c) : a);
        c = b;
        b = a;
    }
}
