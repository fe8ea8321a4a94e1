/* SPDX-License-Identifier: MIT
 * A run that diverges: it ends before the update, with exit status 3 and the name of the culprit,
 * and what was saved while it was sound stays. */
#include "run_files.h"

#include "run/safetensors.h"
#include "strict_json.h"

/* Plain gradient descent at a rate that multiplies the weights: sound for some steps, then not. */
static const char *const EXPLODING[] = {
    "--task",      "copy",    "--seq-len", "4",        "--vocab",     "5",       "--d-model",
    "8",           "--heads", "2",         "--layers", "2",           "--batch", "4",
    "--eval-size", "8",       "--threads", "1",        "--optimizer", "sgd",     "--lr",
    "100",         "--clip",  "0",         "--warmup", "0",           "--steps", "50",
    "--log-every", "1",       "--out",     "run",      NULL};

/* All numbers of the checkpoint are finite. Its bytes behind the header are the tensors, in floats
 * (the program is the one in single precision). */
static void is_finite(const char *dir, const char *name)
{
    rdk_status s = {0};
    size_t size, at = 0;
    file_path path = below(dir, name);
    rdk_safetensors *f = rdk_safetensors_read(path.text, &s);
    ck_assert_msg(f != NULL, "%s", s.message);
    rdk_safetensors_free(f);
    char *bytes = rdk_file_read(path.text, &size, &s);
    for (int i = 7; i >= 0; i--) at = at << 8 | (unsigned char)bytes[i];
    for (at += 8; at < size; at += sizeof(float)) {
        float x;
        memcpy(&x, bytes + at, sizeof x);
        ck_assert_msg(isfinite(x), "%s: %g at byte %zu", name, x, at);
    }
    rdk_free(bytes);
}

/* "step 8: ...": what the program says; the step in it. */
static uint64_t told_step(const char *err)
{
    static const char start[] = "rootdk: step ";
    ck_assert_msg(!strncmp(err, start, strlen(start)), "%s", err);
    return strtoull(err + strlen(start), NULL, 10);
}

static uint64_t diverges(const char *dir, const char *const *base, const char *const *more)
{
    program_run r = train_and_read(dir, base, more, 3);
    uint64_t step = told_step(r.err);
    ck_assert_msg(strstr(r.err, "layer 0") && strstr(r.err, "attention"), "%s", r.err);
    ck_assert_msg(!strstr(r.out, "verdict"), "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "run", "\"status\": \"diverged\""));
    char *json = program_file(dir, "run/run.json", NULL);
    ck_assert_msg(is_strict_json(json), "%s", json);
    free(json);
    ck_assert(run_json_has(dir, "run", "\"error\": \"step "));
    return step;
}

START_TEST(it_stops_at_once_and_says_where)
{
    char *dir = program_directory(), want[64], buf[64];
    uint64_t step = diverges(dir, TINY, WITH("--lr", "1e30", "--steps", "50", "--out", "run"));
    ck_assert_uint_le(step, 2);
    ck_assert(!run_has(dir, "run", "last.safetensors"));
    is_finite(dir, "run/best.safetensors"); /* of step 0 */
    ck_assert_uint_eq(last_step(dir, "run"), step);
    char *text = program_file(dir, "run/metrics.csv", NULL);
    snprintf(want, sizeof want, "\n%lu,train,nan,", (unsigned long)step);
    ck_assert_msg(strstr(text, want) != NULL, "%s", text);
    ck_assert_str_eq(field_of(next_line(text), 0, buf), "0");
    free(text);
    well_formed_logs(dir, "run");
    program_directory_remove(dir);
}
END_TEST

/* Checkpoints at every step: the last is of the last step that was sound, and resuming from it
 * finds the same end. */
START_TEST(the_last_sound_checkpoint_stays)
{
    char *dir = program_directory(), saved[64];
    uint64_t step = diverges(dir, EXPLODING, WITH("--save-every", "1"));
    ck_assert_uint_ge(step, 3);
    is_finite(dir, "run/last.safetensors");
    is_finite(dir, "run/best.safetensors");
    snprintf(saved, sizeof saved, "\"saved_step\": %lu,", (unsigned long)step - 1);
    ck_assert(run_json_has(dir, "run", saved));
    copy_run(dir, "run", "copy");
    ck_assert_uint_eq(diverges(dir, WITH("--resume", "run"), NULL), step);
    same_runs(dir, "run", "copy");
    well_formed_logs(dir, "run");
    program_directory_remove(dir);
}
END_TEST

/* Told to save and stop where it has just diverged, it has nothing to save. */
START_TEST(a_stop_saves_no_diverged_state)
{
    char *dir = program_directory(), at[24];
    uint64_t step = diverges(dir, EXPLODING, NULL);
    snprintf(at, sizeof at, "%lu", (unsigned long)step - 1);
    train(dir, EXPLODING, WITH("--force", "--stop-at", at), 0);
    copy_run(dir, "run", "sound");
    is_finite(dir, "run/last.safetensors");
    snprintf(at, sizeof at, "%lu", (unsigned long)step);
    ck_assert_uint_eq(diverges(dir, WITH("--resume", "run"), WITH("--stop-at", at)), step);
    same_file(dir, "run", "sound", "last.safetensors");
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("divergence", {
    ADD(it_stops_at_once_and_says_where);
    ADD(the_last_sound_checkpoint_stays);
    ADD(a_stop_saves_no_diverged_state);
})
