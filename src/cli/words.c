/* SPDX-License-Identifier: MIT
 * The words behind a verb as options and switches, by the verb's grammar.
 *
 *     --lr 1e-3   --lr=1e-3   --bias   --no-bias   --bias=off
 *
 * Invariant: every word is understood or refused by name; nothing is abbreviated, given twice or
 * silently dropped. Values are still text here: whoever asked sets them.
 * Read next: args.c, the words of train. */
#include <string.h>

#include "cli.h"

static const rdk_switch switches[] = {
    {"config", "FILE", "read options from FILE first (a run's config.ini reruns it)",
     RDK_ACTION_CONFIG, false},
    {"describe", NULL, "say what would be trained: parameters, decay, predictions; no run",
     RDK_ACTION_DESCRIBE, false},
    {"show-batch", NULL, "print the first sequences: input, target, loss mask; no run",
     RDK_ACTION_SHOW_BATCH, false},
    {"help", "OPTION", "this page; --help OPTION: all about that option", RDK_ACTION_HELP, true},
    {"version", NULL, "version, build, instruction set, threads, numbers", RDK_ACTION_VERSION,
     true},
    {"man", NULL, "print the manual page (troff)", RDK_ACTION_MAN, true},
    {"completion", NULL, "print completions for bash", RDK_ACTION_COMPLETION, true},
};

enum { SWITCHES = sizeof switches / sizeof *switches, NAME_TEXT = 64, MOST_NAMES = 128 };

size_t rdk_switch_count(void)
{
    return SWITCHES;
}

const rdk_switch *rdk_switch_at(size_t i)
{
    return i < SWITCHES ? &switches[i] : NULL;
}

/* ---- a grammar ------------------------------------------------------------------------------- */

bool rdk_grammar_takes(const rdk_grammar *g, const rdk_switch *f)
{
    return f->first || (g->switches >> f->action & 1) != 0;
}

const rdk_option *rdk_grammar_find(const rdk_grammar *g, const char *name)
{
    for (size_t i = 0; i < g->n_own; i++) {
        if (!strcmp(g->own[i].name, name)) return &g->own[i];
    }
    return g->runs ? rdk_option_find(name) : NULL;
}

const rdk_otherwise *rdk_grammar_otherwise(const rdk_grammar *g, const rdk_option *o)
{
    for (size_t i = 0; i < g->n_otherwise; i++)
        if (!strcmp(g->otherwise[i].name, o->name)) return &g->otherwise[i];
    return NULL;
}

const rdk_switch *rdk_switch_find(const rdk_grammar *g, const char *name)
{
    for (size_t i = 0; i < SWITCHES; i++) {
        if (rdk_grammar_takes(g, &switches[i]) && !strcmp(switches[i].name, name)) {
            return &switches[i];
        }
    }
    return NULL;
}

/* Of the verb's own options and its switches; a name that begins so comes first. */
static const char *near_own_name(const rdk_grammar *g, const char *name)
{
    const char *names[MOST_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < SWITCHES; i++) {
        if (rdk_grammar_takes(g, &switches[i])) names[n++] = switches[i].name;
    }
    for (size_t i = 0; i < g->n_own && n < MOST_NAMES; i++) names[n++] = g->own[i].name;
    for (size_t i = 0; i < n; i++) {
        if (*name && !strncmp(names[i], name, strlen(name))) return names[i];
    }
    return rdk_nearest(name, names, n);
}

const char *rdk_grammar_nearest(const rdk_grammar *g, const char *name)
{
    const char *own = near_own_name(g, name);
    const rdk_option *o = g->runs ? rdk_option_nearest(name) : NULL;
    if (!o || (own && *name && !strncmp(own, name, strlen(name)))) return own;
    if (!own) return o->name;
    const char *both[] = {o->name, own};
    const char *nearest = rdk_nearest(name, both, 2);
    return nearest ? nearest : o->name;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A word "--name" or "--name=value", cut. */
typedef struct word {
    char name[NAME_TEXT];
    const char *value; /* NULL where there is no '=' */
} word;

/* The words still to be read, and what was read of them. */
typedef struct reading {
    char **at, **end;
    const rdk_grammar *grammar;
    rdk_words *result;
    rdk_status *status;
} reading;

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2] != '\0';
}

static word cut(const char *text)
{
    word w = {.value = strchr(text, '=')};
    size_t n = w.value ? (size_t)(w.value - text) : strlen(text);
    if (w.value) w.value++;
    memcpy(w.name, text + 2, n - 2 < NAME_TEXT ? n - 2 : NAME_TEXT - 1);
    return w;
}

static bool refuse_unknown(const reading *r, const char *text, const char *name)
{
    char quoted[RDK_QUOTE_TEXT];
    bool negated = !strncmp(name, "no-", 3);
    const char *near = rdk_grammar_nearest(r->grammar, negated ? name + 3 : name);
    const rdk_option *o = near ? rdk_grammar_find(r->grammar, near) : NULL;
    bool no = negated && o && o->type == RDK_OPT_BOOL;
    rdk_quote(text, quoted);
    if (r->grammar->without_runs && rdk_option_find(name)) {
        return rdk_fail(r->status, RDK_EVALUE, "--%s is an option of train and ablate; %s", name,
                        r->grammar->without_runs);
    }
    if (near) {
        return rdk_fail(r->status, RDK_EVALUE, "unknown option %s (did you mean --%s%s?)", quoted,
                        no ? "no-" : "", near);
    }
    return rdk_fail(r->status, RDK_EVALUE, "unknown option %s (--help lists them all)", quoted);
}

static bool refuse_stray(const reading *r, const char *text)
{
    char quoted[RDK_QUOTE_TEXT];
    const rdk_words *w = r->result;
    const rdk_option *last = w->n_set ? w->set[w->n_set - 1].option : NULL;
    rdk_quote(text, quoted);
    if (text[0] == '-' && text[1] == 'h' && !text[2]) return refuse_unknown(r, text, "help");
    if (text[0] == '-' && text[1] && text[1] != '-') return refuse_unknown(r, text, text + 1);
    if (last && last->type == RDK_OPT_BOOL) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "unexpected word %s (to switch --%s, write --%s=on or --%s=off)", quoted,
                        last->name, last->name, last->name);
    }
    return rdk_fail(r->status, RDK_EVALUE,
                    "unexpected word %s (only values of options stand without --)", quoted);
}

/* The value of an option that needs one: behind '=', or the next word. takes: what may be given. */
static const char *value_of(reading *r, const word *w, const char *takes)
{
    char quoted[RDK_QUOTE_TEXT];
    if (w->value) return w->value;
    if (r->at < r->end && !is_option(*r->at)) return *r->at++;
    bool last = r->at == r->end;
    rdk_fail(r->status, RDK_EVALUE, "--%s needs a value, %s%s%s", w->name, takes,
             last ? "" : ", before ", last ? "" : rdk_quote(*r->at, quoted));
    return NULL;
}

static bool assign(reading *r, const rdk_option *o, const char *value)
{
    char quoted[RDK_QUOTE_TEXT], before[RDK_QUOTE_TEXT];
    const char *earlier = rdk_words_value(r->result, o->name);
    if (earlier) {
        return rdk_fail(r->status, RDK_EVALUE, "--%s is given twice, as %s and %s (keep one)",
                        o->name, rdk_quote(earlier, before), rdk_quote(value, quoted));
    }
    if (o->type == RDK_OPT_TEXT && !*value) {
        return rdk_fail(r->status, RDK_EVALUE, "--%s: the %s is empty%s", o->name, o->value_name,
                        o->form ? " (for none say off)" : "");
    }
    r->result->set[r->result->n_set++] = (rdk_assignment){o, value};
    return true;
}

static bool read_option(reading *r, const rdk_option *o, const word *w)
{
    char range[RDK_RANGE_TEXT];
    if (o->type == RDK_OPT_BOOL) return assign(r, o, w->value ? w->value : "on");
    const char *value = value_of(r, w, rdk_option_range(o, range));
    return value && assign(r, o, value);
}

static bool set_action(reading *r, const rdk_switch *f)
{
    rdk_words *w = r->result;
    if (w->action != RDK_ACTION_VERB && w->action != f->action) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "--describe and --show-batch do not go together (keep one)");
    }
    w->action = f->action;
    return true;
}

static bool read_switch(reading *r, const rdk_switch *f, const word *w)
{
    rdk_words *result = r->result;
    if (f->action != RDK_ACTION_CONFIG) {
        return w->value ? rdk_fail(r->status, RDK_EVALUE, "--%s takes no value", f->name)
                        : set_action(r, f);
    }
    if (result->config_path) {
        return rdk_fail(r->status, RDK_EVALUE, "--config is given twice (keep one)");
    }
    result->config_path = value_of(r, w, "a file");
    return result->config_path != NULL;
}

static bool read_word(reading *r)
{
    const char *text = *r->at++;
    bool operand = r->grammar->operand && text[0] != '-' && text[0] != '\0';
    if (operand) r->result->operands[r->result->n_operands++] = text;
    if (operand) return true;
    if (!is_option(text)) return refuse_stray(r, text);
    word w = cut(text);
    const rdk_option *o = rdk_grammar_find(r->grammar, w.name);
    const rdk_switch *f = rdk_switch_find(r->grammar, w.name);
    if (o) return read_option(r, o, &w);
    if (f) return read_switch(r, f, &w);
    o = strncmp(w.name, "no-", 3) ? NULL : rdk_grammar_find(r->grammar, w.name + 3);
    if (!o || o->type != RDK_OPT_BOOL) return refuse_unknown(r, text, w.name);
    return w.value ? rdk_fail(r->status, RDK_EVALUE, "--%s takes no value", w.name)
                   : assign(r, o, "off");
}

/* What help is wanted about: the word behind --help, with or without its dashes, where it is no
 * other part of the call. */
static const char *help_about(const reading *r, char **next)
{
    char *text = next < r->end ? *next : "-";
    if (text[0] != '-') return text;
    if (!is_option(text)) return NULL;
    word w = cut(text);
    const char *name = strncmp(w.name, "no-", 3) ? w.name : w.name + 3;
    const rdk_option *o = rdk_grammar_find(r->grammar, w.name);
    if (!o) o = rdk_grammar_find(r->grammar, name);
    const rdk_switch *f = rdk_switch_find(r->grammar, w.name);
    if (w.value || (!o && !f)) return NULL;
    return o ? o->name : f->name;
}

/* --help is added to a call that is there; what the others print has nothing to do with one. */
static bool stands_alone(const reading *r, const rdk_switch *f, char **at)
{
    char quoted[RDK_QUOTE_TEXT];
    if (r->end - r->at == 1 || f->action == RDK_ACTION_HELP) return true;
    return rdk_fail(r->status, RDK_EVALUE, "--%s takes no other words (%s)", f->name,
                    rdk_quote(r->at == at ? at[1] : r->at[0], quoted));
}

/* --help and its like, wherever they stand. */
static bool read_first(reading *r)
{
    for (char **at = r->at; at < r->end; at++) {
        if (!is_option(*at)) continue;
        word w = cut(*at);
        const rdk_switch *f = rdk_switch_find(r->grammar, w.name);
        if (!f || !f->first) continue;
        if (w.value && f->action != RDK_ACTION_HELP) {
            return rdk_fail(r->status, RDK_EVALUE, "--%s takes no value", f->name);
        }
        if (!stands_alone(r, f, at)) return false;
        r->result->action = f->action;
        r->result->help_about = w.value;
        if (!w.value && f->action == RDK_ACTION_HELP) r->result->help_about = help_about(r, at + 1);
        return true;
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool rdk_words_read(rdk_words *w, const rdk_grammar *g, int argc, char **argv, rdk_status *s)
{
    *w = (rdk_words){.action = RDK_ACTION_VERB};
    reading r = {argv, argv + argc, g, w, s};
    if (!read_first(&r)) return false;
    if (w->action != RDK_ACTION_VERB) return true;
    w->set = rdk_alloc((size_t)argc, sizeof *w->set, s);
    w->operands = rdk_alloc((size_t)argc, sizeof *w->operands, s);
    bool read = w->set && w->operands;
    while (read && r.at < r.end) read = read_word(&r);
    return read;
}

void rdk_words_free(rdk_words *w)
{
    rdk_free(w->set);
    rdk_free(w->operands);
    *w = (rdk_words){.action = RDK_ACTION_VERB};
}

const char *rdk_words_value(const rdk_words *w, const char *name)
{
    for (size_t i = 0; i < w->n_set; i++) {
        if (!strcmp(w->set[i].option->name, name)) return w->set[i].value;
    }
    return NULL;
}

bool rdk_words_set_own(const rdk_words *w, const rdk_grammar *g, void *fields, rdk_status *s)
{
    for (size_t i = 0; i < g->n_own; i++) {
        const char *value = rdk_words_value(w, g->own[i].name);
        if (!value) value = g->own[i].initial;
        if (!rdk_option_set(fields, &g->own[i], value, s)) return false;
    }
    return true;
}
