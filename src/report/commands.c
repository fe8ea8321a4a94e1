/* SPDX-License-Identifier: MIT
 * The commands that make the runs of a report again, what built the program, what the data are.
 * Read next: sec_verdict.c, above whose end they stand. */
#include <stdio.h>
#include <string.h>

#include "grid_record.h"
#include "page.h"

/* ---- the command ----------------------------------------------------------------------------- */

static void shell_word(rdk_text *t, const char *word)
{
    rdk_text quoted = {0};
    rdk_text_shell_word(&quoted, word);
    rdk_html(t, quoted.data ? quoted.data : "");
    rdk_text_free(&quoted);
}

/* How the options of a group are said: see asked_text. */
typedef struct wording {
    rdk_report *r;
    bool usual_sizes;    /* all have the usual number of heads and width: nobody stated them */
    const char **values; /* [n_runs] room */
} wording;

static bool sizes_are_usual(const rdk_report *r)
{
    bool usual = true;
    for (size_t i = 0; i < r->n_runs; i++) {
        rdk_config c = r->runs[i].saved.config;
        rdk_config_unresolve_sizes(&c);
        usual = usual && !c.model.heads;
    }
    return usual;
}

/* The text of an option as it was asked for: what follows another option is auto, or what it came
 * to where `by_name`. */
static void asked_text(const wording *w, const rdk_report_run *run, const rdk_option *o,
                       bool by_name, rdk_text *out)
{
    rdk_config asked = run->saved.config;
    if (!by_name) rdk_report_asked(run, &asked);
    if (!by_name && w->usual_sizes) {
        asked.model.d_k = run->saved.config.model.d_k;
        rdk_config_unresolve_sizes(&asked);
    }
    rdk_option_text(&asked, o, out);
    rdk_text_bytes(out, "", 0);
}

/* The values of an option over the runs, each once, in w->values; their number. */
static size_t asked_values(const wording *w, const rdk_option *o, bool by_name)
{
    size_t n = 0;
    for (size_t i = 0; i < w->r->n_runs; i++) {
        rdk_text t = {0};
        asked_text(w, &w->r->runs[i], o, by_name, &t);
        size_t k = 0;
        while (t.data && k < n && strcmp(w->values[k], t.data) != 0) k++;
        if (t.data && k == n) w->values[n++] = rdk_report_string(w->r, t.data);
        rdk_text_free(&t);
    }
    rdk_report_sort_values(w->values, n);
    return n;
}

/* The values that the command states; 0: none. The scaling is what this is about: it always is. */
static size_t stated_values(const wording *w, const rdk_option *o)
{
    rdk_config usual;
    rdk_text initial = {0};
    bool scale = !strcmp(o->name, "scale"), width = !strcmp(o->name, "d-k");
    if (o->scope == RDK_OPT_RUNS) return 0;
    size_t n = asked_values(w, o, scale);
    if (n > 1 && width && w->usual_sizes) n = asked_values(w, o, true);
    if (n > 1 && o->scope == RDK_OPT_RECORDS) return 0; /* it follows another one */
    if (n != 1 || scale) return n;
    rdk_config_init(&usual);
    rdk_option_text(&usual, o, &initial);
    bool is_usual = !*w->values[0] || (initial.data && !strcmp(w->values[0], initial.data));
    rdk_text_free(&initial);
    return is_usual ? 0 : 1;
}

/* Of a run alone, or of runs that nothing but a directory holds together: the options that are not
 * at their defaults, all their values. */
static void command_words(rdk_report *r, rdk_text *t)
{
    wording w = {r, sizes_are_usual(r), rdk_report_alloc(r, r->n_runs, sizeof(char *))};
    rdk_text_add(t, r->ablation ? "./train ablate" : "./train");
    for (size_t i = 0; w.values && i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        size_t n = stated_values(&w, o);
        for (size_t k = 0; k < n; k++) {
            if (k)
                rdk_text_add(t, ",");
            else
                rdk_text_add(t, " --%s ", o->name);
            shell_word(t, w.values[k]);
        }
    }
}

/* ---- build and data -------------------------------------------------------------------------- */

static void build_words(const rdk_report_run *run, rdk_text *t)
{
    static const char *const keys[] = {"program", "version", "build",  "compiler",
                                       "isa",     "numbers", "system", "machine"};
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

/* The points of the grid that has all values of all options that differ; beyond MANY, about MANY.
 */
static size_t grid_points(const rdk_report *r)
{
    enum { MANY = 1000000 };
    size_t product = 1;
    for (size_t v = 0; v < r->n_varied && product < MANY; v++) product *= r->varied[v].count;
    return product;
}

/* Runs that were made one by one are mostly no grid: one that holds them all is a command for far
 * more runs than there are. */
static bool is_sparse(const rdk_report *r, size_t points)
{
    enum { FEW = 16 };
    return r->ablation && points > FEW && points > 2 * r->n_runs;
}

static void some_are_here(const rdk_report *r, size_t points, rdk_text *t)
{
    if (points != r->n_runs)
        rdk_text_add(t, "%zu of the %zu points of this grid are here. ", r->n_runs, points);
}

/* Of a directory that ablate made: as it was typed, so that it goes on there, and elsewhere makes
 * the same points. Steps that are no one product are the record itself. */
static void recorded_command(const rdk_report *r, const rdk_grid_record *g, rdk_text *t)
{
    rdk_text_add(t, "<p class=\"command\"><code>./train ablate");
    if (g->product) rdk_html(t, g->options.data ? g->options.data : "");
    rdk_text_add(t, " --out ");
    shell_word(t, r->path);
    rdk_text_add(t, "</code></p>\n<p class=\"small\">");
    some_are_here(r, g->points, t);
    if (!g->product)
        rdk_text_add(t, "These points are no one grid: no one command makes them elsewhere, but a "
                        "new directory with a copy of <code>ablation.ini</code> and "
                        "<code>points.csv</code> as its <code>--out</code> does. ");
}

static void made_up_command(rdk_report *r, rdk_text *t)
{
    size_t points = grid_points(r);
    bool sparse = is_sparse(r, points);
    if (!sparse) {
        rdk_text_add(t, "<p class=\"command\"><code>");
        command_words(r, t);
        rdk_text_add(t, "</code></p>\n");
    }
    rdk_text_add(t, "<p class=\"small\">");
    if (sparse)
        rdk_text_add(t,
                     "These %zu runs are no grid (one of all that differs has %zu points): "
                     "no one command makes them. ",
                     r->n_runs, points);
    else if (r->ablation)
        some_are_here(r, points, t);
}

void rdk_report_commands(rdk_report *r, rdk_text *t)
{
    rdk_grid_record recorded = {0};
    if (r->ablation && rdk_grid_record_read(&recorded, r->path))
        recorded_command(r, &recorded, t);
    else
        made_up_command(r, t);
    rdk_grid_record_free(&recorded);
    again_words(r, t);
    rdk_text_add(t, " Build:");
    build_words(&r->runs[0], t);
    other_builds(r, t);
    data_words(r, t);
    rdk_text_add(t, ".</p>\n");
}
