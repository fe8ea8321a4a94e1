/* SPDX-License-Identifier: MIT
 * The tape: gradients of small graphs, by hand.
 * Read next: test_tape_states.c, test_tape_memory.c. */
#include "tape_fixture.h"

#include <sys/resource.h>

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
})
