/* SPDX-License-Identifier: MIT
 * reverse: say the input backwards. The attention that solves it is the anti-diagonal, so here an
 * entropy near zero is the right end, not a failure.
 *
 * Invariant: output[i] = input[n - 1 - i].
 * Read next: symbols.c for the layout. */
#include "symbols.h"

static void answer(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)d;
    size_t n = task->length;
    int32_t *out = rdk_symbols_output(task, target);
    for (size_t i = 0; i < n; i++) out[i] = input[n - 1 - i];
    rdk_symbols_lay_out(task, input, target);
}

const rdk_task_type rdk_task_reverse = {
    .name = "reverse",
    .about = "the input backwards; --seq-len: symbols (16), --vocab: kinds of symbols (10)",
    .length = {16, 1, RDK_TASK_MAX_LENGTH},
    .vocab = {10, 2, RDK_TASK_MAX_VOCAB},
    .whole_sequences = true,
    .open = rdk_symbols_open,
    .draw = rdk_symbols_draw,
    .answer = answer,
    .token_text = rdk_task_number_text,
};
