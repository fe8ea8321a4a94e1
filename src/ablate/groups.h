/* SPDX-License-Identifier: MIT
 * Runs that differ in some axes alone: the seed, or the seed and the learning rate. */
#ifndef RDK_ABLATE_GROUPS_H
#define RDK_ABLATE_GROUPS_H

#include "ablate.h"

typedef struct rdk_groups {
    size_t *key;   /* [n] of each row: equal within a group */
    size_t *first; /* [count] first row of each group, in the order of the rows */
    size_t count;
    bool *inner; /* [n_axes] axes that vary within a group */
} rdk_groups;

/* Groups the rows by all axes but these (names, NULL-terminated). Without memory: no groups. */
void rdk_groups_make(rdk_groups *g, const rdk_ablation *a, const rdk_results *r,
                     const char *const *inner);
void rdk_groups_free(rdk_groups *g);
/* The axes that tell groups apart. */
size_t rdk_groups_axes(const rdk_groups *g, const rdk_ablation *a);

#endif
