/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a program reaches outside itself, by helpers: tables, the clock, buffers, functions of the node's own. Engines check the
 * memory that it passes. */
#include "bytes.h"
#include "env_offsets.h"
#include "lpn.h"
#include "lpn_helpers.h"
#include "vm.h"

#if LPN_WHOLE                   /* all of it is in env_smallest.S */
#define AT(type, field, offset) (offsetof(type, field) == (offset))
_Static_assert(AT(lpn_env, tables, ENV_TABLES) && AT(lpn_env, table_count, ENV_TABLE_COUNT) && AT(lpn_env, now, ENV_NOW) && AT(lpn_env, clock, ENV_CLOCK)
               && AT(lpn_env, trace, ENV_TRACE) && AT(lpn_env, call, ENV_CALL) && AT(lpn_env, externs, ENV_EXTERNS)
               && AT(lpn_env, extern_count, ENV_EXTERN_COUNT) && AT(lpn_env, user, ENV_USER), "env_offsets.h");
_Static_assert(AT(lpn_extern, name, EXTERN_NAME) && AT(lpn_extern, args, EXTERN_ARGS) && AT(lpn_extern, call, EXTERN_CALL)
               && AT(lpn_extern, user, EXTERN_USER) && sizeof(lpn_extern) == 1 << EXTERN_BITS, "env_offsets.h");
_Static_assert(AT(lpn_table, shape.action_data, TABLE_DATA) && AT(lpn_table, key_size, TABLE_KEY) && sizeof(lpn_table) == 1 << TABLE_BITS
               && LPN_MAX_ACTION_DATA == MOST_DATA, "env_offsets.h");
_Static_assert(LPN_E_HELPER == E_HELPER && LPN_E_HELPER_ARG == E_HELPER_ARG && LPN_E_EXTERN == E_EXTERN && LPN_E_LEFT_OUT == E_LEFT_OUT,
               "env_offsets.h");
#else

/* Every packet has its record and the output buffer zeroed. Most have whole turns alone. */
void lpn_zero(uint8_t *to, size_t n)
{
    const uint8_t *const end = to + (n & ~(size_t)63);
    if (to != end) {
        do {
            lpn_zero16(to);
            lpn_zero16(to + 16);
            lpn_zero16(to + 32);
            lpn_zero16(to + 48);
            to += 64;
        } while (to != end);
    }
    n &= 63;
    if (n == 0) {
        return;
    }
    do {
        if (n >= 16) {
            lpn_zero16(to);
            to += 16;
            n -= 16;
        } else if (n >= 4) {
            lpn_put32(to, 0);
            to += 4;
            n -= 4;
        } else {
            *to++ = 0;
            n--;
        }
    } while (n != 0);
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#pragma GCC push_options
#pragma GCC optimize("no-tree-ter", "no-ivopts", "no-optimize-sibling-calls", "no-gcse", "no-tree-scev-cprop", \
                     "no-cse-follow-jumps")             /* less code, and faster */
#endif
#if !LPN_NO_TABLES
int lpn_env_lookup(const lpn_env *env, const uintptr_t *r, uint32_t *action)
{
    *action = 0;
    const uint32_t which = (uint32_t)r[0], room = LPN_SIZE3(which);
    if (env == NULL || LPN_WHICH(which) >= env->table_count) {
        return LPN_E_HELPER_ARG;
    }
    const lpn_table *t = &env->tables[LPN_WHICH(which)];
    uint8_t *data = lpn_pointer(r[2]);
    if (room > LPN_MAX_ACTION_DATA || LPN_SIZE2(which) != t->key_size || room < t->shape.action_data) {
        return LPN_E_HELPER_ARG;
    }
    const uint8_t *found;
    *action = lpn_table_lookup(t, lpn_pointer(r[1]), &found);
    size_t n = *action ? t->shape.action_data : 0;
    lpn_copy(data, found, n);
    lpn_zero(data + n, room - n);
    return LPN_OK;
}
#endif
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#pragma GCC pop_options
#endif

#if !LPN_NO_TABLES
static int look_up(const lpn_env *env, const uint64_t *r, uint32_t *value)
{
    const uintptr_t args[] = { (uintptr_t)r[0], (uintptr_t)r[1], (uintptr_t)r[2] };
    return r[0] >> 32 != 0 ? LPN_E_HELPER_ARG : lpn_env_lookup(env, args, value);
}
#endif

/* A function of the node's own. */
static int call_extern(const lpn_env *env, uint32_t index, const uint64_t *r, uint32_t *value)
{
    if (env == NULL || index >= env->extern_count) {
        return LPN_E_EXTERN;
    }
    uint32_t args[5];
    for (unsigned i = 0; i < 5; i++) {
        args[i] = (uint32_t)r[i];
    }
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
#if LPN_NO_TABLES
        return LPN_E_LEFT_OUT;
#else
        return look_up(env, r, value);
#endif
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
    for (const lpn_extern *one = offered, *const end = offered + count; one != end; one++) {
        size_t n = 0;
        while (n < size && one->name[n] == name[n] && name[n] != 0) {
            n++;
        }
        if (n == size && one->name[n] == 0 && one->args == args) {
            *slot = *one;
            return LPN_OK;
        }
    }
    return LPN_E_EXTERN;
}
#endif
