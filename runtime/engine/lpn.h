/* SPDX-License-Identifier: LGPL-2.1-only */
/**
 * LPN engine: runs eBPF containers over packets.
 *
 * Freestanding C99: no libc, no allocation; the caller owns all memory. Nothing received is trusted: an image
 * is parsed with bounds checks (image.c), its code is checked before the first run (load.c), every memory
 * access and every helper argument is checked while it runs (vm.c). A program can only fail with an error
 * code; it cannot reach memory outside its regions, nor run longer than its budget.
 *
 * Instruction set: RFC 9669, all conformance groups but `packet`, plus the load-acquire and store-release
 * instructions LLVM emits for -mcpu=v4. Memory is little-endian on every host.
 */
#ifndef LPN_H
#define LPN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lpn_options.h"

#define LPN_STACK_SIZE 512      /**< bytes of stack, shared by all frames of a run */
#define LPN_MAX_DEPTH 8         /**< frames, the first one included */
#define LPN_MAX_FUNCS 16        /**< local functions of a container */
#define LPN_MAX_PACKET 2048     /**< bytes of a packet */
#define LPN_WINDOW 64           /**< readable zero bytes behind a packet */
#define LPN_OUT_SIZE 256        /**< bytes of the output buffer */
#define LPN_CTX_SIZE 96         /**< bytes of the context */
#define LPN_MAX_REGIONS 12      /**< of which the first three are the engine's own */
#define LPN_FIRST_REGION 3
#define LPN_MAX_CHAIN 8         /**< containers in a chain */
#define LPN_MAX_IMAGE (1u << 20)
#define LPN_IMAGE_VERSION 2u    ///< compiler/image.py

/** X(code, name): every error the engine reports. Names are part of the interface. */
#define LPN_ERRORS(X) \
    X(LPN_OK, "ok") \
    /* image */ \
    X(LPN_E_MAGIC, "bad magic") \
    X(LPN_E_VERSION, "unsupported version") \
    X(LPN_E_TRUNCATED, "truncated") \
    X(LPN_E_LENGTH, "length mismatch") \
    X(LPN_E_TOO_LARGE, "too large") \
    X(LPN_E_CHECKSUM, "checksum mismatch") \
    X(LPN_E_KIND, "bad kind") \
    X(LPN_E_PROFILE, "bad profile") \
    X(LPN_E_FLAGS, "bad flags") \
    X(LPN_E_HEADER_RESERVED, "reserved field set") \
    X(LPN_E_TEXT, "bad text") \
    X(LPN_E_FIELD, "bad field") \
    X(LPN_E_PADDING, "bad padding") \
    X(LPN_E_NAME, "bad name") \
    X(LPN_E_COMPACT, "bad compact form") \
    /* code, before it runs */ \
    X(LPN_E_OPCODE, "unknown opcode") \
    X(LPN_E_REGISTER, "bad register") \
    X(LPN_E_WRITE_R10, "write to r10") \
    X(LPN_E_RESERVED, "reserved field of an instruction set") \
    X(LPN_E_LDDW, "incomplete lddw") \
    X(LPN_E_JUMP, "jump out of the text or into an lddw") \
    X(LPN_E_FALL, "falls off the end") \
    X(LPN_E_HELPER, "unknown helper") \
    X(LPN_E_FUNCS, "too many local functions") \
    /* chain */ \
    X(LPN_E_HASH, "record or state hashes differ") \
    X(LPN_E_MEMORY, "not enough memory given") \
    X(LPN_E_CHAIN, "bad chain") \
    X(LPN_E_PACKET, "packet too long") \
    /* run */ \
    X(LPN_E_LOAD, "load out of bounds") \
    X(LPN_E_STORE, "store out of bounds") \
    X(LPN_E_HELPER_MEM, "helper argument out of bounds") \
    X(LPN_E_HELPER_ARG, "bad helper argument") \
    X(LPN_E_FUEL, "instruction budget used up") \
    X(LPN_E_DEPTH, "calls too deep") \
    X(LPN_E_STACK, "stack used up") \
    X(LPN_E_VERDICT, "unknown verdict") \
    X(LPN_E_REBUILD, "rebuilt packet out of bounds") \
    /* tables */ \
    X(LPN_E_TABLE, "bad table") \
    X(LPN_E_TABLE_FULL, "table full") \
    X(LPN_E_NO_ENTRY, "no such entry") \
    /* node */ \
    X(LPN_E_HOOK, "bad hook") \
    X(LPN_E_CONTEXT, "helper not allowed in this context") \
    X(LPN_E_EXTERN, "no such function of the node") \
    /* state of another version */ \
    X(LPN_E_STATE, "a register that is kept has another type, or is missing") \
    /* certificate */ \
    X(LPN_E_UNCERTIFIED, "no certificate, and this node asks for one") \
    X(LPN_E_CERTIFICATE, "certificate refused") \
    /* what a firmware leaves out */ \
    X(LPN_E_LEFT_OUT, "this firmware leaves out what it needs") \
    /* what a node has for hooks */ \
    X(LPN_E_TIME, "every and slot may take too much of the time")

#define LPN_ERROR_CODE(code, name) code,
enum lpn_error { LPN_ERRORS(LPN_ERROR_CODE) LPN_ERROR_COUNT };
#undef LPN_ERROR_CODE

/** The name of an error, "?" when it is none; names.c. */
const char *lpn_error_name(int error);

/* ------------------------------------------------------------------------------------------- image.c */

enum lpn_kind { LPN_PARSER = 1, LPN_PROCESSOR, LPN_DEPARSER, LPN_TIMING, LPN_FUSED, LPN_MIGRATION };
enum { LPN_FLAG_CLEAN32 = 1, LPN_FLAG_CERTIFIED = 2, LPN_FLAG_DEPARSES = 4, LPN_FLAG_RADIO = 8,
       LPN_FLAG_BUDGET = 16, LPN_FLAG_QUIETS = 32, LPN_FLAGS = 63 };

/** Where an image's header says what is asked for while it runs. */
enum lpn_image_offset {
    LPN_IMAGE_KIND = 16, LPN_IMAGE_FLAGS = 18, LPN_IMAGE_RECORD_HASH = 40, LPN_IMAGE_RECORD_SIZE = 44, LPN_IMAGE_STATE_SIZE = 46,
    LPN_IMAGE_STATE_HASH = 48, LPN_IMAGE_STACK = 52, LPN_IMAGE_OUT_SPARE = 54
};

/** An image's header and sections; the pointers lead into its bytes. It is made where it is needed, and not kept. */
typedef struct {
    const uint8_t *text, *rodata, *data, *certificate, *name;
    uint32_t text_size, rodata_size, data_size, certificate_size, name_size;
    uint32_t record_hash, state_hash;
    uint16_t record_size, state_size, flags, stack_used;
    uint16_t out_size;          /**< of the output buffer, what it may address */
    uint8_t kind;
} lpn_image;

/** Check the image at `bytes` and fill `image`. Returns LPN_OK or what is wrong first. */
int lpn_image_parse(lpn_image *image, const uint8_t *bytes, size_t size);

/** The check alone. `summed`: a checksum over more than the image has been found right, its own need not be computed. */
int lpn_image_check(const uint8_t *bytes, size_t size, bool summed);

/** Fill `image`, of bytes that have passed the check. */
void lpn_image_view(lpn_image *image, const uint8_t *bytes);

/** CRC-32 (ISO-HDLC, as zlib's) continued from `crc`; start with 0. */
uint32_t lpn_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

/* ------------------------------------------------------------------------------------------ expand.c */

/** The length of the image that a compact one expands to, 0 when these first 8 bytes do not start a compact image. */
uint32_t lpn_compact_length(const uint8_t *bytes);

/**
 * Expand a compact image in place. It lies in the last `size` bytes of `buffer`, which has `length` bytes, as many as
 * lpn_compact_length() says; the image takes its place. Returns LPN_OK or LPN_E_COMPACT. What the image says is not
 * checked: that is lpn_image_parse().
 */
int lpn_image_expand(uint8_t *buffer, uint32_t length, uint32_t size);

/* -------------------------------------------------------------------------------------------- load.c */

/** A function of a program. */
typedef struct {
    uint16_t entry;             /**< slot of the first instruction: local functions lie in the first 512 KiB */
    uint16_t frame;             /**< bytes of stack below r10, a multiple of 8 */
} lpn_func;

/** A checked program: the text and where its local functions start. */
typedef struct {
    const uint8_t *text;        /**< little-endian instructions of 8 bytes, any alignment */
    uint32_t count;             /**< instruction slots */
    const uint8_t *rodata;      /**< what lddw with src=8 (or opcode 0xd8) is relative to */
    uint8_t *data;              /**< what lddw with src=9 (or opcode 0xb8) is relative to */
    uint32_t rodata_size, data_size;
    const uint8_t *plan;        /**< lpn_plan32; NULL: a core that needs one runs the program in 64-bit registers */
    lpn_func *func;             /**< in the order of their entries; func[0] is the main function */
    uint16_t stack;             /**< bytes of stack it may use: 8 to LPN_STACK_SIZE, a multiple of 8 */
    bool clean32;               /**< runs in 32-bit registers, on cores with 32-bit addresses */
    /** Loads and stores are not checked: lpn_container_certify accepted the image's certificate, or who runs it has proven it himself. */
    bool certified;
    uint8_t funcs;              /**< entries of `func` */
    uint16_t marks;             /**< what a translator and a chain ask: bit n: register n is written or points to memory, n below 10; enum lpn_mark */
} lpn_program;

/** What a program does somewhere. */
enum lpn_mark { LPN_MARK_ATOMIC = 1 << 10, LPN_MARK_HELPER = 1 << 11, LPN_MARK_BACK = 1 << 12 /**< jumps back, or may */,
                LPN_MARK_FAR = 1 << 13 /**< jumps by a constant */ };

/**
 * Check `text` and prepare it to run: known opcodes, reserved fields zero, registers in range, r10 not written,
 * lddw complete, jumps and local calls to an instruction, no way off the end, helpers known.
 *
 * `func`: room for LPN_MAX_FUNCS; program->func of them are used, and stay the program's.
 * `rodata` and `data` stay NULL and 0; set them before the first run when the program has any. `stack` is all there is,
 * `clean32` and `certified` are false.
 * Returns LPN_OK, else what is wrong, at slot `*pc`.
 */
int lpn_load(lpn_program *program, lpn_func *func, const uint8_t *text, size_t size, uint32_t *pc);

/* --------------------------------------------------------------------------------------- vm32_plan.c */

/**
 * Decide once how the interpreter of 32-bit clean programs does each slot of a loaded one (vm32_thumb2.S, for Thumb-2; other cores
 * need none). `certified` is as it will stay. `plan`: program->count bytes, which are to become program->plan. `fuse`: do several
 * instructions at once where they often follow each other.
 */
void lpn_plan32(const lpn_program *program, uint8_t *plan, bool fuse);

/* ------------------------------------------------------------------------------------------ tables.c */

enum lpn_match { LPN_EXACT, LPN_LPM, LPN_TERNARY, LPN_RANGE };
#define LPN_MAX_KEY_FIELDS 8
#define LPN_MAX_KEY_BYTES 64
#define LPN_MAX_ACTION_DATA 256

/** The shape of a table. A key is its fields in order, each big-endian in whole bytes, upper bits 0. */
typedef struct {
    uint8_t fields;
    struct { uint16_t bits; uint8_t match; } field[LPN_MAX_KEY_FIELDS];
    uint16_t action_data;       /**< bytes stored per entry */
    uint16_t capacity;          /**< entries */
} lpn_table_shape;

/** One set of entries, in the order they are tried; `again`: entries behind them that none is tried of (tables.c). */
typedef struct { uint8_t *entries; uint16_t count, again; } lpn_table_set;

/**
 * A table: two sets. Lookups read the active one; changes go to the other, then one pointer is swapped, so a
 * lookup sees the old entries or the new ones, never a mix. A writer may run at any point of a reader, but must
 * not begin a second change while a reader still uses the set of before the last one: change tables in the
 * thread that runs the chains, or between two runs. A table whose program gives it constant entries must keep
 * them: a lookup's proved time is that of those entries.
 */
typedef struct {
    lpn_table_shape shape;
    uint16_t key_size, stride;
    bool exact;                 /**< all fields exact: entries are sorted, looked up by bisection */
    bool by_prefix;             /**< an lpm field and nothing ordered by priority */
    lpn_table_set set[2];
    const lpn_table_set *active;
} lpn_table;

/** Bytes of memory `lpn_table_init` needs for a shape; 0 when the shape is not valid. */
size_t lpn_table_memory(const lpn_table_shape *shape);

/** Make an empty table in `memory`, which stays the table's. */
int lpn_table_init(lpn_table *table, const lpn_table_shape *shape, uint8_t *memory, size_t size);

/** Start a change: the inactive set, emptied, or a copy of the active one. */
lpn_table_set *lpn_table_begin(lpn_table *table, bool copy);

/**
 * Add an entry to a set that `lpn_table_begin` returned.
 *
 * `a`, `b`: key_size bytes each, per field: exact value, -; lpm and ternary value, mask; range low, high.
 * `action` > 0. `data`: shape.action_data bytes. `priority`: lower is tried first (ternary and range); tables
 * with an lpm field and neither of these try the longest total prefix first and ignore it. Among equals the one
 * added first is tried first.
 */
int lpn_table_add(lpn_table *table, lpn_table_set *set, const uint8_t *a, const uint8_t *b, uint16_t action,
                  const uint8_t *data, uint16_t priority);

/** Remove the first entry with this match (and priority, where it has one). */
int lpn_table_remove(lpn_table *table, lpn_table_set *set, const uint8_t *a, const uint8_t *b,
                     uint16_t priority);

/** End a change: lookups from now on see `set`. */
void lpn_table_commit(lpn_table *table, lpn_table_set *set);

/** The action number of the first match and a pointer to its data, or 0 and NULL. `key`: key_size bytes. */
uint32_t lpn_table_lookup(const lpn_table *table, const uint8_t *key, const uint8_t **data);

/* ----------------------------------------------------------------------------------------- buffers.c */

/** A buffer: the caller fills in the shape and gives `lpn_buffer_memory` zeroed bytes, 8-aligned. */
typedef struct {
    uint16_t size;              /**< bytes of an entry, at most LPN_MAX_PACKET */
    uint16_t entries, key_size;
    uint32_t timeout;           /**< microseconds from the first piece on, less than 2**31; 0: none */
    uint8_t *memory;
    uint32_t order;             /**< the engine's own */
} lpn_buffer;

/** All buffers of a bundle, and what the chain that runs has completed. */
typedef struct {
    lpn_buffer *buffer;
    uint32_t count;
    /* the engine's own */
    bool completed;             /**< a hook buffer.complete is to run: take it, then release the content */
    uint32_t index, size;
    uint8_t *content;           /**< `size` bytes, room for LPN_WINDOW behind them */
} lpn_buffers;

/** What helpers of a run see of it. */
typedef struct {
    const uint8_t *packet, *out;
    uint16_t size;              /**< of the packet */
    uint16_t out_size;          /**< of the output, what this run's containers may address: the rest has what older runs left */
    lpn_buffers *buffers;       /**< NULL: there are none, or not in this context */
} lpn_view;

/** What helper buffer_put gives: lang/builtins.py has the names. */
enum lpn_put {
    LPN_PUT_STORED, LPN_PUT_COMPLETE, LPN_PUT_DUPLICATE, LPN_PUT_FULL, LPN_PUT_OVERLAP, LPN_PUT_TOO_LONG,
    LPN_PUT_MISMATCH, LPN_PUT_MISALIGNED
};

enum lpn_buffer_call { LPN_BUFFER_PUT, LPN_BUFFER_HOLD, LPN_BUFFER_TAKE, LPN_BUFFER_DROP };
#define LPN_REQUEST_SIZE 20     /**< offset, size of the whole, bytes of out, first byte and bytes of the packet */

/** Bytes of memory a buffer needs; 0 when its shape is not valid. */
size_t lpn_buffer_memory(const lpn_buffer *buffer);

/** A helper, for engines that check memory themselves: r1 to r5 are r[0] to r[4]. */
int lpn_buffers_call(const lpn_view *view, enum lpn_buffer_call what, const uint64_t *r, uint32_t now,
                     uint32_t *value);

/** The chain of a completed entry has run: the entry is free again. False when the content is none of theirs. */
bool lpn_buffers_release(lpn_buffers *buffers, const uint8_t *content);

/** Drop what has waited too long. Every call of a helper does so, too. */
void lpn_buffer_sweep(lpn_buffer *buffer, uint32_t now);

/* --------------------------------------------------------------------------------------------- env.c */

/** A function of the node that programs declare with `extern`: numbers in, a number out. */
typedef struct {
    const char *name;
    uint16_t args;              /**< how many numbers it takes, at most 5 */
    bool isr;                   /**< interrupts may call it: it neither waits nor shares what the thread may have in hand */
    uint32_t (*call)(void *user, const uint32_t *args);     /**< args: always 5 words */
    void *user;
} lpn_extern;

/** What helpers reach outside the container. */
typedef struct {
    const lpn_table *tables;
    uint32_t table_count;
    uint32_t now;                                           /**< clock_us when `clock` is NULL */
    uint32_t (*clock)(void *user);                          /**< may be NULL */
    void (*trace)(void *user, uint64_t a, uint64_t b);      /**< may be NULL */
    /** Helpers that the interpreter does not do itself: arguments r1.. at r[0].., memory among them checked; sets
     * `*value` (0 before) and returns LPN_OK, or an error. NULL: there are none. */
    int (*call)(void *user, uint32_t helper, const uint64_t *r, uint32_t *value);
    const lpn_extern *externs;                              /**< helper LPN_HELPER_OWN + i is externs[i] */
    uint32_t extern_count;
    void *user;
} lpn_env;

/**
 * Do helper `number`, for engines that check memory themselves: r1 to r5 are r[0] to r[4], the memory that they point
 * to may be read and written. Returns LPN_OK with what goes to r0, or an error.
 */
int lpn_env_call(const lpn_env *env, const lpn_view *view, uint32_t number, const uint64_t *r, uint32_t *value);

/** Of these the helper `lookup`, for who has its arguments by words. Left out with LPN_NO_TABLES. */
int lpn_env_lookup(const lpn_env *env, const uintptr_t *r, uint32_t *action);

/**
 * Bind one function that a bundle asks for: look `name` (`size` bytes, not terminated) up among those a node offers.
 * Returns LPN_OK with the function in `*slot`, which is to become env->externs[its number - LPN_HELPER_OWN], or
 * LPN_E_EXTERN when there is none of that name which takes `args` numbers.
 */
int lpn_extern_bind(lpn_extern *slot, const lpn_extern *offered, uint32_t count, const char *name, size_t size,
                    uint32_t args);

/* ---------------------------------------------------------------------------------------------- vm.c */

enum { LPN_READ = 1, LPN_WRITE = 2 };

/** Memory a program may use. */
typedef struct { uintptr_t start; uint32_t size; uint32_t access; } lpn_region;

/** r6 to r9 of a 32-bit clean program, while a function that it called runs. */
typedef struct {
    uint32_t word[4];
} lpn_four;

/**
 * A run: its memory and its result, about 1.2 KiB. One per thread, reused.
 *
 * The caller fills in region[LPN_FIRST_REGION] to region[regions - 1]; the first ones that allow an access are
 * taken, so put the busiest first. The regions before are the stack, the program's rodata and its data.
 */
typedef struct {
    const lpn_env *env;         /**< may be NULL: no tables, clock 0 */
    lpn_view view;              /**< zeros: no buffers */
    uint32_t fuel;              /**< instructions it may execute; what is left afterwards */
    /* result */
    uint32_t insns;             /**< instructions executed, up to date in helpers; lddw counts as one */
    uint32_t pc;                /**< slot of the instruction that failed */
    uint64_t address;           /**< the address it failed at, for memory errors */
    uint64_t r0;
#if !LPN_CODE_ONLY              /* code looks at no region, and has the stack of the thread; what is small comes first */
    uint32_t regions;           /**< LPN_FIRST_REGION + how many the caller filled in */
    lpn_region region[LPN_MAX_REGIONS];
    /* the engine's own */
    struct { union { uint64_t wide[4]; lpn_four clean; } saved; uint32_t back; uint32_t frame; } call[LPN_MAX_DEPTH - 1];
    uint64_t stack[LPN_STACK_SIZE / 8];
#endif
} lpn_run;

/** Run a loaded program with r1 and r2 set, all other registers 0. Returns LPN_OK with `r0`, or an error. */
int lpn_execute(lpn_run *run, const lpn_program *program, uint64_t r1, uint64_t r2);

/* ------------------------------------------------------------------------------------------- chain.c */

/** The context's layout, profile `lpn`; pointer slots are 64 bits on every host. */
enum lpn_ctx_offset {
    LPN_CTX_PKT = 0, LPN_CTX_PKT_END = 8, LPN_CTX_REC = 16, LPN_CTX_STATE = 24, LPN_CTX_OUT = 32,
    LPN_CTX_OUT_LEN = 40, LPN_CTX_PAYLOAD = 44, LPN_CTX_PORT = 48, LPN_CTX_IFACE = 52, LPN_CTX_RSSI = 56,
    LPN_CTX_LQI = 60, LPN_CTX_TIME = 64, LPN_CTX_NODE_SHORT = 68, LPN_CTX_NODE_EXT = 72,
    LPN_CTX_NODE_PAN = 80, LPN_CTX_CLOCK = 84, LPN_CTX_EVENT = 88, LPN_CTX_CUT = 92
};

enum lpn_verdict { LPN_ACCEPT, LPN_DROP, LPN_DELIVER, LPN_TRANSMIT, LPN_CONSUMED };
/** Drop reasons from here on are the engine's: 0xff00 + enum lpn_error. */
#define LPN_REASON_ENGINE 0xff00u

/** What is known of a packet beside its bytes. */
typedef struct {
    uint32_t port, iface, lqi, time, clock, event;
    int32_t rssi;
    uint64_t node_ext;
    uint16_t node_short, node_pan;
} lpn_meta;

/** Translated code (thumb2.h): called with the context's address; returns r0's lower word. */
typedef struct lpn_native lpn_native;
typedef uint32_t lpn_native_code(void *ctx, lpn_native *native);

/** A container ready to run: interpreted, or `native` if it is set. What its image says is read there. */
typedef struct {
    const uint8_t *image;       /**< its bytes, checked */
    lpn_program program;
    lpn_native_code *native;
    uint8_t refusal;            /**< enum lpn_refusal: why its certificate was refused */
    bool deparses;              /**< it fills the output buffer with what the packet begins with then */
    uint16_t output;            /**< of the output buffer, what it may address: all of it where nothing is proven */
} lpn_container;

/** What a node does about certificates. */
enum lpn_policy {
    LPN_POLICY_TRUST_CHECKER,   /**< accepted: no checks at run time; none: run-time checks; refused: the image is refused */
    LPN_POLICY_REQUIRE,         /**< an image without one is refused, too */
    LPN_POLICY_FALL_BACK        /**< a refused one is as none: run-time checks */
};

/**
 * Check a container's certificate, once after lpn_container_init, as the node's policy wants it. `work`: `size` bytes, 8-aligned,
 * free again afterwards: LPN_CERTIFICATE_WORK (certificate.h) is enough for 512 instructions. Accepted, the container needs no check at run time and
 * may be translated; `*pc` is the most instructions that it takes. Returns LPN_OK, LPN_E_CERTIFICATE with the reason in container->refusal and
 * the slot in `*pc`, or LPN_E_UNCERTIFIED.
 */
int lpn_container_certify(lpn_container *container, enum lpn_policy policy, void *work, size_t size, uint32_t *pc);

/**
 * Check and load an image (`summed`: lpn_image_check). `memory`, 8-aligned and of `*room` bytes, receives 4 bytes for each function of the program
 * and the initial data section; `*room` becomes how many bytes that takes, which stay the container's. They are not enough, or less than the
 * most functions take: LPN_E_MEMORY. The image's bytes stay in use too. On a fault in the code `*pc` says where.
 */
int lpn_container_init(lpn_container *container, const uint8_t *bytes, size_t size, bool summed, uint8_t *memory, size_t *room,
                       uint32_t *pc);

/** Bytes of memory that are enough for the data section and functions of a parsed image. */
size_t lpn_container_room(const lpn_image *image);

/** Bytes of memory that a container's plan needs (vm32_plan.c): 0 where this core runs it without. */
size_t lpn_container_plan_size(const lpn_container *container);

/** Make the plan, once after lpn_container_certify. `memory`: as many bytes, which stay the container's. */
void lpn_container_plan(lpn_container *container, uint8_t *memory);

/** Containers run one after the other over a packet, and the memory they share. */
typedef struct lpn_chain {
    const lpn_container *container[LPN_MAX_CHAIN];
    uint32_t containers;
    uint8_t *record;            /**< record_size bytes, 8-aligned, zeroed for each packet */
    uint8_t *state;             /**< state_size bytes, 8-aligned, kept */
    uint32_t record_size, state_size;
    const lpn_env *env;
    lpn_buffers *buffers;       /**< NULL: there are none; for chains of one thread only */
    uint32_t fuel;              /**< instructions for all containers together */
    uint64_t ctx[LPN_CTX_SIZE / 8];
    uint64_t out[LPN_OUT_SIZE / 8];
    lpn_run run;
} lpn_chain;

/** The end of a chain. */
typedef struct {
    uint16_t verdict, arg;      /**< enum lpn_verdict; reason or port */
    int error;                  /**< LPN_OK, or why the verdict is an engine's DROP */
    uint32_t insns;             /**< executed by all containers */
    uint32_t module, pc;        /**< which container ended the chain; where, if it was interpreted */
    bool rebuilt;               /**< the packet now is out[0..out_len) ++ packet[payload..) */
    uint32_t out_len, payload;
    uint32_t size;              /**< the packet's bytes when the chain ended: fewer if it was truncated */
} lpn_result;

/**
 * Do the containers fit together? Order of kinds, hashes of record and state, sizes against the memory given.
 */
int lpn_chain_fits(const lpn_container *const *container, uint32_t containers, uint32_t record_size,
                   uint32_t state_size);

/** `lpn_chain_fits` and the memory's alignment. Call once after filling in the chain. */
int lpn_chain_check(const lpn_chain *chain);

/**
 * Run a checked chain over a packet of `size` bytes. `packet` has room for LPN_WINDOW bytes more, which are
 * zeroed. DROP, DELIVER and CONSUMED end the chain; TRANSMIT goes on; ACCEPT leaves the verdict so far.
 */
void lpn_chain_run(lpn_chain *chain, uint8_t *packet, uint32_t size, const lpn_meta *meta,
                   lpn_result *result);

/* ------------------------------------------------------------------------------------------- state.c */

/** Registers in memory: rows of the bundle's `kept`, or of what a migration needs. */
typedef struct {
    const uint8_t *rows;
    uint32_t count;
    uint8_t *memory;            /**< 8-aligned */
    uint32_t size;
} lpn_kept;

/**
 * What to do about a register that is not there, or there with another type. NEW: a missing one begins anew, another
 * type is an error. SAME: both begin anew, a migration will see to them. ALL: both are errors.
 */
enum lpn_carry { LPN_CARRY_NEW, LPN_CARRY_SAME, LPN_CARRY_ALL };

/**
 * Copy registers of one version to the places they have in another: those of the same name and type.
 * Returns LPN_OK, or LPN_E_STATE or LPN_E_MEMORY with the row of `to` in `*at`; some may have been copied then.
 */
int lpn_state_carry(const lpn_kept *to, const lpn_kept *from, enum lpn_carry mode, uint32_t *at);

/**
 * Run a migration's container once: it gets `needs` filled from the old registers, and `chain->state` is the new state.
 * Only state, fuel, ctx, out and run of `chain` are used. On an error `*at` is a row of `needs`, or the instruction.
 */
int lpn_state_migrate(lpn_chain *chain, const lpn_container *container, const lpn_kept *needs, const lpn_kept *from,
                      uint32_t *at);

#endif
