/* SPDX-License-Identifier: MIT
 * How much a thread that computes attention keeps beside operands and results: the keys of a head
 * (backward: and its values) transposed, and one block of scores (backward: a strip of blocks).
 *
 * Invariant: it grows with the length of a sequence, not with the square. Each part is a multiple
 * of SCRATCH_UNIT elements, so that all are aligned as the scratch is.
 * Read next: attention_block.h. */
#ifndef RDK_ATTENTION_SCRATCH_H
#define RDK_ATTENTION_SCRATCH_H

#include "scratch.h"

enum { BLOCK = 64 }; /* queries, and keys, that are worked on at a time */

static inline size_t scores_size(void)
{
    return (size_t)BLOCK * BLOCK;
}

/* The keys of a sequence, as panels. */
static inline size_t panels_size(size_t len, size_t d)
{
    return rounded_up(len, BLOCK) * d;
}

/* A block of queries with all the keys. */
static inline size_t strip_size(size_t len)
{
    return rounded_up(len, BLOCK) * BLOCK;
}

/* A block of rows that end on a whole vector. */
static inline size_t rows_size(size_t d)
{
    return BLOCK * rounded_up(d, SCRATCH_UNIT);
}

/* One number for each key. */
static inline size_t keys_size(size_t len)
{
    return rounded_up(len, BLOCK);
}

static inline size_t forward_scratch_size(size_t len, size_t d_k, size_t d_v)
{
    return scores_size() + rows_size(d_v) + panels_size(len, d_k) + keys_size(len);
}

static inline size_t backward_scratch_size(size_t len, size_t d_k, size_t d_v)
{
    return 4 * strip_size(len) + panels_size(len, d_k) + panels_size(len, d_v) +
           2 * rows_size(d_k) + rows_size(d_v);
}

/* SIZE_MAX, which nobody can allocate, where the size does not fit. */
static inline size_t attention_scratch_size(size_t len, size_t d_k, size_t d_v)
{
    const size_t limit = SIZE_MAX / 16 - 2 * BLOCK;
    size_t product;
    if (len > limit / BLOCK || d_k > limit / BLOCK || d_v > limit / BLOCK ||
        !rdk_size_mul(len + BLOCK, d_k, &product) || product > limit ||
        !rdk_size_mul(len + BLOCK, d_v, &product) || product > limit)
        return SIZE_MAX;
    size_t forward = forward_scratch_size(len, d_k, d_v);
    size_t backward = backward_scratch_size(len, d_k, d_v);
    return forward > backward ? forward : backward;
}

#endif
