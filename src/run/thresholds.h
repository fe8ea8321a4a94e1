/* SPDX-License-Identifier: MIT
 * From where on a task is called solved, and up to where near chance: one pair for the verdict of a
 * run, its report and the results of an ablation. */
#ifndef RDK_RUN_THRESHOLDS_H
#define RDK_RUN_THRESHOLDS_H

#include <stdbool.h>

/* accuracy on held-out targets */
#define RDK_SOLVED 0.99
/* of the way from chance to 1 */
#define RDK_NEAR_CHANCE 0.10

/* False where one of them is NAN. */
static inline bool rdk_is_near_chance(double accuracy, double chance)
{
    return accuracy < chance + RDK_NEAR_CHANCE * (1 - chance);
}

#endif
