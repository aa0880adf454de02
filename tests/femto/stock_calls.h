/* SPDX-License-Identifier: LGPL-2.1-only */
/* Included before all else in each of the stock engine's files. With FEMTO_CONTAINER_EXTERNAL_CALLS its host says which function
 * a `call` is, and no header of the engine declares the function that it asks. */
#ifndef STOCK_CALLS_H
#define STOCK_CALLS_H

#include "femtocontainer/femtocontainer.h"

f12r_call_t f12r_get_external_call(uint32_t num);

#endif
