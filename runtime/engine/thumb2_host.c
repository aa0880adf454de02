/* SPDX-License-Identifier: LGPL-2.1-only */
#include "thumb2_host.h"

/* Load and translate. `stack`: bytes the main function gets at least; `map`: a slot's halfword offset, one more than slots. */
int lpn_host_thumb2(const uint8_t *text, size_t size, bool clean32, uint32_t stack, uint32_t rodata, uint32_t data,
                    uint16_t *code, uint32_t code_size, uint16_t *map, uint32_t *used)
{
    lpn_program program;
    int error = lpn_load(&program, text, size, used);
    if (error != LPN_OK) {
        return error;
    }
    if (program.func[0].frame < stack) {
        program.func[0].frame = (uint16_t)stack;
    }
    lpn_thumb2 job = { &program, clean32, rodata, data, code, code_size, map };
    return lpn_thumb2_translate(&job, used);
}
