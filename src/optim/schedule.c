/* SPDX-License-Identifier: MIT
 * The learning rate of every step.
 *
 * Invariant: a pure function of the step, total for every step and every length of run, never above
 * the larger of lr and min_lr. Steps and warmup enter as double, so that no sum can wrap.
 * Read next: optimizer.c. */
#include <math.h>

#include <rootdk/optim.h>

static const double PI = 3.14159265358979323846;

/* Where step stands between the end of the warmup and the last step, 0..1. */
static double progress(double step, double warmup, double steps)
{
    double x = (step - warmup) / fmax(1, steps - 1 - warmup);
    return fmin(fmax(x, 0), 1);
}

double rdk_schedule(const rdk_optim_config *c, uint64_t step, uint64_t steps)
{
    double warmup = (double)c->warmup, weight = 1;
    if (step < c->warmup) return c->lr * ((double)step + 1) / (warmup + 1);
    double x = progress((double)step, warmup, (double)steps);
    if (c->schedule == RDK_LINEAR) weight = 1 - x;
    if (c->schedule == RDK_COSINE) weight = (1 + cos(PI * x)) / 2;
    /* both ends exact: weight 1 is lr, weight 0 min_lr; rounding between may not pass the peak */
    return fmin(weight * c->lr + (1 - weight) * c->min_lr, fmax(c->lr, c->min_lr));
}
