/* SPDX-License-Identifier: MIT
 * The sequences that are watched: the first of the held-out set, the same at every probed step. One
 * pass over them before the update and one after it tell how far the update moved the scores; the
 * first of them is the example whose attention maps.csv shows.
 * Invariant: as in an evaluation, nothing that the next step needs is touched: it has a stream and
 * a batch of its own.
 * Read next: src/probe/pairs.c, maps.c. */
#include "trainer.h"

#include <string.h>

#include "base/parallel.h"
#include "kernels/kernels.h"

/* One of SHARE sequences of an update is watched, so that the two passes are about a sixteenth of
 * its own forward ones; of fewer than SHARE, one. By the whole update, not by the micro-batch. */
enum { SHARE = 32, MOST_WATCHED = 16 };

struct rdk_watch {
    size_t layers;
    rdk_batch batch;
    rdk_tensor **q, **k;           /* [layers] of the last pass, as they are multiplied */
    rdk_real *q_before, *k_before; /* [layers, n, len, heads * d_k] of the one before the update */
    rdk_real *w_before;            /* [layers, heads * d_k] of additive attention, or NULL */
    double *change;                /* [layers, heads] */
    rdk_real *gain[2], *sink;      /* [layers, heads], before and after the update; sink: before */
    rdk_real *scratch;             /* for each thread */
    rdk_head_view view;            /* of any head; q, k and head are set for each */
    rdk_model_probe probe;
};

static size_t watched(const rdk_config *c)
{
    uint64_t n = c->batch * c->accum / SHARE;
    n = n > MOST_WATCHED ? MOST_WATCHED : n;
    n = n > c->eval_size ? c->eval_size : n;
    return n > 0 ? (size_t)n : 1;
}

rdk_watch *rdk_watch_new(const rdk_trainer *r, rdk_status *s)
{
    const rdk_config *c = &r->config;
    const rdk_model_config *model = &c->model;
    rdk_watch *w = rdk_alloc(1, sizeof *w, s);
    if (!w) return NULL;
    size_t n = watched(c), len = r->batch.len, width = model->heads * model->d_k;
    w->layers = model->layers;
    w->q = rdk_alloc(w->layers, sizeof *w->q, s);
    w->k = rdk_alloc(w->layers, sizeof *w->k, s);
    w->q_before = rdk_alloc(w->layers * n * len, width * sizeof *w->q_before, s);
    w->k_before = rdk_alloc(w->layers * n * len, width * sizeof *w->k_before, s);
    if (model->attention == RDK_ADDITIVE)
        w->w_before = rdk_alloc(w->layers, width * sizeof *w->w_before, s);
    w->change = rdk_alloc(w->layers * model->heads, sizeof *w->change, s);
    w->gain[0] = rdk_alloc(w->layers * model->heads, sizeof(rdk_real), s);
    w->gain[1] = rdk_alloc(w->layers * model->heads, sizeof(rdk_real), s);
    w->sink = rdk_alloc(w->layers * model->heads, sizeof(rdk_real), s);
    w->scratch = rdk_alloc((size_t)rdk_threads(),
                           rdk_head_change_scratch(len, model->d_k) * sizeof *w->scratch, s);
    w->probe = (rdk_model_probe){.q_used = w->q, .k_used = w->k};
    if (!rdk_batch_make(&w->batch, n, len, s)) {
        rdk_watch_free(w);
        return NULL;
    }
    rdk_batch_eval(&w->batch, r->task, c->seed, 0, n);
    w->view = (rdk_head_view){.batch = n,
                              .len = len,
                              .heads = model->heads,
                              .d_k = model->d_k,
                              .causal = model->arch == RDK_DECODER,
                              .lengths = w->batch.length,
                              .length_base = rdk_config_length_base(model),
                              .softcap = model->softcap};
    return w;
}

void rdk_watch_free(rdk_watch *w)
{
    if (!w) return;
    rdk_batch_free(&w->batch);
    rdk_free(w->q);
    rdk_free(w->k);
    rdk_free(w->q_before);
    rdk_free(w->k_before);
    rdk_free(w->w_before);
    rdk_free(w->change);
    rdk_free(w->gain[0]);
    rdk_free(w->gain[1]);
    rdk_free(w->sink);
    rdk_free(w->scratch);
    rdk_free(w);
}

const rdk_batch *rdk_watch_batch(const rdk_watch *w)
{
    return &w->batch;
}

/* Elements of q, or of k, of one layer. */
static size_t layer_size(const rdk_watch *w)
{
    return w->view.batch * w->view.len * w->view.heads * w->view.d_k;
}

/* w of additive attention in this layer: as it is now. NULL where there is none. */
static const rdk_real *weight_of(const rdk_trainer *r, size_t layer)
{
    rdk_param *p = rdk_model_role(r->model, RDK_ROLE_SCORE, (int)layer);
    return p ? p->tensor.data : NULL;
}

/* What is learned of the scores, as it stands. */
static void take_gains(const rdk_trainer *r, rdk_real *gain, rdk_real *sink)
{
    const size_t heads = r->config.model.heads;
    for (size_t i = 0; i < r->config.model.layers * heads; i++) {
        gain[i] = (rdk_real)rdk_model_head_gain(r->model, i / heads, i % heads);
        if (sink) sink[i] = (rdk_real)rdk_model_head_sink(r->model, i / heads, i % heads);
    }
}

/* Scores are of q and k as attention multiplies them. */
static void round_operands(rdk_trainer *r)
{
    rdk_watch *w = r->watch;
    if (r->config.precision == RDK_FLOAT || r->config.model.attention == RDK_ADDITIVE) return;
    for (size_t l = 0; l < w->layers; l++) {
        rdk_kernels_get()->bf16->round(layer_size(w), w->q[l]->data, w->q[l]->data);
        rdk_kernels_get()->bf16->round(layer_size(w), w->k[l]->data, w->k[l]->data);
    }
}

/* w->q and w->k of the model as it is, on the first tape until its next reset. */
static bool look(rdk_trainer *r)
{
    const rdk_batch *b = &r->watch->batch;
    rdk_tape *t = r->tapes[0];
    rdk_evaluate_begin(t, false);
    bool ok = rdk_model_queries(r->model, t, b->n, b->len, b->input, b->length, &r->watch->probe);
    rdk_tape_recording(t, true);
    if (ok) round_operands(r);
    return ok || rdk_fail_with_tape(&(rdk_pass_at){.tape = t, .status = r->status});
}

bool rdk_watch_before(rdk_trainer *r)
{
    rdk_watch *w = r->watch;
    size_t size = layer_size(w);
    if (!look(r)) return false;
    take_gains(r, w->gain[0], w->sink);
    for (size_t l = 0; l < w->layers; l++) {
        memcpy(w->q_before + l * size, w->q[l]->data, size * sizeof *w->q_before);
        memcpy(w->k_before + l * size, w->k[l]->data, size * sizeof *w->k_before);
        size_t width = w->view.heads * w->view.d_k;
        if (w->w_before)
            memcpy(w->w_before + l * width, weight_of(r, l), width * sizeof *w->w_before);
    }
    return true;
}

rdk_head_view rdk_watch_head(const rdk_trainer *r, size_t layer, size_t head)
{
    const rdk_watch *w = r->watch;
    const rdk_model_config *c = &r->config.model;
    rdk_head_view v = w->view;
    v.scale = rdk_model_layer_scale(r->model, layer);
    if (c->temperature || c->length == RDK_LENGTH_SSMAX) {
        v.gain = w->gain[0] + layer * v.heads;
        v.gain_new = w->gain[1] + layer * v.heads;
    }
    if (c->sink != RDK_SINK_OFF) v.sink = w->sink + layer * v.heads;
    v.q = w->q_before + layer * layer_size(w);
    v.k = w->k_before + layer * layer_size(w);
    v.head = head;
    if (w->w_before) v.w = w->w_before + (layer * v.heads + head) * v.d_k;
    return v;
}

bool rdk_watch_after(rdk_trainer *r)
{
    rdk_watch *w = r->watch;
    if (!look(r)) return false;
    take_gains(r, w->gain[1], NULL);
    RDK_PARALLEL_FOR
    for (size_t at = 0; at < w->layers * w->view.heads; at++) {
        size_t layer = at / w->view.heads;
        rdk_head_view v = rdk_watch_head(r, layer, at % w->view.heads);
        rdk_real *scratch =
            w->scratch + (size_t)rdk_thread_index() * rdk_head_change_scratch(v.len, v.d_k);
        const rdk_real *now = weight_of(r, layer);
        w->change[at] = rdk_head_score_change(&v, w->q[layer]->data, w->k[layer]->data,
                                              now ? now + v.head * v.d_k : NULL, scratch);
    }
    return true;
}

double rdk_watch_gain(const rdk_watch *w, size_t layer, size_t head)
{
    return (double)w->gain[0][layer * w->view.heads + head];
}

double rdk_watch_sink(const rdk_watch *w, size_t layer, size_t head)
{
    return (double)w->sink[layer * w->view.heads + head];
}

double rdk_watch_change(const rdk_watch *w, size_t layer, size_t head)
{
    return w->change[layer * w->view.heads + head];
}
