/* SPDX-License-Identifier: MIT
 * Finds and reads the runs of a directory: the run that it is, or those in its subdirectories.
 *
 * Invariant: a run that cannot be read is left out with a note that names it, unless nothing else
 * is there.
 * Read next: extract.c, then copies.c, group.c. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "svg.h"

void *rdk_report_alloc(rdk_report *r, size_t count, size_t size)
{
    void *p = rdk_arena_alloc(r->arena, count, size);
    if (!p) {
        rdk_fail(r->status, RDK_ENOMEM, "no memory for a report of %s", r->path);
        return NULL;
    }
    memset(p, 0, count * size);
    return p;
}

const char *rdk_report_string(rdk_report *r, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = rdk_report_alloc(r, n, 1);
    return copy ? memcpy(copy, text, n) : "";
}

void rdk_report_note(rdk_report *r, const char *name, const char *message)
{
    rdk_text_add(&r->notes, "<li><b>");
    rdk_html(&r->notes, name);
    rdk_text_add(&r->notes, "</b>: ");
    rdk_html(&r->notes, message);
    rdk_text_add(&r->notes, "</li>\n");
}

static int by_name(const void *a, const void *b)
{
    return rdk_text_order(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the subdirectories that are runs, seed-2 before seed-10; their number in *n. */
static const char **find_runs(rdk_report *r, size_t *n)
{
    char path[2 * RDK_PATH_TEXT];
    DIR *dir = opendir(r->path);
    *n = 0;
    if (!dir) {
        rdk_fail(r->status, RDK_EIO, "cannot open %s: %s", r->path, strerror(errno));
        return NULL;
    }
    size_t room = 0;
    for (struct dirent *e; (e = readdir(dir));) room += e->d_name[0] != '.';
    const char **names = rdk_report_alloc(r, room + 1, sizeof *names);
    rewinddir(dir);
    for (struct dirent *e; names && *n < room && (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", r->path, e->d_name);
        if (rdk_saved_run_is(path)) names[(*n)++] = rdk_report_string(r, e->d_name);
    }
    closedir(dir);
    if (names) qsort(names, *n, sizeof *names, by_name);
    return names;
}

static bool take_run(rdk_report *r, const char *path, const char *name, rdk_status *s)
{
    rdk_report_run *run = &r->runs[r->n_runs];
    memset(run, 0, sizeof *run);
    if (!rdk_saved_run_open(&run->saved, path, s)) return false;
    run->name = name;
    run->status = rdk_report_string(r, rdk_saved_run_status(&run->saved));
    run->diverged = !strcmp(run->status, "diverged");
    run->finished = run->diverged || !strcmp(run->status, "done");
    run->ended = run->finished || !r->ablation;
    if (!rdk_report_extract(r, run, s)) {
        rdk_saved_run_close(&run->saved);
        return false;
    }
    if (!run->finished) {
        char message[160];
        snprintf(message, sizeof message,
                 "not finished (%.20s); what it has logged so far is shown, up to step %.0f",
                 run->status, run->step);
        rdk_report_note(r, name, message);
    }
    r->n_runs++;
    return true;
}

static bool take_ablation(rdk_report *r)
{
    size_t n;
    const char **names = find_runs(r, &n);
    if (!names) return false;
    if (!n)
        return rdk_fail(r->status, RDK_EFORMAT,
                        "%s is no run (it has no config.ini) and none of its subdirectories is",
                        r->path);
    r->ablation = true;
    r->runs = rdk_report_alloc(r, n, sizeof *r->runs);
    rdk_status first = {0};
    for (size_t i = 0; r->runs && i < n; i++) {
        char path[2 * RDK_PATH_TEXT];
        rdk_status cause = {0};
        snprintf(path, sizeof path, "%s/%s", r->path, names[i]);
        if (take_run(r, path, names[i], &cause)) continue;
        rdk_fail(&first, cause.code, "%s", cause.message);
        rdk_text left_out = {0};
        rdk_text_add(&left_out, "left out: %s", cause.message);
        if (rdk_text_ok(&left_out, r->status)) rdk_report_note(r, names[i], left_out.data);
        rdk_text_free(&left_out);
    }
    if (r->status->code == RDK_OK && !r->n_runs)
        return rdk_fail(r->status, first.code, "no run of %s can be read; the first: %s", r->path,
                        first.message);
    rdk_report_drop_copies(r);
    return r->status->code == RDK_OK;
}

bool rdk_report_collect(rdk_report *r, const char *path, rdk_status *s)
{
    *r = (rdk_report){.status = s};
    r->arena = rdk_arena_new(s);
    if (!r->arena) return false;
    if (strlen(path) >= RDK_PATH_TEXT)
        return rdk_fail(s, RDK_EVALUE, "the name of a directory is longer than %d bytes",
                        RDK_PATH_TEXT - 1);
    r->path = rdk_report_string(r, path);
    if (!rdk_saved_run_is(path)) return take_ablation(r) && rdk_report_group(r);
    r->runs = rdk_report_alloc(r, 1, sizeof *r->runs);
    return r->runs && take_run(r, path, r->path, s) && rdk_report_group(r);
}

void rdk_report_free(rdk_report *r)
{
    for (size_t i = 0; i < r->n_runs; i++) rdk_saved_run_close(&r->runs[i].saved);
    for (size_t i = 0; i < r->n_groups; i++) rdk_text_free(&r->groups[i].notes);
    rdk_text_free(&r->notes);
    if (r->arena) rdk_arena_free(r->arena);
    *r = (rdk_report){0};
}
