/* SPDX-License-Identifier: MIT
 * See broadcast.h. */
#include "broadcast.h"

/* The dimension of x that stands under dimension i of a result of n_dims; 1 where x has none. */
static size_t aligned(const rdk_tensor *x, int n_dims, int i)
{
    const int j = i - (n_dims - x->n_dims);
    return j >= 0 ? x->dim[j] : 1;
}

static bool result_shape(const rdk_tensor *a, const rdk_tensor *b, rdk_broadcast *p)
{
    p->n_dims = a->n_dims > b->n_dims ? a->n_dims : b->n_dims;
    for (int i = 0; i < p->n_dims; i++) {
        const size_t m = aligned(a, p->n_dims, i), n = aligned(b, p->n_dims, i);
        if (m != n && m != 1 && n != 1) return false;
        p->dim[i] = m == 1 ? n : m;
    }
    return true;
}

/* Steps of the dimensions that are not 1, from the last to the first: a dimension joins the one
 * inside it where both operands go on as if the two were one. */
static void join(const rdk_tensor *a, const rdk_tensor *b, rdk_broadcast *p)
{
    size_t count[RDK_MAX_DIMS] = {1}, step_a[RDK_MAX_DIMS] = {1}, step_b[RDK_MAX_DIMS] = {1};
    size_t size_a = 1, size_b = 1; /* of the dimensions passed */
    int n = 0;
    for (int i = p->n_dims - 1; i >= 0; i--) {
        const size_t m = aligned(a, p->n_dims, i), k = aligned(b, p->n_dims, i);
        if (p->dim[i] == 1) continue;
        const size_t sa = m == 1 ? 0 : size_a, sb = k == 1 ? 0 : size_b;
        size_a *= m;
        size_b *= k;
        const bool joins =
            n > 0 && sa == step_a[n - 1] * count[n - 1] && sb == step_b[n - 1] * count[n - 1];
        if (joins) {
            count[n - 1] *= p->dim[i];
            continue;
        }
        count[n] = p->dim[i];
        step_a[n] = sa;
        step_b[n] = sb;
        n++;
    }
    p->n_joined = n > 0 ? n : 1;
    for (int i = 0; i < p->n_joined; i++) {
        p->count[i] = count[p->n_joined - 1 - i];
        p->step_a[i] = step_a[p->n_joined - 1 - i];
        p->step_b[i] = step_b[p->n_joined - 1 - i];
    }
}

bool rdk_broadcast_plan(const rdk_tensor *a, const rdk_tensor *b, rdk_broadcast *p)
{
    *p = (rdk_broadcast){.n_dims = 0};
    if (!result_shape(a, b, p)) return false;
    join(a, b, p);
    return true;
}

bool rdk_run_first(const rdk_broadcast *p, rdk_run *r)
{
    const int last = p->n_joined - 1;
    *r = (rdk_run){.n = p->count[last], .step_a = p->step_a[last], .step_b = p->step_b[last]};
    for (int i = 0; i < p->n_dims; i++) {
        if (p->dim[i] == 0) return false;
    }
    return true;
}

bool rdk_run_next(const rdk_broadcast *p, rdk_run *r)
{
    r->y += r->n;
    for (int i = p->n_joined - 2; i >= 0; i--) {
        r->a += p->step_a[i];
        r->b += p->step_b[i];
        if (++r->index[i] < p->count[i]) return true;
        r->a -= p->step_a[i] * p->count[i];
        r->b -= p->step_b[i] * p->count[i];
        r->index[i] = 0;
    }
    return false;
}
