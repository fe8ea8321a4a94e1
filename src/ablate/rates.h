/* SPDX-License-Identifier: MIT
 * Figures over the learning rates of one group. */
#ifndef RDK_ABLATE_RATES_H
#define RDK_ABLATE_RATES_H

#include "groups.h"

/* Room for the figures of one group; see rates.c. */
typedef struct rdk_rates {
    const rdk_ablation *a;
    const rdk_results *r;
    rdk_groups groups; /* by all axes but rate and seed */
    size_t rate, seed; /* axes; seed may be n_axes: there is one */
    size_t rates;
    rdk_rated *runs; /* [r->n] of the group that is looked at */
    double *room;    /* [r->n + rates] */
} rdk_rates;

/* False where the learning rate does not vary, or without memory. Free with rdk_rates_free. */
bool rdk_rates_make(rdk_rates *t, const rdk_ablation *a, const rdk_results *r);
void rdk_rates_free(rdk_rates *t);
/* See rdk_best_rate_of: rate is a place on the axis, or t->rates. */
rdk_best_rate rdk_rates_best(rdk_rates *t, size_t group);
/* See rdk_sensitivity_of. */
rdk_interval rdk_rates_sensitivity(rdk_rates *t, size_t group, bool from_start);

#endif
