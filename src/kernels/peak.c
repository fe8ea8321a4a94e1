/* SPDX-License-Identifier: MIT
 * The limit of the multiply-adds: chains that wait for nothing but themselves, as many as hide one
 * another's latency, all in registers.
 *
 * Invariant: the sums reach the caller, who knows what they must be; so no compiler can leave the
 * work out.
 * Read next: src/run/speed.c. */
#include "base/parallel.h"
#include "vector.h"

/* Two units of a latency of four or five steps want ten; all but a few registers. */
enum { CHAINS = RDK_VECTOR_BYTES >= 64 ? 16 : 12 };

/* n times x = x a + b in every lane of every chain; the mean of where they end, which for |a| < 1
 * is b / (1 - a). They begin at different places: equal ones a compiler may compute once. */
static double multiply_adds(size_t n, double a, double b, double *flops)
{
    vreal x[CHAINS], va = v_set((rdk_real)a), vb = v_set((rdk_real)b);
    RDK_UNROLL
    for (int c = 0; c < CHAINS; c++) x[c] = va * (rdk_real)c;
    for (size_t i = 0; i < n; i++) {
        RDK_UNROLL
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * va + vb;
    }
    double total = 0;
    for (int c = 0; c < CHAINS; c++) total += (double)v_sum(x[c]);
    *flops = 2.0 * CHAINS * LANES * (double)n;
    return total / (CHAINS * LANES);
}
