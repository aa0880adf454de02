/* SPDX-License-Identifier: LGPL-2.1-only */
/* The plan of a 32-bit clean program: for each slot the handler of vm32_thumb2.S that begins there. It is made once, so the loop looks
 * at no opcode; and where instructions follow each other that often do, one handler does them all. A jump may lead into the midst of
 * those: each slot's own handler is in its place, whatever the slots before it have. */
#include "vm.h"
#include "vm32_ops.h"

#define NAME(name) OP_##name,
enum { LPN_VM32_ONES(NAME) LPN_VM32_SEVERAL(NAME) OPS };
#undef NAME

/* By the upper half of an opcode. */
static const uint8_t arithmetic[16] = {
    OP_add_imm, OP_sub_imm, OP_mul_imm, OP_slow, OP_or_imm, OP_and_imm, OP_lsh_imm, OP_rsh_imm, OP_neg, OP_slow, OP_xor_imm, OP_mov_imm,
    OP_arsh_imm, OP_swap, OP_slow, OP_slow };
static const uint8_t jumps[16] = {
    OP_ja, OP_jeq_imm, OP_jgt_imm, OP_jge_imm, OP_jset_imm, OP_jne_imm, OP_jsgt_imm, OP_jsge_imm, OP_slow, OP_leave, OP_jlt_imm, OP_jle_imm,
    OP_jslt_imm, OP_jsle_imm, OP_slow, OP_slow };

/* The handler of one instruction. */
static unsigned handler_of(const uint8_t *p, bool trusted)
{
    const unsigned op = p[0], class = op & 7, size = op >> 3 & 3, with_register = op >> 3 & 1, more = trusted ? OP_trusted_load4 - OP_load4 : 0;
    switch (class) {
    case 0:
        return op == 0x18 && p[1] >> 4 == 0 ? OP_lddw : OP_slow;
    case 1:
        return (op & 0xe0) == 0x60 ? OP_load4 + size + more : op == 0x89 ? OP_load2s + more : op == 0x91 ? OP_load1s + more : OP_slow;
    case 2:
        return OP_put4 + size + more;
    case 3:
        return (op & 0xe0) == 0x60 ? OP_store4 + size + more : OP_slow;
    case 5: case 6: {
        const unsigned jump = jumps[op >> 4];
        if (jump == OP_slow || op == 0x06) {
            return OP_slow;
        }
        if (jump == OP_ja || jump == OP_leave) {
            return jump;
        }
        if (lpn_get32(p + 4) == 0 && with_register == 0 && (jump == OP_jeq_imm || jump == OP_jne_imm)) {
            return jump == OP_jeq_imm ? OP_jeq_zero : OP_jne_zero;
        }
        return jump + with_register;
    }
    default: {
        const unsigned what = arithmetic[op >> 4];
        if (what == OP_slow || what == OP_neg) {
            return what;
        }
        if (what == OP_swap) {
            return op == 0xd4 ? OP_to_le : OP_swap;
        }
        return lpn_get16(p + 2) != 0 ? OP_slow : what + with_register;      /* a move with an offset extends the sign */
    }
    }
}

/* The handler of what begins at p, whose slot and the next two are a, b, c; `left`: slots from here on. */
static unsigned several(const uint8_t *p, const uint8_t *plan, uint32_t left)
{
    const unsigned a = plan[0], b = plan[1], c = left > 2 ? plan[2] : OP_slow;
    const unsigned dst = p[1] & 15, src = p[1] >> 4, dst2 = p[9] & 15, src2 = p[9] >> 4;
    const bool same = dst == dst2, all = same && left > 2 && (p[17] & 15) == dst;
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
            return left > 2 && c == OP_add_imm && lpn_get16(p + 2) == 0 && (p[17] & 15) == src && src != dst && src != dst2 ? OP_load2_add_step : OP_load2_add;
        }
        return b == OP_swap && same && lpn_get32(p + 12) == 16 ? OP_load2_swap : a;
    case OP_trusted_load4:
        return b == OP_swap && same && lpn_get32(p + 12) == 32 ? OP_load4_swap : a;
    default:
        break;
    }
    return a;
}

void lpn_plan32(const lpn_program *program, uint8_t *plan, bool fuse)
{
    const uint8_t *p = program->text;
    const uint32_t count = program->count;
    for (uint32_t pc = 0; pc < count; pc++, p += 8) {
        plan[pc] = (uint8_t)handler_of(p, program->certified);
    }
    p = program->text;
    for (uint32_t pc = 0; fuse && pc + 1 < count; pc++, p += 8) {
        plan[pc] = (uint8_t)several(p, plan + pc, count - pc);
    }
}
