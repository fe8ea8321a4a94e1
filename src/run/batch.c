/* SPDX-License-Identifier: MIT
 * Batches: sequences side by side, and the figures of a pass over them. */
#include "trainer.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"

bool rdk_batch_make(rdk_batch *b, size_t n, size_t len, rdk_status *s)
{
    size_t tokens;
    *b = (rdk_batch){.n = n, .len = len};
    if (!rdk_size_mul(n, len, &tokens))
        return rdk_fail(s, RDK_ENOMEM, "a batch of %zu sequences of %zu tokens is too large", n,
                        len);
    b->input = rdk_alloc(tokens, sizeof *b->input, s);
    b->target = rdk_alloc(tokens, sizeof *b->target, s);
    b->length = rdk_alloc(n, sizeof *b->length, s);
    b->nll = rdk_alloc(tokens, sizeof *b->nll, s);
    b->best = rdk_alloc(tokens, sizeof *b->best, s);
    return rdk_ok(s);
}

void rdk_batch_free(rdk_batch *b)
{
    rdk_free(b->input);
    rdk_free(b->target);
    rdk_free(b->length);
    rdk_free(b->nll);
    rdk_free(b->best);
    *b = (rdk_batch){0};
}

void rdk_batch_train(rdk_batch *b, const rdk_task *task, uint64_t seed, uint64_t step)
{
    RDK_PARALLEL_FOR
    for (size_t i = 0; i < b->n; i++)
        rdk_task_train(task, seed, step, i, b->input + i * b->len, b->target + i * b->len,
                       &b->length[i]);
}

static void clear_sequence(rdk_batch *b, size_t i)
{
    b->length[i] = 0;
    for (size_t t = 0; t < b->len; t++) {
        b->input[i * b->len + t] = 0;
        b->target[i * b->len + t] = RDK_IGNORE;
    }
}

void rdk_batch_eval(rdk_batch *b, const rdk_task *task, uint64_t seed, uint64_t first, size_t n)
{
    RDK_PARALLEL_FOR
    for (size_t i = 0; i < b->n; i++) {
        if (i < n)
            rdk_task_eval(task, seed, first + i, b->input + i * b->len, b->target + i * b->len,
                          &b->length[i]);
        else
            clear_sequence(b, i);
    }
}

uint64_t rdk_batch_counted(const rdk_batch *b)
{
    uint64_t counted = 0;
    for (size_t k = 0; k < b->n * b->len; k++) counted += b->target[k] != RDK_IGNORE;
    return counted;
}

rdk_asked rdk_batch_asked(const rdk_batch *b)
{
    rdk_asked a = {(double)rdk_batch_counted(b) / ((double)b->n * (double)b->len), 0};
    if (a.share == 0) return a;
    a.first = b->len;
    for (size_t k = 0; k < b->n * b->len; k++)
        if (b->target[k] != RDK_IGNORE && k % b->len < a.first) a.first = k % b->len;
    return a;
}

rdk_asked rdk_task_asked(const rdk_task *task, uint64_t seed, rdk_status *s)
{
    enum { SEQUENCES = 64 };
    rdk_batch b;
    rdk_asked asked = {NAN, 0};
    if (rdk_batch_make(&b, SEQUENCES, rdk_task_tokens(task), s)) {
        rdk_batch_train(&b, task, seed, 0);
        asked = rdk_batch_asked(&b);
    }
    rdk_batch_free(&b);
    return asked;
}

rdk_score rdk_batch_score(const rdk_batch *b)
{
    rdk_score p = {0};
    uint64_t right = 0, sequences = 0, whole = 0;
    for (size_t i = 0; i < b->n; i++) {
        uint64_t counted = 0, hits = 0;
        for (size_t k = i * b->len; k < (i + 1) * b->len; k++) {
            if (b->target[k] == RDK_IGNORE) continue;
            p.loss += (double)b->nll[k];
            counted++;
            hits += b->best[k] == b->target[k];
        }
        p.tokens += (uint64_t)b->length[i];
        p.counted += counted;
        right += hits;
        sequences += counted > 0;
        whole += counted > 0 && hits == counted;
    }
    if (p.counted) {
        p.loss /= (double)p.counted;
        p.accuracy = (double)right / (double)p.counted;
        p.sequence_accuracy = (double)whole / (double)sequences;
    }
    return p;
}
