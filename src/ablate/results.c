/* SPDX-License-Identifier: MIT
 * The files of finished runs as one row each: results.csv.
 *
 * Invariant: only files that are equal between equal runs are read (no times, no run.json beyond
 * its status), and rows stand in the order of the grid. So results.csv is the same bytes whoever
 * ran the points, in which order and with how many interruptions. A new column is a field of
 * rdk_result, a line that fills it, and a line in write_row. Read next: table.c. */
#include <math.h>
#include <string.h>

#include "ablate.h"

static const double SOLVED = 0.99; /* accuracy from which a task counts as solved */

/* A run being read. The first table that cannot be read sets the status. */
typedef struct reading {
    const rdk_saved_run *run;
    rdk_result *result;
    rdk_status *status;
} reading;

/* NULL, with the status set, where one is missing. */
static bool columns_of(const rdk_table *t, const char *const *names, const double **columns,
                       size_t n, rdk_status *s)
{
    for (size_t i = 0; i < n; i++)
        if (!(columns[i] = rdk_table_numbers(t, names[i], s))) return false;
    return true;
}

/* The larger; nan is no figure. */
static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static double smaller(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

/* ---- metrics.csv ------------------------------------------------------------------------------
 */

enum { STEP, LOSS, ACCURACY, SEQUENCES, GRAD_NORM, SCORE, METRICS };
static const char *const metrics_names[METRICS] = {
    "step", "loss", "accuracy", "sequence_accuracy", "grad_norm", "score_absmax"};

static void take_evaluation(rdk_result *r, const double *const *c, size_t row)
{
    double loss = c[LOSS][row];
    if (c[STEP][row] == 0) r->initial_loss = loss;
    r->loss = loss;
    r->accuracy = c[ACCURACY][row];
    r->sequence_accuracy = c[SEQUENCES][row];
    if (isnan(r->best_loss) || loss < r->best_loss) {
        r->best_loss = loss;
        r->best_step = c[STEP][row];
    }
    if (isnan(r->solved_at) && r->accuracy >= SOLVED) r->solved_at = c[STEP][row];
}

static bool read_metrics(const reading *g)
{
    rdk_result *r = g->result;
    const double *c[METRICS];
    double first_train_loss = NAN;
    rdk_table *t = rdk_saved_run_table(g->run, "metrics.csv", g->status);
    bool ok = t && columns_of(t, metrics_names, c, METRICS, g->status);
    int split = ok ? rdk_table_column(t, "split") : -1;
    for (size_t row = 0; ok && row < t->rows; row++) {
        r->step = larger(r->step, c[STEP][row]);
        if (!strcmp(rdk_table_word(t, row, split), "eval")) {
            take_evaluation(r, c, row);
            continue;
        }
        if (row == 0 || c[STEP][row] == 0) first_train_loss = c[LOSS][row];
        r->grad_norm_max = larger(r->grad_norm_max, c[GRAD_NORM][row]);
        r->score_absmax_max = larger(r->score_absmax_max, c[SCORE][row]);
    }
    if (isnan(r->initial_loss)) r->initial_loss = first_train_loss;
    if (r->diverged) r->loss = r->accuracy = r->sequence_accuracy = NAN;
    rdk_table_free(t);
    return ok;
}

/* ---- attention.csv ----------------------------------------------------------------------------
 */

static bool read_attention(const reading *g)
{
    static const char *const names[] = {"step", "entropy_norm", "sat99"};
    rdk_result *r = g->result;
    const double *c[3];
    rdk_table *t = rdk_saved_run_table(g->run, "attention.csv", g->status);
    bool ok = t && columns_of(t, names, c, 3, g->status);
    for (size_t row = 0, end; ok && row < t->rows; row = end) {
        double entropy = 0, saturated = 0;
        for (end = row; end < t->rows && c[0][end] == c[0][row]; end++) {
            entropy += c[1][end];
            saturated += c[2][end];
        }
        r->entropy_last = entropy / (double)(end - row);
        r->sat99_last = saturated / (double)(end - row);
        if (row == 0) r->entropy_first = r->entropy_last;
        r->entropy_min = smaller(r->entropy_min, r->entropy_last);
    }
    rdk_table_free(t);
    return ok;
}

/* ---- gradients.csv ----------------------------------------------------------------------------
 */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* |dW_Q| / |dW_V| of the rows of one step, mean over layers; W_Q stands before W_V in each. */
static double ratio_of(const rdk_table *t, int tensor, const double *norm, size_t begin, size_t end)
{
    double query = NAN, sum = 0;
    size_t layers = 0;
    for (size_t row = begin; row < end; row++) {
        const char *name = rdk_table_word(t, row, tensor);
        if (ends_with(name, ".attention.wq.weight")) query = norm[row];
        if (!ends_with(name, ".attention.wv.weight")) continue;
        sum += norm[row] > 0 ? query / norm[row] : NAN;
        layers++;
    }
    return layers ? sum / (double)layers : NAN;
}

static bool read_gradients(const reading *g)
{
    static const char *const names[] = {"step", "grad_norm"};
    rdk_result *r = g->result;
    const double *c[2];
    rdk_table *t = rdk_saved_run_table(g->run, "gradients.csv", g->status);
    bool ok = t && columns_of(t, names, c, 2, g->status);
    int tensor = ok ? rdk_table_column(t, "tensor") : -1;
    for (size_t row = 0, end; ok && row < t->rows; row = end) {
        for (end = row; end < t->rows && c[0][end] == c[0][row];) end++;
        r->ratio_last = ratio_of(t, tensor, c[1], row, end);
        if (row == 0) r->ratio_first = r->ratio_last;
    }
    rdk_table_free(t);
    return ok;
}

/* ---- all runs ---------------------------------------------------------------------------------
 */

static const rdk_result nothing = {
    .step = NAN,
    .initial_loss = NAN,
    .loss = NAN,
    .accuracy = NAN,
    .best_loss = NAN,
    .best_step = NAN,
    .solved_at = NAN,
    .sequence_accuracy = NAN,
    .entropy_min = NAN,
    .entropy_first = NAN,
    .entropy_last = NAN,
    .score_absmax_max = NAN,
    .sat99_last = NAN,
    .ratio_first = NAN,
    .grad_norm_max = NAN,
    .ratio_last = NAN,
};

static bool read_one(const rdk_ablation *a, rdk_result *r, rdk_status *s)
{
    char path[RDK_PATH_TEXT];
    rdk_saved_run run;
    bool ok = rdk_saved_run_open(&run, rdk_point_path(a, r->point, path), s);
    reading g = {&run, r, s};
    ok = ok && read_metrics(&g) && read_attention(&g) && read_gradients(&g);
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
        *row = nothing;
        row->point = i;
        row->diverged = state == RDK_POINT_DIVERGED;
        ok = ok && (!done || read_one(a, row, &r->damage));
        r->n += ok && done;
        r->missing += !ok || !done;
        r->damaged += !ok;
    }
    return r->rows != NULL;
}

/* ---- results.csv ------------------------------------------------------------------------------
 */

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
    field(c, name, isnan(x) ? "" : rdk_text_float((float)x, text));
}

static void whole(const column *c, const char *name, double x)
{
    char text[RDK_NUMBER_TEXT] = "";
    field(c, name, isnan(x) ? "" : rdk_text_double(x, text));
}

static void write_row(const rdk_ablation *a, const rdk_result *r, const column *c)
{
    char name[RDK_POINT_NAME];
    rdk_text_add(c->out, "%s", c->names ? "point" : rdk_point_name(a, r->point, name));
    for (size_t i = 0; i < a->n_axes; i++) {
        rdk_text_add(c->out, ",");
        rdk_text_csv(c->out,
                     c->names ? a->axes[i].option->name : rdk_ablation_value(a, r->point, i));
    }
    field(c, "status", r->diverged ? "diverged" : "done");
    field(c, "diverged", r->diverged ? "1" : "0");
    whole(c, "step", r->step);
    number(c, "initial_loss", r->initial_loss);
    number(c, "final_loss", r->loss);
    number(c, "best_loss", r->best_loss);
    whole(c, "best_step", r->best_step);
    number(c, "accuracy", r->accuracy);
    number(c, "sequence_accuracy", r->sequence_accuracy);
    whole(c, "solved_at", r->solved_at);
    number(c, "entropy_norm_first", r->entropy_first);
    number(c, "entropy_norm_last", r->entropy_last);
    number(c, "entropy_norm_min", r->entropy_min);
    number(c, "score_absmax_max", r->score_absmax_max);
    number(c, "sat99_last", r->sat99_last);
    number(c, "query_value_ratio_first", r->ratio_first);
    number(c, "query_value_ratio_last", r->ratio_last);
    number(c, "grad_norm_max", r->grad_norm_max);
    rdk_text_add(c->out, "\n");
}

bool rdk_results_write(const rdk_ablation *a, const rdk_results *r, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_text t = {0};
    write_row(a, &nothing, &(column){&t, true});
    for (size_t i = 0; i < r->n; i++) write_row(a, &r->rows[i], &(column){&t, false});
    snprintf(path, sizeof path, "%s/results.csv", a->directory);
    bool ok = rdk_text_ok(&t, s) && rdk_file_replace(path, t.data, t.size, s);
    rdk_text_free(&t);
    return ok;
}
