/* SPDX-License-Identifier: MIT
 * The register tile of tile.h for operands of pair words (bf16.h).
 *
 * Invariant: as there, every element of C is one chain in the order of the pairs, so neither the
 * shape of tiles nor the cutting of the sum changes a bit.
 * Read next: gemm_bf16.c. */
#ifndef RDK_TILE_BF16_H
#define RDK_TILE_BF16_H

#include "bf16.h"
#include "tile.h"

/* The left operand: pair p of row r is at[r * stride + p], or by_column at[r + p * stride]. */
typedef struct pair_left {
    const uint32_t *at;
    size_t stride;
    bool by_column;
} pair_left;

static inline pair_left pair_left_from(pair_left a, size_t r, size_t p)
{
    a.at += a.by_column ? r + p * a.stride : r * a.stride + p;
    return a;
}

static inline __attribute__((always_inline)) void
pair_term(const size_t rows, const size_t vectors, const size_t row, const uint32_t *x[ADDRESSES],
          const uint32_t *b, vreal sum[TILE_ROWS][2])
{
    vwords y[2];
    RDK_UNROLL
    for (size_t v = 0; v < vectors; v++) y[v] = w_load(b + v * LANES);
    RDK_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const vwords element = w_set(x[r / SHARED_ROWS][r % SHARED_ROWS * row]);
        RDK_UNROLL
        for (size_t v = 0; v < vectors; v++) sum[r][v] = v_add_products(sum[r][v], element, y[v]);
    }
}

/* rows, vectors and by_column are constants where it is called. b: a panel, or part of one. */
static inline __attribute__((always_inline)) void pair_loop(const size_t rows, const size_t vectors,
                                                            const bool by_column, size_t pairs,
                                                            const pair_left *a, const uint32_t *b,
                                                            const tile_target *to)
{
    vreal sum[TILE_ROWS][2];
    tile_begin(rows, vectors, to, sum);
    const size_t row = by_column ? 1 : a->stride, step = by_column ? a->stride : 1;
    const uint32_t *x[ADDRESSES];
    RDK_UNROLL
    for (size_t i = 0; i < (rows + SHARED_ROWS - 1) / SHARED_ROWS; i++)
        x[i] = a->at + i * SHARED_ROWS * row;
    for (size_t p = 0; p < pairs; p++, b += TILE_COLS) {
        pair_term(rows, vectors, row, x, b, sum);
        if (by_column) __builtin_prefetch(x[0] + PREFETCH * a->stride);
        RDK_UNROLL
        for (size_t i = 0; i < (rows + SHARED_ROWS - 1) / SHARED_ROWS; i++) x[i] += step;
    }
    tile_end(rows, vectors, to, sum);
}

#define PAIR_CASE(n)                                                                               \
    case n:                                                                                        \
        pair_loop(n, vectors, by_column, pairs, a, b, to);                                         \
        break;

static inline __attribute__((always_inline)) void pair_rows(size_t rows, const size_t vectors,
                                                            const bool by_column, size_t pairs,
                                                            const pair_left *a, const uint32_t *b,
                                                            const tile_target *to)
{
    switch (rows) {
        TILE_CASES(PAIR_CASE)
    }
}
#undef PAIR_CASE

static void pair_whole(size_t rows, size_t vectors, size_t pairs, const pair_left *a,
                       const uint32_t *b, const tile_target *to)
{
    if (vectors == 2 && a->by_column) pair_rows(rows, 2, true, pairs, a, b, to);
    if (vectors == 2 && !a->by_column) pair_rows(rows, 2, false, pairs, a, b, to);
    if (vectors == 1 && a->by_column) pair_rows(rows, 1, true, pairs, a, b, to);
    if (vectors == 1 && !a->by_column) pair_rows(rows, 1, false, pairs, a, b, to);
}

/* C[rows, cols] (+)= A[rows, pairs] B[pairs, cols], and what its target adds; rows <= TILE_ROWS,
 * cols <= TILE_COLS. */
static void pair_tile(size_t rows, size_t cols, size_t pairs, const pair_left *a, const uint32_t *b,
                      const tile_target *to)
{
    size_t vectors = cols > LANES ? 2 : 1;
    if (cols == vectors * LANES) {
        pair_whole(rows, vectors, pairs, a, b, to);
        return;
    }
    tile_edge edge;
    const tile_target whole = tile_edge_begin(&edge, rows, cols, to);
    pair_whole(rows, vectors, pairs, a, b, &whole);
    tile_edge_copy(rows, cols, edge.c, TILE_COLS, to->c, to->ldc);
}

#endif
