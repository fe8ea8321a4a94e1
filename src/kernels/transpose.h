/* SPDX-License-Identifier: MIT
 * A LANES x LANES block turned about its diagonal within registers, by exchanging ever smaller
 * off-diagonal quarters: lane l of row r, where bit h differs between them, goes to lane l ^ h of
 * row r ^ h, for h = LANES / 2 .. 1.
 *
 * Invariant: it moves elements and changes none.
 * Read next: pack.h. */
#ifndef RDK_TRANSPOSE_H
#define RDK_TRANSPOSE_H

#include "vector.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

#if __has_builtin(__builtin_shufflevector)

#ifdef RDK_DOUBLE
#define LANE_COUNT (RDK_VECTOR_BYTES / 8)
#else
#define LANE_COUNT (RDK_VECTOR_BYTES / 4)
#endif

/* What lane l of the two rows becomes: its place in (upper row, lower row) side by side. */
#define UPPER(l, h) ((l) & (h) ? LANE_COUNT + (l) - (h) : (l))
#define LOWER(l, h) ((l) & (h) ? LANE_COUNT + (l) : (l) + (h))
/* The list of places that the builtin wants as constants. */
#define PLACES_2(f, l, h)  f((l), h), f((l) + 1, h)
#define PLACES_4(f, l, h)  PLACES_2(f, l, h), PLACES_2(f, (l) + 2, h)
#define PLACES_8(f, l, h)  PLACES_4(f, l, h), PLACES_4(f, (l) + 4, h)
#define PLACES_16(f, l, h) PLACES_8(f, l, h), PLACES_8(f, (l) + 8, h)
#if LANE_COUNT == 16
#define PLACES(f, h) PLACES_16(f, 0, h)
#elif LANE_COUNT == 8
#define PLACES(f, h) PLACES_8(f, 0, h)
#elif LANE_COUNT == 4
#define PLACES(f, h) PLACES_4(f, 0, h)
#else
#define PLACES(f, h) PLACES_2(f, 0, h)
#endif
#define EXCHANGE(h)                                                                                \
    for (int r = 0; r < LANE_COUNT; r++) {                                                         \
        if (r & (h)) continue;                                                                     \
        vreal upper = row[r], lower = row[r + (h)];                                                \
        row[r] = __builtin_shufflevector(upper, lower, PLACES(UPPER, h));                          \
        row[r + (h)] = __builtin_shufflevector(upper, lower, PLACES(LOWER, h));                    \
    }

static inline void transpose(vreal row[LANES])
{
#if LANE_COUNT > 8
    EXCHANGE(8)
#endif
#if LANE_COUNT > 4
    EXCHANGE(4)
#endif
#if LANE_COUNT > 2
    EXCHANGE(2)
#endif
    EXCHANGE(1)
}

#else

static inline void transpose(vreal row[LANES])
{
    for (int r = 0; r < LANES; r++) {
        for (int l = 0; l < r; l++) {
            rdk_real x = row[r][l];
            row[r][l] = row[l][r];
            row[l][r] = x;
        }
    }
}

#endif
#endif
