/* SPDX-License-Identifier: MIT
 * Two shapes broadcast against each other, walked in runs.
 *
 * The result is walked in its order; in each operand a run of n elements advances by 1 or stands
 * still (step 0: repeated). Dimensions that step alike in both operands are joined first, so equal
 * shapes are one run, a scalar operand too, and a row vector one run a row.
 * Read next: arithmetic.c. */
#ifndef RDK_OPS_BROADCAST_H
#define RDK_OPS_BROADCAST_H

#include <rootdk/ops.h>

typedef struct rdk_broadcast {
    int n_dims; /* of the result */
    size_t dim[RDK_MAX_DIMS];
    int n_joined;                                      /* >= 1; the last is the run */
    size_t count[RDK_MAX_DIMS];                        /* of each joined dimension */
    size_t step_a[RDK_MAX_DIMS], step_b[RDK_MAX_DIMS]; /* in elements */
} rdk_broadcast;

/* False where the shapes do not fit: two dimensions differ and neither is 1. */
bool rdk_broadcast_plan(const rdk_tensor *a, const rdk_tensor *b, rdk_broadcast *p);

/* One run: where it begins in each array. */
typedef struct rdk_run {
    size_t y, a, b;
    size_t n, step_a, step_b;
    size_t index[RDK_MAX_DIMS];
} rdk_run;

/* for (bool more = rdk_run_first(p, &r); more; more = rdk_run_next(p, &r)) */
bool rdk_run_first(const rdk_broadcast *p, rdk_run *r);
bool rdk_run_next(const rdk_broadcast *p, rdk_run *r);

#endif
