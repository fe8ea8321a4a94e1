/* SPDX-License-Identifier: MIT
 * Products of bfloat16, of every table that this machine can run: against plain scalar code, and
 * against one another. */
#include "bf16_reference.h"
#include "kernels_support.h"

/* ---- rounding -------------------------------------------------------------------------------- */

/* Every bfloat16; and behind each the next floats, those about the middle, and the last. */
static const uint32_t behind[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
enum { BEHIND = COUNT(behind), UPPER_HALVES = 1 << 16 };

START_TEST(every_number_and_between)
{
    TABLE(k);
    const size_t n = (size_t)UPPER_HALVES * BEHIND - 3; /* ends within a vector */
    rdk_real *x = array(n), *y = array(n);
    for (size_t i = 0; i < n; i++)
        x[i] = float_of_bits((uint32_t)(i / BEHIND) << 16 | behind[i % BEHIND]);
    k->bf16->round(n, x, y);
    for (size_t i = 0; i < n; i++) {
        const uint32_t got = bits_of_float(y[i]);
        if (isnan(x[i])) {
            ck_assert_msg(isnan(y[i]) && !(got & 0xffff), "%s: nan gave %08x", k->isa, got);
            continue;
        }
        ck_assert_msg(got == bits_of_float(plain_bf16(x[i])), "%s: %08x gave %08x", k->isa,
                      bits_of_float(x[i]), got);
    }
    k->bf16->round(n, x, x);
    ck_assert(same_bits(x, y, n));
    drop(x), drop(y);
}
END_TEST

/* docs/precision.md: q and k of independent normal numbers. Rounding moves each by 0.00166 of its
 * size (root mean square), so q.k by sqrt(2) of that and of its own spread, sqrt(d_k). */
START_TEST(the_error_of_a_score)
{
    TABLE(k);
    enum { PAIRS = 4000, WIDEST = 256 };
    static const double of_a_number = 0.00166;
    for (size_t d_k = 16; d_k <= WIDEST; d_k *= 4) {
        const size_t n = PAIRS * d_k;
        rdk_real *q = normals(n, 0, 1, 5), *l = normals(n, 0, 1, 6), *r = array(n), *s = array(n);
        k->bf16->round(n, q, r);
        k->bf16->round(n, l, s);
        double square = 0;
        for (size_t i = 0; i < PAIRS; i++) {
            double error = 0;
            for (size_t j = i * d_k; j < (i + 1) * d_k; j++)
                error += (double)r[j] * (double)s[j] - (double)q[j] * (double)l[j];
            square += error * error / PAIRS;
        }
        ck_assert_close(sqrt(square / (double)d_k), sqrt(2) * of_a_number, 0.05, 0);
        drop(q), drop(l), drop(r), drop(s);
    }
}
END_TEST

/* ---- one product ----------------------------------------------------------------------------- */

/* A, B and C with `gap` elements between their rows, none of them aligned. */
typedef struct operands {
    rdk_product p;
    size_t sizes[3]; /* of a, b, c as arrays */
    rdk_real *a, *b, *c, *bias, *residual;
    rdk_real *rounded_a, *rounded_b; /* by plain code */
} operands;

static size_t elements(size_t rows, size_t ld)
{
    return rows ? (rows - 1) * ld : 0;
}

/* After every change of a or b. */
static void round_operands(operands *o)
{
    for (size_t i = 0; i < o->sizes[0]; i++) o->rounded_a[i] = plain_bf16(o->a[i]);
    for (size_t i = 0; i < o->sizes[1]; i++) o->rounded_b[i] = plain_bf16(o->b[i]);
}

static operands operands_new(int form, size_t m, size_t n, size_t k, size_t gap)
{
    operands o = {.p = {.ta = form & 1, .tb = form & 2, .accumulate = form & 4}};
    rdk_product *p = &o.p;
    p->m = m, p->n = n, p->k = k;
    p->lda = (p->ta ? m : k) + gap, p->ldb = (p->tb ? k : n) + gap, p->ldc = n + gap;
    o.sizes[0] = elements(p->ta ? k : m, p->lda) + (p->ta ? m : k);
    o.sizes[1] = elements(p->tb ? n : k, p->ldb) + (p->tb ? k : n);
    o.sizes[2] = elements(m, p->ldc) + n;
    p->a = o.a = normals(o.sizes[0], 0, 1, 1);
    p->b = o.b = normals(o.sizes[1], 0, 1, 2);
    p->c = o.c = normals(o.sizes[2], 0, 1, 3);
    o.bias = normals(n, 0, 1, 4);
    o.residual = normals(o.sizes[2], 0, 1, 5);
    o.rounded_a = array(o.sizes[0]);
    o.rounded_b = array(o.sizes[1]);
    round_operands(&o);
    return o;
}

static void operands_free(operands *o)
{
    drop(o->a), drop(o->b), drop(o->c), drop(o->bias), drop(o->residual);
    drop(o->rounded_a), drop(o->rounded_b);
}

/* panels: B is laid out before. */
static void multiply(const rdk_kernels *k, const rdk_product *p, bool panels)
{
    rdk_product q = *p;
    uint32_t *laid_out = rdk_alloc(rdk_panels_bf16_size(p->n, p->k), sizeof *laid_out, NULL);
    if (panels) {
        k->bf16->panels(p->tb, p->n, p->k, p->b, p->ldb, laid_out);
        q.panels = laid_out, q.b = NULL;
    }
    uint32_t *scratch = rdk_alloc(rdk_product_bf16_scratch(&q), sizeof *scratch, NULL);
    k->bf16->product(&q, scratch);
    rdk_free(laid_out), rdk_free(scratch);
}

static double element(const rdk_real *x, bool transposed, size_t ld, size_t i, size_t j)
{
    return (double)(transposed ? x[j * ld + i] : x[i * ld + j]);
}

/* The sum in double of products that are exact there; the chain's error is at most one rounding of
 * each partial sum. */
static void check_element(const operands *o, const rdk_real *before, size_t i, size_t j)
{
    const rdk_product *p = &o->p;
    double want = p->accumulate ? (double)before[i * p->ldc + j] : 0, size = fabs(want);
    for (size_t q = 0; q < p->k; q++) {
        double x =
            element(o->rounded_a, p->ta, p->lda, i, q) * element(o->rounded_b, p->tb, p->ldb, q, j);
        want += x;
        size += fabs(x);
    }
    const double bias = p->bias ? (double)p->bias[j] : 0;
    const double residual = p->residual ? (double)p->residual[i * p->ldc + j] : 0;
    want += bias + residual, size += fabs(bias) + fabs(residual);
    double got = (double)p->c[i * p->ldc + j];
    ck_assert_msg(fabs(got - want) <= (double)(p->k + 3) * 0x1p-24 * size,
                  "%d%d%d [%zu, %zu, %zu]: c[%zu, %zu] = %.9g, want %.9g", p->ta, p->tb,
                  p->accumulate, p->m, p->n, p->k, i, j, got, want);
}

static void add_extras(operands *o, int form)
{
    if (form & 8) o->p.bias = o->bias;
    if (form & 32) o->p.residual = o->residual;
}

/* What lies between the rows of C is not touched. */
static void check_product(const rdk_kernels *k, int form, size_t m, size_t n, size_t depth,
                          size_t gap)
{
    operands o = operands_new(form, m, n, depth, gap);
    rdk_real *before = copy_of(o.c, o.sizes[2]);
    add_extras(&o, form);
    multiply(k, &o.p, form & 16);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            check_element(&o, before, i, j);
            before[i * o.p.ldc + j] = o.c[i * o.p.ldc + j];
        }
    }
    ck_assert(same_bits(before, o.c, o.sizes[2]));
    drop(before);
    operands_free(&o);
}

enum { FORMS = 64 };

START_TEST(small_sizes_in_every_form)
{
    TABLE(k);
    static const size_t size[] = {0, 1, 2, 5, 33};
    enum { SIZES = COUNT(size) };
    for (size_t c = 0; c < SIZES * SIZES * SIZES; c++)
        for (int form = 0; form < FORMS; form++)
            check_product(k, form, size[c % SIZES], size[c / SIZES % SIZES],
                          size[c / SIZES / SIZES], c % 2 * 5);
}
END_TEST

START_TEST(tails_and_long_sums)
{
    TABLE(k);
    for (int form = 0; form < FORMS; form++) {
        check_product(k, form, 25, 65, 31, 0);
        check_product(k, form, 47, 64, 257, 1); /* beyond one depth */
        check_product(k, form, 5, 96, 1100, 0);
        check_product(k, form, 499, 3, 9, 0);    /* beyond one block of rows */
        check_product(k, form, 20, 40, 1024, 0); /* lines of A that would crowd */
        check_product(k, form, 24, 32, 64, 0);   /* nothing but whole tiles */
    }
}
END_TEST

/* ---- the same bits --------------------------------------------------------------------------- */

/* A product of two is exact, and sums are by pairs in order: so also where the processor has an
 * instruction for it. */
START_TEST(tables_agree_bit_by_bit)
{
    TABLE(k);
    static const size_t shape[][3] = {{25, 65, 31}, {47, 64, 257}, {5, 96, 1100}, {13, 33, 1}};
    const rdk_kernels *plain = rdk_kernels_at(0);
    for (int i = 0; rdk_kernels_at(i); i++) plain = rdk_kernels_at(i);
    for (size_t f = 0; f < FORMS * COUNT(shape); f++) {
        const size_t *s = shape[f / FORMS];
        int form = (int)(f % FORMS);
        operands o = operands_new(form, s[0], s[1], s[2], 1),
                 w = operands_new(form, s[0], s[1], s[2], 1);
        add_extras(&o, form), add_extras(&w, form);
        multiply(k, &o.p, form & 16);
        multiply(plain, &w.p, false);
        ck_assert_msg(same_bits(o.c, w.c, o.sizes[2]), "%s and %s, form %d", k->isa, plain->isa,
                      form);
        operands_free(&o), operands_free(&w);
    }
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    TABLE(k);
    static const size_t shape[][3] = {{97, 131, 301}, {700, 33, 20}, {13, 250, 600}};
    static const int threads[] = {2, 3, 8};
    for (int form = 0; form < 12; form++) {
        const size_t *s = shape[form / 4];
        operands o = operands_new(form & 3, s[0], s[1], s[2], 0);
        rdk_threads_set(1);
        multiply(k, &o.p, false);
        for (size_t t = 0; t < COUNT(threads); t++) {
            operands w = operands_new(form & 3, s[0], s[1], s[2], 0);
            rdk_threads_set(threads[t]);
            multiply(k, &w.p, t % 2);
            ck_assert(same_bits(o.c, w.c, o.sizes[2]));
            operands_free(&w);
        }
        operands_free(&o);
    }
}
END_TEST

/* Cut where a pair ends, the sum is the same chain. */
START_TEST(cutting_changes_no_bit)
{
    TABLE(k);
    enum { M = 29, N = 70, K = 300, CUT_M = 10, CUT_N = 37, CUT_K = 122 };
    operands o = operands_new(0, M, N, K, 0), w = operands_new(0, M, N, K, 0);
    multiply(k, &o.p, false);
    for (int part = 0; part < 8; part++) {
        rdk_product p = w.p;
        size_t i = part & 1 ? CUT_M : 0, j = part & 2 ? CUT_N : 0, q = part & 4 ? CUT_K : 0;
        p.m = part & 1 ? M - CUT_M : CUT_M, p.n = part & 2 ? N - CUT_N : CUT_N;
        p.k = part & 4 ? K - CUT_K : CUT_K;
        p.a += i * p.lda + q, p.b += q * p.ldb + j, p.c += i * p.ldc + j;
        p.accumulate = q > 0;
        multiply(k, &p, false);
    }
    ck_assert(same_bits(o.c, w.c, o.sizes[2]));
    operands_free(&o), operands_free(&w);
}
END_TEST

/* ---- numbers at the ends --------------------------------------------------------------------- */

/* Huge times tiny is as exact as anything; what is beyond the largest bfloat16 is infinite. */
START_TEST(huge_and_tiny)
{
    TABLE(k);
    enum { M = 13, N = 37, K = 41 };
    for (int form = 0; form < 4; form++) {
        operands o = operands_new(form, M, N, K, 2);
        rdk_real *before = copy_of(o.c, o.sizes[2]);
        for (size_t i = 0; i < o.sizes[0]; i++) o.a[i] *= 1e37f;
        for (size_t i = 0; i < o.sizes[1]; i++) o.b[i] *= 1e-37f;
        round_operands(&o);
        multiply(k, &o.p, false);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) check_element(&o, before, i, j);
        o.a[0] = 0x1.fffffep127f;
        for (size_t i = 0; i < o.sizes[1]; i++) o.b[i] = 1;
        multiply(k, &o.p, false);
        ck_assert(isinf(o.c[0]));
        drop(before);
        operands_free(&o);
    }
}
END_TEST

START_TEST(nan_and_infinity_stay_in_their_row)
{
    TABLE(k);
    enum { N = 40, ROW = 17, AT = 5 };
    for (int form = 0; form < 8; form++) {
        operands o = operands_new(form & 3, N, N, N - form / 4, 0);
        const size_t at = o.p.ta ? AT * o.p.lda + ROW : ROW * o.p.lda + AT;
        o.a[at] = form & 4 ? INFINITY : NAN;
        multiply(k, &o.p, false);
        for (size_t i = 0; i < N * N; i++) ck_assert(!isfinite(o.c[i]) == (i / N == ROW));
        operands_free(&o);
    }
}
END_TEST

START_TEST(nothing_to_sum_gives_zero_or_what_was)
{
    TABLE(k);
    rdk_real c[6] = {1, 2, NAN, 4, 5, 6}, bias[2] = {0.5f, 3};
    rdk_product p = {.m = 2, .n = 2, .ldb = 2, .ldc = 3, .c = c, .bias = bias};
    multiply(k, &p, false);
    ck_assert(c[0] == 0.5f && c[1] == 3 && isnan(c[2]) && c[3] == 0.5f && c[4] == 3 && c[5] == 6);
    p.accumulate = true;
    multiply(k, &p, false);
    ck_assert(c[0] == 1 && c[4] == 6 && c[5] == 6);
}
END_TEST

RDK_TEST_MAIN("kernels: bfloat16", {
    ADD_LOOP(every_number_and_between, ISAS);
    ADD_LOOP(the_error_of_a_score, ISAS);
    ADD_LOOP(small_sizes_in_every_form, ISAS);
    ADD_LOOP(tails_and_long_sums, ISAS);
    ADD_LOOP(tables_agree_bit_by_bit, ISAS);
    ADD_LOOP(any_number_of_threads_gives_the_same_bits, ISAS);
    ADD_LOOP(cutting_changes_no_bit, ISAS);
    ADD_LOOP(huge_and_tiny, ISAS);
    ADD_LOOP(nan_and_infinity_stay_in_their_row, ISAS);
    ADD_LOOP(nothing_to_sum_gives_zero_or_what_was, ISAS);
})
