/* SPDX-License-Identifier: MIT
 * The heap: checked sizes, 64-byte alignment, zeroed memory.
 *
 * Invariant: outside src/base nobody asks the system for memory but through here.
 * Read next: arena.c. */
#include <stdlib.h>
#include <string.h>

#include <rootdk/base.h>

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector */

bool rdk_size_mul(size_t a, size_t b, size_t *product)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *product = a * b;
    return true;
}

bool rdk_size_add(size_t a, size_t b, size_t *sum)
{
    if (b > SIZE_MAX - a) return false;
    *sum = a + b;
    return true;
}

void *rdk_alloc(size_t count, size_t size, rdk_status *s)
{
    size_t bytes;
    if (!rdk_size_mul(count, size, &bytes) || bytes > PTRDIFF_MAX) {
        rdk_fail(s, RDK_ENOMEM, "cannot allocate %zu x %zu bytes: more than memory can address",
                 count, size);
        return NULL;
    }
    void *p = NULL;
    if (posix_memalign(&p, ALIGNMENT, bytes ? bytes : 1) != 0) {
        rdk_fail(s, RDK_ENOMEM, "cannot allocate %zu bytes: out of memory", bytes);
        return NULL;
    }
    memset(p, 0, bytes ? bytes : 1);
    return p;
}

void rdk_free(void *p)
{
    free(p);
}
