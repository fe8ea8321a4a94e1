/* SPDX-License-Identifier: MIT
 * The heap: checked sizes, 64-byte alignment, zeroed memory.
 *
 * Zeros come from calloc, which has them from the system for a large array: so what is never
 * touched of it takes no memory. It aligns less, so there is room in front; the last bytes there
 * say where the block begins.
 *
 * Invariant: outside src/base nobody asks the system for memory but through here.
 * Read next: arena.c. */
#include <stdlib.h>
#include <string.h>

#include <rootdk/base.h>

#include "base/memory.h"

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

/* Where the beginning of the block of p is kept. */
static void **begin_of(void *p)
{
    return (void **)p - 1;
}

void *rdk_alloc(size_t count, size_t size, rdk_status *s)
{
    size_t bytes;
    if (!rdk_size_mul(count, size, &bytes) || bytes > PTRDIFF_MAX) {
        rdk_fail(s, RDK_ENOMEM, "cannot allocate %zu x %zu bytes: more than memory can address",
                 count, size);
        return NULL;
    }
    unsigned char *block = calloc(1, bytes + RDK_ALIGNMENT);
    if (!block) {
        rdk_fail(s, RDK_ENOMEM, "cannot allocate %zu bytes: out of memory", bytes);
        return NULL;
    }
    _Static_assert(_Alignof(max_align_t) >= sizeof(void *), "calloc leaves room for a pointer");
    size_t front = RDK_ALIGNMENT - (uintptr_t)block % RDK_ALIGNMENT; /* room for a pointer */
    void *p = block + front;
    *begin_of(p) = block;
    RDK_HIDE(block, front);
    RDK_HIDE(block + front + bytes, RDK_ALIGNMENT - front);
    return p;
}

void rdk_free(void *p)
{
    if (!p) return;
    RDK_SHOW(begin_of(p), sizeof(void *));
    free(*begin_of(p));
}

void *rdk_grow(void *p, size_t used, size_t bytes)
{
    void *grown = rdk_alloc(bytes, 1, NULL);
    if (!grown) return NULL;
    if (used > 0) memcpy(grown, p, used);
    rdk_free(p);
    return grown;
}
