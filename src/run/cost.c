/* SPDX-License-Identifier: MIT
 * What measuring costs, from the seconds of this call. What is done for it alone is timed as such;
 * what it adds within a step's gradients is the difference to the steps without it.
 * Invariant: nothing that a run's equal files hold depends on these. */
#include "trainer.h"

#include <math.h>

/* The first step of a call asks for memory and wakes threads: it tells nothing of the others. */
void rdk_cost_gradients(rdk_trainer *r, bool measuring, double seconds)
{
    rdk_cost *c = &r->cost;
    if (r->step == r->started_step) return;
    if (measuring) {
        c->measured += seconds;
        c->measured_steps++;
    } else {
        c->plain += seconds;
        c->plain_flops += rdk_step_flops(&r->config, rdk_batch_asked(&r->batch));
        c->plain_steps++;
    }
}

double rdk_cost_seconds(const rdk_trainer *r)
{
    const rdk_cost *c = &r->cost;
    if (c->plain_steps == 0) return NAN;
    double plain = c->plain / (double)c->plain_steps;
    return c->apart + fmax(0, c->measured - plain * (double)c->measured_steps);
}
