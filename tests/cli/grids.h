/* SPDX-License-Identifier: MIT
 * Grids of tiny runs, for the tests of ablations. All paths are below the test's directory. */
#ifndef RDK_TEST_GRIDS_H
#define RDK_TEST_GRIDS_H

#include "run_files.h"

/* A few milliseconds a run; SLOW: long enough to be met in the middle. */
#define GRID "ablate", "--scale", "sqrt,none", "--seed", "1..2", "--layers", "1"
#define TINY_TASK                                                                                  \
    "--task", "copy", "--seq-len", "4", "--vocab", "5", "--d-model", "8", "--heads", "2",          \
        "--batch", "4", "--eval-size", "8"
static const char *const QUICK[] = {GRID, TINY_TASK, "--steps", "3", NULL};

static const char *const POINTS[] = {"scale-none_seed-1", "scale-none_seed-2", "scale-sqrt_seed-1",
                                     "scale-sqrt_seed-2"};
enum { N_POINTS = sizeof POINTS / sizeof *POINTS };

static inline void same_results(const char *dir, const char *a, const char *b)
{
    same_file(dir, a, b, "results.csv");
    same_file(dir, a, b, "results.md");
    same_file(dir, a, b, "points.csv");
}

/* How often the point was started, by its log. */
static inline int starts_of(const char *dir, const char *ablation, const char *point)
{
    int n = 0;
    char *log = program_file(dir, below(ablation, below(point, "output.txt").text).text, NULL);
    for (const char *p = log; (p = strstr(p, "$ ")); p += 2) n += p == log || p[-1] == '\n';
    free(log);
    return n;
}

static inline void each_started(const char *dir, const char *ablation, int times)
{
    for (int i = 0; i < N_POINTS; i++) ck_assert_int_eq(starts_of(dir, ablation, POINTS[i]), times);
}

#endif
