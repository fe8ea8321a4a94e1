/* SPDX-License-Identifier: MIT
 * What theory predicts where scores are more than c q.k: the variance under a soft cap, rows whose
 * scores go by their length, layers with scales of their own, and where there is no formula. */
#include <harness.h>
#include <rootdk/probe.h>

static rdk_model_config config(void)
{
    return (rdk_model_config){.vocab = 64,
                              .max_len = 48,
                              .layers = 2,
                              .heads = 2,
                              .d_model = 64,
                              .d_k = 64,
                              .d_ff = 64,
                              .scale = "none"};
}

static bool same(rdk_theory a, rdk_theory b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* E[cap^2 tanh^2(sigma z / cap)] by Simpson's rule on a grid that resolves the narrowest bump. */
static double capped_by_simpson(double sigma, double cap)
{
    enum { POINTS = 2000000 };
    double h = 20. / POINTS, sum = 0;
    for (int i = 0; i <= POINTS; i++) {
        double z = -10 + h * i, t = tanh(sigma * z / cap);
        double weight = i == 0 || i == POINTS ? 1 : i % 2 ? 4 : 2;
        sum += weight * t * t * exp(-z * z / 2);
    }
    return cap * cap * sum * h / 3 / sqrt(2 * 3.14159265358979323846);
}

START_TEST(variance_under_a_cap)
{
    static const double sigmas[] = {0.05, 0.7, 1, 1.01, 3, 8, 60, 2000};
    for (size_t i = 0; i < sizeof sigmas / sizeof *sigmas; i++) {
        double sigma = sigmas[i], cap = 1.7;
        double got = rdk_theory_capped_variance(sigma * sigma, cap);
        ck_assert_close(got, capped_by_simpson(sigma, cap), 1e-9, 0);
        ck_assert(got < sigma * sigma && got < cap * cap);
    }
    ck_assert_close(rdk_theory_capped_variance(4, 1e6), 4, 1e-10, 0);
    ck_assert(rdk_theory_capped_variance(0, 2) == 0);
    ck_assert(isnan(rdk_theory_capped_variance(NAN, 2)));
}
END_TEST

/* Row by row, each with a variance of its own. */
START_TEST(rows_by_length)
{
    static const struct {
        size_t len;
        bool causal;
        double sigma2, factor;
    } at[] = {{24, true, 1, 0.4},   {300, true, 64, 0.17}, {700, true, 1. / 64, 0.5},
              {90, false, 9, 0.25}, {2, true, 5, 1},       {1000, true, 1, 0.2}};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        rdk_theory got = rdk_theory_by_length(at[k].len, at[k].causal, at[k].sigma2, at[k].factor);
        double entropy = 0, norm = 0, trace = 0, variance = 0, rows = 0, two = 0;
        for (size_t n = at[k].causal ? 1 : at[k].len; n <= at[k].len; n++) {
            double of_row = at[k].sigma2 * pow(at[k].factor * log((double)n), 2);
            rdk_expectation e = rdk_theory_exact(n, of_row);
            rows++, entropy += e.entropy, trace += e.trace;
            if (n < 2) continue;
            two++, norm += e.entropy / log((double)n), variance += of_row * (1 - 1 / (double)n);
        }
        ck_assert_close(got.entropy, entropy / rows, 2e-6, 0);
        ck_assert_close(got.entropy_norm, norm / two, 2e-6, 0);
        ck_assert_close(got.jacobian_trace, trace / rows, 2e-6, 0);
        ck_assert_close(got.score_std, sqrt(variance / two), 1e-12, 0);
    }
    ck_assert(isnan(rdk_theory_by_length(1, true, 1, 1).score_std));
}
END_TEST

/* Drawn scores, sequence by sequence, through every policy that has a formula. */
START_TEST(against_drawn_scores)
{
    enum { T = 48, SEQUENCES = 1500 };
    rdk_model_config c = config();
    c.length = _i == 1 ? RDK_LENGTH_LOG : _i == 2 ? RDK_LENGTH_SSMAX : RDK_LENGTH_OFF;
    c.softcap = _i == 3 ? 5 : 0;
    strcpy(c.scale, "0.3");
    rdk_theory want = rdk_theory_start(&c, 0, T);
    double sigma = 0.3 * 8, norm = 0, variance = 0;
    for (size_t b = 0; b < SEQUENCES; b++) {
        rdk_draws d = rdk_draws_at((rdk_stream){.seed = 2, .purpose = RDK_FOR_TEST}, b);
        for (size_t n = 2; n <= T; n++) {
            double s[T], mean = 0, f = 1;
            if (_i == 1) f = log((double)n) / log(T);
            if (_i == 2) f = log((double)n) * T / lgamma(T + 1);
            for (size_t j = 0; j < n; j++) {
                s[j] = sigma * f * rdk_draw_normal(&d);
                if (_i == 3) s[j] = 5 * tanh(s[j] / 5);
                mean += s[j] / (double)n;
            }
            for (size_t j = 0; j < n; j++) variance += pow(s[j] - mean, 2) / (double)n;
            norm += rdk_row_of_scores(s, n).entropy / log((double)n);
        }
    }
    double rows = (double)SEQUENCES * (T - 1);
    ck_assert_close(want.score_std, sqrt(variance / rows), 5e-3, 0);
    if (_i == 3)
        ck_assert(isnan(want.entropy_norm) && isnan(want.entropy) && isnan(want.jacobian_trace));
    else
        ck_assert_close(want.entropy_norm, norm / rows, 5e-3, 0);
}
END_TEST

START_TEST(layers_of_their_own_and_what_changes_nothing)
{
    rdk_model_config c = config();
    rdk_theory none = rdk_theory_sequence(48, true, 64),
               dk = rdk_theory_sequence(48, true, 1. / 64);
    rdk_theory normed = rdk_theory_sequence(48, true, 64. / 63);
    ck_assert(same(rdk_theory_start(&c, 0, 48), none) && same(rdk_theory_start(&c, 1, 48), none));
    strcpy(c.scale_layers, "1:dk");
    ck_assert(same(rdk_theory_start(&c, 0, 48), none) && same(rdk_theory_start(&c, 1, 48), dk));
    strcpy(c.scale_layers, "0:qknorm");
    ck_assert_close(rdk_theory_start(&c, 0, 48).entropy, normed.entropy, 1e-12, 0);
    ck_assert(same(rdk_theory_start(&c, 1, 48), none));
    c.scale_layers[0] = '\0';
    c.temperature = c.sigma_reparam = true; /* both start as without */
    ck_assert(same(rdk_theory_start(&c, 0, 48), none));
    c.sink = RDK_SINK_ONE;
    rdk_theory sink = rdk_theory_start(&c, 0, 48);
    ck_assert_close(sink.score_std, none.score_std, 1e-12, 0);
    ck_assert(isnan(sink.entropy) && isnan(sink.entropy_norm) && isnan(sink.jacobian_trace));
}
END_TEST

/* s0 makes the mean over the rows of s ln n 1. */
START_TEST(length_factors_by_hand)
{
    rdk_model_config c = config();
    ck_assert(rdk_config_length_base(&c) == 0 && rdk_config_length_gain(&c) == 1);
    c.length = RDK_LENGTH_LOG;
    ck_assert(rdk_config_length_base(&c) == 48 && rdk_config_length_gain(&c) == 1);
    c.length_base = 512;
    ck_assert(rdk_config_length_base(&c) == 512);
    c.length = RDK_LENGTH_SSMAX;
    double mean = 0;
    for (int n = 1; n <= 48; n++) mean += log(n) / 48;
    ck_assert_close(rdk_config_length_gain(&c) * mean, 1, 1e-12, 0);
    ck_assert_close(log(rdk_config_length_base(&c)), 1, 1e-15, 0);
    c.arch = RDK_ENCODER;
    ck_assert_close(rdk_config_length_gain(&c) * log(48), 1, 1e-12, 0);
    c.max_len = 1; /* ln 1 = 0: any s will do */
    ck_assert(rdk_config_length_gain(&c) == 1);
    c.length_gain = 0.43;
    ck_assert(rdk_config_length_gain(&c) == 0.43);
}
END_TEST

RDK_TEST_MAIN("theory of the start", {
    ADD(variance_under_a_cap);
    ADD(rows_by_length);
    ADD_LOOP(against_drawn_scores, 4);
    ADD(layers_of_their_own_and_what_changes_nothing);
    ADD(length_factors_by_hand);
})
