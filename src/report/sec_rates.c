/* SPDX-License-Identifier: MIT
 * Section 6: final loss against the learning rate. Section 7: entropy against loss along the steps.
 * Read next: sec_metrics.c. */
#include <math.h>
#include <stdio.h>

#include "page.h"
#include "shade.h"

enum { MOST_COLUMNS = 4, MOST_DOTS = 24 };

static size_t columns_of(const rdk_report *r)
{
    return r->n_panels < 2 ? 2 : r->n_panels < MOST_COLUMNS ? r->n_panels : MOST_COLUMNS;
}

static void panel_title(const rdk_report *r, size_t panel, const char *what, char title[96])
{
    snprintf(title, 96, "%s, d_k = %zu", what, r->d_k[panel]);
}

/* ---- 6 --------------------------------------------------------------------------------------- */

static rdk_axis loss_axis(rdk_report *r)
{
    rdk_axis y = rdk_axis_new("final held-out loss", true);
    for (size_t i = 0; i < r->n_runs; i++) rdk_axis_take(&y, rdk_run_loss(&r->runs[i]));
    rdk_axis_finish(&y);
    return y;
}

/* Series stand a little beside each other, so that their bars do not hide each other. */
static double beside(const rdk_report *r, const rdk_panel *p, double rate, size_t series)
{
    double from_middle = rdk_count(series) - (rdk_count(r->n_series) - 1) / 2;
    return rate * pow(p->x.high / p->x.low, 0.014 * from_middle);
}

static void rate_seeds(rdk_report *r, rdk_text *t, const rdk_panel *p, size_t panel)
{
    char classes[32], a[RDK_READABLE];
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        double loss = rdk_run_loss(run);
        rdk_text says = {0};
        if (run->panel != panel) continue;
        rdk_text_add(&says, "%s: %s", run->name, rdk_readable(loss, a));
        snprintf(classes, sizeof classes, "seed c%d", r->colour[run->series]);
        if (isfinite(loss))
            rdk_panel_dot(t, p, beside(r, p, r->rate_value[run->rate], run->series), loss, 0,
                          classes, says.data);
        rdk_text_free(&says);
    }
}

/* Crosses of diverged runs, at the top, series beside each other. */
static void rate_failures(rdk_report *r, rdk_text *t, const rdk_panel *p, size_t panel)
{
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t k = 0; k < r->n_rates; k++) {
            rdk_cell c = {s, panel, (int)k};
            size_t diverged;
            rdk_cell_runs(r, &c, &diverged);
            double x = beside(r, p, r->rate_value[k], s);
            char word[48];
            if (!diverged) continue;
            rdk_panel_cross(t, p, x, p->y.high, "death");
            snprintf(word, sizeof word, "%zu", diverged);
            rdk_panel_word(t, p, x, p->y.high * pow(p->y.low / p->y.high, .07), "note mid", word);
        }
    }
}

static void rate_series(rdk_report *r, rdk_text *t, const rdk_panel *p, size_t panel, size_t series)
{
    double *x = rdk_report_alloc(r, r->n_rates, sizeof *x);
    double *y = rdk_report_alloc(r, r->n_rates, sizeof *y);
    char classes[48];
    size_t n = 0;
    for (size_t k = 0; x && y && k < r->n_rates; k++) {
        rdk_cell c = {series, panel, (int)k};
        rdk_interval v = rdk_cell_interval(r, &c, rdk_run_loss);
        if (!v.n) continue;
        snprintf(classes, sizeof classes, "bar c%d", r->colour[series]);
        if (v.n > 2)
            rdk_panel_bar(t, p, beside(r, p, r->rate_value[k], series), v.mean - v.half,
                          v.mean + v.half, classes);
        x[n] = beside(r, p, r->rate_value[k], series);
        y[n++] = v.mean;
    }
    rdk_panel_clip(t, p, rdk_report_id(r, "fig-rates"), panel);
    snprintf(classes, sizeof classes, "class=\"mean c%d d%d\"", r->colour[series], r->dash[series]);
    if (n) rdk_panel_line(t, p, &(rdk_curve){n, x, y}, classes);
    rdk_panel_unclip(t);
}

static void rate_rows(rdk_report *r, rdk_text *t)
{
    rdk_text csv = {0};
    rdk_text_add(&csv, "run,series,d_k,lr,loss,status\n");
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        rdk_figure_field(&csv, run->name);
        rdk_figure_field(&csv, r->series[run->series]);
        rdk_figure_value(&csv, (double)r->d_k[run->panel]);
        rdk_figure_field(&csv, r->rate[run->rate]);
        rdk_figure_value(&csv, rdk_run_loss(run));
        rdk_figure_field(&csv, run->status);
        rdk_text_add(&csv, "\n");
    }
    rdk_figure_csv(t, rdk_report_id(r, "fig-rates"), &csv);
    rdk_text_free(&csv);
}

void rdk_section_rates(rdk_report *r, rdk_text *t)
{
    double height;
    char title[96];
    if (r->n_rates < 2) {
        rdk_text_add(t, "<p class=\"none\">One learning rate was run, so there is no curve over "
                        "rates: vary --lr to see how wide the window is.</p>\n");
        return;
    }
    size_t columns = columns_of(r);
    rdk_axis x = rdk_axis_new("learning rate", true), y = loss_axis(r);
    for (size_t k = 0; k < r->n_rates; k++) rdk_axis_take(&x, r->rate_value[k]);
    rdk_axis_finish(&x);
    x.given = r->rate_value;
    x.n_given = r->n_rates;
    bool half = r->n_panels == 1;
    double key = rdk_key_height(r, half, 0);
    rdk_panel_at(0, r->n_panels, columns, key, &height);
    rdk_figure_open(t, rdk_report_id(r, "fig-rates"), "marks", half, height,
                    "Final loss against learning rate");
    rdk_figure_key(t, r, half, 0);
    for (size_t panel = 0; panel < r->n_panels; panel++) {
        rdk_panel p = rdk_panel_at(panel, r->n_panels, columns, key, &height);
        panel_title(r, panel, "Final loss", title);
        p.title = title;
        p.metric = "loss";
        p.x = x;
        p.y = y;
        rdk_panel_open(t, &p, rdk_report_id(r, "fig-rates"), panel);
        for (size_t s = 0; s < r->n_series; s++) rate_series(r, t, &p, panel, s);
        rate_seeds(r, t, &p, panel);
        rate_failures(r, t, &p, panel);
        rdk_panel_close(t);
    }
    rdk_figure_close(
        t, "Final held-out <a class=\"metric\" href=\"#m-loss\">loss</a>: small "
           "discs are seeds, the line joins their means (of those that did not "
           "diverge), bars are 95&nbsp;% t-intervals of three seeds or more; series stand a "
           "little beside each other. "
           "<span class=\"bad\">&times;</span>: runs that diverged, and how many. "
           "<a class=\"metric\" href=\"#m-sensitivity\">Sensitivity</a> is how far a seed's losses "
           "lie above its lowest one, in the mean over the rates, with no loss counted above that "
           "of chance: a difference of losses, while a logarithmic axis shows ratios, so a steep "
           "line among small losses can be the less sensitive one.");
    rate_rows(r, t);
}

/* ---- 7 --------------------------------------------------------------------------------------- */

static const rdk_curve *entropy_mean(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->entropy_mean;
}

static const rdk_curve *loss_at_probe(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->loss_at_probe;
}

/* Of a series: its means over seeds at the probed steps. */
typedef struct trajectory {
    size_t n;
    const double *step, *entropy, *loss;
} trajectory;

/* Rows are logged and probed at intervals of their own: the steps that have both. */
static trajectory trajectory_of(rdk_report *r, size_t series, size_t panel)
{
    rdk_cell c = {series, panel, RDK_BEST_RATE};
    rdk_band e = rdk_cell_band(r, &c, entropy_mean, 0, false),
             l = rdk_cell_band(r, &c, loss_at_probe, 0, false);
    double *entropy = rdk_report_alloc(r, e.mean.n + 1, sizeof *entropy);
    double *loss = rdk_report_alloc(r, e.mean.n + 1, sizeof *loss);
    double *step = rdk_report_alloc(r, e.mean.n + 1, sizeof *step);
    size_t n = 0;
    if (!entropy || !loss || !step) return (trajectory){0};
    for (size_t i = 0, k = 0; i < e.mean.n; i++) {
        while (k < l.mean.n && l.mean.x[k] < e.mean.x[i]) k++;
        if (k == l.mean.n || l.mean.x[k] != e.mean.x[i]) continue;
        if (isnan(e.mean.y[i]) || isnan(l.mean.y[k])) continue;
        step[n] = e.mean.x[i];
        entropy[n] = e.mean.y[i];
        loss[n++] = l.mean.y[k];
    }
    return (trajectory){n, step, entropy, loss};
}

static void trajectory_series(rdk_report *r, rdk_text *t, const rdk_panel *p, size_t panel,
                              size_t series, double last, rdk_text *csv)
{
    trajectory v = trajectory_of(r, series, panel);
    char classes[48];
    rdk_panel_clip(t, p, rdk_report_id(r, "fig-trajectory"), panel);
    snprintf(classes, sizeof classes, "class=\"mean c%d d%d\"", r->colour[series], r->dash[series]);
    if (v.n) rdk_panel_line(t, p, &(rdk_curve){v.n, v.entropy, v.loss}, classes);
    rdk_panel_unclip(t);
    size_t stride = (v.n + MOST_DOTS - 1) / MOST_DOTS;
    for (size_t i = 0; i < v.n; i++) {
        rdk_figure_field(csv, r->series[series]);
        rdk_figure_value(csv, (double)r->d_k[panel]);
        rdk_figure_value(csv, v.step[i]);
        rdk_figure_value(csv, v.entropy[i]);
        rdk_figure_value(csv, v.loss[i]);
        rdk_text_add(csv, "\n");
        if (i % stride && i + 1 < v.n) continue;
        rdk_text says = {0};
        rdk_text_add(&says, "%s, step %.0f: H / ln n %.3f, loss %.4f", r->series[series], v.step[i],
                     v.entropy[i], v.loss[i]);
        snprintf(classes, sizeof classes, "step h%ld c%d",
                 lround(v.step[i] / last * (RDK_SHADES - 1)), r->colour[series]);
        rdk_panel_dot(t, p, v.entropy[i], v.loss[i], 0, classes, says.data);
        rdk_text_free(&says);
    }
}

static double last_step(const rdk_report *r)
{
    double last = 1;
    for (size_t i = 0; i < r->n_runs; i++) last = fmax(last, r->runs[i].step);
    return last;
}

static rdk_axis trajectory_axis(rdk_report *r)
{
    rdk_axis y = rdk_axis_new("training loss", false);
    rdk_axis_take(&y, 0);
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            trajectory v = trajectory_of(r, s, p);
            for (size_t i = 0; i < v.n; i++) rdk_axis_take(&y, v.loss[i]);
        }
    }
    rdk_axis_finish(&y);
    return y;
}

void rdk_section_trajectory(rdk_report *r, rdk_text *t)
{
    double height, last = last_step(r), key = rdk_key_height(r, r->n_panels == 1, 0) + 18;
    size_t columns = columns_of(r);
    char title[96], word[64];
    rdk_text csv = {0};
    if (!r->layers) {
        rdk_text_add(t, "<p class=\"none\">Attention was not looked at: train with --probe-every "
                        "N.</p>\n");
        return;
    }
    rdk_text_add(&csv, "series,d_k,step,entropy_norm,loss\n");
    rdk_axis y = trajectory_axis(r);
    rdk_panel_at(0, r->n_panels, columns, key, &height);
    rdk_figure_open(t, rdk_report_id(r, "fig-trajectory"), "marks", r->n_panels == 1, height,
                    "Entropy against loss");
    rdk_figure_key(t, r, r->n_panels == 1, 0);
    snprintf(word, sizeof word, "step %.0f", last);
    rdk_shade_key(t, 100, key - 14, "step 0", word);
    for (size_t panel = 0; panel < r->n_panels; panel++) {
        rdk_panel p = rdk_panel_at(panel, r->n_panels, columns, key, &height);
        panel_title(r, panel, "Entropy against loss", title);
        p.title = title;
        p.metric = "entropy_norm";
        p.x = (rdk_axis){.low = 0, .high = 1.02, .label = "H / ln n"};
        p.y = y;
        rdk_panel_open(t, &p, rdk_report_id(r, "fig-trajectory"), panel);
        for (size_t s = 0; s < r->n_series; s++) trajectory_series(r, t, &p, panel, s, last, &csv);
        rdk_panel_close(t);
    }
    rdk_figure_close(t, "Mean <a class=\"metric\" href=\"#m-entropy_norm\">entropy</a> over layers "
                        "and heads against the training loss of the same step; colour is the step. "
                        "Low entropy at a high loss is saturation, at a low loss success. How a "
                        "healthy run moves: from the right, down to the lower left. Diverged runs "
                        "are left out.");
    rdk_figure_csv(t, rdk_report_id(r, "fig-trajectory"), &csv);
    rdk_text_free(&csv);
}
