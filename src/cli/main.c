/* SPDX-License-Identifier: MIT
 * rootdk, the program: finds the verb and runs it.
 *
 * Invariant: results go to stdout, everything else to stderr; output that could not be written is
 * a failure. No verb means train.
 * Read next: train.c. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "cli.h"

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const rdk_verb verbs[] = {
    {"train", "[train] [OPTIONS]", "train one model", rdk_cli_train, &rdk_train_grammar},
    {"theory", "theory [OPTIONS]", "measure the variance argument beside what is predicted",
     rdk_cli_theory, &rdk_theory_grammar},
    {"ablate", "ablate [OPTIONS]", "a grid of runs: any option may be a list", rdk_cli_ablate,
     &rdk_ablate_grammar},
    {"report", "report DIR [OPTIONS]", "one HTML page about a run or an ablation", rdk_cli_report,
     &rdk_report_grammar},
    {"show", "show DIR... [OPTIONS]", "curves and summary of runs in the terminal", rdk_cli_show,
     &rdk_show_grammar},
    {"help", "help [VERB|OPTION]", "this page, or all about one verb or option", run_help, NULL},
    {"version", "version", "the same as --version", run_version, NULL},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

size_t rdk_verb_count(void)
{
    return VERBS;
}

const rdk_verb *rdk_verb_at(size_t i)
{
    return i < VERBS ? &verbs[i] : NULL;
}

const rdk_verb *rdk_verb_find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++) {
        if (!strcmp(verbs[i].name, name)) return &verbs[i];
    }
    return NULL;
}

/* Set once at the start; how the launcher was typed, or argv[0]. */
static const char *command = "rootdk";

const char *rdk_cli_command(void)
{
    return command;
}

static const char *program = "rootdk"; /* argv[0] */

const char *rdk_cli_program(void)
{
    return program;
}

static void find_command(const char *started)
{
    const char *typed = getenv("RDK_COMMAND");
    if (!typed || !*typed) typed = started;
    if (!typed || !*typed || strlen(typed) >= RDK_PATH_TEXT) return;
    for (const char *p = typed; *p; p++) {
        if (iscntrl((unsigned char)*p)) return;
    }
    command = typed;
}

int rdk_cli_failed(const rdk_status *s)
{
    fflush(stdout);
    fprintf(stderr, "rootdk: %s\n", s->message);
    if (s->code == RDK_EVALUE) return RDK_EXIT_USAGE;
    return s->code == RDK_ENONFINITE ? RDK_EXIT_DIVERGED : RDK_EXIT_FAILED;
}

static int run_help(int argc, char **argv)
{
    rdk_status s = {0};
    if (argc > 1) {
        rdk_fail(&s, RDK_EVALUE, "help is about one verb or one option at a time");
        return rdk_cli_failed(&s);
    }
    return rdk_cli_beside(RDK_ACTION_HELP, argc ? argv[0] : NULL, &rdk_train_grammar);
}

static int run_version(int argc, char **argv)
{
    rdk_status s = {0};
    char quoted[RDK_QUOTE_TEXT];
    if (argc == 1 && !strcmp(argv[0], "--help"))
        return rdk_cli_beside(RDK_ACTION_HELP, "version", &rdk_train_grammar);
    if (argc) {
        rdk_fail(&s, RDK_EVALUE, "version takes no words (%s)", rdk_quote(argv[0], quoted));
        return rdk_cli_failed(&s);
    }
    rdk_print_version(stdout);
    return RDK_EXIT_DONE;
}

static int unknown_verb(const char *word)
{
    const char *names[VERBS];
    char quoted[RDK_QUOTE_TEXT];
    rdk_status s = {0};
    for (size_t i = 0; i < VERBS; i++) names[i] = verbs[i].name;
    const char *near = rdk_nearest(word, names, VERBS);
    rdk_quote(word, quoted);
    if (rdk_option_find(word)) {
        rdk_fail(&s, RDK_EVALUE, "unknown verb %s (did you mean --%s?)", quoted, word);
    } else if (near) {
        rdk_fail(&s, RDK_EVALUE, "unknown verb %s (did you mean %s?)", quoted, near);
    } else {
        rdk_fail(&s, RDK_EVALUE, "unknown verb %s (options begin with --; --help lists all)",
                 quoted);
    }
    return rdk_cli_failed(&s);
}

/* argv[1] is the verb where it does not begin with a dash. */
static int run(int argc, char **argv)
{
    rdk_status s = {0};
    if (!rdk_isa_check(&s)) return rdk_cli_failed(&s);
    if (argc < 2 || argv[1][0] == '-') return rdk_cli_train(argc > 0 ? argc - 1 : 0, argv + 1);
    const rdk_verb *v = rdk_verb_find(argv[1]);
    return v ? v->run(argc - 2, argv + 2) : unknown_verb(argv[1]);
}

/* What stdout could not take is lost, and the caller must know. */
static int close_output(int status)
{
    bool lost = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !lost) return status;
    fprintf(stderr, "rootdk: cannot write all of the output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status ? status : RDK_EXIT_FAILED;
}

/* A descriptor 0, 1 or 2 that the caller closed would go to the next file that is opened, and what
 * is meant for the screen into that file. Read-only, so that writing to a closed stdout still
 * fails. */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) _exit(RDK_EXIT_FAILED);
}

/* A point of an ablation is started through a link that is called "exe"; ps and pkill shall find it
 * by the program's name all the same. */
static void take_name(const char *argv0)
{
#ifdef __linux__
    const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
    if (argv0) prctl(PR_SET_NAME, slash ? slash + 1 : argv0);
#else
    (void)argv0;
#endif
}

int main(int argc, char **argv)
{
    rdk_threads_begin_again(argv);
    take_name(argc > 0 ? argv[0] : NULL);
    hold_standard_descriptors();
    /* A file at its size limit is then an error of write, with its name. */
    signal(SIGXFSZ, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a killed run loses one line at most */
    if (argc > 0 && argv[0]) program = argv[0];
    find_command(argc > 0 ? argv[0] : NULL);
    return close_output(run(argc, argv));
}
