/* SPDX-License-Identifier: LGPL-2.1-only */
/* Rendered by `python -m lpn.compiler.helpers` from compiler/helpers.py. Do not edit. */
#ifndef LPN_HELPERS_H
#define LPN_HELPERS_H

/** What an argument register must hold. */
#define LPN_ARG_NONE 0
#define LPN_ARG_SCALAR 1
#define LPN_ARG_CONST 2
#define LPN_ARG_MEM_READ 4
#define LPN_ARG_MEM_WRITE 5

/** Argument 1 of a helper that takes memory: which table or buffer, and how many bytes arguments 2 and 3 point to. */
#define LPN_WHICH(r1) ((r1) & 0xffu)
#define LPN_SIZE2(r1) ((r1) >> 8 & 0xffu)
#define LPN_SIZE3(r1) ((r1) >> 16 & 0xffffu)

/** Look the key at r2 up in a table. 0: no entry matches, the action data is zeroed; n > 0: the
 *  number of the entry's action, its data (zero-padded) is copied to r3. r1: the table, in bits 8
 *  to 15 its key's length, above them the room at r3, at least its action data's length. */
#define LPN_HELPER_LOOKUP 1
/** The node's clock in microseconds, modulo 2**32. */
#define LPN_HELPER_CLOCK_US 2
/** Hand two numbers to whoever watches the node; no effect on the program. */
#define LPN_HELPER_TRACE 3
/** Run hook r1 of the bundle, one of event `after`, in r2 microseconds, less than 2**31. Started
 *  again before its time has come, it begins anew. */
#define LPN_HELPER_TIMER_START 4
/** Let the radio listen. */
#define LPN_HELPER_RADIO_ON 5
/** Let the radio sleep. */
#define LPN_HELPER_RADIO_OFF 6
/** Is the channel in use? 0 CLEAR, 1 BUSY. It waits for the radio. */
#define LPN_HELPER_RADIO_CCA 7
/** Tune the radio to channel r1. */
#define LPN_HELPER_RADIO_CHANNEL 8
/** Transmit with r1 dBm, a signed number. */
#define LPN_HELPER_RADIO_POWER 9
/** Give the radio the frame out[0..r1) ++ packet[r2..r2+r3), copied at once. 0: event radio.tx_done
 *  follows; 1: the radio has a frame already, this one is not sent. */
#define LPN_HELPER_RADIO_SEND 10
/** Give the network stack the packet out[0..r1) ++ packet[r2..r2+r3), copied at once. 0: taken; 1:
 *  it is busy, the packet is lost. */
#define LPN_HELPER_NET_SEND 11
/** Store a piece in the entry of a buffer that has the key at r2. r1: the buffer, and the sizes as
 *  for lookup. r3: five words, the piece's offset, the size of the whole (0: not known yet), n,
 *  from and length: the piece is out[0..n) ++ packet[from..from+length). Returns enum lpn_put. */
#define LPN_HELPER_BUFFER_PUT 12
/** Keep a whole packet, given as to buffer_put, under a key until it is taken. Returns enum
 *  lpn_put. */
#define LPN_HELPER_BUFFER_HOLD 13
/** Give the oldest packet held under the key to the buffer's chain. 1: it runs next; 0: there is
 *  none, or another one runs next. */
#define LPN_HELPER_BUFFER_TAKE 14
/** Forget what a buffer has under the key. Returns how many entries. */
#define LPN_HELPER_BUFFER_DROP 15
#define LPN_HELPER_MAX 15
/** A bit for each helper that is not allowed in context isr. */
#define LPN_HELPERS_NOT_IN_ISR 0xffe2u
/** What each helper takes at most, from number 0 on: in units of 360 cycles. */
#define LPN_HELPER_COSTS 0, 6, 1, 1, 1, 120, 23, 184, 112, 112, 181, 23, 3, 2, 1, 1
/** Numbers of the node's own functions. */
#define LPN_HELPER_OWN 128
#define LPN_HELPER_OWN_MAX 255

/** X(number, name, kind of r1, r2, r3, r4, r5) for each helper. */
#define LPN_HELPERS(X) \
    X(1, lookup, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_MEM_WRITE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(2, clock_us, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(3, trace, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(4, timer_start, LPN_ARG_CONST, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(5, radio_on, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(6, radio_off, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(7, radio_cca, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(8, radio_channel, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(9, radio_power, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(10, radio_send, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(11, net_send, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(12, buffer_put, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_MEM_READ, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(13, buffer_hold, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_MEM_READ, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(14, buffer_take, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(15, buffer_drop, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE)

#endif
