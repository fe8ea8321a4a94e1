/* SPDX-License-Identifier: MIT
 * o = softmax(s) v of scores c q_i.k_j or c w.tanh(q_i + k_j) (attention_scores.h), or what a
 * policy makes of them (attention_policy.h), streaming: a block of queries meets the keys block by
 * block, and keeps of each row the largest score so far, the sum of exp(s - max) and the weighted
 * sum of v.
 *
 * Kept for backward are the two numbers max and 1 / sum; their combination max + log sum would lose
 * the digits of the second where scores are large.
 * Invariants: those of attention_block.h; each (b, h) is computed by one thread.
 * Read next: attention_backward.c. */
#include "attention_policy.h"
#include "attention_scores.h"
#include "attention_stats.h"
#include "base/parallel.h"

/* Scores that take less time than waking the threads. */
enum { SERIAL_SCORES = 2000 };

static bool is_worth_sharing(const rdk_attention_shape *s)
{
    return s->batch * s->heads * (s->len - s->first) * s->len > SERIAL_SCORES;
}

/* One (b, h): the operands at its first row, which for q and o is that of its first query; row
 * strides; rows (b, h, 0) of the results. */
typedef struct forward_head {
    const rdk_attention_shape *shape;
    const rdk_real *q, *k, *v;
    const rdk_real *w; /* of additive scores, or NULL */
    rdk_real *o;
    size_t ld_qk, ld_v;
    size_t index; /* of row (b, h, 0) among all rows */
    size_t len;   /* real tokens */
    score_policy policy;
    rdk_real *row_max, *row_inv;
    rdk_attention_row *rows; /* or NULL */
    /* scratch */
    rdk_real *k_panels, *scores, *v_room;
    rdk_real *k_inverse; /* 1 / |k_j|, where rows of products are measured */
} forward_head;

/* State of the rows of a block of queries. */
typedef struct forward_rows {
    rdk_real max[BLOCK], sum[BLOCK];
    rdk_real q_inverse[BLOCK]; /* 1 / (c |q|), likewise */
    row_stats stats[BLOCK];
} forward_rows;

static void scale_row(size_t n, rdk_real a, rdk_real *x)
{
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) v_store(x + j, v_set(a) * v_load(x + j));
    for (; j < n; j++) x[j] *= a;
}

/* The largest of the scores. */
static rdk_real scores_largest(size_t n, const rdk_real *s)
{
    vreal max = v_set(-INFINITY);
    for (size_t j = 0; j < n; j += LANES)
        max = v_max(max, v_visible(v_load(s + j), j, n, -INFINITY));
    return v_hmax(max);
}

/* s becomes w = exp(s - max); returns the sum. */
static rdk_real scores_to_weights(size_t n, rdk_real max, rdk_real *s)
{
    vreal sum = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal w = v_visible(v_exp(v_load(s + j) - max), j, n, 0);
        v_store(s + j, w);
        sum += w;
    }
    return v_sum(sum);
}

/* The same, and what is measured of them; product: q.k where policies shaped it into the scores. */
static rdk_real measured_to_weights(const forward_head *f, const score_block *at, size_t r,
                                    const rdk_real *product, rdk_real max, rdk_real *s,
                                    forward_rows *state)
{
    row_stats *t = &state->stats[r];
    const size_t n = block_visible(at, r);
    const bool holds_max = stats_take_max(t, max);
    stats_add_moments(t, n, s);
    if (!f->w)
        stats_add_cosines(t, n, f->policy.shapes ? product : s, state->q_inverse[r],
                          f->k_inverse + at->j);
    if (f->policy.cap > 0)
        stats_add_uncapped(t, n, policy_factor(&f->policy, row_keys(f->shape, f->len, at->i + r)),
                           product);
    return stats_to_weights(t, n, holds_max, s);
}

/* Takes n scores of row r into its state, and turns them into weights. */
static void forward_row(const forward_head *f, const score_block *at, size_t r, forward_rows *state)
{
    size_t n = block_visible(at, r);
    rdk_real *s = f->scores + r * BLOCK, product[BLOCK];
    if (f->policy.shapes) {
        memcpy(product, s, BLOCK * sizeof *s);
        policy_scores(&f->policy, row_keys(f->shape, f->len, at->i + r), n, s);
    }
    rdk_real max = scores_largest(n, s);
    if (at->j > 0) max = max > state->max[r] ? max : state->max[r];
    rdk_real sum = f->rows ? measured_to_weights(f, at, r, product, max, s, state)
                           : scores_to_weights(n, max, s);
    if (at->j > 0) {
        rdk_real shrink = v_exp(v_set(state->max[r] - max))[0];
        if (max > state->max[r])
            scale_row(f->shape->d_v, shrink, f->o + query_row(f->shape, at->i + r) * f->ld_v);
        sum += shrink * state->sum[r];
    }
    state->max[r] = max;
    state->sum[r] = sum;
    if (f->shape->dropout > 0) {
        rdk_real keep[BLOCK];
        attention_keep(f->shape, f->index + at->i + r, at->j, n, keep);
        for (size_t j = 0; j < n; j++) s[j] *= keep[j];
    }
}

static void forward_begin_stats(const forward_head *f, size_t i, forward_rows *state)
{
    const double c = f->shape->scale;
    memset(state->stats, 0, sizeof state->stats);
    for (size_t r = 0; i + r < block_end(i, f->len); r++) {
        if (f->w) {
            stats_without_cosines(&state->stats[r]);
            continue;
        }
        double inverse =
            (double)stats_inverse_norm(f->shape->d_k, f->q + query_row(f->shape, i + r) * f->ld_qk);
        state->q_inverse[r] = c == 0 ? 0 : (rdk_real)(inverse / c);
    }
}

/* One block of queries against all the keys it sees. */
static void forward_queries(const forward_head *f, size_t i)
{
    const rdk_attention_shape *s = f->shape;
    forward_rows state;
    if (f->rows) forward_begin_stats(f, i, &state);
    rdk_real *o = f->o + query_row(s, i) * f->ld_v;
    const rdk_real *q = f->q + query_row(s, i) * f->ld_qk;
    size_t end = s->causal ? i + 1 : f->len, rows = 0;
    for (size_t j = 0; j < end; j += BLOCK) {
        const score_block at = block_at(s, f->len, i, j);
        rows = at.rows;
        attention_scores(s, &at, f->w, q, f->ld_qk, f->k_panels + j * s->d_k, f->scores);
        for (size_t r = 0; r < at.rows; r++) forward_row(f, &at, r, &state);
        size_t ld = f->ld_v;
        const rdk_real *v = block_whole_rows(at.keys, s->d_v, f->v + j * ld, &ld, f->v_room);
        block_product(&at, s->d_v, f->scores, v, ld, o, f->ld_v, j > 0);
    }
    for (size_t r = 0; r < rows; r++) {
        if (f->policy.sink) {
            state.sum[r] += policy_sink_weight(&f->policy, state.max[r]);
            if (f->rows) stats_add_sink(&state.stats[r], (double)*f->policy.sink);
        }
        rdk_real inverse = 1 / state.sum[r];
        scale_row(s->d_v, inverse, o + r * f->ld_v);
        f->row_max[i + r] = state.max[r];
        f->row_inv[i + r] = inverse;
        if (f->rows) stats_row(&state.stats[r], f->policy.sink != NULL, &f->rows[i + r]);
    }
}

static void forward_one(const forward_head *f)
{
    const rdk_attention_shape *s = f->shape;
    block_pack(f->len, s->d_k, f->k, f->ld_qk, f->k_panels);
    for (size_t j = 0; j < f->len && f->rows && !f->w; j++)
        f->k_inverse[j] = stats_inverse_norm(s->d_k, f->k + j * f->ld_qk);
    for (size_t i = s->first; i < f->len; i = block_end(i, f->len)) forward_queries(f, i);
    for (size_t i = f->len > s->first ? f->len : s->first; i < s->len;
         i++) { /* padding sees nothing */
        memset(f->o + query_row(s, i) * f->ld_v, 0, s->d_v * sizeof *f->o);
        f->row_max[i] = f->row_inv[i] = 0;
        if (f->rows) f->rows[i] = (rdk_attention_row){0};
    }
}

/* The pairs begin .. end - 1 of (b, h). */
RDK_SHARED static void attention_heads(size_t begin, size_t end, int thread,
                                       const rdk_attention_shape *s, const rdk_real *q,
                                       const rdk_real *k, const rdk_real *v, rdk_real *o,
                                       rdk_real *row_max, rdk_real *row_inv,
                                       rdk_attention_row *rows, rdk_real *scratch)
{
    const size_t room = rdk_attention_scratch(s->len, s->d_k, s->d_v);
    const size_t ld_qk = s->heads * s->d_k, ld_v = s->heads * s->d_v;
    rdk_real *scores = scratch + (size_t)thread * room;
    rdk_real *v_room = scores + scores_size();
    for (size_t bh = begin; bh < end; bh++) {
        size_t b = bh / s->heads, h = bh % s->heads;
        const head_places at = head_places_of(s, b, h);
        const forward_head f = {
            .shape = s,
            .q = q + at.q,
            .k = k + at.k,
            .v = v + at.v,
            .w = attention_weight(s, h),
            .o = o + at.o,
            .ld_qk = ld_qk,
            .ld_v = ld_v,
            .index = bh * s->len,
            .len = attention_length(s, b),
            .policy = policy_of(s, h),
            .row_max = row_max + bh * s->len,
            .row_inv = row_inv + bh * s->len,
            .rows = rows ? rows + bh * s->len : NULL,
            .scores = scores,
            .v_room = v_room,
            .k_panels = v_room + rows_size(s->d_v),
            .k_inverse = v_room + rows_size(s->d_v) + panels_size(s->len, s->d_k),
        };
        forward_one(&f);
    }
}

static void attention(const rdk_attention_shape *s, const rdk_real *q, const rdk_real *k,
                      const rdk_real *v, rdk_real *o, rdk_real *row_max, rdk_real *row_inv,
                      rdk_attention_row *rows, rdk_real *scratch)
{
    RDK_SHARE_UNEVEN(is_worth_sharing(s), s->batch * s->heads, attention_heads, s, q, k, v, o,
                     row_max, row_inv, rows, scratch);
}
