/* SPDX-License-Identifier: MIT
 * The training loop.
 *
 * A visit of step s measures the model after s updates: gradients on the batch of update s, rows of
 * the logs, the held-out loss. Then comes the update. The last step is visited but not updated, so
 * a run of N steps shows the model at 0 and at N. A checkpoint of step k holds the model after k
 * updates, and is written only once loss and gradients of step k are known to be finite: so none of
 * a diverged model takes the place of a good one. A resumed run begins with visit k, like any
 * other. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "sentences.h"

/* What came of a visit. */
typedef enum { VISITED, STOPPED, FAILED } visit_end;

static void remember_layers(rdk_trainer *r, bool first)
{
    for (size_t l = 0; r->layer && l < r->config.model.layers; l++) {
        rdk_head_figures mean = rdk_measure_mean(r->measure, (int)l);
        rdk_layer_figures *layer = &r->layer[l];
        if (first) layer->entropy_first = mean.entropy_norm;
        if (first) layer->sat99_first = mean.sat99;
        layer->entropy_last = mean.entropy_norm;
        layer->score_std_last = mean.score_std;
        layer->score_absmax_last = mean.score_absmax;
    }
}

static void remember(rdk_trainer *r, const rdk_step_report *report, bool first, rdk_finals *f)
{
    rdk_head_figures mean = rdk_measure_mean(r->measure, RDK_ALL_LAYERS);
    double ratio = rdk_measure_query_value_ratio(r);
    if (first) {
        f->have_first = true;
        f->first = *report;
        f->attention_first = mean;
        f->ratio_first = ratio;
    }
    remember_layers(r, first);
    f->have_last = true;
    f->last = *report;
    f->attention_last = mean;
    f->ratio_last = ratio;
}

static visit_end held_out(rdk_trainer *r, rdk_finals *f)
{
    rdk_score pass;
    rdk_profile_apart_begin(r);
    rdk_evaluation end = rdk_evaluate(r, &pass);
    rdk_profile_apart_end(r, RDK_APART_EVALUATION);
    if (end != RDK_EVAL_DONE) return end == RDK_EVAL_STOPPED ? STOPPED : FAILED;
    f->held_out = pass;
    f->known = true;
    if (!rdk_logs_eval_row(r, &pass)) return FAILED;
    rdk_screen_eval(r, &pass);
    return pass.loss >= r->best_loss || rdk_best_save(r, pass.loss) ? VISITED : FAILED;
}

/* What a probed step wants to know before its update. */
static bool probe_before(rdk_trainer *r)
{
    double begun = rdk_seconds();
    rdk_profile_apart_begin(r);
    rdk_logs_keep_norms(r);
    bool ok = rdk_watch_before(r);
    rdk_profile_apart_end(r, RDK_APART_PROBING);
    r->cost.apart += rdk_seconds() - begun;
    return ok;
}

/* The rows of a probed step, after its update where it has one. */
static bool probe_after(rdk_trainer *r, uint64_t step, bool updated)
{
    double begun = rdk_seconds();
    rdk_profile_apart_begin(r);
    bool shown = step == 0 || step == r->config.steps;
    bool ok = (!shown || rdk_maps_rows(r, step)) && (!updated || rdk_watch_after(r)) &&
              rdk_logs_attention_rows(r, step, updated) && rdk_logs_gradient_rows(r, step, updated);
    rdk_profile_apart_end(r, RDK_APART_PROBING);
    r->cost.apart += rdk_seconds() - begun;
    return ok;
}

/* What is seen of step r->step. On return the gradients of its batch are in the model; *probed
 * tells whether probe_after is owed. Stopped: by a signal during the evaluation. The rows that were
 * written then are those of a step that has not been, and a resumed run cuts them. */
static visit_end visit(rdk_trainer *r, rdk_step_report *report, rdk_finals *f, bool *probed)
{
    const rdk_config *c = &r->config;
    bool log = rdk_logs_at(c, r->step);
    *probed = rdk_probes_at(c, r->step);

    double begun = rdk_seconds();
    bool measuring = log || *probed, fine = rdk_step_gradients(r, measuring, report);
    rdk_cost_gradients(r, measuring, rdk_seconds() - begun);
    if (!fine && r->status->code == RDK_ENONFINITE) rdk_logs_train_row(r, report);
    if (!fine) return FAILED;
    if (measuring) remember(r, report, r->step == 0, f);
    if (r->step == 0) rdk_screen_start(r, measuring);
    if (log) {
        rdk_screen_row(r, report);
        if (!rdk_logs_train_row(r, report) || !rdk_logs_timing_row(r)) return FAILED;
    }
    if (*probed && !probe_before(r)) return FAILED;
    visit_end end = rdk_evaluates_at(c, r->step) ? held_out(r, f) : VISITED;
    /* all that was measured of a step that failed */
    if (end == FAILED && *probed) probe_after(r, r->step, false);
    return end;
}

/* True where the run is to stop between two steps. */
static bool wants_stop(const rdk_trainer *r)
{
    return r->step < r->config.steps &&
           ((r->io->stop && *r->io->stop) || (r->config.stop_at && r->step == r->config.stop_at));
}

/* The state of step r->step, and what the run is said to be now. The rows before it are on the disk
 * first: whatever stops the machine, no row that a resumed run builds on is missing. */
static bool save(rdk_trainer *r, const char *status, const rdk_finals *f)
{
    if (!rdk_logs_sync(r) || !rdk_checkpoint_save(r, "last.safetensors")) return false;
    r->saved = true;
    r->saved_step = r->step;
    return rdk_run_json(r, status, f, r->status);
}

static bool save_is_due(const rdk_trainer *r)
{
    const rdk_config *c = &r->config;
    return r->step > r->started_step && r->step < c->steps && c->save_every > 0 &&
           r->step % c->save_every == 0;
}

static rdk_run_end save_and_stop(rdk_trainer *r, const rdk_finals *f)
{
    bool signalled = r->io->stop && *r->io->stop;
    rdk_step_report report;
    if (!rdk_step_gradients(r, false, &report) || !save(r, "interrupted", f)) return RDK_RUN_FAILED;
    rdk_screen_resume_hint(r, signalled ? "interrupted" : "stopped as asked");
    return signalled ? RDK_RUN_INTERRUPTED : RDK_RUN_DONE;
}

static rdk_run_end finish(rdk_trainer *r, const rdk_finals *f)
{
    if (!save(r, "done", f)) return RDK_RUN_FAILED;
    rdk_verdict(r, f);
    return RDK_RUN_DONE;
}

static rdk_run_end loop(rdk_trainer *r, rdk_finals *f)
{
    const rdk_config *c = &r->config;
    for (;;) {
        rdk_step_report report;
        bool probed;
        if (wants_stop(r)) return save_and_stop(r, f);
        visit_end end = visit(r, &report, f, &probed);
        if (end == STOPPED) return save_and_stop(r, f);
        if (end == FAILED) return RDK_RUN_FAILED;
        if (save_is_due(r) && !save(r, "running", f)) return RDK_RUN_FAILED;
        uint64_t visited = r->step;
        bool last = visited == c->steps;
        if (!last) rdk_step_update(r, &report);
        if (probed && !probe_after(r, visited, !last)) return RDK_RUN_FAILED;
        if (last) return finish(r, f);
        rdk_screen_progress(r);
    }
}

/* The directory, and the state that lies in it. Of a run that stands there nothing changes yet. */
static bool open_directory(rdk_trainer *r)
{
    const rdk_config *c = &r->config;
    if (!c->resume[0]) return rdk_run_json_isa(r) && rdk_rundir_create(&r->directory, c, r->status);
    if (!rdk_rundir_open(&r->directory, c->resume, r->status)) return false;
    if (!rdk_checkpoint_load(r) || !rdk_best_load(r)) return false;
    if (!rdk_run_json_isa(r) || (r->saved && !rdk_run_json_agrees(r))) return false;
    if (!rdk_logs_check(r)) return false;
    return !c->stop_at || c->stop_at > r->step ||
           rdk_fail(r->status, RDK_EVALUE,
                    "--stop-at %" PRIu64 " is not beyond step %" PRIu64 ", which %s has reached",
                    c->stop_at, r->step, r->directory.path);
}

/* Nothing is left to do or to write. A run that was killed between its last checkpoint and its
 * last word does not count: its end is measured again. */
static bool is_complete(const rdk_trainer *r)
{
    rdk_text status = {0};
    rdk_status ignored = {0}; /* a damaged run.json says nothing, and is written anew */
    bool found, done = r->config.resume[0] && r->step == r->config.steps &&
                       rdk_run_json_find(r, "status", &status, &found, &ignored) && found &&
                       strcmp(status.data, "done") == 0;
    rdk_text_free(&status);
    return done;
}

/* The configuration and the open logs. What run.json has of step 0 stays there. */
static bool open_files(rdk_trainer *r, rdk_finals *f)
{
    const rdk_config *c = &r->config;
    char path[RDK_PATH_TEXT + 64];
    rdk_text ini = {0};
    rdk_config_write(c, RDK_OPT_FINDS, &ini);
    bool ok = rdk_text_ok(&ini, r->status) &&
              rdk_file_replace(rdk_rundir_file(&r->directory, "config.ini", path), ini.data,
                               ini.size, r->status);
    rdk_text_free(&ini);
    r->started_step = r->step;
    r->started_tokens = r->tokens_seen;
    bool resuming = c->resume[0] != 0;
    if (r->step > 0) rdk_run_json_past(r, f);
    return ok && (!resuming || rdk_best_settle(r)) && rdk_logs_open(r, resuming) &&
           rdk_maps_example(r) && rdk_run_json(r, "running", f, r->status);
}

/* A run that broke off leaves its reason in run.json; its files stay as they are. */
static rdk_run_end close_broken(rdk_trainer *r, const rdk_finals *f)
{
    rdk_status ignored = {0};
    bool diverged = r->status->code == RDK_ENONFINITE;
    rdk_run_json(r, diverged ? "diverged" : "failed", f, &ignored);
    return diverged ? RDK_RUN_DIVERGED : RDK_RUN_FAILED;
}

rdk_run_end rdk_train(rdk_config *c, const bool *given, const rdk_run_io *io,
                      char directory[RDK_PATH_TEXT], rdk_status *s)
{
    if (c->resume[0] && !rdk_resume_config(c, given, s)) return RDK_RUN_FAILED;
    rdk_trainer *r = rdk_alloc(1, sizeof *r, s);
    if (!r) return RDK_RUN_FAILED;
    *r = (rdk_trainer){.config = *c, .io = io, .status = s, .started = rdk_seconds()};
    rdk_finals finals = {0};
    rdk_run_end end = RDK_RUN_FAILED;
    bool ready = rdk_setup_trainer(r) && open_directory(r);
    if (ready && is_complete(r)) {
        rdk_screen_complete(r);
        end = RDK_RUN_DONE;
    } else if (ready && open_files(r, &finals)) {
        rdk_screen_header(r);
        rdk_tape_profile(r->tapes[0], c->profile);
        end = loop(r, &finals);
        rdk_screen_progress_clear(r);
        rdk_profile_table(r);
        if (end == RDK_RUN_FAILED) end = close_broken(r, &finals);
    }
    snprintf(directory, RDK_PATH_TEXT, "%s", r->directory.path);
    rdk_trainer_free(r);
    rdk_free(r);
    return end;
}
