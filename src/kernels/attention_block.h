/* SPDX-License-Identifier: MIT
 * What attention and its backward share: one BLOCK x BLOCK piece of the matrix of scores, its
 * products, the scale, the dropout mask.
 *
 * Invariant: a hidden key is excluded, never weighted by 0. On the diagonal of a causal matrix the
 * sums of a row end at its own key, so that NaN or inf in what it must not see cannot reach it; and
 * a row's sums run over its keys in order, whatever lies beyond them, so that its bits depend on
 * what it sees alone.
 * Read next: attention.c. */
#ifndef RDK_ATTENTION_BLOCK_H
#define RDK_ATTENTION_BLOCK_H

#include "attention_scratch.h"
#include "draws.h"
#include "kernels.h"
#include "pack.h"

/* One block: queries i .. i + rows - 1, keys j .. j + keys - 1. Blocks begin at multiples of BLOCK,
 * but for the first of the queries, which begins where they do. On the diagonal row r sees keys
 * 0 .. lag + r of it, lag = i - j. */
typedef struct score_block {
    size_t i, rows, j, keys, lag;
    bool diagonal;
} score_block;

/* Where the block of position i ends, in a sequence of len. */
static inline size_t block_end(size_t i, size_t len)
{
    size_t end = (i / BLOCK + 1) * BLOCK;
    return end < len ? end : len;
}

static inline score_block block_at(const rdk_attention_shape *s, size_t len, size_t i, size_t j)
{
    bool diagonal = s->causal && i / BLOCK == j / BLOCK;
    return (score_block){
        i, block_end(i, len) - i, j, block_end(j, len) - j, diagonal ? i - j : 0, diagonal};
}

static inline size_t block_visible(const score_block *at, size_t r)
{
    return at->diagonal ? at->lag + r + 1 : at->keys;
}

/* Real tokens of sequence b. */
static inline size_t attention_length(const rdk_attention_shape *s, size_t b)
{
    return s->lengths ? (size_t)s->lengths[b] : s->len;
}

/* The keys that query i of a sequence of len real tokens sees. */
static inline size_t row_keys(const rdk_attention_shape *s, size_t len, size_t i)
{
    return s->causal ? i + 1 : len;
}

/* The row of position i among those of the queries of its sequence. */
static inline size_t query_row(const rdk_attention_shape *s, size_t i)
{
    return i - s->first;
}

/* Where head h of sequence b begins in q, k, v and o. */
typedef struct head_places {
    size_t q, k, v, o;
} head_places;

static inline head_places head_places_of(const rdk_attention_shape *s, size_t b, size_t h)
{
    size_t keys = b * s->len * s->heads, queries = b * (s->len - s->first) * s->heads;
    return (head_places){(queries + h) * s->d_k, (keys + h) * s->d_k, (keys + h) * s->d_v,
                         (queries + h) * s->d_v};
}

/* x where lane l of the vector at column j is one of the n visible, else `hidden`. */
static inline vreal v_visible(vreal x, size_t j, size_t n, rdk_real hidden)
{
    vint lane;
    for (int l = 0; l < LANES; l++) lane[l] = l;
    int left_over = (int)n - (int)j;
    return v_select(lane < left_over, x, v_set(hidden));
}

/* THE multiplication by the scale: of q.k to the score and, on the way back, of the gradient at the
 * score to that at q.k. It is rounded on its own: fused into the difference to the row's maximum it
 * would give other scores than those whose maximum was taken. */
static void attention_scale(const rdk_attention_shape *s, size_t rows, size_t keys, rdk_real *x)
{
    const vreal scale = v_set((rdk_real)s->scale);
    for (size_t r = 0; r < rows; r++, x += BLOCK)
        for (size_t j = 0; j < keys; j += LANES) v_store(x + j, scale * v_load(x + j));
}

/* Panels of the transposed rows of a block: panel of column j at `panels + j * d`. */
static void block_pack(size_t rows, size_t d, const rdk_real *x, size_t ld, rdk_real *panels)
{
    for (size_t j = 0; j < rows; j += TILE_COLS) {
        size_t cols = rows - j < TILE_COLS ? rows - j : TILE_COLS;
        pack_transposed(d, cols, x + j * ld, ld, panels + j * d);
    }
}

/* out[r][j] = x[r] . y[j], y as panels. Some hidden elements are computed too: they are not
 * used. */
static void block_dots(const score_block *at, size_t d, const rdk_real *x, size_t ldx,
                       const rdk_real *panels, rdk_real *out)
{
    size_t count = rdk_pieces(at->rows, TILE_ROWS);
    for (size_t t = 0; t < count; t++) {
        size_t i = rdk_piece_begin(at->rows, count, t),
               i_end = rdk_piece_begin(at->rows, count, t + 1);
        size_t keys = rounded_up(block_visible(at, i_end - 1), LANES);
        const tile_left left = {x + i * ldx, ldx, false, false};
        for (size_t j = 0; j < keys; j += TILE_COLS) {
            size_t cols = keys - j < TILE_COLS ? LANES : TILE_COLS;
            tile(i_end - i, cols, d, &left, panels + j * d, TILE_COLS,
                 &(tile_target){.c = out + i * BLOCK + j, .ldc = BLOCK});
        }
    }
}

/* Tiles that take whole vectors from rows of `cols` elements: rows that end within one are
 * copied. */
static const rdk_real *block_whole_rows(size_t rows, size_t cols, const rdk_real *x, size_t *ld,
                                        rdk_real *room)
{
    if (cols % LANES == 0) return x;
    size_t width = rounded_up(cols, LANES);
    for (size_t r = 0; r < rows; r++) {
        memcpy(room + r * width, x + r * *ld, cols * sizeof *x);
        memset(room + r * width + cols, 0, (width - cols) * sizeof *x);
    }
    *ld = width;
    return room;
}

/* y[r] (+)= sum of w[r][j] x[j] over the keys j that r sees */
static void block_product(const score_block *at, size_t d, const rdk_real *w, const rdk_real *x,
                          size_t ldx, rdk_real *y, size_t ldy, bool add)
{
    size_t count = rdk_pieces(at->rows, TILE_ROWS);
    for (size_t t = 0; t < count; t++) {
        size_t i = rdk_piece_begin(at->rows, count, t),
               i_end = rdk_piece_begin(at->rows, count, t + 1);
        const tile_left left = {w + i * BLOCK, BLOCK, false, at->diagonal};
        for (size_t c = 0; c < d; c += TILE_COLS)
            tile(i_end - i, d - c < TILE_COLS ? d - c : TILE_COLS, block_visible(at, i), &left,
                 x + c, ldx, &(tile_target){.c = y + i * ldy + c, .ldc = ldy, .add = add});
    }
}

/* y[j] (+)= sum of w[r][j] x[r] over the queries r that see j, for the keys begin .. end - 1: all
 * of them see begin, or, where causal, query 0 is the first and each next one sees a key more. */
static void block_keys_product(const score_block *at, size_t begin, size_t end, bool causal,
                               size_t d, const rdk_real *w, const rdk_real *x, size_t ldx,
                               rdk_real *y, size_t ldy, bool add)
{
    size_t count = rdk_pieces(end - begin, TILE_ROWS);
    for (size_t t = 0; t < count; t++) {
        size_t j = begin + rdk_piece_begin(end - begin, count, t),
               j_end = begin + rdk_piece_begin(end - begin, count, t + 1);
        size_t first = causal ? j - begin : 0; /* query that sees j */
        const tile_left left = {w + first * BLOCK + j, BLOCK, true, causal};
        for (size_t c = 0; c < d; c += TILE_COLS)
            tile(j_end - j, d - c < TILE_COLS ? d - c : TILE_COLS, at->rows - first, &left,
                 x + first * ldx + c, ldx,
                 &(tile_target){.c = y + j * ldy + c, .ldc = ldy, .add = add});
    }
}

/* The same for all keys. */
static void block_product_transposed(const score_block *at, size_t d, const rdk_real *w,
                                     const rdk_real *x, size_t ldx, rdk_real *y, size_t ldy,
                                     bool add)
{
    size_t seen_by_all = at->diagonal ? at->lag : at->keys;
    block_keys_product(at, 0, seen_by_all, false, d, w, x, ldx, y, ldy, add);
    block_keys_product(at, seen_by_all, at->keys, true, d, w, x, ldx, y, ldy, add);
}

/* What dropout multiplies p with: keep[r], for the keys j .. j + n - 1 of a row; row counts all
 * rows of the call. A block of keys has as many words as are drawn at once. */
static void attention_keep(const rdk_attention_shape *s, size_t row, size_t j, size_t n,
                           rdk_real keep[BLOCK])
{
    _Static_assert((int)BLOCK == (int)DRAWN_WORDS, "a word for each key of a block");
    const drop_rule rule = drop_rule_of(s->dropout);
    uint32_t word[DRAWN_WORDS];
    draw_blocks(s->stream, row, (uint32_t)(j / PHILOX_WORDS), false, word);
    for (size_t k = 0; k < n; k++)
        keep[k] = word[k] >= rule.least && !rule.drops_all ? rule.factor : 0;
}

#endif
