/* SPDX-License-Identifier: MIT
 * The verb theory: the variance argument measured, beside what is predicted.
 * Read next: src/probe/measure.c. */
#include <string.h>

#include "theory.h"

typedef struct options {
    rdk_uint_list d_k, keys;
    uint64_t samples, d_model, seed;
    int format; /* 0 text, 1 csv */
    uint32_t threads;
    char csv[RDK_PATH_TEXT];
} options;

#define FIELD(f) offsetof(options, f), sizeof(((options *)0)->f)

static const char measured[] = "what is measured";
static const char output[] = "how it is said";
static const char *const format_names[] = {"text", "csv", NULL};

static const rdk_option rows[] = {
    {"d-k", measured, RDK_OPT_LIST, RDK_OPT_RUNS, FIELD(d_k), "64", 1, 65536, .value_name = "LIST",
     .help = "width of q and k: A,B or A..B, the powers of two there"},
    {"keys", measured, RDK_OPT_LIST, RDK_OPT_RUNS, FIELD(keys), "64", 2, 65536,
     .value_name = "LIST", .help = "keys that a query looks at"},
    {"d-model", measured, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(d_model), "auto", 1, 65536,
     .auto_rule = "4 d_k", .value_name = "N",
     .help = "width of the model, for the scaling by its root"},
    {"samples", measured, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(samples), "auto", 1000, 1e6,
     .auto_rule = "a few seconds", .value_name = "N", .help = "queries, and rows of scores"},
    {"seed", measured, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(seed), "1", 0, 18446744073709551615.0,
     .value_name = "N", .help = "of the random numbers"},
    {"threads", measured, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(threads), "auto", 1, 256,
     .auto_rule = "OMP_NUM_THREADS, else all", .value_name = "N",
     .help = "results do not depend on it"},
    {"format", output, RDK_OPT_CHOICE, RDK_OPT_RUNS, FIELD(format), "text", .choices = format_names,
     .value_name = "KIND", .help = "on stdout: tables, or all figures"},
    {"csv", output, RDK_OPT_TEXT, RDK_OPT_RUNS, FIELD(csv), "", .value_name = "FILE",
     .help = "write all figures there as well (replaces FILE)"},
};

const rdk_grammar rdk_theory_grammar = {
    .own = rows,
    .n_own = sizeof rows / sizeof *rows,
    .without_runs = "theory needs no run: it measures every scaling beside the others",
    .notes =
        "Draws queries and keys with independent entries of mean 0 and variance 1, scores them "
        "in every\nway that --scale knows, and prints what the softmax makes of it beside what "
        "is predicted.\nEach prediction is a check: ok, or off by more than luck explains "
        "(exit status 4).\nWith three values of --d-k or more: the slopes in d_k. "
        "docs/theory.md explains the tables.",
};

/* ---- output ---------------------------------------------------------------------------------- */

static bool write_csv(const options *o, const rdk_theory_results *r, rdk_status *s)
{
    rdk_text csv = {0};
    rdk_theory_csv(&csv, r->findings);
    bool ok = rdk_text_ok(&csv, s);
    if (ok && o->csv[0]) ok = rdk_file_replace(o->csv, csv.data, csv.size, s);
    if (ok && o->format) fwrite(csv.data, 1, csv.size, stdout);
    rdk_text_free(&csv);
    return ok;
}

/* Said before a long silence only. */
static void announce(const rdk_theory_plan *plan)
{
    static const double seconds_a_number = 4e-8, patience = 10;
    double seconds = rdk_theory_cost(plan) * seconds_a_number / rdk_threads();
    if (seconds < patience) return;
    fprintf(stderr, "rootdk: drawing %.1e random numbers, about %.0f %s on %d thread%s\n",
            rdk_theory_cost(plan), seconds < 120 ? seconds : seconds / 60,
            seconds < 120 ? "seconds" : "minutes", rdk_threads(), rdk_threads() > 1 ? "s" : "");
}

static bool say(const options *o, const rdk_theory_results *r, rdk_status *s)
{
    size_t off = rdk_findings_off(r->findings);
    if (!o->format) {
        rdk_theory_screen(stdout, r);
        rdk_theory_verdict(stdout, r);
    }
    if (!write_csv(o, r, s)) return false;
    if (o->csv[0] && !o->format) printf("all figures: %s\n", o->csv);
    if (!off) return true;
    fflush(stdout);
    fprintf(stderr, "rootdk: %zu of the checks %s off (verdict \"off\" in --format csv)\n", off,
            off > 1 ? "are" : "is");
    return true;
}

static int run(const options *o)
{
    rdk_status s = {0};
    rdk_theory_results r = {0};
    const char *reason;
    if (!rdk_choose_threads((int)o->threads, &reason, &s)) return rdk_cli_failed(&s);
    rdk_theory_plan plan = {o->d_k.at,  o->keys.at, o->d_k.n, o->keys.n,
                            o->samples, o->d_model, o->seed};
    announce(&plan);
    bool done = rdk_theory_measure(&r, &plan, &s) && rdk_theory_find(&r, &s) && say(o, &r, &s);
    int status = !done                          ? rdk_cli_failed(&s)
                 : rdk_findings_off(r.findings) ? RDK_EXIT_CHECK
                                                : RDK_EXIT_DONE;
    rdk_theory_free(&r);
    return status;
}

int rdk_cli_theory(int argc, char **argv)
{
    rdk_status s = {0};
    rdk_words w;
    options o;
    memset(&o, 0, sizeof o);
    int status = RDK_EXIT_DONE;
    if (!rdk_words_read(&w, &rdk_theory_grammar, argc, argv, &s)) {
        status = rdk_cli_failed(&s);
    } else if (rdk_is_beside(w.action)) {
        status = rdk_cli_beside(w.action, w.help_about, &rdk_theory_grammar);
    } else if (!rdk_words_set_own(&w, &rdk_theory_grammar, &o, &s)) {
        status = rdk_cli_failed(&s);
    } else {
        status = run(&o);
    }
    rdk_words_free(&w);
    return status;
}
