/* SPDX-License-Identifier: MIT
 * What the files of src/cli share. Of the rooms only src/run, src/report (show), src/ablate and
 * this one print, and only this one ends the process.
 *
 * Read next: main.c, the verbs; words.c, how a command line is read. */
#ifndef RDK_CLI_CLI_H
#define RDK_CLI_CLI_H

#include <stdio.h>

#include <rootdk/report.h>

/* Exit status, also documented in --help and the man page. */
enum {
    RDK_EXIT_DONE = 0,
    RDK_EXIT_FAILED = 1,
    RDK_EXIT_USAGE = 2,
    RDK_EXIT_DIVERGED = 3,
    RDK_EXIT_CHECK = 4, /* a self-check is off by more than its bound */
};
/* Says what failed in one line on stderr; the exit status that belongs to it. */
int rdk_cli_failed(const rdk_status *s);

/* ---- main.c: verbs --------------------------------------------------------------------------- */

/* What an option of a run is under a verb that has it otherwise. */
typedef struct rdk_otherwise {
    const char *name;
    const char *help;    /* NULL: as under train */
    const char *initial; /* what it is where it is not given; NULL: the verb refuses the option */
} rdk_otherwise;

/* What a verb's options may be. Help, man page and completion are made from it as well. */
typedef struct rdk_grammar {
    const rdk_option *own; /* [n_own] rows over a struct of the verb's own */
    size_t n_own;
    bool runs;                      /* the options of a run (src/run/options.c) as well */
    const rdk_otherwise *otherwise; /* [n_otherwise] those of them that are not as under train */
    size_t n_otherwise;
    const char *without_runs; /* why the options of a run are not there, for who gives one; NULL */
    unsigned switches;        /* 1 << action of those it takes beside those that every verb takes */
    const char *operand; /* what words without -- are to it ("a run's directory"); NULL: none */
    const char *notes;   /* the end of its --help page: lines, or NULL */
} rdk_grammar;

typedef struct rdk_verb {
    const char *name, *synopsis, *about;
    int (*run)(int argc, char **argv); /* the words behind the verb; returns the exit status */
    const rdk_grammar *grammar;        /* NULL: takes no options */
} rdk_verb;
size_t rdk_verb_count(void);
const rdk_verb *rdk_verb_at(size_t i);
const rdk_verb *rdk_verb_find(const char *name); /* NULL where there is none */
/* How the user calls the program: "./train", "rootdk". */
const char *rdk_cli_command(void);
/* How it was started: argv[0]. */
const char *rdk_cli_program(void);

/* ---- words.c --------------------------------------------------------------------------------- */

/* What a call is to do. */
typedef enum rdk_action {
    RDK_ACTION_VERB, /* what the verb is for */
    RDK_ACTION_DESCRIBE,
    RDK_ACTION_SHOW_BATCH,
    RDK_ACTION_HELP,
    RDK_ACTION_VERSION,
    RDK_ACTION_MAN,
    RDK_ACTION_COMPLETION,
    RDK_ACTION_CONFIG, /* not an end in itself: reads a file of options */
} rdk_action;

/* A switch of the command line that is no field of the configuration. */
typedef struct rdk_switch {
    const char *name, *value_name, *help;
    rdk_action action;
    bool first; /* every verb takes it, before anything else is looked at; alone, but for --help */
} rdk_switch;
size_t rdk_switch_count(void);
const rdk_switch *rdk_switch_at(size_t i);

bool rdk_grammar_takes(const rdk_grammar *g, const rdk_switch *f);
/* The switch of that name that the grammar takes, or NULL. */
const rdk_switch *rdk_switch_find(const rdk_grammar *g, const char *name);
const rdk_option *rdk_grammar_find(const rdk_grammar *g, const char *name);
/* How the verb has this option of a run; NULL: as under train. */
const rdk_otherwise *rdk_grammar_otherwise(const rdk_grammar *g, const rdk_option *o);
/* What the user may have meant, or NULL. */
const char *rdk_grammar_nearest(const rdk_grammar *g, const char *name);

/* An option of the command line and the text that was given for it. */
typedef struct rdk_assignment {
    const rdk_option *option;
    const char *value;
} rdk_assignment;

typedef struct rdk_words {
    rdk_assignment *set; /* [n_set] as they came, none twice */
    size_t n_set;
    const char **operands; /* [n_operands] words without --, where the grammar has them */
    size_t n_operands;
    rdk_action action;
    const char *config_path, *help_about; /* NULL where not given */
} rdk_words;
/* The words behind a verb; texts stay in argv. Values are not looked at yet: rdk_option_set does
 * that. Free with rdk_words_free either way. */
bool rdk_words_read(rdk_words *w, const rdk_grammar *g, int argc, char **argv, rdk_status *s);
void rdk_words_free(rdk_words *w);
/* The text given for an option, or NULL. */
const char *rdk_words_value(const rdk_words *w, const char *name);
/* The verb's own options into its struct: what was given, else the defaults. */
bool rdk_words_set_own(const rdk_words *w, const rdk_grammar *g, void *fields, rdk_status *s);

/* ---- args.c ---------------------------------------------------------------------------------- */

extern const rdk_grammar rdk_train_grammar;

typedef struct rdk_arguments {
    rdk_config config;
    bool *given; /* [option_count] set on the command line or in the --config file */
    rdk_action action;
    const char *config_path, *help_about; /* NULL where not given */
} rdk_arguments;
/* Defaults, then the --config file, then the options. Free with rdk_arguments_free either way. */
bool rdk_arguments_read(rdk_arguments *a, int argc, char **argv, rdk_status *s);
void rdk_arguments_free(rdk_arguments *a);
/* Is one given that replaces the data which a --config file's run read, or how they are cut? */
bool rdk_words_change_data(const rdk_words *w);

/* ---- help.c, version.c, man.c, completion.c: all from the tables ----------------------------- */

void rdk_print_help(FILE *out);
void rdk_print_verb_help(FILE *out, const rdk_verb *v); /* of train the same */
/* Text from column `indent` on, broken between words at 100 columns. */
void rdk_print_wrapped(FILE *out, const char *text, int indent);
/* All about one option, verb, scaling or task. RDK_EVALUE: there is none of that name. */
bool rdk_print_topic(FILE *out, const rdk_grammar *g, const char *name, rdk_status *s);
/* Is it one of --help, --version, --man, --completion? */
bool rdk_is_beside(rdk_action action);
/* Does what such an action asks for, about this verb's options; returns the exit status. */
int rdk_cli_beside(rdk_action action, const char *help_about, const rdk_grammar *g);
void rdk_print_version(FILE *out);
void rdk_print_man(FILE *out);
void rdk_print_completion(FILE *out);
/* "--lr X", "--[no-]bias"; "1..1000", "gelu|relu". buf returned. */
enum { RDK_USAGE_TEXT = 96 };
char *rdk_option_usage(const rdk_option *o, char buf[RDK_USAGE_TEXT]);
char *rdk_option_short_range(const rdk_option *o, char buf[RDK_USAGE_TEXT]);

/* ---- threads.c ------------------------------------------------------------------------------- */

/* How many threads and why, from --threads (0: by rule), OMP_NUM_THREADS, the machine. 0: it was
 * for OMP_NUM_THREADS to say, which holds no such number (RDK_EVALUE). */
int rdk_choose_threads(int asked, const char **reason, rdk_status *s);
/* Has threads that wait spin for a moment, then sleep, unless the environment says what they do.
 * OpenMP reads that when a program is loaded, so the program is loaded once more. */
void rdk_threads_begin_again(char **argv);

/* ---- signals.c ------------------------------------------------------------------------------- */

/* From now on a first signal only sets the flag and a second one ends the process. */
void rdk_signals_watch(void);
volatile sig_atomic_t *rdk_signals_flag(void); /* the signal that came, 0: none */
/* Ends the process by the signal that came. */
void rdk_signals_die(void);

/* ---- train.c --------------------------------------------------------------------------------- */

int rdk_cli_train(int argc, char **argv);

/* ---- theory.c -------------------------------------------------------------------------------- */

extern const rdk_grammar rdk_theory_grammar;
int rdk_cli_theory(int argc, char **argv);

/* ---- ablate.c -------------------------------------------------------------------------------- */

extern const rdk_grammar rdk_ablate_grammar;
int rdk_cli_ablate(int argc, char **argv);

/* ---- report.c, show.c ------------------------------------------------------------------------ */

extern const rdk_grammar rdk_report_grammar, rdk_show_grammar;
int rdk_cli_report(int argc, char **argv);
int rdk_cli_show(int argc, char **argv);

#endif
