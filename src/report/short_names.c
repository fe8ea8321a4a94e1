/* SPDX-License-Identifier: MIT
 * What differs between names of points. A name is made of parts, OPTION-VALUE, between underscores.
 *
 * Invariant: names that differ stay different: a part is left out only where all have the same, and
 * an option's name only where all have it in that place.
 * Read next: show.c. */
#include "short_names.h"

#include <rootdk/run.h>

#include <string.h>

static size_t part_size(const char *part)
{
    return strcspn(part, "_");
}

/* Part k of a name, or NULL. */
static const char *part_of(const char *name, size_t k)
{
    for (; k > 0; k--) {
        name += part_size(name);
        if (!*name++) return NULL;
    }
    return name;
}

static size_t parts_of(const char *name)
{
    size_t n = 1;
    while (part_of(name, n)) n++;
    return n;
}

/* The option that a part begins with: the longest that fits, so d-k is no d. */
static const rdk_option *option_of(const char *part)
{
    const rdk_option *best = NULL;
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        size_t n = strlen(o->name);
        if (strncmp(part, o->name, n) != 0 || part[n] != '-') continue;
        if (!best || n > strlen(best->name)) best = o;
    }
    return best;
}

/* All are of as many parts, and of the same options in the same places. */
static bool alike(const char *const *names, size_t n)
{
    size_t parts = parts_of(names[0]);
    for (size_t i = 0; i < n; i++) {
        if (parts_of(names[i]) != parts) return false;
        for (size_t k = 0; k < parts; k++) {
            const rdk_option *o = option_of(part_of(names[i], k));
            if (!o || o != option_of(part_of(names[0], k))) return false;
        }
    }
    return true;
}

static bool differs(const char *const *names, size_t n, size_t k)
{
    const char *first = part_of(names[0], k);
    for (size_t i = 1; i < n; i++) {
        const char *other = part_of(names[i], k);
        if (part_size(other) != part_size(first) || memcmp(other, first, part_size(first)) != 0)
            return true;
    }
    return false;
}

static void add(rdk_text *t, const char *word, size_t n)
{
    if (t->size) rdk_text_bytes(t, " ", 1);
    rdk_text_bytes(t, word, n);
}

bool rdk_short_names(const char *const *names, size_t n, rdk_text *out, rdk_text *head)
{
    bool failed = false;
    *head = (rdk_text){0};
    for (size_t i = 0; i < n; i++) out[i] = (rdk_text){0};
    if (n < 2 || !alike(names, n)) return false;
    for (size_t k = 0; k < parts_of(names[0]); k++) {
        if (!differs(names, n, k)) continue;
        const char *option = option_of(part_of(names[0], k))->name;
        size_t before = strlen(option) + 1;
        add(head, option, before - 1);
        for (size_t i = 0; i < n; i++) {
            const char *part = part_of(names[i], k);
            add(&out[i], part + before, part_size(part) - before);
        }
    }
    for (size_t i = 0; i < n; i++) failed = failed || out[i].failed || !out[i].size;
    if (!failed && !head->failed && head->size) return true;
    for (size_t i = 0; i < n; i++) rdk_text_free(&out[i]);
    rdk_text_free(head);
    return false;
}
