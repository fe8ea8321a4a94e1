/* SPDX-License-Identifier: MIT
 * The variance that theory gives the scores of a configuration: by hand for every scaling and
 * initialisation, and against products of drawn queries and keys. */
#include <harness.h>
#include <rootdk/probe.h>

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
        {"qknorm", RDK_INIT_UNIT, RDK_QK_LAYER, 64, 64, 0, 64. / 63},
        {"qknorm", RDK_INIT_GPT2, RDK_QK_LAYER, 128, 64, 0, 64. / 63}, /* whatever the weights */
        {"qknorm", RDK_INIT_UNIT, RDK_QK_LAYER, 64, 4, 2, 16 * 4. / 3},
        {"qknorm", RDK_INIT_UNIT, RDK_QK_LAYER, 64, 1, 0, 0}, /* x - mean is 0 */
        {"sqrt", RDK_INIT_UNIT, RDK_QK_RMS, 64, 64, 2, 16},
        {"none", RDK_INIT_UNIT, RDK_QK_L2, 64, 64, 11.98, 2.24250625}, /* 11.98^2 / 64 */
        {"none", RDK_INIT_UNIT, RDK_QK_L2, 64, 64, 0, 1},              /* g = sqrt(d_k) */
        {"sqrt", RDK_INIT_UNIT, RDK_QK_L2, 64, 64, 0, 1. / 64},        /* plain cosines */
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
    rdk_draws d = rdk_draws_at((rdk_stream){11, RDK_FOR_TEST, step}, index);
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

/* Var(q.k) of normalised vectors, drawn: centred ones have one dimension less. */
START_TEST(products_of_normalised_vectors)
{
    enum { PAIRS = 400000 };
    static const size_t sizes[] = {2, 3, 4, 8, 16};
    for (int layer = 0; layer < 2; layer++) {
        size_t n = sizes[_i];
        double sum = 0, sum2 = 0, x[2][16];
        for (size_t r = 0; r < PAIRS; r++) {
            double dot = 0;
            for (int side = 0; side < 2; side++) {
                double mean = 0, square = 0;
                rdk_draws d = rdk_draws_at((rdk_stream){12, RDK_FOR_TEST, n}, 2 * r + side);
                for (size_t i = 0; i < n; i++) mean += (x[side][i] = rdk_draw_normal(&d)) / n;
                for (size_t i = 0; i < n; i++) x[side][i] -= layer ? mean : 0;
                for (size_t i = 0; i < n; i++) square += x[side][i] * x[side][i];
                for (size_t i = 0; i < n; i++) x[side][i] *= sqrt(n / square);
            }
            for (size_t i = 0; i < n; i++) dot += x[0][i] * x[1][i];
            sum += dot * dot;
            sum2 += pow(dot, 4);
        }
        rdk_model_config c =
            config_of("none", RDK_INIT_UNIT, layer ? RDK_QK_LAYER : RDK_QK_RMS, 64, n);
        double variance = sum / PAIRS, error = sqrt((sum2 / PAIRS - variance * variance) / PAIRS);
        ck_assert_double_eq_tol(variance, rdk_theory_score_variance(&c), 4 * error + 1e-9);
    }
}
END_TEST

static void one_thread(void)
{
    rdk_threads_set(1);
}

RDK_TEST_MAIN("theory, variance", {
    tcase_add_checked_fixture(tc, one_thread, NULL);
    ADD(score_variances);
    ADD_LOOP(products_of_queries_and_keys, 5);
    ADD_LOOP(products_of_normalised_vectors, 5);
})
