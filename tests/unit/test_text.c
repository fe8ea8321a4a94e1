/* SPDX-License-Identifier: MIT
 * The text task: every window of the training part, every target of the validation part once, the
 * split in order, files and options that are refused. Characters are in test_text_vocab.c. */
#include "text_fixture.h"

/* ---- windows --------------------------------------------------------------------------------- */

/* Both parts hold 0, 1, 2, ..: a window's first symbol says where it starts. */
static rdk_task *open_counting(size_t part, size_t length)
{
    uint8_t bytes[MAX_FILE];
    for (size_t i = 0; i < 2 * part; i++) bytes[i] = (uint8_t)(i % part);
    return must_open(bytes, 2 * part, length, RDK_TOKENS_BYTE);
}

START_TEST(every_training_window_is_reached)
{
    for (size_t length = 1; length <= 6; length++)
        for (size_t n = length + 1; n <= 3 * length + 2; n++) {
            rdk_task *task = open_counting(n, length);
            bool reached[32] = {false};
            for (uint64_t k = 0; k < 400; k++) {
                sequence q = train_at(task, k, k % 3);
                ck_assert_int_eq(q.length, (int)length);
                for (size_t i = 0; i < length; i++) {
                    ck_assert_int_eq(q.input[i], q.input[0] + (int)i);
                    ck_assert_int_eq(q.target[i], q.input[i] + 1);
                }
                ck_assert_int_lt(q.target[length - 1], (int)n);
                reached[q.input[0]] = true;
            }
            for (size_t start = 0; start < n - length; start++) ck_assert(reached[start]);
            for (size_t start = n - length; start < 32; start++) ck_assert(!reached[start]);
            rdk_task_close(task);
        }
}
END_TEST

START_TEST(starts_are_uniform)
{
    enum { N = 40, T = 8, STARTS = N - T, DRAWS = 32000 };
    rdk_task *task = open_counting(N, T);
    size_t count[STARTS] = {0};
    double chi = 0.0, want = (double)DRAWS / STARTS;
    for (uint64_t k = 0; k < DRAWS; k++) count[train_at(task, k, 0).input[0]]++;
    for (size_t i = 0; i < STARTS; i++)
        chi += ((double)count[i] - want) * ((double)count[i] - want) / want;
    ck_assert_double_lt(chi, STARTS - 1 + 6.0 * sqrt(2.0 * (STARTS - 1))); /* six deviations */
    rdk_task_close(task);
}
END_TEST

START_TEST(every_validation_target_counts_once)
{
    for (size_t length = 1; length <= 8; length++)
        for (size_t n = length + 1; n <= 3 * length + 1; n++) {
            rdk_task *task = open_counting(n, length);
            size_t windows = rdk_task_eval_windows(task), times[32] = {0};
            ck_assert_uint_eq(windows, (n - 1 + length - 1) / length);
            for (size_t w = 0; w < windows; w++) {
                sequence q = eval_at(task, w);
                size_t real = w + 1 < windows ? length : n - 1 - w * length;
                ck_assert_int_eq(q.length, (int)real);
                for (size_t i = 0; i < length; i++) {
                    ck_assert_int_eq(q.input[i], i < real ? (int)(w * length + i) : 0);
                    ck_assert_int_eq(q.target[i], i < real ? q.input[i] + 1 : RDK_IGNORE);
                    if (i < real) times[q.target[i]]++;
                }
            }
            ck_assert_uint_eq(times[0], 0);
            for (size_t i = 1; i < 32; i++) ck_assert_uint_eq(times[i], i < n ? 1 : 0);
            rdk_task_close(task);
        }
}
END_TEST

/* n = T + 1: one window in each part, whatever is drawn. */
START_TEST(the_shortest_file)
{
    rdk_task *task = must_open("abcdABCD", 8, 3, RDK_TOKENS_CHAR);
    ck_assert_uint_eq(rdk_task_eval_windows(task), 1);
    for (uint64_t k = 0; k < 20; k++) {
        sequence t = train_at(task, k, k), e = eval_at(task, k); /* past the last: from the first */
        ck_assert_int_eq(t.length, 3);
        ck_assert_int_eq(e.length, 3);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(t.input[i], 4 + i);
            ck_assert_int_eq(t.target[i], 5 + i);
            ck_assert_int_eq(e.input[i], i);
            ck_assert_int_eq(e.target[i], 1 + i);
        }
    }
    rdk_task_close(task);
}
END_TEST

/* Symbol 0 is a symbol like any other: nowhere taken for padding. */
START_TEST(the_commonest_symbol_may_be_number_0)
{
    char text[200];
    memset(text, 'a', sizeof text);
    text[50] = text[150] = 'b';
    rdk_task *task = must_open(text, sizeof text, 16, RDK_TOKENS_CHAR);
    size_t zeros = 0, ones = 0;
    for (size_t w = 0; w < rdk_task_eval_windows(task); w++) {
        sequence q = eval_at(task, w);
        for (size_t i = 0; i < 16; i++) {
            zeros += q.target[i] == 0;
            ones += q.target[i] == 1;
        }
    }
    ck_assert_uint_eq(zeros, 98);
    ck_assert_uint_eq(ones, 1);
    for (uint64_t k = 0; k < 50; k++) {
        sequence q = train_at(task, k, 0);
        ck_assert_int_eq(q.length, 16);
        for (size_t i = 0; i < 16; i++) ck_assert_int_ge(q.target[i], 0);
    }
    rdk_task_close(task);
}
END_TEST

START_TEST(windows_are_a_function_of_their_place)
{
    rdk_task *task = open_counting(100, 5), *again = open_counting(100, 5);
    int32_t starts[60];
    size_t different = 0;
    for (uint64_t k = 0; k < 60; k++) starts[k] = train_at(task, k / 6, k % 6).input[0];
    for (uint64_t k = 60; k-- > 0;) {
        ck_assert_int_eq(train_at(again, k / 6, k % 6).input[0], starts[k]);
        different += starts[k] != starts[0];
    }
    ck_assert_uint_gt(different, 50); /* steps and indices do not share a window */
    rdk_task_close(task);
    rdk_task_close(again);
}
END_TEST

/* ---- the split, and what is said about it ---------------------------------------------------- */

START_TEST(the_split_is_in_order)
{
    uint8_t bytes[100];
    for (size_t i = 0; i < 100; i++) bytes[i] = (uint8_t)i;
    sample f = write_sample(bytes, sizeof bytes);
    rdk_task_config c = config_of(f.path, 4, RDK_TOKENS_BYTE);
    c.val_fraction = 0.1;
    rdk_status s = {0};
    rdk_task *task = rdk_task_open(&c, &s);
    ck_assert_ptr_nonnull(task);
    ck_assert_int_eq(eval_at(task, 0).input[0], 90);
    for (uint64_t k = 0; k < 500; k++) ck_assert_int_lt(train_at(task, k, 0).target[3], 90);
    ck_assert_ptr_nonnull(strstr(rdk_task_summary(task), "100 bytes"));
    ck_assert_ptr_nonnull(strstr(rdk_task_summary(task), "90 for training, the last 10"));
    /* of the content alone: a text that was moved is the same text */
    ck_assert_ptr_null(strstr(rdk_task_summary(task), f.path));
    rdk_task_close(task);
    unlink(f.path);
}
END_TEST

/* "foobar" is a published value of 64-bit FNV-1a (Fowler, Noll and Vo). */
START_TEST(the_hash_is_fnv)
{
    for (int t = 0; t < 2; t++) {
        rdk_task *task = must_open("foobar", 6, 2, t ? RDK_TOKENS_BYTE : RDK_TOKENS_CHAR);
        ck_assert_ptr_nonnull(strstr(rdk_task_summary(task), "85944171f73967e8"));
        ck_assert_ptr_nonnull(strstr(rdk_task_summary(task), t ? "6 bytes" : "6 characters"));
        rdk_task_close(task);
    }
}
END_TEST

START_TEST(chance_of_a_text)
{
    rdk_task *task = must_open("abcabcabcabc", 12, 2, RDK_TOKENS_CHAR);
    ck_assert_close(rdk_task_chance_loss(task), 1.0986122886681098, 1e-14, 0); /* ln 3 */
    ck_assert_close(rdk_task_chance_accuracy(task), 1.0 / 3.0, 1e-14, 0);
    ck_assert(isnan(rdk_task_floor_loss(task)));
    ck_assert(!rdk_task_whole_sequences(task));
    rdk_task_close(task);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

START_TEST(short_files_are_refused_with_both_numbers)
{
    char text[200];
    memset(text, 'x', sizeof text);
    sample f = write_sample(text, sizeof text);
    rdk_task_config c = config_of(f.path, 0, RDK_TOKENS_CHAR);
    c.val_fraction = 0.1;
    rdk_status s = {0};
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_msg(strstr(s.message, f.path) && strstr(s.message, "validation part has 20") &&
                      strstr(s.message, "--seq-len 64 needs 65"),
                  "%s", s.message);
    c.val_fraction = 0.9;
    s = (rdk_status){0};
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_ptr_nonnull(strstr(s.message, "training part has 19"));
    unlink(f.path);
    refused("abc", 3, RDK_TOKENS_CHAR, "training part has 1 ", "--seq-len 1 needs 2");
}
END_TEST

START_TEST(no_file_no_task)
{
    rdk_status s = {0};
    rdk_task_config c = config_of("/nonexistent/file.txt", 0, RDK_TOKENS_CHAR);
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_ptr_nonnull(strstr(s.message, "/nonexistent/file.txt"));
    s = (rdk_status){0};
    c.data = "/tmp";
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_ptr_nonnull(strstr(s.message, "/tmp"));
    static const char *const none[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        s = (rdk_status){0};
        c.data = none[i];
        ck_assert_ptr_null(rdk_task_open(&c, &s));
        ck_assert_int_eq(s.code, RDK_EVALUE);
        ck_assert_ptr_nonnull(strstr(s.message, "--data PATH"));
    }
    refused("", 0, RDK_TOKENS_CHAR, "is empty", "");
    refused("", 0, RDK_TOKENS_BYTE, "is empty", "");
}
END_TEST

START_TEST(options_out_of_range_are_named)
{
    sample f = write_sample("abcabcabcabc", 12);
    static const double fractions[] = {0.0, 1.0, -0.5, 2.0, NAN, INFINITY};
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        rdk_status s = {0};
        rdk_task_config c = config_of(f.path, 2, RDK_TOKENS_CHAR);
        c.val_fraction = fractions[i];
        ck_assert_ptr_null(rdk_task_open(&c, &s));
        ck_assert_int_eq(s.code, RDK_EVALUE);
        ck_assert_ptr_nonnull(strstr(s.message, "--val-fraction"));
    }
    rdk_status s = {0};
    rdk_task_config c = config_of(f.path, 2, RDK_TOKENS_CHAR);
    c.vocab = 3; /* as a saved configuration states it */
    rdk_task *task = rdk_task_open(&c, &s);
    ck_assert_ptr_nonnull(task);
    rdk_task_close(task);
    c.vocab = 4;
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_msg(strstr(s.message, "--vocab 4") && strstr(s.message, "has 3"), "%s", s.message);
    c.vocab = 0;
    c.encoder = true;
    s = (rdk_status){0};
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_ptr_nonnull(strstr(s.message, "encoder"));
    unlink(f.path);
}
END_TEST

/* Any bytes, in either mode: a task or a message, nothing else (run it under the sanitizers). */
START_TEST(any_bytes_are_answered)
{
    static const char *const pieces[] = {"a",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\xb1",
                                         "\r\n", "\xff",     "\xe2\x82",     "\xf0\x9f"};
    rdk_stream stream = {.seed = 2, .purpose = RDK_FOR_TEST};
    size_t opened = 0, not_opened = 0;
    for (uint64_t k = 0; k < 400; k++) {
        rdk_draws d = rdk_draws_at(stream, k);
        char text[128];
        size_t n = 0, count = rdk_draw_below(&d, 24), kinds = k % 2 ? 8 : 5;
        for (size_t i = 0; i < count; i++) {
            const char *piece = pieces[rdk_draw_below(&d, kinds)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        rdk_status s;
        rdk_task *task = open_bytes(text, n, 2, RDK_TOKENS_CHAR, &s);
        ck_assert((task != NULL) == rdk_ok(&s));
        opened += task != NULL;
        not_opened += task == NULL;
        if (task)
            for (uint64_t w = 0; w < 20; w++) ck_assert_int_lt(train_at(task, w, 0).target[1], 6);
        rdk_task_close(task);
    }
    ck_assert_uint_gt(opened, 100);
    ck_assert_uint_gt(not_opened, 100);
}
END_TEST

RDK_TEST_MAIN("text", {
    ADD(every_training_window_is_reached);
    ADD(starts_are_uniform);
    ADD(every_validation_target_counts_once);
    ADD(the_shortest_file);
    ADD(the_commonest_symbol_may_be_number_0);
    ADD(windows_are_a_function_of_their_place);
    ADD(the_split_is_in_order);
    ADD(the_hash_is_fnv);
    ADD(chance_of_a_text);
    ADD(short_files_are_refused_with_both_numbers);
    ADD(no_file_no_task);
    ADD(options_out_of_range_are_named);
    ADD(any_bytes_are_answered);
})
