/* SPDX-License-Identifier: MIT
 * The tape over many steps: no memory asked for, no bit that depends on threads, dropout drawn
 * anew.
 * Read next: test_tape_profile.c. */
#include "tape_fixture.h"

#include <errno.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* The two calls by which src/base asks for memory, counted. */
static size_t heap_calls;

void *calloc(size_t count, size_t size)
{
    heap_calls++;
    if (size > 0 && count > PTRDIFF_MAX / size) return NULL;
    size_t bytes = (count * size / 64 + 1) * 64;
    void *p = aligned_alloc(64, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

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
            rdk_rope(t, rdk_reshape(t, rdk_linear(t, x, w, NULL), 4, DIMS(B, T, 2, 4)), 0, 100);
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

/* Of a frugal tape: all that calls made is gone, but what backward began with; leaves stay. */
START_TEST(frugal_data_are_gone_after_backward)
{
    static const bool modes[][2] = {
        {false, false}, {true, false}, {true, true}}; /* frugal, keeps */
    rdk_real data[64], grad[64] = {0}, before[3 * 17 * 8];
    for (int i = 0; i < 64; i++) data[i] = (rdk_real)(0.1 * sin(i));
    rdk_tensor w = {.data = data, .grad = grad, .n_dims = 2, .dim = {8, 8}, .needs_grad = true};
    rdk_tape *t = new_tape();
    rdk_tape_frugal(t, modes[_i][0]);
    rdk_tape_keep_gradients(t, modes[_i][1]);
    rdk_tensor *loss = step(t, &w), *first = rdk_tape_node(t, 0)->out;
    const rdk_real value = loss->data[0];
    memcpy(before, first->data, sizeof before);
    ck_assert(rdk_tape_backward(t, loss));
    ck_assert(loss->data[0] == value && data[1] == (rdk_real)(0.1 * sin(1)));
    bool gone = modes[_i][0] && !modes[_i][1];
    for (size_t i = 0; i + 1 < rdk_tape_length(t); i++)
        ck_assert_int_eq(!rdk_tape_node(t, i)->out->data, gone);
    if (!gone) ck_assert_mem_eq(first->data, before, sizeof before);
    ck_assert_ptr_null(rdk_tape_first_nonfinite(t, NULL));
    rdk_tape_free(t);
}
END_TEST

/* One gradient of its size, that of y, is all that is made on the way back through layers. */
START_TEST(gradients_take_the_place_of_data)
{
    enum { SIDE = 256, LAYERS = 8, OF_ONE = SIDE * SIDE * sizeof(rdk_real) };
    size_t bytes[2];
    rdk_tensor w = {.n_dims = 2, .dim = {SIDE, SIDE}, .needs_grad = true};
    w.data = rdk_alloc(2, OF_ONE, NULL);
    w.grad = w.data + SIDE * SIDE;
    for (int frugal = 0; frugal < 2; frugal++) {
        rdk_tape *t = new_tape();
        rdk_tape_frugal(t, frugal);
        rdk_tensor *x = rdk_tape_leaf(t, 2, DIMS(SIDE, SIDE), NULL, false);
        for (int i = 0; i < LAYERS; i++) x = rdk_linear(t, x, &w, NULL);
        rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
        ck_assert(rdk_tape_backward_from(t, x, w.data));
        rdk_arena_mark end = rdk_arena_mark_here(rdk_tape_arena(t));
        ck_assert_ptr_eq(mark.block, end.block);
        bytes[frugal] = end.used - mark.used;
        rdk_tape_free(t);
    }
    ck_assert_uint_eq(bytes[0], 2 * OF_ONE);
    ck_assert_uint_eq(bytes[1], OF_ONE);
    rdk_free(w.data);
}
END_TEST

/* What another call, a view beside it or the op that made it still reads is not written over. */
START_TEST(what_is_read_again_is_not_written_over)
{
    rdk_real grad[2][64], data[64];
    rdk_tensor w = {.data = data, .n_dims = 2, .dim = {8, 8}, .needs_grad = true};
    for (int i = 0; i < 64; i++) data[i] = (rdk_real)(0.3 * sin(i));
    rdk_tape *t = new_tape();
    for (int frugal = 0; frugal < 2; frugal++) {
        memset(grad[frugal], 0, sizeof grad[frugal]);
        w.grad = grad[frugal];
        rdk_tape_frugal(t, frugal);
        rdk_tensor *x = rdk_linear(t, &w, &w, NULL);                      /* twice */
        rdk_tensor *y = rdk_linear(t, x, x, NULL);                        /* twice, on the tape */
        y = rdk_linear(t, rdk_softmax(t, y), &w, NULL);                   /* read by its own op */
        y = rdk_linear_add(t, y, &w, NULL, y);                            /* beside itself */
        y = rdk_linear(t, rdk_reshape(t, y, 3, DIMS(2, 4, 8)), &w, NULL); /* a view alone */
        rdk_tensor *z = rdk_reshape(t, y, 2, DIMS(8, 8));
        rdk_tensor *part = rdk_slice(t, z, 0, 2, 6); /* its data are z's */
        z = rdk_add(t, rdk_linear(t, part, &w, NULL), rdk_linear(t, part, z, NULL));
        z = rdk_linear_map(t, z, &w, NULL, RDK_RELU);
        z = rdk_linear_map(t, z, &w, NULL, RDK_GELU);
        z = rdk_linear(t, rdk_mul(t, z, z), &w, NULL);
        ck_assert(rdk_tape_backward(t, rdk_mean_all(t, z)));
        rdk_tape_reset(t);
    }
    ck_assert_mem_eq(grad[0], grad[1], sizeof grad[0]);
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

RDK_TEST_MAIN("tape memory", {
    ADD(steady_memory);
    ADD(threads_change_no_bit);
    ADD_LOOP(frugal_data_are_gone_after_backward, 3);
    ADD(gradients_take_the_place_of_data);
    ADD(what_is_read_again_is_not_written_over);
    ADD(scopes_are_kept_once);
    ADD(dropout_draws_anew_each_call);
    ADD(dropout_keeps_the_mean);
})
