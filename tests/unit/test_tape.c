/* SPDX-License-Identifier: MIT
 * The tape: gradients of small graphs by hand, its states and errors, its memory. */
#include <rootdk/ops.h>

#include <errno.h>
#include <sys/resource.h>

#include "harness.h"

#define DIMS(...)                                                                                  \
    (const size_t[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static rdk_tape *new_tape(void)
{
    rdk_status s = {.code = RDK_OK};
    rdk_tape *t = rdk_tape_new(&s);
    ck_assert_msg(t != NULL, "%s", s.message);
    return t;
}

static rdk_tensor *scalar(rdk_tape *t, double x)
{
    const rdk_real value = (rdk_real)x;
    return rdk_tape_leaf(t, 0, NULL, &value, true);
}

/* 1, 2, 3, .. */
static rdk_tensor *counting(rdk_tape *t, int n_dims, const size_t *dim)
{
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = (rdk_real)(i + 1);
    return x;
}

static void assert_values(const rdk_real *got, size_t n, const double *want)
{
    ck_assert_ptr_nonnull(got);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs((double)got[i] - want[i]) <= 1e-5 * fmax(1, fabs(want[i])),
                      "element %zu is %.9g, not %.9g", i, (double)got[i], want[i]);
    }
}
#define ASSERT_VALUES(got, ...)                                                                    \
    assert_values(got, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

#define ASSERT_OK(t) ck_assert_msg(rdk_tape_alive(t), "%s", rdk_tape_status(t)->message)

static void assert_fails(const rdk_tape *t, rdk_code code, const char *a, const char *b)
{
    const rdk_status *s = rdk_tape_status(t);
    ck_assert_msg(s->code == code, "status %d (%s), not %d", s->code, s->message, code);
    ck_assert_msg(strstr(s->message, a) != NULL, "'%s' lacks '%s'", s->message, a);
    ck_assert_msg(strstr(s->message, b) != NULL, "'%s' lacks '%s'", s->message, b);
}

/* ---- small graphs ---------------------------------------------------------------------------- */

START_TEST(shared_node_counts_once_in_each_use)
{
    rdk_tape *t = new_tape();
    rdk_tape_keep_gradients(t, true);
    rdk_tensor *x = scalar(t, 2), *y = rdk_scale(t, x, 3);
    rdk_tensor *c = rdk_add(t, rdk_scale(t, y, 2), rdk_scale(t, y, 5));
    ck_assert(rdk_tape_backward(t, c));
    ASSERT_VALUES(c->data, 42);
    ASSERT_VALUES(x->grad, 21);

    rdk_tape_reset(t);
    rdk_tensor *a = scalar(t, 1), *b = rdk_add(t, a, a);
    ck_assert(rdk_tape_backward(t, rdk_add(t, b, b)));
    ASSERT_VALUES(b->grad, 2);
    ASSERT_VALUES(a->grad, 4);
    rdk_tape_free(t);
}
END_TEST

START_TEST(three_consumers_and_a_dead_branch)
{
    rdk_tape *t = new_tape();
    rdk_tape_keep_gradients(t, true);
    rdk_tensor *x = scalar(t, 3), *y = rdk_mul(t, x, x);
    rdk_tensor *dead = rdk_exp(t, y);
    rdk_tensor *sum = rdk_add(t, rdk_mul(t, y, y), rdk_add(t, rdk_scale(t, y, 4), y));
    ck_assert(rdk_tape_backward(t, sum));
    ASSERT_VALUES(y->grad, 2 * 9 + 4 + 1); /* d(y^2 + 4y + y)/dy at y = 9 */
    ASSERT_VALUES(x->grad, 23 * 2 * 3);
    ck_assert_ptr_null(dead->grad);
    rdk_tape_free(t);
}
END_TEST

START_TEST(view_shares_values_and_gradient)
{
    rdk_tape *t = new_tape();
    rdk_tape_keep_gradients(t, true);
    rdk_tensor *x = counting(t, 2, DIMS(2, 3));
    rdk_tensor *y = rdk_scale(t, x, 2);
    rdk_tensor *flat = rdk_reshape(t, y, 1, DIMS(6)), *back = rdk_reshape(t, flat, 2, DIMS(3, 2));
    ck_assert_ptr_eq(flat->data, y->data);
    ck_assert_ptr_eq(back->view_of, y);
    /* y itself is never an input below: its gradient arrives through views alone */
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_mul(t, back, back))));
    ASSERT_VALUES(y->grad, 4, 8, 12, 16, 20, 24);
    ASSERT_VALUES(x->grad, 8, 16, 24, 32, 40, 48);
    rdk_tape_free(t);
}
END_TEST

/* A chain of forks behind a view, once with all gradients kept and once with their memory used
 * again: the leaf's are the same bits, those on the way are gone, and it needs less. */
START_TEST(gradients_on_the_way_are_given_back)
{
    enum { N = 4096, LINKS = 50 };
    rdk_tape *tape[2] = {new_tape(), new_tape()};
    rdk_tensor *x[2];
    for (int keep = 0; keep <= 1; keep++) {
        rdk_tape *t = tape[keep];
        rdk_tape_keep_gradients(t, keep);
        x[keep] = counting(t, 1, DIMS(N));
        rdk_tensor *y = rdk_tanh(t, rdk_scale(t, x[keep], 0.001));
        for (int i = 0; i < LINKS; i++) y = rdk_add(t, rdk_scale(t, y, 0.5), rdk_tanh(t, y));
        rdk_tensor *folded = rdk_reshape(t, y, 2, DIMS(2, N / 2));
        ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_mul(t, folded, folded))));
        ck_assert_int_eq(y->grad != NULL, keep);
    }
    ck_assert(memcmp(x[0]->grad, x[1]->grad, N * sizeof(rdk_real)) == 0);
    ck_assert_uint_lt(rdk_tape_bytes(tape[0]), rdk_tape_bytes(tape[1]));
    rdk_tape_free(tape[0]);
    rdk_tape_free(tape[1]);
}
END_TEST

START_TEST(view_of_a_parameter_adds_into_its_gradient)
{
    rdk_real data[4] = {1, 2, 3, 4}, grad[4] = {10, 10, 10, 10};
    rdk_tensor w = {.data = data, .grad = grad, .n_dims = 2, .dim = {2, 2}, .needs_grad = true};
    rdk_tape *t = new_tape();
    rdk_tensor *flat = rdk_reshape(t, &w, 1, DIMS(4));
    ck_assert(rdk_tape_backward(
        t, rdk_sum_all(t, rdk_add(t, rdk_mul(t, flat, flat), rdk_reshape(t, &w, 1, DIMS(4))))));
    ASSERT_VALUES(grad, 13, 15, 17, 19);
    rdk_tape_free(t);
}
END_TEST

/* An op of one's own may record a view as its result: its gradient is the root's. */
static void view_backward(rdk_tape *t, const rdk_node *n)
{
    rdk_real *dx = rdk_grad(t, n->in[0]);
    for (size_t i = 0; i < rdk_size(n->out); i++) dx[i] += 5 * n->out->grad[i];
}

START_TEST(recorded_view_passes_the_gradient_of_its_root)
{
    static const rdk_op op = {"view", "y = 5 x as a view of y", view_backward};
    rdk_tape *t = new_tape();
    rdk_tensor *x = counting(t, 1, DIMS(2)), *y = rdk_tape_tensor(t, 1, DIMS(2));
    for (int i = 0; i < 2; i++) y->data[i] = 5 * x->data[i];
    y->needs_grad = true;
    rdk_tensor *view = rdk_reshape(t, y, 2, DIMS(1, 2));
    ck_assert_ptr_eq(rdk_tape_record(t, &op, view, 1, &x, NULL), view);
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_mul(t, y, y)))); /* view itself is not used */
    ASSERT_VALUES(x->grad, 50, 100);
    rdk_tape_free(t);
}
END_TEST

START_TEST(upstream_gradient)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = counting(t, 1, DIMS(3));
    const rdk_real dy[3] = {1, 0, -2};
    ck_assert(rdk_tape_backward_from(t, rdk_mul(t, x, x), dy));
    ASSERT_VALUES(x->grad, 2, 0, -12);
    rdk_tape_free(t);
}
END_TEST

START_TEST(broadcast_gradients_have_the_shape_of_the_value)
{
    rdk_tape *t = new_tape();
    rdk_tensor *a = counting(t, 2, DIMS(4, 1)), *b = counting(t, 2, DIMS(1, 4));
    rdk_tensor *y = rdk_mul(t, a, b);
    ck_assert(y->n_dims == 2 && y->dim[0] == 4 && y->dim[1] == 4);
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, y)));
    ASSERT_VALUES(a->grad, 10, 10, 10, 10);
    ASSERT_VALUES(b->grad, 10, 10, 10, 10);

    rdk_tape_reset(t);
    rdk_tensor *one = counting(t, 1, DIMS(1)), *many = counting(t, 2, DIMS(5, 4));
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_mul(t, one, many))));
    ASSERT_VALUES(one->grad, 210);
    for (int i = 0; i < 20; i++) ck_assert(many->grad[i] == 1);

    rdk_tape_reset(t);
    rdk_tensor *x = counting(t, 2, DIMS(3, 2)), *bias = counting(t, 1, DIMS(2));
    y = rdk_add(t, x, bias);
    ASSERT_VALUES(y->data, 2, 4, 4, 6, 6, 8);
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, y)));
    ASSERT_VALUES(bias->grad, 3, 3);
    rdk_tape_free(t);
}
END_TEST

START_TEST(reductions_over_one_axis)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = rdk_tape_leaf(t, 1, DIMS(5), (const rdk_real[]){1, 2, 3, 4, 10}, true);
    rdk_tensor *mean = rdk_mean(t, x, 0);
    ck_assert_int_eq(mean->n_dims, 0);
    ASSERT_VALUES(mean->data, 4);
    ck_assert(rdk_tape_backward(t, mean));
    ASSERT_VALUES(x->grad, 0.2, 0.2, 0.2, 0.2, 0.2);

    rdk_tape_reset(t);
    x = counting(t, 3, DIMS(2, 3, 2));
    ASSERT_VALUES(rdk_sum(t, x, 0)->data, 8, 10, 12, 14, 16, 18);
    ASSERT_VALUES(rdk_sum(t, x, 1)->data, 9, 12, 27, 30);
    ASSERT_VALUES(rdk_sum(t, x, -1)->data, 3, 7, 11, 15, 19, 23);
    ASSERT_VALUES(rdk_max(t, x, -2)->data, 5, 6, 11, 12);
    ASSERT_VALUES(rdk_sum(t, rdk_tape_leaf(t, 2, DIMS(0, 2), NULL, true), 0)->data, 0, 0);
    ASSERT_OK(t);
    rdk_tape_free(t);
}
END_TEST

START_TEST(maximum_passes_its_gradient_to_the_first)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = rdk_tape_leaf(t, 1, DIMS(4), (const rdk_real[]){1, 7, 7, 2}, true);
    ck_assert(rdk_tape_backward(t, rdk_max(t, x, 0)));
    ASSERT_VALUES(x->grad, 0, 1, 0, 0);
    rdk_tape_reset(t);
    x = rdk_tape_leaf(t, 1, DIMS(3), (const rdk_real[]){1, (rdk_real)NAN, 2}, true);
    ck_assert(isnan(rdk_max(t, x, 0)->data[0]));
    rdk_tape_free(t);
}
END_TEST

START_TEST(chain_of_a_million_under_a_small_stack)
{
    enum { LENGTH = 1000000, SMALL_STACK = 256 * 1024 };
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &before), 0);
    small = before;
    small.rlim_cur = SMALL_STACK;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &small), 0);

    rdk_tape *t = new_tape();
    rdk_tensor *x = scalar(t, 1), *step = rdk_tape_leaf(t, 0, NULL, NULL, false), *y = x;
    for (int i = 0; i < LENGTH; i++) y = rdk_add(t, y, step);
    ASSERT_OK(t);
    ck_assert_uint_eq(rdk_tape_length(t), LENGTH);
    ck_assert(rdk_tape_backward(t, y));
    ASSERT_VALUES(x->grad, 1);
    rdk_tape_free(t);
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &before), 0);
}
END_TEST

/* ---- states and errors ----------------------------------------------------------------------- */

START_TEST(second_backward_is_an_error)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = scalar(t, 2), *y = rdk_mul(t, x, x);
    ck_assert(rdk_tape_backward(t, y));
    ck_assert(!rdk_tape_backward(t, y));
    assert_fails(t, RDK_ESTATE, "already", "rdk_tape_reset");
    ASSERT_VALUES(x->grad, 4); /* as the first one left it */

    rdk_tape_reset(t);
    x = scalar(t, 2);
    ck_assert(rdk_tape_backward(t, rdk_mul(t, x, x)));
    ck_assert_ptr_null(rdk_mul(t, x, x));
    assert_fails(t, RDK_ESTATE, "cannot record mul", "rdk_tape_reset");
    rdk_tape_free(t);
}
END_TEST

START_TEST(backward_of_what_has_no_gradient)
{
    rdk_tape *t = new_tape(), *other = new_tape();
    ck_assert(!rdk_tape_backward(t, rdk_exp(t, rdk_tape_leaf(t, 0, NULL, NULL, false))));
    assert_fails(t, RDK_ESTATE, "backward of []", "does not need a gradient");

    rdk_tape_reset(t);
    ck_assert(!rdk_tape_backward(t, rdk_exp(t, counting(t, 2, DIMS(2, 3)))));
    assert_fails(t, RDK_ESHAPE, "[2, 3]", "exactly one element");

    rdk_tape_reset(t);
    ck_assert(!rdk_tape_backward(t, rdk_exp(other, scalar(other, 1))));
    assert_fails(t, RDK_ESTATE, "no call recorded on this tape", "another tape");

    rdk_tape_reset(t);
    ck_assert(!rdk_tape_backward(t, NULL));
    assert_fails(t, RDK_EVALUE, "backward of no tensor", "NULL");
    rdk_tape_free(t);
    rdk_tape_free(other);
}
END_TEST

START_TEST(not_recording)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = scalar(t, 3);
    rdk_tape_recording(t, false);
    rdk_tensor *constant = rdk_mul(t, x, x);
    ASSERT_VALUES(constant->data, 9);
    ck_assert(!constant->needs_grad);
    ck_assert_uint_eq(rdk_tape_length(t), 0);
    rdk_tape_recording(t, true);
    ck_assert(rdk_tape_backward(t, rdk_mul(t, constant, x)));
    ASSERT_VALUES(x->grad, 9);
    ck_assert_ptr_null(constant->grad);
    rdk_tape_free(t);
}
END_TEST

START_TEST(first_nonfinite_names_the_node)
{
    rdk_tape *t = new_tape();
    size_t at = 99;
    rdk_tensor *x = rdk_tape_leaf(t, 1, DIMS(3), (const rdk_real[]){1, 2000, 3}, true);
    rdk_tape_scope(t, "layer %d mlp", 0);
    rdk_tensor *y = rdk_scale(t, x, 1);
    ck_assert_ptr_null(rdk_tape_first_nonfinite(t, &at));
    rdk_tape_scope(t, "layer %d mlp", 1);
    rdk_tensor *z = rdk_exp(t, y);
    rdk_scale(t, z, 2);
    const rdk_node *n = rdk_tape_first_nonfinite(t, &at);
    ck_assert_ptr_nonnull(n);
    ck_assert_str_eq(n->op->name, "exp");
    ck_assert_str_eq(n->scope, "layer 1 mlp");
    ck_assert_ptr_eq(n->out, z);
    ck_assert_uint_eq(at, 1);
    ck_assert_str_eq(rdk_tape_node(t, 0)->scope, "layer 0 mlp");
    ck_assert_ptr_null(rdk_tape_node(t, 3));
    rdk_tape_free(t);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* The one call by which src/base asks for memory, counted. */
static size_t heap_calls;

int posix_memalign(void **p, size_t alignment, size_t size)
{
    heap_calls++;
    *p = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return *p ? 0 : ENOMEM;
}

static rdk_tensor *step(rdk_tape *t, rdk_tensor *w)
{
    enum { B = 3, T = 17, D = 8 };
    int32_t ids[B * T], targets[B * T];
    for (int i = 0; i < B * T; i++) ids[i] = i % D, targets[i] = (i + 1) % D;
    rdk_tensor *x = rdk_embedding(t, w, ids, 2, DIMS(B, T));
    for (int layer = 0; layer < 40; layer++) {
        rdk_tape_scope(t, "layer %d", layer % 4);
        rdk_attention_args args = {.n_heads = 2, .scale = 0.5, .causal = true, .dropout = 0.1};
        rdk_tensor *q =
            rdk_rope(t, rdk_reshape(t, rdk_linear(t, x, w, NULL), 4, DIMS(B, T, 2, 4)), 100);
        q = rdk_reshape(t, q, 3, DIMS(B, T, D));
        x = rdk_add(t, x, rdk_attention(t, q, x, rdk_dropout(t, x, 0.1), &args));
        x = rdk_layer_norm(t, rdk_gelu(t, rdk_linear(t, x, w, NULL)), NULL, NULL, 1e-5);
        x = rdk_mul(t, x, rdk_transpose(t, rdk_transpose(t, x, 0, 1), 0, 1));
    }
    return rdk_cross_entropy(t, rdk_linear(t, x, w, NULL), targets, B * T, NULL, NULL);
}

START_TEST(steady_memory)
{
    rdk_real data[64], grad[64] = {0};
    for (int i = 0; i < 64; i++) data[i] = (rdk_real)(0.1 * sin(i));
    rdk_tensor w = {.data = data, .grad = grad, .n_dims = 2, .dim = {8, 8}, .needs_grad = true};
    const rdk_stream stream = {.seed = 1, .purpose = RDK_FOR_DROPOUT};
    rdk_tape *t = new_tape();
    size_t bytes = 0, calls = 0;
    for (int i = 0; i < 30; i++) {
        rdk_tape_training(t, true, stream, 0);
        ck_assert_msg(rdk_tape_backward(t, step(t, &w)), "%s", rdk_tape_status(t)->message);
        rdk_tape_reset(t);
        rdk_tape_recording(t, false); /* evaluation on the same tape */
        ck_assert_ptr_nonnull(step(t, &w));
        rdk_tape_recording(t, true);
        rdk_tape_reset(t);
        if (i == 1) {
            bytes = rdk_tape_bytes(t);
            calls = heap_calls;
        }
    }
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_eq(heap_calls, calls);
    ck_assert_uint_eq(rdk_tape_bytes(t), bytes);
    rdk_tape_free(t);
}
END_TEST

START_TEST(threads_change_no_bit)
{
    rdk_real data[64], grad[64], want[64], loss = 0;
    for (int i = 0; i < 64; i++) data[i] = (rdk_real)(0.1 * sin(i));
    rdk_tensor w = {.data = data, .grad = grad, .n_dims = 2, .dim = {8, 8}, .needs_grad = true};
    const int before = rdk_threads(), threads[] = {1, 2, 3, 8};
    rdk_tape *t = new_tape();
    for (int i = 0; i < 4; i++) {
        rdk_threads_set(threads[i]);
        memset(grad, 0, sizeof grad);
        rdk_tape_training(t, true, (rdk_stream){.seed = 1, .purpose = RDK_FOR_DROPOUT}, 0);
        rdk_tensor *y = step(t, &w);
        ck_assert_msg(rdk_tape_backward(t, y), "%s", rdk_tape_status(t)->message);
        if (i == 0) {
            loss = y->data[0];
            memcpy(want, grad, sizeof want);
        }
        ck_assert(y->data[0] == loss && memcmp(grad, want, sizeof want) == 0);
        rdk_tape_reset(t);
    }
    rdk_threads_set(before);
    rdk_tape_free(t);
}
END_TEST

START_TEST(scopes_are_kept_once)
{
    rdk_tape *t = new_tape();
    rdk_tensor *x = scalar(t, 1);
    rdk_tape_scope(t, "block %d", 3);
    rdk_exp(t, x);
    const char *first = rdk_tape_node(t, 0)->scope;
    size_t bytes = rdk_tape_bytes(t);
    for (int i = 0; i < 200000; i++) rdk_tape_scope(t, "block %d", i % 4);
    rdk_tape_scope(t, "block %d", 3);
    rdk_exp(t, x);
    ck_assert_ptr_eq(rdk_tape_node(t, 1)->scope, first);
    ck_assert_uint_eq(rdk_tape_bytes(t), bytes);
    rdk_tape_free(t);
}
END_TEST

/* ---- dropout --------------------------------------------------------------------------------- */

static rdk_tensor *ones(rdk_tape *t, size_t n)
{
    rdk_tensor *x = rdk_tape_leaf(t, 1, &n, NULL, true);
    for (size_t i = 0; i < n; i++) x->data[i] = 1;
    return x;
}

static size_t agreements(const rdk_tensor *a, const rdk_tensor *b)
{
    size_t same = 0;
    for (size_t i = 0; i < rdk_size(a); i++) same += a->data[i] == b->data[i];
    return same;
}

START_TEST(dropout_draws_anew_each_call)
{
    enum { N = 4096 };
    const rdk_stream stream = {.seed = 3, .purpose = RDK_FOR_DROPOUT, .step = 5};
    rdk_stream next = stream;
    next.step = 6;
    rdk_tape *t = new_tape();
    rdk_tensor *x = ones(t, N);
    ck_assert_ptr_eq(rdk_dropout(t, x, 0.5), x); /* not training */

    rdk_tape_training(t, true, stream, 0);
    rdk_tensor *first = rdk_dropout(t, x, 0.5), *second = rdk_dropout(t, x, 0.5);
    rdk_tape_training(t, true, stream, 0);
    rdk_tensor *again = rdk_dropout(t, x, 0.5);
    rdk_tape_training(t, true, stream, 1);
    rdk_tensor *part = rdk_dropout(t, x, 0.5);
    rdk_tape_training(t, true, next, 0);
    rdk_tensor *later = rdk_dropout(t, x, 0.5);
    ASSERT_OK(t);

    ck_assert_uint_eq(agreements(first, again), N);
    /* independent coins agree half of the time: 2048 +- 5 standard deviations of 32 */
    const rdk_tensor *others[] = {second, part, later};
    for (int i = 0; i < 3; i++) {
        size_t same = agreements(first, others[i]);
        ck_assert_msg(same > 2048 - 160 && same < 2048 + 160, "other %d: %zu agree", i, same);
    }
    rdk_tape_free(t);
}
END_TEST

START_TEST(dropout_keeps_the_mean)
{
    enum { N = 100000 };
    rdk_tape *t = new_tape();
    rdk_tape_training(t, true, (rdk_stream){.seed = 3, .purpose = RDK_FOR_DROPOUT}, 0);
    rdk_tensor *x = ones(t, N), *y = rdk_dropout(t, x, 0.25);
    ck_assert(rdk_tape_backward(t, rdk_mean_all(t, y)));
    double mean = 0;
    for (int i = 0; i < N; i++) {
        mean += (double)y->data[i] / N;
        ck_assert(y->data[i] == 0 || fabs((double)y->data[i] - 4.0 / 3) < 1e-6);
        ck_assert_close((double)x->grad[i], (double)y->data[i] / N, 1e-5, 1e-9);
    }
    ck_assert_close(mean, 1.0, 0.01, 1.0);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("tape", {
    ADD(shared_node_counts_once_in_each_use);
    ADD(three_consumers_and_a_dead_branch);
    ADD(view_shares_values_and_gradient);
    ADD(gradients_on_the_way_are_given_back);
    ADD(view_of_a_parameter_adds_into_its_gradient);
    ADD(recorded_view_passes_the_gradient_of_its_root);
    ADD(upstream_gradient);
    ADD(broadcast_gradients_have_the_shape_of_the_value);
    ADD(reductions_over_one_axis);
    ADD(maximum_passes_its_gradient_to_the_first);
    ADD(chain_of_a_million_under_a_small_stack);
    ADD(second_backward_is_an_error);
    ADD(backward_of_what_has_no_gradient);
    ADD(not_recording);
    ADD(first_nonfinite_names_the_node);
    ADD(steady_memory);
    ADD(threads_change_no_bit);
    ADD(scopes_are_kept_once);
    ADD(dropout_draws_anew_each_call);
    ADD(dropout_keeps_the_mean);
})
