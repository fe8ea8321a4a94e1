/* SPDX-License-Identifier: MIT
 * Random graphs of 1 to 30 calls against central differences: tensors used again and again, views
 * and transposes between, dimensions of 1, 2, 3 and 5. A graph is a pure function of its number. */
#include <rootdk/ops.h>

#include "harness.h"

enum { N_GRAPHS = 120, N_LEAVES = 3, MOST_TENSORS = 80, MOST_CALLS = 30, MOST_SIZE = 1000 };

typedef struct graph {
    rdk_tape *t;
    rdk_draws d;
    rdk_tensor *made[MOST_TENSORS];
    int n;
} graph;

static int below(graph *g, int n)
{
    return (int)rdk_draw_below(&g->d, (uint64_t)n);
}

static size_t draw_dim(rdk_draws *d)
{
    static const size_t dims[] = {1, 2, 3, 5};
    return dims[rdk_draw_below(d, 4)];
}

/* Half of the time any tensor (so most are used again), else the newest. */
static rdk_tensor *pick(graph *g)
{
    return below(g, 2) ? g->made[below(g, g->n)] : g->made[g->n - 1];
}

static rdk_tensor *any_view(graph *g, rdk_tensor *x)
{
    size_t n = rdk_size(x), rows = 1;
    for (size_t r = 2; r <= 5; r++) {
        if (n % r == 0 && below(g, 2)) rows = r;
    }
    switch (below(g, 3)) {
    case 0:
        return rdk_reshape(g->t, x, 1, (size_t[]){n});
    case 1:
        return rdk_reshape(g->t, x, 2, (size_t[]){rows, n / rows});
    default:
        return rdk_reshape(g->t, x, 3, (size_t[]){n / rows, 1, rows});
    }
}

static rdk_tensor *any_transpose(graph *g, rdk_tensor *x)
{
    if (x->n_dims < 2) return rdk_reshape(g->t, x, 2, (size_t[]){1, rdk_size(x)});
    return rdk_transpose(g->t, x, below(g, x->n_dims), below(g, x->n_dims));
}

/* Something that broadcasts with x: a partner of its own shape, or a piece of another tensor. */
static rdk_tensor *partner(graph *g, rdk_tensor *x)
{
    rdk_tensor *y = pick(g);
    if (below(g, 3) == 0 || x->n_dims < 1) return rdk_sum_all(g->t, y);
    size_t n = rdk_size(y) < rdk_cols(x) ? 1 : rdk_cols(x);
    rdk_tensor *flat = rdk_reshape(g->t, y, 1, (size_t[]){rdk_size(y)});
    return rdk_slice(g->t, flat, 0, 0, n);
}

static rdk_tensor *any_layer(graph *g, rdk_tensor *x)
{
    rdk_tensor *w = x->n_dims == 2 ? x : rdk_reshape(g->t, x, 2, (size_t[]){1, rdk_size(x)});
    rdk_tensor *y = rdk_linear(g->t, rdk_rms_norm(g->t, w, NULL, 0.5), w, NULL);
    return below(g, 2)
               ? y
               : rdk_linear_map(g->t, y, rdk_matmul(g->t, y, true, y, false), NULL, RDK_SILU);
}

static rdk_tensor *any_product(graph *g, rdk_tensor *x)
{
    if (x->n_dims != 2) return rdk_mul(g->t, x, x);
    if (below(g, 2)) return any_layer(g, x);
    rdk_tensor *square = rdk_matmul(g->t, x, true, x, false);
    return rdk_matmul(g->t, x, false, square, below(g, 2));
}

static rdk_tensor *any_row_op(graph *g, rdk_tensor *x)
{
    if (x->n_dims < 1) return rdk_scale(g->t, x, 0.5);
    switch (below(g, 4)) {
    case 0:
        return rdk_softmax(g->t, x);
    case 1:
        return rdk_layer_norm(g->t, x, NULL, NULL, 0.5);
    case 2:
        return rdk_rms_norm(g->t, x, NULL, 0.5);
    default:
        return rdk_log_softmax(g->t, x);
    }
}

static rdk_tensor *any_cut(graph *g, rdk_tensor *x)
{
    if (x->n_dims < 1) return rdk_tanh(g->t, x);
    int axis = below(g, x->n_dims);
    if (below(g, 2)) return rdk_concat(g->t, axis, 2, (rdk_tensor *[]){x, x});
    return rdk_slice(g->t, x, axis, 0, (x->dim[axis] + 1) / 2);
}

static rdk_tensor *any_call(graph *g)
{
    enum { LARGEST = 120 };
    rdk_tensor *x = pick(g);
    if (rdk_size(x) > LARGEST) return rdk_sum(g->t, x, 0);
    switch (below(g, 9)) {
    case 0:
        return rdk_add(g->t, x, partner(g, x));
    case 1:
        return rdk_sub(g->t, partner(g, x), x);
    case 2:
        return rdk_mul(g->t, x, partner(g, x));
    case 3:
        return any_product(g, x);
    case 4:
        return any_row_op(g, x);
    case 5:
        return any_cut(g, x);
    case 6:
        return x->n_dims > 0 ? rdk_mean(g->t, x, below(g, x->n_dims)) : rdk_silu(g->t, x);
    case 7:
        return any_transpose(g, x);
    default:
        return any_view(g, x);
    }
}

/* The last tensor plus the sum of every other, so that nothing made is without effect. */
static rdk_tensor *gather(graph *g)
{
    rdk_tensor *y = g->made[g->n - 1];
    for (int i = 0; i + 1 < g->n; i++) {
        y = rdk_add(g->t, y, rdk_scale(g->t, rdk_sum_all(g->t, g->made[i]), 0.3));
    }
    return y;
}

static rdk_tensor *build(rdk_tape *t, rdk_tensor *const *leaves, void *context)
{
    const int *number = context;
    const rdk_stream s = {.seed = 5, .purpose = RDK_FOR_TEST, .step = 1};
    graph g = {.t = t, .d = rdk_draws_at(s, (uint64_t)*number)};
    for (int i = 0; i < N_LEAVES; i++) g.made[g.n++] = leaves[i];
    int calls = 1 + below(&g, MOST_CALLS);
    for (int i = 0; i < calls; i++) {
        /* tanh keeps the values of long chains of products small */
        rdk_tensor *y = any_call(&g);
        if (y && !y->view_of) y = rdk_tanh(t, y);
        if (!y) return NULL;
        g.made[g.n++] = y;
    }
    return gather(&g);
}

static void draw_leaves(int number, rdk_tensor leaf[N_LEAVES], rdk_real data[N_LEAVES][125])
{
    const rdk_stream s = {.seed = 5, .purpose = RDK_FOR_TEST, .step = 2};
    rdk_draws d = rdk_draws_at(s, (uint64_t)number);
    for (int i = 0; i < N_LEAVES; i++) {
        leaf[i] = (rdk_tensor){.data = data[i], .needs_grad = true};
        leaf[i].n_dims = 1 + (int)rdk_draw_below(&d, 3);
        for (int j = 0; j < leaf[i].n_dims; j++) leaf[i].dim[j] = draw_dim(&d);
        for (size_t j = 0; j < rdk_size(&leaf[i]); j++) data[i][j] = 0.6 * rdk_draw_normal(&d);
    }
}

START_TEST(random_graph)
{
    rdk_real data[N_LEAVES][125];
    rdk_tensor leaf[N_LEAVES], *at[] = {&leaf[0], &leaf[1], &leaf[2]};
    draw_leaves(_i, leaf, data);
    rdk_status status = {.code = RDK_OK};
    rdk_check_result r;
    bool ran = rdk_gradcheck(build, &_i, N_LEAVES, at, 1e-5, 20, &r, &status);
    ck_assert_msg(ran, "graph %d: %s", _i, status.message);
    ck_assert_msg(r.worst_error <= 1e-6,
                  "graph %d: error %.3g in leaf %d at %zu: backward says %.12g, differences %.12g",
                  _i, r.worst_error, r.worst_leaf, r.worst_at, r.analytic, r.numeric);
}
END_TEST

START_TEST(random_graph_on_a_frugal_tape)
{
    rdk_real data[N_LEAVES][125], grad[2][N_LEAVES][125] = {{{0}}};
    rdk_tensor leaf[N_LEAVES], *at[] = {&leaf[0], &leaf[1], &leaf[2]};
    draw_leaves(_i, leaf, data);
    rdk_tape *t = rdk_tape_new(NULL);
    for (int frugal = 0; frugal < 2; frugal++) {
        for (int i = 0; i < N_LEAVES; i++) leaf[i].grad = grad[frugal][i];
        rdk_tape_frugal(t, frugal);
        rdk_tensor *y = build(t, at, &_i);
        rdk_real dy[MOST_SIZE];
        for (size_t i = 0; i < MOST_SIZE; i++) dy[i] = 1 + 0.1 * (rdk_real)i;
        ck_assert(y && rdk_size(y) <= MOST_SIZE);
        ck_assert(rdk_tape_backward_from(t, y, dy));
        rdk_tape_reset(t);
    }
    ck_assert_mem_eq(grad[0], grad[1], sizeof grad[0]);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("tape: random graphs", {
    ADD_LOOP(random_graph, N_GRAPHS);
    ADD_LOOP(random_graph_on_a_frugal_tape, 10 * N_GRAPHS);
})
