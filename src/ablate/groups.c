/* SPDX-License-Identifier: MIT
 * Rows of results in groups; see groups.h. */
#include <string.h>

#include "groups.h"

static size_t key_of(const rdk_groups *g, const rdk_ablation *a, size_t point)
{
    size_t key = 0;
    for (size_t i = 0; i < a->n_axes; i++)
        if (!g->inner[i])
            key = key * a->axes[i].n +
                  rdk_grid_axis_find(&a->axes[i], rdk_ablation_value(a, point, i));
    return key;
}

void rdk_groups_make(rdk_groups *g, const rdk_ablation *a, const rdk_results *r,
                     const char *const *inner)
{
    g->count = 0;
    g->key = rdk_alloc(r->n, sizeof *g->key, NULL);
    g->first = rdk_alloc(r->n, sizeof *g->first, NULL);
    g->inner = rdk_alloc(a->n_axes, sizeof *g->inner, NULL);
    if (!g->key || !g->first || !g->inner) return;
    for (; *inner; inner++) {
        size_t axis = rdk_ablation_axis(a, *inner);
        if (axis < a->n_axes) g->inner[axis] = true;
    }
    for (size_t i = 0; i < r->n; i++) {
        size_t k = 0;
        g->key[i] = key_of(g, a, r->rows[i].point);
        while (k < g->count && g->key[g->first[k]] != g->key[i]) k++;
        if (k == g->count) g->first[g->count++] = i;
    }
}

void rdk_groups_free(rdk_groups *g)
{
    rdk_free(g->key);
    rdk_free(g->first);
    rdk_free(g->inner);
}

size_t rdk_groups_axes(const rdk_groups *g, const rdk_ablation *a)
{
    size_t n = 0;
    for (size_t i = 0; g->inner && i < a->n_axes; i++) n += !g->inner[i];
    return n;
}
