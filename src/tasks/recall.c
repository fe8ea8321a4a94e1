/* SPDX-License-Identifier: MIT
 * recall: key-value pairs, then every key again; say its value. Nothing but attention can solve it,
 * and it takes two layers of it (bind a value to its key, then look the key up): the task on which
 * a saturated softmax shows. A small relative of associative recall (Arora et al. 2023, section 3).
 *
 *     input   k3 v1 k0 v7 | k0 k3      2 pairs; T = 3 * pairs
 *     target   -  -  -  - | v7 v1      "-": not counted
 *
 * Invariant: keys are ids 0..K-1 and appear once among the pairs and once among the queries; values
 * are ids K..2K-1, drawn with repeats.
 * Read next: sequence.c for the held-out split (the pairs decide it, not the order of queries). */
#include "task.h"

#include <stdio.h>

static size_t keys(const rdk_task *task)
{
    return task->vocab / 2;
}

static bool open(rdk_task *task, const rdk_task_config *c, rdk_status *s)
{
    (void)c;
    size_t pairs = task->length;
    task->vocab = task->vocab_option;
    task->tokens = 3 * pairs;
    task->question = 2 * pairs;
    if (task->vocab % 2)
        return rdk_fail(s, RDK_EVALUE,
                        "--vocab %zu is odd: task recall has as many keys as values (use %zu)",
                        task->vocab, task->vocab + 1);
    if (pairs > keys(task))
        return rdk_fail(s, RDK_EVALUE,
                        "--seq-len %zu asks for %zu different keys, --vocab %zu has %zu (raise "
                        "--vocab to %zu, or lower --seq-len)",
                        pairs, pairs, task->vocab, keys(task), 2 * pairs);
    /* Who knows which values are in view, but not whose they are, is right once in `pairs`. (Any
     * value at all would be a loss of ln K; to leave that out is learned before any looking up.)
     * Of one pair that is no guess but the answer. */
    rdk_task_set_chance(task, pairs > 1 ? pairs : keys(task));
    rdk_text_add(&task->summary,
                 "recall: %zu pair%s of %zu keys and %zu values%s, drawn without end; one sequence "
                 "in %d is held out for evaluation",
                 pairs, pairs > 1 ? "s" : "", keys(task), keys(task),
                 pairs > 1 ? "" : ", no key to look up: the answer is the one value in view",
                 RDK_TASK_HELD_OUT_ONE_IN);
    rdk_text_add(&task->vocabulary, "recall: %zu keys, %zu values", keys(task), keys(task));
    return true;
}

/* Remembers a key; false where it was there already. slots: [n], RDK_IGNORE where free, never
 * full. */
static bool remember(int32_t *slots, size_t n, int32_t key)
{
    for (size_t probe = 0; probe < n; probe++) {
        int32_t *slot = &slots[((size_t)key + probe) % n];
        if (*slot == key) return false;
        if (*slot != RDK_IGNORE) continue;
        *slot = key;
        return true;
    }
    return false;
}

/* target serves as the table of keys in use: 3 slots a pair, so a third of it is ever taken. */
static void draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    for (size_t i = 0; i < task->tokens; i++) target[i] = RDK_IGNORE;
    for (size_t pair = 0; pair < task->length; pair++) {
        int32_t key;
        do {
            key = (int32_t)rdk_draw_below(d, keys(task));
        } while (!remember(target, task->tokens, key));
        input[2 * pair] = key;
        input[2 * pair + 1] = (int32_t)(keys(task) + rdk_draw_below(d, keys(task)));
    }
}

/* Every order alike (Fisher and Yates). */
static void shuffle(int32_t *x, size_t n, rdk_draws *d)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rdk_draw_below(d, i);
        int32_t last = x[i - 1];
        x[i - 1] = x[j];
        x[j] = last;
    }
}

static void answer(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    size_t pairs = task->length;
    int32_t *query = input + 2 * pairs, *value = target + 2 * pairs;
    for (size_t i = 0; i < 2 * pairs; i++) target[i] = RDK_IGNORE;
    for (size_t i = 0; i < pairs; i++) query[i] = (int32_t)i; /* first the number of a pair, */
    shuffle(query, pairs, d);
    for (size_t i = 0; i < pairs; i++) {
        const int32_t *pair = input + 2 * query[i]; /* then its key */
        value[i] = pair[1];
        query[i] = pair[0];
    }
}

static void token_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT])
{
    int n_keys = (int)keys(task);
    if (token < n_keys)
        snprintf(buf, RDK_TOKEN_TEXT, "k%d", (int)token);
    else
        snprintf(buf, RDK_TOKEN_TEXT, "v%d", (int)token - n_keys);
}

const rdk_task_type rdk_task_recall = {
    .name = "recall",
    .about = "key-value pairs, then the keys again: say their values; --seq-len: pairs (8), "
             "--vocab: keys and values together (64)",
    .length = {8, 1, RDK_TASK_MAX_LENGTH / 3},
    .vocab = {64, 2, RDK_TASK_MAX_VOCAB},
    .whole_sequences = true,
    .open = open,
    .draw = draw,
    .answer = answer,
    .token_text = token_text,
};
