/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a plan says of a slot (vm32_plan.c): which handler of vm32_thumb2.S does it. C and assembler read the same list. */
#ifndef LPN_VM32_OPS_H
#define LPN_VM32_OPS_H

#include "lpn_options.h"

/* Accesses to memory that are checked: with a sign, then by class and size as opcodes have them. */
#define LPN_VM32_ACCESSES(X) \
    X(load2s) X(load1s) X(load4) X(load2) X(load1) X(load8) X(put4) X(put2) X(put1) X(put8) \
    X(store4) X(store2) X(store1) X(store8)
#if LPN_CERTIFIED_ONLY
#define LPN_VM32_CHECKED(X)
#else
#define LPN_VM32_CHECKED(X) LPN_VM32_ACCESSES(X)
#endif

/* One instruction of eBPF each; where there are two forms, with an immediate and with a register, in this order. */
#define LPN_VM32_ONES(X) \
    X(slow) \
    X(add_imm) X(add_reg) X(sub_imm) X(sub_reg) X(mul_imm) X(mul_reg) X(or_imm) X(or_reg) X(and_imm) X(and_reg) \
    X(lsh_imm) X(lsh_reg) X(rsh_imm) X(rsh_reg) X(xor_imm) X(xor_reg) X(mov_imm) X(mov_reg) X(arsh_imm) X(arsh_reg) X(div_imm) X(div_reg) \
    X(jeq_imm) X(jeq_reg) X(jgt_imm) X(jgt_reg) X(jge_imm) X(jge_reg) X(jset_imm) X(jset_reg) X(jne_imm) X(jne_reg) \
    X(jsgt_imm) X(jsgt_reg) X(jsge_imm) X(jsge_reg) X(jlt_imm) X(jlt_reg) X(jle_imm) X(jle_reg) X(jslt_imm) X(jslt_reg) \
    X(jsle_imm) X(jsle_reg) X(jeq_zero) X(jne_zero) X(ja) X(leave) \
    X(neg) X(to_le) X(swap) X(lddw) \
    LPN_VM32_CHECKED(X) \
    X(trusted_load2s) X(trusted_load1s) X(trusted_load4) X(trusted_load2) X(trusted_load1) X(trusted_load8) \
    X(trusted_put4) X(trusted_put2) X(trusted_put1) X(trusted_put8) \
    X(trusted_store4) X(trusted_store2) X(trusted_store1) X(trusted_store8)

/* Several at once: the slot's own, and the one behind it, or two. */
#if LPN_FUSE
#define LPN_VM32_TWO(X) \
    X(mov_add) X(mov_or) X(mov_and) X(mov_lsh) X(mov_rsh) X(mov_add_reg) X(and_jeq) X(and_jne) X(lsh_or) X(mov_jeq) X(add_mov) X(mov_imm_jeq) \
    X(jeq_jeq) X(jeq_jne) X(load2_add) X(load2_swap) X(load4_swap)
#define LPN_VM32_THREE(X) \
    X(mov_rsh_and) X(mov_and_jeq) X(mov_and_jne) X(mov_add_jgt) X(mov_add_load1) X(mov_add_load2) X(jeq_jeq_jne) X(load2_add_step)
#else
#define LPN_VM32_TWO(X)
#define LPN_VM32_THREE(X)
#endif

#endif
