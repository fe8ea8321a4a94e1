/* SPDX-License-Identifier: MIT
 * How many threads to use: what the affinity mask and the control group allow.
 *
 * Invariant: rdk_threads_available is at least 1 and never more than the least of these limits.
 * Read next: clock.c. */
#define _GNU_SOURCE        /* sched_getaffinity */
#define _DARWIN_C_SOURCE 1 /* _SC_NPROCESSORS_ONLN */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include <rootdk/base.h>

enum { MOST_THREADS = 1024, LINE = 4096 };

void rdk_threads_set(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n);
#else
    (void)n;
#endif
}

int rdk_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Keeps the smaller limit and says whose it is. */
static void limit(int *n, const char **reason, long allowed, const char *whose)
{
    if (allowed >= *n) return;
    *n = allowed < 1 ? 1 : (int)allowed;
    *reason = whose;
}

#ifdef __linux__
static void limit_by_affinity(int *n, const char **reason)
{
    /* The kernel refuses a set smaller than its own, so grow until it fits. */
    for (int cpus = MOST_THREADS; cpus <= 64 * MOST_THREADS; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) return;
        bool known = sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set) == 0;
        if (known) limit(n, reason, CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set), "affinity mask");
        CPU_FREE(set);
        if (known) return;
    }
}

/* The first line of directory/name, without its end; false where there is none. */
static bool first_line(const char *directory, const char *name, char line[LINE])
{
    char path[LINE];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || length >= (int)sizeof path) return false;
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool got = fgets(line, LINE, f) != NULL;
    fclose(f);
    return got;
}

/* Half a processor still runs one thread; one and a half is not enough for two. */
static void limit_by_quota(long quota, long period, int *n, const char **reason)
{
    if (quota > 0 && period > 0) limit(n, reason, quota / period, "cgroup quota");
}

/* Version 2: cpu.max holds "max 100000" or "150000 100000". */
static void limit_by_cpu_max(const char *directory, int *n, const char **reason)
{
    char line[LINE], *end;
    if (!first_line(directory, "cpu.max", line)) return;
    long quota = strtol(line, &end, 10); /* 0 for "max" */
    limit_by_quota(quota, strtol(end, NULL, 10), n, reason);
}

/* Version 1: two files, and a quota of -1 where there is none. */
static void limit_by_cfs_quota(const char *directory, int *n, const char **reason)
{
    char line[LINE];
    if (!first_line(directory, "cpu.cfs_quota_us", line)) return;
    long quota = strtol(line, NULL, 10);
    if (!first_line(directory, "cpu.cfs_period_us", line)) return;
    limit_by_quota(quota, strtol(line, NULL, 10), n, reason);
}

/* A quota binds the group and all below it: from our group up to the root of the mount. */
static void limit_upwards(const char *mount, const char *group, int *n, const char **reason)
{
    char path[LINE];
    int length = snprintf(path, sizeof path, "%s%s", mount, group);
    if (length < 0 || length >= (int)sizeof path) return;
    for (size_t end = (size_t)length; end >= strlen(mount); end--) {
        if (path[end] != '\0' && path[end] != '/') continue;
        path[end] = '\0';
        limit_by_cpu_max(path, n, reason);
        limit_by_cfs_quota(path, n, reason);
    }
}

/* Is `word` one of the comma-separated `list`? */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Lines of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1). */
static void limit_by_cgroup(int *n, const char **reason)
{
    FILE *f = fopen("/proc/self/cgroup", "r");
    if (!f) return;
    char line[LINE];
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        controllers++;
        if (*controllers == '\0')
            limit_upwards("/sys/fs/cgroup", group, n, reason);
        else if (listed(controllers, "cpu"))
            limit_upwards("/sys/fs/cgroup/cpu", group, n, reason);
    }
    fclose(f);
}
#endif

int rdk_threads_available(const char **reason)
{
    const char *whose = "processors online";
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int n = online < 1 ? 1 : online > MOST_THREADS ? MOST_THREADS : (int)online;
#ifdef __linux__
    limit_by_affinity(&n, &whose);
    limit_by_cgroup(&n, &whose);
#endif
#ifndef _OPENMP
    limit(&n, &whose, 1, "built without OpenMP");
#endif
    if (reason) *reason = whose;
    return n;
}
