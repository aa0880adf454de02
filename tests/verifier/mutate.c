/* SPDX-License-Identifier: LGPL-2.1-only */
/* Random changes of texts and certificates: mutate CORPUS PAIRS SEED. What the checker accepts runs in the interpreter that checks
 * everything; a fault of memory, or more instructions than claimed, is a violation. Built by tests/test_certificate_mutants.py, with sanitizers.
 *
 * A corpus is a row of pairs: u32 bytes of text, of certificate, of rodata, data, record, state, stack, then text and certificate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "certificate.h"
#include "lpn.h"

#define MAX_PAIRS 512
#define MAX_BYTES 70000
static struct pair { uint32_t text_size, cert_size, sizes[5]; uint8_t *text, *cert; } corpus[MAX_PAIRS];
static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed >> 16) % below);
}

static void change(uint8_t *bytes, uint32_t *size, uint32_t most, bool resize)
{
    for (uint32_t n = 1 + any(3); n > 0 && *size > 0; n--) {
        const uint32_t at = any(*size);
        switch (any(resize ? 7 : 5)) {
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

int main(int argc, char **argv)
{
    FILE *f = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: mutate CORPUS PAIRS SEED\n");
        return 2;
    }
    uint32_t pairs = 0, head[7];
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
    static uint64_t work[512], record[0x2000], state[0x2000];
    static uint8_t packet[LPN_MAX_PACKET + LPN_WINDOW], data[0x10000];
    static lpn_chain chain;
    uint64_t loaded = 0, accepted = 0, changed = 0, runs = 0;
    for (uint64_t n = 0; n < wanted; n++) {
        const struct pair *p = &corpus[any(pairs)];
        uint32_t text_size = p->text_size, cert_size = p->cert_size;
        /* Each on its own and exactly so large: a sanitizer sees every byte read behind the end. */
        uint8_t *text = malloc(text_size), *room = malloc(cert_size + 8);
        memcpy(text, p->text, text_size), memcpy(room, p->cert, cert_size);
        const uint32_t which = any(4);
        if (which != 1) {
            change(room, &cert_size, cert_size + 8, true);
        }
        if (which != 0) {
            change(text, &text_size, text_size, false);
        }
        uint8_t *cert = malloc(cert_size);
        memcpy(cert, room, cert_size);
        lpn_container container = { .image = { .text = text, .text_size = text_size, .certificate = cert, .certificate_size = cert_size,
                                               .rodata = data, .rodata_size = p->sizes[0], .data_size = p->sizes[1],
                                               .record_size = (uint16_t)p->sizes[2], .state_size = (uint16_t)p->sizes[3],
                                               .stack_used = (uint16_t)p->sizes[4], .kind = LPN_TIMING } };
        uint32_t pc, most;
        if (lpn_load(&container.program, text, text_size, &pc) == LPN_OK) {
            loaded++;
            if (lpn_certificate_check(&container.image, work, sizeof work, &most) == LPN_REFUSE_NOTHING) {
                accepted++;
                changed += memcmp(text, p->text, text_size) != 0;
                container.program.rodata = data, container.program.rodata_size = p->sizes[0];
                container.program.data = data + 0x8000, container.program.data_size = p->sizes[1];
                container.program.stack = (uint16_t)(p->sizes[4] < 8 ? 8 : (p->sizes[4] + 7) & ~7u);
                const lpn_env env = { 0 };
                chain.container[0] = &container, chain.containers = 1, chain.env = &env;
                chain.record = (uint8_t *)record, chain.state = (uint8_t *)state;
                chain.record_size = p->sizes[2], chain.state_size = p->sizes[3];
                for (unsigned k = 0; k < 4; k++, runs++) {
                    lpn_result result;
                    const lpn_meta meta = { .iface = any(4) ? any(64) : any(UINT32_MAX), .port = any(UINT32_MAX), .rssi = (int32_t)any(UINT32_MAX),
                                            .lqi = any(256), .time = any(UINT32_MAX), .node_short = (uint16_t)any(65536), .event = any(3) };
                    const uint32_t size = any(4) ? any(130) : any(LPN_MAX_PACKET + 1);
                    for (uint32_t i = 0; i < size; i += 4) {
                        lpn_put32(packet + i, any(3) ? any(UINT32_MAX) : any(8));
                    }
                    chain.fuel = most;
                    lpn_chain_run(&chain, packet, size, &meta, &result);
                    if (result.error == LPN_E_LOAD || result.error == LPN_E_STORE || result.error == LPN_E_HELPER_MEM
                        || result.error == LPN_E_FUEL || result.error == LPN_E_OPCODE || result.error == LPN_E_STACK) {
                        printf("violation: pair %ld, change %llu: %s at slot %u\n", (long)(p - corpus), (unsigned long long)n,
                               lpn_error_name(result.error), result.pc);
                        return 1;
                    }
                }
            }
        }
        free(text), free(room), free(cert);
    }
    printf("%llu pairs, %llu loaded, %llu accepted, %llu of them with a changed text, %llu runs, no violation\n", (unsigned long long)wanted,
           (unsigned long long)loaded, (unsigned long long)accepted, (unsigned long long)changed, (unsigned long long)runs);
    return 0;
}
