/* SPDX-License-Identifier: MIT
 * What theory predicts at initialisation: the variance of the scores by formula, and the figures of
 * rows of iid N(0, sigma2) scores by Monte Carlo.
 *
 * One sample is one sequence. Its scores arrive one by one and the running sums give the figures of
 * every prefix on the way, that is of every causal row.
 * Invariant: sample r is a pure function of (seed, length, r), and samples are averaged in index
 * order: the same numbers for any number of threads. Read next: docs/metrics.md. */
#include "row.h"

#include <base/parallel.h>
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
    double sigma;
    rdk_stream stream;
} setting;

typedef struct growing_row {
    size_t n;
    double max, sum, sum2; /* their mean is 0, so the plain sum of squares does not cancel */
    rdk_row_sums s;
} growing_row;

/* A new largest: the old one joins the sums, and all of them are measured from the new one. */
static void raise_max(rdk_row_sums *s, double d)
{
    double w = exp(d);
    s->a = w * (s->a + (s->rest + 1) * d);
    s->rest = w * (s->rest + 1);
    s->b2 = w * w * (s->b2 + 1);
    s->b3 = w * w * w * (s->b3 + 1);
}

static void add_below(rdk_row_sums *s, double d)
{
    double w = exp(d);
    s->rest += w;
    s->a += w * d;
    s->b2 += w * w;
    s->b3 += w * w * w;
}

static void push(growing_row *r, double score)
{
    if (r->n == 0) {
        r->max = score;
    } else if (score > r->max) {
        raise_max(&r->s, r->max - score);
        r->max = score;
    } else {
        add_below(&r->s, score - r->max);
    }
    r->sum += score;
    r->sum2 += score * score;
    r->n++;
}

static void count_row(rdk_tally *t, const growing_row *r)
{
    rdk_row_figures f = rdk_row_figures_of(&r->s);
    double n = (double)r->n;
    rdk_tally_add(t, r->n, (r->sum2 - r->sum * r->sum / n) / n, &f);
}

/* The figures averaged over the rows of sequence `index`. */
static void draw_sample(const setting *s, uint64_t index, double mean[RDK_MEANS])
{
    rdk_draws draws = rdk_draws_at(s->stream, index);
    rdk_tally tally = rdk_tally_begin(s->len);
    growing_row row = {0};
    for (size_t j = 0; j < s->len; j++) {
        push(&row, s->sigma * rdk_draw_normal(&draws));
        if (s->causal || row.n == s->len) count_row(&tally, &row);
    }
    rdk_tally_means(&tally, mean);
}

/* ---- many samples ---------------------------------------------------------------------------- */

/* Samples are drawn in parallel, a block at a time, and taken in one after the other. */
enum { BLOCK = 256, WORTH_THREADS = 1 << 16 };

/* Welford's update: mean, and m2 = the sum of squared deviations from it. */
typedef struct moments {
    size_t n;
    double mean[RDK_MEANS], m2[RDK_MEANS];
} moments;

static void take(moments *m, const double x[RDK_MEANS])
{
    m->n++;
    for (int i = 0; i < RDK_MEANS; i++) {
        double d = x[i] - m->mean[i];
        m->mean[i] += d / (double)m->n;
        m->m2[i] += d * (x[i] - m->mean[i]);
    }
}

static double standard_error(const moments *m, int figure)
{
    double n = (double)m->n;
    return m->n >= 2 ? sqrt(m->m2[figure] / (n - 1) / n) : NAN;
}

static void draw_block(moments *m, const setting *s, size_t count)
{
    double block[BLOCK][RDK_MEANS];
    size_t first = m->n;
    RDK_PARALLEL_FOR_IF(count * s->len >= WORTH_THREADS)
    for (size_t r = 0; r < count; r++) draw_sample(s, first + r, block[r]);
    for (size_t r = 0; r < count; r++) take(m, block[r]);
}

/* The standard error of a root: that of the mean below it over twice the root. */
static double root_error(double error, double root)
{
    return root == 0 ? 0 : error / (2 * root);
}

static rdk_theory errors_of(const moments *m, const rdk_theory *mean)
{
    double error[RDK_MEANS];
    for (int i = 0; i < RDK_MEANS; i++) error[i] = standard_error(m, i);
    rdk_theory se = rdk_means_named(error);
    se.score_std = root_error(error[RDK_MEAN_VARIANCE], mean->score_std);
    se.jacobian_frob = root_error(error[RDK_MEAN_FROB2], mean->jacobian_frob);
    return se;
}

static setting setting_of(size_t len, bool causal, double sigma2, uint64_t seed)
{
    rdk_stream stream = {.seed = seed, .purpose = RDK_FOR_THEORY, .step = len};
    return (setting){len, causal, sqrt(sigma2), stream};
}

rdk_theory rdk_theory_rows(size_t n, double sigma2, size_t samples, uint64_t seed, rdk_theory *se)
{
    setting s = setting_of(n, false, sigma2, seed);
    moments m = {0};
    while (m.n < samples) {
        size_t left = samples - m.n;
        draw_block(&m, &s, left < BLOCK ? left : BLOCK);
    }
    if (m.n == 0)
        for (int i = 0; i < RDK_MEANS; i++) m.mean[i] = NAN;
    rdk_theory mean = rdk_means_named(m.mean);
    if (se) *se = errors_of(&m, &mean);
    return mean;
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
    setting s = setting_of(len, causal, sigma2, 0);
    moments m = {0};
    bool more = true;
    while (more) {
        draw_block(&m, &s, BLOCK);
        more = m.n < MIN_SCORES / (len + 1) || standard_error(&m, RDK_MEAN_ENTROPY_NORM) > ENOUGH;
        if (m.n >= MAX_SAMPLES) more = false;
    }
    rdk_theory mean = rdk_means_named(m.mean);
    mean.score_std = expected_score_std(len, causal, sigma2);
    return mean;
}
