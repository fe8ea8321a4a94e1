/* SPDX-License-Identifier: MIT
 * What theory predicts at initialisation: the variance of the scores by formula, and the figures of
 * rows of iid N(0, sigma2) scores by Monte Carlo.
 *
 * One sample is one sequence. Its scores arrive one by one and the running sums give the figures of
 * every prefix on the way, that is of every causal row.
 * Invariant: sample r is a pure function of (seed, length, r). Read next: dot.c, closed.c. */
#include "sample.h"

#include <math.h>

/* ---- the variance of the scores -------------------------------------------------------------- */

double rdk_theory_score_variance(const rdk_model_config *c)
{
    double scale = rdk_config_score_scale(c), gain = rdk_config_qk_gain(c);
    double d_k = (double)c->d_k, d_model = (double)c->d_model;
    double wq = rdk_init_std(c, RDK_ROLE_WQ), wk = rdk_init_std(c, RDK_ROLE_WK);
    switch (c->qk_norm) {
    case RDK_QK_LAYER:
        /* centred vectors of squared length d_k have d_k - 1 dimensions: E cos^2 = 1/(d_k - 1) */
        return d_k > 1 ? scale * scale * pow(gain, 4) * d_k * d_k / (d_k - 1) : 0;
    case RDK_QK_RMS:
        return scale * scale * pow(gain, 4) * d_k;
    case RDK_QK_L2:
        return scale * scale * gain * gain / d_k;
    default:
        return scale * scale * d_k * (d_model * wq * wq) * (d_model * wk * wk);
    }
}

/* ---- one sample ------------------------------------------------------------------------------ */

typedef struct setting {
    size_t len;
    bool causal; /* measure every prefix, else the whole row only */
    double sigma2, sigma;
    rdk_stream stream;
} setting;

/* The figures averaged over the rows of sequence `index`. */
static void draw_sequence(const void *of, uint64_t index, double (*figures)[RDK_FIGURES])
{
    const setting *s = of;
    rdk_draws draws = rdk_draws_at(s->stream, index);
    rdk_figure_tally tally = {.tally = rdk_tally_begin(s->len)};
    rdk_growing_row row = {0};
    for (size_t j = 0; j < s->len; j++) {
        rdk_row_push(&row, s->sigma * rdk_draw_normal(&draws));
        if (s->causal || row.n == s->len) rdk_figures_add(&tally, &row, s->sigma2);
    }
    rdk_figures_mean(&tally, figures[0]);
}

static setting setting_of(size_t len, bool causal, double sigma2, uint64_t seed)
{
    rdk_stream stream = {.seed = seed, .purpose = RDK_FOR_THEORY, .step = len};
    return (setting){len, causal, sigma2, sqrt(sigma2), stream};
}

static rdk_sampler sampler_of(const setting *s)
{
    return (rdk_sampler){.draw = draw_sequence, .setting = s, .sets = 1, .work = s->len};
}

/* ---- rows, with standard errors -------------------------------------------------------------- */

static rdk_theory named(const rdk_row_estimates *e, double score_std, bool errors)
{
#define PART(f) (errors ? e->f.se : e->f.mean)
    return (rdk_theory){
        .score_std = score_std,
        .entropy = PART(entropy),
        .entropy_norm = PART(entropy_norm),
        .p_max = PART(p_max),
        .sat90 = PART(sat90),
        .sat99 = PART(sat99),
        .jacobian_trace = PART(trace),
        .jacobian_frob = PART(frob),
    };
#undef PART
}

rdk_theory rdk_theory_rows(size_t n, double sigma2, size_t samples, uint64_t seed, rdk_theory *se)
{
    setting set = setting_of(n, false, sigma2, seed);
    rdk_sampler sampler = sampler_of(&set);
    rdk_moments m = {0};
    rdk_sample_all(&sampler, &m, samples);
    rdk_row_estimates e = rdk_estimates_of(&m, NULL, n);
    double std = m.n ? sqrt(m.mean[RDK_MEAN_VARIANCE]) : NAN;
    double error = rdk_moments_error(&m, RDK_MEAN_VARIANCE);
    if (se) *se = named(&e, std == 0 ? 0 : error / (2 * std), true);
    return named(&e, std, false);
}

bool rdk_theory_gaussian(size_t n, bool causal, double sigma2, size_t samples, uint64_t seed,
                         rdk_row_estimates *e, rdk_status *s)
{
    setting set = setting_of(n, causal, sigma2, seed);
    rdk_sampler sampler = sampler_of(&set);
    rdk_moments m = {0};
    sampler.traces = rdk_alloc(samples, sizeof *sampler.traces, s);
    if (!sampler.traces) return false;
    sampler.stride = samples;
    rdk_sample_all(&sampler, &m, samples);
    *e = rdk_estimates_of(&m, sampler.traces, causal ? 0 : n);
    rdk_free(sampler.traces);
    return true;
}

/* ---- a sequence ------------------------------------------------------------------------------ */

/* Sampling goes on until the standard error of entropy_norm is this small. H / ln n varies most for
 * n = 2, with a standard deviation of about 0.35: 16000 samples are enough for any variance. */
static const double ENOUGH = 0.0028;
enum { MIN_SCORES = 1 << 18, MAX_SAMPLES = 1 << 15 };

/* The expected variance of a row is (1 - 1/n) sigma2; averaged over the rows with n >= 2. */
static double expected_score_std(size_t len, bool causal, double sigma2)
{
    if (len < 2) return NAN;
    double sum = 0;
    size_t first = causal ? 2 : len;
    for (size_t n = first; n <= len; n++) sum += 1 - 1 / (double)n;
    return sqrt(sigma2 * sum / (double)(len - first + 1));
}

rdk_theory rdk_theory_sequence(size_t len, bool causal, double sigma2)
{
    setting set = setting_of(len, causal, sigma2, 0);
    rdk_sampler sampler = sampler_of(&set);
    rdk_moments m = {0};
    bool more = true;
    while (more) {
        rdk_sample_block(&sampler, &m, RDK_BLOCK);
        more =
            m.n < MIN_SCORES / (len + 1) || rdk_moments_error(&m, RDK_MEAN_ENTROPY_NORM) > ENOUGH;
        if (m.n >= MAX_SAMPLES) more = false;
    }
    rdk_row_estimates e = rdk_estimates_of(&m, NULL, 0);
    return named(&e, expected_score_std(len, causal, sigma2), false);
}
