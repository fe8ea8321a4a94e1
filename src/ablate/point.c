/* SPDX-License-Identifier: MIT
 * One point: its name, what its directory says, the right to work on it, the command that trains
 * it.
 *
 * Invariant: a point is done when its run.json says so and its config.ini is the wanted one;
 * nothing else is kept about it.
 * Read next: pool.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "ablate.h"
#include "base/hash.h"

enum { FILE_PATH = RDK_PATH_TEXT + 64, HASH_TEXT = 24 };

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '+';
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = RDK_HASH_START;
    for (; *text; text++) hash = rdk_hash_add(hash, (unsigned char)*text);
    return hash;
}

/* Values with other characters (paths) keep what is plain of their end, and a hash tells them
 * apart; so does a name that would be too long for a file system. */
static void add_value(rdk_text *t, const char *value)
{
    enum { KEPT = 40 };
    size_t n = strlen(value), begin = n > KEPT ? n - KEPT : 0;
    bool exact = n > 0 && begin == 0;
    for (size_t i = begin; i < n; i++) {
        if (value[i] == '/') begin = i + 1;
        exact = exact && is_plain(value[i]);
    }
    for (size_t i = begin; i < n; i++) rdk_text_add(t, "%c", is_plain(value[i]) ? value[i] : '~');
    if (!exact) rdk_text_add(t, "~%08" PRIx64, hash_of(value) & 0xffffffff);
}

char *rdk_point_name(const rdk_ablation *a, size_t point, char buf[RDK_POINT_NAME])
{
    enum { LONGEST = 200 };
    rdk_text t = {0};
    for (size_t i = 0; i < a->n_axes; i++) {
        rdk_text_add(&t, "%s%s-", i ? "_" : "", a->axes[i].option->name);
        add_value(&t, rdk_ablation_value(a, point, i));
    }
    const char *name = t.data && !t.failed ? t.data : "point";
    if (strlen(name) <= LONGEST)
        snprintf(buf, RDK_POINT_NAME, "%s", name);
    else
        snprintf(buf, RDK_POINT_NAME, "%.*s~%016" PRIx64, LONGEST, name, hash_of(name));
    rdk_text_free(&t);
    return buf;
}

char *rdk_point_path(const rdk_ablation *a, size_t point, char buf[RDK_PATH_TEXT])
{
    char name[RDK_POINT_NAME];
    snprintf(buf, RDK_PATH_TEXT, "%s/%s", a->directory, rdk_point_name(a, point, name));
    return buf;
}

/* ---- configuration --------------------------------------------------------------------------- */

void rdk_point_config(const rdk_ablation *a, size_t point, rdk_config *c)
{
    *c = a->base;
    for (size_t i = 0; i < a->n_axes; i++) /* values that were taken before */
        rdk_option_set(c, a->axes[i].option, rdk_ablation_value(a, point, i), NULL);
    if (a->saves_by_steps) c->save_every = rdk_ablation_save_every(c->steps);
}

double rdk_point_flops(const rdk_ablation *a, size_t point)
{
    const rdk_config *c = &a->resolved[point];
    return rdk_step_flops(c, a->asked[point]) * (double)c->steps;
}

/* ---- what its directory says ----------------------------------------------------------------- */

static bool has_file(const char *directory, const char *name)
{
    char path[FILE_PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return rdk_file_exists(path);
}

/* What stands there instead, and the way out. */
static bool refuse_other(const rdk_ablation *a, size_t point, const rdk_saved_run *run,
                         const rdk_option *o, const char *is, const char *wanted, rdk_status *s)
{
    if (!strcmp(o->name, "steps") && run->config.steps > a->resolved[point].steps)
        return rdk_fail(s, RDK_ESTATE,
                        "%s was made longer, to %s steps: what it was at step %s, the end of a run "
                        "of this ablation, is gone (move that directory away, and the same "
                        "command runs it again; for runs of %s steps begin another --out)",
                        run->path, is, wanted, is);
    return rdk_fail(s, RDK_ESTATE,
                    "%s has %s = %s, this ablation wants %s (move that directory away, or choose "
                    "another --out)",
                    run->path, o->name, is, wanted);
}

static bool check_same(const rdk_ablation *a, size_t point, const rdk_saved_run *run, rdk_status *s)
{
    rdk_text is = {0}, wanted = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope > RDK_OPT_RECORDS || !rdk_option_counts(&a->resolved[point], o, NULL))
            continue;
        is.size = wanted.size = 0;
        rdk_saved_run_option(run, o, &is);
        rdk_option_text(&a->resolved[point], o, &wanted);
        ok = rdk_text_ok(&is, s) && rdk_text_ok(&wanted, s);
        if (ok && strcmp(is.data, wanted.data) != 0)
            ok = refuse_other(a, point, run, o, is.data, wanted.data, s);
    }
    rdk_text_free(&is);
    rdk_text_free(&wanted);
    return ok;
}

/* The file may have been changed since: its runs would be of two data sets in one mean. */
static bool check_data(const rdk_ablation *a, size_t point, const rdk_saved_run *run, rdk_status *s)
{
    const char *is = rdk_record_word(run->about, "data");
    if (!a->data || !is || !strcmp(is, a->data[point])) return true;
    return rdk_fail(s, RDK_ESTATE,
                    "%s is a run of other data: %s; now it is: %s (put the old file back, or "
                    "choose another --out)",
                    run->path, is, a->data[point]);
}

bool rdk_point_look(const rdk_ablation *a, size_t point, rdk_point_state *state, rdk_status *s)
{
    char path[RDK_PATH_TEXT];
    rdk_saved_run run;
    rdk_point_path(a, point, path);
    *state = RDK_POINT_NEW;
    /* a run that was killed while it began has no run.json yet */
    if (!rdk_saved_run_is(path) || !has_file(path, "run.json")) return true;
    if (!rdk_saved_run_open(&run, path, s)) {
        rdk_saved_run_close(&run);
        return false;
    }
    const char *status = rdk_saved_run_status(&run);
    if (!strcmp(status, "done"))
        *state = RDK_POINT_DONE;
    else if (!strcmp(status, "diverged"))
        *state = RDK_POINT_DIVERGED;
    else if (has_file(path, "last.safetensors"))
        *state = RDK_POINT_BEGUN;
    bool ok = *state == RDK_POINT_NEW || !a->resolved ||
              (check_same(a, point, &run, s) && check_data(a, point, &run, s));
    rdk_saved_run_close(&run);
    return ok;
}

/* A run that is there and was begun; false: there is none to speak of. */
static bool open_run(const rdk_ablation *a, size_t point, rdk_saved_run *run)
{
    char path[RDK_PATH_TEXT];
    rdk_status ignored = {0};
    rdk_point_path(a, point, path);
    *run = (rdk_saved_run){0};
    if (!rdk_saved_run_is(path) || !has_file(path, "run.json")) return false;
    if (rdk_saved_run_open(run, path, &ignored)) return true;
    rdk_saved_run_close(run);
    return false;
}

bool rdk_ablation_check_data(const rdk_ablation *a, rdk_status *s)
{
    bool ok = true;
    for (size_t i = 0; ok && a->data && i < a->n_points; i++) {
        rdk_saved_run run;
        if (!open_run(a, i, &run)) continue;
        ok = check_data(a, i, &run, s);
        rdk_saved_run_close(&run);
    }
    return ok;
}

/* The first point before this one whose run is of the same task, and of other data; n_points: none.
 * As all before it agree, the first of that task is enough. */
static size_t of_other_data(const rdk_ablation *a, size_t point, const rdk_saved_run *run)
{
    for (size_t i = 0; i < point; i++) {
        rdk_saved_run other;
        if (!open_run(a, i, &other)) continue;
        bool same = rdk_same_task(&run->config, &other.config);
        bool alike = rdk_same_data(run->about, other.about);
        rdk_saved_run_close(&other);
        if (same) return alike ? a->n_points : i;
    }
    return a->n_points;
}

bool rdk_ablation_check_alike(const rdk_ablation *a, rdk_status *s)
{
    bool ok = true;
    for (size_t i = 0; ok && i < a->n_points; i++) {
        rdk_saved_run run;
        char name[RDK_POINT_NAME];
        if (!open_run(a, i, &run)) continue;
        size_t other = of_other_data(a, i, &run);
        if (other < a->n_points)
            ok = rdk_fail(s, RDK_ESTATE,
                          "%s is a run of other data than %s: %s (move one of the two away, and "
                          "run it again)",
                          run.path, rdk_point_name(a, other, name),
                          rdk_record_word(run.about, "data"));
        rdk_saved_run_close(&run);
    }
    return ok;
}

bool rdk_point_is_done(const rdk_ablation *a, size_t point)
{
    rdk_point_state state;
    rdk_status ignored = {0};
    return rdk_point_look(a, point, &state, &ignored) &&
           (state == RDK_POINT_DONE || state == RDK_POINT_DIVERGED);
}

int rdk_point_lock(const rdk_ablation *a, size_t point, rdk_status *s)
{
    char path[RDK_PATH_TEXT], file[FILE_PATH];
    rdk_point_path(a, point, path);
    if (!rdk_directory_make(path, s)) return -1;
    snprintf(file, sizeof file, "%s/ablation.lock", path);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    if (fd < 0 || errno != EWOULDBLOCK)
        rdk_fail(s, RDK_EIO, "cannot lock %s: %s", file, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Words being gathered, in an arena. */
typedef struct words {
    char **word;
    size_t n;
    rdk_arena *arena;
    rdk_status *status;
} words;

static void add_word(words *w, const char *name, const char *value)
{
    size_t n = strlen(name) + strlen(value) + 4;
    char *text = rdk_arena_alloc(w->arena, n, 1);
    if (!text) {
        rdk_fail(w->status, RDK_ENOMEM, "no memory for a command");
        return;
    }
    snprintf(text, n, *value ? "--%s=%s" : "%s", name, value);
    w->word[w->n++] = text;
    w->word[w->n] = NULL;
}

/* All that differs from the defaults, as the grid has it: the run resolves it itself. What does
 * nothing at this point (--momentum, where AdamW is its optimizer) would be refused there. */
static void add_options(words *w, const rdk_config *c)
{
    rdk_config defaults;
    rdk_text is = {0}, usual = {0};
    rdk_config_init(&defaults);
    for (size_t i = 0; rdk_ok(w->status) && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope == RDK_OPT_RUNS) continue;
        is.size = usual.size = 0;
        rdk_option_text(c, o, &is);
        rdk_option_text(&defaults, o, &usual);
        if (!rdk_text_ok(&is, w->status) || !rdk_text_ok(&usual, w->status)) break;
        const char *value = is.data ? is.data : "";
        bool differs = strcmp(value, usual.data ? usual.data : "") != 0;
        if (differs && rdk_option_counts(c, o, NULL)) add_word(w, o->name, value);
    }
    rdk_text_free(&is);
    rdk_text_free(&usual);
}

char **rdk_point_command(const rdk_ablation *a, size_t point, rdk_point_state state, int threads,
                         const char *program, rdk_arena *arena, rdk_status *s)
{
    char path[RDK_PATH_TEXT], number[RDK_NUMBER_TEXT];
    rdk_config c;
    words w = {rdk_arena_alloc(arena, rdk_option_count() + 8, sizeof(char *)), 0, arena, s};
    if (!w.word) rdk_fail(s, RDK_ENOMEM, "no memory for a command");
    if (!w.word) return NULL;
    rdk_point_path(a, point, path);
    snprintf(number, sizeof number, "%d", threads);
    add_word(&w, program, "");
    add_word(&w, "train", "");
    add_word(&w, "threads", number);
    if (state == RDK_POINT_BEGUN) {
        add_word(&w, "resume", path);
    } else {
        rdk_point_config(a, point, &c);
        add_options(&w, &c);
        add_word(&w, "out", path);
        add_word(&w, "--force", ""); /* the lock, the log and what a killed run left are there */
    }
    return rdk_ok(s) ? w.word : NULL;
}
