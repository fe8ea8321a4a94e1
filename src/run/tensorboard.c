/* SPDX-License-Identifier: MIT
 * The event file of a run: one event a row of metrics.csv, and one for all heads of a probed step.
 *
 * Scalars come from the columns of logs.c, so they are those of the CSV files as floats; histograms
 * are of the rows behind p_max and dL/ds. Events stand in the order of their steps.
 * Invariant: but for the time in each event the file is a function of the configuration alone, so
 * it differs from that of an equal run, wherever cut, in these bytes and their checksums alone.
 * Read next: event.h. */
#include "tensorboard.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "append.h"
#include "event.h"
#include "probe/row.h"
#include "trainer.h"

/* ---- one event ------------------------------------------------------------------------------- */

static double wall_time(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { TAG_TEXT = 64 };

void rdk_tensorboard_scalar(rdk_tensorboard *b, const char *group, const char *name, double x)
{
    char tag[TAG_TEXT];
    if (b->fd < 0) return;
    snprintf(tag, sizeof tag, "%s/%s", group, name);
    rdk_summary_scalar(&b->summary, tag, x);
}

static bool write_record(rdk_tensorboard *b, rdk_status *s)
{
    b->record.size = 0;
    rdk_tfrecord_add(&b->record, &b->event);
    return rdk_text_ok(&b->event, s) && rdk_text_ok(&b->record, s) &&
           rdk_append(b->fd, b->path, b->record.data, b->record.size, s);
}

bool rdk_tensorboard_event(rdk_tensorboard *b, uint64_t step, rdk_status *s)
{
    if (b->fd < 0) return true;
    b->event.size = 0;
    rdk_event_summary(&b->event, wall_time(), step, &b->summary);
    bool ok = rdk_text_ok(&b->summary, s) && write_record(b, s);
    b->summary.size = 0;
    return ok;
}

/* ---- the rows of a head ---------------------------------------------------------------------- */

/* The rows that p_max counts (rdk_head_figures). */
static size_t largest_weights(const rdk_measure *m, size_t layer, size_t head, double *x)
{
    const size_t rows = rdk_measure_rows(m);
    size_t longest = 0, n = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t visible = (size_t)rdk_measure_row(m, layer, head, i)->n;
        longest = visible > longest ? visible : longest;
    }
    for (size_t i = 0; i < rows; i++) {
        const rdk_attention_row *row = rdk_measure_row(m, layer, head, i);
        if (rdk_row_is_long((size_t)row->n, longest)) x[n++] = rdk_row_measure(row).p_max;
    }
    return n;
}

/* log10 of ||dL/ds|| of the rows that ds_median counts; a 0, of which there is no logarithm, stands
 * below the smallest float. */
static size_t gradient_sizes(const rdk_measure *m, size_t layer, size_t head, double *x)
{
    static const double of_zero = -46;
    size_t n = 0;
    for (size_t i = 0; i < rdk_measure_rows(m); i++) {
        const rdk_attention_row *row = rdk_measure_row(m, layer, head, i);
        if (!rdk_row_has_choice((size_t)row->n, row->sink) || !row->reached) continue;
        double size = (double)row->ds_norm;
        if (!isfinite(size)) return 0; /* the run diverges */
        x[n++] = size > 0 ? log10(size) : of_zero;
    }
    return n;
}

void rdk_tensorboard_rows(rdk_tensorboard *b, const rdk_measure *m, size_t layer, size_t head)
{
    char tag[TAG_TEXT];
    if (b->fd < 0) return;
    size_t n = largest_weights(m, layer, head, b->values);
    snprintf(tag, sizeof tag, "row_p_max/layer_%zu.head_%zu", layer, head);
    if (n > 0) rdk_summary_histogram(&b->summary, tag, b->values, n);
    n = gradient_sizes(m, layer, head, b->values);
    snprintf(tag, sizeof tag, "row_log10_ds/layer_%zu.head_%zu", layer, head);
    if (n > 0) rdk_summary_histogram(&b->summary, tag, b->values, n);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Steps before `cut` of which there is one every so many; 0: none. */
static uint64_t multiples(uint64_t every, uint64_t cut)
{
    return every == 0 || cut == 0 ? 0 : (cut - 1) / every + 1;
}

/* How many events lie before step `cut`, which is no later than the last: see rows.c. */
static uint64_t events_before(const rdk_config *c, uint64_t cut)
{
    uint64_t logged = multiples(c->log_every, cut);
    if (c->log_every == 0) logged = cut > 0;
    return logged + multiples(c->eval_every, cut) + multiples(c->probe_every, cut);
}

/* The bytes up to the first event of step `cut` or later. False where events before it are not
 * there or not in order, from the step on with which the file begins: *keep is where that shows. */
static bool find_cut(const rdk_config *c, uint64_t cut, const char *file, size_t n, size_t *keep)
{
    uint64_t events = 0, first = cut, last = 0, step;
    const char *data;
    size_t size, length = rdk_tfrecord_read(file, n, &data, &size); /* the version */
    if ((*keep = length) == 0) return false;
    for (; (length = rdk_tfrecord_read(file + *keep, n - *keep, &data, &size)) > 0;
         *keep += length) {
        if (!rdk_event_step(data, size, &step)) return false;
        if (events == 0 && step < cut) first = last = step;
        uint64_t so_far = events_before(c, step < cut ? step : cut) - events_before(c, first);
        if (step < last || (step > last && events != so_far)) return false;
        if (step >= cut) return true;
        last = step;
        events++;
    }
    /* with no event at all a damaged one cannot be told by its step */
    if (events == 0) return rdk_tfrecord_torn(file + *keep, n - *keep);
    return events == events_before(c, cut) - events_before(c, first);
}

static bool checked(const rdk_trainer *r, const rdk_tensorboard *b, size_t *keep)
{
    size_t n;
    char *file = rdk_file_read(b->path, &n, r->status);
    if (!file) return false;
    bool whole = find_cut(&r->config, r->step, file, n, keep);
    rdk_free(file);
    return whole ||
           rdk_fail(r->status, RDK_EFORMAT,
                    "cannot continue %s: its events before step %" PRIu64
                    " are damaged or missing, from byte %zu on (put them back, or remove the file, "
                    "which then begins with that step)",
                    b->path, r->step, *keep);
}

static bool create(rdk_trainer *r)
{
    rdk_tensorboard *b = &r->tensorboard;
    b->event.size = b->record.size = 0;
    rdk_event_version(&b->event, wall_time());
    rdk_tfrecord_add(&b->record, &b->event);
    return rdk_text_ok(&b->record, r->status) &&
           rdk_file_replace(b->path, b->record.data, b->record.size, r->status);
}

/* In place, so that a TensorBoard which has the file open goes on with it. */
static bool cut_off(const rdk_trainer *r)
{
    const rdk_tensorboard *b = &r->tensorboard;
    size_t keep;
    return checked(r, b, &keep) &&
           (truncate(b->path, (off_t)keep) == 0 ||
            rdk_fail(r->status, RDK_EIO, "cannot cut %s: %s", b->path, strerror(errno)));
}

static bool set_path(rdk_trainer *r)
{
    rdk_text path = {0};
    rdk_text_add(&path, "%s/%s", r->directory.path, RDK_EVENTS_FILE);
    r->tensorboard.path = path.data;
    return rdk_text_ok(&path, r->status);
}

bool rdk_tensorboard_check(rdk_trainer *r)
{
    size_t keep;
    if (!r->config.tensorboard) return true;
    bool ok = set_path(r);
    ok = ok && (!rdk_file_exists(r->tensorboard.path) || checked(r, &r->tensorboard, &keep));
    rdk_tensorboard_close(&r->tensorboard);
    return ok;
}

bool rdk_tensorboard_open(rdk_trainer *r, bool resuming)
{
    rdk_tensorboard *b = &r->tensorboard;
    if (!r->config.tensorboard) return true;
    b->values = rdk_alloc(r->batch.n, r->batch.len * sizeof *b->values, r->status);
    if (!b->values || !set_path(r)) return false;
    if (!(resuming && rdk_file_exists(b->path) ? cut_off(r) : create(r))) return false;
    b->fd = rdk_append_open(b->path, r->status);
    return b->fd >= 0;
}

bool rdk_tensorboard_sync(rdk_tensorboard *b, rdk_status *s)
{
    return rdk_append_sync(b->fd, b->path, s);
}

void rdk_tensorboard_close(rdk_tensorboard *b)
{
    if (b->fd >= 0) close(b->fd);
    rdk_free(b->path);
    rdk_free(b->values);
    rdk_text_free(&b->summary);
    rdk_text_free(&b->event);
    rdk_text_free(&b->record);
    *b = (rdk_tensorboard){.fd = -1};
}
