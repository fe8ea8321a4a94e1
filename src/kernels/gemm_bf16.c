/* SPDX-License-Identifier: MIT
 * Products of operands that are rounded to bfloat16, summed in rdk_real. Both operands are first
 * converted to pair words (bf16.h), the pairs along the sum: B into panels, unless that was done
 * before; A line by line, as it is stored. Then a tile runs over blocks that fit the caches.
 *
 * Numbers that follow one another become pairs by narrowing; where a pair is of two rows, lane by
 * lane.
 *
 * Invariant: each element of C is one chain over the pairs (tile_bf16.h), so neither the cutting
 * nor the number of threads changes a bit; and nothing but the operands' elements is read.
 * Read next: bf16.h, tile_bf16.h. */
#include "chunks.h"
#include "kernels.h"
#include "pair_scratch.h"
#include "region.h"
#include "tile_bf16.h"
#include "transpose.h"

enum {
    PAIR_DEPTH = 128, /* of a panel, at most: with the rows of a tile it fits the nearest cache */
};

/* ---- numbers to pair words ------------------------------------------------------------------- */

/* The pairs of the next 2 LANES numbers of a row, of which `left` are there; the others are 0. */
static inline vwords pairs_along(const rdk_real *x, size_t left)
{
    if (left >= 2 * LANES) return v_pairs_along(v_load(x), v_load(x + LANES));
    return v_pairs_along(left < LANES ? v_load_n(x, left) : v_load(x),
                         left > LANES ? v_load_n(x + LANES, left - LANES) : v_set(0));
}

/* The k numbers of a row. */
static void convert_along(size_t k, const rdk_real *x, uint32_t *out)
{
    for (; k >= 2 * LANES; k -= 2 * LANES, x += 2 * LANES, out += LANES)
        w_store(out, pairs_along(x, 2 * LANES));
    const vwords rest = pairs_along(x, k);
    memcpy(out, &rest, pairs_of(k) * sizeof *out);
}

/* Pairs of n numbers of two rows, side by side; high: NULL where the lower row is the last. */
static inline void convert_across(size_t n, const rdk_real *low, const rdk_real *high,
                                  uint32_t *out)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        w_store(out + i, v_pairs(v_load(low + i), high ? v_load(high + i) : v_set(0)));
    if (i == n) return;
    const vreal last = high ? v_load_n(high + i, n - i) : v_set(0);
    const vwords rest = v_pairs(v_load_n(low + i, n - i), last);
    memcpy(out + i, &rest, (n - i) * sizeof *out);
}

static inline void transpose_words(vwords row[LANES])
{
#ifdef RDK_DOUBLE /* whose vectors are wider than these */
    for (int r = 0; r < LANES; r++) {
        for (int l = 0; l < r; l++) {
            const uint32_t x = row[r][l];
            row[r][l] = row[l][r];
            row[l][r] = x;
        }
    }
#else
    vreal moved[LANES];
    for (int r = 0; r < LANES; r++) moved[r] = (vreal)row[r];
    transpose(moved);
    for (int r = 0; r < LANES; r++) row[r] = (vwords)moved[r];
#endif
}

/* LANES columns of a panel, which are rows of b; those from `cols` on are zeros. */
static void panel_lanes(size_t k, size_t cols, const rdk_real *b, size_t ldb, uint32_t *panel)
{
    for (size_t p = 0; p < k; p += 2 * LANES) {
        vwords row[LANES];
        for (size_t j = 0; j < LANES; j++)
            row[j] = j < cols ? pairs_along(b + j * ldb + p, k - p) : w_set(0);
        transpose_words(row);
        size_t pairs = smaller(pairs_of(k - p), LANES);
        for (size_t q = 0; q < pairs; q++) w_store(panel + (p / 2 + q) * TILE_COLS, row[q]);
    }
}

/* panel[p][j] = pair p of the column j of op(B), for j < cols; zeros beyond. */
static void panel_transposed(size_t k, size_t cols, const rdk_real *b, size_t ldb, uint32_t *panel)
{
    bool both = cols > LANES;
    panel_lanes(k, both ? LANES : cols, b, ldb, panel);
    panel_lanes(k, both ? cols - LANES : 0, both ? b + LANES * ldb : b, ldb, panel + LANES);
}

static void panel_of_rows(size_t k, size_t cols, const rdk_real *b, size_t ldb, uint32_t *panel)
{
    for (size_t p = 0; p < k; p += 2, b += 2 * ldb, panel += TILE_COLS) {
        convert_across(cols, b, p + 1 < k ? b + ldb : NULL, panel);
        memset(panel + cols, 0, (TILE_COLS - cols) * sizeof *panel);
    }
}

RDK_SHARED static void panels_bf16_range(size_t begin, size_t end, bool tb, size_t n, size_t k,
                                         const rdk_real *b, size_t ldb, uint32_t *out)
{
    for (size_t t = begin; t < end; t++) {
        size_t j = t * TILE_COLS, cols = smaller(n - j, TILE_COLS);
        if (tb)
            panel_transposed(k, cols, b + j * ldb, ldb, out + j * pairs_of(k));
        else
            panel_of_rows(k, cols, b + j, ldb, out + j * pairs_of(k));
    }
}

static void panels_bf16(bool tb, size_t n, size_t k, const rdk_real *b, size_t ldb, uint32_t *out)
{
    RDK_SHARE(n * k > SERIAL_PACKED, rdk_pieces(n, TILE_COLS), panels_bf16_range, tb, n, k, b, ldb,
              out);
}

/* The lines begin .. end - 1 of the left operand. */
RDK_SHARED static void left_lines(size_t begin, size_t end, const rdk_product *g, size_t stride,
                                  uint32_t *out)
{
    for (size_t l = begin; l < end; l++) {
        if (g->ta) {
            const rdk_real *low = g->a + 2 * l * g->lda;
            convert_across(g->m, low, 2 * l + 1 < g->k ? low + g->lda : NULL, out + l * stride);
        } else {
            convert_along(g->k, g->a + l * g->lda, out + l * stride);
        }
    }
}

static pair_left convert_left(const rdk_product *g, uint32_t *out)
{
    const size_t stride = left_stride(g->ta, g->m, g->k), lines = g->ta ? pairs_of(g->k) : g->m;
    RDK_SHARE(g->m * g->k > SERIAL_PACKED, lines, left_lines, g, stride, out);
    return (pair_left){out, stride, g->ta};
}

RDK_SHARED static void round_chunks(size_t begin, size_t end, size_t size, size_t n,
                                    const rdk_real *x, rdk_real *y)
{
    for (size_t c = begin; c < end; c++) {
        size_t i = c * size, last = i + chunk_length(n, size, c);
        for (; i + LANES <= last; i += LANES) v_store(y + i, v_of_bits(v_bf16(v_load(x + i))));
        if (i < last) v_store_n(y + i, last - i, v_of_bits(v_bf16(v_load_n(x + i, last - i))));
    }
}

static void round_bf16(size_t n, const rdk_real *x, rdk_real *y)
{
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT);
    RDK_SHARE(n >= SERIAL_ELEMENTS, chunk_count(n, size), round_chunks, size, n, x, y);
}

/* ---- the product ----------------------------------------------------------------------------- */

/* Pairs p .. p + depth - 1 of the sums of a region, from a panel that begins at column j. */
static void pair_columns(const rdk_product *g, const region *at, pair_left a, const uint32_t *panel,
                         size_t j, size_t p, size_t depth)
{
    size_t rows = at->i_end - at->i_begin, count = rdk_pieces(rows, TILE_ROWS);
    const bool last = p + depth == pairs_of(g->k);
    const tile_target all = {g->c, g->ldc, g->accumulate || p > 0, last ? g->bias : NULL,
                             last ? g->residual : NULL};
    for (size_t t = 0; t < count; t++) {
        size_t i = at->i_begin + rdk_piece_begin(rows, count, t),
               i_end = at->i_begin + rdk_piece_begin(rows, count, t + 1);
        const tile_target to = tile_target_from(all, i, j);
        const pair_left from = pair_left_from(a, i, p);
        pair_tile(i_end - i, smaller(at->j_end - j, TILE_COLS), depth, &from, panel + p * TILE_COLS,
                  &to);
    }
}

static void pair_region(const rdk_product *g, const region *at, pair_left a, const uint32_t *b)
{
    const size_t pairs = pairs_of(g->k);
    size_t count = pairs ? rdk_pieces(pairs, PAIR_DEPTH) : 1; /* k = 0 still sets C to 0 */
    for (size_t t = 0; t < count; t++) {
        size_t p = rdk_piece_begin(pairs, count, t),
               depth = rdk_piece_begin(pairs, count, t + 1) - p;
        for (size_t j = at->j_begin; j < at->j_end; j += TILE_COLS)
            pair_columns(g, at, a, b + j * pairs, j, p, depth);
    }
}

RDK_SHARED static void pair_regions(size_t begin, size_t end, int thread, const rdk_product *g,
                                    const pair_left *a, const uint32_t *b, size_t blocks,
                                    size_t groups)
{
    (void)thread;
    for (size_t task = begin; task < end; task++) {
        const region at = gemm_region_at(g->m, g->n, blocks, groups, task);
        pair_region(g, &at, *a, b);
    }
}

static void product_bf16(const rdk_product *g, uint32_t *scratch)
{
    size_t blocks, groups;
    if (g->m == 0 || g->n == 0) return;
    const pair_left a = convert_left(g, scratch);
    uint32_t *panels = scratch + left_size(g->ta, g->m, g->k);
    if (!g->panels) panels_bf16(g->tb, g->n, g->k, g->b, g->ldb, panels);
    const uint32_t *b = g->panels ? g->panels : panels;
    gemm_cut(g->m, g->n, &blocks, &groups);
    bool shared = (double)g->m * (double)g->n * (double)g->k > SERIAL_PRODUCTS;
    RDK_SHARE_UNEVEN(shared, blocks * groups, pair_regions, g, &a, b, blocks, groups);
}

/* The initial value of a rdk_bf16_kernels. */
#define BF16_KERNELS                                                                               \
    {                                                                                              \
        .product = product_bf16, .panels = panels_bf16, .round = round_bf16                        \
    }
