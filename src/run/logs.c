/* SPDX-License-Identifier: MIT
 * The rows of a run's CSV files, but for maps.csv. What each column means: docs/metrics.md.
 * Invariant: all files but timing.csv depend on the configuration alone. A new column is one line
 * here, at the end of its row.
 * Read next: csv.c; measure.c, where the figures come from. */
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* A row on its way into its file, and into an event for TensorBoard; or, where names is set, the
 * line of names that the file begins with. Each column is one call that tells all, so a header
 * cannot differ from its rows, nor an event. */
typedef struct row {
    rdk_csv *file;
    rdk_text *names;
    rdk_tensorboard *events; /* or NULL */
    const char *split;       /* of its tags, "SPLIT/COLUMN"; or NULL: this one of all heads, */
    size_t layer, head;      /* "COLUMN/layer_0.head_0" */
} row;

/* True where the name was all that was wanted. */
static bool named(const row *w, const char *name)
{
    if (w->names) rdk_text_add(w->names, w->names->size ? ",%s" : "%s", name);
    return w->names != NULL;
}

/* Of the columns of attention.csv, those that TensorBoard gets: a chart for each and each head. */
static bool is_shown(const char *name)
{
    static const char *const shown[] = {"score_std", "score_absmax", "entropy",  "entropy_norm",
                                        "p_max",     "sat99",        "ds_median"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (!strcmp(shown[i], name)) return true;
    return false;
}

static void show(const row *w, const char *name, double x)
{
    char head[64];
    if (!w->events) return;
    snprintf(head, sizeof head, "layer_%zu.head_%zu", w->layer, w->head);
    if (w->split)
        rdk_tensorboard_scalar(w->events, w->split, name, x);
    else if (is_shown(name))
        rdk_tensorboard_scalar(w->events, name, head, x);
}

/* What says which row it is. */
static void index_of(const row *w, const char *name, uint64_t x)
{
    if (!named(w, name)) rdk_csv_uint(w->file, x);
}

static void whole(const row *w, const char *name, uint64_t x)
{
    if (named(w, name)) return;
    rdk_csv_uint(w->file, x);
    show(w, name, (double)x);
}

static void word(const row *w, const char *name, const char *x)
{
    if (!named(w, name)) rdk_csv_word(w->file, x);
}

static void real(const row *w, const char *name, double x)
{
    if (named(w, name)) return;
    rdk_csv_real(w->file, x);
    show(w, name, x);
}

/* Empty where there is no such figure. */
static void real_if(const row *w, const char *name, bool there, double x)
{
    if (there)
        real(w, name, x);
    else if (!named(w, name))
        rdk_csv_empty(w->file);
}

/* With all digits of the double, so that a schedule can be checked against its formula. */
static void exact_if(const row *w, const char *name, bool there, double x)
{
    if (named(w, name)) return;
    if (!there) {
        rdk_csv_empty(w->file);
        return;
    }
    rdk_csv_exact(w->file, x);
    show(w, name, x);
}

/* ---- the four files: a new column goes to the end -------------------------------------------- */

/* The held-out sequences have no update: there only report->pass says something. */
static void metrics_row(const row *w, const rdk_trainer *r, bool train,
                        const rdk_step_report *report)
{
    const rdk_score *pass = &report->pass;
    index_of(w, "step", r->step);
    word(w, "split", train ? "train" : "eval");
    real(w, "loss", pass->loss);
    real(w, "accuracy", pass->accuracy);
    exact_if(w, "lr", train, report->lr);
    real_if(w, "grad_norm", train, report->grad_norm);
    real_if(w, "clip_factor", train, report->clip_factor);
    real_if(w, "score_absmax", train, report->score_absmax);
    whole(w, "tokens", pass->counted);
    real(w, "sequence_accuracy", pass->sequence_accuracy);
    whole(w, "tokens_seen", r->tokens_seen);
    if (r->score_max) /* runs with --qk-clip */
        real_if(w, "heads_clipped", train,
                (double)rdk_qk_clip_count(r->model, r->score_max, r->config.qk_clip));
}

/* Columns of runs that have something to say in them; the names are written without figures. */
static void policy_columns(const row *w, const rdk_trainer *r, size_t layer, size_t head,
                           const rdk_head_figures *f)
{
    const rdk_model_config *c = &r->config.model;
    const bool watched = r->watch != NULL; /* else there are no rows, only names */
    if (c->softcap > 0) real(w, "score_absmax_uncapped", f->score_absmax_uncapped);
    if (c->temperature || c->length == RDK_LENGTH_SSMAX)
        real(w, "score_gain", watched ? rdk_watch_gain(r->watch, layer, head) : 0);
    if (c->sink == RDK_SINK_LEARNED)
        real(w, "sink", watched ? rdk_watch_sink(r->watch, layer, head) : 0);
}

/* updated: the update of this step moved the scores by `change`. */
static void attention_row(const row *w, const rdk_trainer *r, uint64_t step, size_t layer,
                          size_t head, const rdk_head_figures *f, bool updated, double change)
{
    index_of(w, "step", step);
    index_of(w, "layer", layer);
    index_of(w, "head", head);
    real(w, "scale", rdk_model_layer_scale(r->model, layer));
    real(w, "score_std", f->score_std);
    real(w, "score_absmax", f->score_absmax);
    real(w, "entropy", f->entropy);
    real(w, "entropy_norm", f->entropy_norm);
    real(w, "p_max", f->p_max);
    real(w, "sat90", f->sat90);
    real(w, "sat99", f->sat99);
    real(w, "jacobian_trace", f->jacobian_trace);
    real(w, "jacobian_frob", f->jacobian_frob);
    real(w, "ds_median", f->ds_median);
    real(w, "ds_p90", f->ds_p90);
    real(w, "ds_top5_share", f->ds_top5_share);
    real(w, "q_rms", f->q_rms);
    real(w, "k_rms", f->k_rms);
    real(w, "score_std_theory", r->theory[layer].score_std);
    real(w, "entropy_norm_theory", r->theory[layer].entropy_norm);
    real(w, "score_max", f->score_max);
    real(w, "score_mean", f->score_mean);
    real(w, "score_peak", f->score_peak);
    real(w, "jacobian_trace_median", f->jacobian_trace_median);
    real(w, "jacobian_frob_median", f->jacobian_frob_median);
    real(w, "theta", f->theta);
    real(w, "ds_p10", f->ds_p10);
    real(w, "ds_rms", f->ds_rms);
    real(w, "scale_gradient", f->scale_gradient);
    real(w, "q_k_cosine", f->q_k_cosine);
    real(w, "q_k_cosine_rms", f->q_k_cosine_rms);
    real_if(w, "score_change", updated, change);
    policy_columns(w, r, layer, head, f);
}

/* The norm of the gradient of the layer's weight of this role, before clipping. */
static double norm_of_role(const rdk_trainer *r, rdk_role role, int layer)
{
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        const rdk_param *p = rdk_model_param(r->model, i);
        if (p->role == role && p->layer == layer) return r->grad_norm[i];
    }
    return 0;
}

/* updated: r->update_norm belongs to this step. */
static void gradient_row(const row *w, const rdk_trainer *r, uint64_t step, size_t param,
                         bool updated)
{
    const rdk_param *p = rdk_model_param(r->model, param);
    bool scores = p->role == RDK_ROLE_WQ || p->role == RDK_ROLE_WK;
    bool compared = scores || p->role == RDK_ROLE_WO;
    double weight = r->weight_norm[param];
    double c = scores ? fabs(rdk_model_layer_scale(r->model, (size_t)p->layer)) : 1;
    double value = compared ? norm_of_role(r, RDK_ROLE_WV, p->layer) : 0;
    index_of(w, "step", step);
    word(w, "tensor", p->name);
    real(w, "grad_norm", r->grad_norm[param]);
    real(w, "weight_norm", weight);
    /* a tensor that starts at zero (a bias) has no ratio yet; u and v have no update */
    bool ratio = updated && weight > 0 && p->role != RDK_ROLE_POWER;
    real_if(w, "update_ratio", ratio, ratio ? r->update_norm[param] / weight : 0);
    real_if(w, "grad_norm_over_scale", scores, r->grad_norm[param] / c);
    real_if(w, "grad_ratio_to_value", value > 0, value > 0 ? r->grad_norm[param] / value : 0);
}

static void timing_row(const row *w, const rdk_trainer *r)
{
    double seconds = rdk_seconds() - r->started;
    double tokens = (double)(r->tokens_seen - r->started_tokens);
    index_of(w, "step", r->step);
    real(w, "seconds", seconds);
    real(w, "tokens_per_second", seconds > 0 ? tokens / seconds : 0);
    whole(w, "peak_memory", rdk_peak_memory());
    double measuring = rdk_cost_seconds(r);
    real_if(w, "measuring_seconds", isfinite(measuring), measuring);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void metrics_names(const row *w, const rdk_trainer *r)
{
    metrics_row(w, r, false, &(rdk_step_report){0});
}

static void attention_names(const row *w, const rdk_trainer *r)
{
    attention_row(w, r, 0, 0, 0, &(rdk_head_figures){0}, false, 0);
}

static void gradient_names(const row *w, const rdk_trainer *r)
{
    gradient_row(w, r, 0, 0, false);
}

static void map_names(const row *w, const rdk_trainer *r)
{
    (void)r;
    static const char *const names[] = {"step", "layer", "head", "query", "key", "p"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) named(w, names[i]);
}

/* Not one row of timing.csv says anything about another, and none is built on: where some are gone,
 * the figures that are left are as good as they were. */
enum { ROWS_UNKNOWN = -1 };

/* What is done with each of the files. */
typedef enum { CREATE, CHECK, CONTINUE } opening;

static bool open_one(rdk_trainer *r, rdk_csv *c, const char *name,
                     void (*names)(const row *, const rdk_trainer *), int file, opening how)
{
    rdk_text header = {0};
    names(&(row){.names = &header}, r);
    bool ok = rdk_text_ok(&header, r->status);
    rdk_log_rows rows = {.r = r, .file = file == ROWS_UNKNOWN ? 0 : (rdk_log_file)file};
    rdk_csv_old old = {.directory = r->directory.path,
                       .name = name,
                       .header = header.data,
                       .cut = r->step,
                       .next = file == ROWS_UNKNOWN ? NULL : rdk_log_rows_next,
                       .state = &rows};
    if (ok && how == CREATE) ok = rdk_csv_create(c, old.directory, name, header.data, r->status);
    if (ok && how == CHECK) ok = rdk_csv_check(&old, r->status);
    if (ok && how == CONTINUE) ok = rdk_csv_continue(c, &old, r->status);
    rdk_text_free(&header);
    return ok;
}

static bool open_all(rdk_trainer *r, opening how)
{
    return open_one(r, &r->metrics, "metrics.csv", metrics_names, RDK_ROWS_METRICS, how) &&
           open_one(r, &r->attention, "attention.csv", attention_names, RDK_ROWS_ATTENTION, how) &&
           open_one(r, &r->gradients, "gradients.csv", gradient_names, RDK_ROWS_GRADIENTS, how) &&
           open_one(r, &r->timing, "timing.csv", timing_row, ROWS_UNKNOWN, how) &&
           (!r->watch || open_one(r, &r->maps, "maps.csv", map_names, RDK_ROWS_MAPS, how));
}

bool rdk_logs_check(rdk_trainer *r)
{
    return open_all(r, CHECK) && rdk_tensorboard_check(r);
}

bool rdk_logs_open(rdk_trainer *r, bool resuming)
{
    return open_all(r, resuming ? CONTINUE : CREATE) && rdk_tensorboard_open(r, resuming);
}

void rdk_logs_close(rdk_trainer *r)
{
    rdk_csv_close(&r->metrics);
    rdk_csv_close(&r->attention);
    rdk_csv_close(&r->gradients);
    rdk_csv_close(&r->timing);
    rdk_csv_close(&r->maps);
    rdk_tensorboard_close(&r->tensorboard);
}

bool rdk_logs_sync(rdk_trainer *r)
{
    return rdk_csv_sync(&r->metrics, r->status) && rdk_csv_sync(&r->attention, r->status) &&
           rdk_csv_sync(&r->gradients, r->status) && rdk_csv_sync(&r->timing, r->status) &&
           rdk_csv_sync(&r->maps, r->status) && rdk_tensorboard_sync(&r->tensorboard, r->status);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool write_metrics_row(rdk_trainer *r, bool train, const rdk_step_report *report)
{
    row w = {.file = &r->metrics, .events = &r->tensorboard, .split = train ? "train" : "eval"};
    metrics_row(&w, r, train, report);
    rdk_csv_end(&r->metrics);
    return rdk_csv_write(&r->metrics, r->status) &&
           rdk_tensorboard_event(&r->tensorboard, r->step, r->status);
}

bool rdk_logs_train_row(rdk_trainer *r, const rdk_step_report *report)
{
    return write_metrics_row(r, true, report);
}

bool rdk_logs_eval_row(rdk_trainer *r, const rdk_score *pass)
{
    return write_metrics_row(r, false, &(rdk_step_report){.pass = *pass});
}

bool rdk_logs_attention_rows(rdk_trainer *r, uint64_t step, bool updated)
{
    for (size_t layer = 0; layer < r->config.model.layers; layer++) {
        for (size_t head = 0; head < r->config.model.heads; head++) {
            row w = {
                .file = &r->attention, .events = &r->tensorboard, .layer = layer, .head = head};
            attention_row(&w, r, step, layer, head, rdk_measure_head(r->measure, layer, head),
                          updated, updated ? rdk_watch_change(r->watch, layer, head) : 0);
            rdk_csv_end(&r->attention);
            rdk_tensorboard_rows(&r->tensorboard, r->measure, layer, head);
        }
    }
    return rdk_csv_write(&r->attention, r->status) &&
           rdk_tensorboard_event(&r->tensorboard, step, r->status);
}

void rdk_logs_keep_norms(rdk_trainer *r)
{
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        const rdk_tensor *p = &rdk_model_param(r->model, i)->tensor;
        r->grad_norm[i] = rdk_norm(rdk_size(p), p->grad);
        r->weight_norm[i] = rdk_norm(rdk_size(p), p->data);
    }
}

bool rdk_logs_gradient_rows(rdk_trainer *r, uint64_t step, bool updated)
{
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        gradient_row(&(row){.file = &r->gradients}, r, step, i, updated);
        rdk_csv_end(&r->gradients);
    }
    return rdk_csv_write(&r->gradients, r->status);
}

bool rdk_logs_timing_row(rdk_trainer *r)
{
    timing_row(&(row){.file = &r->timing}, r);
    rdk_csv_end(&r->timing);
    return rdk_csv_write(&r->timing, r->status);
}
