/* SPDX-License-Identifier: MIT
 * What theory predicts, against expectations that need no random numbers: exact ones by quadrature,
 * closed forms for small and large variances, and Stein's identity. */
#include <harness.h>
#include <rootdk/probe.h>

enum { VARIANCES = 6 };
static const double variances[VARIANCES] = {1. / 64, 1. / 16, 1, 16, 64, 256};

static rdk_row_estimates drawn(size_t n, double sigma2, size_t samples, uint64_t seed)
{
    rdk_row_estimates e;
    rdk_status s = {0};
    ck_assert(rdk_theory_gaussian(n, false, sigma2, samples, seed, &e, &s));
    return e;
}

/* ---- the exact expectation ------------------------------------------------------------------- */

/* With Z = sum exp(s_j) and phi(t) = E exp(-t e^s):
 *   ln Z    = integral of (exp(-e^u) - exp(-e^u Z)) du      E[ln Z] uses phi^n
 *   1 / Z^2 = integral of e^(2u) exp(-e^u Z) du             E[sum p^2] = n int psi phi^(n-1) du
 * with psi(u) = E[(e^(u+s))^2 exp(-e^(u+s))]. Then E[H] = E[ln Z] - sigma2 E[tr J] (Stein). No row
 * is drawn and no softmax computed. */
typedef struct expectation {
    double entropy, trace;
} expectation;

static const double U_STEP = 0.1, REACH = 9;

static void gaussian_averages(double u, double sigma, double *phi, double *psi)
{
    double h = fmin(.1, .1 / fmax(sigma, 1e-3)), norm = h / sqrt(2 * acos(-1.));
    *phi = *psi = 0;
    for (double z = -REACH; z <= REACH; z += h) {
        double x = exp(u + sigma * z), weight = norm * exp(-z * z / 2);
        *phi += weight * exp(-x);
        *psi += weight * x * x * exp(-x);
    }
}

/* e: [n_max + 1], for n = 1 .. n_max. */
static void exact_rows(double sigma2, size_t n_max, expectation *e)
{
    double sigma = sqrt(sigma2), reach = REACH * sigma + 5;
    for (size_t n = 1; n <= n_max; n++) e[n] = (expectation){0, 1};
    for (double u = -reach - 40; u <= reach; u += U_STEP) {
        double phi, psi, power = 1;
        gaussian_averages(u, sigma, &phi, &psi);
        for (size_t n = 1; n <= n_max; n++) {
            e[n].trace -= U_STEP * (double)n * psi * power;
            power *= phi;
            e[n].entropy += U_STEP * (exp(-exp(u)) - power); /* so far E[ln Z] */
        }
    }
    for (size_t n = 1; n <= n_max; n++) e[n].entropy -= sigma2 * e[n].trace;
}

START_TEST(rows_against_quadrature)
{
    double sigma2 = variances[_i];
    expectation e[65];
    exact_rows(sigma2, 64, e);
    ck_assert_double_eq_tol(e[1].entropy, 0, 1e-9);
    ck_assert_double_eq_tol(e[1].trace, 0, 1e-9);
    for (size_t n = 2; n <= 64; n = n * 3 / 2 + 1) {
        rdk_row_estimates t = drawn(n, sigma2, 8000, 0);
        rdk_expectation own = rdk_theory_exact(n, sigma2);
        ck_assert_double_eq_tol(t.entropy.mean, e[n].entropy, 3.5 * t.entropy.se + 1e-7);
        ck_assert_double_eq_tol(t.trace.mean, e[n].trace, 3.5 * t.trace.se + 1e-7);
        ck_assert_double_eq_tol(own.entropy, e[n].entropy, 1e-7);
        ck_assert_double_eq_tol(own.trace, e[n].trace, 1e-8);
    }
}
END_TEST

/* The promise of rdk_theory_sequence: 1e-6. */
static void check_sequence(size_t len, bool causal, double sigma2, const expectation *e)
{
    double entropy = 0, trace = 0, norm = 0;
    size_t first = causal ? 1 : len;
    for (size_t n = first; n <= len; n++) {
        entropy += e[n].entropy / (double)(len - first + 1);
        trace += e[n].trace / (double)(len - first + 1);
        if (n >= 2)
            norm += e[n].entropy / log((double)n) / (double)(len - fmax((double)first, 2) + 1);
    }
    rdk_theory t = rdk_theory_sequence(len, causal, sigma2);
    ck_assert_double_eq_tol(t.entropy_norm, norm, 1e-6);
    ck_assert_double_eq_tol(t.entropy, entropy, 1e-6);
    ck_assert_double_eq_tol(t.jacobian_trace, trace, 1e-6);
}

START_TEST(sequences_against_quadrature)
{
    expectation e[257];
    double sigma2 = variances[_i];
    exact_rows(sigma2, 256, e);
    const size_t lens[] = {2, 3, 7, 8, 24, 25, 26, 64, 256};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        check_sequence(lens[i], true, sigma2, e);
        check_sequence(lens[i], false, sigma2, e);
    }
}
END_TEST

/* Long causal sequences take most of their rows from a polynomial in ln n: against every row. Also
 * where H is the small difference of two numbers, and across the point where its law takes over. */
START_TEST(between_the_points)
{
    static const double at[] = {1e-4, .5, 1.5, 20, 4096, 1e6, .99 * 3e7, 1.01 * 3e7};
    static const size_t lens[] = {100, 700};
    for (size_t i = 0; i < 2; i++) {
        double norm = 0, trace = 0, len = (double)lens[i];
        for (size_t n = 1; n <= lens[i]; n++) {
            rdk_expectation e = rdk_theory_exact(n, at[_i]);
            if (n > 1) norm += e.entropy / log((double)n) / (len - 1);
            trace += e.trace / len;
        }
        rdk_theory t = rdk_theory_sequence(lens[i], true, at[_i]);
        ck_assert_double_eq_tol(t.entropy_norm, norm, 1e-6);
        ck_assert_double_eq_tol(t.jacobian_trace, trace, 1e-9);
    }
    rdk_expectation below = rdk_theory_exact(300, .9999 * 3e7),
                    above = rdk_theory_exact(300, 1.0001 * 3e7);
    ck_assert_double_eq_tol(below.entropy, above.entropy, 2e-6);
    ck_assert_double_eq_tol(below.trace, above.trace, 1e-7);
}
END_TEST

/* Two keys: p_max = 1 / (1 + e^-|d|) with d ~ N(0, 2 sigma2), here by quadrature; nothing
 * saturates. */
START_TEST(two_keys)
{
    double want = 0, h = 1e-3;
    for (double z = -9; z <= 9; z += h)
        want += h * exp(-z * z / 2) / sqrt(2 * acos(-1.)) / (1 + exp(-fabs(z) * sqrt(2.)));
    ck_assert_double_eq_tol(want, .73, .005);
    rdk_row_estimates e = drawn(2, 1, 20000, 0);
    ck_assert_double_eq_tol(e.p_max.mean, want, 3 * e.p_max.se);
    ck_assert_double_eq_tol(e.sat99.mean, erfc(log(99) / 2), 3 * e.sat99.se);
    ck_assert_double_le(e.sat99.mean, .002);
}
END_TEST

/* ---- closed forms ---------------------------------------------------------------------------- */

/* ln n - E[H] against (1 - 1/n) sigma2 / 2, and the ratios where it begins to fail. */
START_TEST(small_variance)
{
    const struct {
        size_t n;
        double sigma2, ratio, tolerance;
    } rows[] = {{32, 1. / 64, 1, .008}, {64, 1. / 16, 1, .006}, {128, 1. / 16, 1, .006},
                {64, .25, .994, .004},  {64, 1, .964, .004},    {8, 1, .816, .006}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double n = (double)rows[i].n, law = (1 - 1 / n) * rows[i].sigma2 / 2;
        rdk_row_estimates e = drawn(rows[i].n, rows[i].sigma2, 20000, 0);
        ck_assert_double_eq_tol((log(n) - e.entropy.mean) / law, rows[i].ratio, rows[i].tolerance);
    }
}
END_TEST

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1.));
}

static double distribution(double x)
{
    return erfc(-x / sqrt(2.)) / 2;
}

/* g_n: the density at 0 of the gap between the two largest of n N(0, 1); and E[max of n]. */
static void top_gap(double n, double *gap_density, double *expected_max)
{
    const double h = 1e-3;
    *gap_density = *expected_max = 0;
    for (double x = -REACH; x <= REACH; x += h) {
        double f = density(x), p = distribution(x);
        *gap_density += h * n * (n - 1) * f * f * pow(p, n - 2);
        *expected_max += h * n * x * f * pow(p, n - 1);
    }
}

START_TEST(large_variance)
{
    const double n[] = {2, 8, 32, 64, 128, 256};
    const double g[] = {.5642, 1.4236, 2.0697, 2.3437, 2.5946, 2.8269};
    for (int i = 0; i < 6; i++) {
        double gap_density, expected_max;
        top_gap(n[i], &gap_density, &expected_max);
        ck_assert_double_eq_tol(gap_density, g[i], 5.1e-5);
        ck_assert_double_eq_tol(expected_max, gap_density, 1e-9);
    }
    /* sigma = 16: tr J at n = 2 and 64, H at n = 2, near g/sigma and (pi^2/6) g/sigma */
    rdk_row_estimates e = drawn(2, 256, 100000, 0);
    double pi = acos(-1.);
    ck_assert_double_eq_tol(e.trace.mean, g[0] / 16, 3 * e.trace.se + 1e-4);
    ck_assert_double_eq_tol(e.entropy.mean, pi * pi / 6 * g[0] / 16, 3 * e.entropy.se + 1e-4);
    double frob2_error = 2 * e.frob.mean * e.frob.se;
    ck_assert_double_eq_tol(e.frob.mean * e.frob.mean, g[0] / 48, 3 * frob2_error + 1e-4);
    e = drawn(64, 256, 20000, 0);
    ck_assert_double_eq_tol(e.trace.mean, g[3] / 16, 3 * e.trace.se + 3e-4);
}
END_TEST

static void draw_scores(double *s, size_t n, double sigma, uint64_t step, size_t index)
{
    rdk_draws d = rdk_draws_at((rdk_stream){11, RDK_FOR_TEST, step}, index);
    for (size_t j = 0; j < n; j++) s[j] = sigma * rdk_draw_normal(&d);
}

/* sigma2 E[tr J] = E[sum p s], for any n and sigma. */
START_TEST(stein_identity)
{
    enum { ROWS = 20000 };
    const size_t n[] = {2, 8, 64};
    for (size_t i = 0; i < 3; i++) {
        double s[64], sum = 0, square = 0, sigma2 = variances[_i];
        for (size_t r = 0; r < ROWS; r++) {
            draw_scores(s, n[i], sqrt(sigma2), 100 + (uint64_t)_i, i * ROWS + r);
            rdk_attention_row row = rdk_row_from_scores(s, n[i]);
            rdk_row_figures f = rdk_row_measure(&row);
            double ps = 0;
            for (size_t j = 0; j < n[i]; j++) ps += s[j] * exp(s[j] - row.max) / (1 + row.rest);
            double x = sigma2 * f.jacobian_trace - ps;
            sum += x;
            square += x * x;
        }
        ck_assert_double_le(fabs(sum / ROWS), 3.5 * sqrt(square) / ROWS);
        ck_assert(square > 0);
    }
}
END_TEST

static void one_thread(void)
{
    rdk_threads_set(1);
}

RDK_TEST_MAIN("theory, exact", {
    tcase_add_checked_fixture(tc, one_thread, NULL);
    ADD_LOOP(rows_against_quadrature, VARIANCES);
    ADD_LOOP(sequences_against_quadrature, VARIANCES);
    ADD_LOOP(between_the_points, 8);
    ADD(two_keys);
    ADD(small_variance);
    ADD(large_variance);
    ADD_LOOP(stein_identity, VARIANCES);
})
