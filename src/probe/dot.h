/* SPDX-License-Identifier: MIT
 * A short dot product in double, for vectors of one head. Invariant: its order of addition is
 * fixed, the same on every machine. */
#ifndef RDK_PROBE_DOT_H
#define RDK_PROBE_DOT_H

#include <rootdk/base.h>

static inline double rdk_wide_dot(size_t n, const rdk_real *x, const rdk_real *y)
{
    enum { PARTS = 4 };
    double part[PARTS] = {0}, rest = 0;
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (size_t p = 0; p < PARTS; p++) part[p] += (double)x[i + p] * (double)y[i + p];
    for (; i < n; i++) rest += (double)x[i] * (double)y[i];
    return (part[0] + part[1]) + (part[2] + part[3]) + rest;
}

#endif
