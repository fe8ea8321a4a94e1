/* SPDX-License-Identifier: MIT
 * softmax and log-softmax over rows, and their gradients.
 *
 * Invariant: exp only sees x - max <= 0, so finite logits give finite results whatever their size;
 * a row with NaN, or with +inf, becomes NaN. The largest element is kept out of the sum of exp
 * (row_rest), so that what is tiny beside 1 is not lost.
 * Read next: loss.c, which stands on the same sums. */
#include "chunks.h"
#include "kernels.h"
#include "vector.h"

static inline rdk_real row_largest(size_t n, const rdk_real *x)
{
    vreal max = v_set(-INFINITY);
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) max = v_max(max, v_load(x + j));
    if (j < n) max = v_max(max, v_load_fill(x + j, n - j, -INFINITY));
    return v_hmax(max);
}

/* sum of exp(x[j] - max) over all j but one that has the maximum (exp is 1 at each that has it). */
static inline rdk_real row_rest(size_t n, const rdk_real *x, rdk_real max)
{
    vreal rest = v_set(0), ties = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal d = (n - j >= LANES ? v_load(x + j) : v_load_fill(x + j, n - j, -INFINITY)) - max;
        rest += v_select(d == 0, v_set(0), v_exp(d));
        ties += v_select(d == 0, v_set(1), v_set(0));
    }
    return v_sum(rest) + (v_sum(ties) - 1);
}

static void softmax_row(size_t n, const rdk_real *x, rdk_real *y)
{
    rdk_real max = row_largest(n, x);
    vreal sum = v_set(0);
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vreal e = v_exp(v_load(x + j) - max);
        v_store(y + j, e);
        sum += e;
    }
    if (j < n) {
        vreal e = v_exp(v_load_fill(x + j, n - j, -INFINITY) - max);
        v_store_n(y + j, n - j, e);
        sum += e;
    }
    rdk_real inverse = 1 / v_sum(sum);
    for (j = 0; j < n; j++) y[j] *= inverse;
}

RDK_SHARED static void softmax_rows(size_t begin, size_t end, size_t n, const rdk_real *x,
                                    rdk_real *y)
{
    for (size_t r = begin; r < end; r++) softmax_row(n, x + r * n, y + r * n);
}

static void softmax(size_t rows, size_t n, const rdk_real *x, rdk_real *y)
{
    RDK_SHARE(rows * n >= SERIAL_ELEMENTS, rows, softmax_rows, n, x, y);
}

static inline rdk_real row_dot(size_t n, const rdk_real *a, const rdk_real *b)
{
    vreal sum = v_set(0);
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) sum += v_load(a + j) * v_load(b + j);
    if (j < n) sum += v_load_n(a + j, n - j) * v_load_n(b + j, n - j);
    return v_sum(sum);
}

static inline rdk_real row_sum(size_t n, const rdk_real *x)
{
    vreal sum = v_set(0);
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) sum += v_load(x + j);
    if (j < n) sum += v_load_n(x + j, n - j);
    return v_sum(sum);
}

/* dx += y (dy - <y, dy>) */
RDK_SHARED static void softmax_backward_rows(size_t begin, size_t end, size_t n, const rdk_real *y,
                                             const rdk_real *dy, rdk_real *dx)
{
    for (size_t r = begin; r < end; r++) {
        size_t at = r * n;
        rdk_real mean = row_dot(n, y + at, dy + at);
        for (size_t j = at; j < at + n; j++) dx[j] += y[j] * (dy[j] - mean);
    }
}

static void softmax_backward(size_t rows, size_t n, const rdk_real *y, const rdk_real *dy,
                             rdk_real *dx)
{
    RDK_SHARE(rows * n >= SERIAL_ELEMENTS, rows, softmax_backward_rows, n, y, dy, dx);
}

RDK_SHARED static void log_softmax_rows(size_t begin, size_t end, size_t n, const rdk_real *x,
                                        rdk_real *y)
{
    for (size_t r = begin; r < end; r++) {
        size_t at = r * n;
        rdk_real max = row_largest(n, x + at), log_sum = r_log1p(row_rest(n, x + at, max));
        for (size_t j = at; j < at + n; j++) y[j] = (x[j] - max) - log_sum;
    }
}

static void log_softmax(size_t rows, size_t n, const rdk_real *x, rdk_real *y)
{
    RDK_SHARE(rows * n >= SERIAL_ELEMENTS, rows, log_softmax_rows, n, x, y);
}

/* dx += dy - exp(y) sum(dy) */
RDK_SHARED static void log_softmax_backward_rows(size_t begin, size_t end, size_t n,
                                                 const rdk_real *y, const rdk_real *dy,
                                                 rdk_real *dx)
{
    for (size_t r = begin; r < end; r++) {
        size_t at = r * n, j = 0;
        rdk_real total = row_sum(n, dy + at);
        const rdk_real *yr = y + at, *dyr = dy + at;
        rdk_real *dxr = dx + at;
        for (; j + LANES <= n; j += LANES) {
            vreal change = v_load(dyr + j) - v_exp(v_load(yr + j)) * total;
            v_store(dxr + j, v_load(dxr + j) + change);
        }
        if (j < n) {
            size_t rest = n - j;
            vreal change = v_load_n(dyr + j, rest) - v_exp(v_load_n(yr + j, rest)) * total;
            v_store_n(dxr + j, rest, v_load_n(dxr + j, rest) + change);
        }
    }
}

static void log_softmax_backward(size_t rows, size_t n, const rdk_real *y, const rdk_real *dy,
                                 rdk_real *dx)
{
    RDK_SHARE(rows * n >= SERIAL_ELEMENTS, rows, log_softmax_backward_rows, n, y, dy, dx);
}
