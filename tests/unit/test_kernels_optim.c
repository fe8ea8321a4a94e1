/* SPDX-License-Identifier: MIT
 * Sums in double, AdamW and SGD: hand values, and whole trajectories against double references. */
#include "kernels_support.h"

START_TEST(sums_equal_the_reference)
{
    TABLE(k);
    static const size_t more[] = {4095, 4096, 4097, 100001};
    for (size_t s = 0; s < COUNT(odd_sizes) + COUNT(more); s++) {
        size_t n = s < COUNT(odd_sizes) ? odd_sizes[s] : more[s - COUNT(odd_sizes)];
        rdk_real *x = normals(n, 1, 1, 1), *y = normals(n, 1, 1, 2);
        double squares = 0, product = 0;
        for (size_t i = 0; i < n; i++) {
            squares += (double)x[i] * (double)x[i];
            product += (double)x[i] * (double)y[i];
        }
        ck_assert_close(k->sum_squares(n, x), squares, 1e-13, 1e-300);
        ck_assert_close(k->dot(n, x, y), product, 1e-13, 1e-300);
        drop(x);
        drop(y);
    }
}
END_TEST

START_TEST(sums_neither_overflow_nor_vanish)
{
    TABLE(k);
    rdk_real x[128];
    for (int i = 0; i < 128; i++) x[i] = 1e19f;
    ck_assert_close(k->sum_squares(128, x), 128e38, 1e-6, 0);
    for (int i = 0; i < 128; i++) x[i] = 1e-40f;
    ck_assert_close(k->sum_squares(128, x), 128e-80, 1e-4, 0);
    x[77] = INFINITY;
    ck_assert(isinf(k->sum_squares(128, x)));
    x[100] = NAN;
    ck_assert(isnan(k->sum_squares(128, x)));
}
END_TEST

/* ---- AdamW ----------------------------------------------------------------------------------- */

static rdk_adamw adamw_at(int t, double lr, double beta1, double beta2, double eps, double decay)
{
    return (rdk_adamw){lr, beta1, beta2, eps, decay, 1 - pow(beta1, t), 1 - pow(beta2, t), 1};
}

START_TEST(the_first_update_is_the_learning_rate)
{
    TABLE(k);
    rdk_real w[] = {0, 0, 0, 0, 0}, g[] = {1e-10f, -3, 1e10f, 0, 7}, m[5] = {0}, v[5] = {0};
    rdk_adamw p = adamw_at(1, 0.01, 0.9, 0.999, 0, 0);
    double moved = k->adamw(&p, 5, w, g, m, v);
    static const double sign[] = {-1, 1, -1, 0, -1};
    for (int i = 0; i < 5; i++) ck_assert_close((double)w[i], sign[i] * 0.01, 1e-5, 1e-30);
    ck_assert_close(moved, 4 * 1e-4, 1e-5, 0);
}
END_TEST

/* lr 0.1, beta 0.5 and 0.75, eps 0.1 outside the root, of v with its bias corrected; g = 1, 1, -1:
 *   t  m      v        m/(1-.5^t)  sqrt(v/(1-.75^t))  move = lr mhat / (root + 0.1)
 *   1  .5     .25      1           1                  .1 / 1.1             = .09090909
 *   2  .75    .4375    1           1                  .09090909
 *   3  -.125  .578125  -1/7        1                  -.1 / 7 / 1.1        = -.01298701
 * w goes 0, -.09090909, -.18181818, -.16883117 */
START_TEST(epsilon_stands_outside_the_root)
{
    TABLE(k);
    static const double want[] = {-0.09090909, -0.18181818, -0.16883117};
    rdk_real w = 0, m = 0, v = 0, g[] = {1, 1, -1};
    for (int t = 1; t <= 3; t++) {
        rdk_adamw p = adamw_at(t, 0.1, 0.5, 0.75, 0.1, 0);
        k->adamw(&p, 1, &w, g + t - 1, &m, &v);
        ck_assert_close((double)w, want[t - 1], 1e-6, 0);
    }
    ck_assert_close((double)m, -0.125, 1e-6, 0);
    ck_assert_close((double)v, 0.578125, 1e-6, 0);
}
END_TEST

START_TEST(adamw_follows_the_reference)
{
    TABLE(k);
    enum { N = 77, STEPS = 10 };
    static const double lr = 3e-3, beta1 = 0.8, beta2 = 0.95, eps = 1e-3, decay = 0.1,
                        factor = 0.25;
    rdk_real *w = normals(N, 0, 1, 1), *m = array(N), *v = array(N);
    double rw[N], rm[N] = {0}, rv[N] = {0};
    for (int i = 0; i < N; i++) rw[i] = (double)w[i];
    for (int t = 1; t <= STEPS; t++) {
        rdk_real *g = normals(N, 0, 0.1, 10 + (uint64_t)t);
        rdk_adamw p = adamw_at(t, lr, beta1, beta2, eps, decay);
        p.factor = factor;
        double moved = k->adamw(&p, N, w, g, m, v), want = 0;
        for (int i = 0; i < N; i++) {
            double grad = factor * (double)g[i], old = rw[i];
            rm[i] = beta1 * rm[i] + (1 - beta1) * grad;
            rv[i] = beta2 * rv[i] + (1 - beta2) * grad * grad;
            double m_hat = rm[i] / (1 - pow(beta1, t)), v_hat = rv[i] / (1 - pow(beta2, t));
            rw[i] = old - lr * (m_hat / (sqrt(v_hat) + eps) + decay * old);
            want += (rw[i] - old) * (rw[i] - old);
        }
        ck_assert_double_le(worst_error(N, w, rw, 1), 1e-6);
        ck_assert_double_le(worst_error(N, m, rm, 0.01), 1e-6);
        ck_assert_double_le(worst_error(N, v, rv, 1e-6), 2e-6);
        ck_assert_close(moved, want, 1e-4, 0);
        drop(g);
    }
    drop(w);
    drop(m);
    drop(v);
}
END_TEST

START_TEST(decay_alone_shrinks_and_nothing_keeps_still)
{
    TABLE(k);
    rdk_real w[] = {2, -4, 8}, g[3] = {0}, m[3] = {0}, v[3] = {0};
    rdk_adamw p = adamw_at(1, 1, 0.9, 0.95, 1e-8, 0.25);
    ck_assert_close(k->adamw(&p, 3, w, g, m, v), 0.25 + 1 + 4, 1e-6, 0);
    ck_assert(w[0] == 1.5f && w[1] == -3 && w[2] == 6);
    p.weight_decay = 0;
    ck_assert(k->adamw(&p, 3, w, g, m, v) == 0 && w[0] == 1.5f);
    p.eps = 0; /* 0 / 0 without care */
    ck_assert(k->adamw(&p, 3, w, g, m, v) == 0 && w[0] == 1.5f);
    g[1] = NAN;
    k->adamw(&p, 3, w, g, m, v);
    ck_assert(w[0] == 1.5f && isnan(w[1]) && w[2] == 6);
}
END_TEST

/* Rounded to nearest, 0.9 times the least denormal is itself again: moments would never reach 0. */
START_TEST(moments_decay_through_the_denormals_to_zero)
{
    TABLE(k);
    rdk_real w[] = {1, 1, 1}, g[] = {0, 1e-25f, NAN}, m[] = {1e-37f, -1e-37f, 0}, v[3] = {0};
    rdk_adamw p = adamw_at(1000, 0.1, 0.9, 0.95, 1e-8, 0);
    v[0] = 1e-37f;
    for (int step = 0; step < 100; step++) k->adamw(&p, 3, w, g, m, v);
    ck_assert(m[0] == 0 && v[0] == 0 && w[0] == 1);
    ck_assert_close((double)m[1], 1e-25, 1e-4, 0);
    ck_assert(v[1] == 0 && isnan(m[2]) && isnan(v[2]));
}
END_TEST

START_TEST(odd_sizes_and_neighbours)
{
    TABLE(k);
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        rdk_real *w = normals(n, 0, 1, 1), *g = normals(n, 0, 1, 2), *m = array(n), *v = array(n);
        rdk_real *one = copy_of(w, n), *m1 = array(n), *v1 = array(n);
        rdk_adamw p = adamw_at(1, 0.1, 0.9, 0.95, 1e-8, 0.01);
        double moved = k->adamw(&p, n, w, g, m, v), sum = 0;
        for (size_t i = 0; i < n; i++) sum += k->adamw(&p, 1, one + i, g + i, m1 + i, v1 + i);
        ck_assert(same_bits(w, one, n) && same_bits(m, m1, n) && same_bits(v, v1, n));
        ck_assert_close(moved, sum, 1e-12, 1e-300);
        rdk_real *all[] = {w, g, m, v, one, m1, v1};
        for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
    }
}
END_TEST

/* ---- SGD ------------------------------------------------------------------------------------- */

START_TEST(sgd_follows_the_reference)
{
    TABLE(k);
    enum { N = 53, STEPS = 10 };
    static const double lr = 0.1, momentum = 0.9, decay = 0.01, factor = 0.5;
    rdk_real *w = normals(N, 0, 1, 1), *m = array(N);
    double rw[N], rm[N] = {0};
    for (int i = 0; i < N; i++) rw[i] = (double)w[i];
    for (int t = 0; t < STEPS; t++) {
        rdk_real *g = normals(N, 0, 1, 20 + (uint64_t)t);
        double moved = k->sgd(lr, momentum, decay, factor, N, w, g, m), want = 0;
        for (int i = 0; i < N; i++) {
            rm[i] = momentum * rm[i] + factor * (double)g[i] + decay * rw[i];
            rw[i] -= lr * rm[i];
            want += lr * rm[i] * lr * rm[i];
        }
        ck_assert_double_le(worst_error(N, w, rw, 1), 2e-6);
        ck_assert_double_le(worst_error(N, m, rm, 1), 2e-6);
        ck_assert_close(moved, want, 1e-5, 0);
        drop(g);
    }
    ck_assert(k->sgd(lr, momentum, decay, factor, 0, w, w, m) == 0);
    drop(w);
    drop(m);
}
END_TEST

RDK_TEST_MAIN("kernels: sums and updates", {
    ADD_LOOP(sums_equal_the_reference, ISAS);
    ADD_LOOP(sums_neither_overflow_nor_vanish, ISAS);
    ADD_LOOP(the_first_update_is_the_learning_rate, ISAS);
    ADD_LOOP(epsilon_stands_outside_the_root, ISAS);
    ADD_LOOP(adamw_follows_the_reference, ISAS);
    ADD_LOOP(decay_alone_shrinks_and_nothing_keeps_still, ISAS);
    ADD_LOOP(moments_decay_through_the_denormals_to_zero, ISAS);
    ADD_LOOP(odd_sizes_and_neighbours, ISAS);
    ADD_LOOP(sgd_follows_the_reference, ISAS);
})
