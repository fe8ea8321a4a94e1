/* SPDX-License-Identifier: MIT
 * What an ablation varies, found from the runs themselves: the options in which their config.ini
 * differ.
 *
 * d_k makes the panels, seeds are averaged, learning rates are chosen among; what else differs
 * (mostly the scaling) makes the series. An option that only follows the d_k or the scaling is no
 * question of its own and is left out.
 * Read next: series.c, summary.c. */
#include <stdlib.h>
#include <string.h>

#include "data.h"

/* Texts of all options of all runs: [n_runs, option_count]. */
typedef struct grid {
    rdk_report *r;
    const char **text;
    size_t options;
} grid;

static const char *text_at(const grid *g, size_t run, size_t option)
{
    return g->text[run * g->options + option];
}

static bool make_grid(grid *g, rdk_report *r)
{
    *g = (grid){.r = r, .options = rdk_option_count()};
    g->text = rdk_report_alloc(r, r->n_runs * g->options, sizeof *g->text);
    for (size_t i = 0; g->text && i < r->n_runs; i++) {
        rdk_config asked; /* what follows another option is no option of its own */
        rdk_report_compared(&r->runs[i], &asked);
        for (size_t o = 0; o < g->options; o++) {
            rdk_text t = {0};
            rdk_option_text(&asked, rdk_option_at(o), &t);
            g->text[i * g->options + o] = rdk_report_string(r, t.data ? t.data : "");
            rdk_text_free(&t);
        }
    }
    return rdk_ok(r->status);
}

static bool differs(const grid *g, size_t option)
{
    for (size_t i = 1; i < g->r->n_runs; i++)
        if (strcmp(text_at(g, i, option), text_at(g, 0, option)) != 0) return true;
    return false;
}

/* Is the option the same in all runs that agree in `by`? */
static bool follows(const grid *g, size_t option, size_t by)
{
    for (size_t i = 0; i < g->r->n_runs; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(text_at(g, i, by), text_at(g, j, by)) &&
                strcmp(text_at(g, i, option), text_at(g, j, option)) != 0)
                return false;
    return true;
}

static size_t index_of(const char *name)
{
    return (size_t)(rdk_option_find(name) - rdk_option_at(0));
}

static bool is_axis(const char *name)
{
    return !strcmp(name, "d-k") || !strcmp(name, "lr") || !strcmp(name, "seed");
}

static bool counts(const grid *g, size_t o)
{
    const rdk_option *option = rdk_option_at(o);
    return option->scope != RDK_OPT_RECORDS && option->scope != RDK_OPT_RUNS && differs(g, o);
}

static bool is_varied(const grid *g, size_t o)
{
    const rdk_option *option = rdk_option_at(o);
    size_t d_k = index_of("d-k"), scale = index_of("scale");
    if (!counts(g, o)) return false;
    /* a scale that was left to rule follows the kind of attention, not that the scale */
    if (o == scale || o == index_of("attention") || is_axis(option->name)) return true;
    return !follows(g, o, d_k) && !follows(g, o, scale);
}

/* ---- values in order ------------------------------------------------------------------------- */

/* The place of the name of a policy, of n bytes, in their table; their number where it is none. */
static size_t policy_rank(const char *name, size_t n)
{
    size_t i = 0;
    for (; i < rdk_scaling_count(); i++) {
        const char *policy = rdk_scaling_at(i)->name;
        if (strlen(policy) == n && !memcmp(policy, name, n)) break;
    }
    return i;
}

/* What is off first. Policies in the order of their table; what begins with one ("sqrt, softcap 5")
 * in that order behind them; numbers by size, also those within a text; the rest by name. */
static int by_value(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t whole_x = policy_rank(x, strlen(x)), whole_y = policy_rank(y, strlen(y));
    size_t first_x = policy_rank(x, strcspn(x, ",")), first_y = policy_rank(y, strcspn(y, ","));
    bool off_x = !strcmp(x, "off"), off_y = !strcmp(y, "off");
    double p, q;
    if (off_x != off_y) return off_x ? -1 : 1;
    if (whole_x != whole_y) return whole_x < whole_y ? -1 : 1;
    if (first_x != first_y) return first_x < first_y ? -1 : 1;
    if (rdk_parse_double(x, &p) && rdk_parse_double(y, &q) && p != q) return p < q ? -1 : 1;
    return rdk_text_order(x, y);
}

void rdk_report_sort_values(const char **values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
}

/* The distinct ones of n texts, sorted; their number. */
static size_t distinct(const char **texts, size_t n)
{
    size_t kept = 0;
    rdk_report_sort_values(texts, n);
    for (size_t i = 0; i < n; i++)
        if (!kept || strcmp(texts[i], texts[kept - 1]) != 0) texts[kept++] = texts[i];
    return kept;
}

/* All values of an option over the runs. */
static const char **values_of(const grid *g, size_t option, size_t *count)
{
    size_t n = g->r->n_runs;
    const char **values = rdk_report_alloc(g->r, n, sizeof *values);
    *count = 0;
    if (!values) return NULL;
    for (size_t i = 0; i < n; i++) values[i] = text_at(g, i, option);
    *count = distinct(values, n);
    return values;
}

static size_t position(const char *const *values, size_t count, const char *value)
{
    size_t i = 0;
    while (i + 1 < count && strcmp(values[i], value) != 0) i++;
    return i;
}

/* Who reads of a difference between scalings or widths shall know what else may have made it. */
static void note_followers(const grid *g)
{
    rdk_text names = {0};
    size_t n = 0;
    for (size_t o = 0; o < g->options; o++) {
        if (rdk_option_at(o)->scope != RDK_OPT_DEFINES || !counts(g, o) || is_varied(g, o))
            continue;
        rdk_text_add(&names, "%s<b>%s</b>", n++ ? ", " : "", rdk_option_at(o)->name);
    }
    if (n)
        rdk_text_add(&g->r->notes,
                     "<li>%s change%s with the scaling or the d_k: what differs between those may "
                     "come from %s.</li>\n",
                     names.data ? names.data : "", n > 1 ? "" : "s", n > 1 ? "them" : "it");
    rdk_text_free(&names);
}

static bool find_varied(const grid *g)
{
    rdk_report *r = g->r;
    r->varied = rdk_report_alloc(r, g->options, sizeof *r->varied);
    for (size_t i = 0; i < r->n_runs; i++)
        r->runs[i].value = rdk_report_alloc(r, g->options, sizeof(size_t));
    if (!rdk_ok(r->status)) return false;
    for (size_t o = 0; o < g->options; o++) {
        if (!is_varied(g, o)) continue;
        rdk_varied *v = &r->varied[r->n_varied];
        v->option = rdk_option_at(o);
        v->values = values_of(g, o, &v->count);
        for (size_t i = 0; v->values && i < r->n_runs; i++)
            r->runs[i].value[r->n_varied] = position(v->values, v->count, text_at(g, i, o));
        r->n_varied++;
    }
    note_followers(g);
    return rdk_ok(r->status);
}

/* ---- series, panels, rates ------------------------------------------------------------------- */

static bool find_series(rdk_report *r)
{
    const char **labels = rdk_report_alloc(r, r->n_runs, sizeof *labels);
    r->series = rdk_report_alloc(r, r->n_runs, sizeof *r->series);
    r->colour = rdk_report_alloc(r, r->n_runs, sizeof *r->colour);
    r->dash = rdk_report_alloc(r, r->n_runs, sizeof *r->dash);
    if (!labels || !r->series || !r->colour || !r->dash) return false;
    for (size_t i = 0; i < r->n_runs; i++)
        labels[i] = r->series[i] = rdk_series_label(r, &r->runs[i]);
    r->n_series = distinct(r->series, r->n_runs);
    for (size_t i = 0; i < r->n_runs; i++)
        r->runs[i].series = position(r->series, r->n_series, labels[i]);
    rdk_series_colours(r);
    return true;
}

static bool find_panels(const grid *g)
{
    rdk_report *r = g->r;
    size_t d_k = index_of("d-k"), lr = index_of("lr"), seeds;
    const char **widths = values_of(g, d_k, &r->n_panels);
    r->rate = values_of(g, lr, &r->n_rates);
    r->d_k = rdk_report_alloc(r, r->n_panels, sizeof *r->d_k);
    r->rate_value = rdk_report_alloc(r, r->n_rates, sizeof *r->rate_value);
    if (!values_of(g, index_of("seed"), &seeds) || !r->d_k || !r->rate_value) return false;
    r->n_seeds = seeds;
    for (size_t i = 0; i < r->n_runs; i++) {
        rdk_report_run *run = &r->runs[i];
        run->panel = position(widths, r->n_panels, text_at(g, i, d_k));
        run->rate = position(r->rate, r->n_rates, text_at(g, i, lr));
        r->d_k[run->panel] = run->saved.config.model.d_k;
        r->rate_value[run->rate] = run->saved.config.optim.lr;
        if (run->layers > r->layers) r->layers = run->layers;
    }
    return true;
}

/* Of a series at a d_k, its best rate; where it has none, the smallest that was run. */
static size_t best_rate(rdk_report *r, size_t series, size_t panel)
{
    size_t n, first = r->n_rates;
    double *room;
    rdk_rated *runs = rdk_report_rated(r, series, panel, &n, &room);
    rdk_best_rate best = {.rate = r->n_rates};
    if (runs) best = rdk_best_rate_of(runs, n, r->n_rates, room);
    if (best.rate < r->n_rates) return best.rate;
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->series == series && run->panel == panel && run->rate < first) first = run->rate;
    }
    return first;
}

bool rdk_report_classify(rdk_report *r)
{
    grid g;
    if (!make_grid(&g, r) || !find_varied(&g) || !find_series(r) || !find_panels(&g)) return false;
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            size_t rate = best_rate(r, s, p);
            for (size_t i = 0; i < r->n_runs; i++) {
                rdk_report_run *run = &r->runs[i];
                if (run->series == s && run->panel == p) run->best_rate = run->rate == rate;
            }
        }
    }
    return rdk_ok(r->status);
}
