/* SPDX-License-Identifier: MIT
 * Figures over several runs: mean and t-interval, median, sensitivity to the learning rate.
 *
 * Invariant: sums run in double, in the order of the values; a quantile is computed, never looked
 * up.
 * Read next: src/ablate/table.c. */
#include <math.h>
#include <stdlib.h>

#include <rootdk/probe.h>

/* ---- Student's t ----------------------------------------------------------------------------- */

/* P(|T| <= t) with df degrees of freedom, t = sqrt(df) tan(angle): the finite sums of Abramowitz
 * and Stegun 26.7.3 (odd df) and 26.7.4 (even df). All terms are positive, so nothing cancels. */
static double central_mass(double angle, size_t df)
{
    const double pi = 3.14159265358979323846;
    double sine = sin(angle), cosine = cos(angle);
    double term = df % 2 ? cosine : 1, sum = 0;
    for (size_t k = df % 2 ? 3 : 2; k <= df && term > 0; k += 2) {
        sum += term;
        term *= cosine * cosine * (double)(k - 1) / (double)k;
    }
    return df % 2 ? 2 / pi * (angle + sine * sum) : sine * sum;
}

double rdk_student_t(double mass, size_t df)
{
    if (!(mass >= 0 && mass < 1) || df < 1) return NAN;
    double low = 0, high = acos(0);
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break; /* neighbouring numbers */
        *(central_mass(middle, df) < mass ? &low : &high) = middle;
    }
    return sqrt((double)df) * tan(low + (high - low) / 2);
}

rdk_interval rdk_interval_of(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] - x[0]; /* equal values: exactly their mean */
    double mean = n ? x[0] + sum / (double)n : NAN;
    for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    if (n < 2) return (rdk_interval){mean, NAN, n};
    double standard_error = sqrt(squares / (double)(n - 1) / (double)n);
    return (rdk_interval){mean, rdk_student_t(0.95, n - 1) * standard_error, n};
}

/* ---- order ----------------------------------------------------------------------------------- */

/* nan behind every number: a run that has no figure is worse than all that have one. */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
    return (x > y) - (x < y);
}

double rdk_median(double *x, size_t n)
{
    if (n == 0) return NAN;
    qsort(x, n, sizeof *x, ascending);
    double upper = x[n / 2], lower = x[(n - 1) / 2];
    return lower == upper ? upper : lower + (upper - lower) / 2;
}

/* ---- learning rates -------------------------------------------------------------------------- */

double rdk_lr_sensitivity(const double *loss, size_t n, double l0)
{
    double sum = 0, best = l0;
    if (n == 0 || !isfinite(l0)) return NAN;
    for (size_t i = 0; i < n; i++) {
        double l = isfinite(loss[i]) && loss[i] < l0 ? loss[i] : l0;
        best = fmin(best, l);
        sum += l;
    }
    return sum / (double)n - best;
}
