/* SPDX-License-Identifier: MIT
 * What is done to every parameter, by all threads.
 *
 * The kernels share one parameter among the threads where it is large. Those of a small model are
 * not: one after the other they would leave all threads but one idle. So where none is more than a
 * thread's share each thread has parameters of its own, of about equal lengths of the buffer; and
 * the same every time, as that is what its cache holds.
 *
 * Invariant: what is done to a parameter depends on no other, and its bits on no thread.
 * Read next: src/optim/optimizer.c, pack.c. */
#include "nn/model.h"

#include "base/parallel.h"

/* Elements of all: fewer are done before a second thread has begun; of more, and of models with
 * one large table, the kernels make a better job. */
enum { LEAST = 1 << 14, SMALL = 1 << 20 };

static bool fits_threads(const rdk_model *m, size_t threads)
{
    if (threads == 1 || m->size < LEAST || m->size > SMALL) return false;
    for (size_t i = 0; i < m->n_params; i++)
        if (rdk_size(&m->param[i].tensor) > m->size / threads) return false;
    return true;
}

static size_t owner(const rdk_model *m, size_t i, size_t threads)
{
    const rdk_param *p = &m->param[i];
    size_t middle = p->offset + rdk_size(&p->tensor) / 2;
    return (size_t)((double)middle / (double)m->size * (double)threads);
}

void rdk_model_each(rdk_model *m, rdk_param_fn fn, void *context)
{
    const size_t threads = (size_t)rdk_team();
    if (!fits_threads(m, threads)) {
        for (size_t i = 0; i < m->n_params; i++) fn(m, i, context);
        return;
    }
    RDK_PARALLEL_FOR
    for (size_t t = 0; t < threads; t++)
        for (size_t i = 0; i < m->n_params; i++)
            if (owner(m, i, threads) == t) fn(m, i, context);
}
