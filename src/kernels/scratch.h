/* SPDX-License-Identifier: MIT
 * What the sizes of scratch have in common: they are the same for all instruction sets, and each
 * part is aligned as the whole is.
 *
 * Read next: attention_scratch.h, pair_scratch.h. */
#ifndef RDK_SCRATCH_H
#define RDK_SCRATCH_H

#include <rootdk/base.h>

enum {
    SCRATCH_UNIT = 16,               /* elements of the widest vector */
    WIDEST_PANEL = 2 * SCRATCH_UNIT, /* columns of the widest tile */
};

static inline size_t rounded_up(size_t n, size_t unit)
{
    return n / unit * unit + (n % unit ? unit : 0);
}

#endif
