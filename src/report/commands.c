/* SPDX-License-Identifier: MIT
 * The commands that make the runs of a report again, what built the program, what the data are.
 * Read next: sec_verdict.c, above whose end they stand. */
#include <stdio.h>
#include <string.h>

#include "page.h"

/* ---- the command ----------------------------------------------------------------------------- */

static void shell_word(rdk_text *t, const char *word)
{
    rdk_text quoted = {0};
    rdk_text_shell_word(&quoted, word);
    rdk_html(t, quoted.data ? quoted.data : "");
    rdk_text_free(&quoted);
}

/* The text of an option as it was asked for: what follows another option is auto, or what it came
 * to where `by_name`. */
static void asked_text(const rdk_report_run *run, const rdk_option *o, bool by_name, rdk_text *out)
{
    rdk_config asked = run->saved.config;
    if (!by_name) rdk_config_unresolve(&asked);
    rdk_option_text(&asked, o, out);
    rdk_text_bytes(out, "", 0);
}

/* The values of an option over the runs, each once; their number. */
static size_t asked_values(rdk_report *r, const rdk_option *o, bool by_name, const char **values)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        rdk_text t = {0};
        asked_text(&r->runs[i], o, by_name, &t);
        size_t k = 0;
        while (t.data && k < n && strcmp(values[k], t.data) != 0) k++;
        if (t.data && k == n) values[n++] = rdk_report_string(r, t.data);
        rdk_text_free(&t);
    }
    rdk_report_sort_values(values, n);
    return n;
}

/* Options that are not at their defaults, all their values. */
static void command_words(rdk_report *r, rdk_text *t)
{
    rdk_config usual;
    const char **values = rdk_report_alloc(r, r->n_runs, sizeof *values);
    rdk_config_init(&usual);
    rdk_text_add(t, r->ablation ? "./train ablate" : "./train");
    for (size_t i = 0; values && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        rdk_text initial = {0};
        if (o->scope == RDK_OPT_RUNS) continue;
        size_t n = asked_values(r, o, false, values);
        if (n > 1 && !strcmp(o->name, "scale")) n = asked_values(r, o, true, values);
        if (n > 1 && o->scope == RDK_OPT_RECORDS) continue; /* it follows another one */
        rdk_option_text(&usual, o, &initial);
        bool is_usual = n == 1 && initial.data && !strcmp(values[0], initial.data);
        is_usual = is_usual || (n == 1 && !*values[0]);
        for (size_t k = 0; !is_usual && k < n; k++) {
            if (k)
                rdk_text_add(t, ",");
            else
                rdk_text_add(t, " --%s ", o->name);
            shell_word(t, values[k]);
        }
        rdk_text_free(&initial);
    }
}

/* ---- build and data -------------------------------------------------------------------------- */

static void build_words(const rdk_report_run *run, rdk_text *t)
{
    static const char *const keys[] = {"program", "version",   "build",  "compiler",
                                       "isa",     "precision", "system", "machine"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *word = rdk_record_word(run->saved.about, keys[i]);
        if (!word || !*word) continue;
        rdk_text_add(t, i > 2 ? ", " : " ");
        rdk_html(t, word);
    }
}

static const char *data_of(const rdk_report_run *run)
{
    return rdk_record_word(run->saved.about, "data");
}

/* All runs of a group are of these. */
static void data_words(const rdk_report *r, rdk_text *t)
{
    const char *data = data_of(&r->runs[0]);
    rdk_text_add(t, ". Data: ");
    rdk_html(t, data ? data : "unknown");
}

/* The first run that another program made, by what its figures depend on. */
static void other_builds(const rdk_report *r, rdk_text *t)
{
    static const char *const keys[] = {"build", "compiler", "isa"};
    for (size_t i = 1; i < r->n_runs; i++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *a = rdk_record_word(r->runs[0].saved.about, keys[k]);
            const char *b = rdk_record_word(r->runs[i].saved.about, keys[k]);
            if (!a || !b || !strcmp(a, b)) continue;
            rdk_text_add(t, "; <b>not all runs are of this %s</b>, ", keys[k]);
            rdk_html(t, r->runs[i].name);
            rdk_text_add(t, " is of ");
            rdk_html(t, b);
            return;
        }
    }
}

/* RUN stands for a name below an ablation, so it is quoted apart from what is before it. */
static void again_words(const rdk_report *r, rdk_text *t)
{
    rdk_text path = {0}, quoted = {0};
    rdk_text_add(&path, r->ablation ? "%s/" : "%s/config.ini", r->path);
    rdk_text_shell(&quoted, path.data ? path.data : "");
    rdk_text_add(t, "Again to the same bytes: <code>./train --config ");
    rdk_html(t, quoted.data ? quoted.data : "");
    rdk_text_add(t, r->ablation ? "<i>RUN</i>/config.ini</code>." : "</code>.");
    rdk_text_free(&path);
    rdk_text_free(&quoted);
}

void rdk_report_commands(rdk_report *r, rdk_text *t)
{
    size_t product = 1;
    for (size_t v = 0; v < r->n_varied; v++) product *= r->varied[v].count;
    rdk_text_add(t, "<p class=\"command\"><code>");
    command_words(r, t);
    rdk_text_add(t, "</code></p>\n<p class=\"small\">");
    if (r->ablation && product != r->n_runs)
        rdk_text_add(t, "%zu of the %zu points of this grid are here. ", r->n_runs, product);
    again_words(r, t);
    rdk_text_add(t, " Build:");
    build_words(&r->runs[0], t);
    other_builds(r, t);
    data_words(r, t);
    rdk_text_add(t, ".</p>\n");
}
