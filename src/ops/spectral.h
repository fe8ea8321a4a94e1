/* SPDX-License-Identifier: MIT
 * sigma = u^T W v, the estimate of the largest singular value of a matrix: one form of it, so that
 * gamma, which starts as sigma (src/nn/sigma.c), divided by sigma (spectral_scale.c) is exactly 1.
 * W: [out, in], u: [out], v: [in]. */
#ifndef RDK_OPS_SPECTRAL_H
#define RDK_OPS_SPECTRAL_H

#include <rootdk/autograd.h>

#include "kernels/kernels.h"

static inline const rdk_real *rdk_spectral_row(const rdk_tensor *w, size_t i)
{
    return w->data + i * w->dim[1];
}

/* In double, rows in order. */
static inline double rdk_spectral_sigma(const rdk_tensor *w, const rdk_tensor *u,
                                        const rdk_tensor *v)
{
    double sum = 0;
    for (size_t i = 0; i < w->dim[0]; i++)
        sum +=
            (double)u->data[i] * rdk_kernels_get()->dot(w->dim[1], rdk_spectral_row(w, i), v->data);
    return sum;
}

#endif
