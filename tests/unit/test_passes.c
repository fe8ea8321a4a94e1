/* SPDX-License-Identifier: MIT
 * An update that goes through the model in several passes beside the same sequences in one: loss,
 * gradients and statistics are the same but for rounding, and the cutting fits the sequences. */
#include "harness.h"

#include "run/trainer.h"

static rdk_status status;
static rdk_run_io io;

static rdk_trainer *new_trainer(const char *batch, const char *accum)
{
    const char *const options[][2] = {{"task", "copy"},  {"seq-len", "64"}, {"vocab", "5"},
                                      {"d-model", "32"}, {"heads", "2"},    {"d-ff", "1024"},
                                      {"layers", "1"},   {"batch", batch},  {"accum", accum}};
    rdk_trainer *r = rdk_alloc(1, sizeof *r, &status);
    ck_assert_ptr_nonnull(r);
    r->io = &io;
    r->status = &status;
    rdk_config_init(&r->config);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        ck_assert(
            rdk_option_set(&r->config, rdk_option_find(options[i][0]), options[i][1], &status));
    ck_assert_msg(rdk_setup_trainer(r), "%s", status.message);
    return r;
}

static void free_trainer(rdk_trainer *r)
{
    rdk_trainer_free(r);
    rdk_free(r);
}

/* Without the trainer: all sequences at once. */
static double loss_of_one_pass(rdk_trainer *r)
{
    rdk_batch *b = &r->batch;
    rdk_batch_train(b, r->task, r->config.seed, 0);
    rdk_model_zero_grad(r->model);
    rdk_tape_reset(r->tape);
    rdk_tensor *logits =
        rdk_model_logits(r->model, r->tape, b->n, b->len, b->input, b->length, NULL);
    rdk_tensor *loss = rdk_cross_entropy(r->tape, logits, b->target, (double)rdk_batch_counted(b),
                                         b->nll, b->best);
    ck_assert(rdk_tape_backward(r->tape, loss));
    return (double)loss->data[0];
}

START_TEST(several_passes_and_one)
{
    static const char *const cuts[][2] = {{"7", "1"}, {"7", "3"}, {"1", "5"}, {"2", "2"}};
    rdk_trainer *r = new_trainer(cuts[_i][0], cuts[_i][1]);
    size_t size = rdk_model_size(r->model);
    rdk_real *once = rdk_alloc(size, sizeof *once, &status);
    ck_assert_uint_lt(rdk_pass_sequences(&r->config), 4); /* 129 tokens, 256 fit */
    double loss = loss_of_one_pass(r), largest = 0;
    memcpy(once, rdk_model_grads(r->model), size * sizeof *once);
    rdk_step_report report;
    ck_assert_msg(rdk_step_gradients(r, true, &report), "%s", status.message);
    ck_assert_close(report.pass.loss, loss, 1e-6, 1e-9);
    for (size_t i = 0; i < size; i++) largest = fmax(largest, fabs((double)once[i]));
    ck_assert(largest > 0);
    for (size_t i = 0; i < size; i++)
        ck_assert_close((double)rdk_model_grads(r->model)[i], (double)once[i], 1e-5, largest);
    ck_assert(rdk_measure_head(r->measure, 0, 1)->q_rms > 0);
    rdk_free(once);
    free_trainer(r);
}
END_TEST

/* Every batch is cut into about equal passes, none larger than what is meant to fit. */
START_TEST(passes_are_about_equal)
{
    for (size_t batch = 1; batch <= 70; batch++) {
        rdk_config c;
        rdk_config_init(&c);
        c.batch = batch;
        c.model.d_model = 64, c.model.heads = 2, c.model.d_k = 64, c.model.d_ff = 256;
        c.model.vocab = 64, c.model.max_len = 24; /* the default run: 512 tokens, 21 sequences */
        size_t n = rdk_pass_sequences(&c), passes = (batch + n - 1) / n;
        ck_assert_uint_le(n, 21);
        ck_assert_uint_le(passes, (batch + 20) / 21);
        ck_assert_uint_lt(passes * n - batch, passes);
        c.model.max_len = 1 << 20; /* longer than any pass: one at a time */
        ck_assert_uint_eq(rdk_pass_sequences(&c), 1);
    }
}
END_TEST

RDK_TEST_MAIN("passes", {
    ADD_LOOP(several_passes_and_one, 4);
    ADD(passes_are_about_equal);
})
