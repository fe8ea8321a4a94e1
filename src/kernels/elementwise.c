/* SPDX-License-Identifier: MIT
 * Kernels that treat each element alone: functions with their derivatives, sums, products; and rows
 * summed into one row.
 *
 * Invariant: a kernel gives an element the same bits wherever it stands in the array, in whole
 * vectors or in the tail. NaN in gives NaN out; an infinity goes where the formula sends it.
 * Read next: vector.h (exp, tanh), erf.h, rows.c. */
#include "chunks.h"
#include "erf.h"
#include "kernels.h"
#include "vector.h"

/* ---- the functions --------------------------------------------------------------------------- */

/* gelu_tanh(x) = x sigmoid(2u), u = sqrt(2/pi) (x + cubic x^3): Hendrycks and Gimpel 2016, section
 * 2, by (1 + tanh u) / 2 = sigmoid(2u). */
static const rdk_real gelu_rate = (rdk_real)1.5957691216057308; /* 2 sqrt(2/pi) */
static const rdk_real gelu_cubic = (rdk_real)0.044715;
static const rdk_real erf_rate = (rdk_real)1.1283791670955126; /* 2 / sqrt(pi), erf'(0) */

static inline vreal v_log(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = r_log(x[l]);
    return x;
}

static inline vreal v_relu(vreal x)
{
    return v_select(x <= 0, v_set(0), x);
}

static inline vreal v_gelu(vreal x)
{
    return x * v_normal_cdf(x);
}

/* 2u of gelu_tanh. */
static inline vreal gelu_exponent(vreal x)
{
    return gelu_rate * v_fused(v_set(gelu_cubic), x * x * x, x);
}

static inline vreal v_gelu_tanh(vreal x)
{
    return x * v_sigmoid(gelu_exponent(x));
}

static inline vreal v_silu(vreal x)
{
    return x * v_sigmoid(x);
}

/* ---- dy f'(x), from x, y = f(x) and dy ------------------------------------------------------- */

/* What a derivative has in common with its function is written in the same words, inlined, so that
 * a pass that wants both computes it once; and with multiply-adds that v_fused states, so that it
 * has the same bits in a pass that wants one. */

static inline vreal exp_slope(vreal x, vreal y, vreal dy)
{
    (void)x;
    return dy * y;
}

static inline vreal log_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    return dy / x;
}

static inline vreal tanh_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    return dy * v_tanh_slope(x);
}

static inline vreal erf_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    return dy * (erf_rate * v_exp(-x * x));
}

static inline vreal relu_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    return v_select(x <= 0, v_set(0), dy);
}

static inline vreal gelu_exact_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    return dy * v_gelu_slope(x);
}

/* d/dx (x s), s = sigmoid(u): s + x s (1 - s) u'. With e = exp(-u): 1 - s = e s, without
 * cancellation. far: where e or u' may be infinite. There s is the slope, 0 or 1, off by 3e-36 at
 * most. */
static inline vreal logistic_slope(vreal x, vreal u, vreal du, vint far)
{
    vreal e = v_exp(-u), s = 1 / (1 + e);
    return v_select(far, s, v_fused(x * s, e * s * du, s));
}

static inline vreal gelu_tanh_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    static const rdk_real bound = 10; /* u = -87 there */
    vreal square = x * x, du = v_fused(v_set(3 * gelu_rate * gelu_cubic), square, v_set(gelu_rate));
    return dy * logistic_slope(x, gelu_exponent(x), du, square > bound * bound);
}

static inline vreal silu_slope(vreal x, vreal y, vreal dy)
{
    (void)y;
    static const rdk_real bound = 87;
    return dy * logistic_slope(x, x, v_set(1), x * x > bound * bound);
}

/* ---- over arrays ----------------------------------------------------------------------------- */

/* Every function with its derivative, for the switches below: in each case the two are known, and
 * inlined. */
/* clang-format off */
#define MAPS(m) \
    m(RDK_MAP_EXP, v_exp, exp_slope) \
    m(RDK_MAP_LOG, v_log, log_slope) \
    m(RDK_MAP_TANH, v_tanh, tanh_slope) \
    m(RDK_MAP_ERF, v_erf, erf_slope) \
    m(RDK_MAP_RELU, v_relu, relu_slope) \
    m(RDK_MAP_GELU, v_gelu, gelu_exact_slope) \
    m(RDK_MAP_GELU_TANH, v_gelu_tanh, gelu_tanh_slope) \
    m(RDK_MAP_SILU, v_silu, silu_slope)
/* clang-format on */

static inline void map_range(vreal (*f)(vreal), size_t n, const rdk_real *x, rdk_real *y)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(y + i, f(v_load(x + i)));
    if (i < n) v_store_n(y + i, n - i, f(v_load_n(x + i, n - i)));
}

#define MAP_CASE(name, f, df)                                                                      \
    case name:                                                                                     \
        map_range(f, n, x, y);                                                                     \
        break;

static void map_chunk(rdk_map f, size_t n, const rdk_real *x, rdk_real *y)
{
    switch (f) {
        MAPS(MAP_CASE)
    }
}

RDK_SHARED static void map_chunks(size_t begin, size_t end, size_t size, rdk_map f, size_t n,
                                  const rdk_real *x, rdk_real *y)
{
    for (size_t c = begin; c < end; c++)
        map_chunk(f, chunk_length(n, size, c), x + c * size, y + c * size);
}

static void map(rdk_map f, size_t n, const rdk_real *x, rdk_real *y)
{
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT);
    RDK_SHARE(n >= SERIAL_ELEMENTS, chunk_count(n, size), map_chunks, size, f, n, x, y);
}

static inline void slope_range(vreal (*df)(vreal, vreal, vreal), size_t n, const rdk_real *x,
                               const rdk_real *y, const rdk_real *dy, rdk_real *dx, bool add)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vreal slope = df(v_load(x + i), v_load(y + i), v_load(dy + i));
        v_store(dx + i, add ? v_load(dx + i) + slope : slope);
    }
    if (i < n) {
        size_t rest = n - i;
        vreal slope = df(v_load_n(x + i, rest), v_load_n(y + i, rest), v_load_n(dy + i, rest));
        v_store_n(dx + i, rest, add ? v_load_n(dx + i, rest) + slope : slope);
    }
}

#define SLOPE_CASE(name, f, df)                                                                    \
    case name:                                                                                     \
        slope_range(df, n, x, y, dy, dx, add);                                                     \
        break;

static void slope_chunk(rdk_map f, size_t n, const rdk_real *x, const rdk_real *y,
                        const rdk_real *dy, rdk_real *dx, bool add)
{
    switch (f) {
        MAPS(SLOPE_CASE)
    }
}

RDK_SHARED static void slope_chunks(size_t begin, size_t end, size_t size, rdk_map f, size_t n,
                                    const rdk_real *x, const rdk_real *y, const rdk_real *dy,
                                    rdk_real *dx, bool add)
{
    for (size_t c = begin; c < end; c++) {
        size_t at = c * size;
        slope_chunk(f, chunk_length(n, size, c), x + at, y + at, dy + at, dx + at, add);
    }
}

static void map_backward(rdk_map f, size_t n, const rdk_real *x, const rdk_real *y,
                         const rdk_real *dy, rdk_real *dx, bool add)
{
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT);
    RDK_SHARE(n >= SERIAL_ELEMENTS, chunk_count(n, size), slope_chunks, size, f, n, x, y, dy, dx,
              add);
}

/* df: with dy = 1 */
static inline void map_and_slope_range(vreal (*f)(vreal), vreal (*df)(vreal, vreal, vreal),
                                       size_t n, const rdk_real *x, rdk_real *y, rdk_real *slope)
{
    const vreal one = v_set(1);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vreal at = v_load(x + i), value = f(at);
        v_store(y + i, value);
        v_store(slope + i, df(at, value, one));
    }
    if (i < n) {
        vreal at = v_load_n(x + i, n - i), value = f(at);
        v_store_n(y + i, n - i, value);
        v_store_n(slope + i, n - i, df(at, value, one));
    }
}

#define MAP_AND_SLOPE_CASE(name, f, df)                                                            \
    case name:                                                                                     \
        map_and_slope_range(f, df, n, x, y, slope);                                                \
        break;

static void map_and_slope_chunk(rdk_map f, size_t n, const rdk_real *x, rdk_real *y,
                                rdk_real *slope)
{
    switch (f) {
        MAPS(MAP_AND_SLOPE_CASE)
    }
}

RDK_SHARED static void map_and_slope_chunks(size_t begin, size_t end, size_t size, rdk_map f,
                                            size_t n, const rdk_real *x, rdk_real *y,
                                            rdk_real *slope)
{
    for (size_t c = begin; c < end; c++) {
        size_t at = c * size;
        map_and_slope_chunk(f, chunk_length(n, size, c), x + at, y + at, slope + at);
    }
}

static void map_and_slope(rdk_map f, size_t n, const rdk_real *x, rdk_real *y, rdk_real *slope)
{
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT);
    RDK_SHARE(n >= SERIAL_ELEMENTS, chunk_count(n, size), map_and_slope_chunks, size, f, n, x, y,
              slope);
}

/* The following loops are left to the compiler's own vectoriser. */

RDK_SHARED static void add_range(size_t begin, size_t end, const rdk_real *a, const rdk_real *b,
                                 rdk_real *y)
{
    for (size_t i = begin; i < end; i++) y[i] = a[i] + b[i];
}

static void add(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y)
{
    RDK_SHARE(n >= SERIAL_ELEMENTS, n, add_range, a, b, y);
}

RDK_SHARED static void mul_range(size_t begin, size_t end, const rdk_real *a, const rdk_real *b,
                                 rdk_real *y)
{
    for (size_t i = begin; i < end; i++) y[i] = a[i] * b[i];
}

static void mul(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y)
{
    RDK_SHARE(n >= SERIAL_ELEMENTS, n, mul_range, a, b, y);
}

RDK_SHARED static void mul_add_range(size_t begin, size_t end, const rdk_real *a, const rdk_real *b,
                                     rdk_real *y)
{
    for (size_t i = begin; i < end; i++) y[i] += a[i] * b[i];
}

static void mul_add(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y)
{
    RDK_SHARE(n >= SERIAL_ELEMENTS, n, mul_add_range, a, b, y);
}

RDK_SHARED static void axpy_range(size_t begin, size_t end, rdk_real a, const rdk_real *x,
                                  rdk_real *y)
{
    for (size_t i = begin; i < end; i++) y[i] += a * x[i];
}

static void axpy(size_t n, rdk_real a, const rdk_real *x, rdk_real *y)
{
    RDK_SHARE(n >= SERIAL_ELEMENTS, n, axpy_range, a, x, y);
}

RDK_SHARED static void scale_range(size_t begin, size_t end, rdk_real a, const rdk_real *x,
                                   rdk_real *y)
{
    for (size_t i = begin; i < end; i++) y[i] = a * x[i];
}

static void scale(size_t n, rdk_real a, const rdk_real *x, rdk_real *y)
{
    RDK_SHARE(n >= SERIAL_ELEMENTS, n, scale_range, a, x, y);
}

/* ---- one row and many ------------------------------------------------------------------------ */

/* Vectors of columns that are summed side by side: whole lines of the cache, and the next ones. */
enum { SUMMED_VECTORS = 4 };

/* y += sum of the rows of x for `vectors` whole vectors of columns, or where there is one for
 * `width` <= LANES columns: groups of rows are summed, and the sums of groups in double, so that a
 * long column loses no digits. */
static inline void sum_columns(size_t rows, size_t cols, const size_t vectors, size_t width,
                               const rdk_real *x, rdk_real *y)
{
    vsum total[SUMMED_VECTORS] = {{{0}, {0}}};
    for (size_t begin = 0; begin < rows; begin += SUMMED_ROWS) {
        size_t end = rows - begin < SUMMED_ROWS ? rows : begin + SUMMED_ROWS;
        vreal sum[SUMMED_VECTORS] = {{0}};
        for (size_t r = begin; r < end; r++) {
            RDK_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                const rdk_real *part = x + r * cols + v * LANES;
                sum[v] += width == LANES ? v_load(part) : v_load_n(part, width);
            }
        }
        for (size_t v = 0; v < vectors; v++) total[v] = v_accumulate(total[v], sum[v]);
    }
    for (size_t v = 0; v < vectors; v++, y += LANES)
        v_store_n(y, width, v_narrow(v_accumulate(total[v], v_load_n(y, width))));
}

/* The strips begin .. end - 1 of columns. */
RDK_SHARED static void sum_strips(size_t begin, size_t end, size_t rows, size_t cols,
                                  const rdk_real *x, rdk_real *y)
{
    enum { WIDTH = SUMMED_VECTORS * LANES };
    for (size_t strip = begin * WIDTH; strip < cols && strip < end * WIDTH; strip += WIDTH) {
        if (cols - strip >= WIDTH) {
            sum_columns(rows, cols, SUMMED_VECTORS, LANES, x + strip, y + strip);
            continue;
        }
        for (size_t c = strip; c < cols; c += LANES) {
            size_t width = cols - c < LANES ? cols - c : LANES;
            sum_columns(rows, cols, 1, width, x + c, y + c);
        }
    }
}

static void sum_rows(size_t rows, size_t cols, const rdk_real *x, rdk_real *y)
{
    RDK_SHARE(rows * cols >= SERIAL_ELEMENTS, rdk_pieces(cols, SUMMED_VECTORS * LANES), sum_strips,
              rows, cols, x, y);
}
