/* SPDX-License-Identifier: LGPL-2.1-only */
/* The compact form of a pack, expanded in place: its modules are compact images. runtime/pack.py writes it. */
#include "bytes.h"
#include "lpn_pack.h"

enum { HEADER = 40, F_LENGTH = 8, F_MODULES = 28, F_IMAGES = 38 };
static const uint32_t compact_magic = 0x504e504cu;     /* "LPNP" */
static const uint32_t image_magic = 0x314e504cu;       /* "LPN1" */

static void move_down(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = from[i];
    }
}

/* One module. Where it ends is at most where its compact form did, so that what follows is not overwritten. */
static int expand_module(uint8_t **out, uint8_t **in, const uint8_t *end)
{
    const size_t left = (size_t)(end - *in);
    if (left < 12) {
        return LPN_E_COMPACT;
    }
    uint32_t size = lpn_get32(*in);
    if (size == image_magic) {          /* it has no compact form */
        size = lpn_get32(*in + 8);
        if (size > left) {
            return LPN_E_COMPACT;
        }
        move_down(*out, *in, size);
        *in += size;
        *out += size;
        return LPN_OK;
    }
    *in += 4;
    if (size < 8 || size > left - 4) {
        return LPN_E_COMPACT;
    }
    const uint32_t length = lpn_compact_length(*in);
    if (length < size || length > (size_t)(*in - *out) + size) {
        return LPN_E_COMPACT;
    }
    move_down(*out + (length - size), *in, size);
    const int error = lpn_image_expand(*out, length, size);
    *in += size;
    *out += length;
    return error;
}

bool lpn_pack_is_compact(const uint8_t *bytes, size_t size)
{
    return size >= HEADER && lpn_get32(bytes) == compact_magic;
}

int lpn_pack_expand(uint8_t *buffer, uint32_t room, uint32_t size, uint32_t *length)
{
    *length = lpn_pack_is_compact(buffer, size) ? lpn_get32(buffer + F_LENGTH) : 0;
    if (*length < size || *length > LPN_MAX_IMAGE) {
        return LPN_E_COMPACT;
    }
    if (*length > room) {
        return LPN_E_MEMORY;
    }
    uint8_t *const end = buffer + *length, *out = buffer, *in = end - size;
    for (uint32_t i = size; i > 0; i--) {
        in[i - 1] = buffer[i - 1];
    }
    const uint32_t parts = 4u * lpn_get16(in + F_IMAGES);      /* all before the modules: as it is */
    if (parts < HEADER || parts > size) {
        return LPN_E_COMPACT;
    }
    move_down(out, in, parts);
    buffer[3] = 'N';
    buffer[F_IMAGES] = buffer[F_IMAGES + 1] = 0;
    in += parts;
    out += parts;
    for (unsigned i = buffer[F_MODULES]; i > 0; i--) {
        const int error = expand_module(&out, &in, end);
        if (error != LPN_OK) {
            return error;
        }
    }
    return out == end && in == end ? LPN_OK : LPN_E_COMPACT;
}
