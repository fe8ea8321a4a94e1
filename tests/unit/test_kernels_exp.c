/* SPDX-License-Identifier: MIT
 * exp and tanh of the kernels over the floats themselves: the bounds that src/kernels/vector.h
 * states, its special values, and that place in the array does not matter. */
#include "kernels_support.h"

enum { BLOCK = 8192 };

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The largest distance in ulps over every stride-th float from first to last, of one sign. */
static double worst_ulps(const rdk_kernels *k, rdk_map f, double (*truth)(double), float first,
                         float last, uint32_t stride)
{
    static float x[BLOCK], y[BLOCK];
    uint32_t sign = to_bits(last) & 0x80000000u, at = to_bits(first) & 0x7fffffffu;
    const uint32_t end = to_bits(last) & 0x7fffffffu;
    double worst = 0;
    while (at <= end) { /* asserts stay out of the loops here: each costs a system call */
        size_t n = 0;
        for (; n < BLOCK && at <= end; at += stride) x[n++] = from_bits(at | sign);
        k->map(f, n, x, y);
        for (size_t i = 0; i < n && !isnan(worst); i++) {
            double error = ulps(y[i], truth((double)x[i]));
            if (!(error <= worst)) worst = error; /* NaN too, once and for all */
        }
    }
    return worst;
}

static const float log_largest = 88.7228317f, log_least_normal = -87.3365402f;

START_TEST(exp_is_within_1_01_ulp_in_its_whole_range)
{
    TABLE(k);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_EXP, exp, 0, log_largest, 1009), 1.01);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_EXP, exp, -0.0f, log_least_normal, 1009), 1.01);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_EXP, exp, 88.7f, log_largest, 1), 1.01);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_EXP, exp, -87.33f, log_least_normal, 1), 1.01);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_EXP, exp, 0.346f, 0.347f, 1), 1.01);
}
END_TEST

START_TEST(exp_of_special_values)
{
    TABLE(k);
    float x[] = {0,     -0.0f,  1e-45f,      -1e-45f, INFINITY, -INFINITY,
                 3e38f, -3e38f, 88.7228394f, -87.34f, -104,     1e-8f};
    const float want[] = {1, 1, 1, 1, INFINITY, 0, INFINITY, 0, INFINITY, 0, 0, 1};
    k->map(RDK_MAP_EXP, COUNT(x), x, x);
    for (size_t i = 0; i < COUNT(x); i++) ck_assert_float_eq(x[i], want[i]);
    /* every kind of NaN, also one whose low bits the exponent would be added to */
    float nan[] = {NAN, -NAN, from_bits(0x7fc001ffu), from_bits(0x7f800001u),
                   from_bits(0xffffffffu)};
    k->map(RDK_MAP_EXP, COUNT(nan), nan, nan);
    for (size_t i = 0; i < COUNT(nan); i++) ck_assert(isnan(nan[i]));
}
END_TEST

START_TEST(tanh_is_within_3_ulp_of_every_float)
{
    TABLE(k);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_TANH, tanh, 1e-37f, 3e38f, 1009), 3);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_TANH, tanh, -1e-37f, -3e38f, 1009), 3);
    ck_assert_double_le(worst_ulps(k, RDK_MAP_TANH, tanh, 0.0615f, 0.062f, 1), 3);
}
END_TEST

START_TEST(tanh_of_special_values)
{
    TABLE(k);
    float x[] = {0, -0.0f, 1e-40f, -1e-40f, INFINITY, -INFINITY, 20, -20};
    const float want[] = {0, -0.0f, 1e-40f, -1e-40f, 1, -1, 1, -1};
    k->map(RDK_MAP_TANH, COUNT(x), x, x);
    for (size_t i = 0; i < COUNT(x); i++) ck_assert_uint_eq(to_bits(x[i]), to_bits(want[i]));
    float nan[] = {NAN, -NAN};
    k->map(RDK_MAP_TANH, COUNT(nan), nan, nan);
    ck_assert(isnan(nan[0]) && isnan(nan[1]));
}
END_TEST

START_TEST(the_place_in_the_array_changes_no_bit)
{
    TABLE(k);
    enum { N = 77 };
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        rdk_real *x = normals(N, 0, 3, 5), whole[N], alone;
        k->map(f, N, x, whole);
        for (size_t i = 0; i < N; i++) {
            k->map(f, 1, x + i, &alone);
            ck_assert(same_bits(&alone, whole + i, 1) || isnan(alone));
        }
        drop(x);
    }
}
END_TEST

RDK_TEST_MAIN("kernels: exp and tanh", {
    ADD_LOOP(exp_is_within_1_01_ulp_in_its_whole_range, ISAS);
    ADD_LOOP(exp_of_special_values, ISAS);
    ADD_LOOP(tanh_is_within_3_ulp_of_every_float, ISAS);
    ADD_LOOP(tanh_of_special_values, ISAS);
    ADD_LOOP(the_place_in_the_array_changes_no_bit, ISAS);
})
