/* SPDX-License-Identifier: MIT
 * Signals: the first asks the run to save and stop, a second ends it at once.
 *
 * A reader of stdout that goes away (./train | head) is such a request as well: the run is saved,
 * quietly. What the process was started with ignoring (nohup, a shell's background job) stays so.
 * Invariant: a run that a signal ended dies by that signal, as shells and make expect. */
#include "cli.h"

static volatile sig_atomic_t came;

static void on_signal(int number)
{
    if (!came) {
        came = number;
    } else if (number != SIGPIPE) { /* that one comes with every further line */
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
