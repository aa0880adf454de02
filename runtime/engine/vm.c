/* SPDX-License-Identifier: LGPL-2.1-only */
/* The interpreter: RFC 9669, one case an instruction, every memory access checked. Runs what lpn_load passed. */
#include "vm.h"
#include "lpn_helpers.h"

/* Every packet has its window, its record and the output buffer zeroed: written out, because -Os unrolls nothing. */
void lpn_zero(uint8_t *to, size_t n)
{
#define ZERO16(at) lpn_put32(to + (at), 0); lpn_put32(to + (at) + 4, 0); lpn_put32(to + (at) + 8, 0); lpn_put32(to + (at) + 12, 0)
    for (; n >= 64; n -= 64, to += 64) {
        ZERO16(0); ZERO16(16); ZERO16(32); ZERO16(48);
    }
    for (; n >= 16; n -= 16, to += 16) {
        ZERO16(0);
    }
#undef ZERO16
    for (; n >= 4; n -= 4, to += 4) {
        lpn_put32(to, 0);
    }
    for (; n > 0; n--) {
        *to++ = 0;
    }
}

#if !LPN_CODE_ONLY
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

static inline unsigned size_of(uint32_t op)
{
    return 1u << (0xc6u >> (op >> 2 & 6) & 3);
}

unsigned lpn_access_size(uint8_t op)
{
    return size_of(op);
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

/* Section 4.1: division by zero gives 0; the one signed overflow wraps. */
static uint64_t divide(uint64_t a, uint64_t b, bool is_signed)
{
    if (b == 0 || (is_signed && b == UINT64_MAX)) {
        return b * a;                   /* a * -1 is -a, where a / -1 may be no number */
    }
    return is_signed ? (uint64_t)((int64_t)a / (int64_t)b) : a / b;
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

#endif

/* Helper `lookup`. */
static int look_up(const lpn_env *env, const uint64_t *r, uint32_t *action)
{
    if (env == NULL || r[0] >= env->table_count) {
        return LPN_E_HELPER_ARG;
    }
    if (LPN_NO_TABLES) {
        return LPN_E_LEFT_OUT;
    }
    const lpn_table *t = &env->tables[r[0]];
    uint8_t *data = lpn_pointer(r[3]);
    if (r[2] != t->key_size || r[4] < t->shape.action_data || r[4] > LPN_MAX_ACTION_DATA) {
        return LPN_E_HELPER_ARG;
    }
    const uint8_t *found;
    *action = lpn_table_lookup(t, lpn_pointer(r[1]), &found);
    size_t n = *action ? t->shape.action_data : 0;
    lpn_copy(data, found, n);
    lpn_zero(data + n, (size_t)r[4] - n);
    return LPN_OK;
}

/* A function of the node's own. */
static int call_extern(const lpn_env *env, uint32_t index, const uint64_t *r, uint32_t *value)
{
    if (env == NULL || index >= env->extern_count) {
        return LPN_E_EXTERN;
    }
    const uint32_t args[5] = { (uint32_t)r[0], (uint32_t)r[1], (uint32_t)r[2], (uint32_t)r[3], (uint32_t)r[4] };
    *value = env->externs[index].call(env->externs[index].user, args);
    return LPN_OK;
}

static uint32_t clock_of(const lpn_env *env)
{
    return env == NULL ? 0 : env->clock != NULL ? env->clock(env->user) : env->now;
}

int lpn_env_call(const lpn_env *env, const lpn_view *view, uint32_t number, const uint64_t *r, uint32_t *value)
{
    *value = 0;
    switch (number) {
    case LPN_HELPER_LOOKUP:
        return look_up(env, r, value);
    case LPN_HELPER_CLOCK_US:
        *value = clock_of(env);
        return LPN_OK;
    case LPN_HELPER_TRACE:
        if (env != NULL && env->trace != NULL) {
            env->trace(env->user, r[0], r[1]);
        }
        return LPN_OK;
    case LPN_HELPER_BUFFER_PUT:         /* enum lpn_buffer_call has the helpers' order */
    case LPN_HELPER_BUFFER_HOLD:
    case LPN_HELPER_BUFFER_TAKE:
    case LPN_HELPER_BUFFER_DROP:
        return LPN_NO_BUFFERS ? LPN_E_LEFT_OUT : lpn_buffers_call(view, (enum lpn_buffer_call)(number - LPN_HELPER_BUFFER_PUT), r, clock_of(env), value);
    default:
        if (number >= LPN_HELPER_OWN) {
            return call_extern(env, number - LPN_HELPER_OWN, r, value);
        }
        return env == NULL || env->call == NULL ? LPN_E_HELPER : env->call(env->user, number, r, value);
    }
}

int lpn_extern_bind(lpn_extern *slot, const lpn_extern *offered, uint32_t count, const char *name, size_t size,
                    uint32_t args)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t n = 0;
        while (n < size && offered[i].name[n] == name[n] && name[n] != 0) {
            n++;
        }
        if (n == size && offered[i].name[n] == 0 && offered[i].args == args) {
            *slot = offered[i];
            return LPN_OK;
        }
    }
    return LPN_E_EXTERN;
}

#if !LPN_CODE_ONLY
int lpn_call_helper(lpn_run *run, uint32_t number, uint64_t *r)
{
    /* Of each argument two bits: it is an address (a size follows), and is written through. */
#define AT(i, kind) ((kind) == LPN_ARG_MEM_READ ? 1 << 2 * (i) : (kind) == LPN_ARG_MEM_WRITE ? 3 << 2 * (i) : 0)
#define ROW(n, name, a, b, c, d, e) [n] = AT(0, a) | AT(1, b) | AT(2, c) | AT(3, d) | AT(4, e),
    static const uint16_t memory[LPN_HELPER_MAX + 1] = { LPN_HELPERS(ROW) };
#undef ROW
#undef AT
    for (unsigned i = 1, at = number <= LPN_HELPER_MAX ? memory[number] : 0; at != 0; i++, at >>= 2) {
        const uint64_t size = r[i + 1];
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

/* Operations, the upper half of an opcode: of arithmetic, of jumps. */
enum { ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH, END };
enum { JSET = 4, CALL = 8, EXIT = 9 };

/* Arithmetic of 64 bits, and of 32 bits what execute64() leaves: division, byte order, moves with sign extension. */
static APART void alu(const uint8_t *ip, uint64_t *r)
{
    const uint32_t w = lpn_get32(ip), imm = lpn_get32(ip + 4), off = w >> 16;
    uint64_t *d = &r[w >> 8 & 15];
    LPN_HIDE(d);                        /* or gcc adds it up once more */
    uint64_t a = *d, b = (uint64_t)(int32_t)imm, quotient;
    if ((w & 8) != 0) {
        b = r[w >> 12 & 15];
    }
    const uint32_t count = (uint32_t)b & 63;
    switch (w >> 4 & 15) {
    case ADD: a += b; break;
    case SUB: a -= b; break;
    case MUL: a *= b; break;
    case OR: a |= b; break;
    case AND: a &= b; break;
    case LSH: a <<= count; break;
    case RSH: a >>= count; break;
    case NEG: a = 0 - a; break;
    case XOR: a ^= b; break;
    case ARSH: a = (uint64_t)((int64_t)a >> count); break;
    case MOV: a = off != 0 ? (uint64_t)(int64_t)sign_extend(b, off) : b; break;
    case END: *d = byte_order(a, imm, (w & 0xff) != 0xd4); return;
    default:                                            /* offset 1: signed */
        if ((w & 3) == 0) {
            a = off != 0 ? (uint64_t)(int32_t)a : (uint32_t)a;
            b = off != 0 ? (uint64_t)(int32_t)b : (uint32_t)b;
        }
        quotient = divide(a, b, off != 0);
        a = (w >> 4 & 15) == DIV ? quotient : a - quotient * b;
    }
    *d = (w & 3) == 0 ? (uint32_t)a : a;
}

/* Is the jump taken? Of 64 bits the upper words decide, and the lower ones where those are equal. */
static inline bool taken(uint32_t w, const uint64_t *r, uint32_t imm)
{
    enum { LESS = 1, EQUAL = 2, MORE = 4, SIGNED = 8 };
    static const uint8_t when[14] = { LESS | EQUAL | MORE, EQUAL, MORE, MORE | EQUAL, LESS | MORE, LESS | MORE, SIGNED | MORE, SIGNED | MORE | EQUAL, 0, 0,
                                      LESS, LESS | EQUAL, SIGNED | LESS, SIGNED | LESS | EQUAL };
    const unsigned code = w >> 4 & 15, wanted = when[code];
    const uint64_t *const d = &r[w >> 8 & 15], *const s = &r[w >> 12 & 15];
    uint32_t a = (uint32_t)*d, b = imm, sign = wanted & SIGNED;
    if ((w & 8) != 0) {
        b = (uint32_t)*s;
    }
    if ((w & 2) == 0) {
        const uint32_t a_high = (uint32_t)(*d >> 32), b_high = (w & 8) != 0 ? (uint32_t)(*s >> 32) : (uint32_t)((int32_t)imm >> 31);
        if (code == JSET) {
            return (a & b) != 0 || (a_high & b_high) != 0;
        }
        if (a_high != b_high) {
            a = a_high;
            b = b_high;
        } else {
            sign = 0;
        }
    } else if (code == JSET) {
        return (a & b) != 0;
    }
    a ^= sign << 28;
    b ^= sign << 28;
    return (wanted & (a < b ? LESS : a == b ? EQUAL : MORE)) != 0;
}

/* What the access w reaches from this base, or NULL: then run->address says where that is. */
static APART uint8_t *reach(lpn_run *run, uint32_t w, const uint64_t *base, uint32_t access)
{
    const uint64_t address = *base + (uint64_t)((int32_t)w >> 16);
    return region_of(run, address, size_of(w), access) == NULL ? NULL : lpn_pointer(address);
}

/* Load, store, atomic instruction. Returns LPN_OK, or an error that goes with run->address. */
static APART int move_memory(lpn_run *run, const uint8_t *ip, uint64_t *r)
{
    const uint32_t w = lpn_get32(ip);
    const int32_t imm = (int32_t)lpn_get32(ip + 4);
    uint64_t *const dst = &r[w >> 8 & 15], *const src = &r[w >> 12 & 15];
    if ((w & 7) == 1) {
        const uint8_t *p = reach(run, w, src, LPN_READ);
        if (p == NULL) {
            return LPN_E_LOAD;
        }
        const unsigned size = size_of(w);
        const uint64_t value = load(p, size);
        *dst = (w & 0x20) == 0 ? (uint64_t)(int64_t)sign_extend(value, 8 * size) : value;
        return LPN_OK;
    }
    const bool is_atomic = (w & 0xe7) == 0xc3, loads = is_atomic && imm == 0x100;
    uint8_t *p = reach(run, w, loads ? src : dst, loads ? LPN_READ : is_atomic && imm != 0x110 ? LPN_READ | LPN_WRITE : LPN_WRITE);
    if (p == NULL) {
        return loads ? LPN_E_LOAD : LPN_E_STORE;
    }
    if (is_atomic) {
        lpn_atomic(r, w >> 8 & 15, w >> 12 & 15, imm, p, size_of(w));
    } else {
        store(p, size_of(w), (w & 7) == 3 ? *src : (uint64_t)imm);
    }
    return LPN_OK;
}

/* lddw: its two slots. */
static APART void load_address(const lpn_run *run, const uint8_t *ip, uint64_t *r)
{
    const uint32_t w = lpn_get32(ip), low = lpn_get32(ip + 4), src = w >> 12 & 15;
    const unsigned base = (w & 0xff) == 0xd8 ? 8 : (w & 0xff) == 0xb8 ? 9 : src;
    r[w >> 8 & 15] = base == 0 ? low | (uint64_t)lpn_get32(ip + 12) << 32 : run->region[base == 8 ? 1 : 2].start + (uint64_t)(int32_t)low;
}

/* A local function keeps the caller's r6-r9 and gets the stack below its frame. */
static APART int enter(lpn_run *run, const lpn_program *program, uint64_t *r, uint32_t depth, uint32_t pc)
{
    const uint32_t frame = lpn_frame_at(program, pc);
    if (depth == LPN_MAX_DEPTH - 1) {
        return LPN_E_DEPTH;
    }
    if (r[10] - run->region[0].start < frame) {
        return LPN_E_STACK;
    }
    for (unsigned i = 0; i < 4; i++) {
        run->call[depth].saved[i] = r[6 + i];
    }
    run->call[depth].back = pc;
    run->call[depth].frame = frame;
    r[10] -= frame;
    return LPN_OK;
}

/* Back to the slot of the call. */
static APART uint32_t leave(lpn_run *run, uint64_t *r, uint32_t depth)
{
    for (unsigned i = 0; i < 4; i++) {
        r[6 + i] = run->call[depth].saved[i];
    }
    r[10] += run->call[depth].frame;
    return run->call[depth].back;
}

/* Apart, so that a 32-bit clean program does not make room for its registers. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static int execute64(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2);

int lpn_execute(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2)
{
#if LPN_VM32
    if (LPN_PLANNED ? program->plan != NULL && (program->certified || !LPN_CERTIFIED_ONLY) : program->clean32 || LPN_CLEAN32_ONLY) {
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
    const uint8_t *const text = program->text, *ip = text;
    const uint32_t budget = run->fuel;
    uint32_t fuel = budget, depth = 0;
    int error = LPN_OK;

    r[1] = r1;
    r[2] = r2;
    r[10] = lpn_begin(run, program);
    run->r0 = 0;
    LPN_HIDE(r);                        /* or gcc adds up their address each time */

    for (;; ip += 8) {
        if (fuel == 0) {
            error = LPN_E_FUEL;
            break;
        }
        fuel--;
        const uint32_t w = lpn_get32(ip);
        if ((w & 4) == 0) {
            if ((w & 3) == 0) {
                load_address(run, ip, r);
                ip += 8;
                continue;
            }
            error = move_memory(run, ip, r);
            if (error != LPN_OK) {
                break;
            }
            continue;
        }
        const uint32_t code = w >> 4 & 15;
        if ((w & 3) == 0) {
            uint64_t *d = &r[w >> 8 & 15];
            LPN_HIDE(d);
            uint32_t a = (uint32_t)*d, b = lpn_get32(ip + 4);
            if ((w & 8) != 0) {
                b = (uint32_t)r[w >> 12 & 15];
            }
            switch (code) {
            case ADD: a += b; break;
            case SUB: a -= b; break;
            case MUL: a *= b; break;
            case OR: a |= b; break;
            case AND: a &= b; break;
            case LSH: a <<= b & 31; break;
            case RSH: a >>= b & 31; break;
            case NEG: a = 0 - a; break;
            case XOR: a ^= b; break;
            case ARSH: a = (uint32_t)((int32_t)a >> (b & 31)); break;
            case MOV:
                if (w >> 16 == 0) {
                    a = b;
                    break;
                }
                /* fall through */
            default:
                alu(ip, r);
                continue;
            }
            *d = a;
            continue;
        }
        const uint32_t imm = lpn_get32(ip + 4);
        if ((w & 3) == 3) {
            uint64_t *d = &r[w >> 8 & 15];
            LPN_HIDE(d);
            if (code == ADD || (code == MOV && w >> 16 == 0)) {     /* addresses */
                const uint64_t b = (w & 8) != 0 ? r[w >> 12 & 15] : (uint64_t)(int32_t)imm;
                *d = code == ADD ? *d + b : b;
                continue;
            }
            alu(ip, r);
        } else if (code != CALL && code != EXIT) {
            if (taken(w, r, imm)) {     /* distances count from the instruction after the jump */
                ip += 8 * (ptrdiff_t)((w & 0xff) == 0x06 ? (int32_t)imm : (int32_t)w >> 16);
            }
        } else if (code == EXIT) {
            if (depth == 0) {
                run->r0 = r[0];
                break;
            }
            ip = text + 8 * (size_t)leave(run, r, --depth);
        } else if (w >> 12 == 0) {
            run->insns = budget - fuel;
            error = lpn_call_helper(run, imm, r);
        } else {
            error = enter(run, program, r, depth++, (uint32_t)((ip - text) / 8));
            if (error == LPN_OK) {
                ip += 8 * (ptrdiff_t)(int32_t)imm;
            }
        }
        if (error != LPN_OK) {
            break;
        }
    }
    run->pc = (uint32_t)((ip - text) / 8);
    run->fuel = fuel;
    run->insns = budget - fuel;
    return error;
}
#endif
