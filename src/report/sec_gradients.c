/* SPDX-License-Identifier: MIT
 * Section 4: gradients. At the start against d_k, where d_k was varied; then over the steps.
 * Read next: sec_maps.c. */
#include <math.h>
#include <stdio.h>

#include "page.h"

static double raw_dq(const rdk_report_run *run)
{
    return run->start.dq;
}

static double dq_over_scale(const rdk_report_run *run)
{
    return run->start.dq / run->score_scale;
}

static double ds_p10(const rdk_report_run *run)
{
    return run->start.ds_p10;
}

static double ds_p90(const rdk_report_run *run)
{
    return run->start.ds_p90;
}

/* A panel against d_k: a line a series through the means of a figure at the start; low and high:
 * other figures of the rows, drawn as a bar (NULL: the interval over seeds). */
typedef struct start_panel {
    const char *title, *metric, *label, *column;
    rdk_figure_of *figure, *low, *high;
} start_panel;

static const start_panel STARTS[] = {
    {"Raw |dW_Q|", "ratio", "|dW_Q|", "dW_Q", raw_dq, NULL, NULL},
    {"|dW_Q| / c", "ratio", "|dW_Q| / c", "dW_Q_over_c", dq_over_scale, NULL, NULL},
    {"|dW_Q| / |dW_V|", "ratio", "ratio", "dW_Q_over_dW_V", rdk_run_ratio, NULL, NULL},
    {"Rows of dL/ds", "ds_median", "norm of a row", "ds_median", rdk_run_ds_median, ds_p10, ds_p90},
};

enum { PANELS = sizeof STARTS / sizeof *STARTS };

/* A point on a logarithmic axis: the geometric mean and the ends of its bar, NAN where there is
 * none. */
typedef struct point {
    double mean, low, high;
} point;

static double geometric_mean(rdk_report *r, rdk_figure_of *figure, size_t series, size_t panel)
{
    rdk_cell c = {series, panel, RDK_BEST_RATE};
    return exp(rdk_cell_log_interval(r, &c, figure).mean);
}

/* The bar: from p10 (where the run has it, else the median) to p90; or the interval over seeds. */
static point at(rdk_report *r, const start_panel *a, size_t series, size_t panel)
{
    rdk_cell c = {series, panel, RDK_BEST_RATE};
    rdk_interval v = rdk_cell_log_interval(r, &c, a->figure);
    point p = {exp(v.mean), NAN, NAN};
    if (a->high) {
        p.low = geometric_mean(r, a->low, series, panel);
        if (isnan(p.low)) p.low = p.mean;
        p.high = geometric_mean(r, a->high, series, panel);
    } else if (v.n > 2) {
        p.low = exp(v.mean - v.half);
        p.high = exp(v.mean + v.half);
    }
    return p;
}

static const double WIDEST = 4;

static rdk_axis y_axis(rdk_report *r, const start_panel *a)
{
    rdk_axis y = rdk_axis_new(a->label, true);
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            point v = at(r, a, s, p);
            rdk_axis_take(&y, v.mean);
            /* of few seeds an interval may be so wide that nothing else is seen */
            rdk_axis_take(&y, a->high ? v.low : fmax(v.low, v.mean / WIDEST));
            rdk_axis_take(&y, a->high ? v.high : fmin(v.high, v.mean * WIDEST));
        }
    }
    rdk_axis_finish(&y);
    return y;
}

static void draw_series(rdk_report *r, rdk_text *t, const start_panel *a, const rdk_panel *p,
                        size_t series)
{
    double *x = rdk_report_alloc(r, r->n_panels, sizeof *x);
    double *y = rdk_report_alloc(r, r->n_panels, sizeof *y);
    char classes[48];
    size_t n = 0;
    if (!x || !y) return;
    for (size_t k = 0; k < r->n_panels; k++) {
        point v = at(r, a, series, k);
        double shifted = (double)r->d_k[k] * pow(1.08, (double)series - (double)r->n_series / 2);
        if (!(v.mean > 0)) continue;
        snprintf(classes, sizeof classes, "bar c%d", r->colour[series]);
        rdk_panel_bar(t, p, shifted, v.low, v.high, classes);
        snprintf(classes, sizeof classes, "dot c%d", r->colour[series]);
        x[n] = shifted;
        y[n++] = v.mean;
        rdk_panel_dot(t, p, x[n - 1], v.mean, 0, classes, r->series[series]);
    }
    rdk_panel_clip(t, p, rdk_report_id(r, "fig-start-gradients"), (size_t)(a - STARTS));
    snprintf(classes, sizeof classes, "class=\"mean c%d d%d\"", r->colour[series],
             r->colour[series]);
    if (n) rdk_panel_line(t, p, &(rdk_curve){n, x, y}, classes);
    rdk_panel_unclip(t);
}

static void starts_rows(rdk_report *r, rdk_text *t)
{
    rdk_text csv = {0};
    rdk_text_add(&csv, "series,d_k");
    for (size_t k = 0; k < PANELS; k++) rdk_text_add(&csv, ",%s", STARTS[k].column);
    rdk_text_add(&csv, ",ds_p10,ds_p90,ds_top5_share\n");
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            rdk_figure_field(&csv, r->series[s]);
            rdk_figure_value(&csv, (double)r->d_k[p]);
            for (size_t k = 0; k < PANELS; k++)
                rdk_figure_value(&csv, geometric_mean(r, STARTS[k].figure, s, p));
            rdk_cell c = {s, p, RDK_BEST_RATE};
            rdk_figure_value(&csv, geometric_mean(r, ds_p10, s, p));
            rdk_figure_value(&csv, geometric_mean(r, ds_p90, s, p));
            rdk_figure_value(&csv, rdk_cell_interval(r, &c, rdk_run_ds_top5).mean);
            rdk_text_add(&csv, "\n");
        }
    }
    rdk_figure_csv(t, rdk_report_id(r, "fig-start-gradients"), &csv);
    rdk_text_free(&csv);
}

static void starts_figure(rdk_report *r, rdk_text *t)
{
    double height;
    rdk_axis x = rdk_axis_new("d_k", true);
    double *widths = rdk_report_alloc(r, r->n_panels, sizeof *widths);
    for (size_t p = 0; widths && p < r->n_panels; p++) {
        widths[p] = (double)r->d_k[p];
        rdk_axis_take(&x, widths[p] / 1.2); /* room for series beside each other */
        rdk_axis_take(&x, widths[p] * 1.2);
    }
    rdk_axis_finish(&x);
    x.given = widths;
    x.n_given = widths ? r->n_panels : 0;
    rdk_panel_at(0, PANELS, PANELS, rdk_key_height(r, false, 0), &height);
    rdk_figure_open(t, rdk_report_id(r, "fig-start-gradients"), "marks", false, height,
                    "Gradients at the start against d_k");
    rdk_figure_key(t, r, false, 0);
    for (size_t k = 0; k < PANELS; k++) {
        rdk_panel p = rdk_panel_at(k, PANELS, PANELS, rdk_key_height(r, false, 0), &height);
        p.title = STARTS[k].title;
        p.metric = STARTS[k].metric;
        p.x = x;
        p.y = y_axis(r, &STARTS[k]);
        rdk_panel_open(t, &p, rdk_report_id(r, "fig-start-gradients"), k);
        for (size_t s = 0; s < r->n_series; s++) draw_series(r, t, &STARTS[k], &p, s);
        rdk_panel_close(t);
    }
    rdk_figure_close(
        t, "Before the first update, mean over layers, geometric mean over seeds. <b>Raw |dW_Q| "
           "misleads</b>: the "
           "chain rule puts the factor c in front of it, so it is largest where attention is most "
           "saturated; divided by c the scalings come together, and against |dW_V|, which has no "
           "such factor, their slopes part. Saturation itself shows in the <a class=\"metric\" "
           "href=\"#m-ds_median\">rows of the score gradient</a>: point, median row; bar, from the "
           "10&nbsp;% to the 90&nbsp;% row (from the median where the run has no ds_p10).");
    starts_rows(r, t);
}

/* ---- over the steps -------------------------------------------------------------------------- */

static const rdk_curve *ratio(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->ratio;
}

static const rdk_curve *ds_median(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->ds_median;
}

void rdk_section_gradients(rdk_report *r, rdk_text *t)
{
    static const rdk_curve_row rows[] = {
        {"ratio", "|dW_Q| / |dW_V|", "ratio", ratio, NULL, 0, true, false, NULL},
        {"ds_median", "Median row of dL/ds", "norm", ds_median, NULL, 0, true, false, NULL},
    };
    if (!r->layers) {
        rdk_text_add(t, "<p class=\"none\">Gradients were not looked at: train with --probe-every "
                        "N.</p>\n");
        return;
    }
    if (r->n_panels > 1)
        starts_figure(r, t);
    else
        rdk_text_add(t, "<p class=\"none\">One d_k: no figure against d_k. Raw |dW_Q| would "
                        "mislead: the chain rule puts the factor c in front of it, so it is "
                        "largest where attention is most saturated.</p>\n");
    rdk_curve_figure(r, t, rdk_report_id(r, "fig-gradients"), rows, 2, 10000,
                     "<a class=\"metric\" href=\"#m-ratio\">|dW_Q| / |dW_V|</a>, mean over layers, "
                     "and the <a class=\"metric\" href=\"#m-ds_median\">median row</a> of the "
                     "gradient at the scores, mean over layers and heads, over the steps; their "
                     "mean and interval over seeds are of the logarithms. A solved "
                     "task has no gradient left either: read these beside the loss.");
}
