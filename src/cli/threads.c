/* SPDX-License-Identifier: MIT
 * How many threads a run uses, and why. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { MOST_THREADS = 256 };

/* The first number of OMP_NUM_THREADS ("4", or "4,2" for nested levels); 0 where it says none. */
static int from_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char first[RDK_NUMBER_TEXT] = "";
    uint64_t n;
    size_t length = text ? strcspn(text, ",") : 0;
    if (!length || length >= sizeof first) return 0;
    memcpy(first, text, length);
    if (!rdk_parse_uint(first, &n) || n < 1) return 0;
    return n > MOST_THREADS ? MOST_THREADS : (int)n;
}

int rdk_choose_threads(int asked, const char **reason)
{
    int n = asked ? asked : from_environment();
    *reason = asked ? "--threads" : "OMP_NUM_THREADS";
    if (!n) n = rdk_threads_available(reason);
    if (n > MOST_THREADS) n = MOST_THREADS;
    rdk_threads_set(n);
    if (rdk_threads() != n) *reason = "built without OpenMP";
    return rdk_threads();
}

/* Where they only spin (the default of gcc's OpenMP) and another process wants the core, a short
 * parallel loop takes milliseconds; where they sleep at once, an idle machine is slower. To
 * compare, alone, beside a busy loop, and two at a time: time env GOMP_SPINCOUNT=1000 build/rootdk
 * --steps 100 --quiet --threads 2 */
void rdk_threads_begin_again(char **argv)
{
#if defined(_OPENMP) && defined(__linux__)
    char self[RDK_PATH_TEXT];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = '\0';
    /* the second wins where it is known */
    if (setenv("OMP_WAIT_POLICY", "passive", 1) || setenv("GOMP_SPINCOUNT", "1000", 1)) return;
    execv(self, argv); /* where that fails, this process goes on as it is */
#else
    (void)argv;
#endif
}
