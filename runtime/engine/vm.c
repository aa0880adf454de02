/* SPDX-License-Identifier: LGPL-2.1-only */
/* The interpreter: RFC 9669, one case an instruction, every memory access checked. Runs what lpn_load passed. */
#include "vm.h"
#include "lpn_helpers.h"

#if !LPN_CODE_ONLY && !LPN_WHOLE
/* No sum that could wrap is formed: below a region's start the difference is larger than any region. The caller's regions
 * come first, among them the packet. */
const lpn_region *lpn_find(const lpn_run *run, uintptr_t address, size_t size, uint32_t access)
{
    const lpn_region *const first = &run->region[LPN_FIRST_REGION], *const end = &run->region[run->regions];
    const lpn_region *g = first < end ? first : run->region;
    for (uint32_t count = run->regions; count > 0; count--) {
        const uintptr_t at = address - g->start;
        if (at <= g->size && g->size - at >= size && (g->access & access) == access) {
            return g;
        }
        g++;
        if (g == end) {
            g = run->region;
        }
    }
    return NULL;
}

/* Addresses and sizes of programs have 64 bits. */
static const lpn_region *region_of(lpn_run *run, uint64_t address, uint64_t size, uint32_t access)
{
    const lpn_region *g = address == (uintptr_t)address && size == (size_t)size ? lpn_find(run, (uintptr_t)address, (size_t)size, access) : NULL;
    if (g == NULL) {
        run->address = address;
    }
    return g;
}

/* Of at most 32 bits. */
static int32_t sign_extend(uint64_t value, unsigned bits)
{
    return (int32_t)((uint32_t)value << (32 - bits)) >> (32 - bits);
}

unsigned lpn_access_size(uint8_t op)
{
    return 1u << (0xc6u >> (op >> 2 & 6) & 3);
}

static uint64_t load(const uint8_t *p, unsigned size)
{
    switch (size) {
    case 1: return *p;
    case 2: return lpn_get16(p);
    case 4: return lpn_get32(p);
    default: return lpn_get64(p);
    }
}

static void store(uint8_t *p, unsigned size, uint64_t value)
{
    switch (size) {
    case 1: *p = (uint8_t)value; break;
    case 2: lpn_put16(p, (uint16_t)value); break;
    case 4: lpn_put32(p, (uint32_t)value); break;
    default: lpn_put64(p, value); break;
    }
}

/* RFC 9669 section 4.2: END truncates to the width, then swaps (bytes in memory order are little-endian here,
 * so `le` only truncates). */
static uint64_t byte_order(uint64_t v, uint32_t bits, bool swaps)
{
    if (!swaps) {
        return bits == 64 ? v : bits == 32 ? (uint32_t)v : (uint16_t)v;
    }
    const uint32_t low = lpn_swap32((uint32_t)v);
    return bits == 64 ? (uint64_t)low << 32 | lpn_swap32((uint32_t)(v >> 32)) : bits == 32 ? low : low >> 16;
}

/* Section 4.1: division by zero gives 0, modulo zero leaves the dividend; the one signed overflow wraps. */
static uint64_t divide(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a / b;
}

static uint64_t modulo(uint64_t a, uint64_t b)
{
    return b == 0 ? a : a % b;
}

static APART uint64_t divide_signed(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static APART uint64_t modulo_signed(int64_t a, int64_t b)
{
    return b == 0 ? (uint64_t)a : b == -1 ? 0 : (uint64_t)(a % b);
}

static APART uint32_t divide32(uint32_t a, uint32_t b, bool is_signed)
{
    if (b == 0 || (is_signed && b == UINT32_MAX)) {
        return b * a;                   /* a * -1 is -a, where a / -1 may be no number */
    }
    return is_signed ? (uint32_t)((int32_t)a / (int32_t)b) : a / b;
}

static APART uint32_t modulo32(uint32_t a, uint32_t b, bool is_signed)
{
    return a - divide32(a, b, is_signed) * b;
}

/* One atomic instruction (section 5.3) on `size` bytes at p. They run to their end before anything else of this
 * engine does, which is all the atomicity there is to have on one core. */
void lpn_atomic(uint64_t *r, unsigned dst, unsigned src, int32_t op, uint8_t *p, unsigned size)
{
    uint64_t old = load(p, size), value = size == 4 ? (uint32_t)r[src] : r[src];
    switch (op) {
    case 0x100:
        r[dst] = old;
        return;
    case 0x110:
        store(p, size, value);
        return;
    case 0xf1:
        if (old == (size == 4 ? (uint32_t)r[0] : r[0])) {
            store(p, size, value);
        }
        r[0] = old;
        return;
    case 0x00: case 0x01: value = old + value; break;
    case 0x40: case 0x41: value = old | value; break;
    case 0x50: case 0x51: value = old & value; break;
    case 0xa0: case 0xa1: value = old ^ value; break;
    default: break;             /* 0xe1: exchange */
    }
    store(p, size, value);
    if (op & 1) {
        r[src] = old;
    }
}

int lpn_call_helper(lpn_run *run, uint32_t number, uint64_t *r, bool trusted)
{
    /* Of arguments 2 and 3, which alone may be addresses (argument 1 says of how much), two bits each: it is one, and is written through. */
#define AT(i, kind) ((kind) == LPN_ARG_MEM_READ ? 1 << 2 * (i) : (kind) == LPN_ARG_MEM_WRITE ? 3 << 2 * (i) : 0)
#define ROW(n, name, a, b, c, d, e) [n] = AT(0, b) | AT(1, c),
    static const uint8_t memory[LPN_HELPER_MAX + 1] = { LPN_HELPERS(ROW) };
#undef ROW
#undef AT
    for (unsigned i = 2, at = !(trusted || (LPN_CERTIFIED_ONLY && LPN_CLEAN32_ONLY)) && number <= LPN_HELPER_MAX ? memory[number] : 0; at != 0; i++, at >>= 2) {
        const uint32_t size = i == 2 ? LPN_SIZE2((uint32_t)r[1]) : LPN_SIZE3((uint32_t)r[1]);
        if ((at & 1) != 0 && size != 0 && region_of(run, r[i], size, (at & 2) != 0 ? LPN_READ | LPN_WRITE : LPN_READ) == NULL) {
            return LPN_E_HELPER_MEM;
        }
    }
    uint32_t value;
    int error = lpn_env_call(run->env, &run->view, number, r + 1, &value);
    r[0] = value;
    return error;
}

uint16_t lpn_frame_at(const lpn_program *program, uint32_t pc)
{
    uint32_t f = program->funcs - 1;
    while (program->func[f].entry > pc) {
        f--;
    }
    return program->func[f].frame;
}

/* The instruction's fields; w: its first word, d: the destination. */
#define DST (*d)
#define SRC (*source(r, w))
#define OFF ((int32_t)w >> 16)
#define IMM ((int32_t)lpn_get32(ip + 4))
#define IMM64 ((uint64_t)(int64_t)IMM)
#define DST32 ((uint32_t)DST)
#define SRC32 ((uint32_t)r[w >> 12 & 15])

static inline uint64_t *source(uint64_t *r, uint32_t w)
{
    uint64_t *s = &r[w >> 12 & 15];
    LPN_HIDE(s);                        /* or gcc adds it up for each half */
    return s;
}

/* An operation in its four forms: 64-bit with immediate and register, 32-bit with both. */
#define ALU(code, OP) \
    case (code) | 0x07: DST = DST OP IMM64; break; \
    case (code) | 0x0f: DST = DST OP SRC; break; \
    case (code) | 0x04: DST = (uint32_t)(DST32 OP (uint32_t)IMM); break; \
    case (code) | 0x0c: DST = (uint32_t)(DST32 OP SRC32); break

/* Shift counts are masked to the width. */
#define SHIFT(code, OP) \
    case (code) | 0x07: DST = DST OP (IMM & 63); break; \
    case (code) | 0x0f: DST = DST OP (SRC32 & 63); break; \
    case (code) | 0x04: DST = (uint32_t)(DST32 OP (IMM & 31)); break; \
    case (code) | 0x0c: DST = (uint32_t)(DST32 OP (SRC32 & 31)); break

/* Offset 1 makes division and modulo signed. */
#define DIVIDE(code, FN) \
    case (code) | 0x07: DST = OFF ? FN##_signed((int64_t)DST, IMM) : FN(DST, IMM64); break; \
    case (code) | 0x0f: DST = OFF ? FN##_signed((int64_t)DST, (int64_t)SRC) : FN(DST, SRC); break; \
    case (code) | 0x04: DST = FN##32(DST32, (uint32_t)IMM, OFF != 0); break; \
    case (code) | 0x0c: DST = FN##32(DST32, SRC32, OFF != 0); break

/* Distances count from the instruction after the jump. */
#define JUMP(distance) \
    ip += 8 * ((ptrdiff_t)(distance) + 1); \
    continue

#define JUMP_IF(condition) \
    if (condition) { \
        JUMP(OFF); \
    } \
    break

/* A comparison in its four forms; T64 and T32 are the types compared. */
#define COMPARE(code, T64, T32, OP) \
    case (code) | 0x05: JUMP_IF((T64)DST OP (T64)IMM64); \
    case (code) | 0x0d: JUMP_IF((T64)DST OP (T64)SRC); \
    case (code) | 0x06: JUMP_IF((T32)DST OP (T32)IMM); \
    case (code) | 0x0e: JUMP_IF((T32)DST OP (T32)SRC)

#define FAIL(code) do { error = (code); goto end; } while (0)

/* Where an access is, checked. */
#define ACCESS(base, size, access, code) \
    p = reach(run, w, (base), (size) << 4 | (access)); \
    if (p == NULL) { \
        FAIL(code); \
    }

#define LOAD(op, n, value) \
    case (op): \
        ACCESS(&SRC, n, LPN_READ, LPN_E_LOAD) \
        DST = (value); \
        break

#define STORE(op, n, value) \
    case (op): \
        ACCESS(&DST, n, LPN_WRITE, LPN_E_STORE) \
        store(p, n, (value)); \
        break

/* What the instruction reaches from this base, or NULL: then run->address says where that is. `how`: bytes << 4 | kinds of access. */
static APART uint8_t *reach(lpn_run *run, uint32_t w, const uint64_t *base, uint32_t how)
{
    const uint64_t address = *base + (uint64_t)(int64_t)OFF;
    return region_of(run, address, how >> 4, how & 15) == NULL ? NULL : lpn_pointer(address);
}

/* gcc -Os would have cases share their ends: smaller by a third, and slower by a seventh. The other options are what was found by search: a tenth less
 * code than without them, and a 25th less time. */
#if LPN_PLANNED && !defined(__clang__)
#define FAST __attribute__((optimize("O2", "no-crossjumping", "no-tree-ch", "no-tree-pre", "no-early-inlining", "no-cse-follow-jumps", "no-sched-pressure", \
                                     "peel-loops", "selective-scheduling", "sel-sched-pipelining", "sched2-use-superblocks")))
#else
#define FAST
#endif

/* Apart, so that a 32-bit clean program does not make room for its registers. */
FAST APART static int execute64(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2);

int lpn_execute(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2)
{
#if LPN_VM32
    if (lpn_narrow(program)) {
        return lpn_execute32(run, program, r1, r2);
    }
    if (LPN_CLEAN32_ONLY) {             /* who leaves the rest out refuses others before they run */
        run->insns = run->pc = 0;
        return LPN_E_LEFT_OUT;
    }
#endif
    return execute64(run, program, r1, r2);
}

static int execute64(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2)
{
    uint64_t registers[11] = { 0 }, *r = registers;
    uint8_t *p;
    const uint8_t *const text = program->text, *ip = text;
    const uint32_t budget = run->fuel;
    uint32_t fuel = budget, depth = 0;
    int error = LPN_OK;

    r[1] = r1;
    r[2] = r2;
    r[10] = lpn_begin(run, program);
    run->r0 = 0;
    LPN_HIDE(r);                        /* or gcc adds up their address each time */

    for (;;) {
        if (fuel == 0) {
            FAIL(LPN_E_FUEL);
        }
        fuel--;
        const uint32_t w = lpn_get32(ip);
        uint64_t *d = &r[w >> 8 & 15];
        LPN_HIDE(d);
        switch (w & 0xff) {
        ALU(0x00, +);
        ALU(0x10, -);
        ALU(0x20, *);
        DIVIDE(0x30, divide);
        ALU(0x40, |);
        ALU(0x50, &);
        SHIFT(0x60, <<);
        SHIFT(0x70, >>);
        case 0x87: DST = 0 - DST; break;
        case 0x84: DST = 0 - DST32; break;
        DIVIDE(0x90, modulo);
        ALU(0xa0, ^);
        case 0xb7: DST = IMM64; break;
        case 0xb4: DST = (uint32_t)IMM; break;
        case 0xbf: DST = OFF ? (uint64_t)(int64_t)sign_extend(SRC32, (unsigned)OFF) : SRC; break;
        case 0xbc: DST = OFF ? (uint32_t)sign_extend(SRC32, (unsigned)OFF) : SRC32; break;
        case 0xc7: DST = (uint64_t)((int64_t)DST >> (IMM & 63)); break;
        case 0xcf: DST = (uint64_t)((int64_t)DST >> (SRC32 & 63)); break;
        case 0xc4: DST = (uint32_t)((int32_t)DST >> (IMM & 31)); break;
        case 0xcc: DST = (uint32_t)((int32_t)DST >> (SRC32 & 31)); break;
        case 0xd4: DST = byte_order(DST, (uint32_t)IMM, false); break;
        case 0xdc: case 0xd7: DST = byte_order(DST, (uint32_t)IMM, true); break;

        case 0x18: case 0xd8: case 0xb8: {
            uint64_t value = (uint64_t)(uint32_t)IMM | (uint64_t)lpn_get32(ip + 12) << 32;
            const unsigned base = (w & 0xff) == 0xd8 ? 8 : (w & 0xff) == 0xb8 ? 9 : w >> 12 & 15;
            DST = base == 0 ? value : run->region[base == 8 ? 1 : 2].start + IMM64;
            ip += 8;
            break;
        }

        LOAD(0x71, 1, *p);
        LOAD(0x69, 2, lpn_get16(p));
        LOAD(0x61, 4, lpn_get32(p));
        LOAD(0x79, 8, lpn_get64(p));
        LOAD(0x91, 1, (uint64_t)(int64_t)sign_extend(*p, 8));
        LOAD(0x89, 2, (uint64_t)(int64_t)sign_extend(lpn_get16(p), 16));
        LOAD(0x81, 4, (uint64_t)(int64_t)sign_extend(lpn_get32(p), 32));
        STORE(0x72, 1, IMM64);
        STORE(0x6a, 2, IMM64);
        STORE(0x62, 4, IMM64);
        STORE(0x7a, 8, IMM64);
        STORE(0x73, 1, SRC);
        STORE(0x6b, 2, SRC);
        STORE(0x63, 4, SRC);
        STORE(0x7b, 8, SRC);
        case 0xc3: case 0xcb: case 0xd3: case 0xdb: {
            unsigned size = lpn_access_size((uint8_t)w);
            int32_t op = IMM;
            uint32_t access = op == 0x100 ? LPN_READ : op == 0x110 ? LPN_WRITE : LPN_READ | LPN_WRITE;
            ACCESS(op == 0x100 ? &SRC : &DST, size, access, op == 0x100 ? LPN_E_LOAD : LPN_E_STORE)
            lpn_atomic(r, w >> 8 & 15, w >> 12 & 15, op, p, size);
            break;
        }

        case 0x05: JUMP(OFF);
        case 0x06: JUMP(IMM);
        COMPARE(0x10, uint64_t, uint32_t, ==);
        COMPARE(0x20, uint64_t, uint32_t, >);
        COMPARE(0x30, uint64_t, uint32_t, >=);
        COMPARE(0x40, uint64_t, uint32_t, &);
        COMPARE(0x50, uint64_t, uint32_t, !=);
        COMPARE(0x60, int64_t, int32_t, >);
        COMPARE(0x70, int64_t, int32_t, >=);
        COMPARE(0xa0, uint64_t, uint32_t, <);
        COMPARE(0xb0, uint64_t, uint32_t, <=);
        COMPARE(0xc0, int64_t, int32_t, <);
        COMPARE(0xd0, int64_t, int32_t, <=);

        case 0x85:
            if ((w >> 12 & 15) == 0) {
                run->insns = budget - fuel;
                error = lpn_call_helper(run, (uint32_t)IMM, r, false);
                if (error != LPN_OK) {
                    goto end;
                }
                break;
            } else {
                /* A local function keeps the caller's r6-r9 and gets the stack below its frame. */
                uint32_t pc = (uint32_t)((ip - text) / 8), frame = lpn_frame_at(program, pc);
                if (depth == LPN_MAX_DEPTH - 1) {
                    FAIL(LPN_E_DEPTH);
                }
                if (r[10] - run->region[0].start < frame) {
                    FAIL(LPN_E_STACK);
                }
                for (unsigned i = 0; i < 4; i++) {
                    run->call[depth].saved.wide[i] = r[6 + i];
                }
                run->call[depth].back = pc;
                run->call[depth].frame = frame;
                depth++;
                r[10] -= frame;
                JUMP(IMM);
            }
        case 0x95:
            if (depth == 0) {
                run->r0 = r[0];
                goto end;
            }
            depth--;
            for (unsigned i = 0; i < 4; i++) {
                r[6 + i] = run->call[depth].saved.wide[i];
            }
            r[10] += run->call[depth].frame;
            ip = text + 8 * (size_t)run->call[depth].back;
            break;
        default:
            FAIL(LPN_E_OPCODE);
        }
        ip += 8;
    }
end:
    run->pc = (uint32_t)((ip - text) / 8);
    run->fuel = fuel;
    run->insns = budget - fuel;
    return error;
}
#endif
