/* SPDX-License-Identifier: LGPL-2.1-only */
/* Random changes of texts and certificates: mutate CORPUS PAIRS SEED [FOLDER]. What the checker accepts runs in the instrumented interpreter
 * (runtime/instrumented), which shares no code with the engine: a fault it sees, more instructions than claimed, a number of more than 32 bits
 * are violations; the pair is written to FOLDER. Built by tests/verifier/mutants.py, with sanitizers.
 *
 * A corpus is a row of pairs: u32 bytes of text, of certificate, of rodata, data, record, state, stack, then text and certificate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "certificate.h"
#include "lpn.h"
#include "lpn_context.h"
#include "lpn_helpers.h"
#include "machine.h"

#define MAX_PAIRS 512
#define RUNS 4
static struct pair { uint32_t text_size, cert_size, sizes[6]; uint8_t *text, *cert; } corpus[MAX_PAIRS];
static uint32_t pairs;
static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed >> 16) % below);
}

static void change_bytes(uint8_t *bytes, uint32_t *size, uint32_t most)
{
    for (uint32_t n = 1 + any(3); n > 0 && *size > 0; n--) {
        const uint32_t at = any(*size);
        switch (any(7)) {
        case 0: bytes[at] ^= (uint8_t)(1u << any(8)); break;
        case 1: bytes[at] = (uint8_t)any(256); break;
        case 2: bytes[at] = (uint8_t)(bytes[at] + 1); break;
        case 3: bytes[at] = (uint8_t)(bytes[at] - 1); break;
        case 4: bytes[at] = bytes[any(*size)]; break;
        case 5:
            memmove(bytes + at, bytes + at + 1, *size - at - 1);
            --*size;
            break;
        default:
            if (*size < most) {
                memmove(bytes + at + 1, bytes + at, *size - at);
                bytes[at] = (uint8_t)any(256);
                ++*size;
            }
        }
    }
}

/* An instruction from elsewhere, another register, another operation, a little more or less of a constant. */
static void change_text(uint8_t *text, uint32_t size)
{
    for (uint32_t n = 1 + any(2); n > 0; n--) {
        uint8_t *const at = text + 8 * any(size / 8);
        const struct pair *other = &corpus[any(pairs)];
        switch (any(8)) {
        case 0: memcpy(at, other->text + 8 * any(other->text_size / 8), 8); break;
        case 1: memcpy(at, text + 8 * any(size / 8), 8); break;
        case 2: at[1] = (uint8_t)((at[1] & 0xf0) | any(11)); break;
        case 3: at[1] = (uint8_t)((at[1] & 0x0f) | any(11) << 4); break;
        case 4: at[0] = other->text[8 * any(other->text_size / 8)]; break;
        case 5: at[2 + any(6)] = (uint8_t)any(256); break;
        case 6: at[any(2) ? 2 : 4] = (uint8_t)(at[any(2) ? 2 : 4] + any(9) - 4); break;
        default: at[any(8)] ^= (uint8_t)(1u << any(8));
        }
    }
}

/* The container as the instrumented interpreter wants it: no claims but the cost. */
static it_program program = { .max_packet = LPN_MAX_PACKET, .window = LPN_WINDOW, .stack = LPN_STACK_SIZE, .align8 = 4, .ctx_size = 96, .packet_write = 1 };
static it_region regions[IT_REGIONS];
enum { PKT = IT_PKT, REC = 2, STATE, OUT, RODATA, DATA, NUMBER = IT_REGIONS };
static const it_field fields[] = {
#define FIELD(off, width, name, kind, writable, max) \
    { off, width, (kind) == NUMBER ? 0 : (max) == 1 ? 2 : 1, (kind) % IT_REGIONS, writable, 0, (kind) == NUMBER ? (max) : 0 },
    LPN_CONTEXT(FIELD)
#undef FIELD
};
static const uint8_t args[] = { [LPN_ARG_NONE] = IT_ARG_NONE, [LPN_ARG_SCALAR] = IT_ARG_SCALAR, [LPN_ARG_CONST] = IT_ARG_CONST,
                                [LPN_ARG_MEM_READ] = IT_ARG_READ, [LPN_ARG_MEM_WRITE] = IT_ARG_WRITE };
static const uint8_t helper_args[][6] = {
#define HELPER(n, name, a, b, c, d, e) { n, a, b, c, d, e },
    LPN_HELPERS(HELPER)
#undef HELPER
};
#define HELPERS (sizeof helper_args / sizeof *helper_args)
static it_helper helpers[HELPERS];
static uint64_t words[64];

static void describe(void)
{
    for (uint32_t i = 0; i < IT_REGIONS; i++) {
        regions[i] = (it_region){ 0, i == RODATA || i == DATA ? 4 : 8, 1, i != RODATA, i <= DATA, { 0 } };
    }
    for (uint32_t i = 0; i < HELPERS; i++) {
        helpers[i].number = helper_args[i][0];
        helpers[i].ret = 1;
        for (uint32_t r = 0; r < 5; r++) {
            helpers[i].args[r] = args[helper_args[i][r + 1]];
        }
    }
    program.regions = regions, program.fields = fields, program.helpers = helpers, program.words = words;
    program.n_fields = sizeof fields / sizeof *fields, program.n_helpers = HELPERS;
}

/* 0, or why not. */
static const char *run(it_machine *m, const struct pair *p, const uint8_t *text, uint32_t size, uint32_t most)
{
    it_result result;
    regions[RODATA].size = p->sizes[0], regions[DATA].size = p->sizes[1], regions[REC].size = p->sizes[2], regions[STATE].size = p->sizes[3];
    regions[OUT].size = p->sizes[5];
    program.text = text, program.slots = size / 8, program.max_insns = most;
    program.n_words = 0;
    for (uint32_t i = 0; i < size / 8 && program.n_words < 64; i++) {
        if ((text[8 * i] & 7) >= 4) {
            words[program.n_words++] = lpn_get32(text + 8 * i + 4);
        }
    }
    if (it_batch(m, &program, ((uint64_t)any(UINT32_MAX) << 32) + any(UINT32_MAX), RUNS, &result)) {
        return it_fault_name(result.fault);
    }
    return it_run(m, &program, any(UINT32_MAX), any(UINT32_MAX), &result) == 0 && !result.clean32 ? "a number of more than 32 bits" : NULL;
}

static void keep(const char *folder, const char *name, const uint8_t *bytes, uint32_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (f != NULL) {
        fwrite(bytes, 1, size, f);
        fclose(f);
    }
}

int main(int argc, char **argv)
{
    FILE *f = argc >= 4 ? fopen(argv[1], "rb") : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: mutate CORPUS PAIRS SEED [FOLDER]\n");
        return 2;
    }
    uint32_t head[8];
    while (pairs < MAX_PAIRS && fread(head, sizeof head, 1, f) == 1) {
        struct pair *p = &corpus[pairs++];
        p->text_size = head[0], p->cert_size = head[1];
        memcpy(p->sizes, head + 2, sizeof p->sizes);
        p->text = malloc(head[0]), p->cert = malloc(head[1]);
        if (fread(p->text, 1, head[0], f) != head[0] || fread(p->cert, 1, head[1], f) != head[1]) {
            return 2;
        }
    }
    fclose(f);
    const uint64_t wanted = strtoull(argv[2], NULL, 0);
    seed = strtoull(argv[3], NULL, 0) * 0x9e3779b97f4a7c15ull | 1;
    describe();
    it_machine *const machine = it_new();
    static uint64_t work[1024];
    uint64_t loaded = 0, accepted = 0, changed = 0;
    for (uint64_t n = 0; n < wanted; n++) {
        const struct pair *p = &corpus[any(pairs)];
        uint32_t text_size = p->text_size, cert_size = p->cert_size, pc, most;
        /* Each on its own and exactly so large: a sanitizer sees every byte read behind the end. */
        uint8_t *text = malloc(text_size), *room = malloc(cert_size + 8);
        memcpy(text, p->text, text_size), memcpy(room, p->cert, cert_size);
        const uint32_t which = any(4);
        if (which != 1) {
            change_bytes(room, &cert_size, cert_size + 8);
        }
        if (which != 0) {
            change_text(text, text_size);
        }
        uint8_t *cert = malloc(cert_size);
        memcpy(cert, room, cert_size);
        lpn_program program_of;
        lpn_func func[LPN_MAX_FUNCS];
        if (lpn_load(&program_of, func, text, text_size, &pc) == LPN_OK) {
            loaded++;
            const lpn_image image = { .text = text, .text_size = text_size, .certificate = cert, .certificate_size = cert_size,
                                      .rodata_size = p->sizes[0], .data_size = p->sizes[1], .record_size = (uint16_t)p->sizes[2],
                                      .state_size = (uint16_t)p->sizes[3], .stack_used = (uint16_t)p->sizes[4], .out_size = (uint16_t)p->sizes[5] };
            if (lpn_certificate_check(&image, work, sizeof work, &most) == LPN_REFUSE_NOTHING) {
                accepted++;
                changed += memcmp(text, p->text, text_size) != 0;
                const char *why = run(machine, p, text, text_size, most);
                if (why != NULL) {
                    printf("violation: pair %ld, change %llu: %s\n", (long)(p - corpus), (unsigned long long)n, why);
                    if (argc > 4) {
                        keep(argv[4], "text", text, text_size);
                        keep(argv[4], "certificate", cert, cert_size);
                    }
                    return 1;
                }
            }
        }
        free(text), free(room), free(cert);
    }
    it_free(machine);
    printf("%llu pairs, %llu loaded, %llu accepted, %llu of them with a changed text, %llu runs, no violation\n", (unsigned long long)wanted,
           (unsigned long long)loaded, (unsigned long long)accepted, (unsigned long long)changed, (unsigned long long)accepted * (RUNS + 2));
    return 0;
}
