/* SPDX-License-Identifier: MIT
 * The table of tasks: what each says of itself, and what it refuses. Answers are in
 * test_task_answers.c, streams and the held-out split in test_task_streams.c, text in
 * test_text.c. */
#include "tasks_fixture.h"

/* ---- the table ------------------------------------------------------------------------------- */

START_TEST(the_table_is_sound)
{
    ck_assert_uint_gt(rdk_task_type_count(), 0);
    ck_assert_str_eq(rdk_task_type_name(0), "recall");
    for (size_t i = 0; i < rdk_task_type_count(); i++) {
        ck_assert_ptr_nonnull(strstr(rdk_task_type_about(i), "--seq-len"));
        ck_assert_ptr_nonnull(strstr(rdk_task_type_about(i), "--vocab"));
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(rdk_task_type_name(i), rdk_task_type_name(j));
    }
    ck_assert_ptr_null(rdk_task_type_name(rdk_task_type_count()));
    ck_assert_ptr_null(rdk_task_type_about(rdk_task_type_count()));
}
END_TEST

/* Most tests of tasks run over `variants`. (text has tests of its own: it needs a file.) */
START_TEST(every_task_is_tested)
{
    const char *name = rdk_task_type_name(_i);
    bool found = strcmp(name, "text") == 0;
    for (int v = 0; v < VARIANTS; v++) found |= strcmp(variants[v].name, name) == 0;
    ck_assert_msg(found, "task %s has no row in tests/unit/tasks_fixture.h", name);
}
END_TEST

/* The about line states the defaults; here it is held to them. */
START_TEST(about_states_the_defaults)
{
    const char *name = rdk_task_type_name(_i), *about = rdk_task_type_about(_i);
    if (strcmp(name, "text") == 0) return;
    rdk_task *task = open_task(name, 0, 0, false);
    char length[32], vocab[32];
    snprintf(length, sizeof length, "(%zu)", rdk_task_length(task));
    snprintf(vocab, sizeof vocab, "(%zu)", rdk_task_vocab_option(task));
    ck_assert_msg(strstr(about, length) && strstr(about, vocab), "%s: %s", name, about);
    rdk_task_close(task);
}
END_TEST

START_TEST(sizes_of_the_defaults)
{
    static const struct {
        const char *name;
        size_t length, vocab_option, vocab, decoder_tokens, encoder_tokens;
    } want[] = {{"recall", 8, 64, 64, 24, 24},   {"copy", 8, 10, 10, 15, 8},
                {"reverse", 16, 10, 10, 31, 16}, {"sort", 6, 3, 3, 11, 6},
                {"modadd", 2, 97, 98, 3, 3},     {"random", 32, 64, 64, 32, 0}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        for (int encoder = 0; encoder < 2; encoder++) {
            size_t tokens = encoder ? want[i].encoder_tokens : want[i].decoder_tokens;
            if (!tokens) continue;
            rdk_task *task = open_task(want[i].name, 0, 0, encoder);
            ck_assert_str_eq(rdk_task_name(task), want[i].name);
            ck_assert_uint_eq(rdk_task_length(task), want[i].length);
            ck_assert_uint_eq(rdk_task_vocab_option(task), want[i].vocab_option);
            ck_assert_uint_eq(rdk_task_vocab(task), want[i].vocab);
            ck_assert_uint_eq(rdk_task_tokens(task), tokens);
            ck_assert_uint_eq(rdk_task_eval_windows(task), 0);
            ck_assert_ptr_nonnull(strstr(rdk_task_summary(task), want[i].name));
            ck_assert_ptr_nonnull(strstr(rdk_task_vocabulary(task), want[i].name));
            rdk_task_close(task);
        }
    rdk_task_close(NULL);
}
END_TEST

START_TEST(chance_and_floor)
{
    static const struct {
        const char *name;
        size_t length, vocab;
        double loss, floor, accuracy;
        bool whole;
    } want[] = {{"recall", 8, 64, 2.0794415416798357, 0.0, 0.125, true},   /* ln 8 values in view */
                {"recall", 1, 64, 3.4657359027997265, 0.0, 0.03125, true}, /* ln 32: any value */
                {"copy", 8, 10, 2.302585092994046, 0.0, 0.1, true},        /* ln 10 */
                {"reverse", 16, 10, 2.302585092994046, 0.0, 0.1, true},    /* ln 10 */
                {"sort", 6, 3, 1.0986122886681098, 0.0, 1.0 / 3.0, true},  /* ln 3 */
                {"modadd", 2, 113, 4.727387818712341, 0.0, 1.0 / 113.0, true},
                {"random", 32, 64, 4.1588830833596715, 4.1588830833596715, 1.0 / 64.0, false}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        rdk_task *task = open_task(want[i].name, want[i].length, want[i].vocab, false);
        ck_assert_close(rdk_task_chance_loss(task), want[i].loss, 1e-14, 0);
        ck_assert_close(rdk_task_floor_loss(task), want[i].floor, 1e-14, 1e-300);
        ck_assert_close(rdk_task_chance_accuracy(task), want[i].accuracy, 1e-14, 0);
        ck_assert(rdk_task_whole_sequences(task) == want[i].whole);
        rdk_task_close(task);
    }
}
END_TEST

START_TEST(token_texts)
{
    static const struct {
        const char *name;
        int32_t token;
        const char *text;
    } want[] = {{"recall", 0, "k0"},   {"recall", 31, "k31"}, {"recall", 32, "v0"},
                {"recall", 63, "v31"}, {"recall", 64, "?"},   {"copy", 9, "9"},
                {"copy", 10, "?"},     {"copy", -1, "?"},     {"sort", 2, "2"},
                {"reverse", 0, "0"},   {"modadd", 96, "96"},  {"modadd", 97, "="},
                {"modadd", 98, "?"},   {"random", 63, "63"}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        rdk_task *task = open_task(want[i].name, 0, 0, false);
        char buf[RDK_TOKEN_TEXT];
        ck_assert_ptr_eq(rdk_task_token_text(task, want[i].token, buf), buf);
        ck_assert_str_eq(buf, want[i].text);
        rdk_task_close(task);
    }
}
END_TEST

/* A saved model is refused where the vocabulary differs, so it must differ where symbols do. */
START_TEST(vocabulary_tells_symbols_apart)
{
    rdk_task *a = open_task("recall", 8, 64, false), *b = open_task("recall", 8, 32, false);
    rdk_task *c = open_task("recall", 4, 64, true), *d = open_task("random", 0, 64, false);
    ck_assert_str_eq(rdk_task_vocabulary(a), "recall: 32 keys, 32 values");
    ck_assert_str_ne(rdk_task_vocabulary(a), rdk_task_vocabulary(b));
    ck_assert_str_eq(rdk_task_vocabulary(a), rdk_task_vocabulary(c));
    ck_assert_str_ne(rdk_task_vocabulary(a), rdk_task_vocabulary(d));
    rdk_task_close(a);
    rdk_task_close(b);
    rdk_task_close(c);
    rdk_task_close(d);
}
END_TEST

/* ---- refusals and extremes ------------------------------------------------------------------- */

START_TEST(ranges_are_named)
{
    static const struct {
        const char *name;
        size_t length, vocab;
        const char *option, *range;
    } bad[] = {{"copy", 65537, 0, "--seq-len 65537", "1 to 65536"},
               {"copy", 0, 1, "--vocab 1", "2 to 1000000"},
               {"reverse", SIZE_MAX, 0, "--seq-len", "1 to 65536"},
               {"sort", 0, 1000001, "--vocab 1000001", "2 to 1000000"},
               {"recall", 21846, 0, "--seq-len 21846", "1 to 21845"},
               {"recall", 8, 63, "--vocab 63 is odd", "use 64"},
               {"recall", 33, 64, "--seq-len 33", "raise --vocab to 66"},
               {"modadd", 1, 0, "--seq-len 1", "2 to 65535"},
               {"modadd", 0, 1, "--vocab 1", "2 to 1000000"},
               {"random", 0, SIZE_MAX, "--vocab", "2 to 1000000"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rdk_status s;
        ck_assert_ptr_null(try_open(bad[i].name, bad[i].length, bad[i].vocab, false, &s));
        ck_assert_int_eq(s.code, RDK_EVALUE);
        ck_assert_msg(strstr(s.message, bad[i].option) && strstr(s.message, bad[i].range), "%s",
                      s.message);
    }
}
END_TEST

START_TEST(unknown_tasks_are_answered_with_names)
{
    rdk_status s;
    ck_assert_ptr_null(try_open("recal", 0, 0, false, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_ptr_nonnull(strstr(s.message, "'recal'"));
    ck_assert_ptr_nonnull(strstr(s.message, "did you mean recall?"));
    for (size_t i = 0; i < rdk_task_type_count(); i++)
        ck_assert_ptr_nonnull(strstr(s.message, rdk_task_type_name(i)));
    ck_assert_ptr_null(try_open("zzzzzzzzzzzz", 0, 0, false, &s));
    ck_assert_ptr_null(strstr(s.message, "did you mean"));
    ck_assert_ptr_null(try_open("", 0, 0, false, &s));
    rdk_task_config c = {.name = "nothing"};
    ck_assert_ptr_null(rdk_task_open(&c, NULL)); /* a status is not required */
}
END_TEST

START_TEST(options_without_effect_are_refused)
{
    rdk_status s = {0};
    rdk_task_config c = {.name = "sort", .data = "some/file.txt"};
    ck_assert_ptr_null(rdk_task_open(&c, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_ptr_nonnull(strstr(s.message, "--data"));
    c.data = "";
    s = (rdk_status){0};
    rdk_task *task = rdk_task_open(&c, &s);
    ck_assert_ptr_nonnull(task);
    rdk_task_close(task);
    ck_assert_ptr_null(try_open("random", 0, 0, true, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_ptr_nonnull(strstr(s.message, "encoder"));
}
END_TEST

START_TEST(the_longest_sequences_work)
{
    static const struct {
        const char *name;
        size_t length, vocab;
    } big[] = {{"sort", 65536, 1000000},
               {"reverse", 65536, 2},
               {"recall", 21845, 43690},
               {"modadd", 65535, 1000000},
               {"random", 65536, 1000000}};
    for (size_t i = 0; i < sizeof big / sizeof big[0]; i++) {
        rdk_task *task = open_task(big[i].name, big[i].length, big[i].vocab, false);
        size_t tokens = rdk_task_tokens(task);
        int32_t *input = calloc(tokens, sizeof *input), *target = calloc(tokens, sizeof *target);
        int32_t length = 0;
        rdk_task_eval(task, 1, 0, input, target, &length);
        ck_assert_int_eq(length, (int)tokens);
        ck_assert_int_ge(target[tokens - 1], 0);
        ck_assert_int_lt(target[tokens - 1], (int)rdk_task_vocab(task));
        if (strcmp(big[i].name, "sort") == 0)
            for (size_t k = big[i].length; k < tokens; k++)
                ck_assert_int_ge(target[k], target[k - 1]);
        free(input);
        free(target);
        rdk_task_close(task);
    }
}
END_TEST

RDK_TEST_MAIN("tasks", {
    ADD(the_table_is_sound);
    ADD_LOOP(every_task_is_tested, (int)rdk_task_type_count());
    ADD_LOOP(about_states_the_defaults, (int)rdk_task_type_count());
    ADD(sizes_of_the_defaults);
    ADD(chance_and_floor);
    ADD(token_texts);
    ADD(vocabulary_tells_symbols_apart);
    ADD(ranges_are_named);
    ADD(unknown_tasks_are_answered_with_names);
    ADD(options_without_effect_are_refused);
    ADD(the_longest_sequences_work);
})
