/* SPDX-License-Identifier: MIT
 * What a resumed run is: the configuration of its directory, with the few options that a call may
 * change. Whatever else was given must say the same, or is refused by name: an option that is
 * silently overridden, or silently obeyed, makes a run that nobody can repeat. */
#include "trainer.h"

#include <stdio.h>
#include <string.h>

static bool texts_equal(const rdk_config *a, const rdk_config *b, const rdk_option *o, rdk_text *x,
                        rdk_text *y)
{
    x->size = y->size = 0;
    rdk_option_text(a, o, x);
    rdk_option_text(b, o, y);
    return x->data && y->data && strcmp(x->data, y->data) == 0;
}

/* A run with a constant learning rate may be made longer: no step before the end changes. The file
 * of a text may have moved: what a checkpoint compares is its content. */
static bool may_change(const rdk_option *o, const rdk_config *old, const rdk_config *now)
{
    if (o->scope >= RDK_OPT_FINDS) return true;
    return strcmp(o->name, "steps") == 0 && old->optim.schedule == RDK_CONSTANT &&
           now->steps > old->steps;
}

/* "auto", or a value that is cut to what the run allows (--warmup, --eval-size), contradicts
 * nothing where it comes to what the run has. */
static bool comes_to_the_same(const rdk_config *old, const rdk_option *o, const char *value)
{
    rdk_config c = *old;
    rdk_status ignored = {0};
    rdk_task *task = NULL;
    rdk_text was = {0}, is = {0};
    bool same = rdk_option_set(&c, o, value, &ignored) && rdk_setup_task(&c, &task, &ignored) &&
                texts_equal(old, &c, o, &was, &is);
    rdk_task_close(task);
    rdk_text_free(&was);
    rdk_text_free(&is);
    return same;
}

static bool take_over(rdk_config *old, const rdk_config *now, const rdk_option *o, rdk_status *s)
{
    rdk_text was = {0}, is = {0};
    bool ok = true;
    if (!texts_equal(old, now, o, &was, &is)) {
        if (may_change(o, old, now))
            ok = rdk_option_set(old, o, is.data, s);
        else if (!comes_to_the_same(old, o, is.data))
            ok = rdk_fail(s, RDK_EVALUE,
                          "cannot resume %s: it has %s = %s, this command says %s (drop "
                          "--%s, or start a new run with --out)",
                          now->resume, o->name, was.data, is.data, o->name);
    }
    rdk_text_free(&was);
    rdk_text_free(&is);
    return ok;
}

/* An ablation goes on by its own verb. */
static bool refuse_other_directory(const char *directory, const char *config, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/" RDK_ABLATION_FILE, directory);
    if (rdk_file_exists(path))
        return rdk_fail(s, RDK_EVALUE,
                        "cannot resume %s: it is an ablation, which goes on with ablate --out %s "
                        "(one of its runs: --resume with that run's directory)",
                        directory, directory);
    return rdk_fail(s, RDK_EIO, "cannot resume %s: there is no %s (a run's directory is needed)",
                    directory, config);
}

bool rdk_resume_config(rdk_config *c, const bool *given, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/config.ini", c->resume);
    if (!rdk_file_exists(path)) return refuse_other_directory(c->resume, path, s);
    rdk_config old;
    rdk_config_init(&old);
    bool ok = rdk_config_load(&old, path, NULL, s);
    for (size_t i = 0; ok && i < rdk_option_count(); i++)
        if (given && given[i]) ok = take_over(&old, c, rdk_option_at(i), s);
    /* Where the text is another one, its hash says so, and not the number of its symbols. */
    if (ok && rdk_task_type_reads_data(old.task.name)) old.task.vocab = 0;
    if (ok) *c = old;
    return ok;
}

bool rdk_same_definition(const rdk_config *a, const rdk_config *b, const rdk_option **different)
{
    rdk_text x = {0}, y = {0};
    *different = NULL;
    for (size_t i = 0; !*different && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope == RDK_OPT_DEFINES && !texts_equal(a, b, o, &x, &y) && !may_change(o, a, b))
            *different = o;
    }
    rdk_text_free(&x);
    rdk_text_free(&y);
    return !*different;
}
