/* SPDX-License-Identifier: MIT
 * Figures of the start against d_k.
 * Read next: widths.c. */
#ifndef RDK_REPORT_WIDTHS_H
#define RDK_REPORT_WIDTHS_H

#include "page.h"

/* A panel: of each series a line through the means over seeds of a figure at the start. */
typedef struct rdk_width_panel {
    const char *title, *metric, *label; /* metric: anchor of its definition; label: of the axis */
    const char *column;                 /* its name in the rows */
    rdk_figure_of *figure;
    rdk_figure_of *theory;     /* a second line; NULL: nothing is predicted */
    rdk_figure_of *low, *high; /* ends of a bar; both NULL: it is the interval over seeds */
    const char *low_column, *high_column;
    bool share;     /* on an axis from 0 to 1; else on a logarithmic one */
    bool geometric; /* means and intervals are of the logarithms */
} rdk_width_panel;

typedef struct rdk_width_figure {
    const char *id, *says, *caption; /* id: without the prefix of the group */
    const rdk_width_panel *panels;   /* [n_panels + n_more] */
    size_t n_panels, n_more;         /* more: only in the rows */
    unsigned marks;                  /* of its key */
    double apart; /* a series stands by this factor right of the one before; 1: over each other */
} rdk_width_figure;

void rdk_width_draw(rdk_report *r, rdk_text *t, const rdk_width_figure *f);

#endif
