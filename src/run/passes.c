/* SPDX-License-Identifier: MIT
 * How sequences go through the model.
 *
 * A batch is cut into groups, a group into passes. The passes of a group follow one another, on one
 * tape, and add to one gradient; the gradients of the groups are then added in their order. Where
 * there is a group for every thread, or little to do, groups go side by side, each on one thread
 * from its first pass to its last, which saves waking the threads for every op. Else they follow
 * one another and the threads share the loops inside the ops.
 *
 * Invariant: the cutting is a function of the configuration alone, since the bits of a sum follow
 * it; which thread does what changes none.
 * Read next: step.c and evaluate.c, which say what a pass does. */
#include "base/parallel.h"
#include "trainer.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t widest(const rdk_model_config *m)
{
    size_t width = larger(larger(m->d_model, m->heads * m->d_k), m->vocab);
    return m->mlp == RDK_MLP_NONE ? width : larger(width, m->d_ff);
}

size_t rdk_pass_sequences(const rdk_config *c)
{
    /* Fewer tokens do not repay another round of the weights' gradients; of those that leave the
     * caches more are needed. */
    enum {
        PASS_ELEMENTS = 64 * 1024, /* of the widest tensor: a quarter of a 1 MiB cache as floats */
        PASS_TOKENS = 128,
        LARGE_PASS_TOKENS = 256,
        LARGE_BYTES = 4 << 20, /* of the weights */
    };
    const rdk_model_config *m = &c->model;
    bool is_large = rdk_matrix_elements(m) * sizeof(rdk_real) > LARGE_BYTES;
    size_t tokens = larger(PASS_ELEMENTS / widest(m), is_large ? LARGE_PASS_TOKENS : PASS_TOKENS);
    size_t most = larger(tokens / m->max_len, 1);
    size_t of_group = rdk_pieces(c->batch * c->accum, rdk_group_count(c));
    return rdk_pieces(of_group,
                      rdk_pieces(of_group, smaller(most, c->batch))); /* about equal passes */
}

/* A power of two, which most machines' threads divide or are divided by. */
size_t rdk_group_count(const rdk_config *c)
{
    enum {
        GROUP_TOKENS = 256, /* fewer do not repay adding up a group's gradients; */
        PAIR_TOKENS = 80,   /* of two groups fewer do, as more than one thread is then at work; */
        REPLICA_BYTES = 64 << 20, /* the memory of them, where the model is large, is not repaid */
    };
    double tokens = (double)c->batch * (double)c->accum * (double)c->model.max_len;
    double bytes = rdk_matrix_elements(&c->model) * sizeof(rdk_real);
    size_t groups = 1;
    while (2 * groups <= RDK_MOST_GROUPS && 2 * groups <= c->batch * c->accum &&
           (double)(2 * groups) * (groups == 1 ? PAIR_TOKENS : GROUP_TOKENS) <= tokens &&
           (double)(2 * groups - 1) * bytes <= REPLICA_BYTES)
        groups *= 2;
    return groups;
}

/* All passes over a batch. */
typedef struct sweep {
    rdk_trainer *r;
    size_t n, groups, most; /* sequences, groups, sequences of a pass */
    rdk_pass_fn fn;
    void *context;
} sweep;

/* Up to the first pass that fails, which has said so in s. */
static void run_group(const sweep *a, size_t g, rdk_status *s)
{
    size_t worker = (size_t)rdk_thread_index(), end = rdk_piece_begin(a->n, a->groups, g + 1);
    rdk_pass_at at = {.worker = worker, .group = g, .tape = a->r->tapes[worker], .status = s};
    for (at.first = rdk_piece_begin(a->n, a->groups, g); at.first < end; at.first += at.n) {
        at.n = smaller(a->most, end - at.first);
        if (!a->fn(a->r, &at, a->context)) return;
    }
}

/* Sharing loops among threads pays where ops are long: the groups' one pass after another wakes the
 * threads for each of hundreds. Beneath this they run side by side, some threads idle. */
static bool is_small(const rdk_config *c, size_t n, size_t groups)
{
    static const double small = 2e9; /* operations of a group; about where both take as long */
    double sequence = rdk_step_flops(c, (rdk_asked){1, 0}) / (double)(c->batch * c->accum);
    return sequence * (double)n < small * (double)groups;
}

bool rdk_passes(rdk_trainer *r, size_t n, size_t groups, rdk_pass_fn fn, void *context)
{
    const sweep a = {r, n, groups, rdk_pass_sequences(&r->config), fn, context};
    rdk_status failed[RDK_MOST_GROUPS] = {{0}};
    if (!rdk_model_pack(r->model, r->config.precision, r->status)) return false;
    bool side_by_side =
        !r->config.profile && (groups >= (size_t)rdk_threads() || is_small(&r->config, n, groups));
    RDK_PARALLEL_FOR_IF(side_by_side)
    for (size_t g = 0; g < groups; g++) run_group(&a, g, &failed[g]);
    rdk_model_unpack(r->model);
    for (size_t g = 0; g < groups; g++)
        if (!rdk_ok(&failed[g]))
            return rdk_fail(r->status, failed[g].code, "%s", failed[g].message);
    return true;
}
