/* SPDX-License-Identifier: MIT
 * The linear layer at the end of each sequence: of its last n positions, y = x[:, T-n ..] W^T + b.
 *     x: [B, T, in], w: [out, in], b: [out] or NULL -> y: [B, n, out]
 *     dx[:, T-n ..] += dy W      dW += dy^T x[:, T-n ..]      db += sum over rows of dy
 * y and dx have the bits of a linear layer of all positions, and with floats so has dW. What it
 * reads of x is copied, so that products with it are of one matrix; dx is added to where it lies,
 * sequence by sequence. */
#include "linear.h"
#include "product.h"
#include "shape.h"
#include "table.h"

#include <string.h>

#include <kernels/kernels.h>

/* Of the x of a node: rows before the last n of a sequence, and the values of the last. */
typedef struct linear_last_saved {
    size_t skipped;
    rdk_tensor *x; /* [B, n, in] */
} linear_last_saved;

static void add_to_input(rdk_tape *t, const rdk_node *n, const rdk_tensor *w)
{
    const linear_last_saved *s = n->saved;
    const size_t rows = s->x->dim[1], n_in = w->dim[1], n_out = w->dim[0];
    rdk_real *dx = rdk_grad(t, n->in[0]);
    for (size_t b = 0; dx && b < s->x->dim[0]; b++) {
        const rdk_real *dy = n->out->grad + b * rows * n_out;
        rdk_real *to = dx + (b * (s->skipped + rows) + s->skipped) * n_in;
        rdk_product p = rdk_dense_product(false, false, rows, n_in, n_out, dy, w->data, to, true);
        p.panels = rdk_panels_of(t, w, false);
        rdk_multiply(t, &p);
    }
}

static void linear_last_backward(rdk_tape *t, const rdk_node *n)
{
    const linear_last_saved *s = n->saved;
    const rdk_tensor *w = n->in[1];
    add_to_input(t, n, w);
    rdk_linear_weight_backward(t, n, s->x, n->out->grad);
}

const rdk_op rdk_op_linear_last = {"linear_last", "y = x[:, T-n ..] W^T + b", linear_last_backward};

static rdk_tensor *copy_last(rdk_tape *t, const rdk_tensor *x, size_t n)
{
    rdk_tensor *y = rdk_tape_tensor(t, 3, (size_t[]){x->dim[0], n, x->dim[2]});
    const size_t kept = n * x->dim[2], all = x->dim[1] * x->dim[2];
    for (size_t b = 0; y && kept > 0 && b < x->dim[0]; b++)
        memcpy(y->data + b * kept, x->data + (b + 1) * all - kept, kept * sizeof *y->data);
    return y;
}

rdk_tensor *rdk_linear_last(rdk_tape *t, rdk_tensor *x, size_t n, rdk_tensor *w, rdk_tensor *b)
{
    rdk_tensor *in[] = {x, w, b};
    if (!rdk_tape_alive(t) || !x || !w) return NULL;
    if (x->n_dims != 3) return rdk_refuse(t, &rdk_op_linear_last, 3, in, "x must be [B, T, in]");
    if (n > x->dim[1])
        return rdk_refuse(t, &rdk_op_linear_last, 3, in, "there are no last %zu of %zu positions",
                          n, x->dim[1]);
    if (!rdk_linear_fits(t, &rdk_op_linear_last, 3, in)) return NULL;
    rdk_tensor *y = rdk_tape_tensor(t, 3, (size_t[]){x->dim[0], n, w->dim[0]});
    linear_last_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!y || !s) return NULL;
    *s = (linear_last_saved){x->dim[1] - n, copy_last(t, x, n)};
    if (!s->x) return NULL;
    y->data_unread = true;
    rdk_linear_forward(t, s->x, w, b, NULL, y->data);
    return rdk_tape_record(t, &rdk_op_linear_last, y, 3, in, s);
}
