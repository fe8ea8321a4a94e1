/* SPDX-License-Identifier: MIT
 * softmax and its logarithm over the last dimension.
 *     y_j = exp(x_j - max) / sum_k exp(x_k - max)     dx += y (dy - <dy, y>)
 *     z_j = x_j - max - log sum_k exp(x_k - max)      dx += dz - exp(z) sum dz */
#include "shape.h"
#include "table.h"

#include <kernels/kernels.h>

static void softmax_backward(rdk_tape *t, const rdk_node *n)
{
    const rdk_tensor *y = n->out;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    rdk_kernels_get()->softmax_backward(rdk_rows(y), rdk_cols(y), y->data, y->grad, dx);
}

const rdk_op rdk_op_softmax = {
    "softmax",
    "y_j = exp(x_j) / sum_k exp(x_k)",
    softmax_backward,
};

rdk_tensor *rdk_softmax(rdk_tape *t, rdk_tensor *x)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    if (x->n_dims < 1) return rdk_refuse(t, &rdk_op_softmax, 1, &x, "a scalar has no rows");
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    if (!y) return NULL;
    rdk_kernels_get()->softmax(rdk_rows(x), rdk_cols(x), x->data, y->data);
    return rdk_tape_record(t, &rdk_op_softmax, y, 1, &x, NULL);
}

static void log_softmax_backward(rdk_tape *t, const rdk_node *n)
{
    const rdk_tensor *y = n->out;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    rdk_kernels_get()->log_softmax_backward(rdk_rows(y), rdk_cols(y), y->data, y->grad, dx);
}

const rdk_op rdk_op_log_softmax = {
    "log_softmax",
    "y_j = x_j - log sum_k exp(x_k)",
    log_softmax_backward,
};

rdk_tensor *rdk_log_softmax(rdk_tape *t, rdk_tensor *x)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    if (x->n_dims < 1) return rdk_refuse(t, &rdk_op_log_softmax, 1, &x, "a scalar has no rows");
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    if (!y) return NULL;
    rdk_kernels_get()->log_softmax(rdk_rows(x), rdk_cols(x), x->data, y->data);
    return rdk_tape_record(t, &rdk_op_log_softmax, y, 1, &x, NULL);
}
