/* SPDX-License-Identifier: MIT
 * Hoare's selection (1961): halves what is still in question by a pivot in its middle.
 * Invariant: no element is compared but with <, so NaN ends the search early and nothing worse.
 * Read next: head.c. */
#include "quantile.h"

#include <math.h>

static void swap(double *a, double *b)
{
    double x = *a;
    *a = *b;
    *b = x;
}

/* Hoare's partition of x[low .. high], low < high: returns m < high with none of x[low .. m] larger
 * than any of x[m + 1 .. high]. The pivot stands before x[high], so that m cannot be high. */
static size_t part(double *x, size_t low, size_t high)
{
    double pivot = x[low + (high - low) / 2];
    size_t i = low, j = high;
    for (;; i++, j--) {
        while (x[i] < pivot) i++;
        while (pivot < x[j]) j--;
        if (i >= j) return j;
        swap(&x[i], &x[j]);
    }
}

void rdk_move_smallest(double *x, size_t n, size_t k)
{
    if (k == 0 || k >= n) return;
    size_t low = 0, high = n - 1; /* the k-th smallest is in x[low .. high] */
    while (low < high) {
        size_t m = part(x, low, high);
        if (k - 1 <= m)
            high = m;
        else
            low = m + 1;
    }
}

double rdk_quantile(double *x, size_t n, size_t percent)
{
    if (n == 0) return NAN;
    size_t rank = (n * percent + 99) / 100;
    rdk_move_smallest(x, n, rank);
    double most = x[0];
    for (size_t i = 1; i < rank; i++) most = x[i] > most ? x[i] : most;
    return most;
}
