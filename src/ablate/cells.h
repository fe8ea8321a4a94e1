/* SPDX-License-Identifier: MIT
 * A table of text on its way to the screen and to Markdown: the same bytes for both. */
#ifndef RDK_ABLATE_CELLS_H
#define RDK_ABLATE_CELLS_H

#include "ablate.h"

typedef struct rdk_cells {
    size_t columns, n, room; /* n: cells begun, the first row is the heading */
    rdk_text *cells;
} rdk_cells;

enum { RDK_MOST_COLUMNS = 40 };
/* rows: with the heading. Without memory the table stays empty. */
void rdk_cells_make(rdk_cells *c, size_t columns, size_t rows);
/* The next cell, to be written into; row by row. NULL where the table is full. */
rdk_text *rdk_cells_next(rdk_cells *c);
void rdk_cells_word(rdk_cells *c, const char *word);
/* "0.0123 +- 0.004", "0.0123" of one value, "-" of none. factor: 100 for per cent. */
void rdk_cells_interval(rdk_cells *c, rdk_interval i, double factor);
/* Appends the table to out, a blank line behind it, and frees it. */
void rdk_cells_write(rdk_cells *c, rdk_text *out);

#endif
