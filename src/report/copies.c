/* SPDX-License-Identifier: MIT
 * Copies: runs of a directory with one definition and one seed. Training is deterministic, so a
 * copy says nothing that the first did not: it is named, and counted once.
 *
 * Invariant: of each run exactly one stays, the one that went furthest; of those the first by name.
 * Read next: group.c. */
#include <stdio.h>
#include <string.h>

#include "data.h"

/* What decides the weights is the same. What is recorded of them, and where, decides none. */
static bool same_run(const rdk_report_run *a, const rdk_report_run *b)
{
    bool same = a->saved.config.seed == b->saved.config.seed &&
                rdk_same_task(&a->saved.config, &b->saved.config) &&
                rdk_same_data(a->saved.about, b->saved.about);
    for (size_t i = 0; same && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        rdk_text x = {0}, y = {0};
        if (o->scope != RDK_OPT_DEFINES) continue;
        rdk_option_text(&a->saved.config, o, &x);
        rdk_option_text(&b->saved.config, o, &y);
        same = !strcmp(x.data ? x.data : "", y.data ? y.data : "");
        rdk_text_free(&x);
        rdk_text_free(&y);
    }
    return same;
}

static bool went_further(const rdk_report_run *a, const rdk_report_run *b)
{
    return a->finished != b->finished ? a->finished : a->step > b->step;
}

static void drop(rdk_report *r, rdk_report_run *copy, const rdk_report_run *of)
{
    rdk_text t = {0};
    rdk_text_add(&t,
                 "left out: it is %s again, with the same options and the same seed (%llu), and so "
                 "no further evidence",
                 of->name, (unsigned long long)of->saved.config.seed);
    if (rdk_text_ok(&t, r->status)) rdk_report_note(r, copy->name, t.data);
    rdk_text_free(&t);
    rdk_saved_run_close(&copy->saved);
}

void rdk_report_drop_copies(rdk_report *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        rdk_report_run run = r->runs[i];
        size_t k = 0;
        while (k < kept && !same_run(&r->runs[k], &run)) k++;
        if (k == kept) {
            r->runs[kept++] = run;
            continue;
        }
        bool better = went_further(&run, &r->runs[k]);
        rdk_report_run copy = better ? r->runs[k] : run;
        if (better) r->runs[k] = run;
        drop(r, &copy, &r->runs[k]);
    }
    r->n_runs = kept;
}
