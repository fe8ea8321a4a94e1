/* SPDX-License-Identifier: MIT
 * The element-wise kernels against plain double references: functions, derivatives, sums, products,
 * rows summed. */
#include "kernels_support.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double normal_cdf(double x)
{
    return erfc(-x / sqrt(2.0)) / 2;
}

static const double pi = 3.14159265358979323846, cubic = 0.044715;

static double truth(rdk_map f, double x)
{
    switch (f) {
    case RDK_MAP_EXP:
        return exp(x);
    case RDK_MAP_LOG:
        return log(x);
    case RDK_MAP_TANH:
        return tanh(x);
    case RDK_MAP_ERF:
        return erf(x);
    case RDK_MAP_RELU:
        return x > 0 ? x : 0;
    case RDK_MAP_GELU:
        return x * normal_cdf(x);
    case RDK_MAP_GELU_TANH:
        return x * sigmoid(2 * sqrt(2 / pi) * (x + cubic * x * x * x));
    case RDK_MAP_SILU:
        return x * sigmoid(x);
    }
    return NAN;
}

static double truth_slope(rdk_map f, double x)
{
    double s, u;
    switch (f) {
    case RDK_MAP_EXP:
        return exp(x);
    case RDK_MAP_LOG:
        return 1 / x;
    case RDK_MAP_TANH:
        return 1 / (cosh(x) * cosh(x));
    case RDK_MAP_ERF:
        return 2 / sqrt(pi) * exp(-x * x);
    case RDK_MAP_RELU:
        return x > 0;
    case RDK_MAP_GELU:
        return normal_cdf(x) + x * exp(-x * x / 2) / sqrt(2 * pi);
    case RDK_MAP_GELU_TANH:
        u = 2 * sqrt(2 / pi) * (x + cubic * x * x * x);
        s = sigmoid(u);
        return s + x * s * sigmoid(-u) * 2 * sqrt(2 / pi) * (1 + 3 * cubic * x * x);
    case RDK_MAP_SILU:
        s = sigmoid(x);
        return s + x * s * sigmoid(-x);
    }
    return NAN;
}

/* Relative error allowed at x. The logistic form carries the rounding of its exponent u, which is
 * |u| half-ulps of the result; erf's derivative the one of x^2; the derivatives cross zero within
 * |x| < 3, where they are compared with at least 0.3; those of exp, tanh and erf do not, and tanh's
 * is right to its tail (five times the grid). */
static double allowed(rdk_map f, double x)
{
    double u = f == RDK_MAP_GELU_TANH ? 1.6 * fabs(x + cubic * x * x * x)
               : f == RDK_MAP_SILU    ? fabs(x)
                                      : 0;
    return 1e-6 + 2e-7 * u;
}

static double allowed_slope(rdk_map f, double x)
{
    return f == RDK_MAP_ERF ? 1e-6 + 1e-7 * x * x : allowed(f, x);
}

static void check_values(rdk_map f, size_t n, const rdk_real *x, const rdk_real *y)
{
    for (size_t i = 0; i < n; i++) {
        double tolerance = allowed(f, (double)x[i]);
        ck_assert_close((double)y[i], truth(f, (double)x[i]), tolerance, 1e-30);
    }
}

/* dy NULL: 1 */
static void check_slopes(rdk_map f, size_t n, const rdk_real *x, const rdk_real *dy,
                         const rdk_real *dx)
{
    for (size_t i = 0; i < n; i++) {
        double factor = dy ? (double)dy[i] : 1;
        bool crosses = f > RDK_MAP_ERF && fabs((double)x[i]) <= 3;
        ck_assert_close((double)dx[i], truth_slope(f, (double)x[i]) * factor,
                        allowed_slope(f, (double)x[i]), (crosses ? 0.3 : 1e-30) * fabs(factor));
    }
}

START_TEST(functions_and_derivatives_over_a_grid)
{
    TABLE(k);
    enum { N = 1999 };
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        rdk_real *x = array(N), *y = array(N), *dy = normals(N, 0, 1, 3), *dx = array(N);
        for (size_t i = 0; i < N; i++) x[i] = (rdk_real)(-8 + 16.0 * (double)i / (N - 1));
        if (f == RDK_MAP_LOG) k->map(RDK_MAP_EXP, N, x, x);
        for (size_t i = 0; i < N && f == RDK_MAP_TANH; i++) x[i] *= 5;
        k->map(f, N, x, y);
        check_values(f, N, x, y);
        k->map_backward(f, N, x, y, dy, dx, true);
        check_slopes(f, N, x, dy, dx);
        k->map_and_slope(f, N, x, y, dx);
        check_values(f, N, x, y);
        check_slopes(f, N, x, NULL, dx);
        drop(x);
        drop(y);
        drop(dy);
        drop(dx);
    }
}
END_TEST

START_TEST(backward_adds_or_writes_and_sizes_are_kept)
{
    TABLE(k);
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
            rdk_real *x = normals(n, 2, 0.4, 1), *y = array(n), *dx = normals(n, 0, 1, 2);
            rdk_real *old = copy_of(dx, n), *dy = normals(n, 0, 1, 3);
            k->map(f, n, x, y);
            k->map_backward(f, n, x, y, dy, dx, true);
            for (size_t i = 0; i < n; i++) {
                ck_assert_close((double)y[i], truth(f, (double)x[i]), 2e-6, 1e-6);
                double want = (double)old[i] + truth_slope(f, (double)x[i]) * (double)dy[i];
                ck_assert_close((double)dx[i], want, 2e-6, 1);
            }
            k->map_backward(f, n, x, y, dy, dx, false);
            for (size_t i = 0; i < n; i++) {
                double want = truth_slope(f, (double)x[i]) * (double)dy[i];
                ck_assert_close((double)dx[i], want, 2e-6, 1);
            }
            k->map_backward(f, n, x, y, dy, x, false); /* in its place */
            for (size_t i = 0; i < n; i++) ck_assert(x[i] == dx[i]);
            drop(x);
            drop(y);
            drop(dx);
            drop(old);
            drop(dy);
        }
    }
}
END_TEST

/* Around the place beyond which exp(-u) may be infinite, the slope is lost among 3e-36. */
START_TEST(slopes_far_to_the_left)
{
    TABLE(k);
    enum { N = 2001 };
    static const struct {
        rdk_map f;
        double bound;
    } cases[] = {{RDK_MAP_GELU_TANH, 10}, {RDK_MAP_SILU, 87}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        rdk_real *x = array(N), *y = array(N), *slope = array(N);
        for (size_t i = 0; i < N; i++)
            x[i] = (rdk_real)(cases[c].bound * (-0.8 - 0.4 * (double)i / (N - 1)));
        k->map_and_slope(cases[c].f, N, x, y, slope);
        for (size_t i = 0; i < N; i++) {
            double at = (double)x[i], tolerance = allowed(cases[c].f, at);
            ck_assert_close((double)slope[i], truth_slope(cases[c].f, at), tolerance,
                            3e-36 / tolerance);
        }
        drop(x);
        drop(y);
        drop(slope);
    }
}
END_TEST

/* dx = dy times the slope, but for log (dy / x) and relu (0 where dy is infinite). */
static bool is_factor(rdk_map f)
{
    return f != RDK_MAP_LOG && f != RDK_MAP_RELU;
}

START_TEST(one_pass_has_the_bits_of_two)
{
    TABLE(k);
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
            rdk_real *x = f == RDK_MAP_LOG ? normals(n, 3, 0.3, 1) : normals(n, 0, 3, 1);
            rdk_real *dy = normals(n, 0, 1, 2), *ones = normals(n, 1, 0, 3), *dx = array(n);
            rdk_real *y = array(n), *value = array(n), *slope = array(n);
            k->map(f, n, x, y);
            k->map_backward(f, n, x, y, ones, dx, false);
            k->map_and_slope(f, n, x, value, slope);
            ck_assert(same_bits(value, y, n) && same_bits(slope, dx, n));
            k->map_backward(f, n, x, y, dy, dx, false);
            k->map_and_slope(f, n, x, value, x); /* in its place */
            ck_assert(same_bits(value, y, n) && same_bits(x, slope, n));
            k->mul(n, dy, slope, slope);
            ck_assert(!is_factor(f) || same_bits(slope, dx, n));
            rdk_real *all[] = {x, dy, ones, y, dx, value, slope};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
        }
    }
}
END_TEST

START_TEST(hand_values)
{
    TABLE(k);
    /* erf(1) = 0.842700793; Phi(1) = 0.841344746; tanh form of GELU at 1 and -1; silu(1) = 1 / (1 +
     * 1/e) */
    rdk_real x[] = {1, -1}, y[2];
    k->map(RDK_MAP_ERF, 2, x, y);
    ck_assert_close((double)y[0], 0.842700793, 1e-6, 0);
    ck_assert_close((double)y[1], -0.842700793, 1e-6, 0);
    k->map(RDK_MAP_GELU, 2, x, y);
    ck_assert_close((double)y[0], 0.841344746, 1e-6, 0);
    ck_assert_close((double)y[1], -0.158655254, 1e-6, 0);
    k->map(RDK_MAP_GELU_TANH, 2, x, y);
    ck_assert_close((double)y[0], 0.841191991, 1e-6, 0);
    ck_assert_close((double)y[1], -0.158808009, 1e-6, 0);
    k->map(RDK_MAP_SILU, 2, x, y);
    ck_assert_close((double)y[0], 0.731058579, 1e-6, 0);
    ck_assert_close((double)y[1], -0.268941421, 1e-6, 0);
    rdk_real corner[] = {0, -0.0f, 1e-40f, -1e-40f}, up[] = {1, 1, 1, 1}, slope[4] = {0};
    k->map_backward(RDK_MAP_RELU, 4, corner, corner, up, slope, true);
    ck_assert(slope[0] == 0 && slope[1] == 0 && slope[2] == 1 && slope[3] == 0);
}
END_TEST

START_TEST(nan_stays_and_huge_values_are_kept_apart)
{
    TABLE(k);
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        rdk_real x[] = {NAN, 1, 2}, y[3], dy[] = {1, NAN, 1}, dx[3] = {0};
        k->map(f, 3, x, y);
        ck_assert(isnan(y[0]) && isfinite(y[1]) && isfinite(y[2]));
        k->map_backward(f, 3, x, y, dy, dx, true);
        ck_assert((f == RDK_MAP_RELU || isnan(dx[0])) && isnan(dx[1]) && isfinite(dx[2]));
    }
    static const rdk_map smooth[] = {RDK_MAP_RELU, RDK_MAP_GELU, RDK_MAP_GELU_TANH, RDK_MAP_SILU};
    for (size_t c = 0; c < COUNT(smooth); c++) {
        rdk_real x[] = {30, 1e20f, 3e38f, -1000, -1e20f, -3e38f, 1e-42f}, y[7], dx[7] = {0};
        rdk_real dy[] = {1, 1, 1, 1, 1, 1, 1};
        k->map(smooth[c], 7, x, y);
        k->map_backward(smooth[c], 7, x, y, dy, dx, true);
        for (int i = 0; i < 3; i++) ck_assert(y[i] == x[i] && dx[i] == 1);
        for (int i = 3; i < 6; i++) ck_assert(y[i] == 0 && dx[i] == 0);
        ck_assert(isfinite(y[6]) && isfinite(dx[6]));
        rdk_real ends[] = {INFINITY, -INFINITY}, slope[2];
        k->map_and_slope(smooth[c], 2, ends, y, slope);
        ck_assert(y[0] == ends[0] && slope[0] == 1 && slope[1] == 0);
    }
}
END_TEST

START_TEST(sums_and_products)
{
    TABLE(k);
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        rdk_real *a = normals(n, 0, 1, 1), *b = normals(n, 0, 1, 2), *y = normals(n, 0, 1, 3);
        rdk_real *got = array(n);
        k->add(n, a, b, got);
        for (size_t i = 0; i < n; i++) ck_assert(got[i] == a[i] + b[i]);
        k->mul(n, a, b, got);
        for (size_t i = 0; i < n; i++) ck_assert(got[i] == a[i] * b[i]);
        k->scale(n, 3, a, got);
        for (size_t i = 0; i < n; i++) ck_assert(got[i] == 3 * a[i]);
        if (n) memcpy(got, y, n * sizeof *y);
        k->mul_add(n, a, b, got);
        k->axpy(n, 2, a, got);
        for (size_t i = 0; i < n; i++) {
            double want = (double)y[i] + (double)a[i] * (double)b[i] + 2 * (double)a[i];
            ck_assert_close((double)got[i], want, 3e-7, 1);
        }
        rdk_real *in_place = copy_of(a, n);
        k->add(n, in_place, b, in_place);
        k->scale(n, -1, in_place, in_place);
        for (size_t i = 0; i < n; i++) ck_assert(in_place[i] == -(a[i] + b[i]));
        k->mul(n, a, in_place, in_place);
        k->mul(n, in_place, b, in_place);
        for (size_t i = 0; i < n; i++) ck_assert(in_place[i] == a[i] * -(a[i] + b[i]) * b[i]);
        drop(a);
        drop(b);
        drop(y);
        drop(got);
        drop(in_place);
    }
}
END_TEST

START_TEST(rows_summed)
{
    TABLE(k);
    static const size_t row_counts[] = {0, 1, 2, 31, 32, 33, 300};
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        for (size_t c = 0; c < COUNT(row_counts); c++) {
            size_t cols = odd_sizes[s], rows = row_counts[c];
            rdk_real *x = normals(rows * cols, 0, 1, 2), *old = normals(cols, 0, 1, 1);
            rdk_real *sum = copy_of(old, cols);
            k->sum_rows(rows, cols, x, sum);
            for (size_t j = 0; j < cols; j++) {
                double want = (double)old[j];
                for (size_t r = 0; r < rows; r++) want += (double)x[r * cols + j];
                ck_assert_close((double)sum[j], want, 1e-6, 10);
            }
            drop(x);
            drop(old);
            drop(sum);
        }
    }
}
END_TEST

/* One chain of floats would be off in the fourth digit. */
START_TEST(a_long_column_loses_no_digits)
{
    TABLE(k);
    enum { ROWS = 100000 };
    rdk_real *x = array(ROWS), sum = 0;
    for (size_t r = 0; r < ROWS; r++) x[r] = (rdk_real)0.1;
    k->sum_rows(ROWS, 1, x, &sum);
    ck_assert_close((double)sum, ROWS * (double)(rdk_real)0.1, 1e-6, 0);
    drop(x);
}
END_TEST

RDK_TEST_MAIN("kernels: element by element", {
    ADD_LOOP(functions_and_derivatives_over_a_grid, ISAS);
    ADD_LOOP(backward_adds_or_writes_and_sizes_are_kept, ISAS);
    ADD_LOOP(slopes_far_to_the_left, ISAS);
    ADD_LOOP(one_pass_has_the_bits_of_two, ISAS);
    ADD_LOOP(hand_values, ISAS);
    ADD_LOOP(nan_stays_and_huge_values_are_kept_apart, ISAS);
    ADD_LOOP(sums_and_products, ISAS);
    ADD_LOOP(rows_summed, ISAS);
    ADD_LOOP(a_long_column_loses_no_digits, ISAS);
})
