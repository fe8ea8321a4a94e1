/* SPDX-License-Identifier: MIT
 * What the ops share about shapes: refusing them in one manner, and a tensor around one axis. */
#ifndef RDK_OPS_SHAPE_H
#define RDK_OPS_SHAPE_H

#include <rootdk/ops.h>

/* Sets RDK_ESHAPE with "<op> of <shape> and <shape>: <rule>" and returns NULL. Missing (NULL)
 * inputs are left out. */
rdk_tensor *rdk_refuse(rdk_tape *t, const rdk_op *op, int n, rdk_tensor *const *x, const char *rule,
                       ...) RDK_PRINTF(5, 6);

/* x as [outer, len, inner] around the axis `index`. */
typedef struct rdk_axis {
    int index;
    size_t outer, len, inner;
} rdk_axis;

/* axis: negative counts from the end. False where x has no such axis. */
bool rdk_axis_of(const rdk_tensor *x, int axis, rdk_axis *a);

#endif
