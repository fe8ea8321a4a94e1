/* SPDX-License-Identifier: MIT
 * The verdict: what came of the run, in sentences chosen by its measured numbers against the
 * thresholds named here, and what to try next. Nothing is concluded that was not measured. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "thresholds.h"
#include "words.h"

/* entropy / ln n above which attention is called practically uniform, below which sharp */
static const double UNIFORM = 0.98, SHARP = 0.30;
/* steps before which nothing is said of what did not happen; the held-out loss over its lowest that
 * is called a rise */
static const uint64_t LONG_ENOUGH = 100;
static const double ROSE = 1.2;
/* how far a measured start may be from its prediction and still be called "as predicted" */
static const double AS_PREDICTED = 0.03;

static bool stayed_near_chance(const rdk_trainer *r, const rdk_finals *f)
{
    return rdk_is_near_chance(f->held_out.accuracy, rdk_task_chance_accuracy(r->task));
}

static void task_sentence(const rdk_trainer *r, const rdk_finals *f)
{
    FILE *out = r->io->out;
    double accuracy = f->held_out.accuracy, chance = rdk_task_chance_accuracy(r->task);
    double floor = rdk_task_floor_loss(r->task);
    fprintf(out, "verdict  ");
    if (!(floor > 0) && accuracy >= RDK_SOLVED)
        fprintf(out, "solved: %.2f%% of held-out targets right", 100 * accuracy);
    else if (!(floor > 0) && stayed_near_chance(r, f))
        fprintf(out, "not learned%s: %.2f%% of held-out targets right, a guess has %.1f%%",
                r->step < LONG_ENOUGH ? " so far" : "", 100 * accuracy, 100 * chance);
    else
        fprintf(out, "%.2f%% of held-out targets right", 100 * accuracy);
    if (rdk_task_whole_sequences(r->task))
        fprintf(out, " (%.2f%% of sequences whole)", 100 * f->held_out.sequence_accuracy);
    fprintf(out, ", loss %.4f", f->held_out.loss);
    if (floor > 0) fprintf(out, " (no model can get below %.4f on average)", floor);
    fprintf(out, ", after %" PRIu64 " step%s.\n", r->step, r->step == 1 ? "" : "s");
    if (r->best_step == r->step) return;
    fprintf(out, "         The lowest held-out loss was %.4f at step %" PRIu64 "%s.\n",
            r->best_loss, r->best_step,
            f->held_out.loss > ROSE * r->best_loss && !(floor > 0) && accuracy < RDK_SOLVED
                ? "; it rose since (try a smaller --lr, or more --warmup)"
                : "");
}

static const char *character(double entropy_norm)
{
    return entropy_norm > UNIFORM ? "practically uniform" : entropy_norm < SHARP ? "sharp" : "soft";
}

static void start_sentence(const rdk_trainer *r, const rdk_finals *f)
{
    FILE *out = r->io->out;
    double e = f->attention_first.entropy_norm, theory = rdk_trainer_theory(r).entropy_norm;
    if (!isfinite(e)) return; /* end_sentence says why */
    fprintf(out, "         Attention started %s: entropy/ln n %.3f (", character(e), e);
    if (isfinite(theory))
        fprintf(out, "predicted %.3f%s", theory,
                fabs(e - theory) <= AS_PREDICTED
                    ? ""
                    : "; the prediction assumes independent inputs of unit size, and wide heads");
    else
        fprintf(out, "there is no formula for a prediction");
    fprintf(out, "), %.1f%% of rows above p = 0.99.\n", 100 * f->attention_first.sat99);
}

static void end_sentence(const rdk_trainer *r, const rdk_finals *f)
{
    FILE *out = r->io->out;
    double e = f->attention_last.entropy_norm;
    if (!isfinite(e)) {
        fprintf(out, "         No row of attention has two keys to choose from.\n");
        return;
    }
    fprintf(out, "         It ended %s: entropy/ln n %.3f, score std %.3g, largest |score| %.3g.",
            character(e), e, f->attention_last.score_std, f->attention_last.score_absmax);
    if (e < SHARP && f->held_out.accuracy >= RDK_SOLVED)
        fprintf(out, " Sharp and right: low entropy late is no failure.");
    if (e < SHARP && f->have_first && f->attention_first.entropy_norm < SHARP &&
        !(rdk_task_floor_loss(r->task) > 0) && stayed_near_chance(r, f) && r->step >= LONG_ENOUGH)
        fprintf(out,
                " Sharp from the start and near chance at the end: the picture of saturation.");
    fputc('\n', out);
}

static void gradient_sentence(const rdk_trainer *r, const rdk_finals *f)
{
    FILE *out = r->io->out;
    if (!f->have_first) return;
    if (!isfinite(f->ratio_first) || !isfinite(f->ratio_last)) {
        fprintf(out, "         |gW_Q|/|gW_V| is undefined: a W_V got no gradient.\n");
        return;
    }
    double c = rdk_model_score_scale(r->model);
    fprintf(out, "         |gW_Q|/|gW_V| went from %.3g to %.3g", f->ratio_first, f->ratio_last);
    if (!r->config.model.scale_layers[0]) /* else it carries several */
        fprintf(out, "; without the factor c that it carries, from %.3g to %.3g",
                f->ratio_first / c, f->ratio_last / c);
    fprintf(out, ".\n         ");
    if (isfinite(f->attention_first.ds_top5_share))
        fprintf(out,
                "At the start the top 5%% of rows held %.0f%% of the squared gradient at the "
                "scores.\n",
                100 * f->attention_first.ds_top5_share);
    else
        fprintf(out, "At the start no gradient reached the scores.\n");
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

/* Times stand on stderr alone. */
static void cost_line(const rdk_trainer *r)
{
    double seconds = rdk_cost_seconds(r), all = rdk_seconds() - r->started;
    if (!r->io->progress || !r->io->err || !isfinite(seconds) || !(all > 0)) return;
    fprintf(r->io->err, "time     %.3g s, %.2g%% of it for measuring\n", all, 100 * seconds / all);
}

void rdk_verdict(const rdk_trainer *r, const rdk_finals *f)
{
    if (!r->io->out) return;
    rdk_screen_progress_clear(r);
    if (!r->config.quiet) fputc('\n', r->io->out);
    task_sentence(r, f);
    if (f->have_first) start_sentence(r, f);
    end_sentence(r, f);
    gradient_sentence(r, f);
    if (r->config.quiet)
        fprintf(r->io->out, "run      %s\n", r->directory.path);
    else
        next_commands(r);
    fflush(r->io->out);
    if (!r->config.quiet) cost_line(r);
}
