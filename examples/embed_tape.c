/* SPDX-License-Identifier: MIT
 * The tape alone: a network of one hidden layer learns sin(x) by gradient descent. No model, no
 * optimizer, no files: tensors of your own, ops, backward, an update written by hand.
 * Read beside it: docs/embedding.md.
 * Read next: embed_model.c. */
#include <math.h>
#include <stdio.h>

#include <rootdk/ops.h>

enum { POINTS = 64, HIDDEN = 16, STEPS = 4000 };
static const double RATE = 0.05, HALF_WIDTH = 3;

/* A parameter is a tensor whose values and gradient the caller owns. Both must outlive every tape
 * that they are used on; ops never write to the values. */
static rdk_real w1[HIDDEN], b1[HIDDEN], w2[HIDDEN], b2[1];
static rdk_real dw1[HIDDEN], db1[HIDDEN], dw2[HIDDEN], db2[1];
static rdk_tensor params[] = {
    {w1, dw1, 2, {HIDDEN, 1}, .needs_grad = true, .name = "w1"},
    {b1, db1, 1, {HIDDEN}, .needs_grad = true, .name = "b1"},
    {w2, dw2, 2, {1, HIDDEN}, .needs_grad = true, .name = "w2"},
    {b2, db2, 1, {1}, .needs_grad = true, .name = "b2"},
};
enum { PARAMS = sizeof params / sizeof *params };

/* The two weights are drawn, the biases start at 0. Random numbers are functions of their index. */
static void initialise(void)
{
    rdk_draws draws = rdk_draws_at((rdk_stream){.seed = 1, .purpose = RDK_FOR_INIT}, 0);
    for (int i = 0; i < HIDDEN; i++) w1[i] = (rdk_real)rdk_draw_normal(&draws);
    for (int i = 0; i < HIDDEN; i++)
        w2[i] = (rdk_real)(rdk_draw_normal(&draws) / sqrt((double)HIDDEN));
}

/* mean((W2 tanh(W1 x + b1) + b2 - y)^2), recorded on the tape. Nothing is checked here: an op that
 * is given NULL returns NULL, so one question at the end is enough. */
static rdk_tensor *record_loss(rdk_tape *t, const rdk_real *x, const rdk_real *y)
{
    const size_t column[] = {POINTS, 1};
    rdk_tensor *in = rdk_tape_leaf(t, 2, column, x, false);
    rdk_tensor *want = rdk_tape_leaf(t, 2, column, y, false);
    rdk_tensor *hidden = rdk_tanh(t, rdk_linear(t, in, &params[0], &params[1]));
    rdk_tensor *error = rdk_sub(t, rdk_linear(t, hidden, &params[2], &params[3]), want);
    return rdk_mean_all(t, rdk_mul(t, error, error));
}

/* Gradients add up over backwards, so whoever uses them zeroes them. */
static void update(void)
{
    for (int p = 0; p < PARAMS; p++) {
        for (size_t i = 0; i < rdk_size(&params[p]); i++) {
            params[p].data[i] -= (rdk_real)RATE * params[p].grad[i];
            params[p].grad[i] = 0;
        }
    }
}

static bool fit(rdk_tape *t, const rdk_real *x, const rdk_real *y)
{
    for (int step = 0; step <= STEPS; step++) {
        rdk_tape_reset(t); /* what the step before has made is gone; its memory is used again */
        rdk_tensor *loss = record_loss(t, x, y);
        if (!rdk_tape_backward(t, loss)) return false;
        if (step % (STEPS / 4) == 0) printf("step %4d  loss %.4f\n", step, (double)loss->data[0]);
        update();
    }
    return true;
}

/* What a mistake looks like: the first failure is kept, whatever comes after it does nothing. */
static void make_a_mistake(rdk_tape *t)
{
    rdk_tape_reset(t);
    rdk_tensor *wrong = rdk_matmul(t, &params[0], false, &params[0], false);
    rdk_tensor *loss = rdk_mean_all(t, rdk_exp(t, wrong));
    if (!rdk_tape_backward(t, loss)) printf("refused: %s\n", rdk_tape_status(t)->message);
}

int main(void)
{
    rdk_real x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        double at = HALF_WIDTH * (2.0 * i / (POINTS - 1) - 1);
        x[i] = (rdk_real)at;
        y[i] = (rdk_real)sin(at);
    }
    initialise();
    rdk_status s = {0};
    rdk_tape *t = rdk_tape_new(&s);
    if (!t || !fit(t, x, y)) {
        fprintf(stderr, "embed_tape: %s\n", t ? rdk_tape_status(t)->message : s.message);
        rdk_tape_free(t);
        return 1;
    }
    printf("nodes on the tape: %zu\n", rdk_tape_length(t));
    make_a_mistake(t);
    rdk_tape_free(t);
    return 0;
}
