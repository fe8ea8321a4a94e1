/* SPDX-License-Identifier: MIT
 * Memory: checked sizes, the heap, the arena. */
#include "harness.h"

#include <sys/resource.h>

#include <rootdk/base.h>

static void assert_aligned(const void *p)
{
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq((uintptr_t)p % 64, 0);
}

START_TEST(sizes_are_checked)
{
    size_t x = 5;
    ck_assert(rdk_size_mul(3, 4, &x) && x == 12);
    ck_assert(rdk_size_mul(0, SIZE_MAX, &x) && x == 0);
    ck_assert(rdk_size_mul(SIZE_MAX, 1, &x) && x == SIZE_MAX);
    ck_assert(!rdk_size_mul(SIZE_MAX, 2, &x));
    ck_assert(!rdk_size_mul((size_t)1 << 32, (size_t)1 << 32, &x));
    ck_assert(rdk_size_add(SIZE_MAX - 1, 1, &x) && x == SIZE_MAX);
    ck_assert(!rdk_size_add(SIZE_MAX, 1, &x));
}
END_TEST

START_TEST(heap_is_zeroed_and_aligned)
{
    static const size_t counts[] = {0, 1, 63, 64, 1000003};
    rdk_status s = {0};
    unsigned char *p = rdk_alloc(counts[_i], 1, &s);
    assert_aligned(p);
    for (size_t i = 0; i < counts[_i]; i++) ck_assert_uint_eq(p[i], 0);
    rdk_free(p);
    rdk_free(NULL);
    ck_assert(rdk_ok(&s));
}
END_TEST

START_TEST(zeros_take_no_memory_before_they_are_touched)
{
    enum { BYTES = 256 << 20, SAID_IN = 1024 }; /* Linux counts in KiB */
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    unsigned char *p = rdk_alloc(BYTES, 1, NULL);
    assert_aligned(p);
    p[BYTES / 2] = 1;
    getrusage(RUSAGE_SELF, &after);
    ck_assert_int_eq(p[BYTES - 1], 0);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, BYTES / 2 / SAID_IN);
    rdk_free(p);
}
END_TEST

START_TEST(heap_refuses_what_does_not_fit)
{
    rdk_status s = {0};
    ck_assert_ptr_null(rdk_alloc(SIZE_MAX / 2, 4, &s));
    ck_assert_int_eq(s.code, RDK_ENOMEM);
    s = (rdk_status){0};
    ck_assert_ptr_null(rdk_alloc(PTRDIFF_MAX, 1, &s));
    ck_assert_int_eq(s.code, RDK_ENOMEM);
    ck_assert_ptr_nonnull(strstr(s.message, "cannot allocate"));
    ck_assert_ptr_null(rdk_alloc(SIZE_MAX, SIZE_MAX, NULL));
}
END_TEST

START_TEST(arena_gives_separate_aligned_memory)
{
    rdk_arena *a = rdk_arena_new(NULL);
    enum { N = 300 };
    unsigned char *p[N];
    for (int i = 0; i < N; i++) {
        size_t n = (size_t)i * (size_t)i; /* from 0 to more than any first block holds */
        p[i] = rdk_arena_alloc(a, n, 1);
        assert_aligned(p[i]);
        for (int j = 0; j < i; j++) ck_assert_ptr_ne(p[i], p[j]);
        if (n) memset(p[i], i % 251, n);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i * i; k += 37) ck_assert_uint_eq(p[i][k], (unsigned)i % 251);
    rdk_arena_free(a);
    rdk_arena_free(NULL);
}
END_TEST

/* One pass as a training step makes it: small and large, with scratch given back between. */
static void pass(rdk_arena *a, unsigned seed)
{
    rdk_draws d = rdk_draws_at((rdk_stream){seed, RDK_FOR_TEST, 0}, 0);
    for (int i = 0; i < 200; i++) {
        rdk_arena_mark mark = rdk_arena_mark_here(a);
        ck_assert_ptr_nonnull(rdk_arena_alloc(a, rdk_draw_below(&d, 300000), 1));
        if (i % 3 == 0) rdk_arena_release(a, mark);
        if (i % 20 == 0) ck_assert_ptr_nonnull(rdk_arena_alloc(a, 5000000, 1));
    }
}

START_TEST(second_pass_asks_nothing_of_the_heap)
{
    rdk_arena *a = rdk_arena_new(NULL);
    ck_assert_uint_eq(rdk_arena_bytes(a), 0);
    pass(a, (unsigned)_i);
    size_t held = rdk_arena_bytes(a);
    ck_assert_uint_gt(held, 50000000);
    for (int again = 0; again < 5; again++) {
        rdk_arena_reset(a);
        pass(a, (unsigned)_i);
        ck_assert_uint_eq(rdk_arena_bytes(a), held);
    }
    rdk_arena_free(a);
}
END_TEST

START_TEST(release_gives_the_same_memory_again)
{
    rdk_arena *a = rdk_arena_new(NULL);
    rdk_arena_mark empty = rdk_arena_mark_here(a);
    void *first = rdk_arena_alloc(a, 10, 4);
    rdk_arena_mark mark = rdk_arena_mark_here(a);
    void *scratch = rdk_arena_alloc(a, 100, 4);
    rdk_arena_alloc(a, 3 << 20, 1); /* a second block */
    rdk_arena_release(a, mark);
    ck_assert_ptr_eq(rdk_arena_alloc(a, 100, 4), scratch);
    rdk_arena_release(a, empty);
    ck_assert_ptr_eq(rdk_arena_alloc(a, 1, 1), first);
    rdk_arena_reset(a);
    ck_assert_ptr_eq(rdk_arena_alloc(a, 1, 1), first);
    rdk_arena_free(a);
}
END_TEST

START_TEST(arena_refuses_what_does_not_fit)
{
    rdk_arena *a = rdk_arena_new(NULL);
    void *before = rdk_arena_alloc(a, 1, 1);
    size_t held = rdk_arena_bytes(a);
    ck_assert_ptr_null(rdk_arena_alloc(a, SIZE_MAX, 8));
    ck_assert_ptr_null(rdk_arena_alloc(a, SIZE_MAX, 1));
    ck_assert_ptr_null(rdk_arena_alloc(a, SIZE_MAX - 63, 1));
    ck_assert_ptr_null(rdk_arena_alloc(a, PTRDIFF_MAX, 1));
    ck_assert_uint_eq(rdk_arena_bytes(a), held);
    /* and it goes on as if nobody had asked */
    ck_assert_ptr_eq(rdk_arena_alloc(a, 1, 1), (char *)before + 64);
    rdk_arena_free(a);
}
END_TEST

#ifdef RDK_DEBUG
START_TEST(debug_memory_reads_as_nan)
{
    rdk_arena *a = rdk_arena_new(NULL);
    for (int again = 0; again < 2; again++) {
        rdk_real *x = rdk_arena_alloc(a, 1000, sizeof *x);
        for (int i = 0; i < 1000; i++) {
            ck_assert(isnan(x[i]));
            x[i] = 0;
        }
        rdk_arena_reset(a);
    }
    rdk_arena_free(a);
}
END_TEST
#define ADD_DEBUG ADD(debug_memory_reads_as_nan);
#else
#define ADD_DEBUG
#endif

START_TEST(status_keeps_the_first_failure)
{
    rdk_status s = {0};
    ck_assert(rdk_ok(&s));
    ck_assert(!rdk_fail(&s, RDK_ESHAPE, "first %d", 1));
    ck_assert(!rdk_fail(&s, RDK_EIO, "second"));
    ck_assert_int_eq(s.code, RDK_ESHAPE);
    ck_assert_str_eq(s.message, "first 1");
    ck_assert(!rdk_fail(NULL, RDK_EIO, "nobody listens"));
}
END_TEST

START_TEST(status_marks_a_cut_message)
{
    char lengthy[2000];
    memset(lengthy, 'x', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    rdk_status s = {0};
    rdk_fail(&s, RDK_EIO, "%s", lengthy);
    ck_assert_uint_eq(strlen(s.message), sizeof s.message - 1);
    ck_assert_str_eq(s.message + sizeof s.message - 5, "x...");
}
END_TEST

RDK_TEST_MAIN("base memory", {
    ADD(sizes_are_checked);
    ADD_LOOP(heap_is_zeroed_and_aligned, 5);
    ADD(zeros_take_no_memory_before_they_are_touched);
    ADD(heap_refuses_what_does_not_fit);
    ADD(arena_gives_separate_aligned_memory);
    ADD_LOOP(second_pass_asks_nothing_of_the_heap, 4);
    ADD(release_gives_the_same_memory_again);
    ADD(arena_refuses_what_does_not_fit);
    ADD_DEBUG
    ADD(status_keeps_the_first_failure);
    ADD(status_marks_a_cut_message);
})
