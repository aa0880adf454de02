/* SPDX-License-Identifier: LGPL-2.1-only */
/**
 * The certificate's checker: one pass over a container's text, in a work area of the caller's. docs/certificate.md has the
 * format and the rules. What it accepts keeps the rules of docs/verifier.md that a run could break: it needs no check at run
 * time, ends within the cost the certificate claims, and holds in every register a number of 32 bits or a pointer.
 */
#ifndef LPN_CERTIFICATE_H
#define LPN_CERTIFICATE_H

#include "bytes.h"
#include "lpn.h"

/** X(code, name): why a certificate is refused. Names are part of the interface. */
#define LPN_REFUSALS(X) \
    X(LPN_REFUSE_NOTHING, "accepted") \
    X(LPN_REFUSE_FORM, "malformed") \
    X(LPN_REFUSE_MEMORY, "needs more memory than given") \
    X(LPN_REFUSE_LABEL, "labels are not those of the text") \
    X(LPN_REFUSE_TARGET, "jump to no label") \
    X(LPN_REFUSE_VALUE, "value is not within the label's") \
    X(LPN_REFUSE_STACK, "stack is not as the label says") \
    X(LPN_REFUSE_LENGTH, "packet is not as long as the label says") \
    X(LPN_REFUSE_LOOP, "loop without a counter, or entered from the side") \
    X(LPN_REFUSE_COST, "cost is more than claimed") \
    X(LPN_REFUSE_REGISTER, "register holds nothing usable") \
    X(LPN_REFUSE_WIDE, "number may need more than 32 bits") \
    X(LPN_REFUSE_POINTER, "pointer used as a number, or otherwise than pointers may be") \
    X(LPN_REFUSE_ACCESS, "access may lie outside its region") \
    X(LPN_REFUSE_UNWRITTEN, "stack bytes may not be written") \
    X(LPN_REFUSE_DIVISOR, "divisor may be 0") \
    X(LPN_REFUSE_SHIFT, "shift count may be the width or more") \
    X(LPN_REFUSE_HELPER, "helper's arguments are not what it takes") \
    X(LPN_REFUSE_UNSUPPORTED, "instruction that certificates do not cover") \
    X(LPN_REFUSE_END, "control falls off the end")

#define LPN_REFUSAL_CODE(code, name) code,
enum lpn_refusal { LPN_REFUSALS(LPN_REFUSAL_CODE) LPN_REFUSAL_COUNT };
#undef LPN_REFUSAL_CODE

/** The name of a refusal, "?" when it is none (certificate_names.c). */
const char *lpn_refusal_name(int refusal);

/** Bytes of work area that are enough for the examples' containers of up to 512 instructions. */
#define LPN_CERTIFICATE_WORK 400u

/**
 * Check an image's certificate against its text, which `lpn_load` has passed.
 *
 * `work`: `size` bytes, 8-aligned, free again afterwards. Returns LPN_REFUSE_NOTHING with the most instructions of a run in
 * `*at`, else why it is refused, with the slot in `*at`.
 */
int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at);

/** What the image says of its text is so: the checker has found it, or who sent it is trusted. */
static inline void lpn_container_trust(lpn_container *container)
{
    container->program.certified = true;
    container->output = (uint16_t)(LPN_OUT_SIZE - lpn_get16(container->image + LPN_IMAGE_OUT_SPARE));
}

#endif
