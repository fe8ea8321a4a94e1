/* SPDX-License-Identifier: MIT
 * What theory predicts, against the tables of a Monte Carlo with other random numbers; the rules
 * for which rows count, and the sampler against single rows. Read next: test_theory_exact.c. */
#include <harness.h>
#include <rootdk/probe.h>

static rdk_stream test_stream(uint64_t step)
{
    return (rdk_stream){.seed = 11, .purpose = RDK_FOR_TEST, .step = step};
}

/* ---- tables: n iid N(0, sigma2) scores ------------------------------------------------------- */

enum { LENGTHS = 4, VARIANCES = 6, SETTINGS = LENGTHS * VARIANCES };
static const size_t lengths[LENGTHS] = {8, 32, 64, 128};
static const double variances[VARIANCES] = {1. / 64, 1. / 16, 1, 16, 64, 256};
static const double table_rows[LENGTHS] = {200000, 125000, 62500, 31250};

static const double t_entropy[LENGTHS][VARIANCES] = {
    {2.0726, 2.0524, 1.7223, .6448, .3147, .1525},
    {3.4582, 3.4355, 3.0133, 1.0799, .4919, .2299},
    {4.1512, 4.1281, 3.6845, 1.3101, .5775, .2647},
    {4.8443, 4.8210, 4.3645, 1.5428, .6556, .2963}};
static const double t_entropy_norm[LENGTHS][VARIANCES] = {
    {.9967, .9870, .8282, .3101, .1514, .0733},
    {.9978, .9913, .8695, .3116, .1419, .0663},
    {.9981, .9926, .8859, .3150, .1389, .0637},
    {.9984, .9936, .8995, .3180, .1351, .0611}};
static const double t_p_max[LENGTHS][VARIANCES] = {{.1486, .1747, .3609, .7579, .8763, .9381},
                                                   {.0402, .0512, .1644, .6432, .8182, .9093},
                                                   {.0208, .0274, .1073, .5930, .7929, .8973},
                                                   {.0107, .0146, .0687, .5483, .7707, .8859}};
static const double t_trace[LENGTHS][VARIANCES] = {{.8733, .8681, .7679, .3360, .1757, .0887},
                                                   {.9683, .9668, .9272, .4820, .2549, .1291},
                                                   {.9841, .9834, .9612, .5423, .2891, .1463},
                                                   {.9921, .9917, .9798, .5946, .3183, .1618}};
static const double t_median_trace[LENGTHS][VARIANCES] = {{.873, .869, .79, .344, .0681, .0019},
                                                          {.968, .967, .935, .534, .189, .0151},
                                                          {.984, .983, .965, .605, .249, .027},
                                                          {.992, .992, .981, .663, .298, .0399}};
static const double t_frob[LENGTHS][VARIANCES] = {{.3320, .3356, .3668, .2982, .2277, .1667},
                                                  {.1752, .1788, .2422, .3174, .2605, .1964},
                                                  {.1249, .1277, .1846, .3174, .2708, .2067},
                                                  {.0887, .0907, .1371, .3144, .2783, .2156}};
static const double t_sat99[LENGTHS][VARIANCES] = {{0, 0, 0, .097, .377, .640},
                                                   {0, 0, 0, .030, .236, .521},
                                                   {0, 0, 0, .018, .195, .475},
                                                   {0, 0, 0, .012, .162, .440}};
static const double t_sat90[LENGTHS][VARIANCES] = {{0, 0, 0, .342, .632, .809},
                                                   {0, 0, 0, .176, .495, .729},
                                                   {0, 0, 0, .130, .440, .695},
                                                   {0, 0, 0, .095, .399, .665}};

enum { SAMPLES = 16000 };

/* The table is a Monte Carlo as well, over `rows`: three standard errors of the difference, and
 * half a unit of the last printed digit. */
static void check_mean(const char *what, double got, double se, double want, double digit,
                       double rows)
{
    double allowed = 3 * se * sqrt(1 + SAMPLES / rows) + digit / 2;
    ck_assert_msg(fabs(got - want) <= allowed, "%s = %.6g, the table has %.6g (allowed %.2g)", what,
                  got, want, allowed);
}

START_TEST(tables)
{
    size_t i = _i / VARIANCES, k = _i % VARIANCES;
    double rows = table_rows[i];
    rdk_theory se, t = rdk_theory_rows(lengths[i], variances[k], SAMPLES, 0, &se);
    check_mean("entropy", t.entropy, se.entropy, t_entropy[i][k], 1e-4, rows);
    check_mean("entropy_norm", t.entropy_norm, se.entropy_norm, t_entropy_norm[i][k], 1e-4, rows);
    check_mean("p_max", t.p_max, se.p_max, t_p_max[i][k], 1e-4, rows);
    check_mean("trace", t.jacobian_trace, se.jacobian_trace, t_trace[i][k], 1e-4, rows);
    check_mean("frob", t.jacobian_frob, se.jacobian_frob, t_frob[i][k], 1e-4, rows);
    check_mean("sat90", t.sat90, se.sat90, t_sat90[i][k], 1e-3, rows);
    check_mean("sat99", t.sat99, se.sat99, t_sat99[i][k], 1e-3, rows);
    double std = sqrt((1 - 1 / (double)lengths[i]) * variances[k]);
    ck_assert_double_eq_tol(t.score_std, std, 3 * se.score_std);
    ck_assert(se.score_std > 0 && se.score_std < .01 * std);
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
    size_t i = _i / VARIANCES, k = _i % VARIANCES;
    double trace[ROWS], s[128];
    for (size_t r = 0; r < ROWS; r++) {
        draw_scores(s, lengths[i], sqrt(variances[k]), (uint64_t)_i, r);
        rdk_attention_row row = rdk_row_from_scores(s, lengths[i]);
        trace[r] = rdk_row_measure(&row).jacobian_trace;
    }
    qsort(trace, ROWS, sizeof *trace, ascending);
    double want = t_median_trace[i][k], digit = want >= .1 ? 1e-3 : 1e-4;
    size_t away = (size_t)(3 * .5 * sqrt(ROWS * (1 + ROWS / table_rows[i])));
    ck_assert(trace[ROWS / 2 - away] - digit / 2 <= want);
    ck_assert(trace[ROWS / 2 + away] + digit / 2 >= want);
}
END_TEST

/* ---- causal sequences: the table ------------------------------------------------------------- */

typedef struct causal_row {
    double sigma2;
    size_t len;
    double entropy, entropy_norm, trace;
} causal_row;

static const causal_row causal_table[] = {
    {1. / 64, 64, 3.1985, .9976, .9251},  {1. / 64, 128, 3.8707, .9979, .9571},
    {1. / 64, 256, 4.5520, .9982, .9758}, {1. / 16, 64, 3.1770, .9904, .9228},
    {1, 32, 2.1652, .8432, .7970},        {1, 64, 2.7808, .8614, .8726},
    {1, 128, 3.4256, .8780, .9227},       {1, 256, 4.0888, .8923, .9543},
    {16, 64, .9993, .3115, .4480},        {64, 64, .4579, .1446, .2380},
    {64, 128, .5361, .1398, .2704},       {64, 256, .6176, .1366, .3024},
    {256, 64, .2125, .0673, .1192},
};

START_TEST(causal_sequences)
{
    const causal_row *want = &causal_table[_i];
    rdk_theory t = rdk_theory_sequence(want->len, true, want->sigma2);
    double tolerance = want->sigma2 < 1 ? 2e-4 : 3 * .0028;
    ck_assert_double_eq_tol(t.entropy_norm, want->entropy_norm, tolerance);
    ck_assert_double_eq_tol(t.entropy, want->entropy, tolerance * log((double)want->len));
    ck_assert_double_eq_tol(t.jacobian_trace, want->trace, want->sigma2 < 1 ? 2e-4 : .02);
    double harmonic = 0;
    for (size_t n = 2; n <= want->len; n++) harmonic += 1 / (double)n;
    double shrink = 1 - harmonic / (double)(want->len - 1);
    ck_assert_close(t.score_std, sqrt(want->sigma2 * shrink), 1e-12, 0);
}
END_TEST

/* Which rows count: of a causal sequence of 9, p_max takes n = 8 and 9; of one of 7, n = 2 .. 7. */
START_TEST(long_rows_only)
{
    for (size_t len = 7; len <= 9; len += 2) {
        double want = 0, first = len == 9 ? 8 : 2;
        for (size_t n = (size_t)first; n <= len; n++)
            want += rdk_theory_rows(n, 16, 40000, 1, NULL).p_max / ((double)len - first + 1);
        ck_assert_double_eq_tol(rdk_theory_sequence(len, true, 16).p_max, want, .006);
    }
}
END_TEST

START_TEST(shortest_sequences)
{
    rdk_theory t = rdk_theory_sequence(1, true, 64);
    ck_assert_double_eq(t.entropy, 0);
    ck_assert_double_eq(t.jacobian_trace, 0);
    ck_assert(isnan(t.entropy_norm) && isnan(t.score_std) && isnan(t.p_max));
    t = rdk_theory_rows(1, 64, 100, 0, NULL);
    ck_assert_double_eq(t.entropy, 0);
    ck_assert(isnan(t.entropy_norm) && isnan(t.score_std) && isnan(t.sat99));
    ck_assert(isnan(rdk_theory_rows(5, 1, 0, 0, NULL).entropy));
    t = rdk_theory_sequence(40, true, 0); /* all scores equal */
    ck_assert_double_eq_tol(t.entropy_norm, 1, 1e-12);
    ck_assert_double_eq(t.score_std, 0);
    ck_assert_double_eq(t.sat90, 0);
}
END_TEST

START_TEST(thread_count_changes_nothing)
{
    rdk_theory t[3];
    for (int threads = 1; threads <= 3; threads++) {
        rdk_threads_set(threads);
        t[threads - 1] = rdk_theory_sequence(400, true, 9);
    }
    ck_assert(memcmp(&t[0], &t[1], sizeof t[0]) == 0);
    ck_assert(memcmp(&t[0], &t[2], sizeof t[0]) == 0);
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
        rdk_theory t = rdk_theory_rows(N, 64, 1, 3, NULL);
        ck_assert_close(t.entropy, f.entropy, 1e-12, 0);
        ck_assert_close(t.p_max, f.p_max, 1e-12, 0);
        ck_assert_close(t.jacobian_trace, f.jacobian_trace, 1e-12, 0);
        ck_assert_close(t.jacobian_frob, sqrt(f.jacobian_frob2), 1e-12, 0);
        ck_assert_close(t.score_std, sqrt(row.variance), 1e-12, 0);
    }
    for (size_t r = 0; r < ROWS; r++) {
        square += (entropy[r] - mean) * (entropy[r] - mean);
        square_variance += (variance[r] - mean_variance) * (variance[r] - mean_variance);
    }
    rdk_theory se, t = rdk_theory_rows(N, 64, ROWS, 3, &se);
    ck_assert_close(t.entropy, mean, 1e-12, 0);
    ck_assert_close(se.entropy, sqrt(square / (ROWS - 1) / ROWS), 1e-12, 0);
    double se_variance = sqrt(square_variance / (ROWS - 1) / ROWS);
    ck_assert_close(t.score_std, sqrt(mean_variance), 1e-12, 0);
    ck_assert_close(se.score_std, se_variance / (2 * t.score_std), 1e-12, 0);
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
    ADD_LOOP(causal_sequences, 13);
    ADD(long_rows_only);
    ADD(shortest_sequences);
    ADD(thread_count_changes_nothing);
    ADD(samples_one_by_one);
})
