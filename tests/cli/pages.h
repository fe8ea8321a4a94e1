/* SPDX-License-Identifier: MIT
 * Pages of tiny runs, for the tests of report and show. */
#ifndef RDK_TEST_PAGES_H
#define RDK_TEST_PAGES_H

#include "run_files.h"

#include <rootdk/report.h>

#include "page_check.h"

/* Calls the program; the status must be this. */
static inline program_run call(const char *dir, const char *const *words, int status)
{
    program_run r = program_call(dir, words);
    ck_assert_msg(r.status == status, "exit %d, want %d: %s", r.status, status, r.err);
    return r;
}

static inline char *report(const char *dir, const char *what)
{
    char path[256];
    program_run r = call(dir, WITH("report", what), 0);
    snprintf(path, sizeof path, "%.200s/report.html", what);
    r.out[strcspn(r.out, "\n")] = '\0';
    ck_assert_str_eq(r.out, path);
    program_free(&r);
    char *page = program_file(dir, path, NULL);
    page_is_well_formed(page);
    page_is_alone(page);
    return page;
}

static inline void holds(const char *page, const char *words)
{
    ck_assert_msg(strstr(page, words) != NULL, "the page does not hold: %s", words);
}

static inline void three_steps(const char *dir, const char *out, const char *const *more)
{
    const char *words[PROGRAM_ARGS] = {"--steps",       "3", "--log-every",  "1",
                                       "--probe-every", "1", "--eval-every", "1",
                                       "--out",         out};
    size_t n = 10;
    while (more && *more) words[n++] = *more++;
    train(dir, TINY, words, 0);
}

#endif
