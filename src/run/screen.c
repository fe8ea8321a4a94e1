/* SPDX-License-Identifier: MIT
 * What a run prints while it goes: header, prediction beside measurement, table on stdout; the
 * progress bar on stderr. Times stand on stderr alone, so that the stdout of two equal runs is
 * equal. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

enum { BAR_CELLS = 30, LABEL = 9 };

static void line(const rdk_trainer *r, const char *label, const char *text)
{
    fprintf(r->io->out, "%-*s%s\n", LABEL, label, text);
}

static void table_heading(const rdk_trainer *r)
{
    fprintf(r->io->out, "\n%8s %-5s %9s %9s %10s %10s %7s %10s %11s\n", "step", "", "loss",
            "accuracy", "grad norm", "score std", "H/ln n", "saturated", "gW_Q/gW_V");
}

/* On stderr: what lies beside a run is no part of it, and its stdout stays what it is. */
static void cut_off_note(const rdk_trainer *r)
{
    rdk_text path = {0};
    if (!r->io->err || !r->directory.cut_off[0]) return;
    rdk_text_shell(&path, r->directory.cut_off);
    fprintf(r->io->err,
            "note: %s is this run, cut off before its end; --resume %s goes on with it\n",
            r->directory.cut_off, path.data ? path.data : "");
    rdk_text_free(&path);
}

void rdk_screen_header(const rdk_trainer *r)
{
    const rdk_config *c = &r->config;
    cut_off_note(r);
    if (!r->io->out || c->quiet) return;
    rdk_text t = {0};
    struct {
        const char *label;
        void (*write)(rdk_text *, const rdk_trainer *);
    } parts[] = {{"task", rdk_words_task},
                 {"model", rdk_words_model},
                 {"scale", rdk_words_scale},
                 {"training", rdk_words_training},
                 {"machine", rdk_words_machine}};
    line(r, "run", r->directory.path);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        t.size = 0;
        parts[i].write(&t, r);
        line(r, parts[i].label, t.data ? t.data : "");
    }
    rdk_text_free(&t);
    if (r->step > 0) {
        fprintf(r->io->out, "%-*sat step %" PRIu64 " of %" PRIu64 "\n", LABEL, "resumed", r->step,
                c->steps);
        if (strchr(r->isa, ','))
            line(r, "note",
                 "instruction sets: the last bits may not be those of an undisturbed run");
        if (strchr(r->isa, ',')) line(r, "", r->isa);
        table_heading(r);
    }
    fflush(r->io->out);
}

void rdk_screen_complete(const rdk_trainer *r)
{
    if (!r->io->out) return;
    fprintf(r->io->out, "%s is complete, at step %" PRIu64 " of %" PRIu64 "; nothing was changed\n",
            r->directory.path, r->step, r->config.steps);
    rdk_text again = {0};
    rdk_words_command(&again, r, "--resume", "");
    if (r->config.optim.schedule == RDK_CONSTANT && again.data)
        fprintf(r->io->out, "to make it longer: %s --steps N\n", again.data);
    rdk_text_free(&again);
    fflush(r->io->out);
}

/* A dash where there is no number: no formula has one, or no row has two keys. */
static const char *or_dash(double x, const char *text)
{
    return isfinite(x) ? text : "-";
}

static void cell(const rdk_trainer *r, double x)
{
    char text[RDK_NUMBER_TEXT];
    snprintf(text, sizeof text, "%.3f", x);
    fprintf(r->io->out, " %9s", or_dash(x, text));
}

static void compare(const rdk_trainer *r, const char *what, double theory,
                    double (*value)(const rdk_head_figures *))
{
    fprintf(r->io->out, "  %-16s", what);
    cell(r, theory);
    fputc(' ', r->io->out);
    for (int l = 0; l < (int)r->config.model.layers; l++) {
        rdk_head_figures f = rdk_measure_mean(r->measure, l);
        cell(r, value(&f));
    }
    fputc('\n', r->io->out);
}

/* Where layers differ: what is predicted of each, above what is measured of it. */
static void predicted_by_layer(const rdk_trainer *r, size_t offset)
{
    fprintf(r->io->out, "  %-16s %9s ", "  predicted", "");
    for (size_t l = 0; l < r->config.model.layers; l++) {
        double x;
        memcpy(&x, (const char *)&r->theory[l] + offset, sizeof x);
        cell(r, x);
    }
    fputc('\n', r->io->out);
}

static double score_std(const rdk_head_figures *f)
{
    return f->score_std;
}

static double entropy_norm(const rdk_head_figures *f)
{
    return f->entropy_norm;
}

void rdk_screen_start(const rdk_trainer *r, bool measured)
{
    if (!r->io->out || r->config.quiet) return;
    if (measured) {
        const rdk_theory theory = rdk_trainer_theory(r);
        bool by_layer = r->config.model.scale_layers[0] != '\0';
        fprintf(r->io->out, "\n%-18s %9s   measured: layer 0, 1, ...\n", "at initialisation",
                "predicted");
        compare(r, "score std", theory.score_std, score_std);
        if (by_layer) predicted_by_layer(r, offsetof(rdk_theory, score_std));
        compare(r, "entropy / ln n", theory.entropy_norm, entropy_norm);
        if (by_layer) predicted_by_layer(r, offsetof(rdk_theory, entropy_norm));
    }
    table_heading(r);
    fflush(r->io->out);
}

void rdk_screen_row(const rdk_trainer *r, const rdk_step_report *p)
{
    if (!r->io->out || r->config.quiet) return;
    rdk_screen_progress_clear(r);
    rdk_head_figures f = rdk_measure_mean(r->measure, RDK_ALL_LAYERS);
    double quotient = rdk_measure_query_value_ratio(r);
    char std[RDK_NUMBER_TEXT], entropy[RDK_NUMBER_TEXT], saturated[RDK_NUMBER_TEXT],
        ratio[RDK_NUMBER_TEXT];
    snprintf(std, sizeof std, "%.4g", f.score_std);
    snprintf(entropy, sizeof entropy, "%.3f", f.entropy_norm);
    snprintf(saturated, sizeof saturated, "%.1f%%", 100 * f.sat99);
    snprintf(ratio, sizeof ratio, "%.3g", quotient);
    fprintf(r->io->out, "%8" PRIu64 " %-5s %9.4f %8.2f%% %10.4g %10s %7s %10s %11s\n", r->step,
            "train", p->pass.loss, 100 * p->pass.accuracy, p->grad_norm, or_dash(f.score_std, std),
            or_dash(f.entropy_norm, entropy), or_dash(f.sat99, saturated),
            or_dash(quotient, ratio));
    fflush(r->io->out);
}

void rdk_screen_eval(const rdk_trainer *r, const rdk_score *p)
{
    if (!r->io->out || r->config.quiet) return;
    rdk_screen_progress_clear(r);
    fprintf(r->io->out, "%8" PRIu64 " %-5s %9.4f %8.2f%%   held out", r->step, "eval", p->loss,
            100 * p->accuracy);
    if (rdk_task_whole_sequences(r->task))
        fprintf(r->io->out, ", %.2f%% of sequences whole", 100 * p->sequence_accuracy);
    fputc('\n', r->io->out);
    fflush(r->io->out);
}

void rdk_screen_progress(rdk_trainer *r)
{
    static const double LEAST_SECONDS_APART = 0.1;
    const rdk_config *c = &r->config;
    double now = rdk_seconds();
    if (!r->io->progress || !r->io->err || now - r->progress_drawn < LEAST_SECONDS_APART) return;
    r->progress_drawn = now;
    double rate = (double)(r->step - r->started_step) / (now - r->started);
    char bar[BAR_CELLS + 1];
    rdk_text left = {0};
    int full = (int)((double)r->step / (double)c->steps * BAR_CELLS);
    for (int i = 0; i < BAR_CELLS; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR_CELLS] = 0;
    rdk_text_duration(&left, (double)(c->steps - r->step) / rate);
    fprintf(r->io->err, "\r\033[K[%s] %" PRIu64 "/%" PRIu64 "  %.1f steps/s  %s left", bar, r->step,
            c->steps, rate, left.data ? left.data : "");
    rdk_text_free(&left);
    fflush(r->io->err);
}

void rdk_screen_progress_clear(const rdk_trainer *r)
{
    if (!r->io->progress || !r->io->err) return;
    fputs("\r\033[K", r->io->err);
    fflush(r->io->err);
}

void rdk_screen_resume_hint(const rdk_trainer *r, const char *why)
{
    rdk_screen_progress_clear(r);
    if (!r->io->out) return;
    rdk_text again = {0};
    rdk_words_command(&again, r, "--resume", "");
    fprintf(r->io->out, "%s after %" PRIu64 " of %" PRIu64 " steps; saved. To go on:\n    %s\n",
            why, r->step, r->config.steps, again.data ? again.data : "");
    rdk_text_free(&again);
    fflush(r->io->out);
}
