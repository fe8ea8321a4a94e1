/* SPDX-License-Identifier: MIT
 * Layer norm, RMS norm and L2 norm of the rows of x: [.., n]. One idea: subtract the mean or not,
 * divide by the root of the mean (or sum) of squares plus eps, then gain and bias.
 *     layer: y = (x - mean) / sqrt(var + eps) gain + bias
 *     rms:   y = x / sqrt(mean(x^2) + eps) gain
 *     l2:    y = x / sqrt(sum(x^2) + eps)                 (at x = 0: y = 0, dx = dy / sqrt(eps)) */
#include "shape.h"
#include "table.h"

#include <math.h>

#include <kernels/kernels.h>

typedef struct norm_kind {
    const rdk_op *op;
    bool center;      /* subtract the mean */
    bool mean_square; /* divide by the mean of squares, else by their sum */
} norm_kind;

typedef struct norm_saved {
    bool center, mean_square;
    rdk_real *mean, *rstd; /* [rows]; mean NULL unless centred */
} norm_saved;

static void norm_backward(rdk_tape *t, const rdk_node *n)
{
    const norm_saved *s = n->saved;
    const rdk_tensor *x = n->in[0], *gain = n->in[1];
    rdk_real *dx = rdk_grad(t, n->in[0]);
    rdk_real *dgain = rdk_grad(t, n->in[1]);
    rdk_real *dbias = rdk_grad(t, n->in[2]);
    if (!rdk_tape_alive(t)) return;
    rdk_kernels_get()->norm_backward(s->center, s->mean_square, rdk_rows(x), rdk_cols(x), x->data,
                                     gain ? gain->data : NULL, s->mean, s->rstd, n->out->grad, dx,
                                     dgain, dbias);
}

static bool fits_row(const rdk_tensor *vector, const rdk_tensor *x)
{
    return !vector || (vector->n_dims == 1 && vector->dim[0] == rdk_cols(x));
}

static rdk_tensor *norm(rdk_tape *t, norm_kind kind, rdk_tensor *x, rdk_tensor *gain,
                        rdk_tensor *bias, double eps)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_tensor *in[] = {x, gain, bias};
    if (x->n_dims < 1) return rdk_refuse(t, kind.op, 3, in, "a scalar has no rows");
    if (!fits_row(gain, x) || !fits_row(bias, x)) {
        return rdk_refuse(t, kind.op, 3, in, "gain and bias must be [%zu]", rdk_cols(x));
    }
    if (!(eps > 0) || !isfinite(eps)) {
        return rdk_tape_fail(t, RDK_EVALUE, "%s with eps %g: it must be above 0", kind.op->name,
                             eps);
    }
    const size_t rows = rdk_rows(x);
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    norm_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!y || !s) return NULL;
    *s = (norm_saved){.center = kind.center, .mean_square = kind.mean_square};
    if (kind.center) s->mean = rdk_tape_alloc(t, rows, sizeof *s->mean);
    s->rstd = rdk_tape_alloc(t, rows, sizeof *s->rstd);
    if (!rdk_tape_alive(t)) return NULL;

    y->data_unread = true;
    rdk_kernels_get()->norm(kind.center, kind.mean_square, rows, rdk_cols(x), eps, x->data,
                            gain ? gain->data : NULL, bias ? bias->data : NULL, y->data, s->mean,
                            s->rstd);
    return rdk_tape_record(t, kind.op, y, 3, in, s);
}

const rdk_op rdk_op_layer_norm = {
    "layer_norm",
    "y = (x - mean) / sqrt(var + eps) gain + bias",
    norm_backward,
};

rdk_tensor *rdk_layer_norm(rdk_tape *t, rdk_tensor *x, rdk_tensor *gain, rdk_tensor *bias,
                           double eps)
{
    const norm_kind kind = {.op = &rdk_op_layer_norm, .center = true, .mean_square = true};
    return norm(t, kind, x, gain, bias, eps);
}

const rdk_op rdk_op_rms_norm = {"rms_norm", "y = x / sqrt(mean(x^2) + eps) gain", norm_backward};

rdk_tensor *rdk_rms_norm(rdk_tape *t, rdk_tensor *x, rdk_tensor *gain, double eps)
{
    const norm_kind kind = {.op = &rdk_op_rms_norm, .center = false, .mean_square = true};
    return norm(t, kind, x, gain, NULL, eps);
}

const rdk_op rdk_op_l2_norm = {"l2_norm", "y = x / sqrt(sum(x^2) + eps)", norm_backward};

rdk_tensor *rdk_l2_norm(rdk_tape *t, rdk_tensor *x, double eps)
{
    const norm_kind kind = {.op = &rdk_op_l2_norm, .center = false, .mean_square = false};
    return norm(t, kind, x, NULL, NULL, eps);
}
