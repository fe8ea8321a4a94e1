/* SPDX-License-Identifier: MIT
 * C = op(A) op(B), or C += where asked; of a layer also a bias for each row, and what it is added
 * to. A tile reads a panel of B: TILE_COLS columns, row by row. A panel is B itself where its rows
 * lie well in the cache, a piece of what `panels` laid out, or a copy on the stack. A is read where
 * it lies, by rows or by columns.
 *
 * Invariant: each element of C is one chain of multiply-adds over p = 0 .. k - 1 (see tile.h), so
 * neither the cutting, which follows the number of threads, nor the kind of panel changes a bit.
 * Read next: tile.h, pack.h. */
#include "base/parallel.h"
#include "kernels.h"
#include "pack.h"
#include "region.h"

enum {
    /* Copies, on the stack, which of a thread may be small: they stay in the nearest caches. All of
     * it for a panel of B; or beside a shorter one as many rows of A as fit. */
    ROOM = 32 * 1024 / sizeof(rdk_real),
    PANEL_DEPTH = ROOM / TILE_COLS,
    COPIED_DEPTH = PANEL_DEPTH / 2 < 128 ? PANEL_DEPTH / 2 : 128,
    COPIED_PANEL = COPIED_DEPTH * TILE_COLS,
    COPIED_STRIDE = COPIED_DEPTH + LANES, /* of rows: not SET_BYTES apart again */
    COPIED_ROWS = (ROOM - COPIED_PANEL) / COPIED_STRIDE / TILE_ROWS * TILE_ROWS,
    SET_BYTES = 4096, /* rows at multiples of this distance share one set of the nearest cache */
    FAR_BYTES = 512,  /* rows at this distance and more take a line, and often a page, each */
};

/* The right operand: [k, n] in rows, the same transposed, or as panels() lays it out. */
typedef enum right_form { RIGHT_ROWS, RIGHT_TRANSPOSED, RIGHT_PANELS } right_form;

typedef struct gemm_job {
    size_t m, n, k;
    tile_left a;
    const rdk_real *b;
    size_t ldb; /* not of panels */
    right_form form;
    tile_target to; /* what it adds to C: at the end */
} gemm_job;

/* Rows at this distance crowd into few sets of the nearest cache, or into one. */
static bool is_crowded(size_t stride, size_t sets)
{
    return stride * sizeof(rdk_real) % (SET_BYTES / sets) == 0;
}

/* By column a tile touches all rows of A, and the next tile is to find them still in the cache. One
 * of 32 KiB holds few that lie apart; one of 48 KiB all that do not crowd. The width of vectors
 * stands in for its size, which is not known: measured on one machine of each (bench/gemm.c), with
 * AVX2 and 32 KiB, and with AVX-512 and 48. */
static bool is_lost(size_t stride)
{
    return RDK_VECTOR_BYTES < 64 ? stride * sizeof(rdk_real) >= FAR_BYTES : is_crowded(stride, 2);
}

/* By rows a tile reads along few of them. */
static bool is_copied(const gemm_job *g, const region *at)
{
    bool gains = g->a.by_column ? is_lost(g->a.stride) : is_crowded(g->a.stride, 1);
    return gains && g->k > 0 && at->j_end - at->j_begin > TILE_COLS;
}

/* Rows p .. p + depth - 1 of the panel that begins at column j. room: where to copy it to, if need
 * be. *ld: from row to row. */
static const rdk_real *gemm_panel(const gemm_job *g, size_t j, size_t cols, size_t p, size_t depth,
                                  rdk_real *room, size_t *ld)
{
    *ld = TILE_COLS;
    if (g->form == RIGHT_PANELS) return g->b + j * g->k + p * TILE_COLS;
    if (g->form == RIGHT_TRANSPOSED) {
        pack_transposed(depth, cols, g->b + j * g->ldb + p, g->ldb, room);
        return room;
    }
    const rdk_real *rows = g->b + p * g->ldb + j;
    if (cols % LANES == 0 && !is_crowded(g->ldb, 1)) {
        *ld = g->ldb;
        return rows;
    }
    pack(depth, cols, rows, g->ldb, room);
    return room;
}

/* Terms p .. p + depth - 1 of the sums, for the columns j .. j + cols - 1 of a region. a: A from
 * its first row and p on. room: depth * TILE_COLS elements. */
static void gemm_columns(const gemm_job *g, const region *at, tile_left a, size_t j, size_t cols,
                         size_t p, size_t depth, rdk_real *room)
{
    size_t ld, rows = at->i_end - at->i_begin, count = rdk_pieces(rows, TILE_ROWS);
    const rdk_real *panel = gemm_panel(g, j, cols, p, depth, room, &ld);
    tile_target all = g->to;
    all.add = all.add || p > 0;
    if (p + depth < g->k) all.bias = NULL, all.residual = NULL;
    for (size_t t = 0; t < count; t++) {
        size_t i = rdk_piece_begin(rows, count, t), i_end = rdk_piece_begin(rows, count, t + 1);
        const tile_target to = tile_target_from(all, at->i_begin + i, j);
        const tile_left from = tile_left_from(a, i, 0);
        tile(i_end - i, cols, depth, &from, panel, ld, &to);
    }
}

static void gemm_depth(const gemm_job *g, const region *at, tile_left a, size_t p, size_t depth,
                       rdk_real *room)
{
    for (size_t j = at->j_begin; j < at->j_end; j += TILE_COLS) {
        size_t cols = at->j_end - j < TILE_COLS ? at->j_end - j : TILE_COLS;
        gemm_columns(g, at, a, j, cols, p, depth, room);
    }
}

/* The same from a copy of A, some rows at a time, that lies well. room: ROOM elements. */
static void gemm_depth_copied(const gemm_job *g, const region *at, size_t p, size_t depth,
                              rdk_real *room)
{
    _Static_assert((int)COPIED_ROWS >= (int)TILE_ROWS, "the rows of a tile fit beside a panel");
    rdk_real *copy = room + COPIED_PANEL;
    region part = *at;
    for (; part.i_begin < at->i_end; part.i_begin = part.i_end) {
        size_t rows = smaller(at->i_end - part.i_begin, COPIED_ROWS);
        part.i_end = part.i_begin + rows;
        const tile_left from = tile_left_from(g->a, part.i_begin, p);
        const tile_left to = {copy, from.by_column ? COPIED_ROWS : COPIED_STRIDE, from.by_column,
                              false};
        size_t lines = from.by_column ? depth : rows, length = from.by_column ? rows : depth;
        for (size_t l = 0; l < lines; l++)
            memcpy(copy + l * to.stride, from.at + l * from.stride, length * sizeof *copy);
        gemm_depth(g, &part, to, p, depth, room);
    }
}

static void gemm_region(const gemm_job *g, const region *at)
{
    rdk_real room[ROOM] __attribute__((aligned(64)));
    bool copied = is_copied(g, at);
    size_t most = copied ? COPIED_DEPTH : PANEL_DEPTH;
    size_t count = g->k ? rdk_pieces(g->k, most) : 1; /* k = 0 still sets C to 0 */
    for (size_t t = 0; t < count; t++) {
        size_t p = rdk_piece_begin(g->k, count, t), depth = rdk_piece_begin(g->k, count, t + 1) - p;
        if (copied) {
            gemm_depth_copied(g, at, p, depth, room);
        } else {
            gemm_depth(g, at, tile_left_from(g->a, at->i_begin, p), p, depth, room);
        }
    }
}

/* The regions begin .. end - 1 of C. */
RDK_SHARED static void gemm_regions(size_t begin, size_t end, int thread, const gemm_job *g,
                                    size_t blocks, size_t groups)
{
    (void)thread;
    for (size_t task = begin; task < end; task++) {
        const region at = gemm_region_at(g->m, g->n, blocks, groups, task);
        gemm_region(g, &at);
    }
}

static void gemm_run(const gemm_job *g)
{
    size_t blocks, groups;
    if (g->m == 0 || g->n == 0) return;
    gemm_cut(g->m, g->n, &blocks, &groups);
    bool shared = (double)g->m * (double)g->n * (double)g->k > SERIAL_PRODUCTS;
    RDK_SHARE_UNEVEN(shared, blocks * groups, gemm_regions, g, blocks, groups);
}

static void gemm(bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a, size_t lda,
                 const rdk_real *b, size_t ldb, rdk_real *c, size_t ldc, bool accumulate)
{
    const right_form form = tb ? RIGHT_TRANSPOSED : RIGHT_ROWS;
    const gemm_job g = {m, n,   k,    {a, lda, ta, false},
                        b, ldb, form, {c, ldc, accumulate, NULL, NULL}};
    gemm_run(&g);
}

static void linear(size_t m, size_t n, size_t k, const rdk_real *x, const rdk_real *w,
                   bool in_panels, const rdk_real *bias, const rdk_real *residual, rdk_real *y)
{
    const right_form form = in_panels ? RIGHT_PANELS : RIGHT_TRANSPOSED;
    const gemm_job g = {m, n, k, {x, k, false, false}, w, k, form, {y, n, false, bias, residual}};
    gemm_run(&g);
}

RDK_SHARED static void panels_range(size_t begin, size_t end, size_t n, size_t k, const rdk_real *b,
                                    size_t ldb, rdk_real *out)
{
    for (size_t t = begin; t < end; t++) {
        size_t j = t * TILE_COLS;
        pack_transposed(k, smaller(n - j, TILE_COLS), b + j * ldb, ldb, out + j * k);
    }
}

static void panels(size_t n, size_t k, const rdk_real *b, size_t ldb, rdk_real *out)
{
    RDK_SHARE(n * k > SERIAL_PACKED, rdk_pieces(n, TILE_COLS), panels_range, n, k, b, ldb, out);
}
