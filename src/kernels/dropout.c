/* SPDX-License-Identifier: MIT
 * Dropout, whose mask is drawn again in backward instead of being kept.
 *
 * Invariant: element e is kept iff word e % 4 of rdk_random_block(stream, index e / 4, draw 0) is
 * at least p 2^32; so the mask is a function of the stream and the index alone. A dropped element
 * gives 0 whatever it was, NaN too; with p = 1 all are dropped.
 * Read next: draws.h, src/base/random.c. */
#include "chunks.h"
#include "draws.h"
#include "kernels.h"

/* The n <= DRAWN_WORDS elements from e on, a multiple of DRAWN_WORDS: y = or += x factor where
 * kept. */
static void dropout_batch(const drop_rule *rule, rdk_stream stream, size_t e, size_t n,
                          const rdk_real *x, rdk_real *y, bool accumulate)
{
    uint32_t word[DRAWN_WORDS];
    rdk_real kept[DRAWN_WORDS];
    draw_blocks(stream, e / PHILOX_WORDS, 0, true, word);
    for (size_t i = 0; i < n; i++)
        kept[i] = word[i] >= rule->least && !rule->drops_all ? x[e + i] * rule->factor : 0;
    if (!accumulate) memcpy(y + e, kept, n * sizeof *kept);
    for (size_t i = 0; accumulate && i < n; i++) y[e + i] += kept[i];
}

RDK_SHARED static void dropout_batches(size_t begin, size_t end, const drop_rule *rule,
                                       rdk_stream stream, size_t n, const rdk_real *x, rdk_real *y,
                                       bool accumulate)
{
    for (size_t b = begin; b < end; b++) {
        size_t e = b * DRAWN_WORDS, rest = n - e;
        dropout_batch(rule, stream, e, rest < DRAWN_WORDS ? rest : DRAWN_WORDS, x, y, accumulate);
    }
}

static void dropout_all(double p, rdk_stream stream, size_t n, const rdk_real *x, rdk_real *y,
                        bool accumulate)
{
    const drop_rule rule = drop_rule_of(p);
    RDK_SHARE(n >= SERIAL_ELEMENTS, rdk_pieces(n, DRAWN_WORDS), dropout_batches, &rule, stream, n,
              x, y, accumulate);
}

static void dropout(size_t n, double p, rdk_stream stream, const rdk_real *x, rdk_real *y)
{
    dropout_all(p, stream, n, x, y, false);
}

static void dropout_backward(size_t n, double p, rdk_stream stream, const rdk_real *dy,
                             rdk_real *dx)
{
    dropout_all(p, stream, n, dy, dx, true);
}
