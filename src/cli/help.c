/* SPDX-License-Identifier: MIT
 * --help, from the tables of verbs, options, switches, scalings and tasks.
 * Invariant: one line an option, at most 100 columns (tests/cli/test_help.c). */
#include <string.h>

#include "cli.h"

enum { COLUMNS = 100, USAGE_COLUMNS = 24, INDENT = 2 };

/* ---- one option ------------------------------------------------------------------------------ */

char *rdk_option_usage(const rdk_option *o, char buf[RDK_USAGE_TEXT])
{
    if (o->type == RDK_OPT_BOOL) {
        snprintf(buf, RDK_USAGE_TEXT, "--[no-]%s", o->name);
    } else {
        snprintf(buf, RDK_USAGE_TEXT, "--%s %s", o->name, o->value_name);
    }
    return buf;
}

/* A bound as short as it can be given: 1000, 1e12. */
static void short_bound(double x, char out[RDK_NUMBER_TEXT])
{
    static const double long_from = 1e9, two_to_64 = 18446744073709551616.0;
    if (x >= two_to_64 && x < 2 * two_to_64) {
        snprintf(out, RDK_NUMBER_TEXT, "%llu", (unsigned long long)UINT64_MAX);
    } else if (x >= long_from && x < two_to_64) {
        snprintf(out, RDK_NUMBER_TEXT, "%.0e", x);
        char *exponent = strchr(out, 'e') + 1; /* "+09" */
        char *digits = exponent + strspn(exponent, "+0");
        memmove(exponent, digits, strlen(digits) + 1);
    } else {
        rdk_text_double(x, out);
    }
}

char *rdk_option_short_range(const rdk_option *o, char buf[RDK_USAGE_TEXT])
{
    char low[RDK_NUMBER_TEXT], high[RDK_NUMBER_TEXT];
    size_t used = 0;
    buf[0] = '\0';
    if (o->type == RDK_OPT_UINT || o->type == RDK_OPT_REAL || o->type == RDK_OPT_LIST) {
        short_bound(o->low, low);
        short_bound(o->high, high);
        snprintf(buf, RDK_USAGE_TEXT, "%s%s..%s", o->or_zero ? "0 or " : "", low, high);
    }
    for (size_t i = 0; o->type == RDK_OPT_CHOICE && o->choices[i] && used < RDK_USAGE_TEXT; i++) {
        used += (size_t)snprintf(buf + used, RDK_USAGE_TEXT - used, "%s%s", i ? "|" : "",
                                 o->choices[i]);
    }
    return buf;
}

static void print_option(FILE *out, const rdk_grammar *g, const rdk_option *o)
{
    char usage[RDK_USAGE_TEXT], range[RDK_USAGE_TEXT];
    const rdk_otherwise *here = rdk_grammar_otherwise(g, o);
    if (here && !here->initial) return;
    rdk_option_short_range(o, range);
    fprintf(out, "%*s%-*s %s", INDENT, "", USAGE_COLUMNS, rdk_option_usage(o, usage),
            here && here->help ? here->help : o->help);
    if (range[0]) fprintf(out, " (%s)", range);
    if (here) {
        fprintf(out, " [%s]", here->initial);
    } else if (o->auto_rule) {
        fprintf(out, " [auto: %s]", o->auto_rule);
    } else if (o->initial[0]) {
        fprintf(out, " [%s]", o->initial);
    }
    fprintf(out, "\n");
}

static void print_switches(FILE *out, const rdk_grammar *g)
{
    char usage[RDK_USAGE_TEXT];
    for (size_t i = 0; i < rdk_switch_count(); i++) {
        const rdk_switch *f = rdk_switch_at(i);
        if (!rdk_grammar_takes(g, f)) continue;
        bool needed = f->value_name && f->action != RDK_ACTION_HELP;
        snprintf(usage, sizeof usage, "--%s%s%s", f->name, needed ? " " : "",
                 needed ? f->value_name : "");
        fprintf(out, "%*s%-*s %s\n", INDENT, "", USAGE_COLUMNS, usage, f->help);
    }
}

/* Rows that stand together, under the headings of their groups. */
static void print_rows(FILE *out, const rdk_grammar *g, const rdk_option *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool heads = i == 0 || strcmp(rows[i - 1].group, rows[i].group) != 0;
        if (heads) fprintf(out, "\n%s:\n", rows[i].group);
        print_option(out, g, &rows[i]);
    }
}

static void print_options(FILE *out, const rdk_grammar *g)
{
    fprintf(out, "\noptions: --opt value or --opt=value; (what it takes) [what it is otherwise]\n");
    print_rows(out, g, g->own, g->n_own);
    if (g->runs) print_rows(out, g, rdk_option_at(0), rdk_option_count());
    print_switches(out, g);
}

/* ---- the tables beside ----------------------------------------------------------------------- */

void rdk_print_wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;
    fprintf(out, "%*s", indent, "");
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_scalings(FILE *out)
{
    enum { NAME_COLUMNS = 8 };
    fprintf(out, "\nscalings (--scale), the score of a query q and a key k of width d_k:\n");
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *p = rdk_scaling_at(i);
        fprintf(out, "%*s%-*s %s\n", INDENT, "", NAME_COLUMNS, p->name, p->formula);
        rdk_print_wrapped(out, p->about, INDENT + NAME_COLUMNS + 1 + INDENT);
    }
    fprintf(out, "%*s%-*s %s\n", INDENT, "", NAME_COLUMNS, "NUMBER", "NUMBER q.k");
}

static void print_tasks(FILE *out)
{
    fprintf(out, "\ntasks (--task):\n");
    for (size_t i = 0; i < rdk_task_type_count(); i++) {
        fprintf(out, "%*s%s\n", INDENT, "", rdk_task_type_name(i));
        rdk_print_wrapped(out, rdk_task_type_about(i), 2 * INDENT);
    }
}

static void print_usage(FILE *out, const rdk_verb *v)
{
    enum { SYNOPSIS_COLUMNS = 22 };
    fprintf(out, "%*s%s %-*s %s\n", INDENT, "", rdk_cli_command(), SYNOPSIS_COLUMNS, v->synopsis,
            v->about);
}

static void print_exit_status(FILE *out)
{
    fprintf(
        out,
        "\nexit status: 0 done, 1 failed, 2 usage, 3 the run diverged, 4 a self-check failed\n");
}

void rdk_print_help(FILE *out)
{
    fprintf(out,
            "rootdk trains small Transformers and shows what the scaling of attention does.\n\n"
            "usage:\n");
    for (size_t i = 0; i < rdk_verb_count(); i++) print_usage(out, rdk_verb_at(i));
    print_options(out, &rdk_train_grammar);
    print_scalings(out);
    print_tasks(out);
    print_exit_status(out);
}

void rdk_print_verb_help(FILE *out, const rdk_verb *v)
{
    if (v->grammar == &rdk_train_grammar) { /* what no verb is without */
        rdk_print_help(out);
        return;
    }
    fprintf(out, "usage:\n");
    print_usage(out, v);
    print_options(out, v->grammar);
    if (v->grammar->notes) fprintf(out, "\n%s\n", v->grammar->notes);
    print_exit_status(out);
}

/* ---- one topic, all about it ----------------------------------------------------------------- */

static void print_one_option(FILE *out, const rdk_grammar *g, const rdk_option *o)
{
    static const char *const scopes[] = {
        "defines the run: in config.ini and checkpoints, fixed on --resume",
        "decides what is written: in config.ini, fixed on --resume",
        "says where a thing is: in config.ini, free on --resume, its content must be the same",
        "of this call only: not in config.ini, free on --resume",
    };
    char usage[RDK_USAGE_TEXT], range[RDK_RANGE_TEXT];
    const rdk_otherwise *here = rdk_grammar_otherwise(g, o);
    const char *initial = here && here->initial ? here->initial : o->initial;
    fprintf(out, "%s\n", rdk_option_usage(o, usage));
    fprintf(out, "  about    %s\n", here && here->help ? here->help : o->help);
    fprintf(out, "  takes    %s\n", rdk_option_range(o, range));
    fprintf(out, "  default  %s\n", initial[0] ? initial : "none");
    if (o->auto_rule && !here) fprintf(out, "  auto     %s\n", o->auto_rule);
    if (o->need) fprintf(out, "  counts   with %s\n", o->need->by);
    if (o != rdk_option_find(o->name)) return; /* the rest is about options of a run */
    fprintf(out, "  scope    %s\n", scopes[o->scope]);
    if (!strcmp(o->name, "scale")) print_scalings(out);
    if (!strcmp(o->name, "task")) print_tasks(out);
}

static void print_one_switch(FILE *out, const rdk_switch *f)
{
    fprintf(out, "--%s%s%s\n  about    %s\n", f->name, f->value_name ? " " : "",
            f->value_name ? f->value_name : "", f->help);
}

static bool is_task(const char *name)
{
    size_t i = 0;
    while (i < rdk_task_type_count() && strcmp(rdk_task_type_name(i), name) != 0) i++;
    return i < rdk_task_type_count();
}

/* The option that has a value of this name: a scaling, a task. */
static const rdk_option *option_of_value(const rdk_grammar *g, const char *name)
{
    if (!g->runs) return NULL;
    if (rdk_scaling_find(name)) return rdk_option_find("scale");
    return is_task(name) ? rdk_option_find("task") : NULL;
}

bool rdk_print_topic(FILE *out, const rdk_grammar *g, const char *name, rdk_status *s)
{
    char quoted[RDK_QUOTE_TEXT];
    if (!strncmp(name, "--", 2)) name += 2;
    const rdk_verb *v = rdk_verb_find(name);
    const rdk_option *o = rdk_grammar_find(g, name);
    if (!o) o = option_of_value(g, name);
    if (o) print_one_option(out, g, o);
    if (!o && v && v->grammar) rdk_print_verb_help(out, v);
    if (o || (v && v->grammar)) return true;
    const rdk_switch *f = rdk_switch_find(g, name);
    if (f) print_one_switch(out, f);
    if (f) return true;
    const char *near = rdk_grammar_nearest(g, name);
    return rdk_fail(s, RDK_EVALUE, "nothing is called %s%s%s%s", rdk_quote(name, quoted),
                    near ? " (did you mean " : " (--help lists all options)", near ? near : "",
                    near ? "?)" : "");
}

/* ---- what stands beside a verb --------------------------------------------------------------- */

bool rdk_is_beside(rdk_action action)
{
    return action == RDK_ACTION_HELP || action == RDK_ACTION_VERSION || action == RDK_ACTION_MAN ||
           action == RDK_ACTION_COMPLETION;
}

static int print_help_on(const char *about, const rdk_grammar *g)
{
    rdk_status s = {0};
    if (about) {
        return rdk_print_topic(stdout, g, about, &s) ? RDK_EXIT_DONE : rdk_cli_failed(&s);
    }
    for (size_t i = 0; i < rdk_verb_count(); i++)
        if (rdk_verb_at(i)->grammar == g) rdk_print_verb_help(stdout, rdk_verb_at(i));
    return RDK_EXIT_DONE;
}

int rdk_cli_beside(rdk_action action, const char *help_about, const rdk_grammar *g)
{
    if (action == RDK_ACTION_VERSION) rdk_print_version(stdout);
    if (action == RDK_ACTION_MAN) rdk_print_man(stdout);
    if (action == RDK_ACTION_COMPLETION) rdk_print_completion(stdout);
    return action == RDK_ACTION_HELP ? print_help_on(help_about, g) : RDK_EXIT_DONE;
}
