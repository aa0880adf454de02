/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the two interpreters share: vm.c has 64-bit registers, vm32.c those of programs that need only 32 bits. */
#ifndef LPN_VM_H
#define LPN_VM_H

#include "bytes.h"
#include "lpn.h"

/* Registers of 32 bits hold every address where addresses have 32 bits. */
#define LPN_VM32 (UINTPTR_MAX == UINT32_MAX)

/* Their loop is in vm32_thumb2.S, which needs a plan of each program. */
#if defined(__thumb2__) && defined(__GNUC__)
#define LPN_PLANNED 1
#else
#define LPN_PLANNED 0
#endif

/* Nothing of what follows is needed: vm32_smallest.S is the interpreter. */
#define LPN_WHOLE (LPN_PLANNED && LPN_SMALLEST)

/* The most instructions of a run: what 8 bytes an instruction leaves of a signed 32-bit distance. */
#define LPN_MAX_FUEL 0x0fffffffu

/* A run of a 32-bit clean program. */
typedef struct {
    uint32_t r[11];
    const uint8_t *ip;          /* the instruction */
    uint32_t limit;             /* the address at which the budget ends */
    uint32_t trusted;           /* nothing is checked */
    lpn_run *run;
    const uint8_t *text, *plan;
    uint32_t depth;
    int error;
    const lpn_program *program;
    const lpn_region *reads[11], *writes[11];   /* per register: where its last load and store were */
} lpn_vm32;

/* Does it run in 32-bit registers? Certified, it then touches memory without asking. */
static inline bool lpn_narrow(const lpn_program *program)
{
    return LPN_VM32 && (LPN_PLANNED ? program->plan != NULL && (program->certified || !LPN_CERTIFIED_ONLY) : program->clean32 || LPN_CLEAN32_ONLY);
}

/* As lpn_execute, of such a program. */
int lpn_execute32(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2);

/* The first region that allows the access as a whole, or NULL; vm.c. */
const lpn_region *lpn_find(const lpn_run *run, uintptr_t address, size_t size, uint32_t access);

/* One atomic instruction on `size` bytes at p; r: all registers. */
void lpn_atomic(uint64_t *r, unsigned dst, unsigned src, int32_t op, uint8_t *p, unsigned size);

/* Check the memory that a helper gets (r1-r5 at r[1]), as its row says, then call it; the result in r[0]. `trusted`: it is proven. */
int lpn_call_helper(lpn_run *run, uint32_t number, uint64_t *r, bool trusted);

/* Bytes of stack that the function around slot pc uses. */
uint16_t lpn_frame_at(const lpn_program *program, uint32_t pc);

#if !LPN_CODE_ONLY
/* A run's own regions, its zeroed stack, no result. Returns where the stack ends. */
static inline uintptr_t lpn_begin(lpn_run *run, const lpn_program *program)
{
    const uintptr_t end = (uintptr_t)run->stack + LPN_STACK_SIZE;
    const uint32_t used = program->stack;
    if (!program->certified) {          /* it is proven that such a program reads what it has written */
        lpn_zero((uint8_t *)run->stack + LPN_STACK_SIZE - used, used);
    }
    run->region[0] = (lpn_region){ end - used, used, LPN_READ | LPN_WRITE };
    run->region[1] = (lpn_region){ (uintptr_t)program->rodata, program->rodata_size, LPN_READ };
    run->region[2] = (lpn_region){ (uintptr_t)program->data, program->data_size, LPN_READ | LPN_WRITE };
    run->address = 0;
    return end;
}
#endif

/* Regions of a run over run->view.packet with this record; chain.c. */
void lpn_map_memory(lpn_chain *chain, lpn_run *run, const uint8_t *record, uint32_t record_size);

/* Bytes an access of this opcode's size code has: W 0x00, H 0x08, B 0x10, DW 0x18. */
unsigned lpn_access_size(uint8_t op);

#endif
