/* SPDX-License-Identifier: MIT
 * Every answer of the self-made tasks, recomputed from its question in each layout. */
#include "tasks_fixture.h"

START_TEST(tokens_are_in_range)
{
    rdk_task *task = open_task(variants[_i].name, 0, 0, variants[_i].encoder);
    size_t tokens = rdk_task_tokens(task), counted = 0;
    int32_t vocab = (int32_t)rdk_task_vocab(task);
    for (uint64_t k = 0; k < 400; k++) {
        sequence q = k % 2 ? train_at(task, 3, k, k) : eval_at(task, 3, k);
        ck_assert_int_eq(q.length, (int)tokens);
        for (size_t i = 0; i < tokens; i++) {
            ck_assert_int_ge(q.input[i], 0);
            ck_assert_int_lt(q.input[i], vocab);
            ck_assert(q.target[i] == RDK_IGNORE || (q.target[i] >= 0 && q.target[i] < vocab));
            counted += q.target[i] != RDK_IGNORE;
        }
        for (size_t i = tokens; i < MAX_T; i++) { /* nothing is written past T */
            ck_assert_int_eq(q.input[i], 0x55555555);
            ck_assert_int_eq(q.target[i], 0x55555555);
        }
    }
    ck_assert_uint_gt(counted, 0);
    rdk_task_close(task);
}
END_TEST

/* ---- answers --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

enum { SYMBOLS = 50 }; /* kinds */

/* The tasks of n symbols in, n symbols out; a new one needs its name and its lines below. */
static const char *const symbol_tasks[] = {"copy", "reverse", "sort"};

static void expected_output(const char *name, const int32_t *in, size_t n, int32_t *out)
{
    memcpy(out, in, n * sizeof *out);
    if (strcmp(name, "reverse") == 0)
        for (size_t i = 0; i < n; i++) out[i] = in[n - 1 - i];
    if (strcmp(name, "sort") == 0) qsort(out, n, sizeof *out, ascending);
}

static void check_symbols(const char *name, size_t n, const sequence *q, bool encoder)
{
    int32_t out[MAX_T];
    expected_output(name, q->input, n, out);
    if (encoder) {
        ck_assert_mem_eq(q->target, out, n * sizeof *out);
        return;
    }
    /* x = cat[:-1], y = cat[1:] with the first n - 1 places of y not counted */
    for (size_t i = 0; i + 1 < n; i++) ck_assert_int_eq(q->target[i], RDK_IGNORE);
    ck_assert_mem_eq(q->target + n - 1, out, n * sizeof *out);
    ck_assert_mem_eq(q->input + n, out, (n - 1) * sizeof *out);
}

START_TEST(symbols_in_symbols_out)
{
    static const size_t lengths[] = {1, 2, 3, 6, 7, 16, 33, 100};
    for (size_t a = 0; a < sizeof symbol_tasks / sizeof symbol_tasks[0]; a++)
        for (size_t b = 0; b < sizeof lengths / sizeof lengths[0]; b++)
            for (int encoder = 0; encoder < 2; encoder++) {
                size_t n = lengths[b];
                rdk_task *task = open_task(symbol_tasks[a], n, SYMBOLS, encoder);
                ck_assert_uint_eq(rdk_task_tokens(task), encoder ? n : 2 * n - 1);
                for (uint64_t k = 0; k < 50; k++) {
                    sequence t = train_at(task, 5, k, 0), e = eval_at(task, 5, k);
                    check_symbols(symbol_tasks[a], n, &t, encoder);
                    check_symbols(symbol_tasks[a], n, &e, encoder);
                }
                rdk_task_close(task);
            }
}
END_TEST

/* Both layouts ask the same questions: a comparison of the two models compares nothing else. */
START_TEST(layouts_ask_the_same)
{
    rdk_task *decoder = open_task("sort", 6, 3, false), *encoder = open_task("sort", 6, 3, true);
    for (uint64_t k = 0; k < 50; k++) {
        sequence a = eval_at(decoder, 1, k), b = eval_at(encoder, 1, k);
        ck_assert_mem_eq(a.input, b.input, 6 * sizeof(int32_t));
    }
    rdk_task_close(decoder);
    rdk_task_close(encoder);
}
END_TEST

static void check_recall(const sequence *q, size_t pairs, int32_t keys)
{
    bool asked[MAX_T] = {false};
    for (size_t i = 0; i < pairs; i++) {
        ck_assert_int_lt(q->input[2 * i], keys);
        ck_assert_int_ge(q->input[2 * i + 1], keys);
        ck_assert_int_eq(q->target[2 * i], RDK_IGNORE);
        ck_assert_int_eq(q->target[2 * i + 1], RDK_IGNORE);
        for (size_t j = 0; j < i; j++) ck_assert_int_ne(q->input[2 * i], q->input[2 * j]);
    }
    for (size_t i = 2 * pairs; i < 3 * pairs; i++) {
        size_t pair = 0;
        while (pair < pairs && q->input[2 * pair] != q->input[i]) pair++;
        ck_assert_uint_lt(pair, pairs);
        ck_assert(!asked[pair]);
        asked[pair] = true;
        ck_assert_int_eq(q->target[i], q->input[2 * pair + 1]);
    }
}

START_TEST(recall_looks_values_up)
{
    /* the last two use up every key */
    static const size_t config[][2] = {{8, 64}, {1, 64}, {7, 30}, {8, 16}, {80, 160}};
    for (size_t c = 0; c < sizeof config / sizeof config[0]; c++)
        for (int encoder = 0; encoder < 2; encoder++) {
            size_t pairs = config[c][0], vocab = config[c][1];
            rdk_task *task = open_task("recall", pairs, vocab, encoder);
            ck_assert_uint_eq(rdk_task_tokens(task), 3 * pairs);
            for (uint64_t k = 0; k < 50; k++) {
                sequence t = train_at(task, 1, 3, k), e = eval_at(task, 1, k);
                check_recall(&t, pairs, (int32_t)vocab / 2);
                check_recall(&e, pairs, (int32_t)vocab / 2);
            }
            rdk_task_close(task);
        }
}
END_TEST

START_TEST(modadd_adds)
{
    static const size_t config[][2] = {{2, 97}, {2, 113}, {2, 5}, {5, 10}};
    for (size_t c = 0; c < sizeof config / sizeof config[0]; c++) {
        size_t n = config[c][0], p = config[c][1];
        rdk_task *task = open_task("modadd", n, p, false);
        ck_assert_uint_eq(rdk_task_vocab(task), p + 1);
        for (uint64_t k = 0; k < 200; k++) {
            sequence q = k % 2 ? train_at(task, 1, k, 0) : eval_at(task, 1, k);
            size_t sum = 0;
            for (size_t i = 0; i < n; i++) {
                ck_assert_int_eq(q.target[i], RDK_IGNORE);
                ck_assert_int_lt(q.input[i], (int)p);
                sum += (size_t)q.input[i];
            }
            ck_assert_int_eq(q.input[n], (int)p);
            ck_assert_int_eq(q.target[n], (int)(sum % p));
        }
        rdk_task_close(task);
    }
}
END_TEST

START_TEST(random_says_the_next_token)
{
    static const size_t lengths[] = {1, 2, 33};
    for (size_t c = 0; c < 3; c++) {
        size_t n = lengths[c];
        rdk_task *task = open_task("random", n, 2, false);
        bool last_differs = false; /* the last target is a draw of its own */
        for (uint64_t k = 0; k < 50; k++) {
            sequence q = k % 2 ? train_at(task, 1, k, 0) : eval_at(task, 1, k);
            for (size_t i = 0; i + 1 < n; i++) ck_assert_int_eq(q.target[i], q.input[i + 1]);
            last_differs |= q.target[n - 1] != q.input[n - 1];
        }
        ck_assert(last_differs);
        rdk_task_close(task);
    }
}
END_TEST

RDK_TEST_MAIN("task answers", {
    ADD_LOOP(tokens_are_in_range, VARIANTS);
    ADD(symbols_in_symbols_out);
    ADD(layouts_ask_the_same);
    ADD(recall_looks_values_up);
    ADD(modadd_adds);
    ADD(random_says_the_next_token);
})
