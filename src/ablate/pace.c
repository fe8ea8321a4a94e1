/* SPDX-License-Identifier: MIT
 * How fast runs go, and so how long the rest will take: from their timing.csv, done or still going;
 * before there is one, from the rates that processors of today have.
 *
 * Invariant: an estimate is read, never waited for: a file that is not there or not whole yet says
 * nothing.
 * Read next: screen.c. */
#include <math.h>
#include <stdio.h>

#include "ablate.h"

/* FLOP/s of a thread, small models and large: between these lie most processors of today. */
static const double SLOW = 1e10, FAST = 5e10;

double rdk_point_rate(const rdk_ablation *a, size_t point)
{
    char path[RDK_PATH_TEXT + 16], directory[RDK_PATH_TEXT];
    rdk_status ignored = {0};
    if (!a->resolved) return NAN;
    const rdk_config *c = &a->resolved[point];
    double tokens =
        (double)c->model.max_len * (double)c->batch * (double)c->accum * (double)c->steps;
    snprintf(path, sizeof path, "%s/timing.csv", rdk_point_path(a, point, directory));
    rdk_table *t = rdk_file_exists(path) ? rdk_table_read(path, &ignored) : NULL;
    const double *rate = t ? rdk_table_numbers(t, "tokens_per_second", &ignored) : NULL;
    double last = rate && t->rows ? rate[t->rows - 1] : NAN;
    rdk_table_free(t);
    return last > 0 && tokens > 0 ? last * rdk_point_flops(a, point) / tokens : NAN;
}

void rdk_pace_add(rdk_pace *p, const rdk_ablation *a, size_t point)
{
    double rate = rdk_point_rate(a, point);
    if (!(rate > 0)) return;
    p->flops += rdk_point_flops(a, point);
    p->seconds += rdk_point_flops(a, point) / rate;
}

void rdk_pace_words(const rdk_pace *p, double flops, size_t jobs, int threads, rdk_text *t)
{
    double at_once = fmax((double)jobs, 1);
    rdk_text_add(t, "about ");
    if (p->seconds > 0) {
        rdk_text_duration(t, flops * p->seconds / p->flops / at_once);
        rdk_text_add(t, ", as fast as the runs that are done");
        return;
    }
    at_once *= (double)threads;
    if (flops / SLOW / at_once > 1) {
        rdk_text_duration(t, flops / FAST / at_once);
        rdk_text_add(t, " to ");
    }
    rdk_text_duration(t, flops / SLOW / at_once);
    rdk_text_add(
        t, " at %.0f to %.0f GFLOP/s a thread, evaluations apart; measured as soon as runs go",
        SLOW / 1e9, FAST / 1e9);
}
