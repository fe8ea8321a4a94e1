/* SPDX-License-Identifier: MIT
 * A drawing of character cells: braille dots, or a letter a curve.
 * Read next: show.c. */
#ifndef RDK_REPORT_CANVAS_H
#define RDK_REPORT_CANVAS_H

#include "figure.h"

typedef struct rdk_canvas {
    size_t columns, lines; /* cells */
    bool braille;          /* 2 x 4 dots a cell; else one letter */
    unsigned char *dots;   /* [lines, columns] bits of braille; or the letter */
    unsigned char *owner;  /* [lines, columns] the curve that drew there last, from 1 */
} rdk_canvas;

/* Memory of the arena. NULL there: no memory. */
rdk_canvas rdk_canvas_new(rdk_arena *a, size_t columns, size_t lines, bool braille);
/* Joins the points by straight lines. owner: 1.. */
void rdk_canvas_curve(rdk_canvas *c, const rdk_axis *x, const rdk_axis *y, const rdk_curve *curve,
                      unsigned char owner);
/* One line of cells, its colours as SGR where colour. */
void rdk_canvas_line(const rdk_canvas *c, size_t line, bool colour, rdk_text *out);
/* The SGR sequence of an owner's colour. */
const char *rdk_canvas_colour(unsigned char owner);

#endif
