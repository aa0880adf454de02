/* SPDX-License-Identifier: LGPL-2.1-only */
/* A packet's way through a chain of containers. */
#include "bytes.h"
#include "certificate.h"
#include "lpn.h"
#include "thumb2.h"
#include "vm.h"

/* The functions, then the data section: 8-aligned. */
#define MOST_FUNCS (LPN_MAX_FUNCS * sizeof(lpn_func))

size_t lpn_container_room(const lpn_image *image)
{
    return MOST_FUNCS + image->data_size;
}

int lpn_container_init(lpn_container *container, const uint8_t *bytes, size_t size, bool summed, uint8_t *memory, size_t *room,
                       uint32_t *pc)
{
    const size_t given = *room;
    lpn_program *const program = &container->program;
    *pc = 0;
    int error = lpn_image_check(bytes, size, summed);
    if (error != LPN_OK) {
        return error;
    }
    lpn_image image;
    lpn_image_view(&image, bytes);
    *room = MOST_FUNCS;
    if (given < MOST_FUNCS) {
        return LPN_E_MEMORY;
    }
    error = lpn_load(program, (lpn_func *)(void *)memory, image.text, image.text_size, pc);
    if (error != LPN_OK) {
        return error;
    }
    const size_t at = (program->funcs * sizeof(lpn_func) + 7) & ~(size_t)7;
    *room = at + image.data_size;
    if (*room > given) {
        return LPN_E_MEMORY;
    }
    for (uint32_t i = 0; i < image.data_size; i++) {            /* smaller than lpn_copy, which is for packets */
        memory[at + i] = image.data[i];
    }
    program->rodata = image.rodata;
    program->rodata_size = image.rodata_size;
    program->data = memory + at;
    program->data_size = image.data_size;
    program->clean32 = (image.flags & LPN_FLAG_CLEAN32) != 0;
    if (image.stack_used != 0) {        /* 0: nobody has looked */
        program->stack = (uint16_t)((image.stack_used + 7u) & ~7u);
    }
    container->image = bytes;
    container->native = NULL;
    container->refusal = LPN_REFUSE_NOTHING;
    container->output = LPN_OUT_SIZE;
    container->deparses = image.kind == LPN_DEPARSER || (image.flags & LPN_FLAG_DEPARSES) != 0;
    return LPN_OK;
}

int lpn_container_certify(lpn_container *container, enum lpn_policy policy, void *work, size_t size, uint32_t *pc)
{
    *pc = 0;
    if ((container->image[LPN_IMAGE_FLAGS] & LPN_FLAG_CERTIFIED) == 0) {
        return policy == LPN_POLICY_REQUIRE ? LPN_E_UNCERTIFIED : LPN_OK;
    }
    lpn_image image;
    lpn_image_view(&image, container->image);
    container->refusal = (uint8_t)lpn_certificate_check(&image, work, size, pc);
    if (container->refusal == LPN_REFUSE_NOTHING) {
        container->program.clean32 = true;
        lpn_container_trust(container);
        return LPN_OK;
    }
    return policy == LPN_POLICY_FALL_BACK ? LPN_OK : LPN_E_CERTIFICATE;
}

size_t lpn_container_plan_size(const lpn_container *container)
{
    const lpn_program *program = &container->program;
    return LPN_PLANNED && program->clean32 && (program->certified || !LPN_CERTIFIED_ONLY) ? program->count : 0;
}

void lpn_container_plan(lpn_container *container, uint8_t *memory)
{
    if (lpn_container_plan_size(container) != 0) {
        lpn_plan32(&container->program, memory, true);
        container->program.plan = memory;
    }
}

int lpn_chain_fits(const lpn_container *const *container, uint32_t containers, uint32_t record_size,
                   uint32_t state_size)
{
    if (containers == 0 || containers > LPN_MAX_CHAIN) {
        return LPN_E_CHAIN;
    }
    const uint8_t *const first = container[0]->image;
    for (uint32_t i = 0; i < containers; i++) {
        const uint8_t *const image = container[i]->image;
        const unsigned kind = image[LPN_IMAGE_KIND];
        if ((kind == LPN_PARSER && i != 0) || (kind == LPN_DEPARSER && i + 1 != containers)
            || (kind > LPN_DEPARSER && (containers != 1 || kind == LPN_MIGRATION))) {       /* alone: timing, fused */
            return LPN_E_CHAIN;
        }
        if (lpn_get32(image + LPN_IMAGE_RECORD_HASH) != lpn_get32(first + LPN_IMAGE_RECORD_HASH)
            || lpn_get32(image + LPN_IMAGE_STATE_HASH) != lpn_get32(first + LPN_IMAGE_STATE_HASH)) {
            return LPN_E_HASH;
        }
        if (lpn_get16(image + LPN_IMAGE_RECORD_SIZE) > record_size || lpn_get16(image + LPN_IMAGE_STATE_SIZE) > state_size) {
            return LPN_E_MEMORY;
        }
    }
    return LPN_OK;
}

int lpn_chain_check(const lpn_chain *chain)
{
    if (((lpn_address(chain->record) | lpn_address(chain->state)) & 7) != 0) {
        return LPN_E_MEMORY;
    }
    return lpn_chain_fits(chain->container, chain->containers, chain->record_size, chain->state_size);
}

/* What every container of the chain sees: the context. */
INLINE void set_up(lpn_chain *chain, const uint8_t *packet, uint32_t size, const lpn_meta *meta)
{
    lpn_run *run = &chain->run;
    run->env = chain->env;
    run->view.packet = packet;
    run->view.out = (const uint8_t *)chain->out;
    run->view.size = (uint16_t)size;
    run->view.out_size = 0;
    run->view.buffers = chain->buffers;
    if (chain->buffers != NULL) {
        chain->buffers->completed = false;
    }
#if !LPN_CODE_ONLY
    run->regions = 0;
#endif
    run->fuel = chain->fuel;
    run->insns = 0;

    uint8_t *ctx = (uint8_t *)chain->ctx;
    LPN_HIDE(ctx);                  /* or gcc counts from the chain: wider instructions */
    lpn_put64(ctx + LPN_CTX_PKT, lpn_address(packet));
    lpn_put64(ctx + LPN_CTX_PKT_END, lpn_address(packet + size));
    lpn_put64(ctx + LPN_CTX_REC, lpn_address(chain->record));
    lpn_put64(ctx + LPN_CTX_STATE, lpn_address(chain->state));
    lpn_put64(ctx + LPN_CTX_OUT, lpn_address(chain->out));
    lpn_put32(ctx + LPN_CTX_OUT_LEN, 0);
    lpn_put32(ctx + LPN_CTX_PAYLOAD, 0);
    lpn_put32(ctx + LPN_CTX_PORT, meta->port);
    lpn_put32(ctx + LPN_CTX_IFACE, meta->iface);
    lpn_put32(ctx + LPN_CTX_RSSI, (uint32_t)meta->rssi);
    lpn_put32(ctx + LPN_CTX_LQI, meta->lqi);
    lpn_put32(ctx + LPN_CTX_TIME, meta->time);
    lpn_put32(ctx + LPN_CTX_NODE_SHORT, meta->node_short);
    lpn_put64(ctx + LPN_CTX_NODE_EXT, meta->node_ext);
    lpn_put32(ctx + LPN_CTX_NODE_PAN, meta->node_pan);
    lpn_put32(ctx + LPN_CTX_CLOCK, meta->clock);
    lpn_put32(ctx + LPN_CTX_EVENT, meta->event);
    lpn_put32(ctx + LPN_CTX_CUT, 0);
}

/* The window behind a packet, wherever that ends: aligned words, and one at either end that need not be. */
INLINE void clear_window(uint8_t *window)
{
    lpn_put32(window, 0);
    lpn_put32(window + LPN_WINDOW - 4, 0);
    window = (uint8_t *)(((uintptr_t)window + 4) & ~(uintptr_t)3);
    lpn_zero16(window);
    lpn_zero16(window + 16);
    lpn_zero16(window + 32);
    lpn_zero12(window + 48);
}

/* The output's first `size` bytes are what this run wrote, or 0. */
static void clear_output(lpn_run *run, uint32_t size)
{
    const uint32_t clear = run->view.out_size;
    if (size > clear) {
        run->view.out_size = (uint16_t)size;
        lpn_zero((uint8_t *)run->view.out + clear, size - clear);
    }
}

#if !LPN_CODE_ONLY
/* The memory that the context points to, for the interpreter: translated code never looks there. */
void lpn_map_memory(lpn_chain *chain, lpn_run *run, const uint8_t *record, uint32_t record_size)
{
    lpn_region *first = &run->region[LPN_FIRST_REGION];
    LPN_HIDE(first);                /* as above */
    lpn_region *g = first;
    const uintptr_t pkt = (uintptr_t)run->view.packet, ctx = (uintptr_t)chain->ctx;
    *g++ = (lpn_region){ pkt, run->view.size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ (uintptr_t)record, record_size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ ctx, LPN_CTX_SIZE, LPN_READ };
    *g++ = (lpn_region){ (uintptr_t)chain->state, chain->state_size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ (uintptr_t)chain->out, LPN_OUT_SIZE, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ ctx + LPN_CTX_OUT_LEN, LPN_CTX_IFACE - LPN_CTX_OUT_LEN, LPN_WRITE };
    *g++ = (lpn_region){ ctx + LPN_CTX_CUT, 4, LPN_WRITE };
    *g++ = (lpn_region){ pkt, run->view.size + LPN_WINDOW, LPN_READ };     /* the packet again, and the window behind it */
    run->regions = LPN_FIRST_REGION + (uint32_t)(g - first);
}
#endif

/* The packet ends sooner, if the container said so (`payload.truncate`); the bytes behind stay readable. */
static bool cut(lpn_chain *chain, lpn_run *run, lpn_result *result)
{
    uint8_t *ctx = (uint8_t *)chain->ctx;
    const uint32_t octets = lpn_get32(ctx + LPN_CTX_CUT), payload = lpn_get32(ctx + LPN_CTX_PAYLOAD);
    if (octets == 0) {
        return true;
    }
    const uint32_t size = result->size;
    if (payload > size || octets > size - payload) {
        return false;
    }
    result->size = size - octets;
    lpn_put32(ctx + LPN_CTX_CUT, 0);
    lpn_put64(ctx + LPN_CTX_PKT_END, lpn_address(run->view.packet + size - octets));
    return true;
}

/* What leaves the node is what the container wrote, and the packet's payload. */
static bool rebuild(const lpn_chain *chain, const lpn_run *run, lpn_result *result)
{
    const uint8_t *ctx = (const uint8_t *)chain->ctx;
    const uint32_t out_len = lpn_get32(ctx + LPN_CTX_OUT_LEN), payload = lpn_get32(ctx + LPN_CTX_PAYLOAD);
    result->rebuilt = true;
    result->out_len = out_len;
    result->payload = payload;
    return out_len <= run->view.out_size && payload <= result->size && out_len + (result->size - payload) <= LPN_MAX_PACKET;
}

/* One container over the packet; the verdict word in `*r0`. */
static int execute(lpn_chain *chain, lpn_run *run, const lpn_container *container, lpn_native_frame *frame, uint32_t *r0, lpn_result *result)
{
    if (container->native != NULL) {
        if ((container->program.marks & (LPN_MARK_HELPER | LPN_MARK_ATOMIC)) != 0 || !container->program.clean32) {
            if (frame->view == NULL) {
                lpn_native_begin(frame, chain->env, &run->view);
            }
            frame->native.upper = NULL;
        }
        *r0 = container->native(chain->ctx, &frame->native);
        return frame->error;
    }
#if LPN_CODE_ONLY
    (void)result;
    return LPN_E_LEFT_OUT;
#else
    if (run->regions == 0 && !(container->program.certified && lpn_narrow(&container->program))) {
        lpn_map_memory(chain, run, chain->record, chain->record_size);
    }
    const int error = lpn_execute(run, &container->program, lpn_address(chain->ctx), 0);
    *r0 = (uint32_t)run->r0;
    result->pc = run->pc;           /* where, if it failed */
    result->insns += run->insns;
    run->insns = 0;
    return error;
#endif
}

/* One container after the other until one ends the chain. LPN_OK, or the error of `result->module`. */
static int run_all(lpn_chain *chain, lpn_run *run, lpn_result *result)
{
    lpn_native_frame frame;         /* no more of it is set before a container needs it */
    frame.view = NULL;
    frame.error = LPN_OK;
    for (uint32_t i = 0; i < chain->containers; i++) {
        const lpn_container *container = chain->container[i];
        result->module = i;
        clear_output(run, container->output);
        uint32_t r0 = 0;
        const int error = execute(chain, run, container, &frame, &r0, result);
        const uint32_t verdict = r0 & 0xffff;
        if (error != LPN_OK) {
            return error;
        }
        if (verdict > LPN_CONSUMED) {
            return LPN_E_VERDICT;
        }
        if (!cut(chain, run, result)) {
            return LPN_E_REBUILD;
        }
        if (verdict != LPN_ACCEPT) {
            result->verdict = (uint16_t)verdict;
            result->arg = (uint16_t)(r0 >> 16);
            if (verdict != LPN_TRANSMIT) {
                break;
            }
        }
        if (container->deparses && !rebuild(chain, run, result)) {
            return LPN_E_REBUILD;
        }
    }
    return LPN_OK;
}

void lpn_chain_run(lpn_chain *chain, uint8_t *packet, uint32_t size, const lpn_meta *meta,
                   lpn_result *result)
{
    result->verdict = LPN_ACCEPT;
    result->arg = 0;
    result->error = LPN_OK;
    result->insns = result->module = result->pc = 0;
    result->rebuilt = false;
    result->out_len = result->payload = 0;
    result->size = size;
    lpn_run *run = &chain->run;
    LPN_HIDE(run);                  /* or gcc counts from the chain: wider instructions */
    int error = LPN_E_PACKET;
    if (size <= LPN_MAX_PACKET) {
        clear_window(packet + size);
        if (chain->record_size != 0) {
            lpn_zero(chain->record, chain->record_size);
        }
        set_up(chain, packet, size, meta);
        error = run_all(chain, run, result);
    }
    if (error != LPN_OK) {          /* a verdict of the engine's own */
        result->verdict = LPN_DROP;
        result->arg = (uint16_t)(LPN_REASON_ENGINE + (unsigned)error);
        result->error = error;
        result->rebuilt = false;
    }
}
