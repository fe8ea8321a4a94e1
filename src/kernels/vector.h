/* SPDX-License-Identifier: MIT
 * One vector of reals, as wide as the instruction set that this file is compiled for, by the
 * compiler's vector types (gcc and clang): arithmetic and comparison are the plain operators.
 * RDK_VECTOR_BYTES comes from the Makefile; this header is included by src/kernels/isa.c alone.
 *
 * Invariant: NaN in gives NaN out, except where v_max and v_min say otherwise. The loops over lanes
 * below become single instructions. Order of a sum over lanes is fixed, but depends on the
 * width. */
#ifndef RDK_VECTOR_H
#define RDK_VECTOR_H

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <rootdk/base.h>

enum { LANES = RDK_VECTOR_BYTES / sizeof(rdk_real) };
typedef rdk_real vreal __attribute__((vector_size(RDK_VECTOR_BYTES)));
#ifdef RDK_DOUBLE
typedef int64_t vint __attribute__((vector_size(RDK_VECTOR_BYTES)));
typedef uint64_t vbits __attribute__((vector_size(RDK_VECTOR_BYTES)));
#else
typedef int32_t vint __attribute__((vector_size(RDK_VECTOR_BYTES)));
typedef uint32_t vbits __attribute__((vector_size(RDK_VECTOR_BYTES)));
#endif

/* ---- scalars --------------------------------------------------------------------------------- */

enum { SINGLE = sizeof(rdk_real) == sizeof(float) };

static inline rdk_real r_exp(rdk_real x)
{
    return SINGLE ? expf((float)x) : (rdk_real)exp(x);
}

static inline rdk_real r_log(rdk_real x)
{
    return SINGLE ? logf((float)x) : (rdk_real)log(x);
}

static inline rdk_real r_log1p(rdk_real x)
{
    return SINGLE ? log1pf((float)x) : (rdk_real)log1p(x);
}

static inline rdk_real r_tanh(rdk_real x)
{
    return SINGLE ? tanhf((float)x) : (rdk_real)tanh(x);
}

static inline rdk_real r_sqrt(rdk_real x)
{
    return SINGLE ? sqrtf((float)x) : (rdk_real)sqrt(x);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static inline vreal v_load(const rdk_real *p)
{
    vreal v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void v_store(rdk_real *p, vreal v)
{
    memcpy(p, &v, sizeof v);
}

static inline vreal v_set(rdk_real x)
{
    return x - (vreal){0};
}

/* The first n < LANES elements; the other lanes are `fill` and nothing past p[n - 1] is touched.
 * The loop has a fixed length so that the compiler makes it one masked load. */
static inline vreal v_load_fill(const rdk_real *p, size_t n, rdk_real fill)
{
    const int count = (int)n;
    rdk_real lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = l < count ? p[l] : fill;
    return v_load(lane);
}

static inline vreal v_load_n(const rdk_real *p, size_t n)
{
    return v_load_fill(p, n, 0);
}

static inline void v_store_n(rdk_real *p, size_t n, vreal v)
{
    const int count = (int)n;
    for (int l = 0; l < LANES; l++) {
        if (l < count) p[l] = v[l];
    }
}

/* ---- lane by lane ---------------------------------------------------------------------------- */

/* mask: the result of a comparison (all ones or all zeros in a lane). Bits, not a loop over lanes,
 * which compilers may leave as one. */
static inline vreal v_select(vint mask, vreal yes, vreal no)
{
    return (vreal)((mask & (vint)yes) | (~mask & (vint)no));
}

/* x86 has an instruction for just this, which gcc 12 does not see behind the selection. By the
 * width of a vector: that the compiler may use wider ones says nothing of it. */
#if RDK_VECTOR_BYTES == 64 && defined(__AVX512F__) && !defined(RDK_DOUBLE)
#define V_LARGER(a, b)   _mm512_max_ps((__m512)(a), (__m512)(b))
#define V_SMALLER(a, b)  _mm512_min_ps((__m512)(a), (__m512)(b))
#define V_FUSED(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#elif RDK_VECTOR_BYTES == 32 && defined(__AVX__) && !defined(RDK_DOUBLE)
#define V_LARGER(a, b)  _mm256_max_ps((__m256)(a), (__m256)(b))
#define V_SMALLER(a, b) _mm256_min_ps((__m256)(a), (__m256)(b))
#ifdef __FMA__
#define V_FUSED(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#endif
#elif RDK_VECTOR_BYTES == 16 && defined(__SSE2__) && !defined(RDK_DOUBLE)
#define V_LARGER(a, b)  _mm_max_ps((__m128)(a), (__m128)(b))
#define V_SMALLER(a, b) _mm_min_ps((__m128)(a), (__m128)(b))
#ifdef __FMA__
#define V_FUSED(a, b, c) _mm_fmadd_ps((__m128)(a), (__m128)(b), (__m128)(c))
#endif
#else
#define V_LARGER(a, b)  v_select((a) > (b), a, b)
#define V_SMALLER(a, b) v_select((a) < (b), a, b)
#if RDK_VECTOR_BYTES == 16 && defined(__aarch64__) && !defined(RDK_DOUBLE)
#define V_FUSED(a, b, c) vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))
#endif
#endif

/* Where either is NaN: b. So v_max(bound, x) keeps a NaN in x, v_max(x, bound) drops it. */
static inline vreal v_max(vreal a, vreal b)
{
    return (vreal)V_LARGER(a, b);
}

static inline vreal v_min(vreal a, vreal b)
{
    return (vreal)V_SMALLER(a, b);
}

/* a b + c, fused where there is an instruction for it. For what is inlined in several places and
 * must have the same bits in all of them: what compilers contract by themselves depends on the
 * place. */
static inline vreal v_fused(vreal a, vreal b, vreal c)
{
#ifdef V_FUSED
    return (vreal)V_FUSED(a, b, c);
#else
    return a * b + c;
#endif
}

/* 0 where |x| < least, else x, NaN too. Denormals cost the processor a hundred times a normal
 * number; state that decays would rest among them for good. */
static inline vreal v_flush(vreal x, rdk_real least)
{
    return v_select((x < least) & (x > -least), v_set(0), x);
}

static inline vreal v_sqrt(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = r_sqrt(x[l]);
    return x;
}

/* ---- over the lanes -------------------------------------------------------------------------- */

enum { PART_BYTES = 16, PARTS = RDK_VECTOR_BYTES / PART_BYTES, PART_LANES = LANES / PARTS };
typedef rdk_real vpart __attribute__((vector_size(PART_BYTES)));

static inline rdk_real v_sum(vreal v)
{
    vpart part[PARTS];
    memcpy(part, &v, sizeof part);
    for (int k = 1; k < PARTS; k++) part[0] += part[k];
    for (int half = PART_LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) part[0][l] += part[0][l + half];
    }
    return part[0][0];
}

/* The largest lane; NaN as v_max has it. */
static inline rdk_real v_hmax(vreal v)
{
    vpart part[PARTS];
    memcpy(part, &v, sizeof part);
    for (int k = 1; k < PARTS; k++) {
        vpart a = part[0], b = part[k];
        for (int l = 0; l < PART_LANES; l++) part[0][l] = a[l] > b[l] ? a[l] : b[l];
    }
    rdk_real max = part[0][0];
    for (int l = 1; l < PART_LANES; l++) max = part[0][l] > max ? part[0][l] : max;
    return max;
}

/* ---- sums in double -------------------------------------------------------------------------- */

/* A sum over lanes that neither overflows nor loses digits: the halves of a vreal, widened. In the
 * double build `high` stays 0. */
enum { WIDE_LANES = RDK_VECTOR_BYTES / sizeof(double) };
typedef double vdouble __attribute__((vector_size(RDK_VECTOR_BYTES)));
typedef float vhalf __attribute__((vector_size(RDK_VECTOR_BYTES / 2)));
typedef struct vsum {
    vdouble low, high;
} vsum;

/* One instruction with AVX-512, of which gcc 12 makes five by itself. */
static inline vdouble v_to_double(vhalf x)
{
#if RDK_VECTOR_BYTES == 64 && defined(__AVX512F__)
    return (vdouble)_mm512_cvtps_pd((__m256)x);
#else
    return __builtin_convertvector(x, vdouble);
#endif
}

static inline vsum v_widen(vreal x)
{
#ifdef RDK_DOUBLE
    return (vsum){x, {0}};
#else
    vhalf half[2];
    memcpy(half, &x, sizeof half);
    return (vsum){v_to_double(half[0]), v_to_double(half[1])};
#endif
}

static inline vsum v_accumulate(vsum s, vreal x)
{
    vsum w = v_widen(x);
    return (vsum){s.low + w.low, s.high + w.high};
}

/* s + a b; the product too is in double. */
static inline vsum v_accumulate_product(vsum s, vreal a, vreal b)
{
    vsum x = v_widen(a), y = v_widen(b);
    return (vsum){s.low + x.low * y.low, s.high + x.high * y.high};
}

static inline vreal v_narrow(vsum s)
{
#ifdef RDK_DOUBLE
    return s.low;
#else
    vhalf half[2] = {__builtin_convertvector(s.low, vhalf), __builtin_convertvector(s.high, vhalf)};
    vreal v;
    memcpy(&v, half, sizeof v);
    return v;
#endif
}

static inline double v_total(vsum s)
{
    vdouble v = s.low + s.high;
    for (int half = WIDE_LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) v[l] += v[l + half];
    }
    return v[0];
}

/* ---- exp and its kin ------------------------------------------------------------------------- */

#ifdef RDK_DOUBLE

/* This build is for accuracy: libm, lane by lane. */
static inline vreal v_exp(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = exp(x[l]);
    return x;
}

static inline vreal v_tanh(vreal x)
{
    for (int l = 0; l < LANES; l++) x[l] = tanh(x[l]);
    return x;
}

#else

/* x = n ln 2 + r with |r| <= ln(2) / 2 up to rounding. Returns n, and in *n_bits the bits of
 * n + 1.5 * 2^23, whose low end holds the integer n: adding that constant rounds to an integer. */
static inline vreal v_exponent(vreal x, vbits *n_bits)
{
    static const float log2_e = 1.44269504f, round = 12582912.0f; /* 1.5 * 2^23 */
    vreal shifted = v_fused(x, v_set(log2_e), v_set(round));
    *n_bits = (vbits)shifted;
    return shifted - round;
}

/* r of that. ln 2 is split into a part of 9 bits, whose product with n is exact, and the rest. */
static inline vreal v_less_exponent(vreal x, vreal n)
{
    static const float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    return v_fused(n, v_set(-ln2_low), v_fused(n, v_set(-ln2_high), x));
}

/* expm1 of such an r. The polynomial is the minimax one for (expm1(r) - r) / r^2: together its
 * error is 3.3e-9 of exp(r). */
static inline vreal v_expm1_small(vreal r)
{
    vreal q = v_fused(r, v_set(0.0013813168f), v_set(0.00836941786f));
    q = v_fused(q, r, v_set(0.041668456f));
    q = v_fused(q, r, v_set(0.166665152f));
    q = v_fused(q, r, v_set(0.49999994f));
    return v_fused(q, r * r, r);
}

static inline vreal v_expm1_reduced(vreal x, vbits *n_bits)
{
    return v_expm1_small(v_less_exponent(x, v_exponent(x, n_bits)));
}

enum { MANTISSA_BITS = 23, EXPONENT_ONE = 127 };

/* y 2^n, by adding n to the bits of y: y and the result are normal. */
static inline vreal v_scale(vreal y, vbits n_bits)
{
    return (vreal)((vbits)y + (n_bits << MANTISSA_BITS));
}

/* exp, within 1.01 ulp of the true value: 1.009 is the worst of all floats (make exhaustive; the
 * unit test tries every 1009th). exp(0) = 1, inf above ln(FLT_MAX), NaN kept. Results that would be
 * denormal (x below -87.3365) are 0: a softmax that saturates then feeds no denormals, which are
 * slow, into the products that follow. Outside the range, where the exponent would carry into the
 * sign, the result is replaced. */
static inline vreal v_exp(vreal x)
{
    static const float low = -87.3365402f, high = 88.7228317f; /* ln FLT_MIN, ln FLT_MAX, inside */
    vbits n;
    vreal y = v_expm1_reduced(x, &n) + 1.0f;
    y = v_scale(y, n);
    y = (vreal)((vint)y & (x >= low));
    y = v_select(x > high, v_set(INFINITY), y);
    return v_select(x == x, y, x);
}

/* tanh(a) = expm1(2a) / (expm1(2a) + 2) for a = |x|: accurate relative to the result also near 0,
 * within 3 ulp (2.67 is the worst of all floats). Beyond `flat` a float tanh is 1. */
static inline vreal v_tanh(vreal x)
{
    static const float flat = 10.0f;
    vint sign = (vint)x & (vint)v_set(-0.0f);
    vreal a = v_min(v_set(flat), (vreal)((vint)x ^ sign));
    vbits n;
    vreal q = v_expm1_reduced(a + a, &n);
    vreal power = (vreal)((n + (vbits){0} + EXPONENT_ONE) << MANTISSA_BITS);
    vreal e = q * power + (power - 1.0f);
    return (vreal)((vint)(e / (e + 2.0f)) | sign);
}

#endif

/* 1 - tanh(x)^2 = 4e / (1 + e)^2, e = exp(-2|x|), right relative to itself: 1 - t^2 of a t that has
 * been rounded is noise where |x| passes 5, and 0 from 9 on. In float it is 0 beyond 43. */
static inline vreal v_tanh_slope(vreal x)
{
    vreal e = v_exp(v_min(x, -x) * 2);
    return 4 * e / ((1 + e) * (1 + e));
}

/* 1 / (1 + exp(-x)), without overflow for any x. */
static inline vreal v_sigmoid(vreal x)
{
    return 1 / (1 + v_exp(-x));
}

#endif
