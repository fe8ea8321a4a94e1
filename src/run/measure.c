/* SPDX-License-Identifier: MIT
 * Statistics of attention over a whole update. Each pass fills rows of its own, so that k
 * micro-batches of n sequences and one batch of k n are measured alike: quantiles need all rows at
 * once. q and k are not kept: of them only sums are wanted.
 * Invariant: nothing here changes what is computed; each head is measured by one thread. */
#include "trainer.h"

#include <math.h>

#include "base/parallel.h"

struct rdk_measure {
    size_t layers, heads, all, len, d_k; /* all: sequences of an update */
    rdk_attention_row *rows;             /* [layers, all, heads, len], filled in the passes */
    rdk_model_probe *probe;              /* [workers], each of the pass at hand */
    rdk_tensor **q, **k;                 /* [workers, layers], likewise */
    double *q_squares, *k_squares;       /* [layers, heads, all] */
    int32_t *length;                     /* [all] */
    double *scratch;                     /* [threads, 2 * all * len] */
    rdk_head_figures *figures;           /* [layers, heads] of the last measured update */
};

rdk_measure *rdk_measure_new(const rdk_trainer *r, rdk_status *s)
{
    const rdk_model_config *c = &r->config.model;
    rdk_measure *m = rdk_alloc(1, sizeof *m, s);
    if (!m) return NULL;
    *m = (rdk_measure){.layers = c->layers,
                       .heads = c->heads,
                       .all = r->batch.n,
                       .len = r->batch.len,
                       .d_k = c->d_k};
    size_t all = m->all, heads = m->layers * m->heads;
    m->rows = rdk_alloc(heads * all, m->len * sizeof *m->rows, s);
    m->probe = rdk_alloc(r->workers, sizeof *m->probe, s);
    m->q = rdk_alloc(r->workers * m->layers, sizeof(rdk_tensor *), s);
    m->k = rdk_alloc(r->workers * m->layers, sizeof(rdk_tensor *), s);
    m->q_squares = rdk_alloc(heads * all, sizeof *m->q_squares, s);
    m->k_squares = rdk_alloc(heads * all, sizeof *m->k_squares, s);
    m->scratch = rdk_alloc((size_t)rdk_threads() * 2 * all, m->len * sizeof *m->scratch, s);
    m->figures = rdk_alloc(heads, sizeof *m->figures, s);
    m->length = r->batch.length;
    if (rdk_ok(s)) return m;
    rdk_measure_free(m);
    return NULL;
}

void rdk_measure_free(rdk_measure *m)
{
    if (!m) return;
    rdk_free(m->rows);
    rdk_free(m->probe);
    rdk_free(m->q);
    rdk_free(m->k);
    rdk_free(m->q_squares);
    rdk_free(m->k_squares);
    rdk_free(m->scratch);
    rdk_free(m->figures);
    rdk_free(m);
}

const rdk_model_probe *rdk_measure_probe(rdk_measure *m, size_t worker, size_t first)
{
    size_t rows = m->heads * m->len; /* of a sequence */
    m->probe[worker] = (rdk_model_probe){.rows = m->rows + first * rows,
                                         .rows_of_layer = m->all * rows,
                                         .q = m->q + worker * m->layers,
                                         .k = m->k + worker * m->layers};
    return &m->probe[worker];
}

/* The squares of one head, for each sequence: so their sum does not follow the passes. */
static void take_squares(const rdk_measure *m, size_t first, size_t n, size_t head,
                         const rdk_real *x, double *squares)
{
    for (size_t b = 0; b < n; b++)
        squares[first + b] = rdk_head_squares(x + b * m->len * m->heads * m->d_k,
                                              (size_t)m->length[first + b], m->heads, head, m->d_k);
}

void rdk_measure_take(rdk_measure *m, size_t worker, size_t first, size_t n)
{
    const rdk_model_probe *p = &m->probe[worker];
    RDK_PARALLEL_FOR
    for (size_t at = 0; at < m->layers * m->heads; at++) {
        size_t layer = at / m->heads, head = at % m->heads;
        take_squares(m, first, n, head, p->q[layer]->data, m->q_squares + at * m->all);
        take_squares(m, first, n, head, p->k[layer]->data, m->k_squares + at * m->all);
    }
}

static double sum(size_t n, const double *x)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) total += x[i];
    return total;
}

void rdk_measure_finish(rdk_measure *m)
{
    size_t all = m->all, rows = all * m->heads * m->len, tokens = 0;
    for (size_t b = 0; b < all; b++) tokens += (size_t)m->length[b];
    double entries = tokens ? (double)tokens * (double)m->d_k : NAN;
    RDK_PARALLEL_FOR
    for (size_t at = 0; at < m->layers * m->heads; at++) {
        double *scratch = m->scratch + (size_t)rdk_thread_index() * 2 * all * m->len;
        rdk_head_figures f =
            rdk_head_measure(m->rows + at / m->heads * rows, all, m->heads, m->len, at % m->heads,
                             NULL, NULL, m->d_k, m->length, scratch);
        f.q_rms = sqrt(sum(all, m->q_squares + at * all) / entries);
        f.k_rms = sqrt(sum(all, m->k_squares + at * all) / entries);
        m->figures[at] = f;
    }
}

size_t rdk_measure_rows(const rdk_measure *m)
{
    return m->all * m->len;
}

const rdk_attention_row *rdk_measure_row(const rdk_measure *m, size_t layer, size_t head, size_t i)
{
    size_t sequence = layer * m->all + i / m->len;
    return m->rows + (sequence * m->heads + head) * m->len + i % m->len;
}

const rdk_head_figures *rdk_measure_head(const rdk_measure *m, size_t layer, size_t head)
{
    return &m->figures[layer * m->heads + head];
}

double rdk_measure_score_absmax(const rdk_measure *m)
{
    double most = 0;
    for (size_t i = 0; i < m->layers * m->heads; i++) most = fmax(most, m->figures[i].score_absmax);
    return most;
}

rdk_head_figures rdk_measure_mean(const rdk_measure *m, int layer)
{
    size_t first = layer < 0 ? 0 : (size_t)layer, last = layer < 0 ? m->layers : first + 1;
    double n = (double)((last - first) * m->heads);
    rdk_head_figures mean = {0};
    for (size_t l = first; l < last; l++) {
        for (size_t h = 0; h < m->heads; h++) {
            const rdk_head_figures *f = rdk_measure_head(m, l, h);
            mean.score_std += f->score_std / n;
            mean.entropy += f->entropy / n;
            mean.entropy_norm += f->entropy_norm / n;
            mean.p_max += f->p_max / n;
            mean.sat90 += f->sat90 / n;
            mean.sat99 += f->sat99 / n;
            mean.jacobian_trace += f->jacobian_trace / n;
            mean.ds_median += f->ds_median / n;
            mean.ds_top5_share += f->ds_top5_share / n;
            mean.score_absmax = fmax(mean.score_absmax, f->score_absmax);
        }
    }
    return mean;
}

static double gradient_norm(const rdk_trainer *r, rdk_role role, int layer)
{
    const rdk_tensor *w = &rdk_model_role(r->model, role, layer)->tensor;
    return rdk_norm(rdk_size(w), w->grad);
}

double rdk_measure_query_value_ratio(const rdk_trainer *r)
{
    int layers = (int)r->config.model.layers;
    double sum = 0;
    for (int l = 0; l < layers; l++) {
        double value = gradient_norm(r, RDK_ROLE_WV, l);
        sum += value > 0 ? gradient_norm(r, RDK_ROLE_WQ, l) / value : NAN;
    }
    return sum / layers;
}
