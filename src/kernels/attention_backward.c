/* SPDX-License-Identifier: MIT
 * Gradients of attention. A block of queries meets all its keys; p = exp(s - max) / sum is computed
 * again, and with u = dO . v (times the mask of dropout, which is drawn again):
 *
 *     ds_j = p_j (u_j - D)    D = sum_j p_j u_j
 *     dq_i += c sum_j ds_ij k_j    dk_j += c sum_i ds_ij q_i    dv_j += sum_i p_ij dO_i
 *
 * (products; for additive scores see attention_scores.h). D equals dO . o, but is not taken from
 * there: in a saturated row p is 1 at the largest score, u - D a small difference of large numbers
 * there, and the rounding of o would be all that is left of it. Counting u from its value at the
 * largest score makes that difference exact: a row's gradient is right relative to itself, down to
 * where backward_flush ends it, and 0 where there is one key. Statistics see it before that end. A
 * sink is one more element, with u = 0, and may be the largest. Where a policy stands between score
 * and softmax, ds goes through attention_policy.h before it meets k and q.
 *
 * Invariants: those of attention_block.h; each (b, h) is computed by one thread, queries in order,
 * so that dk and dv have one writer. Rows of padding are not read.
 * Read next: attention_stats.h. */
#include "attention_policy.h"
#include "attention_scores.h"
#include "attention_stats.h"
#include "base/parallel.h"

/* One (b, h); see forward_head. */
typedef struct backward_head {
    const rdk_attention_shape *shape;
    const rdk_real *q, *k, *v, *dout;
    const rdk_real *w; /* of additive scores, or NULL */
    rdk_attention_grads to;
    double *dw; /* of this (b, h), or NULL */
    size_t ld_qk, ld_v;
    size_t index, len;
    score_policy policy;
    double *dgain, *dsink; /* sums over the rows; may be NULL */
    const rdk_real *row_max, *row_inv;
    rdk_attention_row *rows; /* or NULL */
    /* scratch; the first four hold one block after the other */
    rdk_real *weights, *gradients, *keep, *scores;
    rdk_real *k_panels, *v_panels, *k_room, *q_room, *dout_room;
} backward_head;

/* Row r in block j / BLOCK of a strip of blocks. */
static inline rdk_real *strip_row(rdk_real *strip, size_t j, size_t r)
{
    return strip + j * BLOCK + r * BLOCK;
}

/* Scores to p, dO . v to u; returns u at the largest score, or -inf where that is elsewhere. */
static rdk_real backward_weights(const backward_head *f, const score_block *at, size_t r)
{
    size_t n = block_visible(at, r), i = at->i + r;
    rdk_real *s = strip_row(f->weights, at->j, r), *u = strip_row(f->gradients, at->j, r);
    rdk_real *keep = strip_row(f->keep, at->j, r);
    const rdk_real max = f->row_max[i], inverse = f->row_inv[i];
    const bool drops = f->shape->dropout > 0;
    if (drops) attention_keep(f->shape, f->index + i, at->j, n, keep);
    vreal origin = v_set(-INFINITY);
    for (size_t j = 0; j < n; j += LANES) {
        vreal score = v_visible(v_load(s + j), j, n, -INFINITY), x = v_load(u + j);
        if (drops) x *= v_load(keep + j);
        v_store(u + j, x);
        v_store(s + j, v_exp(score - max) * inverse);
        origin = v_max(origin, v_select(score == max, x, v_set(-INFINITY)));
    }
    return v_hmax(origin);
}

/* The block's part of sum p (u - origin), which replaces u. */
static rdk_real backward_mean(const backward_head *f, const score_block *at, size_t r,
                              rdk_real origin)
{
    size_t n = block_visible(at, r);
    rdk_real *p = strip_row(f->weights, at->j, r), *u = strip_row(f->gradients, at->j, r);
    vreal sum = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal x = v_load(u + j) - origin;
        v_store(u + j, x);
        sum += v_visible(v_load(p + j) * x, j, n, 0);
    }
    return v_sum(sum);
}

/* What a sink changes in a row: the largest outcome may be the sink, whose u is 0; and its share of
 * D - origin is that of one more element. Returns the latter. */
static rdk_real backward_sink(const backward_head *f, size_t i, rdk_real *origin)
{
    if (*f->policy.sink >= f->row_max[i]) *origin = 0;
    return -*origin * policy_sink_share(&f->policy, f->row_max[i], f->row_inv[i]);
}

/* Row r of a block, where scores are shaped or there is a sink: ds to the gradient at c q.k. */
static void backward_policy(const backward_head *f, const score_block *at, size_t r)
{
    size_t n = block_visible(at, r), i = at->i + r, keys = row_keys(f->shape, f->len, i);
    rdk_real *ds = strip_row(f->gradients, at->j, r);
    if (f->rows) stats_add_gradient_norm(&f->rows[i], n, ds);
    double sum = policy_gradient(&f->policy, keys, n, strip_row(f->scores, at->j, r), ds);
    if (f->rows) f->rows[i].s_ds += sum * (double)policy_factor(&f->policy, keys);
    if (f->dgain) *f->dgain += sum * policy_length(&f->policy, keys);
}

/* u to ds, p to what multiplies v. */
static void backward_gradient(const backward_head *f, const score_block *at, size_t r,
                              rdk_real mean)
{
    size_t n = block_visible(at, r);
    rdk_real *p = strip_row(f->weights, at->j, r), *ds = strip_row(f->gradients, at->j, r);
    const rdk_real *keep = strip_row(f->keep, at->j, r);
    const bool drops = f->shape->dropout > 0;
    for (size_t j = 0; j < n; j += LANES) {
        vreal w = v_load(p + j);
        v_store(ds + j, w * (v_load(ds + j) - mean));
        if (drops) v_store(p + j, w * v_load(keep + j));
    }
}

/* The rows of a block of queries: from scores and dO . v in the strips to weights and ds. */
static void backward_row(const backward_head *f, size_t i, size_t r, size_t end)
{
    const rdk_attention_shape *s = f->shape;
    rdk_real origin = -INFINITY, mean = 0;
    for (size_t j = 0; j < end; j += BLOCK) {
        const score_block at = block_at(s, f->len, i, j);
        rdk_real here = backward_weights(f, &at, r);
        origin = here > origin ? here : origin;
    }
    if (f->policy.sink) mean = backward_sink(f, i + r, &origin);
    for (size_t j = 0; j < end; j += BLOCK) {
        const score_block at = block_at(s, f->len, i, j);
        mean += backward_mean(f, &at, r, origin);
    }
    if (f->dsink)
        *f->dsink -= (double)policy_sink_share(&f->policy, f->row_max[i + r], f->row_inv[i + r]) *
                     ((double)origin + (double)mean);
    for (size_t j = 0; j < end; j += BLOCK) {
        const score_block at = block_at(s, f->len, i, j);
        backward_gradient(f, &at, r, mean);
        if (f->policy.special)
            backward_policy(f, &at, r);
        else if (f->rows)
            stats_add_gradient(&f->rows[i + r], block_visible(&at, r), f->row_max[i + r],
                               strip_row(f->scores, j, r), strip_row(f->gradients, j, r));
    }
}

static void backward_scores(const backward_head *f, const score_block *at)
{
    const rdk_attention_shape *s = f->shape;
    rdk_real *scores = strip_row(f->weights, at->j, 0);
    const size_t row = query_row(s, at->i);
    attention_scores(s, at, f->w, f->q + row * f->ld_qk, f->ld_qk, f->k_panels + at->j * s->d_k,
                     scores);
    if (f->rows || f->policy.special)
        memcpy(strip_row(f->scores, at->j, 0), scores, scores_size() * sizeof *scores);
    for (size_t r = 0; f->policy.shapes && r < at->rows; r++)
        policy_scores(&f->policy, row_keys(s, f->len, at->i + r), block_visible(at, r),
                      scores + r * BLOCK);
    block_dots(at, s->d_v, f->dout + row * f->ld_v, f->ld_v, f->v_panels + at->j * s->d_v,
               strip_row(f->gradients, at->j, 0));
}

/* The first queries that meet these keys. */
static bool is_first_of_keys(const backward_head *f, const score_block *at)
{
    const size_t first = f->shape->first;
    return at->i == (f->shape->causal && at->j > first ? at->j : first);
}

/* ds to dq and dk, for scores that are products. */
static void backward_dots(const backward_head *f, const score_block *at, const rdk_real *ds)
{
    const rdk_attention_shape *s = f->shape;
    const size_t i_qk = query_row(s, at->i) * f->ld_qk, j_qk = at->j * f->ld_qk;
    size_t ld_q = f->ld_qk, ld_k = f->ld_qk;
    if (f->to.dq) {
        const rdk_real *k = block_whole_rows(at->keys, s->d_k, f->k + j_qk, &ld_k, f->k_room);
        block_product(at, s->d_k, ds, k, ld_k, f->to.dq + i_qk, f->ld_qk, f->to.add_q || at->j > 0);
    }
    if (f->to.dk) {
        const rdk_real *q = block_whole_rows(at->rows, s->d_k, f->q + i_qk, &ld_q, f->q_room);
        block_product_transposed(at, s->d_k, ds, q, ld_q, f->to.dk + j_qk, f->ld_qk,
                                 f->to.add_k || !is_first_of_keys(f, at));
    }
}

/* ds to dq, dk and dw, for additive scores. A block of dk is collected in the room of k, the lanes
 * of dw in that of q: products alone need them otherwise. */
static void backward_additive(const backward_head *f, const score_block *at, const rdk_real *ds)
{
    const size_t d = f->shape->d_k, i_qk = query_row(f->shape, at->i) * f->ld_qk;
    const additive_gradients to = {f->to.dq ? f->to.dq + i_qk : NULL, f->k_room, f->q_room};
    memset(to.dy, 0, panels_size(at->keys, d) * sizeof *to.dy);
    memset(to.dw, 0, d * LANES * sizeof *to.dw);
    block_additive_backward(at, d, f->w, f->q + i_qk, f->ld_qk, f->k_panels + at->j * d, ds, &to);
    if (f->to.dk) block_unpack(at->keys, d, to.dy, f->to.dk + at->j * f->ld_qk, f->ld_qk);
    for (size_t e = 0; e < d && f->dw; e++) f->dw[e] += (double)v_sum(v_load(to.dw + e * LANES));
}

/* Before the products: p (times the mask of dropout) and c ds of which these would make denormals
 * are 0. A saturated row is full of them, and they cost the processor a hundred times a normal
 * number. */
static void backward_flush(const score_block *at, rdk_real *w, rdk_real *ds)
{
    const rdk_real least = (rdk_real)(SINGLE ? 1e-30 : 1e-300);
    for (size_t r = 0; r < at->rows; r++, w += BLOCK, ds += BLOCK)
        for (size_t j = 0; j < at->keys; j += LANES) {
            v_store(w + j, v_flush(v_load(w + j), least));
            v_store(ds + j, v_flush(v_load(ds + j), least));
        }
}

static void backward_products(const backward_head *f, const score_block *at)
{
    const rdk_attention_shape *s = f->shape;
    rdk_real *w = strip_row(f->weights, at->j, 0), *ds = strip_row(f->gradients, at->j, 0);
    size_t ld_dout = f->ld_v;
    attention_scale(s, at->rows, at->keys, ds);
    backward_flush(at, w, ds);
    if (f->w) {
        backward_additive(f, at, ds);
    } else {
        backward_dots(f, at, ds);
    }
    if (f->to.dv) {
        const rdk_real *dout = block_whole_rows(
            at->rows, s->d_v, f->dout + query_row(s, at->i) * f->ld_v, &ld_dout, f->dout_room);
        block_product_transposed(at, s->d_v, w, dout, ld_dout, f->to.dv + at->j * f->ld_v, f->ld_v,
                                 f->to.add_v || !is_first_of_keys(f, at));
    }
}

static void zero_rows(size_t first, size_t last, size_t d, rdk_real *x, size_t ld)
{
    for (size_t i = first; x && i < last; i++) memset(x + i * ld, 0, d * sizeof *x);
}

/* What no product comes to and is not added to: rows of padding, keys that nobody asks for, and of
 * q and k all where scores are additive, whose parts are always added. */
static void backward_zero(const backward_head *f)
{
    const rdk_attention_shape *s = f->shape;
    const size_t asking = f->len > s->first ? f->len - s->first : 0; /* queries that are real */
    const size_t seen = asking ? f->len : 0;
    if (!f->to.add_q) zero_rows(f->w ? 0 : asking, s->len - s->first, s->d_k, f->to.dq, f->ld_qk);
    if (!f->to.add_k) zero_rows(f->w ? 0 : seen, s->len, s->d_k, f->to.dk, f->ld_qk);
    if (!f->to.add_v) zero_rows(seen, s->len, s->d_v, f->to.dv, f->ld_v);
}

static void backward_one(const backward_head *f)
{
    const rdk_attention_shape *s = f->shape;
    backward_zero(f);
    block_pack(f->len, s->d_k, f->k, f->ld_qk, f->k_panels);
    block_pack(f->len, s->d_v, f->v, f->ld_v, f->v_panels);
    for (size_t i = s->first; i < f->len && f->rows; i++)
        stats_begin_gradient(&f->rows[i], s->d_v, f->dout + query_row(s, i) * f->ld_v);
    for (size_t i = s->first; i < f->len; i = block_end(i, f->len)) {
        size_t end = s->causal ? i + 1 : f->len;
        for (size_t j = 0; j < end; j += BLOCK) {
            const score_block at = block_at(s, f->len, i, j);
            backward_scores(f, &at);
        }
        for (size_t r = 0; i + r < block_end(i, f->len); r++) backward_row(f, i, r, end);
        for (size_t j = 0; j < end; j += BLOCK) {
            const score_block at = block_at(s, f->len, i, j);
            backward_products(f, &at);
        }
    }
}

static void backward_scratch(backward_head *f, rdk_real *scratch)
{
    const rdk_attention_shape *s = f->shape;
    f->weights = scratch;
    f->gradients = f->weights + strip_size(s->len);
    f->keep = f->gradients + strip_size(s->len);
    f->scores = f->keep + strip_size(s->len);
    f->k_panels = f->scores + strip_size(s->len);
    f->v_panels = f->k_panels + panels_size(s->len, s->d_k);
    f->k_room = f->v_panels + panels_size(s->len, s->d_v);
    f->q_room = f->k_room + rows_size(s->d_k);
    f->dout_room = f->q_room + rows_size(s->d_k);
}

static rdk_attention_grads backward_grads(const rdk_attention_grads *to, const head_places *at)
{
    rdk_attention_grads of_head = *to;
    if (to->dq) of_head.dq += at->q;
    if (to->dk) of_head.dk += at->k;
    if (to->dv) of_head.dv += at->v;
    return of_head;
}

/* The pairs begin .. end - 1 of (b, h). */
RDK_SHARED static void backward_heads(size_t begin, size_t end, int thread,
                                      const rdk_attention_shape *s, const rdk_real *q,
                                      const rdk_real *k, const rdk_real *v, const rdk_real *dout,
                                      const rdk_real *row_max, const rdk_real *row_inv,
                                      const rdk_attention_grads *to, rdk_attention_row *rows,
                                      rdk_real *scratch)
{
    const size_t room = rdk_attention_scratch(s->len, s->d_k, s->d_v);
    const size_t ld_qk = s->heads * s->d_k, ld_v = s->heads * s->d_v;
    for (size_t bh = begin; bh < end; bh++) {
        size_t b = bh / s->heads, h = bh % s->heads;
        const head_places at = head_places_of(s, b, h);
        backward_head f = {
            .shape = s,
            .q = q + at.q,
            .k = k + at.k,
            .v = v + at.v,
            .dout = dout + at.o,
            .w = attention_weight(s, h),
            .dw = attention_weight_part(s, bh),
            .to = backward_grads(to, &at),
            .ld_qk = ld_qk,
            .ld_v = ld_v,
            .index = bh * s->len,
            .len = attention_length(s, b),
            .policy = policy_of(s, h),
            .dgain = s->head_grads && s->gain ? s->head_grads + bh : NULL,
            .dsink = s->head_grads && s->sink ? s->head_grads + s->batch * s->heads + bh : NULL,
            .row_max = row_max + bh * s->len,
            .row_inv = row_inv + bh * s->len,
            .rows = rows ? rows + bh * s->len : NULL,
        };
        backward_scratch(&f, scratch + (size_t)thread * room);
        if (f.dgain) *f.dgain = 0;
        if (f.dsink) *f.dsink = 0;
        backward_one(&f);
    }
}

static void attention_backward(const rdk_attention_shape *s, const rdk_real *q, const rdk_real *k,
                               const rdk_real *v, const rdk_real *dout, const rdk_real *row_max,
                               const rdk_real *row_inv, const rdk_attention_grads *to,
                               rdk_attention_row *rows, rdk_real *scratch)
{
    RDK_SHARE_UNEVEN(is_worth_sharing(s), s->batch * s->heads, backward_heads, s, q, k, v, dout,
                     row_max, row_inv, to, rows, scratch);
    attention_weight_sum(s);
}
