/* SPDX-License-Identifier: MIT
 * A matrix scaled by an estimate of its largest singular value (Zhai et al. 2023, sigmaReparam):
 *     y = gain / sigma W,  sigma = u^T W v        w: [out, in], gain: [1], u: [out], v: [in]
 *     with g = <dy, W>:  dgain += g / sigma    dW += gain / sigma (dy - g / sigma u v^T)
 *                        du += -gain g / sigma^2 W v    dv += -gain g / sigma^2 W^T u
 * u and v are whatever the caller has; where they are the first singular vectors sigma is the norm
 * of W. Sums run in double, rows in order.
 * Read next: src/nn/sigma.c, where u and v come from. */
#include "shape.h"
#include "spectral.h"
#include "table.h"

enum { IN_W, IN_GAIN, IN_U, IN_V, INPUTS };

typedef struct spectral_saved {
    double sigma;
} spectral_saved;

static void spectral_scale_backward(rdk_tape *t, const rdk_node *n)
{
    const rdk_kernels *k = rdk_kernels_get();
    const rdk_tensor *w = n->in[IN_W], *u = n->in[IN_U], *v = n->in[IN_V];
    const rdk_real *dy = n->out->grad;
    double sigma = ((const spectral_saved *)n->saved)->sigma;
    double gain = (double)n->in[IN_GAIN]->data[0], along = k->dot(rdk_size(w), dy, w->data);
    double dsigma = -gain * along / sigma / sigma;
    rdk_real *grad[INPUTS];
    for (int i = 0; i < INPUTS; i++) grad[i] = rdk_grad(t, n->in[i]);

    if (grad[IN_GAIN]) grad[IN_GAIN][0] += (rdk_real)(along / sigma);
    if (grad[IN_W]) k->axpy(rdk_size(w), (rdk_real)(gain / sigma), dy, grad[IN_W]);
    for (size_t i = 0; i < w->dim[0]; i++) {
        rdk_real share = (rdk_real)(dsigma * (double)u->data[i]);
        if (grad[IN_W]) k->axpy(w->dim[1], share, v->data, grad[IN_W] + i * w->dim[1]);
        if (grad[IN_V]) k->axpy(w->dim[1], share, rdk_spectral_row(w, i), grad[IN_V]);
        if (grad[IN_U])
            grad[IN_U][i] +=
                (rdk_real)(dsigma * k->dot(w->dim[1], rdk_spectral_row(w, i), v->data));
    }
}

const rdk_op rdk_op_spectral_scale = {
    "spectral_scale",
    "y = gain / (u^T W v) W",
    spectral_scale_backward,
};

static bool is_vector(const rdk_tensor *x, size_t n)
{
    return x->n_dims == 1 && x->dim[0] == n;
}

rdk_tensor *rdk_spectral_scale(rdk_tape *t, rdk_tensor *w, rdk_tensor *gain, rdk_tensor *u,
                               rdk_tensor *v)
{
    if (!rdk_tape_alive(t) || !w || !gain || !u || !v) return NULL;
    rdk_tensor *in[] = {w, gain, u, v};
    if (w->n_dims != 2 || !is_vector(gain, 1) || !is_vector(u, w->dim[0]) ||
        !is_vector(v, w->dim[1]))
        return rdk_refuse(t, &rdk_op_spectral_scale, INPUTS, in,
                          "they must be [out, in], [1], [out] and [in]");
    rdk_tensor *y = rdk_tape_tensor(t, 2, w->dim);
    spectral_saved *saved = rdk_tape_alloc(t, 1, sizeof *saved);
    if (!y || !saved) return NULL;
    saved->sigma =
        (double)(rdk_real)rdk_spectral_sigma(w, u, v); /* as gain is kept: equal, they give W */
    rdk_kernels_get()->scale(rdk_size(w), (rdk_real)((double)gain->data[0] / saved->sigma), w->data,
                             y->data);
    return rdk_tape_record(t, &rdk_op_spectral_scale, y, INPUTS, in, saved);
}
