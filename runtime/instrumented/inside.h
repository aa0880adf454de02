/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the files of the instrumented interpreter share. */
#ifndef LPN_INSTRUMENTED_INSIDE_H
#define LPN_INSTRUMENTED_INSIDE_H

#include "machine.h"

/* X(id, words): what no accepted program does. */
#define IT_FAULTS(X) \
    X(F_NONE, "none") \
    X(F_LEFT_TEXT, "control leaves the text") \
    X(F_OPCODE, "an opcode that is none") \
    X(F_UNINITIALISED, "a register is read before it is written") \
    X(F_NO_POINTER, "a number is used as an address") \
    X(F_READ_BOUNDS, "a read outside its region") \
    X(F_WRITE_BOUNDS, "a write outside its region") \
    X(F_READ_ONLY, "a write to what is read-only") \
    X(F_ALIGNMENT, "8 bytes are not aligned") \
    X(F_CONTEXT, "the context is used against its descriptor") \
    X(F_STACK_UNINITIALISED, "stack bytes are read before they are written") \
    X(F_PART_OF_POINTER, "part of a pointer is read") \
    X(F_LEAK, "a pointer goes where others see it") \
    X(F_STALE_FRAME, "a pointer to a frame that is gone") \
    X(F_POINTER_ARITHMETIC, "arithmetic that pointers do not have") \
    X(F_OTHER_REGION, "pointers of different regions are subtracted") \
    X(F_POINTER_COMPARED, "a pointer is compared with something else") \
    X(F_DIVISION, "division by zero") \
    X(F_SHIFT, "a shift by the width or more") \
    X(F_HELPER, "a helper is called wrongly") \
    X(F_DEPTH, "calls are too deep") \
    X(F_CLAIM_KIND, "a register does not hold the kind claimed") \
    X(F_CLAIM_NUMBER, "a register is outside the range claimed") \
    X(F_CLAIM_RELATION, "a relation between registers does not hold") \
    X(F_CLAIM_STACK_WRITTEN, "stack bytes claimed as written are not") \
    X(F_CLAIM_REGION, "an access touches a region that was not claimed") \
    X(F_CLAIM_ALIGNMENT, "an access is less aligned than was claimed") \
    X(F_CLAIM_EDGE, "control goes along an edge that is not there") \
    X(F_CLAIM_DEAD, "an edge claimed as never taken is taken") \
    X(F_CLAIM_UNREACHABLE, "a block claimed as unreachable is reached") \
    X(F_CLAIM_TURNS, "a loop turns more often than claimed") \
    X(F_CLAIM_INSNS, "more instructions than claimed") \
    X(F_CLAIM_BRANCHES, "more jumps are taken than claimed") \
    X(F_CLAIM_STACK, "more stack is used than claimed") \
    X(F_CLAIM_MOST, "a run costs more than the bound") \
    X(F_CLAIM_LEAST, "a run costs less than the least") \
    X(F_CLAIM_CLEAN, "32 bits are not enough where that was claimed") \
    X(F_ADDRESSES_VISIBLE, "the result depends on where memory lies")

enum it_fault {
#define X(id, text) id,
    IT_FAULTS(X)
#undef X
};

#define IT_SYMS 8192
#define IT_LOOPS 4096
#define IT_PACKET (65536 + 4096)

struct frame {
    uint8_t bytes[512];
    uint8_t shadow[512];        /* enum it_kind */
    uint8_t start[512];         /* size of the pointer that was stored here whole, or 0 */
    uint8_t of[512];            /* its region */
    uint64_t saved[4];          /* the caller's r6-r9 */
    uint8_t saved_kind[4], saved_region[4];
    uint32_t back, deepest;
};

struct it_machine {
    const it_program *p;
    it_result *out;
    uint64_t reg[11];
    uint8_t kind[11], region_of[11];
    uint64_t base[IT_REGIONS + IT_FRAMES];
    uint8_t packet[IT_PACKET];
    uint8_t region[IT_REGIONS][IT_REGION_BYTES];
    uint32_t length;
    struct frame frame[IT_FRAMES];
    uint64_t rubbish[IT_FRAMES];        /* what lies in a frame that is entered comes from this */
    uint32_t depth, pc, next, node, step, stack;
    int clean;
    uint64_t random;
    uint64_t turns[IT_LOOPS];
    int64_t sym[IT_SYMS];
    uint8_t known[IT_SYMS];
};

/* splitmix64 */
static inline uint64_t it_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

int it_fail(it_machine *m, enum it_fault fault, uint32_t reg, uint64_t got, uint64_t other);

/* Where an access of `size` bytes at register + off lies, or NULL and a fault. */
uint8_t *it_access(it_machine *m, uint32_t reg, int64_t off, uint64_t size, int write, int align, uint32_t *at);

/* Pointers that were stored there whole are no more. */
void it_forget(struct frame *f, uint32_t at, uint64_t size);

/* One instruction each. 1: a fault. */
int it_load(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int sign);
int it_store(it_machine *m, uint32_t dst, int64_t off, uint32_t size, uint64_t value, uint8_t kind, uint8_t of);
int it_atomic(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int32_t imm);
int it_arithmetic(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int off, int32_t imm);
int it_call_helper(it_machine *m, uint32_t number);

/* 1: taken, 0: not, -1: a fault. */
int it_branch(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int32_t imm);

int it_enter_node(it_machine *m, uint32_t node, uint32_t from);
int it_before(it_machine *m);
int it_after(it_machine *m, int taken);

static inline uint32_t it_size(uint8_t op)
{
    static const uint8_t sizes[] = {4, 2, 1, 8};
    return sizes[op >> 3 & 3];
}

static inline uint64_t it_get(const uint8_t *at, uint64_t size)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static inline void it_put(uint8_t *at, uint64_t value, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t it_cut(uint64_t value, uint32_t bits)
{
    return bits >= 64 ? value : value & ((1ull << bits) - 1);
}

static inline uint64_t it_extend(uint64_t value, uint32_t bits)
{
    if (bits >= 64)
        return value;
    uint64_t sign = 1ull << (bits - 1);
    return (it_cut(value, bits) ^ sign) - sign;
}

static inline uint64_t it_arithmetic_right(int64_t x, uint32_t n)
{
    return x < 0 ? ~(~(uint64_t)x >> n) : (uint64_t)x >> n;
}

static inline struct frame *it_frame_of(it_machine *m, uint32_t reg)
{
    return &m->frame[m->region_of[reg] - IT_STACK];
}

static inline int it_set(it_machine *m, uint32_t reg, uint64_t value, uint8_t kind, uint8_t region)
{
    m->reg[reg] = value;
    m->kind[reg] = kind;
    m->region_of[reg] = region;
    if (kind == IT_NUM && value >> 32) {
        m->clean = 0;
        if (m->p->claims && !m->p->wide[m->pc])
            return it_fail(m, F_CLAIM_CLEAN, reg, value, 0);
    }
    return 0;
}

#endif
