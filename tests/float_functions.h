/* SPDX-License-Identifier: MIT
 * The functions of one float that the kernels compute themselves, each with the range, the truth
 * and the bound that src/kernels/vector.h and erf.h state; and how far a table is from the truth
 * there. tests/unit/test_kernels_exp.c walks them in strides, tests/exhaustive/functions.c float by
 * float. */
#ifndef RDK_TEST_FLOAT_FUNCTIONS_H
#define RDK_TEST_FLOAT_FUNCTIONS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

static inline float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* One over the spacing of the floats at x, with the spacing of the least normal ones below them. */
static inline double per_ulp(double x)
{
    enum { FLOAT_DIGITS = 24, LEAST_EXPONENT = -125 };
    int exponent;
    frexp(x, &exponent);
    if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
    return ldexp(1.0, FLOAT_DIGITS - exponent);
}

/* |got - want| in spacings of the normal floats at want. */
static inline double ulps(float got, double want)
{
    return fabs((double)got - want) * per_ulp(want);
}

static inline double true_zero(double x)
{
    (void)x;
    return 0;
}

static inline double true_infinity(double x)
{
    (void)x;
    return INFINITY;
}

static inline double true_gelu(double x)
{
    return x * erfc(-x / sqrt(2.0)) / 2;
}

/* It crosses zero near -0.7518, so around there errors are counted in ulps of 1/8. */
static inline double true_gelu_slope(double x)
{
    if (isinf(x)) return x > 0; /* not inf exp(-inf) */
    static const double density_at_0 = 0.39894228040143267794;
    return erfc(-x / sqrt(2.0)) / 2 + x * density_at_0 * exp(-x * x / 2);
}

/* All floats of one sign from first to last, or those after first. Infinities are among them,
 * all but -inf of GELU, which is NaN (erf.h). */
typedef struct float_function {
    const char *name;
    rdk_map map;
    bool slope; /* its derivative */
    bool after;
    float first, last;
    double bound; /* in ulps of max(|truth|, least) */
    double least;
    double (*truth)(double);
} float_function;

static const float log_largest = 88.7228317f, log_least_normal = -87.3365402f;
static const float gelu_reach = -12.9499f;

static const float_function float_functions[] = {
    {"exp", RDK_MAP_EXP, false, false, 0, log_largest, 1.01, 0, exp},
    {"exp", RDK_MAP_EXP, false, false, -0.0f, log_least_normal, 1.01, 0, exp},
    {"exp", RDK_MAP_EXP, false, true, log_largest, INFINITY, 0, 0, true_infinity},
    {"exp", RDK_MAP_EXP, false, true, log_least_normal, -INFINITY, 0, 0, true_zero},
    {"tanh", RDK_MAP_TANH, false, false, 0, INFINITY, 3, 0, tanh},
    {"tanh", RDK_MAP_TANH, false, false, -0.0f, -INFINITY, 3, 0, tanh},
    {"erf", RDK_MAP_ERF, false, false, 0, INFINITY, 2.5, 0, erf},
    {"erf", RDK_MAP_ERF, false, false, -0.0f, -INFINITY, 2.5, 0, erf},
    {"gelu", RDK_MAP_GELU, false, false, 0, INFINITY, 2, 0, true_gelu},
    {"gelu", RDK_MAP_GELU, false, false, -0.0f, gelu_reach, 6, 0, true_gelu},
    {"gelu", RDK_MAP_GELU, false, true, gelu_reach, -FLT_MAX, 0, 0, true_zero},
    {"gelu'", RDK_MAP_GELU, true, false, 0, INFINITY, 2, 0, true_gelu_slope},
    {"gelu'", RDK_MAP_GELU, true, false, -0.0f, -1, 5, 0.125, true_gelu_slope},
    {"gelu'", RDK_MAP_GELU, true, false, -1, gelu_reach, 5, 0, true_gelu_slope},
    {"gelu'", RDK_MAP_GELU, true, true, gelu_reach, -INFINITY, 0, 0, true_zero},
};

enum {
    FLOAT_FUNCTIONS = sizeof float_functions / sizeof *float_functions,
    FLOAT_BLOCK = 4096,
};

/* Where a function is furthest from the truth. */
typedef struct float_error {
    double ulps; /* NaN once one value is */
    float at;
} float_error;

/* The bits without the sign of the first float of f, and of its last. */
static inline uint32_t float_first(const float_function *f)
{
    return (to_bits(f->first) & 0x7fffffffu) + f->after;
}

static inline uint32_t float_last(const float_function *f)
{
    return to_bits(f->last) & 0x7fffffffu;
}

/* y = f(x) or its derivative by k, for n <= FLOAT_BLOCK numbers. x and y do not overlap. */
static inline void float_apply(const rdk_kernels *k, const float_function *f, size_t n,
                               const float *x, float *y)
{
    float value[FLOAT_BLOCK], ones[FLOAT_BLOCK];
    k->map(f->map, n, x, f->slope ? value : y);
    if (!f->slope) return;
    for (size_t i = 0; i < n; i++) ones[i] = 1;
    k->map_backward(f->map, n, x, value, ones, y, false);
}

static inline void float_compare(size_t n, const float *x, const float *got, const double *want,
                                 const double *scale, float_error *worst)
{
    for (size_t i = 0; i < n && !isnan(worst->ulps); i++) {
        if ((double)got[i] == want[i]) continue; /* infinity too */
        double error = fabs((double)got[i] - want[i]) * scale[i];
        if (!(error <= worst->ulps)) *worst = (float_error){error, x[i]};
    }
}

/* Worst errors of the tables k[0 .. tables) over every stride-th float of f whose bits without the
 * sign are in [begin, end]; added to worst[0 .. tables). */
static inline void float_scan(int tables, const rdk_kernels *const k[], const float_function *f,
                              uint32_t begin, uint32_t end, uint32_t stride, float_error worst[])
{
    float x[FLOAT_BLOCK], got[FLOAT_BLOCK];
    double want[FLOAT_BLOCK], scale[FLOAT_BLOCK];
    const uint32_t sign = to_bits(f->last) & 0x80000000u;
    uint64_t at = begin;
    while (at <= end) {
        size_t n = 0;
        for (; n < FLOAT_BLOCK && at <= end; at += stride, n++) {
            x[n] = from_bits((uint32_t)at | sign);
            want[n] = f->truth((double)x[n]);
            scale[n] = per_ulp(fmax(fabs(want[n]), f->least));
        }
        for (int t = 0; t < tables; t++) {
            float_apply(k[t], f, n, x, got);
            float_compare(n, x, got, want, scale, worst + t);
        }
    }
}

#endif
