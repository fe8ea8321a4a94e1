/* SPDX-License-Identifier: MIT
 * Which table of kernels is chosen, and how much scratch attention asks for. Each test runs in a
 * process of its own, as the choice is made once a process. */
#include "kernels_support.h"

START_TEST(tables_are_listed_best_first)
{
    int n = 0;
    while (rdk_kernels_at(n)) n++;
    ck_assert_int_ge(n, 1);
    ck_assert_int_le(n, ISAS);
    const char *last = rdk_kernels_at(n - 1)->isa;
    ck_assert(!strcmp(last, "base") || (n == 1 && !strcmp(last, "neon")));
    ck_assert_ptr_null(rdk_kernels_at(-1));
    ck_assert_ptr_null(rdk_kernels_at(n + 1));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(rdk_kernels_at(i)->isa, rdk_kernels_at(j)->isa);
}
END_TEST

START_TEST(best_is_the_default)
{
    unsetenv("RDK_ISA");
    ck_assert_ptr_eq(rdk_kernels_get(), rdk_kernels_at(0));
    ck_assert_str_eq(rdk_isa(), rdk_kernels_at(0)->isa);
}
END_TEST

START_TEST(every_table_can_be_forced)
{
    TABLE(k);
    setenv("RDK_ISA", k->isa, 1);
    if (getenv("CK_FORK")) return; /* one process for all: the choice is made */
    ck_assert_ptr_eq(rdk_kernels_get(), k);
    setenv("RDK_ISA", plainest_isa(), 1);
    ck_assert_ptr_eq(rdk_kernels_get(), k);
}
END_TEST

START_TEST(unknown_names_choose_the_best)
{
    static const char *const names[] = {"", "avx", "AVX2", "avx5122"};
    rdk_status s = {0};
    setenv("RDK_ISA", names[_i], 1);
    ck_assert_ptr_eq(rdk_kernels_get(), rdk_kernels_at(0));
    ck_assert_int_eq(rdk_isa_check(&s), !names[_i][0]);
    if (!names[_i][0]) return;
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_msg(strstr(s.message, names[_i]) && strstr(s.message, plainest_isa()), "%s",
                  s.message);
    setenv("RDK_ISA", plainest_isa(), 1);
    ck_assert(rdk_isa_check(&s));
}
END_TEST

/* What a machine's limit is measured with does the work that it says. */
START_TEST(chains_end_where_they_must)
{
    TABLE(k);
    double flops, more;
    ck_assert_close(k->multiply_adds(100, 0.5, 1, &flops), 2, 1e-6, 0);
    ck_assert_close(k->multiply_adds(1000, -0.25, 1, &more), 0.8, 1e-6, 0);
    ck_assert(flops > 0 && more == 10 * flops);
    /* chain c begins at c a and comes to c a^3 + b a + b: the mean shows 16 chains, or 12 */
    double two_rounds = k->multiply_adds(2, 0.5, 1, &flops);
    ck_assert(two_rounds == 1.5 + 15 / 16.0 || two_rounds == 1.5 + 11 / 16.0);
}
END_TEST

START_TEST(scratch_is_linear_in_the_length)
{
    size_t one = rdk_attention_scratch(1024, 64, 64), two = rdk_attention_scratch(2048, 64, 64);
    ck_assert_uint_gt(two, one);
    ck_assert_uint_le(two, 2 * one);
    ck_assert_uint_gt(rdk_attention_scratch(1, 1, 1), 0);
    ck_assert_uint_eq(rdk_attention_scratch(SIZE_MAX / 2, 1, 1), SIZE_MAX);
    ck_assert_uint_eq(rdk_attention_scratch(1, SIZE_MAX, 1), SIZE_MAX);
    ck_assert_uint_eq(rdk_attention_scratch((size_t)1 << 40, 1, (size_t)1 << 40), SIZE_MAX);
}
END_TEST

RDK_TEST_MAIN("kernels_select", {
    ADD(tables_are_listed_best_first);
    ADD(best_is_the_default);
    ADD_LOOP(every_table_can_be_forced, ISAS);
    ADD_LOOP(unknown_names_choose_the_best, 4);
    ADD_LOOP(chains_end_where_they_must, ISAS);
    ADD(scratch_is_linear_in_the_length);
})
