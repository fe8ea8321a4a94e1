/* SPDX-License-Identifier: MIT
 * Purity, the held-out split and the distributions of the self-made tasks. */
#include "tasks_fixture.h"

/* ---- purity ---------------------------------------------------------------------------------- */

START_TEST(a_sequence_is_a_function_of_its_place)
{
    enum { N = 12 };
    rdk_task *task = open_task(variants[_i].name, 0, 0, variants[_i].encoder);
    rdk_task *again = open_task(variants[_i].name, 0, 0, variants[_i].encoder);
    sequence train[N], eval[N];
    for (size_t k = 0; k < N; k++) {
        train[k] = train_at(task, 7, k / 4, k % 4);
        eval[k] = eval_at(task, 7, k);
    }
    for (size_t k = N; k-- > 0;) { /* another order, another opening of the task */
        sequence e = eval_at(again, 7, k), t = train_at(again, 7, k / 4, k % 4);
        ck_assert(same(&t, &train[k]));
        ck_assert(same(&e, &eval[k]));
    }
    rdk_task_close(task);
    rdk_task_close(again);
}
END_TEST

/* Long enough questions that two equal ones mean equal streams. */
START_TEST(places_differ)
{
    bool modadd = strcmp(variants[_i].name, "modadd") == 0;
    rdk_task *task = open_task(variants[_i].name, 32, modadd ? 97 : 64, variants[_i].encoder);
    uint64_t last = ((uint64_t)1 << 44) - 1;
    sequence q[] = {train_at(task, 1, 0, 0),       train_at(task, 1, 0, 1),
                    train_at(task, 1, 1, 0),       train_at(task, 2, 0, 0),
                    train_at(task, 0, 0, 0),       train_at(task, UINT64_MAX, 0, 0),
                    train_at(task, 1, last, last), train_at(task, 1, last, 0),
                    train_at(task, 1, 0, last),    eval_at(task, 1, 0),
                    eval_at(task, 1, 1),           eval_at(task, 2, 0),
                    eval_at(task, 1, last),        train_at(task, (uint64_t)1 << 32, 0, 0)};
    for (size_t i = 0; i < sizeof q / sizeof q[0]; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(memcmp(q[i].input, q[j].input, sizeof q[i].input) != 0,
                          "%s: places %zu and %zu give one sequence", variants[_i].name, j, i);
    rdk_task_close(task);
}
END_TEST

/* ---- the held-out split ---------------------------------------------------------------------- */

/* The question as one number. */
static size_t code_of(const int32_t *symbols, size_t n, size_t base)
{
    size_t code = 0;
    for (size_t i = 0; i < n; i++) code = code * base + (size_t)symbols[i];
    return code;
}

enum { CODES = 4096, TRAIN_SEEN = 1, EVAL_SEEN = 2 };

static void mark_sides(const rdk_task *task, size_t question, size_t base, unsigned char *seen)
{
    for (uint64_t k = 0; k < 40000; k++) {
        sequence t = train_at(task, k % 3, k, k), e = eval_at(task, k % 3, k);
        seen[code_of(t.input, question, base)] |= TRAIN_SEEN;
        seen[code_of(e.input, question, base)] |= EVAL_SEEN;
    }
}

/* The whole question decides: some first half of one is seen on both sides. */
static void assert_first_half_decides_nothing(const char *name, const unsigned char *seen,
                                              size_t question, size_t base)
{
    size_t endings = 1, both = 0;
    for (size_t i = 0; i < question - question / 2; i++) endings *= base;
    for (size_t first = 0; first * endings < CODES; first++) {
        unsigned sides = 0;
        for (size_t i = first * endings; i < (first + 1) * endings && i < CODES; i++)
            sides |= seen[i];
        both += sides == (TRAIN_SEEN | EVAL_SEEN);
    }
    ck_assert_msg(both > 0, "%s: half of a question decides its side", name);
}

static void assert_split(const char *name, size_t length, size_t vocab, size_t question,
                         size_t base, size_t questions)
{
    unsigned char seen[CODES] = {0};
    rdk_task *decoder = open_task(name, length, vocab, false);
    rdk_task *encoder = open_task(name, length, vocab, true);
    mark_sides(decoder, question, base, seen);
    mark_sides(encoder, question, base, seen);
    size_t trained = 0, evaluated = 0;
    for (size_t i = 0; i < CODES; i++) {
        ck_assert_msg(seen[i] != (TRAIN_SEEN | EVAL_SEEN), "%s: question %zu is on both sides",
                      name, i);
        trained += seen[i] == TRAIN_SEEN;
        evaluated += seen[i] == EVAL_SEEN;
    }
    /* every question is on one side, and about a quarter are held out (five standard deviations) */
    ck_assert_uint_eq(trained + evaluated, questions);
    double q = (double)questions;
    ck_assert_double_lt(fabs((double)evaluated - q / 4.0), 5.0 * sqrt(q * 3.0 / 16.0));
    assert_first_half_decides_nothing(name, seen, question, base);
    rdk_task_close(decoder);
    rdk_task_close(encoder);
}

START_TEST(held_out_questions_are_never_trained_on)
{
    assert_split("sort", 6, 3, 6, 3, 729); /* 3^6 */
    assert_split("copy", 2, 20, 2, 20, 400);
    assert_split("reverse", 3, 7, 3, 7, 343);
    assert_split("modadd", 2, 31, 2, 31, 961);
    assert_split("recall", 2, 8, 4, 8, 192); /* 4 * 3 keys, 4 * 4 values */
}
END_TEST

/* Spaces of a few sequences: refused in words, or both sides really come up; never an endless
 * search. */
START_TEST(tiny_spaces_are_refused_or_work)
{
    static const char *const names[] = {"copy", "reverse", "sort", "modadd", "recall"};
    size_t refused = 0;
    for (size_t a = 0; a < 5; a++)
        for (size_t length = 1; length <= 3; length++)
            for (size_t vocab = 2; vocab <= 6; vocab++) {
                rdk_status s;
                rdk_task *task = try_open(names[a], length, vocab, false, &s);
                if (!task) {
                    ck_assert_int_eq(s.code, RDK_EVALUE);
                    refused += strstr(s.message, "too few different sequences") != NULL;
                    continue;
                }
                for (uint64_t k = 0; k < 100; k++) {
                    train_at(task, 1, k, 0);
                    eval_at(task, 1, k);
                }
                rdk_task_close(task);
            }
    ck_assert_uint_gt(refused, 0);
    rdk_status s; /* one key, one value: a single question */
    ck_assert_ptr_null(try_open("recall", 1, 2, false, &s));
    ck_assert_ptr_nonnull(strstr(s.message, "raise --seq-len or --vocab"));
}
END_TEST

static double chi_square(const size_t *count, size_t bins, size_t total)
{
    double want = (double)total / (double)bins, sum = 0.0;
    for (size_t i = 0; i < bins; i++)
        sum += ((double)count[i] - want) * ((double)count[i] - want) / want;
    return sum;
}

/* Within six standard deviations of chi-square's mean: a fixed draw, so it passes or fails for
 * good, and a bias of a few per cent fails it. */
static void assert_uniform(const size_t *count, size_t bins, size_t total)
{
    double freedom = (double)bins - 1.0, got = chi_square(count, bins, total);
    ck_assert_msg(got < freedom + 6.0 * sqrt(2.0 * freedom), "chi-square %g for %zu bins", got,
                  bins);
}

/* ---- distributions --------------------------------------------------------------------------- */

START_TEST(random_is_uniform_and_independent)
{
    enum { V = 8, T = 64, SEQUENCES = 1000 };
    rdk_task *task = open_task("random", T, V, false);
    for (int eval = 0; eval < 2; eval++) {
        size_t single[V] = {0}, successive[V * V] = {0};
        for (uint64_t k = 0; k < SEQUENCES; k++) {
            sequence q = eval ? eval_at(task, 1, k) : train_at(task, 1, k, k);
            for (size_t i = 0; i < T; i++) {
                single[q.input[i]]++;
                successive[q.input[i] * V + q.target[i]]++;
            }
        }
        assert_uniform(single, V, T * SEQUENCES);
        assert_uniform(successive, V * V, T * SEQUENCES);
    }
    rdk_task_close(task);
}
END_TEST

START_TEST(recall_is_uniform)
{
    enum { PAIRS = 8, KEYS = 32, SEQUENCES = 4000 };
    rdk_task *task = open_task("recall", PAIRS, 2 * KEYS, false);
    size_t first_key[KEYS] = {0}, key[KEYS] = {0}, value[KEYS] = {0};
    size_t asked_first[PAIRS] = {0}, asked_last[PAIRS] = {0};
    for (uint64_t k = 0; k < SEQUENCES; k++) {
        sequence q = train_at(task, 1, k, 0);
        first_key[q.input[0]]++;
        for (size_t i = 0; i < PAIRS; i++) {
            key[q.input[2 * i]]++;
            value[q.input[2 * i + 1] - KEYS]++;
            asked_first[i] += q.input[2 * i] == q.input[2 * PAIRS];
            asked_last[i] += q.input[2 * i] == q.input[3 * PAIRS - 1];
        }
    }
    assert_uniform(first_key, KEYS, SEQUENCES);
    assert_uniform(key, KEYS, PAIRS * SEQUENCES);
    assert_uniform(value, KEYS, PAIRS * SEQUENCES);
    assert_uniform(asked_first, PAIRS, SEQUENCES);
    assert_uniform(asked_last, PAIRS, SEQUENCES);
    rdk_task_close(task);
}
END_TEST

START_TEST(copy_is_uniform)
{
    enum { V = 10, SEQUENCES = 4000 };
    rdk_task *task = open_task("copy", 8, V, false);
    size_t train[V] = {0}, eval[V] = {0};
    for (uint64_t k = 0; k < SEQUENCES; k++) {
        sequence t = train_at(task, 1, k, 0), e = eval_at(task, 1, k);
        for (size_t i = 0; i < 8; i++) {
            train[t.input[i]]++;
            eval[e.input[i]]++;
        }
    }
    assert_uniform(train, V, 8 * SEQUENCES);
    assert_uniform(eval, V, 8 * SEQUENCES);
    rdk_task_close(task);
}
END_TEST

static bool many_kinds(const int32_t *x, size_t n)
{
    size_t kinds = 0;
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < i && x[j] != x[i]) j++;
        kinds += j == i;
    }
    return kinds > n / 2;
}

/* sort: with p the share of draws with more than n/2 kinds, half of them drawn again leaves
 * (p/2) / (1 - p/2). copy draws plainly, so it tells p. */
START_TEST(sort_boosts_repeats)
{
    enum { SEQUENCES = 20000, N = 6, V = 6 };
    rdk_task *plain = open_task("copy", N, V, false), *boosted = open_task("sort", N, V, false);
    size_t many_plain = 0, many_boosted = 0;
    for (uint64_t k = 0; k < SEQUENCES; k++) {
        sequence a = train_at(plain, 1, k, 0), b = train_at(boosted, 1, k, 0);
        many_plain += many_kinds(a.input, N);
        many_boosted += many_kinds(b.input, N);
    }
    /* by counting: 6^6 inputs, of them with 4, 5, 6 kinds: 23400 + 10800 + 720 */
    double p = (23400.0 + 10800.0 + 720.0) / 46656.0;
    ck_assert_close((double)many_plain / SEQUENCES, p, 0.02, 0);
    ck_assert_close((double)many_boosted / SEQUENCES, p / 2.0 / (1.0 - p / 2.0), 0.02, 0);
    rdk_task_close(plain);
    rdk_task_close(boosted);
}
END_TEST

RDK_TEST_MAIN("task streams", {
    ADD_LOOP(a_sequence_is_a_function_of_its_place, VARIANTS);
    ADD_LOOP(places_differ, VARIANTS);
    ADD(held_out_questions_are_never_trained_on);
    ADD(tiny_spaces_are_refused_or_work);
    ADD(random_is_uniform_and_independent);
    ADD(recall_is_uniform);
    ADD(copy_is_uniform);
    ADD(sort_boosts_repeats);
})
