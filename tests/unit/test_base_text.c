/* SPDX-License-Identifier: MIT
 * Growing text, JSON strings, the nearest name, threads, clock, build. */
#include "harness.h"

#include <rootdk/base.h>

#include "base/parallel.h"

START_TEST(text_grows)
{
    rdk_text t = {0};
    size_t length = 0;
    for (int i = 0; i < 5000; i++) {
        rdk_text_add(&t, "%d,", i);
        length += (size_t)snprintf(NULL, 0, "%d,", i);
    }
    ck_assert(rdk_text_ok(&t, NULL));
    ck_assert_uint_eq(t.size, length);
    ck_assert_uint_eq(strlen(t.data), length);
    ck_assert_int_eq(strncmp(t.data, "0,1,2,3,", 8), 0);
    ck_assert_str_eq(t.data + length - 5, "4999,");
    rdk_text_free(&t);
    ck_assert_ptr_null(t.data);
}
END_TEST

START_TEST(text_takes_any_bytes)
{
    rdk_text t = {0};
    rdk_text_bytes(&t, "", 0);
    ck_assert_str_eq(t.data, "");
    rdk_text_bytes(&t, "a\0b", 3);
    rdk_text_add(&t, "%s", "");
    ck_assert_uint_eq(t.size, 3);
    ck_assert_mem_eq(t.data, "a\0b", 4);
    rdk_text_free(&t);
}
END_TEST

START_TEST(text_remembers_a_failure)
{
    rdk_text t = {0};
    rdk_status s = {0};
    rdk_text_add(&t, "kept");
    rdk_text_bytes(&t, NULL, SIZE_MAX); /* no such room */
    rdk_text_add(&t, "lost");
    ck_assert_str_eq(t.data, "kept");
    ck_assert(!rdk_text_ok(&t, &s));
    ck_assert_int_eq(s.code, RDK_ENOMEM);
    rdk_text_free(&t);
    ck_assert(rdk_text_ok(&t, NULL));
}
END_TEST

START_TEST(shell_words)
{
    static const char *const cases[][2] = {
        {"runs/a-b_c.d", "runs/a-b_c.d"},
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"$x`y`\"*", "'$x`y`\"*'"},
        {"~/run", "'~/run'"},
        {"--out", "./--out"},
        {"-a b", "./'-a b'"},
        {"\xFF", "'\xFF'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rdk_text t = {0};
        rdk_text_shell(&t, cases[i][0]);
        ck_assert_str_eq(t.data, cases[i][1]);
        rdk_text_free(&t);
    }
    rdk_text t = {0};
    rdk_text_shell_word(&t, "--lr=1e-3"); /* a word stays an option */
    rdk_text_add(&t, " ");
    rdk_text_shell_word(&t, "--it's");
    rdk_text_add(&t, " ");
    rdk_text_shell_word(&t, "");
    ck_assert_str_eq(t.data, "--lr=1e-3 '--it'\\''s' ''");
    rdk_text_free(&t);
}
END_TEST

/* Each is before all that follow it, from either side, and equal to itself alone. */
START_TEST(numbers_in_texts_by_value)
{
    static const char *const rising[] = {
        "",
        "-",
        "0.5",
        "0.50",
        "2",
        "9",
        "10",
        "10 a",
        "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
        "a 3e-4",
        "a 0.01",
        "a .25",
        "a .5",
        "a 1..5",
        "a 1..15",
        "a 1e3x",
        "a 1e999",
        "a e",
        "a1.2.3",
        "a1.2.15",
        "b",
        "d-k-16_seed-2",
        "d-k-16_seed-10",
        "d-k-128_seed-1",
        "lr-3e-4",
        "lr-0.01",
        "sqrt, softcap 5",
        "sqrt, softcap 10",
        "\xff",
    };
    enum { N = sizeof rising / sizeof *rising };
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            int order = rdk_text_order(rising[i], rising[j]);
            ck_assert_msg((order > 0) - (order < 0) == (i > j) - (i < j), "'%s', '%s': %d",
                          rising[i], rising[j], order);
        }
    }
}
END_TEST

START_TEST(json_strings)
{
    static const char *const cases[][2] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"tab\tline\nreturn\r", "\"tab\\tline\\nreturn\\r\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},                                                      /* no UTF-8 at all */
        {"\xc3", "\"\xef\xbf\xbd\""},                                 /* cut short */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* too long for its value */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* half a surrogate pair */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rdk_text t = {0};
        rdk_text_json(&t, cases[i][0]);
        ck_assert_str_eq(t.data, cases[i][1]);
        rdk_text_free(&t);
    }
}
END_TEST

START_TEST(nearest_name)
{
    static const char *const names[] = {"none", "sqrt", "dk", "qknorm", "dmodel", "learning-rate"};
    size_t n = sizeof names / sizeof names[0];
    ck_assert_str_eq(rdk_nearest("sqr", names, n), "sqrt");
    ck_assert_str_eq(rdk_nearest("srqt", names, n), "sqrt"); /* a swap counts once */
    ck_assert_str_eq(rdk_nearest("qk-norm", names, n), "qknorm");
    ck_assert_str_eq(rdk_nearest("dk", names, n), "dk");
    ck_assert_str_eq(rdk_nearest("learning-rte", names, n), "learning-rate");
    ck_assert_str_eq(rdk_nearest("nine", names, n), "none");
    ck_assert_ptr_null(rdk_nearest("banana", names, n));
    ck_assert_ptr_null(rdk_nearest("x", names, n));
    ck_assert_ptr_null(rdk_nearest("", names, n));
    ck_assert_ptr_null(rdk_nearest("sqrt", names, 0));
    char lengthy[200] = {0};
    memset(lengthy, 'a', sizeof lengthy - 1);
    ck_assert_ptr_null(rdk_nearest(lengthy, names, n));
    const char *const one[] = {lengthy, "abc"};
    ck_assert_str_eq(rdk_nearest("abd", one, 2), "abc");
}
END_TEST

START_TEST(threads_within_limits)
{
    const char *reason = NULL;
    int n = rdk_threads_available(&reason);
    ck_assert_int_ge(n, 1);
    ck_assert_ptr_nonnull(reason);
    ck_assert_int_eq(rdk_threads_available(NULL), n);
    rdk_threads_set(1);
    ck_assert_int_eq(rdk_threads(), 1);
    rdk_threads_set(-3);
    ck_assert_int_eq(rdk_threads(), 1);
#ifdef _OPENMP
    rdk_threads_set(3);
    ck_assert_int_eq(rdk_threads(), 3);
#endif
}
END_TEST

enum { ROWS = 37, COLS = 53 };

static void count_range(size_t begin, size_t end, int *count, int more)
{
    for (size_t i = begin; i < end; i++) count[i] += more;
}

static void count_each(size_t begin, size_t end, int thread, int *count, int *thread_of)
{
    for (size_t i = begin; i < end; i++) {
        count[i]++;
        thread_of[i] = thread;
    }
}

/* Every iteration once, also where a parallel loop runs inside another; the inner one makes no
 * further threads. */
START_TEST(parallel_loops)
{
    static int count[ROWS][COLS], inner_threads[ROWS];
    rdk_threads_set(4);
    RDK_PARALLEL_FOR
    for (int i = 0; i < ROWS; i++) {
        RDK_PARALLEL_FOR_IF(COLS > 1)
        for (int j = 0; j < COLS; j++) {
            count[i][j]++;
            if (rdk_thread_index() > inner_threads[i]) inner_threads[i] = rdk_thread_index();
        }
    }
    RDK_PARALLEL_FOR_IF(false)
    for (int i = 0; i < ROWS; i++) count[i][0] += 100 * (1 + rdk_thread_index());
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) ck_assert_int_eq(count[i][j], j ? 1 : 101);
    for (int i = 0; i < ROWS; i++) ck_assert_int_eq(inner_threads[i], 0);
}
END_TEST

/* The same of calls that are shared; those of a thread in a loop are numbered from 0, as scratch
 * that was made for rdk_team() of them has it. */
START_TEST(shared_calls)
{
    static int count[ROWS][COLS], thread_of[ROWS][COLS], of_few[2];
    int *all = &count[0][0];
    rdk_threads_set(4);
    RDK_SHARE(true, ROWS * COLS, count_range, all, 1);
    RDK_SHARE(false, ROWS * COLS, count_range, all, 10);
    RDK_SHARE(true, 0, count_range, all, 1000);
    RDK_SHARE(true, 2, count_range, of_few, 1); /* fewer than threads */
    RDK_SHARE_UNEVEN(true, ROWS * COLS, count_each, all, &thread_of[0][0]);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            ck_assert_int_eq(count[i][j], 12);
            ck_assert(thread_of[i][j] >= 0 && thread_of[i][j] < rdk_team());
        }
    }
    RDK_PARALLEL_FOR
    for (int i = 0; i < ROWS; i++) {
        RDK_SHARE(true, COLS, count_range, count[i], 100);
        RDK_SHARE_UNEVEN(true, COLS, count_each, count[i], thread_of[i]);
    }
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            ck_assert_int_eq(count[i][j], 113);
            ck_assert_int_eq(thread_of[i][j], 0);
        }
    }
    ck_assert(of_few[0] == 1 && of_few[1] == 1);
}
END_TEST

START_TEST(clock_and_memory)
{
    double before = rdk_seconds(), after;
    do after = rdk_seconds();
    while (after == before);
    ck_assert(after > before && after - before < 1);
    ck_assert_uint_gt(rdk_peak_memory(), 1 << 16);
    ck_assert(rdk_machine_memory() > (double)rdk_peak_memory());
}
END_TEST

START_TEST(build_names_itself)
{
    int major, minor, patch, end = 0;
    ck_assert_int_eq(sscanf(rdk_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    ck_assert_int_eq((int)strlen(rdk_version()), end);
    ck_assert_uint_gt(strlen(rdk_build_id()), 0);
    ck_assert_ptr_nonnull(strchr(rdk_compiler(), ' '));
}
END_TEST

RDK_TEST_MAIN("base text", {
    ADD(text_grows);
    ADD(text_takes_any_bytes);
    ADD(text_remembers_a_failure);
    ADD(shell_words);
    ADD(numbers_in_texts_by_value);
    ADD(json_strings);
    ADD(nearest_name);
    ADD(threads_within_limits);
    ADD(parallel_loops);
    ADD(shared_calls);
    ADD(clock_and_memory);
    ADD(build_names_itself);
})
