/* SPDX-License-Identifier: MIT
 * C = op(A) op(B), or C += where asked. B is cut into panels of TILE_COLS columns, which are
 * packed; A is read where it lies, by rows or by columns.
 *
 * Invariant: each element of C is one chain of multiply-adds over p = 0 .. k - 1 (see tile.h), so
 * the cutting, which follows the number of threads, changes no bit.
 * Read next: tile.h, pack.h. */
#include "base/parallel.h"
#include "kernels.h"
#include "pack.h"

enum {
    PANEL_BYTES = 32 * 1024, /* of B, packed on the stack; it stays in the nearest caches */
    PANEL_DEPTH = PANEL_BYTES / (TILE_COLS * sizeof(rdk_real)),
    BLOCK_ROWS = 480, /* of A, at most: with PANEL_DEPTH columns they fit the L2 cache */
    BLOCK_ROWS_MIN = 4 * TILE_ROWS, /* fewer do not repay the packing of a panel */
    TASKS_PER_THREAD = 4,
    SERIAL_PRODUCTS = 50 * 1000, /* multiply-adds that take less time than waking the threads */
    SET_BYTES = 4096, /* rows of A at multiples of this distance share one set of the L1 cache, */
    SET_ROWS = TILE_ROWS * 2 / 3, /* which holds 8 or 12 lines: room is left for those of B and C */
};

typedef struct gemm_job {
    size_t m, n, k;
    tile_left a;
    const rdk_real *b;
    size_t ldb;
    bool tb;
    rdk_real *c;
    size_t ldc;
    bool accumulate;
} gemm_job;

/* A rectangle of C. */
typedef struct region {
    size_t i_begin, i_end, j_begin, j_end;
} region;

/* Adds the part p .. p + depth - 1 of the sums to the columns j .. j + cols - 1 of the region. */
static void gemm_panel(const gemm_job *g, const region *at, size_t j, size_t cols, size_t p,
                       size_t depth, const rdk_real *panel)
{
    bool crowded = !g->a.by_column && g->a.stride * sizeof *g->a.at % SET_BYTES == 0;
    size_t rows = at->i_end - at->i_begin;
    size_t count = rdk_pieces(rows, crowded ? SET_ROWS : TILE_ROWS);
    for (size_t t = 0; t < count; t++) {
        size_t i = at->i_begin + rdk_piece_begin(rows, count, t);
        size_t i_end = at->i_begin + rdk_piece_begin(rows, count, t + 1);
        tile(i_end - i, cols, depth, tile_left_from(g->a, i, p), panel, TILE_COLS,
             g->c + i * g->ldc + j, g->ldc, g->accumulate || p > 0);
    }
}

static void gemm_region(const gemm_job *g, const region *at)
{
    rdk_real panel[PANEL_DEPTH * TILE_COLS] __attribute__((aligned(64)));
    size_t count = g->k ? rdk_pieces(g->k, PANEL_DEPTH) : 1; /* k = 0 still sets C to 0 */
    for (size_t t = 0; t < count; t++) {
        size_t p = rdk_piece_begin(g->k, count, t), depth = rdk_piece_begin(g->k, count, t + 1) - p;
        for (size_t j = at->j_begin; j < at->j_end; j += TILE_COLS) {
            size_t cols = at->j_end - j < TILE_COLS ? at->j_end - j : TILE_COLS;
            if (g->tb) {
                pack_transposed(depth, cols, g->b + j * g->ldb + p, g->ldb, panel);
            } else {
                pack(depth, cols, g->b + p * g->ldb + j, g->ldb, panel);
            }
            gemm_panel(g, at, j, cols, p, depth, panel);
        }
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Into how many blocks of rows and groups of panels the work is cut, so that each thread gets some;
 * panels are shared out first, because a block of A then still serves several of them. */
static void gemm_cut(size_t m, size_t n, size_t *blocks, size_t *groups)
{
    size_t threads = (size_t)rdk_team(), tasks = threads > 1 ? threads * TASKS_PER_THREAD : 1;
    *blocks = rdk_pieces(m, BLOCK_ROWS);
    *groups = smaller(rdk_pieces(n, TILE_COLS), rdk_pieces(tasks, *blocks));
    if (*blocks * *groups < tasks)
        *blocks = smaller(rdk_pieces(m, BLOCK_ROWS_MIN), rdk_pieces(tasks, *groups));
}

static void gemm(bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a, size_t lda,
                 const rdk_real *b, size_t ldb, rdk_real *c, size_t ldc, bool accumulate)
{
    if (m == 0 || n == 0) return;
    const gemm_job g = {m, n, k, {a, lda, ta}, b, ldb, tb, c, ldc, accumulate};
    size_t panels = rdk_pieces(n, TILE_COLS), blocks, groups;
    gemm_cut(m, n, &blocks, &groups);
    bool shared = (double)m * (double)n * (double)k > SERIAL_PRODUCTS;
    RDK_PARALLEL_FOR_UNEVEN_IF(shared)
    for (size_t task = 0; task < blocks * groups; task++) {
        size_t block = task / groups, group = task % groups;
        const region at = {rdk_piece_begin(m, blocks, block), rdk_piece_begin(m, blocks, block + 1),
                           rdk_piece_begin(panels, groups, group) * TILE_COLS,
                           smaller(n, rdk_piece_begin(panels, groups, group + 1) * TILE_COLS)};
        gemm_region(&g, &at);
    }
}
