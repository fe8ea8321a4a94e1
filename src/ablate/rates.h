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
    size_t rates, seeds;
    double *values;  /* [max(rates, seeds)] */
    double *at_seed; /* [seeds] */
} rdk_rates;

/* False where the learning rate does not vary, or without memory. Free with rdk_rates_free. */
bool rdk_rates_make(rdk_rates *t, const rdk_ablation *a, const rdk_results *r);
void rdk_rates_free(rdk_rates *t);
/* The rate of the lowest mean loss among those at which no run diverged, or t->rates where there is
 * none. *best: the losses there. *at_end: the smallest or the largest that was run. */
size_t rdk_rates_best(rdk_rates *t, size_t group, rdk_interval *best, bool *at_end);
/* Sensitivity over seeds that have all rates of the group; l0: the loss at chance, or at the start.
 */
rdk_interval rdk_rates_sensitivity(rdk_rates *t, size_t group, bool from_start);

#endif
