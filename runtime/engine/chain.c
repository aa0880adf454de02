/* SPDX-License-Identifier: LGPL-2.1-only */
/* A packet's way through a chain of containers. */
#include "bytes.h"
#include "certificate.h"
#include "lpn.h"
#include "thumb2.h"
#include "vm.h"

/* The functions lie behind the data section. */
static size_t functions_at(const lpn_image *image)
{
    return ((size_t)image->data_size + 3) & ~(size_t)3;
}

size_t lpn_container_room(const lpn_image *image)
{
    return functions_at(image) + LPN_MAX_FUNCS * sizeof(lpn_func);
}

int lpn_container_init(lpn_container *container, const uint8_t *bytes, size_t size, bool summed, uint8_t *memory, size_t *room,
                       uint32_t *pc)
{
    lpn_image image;
    lpn_func func[LPN_MAX_FUNCS];
    lpn_program *const program = &container->program;
    *pc = 0;
    int error = lpn_image_check(bytes, size, summed);
    if (error == LPN_OK) {
        lpn_image_view(&image, bytes);
        error = lpn_load(program, func, image.text, image.text_size, pc);
    }
    if (error != LPN_OK) {
        return error;
    }
    const size_t given = *room, at = functions_at(&image);
    *room = at + program->funcs * sizeof *func;
    if (*room > given) {
        return LPN_E_MEMORY;
    }
    lpn_copy(memory, image.data, image.data_size);
    program->func = (lpn_func *)(void *)(memory + at);
    for (uint32_t i = 0; i < program->funcs; i++) {
        program->func[i] = func[i];
    }
    program->rodata = image.rodata;
    program->rodata_size = image.rodata_size;
    program->data = memory;
    program->data_size = image.data_size;
    program->clean32 = (image.flags & LPN_FLAG_CLEAN32) != 0;
    if (image.stack_used != 0) {        /* 0: nobody has looked */
        program->stack = (uint16_t)((image.stack_used + 7u) & ~7u);
    }
    container->image = bytes;
    container->native = NULL;
    container->refusal = LPN_REFUSE_NOTHING;
    return LPN_OK;
}

int lpn_container_certify(lpn_container *container, enum lpn_policy policy, void *work, size_t size, uint32_t *pc)
{
    lpn_image image;
    lpn_image_view(&image, container->image);
    *pc = 0;
    if ((image.flags & LPN_FLAG_CERTIFIED) == 0) {
        return policy == LPN_POLICY_REQUIRE ? LPN_E_UNCERTIFIED : LPN_OK;
    }
    container->refusal = (uint8_t)lpn_certificate_check(&image, work, size, pc);
    if (container->refusal == LPN_REFUSE_NOTHING) {
        container->program.certified = container->program.clean32 = true;
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

/* Does the container fill `out`? */
static bool deparses(const uint8_t *image)
{
    return image[LPN_IMAGE_KIND] == LPN_DEPARSER || (image[LPN_IMAGE_FLAGS] & LPN_FLAG_DEPARSES) != 0;
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
        bool head = i == 0, last = i + 1 == containers;
        if (kind == LPN_MIGRATION || (kind == LPN_PARSER && !head) || (kind == LPN_DEPARSER && !last)
            || ((kind == LPN_FUSED || kind == LPN_TIMING) && !(head && last))) {
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
static void set_up(lpn_chain *chain, const uint8_t *packet, uint32_t size, const lpn_meta *meta)
{
    uint8_t *ctx = (uint8_t *)chain->ctx;
    const uint64_t pkt = lpn_address(packet);
    lpn_put64(ctx + LPN_CTX_PKT, pkt);
    lpn_put64(ctx + LPN_CTX_PKT_END, pkt + size);
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

    lpn_run *run = &chain->run;
    run->env = chain->env;
    run->view.packet = packet;
    run->view.out = (const uint8_t *)chain->out;
    run->view.size = size;
    run->view.buffers = chain->buffers;
    if (chain->buffers != NULL) {
        chain->buffers->completed = false;
    }
    run->fuel = chain->fuel;
    run->insns = 0;
#if !LPN_CODE_ONLY
    run->regions = 0;
#endif
}

#if !LPN_CODE_ONLY
/* The memory that the context points to, for the interpreter: translated code never looks there. */
static void map_memory(lpn_chain *chain)
{
    lpn_run *run = &chain->run;
    lpn_region *g = &run->region[LPN_FIRST_REGION];
    const uintptr_t pkt = (uintptr_t)run->view.packet, ctx = (uintptr_t)chain->ctx;
    *g++ = (lpn_region){ pkt, run->view.size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ (uintptr_t)chain->record, chain->record_size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ ctx, LPN_CTX_SIZE, LPN_READ };
    *g++ = (lpn_region){ (uintptr_t)chain->state, chain->state_size, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ (uintptr_t)chain->out, LPN_OUT_SIZE, LPN_READ | LPN_WRITE };
    *g++ = (lpn_region){ ctx + LPN_CTX_OUT_LEN, LPN_CTX_IFACE - LPN_CTX_OUT_LEN, LPN_WRITE };
    *g++ = (lpn_region){ ctx + LPN_CTX_CUT, 4, LPN_WRITE };
    *g++ = (lpn_region){ pkt, run->view.size + LPN_WINDOW, LPN_READ };     /* the packet again, and the window behind it */
    run->regions = (uint32_t)(g - run->region);
}
#endif

/* The packet ends sooner, if the container said so (`payload.truncate`); the bytes behind stay readable. */
static bool cut(lpn_chain *chain, uint32_t *size)
{
    uint8_t *ctx = (uint8_t *)chain->ctx;
    const uint32_t octets = lpn_get32(ctx + LPN_CTX_CUT), payload = lpn_get32(ctx + LPN_CTX_PAYLOAD);
    if (octets == 0) {
        return true;
    }
    if (payload > *size || octets > *size - payload) {
        return false;
    }
    *size -= octets;
    lpn_put32(ctx + LPN_CTX_CUT, 0);
    lpn_put64(ctx + LPN_CTX_PKT_END, lpn_get64(ctx + LPN_CTX_PKT_END) - octets);
    return true;
}

/* The chain ends here, with a verdict of the engine's own. */
static void fault(lpn_result *result, int error)
{
    result->verdict = LPN_DROP;
    result->arg = (uint16_t)(LPN_REASON_ENGINE + (unsigned)error);
    result->error = error;
    result->rebuilt = false;
}

/* One container over the packet. The verdict word is in the run's r0. */
static int execute(lpn_chain *chain, const lpn_container *container, lpn_native_frame *frame)
{
    lpn_run *run = &chain->run;
    if (container->native == NULL) {
#if LPN_CODE_ONLY
        return LPN_E_LEFT_OUT;
#else
        if (run->regions == 0) {
            map_memory(chain);
        }
        return lpn_execute(run, &container->program, lpn_address(chain->ctx), 0);
#endif
    }
    if (frame->view == NULL) {
        lpn_native_begin(frame, chain->env, &run->view);
    }
    frame->native.upper = NULL;
    run->pc = 0;
    run->r0 = container->native(chain->ctx, &frame->native);
    return frame->error;
}

void lpn_chain_run(lpn_chain *chain, uint8_t *packet, uint32_t size, const lpn_meta *meta,
                   lpn_result *result)
{
    lpn_native_frame frame;         /* no more of it is set before a container needs it */
    frame.view = NULL;
    result->verdict = LPN_ACCEPT;
    result->arg = 0;
    result->error = LPN_OK;
    result->insns = result->module = result->pc = 0;
    result->rebuilt = false;
    result->out_len = result->payload = 0;
    result->size = size;
    if (size > LPN_MAX_PACKET) {
        fault(result, LPN_E_PACKET);
        return;
    }
    lpn_zero(packet + size, LPN_WINDOW);
    lpn_zero(chain->record, chain->record_size);
    lpn_zero((uint8_t *)chain->out, LPN_OUT_SIZE);
    set_up(chain, packet, size, meta);

    for (uint32_t i = 0; i < chain->containers; i++) {
        const lpn_container *container = chain->container[i];
        result->module = i;
        int error = execute(chain, container, &frame);
        result->insns += chain->run.insns;
        chain->run.insns = 0;
        if (error != LPN_OK) {
            result->pc = chain->run.pc;
            fault(result, error);
            return;
        }
        uint16_t verdict = (uint16_t)chain->run.r0, arg = (uint16_t)(chain->run.r0 >> 16);
        if (verdict > LPN_CONSUMED) {
            result->pc = chain->run.pc;
            fault(result, LPN_E_VERDICT);
            return;
        }
        if (verdict != LPN_ACCEPT) {
            result->verdict = verdict;
            result->arg = arg;
        }
        if (!cut(chain, &size)) {
            fault(result, LPN_E_REBUILD);
            return;
        }
        result->size = size;
        if (verdict == LPN_DROP || verdict == LPN_DELIVER || verdict == LPN_CONSUMED) {
            return;
        }
        if (deparses(container->image)) {
            const uint8_t *ctx = (const uint8_t *)chain->ctx;
            result->rebuilt = true;
            result->out_len = lpn_get32(ctx + LPN_CTX_OUT_LEN);
            result->payload = lpn_get32(ctx + LPN_CTX_PAYLOAD);
            if (result->out_len > LPN_OUT_SIZE || result->payload > size
                || result->out_len + (size - result->payload) > LPN_MAX_PACKET) {
                fault(result, LPN_E_REBUILD);
                return;
            }
        }
    }
}
