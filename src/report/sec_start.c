/* SPDX-License-Identifier: MIT
 * Section 3, where d_k was varied: score deviation and entropy before the first update against d_k,
 * beside what theory predicts.
 * Read next: sec_gradients.c. */
#include <math.h>
#include <stdio.h>

#include "page.h"

/* A panel: what was measured, and what is predicted. */
typedef struct against {
    const char *title, *metric, *label;
    rdk_figure_of *measured, *theory;
    bool share; /* from 0 to 1; else on a logarithmic axis */
} against;

static const against PANELS[] = {
    {"Score deviation at the start", "score_std", "std of the scores", rdk_run_std_start,
     rdk_run_std_theory, false},
    {"Entropy at the start", "entropy_norm", "H / ln n", rdk_run_entropy_start,
     rdk_run_entropy_theory, true},
};

enum { N_PANELS = sizeof PANELS / sizeof *PANELS };

static rdk_interval figure_at(rdk_report *r, const against *a, size_t series, size_t panel,
                              bool theory)
{
    rdk_cell c = {series, panel, RDK_BEST_RATE};
    return rdk_cell_interval(r, &c, theory ? a->theory : a->measured);
}

static rdk_axis y_axis(rdk_report *r, const against *a)
{
    rdk_axis y = rdk_axis_new(a->label, true);
    if (a->share) return (rdk_axis){.low = 0, .high = 1.02, .label = a->label};
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            rdk_axis_take(&y, figure_at(r, a, s, p, false).mean);
            rdk_axis_take(&y, figure_at(r, a, s, p, true).mean);
        }
    }
    rdk_axis_finish(&y);
    return y;
}

/* The line through the means, or through the predictions. */
static void draw_line(rdk_report *r, rdk_text *t, const against *a, const rdk_panel *p,
                      size_t series, bool theory)
{
    double *x = rdk_report_alloc(r, r->n_panels, sizeof *x);
    double *y = rdk_report_alloc(r, r->n_panels, sizeof *y);
    char classes[48];
    size_t n = 0;
    for (size_t k = 0; x && y && k < r->n_panels; k++) {
        rdk_interval v = figure_at(r, a, series, k, theory);
        if (!isfinite(v.mean)) continue;
        x[n] = (double)r->d_k[k];
        y[n++] = v.mean;
    }
    snprintf(classes, sizeof classes, theory ? "class=\"theory c%d\"" : "class=\"mean c%d d%d\"",
             r->colour[series], r->colour[series]);
    if (n) rdk_panel_line(t, p, &(rdk_curve){n, x, y}, classes);
}

static void draw_marks(rdk_report *r, rdk_text *t, const against *a, const rdk_panel *p,
                       size_t series)
{
    char classes[32], measured[RDK_READABLE], predicted[RDK_READABLE];
    for (size_t k = 0; k < r->n_panels; k++) {
        rdk_interval v = figure_at(r, a, series, k, false);
        rdk_text says = {0};
        if (!isfinite(v.mean)) continue;
        double d_k = (double)r->d_k[k];
        rdk_text_add(&says, "%s, d_k %.0f: measured %s, predicted %s", r->series[series], d_k,
                     rdk_readable(v.mean, measured),
                     rdk_readable(figure_at(r, a, series, k, true).mean, predicted));
        snprintf(classes, sizeof classes, "bar c%d", r->colour[series]);
        if (v.n > 2) rdk_panel_bar(t, p, d_k, v.mean - v.half, v.mean + v.half, classes);
        snprintf(classes, sizeof classes, "dot c%d", r->colour[series]);
        rdk_panel_dot(t, p, d_k, v.mean, 0, classes, says.data);
        rdk_text_free(&says);
    }
}

static void start_rows(rdk_report *r, rdk_text *t)
{
    rdk_text csv = {0};
    rdk_text_add(&csv, "series,d_k,score_std,score_std_theory,entropy_norm,entropy_norm_theory\n");
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            rdk_figure_field(&csv, r->series[s]);
            rdk_figure_value(&csv, (double)r->d_k[p]);
            for (size_t k = 0; k < N_PANELS; k++) {
                rdk_figure_value(&csv, figure_at(r, &PANELS[k], s, p, false).mean);
                rdk_figure_value(&csv, figure_at(r, &PANELS[k], s, p, true).mean);
            }
            rdk_text_add(&csv, "\n");
        }
    }
    rdk_figure_csv(t, rdk_report_id(r, "fig-start"), &csv);
    rdk_text_free(&csv);
}

void rdk_start_figure(rdk_report *r, rdk_text *t)
{
    double height;
    if (r->n_panels < 2) return;
    rdk_axis x = rdk_axis_new("d_k", true);
    double *widths = rdk_report_alloc(r, r->n_panels, sizeof *widths);
    for (size_t p = 0; widths && p < r->n_panels; p++) {
        widths[p] = (double)r->d_k[p];
        rdk_axis_take(&x, widths[p]);
    }
    rdk_axis_finish(&x);
    x.given = widths;
    x.n_given = widths ? r->n_panels : 0;
    const char *id = rdk_report_id(r, "fig-start");
    double key = rdk_key_height(r, false, RDK_KEY_THEORY);
    rdk_panel_at(0, N_PANELS, N_PANELS, key, &height);
    rdk_figure_open(t, id, "marks", false, height,
                    "Score deviation and entropy at the start against d_k");
    rdk_figure_key(t, r, false, RDK_KEY_THEORY);
    for (size_t k = 0; k < N_PANELS; k++) {
        rdk_panel p = rdk_panel_at(k, N_PANELS, N_PANELS, key, &height);
        p.title = PANELS[k].title;
        p.metric = PANELS[k].metric;
        p.x = x;
        p.y = y_axis(r, &PANELS[k]);
        rdk_panel_open(t, &p, id, k);
        rdk_panel_clip(t, &p, id, k);
        for (size_t s = 0; s < r->n_series; s++) {
            draw_line(r, t, &PANELS[k], &p, s, true);
            draw_line(r, t, &PANELS[k], &p, s, false);
        }
        rdk_panel_unclip(t);
        for (size_t s = 0; s < r->n_series; s++) draw_marks(r, t, &PANELS[k], &p, s);
        rdk_panel_close(t);
    }
    rdk_figure_close(t, "Before the first update, against d_k: mean over layers, heads and seeds; "
                        "bars are 95&nbsp;% t-intervals of three seeds or more. Dots: what "
                        "theory predicts from the initial weights.");
    start_rows(r, t);
}
