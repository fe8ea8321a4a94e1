/* SPDX-License-Identifier: MIT
 * What an ablation prints: the grid and its cost, the progress of the whole.
 * Read next: table.c, the results. */
#include <math.h>
#include <string.h>

#include "ablate.h"

/* ---- the grid -------------------------------------------------------------------------------- */

static void print_grid(const rdk_ablation *a, FILE *out)
{
    enum { SHOWN = 12 };
    fprintf(out, "ablation  %s: %zu runs", a->directory, a->n_points);
    for (size_t i = 0; i < a->n_axes; i++)
        fprintf(out, "%s%zu %s", i ? " x " : " of ", a->axes[i].n, a->axes[i].option->name);
    fputc('\n', out);
    for (size_t i = 0; i < a->n_axes; i++) {
        const rdk_grid_axis *axis = &a->axes[i];
        fprintf(out, "  %-12s", axis->option->name);
        for (size_t k = 0; k < axis->n; k++) {
            if (k == SHOWN && axis->n > SHOWN + 1) {
                fprintf(out, " ... %s", axis->values[axis->n - 1]);
                break;
            }
            fprintf(out, " %s", axis->values[k]);
        }
        fputc('\n', out);
    }
}

static void print_shared(const rdk_ablation *a, FILE *out)
{
    rdk_config defaults;
    rdk_text is = {0}, usual = {0};
    size_t n = 0;
    rdk_config_init(&defaults);
    fprintf(out, "shared   ");
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        is.size = usual.size = 0;
        rdk_option_text(&a->base, o, &is);
        rdk_option_text(&defaults, o, &usual);
        bool varies = rdk_ablation_axis(a, o->name) < a->n_axes;
        bool named = !strcmp(o->name, "task") || !strcmp(o->name, "steps");
        if (o->scope == RDK_OPT_RUNS || varies || !is.data || !usual.data) continue;
        if (named || strcmp(is.data, usual.data) != 0)
            fprintf(out, "%s %s %s", n++ ? "," : "", o->name, is.data);
    }
    fprintf(out, "; all else by default\n");
    rdk_text_free(&is);
    rdk_text_free(&usual);
}

void rdk_ablation_describe(const rdk_ablation *a, size_t jobs, int threads, FILE *out)
{
    double flops = 0, left = 0, steps = 0;
    size_t done = 0, todo = 0;
    rdk_pace pace = {0};
    rdk_text time = {0};
    for (size_t i = 0; i < a->n_points; i++) {
        bool finished = rdk_point_is_done(a, i);
        done += finished;
        flops += rdk_point_flops(a, i);
        steps += (double)a->resolved[i].steps;
        if (!finished) left += rdk_point_flops(a, i);
        if (finished) rdk_pace_add(&pace, a, i);
        todo += !finished;
    }
    print_grid(a, out);
    print_shared(a, out);
    fprintf(out, "cost      %.0f steps, %.3g TFLOP; %zu of %zu runs are done", steps, flops / 1e12,
            done, a->n_points);
    if (left < flops) fprintf(out, ", %.3g TFLOP to do", left / 1e12);
    fputc('\n', out);
    rdk_pace_words(&pace, left, jobs < todo ? jobs : todo, threads, &time);
    if (left > 0 && !time.failed) fprintf(out, "time      %s\n", time.data);
    rdk_text_free(&time);
    fflush(out);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* The speed of the points that have ended, else of those that run, carried over to the rest. */
void rdk_progress_left(const rdk_progress *p, rdk_text *out)
{
    const rdk_pace *pace = p->ended.seconds > 0 ? &p->ended : &p->going;
    if (p->done + p->failed >= p->points) return;
    if (!(pace->seconds > 0)) {
        rdk_text_add(out, ", time left is known when runs have logged");
        return;
    }
    double seconds = p->cost_left * pace->seconds / pace->flops - p->running_seconds;
    rdk_text_add(out, ", about ");
    rdk_text_duration(out, seconds / (double)p->jobs);
    rdk_text_add(out, " left");
}

void rdk_progress_draw(rdk_progress *p)
{
    static const double interval = 0.5;
    double now = rdk_seconds();
    if (!p->io->progress || !p->io->err || now - p->last_drawn < interval) return;
    p->last_drawn = now;
    rdk_text t = {0};
    rdk_text_add(&t, "%zu of %zu runs done", p->done, p->points);
    if (p->diverged) rdk_text_add(&t, " (%zu diverged)", p->diverged);
    if (p->failed) rdk_text_add(&t, ", %zu failed", p->failed);
    rdk_text_add(&t, ", %zu running, ", p->running);
    rdk_text_duration(&t, now - p->started);
    rdk_progress_left(p, &t);
    if (!t.failed) fprintf(p->io->err, "\r%s\033[K", t.data);
    fflush(p->io->err);
    p->drawn = true;
    rdk_text_free(&t);
}

void rdk_progress_clear(rdk_progress *p)
{
    if (!p->drawn || !p->io->err) return;
    fprintf(p->io->err, "\r\033[K");
    fflush(p->io->err);
    p->drawn = false;
    p->last_drawn = 0;
}
