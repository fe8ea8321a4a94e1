/* SPDX-License-Identifier: MIT
 * --profile: where the time of a call went, by op of the tape. Evaluations, and what probing does
 * beside the passes of a step, have a row each and are in no op's; what is no op (data, laying out
 * the weights, the optimizer, logs) is the rest. Groups are not run side by side then (passes.c),
 * so that one clock counts for all; a run goes so with one thread alone, the number that it then
 * has unless told otherwise. Read next: src/autograd/profile.c. */
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const apart_names[RDK_APARTS] = {"evaluation", "probing"};

/* The tape goes on counting: what it counts from begin to end is the difference. */
static void count_apart(rdk_trainer *r, double sign)
{
    const rdk_op_time *t;
    for (size_t i = 0; i < RDK_PROFILE_OPS && (t = rdk_tape_profile_at(r->tapes[0], i)); i++)
        r->profile.forward[i] += sign * t->forward;
}

void rdk_profile_apart_begin(rdk_trainer *r)
{
    count_apart(r, -1);
    r->profile.begun = rdk_seconds();
}

void rdk_profile_apart_end(rdk_trainer *r, rdk_apart what)
{
    r->profile.seconds[what] += rdk_seconds() - r->profile.begun;
    count_apart(r, 1);
}

static int slower_first(const void *a, const void *b)
{
    const rdk_op_time *x = a, *y = b;
    double of_x = x->forward + x->backward, of_y = y->forward + y->backward;
    return (of_y > of_x) - (of_y < of_x);
}

static void print_row(FILE *out, const char *name, double forward, double backward, double steps,
                      double all)
{
    double sum = forward + backward;
    fprintf(out, "%-18s %10.4f %10.4f %10.4f %6.1f %%\n", name, 1e3 * forward / steps,
            1e3 * backward / steps, 1e3 * sum / steps, 100 * sum / all);
}

void rdk_profile_table(const rdk_trainer *r)
{
    rdk_op_time times[RDK_PROFILE_OPS];
    const rdk_op_time *t;
    size_t n = 0;
    double steps = (double)(r->step - r->started_step), all = rdk_seconds() - r->started;
    double forward = 0, backward = 0;
    const double *apart = r->profile.seconds;
    FILE *out = r->io->err;
    if (!r->config.profile || !out || !(steps > 0)) return;
    for (; n < RDK_PROFILE_OPS && (t = rdk_tape_profile_at(r->tapes[0], n)); n++) {
        times[n] = *t;
        times[n].forward -= r->profile.forward[n];
        forward += times[n].forward;
        backward += t->backward;
    }
    qsort(times, n, sizeof *times, slower_first);
    fprintf(out, "\n%-18s %10s %10s %10s %8s\n", "ms a step", "forward", "backward", "both",
            "of all");
    for (size_t i = 0; i < n; i++)
        print_row(out, times[i].op->name, times[i].forward, times[i].backward, steps, all);
    for (size_t i = 0; i < RDK_APARTS; i++) {
        forward += apart[i];
        if (apart[i] > 0) print_row(out, apart_names[i], apart[i], 0, steps, all);
    }
    print_row(out, "no op", all - forward - backward, 0, steps, all);
    print_row(out, "all", all - backward, backward, steps, all);
}
