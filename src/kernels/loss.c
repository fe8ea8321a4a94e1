/* SPDX-License-Identifier: MIT
 * Cross-entropy of rows of logits against target ids, and its gradient.
 *
 * Invariant: the largest logit is kept out of the sum, R = sum exp(x - max) - 1, and everything is
 * formed from R: the loss log1p(R) - (x[target] - max) has full relative accuracy down to the
 * smallest float, and the gradient at the target, the negative sum of the others, does not round to
 * 0 while the others are not. Ignored rows give exactly 0.
 * Read next: rows.c (row_largest, row_rest). */
#include "chunks.h"
#include "kernels.h"
#include "vector.h"

enum { LEAST_ROWS = 16 };

static int32_t first_equal(size_t n, const rdk_real *x, rdk_real value)
{
    for (size_t j = 0; j < n; j++) {
        if (x[j] == value) return (int32_t)j;
    }
    return 0; /* a row of NaN */
}

/* Loss of the rows first .. last - 1, and what backward needs of them. */
static double cross_entropy_rows(size_t first, size_t last, size_t v, const rdk_real *logits,
                                 const int32_t *targets, rdk_real *row_max, rdk_real *row_inv,
                                 rdk_real *nll, int32_t *best)
{
    double sum = 0;
    for (size_t r = first; r < last; r++) {
        const rdk_real *x = logits + r * v;
        rdk_real loss = 0, max = row_largest(v, x);
        row_max[r] = max;
        row_inv[r] = 0;
        if (targets[r] >= 0) {
            rdk_real rest = row_rest(v, x, max);
            row_inv[r] = 1 / (1 + rest);
            loss = r_log1p(rest) - (x[targets[r]] - max);
        }
        if (nll) nll[r] = loss;
        if (best) best[r] = first_equal(v, x, max);
        sum += (double)loss;
    }
    return sum;
}

/* The chunks begin .. end - 1 of `size` rows: the sum of each. */
RDK_SHARED static void cross_entropy_chunks(size_t begin, size_t end, size_t size, size_t rows,
                                            size_t v, const rdk_real *logits,
                                            const int32_t *targets, rdk_real *row_max,
                                            rdk_real *row_inv, rdk_real *nll, int32_t *best,
                                            double *partial)
{
    for (size_t c = begin; c < end; c++) {
        size_t first = c * size, last = first + chunk_length(rows, size, c);
        partial[c] =
            cross_entropy_rows(first, last, v, logits, targets, row_max, row_inv, nll, best);
    }
}

static double cross_entropy(size_t rows, size_t v, const rdk_real *logits, const int32_t *targets,
                            rdk_real *row_max, rdk_real *row_inv, rdk_real *nll, int32_t *best)
{
    double partial[MAX_CHUNKS];
    size_t size = chunk_size(rows, LEAST_ROWS, LEAST_ROWS), count = chunk_count(rows, size);
    RDK_SHARE(rows * v >= SERIAL_ELEMENTS, count, cross_entropy_chunks, size, rows, v, logits,
              targets, row_max, row_inv, nll, best, partial);
    return chunk_sum(partial, count);
}

static inline vreal lane_numbers(void)
{
    vreal l;
    for (int k = 0; k < LANES; k++) l[k] = (rdk_real)k;
    return l;
}

/* dx[j] += factor p[j] for every j but the target, dx[target] -= factor times their sum. */
static void cross_entropy_backward_row(size_t v, const rdk_real *x, size_t target, rdk_real max,
                                       rdk_real inverse, rdk_real factor, rdk_real *dx)
{
    const vreal lanes = lane_numbers();
    vreal rest = v_set(0);
    for (size_t j = 0; j < v; j += LANES) {
        size_t n = v - j < LANES ? v - j : LANES;
        vreal logits = n == LANES ? v_load(x + j) : v_load_fill(x + j, n, -INFINITY);
        vreal p = v_exp(logits - max) * inverse;
        /* Outside this vector no lane equals the distance, clamped to LANES. */
        size_t at = target >= j && target - j < LANES ? target - j : LANES;
        p = v_select(lanes == (rdk_real)at, v_set(0), p);
        rest += p;
        if (n == LANES) {
            v_store(dx + j, v_load(dx + j) + p * factor);
        } else {
            v_store_n(dx + j, n, v_load_n(dx + j, n) + p * factor);
        }
    }
    dx[target] -= factor * v_sum(rest);
}

RDK_SHARED static void cross_entropy_backward_rows(size_t begin, size_t end, size_t v,
                                                   const rdk_real *logits, const int32_t *targets,
                                                   const rdk_real *row_max, const rdk_real *row_inv,
                                                   rdk_real factor, rdk_real *dlogits)
{
    for (size_t r = begin; r < end; r++) {
        if (targets[r] < 0) continue;
        cross_entropy_backward_row(v, logits + r * v, (size_t)targets[r], row_max[r], row_inv[r],
                                   factor, dlogits + r * v);
    }
}

static void cross_entropy_backward(size_t rows, size_t v, const rdk_real *logits,
                                   const int32_t *targets, const rdk_real *row_max,
                                   const rdk_real *row_inv, rdk_real factor, rdk_real *dlogits)
{
    RDK_SHARE(rows * v >= SERIAL_ELEMENTS, rows, cross_entropy_backward_rows, v, logits, targets,
              row_max, row_inv, factor, dlogits);
}
