/* SPDX-License-Identifier: MIT
 * A command line as a configuration.
 *
 *     --lr 1e-3   --lr=1e-3   --bias   --no-bias   --bias=off
 *
 * Invariant: every word is understood or refused by name; nothing is abbreviated, given twice or
 * silently dropped. The --config file is read first wherever it stands, so options override it.
 * Read next: train.c. */
#include <string.h>

#include "cli.h"

static const rdk_switch switches[] = {
    {"config", "FILE", "read options from FILE first (a run's config.ini reruns it)",
     RDK_ACTION_CONFIG, false},
    {"describe", NULL, "say what would be trained: parameters, decay, predictions; no run",
     RDK_ACTION_DESCRIBE, false},
    {"show-batch", NULL, "print the first sequences: input, target, loss mask; no run",
     RDK_ACTION_SHOW_BATCH, false},
    {"help", "OPTION", "this page; --help=OPTION: all about that option", RDK_ACTION_HELP, true},
    {"version", NULL, "version, build, instruction set, threads, precision", RDK_ACTION_VERSION,
     true},
    {"man", NULL, "print the manual page (troff)", RDK_ACTION_MAN, true},
    {"completion", NULL, "print completions for bash", RDK_ACTION_COMPLETION, true},
};

enum { SWITCHES = sizeof switches / sizeof *switches, NAME_TEXT = 64 };

size_t rdk_switch_count(void)
{
    return SWITCHES;
}

const rdk_switch *rdk_switch_at(size_t i)
{
    return i < SWITCHES ? &switches[i] : NULL;
}

static const rdk_switch *switch_find(const char *name)
{
    for (size_t i = 0; i < SWITCHES; i++) {
        if (!strcmp(switches[i].name, name)) return &switches[i];
    }
    return NULL;
}

/* A word "--name" or "--name=value", cut. */
typedef struct word {
    char name[NAME_TEXT];
    const char *value; /* NULL where there is no '=' */
} word;

/* An option to set, once the file is read. */
typedef struct assignment {
    const rdk_option *option;
    const char *value;
} assignment;

/* The words still to be read, and what was read of them. */
typedef struct reading {
    char **at, **end;
    rdk_arguments *result;
    assignment *set; /* [number of words] */
    size_t n_set;
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

/* ---- what is refused ------------------------------------------------------------------------- */

static const char *near_name(const char *name)
{
    const char *names[SWITCHES];
    for (size_t i = 0; i < SWITCHES; i++) {
        names[i] = switches[i].name;
        if (*name && !strncmp(names[i], name, strlen(name))) return names[i];
    }
    const rdk_option *o = rdk_option_nearest(name);
    const char *flag = rdk_nearest(name, names, SWITCHES);
    if (!o) return flag;
    if (!flag) return o->name;
    const char *both[] = {o->name, flag};
    const char *nearest = rdk_nearest(name, both, 2);
    return nearest ? nearest : o->name;
}

static bool refuse_unknown(const reading *r, const char *text, const char *name)
{
    char quoted[RDK_QUOTE_TEXT];
    bool negated = !strncmp(name, "no-", 3);
    const char *near = near_name(negated ? name + 3 : name);
    const rdk_option *o = near ? rdk_option_find(near) : NULL;
    bool no = negated && o && o->type == RDK_OPT_BOOL;
    rdk_quote(text, quoted);
    if (near) {
        return rdk_fail(r->status, RDK_EVALUE, "unknown option %s (did you mean --%s%s?)", quoted,
                        no ? "no-" : "", near);
    }
    return rdk_fail(r->status, RDK_EVALUE, "unknown option %s (--help lists them all)", quoted);
}

static bool refuse_stray(const reading *r, const char *text)
{
    char quoted[RDK_QUOTE_TEXT];
    const assignment *last = r->n_set ? &r->set[r->n_set - 1] : NULL;
    rdk_quote(text, quoted);
    if (text[0] == '-' && text[1] == 'h' && !text[2]) return refuse_unknown(r, text, "help");
    if (text[0] == '-' && text[1] && text[1] != '-') return refuse_unknown(r, text, text + 1);
    if (last && last->option->type == RDK_OPT_BOOL) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "unexpected word %s (to switch --%s, write --%s=on or --%s=off)", quoted,
                        last->option->name, last->option->name, last->option->name);
    }
    return rdk_fail(r->status, RDK_EVALUE,
                    "unexpected word %s (only values of options stand without --)", quoted);
}

/* ---- one word -------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < r->n_set; i++) {
        if (r->set[i].option != o) continue;
        return rdk_fail(r->status, RDK_EVALUE, "--%s is given twice, as %s and %s (keep one)",
                        o->name, rdk_quote(r->set[i].value, before), rdk_quote(value, quoted));
    }
    if (o->type == RDK_OPT_TEXT && !*value) {
        return rdk_fail(r->status, RDK_EVALUE, "--%s: the %s is empty", o->name, o->value_name);
    }
    r->set[r->n_set++] = (assignment){o, value};
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
    rdk_arguments *a = r->result;
    if (a->action != RDK_ACTION_TRAIN && a->action != f->action) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "--describe and --show-batch do not go together (keep one)");
    }
    a->action = f->action;
    return true;
}

static bool read_switch(reading *r, const rdk_switch *f, const word *w)
{
    rdk_arguments *a = r->result;
    if (f->action != RDK_ACTION_CONFIG) {
        return w->value ? rdk_fail(r->status, RDK_EVALUE, "--%s takes no value", f->name)
                        : set_action(r, f);
    }
    if (a->config_path) {
        return rdk_fail(r->status, RDK_EVALUE, "--config is given twice (keep one)");
    }
    a->config_path = value_of(r, w, "a file");
    return a->config_path != NULL;
}

static bool read_word(reading *r)
{
    const char *text = *r->at++;
    if (!is_option(text)) return refuse_stray(r, text);
    word w = cut(text);
    const rdk_option *o = rdk_option_find(w.name);
    const rdk_switch *f = switch_find(w.name);
    if (o) return read_option(r, o, &w);
    if (f) return read_switch(r, f, &w);
    o = strncmp(w.name, "no-", 3) ? NULL : rdk_option_find(w.name + 3);
    if (!o || o->type != RDK_OPT_BOOL) return refuse_unknown(r, text, w.name);
    return w.value ? rdk_fail(r->status, RDK_EVALUE, "--%s takes no value", w.name)
                   : assign(r, o, "off");
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* --help and its like, wherever they stand. */
static bool read_first(rdk_arguments *a, int argc, char **argv, rdk_status *s)
{
    for (int i = 0; i < argc; i++) {
        if (!is_option(argv[i])) continue;
        word w = cut(argv[i]);
        const rdk_switch *f = switch_find(w.name);
        if (!f || !f->first) continue;
        if (w.value && f->action != RDK_ACTION_HELP) {
            return rdk_fail(s, RDK_EVALUE, "--%s takes no value", f->name);
        }
        a->action = f->action;
        a->help_about = w.value;
        return true;
    }
    return true;
}

static bool is_set(const reading *r, const char *name)
{
    for (size_t i = 0; i < r->n_set; i++) {
        if (!strcmp(r->set[i].option->name, name)) return true;
    }
    return false;
}

/* What was typed counts, or it is refused: an option that does nothing hides a mistake. A file says
 * everything, so nothing in it is one; a resumed run says itself what contradicts it. */
static bool all_count(const reading *r)
{
    const rdk_config *c = &r->result->config;
    for (size_t i = 0; i < r->n_set && !c->resume[0]; i++) {
        const assignment *set = &r->set[i];
        if (strcmp(set->value, "auto") != 0 && !rdk_option_counts(c, set->option, r->status))
            return false;
    }
    return true;
}

/* A task that was typed over that of a file leaves behind what the file's task read. */
static void drop_data_of_file(const reading *r)
{
    rdk_config *c = &r->result->config;
    if (is_set(r, "task") && !is_set(r, "data") && !rdk_task_type_reads_data(c->task.name))
        c->data[0] = '\0';
}

static bool apply(reading *r)
{
    rdk_arguments *a = r->result;
    rdk_config_init(&a->config);
    if (a->config_path && !rdk_config_load(&a->config, a->config_path, a->given, r->status))
        return false;
    if (a->config_path && !is_set(r, "resume")) rdk_config_unresolve(&a->config);
    for (size_t i = 0; i < r->n_set; i++) {
        const rdk_option *o = r->set[i].option;
        if (!rdk_option_set(&a->config, o, r->set[i].value, r->status)) return false;
        a->given[o - rdk_option_at(0)] = true;
    }
    if (a->config.resume[0] && a->config.force) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "--resume goes on with a run, --force replaces one (keep one)");
    }
    if (a->config.resume[0] && a->config.out[0]) {
        return rdk_fail(r->status, RDK_EVALUE,
                        "--resume goes on in its own directory (drop --out %s)", a->config.out);
    }
    drop_data_of_file(r);
    return all_count(r);
}

bool rdk_arguments_read(rdk_arguments *a, int argc, char **argv, rdk_status *s)
{
    memset(a, 0, sizeof *a);
    if (!read_first(a, argc, argv, s)) return false;
    if (a->action != RDK_ACTION_TRAIN) return true;
    a->given = rdk_alloc(rdk_option_count(), sizeof *a->given, s);
    reading r = {argv, argv + argc, a, rdk_alloc((size_t)argc, sizeof(assignment), s), 0, s};
    bool read = a->given && r.set;
    while (read && r.at < r.end) read = read_word(&r);
    read = read && apply(&r);
    rdk_free(r.set);
    return read;
}

void rdk_arguments_free(rdk_arguments *a)
{
    rdk_free(a->given);
    a->given = NULL;
}
