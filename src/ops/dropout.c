/* SPDX-License-Identifier: MIT
 * Dropout: in training y = x mask / (1 - p), each element kept with probability 1 - p; else y is x.
 * The mask is not stored: it is a pure function of the call's stream and is drawn again in
 * backward. */
#include "table.h"

#include <kernels/kernels.h>

typedef struct dropout_saved {
    double p;
    rdk_stream stream;
} dropout_saved;

static void dropout_backward(rdk_tape *t, const rdk_node *n)
{
    const dropout_saved *s = n->saved;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    rdk_kernels_get()->dropout_backward(rdk_size(n->out), s->p, s->stream, n->out->grad, dx);
}

const rdk_op rdk_op_dropout = {"dropout", "y = x mask / (1 - p)", dropout_backward};

rdk_tensor *rdk_dropout(rdk_tape *t, rdk_tensor *x, double p)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    if (!(p >= 0 && p < 1)) {
        return rdk_tape_fail(t, RDK_EVALUE, "dropout with p %g: it must be in 0 <= p < 1", p);
    }
    rdk_stream stream;
    if (p == 0 || !rdk_tape_dropout_stream(t, &stream)) return x;
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    dropout_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!y || !s) return NULL;
    *s = (dropout_saved){.p = p, .stream = stream};
    rdk_kernels_get()->dropout(rdk_size(x), p, stream, x->data, y->data);
    return rdk_tape_record(t, &rdk_op_dropout, y, 1, &x, s);
}
