/* SPDX-License-Identifier: MIT
 * The figures of one head of attention from T x T arrays in double, and a list of what a row of a
 * CSV file must hold, by the names of its columns. Invariant: nothing here is the library's but the
 * operands and what describes them. */
#ifndef RDK_TEST_COLUMNS_REFERENCE_H
#define RDK_TEST_COLUMNS_REFERENCE_H

#include "harness.h"

#include "run/trainer.h"

enum { MOST_T = 70, MOST_ROWS = 4 * MOST_T, MOST_COLUMNS = 64 };

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

/* The operands of one layer's attention, as they are multiplied, and dL/do; q, k before QK-norm. */
typedef struct layer_case {
    const rdk_trainer *r;
    rdk_real *q, *k, *v, *dout, *q_raw, *k_raw;
    rdk_real *w; /* of additive scores, or NULL */
} layer_case;

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
        frob2, theta, max, abs_max, peak, cosine, cosine2, cosine_size, pairs, s_ds, s_ds_size;
    double traces[MOST_ROWS], frobs[MOST_ROWS], ds[MOST_ROWS];
    size_t n_ds;
} head_sums;

static inline void add_softmax(head_sums *a, const double *s, const double *p, size_t n,
                               size_t many_from)
{
    double mean = 0, variance = 0, entropy = 0, top = 0, rest = 0, frob2 = 0, trace = 0, max = s[0];
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        mean += s[j] / (double)n;
        max = fmax(max, s[j]);
        if (p[j] > top) top = p[j], at = j;
        a->abs_max = fmax(a->abs_max, fabs(s[j]));
        a->mean_size += fabs(s[j]) / (double)n;
    }
    for (size_t j = 0; j < n; j++) rest += j == at ? 0 : p[j]; /* 1 - top, where that is 1 */
    for (size_t j = 0; j < n; j++) {
        double other = j == at ? rest : 1 - p[j];
        variance += (s[j] - mean) * (s[j] - mean) / (double)n;
        if (p[j] > 0) entropy -= j == at ? p[j] * log1p(-rest) : p[j] * log(p[j]);
        trace += p[j] * other;
        for (size_t i = 0; i < n; i++) frob2 += pow(i == j ? p[j] * other : p[i] * p[j], 2);
    }
    a->traces[(size_t)a->rows] = trace, a->frobs[(size_t)a->rows] = sqrt(frob2);
    a->rows += 1, a->mean += mean, a->entropy += entropy, a->trace += trace, a->frob2 += frob2;
    a->theta += top >= .5 ? 4 * top * rest : fmax(4 * top * rest, rest * (1 + top));
    a->max = fmax(a->max, max), a->peak = fmax(a->peak, max - mean);
    if (n >= 2) a->two += 1, a->variance += variance, a->norm += entropy / log((double)n);
    if (n < many_from) return;
    a->many += 1, a->p_max += top, a->sat90 += top > .9, a->sat99 += top > .99;
}

/* u counts from its value at the largest score, else a saturated row is what rounding left. */
static inline void add_gradient(head_sums *a, const layer_case *c, size_t b, size_t i, size_t h,
                                const double *s, const double *p, size_t n)
{
    size_t d = c->r->config.model.d_k, at = 0;
    const rdk_real *dout = c->dout + place(c->r, b, i, h);
    double u[MOST_T], mean = 0, norm2 = 0;
    bool reached = false;
    for (size_t e = 0; e < d; e++) reached |= dout[e] != 0;
    for (size_t j = 0; j < n; j++)
        if (p[j] > p[at]) at = j;
    for (size_t j = 0; j < n; j++) {
        u[j] = 0;
        for (size_t e = 0; e < d; e++)
            u[j] += (double)dout[e] * ((double)c->v[place(c->r, b, j, h) + e] -
                                       (double)c->v[place(c->r, b, at, h) + e]);
        mean += p[j] * u[j];
    }
    for (size_t j = 0; j < n; j++) {
        double ds = p[j] * (u[j] - mean);
        norm2 += ds * ds;
        a->s_ds += (s[j] - s[at]) * ds, a->s_ds_size += fabs((s[j] - s[at]) * ds);
    }
    if (n >= 2 && reached) a->ds[a->n_ds++] = sqrt(norm2);
}

static inline void add_row(head_sums *a, const layer_case *c, size_t b, size_t i, size_t h,
                           size_t n, size_t many_from)
{
    size_t d = c->r->config.model.d_k;
    const rdk_real *q = c->q + place(c->r, b, i, h);
    double s[MOST_T], p[MOST_T], max = -INFINITY, z = 0;
    for (size_t j = 0; j < n; j++) {
        const rdk_real *k = c->k + place(c->r, b, j, h);
        double x = dot(d, q, k), cosine = x / sqrt(dot(d, q, q) * dot(d, k, k));
        if (c->w) x = score(c->r, c->w + h * d, q, k);
        s[j] = rdk_model_score_scale(c->r->model) * x;
        max = fmax(max, s[j]);
        a->cosine += cosine, a->cosine2 += cosine * cosine, a->cosine_size += fabs(cosine);
        a->pairs += 1;
    }
    for (size_t j = 0; j < n; j++) z += p[j] = exp(s[j] - max);
    for (size_t j = 0; j < n; j++) p[j] /= z;
    add_softmax(a, s, p, n, many_from);
    add_gradient(a, c, b, i, h, s, p, n);
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
static inline void expect_theory(wants *w, const rdk_trainer *r)
{
    const rdk_model_config *m = &r->config.model;
    double d = (double)m->d_k, c = rdk_model_score_scale(r->model), sigma2 = c * c * d, sum = 0;
    if (m->qk_norm == RDK_QK_LAYER) sigma2 *= pow(2, 4) * d / (d - 1);
    if (m->qk_norm == RDK_QK_L2) sigma2 = c * c;                       /* g = sqrt(d_k) */
    if (m->attention == RDK_ADDITIVE) sigma2 = c * c * 0.283968411113; /* d_k w^2 = 1 */
    size_t len = r->batch.len;
    for (size_t n = 2; n <= len; n++) sum += (1 - 1 / (double)n) / (double)(len - 1);
    if (m->arch == RDK_ENCODER) sum = 1 - 1 / (double)len;
    expect(w, "score_std_theory", len < 2 ? NAN : sqrt(sigma2 * sum), 0);
    expect(w, "entropy_norm_theory",
           rdk_theory_sequence(len, m->arch == RDK_DECODER, sigma2).entropy_norm, 1e-6);
}

#endif
