/* SPDX-License-Identifier: MIT
 * The size of the gradient: its norm, the factor that clips it, and who spoils it.
 *
 * Invariant: sums run in double over the parameters in their order, so that a norm does not depend
 * on threads and finite floats cannot overflow it (128 elements of 1e19 are harmless).
 * Read next: optimizer.c. */
#include <math.h>

#include <rootdk/optim.h>

#include "kernels/kernels.h"

double rdk_norm(size_t n, const rdk_real *x)
{
    return sqrt(rdk_kernels_get()->sum_squares(n, x));
}

double rdk_grad_norm(rdk_model *m)
{
    const rdk_kernels *kernels = rdk_kernels_get();
    double sum = 0;
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        const rdk_param *p = rdk_model_param(m, i);
        if (p->trainable) sum += kernels->sum_squares(rdk_size(&p->tensor), p->tensor.grad);
    }
    return sqrt(sum);
}

double rdk_clip_factor(double norm, double clip)
{
    return clip > 0 && norm > clip ? clip / norm : 1;
}

rdk_param *rdk_grad_first_nonfinite(rdk_model *m, size_t *at)
{
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        size_t n = p->trainable ? rdk_size(&p->tensor) : 0;
        for (size_t e = 0; e < n; e++)
            if (!isfinite(p->tensor.grad[e])) {
                if (at) *at = e;
                return p;
            }
    }
    return NULL;
}
