/* SPDX-License-Identifier: MIT
 * random: independent uniform tokens, say the next one. There is nothing to learn, so an evaluation
 * loss below ln V proves that a model sees its targets: the leak detector.
 *
 * Invariant: tokens are independent and uniform. So nothing is held out by content, which would
 * make them dependent; training and evaluation differ in the purpose of their stream.
 * Read next: sequence.c. */
#include "task.h"

static bool open(rdk_task *task, const rdk_task_config *c, rdk_status *s)
{
    (void)c;
    (void)s;
    task->vocab = task->vocab_option;
    task->tokens = task->length;
    rdk_task_set_chance(task, task->vocab);
    task->floor_loss = task->chance_loss;
    rdk_text_add(&task->summary,
                 "random: independent tokens of %zu kinds; nothing to learn, the loss cannot go "
                 "below %.4f",
                 task->vocab, task->floor_loss);
    rdk_text_add(&task->vocabulary, "random: %zu symbols", task->vocab);
    return true;
}

static void draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    input[0] = (int32_t)rdk_draw_below(d, task->vocab);
    for (size_t i = 0; i < task->tokens; i++) {
        target[i] = (int32_t)rdk_draw_below(d, task->vocab);
        if (i + 1 < task->tokens) input[i + 1] = target[i];
    }
}

const rdk_task_type rdk_task_random = {
    .name = "random",
    .about = "independent tokens, nothing to learn (shows leaks); --seq-len: tokens (32), "
             "--vocab: kinds of tokens (64)",
    .length = {32, 1, RDK_TASK_MAX_LENGTH},
    .vocab = {64, 2, RDK_TASK_MAX_VOCAB},
    .decoder_only = true,
    .width = 128, /* in a narrow model a single head's entropy strays from theory: start.sh */
    .open = open,
    .draw = draw,
    .token_text = rdk_task_number_text,
};
