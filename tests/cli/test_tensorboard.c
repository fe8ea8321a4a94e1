/* SPDX-License-Identifier: MIT
 * The event file of a run: its values beside the CSV files, and that a run which was cut has the
 * events of one that was not. */
#include "events.h"

/* ---- values beside the logs ------------------------------------------------------------------ */

static const char *const SMALL[] = {
    "--task",        "copy", "--seq-len", "6",   "--vocab",       "5", "--d-model",    "8",
    "--heads",       "2",    "--layers",  "2",   "--batch",       "4", "--eval-size",  "8",
    "--steps",       "9",    "--threads", "1",   "--log-every",   "2", "--eval-every", "3",
    "--probe-every", "4",    "--dropout", "0.1", "--tensorboard", NULL};

static void same_number(const event *e, const char *tag, const char *text)
{
    float want = (float)strtod(text, NULL), got = find(e, tag)->scalar;
    ck_assert_msg(got == want || (got != got && want != want), "%s at step %d: %g, not %s", tag,
                  (int)e->step, (double)got, text);
}

/* Every field of a row but those that say which it is. */
static void same_row(const event *e, const char *header, const char *row)
{
    char split[64], name[64], text[64], tag[160];
    size_t there = 0;
    field_of(row, 1, split);
    ck_assert_uint_eq(e->step, (uint64_t)number_at(row, 0));
    for (int k = 2; k < columns_of(header); k++) {
        field_of(header, k, name);
        if (!*field_of(row, k, text)) continue;
        snprintf(tag, sizeof tag, "%s/%s", split, name);
        same_number(e, tag, text);
        there++;
    }
    ck_assert_uint_eq(e->n, there);
}

/* The p of a row of x in a histogram's bucket: from below it to its end. */
static void in_the_middle(const value *h, double x)
{
    double below_it = 0, rank = ceil(h->n / 2);
    size_t k = 0;
    while (below_it + h->bucket[k] < rank) below_it += h->bucket[k++];
    double left = k ? h->limit[k - 1] : h->least, slack = 1e-5;
    ck_assert_msg(x >= left - slack && x <= h->limit[k] + slack, "%s: median %g, bucket %g to %g",
                  h->tag, x, left, h->limit[k]);
}

static void sound_histogram(const value *h)
{
    double n = 0;
    ck_assert(h->is_histogram && h->limits == h->buckets && h->buckets > 0);
    for (size_t k = 0; k < h->buckets; k++) n += h->bucket[k];
    for (size_t k = 1; k < h->limits; k++) ck_assert_double_gt(h->limit[k], h->limit[k - 1]);
    ck_assert(n == h->n && h->limit[h->limits - 1] == h->largest && h->least <= h->limit[0]);
    ck_assert_double_ge(h->squares * h->n, h->sum * h->sum * (1 - 1e-12));
}

enum { HEAD = 2, P_MAX = 8, DS_MEDIAN = 13, SHOWN = 7, HISTOGRAMS = 2 };

static void same_head(const event *e, const char *header, const char *row)
{
    static const int shown[SHOWN] = {4, 5, 6, 7, P_MAX, 10, DS_MEDIAN};
    char head[64], name[64], text[64], tag[160];
    snprintf(head, sizeof head, "layer_%d.head_%d", (int)number_at(row, 1),
             (int)number_at(row, HEAD));
    ck_assert_uint_eq(e->step, (uint64_t)number_at(row, 0));
    for (int k = 0; k < SHOWN; k++) {
        snprintf(tag, sizeof tag, "%s/%s", field_of(header, shown[k], name), head);
        same_number(e, tag, field_of(row, shown[k], text));
    }
    snprintf(tag, sizeof tag, "row_p_max/%s", head);
    const value *p = find(e, tag);
    sound_histogram(p);
    ck_assert_close(p->sum / p->n, number_at(row, P_MAX), 1e-6, 0);
    snprintf(tag, sizeof tag, "row_log10_ds/%s", head);
    const value *ds = find(e, tag);
    sound_histogram(ds);
    in_the_middle(ds, log10(number_at(row, DS_MEDIAN)));
}

/* How many rows of dL/ds there are: in layer 0 a gradient reaches them all, by way of later ones;
 * one that sees a single key has a choice only beside a sink. */
static void all_rows(const event *e, bool sink)
{
    enum { SEQUENCES = 4, TOKENS = 11 };
    for (int h = 0; h < 2; h++) {
        char tag[64];
        snprintf(tag, sizeof tag, "row_log10_ds/layer_0.head_%d", h);
        ck_assert_double_eq(find(e, tag)->n, SEQUENCES * (sink ? TOKENS : TOKENS - 1));
    }
}

START_TEST(events_are_the_logs)
{
    enum { HEADS = 4 };
    static const char *const sinks[] = {"off", "learned"};
    char *dir = program_directory();
    double begun = (double)time(NULL);
    train(dir, SMALL, WITH("--out", "run", "--sink", sinks[_i]), 0);
    events *all = read_events(dir, "run");
    char *metrics = program_file(dir, "run/metrics.csv", NULL);
    char *attention = program_file(dir, "run/attention.csv", NULL);
    const char *row = metrics, *head = attention;
    ck_assert_uint_eq(all->n, 1 + (size_t)rows_of(metrics) + (size_t)rows_of(attention) / HEADS);
    for (size_t i = 1; i < all->n; i++) {
        const event *e = &all->at[i];
        ck_assert_uint_ge(e->step, all->at[i - 1].step);
        ck_assert(e->wall_time >= begun - 1 && e->wall_time < begun + 600);
        if (e->n < HEADS * SHOWN) {
            ck_assert_ptr_nonnull(row = next_line(row));
            same_row(e, metrics, row);
            continue;
        }
        ck_assert_uint_eq(e->n, HEADS * (SHOWN + HISTOGRAMS));
        for (int h = 0; h < HEADS; h++) {
            ck_assert_ptr_nonnull(head = next_line(head));
            same_head(e, attention, head);
        }
        all_rows(e, _i == 1);
    }
    free(metrics);
    free(attention);
    free_events(all);
    program_directory_remove(dir);
}
END_TEST

/* ---- runs that were cut ---------------------------------------------------------------------- */

/* The data of all records, with 0 for the time, which is 8 bytes behind the first. */
static char *timeless(const char *dir, const char *run, size_t *size)
{
    size_t n;
    char *text = program_file(dir, below(run, EVENTS).text, &n), *out = malloc(n);
    bytes file = {(unsigned char *)text, (unsigned char *)text + n};
    *size = 0;
    while (file.at < file.end) {
        bytes data = next_record(&file);
        size_t length = (size_t)(data.end - data.at);
        memcpy(out + *size, data.at, length);
        memset(out + *size + 1, 0, 8);
        *size += length;
    }
    free(text);
    return out;
}

static void same_events(const char *dir, const char *a, const char *b)
{
    size_t n, m;
    char *one = timeless(dir, a, &n), *other = timeless(dir, b, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(one, other, n);
    free(one);
    free(other);
}

/* What lies behind the cut: nothing; events of a run that went on and was killed; half a record. */
START_TEST(a_run_that_was_cut_has_the_same_events)
{
    char *dir = program_directory();
    size_t size, more;
    train(dir, SMALL, WITH("--out", "whole"), 0);
    train(dir, SMALL, WITH("--out", "cut", "--stop-at", "5"), 0);
    char *whole = program_file(dir, "whole/" EVENTS, &size);
    char *cut = program_file(dir, "cut/" EVENTS, &more);
    ck_assert_uint_lt(more, size);
    if (_i == 1) write_bytes(dir, "cut/" EVENTS, whole, size);
    if (_i == 2) write_bytes(dir, "cut/" EVENTS, whole, more + 30);
    train(dir, WITH("--resume", "cut", "--threads", "2"), NULL, 0);
    same_runs(dir, "whole", "cut");
    same_events(dir, "whole", "cut");
    free(whole);
    free(cut);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_longer_run_has_the_events_of_the_undisturbed_one)
{
    char *dir = program_directory();
    train(dir, SMALL, WITH("--out", "short"), 0);
    train(dir, WITH("--resume", "short", "--steps", "14"), NULL, 0);
    static const char *const longer[] = {"--config", "short/config.ini", "--out", "long", NULL};
    train(dir, longer, NULL, 0);
    same_runs(dir, "short", "long");
    same_events(dir, "short", "long");
    program_directory_remove(dir);
}
END_TEST

START_TEST(damaged_events_are_refused_by_name)
{
    char *dir = program_directory();
    size_t size;
    train(dir, SMALL, WITH("--out", "cut", "--stop-at", "5"), 0);
    char *file = program_file(dir, "cut/" EVENTS, &size);
    file[size / 2] ^= 1;
    write_bytes(dir, "cut/" EVENTS, file, size);
    copy_run(dir, "cut", "copy");
    write_bytes(dir, "copy/" EVENTS, file, size);
    refused(dir, WITH("--resume", "cut"), NULL, 1, WITH("cannot continue", EVENTS, "step 5"));
    unchanged(dir, "cut", "copy");
    file[size / 2] ^= 1;
    write_bytes(dir, "cut/" EVENTS, file, size - 40); /* the last event is gone */
    refused(dir, WITH("--resume", "cut"), NULL, 1, WITH("cannot continue", EVENTS, "missing"));
    free(file);
    program_directory_remove(dir);
}
END_TEST

/* Length of the record that begins here. */
static size_t record_at(const char *file)
{
    const unsigned char *p = (const unsigned char *)file;
    return (size_t)p[0] + 256 * (size_t)p[1] + 16;
}

/* The first events, of which nothing before them tells that they were there. */
START_TEST(damage_at_the_beginning_is_refused)
{
    char *dir = program_directory(), from[32];
    size_t size;
    train(dir, SMALL, WITH("--out", "cut", "--stop-at", "5"), 0);
    char *file = program_file(dir, "cut/" EVENTS, &size), *other = malloc(size);
    ck_assert_ptr_nonnull(other);
    size_t version = record_at(file), first = record_at(file + version);
    size_t rest = version + first; /* then two more of step 0 and one of step 2 */
    for (int i = 0; i < 3; i++) rest += record_at(file + rest);
    /* damaged in its length or in its data; missing; behind the next three */
    memcpy(other, file, size);
    if (_i < 2) other[version + (_i ? 30 : 1)] ^= 1;
    if (_i == 2) memcpy(other + version, file + version + first, size - version - first);
    if (_i == 3) {
        memcpy(other + version, file + version + first, rest - version - first);
        memcpy(other + rest - first, file + version, first);
    }
    write_bytes(dir, "cut/" EVENTS, other, _i == 2 ? size - first : size);
    snprintf(from, sizeof from, "from byte %zu on", version);
    refused(dir, WITH("--resume", "cut"), NULL, 1, WITH("cannot continue", EVENTS, "step 5"));
    if (_i < 2) refused(dir, WITH("--resume", "cut"), NULL, 1, WITH(from));
    free(other);
    free(file);
    program_directory_remove(dir);
}
END_TEST

/* It is a view of the logs: a run goes on without it, and again. */
START_TEST(events_that_were_removed_begin_anew)
{
    char *dir = program_directory();
    train(dir, SMALL, WITH("--out", "cut", "--stop-at", "3"), 0);
    ck_assert_int_eq(unlink(below(dir, "cut/" EVENTS).text), 0);
    train(dir, WITH("--resume", "cut", "--stop-at", "5"), NULL, 0);
    train(dir, WITH("--resume", "cut"), NULL, 0);
    events *all = read_events(dir, "cut");
    ck_assert_uint_eq(all->at[1].step, 3); /* an evaluation */
    ck_assert_uint_eq(all->at[all->n - 1].step, 9);
    free_events(all);
    program_directory_remove(dir);
}
END_TEST

START_TEST(there_are_none_unless_asked_for)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--out", "run", "--steps", "2", "--tensorboard"), 0);
    ck_assert(run_has(dir, "run", EVENTS));
    refused(dir, WITH("--resume", "run"), WITH("--no-tensorboard"), 2, WITH("--tensorboard"));
    train(dir, TINY, WITH("--out", "run", "--steps", "2", "--force"), 0);
    ck_assert(!run_has(dir, "run", EVENTS));
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("tensorboard", {
    ADD_LOOP(events_are_the_logs, 2);
    ADD_LOOP(a_run_that_was_cut_has_the_same_events, 3);
    ADD(a_longer_run_has_the_events_of_the_undisturbed_one);
    ADD(damaged_events_are_refused_by_name);
    ADD_LOOP(damage_at_the_beginning_is_refused, 4);
    ADD(events_that_were_removed_begin_anew);
    ADD(there_are_none_unless_asked_for);
})
