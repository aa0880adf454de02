/* SPDX-License-Identifier: LGPL-2.1-only */
#include "thumb2_host.h"

#include "lpn.h"

/* Load and translate. `stack`: bytes the main function gets at least; `map`: a slot's halfword offset, one more than slots. */
int lpn_host_thumb2(const uint8_t *text, size_t size, bool clean32, uint32_t stack, uint32_t rodata, uint32_t data,
                    uint16_t *code, uint32_t code_size, uint16_t *map, uint32_t *used)
{
    lpn_program program;
    lpn_func func[LPN_MAX_FUNCS];
    int error = lpn_load(&program, func, text, size, used);
    if (error != LPN_OK) {
        return error;
    }
    if (program.func[0].frame < stack) {
        program.func[0].frame = (uint16_t)stack;
    }
    lpn_thumb2 job = { &program, clean32, rodata, data, code, code_size, map };
    return lpn_thumb2_translate(&job, used);
}

int lpn_host_thumb2_run(const uint8_t *text, size_t size, bool clean32, void *ctx, const uint8_t *rodata, uint8_t *data,
                        uint16_t *code, uint32_t code_size, uint16_t *map, lpn_host *host, uint32_t *r0)
{
    static const uint8_t no_image[LPN_IMAGE_STACK + 2];
    lpn_container container = { .image = no_image };
    lpn_func func[LPN_MAX_FUNCS];
    uint32_t used;
    int error = lpn_load(&container.program, func, text, size, &used);
    container.program.rodata = rodata;
    container.program.data = data;
    container.program.clean32 = clean32;
    container.program.certified = true;     /* who runs bare code answers for it */
    if (error == LPN_OK) {
        error = lpn_container_translate(&container, code, code_size, map, &used);
    }
    if (error != LPN_OK) {
        return error;
    }
    const lpn_view nothing = { 0 };
    lpn_native_frame frame;
    lpn_native_begin(&frame, lpn_host_env(host), &nothing);
    *r0 = container.native(ctx, &frame.native);
    return frame.error;
}

/* On the core itself: container number `index` of the host runs as code from now on. LPN_E_UNCERTIFIED if nobody vouches for it. */
int lpn_host_translate(lpn_host *host, uint32_t index, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used)
{
    lpn_container *container = lpn_host_container(host, index);
    return container == NULL ? LPN_E_CHAIN : lpn_container_translate(container, code, size, map, used);
}
