/* SPDX-License-Identifier: MIT
 * Axes: range, place of a value, ticks at round numbers.
 * Read next: panel.c. */
#include <math.h>

#include "figure.h"

static const double LINEAR_BELOW = 0.7; /* decades of a log axis with ticks like a linear one */
static const double MARGIN = 0.04;      /* of the range, kept free at both ends */

rdk_axis rdk_axis_new(const char *label, bool log)
{
    return (rdk_axis){.low = INFINITY, .high = -INFINITY, .log = log, .label = label};
}

void rdk_axis_take(rdk_axis *a, double x)
{
    if (!isfinite(x) || (a->log && x <= 0)) return;
    if (x < a->low) a->low = x;
    if (x > a->high) a->high = x;
}

void rdk_axis_finish(rdk_axis *a)
{
    if (a->low > a->high) {
        a->low = a->log ? 0.1 : 0;
        a->high = 1;
    }
    if (a->log) {
        double low = log(a->low), high = log(a->high), pad = fmax(MARGIN * (high - low), 0.1);
        a->low = exp(low - pad);
        a->high = exp(high + pad);
        return;
    }
    double pad = MARGIN * (a->high - a->low);
    if (pad == 0) pad = a->high == 0 ? 0.5 : 0.1 * fabs(a->high);
    bool from_zero = a->low >= 0 && a->low <= 0.3 * a->high;
    a->low = from_zero ? 0 : a->low - pad;
    a->high += pad;
}

double rdk_axis_place(const rdk_axis *a, double x)
{
    if (a->log) return x > 0 ? log(x / a->low) / log(a->high / a->low) : NAN;
    return (x - a->low) / (a->high - a->low);
}

/* About five of them, 1, 2 or 5 times a power of ten apart. */
static size_t linear_ticks(const rdk_axis *a, double ticks[RDK_MOST_TICKS])
{
    double rough = (a->high - a->low) / 5, decade = pow(10, floor(log10(rough)));
    double lead = rough / decade;
    double step = decade * (lead > 7.5 ? 10 : lead > 3.5 ? 5 : lead > 1.5 ? 2 : 1);
    size_t n = 0;
    double first = ceil(a->low / step - 1e-9);
    for (int i = 0; n < RDK_MOST_TICKS; i++) {
        double x = (first + i) * step + 0.0; /* never -0 */
        if (x > a->high + 1e-9 * step) break;
        ticks[n++] = x;
    }
    return n;
}

static size_t log_ticks(const rdk_axis *a, double ticks[RDK_MOST_TICKS])
{
    static const double lead[] = {1, 2, 5};
    double decades = log10(a->high / a->low);
    if (decades < LINEAR_BELOW) return linear_ticks(a, ticks);
    int first = (int)floor(log10(a->low)), last = (int)floor(log10(a->high) + 1e-9);
    int stride = (int)fmax(1, ceil(decades / 5)), leads = decades > 2 ? 1 : 3;
    size_t n = 0;
    for (int e = first; e <= last; e += stride) {
        for (int i = 0; i < leads; i++) {
            double x = lead[i] * pow(10, e);
            if (x >= a->low && x <= a->high && n < RDK_MOST_TICKS) ticks[n++] = x;
        }
    }
    return n;
}

size_t rdk_axis_ticks(const rdk_axis *a, double ticks[RDK_MOST_TICKS])
{
    size_t n = 0;
    for (; n < a->n_given && n < RDK_MOST_TICKS; n++) ticks[n] = a->given[n];
    if (n) return n;
    return a->log ? log_ticks(a, ticks) : linear_ticks(a, ticks);
}
