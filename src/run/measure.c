/* SPDX-License-Identifier: MIT
 * Statistics of attention over a whole update. Each micro-batch is measured in its own pass and its
 * rows are laid beside the others', so that k micro-batches of n sequences and one batch of k n are
 * measured alike. Nothing here changes what is computed. */
#include "trainer.h"

#include <math.h>
#include <string.h>

struct rdk_measure {
    size_t layers, heads, batch, accum, len, d_k;
    rdk_attention_row *micro;  /* [layers, batch, heads, len], filled in the pass */
    rdk_attention_row *rows;   /* [layers, accum * batch, heads, len] */
    rdk_tensor **q, **k;       /* [layers], of the micro-batch at hand */
    rdk_real *q_all, *k_all;   /* [layers, accum * batch, len, heads * d_k] */
    int32_t *length;           /* [accum * batch] */
    double *scratch;           /* [accum * batch * len] */
    rdk_head_figures *figures; /* [layers, heads] of the last measured update */
    rdk_model_probe probe;
};

rdk_measure *rdk_measure_new(const rdk_trainer *r, rdk_status *s)
{
    const rdk_model_config *c = &r->config.model;
    rdk_measure *m = rdk_alloc(1, sizeof *m, s);
    if (!m) return NULL;
    *m = (rdk_measure){.layers = c->layers,
                       .heads = c->heads,
                       .batch = r->config.batch,
                       .accum = r->config.accum,
                       .len = r->batch.len,
                       .d_k = c->d_k};
    size_t rows = m->layers * m->batch * m->heads * m->len;
    m->micro = rdk_alloc(rows, sizeof *m->micro, s);
    m->rows = rdk_alloc(rows * m->accum, sizeof *m->rows, s);
    m->q = rdk_alloc(m->layers, sizeof *m->q, s);
    m->k = rdk_alloc(m->layers, sizeof *m->k, s);
    m->q_all = rdk_alloc(rows * m->accum, m->d_k * sizeof *m->q_all, s);
    m->k_all = rdk_alloc(rows * m->accum, m->d_k * sizeof *m->k_all, s);
    m->scratch = rdk_alloc(m->accum * m->batch, m->len * sizeof *m->scratch, s);
    m->figures = rdk_alloc(m->layers * m->heads, sizeof *m->figures, s);
    m->length = r->batch.length;
    m->probe = (rdk_model_probe){.rows = m->micro, .q = m->q, .k = m->k};
    if (rdk_ok(s)) return m;
    rdk_measure_free(m);
    return NULL;
}

void rdk_measure_free(rdk_measure *m)
{
    if (!m) return;
    rdk_free(m->micro);
    rdk_free(m->rows);
    rdk_free(m->q);
    rdk_free(m->k);
    rdk_free(m->q_all);
    rdk_free(m->k_all);
    rdk_free(m->scratch);
    rdk_free(m->figures);
    rdk_free(m);
}

const rdk_model_probe *rdk_measure_probe(rdk_measure *m)
{
    return &m->probe;
}

void rdk_measure_take(rdk_measure *m, size_t micro)
{
    size_t rows = m->batch * m->heads * m->len, reals = rows * m->d_k;
    for (size_t layer = 0; layer < m->layers; layer++) {
        size_t at = layer * m->accum + micro;
        memcpy(m->rows + at * rows, m->micro + layer * rows, rows * sizeof *m->rows);
        memcpy(m->q_all + at * reals, m->q[layer]->data, reals * sizeof *m->q_all);
        memcpy(m->k_all + at * reals, m->k[layer]->data, reals * sizeof *m->k_all);
    }
}

void rdk_measure_finish(rdk_measure *m)
{
    size_t batch = m->accum * m->batch, rows = batch * m->heads * m->len;
    for (size_t layer = 0; layer < m->layers; layer++)
        for (size_t head = 0; head < m->heads; head++)
            m->figures[layer * m->heads + head] =
                rdk_head_measure(m->rows + layer * rows, batch, m->heads, m->len, head,
                                 m->q_all + layer * rows * m->d_k, m->k_all + layer * rows * m->d_k,
                                 m->d_k, m->length, m->scratch);
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
