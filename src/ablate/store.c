/* SPDX-License-Identifier: MIT
 * A plan checked and written: every point as a run would have it, ablation.ini, points.csv.
 *
 * Invariant: nothing is written before all points are known to be possible. Both files are replaced
 * as a whole under a lock, and points are only ever added, so that several calls at once agree.
 * Read next: point.c. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "ablate.h"
#include "run/rundir.h"

enum { FILE_PATH = RDK_PATH_TEXT + 64 };

/* ---- checking -------------------------------------------------------------------------------- */

/* A task is opened once for all points that share it: a text is read once. */
typedef struct opened {
    rdk_task *task;
    rdk_task_config config;
    char data[RDK_PATH_TEXT];
    const char *summary; /* in the arena */
    rdk_asked asked;
} opened;

static bool same_task(const opened *o, const rdk_config *c)
{
    const rdk_task_config *a = &o->config, *b = &c->task;
    return o->task && !strcmp(a->name, b->name) && a->length == b->length && a->vocab == b->vocab &&
           a->encoder == b->encoder && a->tokenizer == b->tokenizer &&
           a->val_fraction == b->val_fraction && !strcmp(o->data, c->data);
}

static const char *keep(rdk_arena *arena, const char *text, rdk_status *s)
{
    size_t n = strlen(text) + 1;
    char *copy = rdk_arena_alloc(arena, n, 1);
    if (!copy) rdk_fail(s, RDK_ENOMEM, "no memory for the name of the data");
    return copy ? memcpy(copy, text, n) : NULL;
}

static bool open_task(opened *o, rdk_config *c, rdk_arena *arena, rdk_status *s)
{
    c->task.data = c->data[0] ? c->data : NULL;
    c->task.encoder = c->model.arch == RDK_ENCODER;
    if (same_task(o, c)) return true;
    rdk_task_close(o->task);
    o->config = c->task;
    memcpy(o->data, c->data, sizeof o->data);
    o->task = rdk_task_open(&c->task, s);
    o->summary = o->task ? keep(arena, rdk_task_summary(o->task), s) : NULL;
    if (o->task) o->asked = rdk_task_asked(o->task, c->seed, s);
    return rdk_ok(s);
}

static bool resolve_point(rdk_ablation *a, size_t point, opened *o, rdk_status *s)
{
    char name[RDK_POINT_NAME];
    rdk_status cause = {0};
    rdk_config *c = &a->resolved[point];
    rdk_point_config(a, point, c);
    if (open_task(o, c, a->arena, &cause) && rdk_config_resolve(c, o->task, &cause) &&
        rdk_model_config_check(&c->model, &cause)) {
        a->data[point] = o->summary;
        a->asked[point] = o->asked;
        return true;
    }
    return rdk_fail(s, cause.code, "%s (in the point %s)", cause.message,
                    rdk_point_name(a, point, name));
}

bool rdk_ablation_resolve(rdk_ablation *a, rdk_status *s)
{
    opened o = {0};
    a->resolved = rdk_arena_alloc(a->arena, a->n_points, sizeof *a->resolved);
    a->asked = rdk_arena_alloc(a->arena, a->n_points, sizeof *a->asked);
    a->data = rdk_arena_alloc(a->arena, a->n_points, sizeof *a->data);
    if (!a->resolved || !a->asked || !a->data)
        return rdk_fail(s, RDK_ENOMEM, "no memory for %zu configurations", a->n_points);
    bool ok = true;
    for (size_t i = 0; ok && i < a->n_points; i++) ok = resolve_point(a, i, &o, s);
    rdk_task_close(o.task);
    if (!ok) a->resolved = NULL, a->asked = NULL, a->data = NULL;
    return ok;
}

static bool counts_somewhere(const rdk_ablation *a, const rdk_option *o, rdk_status *s)
{
    rdk_status cause = {0};
    for (size_t i = 0; i < a->n_points; i++) {
        rdk_config c;
        rdk_point_config(a, i, &c);
        if (rdk_option_counts(&c, o, &cause)) return true;
    }
    return rdk_fail(s, cause.code, "%s", cause.message);
}

/* As train does: a warmup that is cut to the run is another one's run once more. */
static bool warmup_fits(const rdk_ablation *a, rdk_status *s)
{
    for (size_t i = 0; i < a->n_points; i++) {
        char name[RDK_POINT_NAME];
        rdk_status cause = {0};
        rdk_config c;
        rdk_point_config(a, i, &c);
        if (!rdk_config_warmup_fits(&c, &cause))
            return rdk_fail(s, cause.code, "%s (in the point %s)", cause.message,
                            rdk_point_name(a, i, name));
    }
    return true;
}

/* Two points that differ in nothing but an option that one of them does not read are one run twice.
 */
static bool varied_count_everywhere(const rdk_ablation *a, rdk_status *s)
{
    for (size_t i = 0; i < a->n_points; i++) {
        char name[RDK_POINT_NAME];
        rdk_status cause = {0};
        rdk_config c;
        rdk_point_config(a, i, &c);
        for (size_t k = 0; k < a->n_axes; k++)
            if (!rdk_option_counts(&c, a->axes[k].option, &cause))
                return rdk_fail(s, cause.code, "%s (in the point %s; or make two grids)",
                                cause.message, rdk_point_name(a, i, name));
    }
    return true;
}

/* A --config file says everything, so nothing in it is a mistake. */
bool rdk_ablation_check_counts(const rdk_ablation *a, const rdk_setting *settings, size_t n,
                               rdk_status *s)
{
    bool ok = varied_count_everywhere(a, s);
    for (size_t i = 0; ok && i < n; i++)
        if (settings[i].list && strcmp(settings[i].text, "auto") != 0)
            ok = counts_somewhere(a, settings[i].option, s) &&
                 (strcmp(settings[i].option->name, "warmup") != 0 || warmup_fits(a, s));
    return ok;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool replace(const rdk_ablation *a, const char *name, rdk_text *t, rdk_status *s)
{
    char path[FILE_PATH];
    snprintf(path, sizeof path, "%s/%s", a->directory, name);
    bool ok = rdk_text_ok(t, s) && rdk_file_replace(path, t->data, t->size, s);
    rdk_text_free(t);
    return ok;
}

static void drop_line(rdk_text *t, const char *start)
{
    char *line = t->data ? strstr(t->data, start) : NULL;
    if (!line) return;
    char *end = strchr(line + 1, '\n');
    size_t rest = end ? strlen(end) : 0;
    memmove(line, end ? end : "", rest + 1);
    t->size = (size_t)(line - t->data) + rest;
}

static bool write_base(const rdk_ablation *a, rdk_status *s)
{
    rdk_text t = {0};
    rdk_text_add(&t, "# What all runs of this ablation share; points.csv has what varies.\n");
    rdk_config_write(&a->base, RDK_OPT_FINDS, &t);
    if (a->saves_by_steps) drop_line(&t, "\nsave-every = ");
    return replace(a, RDK_ABLATION_FILE, &t, s);
}

static bool write_points(const rdk_ablation *a, rdk_status *s)
{
    rdk_text t = {0};
    for (size_t i = 0; i < a->n_axes; i++)
        rdk_text_add(&t, "%s%s", i ? "," : "", a->axes[i].option->name);
    rdk_text_add(&t, "\n");
    for (size_t point = 0; point < a->n_points; point++) {
        for (size_t i = 0; i < a->n_axes; i++) {
            if (i) rdk_text_add(&t, ",");
            rdk_text_csv(&t, rdk_ablation_value(a, point, i));
        }
        rdk_text_add(&t, "\n");
    }
    return replace(a, "points.csv", &t, s);
}

/* -1 on failure. Waits: a holder only reads and writes these two files. */
static int lock_directory(const rdk_ablation *a, rdk_status *s)
{
    char path[FILE_PATH];
    if (!rdk_directory_make(a->directory, s)) return -1;
    snprintf(path, sizeof path, "%s/ablation.lock", a->directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int locked = fd < 0 ? -1 : flock(fd, LOCK_EX);
    while (locked != 0 && fd >= 0 && errno == EINTR) locked = flock(fd, LOCK_EX);
    if (locked == 0) return fd;
    rdk_fail(s, RDK_EIO, "cannot lock %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

bool rdk_ablation_store(rdk_ablation *a, const rdk_setting *settings, size_t n, rdk_status *s)
{
    char directory[RDK_ABLATION_PATH];
    int lock = lock_directory(a, s);
    if (lock < 0) return false;
    /* somebody may have been here since the first plan */
    memcpy(directory, a->directory, sizeof directory);
    rdk_ablation_free(a);
    bool ok = rdk_ablation_plan(a, directory, settings, n, s) && rdk_ablation_resolve(a, s);
    ok = ok && (a->stored || write_base(a, s)) && write_points(a, s);
    a->stored = ok;
    close(lock);
    return ok;
}
