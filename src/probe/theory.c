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

double rdk_theory_capped_variance(double sigma2, double cap)
{
    static const double root_two_pi = 2.506628274631000502416;
    double ratio = sqrt(sigma2) / cap, sum = 0;
    if (!(ratio > 0)) return sigma2; /* nan too */
    if (ratio <= 1) {                /* over z, where s = sigma z */
        enum { REACH = 9, A_UNIT = 8 };
        for (int i = -REACH * A_UNIT; i <= REACH * A_UNIT; i++) {
            double z = (double)i / A_UNIT, t = tanh(ratio * z);
            sum += t * t * exp(-z * z / 2) / root_two_pi / A_UNIT;
        }
        return cap * cap * sum;
    }
    /* over u = s / cap, where 1 - tanh^2 is a bump of width 1 */
    enum { WIDTH = 20, POINTS = 8 };
    for (int i = -WIDTH * POINTS; i <= WIDTH * POINTS; i++) {
        double u = (double)i / POINTS, z = u / ratio, c = cosh(u);
        sum += exp(-z * z / 2) / root_two_pi / ratio / (c * c) / POINTS;
    }
    return cap * cap * (1 - sum);
}

/* The variance of a score in a row of n keys. */
static double variance_in_row(const rdk_model_config *c, double sigma2, size_t n)
{
    double base = rdk_config_length_base(c);
    double factor = base > 0 ? rdk_config_length_gain(c) * log((double)n) / log(base) : 1;
    double variance = sigma2 * factor * factor;
    return c->softcap > 0 ? rdk_theory_capped_variance(variance, c->softcap) : variance;
}

/* score_std by the rules of rdk_head_figures: a row's own mean is taken out. */
static double score_std(const rdk_model_config *c, double sigma2, size_t len)
{
    double sum = 0, rows = 0;
    for (size_t n = c->arch == RDK_DECODER ? 2 : len; n <= len && n >= 2; n++) {
        sum += variance_in_row(c, sigma2, n) * (1 - 1 / (double)n);
        rows += 1;
    }
    return rows > 0 ? sqrt(sum / rows) : NAN;
}

rdk_theory rdk_theory_start(const rdk_model_config *c, size_t layer, size_t len)
{
    rdk_model_config own = rdk_config_of_layer(c, layer);
    double sigma2 = rdk_theory_score_variance(&own), base = rdk_config_length_base(c);
    bool causal = c->arch == RDK_DECODER;
    if (c->softcap > 0 || c->sink != RDK_SINK_OFF)
        return (rdk_theory){score_std(&own, sigma2, len), NAN, NAN, NAN};
    if (base == 0) return rdk_theory_sequence(len, causal, sigma2);
    return rdk_theory_by_length(len, causal, sigma2, rdk_config_length_gain(c) / log(base));
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
