/* SPDX-License-Identifier: MIT
 * What the files of src/cli share. The only place, beside src/run, that prints; the only one that
 * ends the process.
 *
 * Read next: main.c, the verbs; args.c, how a command line is read. */
#ifndef RDK_CLI_CLI_H
#define RDK_CLI_CLI_H

#include <stdio.h>

#include <rootdk/run.h>

/* Exit status, also documented in --help and the man page. */
enum {
    RDK_EXIT_DONE = 0,
    RDK_EXIT_FAILED = 1,
    RDK_EXIT_USAGE = 2,
    RDK_EXIT_DIVERGED = 3,
};
/* Says what failed in one line on stderr; the exit status that belongs to it. */
int rdk_cli_failed(const rdk_status *s);

/* ---- main.c: verbs --------------------------------------------------------------------------- */

typedef struct rdk_verb {
    const char *name, *synopsis, *about;
    int (*run)(int argc, char **argv); /* the words behind the verb; returns the exit status */
} rdk_verb;
size_t rdk_verb_count(void);
const rdk_verb *rdk_verb_at(size_t i);
/* How the user calls the program: "./train", "rootdk". */
const char *rdk_cli_command(void);

/* ---- args.c ---------------------------------------------------------------------------------- */

/* What a call of train is to do. */
typedef enum rdk_action {
    RDK_ACTION_TRAIN,
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
    bool first; /* taken at once wherever it stands, before anything else is looked at */
} rdk_switch;
size_t rdk_switch_count(void);
const rdk_switch *rdk_switch_at(size_t i);

typedef struct rdk_arguments {
    rdk_config config;
    bool *given; /* [option_count] set on the command line or in the --config file */
    rdk_action action;
    const char *config_path, *help_about; /* NULL where not given */
} rdk_arguments;
/* Defaults, then the --config file, then the options. Free with rdk_arguments_free either way. */
bool rdk_arguments_read(rdk_arguments *a, int argc, char **argv, rdk_status *s);
void rdk_arguments_free(rdk_arguments *a);

/* ---- help.c, version.c, man.c, completion.c: all from the tables ----------------------------- */

void rdk_print_help(FILE *out);
bool rdk_print_option(FILE *out, const char *name, rdk_status *s);
void rdk_print_version(FILE *out);
void rdk_print_man(FILE *out);
void rdk_print_completion(FILE *out);
/* "--lr X", "--[no-]bias"; "1..1000", "gelu|relu". buf returned. */
enum { RDK_USAGE_TEXT = 96 };
char *rdk_option_usage(const rdk_option *o, char buf[RDK_USAGE_TEXT]);
char *rdk_option_short_range(const rdk_option *o, char buf[RDK_USAGE_TEXT]);

/* ---- threads.c ------------------------------------------------------------------------------- */

/* How many threads and why, from --threads (0: by rule), OMP_NUM_THREADS, the machine. */
int rdk_choose_threads(int asked, const char **reason);

/* ---- signals.c ------------------------------------------------------------------------------- */

/* From now on a first signal only sets the flag and a second one ends the process. */
void rdk_signals_watch(void);
volatile sig_atomic_t *rdk_signals_flag(void); /* the signal that came, 0: none */
/* Ends the process by the signal that came. */
void rdk_signals_die(void);

/* ---- train.c --------------------------------------------------------------------------------- */

int rdk_cli_train(int argc, char **argv);

#endif
