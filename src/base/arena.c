/* SPDX-License-Identifier: MIT
 * The arena: a list of blocks, a pointer that moves through them.
 *
 * Invariant: blocks behind `current` in the list are empty, and none is given back before
 * rdk_arena_free. An allocation takes the first block from `current` on that has room, or appends
 * one; so a second pass of the same requests walks the same blocks and asks nothing of the heap.
 * Read next: random.c. */
#include <stdlib.h>
#include <string.h>

#include <rootdk/base.h>

#include "base/memory.h"

enum {
    ALIGNMENT = RDK_ALIGNMENT,
    SMALLEST_BLOCK = 1 << 20,
    LARGEST_STEP = 64 << 20, /* blocks double up to here, then grow by this much */
};

typedef struct block {
    struct block *next;
    size_t size;          /* bytes behind the header */
    unsigned char *bytes; /* ALIGNMENT after the start of the header */
} block;

struct rdk_arena {
    block *first, *last;
    block *current; /* NULL: nothing is allocated */
    size_t used;    /* in current */
    size_t held;
};

rdk_arena *rdk_arena_new(rdk_status *s)
{
    return rdk_alloc(1, sizeof(rdk_arena), s);
}

void rdk_arena_free(rdk_arena *a)
{
    if (!a) return;
    for (block *b = a->first; b;) {
        block *next = b->next;
        RDK_SHOW(b->bytes, b->size);
        free(b);
        b = next;
    }
    rdk_free(a);
}

/* Appends a block with room for `need` bytes; NULL without memory. */
static block *append_block(rdk_arena *a, size_t need)
{
    size_t size = a->held < SMALLEST_BLOCK ? SMALLEST_BLOCK : a->held;
    if (size > LARGEST_STEP) size = LARGEST_STEP;
    if (size < need) size = need;
    void *p = NULL;
    if (size > PTRDIFF_MAX - ALIGNMENT || posix_memalign(&p, ALIGNMENT, ALIGNMENT + size) != 0)
        return NULL;
    block *b = p;
    *b = (block){.size = size, .bytes = (unsigned char *)p + ALIGNMENT};
    RDK_HIDE(b->bytes, b->size);
    if (a->last)
        a->last->next = b;
    else
        a->first = b;
    a->last = b;
    a->held += size;
    return b;
}

/* Makes `current` a block with `need` bytes free. */
static bool make_room(rdk_arena *a, size_t need)
{
    if (a->current && a->current->size - a->used >= need) return true;
    block *b = a->current ? a->current->next : a->first;
    while (b && b->size < need) b = b->next;
    if (!b) b = append_block(a, need);
    if (!b) return false;
    a->current = b;
    a->used = 0;
    return true;
}

void *rdk_arena_alloc(rdk_arena *a, size_t count, size_t size)
{
    size_t bytes, need;
    if (!rdk_size_mul(count, size, &bytes)) return NULL;
    if (!rdk_size_add(bytes, ALIGNMENT - 1, &need)) return NULL;
    need = need / ALIGNMENT * ALIGNMENT;
    if (need == 0) need = ALIGNMENT; /* an address of its own for an empty array */
    if (!make_room(a, need)) return NULL;
    unsigned char *p = a->current->bytes + a->used;
    a->used += need;
    RDK_SHOW(p, bytes);
#ifdef RDK_DEBUG
    memset(p, 0xFF, bytes);
#endif
    return p;
}

void rdk_arena_reset(rdk_arena *a)
{
    rdk_arena_release(a, (rdk_arena_mark){NULL, 0});
}

rdk_arena_mark rdk_arena_mark_here(const rdk_arena *a)
{
    return (rdk_arena_mark){a->current, a->used};
}

void rdk_arena_release(rdk_arena *a, rdk_arena_mark mark)
{
    a->current = mark.block;
    a->used = mark.used;
    block *b = a->first;
    if (a->current) {
        RDK_HIDE(a->current->bytes + a->used, a->current->size - a->used);
        b = a->current->next;
    }
    for (; b; b = b->next) RDK_HIDE(b->bytes, b->size);
}

size_t rdk_arena_bytes(const rdk_arena *a)
{
    return a->held;
}
