/* SPDX-License-Identifier: MIT
 * The variance argument as the textbooks state it: q and k with iid N(0, 1) entries, scored in
 * several ways at once.
 *
 * A score needs q.k, and for the norms the sums over q and over k: one pass over each key.
 * Invariant: sample r is a pure function of (seed, d_k, n, r).
 * Read next: closed.c. */
#include "sample.h"

#include <base/parallel.h>
#include <math.h>

rdk_dot_scale rdk_dot_scale_of(const rdk_scaling *policy, size_t d_k, size_t d_model)
{
    double shrink = policy->query_shrink ? policy->query_shrink(d_k) : 1;
    bool l2 = policy->qk_norm == RDK_QK_L2;
    /* A norm takes the shrink of W_Q out again. */
    if (policy->qk_norm != RDK_QK_OFF) shrink = 1;
    return (rdk_dot_scale){policy->multiplier(d_k, d_model) * shrink, l2 ? sqrt((double)d_k) : 1,
                           policy->qk_norm};
}

double rdk_dot_variance(const rdk_dot_scale *s, size_t d_k)
{
    double d = (double)d_k, c2 = s->c * s->c, g2 = s->gain * s->gain;
    switch (s->qk_norm) {
    case RDK_QK_L2:
        return c2 * g2 / d;
    case RDK_QK_RMS:
        return c2 * g2 * g2 * d;
    case RDK_QK_LAYER:
        return d_k > 1 ? c2 * g2 * g2 * d * d / (d - 1) : 0;
    default:
        return c2 * d;
    }
}

double rdk_dot_variance_error(const rdk_dot_scale *s, size_t d_k, size_t n, size_t samples)
{
    double d = (double)d_k, m = (double)n, v = rdk_dot_variance(s, d_k);
    double dimensions = s->qk_norm == RDK_QK_LAYER ? d - 1 : d;
    double kurtosis = 3 * dimensions / (dimensions + 2);
    double one = v * v * (kurtosis - (m - 3) / (m - 1)) / m;
    if (s->qk_norm == RDK_QK_OFF) one = 2 * pow(s->c, 4) * d * (1 + (d + 2) / (m - 1));
    return sqrt(fmax(one, 0) / (double)samples);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Sums over one vector, and its product with the query. */
typedef struct sums {
    double one, square, dot;
} sums;

typedef struct setting {
    const rdk_dot_scale *scales;
    size_t n_scales, d_k, n;
    rdk_stream stream;
    double *queries; /* [threads][d_k] */
} setting;

enum { CHUNK = 256 };

static uint32_t blocks_of_vector(const setting *s)
{
    return (uint32_t)((s->d_k + 1) / 2);
}

static sums draw_query(const setting *s, uint64_t index, double *q)
{
    sums t = {0};
    rdk_random_normals(s->stream, index, 0, q, s->d_k);
    for (size_t c = 0; c < s->d_k; c++) {
        t.one += q[c];
        t.square += q[c] * q[c];
    }
    return t;
}

static sums draw_key(const setting *s, uint64_t index, size_t j, const double *q)
{
    sums t = {0};
    double k[CHUNK];
    uint32_t first = (uint32_t)(j + 1) * blocks_of_vector(s);
    for (size_t from = 0; from < s->d_k; from += CHUNK) {
        size_t left = s->d_k - from, n = left < CHUNK ? left : CHUNK;
        rdk_random_normals(s->stream, index, first + (uint32_t)(from / 2), k, n);
        for (size_t c = 0; c < n; c++) {
            t.one += k[c];
            t.square += k[c] * k[c];
            t.dot += k[c] * q[from + c];
        }
    }
    return t;
}

/* The product of the normalised vectors over d_k: a cosine. No eps: with continuous entries no norm
 * is 0, but for a centred vector of one entry. */
static double centred_cosine(const sums *q, const sums *k, double d)
{
    if (d == 1) return 0;
    double qq = q->square - q->one * q->one / d, kk = k->square - k->one * k->one / d;
    return (k->dot - q->one * k->one / d) / sqrt(qq * kk);
}

static double score(const rdk_dot_scale *s, const sums *q, const sums *k, double d)
{
    double cosine = k->dot / sqrt(q->square * k->square);
    switch (s->qk_norm) {
    case RDK_QK_L2:
        return s->c * s->gain * cosine;
    case RDK_QK_RMS:
        return s->c * s->gain * s->gain * d * cosine;
    case RDK_QK_LAYER:
        return s->c * s->gain * s->gain * d * centred_cosine(q, k, d);
    default:
        return s->c * k->dot;
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

static void draw_row(const void *of, uint64_t index, double (*figures)[RDK_FIGURES])
{
    const setting *s = of;
    rdk_growing_row row[RDK_SETS] = {{0}};
    double *query = s->queries + (size_t)rdk_thread_index() * s->d_k, d = (double)s->d_k;
    sums q = draw_query(s, index, query);
    for (size_t j = 0; j < s->n; j++) {
        sums k = draw_key(s, index, j, query);
        for (size_t i = 0; i < s->n_scales; i++)
            rdk_row_push(&row[i], score(&s->scales[i], &q, &k, d));
    }
    for (size_t i = 0; i < s->n_scales; i++) {
        const rdk_dot_scale *way = &s->scales[i];
        bool gaussian = way->qk_norm == RDK_QK_OFF; /* given q: k is Gaussian, so q.k is */
        rdk_figure_tally t = {.tally = rdk_tally_begin(s->n)};
        rdk_figures_add(&t, &row[i], gaussian ? way->c * way->c * q.square : NAN);
        rdk_figures_mean(&t, figures[i]);
    }
}

bool rdk_theory_dot(const rdk_dot_scale *scales, size_t n_scales, size_t d_k, size_t n,
                    size_t samples, uint64_t seed, rdk_row_estimates *before, rdk_row_estimates *e,
                    rdk_status *s)
{
    enum { SHIFT = 20 }; /* d_k and n below 2^20; rows of plain scores have a step below that */
    if (n_scales >= RDK_SETS || d_k < 1 || n < 1 || d_k > 65536 || n > 65536) {
        return rdk_fail(s, RDK_EVALUE,
                        "%zu ways to score %zu keys of width %zu (at most %d ways, "
                        "1 to 65536 keys and width)",
                        n_scales, n, d_k, RDK_SETS - 1);
    }
    rdk_dot_scale all[RDK_SETS] = {{1, 1, RDK_QK_OFF}};
    rdk_moments m[RDK_SETS] = {{0}};
    for (size_t i = 0; i < n_scales; i++) all[i + 1] = scales[i];
    uint64_t step = (uint64_t)d_k << SHIFT | n;
    setting set = {all, n_scales + 1, d_k, n, {seed, RDK_FOR_THEORY, step}, NULL};
    set.queries = rdk_alloc((size_t)rdk_threads() * d_k, sizeof *set.queries, s);
    rdk_sampler sampler = {draw_row, &set, set.n_scales, n * d_k, NULL, samples};
    sampler.traces = rdk_alloc(samples, set.n_scales * sizeof *sampler.traces, s);
    bool drawn = set.queries && sampler.traces;
    if (drawn) {
        rdk_sample_all(&sampler, m, samples);
        *before = rdk_estimates_of(&m[0], sampler.traces, n);
        for (size_t i = 0; i < n_scales; i++)
            e[i] = rdk_estimates_of(&m[i + 1], sampler.traces + (i + 1) * samples, n);
    }
    rdk_free(sampler.traces);
    rdk_free(set.queries);
    return drawn;
}
