/* SPDX-License-Identifier: MIT
 * The names of series, and the colour and dashes of each.
 *
 * Invariant: a name holds the scaling and what departs from the default, or, where no run of the
 * group has the default, from most of the runs; no two of up to RDK_PAIRS series share a pair.
 * Read next: key.c. */
#include <string.h>

#include "data.h"

/* ---- what was asked for ---------------------------------------------------------------------- */

/* A warm-up that the end of the run cut short was not chosen: one of `steps` and one that is longer
 * train the same. */
void rdk_report_asked(const rdk_report_run *run, rdk_config *asked)
{
    rdk_config usual;
    rdk_config_init(&usual);
    *asked = run->saved.config;
    rdk_config_unresolve(asked);
    if (asked->optim.warmup == asked->steps && asked->steps < usual.optim.warmup)
        asked->optim.warmup = usual.optim.warmup;
}

void rdk_report_compared(const rdk_report_run *run, rdk_config *c)
{
    rdk_report_asked(run, c);
    c->model.d_k = run->saved.config.model.d_k;
    memcpy(c->model.scale, run->saved.config.model.scale, sizeof c->model.scale);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_scale(const rdk_varied *v)
{
    return !strcmp(v->option->name, "scale");
}

static bool names_series(const rdk_varied *v)
{
    static const char *const others[] = {"scale", "d-k", "lr", "seed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(v->option->name, others[i])) return false;
    return true;
}

static bool is_usual(const rdk_varied *v, const char *value)
{
    rdk_config usual;
    rdk_text t = {0};
    rdk_config_init(&usual);
    rdk_option_text(&usual, v->option, &t);
    bool same = !strcmp(t.data ? t.data : "", value);
    rdk_text_free(&t);
    return same;
}

static size_t runs_with(const rdk_report *r, size_t v, size_t value)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++) n += r->runs[i].value[v] == value;
    return n;
}

/* The value that is worth no word, or count where each is: the default, or what more than half of
 * the runs have where none has the default. For how long is no matter of a default. */
static size_t plain_value(const rdk_report *r, size_t v)
{
    const rdk_varied *varied = &r->varied[v];
    size_t usual = 0, most = 0;
    while (usual < varied->count && !is_usual(varied, varied->values[usual])) usual++;
    while (most < varied->count && 2 * runs_with(r, v, most) <= r->n_runs) most++;
    bool by_default = usual < varied->count && strcmp(varied->option->name, "steps") != 0;
    return by_default || most == varied->count ? usual : most;
}

static bool departs(const rdk_report *r, size_t v, size_t value)
{
    return names_series(&r->varied[v]) && plain_value(r, v) != value;
}

static bool departs_in_something(const rdk_report *r, const rdk_report_run *run)
{
    for (size_t v = 0; v < r->n_varied; v++)
        if (departs(r, v, run->value[v])) return true;
    return false;
}

/* The scaling is left out where all have the same and each has another name. */
static bool names_scale(const rdk_report *r)
{
    for (size_t v = 0; v < r->n_varied; v++)
        if (is_scale(&r->varied[v])) return true;
    for (size_t i = 0; i < r->n_runs; i++)
        if (!departs_in_something(r, &r->runs[i])) return true;
    return false;
}

const char *rdk_series_label(rdk_report *r, const rdk_report_run *run)
{
    rdk_text t = {0};
    if (names_scale(r)) rdk_text_add(&t, "%s", run->saved.config.model.scale);
    for (size_t v = 0; v < r->n_varied; v++) {
        const char *name = r->varied[v].option->name, *value = r->varied[v].values[run->value[v]];
        if (!departs(r, v, run->value[v])) continue;
        rdk_text_add(&t, "%s%s", t.size ? ", " : "", name);
        if (strcmp(value, "on") != 0) rdk_text_add(&t, " %s", *value ? value : "empty");
    }
    const char *label = rdk_report_string(r, t.data ? t.data : "");
    rdk_text_free(&t);
    return label;
}

/* ---- colours and dashes ---------------------------------------------------------------------- */

/* The four usual scalings look the same on every page. */
static int usual_pair(const char *label)
{
    static const char *const usual[] = {"none", "sqrt", "dk", "qknorm"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(label, usual[i])) return i;
    return -1;
}

/* The k-th pair that is tried: those of the usual scalings, where there are any, are tried late. */
static size_t pair_at(size_t k, bool any_usual)
{
    if (!any_usual || k >= RDK_PALETTE) return k % RDK_PAIRS;
    return (k + 4) % RDK_PALETTE;
}

static void use_pair(rdk_report *r, size_t series, size_t pair)
{
    static const size_t turn[RDK_PALETTE] = {0, 4, 2, 6, 1, 5, 3, 7}; /* unlike ones first */
    size_t colour = pair % RDK_PALETTE;
    r->colour[series] = (int)colour;
    r->dash[series] = (int)((colour + turn[pair / RDK_PALETTE % RDK_PALETTE]) % RDK_PALETTE);
}

void rdk_series_colours(rdk_report *r)
{
    bool used[RDK_PAIRS] = {false}, any_usual = false;
    for (size_t s = 0; s < r->n_series; s++) {
        int usual = usual_pair(r->series[s]);
        if (usual < 0) continue;
        use_pair(r, s, (size_t)usual);
        used[usual] = any_usual = true;
    }
    for (size_t s = 0, k = 0; s < r->n_series; s++) {
        if (usual_pair(r->series[s]) >= 0) continue;
        while (k < RDK_PAIRS && used[pair_at(k, any_usual)]) k++;
        use_pair(r, s, pair_at(k++, any_usual));
    }
}
