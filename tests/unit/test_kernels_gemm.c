/* SPDX-License-Identifier: MIT
 * gemm of every table that this machine can run, against sums in double. */
#include "harness.h"
#include "kernels/kernels.h"
#include "kernels_support.h"

enum { TABLES = ISAS, GUARD = 3 };

/* A matrix within an array of its own: rows of `ld` elements, begun one element off alignment. */
typedef struct matrix {
    size_t rows, cols, ld;
    rdk_real *all, *at;
} matrix;

static size_t matrix_room(const matrix *x)
{
    return 1 + x->rows * x->ld + GUARD;
}

static matrix matrix_new(size_t rows, size_t cols, size_t gap, uint64_t seed)
{
    matrix x = {rows, cols, cols + gap, NULL, NULL};
    x.all = rdk_alloc(matrix_room(&x), sizeof *x.all, NULL);
    x.at = x.all + 1;
    rdk_draws d = rdk_draws_at((rdk_stream){seed, RDK_FOR_TEST, 0}, 0);
    for (size_t i = 0; i < matrix_room(&x); i++)
        x.all[i] = (rdk_real)(2 * rdk_draw_uniform(&d) - 1);
    return x;
}

static matrix matrix_copy(const matrix *x)
{
    matrix y = *x;
    y.all = rdk_alloc(matrix_room(x), sizeof *x->all, NULL);
    y.at = y.all + 1;
    memcpy(y.all, x->all, matrix_room(x) * sizeof *x->all);
    return y;
}

static bool matrix_same(const matrix *x, const matrix *y)
{
    return memcmp(x->all, y->all, matrix_room(x) * sizeof *x->all) == 0;
}

static double element(const matrix *x, bool transposed, size_t i, size_t j)
{
    return transposed ? (double)x->at[j * x->ld + i] : (double)x->at[i * x->ld + j];
}

static void product(const rdk_kernels *k, bool ta, bool tb, size_t depth, const matrix *a,
                    const matrix *b, matrix *c, bool accumulate)
{
    k->gemm(ta, tb, c->rows, c->cols, depth, a->at, a->ld, b->at, b->ld, c->at, c->ld, accumulate);
}

/* One product against the sum in double; what lies between the rows of C is not touched. */
static void check_product(const rdk_kernels *k, bool ta, bool tb, size_t m, size_t n, size_t depth,
                          size_t gap, bool accumulate)
{
    matrix a = ta ? matrix_new(depth, m, gap, 1) : matrix_new(m, depth, gap, 1);
    matrix b = tb ? matrix_new(n, depth, gap, 2) : matrix_new(depth, n, gap, 2);
    matrix c = matrix_new(m, n, gap, 3), before = matrix_copy(&c);
    product(k, ta, tb, depth, &a, &b, &c, accumulate);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double want = accumulate ? element(&before, false, i, j) : 0, size = fabs(want);
            for (size_t p = 0; p < depth; p++) {
                double x = element(&a, ta, i, p) * element(&b, tb, p, j);
                want += x;
                size += fabs(x);
            }
            double got = element(&c, false, i, j);
            ck_assert_msg(fabs(got - want) <= 1e-6 * size,
                          "%s %d%d [%zu, %zu, %zu] gap %zu: c[%zu, %zu] = %.9g, want %.9g", k->isa,
                          ta, tb, m, n, depth, gap, i, j, got, want);
            before.at[i * c.ld + j] = c.at[i * c.ld + j];
        }
    }
    ck_assert(matrix_same(&c, &before));
    rdk_free(a.all), rdk_free(b.all), rdk_free(c.all), rdk_free(before.all);
}

static void check_all_forms(const rdk_kernels *k, size_t m, size_t n, size_t depth, size_t gap)
{
    for (int form = 0; form < 8; form++)
        check_product(k, form & 1, form & 2, m, n, depth, gap, form & 4);
}

START_TEST(small_sizes_in_every_combination)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    static const size_t size[] = {0, 1, 2, 3, 7, 12, 13, 33};
    enum { SIZES = sizeof size / sizeof *size };
    for (size_t c = 0; c < SIZES * SIZES * SIZES; c++)
        check_all_forms(k, size[c % SIZES], size[c / SIZES % SIZES], size[c / SIZES / SIZES],
                        c % 2 * 5);
}
END_TEST

START_TEST(tails_and_long_sums)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    check_all_forms(k, 25, 65, 31, 0);
    check_all_forms(k, 47, 64, 257, 1); /* beyond one panel */
    check_all_forms(k, 5, 96, 1100, 0);
    check_all_forms(k, 499, 3, 9, 0);    /* beyond one block of rows */
    check_all_forms(k, 20, 40, 1024, 0); /* rows 4 KiB apart */
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    static const size_t shape[][3] = {{97, 131, 301}, {700, 33, 20}, {13, 250, 600}};
    static const int threads[] = {2, 3, 8};
    for (int form = 0; form < 12; form++) {
        const size_t *s = shape[form / 4];
        bool ta = form & 1, tb = form & 2;
        matrix a = ta ? matrix_new(s[2], s[0], 0, 1) : matrix_new(s[0], s[2], 0, 1);
        matrix b = tb ? matrix_new(s[1], s[2], 0, 2) : matrix_new(s[2], s[1], 0, 2);
        matrix c = matrix_new(s[0], s[1], 0, 3);
        rdk_threads_set(1);
        product(k, ta, tb, s[2], &a, &b, &c, false);
        for (int t = 0; t < 3; t++) {
            matrix again = matrix_new(s[0], s[1], 0, 3);
            rdk_threads_set(threads[t]);
            product(k, ta, tb, s[2], &a, &b, &again, false);
            ck_assert(matrix_same(&c, &again));
            rdk_free(again.all);
        }
        rdk_free(a.all), rdk_free(b.all), rdk_free(c.all);
    }
}
END_TEST

/* An element is one chain of multiply-adds: however rows, columns and the sum are cut. */
START_TEST(cutting_changes_no_bit)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    enum { M = 29, N = 70, K = 300, CUT_M = 10, CUT_N = 37, CUT_K = 121 };
    matrix a = matrix_new(M, K, 0, 1), b = matrix_new(K, N, 0, 2);
    matrix whole = matrix_new(M, N, 0, 3), parts = matrix_new(M, N, 0, 3);
    product(k, false, false, K, &a, &b, &whole, false);
    for (int part = 0; part < 8; part++) {
        size_t i = part & 1 ? CUT_M : 0, m = part & 1 ? M - CUT_M : CUT_M;
        size_t j = part & 2 ? CUT_N : 0, n = part & 2 ? N - CUT_N : CUT_N;
        size_t p = part & 4 ? CUT_K : 0, depth = part & 4 ? K - CUT_K : CUT_K;
        k->gemm(false, false, m, n, depth, a.at + i * a.ld + p, a.ld, b.at + p * b.ld + j, b.ld,
                parts.at + i * parts.ld + j, parts.ld, p > 0);
    }
    ck_assert(matrix_same(&whole, &parts));
    rdk_free(a.all), rdk_free(b.all), rdk_free(whole.all), rdk_free(parts.all);
}
END_TEST

/* Operands whose rows crowd one set of the cache are copied first, or packed: the same bits as from
 * rows that lie apart. On one thread, so that a region has many panels. */
START_TEST(crowded_rows_change_no_bit)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    enum { LD = 1024, M = 75, N = 200, K = 300 };
    rdk_threads_set(1);
    for (int form = 0; form < 8; form++) {
        bool ta = form & 1, tb = form & 2, accumulate = form & 4;
        size_t a_rows = ta ? K : M, a_cols = ta ? M : K, b_rows = tb ? N : K, b_cols = tb ? K : N;
        matrix a = matrix_new(a_rows, a_cols, 3, 1), b = matrix_new(b_rows, b_cols, 5, 2);
        matrix crowded_a = matrix_new(a_rows, a_cols, LD - a_cols, 1);
        matrix crowded_b = matrix_new(b_rows, b_cols, LD - b_cols, 2);
        matrix c = matrix_new(M, N, 1, 3), d = matrix_copy(&c);
        for (size_t i = 0; i < a_rows; i++)
            memcpy(crowded_a.at + i * LD, a.at + i * a.ld, a_cols * sizeof *a.at);
        for (size_t i = 0; i < b_rows; i++)
            memcpy(crowded_b.at + i * LD, b.at + i * b.ld, b_cols * sizeof *b.at);
        product(k, ta, tb, K, &a, &b, &c, accumulate);
        product(k, ta, tb, K, &crowded_a, &crowded_b, &d, accumulate);
        ck_assert_msg(matrix_same(&c, &d), "%s %d%d%d", k->isa, ta, tb, accumulate);
        rdk_free(a.all), rdk_free(b.all), rdk_free(crowded_a.all), rdk_free(crowded_b.all);
        rdk_free(c.all), rdk_free(d.all);
    }
}
END_TEST

/* A layer is the product with W transposed, then the bias, then what it is added to, bit by bit,
 * and panels that were laid out once change none. Nothing past the ends of y is met. */
START_TEST(a_layer_is_its_product_and_then_what_is_added)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    static const size_t shape[][3] = {{5, 7, 3},      {25, 65, 31},  {13, 64, 300}, {1, 1, 1},
                                      {4, 33, 0},     {0, 3, 2},     {3, 0, 2},     {40, 96, 700},
                                      {30, 48, 1024}, {5, 33, 1100}, {3, 7, 1100}};
    for (size_t f = 0; f < 8 * COUNT(shape); f++) {
        const size_t *s = shape[f / 8], m = s[0], n = s[1], depth = s[2];
        bool in_panels = f & 1, biased = f & 2, added = f & 4;
        matrix x = matrix_new(m, depth, 0, 1), w = matrix_new(n, depth, 0, 2);
        matrix bias = matrix_new(1, n, 0, 4), residual = matrix_new(m, n, 0, 5);
        matrix y = matrix_new(m, n, 0, 3), want = matrix_copy(&y);
        rdk_real *panels = rdk_alloc(rdk_panels_size(n, depth), sizeof *panels, NULL);
        product(k, false, true, depth, &x, &w, &want, false);
        for (size_t i = 0; biased && i < m * n; i++) want.at[i] += bias.at[i % n];
        for (size_t i = 0; added && i < m * n; i++) want.at[i] += residual.at[i];
        k->panels(n, depth, w.at, w.ld, panels);
        k->linear(m, n, depth, x.at, in_panels ? panels : w.at, in_panels, biased ? bias.at : NULL,
                  added ? residual.at : NULL, y.at);
        ck_assert_msg(matrix_same(&y, &want), "%s %d%d%d [%zu, %zu, %zu]", k->isa, in_panels,
                      biased, added, m, n, depth);
        rdk_free(x.all), rdk_free(w.all), rdk_free(bias.all), rdk_free(y.all), rdk_free(want.all);
        rdk_free(residual.all), rdk_free(panels);
    }
}
END_TEST

START_TEST(nothing_to_sum_gives_zero_or_what_was)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    rdk_real c[6] = {1, 2, NAN, 4, 5, 6};
    k->gemm(false, false, 2, 2, 0, NULL, 0, NULL, 2, c, 3, false);
    static rdk_real wide[2][400];
    for (int j = 0; j < 400; j++) wide[0][j] = wide[1][j] = 1;
    k->gemm(false, false, 2, 400, 0, NULL, 0, NULL, 400, wide[0], 400, false);
    for (int j = 0; j < 400; j++) ck_assert(wide[0][j] == 0 && wide[1][j] == 0);
    static const rdk_real want[6] = {0, 0, NAN, 0, 0, 6};
    for (int i = 0; i < 6; i++) ck_assert(i == 2 ? isnan(c[i]) : c[i] == want[i]);
    c[0] = 7;
    k->gemm(true, true, 2, 2, 0, NULL, 2, NULL, 0, c, 3, true);
    ck_assert(c[0] == 7 && c[1] == 0 && c[5] == 6);
}
END_TEST

/* 0 times NaN is NaN in its row and column, and nowhere else. */
START_TEST(nan_stays_in_its_row)
{
    const rdk_kernels *k = rdk_kernels_at(_i);
    if (!k) return;
    enum { N = 40, ROW = 17 };
    matrix a = matrix_new(N, N, 0, 1), b = matrix_new(N, N, 0, 2), c = matrix_new(N, N, 0, 3);
    a.at[ROW * N + 5] = NAN;
    for (int j = 0; j < N; j++) b.at[5 * N + j] = 0;
    product(k, false, false, N, &a, &b, &c, false);
    for (int i = 0; i < N * N; i++) ck_assert(!isnan(c.at[i]) == (i / N != ROW));
    rdk_free(a.all), rdk_free(b.all), rdk_free(c.all);
}
END_TEST

RDK_TEST_MAIN("kernels_gemm", {
    ADD_LOOP(small_sizes_in_every_combination, TABLES);
    ADD_LOOP(tails_and_long_sums, TABLES);
    ADD_LOOP(any_number_of_threads_gives_the_same_bits, TABLES);
    ADD_LOOP(cutting_changes_no_bit, TABLES);
    ADD_LOOP(crowded_rows_change_no_bit, TABLES);
    ADD_LOOP(a_layer_is_its_product_and_then_what_is_added, TABLES);
    ADD_LOOP(nothing_to_sum_gives_zero_or_what_was, TABLES);
    ADD_LOOP(nan_stays_in_its_row, TABLES);
})
