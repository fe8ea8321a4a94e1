/* SPDX-License-Identifier: MIT
 * The two kinds of score: products, s_ij = c q_i.k_j, and the additive s_ij = c w.tanh(q_i + k_j)
 * (Bahdanau et al. 2015, A.1.2, whose W_a and U_a are here the projections that made q and k). All
 * that follows, from the softmax to the gradient at the score, is the same code for both.
 *
 * Additive scores are computed key by vector of keys, one multiply-add an element of q and in its
 * order; backward computes the tanh again, and its derivative from q + k (v_tanh_slope):
 *
 *     x_ij = c ds_ij w tanh'(q_i + k_j)    dq_i = sum_j x_ij    dk_j = sum_i x_ij
 *     dw = sum_ij c ds_ij tanh(q_i + k_j)
 *
 * Invariants: those of attention_block.h; each (b, h) has a part of dw of its own, in double, and
 * the parts are added in the order of b.
 * Read next: attention_stats.h. */
#ifndef RDK_ATTENTION_SCORES_H
#define RDK_ATTENTION_SCORES_H

#include "attention_block.h"

/* w of head h, or NULL. */
static inline const rdk_real *attention_weight(const rdk_attention_shape *s, size_t h)
{
    return s->additive ? s->additive->w + h * s->d_k : NULL;
}

/* The vector of keys from j on, at element e, in the panels of a block of them. */
static inline size_t panel_at(size_t d, size_t j, size_t e)
{
    size_t within = j % TILE_COLS;
    return (j - within) * d + e * TILE_COLS + within;
}

/* out[r][j] = w . tanh(x[r] + y[j]) for the keys that r sees, y as panels. */
static void block_additive(const score_block *at, size_t d, const rdk_real *w, const rdk_real *x,
                           size_t ldx, const rdk_real *panels, rdk_real *out)
{
    for (size_t r = 0; r < at->rows; r++, x += ldx, out += BLOCK) {
        for (size_t j = 0; j < block_visible(at, r); j += LANES) {
            const rdk_real *y = panels + panel_at(d, j, 0);
            vreal sum = v_set(0);
            for (size_t e = 0; e < d; e++, y += TILE_COLS)
                sum += v_set(w[e]) * v_tanh(v_set(x[e]) + v_load(y));
            v_store(out + j, sum);
        }
    }
}

/* The scores of a block. */
static void attention_scores(const rdk_attention_shape *s, const score_block *at, const rdk_real *w,
                             const rdk_real *q, size_t ld_q, const rdk_real *k_panels,
                             rdk_real *out)
{
    if (w) {
        block_additive(at, s->d_k, w, q, ld_q, k_panels, out);
    } else {
        block_dots(at, s->d_k, q, ld_q, k_panels, out);
    }
    attention_scale(s, at->rows, at->keys, out);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* What a block gives besides: dx: rows as x, +=, or NULL; dy: panels as y, +=; dw: a vector for
 * each element, whose lanes are still to be summed, +=. */
typedef struct additive_gradients {
    rdk_real *dx, *dy, *dw;
} additive_gradients;

/* g[r][j]: gradients at w . tanh(x[r] + y[j]). */
static void block_additive_backward(const score_block *at, size_t d, const rdk_real *w,
                                    const rdk_real *x, size_t ldx, const rdk_real *panels,
                                    const rdk_real *g, const additive_gradients *to)
{
    for (size_t r = 0; r < at->rows; r++, x += ldx, g += BLOCK) {
        const size_t n = block_visible(at, r);
        for (size_t e = 0; e < d; e++) {
            vreal of_x = v_set(0), of_w = v_load(to->dw + e * LANES);
            for (size_t j = 0; j < n; j += LANES) {
                size_t k = panel_at(d, j, e);
                vreal sum = v_set(x[e]) + v_load(panels + k), score = v_load(g + j);
                vreal slope = v_visible(score * w[e] * v_tanh_slope(sum), j, n, 0);
                of_x += slope;
                of_w += v_visible(score * v_tanh(sum), j, n, 0);
                v_store(to->dy + k, v_load(to->dy + k) + slope);
            }
            v_store(to->dw + e * LANES, of_w);
            if (to->dx) to->dx[r * ldx + e] += v_sum(of_x);
        }
    }
}

/* y[r] += row r of what is laid out as panels. */
static void block_unpack(size_t rows, size_t d, const rdk_real *panels, rdk_real *y, size_t ldy)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t e = 0; e < d; e++) y[r * ldy + e] += panels[panel_at(d, r, e)];
}

/* The part of dw of one (b, h), cleared; NULL where none is wanted. */
static double *attention_weight_part(const rdk_attention_shape *s, size_t bh)
{
    if (!s->additive || !s->additive->dw) return NULL;
    double *part = s->additive->parts + bh * s->d_k;
    memset(part, 0, s->d_k * sizeof *part);
    return part;
}

/* dw += all parts, once they are there. */
static void attention_weight_sum(const rdk_attention_shape *s)
{
    if (!s->additive || !s->additive->dw) return;
    const size_t n = s->heads * s->d_k;
    for (size_t e = 0; e < n; e++) {
        double sum = 0;
        for (size_t b = 0; b < s->batch; b++) sum += s->additive->parts[b * n + e];
        s->additive->dw[e] += (rdk_real)sum;
    }
}

#endif
