/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * An eBPF interpreter that watches itself and checks at every instruction what the verifier claimed about it.
 *
 * It is no part of the engine: nothing here runs on a node. Written from RFC 9669, apart from the verifier. Regions lie at
 * addresses that change from run to run; each register and stack byte carries a shadow that says what it holds.
 */
#ifndef LPN_INSTRUMENTED_H
#define LPN_INSTRUMENTED_H

#include <stdint.h>

/* cdef begin */
/** What the verifier knows of a number. */
typedef struct {
    uint64_t bits, mask, ulo, uhi;
    int64_t slo, shi;
    uint32_t ulo32, uhi32;
    int32_t slo32, shi32;
} it_num;

/** Before an instruction: register `reg` holds a `kind` (enum it_kind; a pointer to `region`) within nums[num]. */
typedef struct { uint8_t reg, kind, region, pad; uint32_t num; } it_check;

/** A place (see verifier/state.py, State.places) holds symbol + off. */
typedef struct { int32_t where; uint8_t kind, region, size, pad; int32_t sym, pad2; int64_t off; } it_place;

typedef struct { int32_t sym; uint32_t num; } it_var;
/** lo <= b - a <= hi; `has`: bit 0 lo, bit 1 hi. */
typedef struct { int32_t a, b; int64_t lo, hi; uint32_t has, pad; } it_diff;
/** x = w - v + c. */
typedef struct { int32_t x, v, w, pad; int64_t c; } it_def;
/** x = r modulo m. */
typedef struct { int32_t x, pad; int64_t m, r; } it_stride;

/** A symbol times a constant. */
typedef struct { int32_t sym, pad; int64_t factor; } it_part;
/** Each byte of a frame from r10 + `first` to below r10 + `end` is written and no part of a pointer: constants, and ranges of the array of parts. */
typedef struct { uint32_t frame, part, parts, end_part, end_parts, pad; int64_t first, end; } it_span;

/** A state of the verifier: ranges of the arrays above; `written`: offset of 64 bytes for each of `frames` frames. */
typedef struct {
    uint32_t place, places, var, vars, diff, diffs, def, defs, stride, strides, span, spans, written, frames;
} it_relations;

/** A block in the context of its call chain. `before`, `last`: relations at its start, and before its last instruction; -1: none.
 *  `loop`: the loop it is the head of, or -1. */
typedef struct { uint32_t slot, step, steps, succ, succs; int32_t before, last, loop; uint32_t reachable; } it_node;
typedef struct { uint32_t node; uint8_t live, taken; uint16_t pad; uint32_t cost; } it_succ;
/** `member`: offset of a byte per node: does it lie in the loop's body. */
typedef struct { uint64_t bound; uint32_t member, pad; } it_loop;

typedef struct {
    uint32_t size, align;
    uint8_t read, write, used, pad[5];
    const uint8_t *holds;               /* `size` bytes, in every run; NULL: any */
} it_region;
/** A slot of the context; `kind` 0: a number up to `max`, 1: pointer to `region`, 2: the packet's end. */
typedef struct { uint32_t offset, width; uint8_t kind, region, writable, pad; uint32_t max; } it_field;
/** `args`: enum it_arg; `ret`: 0 zero, 1 32 bits, 2 64 bits, 3 null or the start of `region`. */
typedef struct { uint32_t number; uint8_t args[5], ret, region, changes_packet; uint32_t sizes[5]; } it_helper;

typedef struct {
    const uint8_t *text;
    uint32_t slots;
    uint32_t max_packet, window, stack, align, align8, ctx_size, packet_write;     /* align: of the stack */
    const it_region *regions;           /* IT_REGIONS of them; stacks are not among them */
    const it_field *fields;
    const it_helper *helpers;
    uint32_t n_fields, n_helpers;
    uint32_t claims;                    /* 0: no claims, only what the machine itself sees */
    const it_num *nums;
    const it_check *checks;
    const uint32_t *check_at;           /* per step, and one more */
    const uint32_t *step_cost;          /* per step */
    const it_place *places;
    const it_var *vars;
    const it_diff *diffs;
    const it_def *defs;
    const it_stride *strides;
    const it_part *parts;
    const it_span *spans;
    const it_relations *relations;
    const uint8_t *written;
    const it_node *nodes;
    const it_succ *succs;
    const it_loop *loops;
    const uint8_t *members;
    uint32_t n_nodes, n_loops;
    const uint32_t *touched;            /* per slot: a bit for each region an access may touch; bit IT_STACK */
    const uint8_t *aligned;             /* per slot: what an access's address is a multiple of */
    const uint8_t *wide;                /* per slot: needs more than 32 bits */
    uint64_t max_insns, max_branches, most_cost, least_cost;
    uint32_t stack_used, clean32;
    const uint64_t *words;              /* numbers worth trying */
    uint32_t n_words;
    uint8_t *covered;                   /* per slot: executed */
} it_program;

typedef struct {
    uint32_t fault, slot, node, reg;
    uint64_t got, other;
    uint64_t insns, branches, cost, r0, run;
    uint32_t stack, clean32;
} it_result;

typedef struct it_machine it_machine;

it_machine *it_new(void);
void it_free(it_machine *m);
/** Give the next run its memory; what is not given is zero. A packet of `size` bytes, then the window. */
void it_packet(it_machine *m, const uint8_t *bytes, uint32_t size, uint32_t window);
uint8_t *it_region_bytes(it_machine *m, uint32_t region);
uint8_t *it_packet_bytes(it_machine *m);
/** One run over what lies in the machine; `place` seeds the addresses, `seed` what helpers return (0: always the same). */
int it_run(it_machine *m, const it_program *p, uint64_t place, uint64_t seed, it_result *out);
/** `runs` runs over random memory; each fourth is run again elsewhere, and must do the same. Stops at the first fault. */
int it_batch(it_machine *m, const it_program *p, uint64_t seed, uint64_t runs, it_result *out);
const char *it_fault_name(uint32_t fault);
/* cdef end */

#define IT_REGIONS 16
#define IT_STACK 16
#define IT_PKT 0
#define IT_CTX 1
#define IT_FRAMES 9
#define IT_REGION_BYTES 4096

enum it_kind { IT_NONE, IT_NUM, IT_PTR, IT_HALF, IT_NULLABLE, IT_COMPLEMENT, IT_LOW_COMPLEMENT };
enum it_arg { IT_ARG_NONE, IT_ARG_SCALAR, IT_ARG_CONST, IT_ARG_READ, IT_ARG_WRITE, IT_ARG_REGION };

#endif
