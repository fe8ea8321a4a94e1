/* SPDX-License-Identifier: MIT
 * Figures: panels with axes, and what is drawn in them.
 *
 * Invariant: a figure is WIDTH units wide whatever it holds; a panel's box is its plot area, and
 * nothing that is drawn at data leaves it but error bars' caps.
 * Read next: axis.c, panel.c, curves.c. */
#ifndef RDK_REPORT_FIGURE_H
#define RDK_REPORT_FIGURE_H

#include "data.h"

enum { RDK_FIGURE_WIDTH = 960, RDK_FIGURE_LEFT = 58 }; /* left: of it, the room of a y axis */

/* A whole number of columns, lines, cells as a length. */
static inline double rdk_count(size_t n)
{
    return (double)n;
}

/* ---- axis.c ---------------------------------------------------------------------------------- */

typedef struct rdk_axis {
    double low, high; /* low < high; both > 0 where log */
    bool log;
    const char *label;
    const double *given; /* [n_given] where ticks are wanted; NULL: at round numbers */
    size_t n_given;
} rdk_axis;

/* An axis over nothing yet; then take in values (those that are not finite, and on a log axis those
 * <= 0, are left out); then finish. */
rdk_axis rdk_axis_new(const char *label, bool log);
void rdk_axis_take(rdk_axis *a, double x);
void rdk_axis_finish(rdk_axis *a);
/* 0..1 along the axis; may lie outside. NAN where x has no place on it. */
double rdk_axis_place(const rdk_axis *a, double x);
enum { RDK_MOST_TICKS = 12 };
size_t rdk_axis_ticks(const rdk_axis *a, double ticks[RDK_MOST_TICKS]);

/* ---- levels, labels.c ------------------------------------------------------------------------ */

/* A horizontal line: ln V, a floor, what theory predicts. series < 0: of none. */
typedef struct rdk_level {
    double y;
    int series;
    const char *label;
} rdk_level;
enum { RDK_MOST_LEVELS = 64 };

/* Where its name stands: below is its base line from the level, downwards, in figure units. A level
 * of a series has no name. */
typedef enum rdk_anchor { RDK_AT_END, RDK_AT_START, RDK_AT_MIDDLE } rdk_anchor;
typedef struct rdk_level_place {
    rdk_anchor anchor;
    int below;
} rdk_level_place;

/* ---- panel.c --------------------------------------------------------------------------------- */

typedef struct rdk_panel {
    double left, top, width, height; /* of the plot area */
    rdk_axis x, y;
    const char *title;
    const char *metric; /* its definition, which the title links to, or NULL */
} rdk_panel;

/* `n` panels in lines of `columns`, the k-th of them; *height: of the whole figure. above: room
 * kept for the key. */
rdk_panel rdk_panel_at(size_t k, size_t n, size_t columns, double above, double *height);

/* "<figure id=...><svg ...>"; then the key, panels, close. caption: HTML. half: as wide as half a
 * figure. */
void rdk_figure_open(rdk_text *t, const char *id, const char *classes, bool half, double height,
                     const char *says);
void rdk_figure_close(rdk_text *t, const char *caption);

/* Box, grid, ticks, title, labels. Ends inside an open <g class="panel">. */
void rdk_panel_open(rdk_text *t, const rdk_panel *p, const char *id, size_t k);
void rdk_panel_close(rdk_text *t);
/* Between these, lines and bands: clipped to the box. */
void rdk_panel_clip(rdk_text *t, const rdk_panel *p, const char *id, size_t k);
void rdk_panel_unclip(rdk_text *t);
/* attributes: of the path, e.g. "class=\"run c0\"". */
void rdk_panel_line(rdk_text *t, const rdk_panel *p, const rdk_curve *c, const char *attributes);
/* The same points as circles. */
void rdk_panel_circles(rdk_text *t, const rdk_panel *p, const rdk_curve *c, const char *attributes);
void rdk_panel_band(rdk_text *t, const rdk_panel *p, const rdk_band *b, const char *attributes);
void rdk_panel_level(rdk_text *t, const rdk_panel *p, double y, const char *classes);
/* Outside of the clip, in figure units. */
void rdk_panel_word(rdk_text *t, const rdk_panel *p, double x, double y, const char *classes,
                    const char *word);
void rdk_panel_name(rdk_text *t, const rdk_panel *p, const rdk_level *l, const rdk_level_place *at);
void rdk_panel_cross(rdk_text *t, const rdk_panel *p, double x, double y, const char *classes);
void rdk_panel_bar(rdk_text *t, const rdk_panel *p, double x, double low, double high,
                   const char *classes);
/* shape: 0 disc, 1 square, 2 triangle, 3 diamond; says: what a pointer over it reads, or NULL. */
void rdk_panel_dot(rdk_text *t, const rdk_panel *p, double x, double y, int shape,
                   const char *classes, const char *says);

/* The rows behind a figure that is no curve figure, for its CSV button: text of a CSV file. */
void rdk_figure_csv(rdk_text *t, const char *id, const rdk_text *csv);
/* A field of such a text. */
void rdk_figure_field(rdk_text *csv, const char *word);
void rdk_figure_value(rdk_text *csv, double x);

/* ---- key.c ----------------------------------------------------------------------------------- */

/* What a figure has beside its series. */
enum {
    RDK_KEY_SEED = 1,
    RDK_KEY_BAND = 2,
    RDK_KEY_HELD = 4,
    RDK_KEY_THEORY = 8,
    RDK_KEY_LEVEL = 16,
    RDK_KEY_DIAGONAL = 32,
    RDK_KEY_DEATH = 64,
    RDK_KEY_POINTS = 128 /* the series are points, not lines */
};
/* The series and these marks, at the top of a figure. Height it needs: rdk_key_height. */
void rdk_figure_key(rdk_text *t, const rdk_report *r, bool half, unsigned marks);
double rdk_key_height(const rdk_report *r, bool half, unsigned marks);

/* ---- curves.c -------------------------------------------------------------------------------- */

/* A row of panels, one for each d_k: one curve of every run. */
typedef struct rdk_curve_row {
    const char *metric, *title, *unit; /* anchor of its definition; words */
    rdk_curve_of *curve, *second;      /* second: held-out beside training, or NULL */
    size_t which;
    bool log, share; /* share: from 0 to 1 */
    size_t (*levels)(rdk_report *r, size_t panel, size_t which, rdk_level *out);
} rdk_curve_row;

/* Where the names of n levels stand in a panel: labels.c. */
void rdk_level_places(const rdk_report *r, const rdk_curve_row *row, size_t panel,
                      const rdk_panel *p, const rdk_level *levels, size_t n, rdk_level_place *out);

/* budget: points that all curves together may have, so that the page stays small. */
void rdk_curve_figure(rdk_report *r, rdk_text *t, const char *id, const rdk_curve_row *rows,
                      size_t n_rows, size_t budget, const char *caption);

#endif
