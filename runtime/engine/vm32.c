/* SPDX-License-Identifier: LGPL-2.1-only */
/* The interpreter of 32-bit clean programs, for cores with 32-bit addresses: each register holds a 32-bit value or an
 * address, so 64-bit and 32-bit forms of an instruction are one. A program that is not clean although its image says
 * so gets other results than vm.c gives, and is confined all the same.
 *
 * On cores with Thumb-2 the common instructions are in vm32_thumb2.S, which goes by a plan and comes here for each of the others, and
 * for an access that fails. What both have:
 * - the budget is compared where a jump is taken and at the end, not for each instruction: `limit` is the address at which
 *   it ends, moved along with each jump. So a run ends at most one straight line of code behind its budget;
 * - for each register the region of its last access is remembered, one for loads and one for stores, and tried first;
 * - the loads and stores of a certified program are not checked. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#pragma GCC optimize("no-tree-ter", "no-if-conversion", "no-schedule-insns2")     /* less code, and no slower */
#endif
#include "vm.h"

#if LPN_VM32 && !LPN_CODE_ONLY

#include "vm32_offsets.h"

#if LPN_WHOLE
_Static_assert(offsetof(lpn_program, text) == PROGRAM_TEXT && offsetof(lpn_program, count) == PROGRAM_COUNT
               && offsetof(lpn_program, rodata) == PROGRAM_RODATA && offsetof(lpn_program, data) == PROGRAM_DATA
               && offsetof(lpn_program, plan) == PROGRAM_PLAN && offsetof(lpn_program, func) == PROGRAM_FUNC
               && offsetof(lpn_program, stack) == PROGRAM_STACK && offsetof(lpn_program, certified) == PROGRAM_CERTIFIED
               && offsetof(lpn_program, funcs) == PROGRAM_FUNCS && sizeof(lpn_func) == 4, "vm32_offsets.h");
_Static_assert(offsetof(lpn_run, env) == RUN_ENV && offsetof(lpn_run, view) == RUN_VIEW && offsetof(lpn_run, fuel) == RUN_FUEL
               && offsetof(lpn_run, insns) == RUN_INSNS && offsetof(lpn_run, pc) == RUN_PC && offsetof(lpn_run, r0) == RUN_R0
               && offsetof(lpn_run, call) == RUN_CALL && offsetof(lpn_run, stack) + LPN_STACK_SIZE == RUN_STACK_END, "vm32_offsets.h");
_Static_assert(LPN_E_FUEL == E_FUEL && LPN_E_DEPTH == E_DEPTH && LPN_E_STACK == E_STACK && LPN_E_LEFT_OUT == E_LEFT_OUT
               && LPN_MAX_DEPTH == MAX_DEPTH && LPN_MAX_FUEL == 0x0fffffff, "vm32_offsets.h");
#else

#if LPN_PLANNED                 /* the loop is in vm32_thumb2.S */
int lpn_loop32(lpn_vm32 *vm);
int lpn_step32(lpn_vm32 *vm);
#define SHARED
_Static_assert(offsetof(lpn_vm32, reads) == VM32_READS && offsetof(lpn_vm32, writes) == VM32_WRITES
               && offsetof(lpn_vm32, ip) == VM32_IP && offsetof(lpn_vm32, limit) == VM32_LIMIT
               && offsetof(lpn_vm32, trusted) == VM32_TRUSTED && offsetof(lpn_vm32, depth) == VM32_DEPTH && offsetof(lpn_vm32, run) == VM32_RUN
               && offsetof(lpn_vm32, text) == VM32_TEXT && offsetof(lpn_vm32, plan) == VM32_PLAN
               && offsetof(lpn_region, start) == REGION_START
               && offsetof(lpn_region, size) == REGION_SIZE, "vm32_offsets.h");
#else
#define SHARED static
#endif

/* The instruction's fields. */
#define D vm->r[ip[1] & 15]
#define S vm->r[ip[1] >> 4]
#define OFF ((int16_t)lpn_get16(ip + 2))
#define IMM lpn_get32(ip + 4)

/* What is left of the budget, in bytes of instructions, this one included. */
#define LEFT() ((int32_t)(vm->limit - (uint32_t)(uintptr_t)ip))

#if !LPN_PLANNED
/* By 0: 0. */
static uint32_t divide(uint32_t a, uint32_t b, bool is_signed)
{
    if (b == 0 || (is_signed && b == UINT32_MAX)) {
        return b * a;                   /* a * -1 is -a, where a / -1 may be no number */
    }
    return is_signed ? (uint32_t)((int32_t)a / (int32_t)b) : a / b;
}
#endif

static uint32_t sign_extend(uint32_t v, int32_t bits)
{
    return bits == 8 ? (uint32_t)(int8_t)v : bits == 16 ? (uint32_t)(int16_t)v : v;
}

/* A helper has arguments of 64 bits. */
static int outside(lpn_vm32 *vm, uint32_t number)
{
    uint64_t wide[6];
    for (unsigned i = 1; i < 6; i++) {
        wide[i] = vm->r[i];
    }
    int error = lpn_call_helper(vm->run, number, wide, vm->trusted);
    vm->r[0] = (uint32_t)wide[0];
    return error;
}

static int atomic(lpn_vm32 *vm, const uint8_t *ip)
{
    const unsigned size = lpn_access_size(ip[0]), dst = ip[1] & 15, src = ip[1] >> 4;
    const int32_t op = (int32_t)IMM;
    const uint32_t access = op == 0x100 ? LPN_READ : op == 0x110 ? LPN_WRITE : LPN_READ | LPN_WRITE;
    const uint32_t address = (op == 0x100 ? S : D) + (uint32_t)OFF;
    if (!LPN_CERTIFIED_ONLY && !vm->trusted && lpn_find(vm->run, address, size, access) == NULL) {
        vm->run->address = address;
        return op == 0x100 ? LPN_E_LOAD : LPN_E_STORE;
    }
    uint64_t wide[11];
    for (unsigned i = 0; i < 11; i++) {
        wide[i] = vm->r[i];
    }
    lpn_atomic(wide, dst, src, op, lpn_pointer(address), size);
    for (unsigned i = 0; i < 11; i++) {
        vm->r[i] = (uint32_t)wide[i];
    }
    return LPN_OK;
}

/* A local function keeps the caller's r6-r9 and gets the stack below its frame. */
static int enter(lpn_vm32 *vm, uint32_t pc)
{
    lpn_run *run = vm->run;
    const uint32_t frame = lpn_frame_at(vm->program, pc), depth = vm->depth;
    if (depth == LPN_MAX_DEPTH - 1) {
        return LPN_E_DEPTH;
    }
    if (vm->r[10] - (uint32_t)run->region[0].start < frame) {
        return LPN_E_STACK;
    }
    run->call[depth].saved.clean = *(const lpn_four *)(const void *)&vm->r[6];
    run->call[depth].back = pc;
    run->call[depth].frame = frame;
    vm->depth = depth + 1;
    vm->r[10] -= frame;
    return LPN_OK;
}

/* Back to the slot of the call. */
static uint32_t leave(lpn_vm32 *vm)
{
    lpn_run *run = vm->run;
    const uint32_t depth = --vm->depth;
    *(lpn_four *)(void *)&vm->r[6] = run->call[depth].saved.clean;
    vm->r[10] += run->call[depth].frame;
    return run->call[depth].back;
}

/* From ip by so many slots, counted from the next one. */
static APART int jump(lpn_vm32 *vm, const uint8_t *ip, uint32_t distance)
{
    const int code = LEFT() <= 8 ? VM32_BUDGET : 0;
    vm->ip = ip + 8 + (int32_t)(distance << 3);
    vm->limit += distance << 3;
    return code;
}

static int call_or_exit(lpn_vm32 *vm, const uint8_t *ip)
{
    const uint32_t pc = (uint32_t)(ip - vm->text) / 8;
    if (LEFT() <= 0) {
        return VM32_BUDGET;
    }
    if (ip[0] == 0x95) {
        return vm->depth == 0 ? VM32_END : jump(vm, ip, leave(vm) - pc);
    }
    if (ip[1] >> 4) {
        vm->error = enter(vm, pc);
        return vm->error != LPN_OK ? VM32_END : jump(vm, ip, IMM);
    }
    vm->error = outside(vm, IMM);
    if (vm->error != LPN_OK) {
        return VM32_END;
    }
    vm->ip = ip + 8;
    return 0;
}

/* Execute the instruction at vm->ip, one that is rare or has failed. 0: go on; VM32_END: it is over, vm->error says how; VM32_BUDGET. */
SHARED int lpn_step32(lpn_vm32 *vm)
{
    const uint8_t *const ip = vm->ip;
    const uint32_t op = ip[0], class = op & 7, s = S, imm = IMM;
    uint32_t *const d = &D, a = *d;
    const int32_t off = OFF;
    if (class == 5 || class == 6) {
        return op == 0x06 ? jump(vm, ip, imm) : call_or_exit(vm, ip);
    }
    vm->ip = ip + 8;
    if (class == 4 || class == 7) {
        const uint32_t code = op >> 4;
        if (code == 11) {
            a = sign_extend(s, off);
#if !LPN_PLANNED
        } else if (code != 13) {
            const uint32_t b = op & 8 ? s : imm, quotient = divide(a, b, off != 0);
            a = code == 3 ? quotient : a - quotient * b;
        } else if (imm < 64) {
            a = imm == 16 ? lpn_swap16(a) : lpn_swap32(a);
#endif
        } else {                        /* 64 bits of a clean register: only 0 stays clean */
            a = 0;
        }
    } else if (class == 0) {
        const unsigned base = op == 0xd8 ? 8 : op == 0xb8 ? 9 : ip[1] >> 4;
        a = imm + (base == 0 ? 0 : (uint32_t)vm->run->region[base == 8 ? 1 : 2].start);
        vm->ip = ip + 16;               /* the two slots count as one */
        vm->limit += 8;
    } else if (class == 3 && op >= 0xc0) {
        vm->error = atomic(vm, ip);
        a = *d;
    } else {
        vm->run->address = (class == 1 ? s : a) + (uint32_t)off;
        vm->error = class == 1 ? LPN_E_LOAD : LPN_E_STORE;
    }
    *d = a;
    if (vm->error == LPN_OK) {
        return 0;
    }
    vm->ip = ip;
    return VM32_END;
}

#if !LPN_PLANNED
#if LPN_CERTIFIED_ONLY
#define near(vm, reg, address, n, access) true
#else
/* May n bytes at `address` be read or written through this register? Remembers the region: only ones of 8 bytes and more, so
 * that a size less n never wraps. */
static bool near(lpn_vm32 *vm, unsigned reg, uint32_t address, uint32_t n, uint32_t access)
{
    const lpn_region **last = access == LPN_READ ? &vm->reads[reg] : &vm->writes[reg];
    if (vm->trusted || address - (uint32_t)(*last)->start <= (*last)->size - n) {
        return true;
    }
    const lpn_region *g = lpn_find(vm->run, address, n, access);
    if (g == NULL) {
        vm->run->address = address;
        return false;
    }
    if (g->size >= 8) {
        *last = g;
    }
    return true;
}
#endif

/* An operation, a comparison in their four forms. */
#define ALU(code, OPERATION) \
    case (code) | 0x07: case (code) | 0x04: { uint32_t a = D, b = IMM; D = (OPERATION); break; } \
    case (code) | 0x0f: case (code) | 0x0c: { uint32_t a = D, b = S; D = (OPERATION); break; }
#define JUMP { const int code = jump(vm, ip, (uint32_t)OFF); if (code != 0) { return code; } ip = vm->ip - 8; }
#define COMPARE(code, CONDITION) \
    case (code) | 0x05: case (code) | 0x06: { uint32_t a = D, b = IMM; if (CONDITION) JUMP break; } \
    case (code) | 0x0d: case (code) | 0x0e: { uint32_t a = D, b = S; if (CONDITION) JUMP break; }

/* What fails is left to lpn_step32. */
#define LOAD(op, n, value) \
    case (op): { \
        const uint8_t *p = lpn_pointer(S + (uint32_t)OFF); \
        if (!near(vm, ip[1] >> 4, (uint32_t)(uintptr_t)p, n, LPN_READ)) { \
            goto rare; \
        } \
        D = (uint32_t)(value); \
        break; \
    }
#define STORE(op, n, value, WRITE) \
    case (op): { \
        uint8_t *p = lpn_pointer(D + (uint32_t)OFF); \
        if (!near(vm, ip[1] & 15, (uint32_t)(uintptr_t)p, n, LPN_WRITE)) { \
            goto rare; \
        } \
        uint32_t v = (value); \
        WRITE; \
        break; \
    }

/* Execute from vm->ip on. As lpn_step32, but never 0. */
static int lpn_loop32(lpn_vm32 *vm)
{
    const uint8_t *ip = vm->ip;
    for (;; ip += 8) {
        switch (ip[0]) {
        ALU(0x00, a + b)
        ALU(0x10, a - b)
        ALU(0x20, a * b)
        ALU(0x40, a | b)
        ALU(0x50, a & b)
        ALU(0x60, a << (b & 31))
        ALU(0x70, a >> (b & 31))
        case 0x87: case 0x84: D = 0 - D; break;
        ALU(0xa0, a ^ b)
        case 0xb7: case 0xb4: D = IMM; break;
        case 0xbf: case 0xbc: D = sign_extend(S, OFF); break;
        ALU(0xc0, (uint32_t)((int32_t)a >> (b & 31)))
        case 0xd4: D = IMM == 16 ? (uint16_t)D : D; break;

        LOAD(0x71, 1, *p)
        LOAD(0x69, 2, lpn_get16(p))
        LOAD(0x61, 4, lpn_get32(p))
        LOAD(0x81, 4, lpn_get32(p))
        LOAD(0x79, 8, lpn_get32(p))
        LOAD(0x91, 1, (int8_t)*p)
        LOAD(0x89, 2, (int16_t)lpn_get16(p))
        STORE(0x72, 1, IMM, *p = (uint8_t)v)
        STORE(0x6a, 2, IMM, lpn_put16(p, (uint16_t)v))
        STORE(0x62, 4, IMM, lpn_put32(p, v))
        STORE(0x7a, 8, IMM, (lpn_put32(p, v), lpn_put32(p + 4, (uint32_t)((int32_t)v >> 31))))
        STORE(0x73, 1, S, *p = (uint8_t)v)
        STORE(0x6b, 2, S, lpn_put16(p, (uint16_t)v))
        STORE(0x63, 4, S, lpn_put32(p, v))
        STORE(0x7b, 8, S, (lpn_put32(p, v), lpn_put32(p + 4, 0)))

        case 0x05: JUMP break;
        COMPARE(0x10, a == b)
        COMPARE(0x20, a > b)
        COMPARE(0x30, a >= b)
        COMPARE(0x40, (a & b) != 0)
        COMPARE(0x50, a != b)
        COMPARE(0x60, (int32_t)a > (int32_t)b)
        COMPARE(0x70, (int32_t)a >= (int32_t)b)
        COMPARE(0xa0, a < b)
        COMPARE(0xb0, a <= b)
        COMPARE(0xc0, (int32_t)a < (int32_t)b)
        COMPARE(0xd0, (int32_t)a <= (int32_t)b)
        default:
        rare: {
            vm->ip = ip;
            const int code = lpn_step32(vm);
            if (code != 0) {
                return code;
            }
            ip = vm->ip - 8;
        }
        }
    }
}
#endif

int lpn_execute32(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2)
{
    const uint32_t budget = run->fuel < LPN_MAX_FUEL ? run->fuel : LPN_MAX_FUEL;
    if (budget == 0) {
        run->insns = run->pc = 0;
        run->r0 = 0;
        return LPN_E_FUEL;
    }
    lpn_vm32 vm;
    vm.r[0] = vm.r[3] = vm.r[4] = vm.r[5] = vm.r[6] = vm.r[7] = vm.r[8] = vm.r[9] = 0;
    vm.r[1] = (uint32_t)r1;
    vm.r[2] = (uint32_t)r2;
    vm.r[10] = (uint32_t)lpn_begin(run, program);
    /* The stack has 8 bytes at least. A register's first access finds its own region. */
    for (unsigned i = 0; i < (LPN_PLANNED ? 1 : 11); i++) {    /* vm32_thumb2.S does the others */
        vm.reads[i] = vm.writes[i] = &run->region[0];
    }
    vm.ip = program->text;
    vm.limit = (uint32_t)(uintptr_t)program->text + 8 * budget;
    vm.trusted = program->certified;
    vm.run = run;
    vm.text = program->text;
    vm.plan = program->plan;
    vm.program = program;
    vm.depth = 0;
    vm.error = LPN_OK;
    const bool ended = lpn_loop32(&vm) == VM32_END;
    const int32_t left = (int32_t)(vm.limit - (uint32_t)(uintptr_t)vm.ip) / 8 - ended;
    run->pc = (uint32_t)(vm.ip - program->text) / 8;
    run->insns = budget - (left > 0 ? (uint32_t)left : 0);
    run->fuel -= run->insns;
    run->r0 = vm.r[0];
    return ended ? vm.error : LPN_E_FUEL;
}

#endif
#endif
