/* SPDX-License-Identifier: MIT
 * The register tile: C (+)= A B for at most TILE_ROWS x TILE_COLS elements of C, whose sums stay in
 * registers for the whole of k. GEMM and attention are built on it.
 *
 * Invariant: every element of C is one chain of multiply-adds in the order of p, begun at 0 or at
 * the C that was there; a bias is added behind it, and behind that a residual. So neither the
 * shape of tiles nor the cutting of k changes a bit.
 * Read next: gemm.c. */
#ifndef RDK_TILE_H
#define RDK_TILE_H

#include "base/parallel.h"
#include "vector.h"

/* As many sums as the registers hold beside two vectors of B and an element of A: 32 registers with
 * AVX-512, else 16, of which products take one more where multiply and add are not fused. */
enum {
    TILE_ROWS = RDK_VECTOR_BYTES >= 64   ? 12
                : RDK_VECTOR_BYTES >= 32 ? 6
                                         : 4,
    TILE_COLS = 2 * LANES,
    /* Steps ahead of which A is fetched if each step is on another line of the cache: a hint,
     * which may lie past its end. */
    PREFETCH = 16,
    /* Rows of A that one address serves: an instruction adds 0, 1 or 2 strides by itself. So the
     * addresses of a tile fit the registers. */
    SHARED_ROWS = 3,
    ADDRESSES = TILE_ROWS / SHARED_ROWS + (TILE_ROWS % SHARED_ROWS != 0),
};

/* The left operand: element (r, p) is at[r * stride + p], or by_column at[r + p * stride].
 * causal: the tile lies on the diagonal of a causal matrix. By rows: row r has r terms more than
 * the k of all. By column: row r begins with term r of the k, of which there are at least as many
 * as rows. What a row does not have is not read for it. */
typedef struct tile_left {
    const rdk_real *at;
    size_t stride;
    bool by_column, causal;
} tile_left;

static inline tile_left tile_left_from(tile_left a, size_t r, size_t p)
{
    a.at += a.by_column ? r + p * a.stride : r * a.stride + p;
    return a;
}

/* Where C goes: its first element; whether it adds to what is there; one row that is added to each
 * of its rows, and a matrix of its form and stride that is added to it, or NULL. */
typedef struct tile_target {
    rdk_real *c;
    size_t ldc;
    bool add;
    const rdk_real *bias, *residual;
} tile_target;

/* That of element (r, j) on. */
static inline tile_target tile_target_from(tile_target to, size_t r, size_t j)
{
    to.c += r * to.ldc + j;
    if (to.bias) to.bias += j;
    if (to.residual) to.residual += r * to.ldc + j;
    return to;
}

static inline __attribute__((always_inline)) void
tile_begin(const size_t rows, const size_t vectors, const tile_target *to, vreal sum[TILE_ROWS][2])
{
    RDK_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const rdk_real *c = to->c + r * to->ldc;
        RDK_UNROLL
        for (size_t v = 0; v < vectors; v++) sum[r][v] = to->add ? v_load(c + v * LANES) : v_set(0);
        if (!to->add) {
            RDK_UNROLL
            for (size_t v = 0; v < vectors; v++) __builtin_prefetch(c + v * LANES, 1);
        }
    }
}

static inline __attribute__((always_inline)) void
tile_end(const size_t rows, const size_t vectors, const tile_target *to, vreal sum[TILE_ROWS][2])
{
    if (to->bias) {
        RDK_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const vreal bias = v_load(to->bias + v * LANES);
            RDK_UNROLL
            for (size_t r = 0; r < rows; r++) sum[r][v] += bias;
        }
    }
    if (to->residual) {
        RDK_UNROLL
        for (size_t r = 0; r < rows; r++) {
            RDK_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] += v_load(to->residual + r * to->ldc + v * LANES);
        }
    }
    RDK_UNROLL
    for (size_t r = 0; r < rows; r++) {
        RDK_UNROLL
        for (size_t v = 0; v < vectors; v++) v_store(to->c + r * to->ldc + v * LANES, sum[r][v]);
    }
}

/* A term of the sums of the rows from .. to - 1. The loop is over all rows, so that `sum` is
 * indexed by constants whenever the compiler comes to know the two. */
static inline __attribute__((always_inline)) void
tile_term(const size_t rows, size_t from, size_t to, const size_t vectors, const bool by_column,
          size_t stride, const rdk_real *x[ADDRESSES], const rdk_real *b, vreal sum[TILE_ROWS][2])
{
    vreal y[2];
    RDK_UNROLL
    for (size_t v = 0; v < vectors; v++) y[v] = v_load(b + v * LANES);
    RDK_UNROLL
    for (size_t r = 0; r < rows; r++) {
        if (r < from || r >= to) continue;
        size_t within = r % SHARED_ROWS;
        vreal element = v_set(x[r / SHARED_ROWS][by_column ? within : within * stride]);
        RDK_UNROLL
        for (size_t v = 0; v < vectors; v++) sum[r][v] += element * y[v];
    }
}

/* To the next term. */
static inline __attribute__((always_inline)) void tile_next(const size_t rows, size_t step,
                                                            const rdk_real *x[ADDRESSES])
{
    RDK_UNROLL
    for (size_t i = 0; i < (rows + SHARED_ROWS - 1) / SHARED_ROWS; i++) x[i] += step;
}

/* The loop. rows, vectors, by_column and causal are constants where it is called, so that `sum` is
 * nothing but registers. */
static inline __attribute__((always_inline)) void
tile_loop(const size_t rows, const size_t vectors, const bool by_column, const bool causal,
          size_t k, const tile_left *a, const rdk_real *b, size_t ldb, const tile_target *to)
{
    vreal sum[TILE_ROWS][2];
    tile_begin(rows, vectors, to, sum);
    const size_t stride = a->stride, step = by_column ? stride : 1;
    const size_t begins = causal && by_column ? rows - 1 : 0,
                 ends = causal && !by_column ? rows : 1;
    const rdk_real *x[ADDRESSES];
    RDK_UNROLL
    for (size_t i = 0; i < (rows + SHARED_ROWS - 1) / SHARED_ROWS; i++)
        x[i] = a->at + i * SHARED_ROWS * (by_column ? 1 : stride);
    RDK_UNROLL
    for (size_t t = 0; t < begins; t++, b += ldb) {
        tile_term(rows, 0, t + 1, vectors, by_column, stride, x, b, sum);
        tile_next(rows, step, x);
    }
    for (size_t p = begins; p < k; p++, b += ldb) {
        tile_term(rows, 0, rows, vectors, by_column, stride, x, b, sum);
        if (by_column) __builtin_prefetch(x[0] + PREFETCH * stride);
        tile_next(rows, step, x);
    }
    RDK_UNROLL
    for (size_t t = 1; t < ends; t++, b += ldb) {
        tile_term(rows, t, rows, vectors, by_column, stride, x, b, sum);
        tile_next(rows, step, x);
    }
    tile_end(rows, vectors, to, sum);
}

/* A case of a switch for each number of rows. */
#if RDK_VECTOR_BYTES >= 64
#define TILE_CASES(c) c(1) c(2) c(3) c(4) c(5) c(6) c(7) c(8) c(9) c(10) c(11) c(12)
#elif RDK_VECTOR_BYTES >= 32
#define TILE_CASES(c) c(1) c(2) c(3) c(4) c(5) c(6)
#else
#define TILE_CASES(c) c(1) c(2) c(3) c(4)
#endif

#define TILE_CASE(n)                                                                               \
    case n:                                                                                        \
        tile_loop(n, vectors, by_column, causal, k, a, b, ldb, to);                                \
        break;

static inline __attribute__((always_inline)) void
tile_rows(size_t rows, const size_t vectors, const bool by_column, const bool causal, size_t k,
          const tile_left *a, const rdk_real *b, size_t ldb, const tile_target *to)
{
    switch (rows) {
        TILE_CASES(TILE_CASE)
    }
}
#undef TILE_CASE

#define TILE_FORM(n_vectors, column, edge)                                                         \
    if (vectors == n_vectors && a->by_column == column && a->causal == edge)                       \
    tile_rows(rows, n_vectors, column, edge, k, a, b, ldb, to)

/* C of `vectors` whole vectors. One copy of what are dozens of loops; who has tiles of another kind
 * (tile_bf16.h) needs none. */
static __attribute__((noinline, unused)) void tile_whole(size_t rows, size_t vectors, size_t k,
                                                         const tile_left *a, const rdk_real *b,
                                                         size_t ldb, const tile_target *to)
{
    TILE_FORM(2, false, false);
    TILE_FORM(2, true, false);
    TILE_FORM(2, false, true);
    TILE_FORM(2, true, true);
    TILE_FORM(1, false, false);
    TILE_FORM(1, true, false);
    TILE_FORM(1, false, true);
    TILE_FORM(1, true, true);
}
#undef TILE_FORM

/* A target where cols ends within a vector: a copy of whole ones, which a tile works on. */
typedef struct tile_edge {
    rdk_real c[TILE_ROWS * TILE_COLS], bias[TILE_COLS], residual[TILE_ROWS * TILE_COLS];
} tile_edge;

static void tile_edge_copy(size_t rows, size_t cols, const rdk_real *from, size_t ld_from,
                           rdk_real *to, size_t ld_to)
{
    for (size_t r = 0; r < rows; r++) memcpy(to + r * ld_to, from + r * ld_from, cols * sizeof *to);
}

static tile_target tile_edge_begin(tile_edge *e, size_t rows, size_t cols, const tile_target *to)
{
    memset(e->c, 0, sizeof e->c);
    memset(e->bias, 0, sizeof e->bias);
    if (to->add) tile_edge_copy(rows, cols, to->c, to->ldc, e->c, TILE_COLS);
    if (to->bias) memcpy(e->bias, to->bias, cols * sizeof *e->bias);
    if (to->residual) {
        memset(e->residual, 0, sizeof e->residual);
        tile_edge_copy(rows, cols, to->residual, to->ldc, e->residual, TILE_COLS);
    }
    return (tile_target){e->c, TILE_COLS, to->add, to->bias ? e->bias : NULL,
                         to->residual ? e->residual : NULL};
}

/* C[rows, cols] (+)= A[rows, k] B[k, cols], and what its target adds; rows <= TILE_ROWS, cols <=
 * TILE_COLS. (a by reference: a call that copies it waits for the stores that have just made it.)
 * B is read by whole vectors, also where cols ends within one: there b must have that room. */
static inline void tile(size_t rows, size_t cols, size_t k, const tile_left *a, const rdk_real *b,
                        size_t ldb, const tile_target *to)
{
    size_t vectors = cols > LANES ? 2 : 1;
    if (cols == vectors * LANES) {
        tile_whole(rows, vectors, k, a, b, ldb, to);
        return;
    }
    tile_edge edge;
    const tile_target whole = tile_edge_begin(&edge, rows, cols, to);
    tile_whole(rows, vectors, k, a, b, ldb, &whole);
    tile_edge_copy(rows, cols, edge.c, TILE_COLS, to->c, to->ldc);
}

#endif
