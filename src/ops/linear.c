/* SPDX-License-Identifier: MIT
 * The linear layer: y = x W^T + b over the last dimension.
 *     x: [.., in], w: [out, in], b: [out] or NULL -> y: [.., out]
 *     dx += dy W      dW += dy^T x      db += sum over rows of dy */
#include "shape.h"
#include "table.h"

#include <kernels/kernels.h>

static void linear_backward(rdk_tape *t, const rdk_node *n)
{
    const rdk_kernels *k = rdk_kernels_get();
    const rdk_tensor *x = n->in[0], *w = n->in[1];
    const rdk_real *dy = n->out->grad;
    const size_t rows = rdk_rows(x), n_in = rdk_cols(x), n_out = w->dim[0];

    bool add;
    rdk_real *dx = rdk_grad_unless_new(t, n->in[0], &add);
    if (dx) k->gemm(false, false, rows, n_in, n_out, dy, n_out, w->data, n_in, dx, n_in, add);
    rdk_real *dw = rdk_grad_unless_new(t, n->in[1], &add);
    if (dw) k->gemm(true, false, n_out, n_in, rows, dy, n_out, x->data, n_in, dw, n_in, add);
    rdk_real *db = rdk_grad(t, n->in[2]);
    if (db) k->sum_rows(rows, n_out, dy, db);
}

const rdk_op rdk_op_linear = {"linear", "y = x W^T + b", linear_backward};

rdk_tensor *rdk_linear(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b)
{
    if (!rdk_tape_alive(t) || !x || !w) return NULL;
    rdk_tensor *in[] = {x, w, b};
    if (x->n_dims < 1) return rdk_refuse(t, &rdk_op_linear, 3, in, "x is a scalar");
    if (w->n_dims != 2 || w->dim[1] != rdk_cols(x)) {
        return rdk_refuse(t, &rdk_op_linear, 3, in, "the weight must be [out, %zu]", rdk_cols(x));
    }
    if (b && (b->n_dims != 1 || b->dim[0] != w->dim[0])) {
        return rdk_refuse(t, &rdk_op_linear, 3, in, "the bias must be [%zu]", w->dim[0]);
    }
    size_t dim[RDK_MAX_DIMS];
    for (int i = 0; i < x->n_dims; i++) dim[i] = x->dim[i];
    dim[x->n_dims - 1] = w->dim[0];
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, dim);
    if (!y) return NULL;

    const rdk_kernels *k = rdk_kernels_get();
    const size_t rows = rdk_rows(x), n_in = rdk_cols(x), n_out = w->dim[0];
    bool packed = w->packing && w->packing->current;
    k->linear(rows, n_out, n_in, x->data, packed ? w->packing->panels : w->data, packed,
              b ? b->data : NULL, y->data);
    return rdk_tape_record(t, &rdk_op_linear, y, 3, in, NULL);
}
