/* SPDX-License-Identifier: MIT
 * What every task is made of: the row it fills in (rdk_task_type) and the opened task.
 *
 * Invariant: an opened task is never written to, so any thread may make any sequence at any time,
 * and a sequence depends on its stream and index alone.
 * Read next: symbols.c and sort.c for the shortest complete tasks, sequence.c for who calls
 * them. */
#ifndef RDK_TASK_H
#define RDK_TASK_H

#include <rootdk/tasks.h>

enum { RDK_TASK_MAX_LENGTH = 65536, RDK_TASK_MAX_VOCAB = 1000000 };
enum { RDK_TASK_HELD_OUT_ONE_IN = 4 }; /* of the questions that a hash splits */

/* An option's default and what it may be; default 0: the data decide. */
typedef struct rdk_task_range {
    size_t initial, least, most;
} rdk_task_range;

/* A task, one constant a file. Hooks that are marked so may be NULL. */
typedef struct rdk_task_type {
    const char *name, *about;     /* about: one line, says what --seq-len and --vocab mean */
    rdk_task_range length, vocab; /* --seq-len, --vocab */
    bool decoder_only;            /* targets stand in the input one place on: encoders see them */
    bool whole_sequences;         /* every answer can be known, so whole sequences can be right */
    bool reads_data;              /* wants --data */
    size_t width;                 /* default of --d-model; 0: the usual one */

    /* task->length and task->vocab_option are set and in range; sets vocab, tokens, chance, ...,
     * and checks what involves both, or the data. */
    bool (*open)(rdk_task *task, const rdk_task_config *c, rdk_status *s);
    void (*close)(rdk_task *task); /* or NULL: nothing of its own to free */
    /* One attempt at a question: the first task->question tokens of input (all of input and target
     * where there is no answer hook). target [T] may be used as scratch. */
    void (*draw)(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target);
    /* The rest of input, and target, for the question that was accepted; or NULL. */
    void (*answer)(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target);
    /* Window `index` of a finite evaluation set; or NULL: evaluation draws from its own stream. */
    void (*eval_window)(const rdk_task *task, uint64_t index, int32_t *input, int32_t *target,
                        int32_t *length);
    void (*token_text)(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT]);
} rdk_task_type;

struct rdk_task {
    const rdk_task_type *type;
    bool encoder;
    size_t length, vocab_option; /* --seq-len and --vocab as resolved */
    size_t vocab, tokens;        /* V, T */
    /* Leading tokens of input whose hash says whether a sequence is held out; 0: no such split,
     * the streams of training and evaluation are told apart by their purpose alone. */
    size_t question;
    double chance_loss, floor_loss, chance_accuracy;
    size_t eval_windows;
    rdk_text summary, vocabulary;
    void *own; /* what the task's open made for itself */
};

extern const rdk_task_type rdk_task_recall, rdk_task_copy, rdk_task_reverse, rdk_task_sort,
    rdk_task_modadd, rdk_task_random, rdk_task_text;

/* The type of this name, or NULL (status set: nearest name, all names). */
const rdk_task_type *rdk_task_type_find(const char *name, rdk_status *s);

/* Chance of a uniform guess among n answers, floor 0: the tasks that can be solved. */
void rdk_task_set_chance(rdk_task *task, size_t n);

/* False (status set) where training or evaluation would find next to no sequence on its side of the
 * split. */
bool rdk_task_sides_exist(const rdk_task *task, rdk_status *s);

/* The text of a token that is a plain number. */
void rdk_task_number_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT]);

#endif
