/* SPDX-License-Identifier: MIT
 * erf and what the exact GELU needs: the distribution function Phi of the normal distribution,
 * right relative to itself also far on the left, and the derivative of x Phi(x).
 *
 * With phi(a) = exp(-a^2/2) / sqrt(2 pi) and the ratio of Mills M(a) = Phi(-a) / phi(a), a >= 0:
 *
 *     Phi(-a) = phi(a) M(a)                   Phi(a) = 1 - Phi(-a)
 *     d/dx x Phi(x) = phi(a) (M(a) - a) =: s  at x = -a, and 1 - s at x = a
 *     erf(x) = 1 - 2 Phi(-x sqrt(2)), x > 0
 *
 * None of which cancels except where the result crosses zero. M falls smoothly from 1.25 to 0.08
 * over the reach of a float, so one polynomial does; nearer to 0 than 1 that of erf is better.
 *
 * Bounds in ulps of the true value, and the worst of all floats on x86-64 (make exhaustive; the
 * unit test tries every 1009th):
 *
 *     erf(x)                2.5  (2.41)
 *     x Phi(x), x >= 0      2    (1.77)    x < 0:  6  (5.80)
 *     its derivative        2    (1.83)    x < 0:  5  (4.94), for x > -1 of 1/8 at least
 *
 * At inf x Phi(x) is inf and its derivative 1. At -inf the derivative is 0, and the product is NaN,
 * -inf * 0, while of every finite x it is a number: to hold x would cost each element.
 *
 * Invariant: one element, one formula, whatever its neighbours: no branch on a whole vector. And
 * the same bits wherever it is inlined: v_fused states the multiply-adds. Other products that meet
 * a sum are exact, or wanted for themselves too, so that compilers leave them alone.
 * Read next: elementwise.c, which maps these over arrays. */
#ifndef RDK_ERF_H
#define RDK_ERF_H

#include "vector.h"

#ifdef RDK_DOUBLE

/* This build is for accuracy: libm, lane by lane. */
static inline vreal v_erf(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = erf(x[l]);
    return x;
}

static inline vreal v_normal_cdf(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = erfc(x[l] * -0.70710678118654752) / 2;
    return x;
}

static inline vreal v_gelu_slope(vreal x)
{
    x = v_min(v_set(40), v_max(v_set(-40), x)); /* beyond, it is 0 or 1; lest inf * 0 */
    return v_normal_cdf(x) + x * (0.39894228040143268 * v_exp(x * x * -0.5));
}

#else

static inline vreal v_abs(vreal x)
{
    return (vreal)((vint)x & ~(vint)v_set(-0.0f));
}

/* The polynomials of this file are minimax in relative error; scripts/erf_coefficients.py makes
 * them. Here erf(x) / x - 1 in x^2, off by 7.5e-9 of erf for |x| <= 3/4. */
static inline vreal v_erf_near_0(vreal x)
{
    vreal square = x * x;
    vreal q = v_fused(square, v_set(-0.000674951356f), v_set(0.00511434581f));
    q = v_fused(q, square, v_set(-0.0268346258f));
    q = v_fused(q, square, v_set(0.112833768f));
    q = v_fused(q, square, v_set(-0.3761262f));
    q = v_fused(q, square, v_set(0.128379166f));
    return v_fused(q, x, x);
}

/* q and *w of M(a) = q w, 1 <= a <= 12.98: (a + c) M(a) in (a - c) / (a + c), off by 1.6e-8, for
 * c = 1.875. */
static inline vreal v_mills(vreal a, vreal *w)
{
    static const float centre = 1.875f;
    *w = 1.0f / (a + centre);
    vreal u = (a - centre) * *w;
    vreal q = v_fused(u, v_set(0.00266467873f), v_set(0.000412218127f));
    q = v_fused(q, u, v_set(-0.00832410157f));
    q = v_fused(q, u, v_set(-0.0141307702f));
    q = v_fused(q, u, v_set(0.013184838f));
    q = v_fused(q, u, v_set(0.0922200307f));
    q = v_fused(q, u, v_set(0.0107459212f));
    q = v_fused(q, u, v_set(-0.753843307f));
    return v_fused(q, u, v_set(1.65710902f));
}

/* phi(a), 0 <= a <= 13. Rounding a^2 would cost up to a^2 / 4 ulp, so a is cut to its first 12 bits
 * h: h^2 is exact, and a^2 = h^2 + (a - h) (a + h). */
static inline vreal v_normal_density(vreal a)
{
    static const float peak = 0.398942280f; /* 1 / sqrt(2 pi) */
    vreal h = (vreal)((vint)a & ~0xfff);
    vreal most = h * h * -0.5f, rest = (a - h) * (a + h) * -0.5f;
    vbits n_bits;
    vreal n = v_exponent(most + rest, &n_bits);
    vreal r = v_less_exponent(most, n) + rest;
    return peak * v_scale(v_expm1_small(r) + 1.0f, n_bits);
}

/* erf, within 2.5 ulp of the true value of every float; a signed zero and NaN are kept. From `flat`
 * on it rounds to 1. */
static inline vreal v_erf(vreal x)
{
    static const float near = 0.75f, flat = 4.0f, root_two = 1.41421356f;
    vreal a = v_min(v_set(flat), v_abs(x)), z = root_two * a, w, q = v_mills(z, &w);
    vreal far = 1.0f - 2.0f * (v_normal_density(z) * (q * w));
    vint sign = (vint)x & (vint)v_set(-0.0f);
    return (vreal)((vint)v_select(a < near, v_erf_near_0(a), far) | sign);
}

/* What Phi and the slope of GELU have in common. Phi(-12.9499) is the last normal float; beyond the
 * density is taken for 0. NaN stays in a and tail. */
typedef struct vnormal {
    vreal a;       /* |x|, held at the reach */
    vreal density; /* phi(a) */
    vreal q, w;    /* M(a) = q w, of no use below 1 */
} vnormal;

static inline vnormal v_normal(vreal x)
{
    static const float reach = 12.9499f;
    vreal distance = v_abs(x), a = v_min(v_set(reach), distance);
    vreal density = (vreal)((vint)v_normal_density(a) & (distance <= reach));
    vreal w, q = v_mills(a, &w);
    return (vnormal){a, density, q, w};
}

/* Phi(x) for |x| < 1. */
static inline vreal v_normal_cdf_near_0(vreal x)
{
    static const float root_half = 0.707106781f;
    return v_fused(v_erf_near_0(root_half * x), v_set(0.5f), v_set(0.5f));
}

/* Phi(x). */
static inline vreal v_normal_cdf(vreal x)
{
    vnormal v = v_normal(x);
    vreal tail = v.density * (v.q * v.w), far = v_select(x < 0, tail, 1.0f - tail);
    return v_select(v.a < 1, v_normal_cdf_near_0(x), far);
}

/* d/dx x Phi(x). */
static inline vreal v_gelu_slope(vreal x)
{
    vnormal v = v_normal(x);
    vreal s = v.density * v_fused(v.q, v.w, -v.a), far = v_select(x < 0, s, 1.0f - s);
    return v_select(v.a < 1, v_fused(x, v.density, v_normal_cdf_near_0(x)), far);
}

#endif

#endif
