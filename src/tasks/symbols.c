/* SPDX-License-Identifier: MIT
 * What copy, reverse and sort share: n symbols in, n symbols out, and the two layouts.
 *
 *     decoder, n = 3, in = a b c, out = x y z   (as minGPT's sort demo: T = 2n - 1)
 *         input   a b c x y
 *         target  - - x y z        "-": not counted
 *     encoder: T = n, input = in, target = out
 *
 * Invariant: target[i] is the output symbol that belongs at place i; in the decoder's layout it is
 * also input[i + 1], so a causal model never sees a target before it has to say it.
 * Read next: copy.c, reverse.c, sort.c, which differ in how out comes from in. */
#include "symbols.h"

#include <string.h>

bool rdk_symbols_open(rdk_task *task, const rdk_task_config *c, rdk_status *s)
{
    (void)c;
    (void)s;
    size_t n = task->length;
    task->vocab = task->vocab_option;
    task->tokens = task->encoder ? n : 2 * n - 1;
    task->question = n;
    rdk_task_set_chance(task, task->vocab);
    rdk_text_add(&task->summary,
                 "%s: %zu symbol%s of %zu kinds, drawn without end; one sequence in %d is held out "
                 "for evaluation",
                 task->type->name, n, n > 1 ? "s" : "", task->vocab, RDK_TASK_HELD_OUT_ONE_IN);
    rdk_text_add(&task->vocabulary, "%s: %zu symbols", task->type->name, task->vocab);
    return true;
}

void rdk_symbols_draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)target;
    for (size_t i = 0; i < task->length; i++) input[i] = (int32_t)rdk_draw_below(d, task->vocab);
}

int32_t *rdk_symbols_output(const rdk_task *task, int32_t *target)
{
    return task->encoder ? target : target + task->length - 1;
}

void rdk_symbols_lay_out(const rdk_task *task, int32_t *input, int32_t *target)
{
    if (task->encoder) return;
    size_t n = task->length;
    for (size_t i = 0; i + 1 < n; i++) target[i] = RDK_IGNORE;
    memcpy(input + n, target + n - 1, (n - 1) * sizeof *input);
}
