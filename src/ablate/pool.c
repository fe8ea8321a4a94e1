/* SPDX-License-Identifier: MIT
 * The processes of an ablation: as many points at once as there are jobs.
 *
 * A point is claimed by its lock, looked at, and only then begun: what another ablation has done in
 * the meantime is not done again. The child inherits the lock, so it is held for exactly as long as
 * somebody works on the point, and nobody has to clear it up.
 * Invariant: this process never computes, so it forks before any thread exists.
 * Read next: child.c. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

static const double LOOK_AGAIN = 0.5; /* seconds between looks at points that others are at */
enum { NAP_NANOSECONDS = 20000000, EXIT_DONE = 0, EXIT_DIVERGED = 3 };

typedef enum { WAITING, ELSEWHERE, RUNNING, ENDED } point_status;

typedef struct job {
    pid_t pid; /* 0: free */
    size_t point;
    double started, cost; /* of what it has to do */
} job;

typedef struct pool {
    const rdk_ablation *a;
    const rdk_pool_plan *plan;
    const rdk_run_io *io;
    rdk_pool_end *end;
    rdk_arena *scratch;
    size_t *order;        /* [n_points] in which they are begun */
    point_status *status; /* [n_points] */
    job *jobs;            /* [plan->jobs] */
    size_t running, open; /* open: neither running nor ended */
    double looked;        /* when the open ones were last looked at */
    bool told_waiting, stopping;
    rdk_progress progress;
} pool;

/* ---- words ----------------------------------------------------------------------------------- */

/* A line among the progress, on stderr. */
static void say(pool *p, const char *line)
{
    if (!p->io->err) return;
    rdk_progress_clear(&p->progress);
    fputs(line, p->io->err);
    fflush(p->io->err);
}

/* "[12/144] NAME: done in 5.1 s". On a terminal the one line of the whole says it. */
static void say_end(pool *p, const job *j, const char *how)
{
    char name[RDK_POINT_NAME];
    rdk_text t = {0};
    if (p->io->progress || !p->io->err || p->plan->quiet) return;
    rdk_text_add(&t, "[%zu/%zu] %s: %s in %.1f s", p->progress.done, p->progress.points,
                 rdk_point_name(p->a, j->point, name), how, rdk_seconds() - j->started);
    rdk_progress_left(&p->progress, &t);
    rdk_text_add(&t, "\n");
    if (!t.failed) say(p, t.data);
    rdk_text_free(&t);
}

/* Why, and what it said last. */
static void say_failed(pool *p, size_t point, const char *how, bool ran)
{
    char path[RDK_PATH_TEXT], name[RDK_POINT_NAME];
    rdk_text t = {0}, log = {0};
    rdk_text_add(&t, "rootdk: %s%s %s\n", rdk_point_name(p->a, point, name), ran ? "" : ":", how);
    rdk_text_add(&log, "%s/" RDK_POINT_LOG, rdk_point_path(p->a, point, path));
    if (ran && !log.failed) rdk_child_last_lines(log.data, &t);
    if (!t.failed) say(p, t.data);
    rdk_text_free(&t);
    rdk_text_free(&log);
}

/* ---- points ---------------------------------------------------------------------------------- */

static double cost_of(const pool *p, size_t point)
{
    return rdk_point_flops(p->a, point);
}

/* However it came to be done: here, before, or by another process. cost: what of it was left. */
static void end_point(pool *p, size_t point, double cost, bool diverged)
{
    p->status[point] = ENDED;
    p->progress.cost_left -= cost;
    p->progress.done++;
    p->progress.diverged += diverged;
}

/* ran: its log says more. */
static void fail_point(pool *p, size_t point, double cost, const char *how, bool ran)
{
    p->status[point] = ENDED;
    p->progress.cost_left -= cost;
    p->progress.failed++;
    p->end->failed++;
    say_failed(p, point, how, ran);
}

/* The share of a run that is still to be done. */
static double rest_of(const pool *p, size_t point, rdk_point_state state)
{
    char path[RDK_PATH_TEXT + 16];
    rdk_status ignored = {0};
    if (state != RDK_POINT_BEGUN) return 1;
    rdk_text file = {0};
    rdk_text_add(&file, "%s/run.json", rdk_point_path(p->a, point, path));
    rdk_record *r = file.failed ? NULL : rdk_record_read(file.data, &ignored);
    double saved = r ? rdk_record_number(r, "saved_step") : NAN;
    rdk_record_free(r);
    rdk_text_free(&file);
    double steps = (double)p->a->resolved[point].steps;
    return saved > 0 && saved <= steps ? 1 - saved / steps : 1;
}

static void begin_point(pool *p, job *j, size_t point, rdk_point_state state, int lock)
{
    char path[RDK_PATH_TEXT], log[RDK_PATH_TEXT + 64];
    rdk_status cause = {0};
    rdk_arena_reset(p->scratch);
    snprintf(log, sizeof log, "%s/" RDK_POINT_LOG, rdk_point_path(p->a, point, path));
    char **words = rdk_point_command(p->a, point, state, p->plan->threads, p->plan->program,
                                     p->scratch, &cause);
    pid_t pid = words ? rdk_child_start(words, log, lock, &cause) : -1;
    p->open--;
    if (pid < 0) {
        fail_point(p, point, cost_of(p, point), cause.message, false);
        return;
    }
    *j = (job){pid, point, rdk_seconds(), cost_of(p, point) * rest_of(p, point, state)};
    p->progress.cost_left -= cost_of(p, point) - j->cost;
    p->status[point] = RUNNING;
    p->running++;
}

/* Claims an open point and begins it in this free job, or finds out why not. */
static void take_point(pool *p, job *j, size_t point)
{
    rdk_point_state state;
    rdk_status cause = {0};
    int lock = rdk_point_lock(p->a, point, &cause);
    if (lock < 0 && rdk_ok(&cause)) {
        p->status[point] = ELSEWHERE;
    } else if (lock < 0 || !rdk_point_look(p->a, point, &state, &cause)) {
        p->open--;
        fail_point(p, point, cost_of(p, point), cause.message, false);
    } else if (state == RDK_POINT_DONE || state == RDK_POINT_DIVERGED) {
        p->open--;
        end_point(p, point, cost_of(p, point), state == RDK_POINT_DIVERGED);
    } else {
        begin_point(p, j, point, state, lock);
    }
    if (lock >= 0) close(lock); /* the child has it */
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static job *free_job(const pool *p)
{
    for (size_t i = 0; i < p->plan->jobs; i++)
        if (!p->jobs[i].pid) return &p->jobs[i];
    return NULL;
}

/* Points that others are at are looked at again from time to time. */
static void fill_jobs(pool *p)
{
    double now = rdk_seconds();
    bool again = now - p->looked >= LOOK_AGAIN;
    if (again) p->looked = now;
    for (size_t i = 0; i < p->a->n_points && p->open; i++) {
        size_t point = p->order[i];
        bool due = p->status[point] == WAITING || (p->status[point] == ELSEWHERE && again);
        job *j = due ? free_job(p) : NULL;
        if (due && !j) return;
        if (due) take_point(p, j, point);
    }
}

/* The speed of the rest is that of runs done here. What little was left of one that another call
 * began took the time of a program's start. */
static void take_pace(pool *p, const job *ended)
{
    static const double most_of_it = 0.5;
    if (ended->cost < most_of_it * cost_of(p, ended->point)) return;
    p->progress.ended.seconds += rdk_seconds() - ended->started;
    p->progress.ended.flops += ended->cost;
}

static void end_job(pool *p, job *j, int status)
{
    char how[96];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    job ended = *j;
    j->pid = 0;
    p->running--;
    if (code == EXIT_DONE || code == EXIT_DIVERGED) {
        take_pace(p, &ended);
        p->end->finished++;
        p->end->diverged += code == EXIT_DIVERGED;
        end_point(p, ended.point, ended.cost, code == EXIT_DIVERGED);
        say_end(p, &ended, code == EXIT_DIVERGED ? "diverged" : "done");
    } else if (p->stopping) {
        p->status[ended.point] = WAITING; /* it was asked to */
        p->open++;
    } else {
        if (code < 0)
            snprintf(how, sizeof how, "was ended by signal %d:", WTERMSIG(status));
        else
            snprintf(how, sizeof how, "failed with exit status %d:", code);
        fail_point(p, ended.point, ended.cost, how, true);
    }
}

static void reap(pool *p)
{
    int status;
    for (size_t i = 0; i < p->plan->jobs; i++) {
        job *j = &p->jobs[i];
        if (j->pid && waitpid(j->pid, &status, WNOHANG) == j->pid) end_job(p, j, status);
    }
}

static void stop_children(pool *p)
{
    p->stopping = true;
    p->end->stopped = true;
    for (size_t i = 0; i < p->plan->jobs; i++)
        if (p->jobs[i].pid) kill(p->jobs[i].pid, SIGTERM);
    if (p->running) say(p, "stopping: the runs save themselves (once more: at once)\n");
}

/* Before any has ended: at what speed do those go that run? */
static void look_at_speed(pool *p, double now)
{
    static const double apart = 1;
    if (p->progress.ended.seconds > 0 || now - p->progress.last_looked < apart) return;
    p->progress.last_looked = now;
    p->progress.going = (rdk_pace){0};
    for (size_t i = 0; i < p->plan->jobs; i++)
        if (p->jobs[i].pid) rdk_pace_add(&p->progress.going, p->a, p->jobs[i].point);
}

static void show(pool *p)
{
    double now = rdk_seconds();
    look_at_speed(p, now);
    p->progress.running = p->running;
    p->progress.running_seconds = 0;
    for (size_t i = 0; i < p->plan->jobs; i++)
        if (p->jobs[i].pid) p->progress.running_seconds += now - p->jobs[i].started;
    rdk_progress_draw(&p->progress);
    if (p->running || !p->open || p->stopping || p->told_waiting) return;
    p->told_waiting = true;
    say(p, "the rest is being run by another process; waiting for it\n");
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rdk_ablation_order(const rdk_ablation *a, size_t *order)
{
    size_t seed = rdk_ablation_axis(a, "seed"), n = 0;
    size_t seeds = seed < a->n_axes ? a->axes[seed].n : 1;
    for (size_t k = 0; k < seeds; k++)
        for (size_t i = 0; i < a->n_points; i++)
            if (seed == a->n_axes ||
                rdk_grid_axis_find(&a->axes[seed], rdk_ablation_value(a, i, seed)) == k)
                order[n++] = i;
}

/* What is done already needs no lock: it never becomes undone. */
static void look_at(pool *p, size_t point)
{
    rdk_point_state state;
    rdk_status cause = {0};
    p->progress.points++;
    p->progress.cost_left += cost_of(p, point);
    if (!rdk_point_look(p->a, point, &state, &cause)) {
        fail_point(p, point, cost_of(p, point), cause.message, false);
    } else if (state == RDK_POINT_DONE || state == RDK_POINT_DIVERGED) {
        end_point(p, point, cost_of(p, point), state == RDK_POINT_DIVERGED);
    } else {
        p->status[point] = WAITING;
        p->open++;
    }
}

static void look_at_all(pool *p)
{
    for (size_t i = 0; i < p->a->n_points; i++) {
        char name[RDK_POINT_NAME];
        p->status[i] = ENDED;
        if (!p->plan->only || !strcmp(p->plan->only, rdk_point_name(p->a, i, name))) look_at(p, i);
    }
}

static void work(pool *p)
{
    while (p->open || p->running) {
        reap(p);
        if (!p->stopping && p->io->stop && *p->io->stop) stop_children(p);
        if (p->stopping && !p->running) return;
        if (!p->stopping) fill_jobs(p);
        if (p->plan->only && !p->running && p->open) { /* one point: its command is run again */
            p->end->elsewhere = 1;
            return;
        }
        show(p);
        if (p->open || p->running) nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
    }
}

bool rdk_pool_run(const rdk_ablation *a, const rdk_pool_plan *plan, const rdk_run_io *io,
                  rdk_pool_end *end, rdk_status *s)
{
    pool p = {.a = a, .plan = plan, .io = io, .end = end};
    *end = (rdk_pool_end){0};
    p.progress = (rdk_progress){.io = io, .started = rdk_seconds(), .jobs = plan->jobs};
    p.scratch = rdk_arena_new(s);
    p.order = rdk_alloc(a->n_points, sizeof *p.order, s);
    p.status = rdk_alloc(a->n_points, sizeof *p.status, s);
    p.jobs = rdk_alloc(plan->jobs, sizeof *p.jobs, s);
    bool ok = p.scratch && p.order && p.status && p.jobs;
    if (ok) {
        rdk_ablation_order(a, p.order);
        look_at_all(&p);
        work(&p);
    }
    rdk_progress_clear(&p.progress);
    rdk_arena_free(p.scratch);
    rdk_free(p.order);
    rdk_free(p.status);
    rdk_free(p.jobs);
    return ok;
}
