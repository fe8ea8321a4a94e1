/* SPDX-License-Identifier: MIT
 * Normalisation of rows: LayerNorm (Ba et al. 2016), RMSNorm (Zhang and Sennrich 2019), L2; with
 * their gradients.
 *
 *     y = (x - mean) rstd gain + bias,   rstd = 1 / sqrt(S + eps)
 *     S = mean of (x - mean)^2; for L2 its sum
 *
 * Invariant: statistics are formed in double and in two passes (first the mean, then squares of
 * what is left), so neither a large common offset nor large or tiny elements spoil them. eps stands
 * inside the root: a zero row gives finite results and a finite gradient.
 * Read next: src/ops/norm.c. */
#include "chunks.h"
#include "kernels.h"
#include "vector.h"

static double row_mean(size_t n, const rdk_real *x)
{
    vsum sum = {{0}, {0}};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) sum = v_accumulate(sum, v_load(x + j));
    if (j < n) sum = v_accumulate(sum, v_load_n(x + j, n - j));
    return n ? v_total(sum) / (double)n : 0;
}

static double row_squares(size_t n, const rdk_real *x, rdk_real mean)
{
    vsum sum = {{0}, {0}};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vreal d = v_load(x + j) - mean;
        sum = v_accumulate_product(sum, d, d);
    }
    if (j < n) {
        vreal d = v_load_fill(x + j, n - j, mean) - mean;
        sum = v_accumulate_product(sum, d, d);
    }
    return v_total(sum);
}

static inline rdk_real gain_at(const rdk_real *gain, size_t j)
{
    return gain ? gain[j] : 1;
}

static inline void norm_row(size_t n, const rdk_real *x, const rdk_real *gain, const rdk_real *bias,
                            rdk_real mean, rdk_real rstd, rdk_real *y)
{
    if (gain && bias) {
        for (size_t j = 0; j < n; j++) y[j] = (x[j] - mean) * rstd * gain[j] + bias[j];
    } else {
        for (size_t j = 0; j < n; j++) {
            y[j] = (x[j] - mean) * rstd * gain_at(gain, j) + (bias ? bias[j] : 0);
        }
    }
}

RDK_SHARED static void norm_rows(size_t begin, size_t end, bool center, double count, size_t n,
                                 double eps, const rdk_real *x, const rdk_real *gain,
                                 const rdk_real *bias, rdk_real *y, rdk_real *mean, rdk_real *rstd)
{
    for (size_t r = begin; r < end; r++) {
        const rdk_real *row = x + r * n;
        rdk_real middle = center ? (rdk_real)row_mean(n, row) : 0;
        rstd[r] = (rdk_real)(1 / sqrt(row_squares(n, row, middle) / count + eps));
        if (center) mean[r] = middle;
        norm_row(n, row, gain, bias, middle, rstd[r], y + r * n);
    }
}

static void norm(bool center, bool mean_square, size_t rows, size_t n, double eps,
                 const rdk_real *x, const rdk_real *gain, const rdk_real *bias, rdk_real *y,
                 rdk_real *mean, rdk_real *rstd)
{
    const double count = mean_square && n ? (double)n : 1;
    RDK_SHARE(rows * n >= SERIAL_ELEMENTS, rows, norm_rows, center, count, n, eps, x, gain, bias, y,
              mean, rstd);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct norm_sums {
    rdk_real g, gx; /* sum of g = dy gain; of g xhat, xhat = (x - mean) rstd */
} norm_sums;

static inline norm_sums norm_sums_of(size_t n, const rdk_real *x, const rdk_real *gain,
                                     rdk_real mean, rdk_real rstd, const rdk_real *dy)
{
    vreal g_sum = v_set(0), gx_sum = v_set(0);
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vreal g = gain ? v_load(dy + j) * v_load(gain + j) : v_load(dy + j);
        g_sum += g;
        gx_sum += g * ((v_load(x + j) - mean) * rstd);
    }
    norm_sums s = {v_sum(g_sum), v_sum(gx_sum)};
    for (; j < n; j++) {
        rdk_real g = dy[j] * gain_at(gain, j);
        s.g += g;
        s.gx += g * ((x[j] - mean) * rstd);
    }
    return s;
}

/* dx += rstd (g - mean(g) - xhat sum(g xhat) / count): without the term in mean(g) where the mean
 * is not taken off; count n where S is a mean, 1 where it is a sum. */
static void norm_backward_row(bool center, bool mean_square, size_t n, const rdk_real *x,
                              const rdk_real *gain, rdk_real mean, rdk_real rstd,
                              const rdk_real *dy, rdk_real *dx)
{
    norm_sums s = norm_sums_of(n, x, gain, mean, rstd, dy);
    rdk_real g_mean = center ? s.g / (rdk_real)n : 0;
    rdk_real slope = mean_square ? s.gx / (rdk_real)n : s.gx;
    if (gain) {
        for (size_t j = 0; j < n; j++) {
            dx[j] += rstd * ((dy[j] * gain[j] - g_mean) - (x[j] - mean) * rstd * slope);
        }
    } else {
        for (size_t j = 0; j < n; j++) {
            dx[j] += rstd * ((dy[j] - g_mean) - (x[j] - mean) * rstd * slope);
        }
    }
}

static inline void add_columns(size_t width, vsum sum, rdk_real *y)
{
    v_store_n(y, width, v_narrow(v_accumulate(sum, v_load_n(y, width))));
}

/* dgain += sum over rows of dy xhat, dbias += sum of dy, for `width` <= LANES columns, as
 * sum_columns sums them. mean: NULL where it is not taken off. */
static inline void norm_columns(size_t rows, size_t n, size_t width, const rdk_real *x,
                                const rdk_real *mean, const rdk_real *rstd, const rdk_real *dy,
                                rdk_real *dgain, rdk_real *dbias)
{
    vsum gain = {{0}, {0}}, bias = {{0}, {0}};
    for (size_t begin = 0; begin < rows; begin += SUMMED_ROWS) {
        size_t end = rows - begin < SUMMED_ROWS ? rows : begin + SUMMED_ROWS;
        vreal gain_part = v_set(0), bias_part = v_set(0);
        for (size_t r = begin; r < end; r++) {
            const rdk_real *xr = x + r * n, *dyr = dy + r * n;
            vreal value = width == LANES ? v_load(xr) : v_load_n(xr, width);
            vreal slope = width == LANES ? v_load(dyr) : v_load_n(dyr, width);
            gain_part += slope * ((value - (mean ? mean[r] : 0)) * rstd[r]);
            bias_part += slope;
        }
        gain = v_accumulate(gain, gain_part);
        bias = v_accumulate(bias, bias_part);
    }
    if (dgain) add_columns(width, gain, dgain);
    if (dbias) add_columns(width, bias, dbias);
}

/* The strips begin .. end - 1 of LANES columns. */
RDK_SHARED static void norm_backward_strips(size_t begin, size_t end, size_t rows, size_t n,
                                            const rdk_real *x, const rdk_real *mean,
                                            const rdk_real *rstd, const rdk_real *dy,
                                            rdk_real *dgain, rdk_real *dbias)
{
    for (size_t c = begin * LANES; c < n && c < end * LANES; c += LANES) {
        rdk_real *dg = dgain ? dgain + c : NULL, *db = dbias ? dbias + c : NULL;
        if (n - c >= LANES) {
            norm_columns(rows, n, LANES, x + c, mean, rstd, dy + c, dg, db);
        } else {
            norm_columns(rows, n, n - c, x + c, mean, rstd, dy + c, dg, db);
        }
    }
}

RDK_SHARED static void norm_backward_rows(size_t begin, size_t end, bool center, bool mean_square,
                                          size_t n, const rdk_real *x, const rdk_real *gain,
                                          const rdk_real *mean, const rdk_real *rstd,
                                          const rdk_real *dy, rdk_real *dx)
{
    for (size_t r = begin; r < end; r++)
        norm_backward_row(center, mean_square, n, x + r * n, gain, center ? mean[r] : 0, rstd[r],
                          dy + r * n, dx + r * n);
}

static void norm_backward(bool center, bool mean_square, size_t rows, size_t n, const rdk_real *x,
                          const rdk_real *gain, const rdk_real *mean, const rdk_real *rstd,
                          const rdk_real *dy, rdk_real *dx, rdk_real *dgain, rdk_real *dbias)
{
    const bool shared = rows * n >= SERIAL_ELEMENTS;
    if (dx)
        RDK_SHARE(shared, rows, norm_backward_rows, center, mean_square, n, x, gain, mean, rstd, dy,
                  dx);
    if (dgain || dbias)
        RDK_SHARE(shared, rdk_pieces(n, LANES), norm_backward_strips, rows, n, x,
                  center ? mean : NULL, rstd, dy, dgain, dbias);
}
