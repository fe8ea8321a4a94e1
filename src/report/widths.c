/* SPDX-License-Identifier: MIT
 * Figures against d_k: what was seen before the first update, a panel a figure, a line a series.
 *
 * Invariant: a point is drawn from the numbers that the CSV button saves.
 * Read next: sec_start.c, sec_gradients.c. */
#include <math.h>
#include <stdio.h>

#include "widths.h"

/* Of few seeds an interval may be so wide that nothing else is seen: an axis follows it up to so
 * many times the mean, and down to that part of it. */
static const double MOST_OF_AN_AXIS = 4;

/* A mean and the ends of its bar, NAN where there is none. */
typedef struct point {
    double mean, low, high;
} point;

/* ---- numbers --------------------------------------------------------------------------------- */

static rdk_interval interval(rdk_report *r, const rdk_width_panel *a, rdk_figure_of *figure,
                             size_t series, size_t width)
{
    rdk_cell c = {series, width, RDK_BEST_RATE};
    return a->geometric ? rdk_cell_log_interval(r, &c, figure) : rdk_cell_interval(r, &c, figure);
}

static double mean(rdk_report *r, const rdk_width_panel *a, rdk_figure_of *figure, size_t series,
                   size_t width)
{
    double m = figure ? interval(r, a, figure, series, width).mean : NAN;
    return a->geometric ? exp(m) : m;
}

/* The bar: from the low figure (where the run has it, else the mean) to the high one; or the
 * interval over seeds. */
static point point_at(rdk_report *r, const rdk_width_panel *a, size_t series, size_t width)
{
    rdk_interval v = interval(r, a, a->figure, series, width);
    point p = {mean(r, a, a->figure, series, width), NAN, NAN};
    if (a->high) {
        p.low = mean(r, a, a->low, series, width);
        if (isnan(p.low)) p.low = p.mean;
        p.high = mean(r, a, a->high, series, width);
    } else if (v.n > 2) {
        p.low = a->geometric ? exp(v.mean - v.half) : v.mean - v.half;
        p.high = a->geometric ? exp(v.mean + v.half) : v.mean + v.half;
    }
    return p;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Series stand beside each other, around their d_k. */
static double place(const rdk_report *r, const rdk_width_figure *f, size_t series, size_t width)
{
    return (double)r->d_k[width] * pow(f->apart, (double)series - (double)(r->n_series - 1) / 2);
}

static rdk_axis width_axis(rdk_report *r, const rdk_width_figure *f)
{
    rdk_axis x = rdk_axis_new("d_k", true);
    double *given = rdk_report_alloc(r, r->n_panels, sizeof *given);
    for (size_t p = 0; given && p < r->n_panels; p++) {
        given[p] = (double)r->d_k[p];
        rdk_axis_take(&x, place(r, f, 0, p));
        rdk_axis_take(&x, place(r, f, r->n_series - 1, p));
    }
    rdk_axis_finish(&x);
    x.given = given;
    x.n_given = given ? r->n_panels : 0;
    return x;
}

static rdk_axis figure_axis(rdk_report *r, const rdk_width_panel *a)
{
    rdk_axis y = rdk_axis_new(a->label, true);
    if (a->share) return (rdk_axis){.low = 0, .high = 1.02, .label = a->label};
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            point v = point_at(r, a, s, p);
            rdk_axis_take(&y, v.mean);
            rdk_axis_take(&y, mean(r, a, a->theory, s, p));
            if (isnan(v.low)) continue;
            rdk_axis_take(&y, a->high ? v.low : fmax(v.low, v.mean / MOST_OF_AN_AXIS));
            rdk_axis_take(&y, a->high ? v.high : fmin(v.high, v.mean * MOST_OF_AN_AXIS));
        }
    }
    rdk_axis_finish(&y);
    return y;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The line through the means, or through the predictions. */
static void draw_line(rdk_report *r, rdk_text *t, const rdk_width_figure *f,
                      const rdk_width_panel *a, const rdk_panel *p, size_t series, bool theory)
{
    double *x = rdk_report_alloc(r, r->n_panels, sizeof *x);
    double *y = rdk_report_alloc(r, r->n_panels, sizeof *y);
    char classes[48];
    size_t n = 0;
    for (size_t k = 0; x && y && k < r->n_panels; k++) {
        double value = mean(r, a, theory ? a->theory : a->figure, series, k);
        if (!isfinite(rdk_axis_place(&p->y, value))) continue;
        x[n] = place(r, f, series, k);
        y[n++] = value;
    }
    snprintf(classes, sizeof classes, theory ? "class=\"theory c%d\"" : "class=\"mean c%d d%d\"",
             r->colour[series], r->colour[series]);
    if (n) rdk_panel_line(t, p, &(rdk_curve){n, x, y}, classes);
}

/* Dots, which say their number, and bars. */
static void draw_marks(rdk_report *r, rdk_text *t, const rdk_width_figure *f,
                       const rdk_width_panel *a, const rdk_panel *p, size_t series)
{
    char classes[32], number[RDK_READABLE];
    for (size_t k = 0; k < r->n_panels; k++) {
        point v = point_at(r, a, series, k);
        double x = place(r, f, series, k);
        rdk_text says = {0};
        if (!isfinite(rdk_axis_place(&p->y, v.mean))) continue;
        rdk_text_add(&says, "%s, d_k %zu: measured %s", r->series[series], r->d_k[k],
                     rdk_readable(v.mean, number));
        if (a->theory)
            rdk_text_add(&says, ", predicted %s",
                         rdk_readable(mean(r, a, a->theory, series, k), number));
        snprintf(classes, sizeof classes, "bar c%d", r->colour[series]);
        rdk_panel_bar(t, p, x, v.low, v.high, classes);
        snprintf(classes, sizeof classes, "dot c%d", r->colour[series]);
        rdk_panel_dot(t, p, x, v.mean, 0, classes, says.data);
        rdk_text_free(&says);
    }
}

static void draw_panel(rdk_report *r, rdk_text *t, const rdk_width_figure *f, size_t k,
                       rdk_panel *p)
{
    const rdk_width_panel *a = &f->panels[k];
    const char *id = rdk_report_id(r, f->id);
    p->title = a->title;
    p->metric = a->metric;
    p->x = width_axis(r, f);
    p->y = figure_axis(r, a);
    rdk_panel_open(t, p, id, k);
    rdk_panel_clip(t, p, id, k);
    for (size_t s = 0; s < r->n_series; s++) {
        if (a->theory) draw_line(r, t, f, a, p, s, true);
        draw_line(r, t, f, a, p, s, false);
    }
    rdk_panel_unclip(t);
    for (size_t s = 0; s < r->n_series; s++) draw_marks(r, t, f, a, p, s);
    rdk_panel_close(t);
}

/* ---- the rows behind it ---------------------------------------------------------------------- */

/* Of a panel: its figure, what is predicted of it, the ends of its bar where they are figures. */
static void columns(const rdk_width_panel *a, rdk_text *csv)
{
    rdk_text_add(csv, ",%s", a->column);
    if (a->theory) rdk_text_add(csv, ",%s_theory", a->column);
    if (a->high) rdk_text_add(csv, ",%s,%s", a->low_column, a->high_column);
}

static void values(rdk_report *r, const rdk_width_panel *a, size_t series, size_t width,
                   rdk_text *csv)
{
    rdk_figure_value(csv, mean(r, a, a->figure, series, width));
    if (a->theory) rdk_figure_value(csv, mean(r, a, a->theory, series, width));
    if (a->high) rdk_figure_value(csv, mean(r, a, a->low, series, width));
    if (a->high) rdk_figure_value(csv, mean(r, a, a->high, series, width));
}

static void rows(rdk_report *r, rdk_text *t, const rdk_width_figure *f)
{
    rdk_text csv = {0};
    rdk_text_add(&csv, "series,d_k");
    for (size_t k = 0; k < f->n_panels + f->n_more; k++) columns(&f->panels[k], &csv);
    rdk_text_add(&csv, "\n");
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            rdk_figure_field(&csv, r->series[s]);
            rdk_figure_value(&csv, (double)r->d_k[p]);
            for (size_t k = 0; k < f->n_panels + f->n_more; k++)
                values(r, &f->panels[k], s, p, &csv);
            rdk_text_add(&csv, "\n");
        }
    }
    rdk_figure_csv(t, rdk_report_id(r, f->id), &csv);
    rdk_text_free(&csv);
}

void rdk_width_draw(rdk_report *r, rdk_text *t, const rdk_width_figure *f)
{
    double height, key = rdk_key_height(r, false, f->marks);
    rdk_panel_at(0, f->n_panels, f->n_panels, key, &height);
    rdk_figure_open(t, rdk_report_id(r, f->id), "marks", false, height, f->says);
    rdk_figure_key(t, r, false, f->marks);
    for (size_t k = 0; k < f->n_panels; k++) {
        rdk_panel p = rdk_panel_at(k, f->n_panels, f->n_panels, key, &height);
        draw_panel(r, t, f, k, &p);
    }
    rdk_figure_close(t, f->caption);
    rows(r, t, f);
}
