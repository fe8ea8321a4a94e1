/* SPDX-License-Identifier: MIT
 * Quantiles by nearest rank, without sorting all. */
#ifndef RDK_PROBE_QUANTILE_H
#define RDK_PROBE_QUANTILE_H

#include <stddef.h>

/* Moves the k smallest of x[0 .. n) to its front, in some order that depends on x alone. */
void rdk_move_smallest(double *x, size_t n, size_t k);
/* The smallest of x that at least percent % of them are not larger than; NAN where n is 0. Moves
 * the elements of x about. 1 <= percent <= 100. */
double rdk_quantile(double *x, size_t n, size_t percent);

#endif
