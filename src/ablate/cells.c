/* SPDX-License-Identifier: MIT
 * Tables of text in columns of equal width; see cells.h. All but values of paths is ASCII. */
#include <math.h>
#include <string.h>

#include "cells.h"

void rdk_cells_make(rdk_cells *c, size_t columns, size_t rows)
{
    size_t room = 0;
    *c = (rdk_cells){.columns = columns};
    if (!rdk_size_mul(columns, rows, &room)) return;
    c->cells = rdk_alloc(room, sizeof *c->cells, NULL);
    c->room = c->cells ? room : 0;
}

rdk_text *rdk_cells_next(rdk_cells *c)
{
    return c->n < c->room ? &c->cells[c->n++] : NULL;
}

void rdk_cells_word(rdk_cells *c, const char *word)
{
    rdk_text *cell = rdk_cells_next(c);
    if (cell) rdk_text_add(cell, "%s", word);
}

void rdk_cells_interval(rdk_cells *c, rdk_interval i, double factor)
{
    rdk_text *cell = rdk_cells_next(c);
    char mean[RDK_INTERVAL_TEXT], half[RDK_INTERVAL_TEXT];
    if (!cell) return;
    if (i.n == 0) {
        rdk_text_add(cell, "-");
        return;
    }
    rdk_interval_texts(i, factor, mean, half);
    rdk_text_add(cell, *half ? "%s +- %s" : "%s", mean, half);
}

static size_t width_of(const rdk_cells *c, size_t column)
{
    size_t width = 1;
    for (size_t i = column; i < c->n; i += c->columns)
        if (c->cells[i].size > width) width = c->cells[i].size;
    return width;
}

static void write_row(const rdk_cells *c, const size_t *width, size_t first, rdk_text *out)
{
    for (size_t i = 0; i < c->columns; i++) {
        const rdk_text *cell = &c->cells[first + i];
        rdk_text_add(out, "| %-*s ", (int)width[i], cell->data ? cell->data : "");
    }
    rdk_text_add(out, "|\n");
}

static void write_rule(const rdk_cells *c, const size_t *width, rdk_text *out)
{
    for (size_t i = 0; i < c->columns; i++) {
        rdk_text_add(out, "|");
        for (size_t k = width[i] + 2; k > 0; k--) rdk_text_add(out, "-");
    }
    rdk_text_add(out, "|\n");
}

void rdk_cells_write(rdk_cells *c, rdk_text *out)
{
    size_t width[RDK_MOST_COLUMNS];
    for (size_t i = 0; i < c->columns; i++) width[i] = width_of(c, i);
    for (size_t first = 0; first + c->columns <= c->n; first += c->columns) {
        write_row(c, width, first, out);
        if (first == 0) write_rule(c, width, out);
    }
    rdk_text_add(out, "\n");
    for (size_t i = 0; i < c->n; i++) rdk_text_free(&c->cells[i]);
    rdk_free(c->cells);
    *c = (rdk_cells){0};
}
