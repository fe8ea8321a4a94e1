/* SPDX-License-Identifier: MIT
 * Selection by halving what is still in question (Hoare 1961), in passes without a branch that
 * follows the data: which side of the pivot an element is on is not to be guessed.
 * Invariant: each round ends or takes the elements equal to its pivot out of the question, so it
 * comes to an end, also with NaN (which are in no order) and where all are equal.
 * Read next: head.c. */
#include "quantile.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Moves what is below the pivot, or `equal` to it, to the front of x[from .. end - 1]; returns
 * where the rest begins. */
static size_t part(double *x, size_t from, size_t end, double pivot, bool equal)
{
    size_t rest = from;
    for (size_t i = from; i < end; i++) {
        double v = x[i];
        x[i] = x[rest];
        x[rest] = v;
        rest += equal ? v <= pivot : v < pivot;
    }
    return rest;
}

/* Of three, so that data which rise and fall, as those of a sequence do, are halved too. */
static double middle(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c < high ? c : high;
}

void rdk_move_smallest(double *x, size_t n, size_t k)
{
    if (k == 0 || k >= n) return;
    size_t from = 0, end = n; /* the k-th smallest is in x[from .. end - 1] */
    while (end - from > 1) {
        double pivot = middle(x[from], x[from + (end - from) / 2], x[end - 1]);
        size_t rest = part(x, from, end, pivot, false);
        if (k <= rest) {
            end = rest;
            continue;
        }
        from = part(x, rest, end, pivot, true);
        if (k <= from) return;
        if (from == rest) return; /* the pivot is NaN */
    }
}

static int ascending(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

void rdk_move_smallest_of_each(double *x, size_t n, size_t count, size_t *k)
{
    size_t done = 0;
    qsort(k, count, sizeof *k, ascending);
    for (size_t i = 0; i < count; i++) {
        rdk_move_smallest(x + done, n - done, k[i] - done);
        done = k[i];
    }
}

size_t rdk_quantile_rank(size_t n, size_t percent)
{
    return (n * percent + 99) / 100;
}

double rdk_largest(const double *x, size_t n)
{
    double most = x[0];
    for (size_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

double rdk_quantile(double *x, size_t n, size_t percent)
{
    if (n == 0) return NAN;
    size_t rank = rdk_quantile_rank(n, percent);
    rdk_move_smallest(x, n, rank);
    return rdk_largest(x, rank);
}
