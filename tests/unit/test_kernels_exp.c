/* SPDX-License-Identifier: MIT
 * exp, tanh, erf and the exact GELU of the kernels over the floats themselves: the bounds that
 * src/kernels/vector.h and erf.h state, special values, and that place in the array does not
 * matter. `make exhaustive` tries the floats that the strides here leave out. */
#include "kernels_support.h"
#include "float_functions.h"

/* The worst error of k over every stride-th float of f between first and last, of f's sign. */
static double worst_ulps(const rdk_kernels *k, const float_function *f, uint32_t first,
                         uint32_t last, uint32_t stride)
{
    float_error worst = {0};
    float_scan(1, &k, f, first, last, stride, &worst);
    return worst.ulps;
}

START_TEST(every_1009th_float_is_within_its_bound)
{
    TABLE(k);
    for (size_t i = 0; i < FLOAT_FUNCTIONS; i++) {
        const float_function *f = float_functions + i;
        double worst = worst_ulps(k, f, float_first(f), float_last(f), 1009);
        ck_assert_msg(worst <= f->bound, "%s up to %g: %g ulp", f->name, (double)f->last, worst);
    }
}
END_TEST

/* Where the worst errors are, where a formula takes over from another, and the ends: every float.
 */
START_TEST(every_float_of_some_intervals_is_within_its_bound)
{
    TABLE(k);
    static const float intervals[][2] = {
        {0.0303f, 0.0304f}, {0.0615f, 0.062f}, {0.346f, 0.347f}, {0.7499f, 0.766f},
        {0.9999f, 1.0001f}, {6.625f, 6.626f},  {9.999f, 10.01f}, {12.949f, 12.951f},
        {87.33f, 87.34f},   {88.7f, 88.73f},   {3.999f, 4.001f},
    };
    for (size_t i = 0; i < FLOAT_FUNCTIONS; i++) {
        const float_function *f = float_functions + i;
        for (size_t j = 0; j < COUNT(intervals); j++) {
            uint32_t first = to_bits(intervals[j][0]), last = to_bits(intervals[j][1]);
            if (first < float_first(f)) first = float_first(f);
            if (last > float_last(f)) last = float_last(f);
            double worst = worst_ulps(k, f, first, last, 1);
            ck_assert_msg(worst <= f->bound, "%s at %g: %g ulp", f->name, (double)intervals[j][0],
                          worst);
        }
    }
}
END_TEST

/* Every kind of NaN gives NaN, also one whose low bits an exponent would be added to. */
static void check_nan(const rdk_kernels *k, rdk_map f)
{
    float nan[] = {NAN, -NAN, from_bits(0x7fc001ffu), from_bits(0x7f800001u),
                   from_bits(0xffffffffu)};
    float ones[] = {1, 1, 1, 1, 1}, y[COUNT(nan)];
    k->map(f, COUNT(nan), nan, y);
    k->map_backward(f, COUNT(nan), nan, y, ones, ones, false);
    for (size_t i = 0; i < COUNT(nan); i++) ck_assert(isnan(y[i]) && isnan(ones[i]));
}

START_TEST(exp_of_special_values)
{
    TABLE(k);
    float x[] = {0,     -0.0f,  1e-45f,      -1e-45f, INFINITY, -INFINITY,
                 3e38f, -3e38f, 88.7228394f, -87.34f, -104,     1e-8f};
    const float want[] = {1, 1, 1, 1, INFINITY, 0, INFINITY, 0, INFINITY, 0, 0, 1};
    k->map(RDK_MAP_EXP, COUNT(x), x, x);
    for (size_t i = 0; i < COUNT(x); i++) ck_assert_float_eq(x[i], want[i]);
    check_nan(k, RDK_MAP_EXP);
}
END_TEST

START_TEST(tanh_of_special_values)
{
    TABLE(k);
    float x[] = {0, -0.0f, 1e-40f, -1e-40f, INFINITY, -INFINITY, 20, -20};
    const float want[] = {0, -0.0f, 1e-40f, -1e-40f, 1, -1, 1, -1};
    k->map(RDK_MAP_TANH, COUNT(x), x, x);
    for (size_t i = 0; i < COUNT(x); i++) ck_assert_uint_eq(to_bits(x[i]), to_bits(want[i]));
    check_nan(k, RDK_MAP_TANH);
}
END_TEST

/* Near 0 erf(x) = 2 / sqrt(pi) x, which rounds to x of the least float. */
START_TEST(erf_of_special_values)
{
    TABLE(k);
    float x[] = {0, -0.0f, 1e-45f, -1e-45f, INFINITY, -INFINITY, 4, -4};
    const float want[] = {0, -0.0f, 1e-45f, -1e-45f, 1, -1, 1, -1};
    k->map(RDK_MAP_ERF, COUNT(x), x, x);
    for (size_t i = 0; i < COUNT(x); i++) ck_assert_uint_eq(to_bits(x[i]), to_bits(want[i]));
    check_nan(k, RDK_MAP_ERF);
}
END_TEST

/* -inf Phi(-inf) is NaN, as inf * 0 is; its slope is 0.
 * -5 Phi(-5) = -1.43325786e-6, of which 1 + erf(-5 / sqrt(2)) in float has no digit but the first.
 */
START_TEST(gelu_of_special_values)
{
    TABLE(k);
    float x[] = {0, -0.0f, -5, 5, INFINITY, -13, -FLT_MAX, -12, -INFINITY}, y[COUNT(x)];
    const double want[] = {0, 0, -1.4332578594e-6,  4.99999856674, INFINITY,
                           0, 0, -2.13177853449e-32};
    const double bound[] = {0, 0, 5, 1, 0, 0, 0, 5};
    k->map(RDK_MAP_GELU, COUNT(x), x, y);
    for (size_t i = 0; i < COUNT(want); i++)
        ck_assert((double)y[i] == want[i] || ulps(y[i], want[i]) <= bound[i]);
    ck_assert(!signbit(y[0]) && signbit(y[1]));
    rdk_real slope[2] = {NAN, NAN}, ones[] = {1, 1};
    k->map_backward(RDK_MAP_GELU, 1, x + 4, y + 4, ones, slope, false);
    k->map_backward(RDK_MAP_GELU, 1, x + 8, y + 8, ones, slope + 1, false);
    ck_assert(isnan(y[8]) && slope[0] == 1 && slope[1] == 0);
    check_nan(k, RDK_MAP_GELU);
}
END_TEST

/* (Check writes each assertion down, which would take a minute here.) */
static void check_same(size_t n, const float *x, const float *got, const float *want, rdk_map f)
{
    for (size_t i = 0; i < n; i++) {
        if (to_bits(got[i]) == to_bits(want[i]) || (isnan(got[i]) && isnan(want[i]))) continue;
        ck_abort_msg("map %d at %g: %a, not %a", (int)f, (double)x[i], (double)got[i],
                     (double)want[i]);
    }
}

/* NaN, infinities and denormals are among them. */
START_TEST(one_pass_has_the_bits_of_two_at_every_1009th_float)
{
    TABLE(k);
    float x[FLOAT_BLOCK], y[FLOAT_BLOCK], dx[FLOAT_BLOCK], ones[FLOAT_BLOCK];
    float value[FLOAT_BLOCK], slope[FLOAT_BLOCK];
    for (size_t i = 0; i < FLOAT_BLOCK; i++) ones[i] = 1;
    for (uint64_t at = 0; at <= UINT32_MAX;) {
        size_t n = 0;
        for (; n < FLOAT_BLOCK && at <= UINT32_MAX; at += 1009) x[n++] = from_bits((uint32_t)at);
        for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
            k->map(f, n, x, y);
            k->map_backward(f, n, x, y, ones, dx, false);
            k->map_and_slope(f, n, x, value, slope);
            check_same(n, x, value, y, f);
            check_same(n, x, slope, dx, f);
        }
    }
}
END_TEST

START_TEST(the_place_in_the_array_changes_no_bit)
{
    TABLE(k);
    enum { N = 77 };
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        rdk_real *x = normals(N, 0, 3, 5), whole[N], slopes[N], alone, slope;
        k->map_and_slope(f, N, x, whole, slopes);
        for (size_t i = 0; i < N; i++) {
            k->map(f, 1, x + i, &alone);
            ck_assert(same_bits(&alone, whole + i, 1) || isnan(alone));
            k->map_and_slope(f, 1, x + i, &alone, &slope);
            ck_assert(same_bits(&slope, slopes + i, 1));
        }
        drop(x);
    }
}
END_TEST

RDK_TEST_MAIN("kernels: exp, tanh, erf and GELU", {
    ADD_LOOP(every_1009th_float_is_within_its_bound, ISAS);
    ADD_LOOP(every_float_of_some_intervals_is_within_its_bound, ISAS);
    ADD_LOOP(exp_of_special_values, ISAS);
    ADD_LOOP(tanh_of_special_values, ISAS);
    ADD_LOOP(erf_of_special_values, ISAS);
    ADD_LOOP(gelu_of_special_values, ISAS);
    ADD_LOOP(one_pass_has_the_bits_of_two_at_every_1009th_float, ISAS);
    ADD_LOOP(the_place_in_the_array_changes_no_bit, ISAS);
})
