/* SPDX-License-Identifier: LGPL-2.1-only */
/* A text and its certificate as a node judges them: the loader first, then the checker. Built by tests/test_certificate.py. */
#include "certificate.h"

int judged(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size, const uint32_t *sizes, void *work,
           uint32_t work_size, uint32_t *at)
{
    const lpn_image image = { .text = text, .text_size = text_size, .certificate = certificate, .certificate_size = certificate_size,
                              .rodata_size = sizes[0], .data_size = sizes[1], .record_size = (uint16_t)sizes[2],
                              .state_size = (uint16_t)sizes[3], .stack_used = (uint16_t)sizes[4], .out_size = (uint16_t)sizes[5] };
    lpn_program program;
    lpn_func func[LPN_MAX_FUNCS];
    return lpn_load(&program, func, text, text_size, at) != LPN_OK ? LPN_REFUSAL_COUNT : lpn_certificate_check(&image, work, work_size, at);
}
