/* SPDX-License-Identifier: MIT
 * The verdict in the terminal: what came of the run (sentences.c), and what to try next. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "sentences.h"
#include "words.h"

/* The sentences, one under the other. */
static void say(FILE *out, const rdk_verdict_figures *f)
{
    rdk_text t = {0};
    const char *label = "verdict";
    rdk_verdict_sentences(f, &t);
    for (char *line = t.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        fprintf(out, "%-8s %.*s\n", label, (int)(end - line), line);
        label = "";
    }
    rdk_text_free(&t);
}

static rdk_verdict_figures figures_of(const rdk_trainer *r, const rdk_finals *f)
{
    return (rdk_verdict_figures){
        .step = r->step,
        .loss = f->held_out.loss,
        .accuracy = f->held_out.accuracy,
        .sequence_accuracy =
            rdk_task_whole_sequences(r->task) ? f->held_out.sequence_accuracy : NAN,
        .chance_accuracy = rdk_task_chance_accuracy(r->task),
        .floor_loss = rdk_task_floor_loss(r->task),
        .best_loss = r->best_loss,
        .best_step = r->best_step,
        .entropy_first = f->attention_first.entropy_norm,
        .entropy_theory = rdk_trainer_theory(r).entropy_norm,
        .sat99_first = f->attention_first.sat99,
        .top5_first = f->attention_first.ds_top5_share,
        .entropy_last = f->attention_last.entropy_norm,
        .score_std_last = f->attention_last.score_std,
        .score_absmax_last = f->attention_last.score_absmax,
        .ratio_first = f->ratio_first,
        .ratio_last = f->ratio_last,
        .scale = r->config.model.scale_layers[0] ? NAN : rdk_model_score_scale(r->model),
        .qk_clip = r->config.qk_clip,
        .clip_updates = r->clip_unknown ? NAN : (double)r->clip_updates,
        .clip_most = (double)r->clip_most,
        .all_heads = r->config.model.layers * r->config.model.heads,
        .layer = r->layer,
        .layers = r->layer ? r->config.model.layers : 0,
        .started = f->have_first,
        .ended = true,
    };
}

static void next_commands(const rdk_trainer *r)
{
    const rdk_model_config *m = &r->config.model;
    const char *other = m->attention == RDK_ADDITIVE    ? "--attention dot"
                        : strcmp(m->scale, "none") == 0 ? "--scale sqrt"
                                                        : "--scale none";
    uint64_t seed = r->config.seed == UINT64_MAX ? 1 : r->config.seed + 1;
    FILE *out = r->io->out;
    rdk_text again = {0}, program = {0}, directory = {0};
    rdk_words_command(&again, r, "--config", "/config.ini");
    rdk_text_shell(&program, r->io->command ? r->io->command : "rootdk");
    rdk_text_shell(&directory, r->directory.path);
    fprintf(out, "\nfiles    %s (metrics.csv%s, run.json)\n", r->directory.path,
            r->watch ? ", attention.csv, gradients.csv, maps.csv" : "");
    if (again.data && program.data && directory.data)
        fprintf(out,
                "next     %s %s    # the same run under another scaling\n"
                "         %s --seed %" PRIu64 "    # and with another seed\n"
                "         %s report %s    # one HTML page: figures and a verdict\n"
                "         %s --help\n",
                again.data, other, again.data, seed, program.data, directory.data, program.data);
    rdk_text_free(&again);
    rdk_text_free(&program);
    rdk_text_free(&directory);
}

/* Times stand on stderr alone: the stdout of two equal runs is equal. Of a short training the share
 * would be that of the first steps and of chance; run.json has the seconds of any. */
static void cost_line(const rdk_trainer *r)
{
    static const double least = 2; /* seconds of training of which a share is told */
    const rdk_cost *c = &r->cost;
    double seconds = rdk_cost_seconds(r), all = rdk_seconds() - r->started;
    bool tells = isfinite(seconds) && c->plain + c->measured + c->apart > least;
    if (!r->io->err || !(all > 0)) return;
    if (tells)
        fprintf(r->io->err, "time     %.3g s, %.2g%% of it for measuring\n", all,
                100 * seconds / all);
    else if (r->io->progress)
        fprintf(r->io->err, "time     %.3g s\n", all);
    if (r->io->progress) rdk_speed_summary(r, r->io->err);
}

void rdk_verdict(const rdk_trainer *r, const rdk_finals *f)
{
    if (!r->io->out) return;
    rdk_screen_progress_clear(r);
    if (!r->config.quiet) fputc('\n', r->io->out);
    rdk_verdict_figures figures = figures_of(r, f);
    say(r->io->out, &figures);
    if (r->config.quiet)
        fprintf(r->io->out, "run      %s\n", r->directory.path);
    else
        next_commands(r);
    fflush(r->io->out);
    if (!r->config.quiet) cost_line(r);
}
