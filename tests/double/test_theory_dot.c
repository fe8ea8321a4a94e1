/* SPDX-License-Identifier: MIT
 * Queries and keys: the formulas for the variance of a score, the Monte Carlo against vectors
 * written out, and the reference figures at four widths. */
#include <harness.h>
#include <rootdk/probe.h>

enum { WAYS = 5 };
static const char *const way_names[WAYS] = {"none", "sqrt", "dk", "l2", "rms"};

static void ways_at(size_t d_k, double n, rdk_dot_scale way[WAYS])
{
    double d = (double)d_k;
    way[0] = (rdk_dot_scale){1, 1, RDK_QK_OFF};
    way[1] = (rdk_dot_scale){1 / sqrt(d), 1, RDK_QK_OFF};
    way[2] = (rdk_dot_scale){1 / d, 1, RDK_QK_OFF};
    way[3] = (rdk_dot_scale){1, log2(n * n - n), RDK_QK_L2};
    way[4] = (rdk_dot_scale){1 / sqrt(d), 1, RDK_QK_RMS};
}

/* ---- formulas -------------------------------------------------------------------------------- */

START_TEST(variance_by_hand)
{
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){1, 1, RDK_QK_OFF}, 64), 64);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){.125, 1, RDK_QK_OFF}, 64), 1);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){1. / 64, 1, RDK_QK_OFF}, 64), 1. / 64);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){2, 3, RDK_QK_L2}, 4), 9);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){.5, 2, RDK_QK_RMS}, 4), 16);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){.5, 1, RDK_QK_LAYER}, 4), 4. / 3);
    ck_assert_double_eq(rdk_dot_variance(&(rdk_dot_scale){1, 1, RDK_QK_LAYER}, 1), 0);
}
END_TEST

/* Every policy as a run would start with it: the same variance as the model's prediction. */
START_TEST(policies_agree_with_the_prediction_for_a_model)
{
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *policy = rdk_scaling_at(i);
        rdk_model_config c = {.d_k = 16, .d_model = 96, .heads = 6, .qk_norm = policy->qk_norm};
        strcpy(c.scale, policy->name);
        rdk_dot_scale way = rdk_dot_scale_of(policy, 16, 96);
        ck_assert_close(rdk_dot_variance(&way, 16), rdk_theory_score_variance(&c), 1e-12, 0);
    }
}
END_TEST

/* ---- vectors written out --------------------------------------------------------------------- */

enum { D = 5, N = 4, ROWS = 3 };

/* x normalised as `norm` says, in place. */
static void normalise(double *x, rdk_qk_norm norm)
{
    double mean = 0, square = 0;
    for (int c = 0; c < D; c++) mean += x[c] / D;
    for (int c = 0; c < D; c++) {
        if (norm == RDK_QK_LAYER) x[c] -= mean;
        square += x[c] * x[c];
    }
    if (norm == RDK_QK_OFF) return;
    for (int c = 0; c < D; c++) x[c] /= sqrt(norm == RDK_QK_L2 ? square : square / D);
}

/* The scores of sample r, and |q|^2. */
static double scores_of(size_t r, const rdk_dot_scale *way, double s[N])
{
    rdk_stream stream = {7, RDK_FOR_THEORY, (uint64_t)D << 20 | N};
    double q[D], k[D], q2 = 0, g = way->gain;
    double gain = way->qk_norm == RDK_QK_OFF ? 1 : way->qk_norm == RDK_QK_L2 ? g : g * g;
    rdk_random_normals(stream, r, 0, q, D);
    for (int c = 0; c < D; c++) q2 += q[c] * q[c];
    normalise(q, way->qk_norm);
    for (uint32_t j = 0; j < N; j++) {
        rdk_random_normals(stream, r, (j + 1) * ((D + 1) / 2), k, D);
        normalise(k, way->qk_norm);
        s[j] = 0;
        for (int c = 0; c < D; c++) s[j] += way->c * gain * q[c] * k[c];
    }
    return q2;
}

START_TEST(samples_written_out)
{
    static const rdk_dot_scale ways[] = {{1, 1, RDK_QK_OFF},
                                         {.3, 9, RDK_QK_OFF},
                                         {2, 3, RDK_QK_L2},
                                         {.7, 1.5, RDK_QK_LAYER},
                                         {.5, 2, RDK_QK_RMS}};
    rdk_row_estimates before, e[5];
    rdk_status status = {0};
    ck_assert(rdk_theory_dot(ways, 5, D, N, ROWS, 7, &before, e, &status));
    for (int i = 0; i < 5; i++) {
        double entropy = 0, variance = 0, stein = 0, s[N];
        for (size_t r = 0; r < ROWS; r++) {
            double q2 = scores_of(r, &ways[i], s), mean = 0, z = 0, mean_score = 0;
            rdk_row_figures f = rdk_row_of_scores(s, N);
            for (int j = 0; j < N; j++) mean += s[j] / N;
            for (int j = 0; j < N; j++) z += exp(s[j]);
            for (int j = 0; j < N; j++) mean_score += s[j] * exp(s[j]) / z / ROWS;
            for (int j = 0; j < N; j++) variance += pow(s[j] - mean, 2) / (N - 1) / ROWS;
            entropy += f.entropy / ROWS;
            stein += ways[i].c * ways[i].c * q2 * f.jacobian_trace / ROWS - mean_score;
        }
        ck_assert_close(e[i].entropy.mean, entropy, 1e-10, 0);
        ck_assert_close(e[i].variance.mean, variance, 1e-10, 0);
        if (ways[i].qk_norm == RDK_QK_OFF) ck_assert_close(e[i].stein.mean, stein, 1e-9, 1);
        if (ways[i].qk_norm != RDK_QK_OFF) ck_assert(isnan(e[i].stein.mean));
    }
    ck_assert(memcmp(&before, &e[0], sizeof before) == 0);
}
END_TEST

/* A vector longer than a chunk of the kernel is the same vector. */
START_TEST(long_vectors)
{
    enum { LONG = 600 };
    rdk_dot_scale way = {1. / LONG, 1, RDK_QK_OFF};
    rdk_row_estimates before, e;
    rdk_status status = {0};
    ck_assert(rdk_theory_dot(&way, 1, LONG, 2, 1, 1, &before, &e, &status));
    double q[LONG], k[LONG], s[2] = {0};
    rdk_stream stream = {1, RDK_FOR_THEORY, (uint64_t)LONG << 20 | 2};
    rdk_random_normals(stream, 0, 0, q, LONG);
    for (uint32_t j = 0; j < 2; j++) {
        rdk_random_normals(stream, 0, (j + 1) * LONG / 2, k, LONG);
        for (int c = 0; c < LONG; c++) s[j] += q[c] * k[c] / LONG;
    }
    ck_assert_close(e.variance.mean, pow(s[0] - s[1], 2) / 2, 1e-9, 0);
}
END_TEST

/* ---- against theory -------------------------------------------------------------------------- */

/* Also at the narrowest heads, where the scores are far from Gaussian. */
START_TEST(variance_at_every_width)
{
    static const size_t widths[] = {1, 2, 3, 16, 129};
    size_t d_k = widths[_i];
    rdk_dot_scale way[WAYS + 1];
    rdk_row_estimates before, e[WAYS + 1];
    rdk_status s = {0};
    ways_at(d_k, 9, way);
    way[WAYS] = (rdk_dot_scale){1 / sqrt((double)d_k), 1, RDK_QK_LAYER};
    ck_assert(rdk_theory_dot(way, WAYS + 1, d_k, 9, 20000, 3, &before, e, &s));
    for (int i = 0; i <= WAYS; i++) {
        double want = rdk_dot_variance(&way[i], d_k);
        double error = rdk_dot_variance_error(&way[i], d_k, 9, 20000);
        ck_assert_double_eq_tol(e[i].variance.mean, want, 3 * error + 1e-9);
        ck_assert_double_eq_tol(e[i].variance.se, error, .05 * error + 1e-9);
        if (way[i].qk_norm == RDK_QK_OFF)
            ck_assert_double_eq_tol(e[i].stein.mean, 0, 3 * e[i].stein.se);
    }
}
END_TEST

START_TEST(reference_figures)
{
    enum { QUERIES = 6000 };
    static const size_t widths[] = {4, 16, 64, 256};
    size_t d_k = widths[_i];
    rdk_dot_scale way[WAYS];
    rdk_row_estimates before, e[WAYS];
    rdk_status s = {0};
    ways_at(d_k, 64, way);
    ck_assert(rdk_theory_dot(way, WAYS, d_k, 64, QUERIES, 1, &before, e, &s));
    for (int i = 0; i < WAYS; i++) {
        const rdk_reference *r = rdk_reference_dot(d_k, 64, way_names[i]);
        ck_assert_ptr_nonnull(r);
        double more = 3 * sqrt(1 + QUERIES / r->rows), half = 5.1e-4;
        ck_assert_double_eq_tol(e[i].entropy_norm.mean, r->entropy_norm,
                                more * e[i].entropy_norm.se + half);
        ck_assert_double_eq_tol(e[i].trace.mean, r->trace, more * e[i].trace.se + half);
        ck_assert_double_eq_tol(e[i].p_max.mean, r->p_max, more * e[i].p_max.se + half);
    }
}
END_TEST

START_TEST(thread_count_changes_nothing)
{
    rdk_dot_scale way[WAYS];
    rdk_row_estimates before[3], e[3][WAYS];
    rdk_status s = {0};
    ways_at(33, 16, way);
    for (int threads = 1; threads <= 3; threads++) {
        rdk_threads_set(threads);
        ck_assert(
            rdk_theory_dot(way, WAYS, 33, 16, 301, 3, &before[threads - 1], e[threads - 1], &s));
    }
    for (int i = 1; i < 3; i++) {
        for (int w = 0; w < WAYS; w++) {
            ck_assert(e[0][w].entropy.mean == e[i][w].entropy.mean);
            ck_assert(e[0][w].trace_median.mean == e[i][w].trace_median.mean);
            ck_assert(e[0][w].variance.se == e[i][w].variance.se);
        }
    }
}
END_TEST

START_TEST(sizes_that_are_refused)
{
    rdk_dot_scale way[40] = {{1, 1, RDK_QK_OFF}};
    rdk_row_estimates before, e[40];
    rdk_status s = {0};
    ck_assert(!rdk_theory_dot(way, 32, 4, 4, 10, 0, &before, e, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    s = (rdk_status){0};
    ck_assert(!rdk_theory_dot(way, 1, 0, 4, 10, 0, &before, e, &s));
    s = (rdk_status){0};
    ck_assert(!rdk_theory_dot(way, 1, 4, 65537, 10, 0, &before, e, &s));
    ck_assert(strstr(s.message, "65537 keys") != NULL);
    s = (rdk_status){0};
    ck_assert(rdk_theory_dot(way, 0, 4, 4, 10, 0, &before, e, &s));
}
END_TEST

RDK_TEST_MAIN("theory dot", {
    ADD(variance_by_hand);
    ADD(policies_agree_with_the_prediction_for_a_model);
    ADD(samples_written_out);
    ADD(long_vectors);
    ADD_LOOP(variance_at_every_width, 5);
    ADD_LOOP(reference_figures, 4);
    ADD(thread_count_changes_nothing);
    ADD(sizes_that_are_refused);
})
