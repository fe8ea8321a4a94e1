/* SPDX-License-Identifier: MIT
 * Panels: up to TILE_COLS columns of a right operand, laid out so that a tile reads whole vectors
 * one after the other: panel[p * TILE_COLS + j], with zeros in the columns that are not there.
 *
 * Invariant: of the source, nothing but the elements asked for is read.
 * Read next: gemm.c. */
#ifndef RDK_PACK_H
#define RDK_PACK_H

#include "tile.h"
#include "transpose.h"

/* panel[p][j] = b[p * ldb + j] for p < k, j < cols */
static void pack(size_t k, size_t cols, const rdk_real *b, size_t ldb, rdk_real *panel)
{
    for (size_t p = 0; p < k; p++, b += ldb, panel += TILE_COLS) {
        if (cols == TILE_COLS) {
            memcpy(panel, b, TILE_COLS * sizeof *b);
        } else {
            memcpy(panel, b, cols * sizeof *b);
            memset(panel + cols, 0, (TILE_COLS - cols) * sizeof *b);
        }
    }
}

/* LANES columns of the panel, which are rows of b; those from `cols` on are zeros. */
static void pack_lanes(size_t k, size_t cols, const rdk_real *b, size_t ldb, rdk_real *panel)
{
    size_t p = 0;
    for (; p + LANES <= k; p += LANES) {
        vreal row[LANES];
        for (size_t j = 0; j < LANES; j++) row[j] = j < cols ? v_load(b + j * ldb + p) : v_set(0);
        transpose(row);
        for (size_t j = 0; j < LANES; j++) v_store(panel + (p + j) * TILE_COLS, row[j]);
    }
    for (; p < k; p++)
        for (size_t j = 0; j < LANES; j++) panel[p * TILE_COLS + j] = j < cols ? b[j * ldb + p] : 0;
}

/* panel[p][j] = b[j * ldb + p] for p < k, j < cols */
static void pack_transposed(size_t k, size_t cols, const rdk_real *b, size_t ldb, rdk_real *panel)
{
    bool both = cols > LANES;
    pack_lanes(k, both ? LANES : cols, b, ldb, panel);
    pack_lanes(k, both ? cols - LANES : 0, both ? b + LANES * ldb : b, ldb, panel + LANES);
}

#endif
