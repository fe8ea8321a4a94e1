/* SPDX-License-Identifier: MIT
 * What the tests of the self-made tasks share: opening one, and a sequence with room around it. */
#ifndef RDK_TASKS_FIXTURE_H
#define RDK_TASKS_FIXTURE_H

#include "harness.h"

#include <rootdk/tasks.h>

enum { MAX_T = 256 };

typedef struct sequence {
    int32_t input[MAX_T], target[MAX_T], length;
} sequence;

static inline rdk_task *try_open(const char *name, size_t length, size_t vocab, bool encoder,
                                 rdk_status *s)
{
    rdk_task_config c = {.length = length, .vocab = vocab, .encoder = encoder, .val_fraction = 0.1};
    snprintf(c.name, sizeof c.name, "%s", name);
    *s = (rdk_status){0};
    return rdk_task_open(&c, s);
}

static inline rdk_task *open_task(const char *name, size_t length, size_t vocab, bool encoder)
{
    rdk_status s;
    rdk_task *task = try_open(name, length, vocab, encoder, &s);
    ck_assert_msg(task != NULL, "%s: %s", name, s.message);
    ck_assert(rdk_ok(&s));
    return task;
}

static inline sequence train_at(const rdk_task *task, uint64_t seed, uint64_t step, uint64_t index)
{
    sequence q;
    memset(&q, 0x55, sizeof q); /* what a task does not write stays visible, and equal */
    ck_assert_uint_le(rdk_task_tokens(task), MAX_T);
    rdk_task_train(task, seed, step, index, q.input, q.target, &q.length);
    return q;
}

static inline sequence eval_at(const rdk_task *task, uint64_t seed, uint64_t index)
{
    sequence q;
    memset(&q, 0x55, sizeof q);
    ck_assert_uint_le(rdk_task_tokens(task), MAX_T);
    rdk_task_eval(task, seed, index, q.input, q.target, &q.length);
    return q;
}

static inline bool same(const sequence *a, const sequence *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Every task that needs no file, in each layout it has. A new task needs its rows. */
typedef struct variant {
    const char *name;
    bool encoder;
} variant;
static const variant variants[] = {{"recall", false}, {"recall", true},   {"copy", false},
                                   {"copy", true},    {"reverse", false}, {"reverse", true},
                                   {"sort", false},   {"sort", true},     {"modadd", false},
                                   {"modadd", true},  {"random", false}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

#endif
