/* SPDX-License-Identifier: MIT
 * The verb ablate: a grid of runs, as processes, and what came out of it.
 *
 * Read next: src/ablate/grid.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ablate/ablate.h"
#include "cli.h"

typedef struct ablate_options {
    uint64_t jobs; /* 0: by rule */
    bool list, collect;
    char point[RDK_POINT_NAME];
} ablate_options;

#define FIELD(f) offsetof(ablate_options, f), sizeof(((ablate_options *)0)->f)

static const rdk_option own_options[] = {
    {"jobs", "ablation", RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(jobs), "auto", 1, 1024,
     .auto_rule = "cores / --threads", .value_name = "N", .help = "runs at once"},
    {"list", "ablation", RDK_OPT_BOOL, RDK_OPT_RUNS, FIELD(list), "off",
     .help = "print a command for each run to do, and run none"},
    {"point", "ablation", RDK_OPT_TEXT, RDK_OPT_RUNS, FIELD(point), "", .value_name = "NAME",
     .help = "do this one run of --out, as --list prints it"},
    {"collect", "ablation", RDK_OPT_BOOL, RDK_OPT_RUNS, FIELD(collect), "off",
     .help = "gather the results that --out has, and run none"},
};

static const rdk_otherwise otherwise[] = {
    {"out", "directory of the ablation", "runs/ablate-TASK"},
    {"threads", "of each run; results do not depend on it", "1"},
    {"save-every", NULL, "steps / 4"},
    {"resume", NULL, NULL},
    {"stop-at", NULL, NULL},
    {"force", NULL, NULL},
};

static const char notes[] =
    "lists: any option but those of this call may have several values, and all combinations are\n"
    "run: --scale none,sqrt --lr 3e-4,1e-3 --seed 1..5. A value cannot hold a comma itself; what "
    "all\n"
    "runs share may stand in a --config FILE, where it can.\n"
    "\nEvery run is a directory of its own below --out. What is done is never run again, what was "
    "cut\n"
    "off goes on. Options that are not given are as --out has them: with no other option a call "
    "goes\n"
    "on with what is there, and --seed 4..5 adds two seeds to it. --resume, --stop-at and --force "
    "are\n"
    "of one run, and refused here.\n"
    "Results: results.csv and results.md in --out. More: docs/scaling-out.md";

const rdk_grammar rdk_ablate_grammar = {
    .own = own_options,
    .n_own = sizeof own_options / sizeof *own_options,
    .runs = true,
    .otherwise = otherwise,
    .n_otherwise = sizeof otherwise / sizeof *otherwise,
    .switches = 1u << RDK_ACTION_CONFIG | 1u << RDK_ACTION_DESCRIBE,
    .notes = notes,
};

/* A call, as it was typed. */
typedef struct call {
    rdk_words words;
    ablate_options options;
    rdk_config run;        /* --out, --threads, --quiet; the values of --config */
    rdk_config from_file;  /* the values of --config */
    bool *in_file;         /* [option_count] */
    rdk_setting *settings; /* [n_settings] */
    size_t n_settings;
    rdk_arena *arena;
    rdk_ablation ablation;
} call;

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool refuse_option(const rdk_option *o, rdk_status *s)
{
    static const struct {
        const char *name, *why;
    } refused[] = {
        {"resume", "--resume goes on with one run; an ablation goes on with --out DIR alone"},
        {"stop-at", "--stop-at would leave every run of an ablation unfinished (drop it)"},
        {"force", "--force would run again what is done (remove the directory to begin anew)"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!strcmp(o->name, refused[i].name)) return rdk_fail(s, RDK_EVALUE, "%s", refused[i].why);
    return true;
}

static bool is_own(const rdk_option *o)
{
    return o >= own_options && o < own_options + rdk_ablate_grammar.n_own;
}

/* Those of this call go into c->run, the others become settings. */
static bool take_words(call *c, rdk_status *s)
{
    for (size_t i = 0; i < c->words.n_set; i++) {
        const rdk_assignment *w = &c->words.set[i];
        if (is_own(w->option)) continue;
        if (!refuse_option(w->option, s)) return false;
        if (w->option->scope == RDK_OPT_RUNS) {
            if (!rdk_option_set(&c->run, w->option, w->value, s)) return false;
        } else {
            c->settings[c->n_settings++] = (rdk_setting){w->option, w->value, true};
        }
    }
    return true;
}

/* What --config has and the command line has not. */
static bool take_file(call *c, rdk_status *s)
{
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        rdk_text t = {0};
        if (!c->in_file[i] || rdk_words_value(&c->words, o->name)) continue;
        if (!refuse_option(o, s)) return false;
        rdk_option_text(&c->from_file, o, &t);
        char *text = rdk_text_ok(&t, s) ? rdk_arena_alloc(c->arena, t.size + 1, 1) : NULL;
        if (text) memcpy(text, t.data, t.size + 1);
        rdk_text_free(&t);
        if (!text) return rdk_fail(s, RDK_ENOMEM, "no memory for the options of --config");
        if (o->scope == RDK_OPT_RUNS) {
            if (!rdk_option_set(&c->run, o, text, s)) return false;
        } else {
            c->settings[c->n_settings++] = (rdk_setting){o, text, false};
        }
    }
    return true;
}

static bool read_file(call *c, rdk_status *s)
{
    size_t size;
    const char *path = c->words.config_path;
    char *text = rdk_file_read(path, &size, s);
    if (!text) return false;
    bool ok = strlen(text) == size
                  ? rdk_config_read(&c->from_file, text, path, c->in_file, s)
                  : rdk_fail(s, RDK_EFORMAT, "%s is not a text: it holds a zero byte", path);
    rdk_free(text);
    if (ok) rdk_config_unresolve(&c->from_file);
    if (ok && rdk_words_change_data(&c->words)) rdk_config_unresolve_windows(&c->from_file);
    return ok;
}

static bool check_modes(const call *c, rdk_status *s)
{
    const ablate_options *o = &c->options;
    bool describe = c->words.action == RDK_ACTION_DESCRIBE;
    if (o->list + o->collect + describe + (o->point[0] != 0) > 1)
        return rdk_fail(s, RDK_EVALUE,
                        "--list, --point, --collect and --describe do not go together (keep one)");
    if ((o->collect || o->point[0]) && c->n_settings)
        return rdk_fail(s, RDK_EVALUE, "--%s is about the runs that --out has (drop --%s)",
                        o->collect ? "collect" : "point", c->settings[0].option->name);
    return true;
}

static bool read_call(call *c, rdk_status *s)
{
    size_t room = c->words.n_set + rdk_option_count();
    rdk_config_init(&c->run);
    rdk_config_init(&c->from_file);
    c->arena = rdk_arena_new(s);
    c->in_file = rdk_alloc(rdk_option_count(), sizeof *c->in_file, s);
    c->settings = rdk_alloc(room, sizeof *c->settings, s);
    return c->arena && c->in_file && c->settings &&
           rdk_words_set_own(&c->words, &rdk_ablate_grammar, &c->options, s) &&
           (!c->words.config_path || read_file(c, s)) && take_words(c, s) && take_file(c, s) &&
           check_modes(c, s);
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void print_command(const call *c, const char *option, const char *value)
{
    rdk_text t = {0};
    rdk_text_shell_word(&t, rdk_cli_command());
    rdk_text_add(&t, " ablate --out ");
    rdk_text_shell_word(&t, c->ablation.directory);
    if (c->run.threads) rdk_text_add(&t, " --threads %d", c->run.threads);
    if (option && value) {
        rdk_text_add(&t, " --%s ", option);
        rdk_text_shell_word(&t, value);
    }
    if (!t.failed) printf("%s\n", t.data);
    rdk_text_free(&t);
}

static void print_report_command(const char *directory)
{
    rdk_text t = {0};
    rdk_text_shell_word(&t, rdk_cli_command());
    rdk_text_add(&t, " report ");
    rdk_text_shell(&t, directory);
    if (!t.failed) printf("next     %s\n", t.data);
    rdk_text_free(&t);
}

static int list(const call *c, rdk_status *s)
{
    const rdk_ablation *a = &c->ablation;
    char name[RDK_POINT_NAME];
    size_t *order = rdk_alloc(a->n_points, sizeof *order, s);
    if (!order) return rdk_cli_failed(s);
    rdk_ablation_order(a, order);
    for (size_t i = 0; i < a->n_points; i++) {
        if (!rdk_point_is_done(a, order[i]))
            print_command(c, "point", rdk_point_name(a, order[i], name));
    }
    rdk_free(order);
    return RDK_EXIT_DONE;
}

static bool write_summary(const rdk_ablation *a, const rdk_results *r, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_text t = {0};
    rdk_results_table(a, r, &t);
    rdk_results_rates(a, r, &t);
    rdk_results_limits(a, r, &t);
    snprintf(path, sizeof path, "%s/results.md", a->directory);
    bool ok = rdk_text_ok(&t, s) && rdk_file_replace(path, t.data, t.size, s);
    if (ok) printf("\n%s", t.data);
    rdk_text_free(&t);
    return ok;
}

/* Results of what is done, and what to do next. */
static bool gather(const call *c, rdk_status *s)
{
    const rdk_ablation *a = &c->ablation;
    rdk_results r = {0};
    bool ok = rdk_results_read(a, &r, s) && rdk_results_write(a, &r, s) && write_summary(a, &r, s);
    if (ok) {
        printf("files    %s/results.csv (a row a run), results.md (these tables)\n", a->directory);
        if (r.missing) {
            printf("next     ");
            print_command(c, NULL, NULL);
        } else if (rdk_verb_find("report")) {
            print_report_command(a->directory);
        }
    }
    rdk_free(r.rows);
    if (ok && r.damaged)
        ok = rdk_fail(s, r.damage.code, "%s; %zu run%s left out", r.damage.message, r.damaged,
                      r.damaged > 1 ? "s are" : " is");
    return ok;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_screen(int fd)
{
    const char *terminal = getenv("TERM");
    return isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
}

static rdk_pool_plan plan_of(const call *c, const char *program)
{
    const char *reason;
    int threads = c->run.threads ? c->run.threads : 1;
    int cores = rdk_threads_available(&reason);
    size_t jobs = c->options.jobs ? (size_t)c->options.jobs : (size_t)(cores / threads);
    const char *only = c->options.point[0] ? c->options.point : NULL;
    if (only) jobs = 1;
    return (rdk_pool_plan){jobs ? jobs : 1, threads, program, only, c->run.quiet};
}

static int interrupted(const call *c, const rdk_pool_end *end)
{
    printf("interrupted after %zu runs; to go on:  ", end->finished);
    print_command(c, c->options.point[0] ? "point" : NULL, c->options.point);
    fflush(stdout);
    rdk_signals_die();
    return RDK_EXIT_FAILED;
}

static bool has_point(const rdk_ablation *a, const char *only, rdk_status *s)
{
    char name[RDK_POINT_NAME], quoted[RDK_QUOTE_TEXT];
    if (!only) return true;
    for (size_t i = 0; i < a->n_points; i++)
        if (!strcmp(only, rdk_point_name(a, i, name))) return true;
    return rdk_fail(s, RDK_EVALUE, "%s has no point %s (--list prints them)", a->directory,
                    rdk_quote(only, quoted));
}

static int run(call *c, const char *program, rdk_status *s)
{
    rdk_pool_end end;
    rdk_pool_plan plan = plan_of(c, program);
    rdk_run_io io = {
        .out = stdout,
        .err = stderr,
        .progress = is_screen(STDERR_FILENO) && !c->run.quiet,
        .stop = rdk_signals_flag(),
    };
    if (!has_point(&c->ablation, plan.only, s)) return rdk_cli_failed(s);
    if (!plan.only && !c->run.quiet) {
        rdk_ablation_describe(&c->ablation, plan.jobs, plan.threads, stdout);
        printf("at once   %zu runs of %d thread%s\n", plan.jobs, plan.threads,
               plan.threads > 1 ? "s" : "");
    }
    rdk_signals_watch();
    if (!rdk_pool_run(&c->ablation, &plan, &io, &end, s)) return rdk_cli_failed(s);
    if (end.stopped) return interrupted(c, &end);
    if (end.elsewhere) printf("%s is being run by another process\n", plan.only);
    if (!plan.only && !gather(c, s)) return rdk_cli_failed(s);
    if (end.failed && !plan.only)
        fprintf(stderr, "rootdk: %zu run%s failed\n", end.failed, end.failed > 1 ? "s" : "");
    return end.failed ? RDK_EXIT_FAILED : RDK_EXIT_DONE;
}

/* The data may lie on another machine, or be others by now: what is done was done on the same. */
static bool collect(call *c, rdk_status *s)
{
    rdk_ablation *a = &c->ablation;
    rdk_status absent = {0}, other = {0};
    rdk_ablation_resolve(a, &absent);
    if (!rdk_ablation_check_data(a, &other)) {
        fprintf(stderr, "rootdk: note: %s; gathered is what was done before\n", other.message);
        a->resolved = NULL;
    }
    a->data = NULL;
    return gather(c, s);
}

static int act(call *c, rdk_status *s)
{
    rdk_ablation *a = &c->ablation;
    const ablate_options *o = &c->options;
    bool stands = o->collect || o->point[0];
    if (!rdk_ablation_plan(a, c->run.out, c->settings, c->n_settings, s)) {
        if (stands && !a->stored && s->code == RDK_EVALUE) {
            rdk_status other = {0};
            rdk_fail(&other, RDK_EVALUE, "there is no ablation in %s (say where with --out)",
                     a->directory);
            return rdk_cli_failed(&other);
        }
        return rdk_cli_failed(s);
    }
    if (o->collect) {
        return rdk_ablation_check_alike(a, s) && collect(c, s) ? RDK_EXIT_DONE : rdk_cli_failed(s);
    }
    if (!rdk_ablation_resolve(a, s) || !rdk_ablation_check_counts(a, c->settings, c->n_settings, s))
        return rdk_cli_failed(s);
    if (c->words.action == RDK_ACTION_DESCRIBE) {
        rdk_pool_plan plan = plan_of(c, rdk_cli_program());
        rdk_ablation_describe(a, plan.jobs, plan.threads, stdout);
        return RDK_EXIT_DONE;
    }
    if (!rdk_ablation_check_data(a, s)) return rdk_cli_failed(s);
    if (!stands && !rdk_ablation_store(a, c->settings, c->n_settings, s)) return rdk_cli_failed(s);
    return o->list ? list(c, s) : run(c, rdk_cli_program(), s);
}

int rdk_cli_ablate(int argc, char **argv)
{
    rdk_status s = {0};
    call *c = rdk_alloc(1, sizeof *c, &s);
    if (!c) return rdk_cli_failed(&s);
    int status;
    if (!rdk_words_read(&c->words, &rdk_ablate_grammar, argc, argv, &s)) {
        status = rdk_cli_failed(&s);
    } else if (rdk_is_beside(c->words.action)) {
        status = rdk_cli_beside(c->words.action, c->words.help_about, &rdk_ablate_grammar);
    } else {
        status = read_call(c, &s) ? act(c, &s) : rdk_cli_failed(&s);
    }
    rdk_ablation_free(&c->ablation);
    rdk_words_free(&c->words);
    rdk_arena_free(c->arena);
    rdk_free(c->in_file);
    rdk_free(c->settings);
    rdk_free(c);
    return status;
}
