/* SPDX-License-Identifier: MIT
 * Dropout, whose mask is drawn again in backward instead of being kept.
 *
 * Invariant: element e is kept iff word e % 4 of rdk_random_block(stream, index e / 4, draw 0) is
 * at least p 2^32; so the mask is a function of the stream and the index alone. A dropped element
 * gives 0 whatever it was, NaN too; with p = 1 all are dropped.
 * Read next: src/base/random.c. */
#include "chunks.h"
#include "kernels.h"

enum { WORDS = 4 };

typedef struct dropout_rule {
    rdk_stream stream;
    double threshold; /* a word from here on keeps */
    rdk_real factor;
} dropout_rule;

static dropout_rule dropout_rule_of(double p, rdk_stream stream)
{
    static const double words = 4294967296.0; /* 2^32 */
    return (dropout_rule){stream, p * words, (rdk_real)(1 / (1 - p))};
}

/* The n <= WORDS elements of block b: y = or += x factor where kept. */
static inline void dropout_block(const dropout_rule *rule, size_t b, size_t n, const rdk_real *x,
                                 rdk_real *y, bool accumulate)
{
    uint32_t word[WORDS];
    rdk_random_block(rule->stream, b, 0, word);
    for (size_t e = b * WORDS; e < b * WORDS + n; e++) {
        rdk_real kept = word[e % WORDS] >= rule->threshold ? x[e] * rule->factor : 0;
        y[e] = accumulate ? y[e] + kept : kept;
    }
}

RDK_SHARED static void dropout_blocks(size_t begin, size_t end, const dropout_rule *rule,
                                      const rdk_real *x, rdk_real *y, bool accumulate)
{
    for (size_t b = begin; b < end; b++) dropout_block(rule, b, WORDS, x, y, accumulate);
}

static void dropout_all(const dropout_rule *rule, size_t n, const rdk_real *x, rdk_real *y,
                        bool accumulate)
{
    size_t blocks = n / WORDS;
    RDK_SHARE(n >= SERIAL_ELEMENTS, blocks, dropout_blocks, rule, x, y, accumulate);
    if (n % WORDS) dropout_block(rule, blocks, n % WORDS, x, y, accumulate);
}

static void dropout(size_t n, double p, rdk_stream stream, const rdk_real *x, rdk_real *y)
{
    dropout_rule rule = dropout_rule_of(p, stream);
    dropout_all(&rule, n, x, y, false);
}

static void dropout_backward(size_t n, double p, rdk_stream stream, const rdk_real *dy,
                             rdk_real *dx)
{
    dropout_rule rule = dropout_rule_of(p, stream);
    dropout_all(&rule, n, dy, dx, true);
}
