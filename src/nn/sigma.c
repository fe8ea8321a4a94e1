/* SPDX-License-Identifier: MIT
 * Sigma-reparametrisation (Zhai et al. 2023): a linear layer multiplies by (gamma / sigma) W, where
 * sigma = u^T W v estimates the largest singular value of W and gamma is learned. u and v come from
 * power iteration, one step an update:
 *
 *     v = W^T u / |W^T u|    u = W v / |W v|
 *
 * Invariant: u and v lie among the parameters, so they are saved with the weights and a resumed run
 * has them; they are constants to a pass. gamma starts as sigma, so that the model starts as it
 * would without.
 * Read next: src/ops/spectral_scale.c. */
#include <math.h>
#include <string.h>

#include "nn/model.h"

#include "kernels/kernels.h"
#include "ops/spectral.h"

static void normalise(rdk_tensor *x)
{
    size_t n = rdk_size(x);
    double norm = sqrt(rdk_kernels_get()->sum_squares(n, x->data));
    for (size_t i = 0; i < n && norm > 0; i++) x->data[i] = (rdk_real)((double)x->data[i] / norm);
}

static void power_step(rdk_affine *a)
{
    const rdk_kernels *k = rdk_kernels_get();
    size_t out = a->weight->dim[0], in = a->weight->dim[1];
    memset(a->v->data, 0, in * sizeof *a->v->data);
    for (size_t i = 0; i < out; i++)
        k->axpy(in, a->u->data[i], rdk_spectral_row(a->weight, i), a->v->data);
    normalise(a->v);
    for (size_t i = 0; i < out; i++)
        a->u->data[i] = (rdk_real)k->dot(in, rdk_spectral_row(a->weight, i), a->v->data);
    normalise(a->u);
}

/* From a random u until sigma stands still. */
static void start(rdk_affine *a)
{
    enum { MOST_STEPS = 300 };
    static const double still = 1e-6;
    double sigma = 0, before;
    normalise(a->u);
    for (int i = 0; i < MOST_STEPS; i++) {
        power_step(a);
        before = sigma;
        sigma = rdk_spectral_sigma(a->weight, a->u, a->v);
        if (sigma - before <= still * sigma) break;
    }
    a->gamma->data[0] = (rdk_real)sigma;
}

static void of_all(rdk_model *m, void (*call)(rdk_affine *a))
{
    for (size_t i = 0; i < m->config.layers; i++) {
        rdk_layer *y = &m->layer[i];
        rdk_affine *all[] = {&y->q, &y->k, &y->v, &y->o, &y->in, &y->gate, &y->out};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k]->gamma) call(all[k]);
    }
    if (m->head.gamma) call(&m->head);
}

void rdk_nn_sigma_start(rdk_model *m)
{
    of_all(m, start);
}

void rdk_model_power_step(rdk_model *m)
{
    of_all(m, power_step);
}
