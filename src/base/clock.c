/* SPDX-License-Identifier: MIT
 * What the system says of time and memory.
 *
 * Invariant: durations come from a clock that never jumps.
 * Read next: number.c. */
#define _DARWIN_C_SOURCE 1 /* the fields of struct rusage */
#include <math.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rootdk/base.h>

double rdk_seconds(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t rdk_peak_memory(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0) return 0;
#ifdef __APPLE__
    return (size_t)usage.ru_maxrss; /* bytes */
#else
    return (size_t)usage.ru_maxrss * 1024;
#endif
}

double rdk_machine_memory(void)
{
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return (double)pages * (double)page;
#endif
    return INFINITY;
}
