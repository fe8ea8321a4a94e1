/* SPDX-License-Identifier: MIT
 * What the tests of the text task share: small files, opened as two equal parts. */
#ifndef RDK_TEXT_FIXTURE_H
#define RDK_TEXT_FIXTURE_H

#include "harness.h"

#include <rootdk/tasks.h>
#include <unistd.h>

#include "tasks/text_vocab.h"

enum { MAX_T = 64, MAX_FILE = 4096 };

typedef struct sequence {
    int32_t input[MAX_T], target[MAX_T], length;
} sequence;

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct sample {
    char path[64];
} sample;

static inline sample write_sample(const void *bytes, size_t n)
{
    sample f = {"/tmp/rootdk-test-text-XXXXXX"};
    int fd = mkstemp(f.path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, bytes, n), (int)n);
    close(fd);
    return f;
}

static inline rdk_task_config config_of(const char *path, size_t length, rdk_tokenizer tokenizer)
{
    return (rdk_task_config){.name = "text",
                             .length = length,
                             .data = path,
                             .tokenizer = tokenizer,
                             .val_fraction = 0.5};
}

/* The file cut in half, so that both parts are known exactly. */
static inline rdk_task *open_bytes(const void *bytes, size_t n, size_t length,
                                   rdk_tokenizer tokenizer, rdk_status *s)
{
    sample f = write_sample(bytes, n);
    rdk_task_config c = config_of(f.path, length, tokenizer);
    *s = (rdk_status){0};
    rdk_task *task = rdk_task_open(&c, s);
    unlink(f.path);
    return task;
}

static inline rdk_task *must_open(const void *bytes, size_t n, size_t length,
                                  rdk_tokenizer tokenizer)
{
    rdk_status s;
    rdk_task *task = open_bytes(bytes, n, length, tokenizer, &s);
    ck_assert_msg(task != NULL, "%s", s.message);
    return task;
}

static inline void refused(const void *bytes, size_t n, rdk_tokenizer tokenizer, const char *a,
                           const char *b)
{
    rdk_status s;
    ck_assert_ptr_null(open_bytes(bytes, n, 1, tokenizer, &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_msg(strstr(s.message, "/tmp/rootdk-test-text-") && strstr(s.message, a) &&
                      strstr(s.message, b),
                  "%s", s.message);
}

static inline sequence train_at(const rdk_task *task, uint64_t step, uint64_t index)
{
    sequence q;
    rdk_task_train(task, 1, step, index, q.input, q.target, &q.length);
    return q;
}

static inline sequence eval_at(const rdk_task *task, uint64_t index)
{
    sequence q;
    rdk_task_eval(task, 1, index, q.input, q.target, &q.length);
    return q;
}

/* The symbols of the validation part, from its windows: the first input, then all that counts. */
static inline size_t validation_part(const rdk_task *task, int32_t *symbols)
{
    size_t n = 0;
    symbols[n++] = eval_at(task, 0).input[0];
    for (size_t w = 0; w < rdk_task_eval_windows(task); w++) {
        sequence q = eval_at(task, w);
        for (size_t i = 0; i < rdk_task_tokens(task); i++)
            if (q.target[i] != RDK_IGNORE) symbols[n++] = q.target[i];
    }
    return n;
}

/* Symbols back to bytes by the vocabulary string alone, as whoever reads a saved model would. */
static inline size_t decode(const rdk_task *task, const int32_t *symbols, size_t n, char *out)
{
    const char *vocabulary = rdk_task_vocabulary(task);
    size_t size = strlen(vocabulary), written = 0;
    for (size_t k = 0; k < n; k++) {
        size_t at = 0, taken = 0;
        for (int32_t i = 0; i <= symbols[k]; i++) {
            uint32_t c;
            ck_assert_uint_lt(at += taken, size);
            taken = rdk_utf8_decode((const uint8_t *)vocabulary + at, size - at, &c);
            ck_assert_uint_gt(taken, 0);
        }
        memcpy(out + written, vocabulary + at, taken);
        written += taken;
    }
    return written;
}

#endif
