/* SPDX-License-Identifier: MIT
 * How a product's C is cut among threads.
 *
 * Invariant: an element lies in one region, and the cutting, which follows the number of threads,
 * changes no bit of it.
 * Read next: gemm.c, gemm_bf16.c. */
#ifndef RDK_REGION_H
#define RDK_REGION_H

#include "base/parallel.h"
#include "tile.h"

enum {
    BLOCK_ROWS = 480, /* of A, at most: with the columns of a panel they fit the L2 cache */
    BLOCK_ROWS_MIN = 4 * TILE_ROWS, /* fewer do not repay the packing of a panel */
    TASKS_PER_THREAD = 4,
    SERIAL_PRODUCTS = 50 * 1000, /* multiply-adds that take less time than waking the threads */
    SERIAL_PACKED = 16 * 1024,   /* elements of which the same is true */
};

/* A rectangle of C. */
typedef struct region {
    size_t i_begin, i_end, j_begin, j_end;
} region;

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Into how many blocks of rows and groups of panels the work is cut, so that each thread gets some;
 * panels are shared out first, because a block of A then still serves several of them. */
static inline void gemm_cut(size_t m, size_t n, size_t *blocks, size_t *groups)
{
    size_t threads = (size_t)rdk_team(), tasks = threads > 1 ? threads * TASKS_PER_THREAD : 1;
    *blocks = rdk_pieces(m, BLOCK_ROWS);
    *groups = smaller(rdk_pieces(n, TILE_COLS), rdk_pieces(tasks, *blocks));
    if (*blocks * *groups < tasks)
        *blocks = smaller(rdk_pieces(m, BLOCK_ROWS_MIN), rdk_pieces(tasks, *groups));
}

/* The region of one of these tasks. */
static inline region gemm_region_at(size_t m, size_t n, size_t blocks, size_t groups, size_t task)
{
    size_t panels = rdk_pieces(n, TILE_COLS), block = task / groups, group = task % groups;
    return (region){rdk_piece_begin(m, blocks, block), rdk_piece_begin(m, blocks, block + 1),
                    rdk_piece_begin(panels, groups, group) * TILE_COLS,
                    smaller(n, rdk_piece_begin(panels, groups, group + 1) * TILE_COLS)};
}

#endif
