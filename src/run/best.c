/* SPDX-License-Identifier: MIT
 * best.safetensors: the state with the lowest held-out loss among the steps that are evaluated.
 *
 * The last step is evaluated too, whatever --eval-every is. A run that is made longer (--resume
 * with more --steps) would not have looked there: its best is the one before. So where the end of a
 * run that can be made longer takes the place of an earlier best, that is kept as
 * best-before-end.safetensors.
 * Invariant: after rdk_best_settle the files are those of an undisturbed run of this length.
 * Read next: checkpoint.c. */
#include "trainer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char BEST[] = "best.safetensors", BEFORE_END[] = "best-before-end.safetensors";

static bool is_there(const rdk_trainer *r, const char *name)
{
    char path[RDK_PATH_TEXT + 64];
    return rdk_file_exists(rdk_rundir_file(&r->directory, name, path));
}

/* Is this step looked at for its end alone? */
static bool only_the_end(const rdk_config *c, uint64_t step)
{
    return step == c->steps && !(c->eval_every > 0 && step % c->eval_every == 0);
}

/* Takes the file for the best where this run evaluates its step. One of a step still to come, from
 * a run that was killed, is as good as any: the visit of that step finds the same loss and leaves
 * the file alone. */
static bool consider(rdk_trainer *r, const char *name)
{
    rdk_best_words words = {0};
    if (r->best_name || !is_there(r, name)) return true;
    if (!rdk_checkpoint_best_words(r, name, &words)) return false;
    if (!rdk_evaluates_at(&r->config, words.step)) return true;
    r->best_loss = words.loss;
    r->best_step = words.step;
    r->best_name = name;
    return true;
}

bool rdk_best_load(rdk_trainer *r)
{
    r->best_loss = INFINITY;
    r->best_name = NULL;
    return consider(r, BEST) && consider(r, BEFORE_END);
}

static bool failed(const rdk_trainer *r, const char *verb, const char *path)
{
    return rdk_fail(r->status, RDK_EIO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static bool remove_file(rdk_trainer *r, const char *name)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_rundir_file(&r->directory, name, path);
    return unlink(path) == 0 || errno == ENOENT || failed(r, "remove", path);
}

static bool bring_back(rdk_trainer *r)
{
    char from[RDK_PATH_TEXT + 64], to[RDK_PATH_TEXT + 64];
    rdk_rundir_file(&r->directory, BEFORE_END, from);
    return rename(from, rdk_rundir_file(&r->directory, BEST, to)) == 0 ||
           failed(r, "bring back", from);
}

bool rdk_best_settle(rdk_trainer *r)
{
    rdk_best_words words = {0};
    if (!r->best_name) return remove_file(r, BEST) && remove_file(r, BEFORE_END);
    if (r->best_name == BEFORE_END && !bring_back(r)) return false;
    r->best_name = BEST;
    if (!only_the_end(&r->config, r->best_step) && !remove_file(r, BEFORE_END)) return false;
    return rdk_checkpoint_best_words(r, BEST, &words) &&
           (words.current || rdk_checkpoint_rewrite(r, BEST));
}

/* A copy, not another name for the file: not every file system has those. */
static bool keep_before_end(rdk_trainer *r)
{
    char path[RDK_PATH_TEXT + 64];
    size_t size;
    char *bytes = rdk_file_read(rdk_rundir_file(&r->directory, BEST, path), &size, r->status);
    bool ok = bytes && rdk_file_replace(rdk_rundir_file(&r->directory, BEFORE_END, path), bytes,
                                        size, r->status);
    rdk_free(bytes);
    return ok;
}

bool rdk_best_save(rdk_trainer *r, double loss)
{
    const rdk_config *c = &r->config;
    bool may_grow = c->optim.schedule == RDK_CONSTANT;
    if (may_grow && only_the_end(c, r->step) && is_there(r, BEST) && !keep_before_end(r))
        return false;
    r->best_loss = loss;
    r->best_step = r->step;
    return rdk_checkpoint_save(r, BEST);
}
