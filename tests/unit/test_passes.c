/* SPDX-License-Identifier: MIT
 * An update that goes through the model in groups of passes beside the same sequences in one: loss,
 * gradients and statistics are the same but for rounding, threads change no bit of them, and the
 * cutting fits the sequences. Replicas do the same without the trainer. */
#include "harness.h"

#include <pthread.h>

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

/* Without the trainer: n sequences from `first` on through m, on a tape. */
static double pass_by_hand(rdk_trainer *r, rdk_model *m, rdk_tape *t, size_t first, size_t n)
{
    rdk_batch *b = &r->batch;
    size_t token = first * b->len;
    rdk_tape_reset(t);
    rdk_tensor *logits =
        rdk_model_logits(m, t, n, b->len, b->input + token, b->length + first, NULL);
    rdk_tensor *loss = rdk_cross_entropy(t, logits, b->target + token, (double)rdk_batch_counted(b),
                                         b->nll + token, b->best + token);
    return rdk_tape_backward(t, loss) ? (double)loss->data[0] : NAN;
}

/* All sequences at once. */
static double pass_once(rdk_trainer *r)
{
    double loss = pass_by_hand(r, r->model, r->tapes[0], 0, r->batch.n);
    ck_assert(isfinite(loss));
    return loss;
}

static double loss_of_one_pass(rdk_trainer *r)
{
    rdk_batch_train(&r->batch, r->task, r->config.seed, 0);
    rdk_model_zero_grad(r->model);
    return pass_once(r);
}

START_TEST(several_passes_and_one)
{
    static const char *const cuts[][2] = {{"7", "1"}, {"7", "3"}, {"1", "5"}, {"2", "2"}};
    rdk_trainer *r = new_trainer(cuts[_i][0], cuts[_i][1]);
    size_t size = rdk_model_size(r->model);
    rdk_real *once = rdk_alloc(size, sizeof *once, &status);
    ck_assert_uint_lt(rdk_pass_sequences(&r->config), 4); /* 127 tokens, 128 fit */
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

/* Dropped gradients are written first and then added to; what no pass came to is 0. */
START_TEST(dropped_is_zeroed)
{
    rdk_trainer *r = new_trainer("7", "1");
    size_t size = rdk_model_size(r->model);
    rdk_real *zeroed = rdk_alloc(size, sizeof *zeroed, &status), *g = rdk_model_grads(r->model);
    loss_of_one_pass(r);
    memcpy(zeroed, g, size * sizeof *g);
    rdk_model_drop_grads(r->model);
    pass_once(r);
    rdk_model_settle_grads(r->model);
    ck_assert_mem_eq(g, zeroed, size * sizeof *g);
    rdk_model_drop_grads(r->model);
    rdk_model_settle_grads(r->model);
    for (size_t i = 0; i < size; i++) ck_assert(g[i] == 0);
    pass_once(r); /* settled: added to */
    ck_assert_mem_eq(g, zeroed, size * sizeof *g);
    rdk_free(zeroed);
    free_trainer(r);
}
END_TEST

/* An update without a counted target has a loss of 0 and gradients of 0, also where these were
 * dropped before, as a step does. */
START_TEST(no_target_counts)
{
    rdk_trainer *r = new_trainer("7", "1");
    rdk_batch *b = &r->batch;
    const rdk_pass_at at = {.n = b->n, .tape = r->tapes[0], .status = &status};
    rdk_batch_train(b, r->task, r->config.seed, 0);
    ck_assert_close(rdk_batch_asked(b).share, 64.0 / 127, 1e-12, 0);
    ck_assert_uint_eq(rdk_batch_asked(b).first, 63);
    for (size_t i = 0; i < b->n * b->len; i++) b->target[i] = RDK_IGNORE;
    ck_assert(rdk_batch_asked(b).share == 0);
    for (size_t i = 0; i < rdk_model_size(r->model); i++) rdk_model_grads(r->model)[i] = NAN;
    rdk_model_drop_grads(r->model);
    rdk_tape_reset(at.tape);
    rdk_tensor *loss = rdk_batch_loss(b, r->model, &at, 1, NULL);
    ck_assert_msg(loss && loss->data[0] == 0, "%s", rdk_tape_status(at.tape)->message);
    ck_assert(rdk_tape_backward(at.tape, loss));
    rdk_model_settle_grads(r->model);
    for (size_t i = 0; i < rdk_model_size(r->model); i++)
        ck_assert(rdk_model_grads(r->model)[i] == 0);
    b->target[b->len + 70] = (int32_t)r->config.model.vocab; /* of a task that errs */
    rdk_tape_reset(at.tape);
    ck_assert_ptr_null(rdk_batch_loss(b, r->model, &at, 1, NULL));
    ck_assert_ptr_nonnull(strstr(rdk_tape_status(at.tape)->message, "at position 197 of a pass"));
    free_trainer(r);
}
END_TEST

/* A multiply-add is two operations, forward and twice backward; 7 sequences of 127 tokens. */
START_TEST(operations_of_a_step)
{
    rdk_trainer *r = new_trainer("7", "1");
    const double of_all =
        3 * 32 * 32 + 2 * 64 * 32; /* Q, K, V; two products with 64 keys, the mean */
    const double of_counted = 32.0 * 32 + 2 * 32 * 1024 + 32 * r->config.model.vocab;
    const rdk_asked all = {1, 0}, quarter = {0.25, 0}, end = {0.25, 27};
    const double no_queries = 27 * (32 * 32 + 2 * 14 * 32); /* these would see 14 keys, the mean */
    ck_assert(rdk_step_flops(&r->config, all) == 6 * 7 * 127 * (of_all + of_counted));
    ck_assert(rdk_step_flops(&r->config, quarter) == 6 * 7 * 127 * (of_all + of_counted / 4));
    ck_assert(rdk_step_flops(&r->config, end) ==
              6 * 7 * (127 * (of_all + of_counted / 4) - no_queries));
    free_trainer(r);
}
END_TEST

/* What docs/embedding.md says of replicas, with threads of one's own: three at one model, each with
 * a part of the sequences, for several updates. */
enum { WORKERS = 3 };

typedef struct worker {
    rdk_trainer *r;
    rdk_model *model;
    rdk_tape *tape;
    size_t first, n;
    double loss;
} worker;

static void *work(void *context)
{
    worker *w = context;
    w->loss = pass_by_hand(w->r, w->model, w->tape, w->first, w->n);
    return NULL;
}

static void work_together(worker *w, bool side_by_side)
{
    pthread_t thread[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        if (side_by_side)
            ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &w[i]), 0);
        else
            work(&w[i]);
    }
    for (int i = 0; i < WORKERS && side_by_side; i++) pthread_join(thread[i], NULL);
}

START_TEST(replicas_by_hand)
{
    rdk_threads_set(1);
    rdk_trainer *r = new_trainer("7", "1");
    size_t size = rdk_model_size(r->model);
    rdk_real *once = rdk_alloc(size, sizeof *once, &status), *g = rdk_model_grads(r->model);
    rdk_model *replica[WORKERS - 1];
    worker w[WORKERS] = {{r, r->model, rdk_tape_new(&status), 0, 3, 0}};
    for (size_t i = 1; i < WORKERS; i++) {
        replica[i - 1] = rdk_model_replica(r->model, &status);
        ck_assert(replica[i - 1] && rdk_model_values(replica[i - 1]) == rdk_model_values(r->model));
        w[i] = (worker){r, replica[i - 1], rdk_tape_new(&status), 1 + 2 * i, 2, 0};
    }
    for (uint64_t step = 0; step < 3; step++) {
        double loss = loss_of_one_pass(r), sum = 0, largest = 0;
        memcpy(once, g, size * sizeof *g);
        for (int i = 0; i < WORKERS; i++) rdk_model_zero_grad(w[i].model);
        work_together(w, step != 1); /* or one after the other */
        rdk_model_gather_grads(r->model, WORKERS - 1, replica);
        for (int i = 0; i < WORKERS; i++) sum += w[i].loss;
        ck_assert_close(sum, loss, 1e-6, 0);
        for (size_t i = 0; i < size; i++) largest = fmax(largest, fabs((double)once[i]));
        for (size_t i = 0; i < size; i++)
            ck_assert_close((double)g[i], (double)once[i], 1e-5, largest);
        rdk_optimizer_step(r->optimizer, r->model, step, 1e-2, 1, r->update_norm);
    }
    for (int i = 0; i < WORKERS; i++) rdk_tape_free(w[i].tape);
    for (size_t i = 1; i < WORKERS; i++) rdk_model_free(replica[i - 1]);
    rdk_free(once);
    free_trainer(r);
}
END_TEST

/* Groups side by side, some threads idle, or threads shared by the loops: the same bits. */
START_TEST(threads_change_no_bit)
{
    static const int threads[] = {2, 3, 4, 8};
    rdk_threads_set(1);
    rdk_trainer *one = new_trainer("9", "2");
    rdk_step_report of_one, of_many;
    ck_assert_uint_eq(one->groups, 8); /* 18 sequences of 127 tokens */
    ck_assert(rdk_step_gradients(one, true, &of_one));
    rdk_threads_set(threads[_i]);
    rdk_trainer *many = new_trainer("9", "2");
    ck_assert(rdk_step_gradients(many, true, &of_many));
    ck_assert_mem_eq(rdk_model_grads(many->model), rdk_model_grads(one->model),
                     rdk_model_size(one->model) * sizeof(rdk_real));
    ck_assert_mem_eq(many->batch.nll, one->batch.nll,
                     one->batch.n * one->batch.len * sizeof *one->batch.nll);
    ck_assert(of_many.pass.loss == of_one.pass.loss && of_many.grad_norm == of_one.grad_norm);
    ck_assert_mem_eq(rdk_measure_head(many->measure, 0, 1), rdk_measure_head(one->measure, 0, 1),
                     sizeof(rdk_head_figures));
    free_trainer(many);
    free_trainer(one);
}
END_TEST

/* Of several groups that fail, the first one is told of, whoever came first. */
static bool fails_from_third(rdk_trainer *r, const rdk_pass_at *at, void *context)
{
    (void)r, (void)context;
    return at->group < 2 || rdk_fail(at->status, RDK_ENONFINITE, "group %zu", at->group);
}

START_TEST(the_first_failure_counts)
{
    rdk_threads_set(1 + _i);
    rdk_trainer *r = new_trainer("9", "2");
    ck_assert(!rdk_passes(r, r->batch.n, r->groups, fails_from_third, NULL));
    ck_assert_int_eq(status.code, RDK_ENONFINITE);
    ck_assert_str_eq(status.message, "group 2");
    free_trainer(r);
}
END_TEST

static bool count_sequences(rdk_trainer *r, const rdk_pass_at *at, void *context)
{
    unsigned *seen = context;
    ck_assert_uint_ge(at->n, 1);
    ck_assert_uint_le(at->n, rdk_pass_sequences(&r->config));
    for (size_t i = at->first; i < at->first + at->n; i++) seen[i]++;
    return true;
}

/* Each sequence once, however many there are for the groups. */
START_TEST(every_sequence_once)
{
    rdk_threads_set(1);
    rdk_trainer *r = new_trainer("9", "2");
    for (size_t n = 1; n <= r->batch.n; n++) {
        for (size_t groups = 1; groups <= RDK_MOST_GROUPS; groups++) {
            unsigned seen[19] = {0};
            ck_assert(rdk_passes(r, n, groups, count_sequences, seen));
            for (size_t i = 0; i < 19; i++) ck_assert_uint_eq(seen[i], i < n);
        }
    }
    free_trainer(r);
}
END_TEST

static rdk_config default_sizes(size_t batch)
{
    rdk_config c;
    rdk_config_init(&c);
    c.batch = batch;
    c.model.d_model = 64, c.model.heads = 2, c.model.d_k = 64, c.model.d_ff = 256;
    c.model.vocab = 64, c.model.max_len = 24;
    return c;
}

/* Every group is cut into about equal passes, none larger than what is meant to fit. */
START_TEST(passes_are_about_equal)
{
    for (size_t batch = 1; batch <= 70; batch++) {
        rdk_config c = default_sizes(batch); /* 256 tokens fit, 10 sequences */
        size_t groups = rdk_group_count(&c), of_group = (batch + groups - 1) / groups;
        size_t n = rdk_pass_sequences(&c), passes = (of_group + n - 1) / n;
        ck_assert_uint_le(n, 10);
        ck_assert_uint_le(passes, (of_group + 9) / 10);
        ck_assert_uint_lt(passes * n - of_group, passes);
        c.model.max_len = 1 << 20; /* longer than any pass: one at a time */
        ck_assert_uint_eq(rdk_pass_sequences(&c), 1);
    }
}
END_TEST

START_TEST(groups_repay_their_gradients)
{
    static const struct {
        size_t batch, accum, d_model, groups;
    } cases[] = {
        {1, 1, 64, 1}, /* nothing to cut */
        {6, 1, 64, 1}, /* 144 tokens: two groups of 80 are more */
        {7, 1, 64, 2},      {4, 2, 64, 2},
        {42, 1, 64, 2}, /* 1008: four of 256 are more */
        {43, 1, 64, 4},     {4000, 1, 64, 8},
        {4000, 1, 2048, 1}, /* gradients above 64 MiB are not kept twice */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rdk_config c = default_sizes(cases[i].batch);
        c.accum = cases[i].accum;
        c.model.layers = 2, c.model.d_model = cases[i].d_model;
        c.model.d_ff = 4 * cases[i].d_model;
        ck_assert_uint_eq(rdk_group_count(&c), cases[i].groups);
    }
}
END_TEST

RDK_TEST_MAIN("passes", {
    ADD_LOOP(several_passes_and_one, 4);
    ADD(dropped_is_zeroed);
    ADD(no_target_counts);
    ADD(operations_of_a_step);
    ADD(replicas_by_hand);
    ADD_LOOP(threads_change_no_bit, 4);
    ADD_LOOP(the_first_failure_counts, 3);
    ADD(every_sequence_once);
    ADD(passes_are_about_equal);
    ADD(groups_repay_their_gradients);
})
