/* SPDX-License-Identifier: MIT
 * Where the time of a tape goes, by op.
 *
 * Ops are called one after the other and each ends by being recorded, so the time between two
 * records is the forward pass of the later one; what the caller does in between counts with it.
 * Invariant: off, it costs one test a call; on, no bit of a result changes.
 * Read next: backward.c, which times each node's turn. */
#include "tape.h"

static rdk_op_time *entry_of(rdk_tape *t, const rdk_op *op)
{
    for (size_t i = 0; i < t->n_times; i++)
        if (t->times[i].op == op) return &t->times[i];
    if (t->n_times == RDK_PROFILE_OPS) return NULL;
    rdk_op_time *new = &t->times[t->n_times++];
    *new = (rdk_op_time){.op = op};
    return new;
}

void rdk_tape_profile(rdk_tape *t, bool on)
{
    t->profiles = on;
    t->n_times = 0;
    t->clock = rdk_seconds();
}

const rdk_op_time *rdk_tape_profile_at(const rdk_tape *t, size_t i)
{
    return i < t->n_times ? &t->times[i] : NULL;
}

void rdk_profile_pause(rdk_tape *t)
{
    if (t->profiles) t->clock = rdk_seconds();
}

void rdk_profile_forward(rdk_tape *t, const rdk_op *op)
{
    if (!t->profiles) return;
    rdk_op_time *e = entry_of(t, op);
    double now = rdk_seconds();
    if (e) {
        e->calls++;
        e->forward += now - t->clock;
    }
    t->clock = now;
}

void rdk_profile_backward(rdk_tape *t, const rdk_op *op)
{
    if (!t->profiles) return;
    rdk_op_time *e = entry_of(t, op);
    double now = rdk_seconds();
    if (e) e->backward += now - t->clock;
    t->clock = now;
}
