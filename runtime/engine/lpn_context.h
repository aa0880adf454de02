/* SPDX-License-Identifier: LGPL-2.1-only */
/* Rendered by `python -m lpn.verifier.context_table` from verifier/descriptors.py. Do not edit. */
#ifndef LPN_CONTEXT_H
#define LPN_CONTEXT_H

/** X(offset, width, name, kind, writable, most) for each slot of the context. */
#define LPN_CONTEXT(X) \
    X(0, 8, pkt, PKT, 0, 0x0) \
    X(8, 8, pkt_end, PKT, 0, 0x1) \
    X(16, 8, rec, REC, 0, 0x0) \
    X(24, 8, state, STATE, 0, 0x0) \
    X(32, 8, out, OUT, 0, 0x0) \
    X(40, 4, out_len, NUMBER, 1, 0xffffffff) \
    X(44, 4, payload, NUMBER, 1, 0xffffffff) \
    X(48, 4, port, NUMBER, 1, 0xffffffff) \
    X(52, 4, iface, NUMBER, 0, 0xffffffff) \
    X(56, 4, rssi, NUMBER, 0, 0xffffffff) \
    X(60, 4, lqi, NUMBER, 0, 0xffffffff) \
    X(64, 4, time, NUMBER, 0, 0xffffffff) \
    X(68, 4, node_short, NUMBER, 0, 0xffff) \
    X(72, 4, node_ext_low, NUMBER, 0, 0xffffffff) \
    X(76, 4, node_ext_high, NUMBER, 0, 0xffffffff) \
    X(80, 4, node_pan, NUMBER, 0, 0xffff) \
    X(84, 4, clock, NUMBER, 0, 0xffffffff) \
    X(88, 4, event, NUMBER, 0, 0xffffffff) \
    X(92, 4, cut, NUMBER, 1, 0xffffffff)

#endif
