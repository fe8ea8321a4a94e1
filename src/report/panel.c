/* SPDX-License-Identifier: MIT
 * Panels of a figure and the marks in them, as SVG.
 *
 * Lines and bands are written in tenths of a unit as whole numbers, each relative to the one
 * before: that is what keeps a page of a hundred runs small.
 * Read next: curves.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figure.h"
#include "svg.h"

enum { LEFT = RDK_FIGURE_LEFT, RIGHT = 14, ABOVE = 24, BELOW = 40, EDGE = 3 };
static const double FLATTEST = 150, TALLEST = 250;

rdk_panel rdk_panel_at(size_t k, size_t n, size_t columns, double above, double *height)
{
    double cell = (double)RDK_FIGURE_WIDTH / (double)columns;
    double width = cell - LEFT - RIGHT, tall = fmin(fmax(0.72 * width, FLATTEST), TALLEST);
    double line = tall + ABOVE + BELOW;
    size_t lines = (n + columns - 1) / columns;
    *height = above + (double)lines * line;
    return (rdk_panel){.left = (double)(k % columns) * cell + LEFT,
                       .top = above + rdk_count(k / columns) * line + ABOVE,
                       .width = width,
                       .height = tall};
}

/* ---- the figure ------------------------------------------------------------------------------ */

void rdk_figure_open(rdk_text *t, const char *id, const char *classes, bool half, double height,
                     const char *says)
{
    rdk_text_add(t, "<figure id=\"%s\" class=\"%s%s\">\n<svg viewBox=\"0 0 %d ", id, classes,
                 half ? " half" : "", half ? RDK_FIGURE_WIDTH / 2 : RDK_FIGURE_WIDTH);
    rdk_coordinate(t, height);
    rdk_text_add(t, "\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"");
    rdk_html(t, says);
    rdk_text_add(t, "\">\n");
}

void rdk_figure_close(rdk_text *t, const char *caption)
{
    rdk_text_add(t, "</svg>\n<figcaption>%s</figcaption>\n</figure>\n", caption);
}

/* ---- frame ----------------------------------------------------------------------------------- */

static void line(rdk_text *t, double x, double y, double dx, double dy, const char *classes)
{
    rdk_text_add(t, "<path class=\"%s\" d=\"M", classes);
    rdk_coordinate(t, x);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y);
    rdk_text_add(t, dx != 0 ? "h" : "v");
    rdk_coordinate(t, dx != 0 ? dx : dy);
    rdk_text_add(t, "\"/>");
}

static double at_x(const rdk_panel *p, double x)
{
    return p->left + p->width * rdk_axis_place(&p->x, x);
}

static double at_y(const rdk_panel *p, double y)
{
    return p->top + p->height * (1 - rdk_axis_place(&p->y, y));
}

static void draw_ticks(rdk_text *t, const rdk_panel *p)
{
    double ticks[RDK_MOST_TICKS];
    char word[RDK_READABLE];
    size_t n = rdk_axis_ticks(&p->x, ticks);
    for (size_t i = 0; i < n; i++) {
        line(t, at_x(p, ticks[i]), p->top + p->height, 0, 4, "tick");
        rdk_svg_text(t, at_x(p, ticks[i]), p->top + p->height + 15, "number mid",
                     rdk_readable(ticks[i], word));
    }
    n = rdk_axis_ticks(&p->y, ticks);
    for (size_t i = 0; i < n; i++) {
        line(t, p->left, at_y(p, ticks[i]), p->width, 0, "grid");
        rdk_svg_text(t, p->left - 5, at_y(p, ticks[i]) + 3.5, "number end",
                     rdk_readable(ticks[i], word));
    }
}

static void draw_y_label(rdk_text *t, const rdk_panel *p)
{
    double x = p->left - LEFT + 10, y = p->top + p->height / 2;
    rdk_text_add(t, "<g transform=\"translate(");
    rdk_coordinate(t, x);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y);
    rdk_text_add(t, ") rotate(-90)\">");
    rdk_svg_text(t, 0, 0, "axis mid", p->y.label);
    rdk_text_add(t, "</g>");
}

void rdk_panel_open(rdk_text *t, const rdk_panel *p, const char *id, size_t k)
{
    rdk_text_add(t, "<g class=\"panel\" data-p=\"%zu\">\n<clipPath id=\"%s-%zu\"><rect x=\"", k, id,
                 k);
    rdk_coordinate(t, p->left - EDGE); /* so that a mark at the edge is whole */
    rdk_text_add(t, "\" y=\"");
    rdk_coordinate(t, p->top - EDGE);
    rdk_text_add(t, "\" width=\"");
    rdk_coordinate(t, p->width + 2 * EDGE);
    rdk_text_add(t, "\" height=\"");
    rdk_coordinate(t, p->height + 2 * EDGE);
    rdk_text_add(t, "\"/></clipPath>\n");
    if (p->metric) rdk_text_add(t, "<a href=\"#m-%s\">", p->metric);
    rdk_svg_title(t, p->left, p->top - 8,
                  &(rdk_room){p->left - LEFT + 6, p->left + p->width + RIGHT - 6}, false, p->title);
    if (p->metric) rdk_text_add(t, "</a>");
    rdk_text_add(t, "<g class=\"axes\">");
    draw_ticks(t, p);
    rdk_text_add(t, "</g>");
    line(t, p->left, p->top + p->height, p->width, 0, "base");
    rdk_svg_text(t, p->left + p->width / 2, p->top + p->height + 31, "axis mid", p->x.label);
    draw_y_label(t, p);
    rdk_text_add(t, "\n");
}

void rdk_panel_close(rdk_text *t)
{
    rdk_text_add(t, "</g>\n");
}

void rdk_panel_clip(rdk_text *t, const rdk_panel *p, const char *id, size_t k)
{
    rdk_text_add(t, "<g clip-path=\"url(#%s-%zu)\"><g class=\"lines\" transform=\"translate(", id,
                 k);
    rdk_coordinate(t, p->left);
    rdk_text_add(t, " ");
    rdk_coordinate(t, p->top);
    rdk_text_add(t, ") scale(.1)\">\n");
}

void rdk_panel_unclip(rdk_text *t)
{
    rdk_text_add(t, "</g></g>\n");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The pen: where the last point was, in tenths. */
typedef struct pen {
    rdk_text *t;
    const rdk_panel *p;
    long x, y;
    bool down;
} pen;

static long tenths(double size, double place)
{
    return lround(10 * size * fmin(fmax(place, -2), 3)); /* far outside is outside enough */
}

static void draw_to(pen *n, double x, double y)
{
    double px = rdk_axis_place(&n->p->x, x), py = rdk_axis_place(&n->p->y, y);
    if (!isfinite(px) || !isfinite(py)) {
        n->down = false;
        return;
    }
    long to_x = tenths(n->p->width, px), to_y = tenths(n->p->height, 1 - py);
    long dx = to_x - n->x, dy = to_y - n->y;
    if (!n->down)
        rdk_text_add(n->t, "M%ld %ldl0 0", to_x, to_y);
    else if (dx || dy)
        rdk_text_add(n->t, "%s%ld%s%ld", dx < 0 ? "" : " ", dx, dy < 0 ? "" : " ", dy);
    n->x = to_x;
    n->y = to_y;
    n->down = true;
}

void rdk_panel_line(rdk_text *t, const rdk_panel *p, const rdk_curve *c, const char *attributes)
{
    pen n = {.t = t, .p = p};
    rdk_text_add(t, "<path %s d=\"", attributes);
    for (size_t i = 0; i < c->n; i++) draw_to(&n, c->x[i], c->y[i]);
    if (c->n == 1 && n.down) rdk_text_add(t, " 30 0"); /* a point alone is a short line */
    rdk_text_add(t, "\"/>\n");
}

/* At most so many of the points of a curve, the last among them. */
void rdk_panel_circles(rdk_text *t, const rdk_panel *p, const rdk_curve *c, const char *attributes)
{
    enum { MOST = 40, RADIUS = 24 }; /* tenths */
    size_t stride = (c->n + MOST - 1) / MOST;
    rdk_text_add(t, "<path %s d=\"", attributes);
    for (size_t k = c->n; k > 0; k = k > stride ? k - stride : 0) {
        double px = rdk_axis_place(&p->x, c->x[k - 1]), py = rdk_axis_place(&p->y, c->y[k - 1]);
        if (!isfinite(px) || !isfinite(py)) continue;
        rdk_text_add(t, "M%ld %ldm%d 0a%d %d 0 1 0 %d 0a%d %d 0 1 0 %d 0", tenths(p->width, px),
                     tenths(p->height, 1 - py), -RADIUS, RADIUS, RADIUS, 2 * RADIUS, RADIUS, RADIUS,
                     -2 * RADIUS);
    }
    rdk_text_add(t, "\"/>\n");
}

void rdk_panel_band(rdk_text *t, const rdk_panel *p, const rdk_band *b, const char *attributes)
{
    pen n = {.t = t, .p = p};
    double floor = p->y.log ? p->y.low : -INFINITY;
    rdk_text_add(t, "<path %s d=\"", attributes);
    for (size_t i = 0; i < b->mean.n; i++) draw_to(&n, b->mean.x[i], fmax(b->high[i], floor));
    for (size_t i = b->mean.n; i-- > 0;) draw_to(&n, b->mean.x[i], fmax(b->low[i], floor));
    rdk_text_add(t, "z\"/>\n");
}

void rdk_panel_level(rdk_text *t, const rdk_panel *p, double y, const char *classes)
{
    double place = rdk_axis_place(&p->y, y);
    if (!(place >= 0 && place <= 1)) return;
    rdk_text_add(t, "<path class=\"%s\" d=\"M0 %ldh%ld\"/>\n", classes,
                 tenths(p->height, 1 - place), tenths(p->width, 1));
}

/* ---- marks ----------------------------------------------------------------------------------- */

void rdk_panel_word(rdk_text *t, const rdk_panel *p, double x, double y, const char *classes,
                    const char *word)
{
    rdk_svg_text(t, at_x(p, x), at_y(p, y), classes, word);
}

void rdk_panel_name(rdk_text *t, const rdk_panel *p, const rdk_level *l, const rdk_level_place *at)
{
    static const char *const classes[] = {"note end", "note", "note mid"};
    double x[] = {p->left + p->width, p->left + 4, p->left + p->width / 2};
    rdk_svg_text(t, x[at->anchor], at_y(p, l->y) + at->below, classes[at->anchor], l->label);
}

/* Inside the box, or at its edge. */
static void place_mark(const rdk_panel *p, double *x, double *y)
{
    *x = fmin(fmax(at_x(p, *x), p->left), p->left + p->width);
    *y = isnan(at_y(p, *y)) ? p->top + p->height
                            : fmin(fmax(at_y(p, *y), p->top), p->top + p->height);
}

void rdk_panel_cross(rdk_text *t, const rdk_panel *p, double x, double y, const char *classes)
{
    place_mark(p, &x, &y);
    rdk_text_add(t, "<path class=\"%s\" d=\"M", classes);
    rdk_coordinate(t, x - 4);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y - 4);
    rdk_text_add(t, "l8 8m0-8l-8 8\"/>\n");
}

void rdk_panel_bar(rdk_text *t, const rdk_panel *p, double x, double low, double high,
                   const char *classes)
{
    double x_low = x, x_high = x;
    if (isnan(low) || isnan(high)) return;
    place_mark(p, &x_low, &low);
    place_mark(p, &x_high, &high);
    if (low - high >= 0.1) line(t, x_low, high, 0, low - high, classes);
}

void rdk_panel_dot(rdk_text *t, const rdk_panel *p, double x, double y, int shape,
                   const char *classes, const char *says)
{
    static const char *const shapes[] = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
                                         "m-3.2-3.2h6.4v6.4h-6.4z", "m0-4.2l4 7h-8z",
                                         "m0-4.4l4.2 4.4l-4.2 4.4l-4.2-4.4z"};
    place_mark(p, &x, &y);
    rdk_text_add(t, "<path class=\"%s\" d=\"M", classes);
    rdk_coordinate(t, x);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y);
    rdk_text_add(t, "%s\">", shapes[shape & 3]);
    if (says) {
        rdk_text_add(t, "<title>");
        rdk_html(t, says);
        rdk_text_add(t, "</title>");
    }
    rdk_text_add(t, "</path>\n");
}

/* ---- the numbers behind a figure ------------------------------------------------------------- */

void rdk_figure_csv(rdk_text *t, const char *id, const rdk_text *csv)
{
    rdk_text_add(t, "<script type=\"application/json\" class=\"csv\" data-of=\"%s\">", id);
    rdk_page_json(t, csv->data ? csv->data : "");
    rdk_text_add(t, "</script>\n");
}

void rdk_figure_field(rdk_text *csv, const char *word)
{
    bool first = !csv->size || csv->data[csv->size - 1] == '\n';
    if (!first) rdk_text_add(csv, ",");
    rdk_text_csv(csv, word);
}

void rdk_figure_value(rdk_text *csv, double x)
{
    char number[RDK_NUMBER_TEXT];
    rdk_figure_field(csv, isnan(x) ? "" : rdk_text_figure(x, number));
}
