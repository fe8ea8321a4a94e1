/* SPDX-License-Identifier: MIT
 * modadd: the sum of numbers modulo p (Power et al. 2022, "Grokking", section 2): one answer, and a
 * quarter of all questions never seen in training.
 *
 *     input   a b =       target  - - (a + b) mod p
 *
 * Invariant: ids 0..p-1 are the numbers, id p is "="; only the last target counts.
 * Read next: sequence.c for the held-out split. */
#include "task.h"

#include <stdio.h>

static bool open(rdk_task *task, const rdk_task_config *c, rdk_status *s)
{
    (void)c;
    (void)s;
    size_t p = task->vocab_option;
    task->vocab = p + 1;
    task->tokens = task->length + 1;
    task->question = task->length;
    rdk_task_set_chance(task, p);
    rdk_text_add(&task->summary,
                 "modadd: %zu numbers added modulo %zu, drawn without end; one question in %d is "
                 "held out for evaluation",
                 task->length, p, RDK_TASK_HELD_OUT_ONE_IN);
    rdk_text_add(&task->vocabulary, "modadd: %zu numbers, =", p);
    return true;
}

static void draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)target;
    for (size_t i = 0; i < task->length; i++)
        input[i] = (int32_t)rdk_draw_below(d, task->vocab_option);
}

static void answer(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)d;
    uint64_t sum = 0;
    for (size_t i = 0; i < task->length; i++) {
        sum += (uint32_t)input[i];
        target[i] = RDK_IGNORE;
    }
    input[task->length] = (int32_t)task->vocab_option;
    target[task->length] = (int32_t)(sum % task->vocab_option);
}

static void token_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT])
{
    if ((size_t)token == task->vocab_option)
        snprintf(buf, RDK_TOKEN_TEXT, "=");
    else
        rdk_task_number_text(task, token, buf);
}

const rdk_task_type rdk_task_modadd = {
    .name = "modadd",
    .about = "a + b modulo p; --seq-len: numbers to add (2), --vocab: p (97)",
    .length = {2, 2, RDK_TASK_MAX_LENGTH - 1},
    .vocab = {97, 2, RDK_TASK_MAX_VOCAB},
    .whole_sequences = true,
    .open = open,
    .draw = draw,
    .answer = answer,
    .token_text = token_text,
};
