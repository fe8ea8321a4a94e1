/* SPDX-License-Identifier: MIT
 * What theory predicts, against the tables of a Monte Carlo with other random numbers; the rules
 * for which rows count, and the sampler against single rows.
 * Read next: test_theory_exact.c. */
#include <harness.h>
#include <rootdk/probe.h>

static rdk_stream test_stream(uint64_t step)
{
    return (rdk_stream){.seed = 11, .purpose = RDK_FOR_TEST, .step = step};
}

static rdk_row_estimates drawn(size_t n, double sigma2, size_t samples, uint64_t seed)
{
    rdk_row_estimates e;
    rdk_status s = {0};
    ck_assert(rdk_theory_gaussian(n, false, sigma2, samples, seed, &e, &s));
    return e;
}

/* ---- tables: n iid N(0, sigma2) scores ------------------------------------------------------- */

enum { LENGTHS = 5, VARIANCES = 6, SETTINGS = LENGTHS * VARIANCES };
static const size_t lengths[LENGTHS] = {8, 32, 64, 128, 256};
static const double variances[VARIANCES] = {1. / 64, 1. / 16, 1, 16, 64, 256};
enum { SAMPLES = 16000 };

/* The table is a Monte Carlo as well, over `rows`: three standard errors of the difference, and
 * half a unit of the last printed digit. */
static void check_mean(const char *what, rdk_estimate e, double want, double digit, double rows)
{
    double allowed = 3 * e.se * sqrt(1 + SAMPLES / rows) + digit / 2;
    ck_assert_msg(fabs(e.mean - want) <= allowed, "%s = %.6g, the table has %.6g (allowed %.2g)",
                  what, e.mean, want, allowed);
}

START_TEST(tables)
{
    size_t n = lengths[_i / VARIANCES];
    double sigma2 = variances[_i % VARIANCES];
    const rdk_reference *r = rdk_reference_rows(n, sigma2);
    ck_assert_ptr_nonnull(r);
    rdk_row_estimates e = drawn(n, sigma2, SAMPLES, 0);
    check_mean("entropy", e.entropy, r->entropy, 1e-4, r->rows);
    check_mean("entropy_norm", e.entropy_norm, r->entropy_norm, 1e-4, r->rows);
    check_mean("p_max", e.p_max, r->p_max, 1e-4, r->rows);
    check_mean("trace", e.trace, r->trace, 1e-4, r->rows);
    check_mean("frob", e.frob, r->frob, 1e-4, r->rows);
    check_mean("sat90", e.sat90, r->sat90, 1e-3, r->rows);
    check_mean("sat99", e.sat99, r->sat99, 1e-3, r->rows);
    ck_assert_double_eq_tol(e.variance.mean, sigma2, 3 * e.variance.se);
    ck_assert(e.variance.se > 0 && e.variance.se < .02 * sigma2);
}
END_TEST

/* A few of them, typed from the printed tables: the data of reference.c are not moved. */
START_TEST(reference_by_hand)
{
    const rdk_reference *r = rdk_reference_rows(64, 64);
    ck_assert(r->entropy == .5775 && r->entropy_norm == .1389 && r->p_max == .7929);
    ck_assert(r->trace == .2891 && r->trace_median == .249 && r->frob == .2708);
    ck_assert(r->sat90 == .440 && r->sat99 == .195 && r->rows == 62500);
    r = rdk_reference_rows(256, 1. / 16);
    ck_assert(r->entropy == 5.5141 && r->p_max == .0077 && r->trace == .9958 && r->sat90 == 0);
    r = rdk_reference_causal(64, 1);
    ck_assert(r->entropy == 2.7808 && r->entropy_norm == .8614 && r->p_max == .2203);
    r = rdk_reference_dot(256, 64, "l2");
    ck_assert(r->entropy_norm == .935 && r->trace == .974 && r->p_max == .071);
    ck_assert_ptr_null(rdk_reference_rows(65, 64));
    ck_assert_ptr_null(rdk_reference_causal(32, 64));
    ck_assert_ptr_null(rdk_reference_dot(64, 64, "dmodel"));
    ck_assert_ptr_null(rdk_reference_dot(64, 32, "none"));
}
END_TEST

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void draw_scores(double *s, size_t n, double sigma, uint64_t step, size_t index)
{
    rdk_draws d = rdk_draws_at(test_stream(step), index);
    for (size_t j = 0; j < n; j++) s[j] = sigma * rdk_draw_normal(&d);
}

/* The table's median lies between the order statistics three standard errors of a rank away. */
START_TEST(median_trace)
{
    enum { ROWS = 6000 };
    size_t n = lengths[_i / VARIANCES];
    double sigma2 = variances[_i % VARIANCES], trace[ROWS], s[256];
    const rdk_reference *want = rdk_reference_rows(n, sigma2);
    for (size_t r = 0; r < ROWS; r++) {
        draw_scores(s, n, sqrt(sigma2), (uint64_t)_i, r);
        trace[r] = rdk_row_of_scores(s, n).jacobian_trace;
    }
    qsort(trace, ROWS, sizeof *trace, ascending);
    double digit = want->trace_median >= .1 ? 1e-3 : 1e-4;
    size_t away = (size_t)(3 * .5 * sqrt(ROWS * (1 + ROWS / want->rows)));
    ck_assert(trace[ROWS / 2 - away] - digit / 2 <= want->trace_median);
    ck_assert(trace[ROWS / 2 + away] + digit / 2 >= want->trace_median);
}
END_TEST

/* ---- with standard errors -------------------------------------------------------------------- */

/* Median, identity and unbiased variance from the rows. */
START_TEST(gaussian_by_hand)
{
    enum { N = 12, ROWS = 9 };
    double trace[ROWS], s[N], stein = 0, variance = 0;
    rdk_row_estimates e;
    rdk_status status = {0};
    ck_assert(rdk_theory_gaussian(N, false, 4, ROWS, 5, &e, &status));
    for (size_t r = 0; r < ROWS; r++) {
        double z = 0, mean_score = 0, mean = 0, square = 0;
        rdk_draws d = rdk_draws_at((rdk_stream){5, RDK_FOR_THEORY, N}, r);
        for (size_t j = 0; j < N; j++) s[j] = 2 * rdk_draw_normal(&d);
        for (size_t j = 0; j < N; j++) z += exp(s[j]);
        for (size_t j = 0; j < N; j++) mean_score += exp(s[j]) / z * s[j];
        for (size_t j = 0; j < N; j++) mean += s[j] / N;
        for (size_t j = 0; j < N; j++) square += (s[j] - mean) * (s[j] - mean);
        trace[r] = rdk_row_of_scores(s, N).jacobian_trace;
        stein += (4 * trace[r] - mean_score) / ROWS;
        variance += square / (N - 1) / ROWS;
    }
    qsort(trace, ROWS, sizeof *trace, ascending);
    ck_assert_close(e.trace_median.mean, trace[ROWS / 2], 1e-12, 0);
    ck_assert_close(e.trace_median.se, (trace[6] - trace[2]) / 2, 1e-12, 0);
    ck_assert_close(e.stein.mean, stein, 1e-10, 1);
    ck_assert_close(e.variance.mean, variance, 1e-12, 0);
    ck_assert_uint_eq(e.samples, ROWS);
}
END_TEST

/* ---- causal sequences: the table ------------------------------------------------------------- */

static const struct {
    double sigma2;
    size_t len;
} causal_table[] = {{1. / 64, 64}, {1. / 64, 128}, {1. / 64, 256}, {1. / 16, 64}, {1, 32},
                    {1, 64},       {1, 128},       {1, 256},       {16, 64},      {64, 64},
                    {64, 128},     {64, 256},      {256, 64}};

START_TEST(causal_sequences)
{
    size_t len = causal_table[_i].len;
    double sigma2 = causal_table[_i].sigma2;
    const rdk_reference *want = rdk_reference_causal(len, sigma2);
    rdk_theory t = rdk_theory_sequence(len, true, sigma2);
    /* The table is of 6000 sequences; its own error, at most .0008. */
    double tolerance = sigma2 < 1 ? 1e-4 : 3 * .0008;
    ck_assert_double_eq_tol(t.entropy_norm, want->entropy_norm, tolerance);
    ck_assert_double_eq_tol(t.entropy, want->entropy, tolerance * log((double)len));
    ck_assert_double_eq_tol(t.jacobian_trace, want->trace, sigma2 < 1 ? 1e-4 : .005);
    double harmonic = 0;
    for (size_t n = 2; n <= len; n++) harmonic += 1 / (double)n;
    double shrink = 1 - harmonic / (double)(len - 1);
    ck_assert_close(t.score_std, sqrt(sigma2 * shrink), 1e-12, 0);
}
END_TEST

/* With standard errors: the table within three of them; p_max over all rows; the identity. */
START_TEST(causal_estimates)
{
    enum { SEQUENCES = 2000 };
    double sigma2 = causal_table[_i].sigma2;
    const rdk_reference *r = rdk_reference_causal(causal_table[_i].len, sigma2);
    rdk_row_estimates e;
    rdk_status s = {0};
    ck_assert(rdk_theory_gaussian(r->n, true, sigma2, SEQUENCES, 1, &e, &s));
    double more = 3 * sqrt(1 + SEQUENCES / r->rows);
    ck_assert_double_eq_tol(e.entropy.mean, r->entropy, more * e.entropy.se + 5.1e-5);
    ck_assert_double_eq_tol(e.entropy_norm.mean, r->entropy_norm,
                            more * e.entropy_norm.se + 5.1e-5);
    ck_assert_double_eq_tol(e.trace.mean, r->trace, more * e.trace.se + 5.1e-5);
    ck_assert_double_eq_tol(e.p_max_all.mean, r->p_max, more * e.p_max_all.se + 5.1e-5);
    ck_assert_double_eq_tol(e.stein.mean, 0, 3 * e.stein.se);
    ck_assert(e.stein.se > 0 && isnan(e.variance.mean));
}
END_TEST

/* Which rows count: of a causal sequence of 9, p_max takes n = 8 and 9; of one of 7, n = 2 .. 7. */
START_TEST(long_rows_only)
{
    for (size_t len = 7; len <= 9; len += 2) {
        double want = 0, first = len == 9 ? 8 : 2;
        rdk_row_estimates e;
        rdk_status s = {0};
        for (size_t n = (size_t)first; n <= len; n++)
            want += drawn(n, 16, 40000, 1).p_max.mean / ((double)len - first + 1);
        ck_assert(rdk_theory_gaussian(len, true, 16, 40000, 1, &e, &s));
        ck_assert_double_eq_tol(e.p_max.mean, want, .006);
    }
}
END_TEST

START_TEST(shortest_sequences)
{
    rdk_theory t = rdk_theory_sequence(1, true, 64);
    ck_assert_double_eq(t.entropy, 0);
    ck_assert_double_eq(t.jacobian_trace, 0);
    ck_assert(isnan(t.entropy_norm) && isnan(t.score_std));
    rdk_row_estimates e = drawn(1, 64, 100, 0);
    ck_assert_double_eq(e.entropy.mean, 0);
    ck_assert(isnan(e.entropy_norm.mean) && isnan(e.variance.mean) && isnan(e.sat99.mean));
    t = rdk_theory_sequence(40, true, 0); /* all scores equal */
    ck_assert_double_eq_tol(t.entropy_norm, 1, 1e-12);
    ck_assert_double_eq(t.score_std, 0);
    ck_assert(isnan(rdk_theory_sequence(40, true, NAN).entropy_norm));
    ck_assert(isnan(rdk_theory_sequence(40, false, -1).entropy_norm));
    ck_assert_double_eq(rdk_theory_sequence(40, true, INFINITY).entropy_norm, 0);
}
END_TEST

START_TEST(thread_count_changes_nothing)
{
    rdk_row_estimates e[3];
    rdk_status s = {0};
    for (int threads = 1; threads <= 3; threads++) {
        rdk_threads_set(threads);
        ck_assert(rdk_theory_gaussian(400, true, 9, 300, 1, &e[threads - 1], &s));
        e[threads - 1].variance = (rdk_estimate){0, 0}; /* NAN of a causal sequence */
    }
    ck_assert(memcmp(&e[0], &e[1], sizeof e[0]) == 0);
    ck_assert(memcmp(&e[0], &e[2], sizeof e[0]) == 0);
}
END_TEST

/* The running sums of the sampler against the two passes of rdk_row_from_scores, on its own draws;
 * mean and standard error by hand. */
START_TEST(samples_one_by_one)
{
    enum { N = 50, ROWS = 5 };
    double entropy[ROWS], variance[ROWS], mean = 0, square = 0, s[N];
    double mean_variance = 0, square_variance = 0;
    for (size_t r = 0; r < ROWS; r++) {
        rdk_draws d = rdk_draws_at((rdk_stream){3, RDK_FOR_THEORY, N}, r);
        for (size_t j = 0; j < N; j++) s[j] = 8 * rdk_draw_normal(&d);
        rdk_attention_row row = rdk_row_from_scores(s, N);
        entropy[r] = rdk_row_measure(&row).entropy;
        variance[r] = row.variance;
        mean += entropy[r] / ROWS;
        mean_variance += variance[r] / ROWS;
        if (r > 0) continue;
        rdk_row_figures f = rdk_row_measure(&row);
        rdk_row_estimates e = drawn(N, 64, 1, 3);
        ck_assert_close(e.entropy.mean, f.entropy, 1e-12, 0);
        ck_assert_close(e.p_max.mean, f.p_max, 1e-12, 0);
        ck_assert_close(e.trace.mean, f.jacobian_trace, 1e-12, 0);
        ck_assert_close(e.frob.mean, sqrt(f.jacobian_frob2), 1e-12, 0);
        ck_assert_close(e.variance.mean, row.variance * N / (N - 1), 1e-12, 0);
    }
    for (size_t r = 0; r < ROWS; r++) {
        square += (entropy[r] - mean) * (entropy[r] - mean);
        square_variance += (variance[r] - mean_variance) * (variance[r] - mean_variance);
    }
    rdk_row_estimates e = drawn(N, 64, ROWS, 3);
    ck_assert_close(e.entropy.mean, mean, 1e-12, 0);
    ck_assert_close(e.entropy.se, sqrt(square / (ROWS - 1) / ROWS), 1e-12, 0);
    double se_variance = sqrt(square_variance / (ROWS - 1) / ROWS);
    ck_assert_close(e.variance.mean, mean_variance * N / (N - 1), 1e-12, 0);
    ck_assert_close(e.variance.se, se_variance * N / (N - 1), 1e-12, 0);
}
END_TEST

static void one_thread(void)
{
    rdk_threads_set(1);
}

RDK_TEST_MAIN("theory", {
    tcase_add_checked_fixture(tc, one_thread, NULL);
    ADD_LOOP(tables, SETTINGS);
    ADD_LOOP(median_trace, SETTINGS);
    ADD(reference_by_hand);
    ADD(gaussian_by_hand);
    ADD_LOOP(causal_sequences, 13);
    ADD_LOOP(causal_estimates, 13);
    ADD(long_rows_only);
    ADD(shortest_sequences);
    ADD(thread_count_changes_nothing);
    ADD(samples_one_by_one);
})
