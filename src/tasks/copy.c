/* SPDX-License-Identifier: MIT
 * copy: say the input again. The simplest thing that attention can do: look n places back.
 *
 * Invariant: output[i] = input[i].
 * Read next: symbols.c for the layout. */
#include "symbols.h"

#include <string.h>

static void answer(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)d;
    memcpy(rdk_symbols_output(task, target), input, task->length * sizeof *input);
    rdk_symbols_lay_out(task, input, target);
}

const rdk_task_type rdk_task_copy = {
    .name = "copy",
    .about = "repeat the input; --seq-len: symbols (8), --vocab: kinds of symbols (10)",
    .length = {8, 1, RDK_TASK_MAX_LENGTH},
    .vocab = {10, 2, RDK_TASK_MAX_VOCAB},
    .whole_sequences = true,
    .open = rdk_symbols_open,
    .draw = rdk_symbols_draw,
    .answer = answer,
    .token_text = rdk_task_number_text,
};
