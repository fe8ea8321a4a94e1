/* SPDX-License-Identifier: MIT
 * Curves with fewer points.
 *
 * Invariant: what stays are points of the curve, never averages, and the lowest and the highest of
 * every stretch are among them: a spike cannot vanish.
 * Read next: summary.c. */
#include <math.h>

#include "data.h"

rdk_curve rdk_curve_finite(rdk_report *r, const rdk_curve *c)
{
    size_t bad = 0, n = 0;
    for (size_t i = 0; i < c->n; i++) bad += !isfinite(c->y[i]) || !isfinite(c->x[i]);
    if (!bad) return *c;
    double *x = rdk_report_alloc(r, c->n, sizeof *x), *y = rdk_report_alloc(r, c->n, sizeof *y);
    for (size_t i = 0; x && y && i < c->n; i++) {
        if (!isfinite(c->y[i]) || !isfinite(c->x[i])) continue;
        x[n] = c->x[i];
        y[n++] = c->y[i];
    }
    return (rdk_curve){n, x, y};
}

rdk_curve rdk_curve_thin(rdk_report *r, const rdk_curve *c, size_t most)
{
    if (c->n <= most) return *c;
    size_t stretches = (most - 2) / 2, n = 0;
    double *x = rdk_report_alloc(r, most, sizeof *x), *y = rdk_report_alloc(r, most, sizeof *y);
    if (!x || !y) return (rdk_curve){0};
    x[n] = c->x[0];
    y[n++] = c->y[0];
    for (size_t k = 0; k < stretches; k++) {
        size_t from = 1 + k * (c->n - 2) / stretches, to = 1 + (k + 1) * (c->n - 2) / stretches;
        size_t low = from, high = from;
        for (size_t i = from; i < to; i++) {
            if (c->y[i] < c->y[low]) low = i;
            if (c->y[i] > c->y[high]) high = i;
        }
        size_t first = low < high ? low : high, second = low < high ? high : low;
        x[n] = c->x[first];
        y[n++] = c->y[first];
        if (second == first) continue;
        x[n] = c->x[second];
        y[n++] = c->y[second];
    }
    x[n] = c->x[c->n - 1];
    y[n++] = c->y[c->n - 1];
    return (rdk_curve){n, x, y};
}
