/* SPDX-License-Identifier: MIT
 * What theory predicts at initialisation: the variance of the scores by formula; and the figures of
 * rows of iid N(0, sigma2) scores, drawn.
 *
 * One sample is one sequence. Its scores arrive one by one and the running sums give the figures of
 * every prefix on the way, that is of every causal row.
 * Invariant: sample r is a pure function of (seed, length, r).
 * Read next: exact.c, dot.c. */
#include "sample.h"

#include <math.h>

/* ---- the variance of the scores -------------------------------------------------------------- */

static double additive_score_variance(const rdk_model_config *c)
{
    double scale = rdk_config_score_scale(c), w = rdk_init_std(c, RDK_ROLE_SCORE);
    double root = sqrt((double)c->d_model), gain = rdk_config_qk_gain(c);
    bool normed = c->qk_norm != RDK_QK_OFF;
    double q = normed ? gain : root * rdk_init_std(c, RDK_ROLE_WQ);
    double k = normed ? gain : root * rdk_init_std(c, RDK_ROLE_WK);
    return scale * scale * (double)c->d_k * w * w * rdk_additive_variance(q, k);
}

double rdk_theory_score_variance(const rdk_model_config *c)
{
    if (c->attention == RDK_ADDITIVE) return additive_score_variance(c);
    double d_model = (double)c->d_model;
    double wq = rdk_init_std(c, RDK_ROLE_WQ), wk = rdk_init_std(c, RDK_ROLE_WK);
    rdk_dot_scale way = {rdk_config_score_scale(c), rdk_config_qk_gain(c), c->qk_norm};
    double unit = rdk_dot_variance(&way, c->d_k); /* for q and k of unit variance */
    if (c->qk_norm != RDK_QK_OFF) return unit;    /* a norm takes their size out */
    return unit * (d_model * wq * wq) * (d_model * wk * wk);
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

/* ---- many samples ---------------------------------------------------------------------------- */

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
