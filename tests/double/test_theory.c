/* SPDX-License-Identifier: MIT
 * What theory predicts, against three independent sources: published tables of a Monte Carlo with
 * other random numbers, the exact expectation by quadrature, and closed forms. */
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
        rdk_theory se, t = rdk_theory_rows(n, sigma2, 8000, 0, &se);
        ck_assert_double_eq_tol(t.entropy, e[n].entropy, 3.5 * se.entropy + 1e-7);
        ck_assert_double_eq_tol(t.jacobian_trace, e[n].trace, 3.5 * se.jacobian_trace + 1e-7);
    }
}
END_TEST

/* The promise of rdk_theory_sequence: standard error of entropy_norm at most 0.0028. */
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
    const double se = .0028;
    ck_assert_double_eq_tol(t.entropy_norm, norm, 3 * se);
    ck_assert_double_eq_tol(t.entropy, entropy, 3 * se * log((double)len));
    ck_assert_double_eq_tol(t.jacobian_trace, trace, .02);
}

START_TEST(sequences_against_quadrature)
{
    expectation e[257];
    double sigma2 = variances[_i];
    exact_rows(sigma2, 256, e);
    const size_t lens[] = {2, 3, 7, 8, 24, 64, 256};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        check_sequence(lens[i], true, sigma2, e);
        check_sequence(lens[i], false, sigma2, e);
    }
}
END_TEST

/* The same where sampling has to go on for it: the errors of independent lengths, as a whole. */
START_TEST(promised_standard_error)
{
    static expectation e[1025];
    double square = 0, count = 0;
    exact_rows(16, 1024, e);
    for (size_t len = 513; len <= 1024; len += 73, count += 1) {
        double norm = e[len].entropy / log((double)len);
        square += pow(rdk_theory_sequence(len, false, 16).entropy_norm - norm, 2);
    }
    ck_assert_double_le(sqrt(square / count), 1.4 * .0028);
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

/* Two keys: p_max = 1 / (1 + e^-|d|) with d ~ N(0, 2 sigma2), here by quadrature; nothing
 * saturates. */
START_TEST(two_keys)
{
    double want = 0, h = 1e-3;
    for (double z = -9; z <= 9; z += h)
        want += h * exp(-z * z / 2) / sqrt(2 * acos(-1.)) / (1 + exp(-fabs(z) * sqrt(2.)));
    ck_assert_double_eq_tol(want, .73, .005);
    rdk_theory se, t = rdk_theory_rows(2, 1, 20000, 0, &se);
    ck_assert_double_eq_tol(t.p_max, want, 3 * se.p_max);
    ck_assert_double_eq_tol(t.sat99, erfc(log(99) / 2), 3 * se.sat99);
    ck_assert_double_le(t.sat99, .002);
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
        t[threads - 1] = rdk_theory_sequence(200, true, 9);
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
        rdk_theory t = rdk_theory_rows(rows[i].n, rows[i].sigma2, 20000, 0, NULL);
        ck_assert_double_eq_tol((log(n) - t.entropy) / law, rows[i].ratio, rows[i].tolerance);
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
    rdk_theory se, t = rdk_theory_rows(2, 256, 100000, 0, &se);
    double pi = acos(-1.);
    ck_assert_double_eq_tol(t.jacobian_trace, g[0] / 16, 3 * se.jacobian_trace + 1e-4);
    ck_assert_double_eq_tol(t.entropy, pi * pi / 6 * g[0] / 16, 3 * se.entropy + 1e-4);
    double frob2_error = 2 * t.jacobian_frob * se.jacobian_frob;
    ck_assert_double_eq_tol(t.jacobian_frob * t.jacobian_frob, g[0] / 48, 3 * frob2_error + 1e-4);
    t = rdk_theory_rows(64, 256, 20000, 0, &se);
    ck_assert_double_eq_tol(t.jacobian_trace, g[3] / 16, 3 * se.jacobian_trace + 3e-4);
}
END_TEST

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

/* ---- the variance of the scores of a configuration ------------------------------------------- */

static rdk_model_config config_of(const char *scale, rdk_init init, rdk_qk_norm norm,
                                  size_t d_model, size_t d_k)
{
    rdk_model_config c = {.vocab = 64,
                          .max_len = 24,
                          .layers = 2,
                          .heads = 2,
                          .d_model = d_model,
                          .d_k = d_k,
                          .d_ff = 4 * d_model,
                          .qk_norm = norm,
                          .init = init};
    snprintf(c.scale, sizeof c.scale, "%s", scale);
    return c;
}

START_TEST(score_variances)
{
    const struct {
        const char *scale;
        rdk_init init;
        rdk_qk_norm norm;
        size_t d_model, d_k;
        double gain, want;
    } rows[] = {
        {"none", RDK_INIT_UNIT, RDK_QK_OFF, 64, 64, 0, 64},
        {"sqrt", RDK_INIT_UNIT, RDK_QK_OFF, 64, 64, 0, 1},
        {"dk", RDK_INIT_UNIT, RDK_QK_OFF, 64, 64, 0, 1. / 64},
        {"dmodel", RDK_INIT_UNIT, RDK_QK_OFF, 512, 64, 0, 64. / 512},
        {"none", RDK_INIT_GPT2, RDK_QK_OFF, 768, 64, 0, 6.0397977}, /* 64 (768 * .0004)^2 */
        {"sqrt", RDK_INIT_GPT2, RDK_QK_OFF, 768, 64, 0, .094371840},
        {"none", RDK_INIT_GPT2, RDK_QK_OFF, 128, 32, 0, .083886080}, /* 32 (128 * .0004)^2 */
        {"t5", RDK_INIT_UNIT, RDK_QK_OFF, 64, 64, 0, 1},
        {"none", RDK_INIT_T5, RDK_QK_OFF, 64, 16, 0, 1},
        {"sqrt", RDK_INIT_T5, RDK_QK_OFF, 64, 16, 0, 1. / 16},
        {"0.5", RDK_INIT_UNIT, RDK_QK_OFF, 64, 64, 0, 16},
        {"qknorm", RDK_INIT_UNIT, RDK_QK_LAYER, 64, 64, 0, 1},
        {"qknorm", RDK_INIT_GPT2, RDK_QK_LAYER, 128, 64, 0, 1}, /* whatever the weights */
        {"sqrt", RDK_INIT_UNIT, RDK_QK_RMS, 64, 64, 2, 16},
        {"none", RDK_INIT_UNIT, RDK_QK_L2, 64, 64, 11.98, 2.24250625}, /* 11.98^2 / 64 */
        {"none", RDK_INIT_UNIT, RDK_QK_L2, 64, 64, 0, 1},              /* g = sqrt(d_k) */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rdk_model_config c =
            config_of(rows[i].scale, rows[i].init, rows[i].norm, rows[i].d_model, rows[i].d_k);
        c.qk_gain = rows[i].gain;
        ck_assert_close(rdk_theory_score_variance(&c), rows[i].want, 1e-7, 0);
    }
}
END_TEST

/* Real q.k: x of unit RMS through W_Q and W_K would give q, k ~ N(0, I); their scores, beside
 * theory at the predicted variance. d_k = 64, n = 64. */
static void draw_vector(double *x, uint64_t step, size_t index, rdk_qk_norm norm, double gain)
{
    double mean = 0, square = 0;
    rdk_draws d = rdk_draws_at(test_stream(step), index);
    for (int c = 0; c < 64; c++) mean += (x[c] = rdk_draw_normal(&d)) / 64;
    for (int c = 0; c < 64; c++) x[c] -= norm == RDK_QK_LAYER ? mean : 0;
    for (int c = 0; c < 64; c++) square += x[c] * x[c];
    if (norm == RDK_QK_OFF) return;
    double length = sqrt(norm == RDK_QK_L2 ? square : square / 64);
    for (int c = 0; c < 64; c++) x[c] *= gain / length;
}

START_TEST(products_of_queries_and_keys)
{
    enum { QUERIES = 1500, N = 64 };
    const struct {
        const char *scale;
        rdk_qk_norm norm;
        double factor, gain; /* the L2 gain once, on q */
    } modes[] = {{"none", RDK_QK_OFF, 1, 1},
                 {"sqrt", RDK_QK_OFF, .125, 1},
                 {"dk", RDK_QK_OFF, 1. / 64, 1},
                 {"qknorm", RDK_QK_LAYER, .125, 1},
                 {"none", RDK_QK_L2, 1, 11.98}};
    rdk_model_config c = config_of(modes[_i].scale, RDK_INIT_UNIT, modes[_i].norm, 64, 64);
    c.qk_gain = modes[_i].norm == RDK_QK_L2 ? modes[_i].gain : 0;
    double entropy = 0, variance = 0, q[64], k[64], s[N], sigma2 = rdk_theory_score_variance(&c);
    for (size_t r = 0; r < QUERIES; r++) {
        draw_vector(q, 200, r, modes[_i].norm, modes[_i].gain);
        for (size_t j = 0; j < N; j++) {
            draw_vector(k, 201, r * N + j, modes[_i].norm, 1);
            s[j] = 0;
            for (int i = 0; i < 64; i++) s[j] += modes[_i].factor * q[i] * k[i];
        }
        rdk_attention_row row = rdk_row_from_scores(s, N);
        entropy += rdk_row_measure(&row).entropy / log((double)N) / QUERIES;
        variance += row.variance / QUERIES;
    }
    rdk_theory t = rdk_theory_sequence(N, false, sigma2);
    ck_assert_double_eq_tol(t.entropy_norm, entropy, .012);
    ck_assert_close(sqrt(variance), t.score_std, .02, 0);
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
    ADD_LOOP(rows_against_quadrature, VARIANCES);
    ADD_LOOP(sequences_against_quadrature, VARIANCES);
    ADD(promised_standard_error);
    ADD_LOOP(causal_sequences, 13);
    ADD(long_rows_only);
    ADD(two_keys);
    ADD(shortest_sequences);
    ADD(thread_count_changes_nothing);
    ADD(samples_one_by_one);
    ADD(small_variance);
    ADD(large_variance);
    ADD_LOOP(stein_identity, VARIANCES);
    ADD(score_variances);
    ADD_LOOP(products_of_queries_and_keys, 5);
})
