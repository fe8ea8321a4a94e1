/* SPDX-License-Identifier: MIT
 * In what options runs differ, for a terminal: all of those that define a run, not only what makes
 * the series of a report.
 * Read next: terminal.c, show.c. */
#include <string.h>

#include "data.h"

static void text_of(const rdk_config *c, const rdk_option *o, rdk_text *t)
{
    t->size = 0;
    rdk_text_add(t, "%s", "");
    rdk_option_text(c, o, t);
}

/* As it was asked for: what follows another option does not differ by itself. */
static bool differs(const rdk_report_run *const *runs, size_t n, const rdk_option *o)
{
    rdk_text first = {0}, other = {0};
    bool any = false;
    for (size_t i = 0; i < n && !any; i++) {
        rdk_config asked;
        rdk_report_compared(runs[i], &asked);
        text_of(&asked, o, i ? &other : &first);
        any = i && first.data && other.data && strcmp(first.data, other.data) != 0;
    }
    rdk_text_free(&first);
    rdk_text_free(&other);
    return any;
}

/* Is it a part of the name, as of the points of an ablation: "OPTION-VALUE" between underscores? */
static bool is_named(const rdk_report_run *run, const rdk_option *o, const char *value)
{
    rdk_text part = {0};
    bool found = false;
    rdk_text_add(&part, "%s-%s", o->name, value);
    for (const char *at = run->name; part.data && !found && (at = strstr(at, part.data)); at++) {
        char end = at[part.size];
        found = (at == run->name || strchr("_/", at[-1])) && (!end || strchr("_/", end));
    }
    rdk_text_free(&part);
    return found;
}

static void add_option(const rdk_report_run *const *runs, size_t n, const rdk_option *o,
                       rdk_text *out)
{
    rdk_text value = {0};
    bool named = true;
    for (size_t i = 0; i < n && named; i++) {
        text_of(&runs[i]->saved.config, o, &value);
        named = value.data && is_named(runs[i], o, value.data);
    }
    for (size_t i = 0; i < n && !named; i++) {
        text_of(&runs[i]->saved.config, o, &value);
        rdk_text_add(&out[i], "%s%s %s", out[i].size ? ", " : "", o->name,
                     value.data && value.size ? value.data : "-");
    }
    rdk_text_free(&value);
}

size_t rdk_differing(const rdk_report_run *const *runs, size_t n, rdk_text *out)
{
    size_t differing = 0;
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope != RDK_OPT_DEFINES || !differs(runs, n, o)) continue;
        differing++;
        add_option(runs, n, o, out);
    }
    return differing;
}
