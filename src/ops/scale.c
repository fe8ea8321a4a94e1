/* SPDX-License-Identifier: MIT
 * Multiplication by a constant: y = factor x, dx += factor dy. */
#include "table.h"

#include <kernels/kernels.h>

static void scale_backward(rdk_tape *t, const rdk_node *n)
{
    const double *factor = n->saved;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    rdk_kernels_get()->axpy(rdk_size(n->out), (rdk_real)*factor, n->out->grad, dx);
}

const rdk_op rdk_op_scale = {"scale", "y = factor x", scale_backward};

rdk_tensor *rdk_scale(rdk_tape *t, rdk_tensor *x, double factor)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    double *saved = rdk_tape_alloc(t, 1, sizeof *saved);
    if (!y || !saved) return NULL;
    *saved = factor;
    rdk_kernels_get()->scale(rdk_size(x), (rdk_real)factor, x->data, y->data);
    return rdk_tape_record(t, &rdk_op_scale, y, 1, &x, saved);
}
