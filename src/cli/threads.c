/* SPDX-License-Identifier: MIT
 * How many threads a run uses, and why. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { MOST_THREADS = 256 }; /* more are not taken from a variable */

/* The number in n bytes of text, between blanks, at most MOST_THREADS; 0 where it is none. */
static int number_in(const char *text, size_t n)
{
    static const char blanks[] = " \t";
    char digits[RDK_NUMBER_TEXT] = "";
    uint64_t x;
    size_t before = strspn(text, blanks);
    if (before > n) return 0;
    text += before;
    n -= before;
    while (n && strchr(blanks, text[n - 1])) n--;
    if (n >= sizeof digits) return 0;
    memcpy(digits, text, n);
    if (!rdk_parse_uint(digits, &x)) return 0;
    return x < MOST_THREADS ? (int)x : MOST_THREADS;
}

/* *n: the first number of OMP_NUM_THREADS ("4", or "4,2" for nested levels); 0 where it is not set,
 * or empty. False: it holds something else, which OpenMP passes over. */
static bool from_environment(int *n)
{
    const char *text = getenv("OMP_NUM_THREADS");
    *n = 0;
    if (!text || !*text) return true;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int found = number_in(at, length);
        if (!found) return false;
        if (at == text) *n = found;
        at += length;
        if (!*at) return true;
    }
}

int rdk_choose_threads(int asked, const char **reason, rdk_status *s)
{
    char quoted[RDK_QUOTE_TEXT];
    int n = asked;
    *reason = asked ? "--threads" : "OMP_NUM_THREADS";
    if (!asked && !from_environment(&n)) {
        rdk_fail(s, RDK_EVALUE,
                 "OMP_NUM_THREADS in the environment: %s is not a whole number from 1 on (mend or "
                 "unset it, or give --threads)",
                 rdk_quote(getenv("OMP_NUM_THREADS"), quoted));
        return 0;
    }
    if (!n) n = rdk_threads_available(reason);
    if (n > MOST_THREADS) n = MOST_THREADS;
    rdk_threads_set(n);
    if (rdk_threads() != n) *reason = "built without OpenMP";
    return rdk_threads();
}

/* Is a number of threads among the words, so that the variable does not decide? */
static bool says_threads(char **argv)
{
    static const char option[] = "--threads";
    while (*argv && strncmp(*argv, option, strlen(option)) != 0) argv++;
    return *argv != NULL;
}

/* Where they only spin (the default of gcc's OpenMP) and another process wants the core, a short
 * parallel loop takes milliseconds; where they sleep at once, an idle machine is slower. To
 * compare, alone, beside a busy loop, and two at a time: time env GOMP_SPINCOUNT=1000 build/rootdk
 * --steps 100 --quiet --threads 2 */
void rdk_threads_begin_again(char **argv)
{
#if defined(_OPENMP) && defined(__linux__)
    char self[RDK_PATH_TEXT];
    int threads;
    /* OpenMP has complained of a number that is none, and once is enough: it will be refused, or
     * has nothing to say */
    const char *variable = getenv("OMP_NUM_THREADS");
    bool sound = from_environment(&threads);
    if (!sound && !says_threads(argv)) return;
    if (variable && (!sound || !*variable)) unsetenv("OMP_NUM_THREADS");
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = '\0';
    /* the second wins where it is known */
    if (setenv("OMP_WAIT_POLICY", "passive", 1) || setenv("GOMP_SPINCOUNT", "1000", 1)) return;
    execv(self, argv); /* where that fails, this process goes on as it is */
#else
    (void)argv, (void)says_threads;
#endif
}
