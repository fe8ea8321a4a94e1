/* SPDX-License-Identifier: MIT
 * The verb train: one run, or what is said about one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Is there somebody to watch a line that is drawn over and over? */
static bool is_screen(int fd)
{
    const char *terminal = getenv("TERM");
    return isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
}

static int train(rdk_arguments *a, const rdk_run_io *io)
{
    rdk_status s = {0};
    char directory[RDK_PATH_TEXT] = "";
    rdk_signals_watch();
    rdk_run_end end = rdk_train(&a->config, a->given, io, directory, &s);
    fflush(stdout);
    if (end == RDK_RUN_INTERRUPTED || *rdk_signals_flag() == SIGPIPE) rdk_signals_die();
    switch (end) {
    case RDK_RUN_DONE:
        return RDK_EXIT_DONE;
    case RDK_RUN_DIVERGED:
        rdk_cli_failed(&s);
        return RDK_EXIT_DIVERGED;
    case RDK_RUN_INTERRUPTED:
    case RDK_RUN_FAILED:
        break;
    }
    return rdk_cli_failed(&s);
}

/* One clock counts for all of a profile, so one thread unless more are asked for. */
static bool choose_threads(const rdk_config *c, rdk_run_io *io, rdk_status *s)
{
    if (!rdk_choose_threads(c->threads, &io->threads_reason, s)) return false;
    if (!c->profile || c->threads || !strcmp(io->threads_reason, "OMP_NUM_THREADS")) return true;
    rdk_choose_threads(1, &io->threads_reason, s);
    io->threads_reason = "--profile";
    return true;
}

/* The run that the arguments ask for, or what would be one. */
static int act(rdk_arguments *a)
{
    rdk_status s = {0};
    rdk_run_io io = {
        .out = stdout,
        .err = stderr,
        .progress = is_screen(STDERR_FILENO) && !a->config.quiet,
        .stop = rdk_signals_flag(),
        .command = rdk_cli_command(),
    };
    if (rdk_is_beside(a->action)) {
        return rdk_cli_beside(a->action, a->help_about, &rdk_train_grammar);
    }
    if (!choose_threads(&a->config, &io, &s)) return rdk_cli_failed(&s);
    switch (a->action) {
    case RDK_ACTION_DESCRIBE:
        return rdk_describe(&a->config, a->given, &io, &s) ? RDK_EXIT_DONE : rdk_cli_failed(&s);
    case RDK_ACTION_SHOW_BATCH:
        return rdk_show_batch(&a->config, a->given, &io, &s) ? RDK_EXIT_DONE : rdk_cli_failed(&s);
    default:
        return train(a, &io);
    }
}

int rdk_cli_train(int argc, char **argv)
{
    rdk_status s = {0};
    rdk_arguments *a = rdk_alloc(1, sizeof *a, &s);
    if (!a) return rdk_cli_failed(&s);
    int status = rdk_arguments_read(a, argc, argv, &s) ? act(a) : rdk_cli_failed(&s);
    rdk_arguments_free(a);
    rdk_free(a);
    return status;
}
