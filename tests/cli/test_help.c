/* SPDX-License-Identifier: MIT
 * What is only printed: --help, --version, the man page, completions. */
#include "run_program.h"

enum { COLUMNS = 100 };

START_TEST(help_has_every_option_in_100_columns)
{
    static const char *const ways[][4] = {{"--help"},          {"help"},
                                          {"train", "--help"}, {"--lr", "x", "--help"},
                                          {"help", "train"},   {"--help", "train"}};
    program_run first = printed(ways[0]);
    for (size_t k = 1; k < sizeof ways / sizeof *ways; k++) {
        program_run r = printed(ways[k]);
        ck_assert_str_eq(first.out, r.out);
        program_free(&r);
    }
    static const char *const words[] = {"--scale NAME", "--lr X",     "q.k / sqrt(d_k)",
                                        "qknorm",       "recall",     "--config FILE",
                                        "--[no-]bias",  "exit status"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        ck_assert_msg(strstr(first.out, words[k]) != NULL, "no %s", words[k]);
    }
    for (const char *p = first.out, *end; (end = strchr(p, '\n')); p = end + 1) {
        ck_assert_msg(end - p <= COLUMNS, "too wide: %.*s", (int)(end - p), p);
    }
    program_free(&first);
}
END_TEST

START_TEST(help_on_one_option)
{
    program_run a = printed((const char *[]){"--help=d-k", NULL});
    program_run b = printed((const char *[]){"help", "--d-k", NULL});
    ck_assert_str_eq(a.out, b.out);
    ck_assert_ptr_nonnull(strstr(a.out, "a whole number from 1 to 65536, or auto"));
    program_free(&a);
    program_free(&b);
}
END_TEST

/* Behind a blank as behind "=", of every verb; verbs, scalings and tasks are topics too. */
START_TEST(help_on_any_topic)
{
    static const struct {
        const char *words[4], *holds;
    } cases[] = {
        {{"--help", "scale"}, "--scale NAME|C\n"},
        {{"help", "--d-k"}, "--d-k N\n"},
        {{"--help", "qk-norm"}, "l2: c g cos(q, k)\n"},
        {{"--help", "qk-gain"}, "l2: sqrt(d_k), 1/c of sqrt\n"},
        {{"--help", "--softcap"}, "--softcap "},
        {{"--help", "--no-bias"}, "--[no-]bias\n"},
        {{"theory", "--help", "--csv"}, "--csv FILE\n"},
        {{"--help", "scale-layers"}, "  default  off\n"},
        {{"--help", "describe"}, "--describe\n  about    say what would be trained"},
        {{"help", "--config"}, "--config FILE\n"},
        {{"help", "version"}, "--version\n  about    version, build"},
        {{"--help", "version"}, "--version\n  about    version, build"},
        {{"--help", "--version"}, "--version\n  about    version, build"},
        {{"version", "--help"}, "--version\n  about    version, build"},
        {{"theory", "--help", "--man"}, "--man\n"},
        {{"help", "help"}, "--help OPTION\n"},
        {{"--help", "qknorm"}, "--scale NAME|C\n"},
        {{"--help", "recall"}, "--task NAME\n"},
        {{"--help", "ablate"}, "ablate [OPTIONS]"},
        {{"ablate", "--help", "jobs"}, "--jobs N\n"},
        {{"ablate", "--help", "out"}, "  default  runs/ablate-TASK\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program_run r = printed(cases[i].words);
        ck_assert_msg(strstr(r.out, cases[i].holds) != NULL, "no %s in %.200s", cases[i].holds,
                      r.out);
        if (strncmp(cases[i].holds, "ablate", 6) != 0)
            ck_assert_msg(!strstr(r.out, "usage:"), "a whole page: %.200s", r.out);
        program_free(&r);
    }
    char *dir = program_directory();
    program_run r = program_call(dir, (const char *[]){"--help", "scael", NULL});
    ck_assert_msg(r.status == 2 && strstr(r.err, "'scael' (did you mean scale?)"), "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(version_names_the_build)
{
    program_run a = printed((const char *[]){"--version", NULL});
    program_run b = printed((const char *[]){"version", NULL});
    ck_assert_str_eq(a.out, b.out);
    ck_assert(!strncmp(a.out, "rootdk ", 7));
    static const char *const words[] = {"build", "compiler", "instruction set", "threads",
                                        "numbers"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        ck_assert_msg(strstr(a.out, words[k]) != NULL, "no %s in %s", words[k], a.out);
    }
    program_free(&a);
    program_free(&b);
}
END_TEST

START_TEST(man_page_and_completion)
{
    program_run r = printed((const char *[]){"--man", NULL});
    ck_assert(!strncmp(r.out, ".TH ROOTDK 1", 12));
    ck_assert_ptr_nonnull(strstr(r.out, "\\-\\-weight\\-decay X"));
    program_free(&r);
    r = printed((const char *[]){"--completion", NULL});
    ck_assert_ptr_nonnull(strstr(r.out, "--weight-decay "));
    ck_assert_ptr_nonnull(strstr(r.out, "--mlp) words=\"gelu relu swiglu none gelu-exact \""));
    program_free(&r);
}
END_TEST

RDK_TEST_MAIN("help", {
    ADD(help_has_every_option_in_100_columns);
    ADD(help_on_one_option);
    ADD(help_on_any_topic);
    ADD(version_names_the_build);
    ADD(man_page_and_completion);
})
