/* SPDX-License-Identifier: MIT
 * Which steps have rows in the logs: a function of the intervals alone. The loop asks it before it
 * writes, and a resumed run before it goes on, so that a row that somebody took out is missed.
 * Invariant: a key that is expected is the beginning of the row that logs.c writes, in its order.
 * Read next: csv.h. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>

static bool due(uint64_t every, uint64_t step, uint64_t steps)
{
    return step == steps || (every > 0 && step % every == 0);
}

bool rdk_logs_at(const rdk_config *c, uint64_t step)
{
    return step == 0 || due(c->log_every, step, c->steps);
}

bool rdk_probes_at(const rdk_config *c, uint64_t step)
{
    return c->probe_every > 0 && due(c->probe_every, step, c->steps);
}

bool rdk_evaluates_at(const rdk_config *c, uint64_t step)
{
    return due(c->eval_every, step, c->steps);
}

/* ---- one file's rows ------------------------------------------------------------------------- */

static size_t rows_at(const rdk_log_rows *w, uint64_t step)
{
    const rdk_config *c = &w->r->config;
    switch (w->file) {
    case RDK_ROWS_METRICS:
        return (size_t)rdk_logs_at(c, step) + rdk_evaluates_at(c, step);
    case RDK_ROWS_ATTENTION:
        return rdk_probes_at(c, step) ? c->model.layers * c->model.heads : 0;
    case RDK_ROWS_GRADIENTS:
        return rdk_probes_at(c, step) ? rdk_model_param_count(w->r->model) : 0;
    case RDK_ROWS_MAPS: /* those of the last step never lie before another */
        return step == 0 ? c->model.layers * c->model.heads * rdk_maps_rows_of_head(w->r) : 0;
    }
    return 0;
}

static void write_key(const rdk_log_rows *w, char key[RDK_CSV_KEY])
{
    size_t heads = w->r->config.model.heads, i = w->row;
    bool train = i == 0 && rdk_logs_at(&w->r->config, w->step);
    switch (w->file) {
    case RDK_ROWS_METRICS:
        snprintf(key, RDK_CSV_KEY, "%" PRIu64 ",%s,", w->step, train ? "train" : "eval");
        break;
    case RDK_ROWS_ATTENTION:
        snprintf(key, RDK_CSV_KEY, "%" PRIu64 ",%zu,%zu,", w->step, i / heads, i % heads);
        break;
    case RDK_ROWS_GRADIENTS:
        snprintf(key, RDK_CSV_KEY, "%" PRIu64 ",%s,", w->step,
                 rdk_model_param(w->r->model, i)->name);
        break;
    case RDK_ROWS_MAPS:
        i /= rdk_maps_rows_of_head(w->r);
        snprintf(key, RDK_CSV_KEY, "%" PRIu64 ",%zu,%zu,", w->step, i / heads, i % heads);
        break;
    }
}

/* The first multiple of the interval behind this step. */
static uint64_t multiple_after(uint64_t every, uint64_t step)
{
    return every ? (step / every + 1) * every : UINT64_MAX;
}

static uint64_t step_after(const rdk_log_rows *w)
{
    const rdk_config *c = &w->r->config;
    if (w->file != RDK_ROWS_METRICS) return multiple_after(c->probe_every, w->step);
    uint64_t log = multiple_after(c->log_every, w->step);
    uint64_t eval = multiple_after(c->eval_every, w->step);
    return log < eval ? log : eval;
}

bool rdk_log_rows_next(void *rows, char key[RDK_CSV_KEY])
{
    rdk_log_rows *w = rows;
    while (w->step < w->r->step && w->row >= rows_at(w, w->step)) {
        w->step = step_after(w);
        w->row = 0;
    }
    if (w->step >= w->r->step) return false;
    write_key(w, key);
    w->row++;
    return true;
}
