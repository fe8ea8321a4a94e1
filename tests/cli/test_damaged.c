/* SPDX-License-Identifier: MIT
 * --resume of what is no run, of damaged files, of changed data, of a run that is in use: refused
 * by name, and nothing is lost or overwritten. */
#include "run_files.h"

#include "run/checksum.h"

static const char *const RESUME[] = {"--resume", "run", NULL};

/* A run of 8 steps that stopped at 4, and a copy of it. */
static char *stopped_run(void)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "8", "--log-every", "1", "--stop-at", "4", "--out", "run"), 0);
    copy_run(dir, "run", "copy");
    return dir;
}

/* ---- no run ---------------------------------------------------------------------------------- */

START_TEST(what_is_no_run)
{
    char *dir = program_directory();
    ck_assert_int_eq(mkdir(below(dir, "empty").text, 0700), 0);
    program_write(dir, "file", "text");
    refused(dir, WITH("--resume", "nowhere"), NULL, 1, WITH("cannot resume nowhere", "config.ini"));
    refused(dir, WITH("--resume", "empty"), NULL, 1, WITH("cannot resume empty", "config.ini"));
    refused(dir, WITH("--resume", "file"), NULL, 1, WITH("cannot resume file"));
    ck_assert_int_eq(program_directory_entries(below(dir, "empty").text), 0);
    ck_assert_int_eq(program_directory_entries(dir), 2);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_broken_configuration)
{
    char *dir = stopped_run();
    program_write(dir, "run/config.ini", "lr = 0.001\nheads = many\n");
    copy_run(dir, "run", "copy");
    refused(dir, RESUME, NULL, 2, WITH("run/config.ini:2:", "heads", "'many'"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_log_of_other_columns)
{
    char *dir = stopped_run();
    program_write(dir, "run/metrics.csv", "step,split,loss\n0,train,1\n");
    copy_run(dir, "run", "copy");
    refused(dir, RESUME, NULL, 1, WITH("run/metrics.csv", "header"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* ---- the checkpoint -------------------------------------------------------------------------- */

START_TEST(a_missing_checkpoint)
{
    char *dir = stopped_run();
    ck_assert_int_eq(unlink(below(dir, "run/last.safetensors").text), 0);
    ck_assert_int_eq(unlink(below(dir, "copy/last.safetensors").text), 0);
    refused(dir, RESUME, NULL, 1, WITH("cannot resume run", "run/last.safetensors is missing"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* Writes the file with this length, and this byte changed where `at` lies within. */
static void damage(const char *dir, const char *bytes, size_t size, size_t at, int flip)
{
    char *broken = malloc(size + 1);
    ck_assert_ptr_nonnull(broken);
    memcpy(broken, bytes, size);
    if (at < size) broken[at] = (char)(broken[at] ^ flip);
    write_bytes(dir, "run/last.safetensors", broken, size);
    write_bytes(dir, "copy/last.safetensors", broken, size);
    free(broken);
}

START_TEST(a_truncated_checkpoint)
{
    char *dir = stopped_run();
    size_t size;
    char *bytes = program_file(dir, "run/last.safetensors", &size);
    const size_t lengths[] = {0, 7, 8, 100, size / 2, size - 4, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        damage(dir, bytes, lengths[i], size, 0);
        refused(dir, RESUME, NULL, 1, WITH("run/last.safetensors"));
        unchanged(dir, "run", "copy");
    }
    free(bytes);
    program_directory_remove(dir);
}
END_TEST

/* One bit anywhere: in the length, the metadata, the list of tensors, a weight, a moment. */
START_TEST(a_checkpoint_with_a_flipped_bit)
{
    enum { PLACES = 40 };
    char *dir = stopped_run();
    size_t size, n_header;
    char *bytes = program_file(dir, "run/last.safetensors", &size);
    n_header = 8 + (size_t)(unsigned char)bytes[0] + 256 * (size_t)(unsigned char)bytes[1];
    ck_assert_uint_lt(n_header, size);
    for (size_t i = 0; i < PLACES; i++) {
        size_t half = PLACES / 2, k = i % half;
        size_t at = i < half ? k * n_header / half : n_header + k * (size - n_header) / half;
        if (i < half && bytes[at] == ' ') continue; /* what fills the header up says nothing */
        damage(dir, bytes, size, at, 1 << (i % 8));
        program_run r = start(dir, RESUME, NULL);
        program_finish(&r);
        ck_assert_msg(r.status == 1 && strstr(r.err, "run/last.safetensors"),
                      "bit %zu of byte %zu: exit %d: %s", i % 8, at, r.status, r.err);
        program_free(&r);
        unchanged(dir, "run", "copy");
    }
    damage(dir, bytes, size, size, 0);
    train(dir, RESUME, NULL, 0);
    free(bytes);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_damaged_best)
{
    char *dir = stopped_run();
    size_t size;
    char *bytes = program_file(dir, "run/best.safetensors", &size), *at;
    at = strstr(bytes + 8, "\"held_out_loss\":\"1.");
    ck_assert_ptr_nonnull(at);
    at[strlen("\"held_out_loss\":\"")] = '0';
    write_bytes(dir, "run/best.safetensors", bytes, size);
    write_bytes(dir, "copy/best.safetensors", bytes, size);
    refused(dir, RESUME, NULL, 1, WITH("run/best.safetensors is damaged"));
    unchanged(dir, "run", "copy");
    free(bytes);
    program_directory_remove(dir);
}
END_TEST

/* config.ini was edited by hand: the state is of another run. */
START_TEST(a_checkpoint_of_another_configuration)
{
    static const struct {
        const char *line, *other, *name;
    } edits[] = {{"\nlr = 0.001\n", "\nlr = 0.005\n", "--lr"},
                 {"\nheads = 2\n", "\nheads = 4\n", "--heads"},
                 {"\nd-ff = 32\n", "\nd-ff = 16\n", "--d-ff"}};
    char *dir = stopped_run(), *ini = program_file(dir, "run/config.ini", NULL);
    char *at = strstr(ini, edits[_i].line);
    ck_assert_ptr_nonnull(at);
    memcpy(at, edits[_i].other, strlen(edits[_i].other));
    program_write(dir, "run/config.ini", ini);
    program_write(dir, "copy/config.ini", ini);
    refused(dir, RESUME, NULL, 1, WITH("run/last.safetensors", edits[_i].name));
    unchanged(dir, "run", "copy");
    free(ini);
    program_directory_remove(dir);
}
END_TEST

/* ---- counters beyond 32 bits ----------------------------------------------------------------- */

/* In a buffer of `room` bytes: replaces the value of a word in the metadata, and its checksum. */
static void set_word(const char *path, const char *key, const char *value)
{
    static const char *const keys[] = {"rootdk",    "step",        "random_seed",
                                       "data_step", "tokens_seen", "config",
                                       "data",      "vocabulary",  "tensors_checksum"};
    enum { KEYS = sizeof keys / sizeof *keys, ROOM = 1 << 16, LENGTH = 8 };
    rdk_status s = {0};
    rdk_saved_word words[KEYS];
    char sum[RDK_CHECKSUM_TEXT], was[64], is[64], *header = calloc(ROOM, 1);
    rdk_safetensors *f = rdk_safetensors_read(path, &s);
    size_t size, length = 0;
    char *bytes = rdk_file_read(path, &size, &s);
    ck_assert_msg(f && bytes && header, "%s", s.message);
    for (int i = LENGTH - 1; i >= 0; i--) length = length << 8 | (unsigned char)bytes[i];
    ck_assert_uint_lt(length, ROOM / 2);
    memcpy(header, bytes + LENGTH, length);
    for (int i = 0; i < KEYS; i++)
        words[i] = (rdk_saved_word){keys[i], rdk_safetensors_word(f, keys[i])};
    ck_assert_str_eq(rdk_checksum_words(KEYS, words, sum),
                     rdk_safetensors_word(f, "words_checksum"));
    for (int i = 0; i < KEYS; i++)
        if (!strcmp(key, keys[i])) words[i].value = value;
    char *sum_at = strstr(header, sum);
    memcpy(sum_at, rdk_checksum_words(KEYS, words, sum), strlen(sum));
    snprintf(was, sizeof was, "\"%s\":\"%s\"", key, rdk_safetensors_word(f, key));
    snprintf(is, sizeof is, "\"%s\":\"%s\"", key, value);
    char *at = strstr(header, was);
    ck_assert_ptr_nonnull(at);
    memmove(at + strlen(is), at + strlen(was), strlen(at + strlen(was)) + 1);
    memcpy(at, is, strlen(is));
    size_t now = strlen(header);
    while (now % LENGTH) header[now++] = ' ';
    FILE *out = fopen(path, "wb");
    for (int i = 0; i < LENGTH; i++) fputc((int)(now >> (8 * i) & 0xFF), out);
    fwrite(header, 1, now, out);
    fwrite(bytes + LENGTH + length, 1, size - LENGTH - length, out);
    ck_assert_int_eq(fclose(out), 0);
    rdk_safetensors_free(f);
    rdk_free(bytes);
    free(header);
}

START_TEST(tokens_are_counted_beyond_32_bits)
{
    enum { TOKENS_A_STEP = 4 * 7, TOKENS_COLUMN = 10 };
    static const uint64_t seen[] = {INT32_MAX, UINT32_MAX, (uint64_t)1 << 62};
    char *dir = stopped_run(), number[32], want[64];
    snprintf(number, sizeof number, "%llu", (unsigned long long)seen[_i]);
    set_word(below(dir, "run/last.safetensors").text, "tokens_seen", number);
    train(dir, RESUME, WITH("--stop-at", "6"), 0);
    train(dir, RESUME, NULL, 0);
    char *text = program_file(dir, "run/metrics.csv", NULL), buf[64];
    for (const char *line = text; (line = next_line(line));) {
        uint64_t step = (uint64_t)number_at(line, 0), from = step < 4 ? 0 : seen[_i];
        snprintf(want, sizeof want, "%llu",
                 (unsigned long long)(from + (step < 4 ? step : step - 4) * TOKENS_A_STEP));
        ck_assert_str_eq(field_of(line, TOKENS_COLUMN, buf), want);
    }
    ck_assert_uint_eq(last_step(dir, "run"), 8);
    free(text);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_step_beyond_the_end)
{
    char *dir = stopped_run();
    set_word(below(dir, "run/last.safetensors").text, "step", "9");
    copy_run(dir, "run", "copy");
    refused(dir, RESUME, NULL, 1, WITH("run/last.safetensors", "step 9", "8 steps"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* ---- the data, the lock ---------------------------------------------------------------------- */

/* The text changed since: one letter for another, a letter that was not there, a shorter file. */
START_TEST(changed_data)
{
    static const char *const names[] = {"same symbols", "a new symbol", "shorter"};
    enum { LETTERS = 1500 };
    char *dir = program_directory(), text[LETTERS + 1] = "";
    for (int i = 0; i < LETTERS; i++) text[i] = "abcdefgh \n"[(i * i + i / 7) % 10];
    program_write(dir, "text", text);
    train(dir, WITH("--task", "text", "--data", "text", "--seq-len", "8", "--d-model", "8"),
          WITH("--batch", "4", "--steps", "6", "--stop-at", "3", "--out", "run"), 0);
    copy_run(dir, "run", "copy");
    if (_i == 0) text[700] = text[700] == 'a' ? 'b' : 'a';
    if (_i == 1) text[700] = 'Z';
    if (_i == 2) text[LETTERS - 10] = '\0';
    program_write(dir, "text", text);
    program_run r = start(dir, RESUME, NULL);
    program_finish(&r);
    ck_assert_msg(r.status == 1 || r.status == 2, "%s: exit %d", names[_i], r.status);
    ck_assert_msg(strstr(r.err, "text") != NULL, "%s: the file is not named: %s", names[_i], r.err);
    program_free(&r);
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* The text has moved: with the new place the run goes on as if nothing had happened. */
START_TEST(moved_data)
{
    enum { LETTERS = 1500 };
    char *dir = program_directory(), text[LETTERS + 1] = "";
    for (int i = 0; i < LETTERS; i++) text[i] = "abcdefgh \n"[(i * i + i / 7) % 10];
    program_write(dir, "text", text);
    static const char *const base[PROGRAM_ARGS] = {
        "--task", "text", "--seq-len", "8", "--d-model", "8", "--batch", "4", "--steps", "6"};
    train(dir, base, WITH("--data", "text", "--out", "whole"), 0);
    train(dir, base, WITH("--data", "text", "--out", "run", "--stop-at", "3"), 0);
    program_write(dir, "moved", text);
    file_path old = below(dir, "text");
    ck_assert_int_eq(unlink(old.text), 0);
    refused(dir, RESUME, NULL, 1, WITH("text"));
    train(dir, RESUME, WITH("--data", "moved"), 0);
    same_file(dir, "whole", "run", "metrics.csv");
    same_file(dir, "whole", "run", "last.safetensors");
    program_directory_remove(dir);
}
END_TEST

START_TEST(one_process_a_run)
{
    char *dir = program_directory();
    train(dir, TINY,
          WITH("--steps", "1000000", "--stop-at", "3", "--log-every", "1", "--out", "run"), 0);
    program_run first = start(dir, RESUME, NULL);
    await(dir, "run/metrics.csv", 2000);
    refused(dir, RESUME, NULL, 1, WITH("run is in use"));
    refused(dir, TINY, WITH("--out", "run", "--force"), 1, WITH("run is in use"));
    refused(dir, TINY, WITH("--out", "run"), 1, WITH("run is in use"));
    kill(first.pid, SIGTERM);
    program_finish(&first);
    ck_assert_int_eq(first.signal, SIGTERM);
    program_free(&first);
    well_formed_logs(dir, "run");
    char at[24];
    snprintf(at, sizeof at, "%lu", (unsigned long)last_step(dir, "run") + 3);
    train(dir, RESUME, WITH("--stop-at", at), 0);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("damaged", {
    ADD(what_is_no_run);
    ADD(a_broken_configuration);
    ADD(a_log_of_other_columns);
    ADD(a_missing_checkpoint);
    ADD(a_truncated_checkpoint);
    ADD(a_checkpoint_with_a_flipped_bit);
    ADD(a_damaged_best);
    ADD_LOOP(a_checkpoint_of_another_configuration, 3);
    ADD_LOOP(tokens_are_counted_beyond_32_bits, 3);
    ADD(a_step_beyond_the_end);
    ADD_LOOP(changed_data, 3);
    ADD(moved_data);
    ADD(one_process_a_run);
})
