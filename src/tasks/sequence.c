/* SPDX-License-Identifier: MIT
 * Making sequences, and holding some out.
 *
 * Invariant: a sequence is held out for evaluation by its question alone (one hash in four), so
 * no training step of any seed ever shows what evaluation asks. A draw on the wrong side is drawn
 * again from the same cursor, which keeps the result a pure function of stream and index.
 * Read next: recall.c. */
#include "base/hash.h"
#include "task.h"

/* The check at open: within so many draws each side must have come up so often. A side with less
 * than about one sequence in thirty would make training crawl and evaluation repeat itself. */
enum { PROBES = 256, PROBES_NEEDED = 8 };
/* A step of the evaluation stream that is its own: step 0 is the evaluation set. */
enum { PROBE_STEP = 1 };

/* FNV-1a over the symbols as words, then a finaliser (Appleby's MurmurHash3): the low bits of
 * FNV alone depend on nothing but the low bits of the symbols, and the split uses the low bits. */
static uint64_t symbols_hash(const int32_t *symbols, size_t n)
{
    uint64_t h = RDK_HASH_START;
    for (size_t i = 0; i < n; i++) h = rdk_hash_add(h, (uint32_t)symbols[i]);
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

static bool held_out(const rdk_task *task, const int32_t *input)
{
    return symbols_hash(input, task->question) % RDK_TASK_HELD_OUT_ONE_IN == 0;
}

static void make(const rdk_task *task, rdk_stream stream, uint64_t index, bool eval, int32_t *input,
                 int32_t *target, int32_t *length)
{
    rdk_draws d = rdk_draws_at(stream, index);
    do { /* ends: rdk_task_sides_exist saw at open that both sides come up often */
        task->type->draw(task, &d, input, target);
    } while (task->question > 0 && held_out(task, input) != eval);
    if (task->type->answer) task->type->answer(task, &d, input, target);
    *length = (int32_t)task->tokens;
}

void rdk_task_train(const rdk_task *task, uint64_t seed, uint64_t step, uint64_t index,
                    int32_t *input, int32_t *target, int32_t *length)
{
    rdk_stream stream = {.seed = seed, .purpose = RDK_FOR_TRAIN_DATA, .step = step};
    make(task, stream, index, false, input, target, length);
}

void rdk_task_eval(const rdk_task *task, uint64_t seed, uint64_t index, int32_t *input,
                   int32_t *target, int32_t *length)
{
    if (task->type->eval_window) {
        task->type->eval_window(task, index, input, target, length);
        return;
    }
    rdk_stream stream = {.seed = seed, .purpose = RDK_FOR_EVAL_DATA, .step = 0};
    make(task, stream, index, true, input, target, length);
}

bool rdk_task_sides_exist(const rdk_task *task, rdk_status *s)
{
    if (task->question == 0) return true;
    int32_t *input = rdk_alloc(task->tokens, sizeof *input, s);
    int32_t *scratch = rdk_alloc(task->tokens, sizeof *scratch, s);
    size_t seen[2] = {0, 0};
    bool enough = false;
    if (input && scratch) {
        rdk_stream stream = {.seed = 0, .purpose = RDK_FOR_EVAL_DATA, .step = PROBE_STEP};
        for (uint64_t i = 0; i < PROBES && !enough; i++) {
            rdk_draws d = rdk_draws_at(stream, i);
            task->type->draw(task, &d, input, scratch);
            seen[held_out(task, input)]++;
            enough = seen[0] >= PROBES_NEEDED && seen[1] >= PROBES_NEEDED;
        }
        if (!enough)
            rdk_fail(s, RDK_EVALUE,
                     "task %s with --seq-len %zu and --vocab %zu has too few different sequences "
                     "to hold some out for evaluation (raise --seq-len or --vocab)",
                     task->type->name, task->length, task->vocab_option);
    }
    rdk_free(input);
    rdk_free(scratch);
    return enough;
}
