/* SPDX-License-Identifier: MIT
 * From the tables of a run to its curves; its figures are those of figures.c.
 *
 * Columns are found by name: those that a run does not have leave NAN and empty curves, so runs of
 * other versions are read too.
 * Read next: classify.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data.h"

/* ---- rows of a table ------------------------------------------------------------------------- */

/* A column, or NULL where there is none or it holds words. */
static const double *column(const rdk_table *t, const char *name)
{
    rdk_status ignored = {0};
    return t ? rdk_table_numbers(t, name, &ignored) : NULL;
}

/* Rows whose word in that column is this, as a curve over the steps. */
static rdk_curve rows_with(rdk_report *r, const rdk_table *t, const char *name, const char *by,
                           const char *word)
{
    const double *step = column(t, "step"), *y = column(t, name);
    if (!step || !y) return (rdk_curve){0};
    double *cx = rdk_report_alloc(r, t->rows + 1, sizeof *cx);
    double *cy = rdk_report_alloc(r, t->rows + 1, sizeof *cy);
    int c = rdk_table_column(t, by);
    size_t n = 0;
    for (size_t i = 0; cx && cy && i < t->rows; i++) {
        if (strcmp(rdk_table_word(t, i, c), word) != 0 || !isfinite(step[i])) continue;
        cx[n] = step[i];
        cy[n++] = y[i];
    }
    return (rdk_curve){n, cx, cy};
}

enum { ANY = -1 };

/* Mean over the rows of a step of this layer and head (ANY: all) that have the figure. */
static rdk_curve mean_by_step(rdk_report *r, const rdk_table *t, const char *name, int layer,
                              int head)
{
    const double *step = column(t, "step"), *y = column(t, name);
    const double *l = column(t, "layer"), *h = column(t, "head");
    if (!step || !y || !l || !h) return (rdk_curve){0};
    double *cx = rdk_report_alloc(r, t->rows + 1, sizeof *cx);
    double *cy = rdk_report_alloc(r, t->rows + 1, sizeof *cy);
    size_t n = 0, counted = 0;
    double sum = 0;
    for (size_t i = 0; cx && cy && i < t->rows; i++) {
        if (!isfinite(step[i])) continue;
        bool ours = (layer == ANY || l[i] == layer) && (head == ANY || h[i] == head);
        if (ours && isfinite(y[i])) {
            sum += y[i];
            counted++;
        }
        if (i + 1 < t->rows && step[i + 1] == step[i]) continue;
        cx[n] = step[i];
        cy[n++] = counted ? sum / (double)counted : NAN;
        sum = 0;
        counted = 0;
    }
    return (rdk_curve){n, cx, cy};
}

static double first_of(const rdk_curve *c)
{
    return c->n && c->x[0] == 0 ? c->y[0] : NAN;
}

/* ---- metrics.csv ----------------------------------------------------------------------------- */

static void find_death(rdk_report_run *run)
{
    const rdk_curve *c = &run->train_loss;
    run->died_step = run->died_loss = NAN;
    for (size_t i = 0; i < c->n; i++) {
        if (isfinite(c->y[i])) {
            run->died_loss = c->y[i];
        } else {
            run->died_step = c->x[i];
            return;
        }
    }
    if (run->diverged && c->n) run->died_step = c->x[c->n - 1];
}

static void take_metrics(rdk_report *r, rdk_report_run *run, const rdk_table *t)
{
    run->train_loss = rows_with(r, t, "loss", "split", "train");
    run->train_accuracy = rows_with(r, t, "accuracy", "split", "train");
    run->eval_loss = rows_with(r, t, "loss", "split", "eval");
    run->eval_accuracy = rows_with(r, t, "accuracy", "split", "eval");
    find_death(run);
}

/* ---- attention.csv --------------------------------------------------------------------------- */

static void count_heads(rdk_report_run *run, const rdk_table *t)
{
    const double *l = column(t, "layer"), *h = column(t, "head");
    for (size_t i = 0; l && h && i < t->rows; i++) {
        if (l[i] >= 0 && l[i] < 4096 && h[i] >= 0 && h[i] < 4096) {
            if ((size_t)l[i] >= run->layers) run->layers = (size_t)l[i] + 1;
            if ((size_t)h[i] >= run->heads) run->heads = (size_t)h[i] + 1;
        }
    }
}

/* Root of the mean square of score_std over the heads of a layer at step 0. */
static double std_at_start(const rdk_table *t, size_t layer)
{
    const double *step = column(t, "step"), *l = column(t, "layer"), *y = column(t, "score_std");
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; step && l && y && i < t->rows && step[i] == 0; i++) {
        if (l[i] != (double)layer || !isfinite(y[i])) continue;
        sum += y[i] * y[i];
        n++;
    }
    return n ? sqrt(sum / (double)n) : NAN;
}

static double mean_at_start(rdk_report *r, const rdk_table *t, const char *name, int layer)
{
    rdk_curve c = mean_by_step(r, t, name, layer, ANY);
    return first_of(&c);
}

/* Of the last step and of this layer, or ANY: the mean over heads; the largest. */
static void take_scores(const rdk_table *t, int layer, double *mean, double *largest)
{
    const double *step = column(t, "step"), *std = column(t, "score_std");
    const double *most = column(t, "score_absmax"), *l = column(t, "layer");
    double sum = 0;
    size_t n = 0;
    *largest = NAN;
    for (size_t i = t->rows; step && std && most && l && i-- > 0;) {
        if (step[i] != step[t->rows - 1]) break;
        if (layer != ANY && l[i] != layer) continue;
        sum += std[i];
        *largest = fmax(*largest, most[i]);
        n++;
    }
    *mean = n ? sum / (double)n : NAN;
}

static void take_curves(rdk_report *r, rdk_report_run *run, const rdk_table *t)
{
    run->entropy = rdk_report_alloc(r, run->layers + 1, sizeof *run->entropy);
    run->std_start = rdk_report_alloc(r, run->layers + 1, sizeof *run->std_start);
    run->std_theory = rdk_report_alloc(r, run->layers + 1, sizeof *run->std_theory);
    run->entropy_theory = rdk_report_alloc(r, run->layers + 1, sizeof *run->entropy_theory);
    run->layer_std = rdk_report_alloc(r, run->layers + 1, sizeof *run->layer_std);
    run->layer_absmax = rdk_report_alloc(r, run->layers + 1, sizeof *run->layer_absmax);
    run->saturation = rdk_report_alloc(r, run->layers * run->heads + 1, sizeof *run->saturation);
    if (!rdk_ok(r->status)) return;
    for (size_t layer = 0; layer < run->layers; layer++) {
        run->entropy[layer] = mean_by_step(r, t, "entropy_norm", (int)layer, ANY);
        take_scores(t, (int)layer, &run->layer_std[layer], &run->layer_absmax[layer]);
        run->std_start[layer] = std_at_start(t, layer);
        run->std_theory[layer] = mean_at_start(r, t, "score_std_theory", (int)layer);
        run->entropy_theory[layer] = mean_at_start(r, t, "entropy_norm_theory", (int)layer);
        for (size_t head = 0; head < run->heads; head++)
            run->saturation[layer * run->heads + head] =
                mean_by_step(r, t, "sat99", (int)layer, (int)head);
    }
}

static void take_attention(rdk_report *r, rdk_report_run *run, const rdk_table *t)
{
    count_heads(run, t);
    take_curves(r, run, t);
    take_scores(t, ANY, &run->score_std_last, &run->score_absmax_last);
    run->entropy_mean = mean_by_step(r, t, "entropy_norm", ANY, ANY);
    run->ds_median = mean_by_step(r, t, "ds_median", ANY, ANY);
    run->start.ds_median = first_of(&run->ds_median);
    run->start.ds_p10 = mean_at_start(r, t, "ds_p10", ANY);
    run->start.ds_p90 = mean_at_start(r, t, "ds_p90", ANY);
    run->start.ds_top5 = mean_at_start(r, t, "ds_top5_share", ANY);
    run->score_scale = mean_at_start(r, t, "scale", ANY);
}

/* Training loss at the steps where attention was looked at. */
static void take_loss_at_probe(rdk_report *r, rdk_report_run *run)
{
    const rdk_curve *e = &run->entropy_mean, *loss = &run->train_loss;
    double *y = rdk_report_alloc(r, e->n + 1, sizeof *y);
    size_t at = 0;
    for (size_t i = 0; y && i < e->n; i++) {
        while (at + 1 < loss->n && loss->x[at] < e->x[i]) at++;
        y[i] = at < loss->n && loss->x[at] == e->x[i] ? loss->y[at] : NAN;
    }
    run->loss_at_probe = (rdk_curve){y ? e->n : 0, e->x, y};
}

/* ---- gradients.csv --------------------------------------------------------------------------- */

static void take_gradients(rdk_report *r, rdk_report_run *run, const rdk_table *t)
{
    double *cx = rdk_report_alloc(r, t->rows + 1, sizeof *cx);
    double *cy = rdk_report_alloc(r, t->rows + 1, sizeof *cy);
    rdk_gradient_step g;
    size_t n = 0;
    for (size_t row = 0; cx && cy && rdk_gradient_next(t, &row, &g);) {
        if (g.step == 0) run->start.dq = g.query;
        cx[n] = g.step;
        cy[n++] = g.ratio;
    }
    run->ratio = (rdk_curve){n, cx, cy};
}

/* ---- all of it ------------------------------------------------------------------------------- */

static rdk_table *table_or_note(rdk_report *r, rdk_report_run *run, const char *name)
{
    rdk_status cause = {0};
    rdk_table *t = rdk_saved_run_table(&run->saved, name, &cause);
    if (!t) rdk_report_note(r, run->name, cause.message);
    return t;
}

bool rdk_report_extract(rdk_report *r, rdk_report_run *run, rdk_status *s)
{
    const rdk_record *about = run->saved.about;
    rdk_table *metrics = rdk_saved_run_table(&run->saved, "metrics.csv", s);
    if (!metrics) return false;
    if (!rdk_run_figures_whole(metrics, about, s)) {
        rdk_table_free(metrics);
        return false;
    }
    rdk_table *attention = table_or_note(r, run, "attention.csv");
    rdk_table *gradients = table_or_note(r, run, "gradients.csv");
    run->figures = rdk_run_figures_of(metrics, attention, gradients, about, run->diverged);
    run->step = isnan(run->figures.step) ? 0 : run->figures.step;
    run->start = (rdk_start){NAN, NAN, NAN, NAN, NAN};
    run->score_scale = run->score_std_last = run->score_absmax_last = NAN;
    take_metrics(r, run, metrics);
    if (attention) take_attention(r, run, attention);
    if (gradients) take_gradients(r, run, gradients);
    rdk_table_free(metrics);
    rdk_table_free(attention);
    rdk_table_free(gradients);
    take_loss_at_probe(r, run);
    run->vocabulary = rdk_record_number(about, "vocabulary_size");
    run->chance_accuracy = rdk_record_number(about, "chance_accuracy");
    run->floor_loss = rdk_record_number(about, "floor_loss");
    return rdk_ok(r->status);
}

rdk_curve rdk_report_metric(rdk_report *r, const rdk_report_run *run, const char *name)
{
    rdk_status ignored = {0};
    rdk_curve c = {0};
    if (!strcmp(name, "ratio")) return run->ratio;
    if (!strcmp(name, "eval_loss")) return run->eval_loss;
    if (!strcmp(name, "eval_accuracy")) return run->eval_accuracy;
    rdk_table *t = rdk_saved_run_table(&run->saved, "metrics.csv", &ignored);
    if (t) c = rows_with(r, t, name, "split", "train");
    rdk_table_free(t);
    if (c.n) return c;
    t = rdk_saved_run_table(&run->saved, "attention.csv", &ignored);
    if (t) c = mean_by_step(r, t, name, ANY, ANY);
    rdk_table_free(t);
    return c;
}
