/* SPDX-License-Identifier: MIT
 * The files of finished runs as one row each: results.csv.
 *
 * Invariant: only what is equal between equal runs is read (no times; of run.json the status and
 * the loss at chance), and rows stand in the order of the grid. So results.csv is the same bytes
 * whoever ran the points, in which order and with how many interruptions. A new column is a figure
 * of src/report/figures.h and a line in write_row.
 * Read next: table.c. */
#include <math.h>
#include <string.h>

#include "ablate.h"

/* The columns that every run has, so that a damaged file is named by what it lacks. */
static bool has_columns(const rdk_table *t, const char *const *names, rdk_status *s)
{
    for (; t && *names; names++)
        if (!rdk_table_numbers(t, *names, s)) return false;
    return t != NULL;
}

static rdk_table *read_table(const rdk_saved_run *run, const char *name, const char *const *columns,
                             rdk_status *s)
{
    rdk_table *t = rdk_saved_run_table(run, name, s);
    if (t && has_columns(t, columns, s)) return t;
    rdk_table_free(t);
    return NULL;
}

static bool read_run(const rdk_saved_run *run, rdk_result *r, bool diverged, rdk_status *s)
{
    static const char *const of_metrics[] = {
        "step", "loss", "accuracy", "sequence_accuracy", "grad_norm", "score_absmax", NULL};
    static const char *const of_attention[] = {"step", "entropy_norm", "sat99", NULL};
    static const char *const of_gradients[] = {"step", "grad_norm", NULL};
    rdk_table *metrics = read_table(run, "metrics.csv", of_metrics, s), *attention = NULL;
    rdk_table *gradients = NULL;
    bool whole = metrics && rdk_run_figures_whole(metrics, run->about, s);
    if (whole) attention = read_table(run, "attention.csv", of_attention, s);
    if (attention) gradients = read_table(run, "gradients.csv", of_gradients, s);
    if (gradients)
        r->figures = rdk_run_figures_of(metrics, attention, gradients, run->about, diverged);
    bool ok = gradients != NULL;
    rdk_table_free(metrics);
    rdk_table_free(attention);
    rdk_table_free(gradients);
    return ok;
}

static bool read_one(const rdk_ablation *a, rdk_result *r, bool diverged, rdk_status *s)
{
    char path[RDK_PATH_TEXT];
    rdk_saved_run run;
    bool ok = rdk_saved_run_open(&run, rdk_point_path(a, r->point, path), s) &&
              read_run(&run, r, diverged, s);
    rdk_saved_run_close(&run);
    return ok;
}

bool rdk_results_read(const rdk_ablation *a, rdk_results *r, rdk_status *s)
{
    *r = (rdk_results){.rows = rdk_alloc(a->n_points, sizeof *r->rows, s)};
    for (size_t i = 0; r->rows && i < a->n_points; i++) {
        rdk_point_state state = RDK_POINT_NEW;
        bool ok = rdk_point_look(a, i, &state, &r->damage);
        bool done = state == RDK_POINT_DONE || state == RDK_POINT_DIVERGED;
        rdk_result *row = &r->rows[r->n];
        *row = (rdk_result){.point = i};
        ok = ok && (!done || read_one(a, row, state == RDK_POINT_DIVERGED, &r->damage));
        r->n += ok && done;
        r->missing += !ok || !done;
        r->damaged += !ok;
    }
    return r->rows != NULL;
}

/* ---- results.csv ----------------------------------------------------------------------------- */

/* A row, or where names is set, the line of names. Each column is one call that tells both. */
typedef struct column {
    rdk_text *out;
    bool names;
} column;

static void field(const column *c, const char *name, const char *text)
{
    rdk_text_add(c->out, ",%s", c->names ? name : text);
}

/* Empty where there is no such figure. */
static void number(const column *c, const char *name, double x)
{
    char text[RDK_NUMBER_TEXT] = "";
    field(c, name, isnan(x) ? "" : rdk_text_figure(x, text));
}

static void whole(const column *c, const char *name, double x)
{
    char text[RDK_NUMBER_TEXT] = "";
    field(c, name, isnan(x) ? "" : rdk_text_exact(x, text));
}

static void write_row(const rdk_ablation *a, const rdk_result *r, const column *c)
{
    const rdk_run_figures *f = &r->figures;
    char name[RDK_POINT_NAME];
    rdk_text_add(c->out, "%s", c->names ? "point" : rdk_point_name(a, r->point, name));
    for (size_t i = 0; i < a->n_axes; i++) {
        rdk_text_add(c->out, ",");
        rdk_text_csv(c->out,
                     c->names ? a->axes[i].option->name : rdk_ablation_value(a, r->point, i));
    }
    field(c, "status", f->diverged ? "diverged" : "done");
    field(c, "diverged", f->diverged ? "1" : "0");
    whole(c, "step", f->step);
    number(c, "initial_loss", f->initial_loss);
    number(c, "final_loss", f->loss);
    number(c, "best_loss", f->best_loss);
    whole(c, "best_step", f->best_step);
    number(c, "accuracy", f->accuracy);
    number(c, "sequence_accuracy", f->sequence_accuracy);
    whole(c, "solved_at", f->solved_at);
    number(c, "entropy_norm_first", f->entropy_first);
    number(c, "entropy_norm_last", f->entropy_last);
    number(c, "entropy_norm_min", f->entropy_min);
    number(c, "score_absmax_max", f->score_absmax_max);
    number(c, "sat99_last", f->sat99_last);
    number(c, "query_value_ratio_first", f->ratio_first);
    number(c, "query_value_ratio_last", f->ratio_last);
    number(c, "grad_norm_max", f->grad_norm_max);
    rdk_text_add(c->out, "\n");
}

bool rdk_results_write(const rdk_ablation *a, const rdk_results *r, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_text t = {0};
    write_row(a, &(rdk_result){0}, &(column){&t, true});
    for (size_t i = 0; i < r->n; i++) write_row(a, &r->rows[i], &(column){&t, false});
    snprintf(path, sizeof path, "%s/results.csv", a->directory);
    bool ok = rdk_text_ok(&t, s) && rdk_file_replace(path, t.data, t.size, s);
    rdk_text_free(&t);
    return ok;
}
