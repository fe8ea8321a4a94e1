/* SPDX-License-Identifier: MIT
 * The trainer from inside: what was saved is what is loaded, a state that is not finite is never
 * written over one that is, and a gradient that is not finite ends a step. */
#include "harness.h"

#include <unistd.h>

#include "run/checksum.h"
#include "run/trainer.h"

static rdk_status status;
static rdk_run_io io;

static rdk_trainer *trainer_of(const char *precision)
{
    static const char *const options[][2] = {
        {"task", "copy"}, {"seq-len", "4"},   {"vocab", "5"}, {"d-model", "8"},   {"heads", "2"},
        {"batch", "3"},   {"eval-size", "4"}, {"steps", "9"}, {"eval-every", "1"}};
    rdk_trainer *r = rdk_alloc(1, sizeof *r, &status);
    ck_assert_ptr_nonnull(r);
    r->io = &io;
    r->status = &status;
    rdk_config_init(&r->config);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        ck_assert(
            rdk_option_set(&r->config, rdk_option_find(options[i][0]), options[i][1], &status));
    ck_assert(rdk_option_set(&r->config, rdk_option_find("precision"), precision, &status));
    ck_assert_msg(rdk_setup_trainer(r), "%s", status.message);
    snprintf(r->directory.path, sizeof r->directory.path, "/tmp/rdk_test_trainer_%ld",
             (long)getpid());
    ck_assert(rdk_directory_make(r->directory.path, &status));
    return r;
}

static rdk_trainer *new_trainer(void)
{
    return trainer_of("float");
}

static void free_trainer(rdk_trainer *r)
{
    rdk_trainer_free(r);
    rdk_free(r);
}

static void remove_directory(const rdk_trainer *r)
{
    static const char *const names[] = {"last.safetensors", "best.safetensors"};
    char path[RDK_PATH_TEXT + 64];
    for (int i = 0; i < 2; i++) unlink(rdk_rundir_file(&r->directory, names[i], path));
    ck_assert_int_eq(rmdir(r->directory.path), 0); /* no temporary file was left */
}

/* Three updates: weights and moments that are not those of the start. */
static void take_steps(rdk_trainer *r)
{
    rdk_step_report report;
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(rdk_step_gradients(r, false, &report), "%s", status.message);
        rdk_step_update(r, &report);
    }
}

START_TEST(what_is_saved_is_loaded)
{
    rdk_trainer *a = new_trainer(), *b = new_trainer();
    size_t bytes = rdk_model_size(a->model) * sizeof(rdk_real);
    take_steps(a);
    a->best_loss = 1.25;
    ck_assert_int_ne(memcmp(rdk_model_values(a->model), rdk_model_values(b->model), bytes), 0);
    ck_assert_msg(rdk_checkpoint_save(a, "last.safetensors"), "%s", status.message);
    ck_assert_msg(rdk_checkpoint_save(a, "best.safetensors"), "%s", status.message);
    ck_assert_msg(rdk_checkpoint_load(b) && rdk_best_load(b), "%s", status.message);
    ck_assert_int_eq(memcmp(rdk_model_values(a->model), rdk_model_values(b->model), bytes), 0);
    for (int i = 0; i < rdk_optimizer_state_count(a->optimizer); i++)
        ck_assert_int_eq(memcmp(rdk_optimizer_state(a->optimizer, i),
                                rdk_optimizer_state(b->optimizer, i), bytes),
                         0);
    ck_assert_uint_eq(b->step, 3);
    ck_assert_uint_eq(b->tokens_seen, a->tokens_seen);
    ck_assert(b->best_loss == 1.25 && b->best_step == 3);
    remove_directory(a);
    free_trainer(a);
    free_trainer(b);
}
END_TEST

static void write_file(const char *path, const char *bytes, size_t size)
{
    unlink(path); /* some file systems flush what is written over an old file */
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
}

/* One bit of every byte of the header, and of every 16th of the tensors; and every length that ends
 * within the header. What says nothing is left out: "pt", and the spaces at the header's end. */
START_TEST(all_damage_is_seen)
{
    enum { LENGTH_BYTES = 8, EVERY = 16, BITS = 8 };
    char path[RDK_PATH_TEXT + 64];
    rdk_trainer *r = new_trainer();
    size_t size, header = 0;
    take_steps(r);
    ck_assert(rdk_checkpoint_save(r, "last.safetensors"));
    char *bytes =
        rdk_file_read(rdk_rundir_file(&r->directory, "last.safetensors", path), &size, &status);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) header = header << 8 | (unsigned char)bytes[i];
    header += LENGTH_BYTES;
    const char *mute = strstr(bytes + LENGTH_BYTES, "\"format\":\"pt\"");
    size_t from = (size_t)(mute - bytes), to = from + strlen("\"format\":\"pt\"");
    for (size_t at = 0; at < size; at += at < header ? 1 : EVERY) {
        bool says_nothing = (at >= from && at < to) || (at < header && bytes[at] == ' ' &&
                                                        strspn(bytes + at, " ") >= header - at);
        if (says_nothing) continue;
        bytes[at] = (char)(bytes[at] ^ 1 << at % BITS);
        write_file(path, bytes, size);
        ck_assert_msg(!rdk_checkpoint_load(r), "bit %zu of byte %zu", at % BITS, at);
        ck_assert_msg(strstr(status.message, "last.safetensors") != NULL, "%s", status.message);
        status = (rdk_status){0};
        bytes[at] = (char)(bytes[at] ^ 1 << at % BITS);
    }
    for (size_t length = 0; length < header; length += EVERY + 1) {
        write_file(path, bytes, length);
        ck_assert_msg(!rdk_checkpoint_load(r), "%zu bytes", length);
        status = (rdk_status){0};
    }
    write_file(path, bytes, size);
    ck_assert_msg(rdk_checkpoint_load(r), "%s", status.message);
    rdk_free(bytes);
    remove_directory(r);
    free_trainer(r);
}
END_TEST

/* A weight, or a moment: first, last, in between. */
START_TEST(nothing_that_is_not_finite_is_saved)
{
    static const rdk_real bad[] = {INFINITY, -INFINITY, NAN};
    rdk_trainer *r = new_trainer(), *back = new_trainer();
    size_t last = rdk_model_param_count(r->model) - 1;
    const rdk_param *first = rdk_model_param(r->model, 0), *end = rdk_model_param(r->model, last),
                    *middle = rdk_model_param(r->model, last / 2);
    const size_t at[] = {first->offset, middle->offset + 1,
                         end->offset + rdk_size(&end->tensor) - 1};
    take_steps(r);
    ck_assert(rdk_checkpoint_save(r, "last.safetensors"));
    for (int array = -1; array < rdk_optimizer_state_count(r->optimizer); array++) {
        rdk_real *x =
            array < 0 ? rdk_model_values(r->model) : rdk_optimizer_state(r->optimizer, array);
        rdk_real kept = x[at[_i]];
        x[at[_i]] = bad[_i];
        ck_assert(!rdk_checkpoint_save(r, "last.safetensors"));
        ck_assert_int_eq(status.code, RDK_ENONFINITE);
        ck_assert_msg(strstr(status.message, "step 3: ") && strstr(status.message, "not finite"),
                      "%s", status.message);
        ck_assert_int_eq(strstr(status.message, "optimizer.") != NULL, array >= 0);
        status = (rdk_status){0};
        x[at[_i]] = kept;
    }
    ck_assert_msg(rdk_checkpoint_load(back), "%s", status.message);
    ck_assert_uint_eq(back->step, 3);
    remove_directory(r);
    free_trainer(r);
    free_trainer(back);
}
END_TEST

static void multiply(rdk_trainer *r, rdk_role role, int layer, rdk_real factor)
{
    rdk_tensor *x = &rdk_model_role(r->model, role, layer)->tensor;
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] *= factor;
}

/* Logits of 1e36 on a residual stream of 1e-6: the loss is finite, its gradient at the embeddings
 * is not (the last norm multiplies by the inverse of the root of its eps). */
START_TEST(a_gradient_that_overflows_ends_the_step)
{
    rdk_trainer *r = new_trainer();
    rdk_step_report report;
    for (int layer = 0; layer < 2; layer++) {
        multiply(r, RDK_ROLE_WO, layer, 0);
        multiply(r, RDK_ROLE_MLP_OUT, layer, 0);
    }
    multiply(r, RDK_ROLE_TOKENS, -1, (rdk_real)1e-6);
    multiply(r, RDK_ROLE_POSITIONS, -1, (rdk_real)1e-6);
    multiply(r, RDK_ROLE_HEAD, -1, (rdk_real)1e37);
    ck_assert(!rdk_step_gradients(r, false, &report));
    ck_assert_int_eq(status.code, RDK_ENONFINITE);
    ck_assert_msg(strstr(status.message, "step 0: the gradient norm is") &&
                      strstr(status.message, "tokens.weight"),
                  "%s", status.message);
    ck_assert(isfinite(report.pass.loss) && report.pass.loss > 1e30);
    remove_directory(r);
    free_trainer(r);
}
END_TEST

/* The same model, evaluated: what is named is the layer and head of the pass over that batch. */
START_TEST(an_evaluation_that_diverges_names_the_place)
{
    rdk_trainer *r = new_trainer();
    rdk_score pass;
    r->step = 5;
    rdk_tensor *wv = &rdk_model_role(r->model, RDK_ROLE_WV, 1)->tensor;
    size_t head_1 = r->config.model.d_k * r->config.model.d_model;
    wv->data[head_1] = INFINITY; /* a value of the second head */
    ck_assert_int_eq(rdk_evaluate(r, &pass), RDK_EVAL_FAILED);
    ck_assert_int_eq(status.code, RDK_ENONFINITE);
    ck_assert_msg(strstr(status.message, "step 5: the held-out loss is") &&
                      strstr(status.message, "layer 1 attention"),
                  "%s", status.message);
    remove_directory(r);
    free_trainer(r);
}
END_TEST

START_TEST(an_evaluation_can_be_stopped)
{
    volatile sig_atomic_t stop = SIGINT;
    rdk_trainer *r = new_trainer();
    rdk_run_io listens = {.stop = &stop};
    rdk_score pass;
    r->io = &listens;
    ck_assert_int_eq(rdk_evaluate(r, &pass), RDK_EVAL_STOPPED);
    ck_assert_int_eq(status.code, RDK_OK);
    stop = 0;
    ck_assert_int_eq(rdk_evaluate(r, &pass), RDK_EVAL_DONE);
    ck_assert(pass.counted > 0 && isfinite(pass.loss));
    remove_directory(r);
    free_trainer(r);
}
END_TEST

/* FNV-1a of 64 bits, by its published values: of nothing, and (with our closing zero) by hand. */
START_TEST(the_checksum_is_the_one_it_says)
{
    static const rdk_real one[] = {1};
    static const size_t dim[] = {1};
    const rdk_saved_tensor t = {"", "one", 1, dim, one};
    const rdk_saved_word ab[] = {{"a", "bc"}}, shifted[] = {{"ab", "c"}};
    char x[RDK_CHECKSUM_TEXT], y[RDK_CHECKSUM_TEXT];
    ck_assert_str_eq(rdk_checksum_words(0, ab, x), "cbf29ce484222325");
    uint64_t sum = 0xcbf29ce484222325;
    static const unsigned char bytes[] = {'a', 0, 'b', 'c', 0};
    for (size_t i = 0; i < sizeof bytes; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    snprintf(y, sizeof y, "%016llx", (unsigned long long)sum);
    ck_assert_str_eq(rdk_checksum_words(1, ab, x), y);
    ck_assert_str_ne(rdk_checksum_words(1, shifted, x), y);
    static const unsigned char of_one[] = {0, 0, 0x80, 0x3F}; /* 1.0f, little-endian */
    sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof of_one; i++) sum = (sum ^ of_one[i]) * 1099511628211u;
    snprintf(y, sizeof y, "%016llx", (unsigned long long)sum);
    ck_assert_str_eq(rdk_checksum_tensors(1, &t, x), y);
}
END_TEST

/* score_change and the maps are of scores as attention forms them: with bf16 of q and k rounded. */
START_TEST(what_is_watched_is_rounded_too)
{
    const bool rounds = _i;
    rdk_trainer *r = trainer_of(rounds ? "bf16" : "float");
    const rdk_model_config *c = &r->config.model;
    size_t n = rdk_watch_batch(r->watch)->n * r->batch.len * c->heads * c->d_k, other = 0;
    take_steps(r);
    ck_assert_msg(rdk_watch_before(r), "%s", status.message);
    for (size_t l = 0; l < c->layers; l++) {
        rdk_head_view v = rdk_watch_head(r, l, 0);
        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t bits;
            memcpy(&bits, (i < n ? v.q : v.k) + i % n, sizeof bits);
            other += (bits & 0xffff) != 0;
        }
    }
    ck_assert_msg((other == 0) == rounds, "%zu numbers that are no bfloat16", other);
    remove_directory(r);
    free_trainer(r);
}
END_TEST

RDK_TEST_MAIN("trainer", {
    ADD(what_is_saved_is_loaded);
    ADD(all_damage_is_seen);
    ADD_LOOP(nothing_that_is_not_finite_is_saved, 3);
    ADD(a_gradient_that_overflows_ends_the_step);
    ADD(an_evaluation_that_diverges_names_the_place);
    ADD(an_evaluation_can_be_stopped);
    ADD(the_checksum_is_the_one_it_says);
    ADD_LOOP(what_is_watched_is_rounded_too, 2);
})
