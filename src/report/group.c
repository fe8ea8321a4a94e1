/* SPDX-License-Identifier: MIT
 * The runs of a directory by what they learn: a loss on one task says nothing about one on another,
 * so runs of several tasks are several groups, each with its series, panels and verdict.
 *
 * Invariant: within a group all runs are of one task and of the same data; nothing is ever compared
 * across groups.
 * Read next: classify.c. */
#include <string.h>

#include "data.h"

static bool alike(const rdk_report_run *a, const rdk_report_run *b)
{
    return rdk_same_task(&a->saved.config, &b->saved.config) &&
           rdk_same_data(a->saved.about, b->saved.about);
}

/* Brings the runs of each group together, in the order of their first ones; their counts. */
static size_t *sort_runs(rdk_report *r)
{
    rdk_report_run *sorted = rdk_report_alloc(r, r->n_runs, sizeof *sorted);
    size_t *count = rdk_report_alloc(r, r->n_runs, sizeof *count), n = 0;
    bool *taken = rdk_report_alloc(r, r->n_runs, sizeof *taken);
    if (!sorted || !count || !taken) return NULL;
    for (size_t i = 0; i < r->n_runs; i++) {
        if (taken[i]) continue;
        for (size_t k = i; k < r->n_runs; k++) {
            if (taken[k] || !alike(&r->runs[i], &r->runs[k])) continue;
            taken[k] = true;
            sorted[n++] = r->runs[k];
            count[r->n_groups]++;
        }
        r->n_groups++;
    }
    r->runs = sorted;
    return count;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const rdk_config *config_of(const rdk_report *group)
{
    return &group->runs[0].saved.config;
}

static const char *task_of(const rdk_report *group)
{
    return config_of(group)->task.name;
}

static void option_words(const rdk_report *r, const rdk_report *group, const char *name,
                         rdk_text *t)
{
    const rdk_option *o = rdk_option_find(name);
    rdk_text own = {0}, other = {0};
    bool differs = false;
    rdk_option_text(config_of(group), o, &own);
    for (size_t i = 0; i < r->n_groups; i++) {
        if (strcmp(task_of(&r->groups[i]), task_of(group)) != 0) continue;
        other.size = 0;
        rdk_option_text(config_of(&r->groups[i]), o, &other);
        differs = differs || strcmp(own.data ? own.data : "", other.data ? other.data : "") != 0;
    }
    if (differs) rdk_text_add(t, ", %s %s", name, own.data ? own.data : "");
    rdk_text_free(&own);
    rdk_text_free(&other);
}

/* "copy", "copy, seq-len 8"; a text that was changed has its number behind it. */
static const char *name_of(rdk_report *r, const rdk_report *group)
{
    static const char *const names[] = {"data",      "seq-len", "vocab",
                                        "tokenizer", "arch",    "val-fraction"};
    rdk_text t = {0};
    size_t same = 0;
    rdk_text_add(&t, "%s", task_of(group));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) option_words(r, group, names[i], &t);
    for (const rdk_report *g = r->groups; g < group; g++)
        same += rdk_same_task(config_of(g), config_of(group));
    if (same) rdk_text_add(&t, ", other data (%zu)", same + 1);
    const char *name = rdk_report_string(r, t.data ? t.data : "");
    rdk_text_free(&t);
    return name;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A run that is alone in its group is told of as a run alone. */
static void describe_group(rdk_report *r, size_t k)
{
    rdk_report *g = &r->groups[k];
    rdk_text t = {0};
    rdk_text_add(&t, "g%zu-", k + 1);
    g->prefix = rdk_report_string(r, t.data ? t.data : "");
    rdk_text_free(&t);
    g->name = name_of(r, g);
    if (g->n_runs > 1) return;
    g->ablation = false;
    g->path = g->runs[0].saved.path;
    g->runs[0].ended = true;
}

bool rdk_report_group(rdk_report *r)
{
    size_t *count = sort_runs(r), first = 0;
    r->prefix = "";
    r->name = r->runs[0].saved.config.task.name;
    r->groups = count && r->n_groups > 1 ? rdk_report_alloc(r, r->n_groups, sizeof *r->groups) : r;
    if (!count || !r->groups) {
        r->n_groups = 0;
        return false;
    }
    if (r->n_groups == 1) return rdk_report_classify(r);
    rdk_report *groups = r->groups;
    for (size_t i = 0; i < r->n_groups; i++) {
        groups[i] = (rdk_report){.arena = r->arena,
                                 .path = r->path,
                                 .ablation = r->ablation,
                                 .runs = r->runs + first,
                                 .n_runs = count[i],
                                 .n_groups = 1,
                                 .status = r->status};
        first += count[i];
    }
    for (size_t i = 0; i < r->n_groups; i++) {
        describe_group(r, i);
        if (!rdk_report_classify(&groups[i])) return false;
    }
    return true;
}

const char *rdk_report_id(rdk_report *r, const char *id)
{
    rdk_text t = {0};
    rdk_text_add(&t, "%s%s", r->prefix ? r->prefix : "", id);
    const char *whole = rdk_report_string(r, t.data ? t.data : id);
    rdk_text_free(&t);
    return whole;
}
