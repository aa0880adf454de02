/* SPDX-License-Identifier: LGPL-2.1-only */
/* For the emulated core, which has no libc. */
#ifndef ASSERT_H
#define ASSERT_H

#define assert(condition) ((void)(condition))

#endif
