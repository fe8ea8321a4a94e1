/* SPDX-License-Identifier: MIT
 * Rows looked up in a table, and the gradient added back into it.
 *
 * Invariant: backward adds the rows of one id in index order. Threads share the columns, not the
 * rows, so that two rows with the same id never meet.
 * Read next: elementwise.c (sum_rows works the same way). */
#include "chunks.h"
#include "kernels.h"
#include "vector.h"

enum { STRIP = 32 }; /* columns that one thread adds, over all rows */

RDK_SHARED static void embedding_rows(size_t begin, size_t end, size_t d, const rdk_real *table,
                                      const int32_t *ids, rdk_real *y)
{
    for (size_t r = begin; r < end; r++)
        memcpy(y + r * d, table + (size_t)ids[r] * d, d * sizeof *y);
}

static void embedding(size_t rows, size_t d, const rdk_real *table, const int32_t *ids, rdk_real *y)
{
    if (d == 0) return;
    RDK_SHARE(rows * d >= SERIAL_ELEMENTS, rows, embedding_rows, d, table, ids, y);
}

RDK_SHARED static void embedding_strips(size_t begin, size_t end, size_t rows, size_t d,
                                        const int32_t *ids, const rdk_real *dy, rdk_real *dtable)
{
    for (size_t strip = begin; strip < end; strip++) {
        size_t first = strip * STRIP, last = d - first < STRIP ? d : first + STRIP;
        for (size_t r = 0; r < rows; r++) {
            rdk_real *sum = dtable + (size_t)ids[r] * d;
            for (size_t c = first; c < last; c++) sum[c] += dy[r * d + c];
        }
    }
}

static void embedding_backward(size_t rows, size_t d, const int32_t *ids, const rdk_real *dy,
                               rdk_real *dtable)
{
    RDK_SHARE(rows * d >= SERIAL_ELEMENTS, rdk_pieces(d, STRIP), embedding_strips, rows, d, ids, dy,
              dtable);
}
