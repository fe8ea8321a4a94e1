/* SPDX-License-Identifier: MIT
 * Opening a task: options checked against its row, then its own open; and what it says of itself.
 *
 * Invariant: a task that rdk_task_open returns can make every sequence it may be asked for; all
 * that can fail, fails here.
 * Read next: sequence.c. */
#include "task.h"

#include <math.h>
#include <stdio.h>

static bool in_range(const rdk_task_type *type, const char *option, rdk_task_range range,
                     size_t value, rdk_status *s)
{
    if (value == 0 || (value >= range.least && value <= range.most)) return true;
    return rdk_fail(s, RDK_EVALUE, "%s %zu is out of range for task %s: it takes %zu to %zu",
                    option, value, type->name, range.least, range.most);
}

static bool applicable(const rdk_task_type *type, const rdk_task_config *c, rdk_status *s)
{
    bool has_data = c->data && c->data[0];
    if (type->reads_data && !has_data)
        return rdk_fail(s, RDK_EVALUE, "task %s needs a file to read (give --data PATH)",
                        type->name);
    /* An option that did nothing would hide a forgotten --task. */
    if (!type->reads_data && has_data)
        return rdk_fail(s, RDK_EVALUE,
                        "task %s reads no file, but --data is given (drop --data, or use "
                        "--task text)",
                        type->name);
    if (type->decoder_only && c->encoder)
        return rdk_fail(s, RDK_EVALUE,
                        "task %s cannot be laid out for an encoder: a bidirectional model would "
                        "read each target in its own input (use a decoder, or another task)",
                        type->name);
    return in_range(type, "--seq-len", type->length, c->length, s) &&
           in_range(type, "--vocab", type->vocab, c->vocab, s);
}

rdk_task *rdk_task_open(const rdk_task_config *c, rdk_status *s)
{
    const rdk_task_type *type = rdk_task_type_find(c->name, s);
    if (!type || !applicable(type, c, s)) return NULL;
    rdk_task *task = rdk_alloc(1, sizeof *task, s);
    if (!task) return NULL;
    task->type = type;
    task->encoder = c->encoder;
    task->length = c->length ? c->length : type->length.initial;
    task->vocab_option = c->vocab ? c->vocab : type->vocab.initial;
    if (type->open(task, c, s) && rdk_task_sides_exist(task, s) && rdk_text_ok(&task->summary, s) &&
        rdk_text_ok(&task->vocabulary, s))
        return task;
    rdk_task_close(task);
    return NULL;
}

void rdk_task_close(rdk_task *task)
{
    if (!task) return;
    if (task->type->close) task->type->close(task);
    rdk_text_free(&task->summary);
    rdk_text_free(&task->vocabulary);
    rdk_free(task);
}

void rdk_task_set_chance(rdk_task *task, size_t n)
{
    task->chance_loss = log((double)n);
    task->chance_accuracy = 1.0 / (double)n;
    task->floor_loss = 0.0;
}

void rdk_task_number_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT])
{
    (void)task;
    snprintf(buf, RDK_TOKEN_TEXT, "%d", (int)token);
}

const char *rdk_task_name(const rdk_task *task)
{
    return task->type->name;
}

size_t rdk_task_length(const rdk_task *task)
{
    return task->length;
}

size_t rdk_task_vocab_option(const rdk_task *task)
{
    return task->vocab_option;
}

size_t rdk_task_vocab(const rdk_task *task)
{
    return task->vocab;
}

size_t rdk_task_tokens(const rdk_task *task)
{
    return task->tokens;
}

size_t rdk_task_width(const rdk_task *task)
{
    return rdk_task_type_usual_width(task->type->name);
}

double rdk_task_chance_loss(const rdk_task *task)
{
    return task->chance_loss;
}

double rdk_task_floor_loss(const rdk_task *task)
{
    return task->floor_loss;
}

double rdk_task_chance_accuracy(const rdk_task *task)
{
    return task->chance_accuracy;
}

bool rdk_task_whole_sequences(const rdk_task *task)
{
    return task->type->whole_sequences;
}

size_t rdk_task_eval_windows(const rdk_task *task)
{
    return task->eval_windows;
}

const char *rdk_task_summary(const rdk_task *task)
{
    return task->summary.data;
}

const char *rdk_task_vocabulary(const rdk_task *task)
{
    return task->vocabulary.data;
}

char *rdk_task_token_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT])
{
    if (token < 0 || (size_t)token >= task->vocab)
        snprintf(buf, RDK_TOKEN_TEXT, "?");
    else
        task->type->token_text(task, token, buf);
    return buf;
}
