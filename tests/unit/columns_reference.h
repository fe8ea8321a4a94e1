/* SPDX-License-Identifier: MIT
 * The figures of one head of attention from T x T arrays in double, and a list of what a row of a
 * CSV file must hold, by the names of its columns. Invariant: nothing here is the library's but the
 * operands and what describes them. */
#ifndef RDK_TEST_COLUMNS_REFERENCE_H
#define RDK_TEST_COLUMNS_REFERENCE_H

#include "harness.h"

#include "run/trainer.h"

enum { MOST_T = 70, MOST_ROWS = 4 * MOST_T, MOST_COLUMNS = 64, MOST_LAYERS = 2, MOST_HEADS = 2 };
static const double ABSENT = -1e300; /* an empty field */

/* ---- the figures by name --------------------------------------------------------------------- */

/* What a row must hold. size: what a sum that may cancel is right relative to. scores: of a figure
 * of one single row, how large the scores are: their rounding, which an average of rows evens out,
 * is a relative error of its p. */
typedef struct want {
    const char *name;
    double value, size, scores;
} want;

typedef struct wants {
    size_t n;
    want column[MOST_COLUMNS];
} wants;

static inline void expect(wants *w, const char *name, double value, double size)
{
    ck_assert_uint_lt(w->n, MOST_COLUMNS);
    w->column[w->n++] = (want){name, value, size, 0};
}

/* A quantile: the value of one row. */
static inline void expect_of_one(wants *w, const char *name, double value, double scores)
{
    expect(w, name, value, 1e-30);
    w->column[w->n - 1].scores = scores;
}

static inline char *next_field(char **line)
{
    char *field = *line;
    size_t n = strcspn(field, ",\n");
    *line = field + n + (field[n] != '\0');
    field[n] = '\0';
    return field;
}

/* ---- attention, written out ------------------------------------------------------------------ */

/* The operands of one layer's attention, as they are multiplied, and dL/do; q, k before QK-norm;
 * what was learned of the scores of each head. */
typedef struct layer_case {
    const rdk_trainer *r;
    rdk_real *q, *k, *v, *dout, *q_raw, *k_raw;
    rdk_real *w; /* of additive scores, or NULL */
    size_t layer;
    double gain[MOST_HEADS], sink[MOST_HEADS];
} layer_case;

/* What is learned of scores, off the start that would hide it. */
static inline void move_learned(rdk_model *m)
{
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        bool of_scores = p->role == RDK_ROLE_SCORE_GAIN || p->role == RDK_ROLE_SINK;
        for (size_t h = 0; of_scores && h < rdk_size(&p->tensor); h++)
            p->tensor.data[h] += (rdk_real)(h ? -0.3 : 0.5);
    }
}

static inline void take_learned(layer_case *c)
{
    for (size_t h = 0; h < c->r->config.model.heads; h++) {
        c->gain[h] = rdk_model_head_gain(c->r->model, c->layer, h);
        c->sink[h] = rdk_model_head_sink(c->r->model, c->layer, h);
    }
}

/* Of a score, by hand: what multiplies q.k in a row of n keys, and what a cap makes of it. */
static inline double factor_by_hand(const rdk_trainer *r, size_t layer, double gain, size_t n)
{
    const rdk_model_config *m = &r->config.model;
    double f = rdk_model_layer_scale(r->model, layer) * gain, log_n = log((double)n);
    if (m->length == RDK_LENGTH_SSMAX) f *= log_n;
    if (m->length == RDK_LENGTH_LOG)
        f *= log_n / log(m->length_base > 0 ? m->length_base : (double)r->batch.len);
    return f;
}

static inline double capped(const rdk_trainer *r, double z)
{
    double cap = r->config.model.softcap;
    return cap > 0 ? cap * tanh(z / cap) : z;
}

static inline rdk_real *copy_of(const rdk_real *x, size_t n)
{
    rdk_real *y = rdk_alloc(n, sizeof *y, NULL);
    memcpy(y, x, n * sizeof *y);
    return y;
}

static inline void free_case(layer_case *c)
{
    rdk_real *all[] = {c->q, c->k, c->v, c->dout, c->q_raw, c->k_raw, c->w};
    for (int i = 0; i < 7; i++) rdk_free(all[i]);
}

static inline double dot(size_t n, const rdk_real *x, const rdk_real *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

/* w of a head among all weights of the model, or NULL. */
static inline const rdk_real *weight_in(const rdk_trainer *r, const rdk_real *weights, size_t layer,
                                        size_t h)
{
    const rdk_param *p = rdk_model_role(r->model, RDK_ROLE_SCORE, (int)layer);
    return p ? weights + p->offset + h * r->config.model.d_k : NULL;
}

/* q.k, or w.tanh(q + k) */
static inline double score(const rdk_trainer *r, const rdk_real *w, const rdk_real *q,
                           const rdk_real *k)
{
    size_t d = r->config.model.d_k;
    double sum = 0;
    for (size_t e = 0; w && e < d; e++) sum += (double)w[e] * tanh((double)q[e] + (double)k[e]);
    return w ? sum : dot(d, q, k);
}

static inline size_t place(const rdk_trainer *r, size_t b, size_t t, size_t h)
{
    return ((b * r->batch.len + t) * r->config.model.heads + h) * r->config.model.d_k;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank; sorts. */
static inline double quantile(double *x, size_t n, double percent)
{
    if (n == 0) return NAN;
    qsort(x, n, sizeof *x, ascending);
    size_t rank = (size_t)ceil((double)n * percent / 100 - 1e-9);
    return x[rank ? rank - 1 : 0];
}

/* Sums over the rows of a head. */
typedef struct head_sums {
    double rows, two, many, variance, mean, mean_size, entropy, norm, p_max, sat90, sat99, trace,
        frob2, theta, max, abs_max, peak, cosine, cosine2, cosine_size, pairs, s_ds, s_ds_size,
        choice, uncapped;
    double traces[MOST_ROWS], frobs[MOST_ROWS], ds[MOST_ROWS];
    size_t n_ds;
} head_sums;

/* n keys; m outcomes, the last of which may be a sink. */
static inline void add_softmax(head_sums *a, const double *s, const double *p, size_t n, size_t m,
                               size_t many_from)
{
    double mean = 0, variance = 0, entropy = 0, top = 0, rest = 0, frob2 = 0, trace = 0, max = s[0];
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        mean += s[j] / (double)n;
        max = fmax(max, s[j]);
        variance += s[j] * s[j] / (double)n;
        a->abs_max = fmax(a->abs_max, fabs(s[j]));
        a->mean_size += fabs(s[j]) / (double)n;
    }
    variance = 0;
    for (size_t j = 0; j < n; j++) variance += (s[j] - mean) * (s[j] - mean) / (double)n;
    for (size_t j = 0; j < m; j++)
        if (p[j] > top) top = p[j], at = j;
    for (size_t j = 0; j < m; j++) rest += j == at ? 0 : p[j]; /* 1 - top, where that is 1 */
    for (size_t j = 0; j < m; j++) {
        double other = j == at ? rest : 1 - p[j];
        if (p[j] > 0) entropy -= j == at ? p[j] * log1p(-rest) : p[j] * log(p[j]);
        trace += p[j] * other;
        for (size_t i = 0; i < m; i++) frob2 += pow(i == j ? p[j] * other : p[i] * p[j], 2);
    }
    a->traces[(size_t)a->rows] = trace, a->frobs[(size_t)a->rows] = sqrt(frob2);
    a->rows += 1, a->mean += mean, a->entropy += entropy, a->trace += trace, a->frob2 += frob2;
    a->theta += top >= .5 ? 4 * top * rest : fmax(4 * top * rest, rest * (1 + top));
    a->max = fmax(a->max, max), a->peak = fmax(a->peak, max - mean);
    if (n >= 2) a->two += 1, a->variance += variance;
    if (m >= 2) a->choice += 1, a->norm += entropy / log((double)m);
    if (n < many_from) return;
    a->many += 1, a->p_max += top, a->sat90 += top > .9, a->sat99 += top > .99;
}

/* dO.v of outcome j; a sink has the value 0. */
static inline double value_at(const layer_case *c, size_t b, size_t j, size_t h, size_t n, size_t e)
{
    return j < n ? (double)c->v[place(c->r, b, j, h) + e] : 0;
}

/* u counts from its value at the largest outcome, else a saturated row is what rounding left. z:
 * the scores before a cap; whole: do the gradients of the keys sum to 0, so that z may be shifted?
 */
static inline void add_gradient(head_sums *a, const layer_case *c, size_t b, size_t i, size_t h,
                                const double *z, const double *p, size_t n, size_t m)
{
    double cap = c->r->config.model.softcap;
    bool whole = n == m && !(cap > 0);
    size_t d = c->r->config.model.d_k, at = 0;
    const rdk_real *dout = c->dout + place(c->r, b, i, h);
    double u[MOST_T + 1], mean = 0, norm2 = 0;
    bool reached = false;
    for (size_t e = 0; e < d; e++) reached |= dout[e] != 0;
    for (size_t j = 0; j < m; j++)
        if (p[j] > p[at]) at = j;
    for (size_t j = 0; j < m; j++) {
        u[j] = 0;
        for (size_t e = 0; e < d; e++)
            u[j] += (double)dout[e] * (value_at(c, b, j, h, n, e) - value_at(c, b, at, h, n, e));
        mean += p[j] * u[j];
    }
    for (size_t j = 0; j < n; j++) {
        double ds = p[j] * (u[j] - mean), dz = cap > 0 ? ds / pow(cosh(z[j] / cap), 2) : ds;
        double from = whole ? z[at] : 0;
        norm2 += ds * ds;
        a->s_ds += (z[j] - from) * dz, a->s_ds_size += fabs((z[j] - from) * dz);
    }
    if (m >= 2 && reached) a->ds[a->n_ds++] = sqrt(norm2);
}

static inline void add_row(head_sums *a, const layer_case *c, size_t b, size_t i, size_t h,
                           size_t n, size_t many_from)
{
    size_t d = c->r->config.model.d_k;
    const rdk_real *q = c->q + place(c->r, b, i, h);
    double x_of[MOST_T], s[MOST_T], p[MOST_T + 1], max = -INFINITY, z = 0;
    double factor = factor_by_hand(c->r, c->layer, c->gain[h], n);
    size_t m = n + (c->sink[h] > -INFINITY ? 1 : 0);
    for (size_t j = 0; j < n; j++) {
        const rdk_real *k = c->k + place(c->r, b, j, h);
        double x = dot(d, q, k), cosine = x / sqrt(dot(d, q, q) * dot(d, k, k));
        if (c->w) x = score(c->r, c->w + h * d, q, k);
        x_of[j] = factor * x;
        s[j] = capped(c->r, x_of[j]);
        max = fmax(max, s[j]);
        a->uncapped = fmax(a->uncapped, fabs(x_of[j]));
        a->cosine += cosine, a->cosine2 += cosine * cosine, a->cosine_size += fabs(cosine);
        a->pairs += 1;
    }
    for (size_t j = 0; j < n; j++) z += p[j] = exp(s[j] - max);
    if (m > n) z += p[n] = exp(c->sink[h] - max);
    for (size_t j = 0; j < m; j++) p[j] /= z;
    add_softmax(a, s, p, n, m, many_from);
    add_gradient(a, c, b, i, h, x_of, p, n, m);
}

static inline double rms(const rdk_trainer *r, const rdk_real *x, size_t h)
{
    double sum = 0, count = 0;
    size_t d = r->config.model.d_k;
    for (size_t b = 0; b < r->batch.n; b++)
        for (size_t t = 0; t < (size_t)r->batch.length[b]; t++) {
            sum += dot(d, x + place(r, b, t, h), x + place(r, b, t, h));
            count += (double)d;
        }
    return sqrt(sum / count);
}

static inline size_t visible(const rdk_trainer *r, size_t real, size_t i)
{
    return i >= real ? 0 : r->config.model.arch == RDK_DECODER ? i + 1 : real;
}

static inline void expect_gradient(wants *w, head_sums *a)
{
    double total = 0, top = 0;
    size_t n = a->n_ds;
    expect_of_one(w, "ds_median", quantile(a->ds, n, 50), a->abs_max);
    expect_of_one(w, "ds_p10", quantile(a->ds, n, 10), a->abs_max);
    expect_of_one(w, "ds_p90", quantile(a->ds, n, 90), a->abs_max);
    for (size_t i = 0; i < n; i++) total += a->ds[i] * a->ds[i];
    for (size_t i = n - (size_t)ceil(.05 * (double)n - 1e-9); i < n; i++)
        top += a->ds[i] * a->ds[i];
    expect(w, "ds_rms", n ? sqrt(total / (double)n) : NAN, 0);
    expect(w, "ds_top5_share", total > 0 ? top / total : NAN, 0);
    expect(w, "scale_gradient", n ? a->s_ds : NAN, a->s_ds_size);
}

/* Theory for unit initialisation, by hand; the entropy by the library's own quadrature, which
 * tests/double/test_theory_exact.c holds to another. */
static inline double sigma2_by_hand(const rdk_trainer *r, size_t layer, size_t n)
{
    const rdk_model_config *m = &r->config.model;
    double s0 =
        m->length == RDK_LENGTH_SSMAX ? (double)r->batch.len / lgamma((double)r->batch.len + 1) : 1;
    double d = (double)m->d_k, c = factor_by_hand(r, layer, s0, n), sigma2 = c * c * d;
    if (m->qk_norm == RDK_QK_LAYER) sigma2 *= pow(2, 4) * d / (d - 1);
    if (m->qk_norm == RDK_QK_L2) sigma2 = c * c;                       /* g = sqrt(d_k) */
    if (m->attention == RDK_ADDITIVE) sigma2 = c * c * 0.283968411113; /* d_k w^2 = 1 */
    return m->softcap > 0 ? rdk_theory_capped_variance(sigma2, m->softcap) : sigma2;
}

static inline void expect_theory(wants *w, const rdk_trainer *r, size_t layer)
{
    const rdk_model_config *m = &r->config.model;
    size_t len = r->batch.len, first = m->arch == RDK_ENCODER ? len : 2;
    double sum = 0, norm = 0, rows = 0;
    bool formula = m->softcap == 0 && m->sink == RDK_SINK_OFF;
    for (size_t n = first; n <= len; n++, rows++) {
        double sigma2 = sigma2_by_hand(r, layer, n);
        sum += sigma2 * (1 - 1 / (double)n);
        if (n >= 2) norm += rdk_theory_exact(n, sigma2).entropy / log((double)n);
    }
    expect(w, "score_std_theory", len < 2 ? NAN : sqrt(sum / rows), 0);
    expect(w, "entropy_norm_theory", len < 2 || !formula ? NAN : norm / rows, 0.1);
}

/* ---- from one pass to the next ----------------------------------------------------------- */

/* score_change: of the watched sequences, from both passes of the test's own. */
typedef struct passes {
    rdk_real *q[2][MOST_LAYERS], *k[2][MOST_LAYERS];
    const rdk_real *w[2]; /* all weights of the model then */
    double gain[2][MOST_LAYERS][MOST_HEADS];
} passes;

static inline double change_of(const rdk_trainer *r, const passes *w, size_t layer, size_t h)
{
    const rdk_batch *b = rdk_watch_batch(r->watch);
    double sum = 0, pairs = 0;
    for (size_t x = 0; x < b->n; x++)
        for (size_t i = 0; i < (size_t)b->length[x]; i++)
            for (size_t j = 0; j < visible(r, (size_t)b->length[x], i); j++) {
                double s[2];
                size_t n = visible(r, (size_t)b->length[x], i);
                for (int pass = 0; pass < 2; pass++)
                    s[pass] = factor_by_hand(r, layer, w->gain[pass][layer][h], n) *
                              score(r, weight_in(r, w->w[pass], layer, h),
                                    w->q[pass][layer] + place(r, x, i, h),
                                    w->k[pass][layer] + place(r, x, j, h));
                sum += pow(capped(r, s[1]) - capped(r, s[0]), 2);
                pairs += 1;
            }
    return sqrt(sum / pairs);
}

static inline double norm(size_t n, const rdk_real *x)
{
    return sqrt(dot(n, x, x));
}

static inline void expect_tensor(wants *w, rdk_trainer *r, const rdk_param *p,
                                 const rdk_real *before)
{
    size_t n = rdk_size(&p->tensor);
    double change2 = 0, gradient = norm(n, p->tensor.grad), weight = norm(n, before);
    for (size_t i = 0; i < n; i++) change2 += pow((double)p->tensor.data[i] - (double)before[i], 2);
    bool scores = strstr(p->name, ".wq.weight") || strstr(p->name, ".wk.weight");
    bool compared = scores || strstr(p->name, ".wo.weight");
    char value[RDK_NAME_TEXT];
    snprintf(value, sizeof value, "layers.%d.attention.wv.weight", p->layer);
    const rdk_param *v = rdk_model_find(r->model, value);
    expect(w, "step", 0, 0);
    expect(w, "tensor", 0, INFINITY);
    expect(w, "grad_norm", gradient, 0);
    expect(w, "weight_norm", weight, 0);
    /* a clip of W_Q and W_K is no part of the optimizer's update */
    bool clipped = r->config.qk_clip > 0 && scores;
    bool has_ratio = weight > 0 && p->role != RDK_ROLE_POWER;
    expect(w, "update_ratio", has_ratio ? sqrt(change2) / weight : ABSENT, clipped ? INFINITY : 0);
    expect(w, "grad_norm_over_scale",
           scores ? gradient / rdk_model_layer_scale(r->model, (size_t)p->layer) : ABSENT, 0);
    expect(w, "grad_ratio_to_value",
           compared ? gradient / norm(rdk_size(&v->tensor), v->tensor.grad) : ABSENT, 0);
}

#endif
