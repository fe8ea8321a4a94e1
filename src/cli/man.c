/* SPDX-License-Identifier: MIT
 * --man: the manual page, troff with the man macros, from the same tables as --help.
 * Invariant: every text that comes from a table goes through print_text, which escapes it. */
#include <string.h>

#include "cli.h"

/* Escapes what troff would read as its own: backslashes, hyphens, and a control character at the
 * start of a line. */
static void print_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
    }
}

static void print_heading(FILE *out, const char *macro, const char *text)
{
    fprintf(out, "%s \"", macro);
    for (; *text; text++) fputc(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, out);
    fprintf(out, "\"\n");
}

/* A term in bold, what follows it indented. */
static void print_term(FILE *out, const char *term)
{
    fprintf(out, ".TP\n\\fB");
    print_text(out, term);
    fprintf(out, "\\fR\n");
}

static void print_line(FILE *out, const char *text)
{
    print_text(out, text);
    fputc('\n', out);
}

static void print_option(FILE *out, const rdk_option *o)
{
    char usage[RDK_USAGE_TEXT], range[RDK_RANGE_TEXT];
    print_term(out, rdk_option_usage(o, usage));
    print_text(out, o->help);
    fprintf(out, ".\nTakes ");
    print_text(out, rdk_option_range(o, range));
    fprintf(out, "; default ");
    print_text(out, o->initial[0] ? o->initial : "none");
    if (o->auto_rule) {
        fprintf(out, ".\nauto: ");
        print_text(out, o->auto_rule);
    }
    fprintf(out, ".\n");
}

/* Rows that stand together, under the headings of their groups. */
static void print_rows(FILE *out, const rdk_option *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool heads = i == 0 || strcmp(rows[i - 1].group, rows[i].group) != 0;
        if (heads) print_heading(out, ".SS", rows[i].group);
        print_option(out, &rows[i]);
    }
}

/* The options that each verb has beside those of a run. */
static void print_verb_options(FILE *out)
{
    for (size_t i = 0; i < rdk_verb_count(); i++) {
        const rdk_verb *v = rdk_verb_at(i);
        if (!v->grammar || !v->grammar->n_own) continue;
        char heading[RDK_USAGE_TEXT];
        snprintf(heading, sizeof heading, "options of %s", v->name);
        print_heading(out, ".SH", heading);
        print_line(out, v->about);
        print_rows(out, v->grammar->own, v->grammar->n_own);
    }
}

static void print_options(FILE *out)
{
    fprintf(out, ".SH OPTIONS\n");
    print_rows(out, rdk_option_at(0), rdk_option_count());
    fprintf(out, ".SS \"BESIDE A RUN\"\n");
    for (size_t i = 0; i < rdk_switch_count(); i++) {
        char usage[RDK_USAGE_TEXT];
        const rdk_switch *f = rdk_switch_at(i);
        bool help = f->action == RDK_ACTION_HELP;
        snprintf(usage, sizeof usage, "--%s%s%s%s", f->name,
                 help            ? "[="
                 : f->value_name ? " "
                                 : "",
                 f->value_name ? f->value_name : "", help ? "]" : "");
        print_term(out, usage);
        print_line(out, f->help);
    }
}

static void print_tables(FILE *out)
{
    fprintf(out, ".SH SCALINGS\nThe score of a query q and a key k, by \\fB\\-\\-scale\\fR.\n");
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *p = rdk_scaling_at(i);
        print_term(out, p->name);
        print_line(out, p->formula);
        fprintf(out, ".br\n");
        print_line(out, p->about);
    }
    fprintf(out, ".SH TASKS\n");
    for (size_t i = 0; i < rdk_task_type_count(); i++) {
        print_term(out, rdk_task_type_name(i));
        print_line(out, rdk_task_type_about(i));
    }
}

static const char *const ending[] = {
    ".SH FILES",
    "A run writes its directory (\\fB\\-\\-out\\fR):",
    ".TP",
    "\\fBconfig.ini\\fR",
    "every option as resolved; \\fB\\-\\-config\\fR on it reruns the run",
    ".TP",
    "\\fBrun.json\\fR",
    "version, build, machine, how the run ended, final figures",
    ".TP",
    "\\fBmetrics.csv\\fR, \\fBattention.csv\\fR, \\fBgradients.csv\\fR, \\fBtiming.csv\\fR",
    "what was measured, a row a step; only the last differs between two runs of one configuration",
    ".TP",
    "\\fBmaps.csv\\fR, \\fBexample.csv\\fR",
    "attention of one held-out example at the first and the last step, and its tokens",
    ".TP",
    "\\fBlast.safetensors\\fR, \\fBbest.safetensors\\fR",
    "weights, and all that \\fB\\-\\-resume\\fR needs",
    ".SH SIGNALS",
    "SIGINT, SIGTERM and SIGHUP save the run and end the process by that signal; a second one ends",
    "it at once. A reader of the output that goes away (SIGPIPE) has the same effect.",
    ".SH ENVIRONMENT",
    ".TP",
    "\\fBOMP_NUM_THREADS\\fR",
    "threads, from 1 on (more than 256 count as that), where \\fB\\-\\-threads\\fR is not given",
    ".TP",
    "\\fBOMP_WAIT_POLICY\\fR",
    "what threads that wait do; where it is not set, they spin for a moment and then sleep",
    ".TP",
    "\\fBRDK_ISA\\fR",
    "\\fBavx512bf16\\fR, \\fBavx512\\fR, \\fBavx2\\fR, \\fBbase\\fR or, on aarch64, \\fBneon\\fR:",
    "the instruction set of the kernels, one that this build and this processor have; else the",
    "best of them.",
    "Results differ in their last bits.",
    ".SH \"EXIT STATUS\"",
    "0 done; 1 failed; 2 usage; 3 the run diverged; 4 a self\\-check failed.",
    NULL,
};

void rdk_print_man(FILE *out)
{
    fprintf(out, ".TH ROOTDK 1 \"\" \"rootdk %s\" \"User Commands\"\n", rdk_version());
    fprintf(out, ".SH NAME\nrootdk \\- train small Transformers and see what the scaling of "
                 "attention does\n.SH SYNOPSIS\n");
    for (size_t i = 0; i < rdk_verb_count(); i++) {
        const rdk_verb *v = rdk_verb_at(i);
        fprintf(out, "%s.B rootdk\n%s\n", i ? ".br\n" : "", v->synopsis);
    }
    fprintf(out,
            ".SH DESCRIPTION\n"
            "Trains a Transformer on a sequence task, with the scaling of the attention scores "
            "as a switch, and logs score variance, attention entropy and gradient norms.\n"
            "Values stand behind their option, as \\fB\\-\\-lr 1e\\-3\\fR or "
            "\\fB\\-\\-lr=1e\\-3\\fR; abbreviations are refused.\n");
    print_options(out);
    print_verb_options(out);
    print_tables(out);
    for (size_t i = 0; ending[i]; i++) fprintf(out, "%s\n", ending[i]);
}
