/* SPDX-License-Identifier: MIT
 * Quantiles by nearest rank, without sorting all. */
#ifndef RDK_PROBE_QUANTILE_H
#define RDK_PROBE_QUANTILE_H

#include <stddef.h>

/* Moves the k smallest of x[0 .. n) to its front, in some order that depends on x alone. */
void rdk_move_smallest(double *x, size_t n, size_t k);
/* The same for each of a few numbers k, which it sorts: so that what lies before one of them need
 * not be looked at again for the next. */
void rdk_move_smallest_of_each(double *x, size_t n, size_t count, size_t *k);
double rdk_largest(const double *x, size_t n); /* n >= 1 */
/* How many of n the quantile is the largest of. 1 <= percent <= 100. */
size_t rdk_quantile_rank(size_t n, size_t percent);
/* The smallest of x that at least percent % of them are not larger than; NAN where n is 0. Moves
 * the elements of x about. */
double rdk_quantile(double *x, size_t n, size_t percent);

#endif
