/* SPDX-License-Identifier: MIT
 * What must count for nothing does: ignored targets, padding, the future, measuring. And what must
 * count once does: micro-batches, a tied parameter. */
#include <rootdk/ops.h>

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

/* ---- loss ------------------------------------------------------------------------------------ */

START_TEST(uniform_logits_cost_ln_v)
{
    enum { V = 65 };
    rdk_tape *t = new_tape();
    rdk_tensor *logits = rdk_tape_leaf(t, 2, DIMS(2, V), NULL, true);
    rdk_real nll[2];
    int32_t best[2];
    rdk_tensor *loss = rdk_cross_entropy(t, logits, (int32_t[]){0, V - 1}, 2, nll, best);
    ck_assert_close((double)loss->data[0], log(V), 1e-6, 1);
    ck_assert_close((double)nll[1], log(V), 1e-6, 1);
    ck_assert_int_eq(best[0], 0);
    ck_assert(rdk_tape_backward(t, loss));
    double sum = 0;
    for (int j = 0; j < V; j++) sum += (double)logits->grad[j];
    ck_assert(fabs(sum) < 1e-6);
    ck_assert_close((double)logits->grad[0], (1.0 / V - 1) / 2, 1e-5, 1e-9);
    rdk_tape_free(t);
}
END_TEST

START_TEST(ignored_rows_cost_nothing)
{
    rdk_tape *t = new_tape();
    const rdk_real values[] = {1, 2, 3, (rdk_real)NAN, 7, (rdk_real)INFINITY, 2, 0, 1};
    rdk_tensor *logits = rdk_tape_leaf(t, 2, DIMS(3, 3), values, true);
    rdk_real nll[3];
    rdk_tensor *loss = rdk_cross_entropy(t, logits, (int32_t[]){2, RDK_IGNORE, 0}, 2, nll, NULL);
    double row_0 = log(1 + exp(-1) + exp(-2)), row_2 = log(1 + exp(-2) + exp(-1));
    ck_assert_close((double)loss->data[0], (row_0 + row_2) / 2, 1e-6, 1);
    ck_assert(nll[1] == 0);
    ck_assert(rdk_tape_backward(t, loss));
    for (int j = 3; j < 6; j++) ck_assert(logits->grad[j] == 0);

    rdk_tape_reset(t);
    logits = rdk_tape_leaf(t, 2, DIMS(3, 3), values, true);
    const int32_t none[] = {RDK_IGNORE, RDK_IGNORE, RDK_IGNORE};
    loss = rdk_cross_entropy(t, logits, none, 1, NULL, NULL);
    ck_assert(loss->data[0] == 0);
    ck_assert(rdk_tape_backward(t, loss));
    for (int j = 0; j < 9; j++) ck_assert(logits->grad[j] == 0);
    rdk_tape_free(t);
}
END_TEST

/* Micro-batches of 1 and 9 counted rows add up to the batch of 10. */
START_TEST(micro_batches_add_up)
{
    enum { ROWS = 10, V = 4, D = 3 };
    rdk_real x[ROWS * D], data[V * D], whole[V * D] = {0}, parts[V * D] = {0};
    int32_t targets[ROWS];
    for (int i = 0; i < ROWS * D; i++) x[i] = (rdk_real)sin(1.3 * i);
    for (int i = 0; i < V * D; i++) data[i] = (rdk_real)cos(0.7 * i);
    for (int i = 0; i < ROWS; i++) targets[i] = i * 3 % V;
    rdk_tensor w = {.data = data, .grad = whole, .n_dims = 2, .dim = {V, D}, .needs_grad = true};

    rdk_tape *t = new_tape();
    rdk_tensor *batch = rdk_tape_leaf(t, 2, DIMS(ROWS, D), x, false);
    rdk_tensor *loss =
        rdk_cross_entropy(t, rdk_linear(t, batch, &w, NULL), targets, ROWS, NULL, NULL);
    double want = (double)loss->data[0], got = 0;
    ck_assert(rdk_tape_backward(t, loss));

    w.grad = parts;
    const int begin[] = {0, 1, ROWS};
    for (int m = 0; m < 2; m++) {
        rdk_tape_reset(t);
        batch = rdk_tape_leaf(t, 2, DIMS((size_t)(begin[m + 1] - begin[m]), D), x + begin[m] * D,
                              false);
        loss = rdk_cross_entropy(t, rdk_linear(t, batch, &w, NULL), targets + begin[m], ROWS, NULL,
                                 NULL);
        got += (double)loss->data[0];
        ck_assert(rdk_tape_backward(t, loss));
    }
    ck_assert_close(got, want, 1e-6, 1);
    for (int i = 0; i < V * D; i++) ck_assert_close((double)parts[i], (double)whole[i], 1e-5, 1e-2);
    rdk_tape_free(t);
}
END_TEST

/* One table as embedding and as head: its gradient is the sum of what two untied ones get. */
START_TEST(tied_parameter_gets_the_sum)
{
    enum { V = 5, D = 3, N = 4 };
    rdk_real data[V * D], tied[V * D] = {0}, in[V * D] = {0}, out[V * D] = {0};
    for (int i = 0; i < V * D; i++) data[i] = (rdk_real)sin(1 + 2.1 * i);
    const int32_t ids[N] = {0, 3, 3, 1}, targets[N] = {3, 3, 1, 4};
    rdk_tensor one = {.data = data, .grad = tied, .n_dims = 2, .dim = {V, D}, .needs_grad = true};
    rdk_tensor first = one, second = one;
    first.grad = in;
    second.grad = out;

    rdk_tape *t = new_tape();
    rdk_tensor *x = rdk_embedding(t, &one, ids, 1, DIMS(N));
    ck_assert(rdk_tape_backward(
        t, rdk_cross_entropy(t, rdk_linear(t, x, &one, NULL), targets, N, NULL, NULL)));
    rdk_tape_reset(t);
    x = rdk_embedding(t, &first, ids, 1, DIMS(N));
    ck_assert(rdk_tape_backward(
        t, rdk_cross_entropy(t, rdk_linear(t, x, &second, NULL), targets, N, NULL, NULL)));
    for (int i = 0; i < V * D; i++) {
        ck_assert_close((double)tied[i], (double)in[i] + (double)out[i], 1e-5, 1e-2);
    }
    ck_assert(in[0] != 0 && out[0] != 0);
    rdk_tape_free(t);
}
END_TEST

/* ---- attention ------------------------------------------------------------------------------- */

enum { B = 2, T = 9, H = 2, D = 6 };

static void fill(rdk_real *x, double phase)
{
    for (int i = 0; i < B * T * D; i++) x[i] = (rdk_real)(2 * sin(phase + 1.7 * i));
}

/* q, k, v with everything after position `last` replaced: 1 by nan, 2 by other numbers. */
static void look_ahead(rdk_tape *t, int replaced, size_t last, rdk_tensor *in[3], rdk_tensor **y)
{
    rdk_real data[B * T * D], dy[B * T * D];
    rdk_tape_reset(t);
    for (int k = 0; k < 3; k++) {
        fill(data, k);
        for (int i = 0; i < B * T * D; i++) {
            if (replaced && i / D % T > (int)last)
                data[i] = replaced == 1 ? (rdk_real)NAN : data[i] + k;
        }
        in[k] = rdk_tape_leaf(t, 3, DIMS(B, T, D), data, true);
    }
    const rdk_attention_args args = {.n_heads = H, .scale = 1, .causal = true};
    *y = rdk_attention(t, in[0], in[1], in[2], &args);
    fill(dy, 3);
    ck_assert(rdk_tape_backward_from(t, rdk_slice(t, *y, 1, 0, last + 1), dy));
}

/* What comes later changes no bit of an earlier output, nor of a gradient of earlier outputs. */
START_TEST(attention_never_looks_ahead)
{
    enum { LAST = 4 };
    rdk_tape *t = new_tape(), *other = new_tape();
    rdk_tensor *want[3], *got[3], *y, *z;
    look_ahead(t, 0, LAST, want, &y);
    for (int replaced = 1; replaced <= 2; replaced++) {
        look_ahead(other, replaced, LAST, got, &z);
        for (int i = 0; i < B * T * D; i++) {
            if (i / D % T <= LAST) ck_assert(y->data[i] == z->data[i]);
            for (int k = 0; k < 3 && replaced == 2; k++) {
                ck_assert(want[k]->grad[i] == got[k]->grad[i]);
                if (i / D % T > LAST) ck_assert(got[k]->grad[i] == 0);
            }
        }
    }
    rdk_tape_free(t);
    rdk_tape_free(other);
}
END_TEST

START_TEST(attention_never_reads_padding)
{
    const int32_t lengths[B] = {5, 0};
    rdk_real data[3][B * T * D], clean[B * T * D], grads[3][B * T * D];
    rdk_tape *t = new_tape();
    for (int causal = 0; causal < 2; causal++) {
        for (int spoilt = 0; spoilt < 2; spoilt++) {
            rdk_tape_reset(t);
            rdk_tensor *in[3];
            for (int k = 0; k < 3; k++) {
                fill(data[k], k);
                for (int i = 0; i < B * T * D; i++) {
                    if (spoilt && i / D % T >= lengths[i / (T * D)]) data[k][i] = (rdk_real)NAN;
                }
                in[k] = rdk_tape_leaf(t, 3, DIMS(B, T, D), data[k], true);
            }
            const rdk_attention_args args = {
                .n_heads = H, .scale = 0.4, .causal = causal, .lengths = lengths};
            rdk_tensor *y = rdk_attention(t, in[0], in[1], in[2], &args);
            ck_assert(rdk_tape_backward(t, rdk_sum_all(t, y)));
            for (int i = 0; i < B * T * D; i++) {
                if (i / D % T >= lengths[i / (T * D)]) {
                    ck_assert(y->data[i] == 0);
                    for (int k = 0; k < 3; k++) ck_assert(in[k]->grad[i] == 0);
                }
                for (int k = 0; k < 3; k++) {
                    if (!spoilt) grads[k][i] = in[k]->grad[i];
                    ck_assert(in[k]->grad[i] == grads[k][i]);
                }
                if (!spoilt) clean[i] = y->data[i];
                ck_assert(y->data[i] == clean[i]);
            }
        }
    }
    rdk_tape_free(t);
}
END_TEST

START_TEST(measuring_attention_changes_no_bit)
{
    rdk_real data[B * T * D], clean[B * T * D], grad[B * T * D];
    rdk_attention_row rows[B * H * T];
    fill(data, 0);
    rdk_tape *t = new_tape();
    for (int measured = 0; measured < 2; measured++) {
        rdk_tape_reset(t);
        rdk_tape_training(t, true, (rdk_stream){.seed = 1, .purpose = RDK_FOR_DROPOUT}, 0);
        rdk_tensor *x = rdk_tape_leaf(t, 3, DIMS(B, T, D), data, true);
        const rdk_attention_args args = {.n_heads = H,
                                         .scale = 1,
                                         .causal = true,
                                         .dropout = 0.2,
                                         .rows = measured ? rows : NULL};
        rdk_tensor *y = rdk_attention(t, x, x, x, &args);
        ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_mul(t, y, y))));
        for (int i = 0; i < B * T * D && measured; i++) {
            ck_assert(y->data[i] == clean[i] && x->grad[i] == grad[i]);
        }
        memcpy(clean, y->data, sizeof clean);
        memcpy(grad, x->grad, sizeof grad);
    }
    for (int i = 0; i < B * H * T; i++) ck_assert_int_eq(rows[i].n, i % T + 1);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("ops: masks and sums", {
    ADD(uniform_logits_cost_ln_v);
    ADD(ignored_rows_cost_nothing);
    ADD(micro_batches_add_up);
    ADD(tied_parameter_gets_the_sum);
    ADD(attention_never_looks_ahead);
    ADD(attention_never_reads_padding);
    ADD(measuring_attention_changes_no_bit);
})
