/* SPDX-License-Identifier: MIT
 * sort: the input in ascending order, as minGPT's demo has it (6 symbols of 3 kinds).
 *
 * Invariant: the output is a permutation of the input and never falls.
 * Read next: symbols.c for the layout. */
#include "symbols.h"

#include <string.h>

/* Shell's sort with Knuth's gaps: in place, no recursion, no heap. */
static void sort(int32_t *x, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            int32_t moving = x[i];
            size_t j = i;
            for (; j >= gap && x[j - gap] > moving; j -= gap) x[j] = x[j - gap];
            x[j] = moving;
        }
    }
}

static size_t distinct(const int32_t *x, size_t n, int32_t *scratch)
{
    memcpy(scratch, x, n * sizeof *x);
    sort(scratch, n);
    size_t count = 1;
    for (size_t i = 1; i < n; i++) count += scratch[i] != scratch[i - 1];
    return count;
}

/* Half of the draws with more than n/2 distinct symbols are drawn again: inputs with many repeats
 * are rare under a uniform draw and the ones a model gets wrong last. The demo's rule for any n and
 * any number of kinds; where no input can have so many (as with its 3 kinds) it changes nothing. */
static void draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    size_t n = task->length, most = n / 2;
    do {
        rdk_symbols_draw(task, d, input, target);
    } while (task->vocab > most && (rdk_draw_u32(d) & 1) && distinct(input, n, target) > most);
}

static void answer(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    (void)d;
    int32_t *out = rdk_symbols_output(task, target);
    memcpy(out, input, task->length * sizeof *input);
    sort(out, task->length);
    rdk_symbols_lay_out(task, input, target);
}

const rdk_task_type rdk_task_sort = {
    .name = "sort",
    .about = "the input in ascending order; --seq-len: symbols (6), --vocab: kinds of symbols (3)",
    .length = {6, 1, RDK_TASK_MAX_LENGTH},
    .vocab = {3, 2, RDK_TASK_MAX_VOCAB},
    .whole_sequences = true,
    .open = rdk_symbols_open,
    .draw = draw,
    .answer = answer,
    .token_text = rdk_task_number_text,
};
