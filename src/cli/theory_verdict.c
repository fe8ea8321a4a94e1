/* SPDX-License-Identifier: MIT
 * theory: what the numbers say, in words made from them, and what to do next.
 * Invariant: a sentence about size depends on the number that it states. */
#include <math.h>
#include <string.h>

#include "theory.h"

static const rdk_way *way_called(const rdk_theory_point *p, const char *name,
                                 const rdk_row_estimates **e)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        if (strcmp(p->way[i].name, name) != 0) continue;
        *e = &p->e[i];
        return &p->way[i];
    }
    return NULL;
}

/* How the softmax starts, by its entropy. */
static const char *state(double entropy_norm)
{
    if (entropy_norm < .25) return "most rows look at one or two keys";
    if (entropy_norm < .6) return "rows look at a few keys";
    if (entropy_norm < .95) return "rows prefer some keys and still weigh all";
    return "rows practically average all keys";
}

static void about_none(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "none", &e)) return;
    double even = 1 - 1 / (double)p->keys;
    fprintf(out,
            "   Undivided (none), the scores have variance %.4g at d_k = %zu: H/ln n is %.3f, %s.\n"
            "   %.1f %% of the rows put more than .99 on one key, and the middle row keeps tr J = "
            "%.3g of the\n   %.3g that even weights have: that is the share of the gradient's way "
            "to q and k left open.\n",
            e->variance.mean, p->d_k, e->entropy_norm.mean, state(e->entropy_norm.mean),
            100 * e->sat99.mean, e->trace_median.mean, even);
}

static void about_sqrt(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "sqrt", &e)) return;
    fprintf(
        out,
        "   Divided by sqrt(d_k), variance %.3g: H/ln n is %.3f, %s; %.1f %% saturated,\n"
        "   tr J %.3f in the middle row. c^2 d_k = 1 has this one solution, so it is the same at "
        "every d_k.\n",
        e->variance.mean, e->entropy_norm.mean, state(e->entropy_norm.mean), 100 * e->sat99.mean,
        e->trace_median.mean);
}

static void about_dk(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "dk", &e)) return;
    fprintf(out,
            "   Not d_k: that divides the standard deviation sqrt(d_k) by d_k. Variance %.3g is "
            "left, and falls\n   as the head widens: H/ln n is %.4f, %s. Nothing is saturated,\n"
            "   but W_Q and W_K must grow before keys are told apart.\n",
            e->variance.mean, e->entropy_norm.mean, state(e->entropy_norm.mean));
}

static void about_d_model(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "dmodel", &e)) return;
    fprintf(out,
            "   Not sqrt(d_model): a score sums d_k products, not d_model. With d_model = %zu the "
            "variance is\n   %.3g, which is d_k / d_model = 1 / heads.\n",
            p->d_model, e->variance.mean);
}

static void about_norm(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "qknorm", &e)) return;
    fprintf(out,
            "   QK-norm, variance %.3g: as sqrt at the start, and whatever the size of W_Q and W_K "
            "later.\n",
            e->variance.mean);
}

static void about_slopes(FILE *out, const rdk_theory_results *r)
{
    static const char *const names[] = {"none", "sqrt", "dk", "qknorm"};
    const rdk_theory_point *p = rdk_theory_at(r, 0, 0);
    const rdk_row_estimates *e;
    fprintf(out, "   Var(s) goes as d_k to the power of");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const rdk_way *way = way_called(p, names[i], &e);
        if (!way) continue;
        rdk_slope slope = rdk_theory_slope(r, 0, (size_t)(way - p->way));
        fprintf(out, "%s %+.3f (%s)", i ? "," : "", slope.measured.mean, names[i]);
    }
    fprintf(out, ".\n");
}

/* The widest head of the first number of keys. */
static const rdk_theory_point *widest(const rdk_theory_results *r)
{
    const rdk_theory_point *p = rdk_theory_at(r, 0, 0);
    for (size_t j = 1; j < r->options->d_k.n; j++)
        if (rdk_theory_at(r, 0, j)->d_k > p->d_k) p = rdk_theory_at(r, 0, j);
    return p;
}

void rdk_theory_verdict(FILE *out, const rdk_theory_results *r)
{
    const char *command = rdk_cli_command();
    const rdk_theory_point *p = widest(r);
    size_t off = rdk_findings_off(r->findings);
    fprintf(out, "\nverdict: %s\n",
            off ? "some figures are not as predicted (see the checks); what was measured:"
                : "every figure is as predicted.");
    if (r->options->d_k.n >= 3) about_slopes(out, r);
    about_none(out, p);
    about_sqrt(out, p);
    about_dk(out, p);
    about_d_model(out, p);
    about_norm(out, p);
    fprintf(out,
            "   This is about the start, with independent entries of variance 1. Whether a model "
            "then learns\n   is another question: train it.\n"
            "\nnext:\n"
            "   %s theory --d-k 1..4096             the slopes in d_k\n"
            "   %s theory --keys 8,64,256           more keys, softer rows?\n"
            "   %s theory --format csv              every figure, its error and its check\n"
            "   %s --scale none                     a model that starts so; then --scale sqrt\n",
            command, command, command, command);
}
