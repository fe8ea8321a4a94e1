/* SPDX-License-Identifier: MIT
 * "Did you mean": the nearest of some names by edit distance.
 *
 * Invariant: a suggestion differs from the word in at most half of the word's letters.
 * Read next: nothing; this leads nowhere. */
#include <string.h>

#include <rootdk/base.h>

enum { LONGEST = 64 }; /* no option or name is longer */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST + 1]; /* for the first i - 2, i - 1 and i letters of a */
    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(change, least(last[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

const char *rdk_nearest(const char *word, const char *const *names, size_t n)
{
    size_t length = strlen(word), best = length / 2 + 1;
    const char *nearest = NULL;
    if (length > LONGEST) return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(names[i]);
        if (other > LONGEST) continue;
        size_t d = distance(word, length, names[i], other);
        if (d >= best) continue;
        best = d;
        nearest = names[i];
    }
    return nearest;
}
