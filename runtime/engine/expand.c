/* SPDX-License-Identifier: LGPL-2.1-only */
/* The compact form of an image, expanded in place. compiler/compact.py has the format and refuses the same. */
#include "bytes.h"
#include "lpn.h"

#define HEADER_SIZE 64u

typedef struct {
    const uint8_t *in, *end;    /* still to be read */
    uint8_t *out;               /* the next byte of the image */
    uint32_t bad;               /* not 0: something is missing, or in the way */
} expansion;

static uint8_t next(expansion *x)
{
    if (x->in == x->end) {
        x->bad = 1;
        return 0;
    }
    return *x->in++;
}

/* A number of `bytes` bytes, sign-extended to `width`; never over what is still to be read. */
static void field(expansion *x, int bytes, unsigned width)
{
    int byte = 0;
    for (; width > 0; width--) {
        byte = bytes-- > 0 ? (int8_t)next(x) : byte >> 7;
        if (x->out == x->in) {
            x->bad = 1;
            return;
        }
        *x->out++ = (uint8_t)byte;
    }
}

/* One token: an instruction, or a copy of some of the `done` bytes of text before. */
static void step(expansion *x, uint32_t done)
{
    /* Immediate | offset << 2 | registers << 4, by class and source bit. */
    static const uint8_t usual[16] = { 0, 0x14, 0, 0x14, 0x11, 0x15, 0x15, 0x11, 0, 0x14, 0, 0x14, 0x10, 0x14, 0x14, 0x10 };
    unsigned token = next(x), shape = token >> 3;
    if ((token & 7) == 2) {
        uint32_t bytes = 8 * (token >> 4) + 16, distance = next(x);
        if ((token & 8) != 0) {
            distance |= (uint32_t)next(x) << 8;
        }
        distance *= 8;
        if (distance - 1 >= done || bytes > (uint32_t)(x->in - x->out)) {
            x->bad = 1;
            return;
        }
        for (; bytes > 0; bytes--, x->out++) {
            *x->out = *(x->out - distance);
        }
        return;
    }
    if ((token & 7) != 0) {
        shape = usual[token & 15];
        x->in--;                /* the token is the opcode */
    }
    field(x, 1, 1);
    field(x, (int)(shape >> 4), 1);
    field(x, (int)(shape >> 2 & 3), 2);
    field(x, (int)((shape & 3) + ((shape & 3) == 3)), 4);
}

uint32_t lpn_compact_length(const uint8_t *bytes)
{
    return lpn_get32(bytes) == 0x5a4e504cu /* "LPNZ" */ ? lpn_get32(bytes + 4) & 0xffffffu : 0;
}

int lpn_image_expand(uint8_t *buffer, uint32_t length, uint32_t size)
{
    if (size > length || length < HEADER_SIZE) {
        return LPN_E_COMPACT;
    }
    expansion x = { buffer + (length - size), buffer + length, buffer, 0 };
    field(&x, 4, 4);
    field(&x, 0, 4);
    field(&x, 3, 4);
    field(&x, 4, 4);
    for (unsigned i = 0, mask = 0; i < 48; i++, mask >>= 1) {
        if (i % 8 == 0) {
            mask = next(&x);
        }
        field(&x, (int)(mask & 1), 1);
    }
    buffer[3] = '1';
    buffer[4] = LPN_IMAGE_VERSION;
    buffer[6] = HEADER_SIZE;
    for (uint32_t done; !x.bad && (done = (uint32_t)(x.out - buffer) - HEADER_SIZE) < lpn_get32(buffer + 20);) {
        step(&x, done);
    }
    while (x.in != x.end) {
        field(&x, 1, 1);
    }
    return x.bad || x.out != x.end ? LPN_E_COMPACT : LPN_OK;
}
