/* SPDX-License-Identifier: MIT
 * Signals: the first asks the run to save and stop, a second ends it at once.
 *
 * A reader of stdout that goes away (./train | head) is such a request as well: the run is saved,
 * quietly. What the process was started with ignoring (nohup, a shell's background job) stays so.
 * Invariant: a run that a signal ended dies by that signal, as shells and make expect. */
#include <time.h>

#include "cli.h"

static volatile sig_atomic_t came;
static struct timespec came_at;

/* timeout(1), a batch system or an ablation may send one request twice, to the process and to its
 * group: what follows within so short a time is not somebody's second thought. */
static bool is_an_echo(void)
{
    enum { ECHO_MILLISECONDS = 250 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ms = 1e3 * (double)(now.tv_sec - came_at.tv_sec) +
                1e-6 * (double)(now.tv_nsec - came_at.tv_nsec);
    return ms < ECHO_MILLISECONDS;
}

static void on_signal(int number)
{
    if (!came) {
        clock_gettime(CLOCK_MONOTONIC, &came_at);
        came = number;
    } else if (number != SIGPIPE && !is_an_echo()) { /* SIGPIPE comes with every further line */
        signal(number, SIG_DFL);
        raise(number);
    }
}

void rdk_signals_watch(void)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction before, now = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&now.sa_mask);
        if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(watched[i], &now, NULL);
        }
    }
}

volatile sig_atomic_t *rdk_signals_flag(void)
{
    return &came;
}

void rdk_signals_die(void)
{
    signal(came, SIG_DFL);
    raise(came);
}
