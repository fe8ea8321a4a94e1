/* SPDX-License-Identifier: MIT
 * What the sources of memory share, for src/base alone. */
#ifndef RDK_BASE_MEMORY_H
#define RDK_BASE_MEMORY_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define RDK_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RDK_POISON 1
#endif
#endif

/* Under the address sanitizer the n bytes from p on may not be touched, or may again. */
#ifdef RDK_POISON
#include <sanitizer/asan_interface.h>
#define RDK_HIDE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define RDK_SHOW(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define RDK_HIDE(p, n) ((void)(p), (void)(n))
#define RDK_SHOW(p, n) ((void)(p), (void)(n))
#endif

enum { RDK_ALIGNMENT = 64 }; /* a cache line, and the widest vector */

/* p (of rdk_alloc, or NULL) with room for `bytes`: its first `used` are kept, the others are zero.
 * NULL without memory; p then stands as it was. */
void *rdk_grow(void *p, size_t used, size_t bytes);

#endif
