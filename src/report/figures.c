/* SPDX-License-Identifier: MIT
 * The figures of one run from its tables; see figures.h.
 *
 * Invariant: only what is equal between equal runs is read (no times). A column that a run does not
 * have leaves NAN.
 * Read next: rated.c. */
#include "figures.h"

#include <math.h>
#include <string.h>

#include "run/thresholds.h"

const rdk_run_figures rdk_no_figures = {
    .step = NAN,
    .initial_loss = NAN,
    .loss = NAN,
    .accuracy = NAN,
    .sequence_accuracy = NAN,
    .best_loss = NAN,
    .best_step = NAN,
    .solved_at = NAN,
    .entropy_first = NAN,
    .entropy_last = NAN,
    .entropy_min = NAN,
    .sat90_first = NAN,
    .sat99_first = NAN,
    .sat99_last = NAN,
    .ratio_first = NAN,
    .ratio_last = NAN,
    .score_absmax_max = NAN,
    .grad_norm_max = NAN,
    .chance_loss = NAN,
};

static const double *column(const rdk_table *t, const char *name)
{
    rdk_status ignored = {0};
    return t ? rdk_table_numbers(t, name, &ignored) : NULL;
}

static double at(const double *column, size_t row)
{
    return column ? column[row] : NAN;
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

/* The first row behind those of the step that begins here. */
static size_t end_of_step(const double *step, size_t begin, size_t rows)
{
    size_t end = begin + 1;
    while (end < rows && step[end] == step[begin]) end++;
    return end;
}

/* ---- metrics.csv ----------------------------------------------------------------------------- */

static void take_evaluation(rdk_run_figures *f, double step, double loss, double accuracy,
                            double sequences)
{
    if (step == 0) f->initial_loss = loss;
    f->loss = loss;
    f->accuracy = accuracy;
    f->sequence_accuracy = sequences;
    if (isnan(f->best_loss) || loss < f->best_loss) {
        f->best_loss = loss;
        f->best_step = step;
    }
    if (isnan(f->solved_at) && accuracy >= RDK_SOLVED) f->solved_at = step;
}

static void take_metrics(rdk_run_figures *f, const rdk_table *t)
{
    const double *step = column(t, "step"), *loss = column(t, "loss");
    const double *accuracy = column(t, "accuracy"), *sequences = column(t, "sequence_accuracy");
    const double *norm = column(t, "grad_norm"), *score = column(t, "score_absmax");
    double train_loss = NAN;
    if (!step || !loss) return;
    int split = rdk_table_column(t, "split");
    for (size_t row = 0; row < t->rows; row++) {
        bool evaluation = !strcmp(rdk_table_word(t, row, split), "eval");
        if (!isfinite(step[row])) continue;
        f->step = larger(f->step, step[row]);
        if (evaluation) {
            take_evaluation(f, step[row], loss[row], at(accuracy, row), at(sequences, row));
            continue;
        }
        if (step[row] == 0) train_loss = loss[row];
        f->grad_norm_max = larger(f->grad_norm_max, at(norm, row));
        f->score_absmax_max = larger(f->score_absmax_max, at(score, row));
    }
    if (isnan(f->initial_loss)) f->initial_loss = train_loss;
}

/* ---- attention.csv --------------------------------------------------------------------------- */

/* Of those that are finite: a head of which nothing can be said is left out. */
static double mean_of(const double *x, size_t begin, size_t end)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = begin; x && i < end; i++) {
        if (!isfinite(x[i])) continue;
        sum += x[i];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

static void take_attention(rdk_run_figures *f, const rdk_table *t)
{
    const double *step = column(t, "step"), *entropy = column(t, "entropy_norm");
    const double *sat90 = column(t, "sat90"), *sat99 = column(t, "sat99");
    for (size_t row = 0, end; step && row < t->rows; row = end) {
        end = end_of_step(step, row, t->rows);
        if (!isfinite(step[row])) continue;
        f->entropy_last = mean_of(entropy, row, end);
        f->sat99_last = mean_of(sat99, row, end);
        f->entropy_min = smaller(f->entropy_min, f->entropy_last);
        if (step[row] != 0) continue;
        f->entropy_first = f->entropy_last;
        f->sat90_first = mean_of(sat90, row, end);
        f->sat99_first = f->sat99_last;
    }
}

/* ---- gradients.csv --------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* W_Q of a layer stands before its W_V in a step. */
bool rdk_gradient_next(const rdk_table *t, size_t *row, rdk_gradient_step *out)
{
    const double *step = column(t, "step"), *norm = column(t, "grad_norm");
    if (!step || !norm || *row >= t->rows) return false;
    int tensor = rdk_table_column(t, "tensor");
    double query = NAN, queries = 0, ratios = 0, layers = 0;
    size_t i = *row, end = end_of_step(step, i, t->rows);
    for (*row = end; i < end; i++) {
        const char *name = rdk_table_word(t, i, tensor);
        if (ends_with(name, ".attention.wq.weight")) query = norm[i];
        if (!ends_with(name, ".attention.wv.weight")) continue;
        ratios += norm[i] > 0 ? query / norm[i] : NAN;
        queries += query;
        layers++;
    }
    *out = (rdk_gradient_step){step[end - 1], layers > 0 ? queries / layers : NAN,
                               layers > 0 ? ratios / layers : NAN};
    return true;
}

static void take_gradients(rdk_run_figures *f, const rdk_table *t)
{
    rdk_gradient_step g;
    for (size_t row = 0; rdk_gradient_next(t, &row, &g);) {
        f->ratio_last = g.ratio;
        if (g.step == 0) f->ratio_first = g.ratio;
    }
}

bool rdk_run_figures_whole(const rdk_table *metrics, const rdk_record *about, rdk_status *s)
{
    const char *status = rdk_record_word(about, "status");
    double end = rdk_record_number(about, "step");
    const double *step = rdk_table_numbers(metrics, "step", s);
    if (!step) return false;
    if (!status || strcmp(status, "done") != 0 || !isfinite(end)) return true;
    int split = rdk_table_column(metrics, "split");
    for (size_t row = metrics->rows; row-- > 0;)
        if (step[row] == end && !strcmp(rdk_table_word(metrics, row, split), "eval")) return true;
    return rdk_fail(s, RDK_EFORMAT,
                    "%s lacks the evaluation of step %.0f, with which the run ended (rows were "
                    "lost: run it again)",
                    metrics->path, end);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rdk_run_figures_unend(rdk_run_figures *f)
{
    f->loss = f->accuracy = f->sequence_accuracy = NAN;
    f->entropy_last = f->sat99_last = f->ratio_last = NAN;
}

rdk_run_figures rdk_run_figures_of(const rdk_table *metrics, const rdk_table *attention,
                                   const rdk_table *gradients, const rdk_record *about,
                                   bool diverged)
{
    rdk_run_figures f = rdk_no_figures;
    f.diverged = diverged;
    f.chance_loss = rdk_record_number(about, "chance_loss");
    take_metrics(&f, metrics);
    take_attention(&f, attention);
    take_gradients(&f, gradients);
    if (diverged) rdk_run_figures_unend(&f);
    return f;
}
