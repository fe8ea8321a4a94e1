/* SPDX-License-Identifier: MIT
 * Tasks: where token sequences and targets come from.
 *
 * Invariant: a sequence is a pure function of (task, stream, index); nothing is iterated, so any
 * step can be made without the ones before. Train and evaluation never share a stream, and where a
 * task has few distinct sequences they are held apart by a hash of the content.
 * A new task is one file with one constant rdk_task_type and its line in src/tasks/table.c. */
#ifndef ROOTDK_TASKS_H
#define ROOTDK_TASKS_H

#include <rootdk/ops.h>

typedef enum { RDK_TOKENS_CHAR, RDK_TOKENS_BYTE } rdk_tokenizer;

typedef struct rdk_task_config {
    char name[32];
    size_t length;    /* --seq-len, as the task means it (its about line); 0: its default */
    size_t vocab;     /* --vocab; 0: the task's default (text: from the file) */
    bool encoder;     /* lay sequences out for a bidirectional model */
    const char *data; /* --data PATH, or NULL */
    rdk_tokenizer tokenizer;
    double val_fraction; /* text: the last part of the file, 0 < f < 1 */
} rdk_task_config;

typedef struct rdk_task rdk_task;

/* Opens the task; reads and checks its data. Errors: RDK_EVALUE names option and range, RDK_EIO and
 * RDK_EFORMAT name the file. config is copied (data too). */
rdk_task *rdk_task_open(const rdk_task_config *c, rdk_status *s);
void rdk_task_close(rdk_task *task);

size_t rdk_task_type_count(void);
const char *rdk_task_type_name(size_t i);
const char *rdk_task_type_about(size_t i); /* one line, says what --seq-len and --vocab mean */
/* Of the task of that name (one that does not exist: false, 0): does it read --data; can whole
 * sequences of it be right; what are --seq-len and --vocab where nobody says (vocab 0: the data
 * decide). */
bool rdk_task_type_reads_data(const char *name);
bool rdk_task_type_whole_sequences(const char *name);
size_t rdk_task_type_usual_length(const char *name);
size_t rdk_task_type_usual_vocab(const char *name);
size_t rdk_task_type_usual_width(const char *name); /* of --d-model; 0: no such task */

const char *rdk_task_name(const rdk_task *task);
size_t rdk_task_length(const rdk_task *task);       /* --seq-len as resolved */
size_t rdk_task_vocab_option(const rdk_task *task); /* --vocab as resolved */
size_t rdk_task_vocab(const rdk_task *task);        /* V: token ids are 0..V-1 */
size_t rdk_task_tokens(const rdk_task *task);       /* T: tokens of a sequence */
size_t rdk_task_width(const rdk_task *task);        /* what --d-model is where nobody says */
/* Loss of a model that knows nothing but the task's form (uniform over the possible answers), the
 * least any model can reach (the floor; 0 for tasks that can be solved), in nats; and accuracy at
 * chance. NAN where unknown. */
double rdk_task_chance_loss(const rdk_task *task);
double rdk_task_floor_loss(const rdk_task *task);
double rdk_task_chance_accuracy(const rdk_task *task);
bool rdk_task_whole_sequences(const rdk_task *task); /* is sequence accuracy meaningful? */
/* Sequences of a full evaluation: the whole validation split for text, 0 for endless tasks. */
size_t rdk_task_eval_windows(const rdk_task *task);
/* One line about the data as opened: sizes of the splits, hash of the file; NUL-terminated. */
const char *rdk_task_summary(const rdk_task *task);

/* Fills one sequence: input [T], target [T] (RDK_IGNORE where not counted), *length real tokens
 * (the rest is padding: input 0, target RDK_IGNORE).
 * train: sequence `index` of update `step`. eval: sequence number `index` of the held-out set, the
 * same at every evaluation; text: window number index of the validation split. */
void rdk_task_train(const rdk_task *task, uint64_t seed, uint64_t step, uint64_t index,
                    int32_t *input, int32_t *target, int32_t *length);
void rdk_task_eval(const rdk_task *task, uint64_t seed, uint64_t index, int32_t *input,
                   int32_t *target, int32_t *length);

/* The printable form of a token ("k3", "v17", "a", "\n"); buf returned. */
enum { RDK_TOKEN_TEXT = 16 };
char *rdk_task_token_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT]);
/* The vocabulary, one string that tells it whole (code points, or the symbols' rule), for files;
 * a saved model is refused where it differs. */
const char *rdk_task_vocabulary(const rdk_task *task);

#endif
