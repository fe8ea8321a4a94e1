/* SPDX-License-Identifier: MIT
 * What becomes of a product c q.k before the softmax, and back:
 *
 *     z_ij = gain_h l(n_i) c q_i.k_j     l(n) = ln n / ln base, n the keys that the row sees, or 1
 *     s_ij = cap tanh(z_ij / cap)        or z_ij
 *     p_ij = exp(s_ij) / (sum_j exp(s_ij) + exp(sink_h))
 *
 * Everything is off unless asked for, and then costs the plain path one branch a row.
 * Invariant: z is rounded on its own and s is formed by one function, so that backward meets the
 * very scores whose maximum forward took. The derivative of tanh is v_tanh_slope's, which keeps its
 * digits where tanh has rounded to 1.
 * Read next: attention.c, attention_backward.c. */
#ifndef RDK_ATTENTION_POLICY_H
#define RDK_ATTENTION_POLICY_H

#include "attention_block.h"

/* The policy of one head. */
typedef struct score_policy {
    bool shapes;          /* is s more than c q.k? */
    bool special;         /* that, or a sink */
    double gain;          /* 1 where there is none */
    double per_log;       /* 1 / ln base; 0: l = 1 */
    rdk_real cap;         /* 0: none */
    const rdk_real *sink; /* its score, or NULL */
} score_policy;

static score_policy policy_of(const rdk_attention_shape *s, size_t head)
{
    score_policy p = {.gain = s->gain ? (double)s->gain[head] : 1,
                      .per_log = s->length_base > 0 ? 1 / log(s->length_base) : 0,
                      .cap = (rdk_real)s->softcap,
                      .sink = s->sink ? s->sink + head : NULL};
    p.shapes = s->gain || s->length_base > 0 || s->softcap > 0;
    p.special = p.shapes || p.sink;
    return p;
}

/* l(n) */
static double policy_length(const score_policy *p, size_t n)
{
    return p->per_log > 0 ? log((double)n) * p->per_log : 1;
}

static rdk_real policy_factor(const score_policy *p, size_t n)
{
    return (rdk_real)(p->gain * policy_length(p, n));
}

/* A block's part of a row, in place: c q.k to s. keys: those that the whole row sees. */
static void policy_scores(const score_policy *p, size_t keys, size_t n, rdk_real *s)
{
    const vreal factor = v_set(policy_factor(p, keys)), cap = v_set(p->cap);
    for (size_t j = 0; j < n; j += LANES) v_store(s + j, factor * v_load(s + j));
    if (!(p->cap > 0)) return;
    for (size_t j = 0; j < n; j += LANES) v_store(s + j, cap * v_tanh(v_load(s + j) / cap));
}

/* Back: dL/ds to dL/d(c q.k), in place; product: c q.k. Returns sum_j c q.k dL/dz. */
static double policy_gradient(const score_policy *p, size_t keys, size_t n, const rdk_real *product,
                              rdk_real *ds)
{
    const vreal factor = v_set(policy_factor(p, keys)), cap = v_set(p->cap);
    for (size_t j = 0; j < n && p->cap > 0; j += LANES) {
        vreal a = factor * v_load(product + j) / cap;
        v_store(ds + j, v_load(ds + j) * v_tanh_slope(a));
    }
    vsum sum = {{0}, {0}};
    for (size_t j = 0; j < n; j += LANES) {
        vreal dz = v_visible(v_load(ds + j), j, n, 0);
        sum = v_accumulate_product(sum, dz, v_visible(v_load(product + j), j, n, 0));
        v_store(ds + j, factor * dz);
    }
    return v_total(sum);
}

/* exp(sink - max): what the sink adds to the sum of a row. inf where it is all that counts. */
static rdk_real policy_sink_weight(const score_policy *p, rdk_real max)
{
    return v_exp(v_set(*p->sink - max))[0];
}

/* p of the sink, from max and 1 / sum of the row. */
static rdk_real policy_sink_share(const score_policy *p, rdk_real max, rdk_real inverse)
{
    return inverse == 0 ? 1 : policy_sink_weight(p, max) * inverse;
}

#endif
