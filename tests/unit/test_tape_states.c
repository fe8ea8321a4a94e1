/* SPDX-License-Identifier: MIT
 * The tape: its states, and errors that name what they met.
 * Read next: test_tape_memory.c. */
#include "tape_fixture.h"

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

/* 1 + 2^-9 lies between two bfloat16, 1 and 1 + 2^-7, and nearer to 1. */
START_TEST(products_are_of_the_precision_that_is_set)
{
    const rdk_real between = 1 + (rdk_real)0x1p-9;
    rdk_tape *t = new_tape();
    for (int i = 0; i < 4; i++) {
        if (i == 1) rdk_tape_products(t, RDK_BF16); /* and still over the next reset */
        if (i == 3) rdk_tape_products(t, RDK_FLOAT);
        rdk_tensor *x = rdk_tape_leaf(t, 2, DIMS(1, 1), &between, true);
        rdk_tensor *y = rdk_matmul(t, x, false, x, false);
        ck_assert_ptr_nonnull(y);
        ck_assert(y->data[0] == (i == 1 || i == 2 ? 1 : between * between));
        ck_assert(rdk_tape_precision(t) == (i == 1 || i == 2 ? RDK_BF16 : RDK_FLOAT));
        rdk_tape_reset(t);
    }
    rdk_tape_products(t, (rdk_precision)2);
    ck_assert_int_eq(rdk_tape_status(t)->code, RDK_EVALUE);
    ck_assert(rdk_tape_precision(t) == RDK_FLOAT);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("tape states", {
    ADD(second_backward_is_an_error);
    ADD(backward_of_what_has_no_gradient);
    ADD(not_recording);
    ADD(first_nonfinite_names_the_node);
    ADD(products_are_of_the_precision_that_is_set);
})
