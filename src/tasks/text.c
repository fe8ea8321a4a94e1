/* SPDX-License-Identifier: MIT
 * text: say the next symbol of a file, by UTF-8 characters or by bytes.
 *
 *     file    [ first part: training | last --val-fraction of it: validation ]
 *     window  input = s[k .. k+T-1], target = s[k+1 .. k+T], never across the border
 *
 * Training windows start anywhere in 0..n-T-1 of their part, so every window is reachable; n = T+1
 * leaves exactly one. Evaluation cuts its part into consecutive windows: each target (all symbols
 * but the first, which nothing precedes) is counted exactly once; the last window may be short.
 *
 * Invariant: target[i] = input[i + 1] wherever both are real.
 * Read next: text_vocab.c for what a character is. */
#include "base/hash.h"
#include "text_vocab.h"

#include <math.h>
#include <stdio.h>

/* The symbols of the file, as numbers: one byte each where that is enough. */
typedef struct text_file {
    uint8_t *narrow; /* [size], or NULL where there are more than 256 kinds; then */
    int32_t *wide;   /* [size] */
    size_t size, train;
    rdk_charset characters; /* empty when the symbols are bytes */
} text_file;

enum { BYTES = 256 };

static int32_t symbol(const text_file *f, size_t at)
{
    return f->narrow ? f->narrow[at] : f->wide[at];
}

/* Turns the bytes in f->narrow into numbers of characters. Where numbers fit a byte they overwrite
 * the bytes they were read from: a character takes at least the one byte that its number does. */
static bool number_characters(text_file *f, rdk_status *s)
{
    uint8_t *bytes = f->narrow;
    size_t n_bytes = f->size;
    f->size = f->characters.characters;
    if (f->characters.count > BYTES) {
        f->wide = rdk_alloc(f->size, sizeof *f->wide, s);
        if (!f->wide) return false;
    }
    for (size_t at = 0, i = 0; i < f->size; i++) {
        uint32_t c = 0;
        at += rdk_utf8_decode(bytes + at, n_bytes - at, &c);
        int32_t number = f->characters.number[c];
        if (f->wide)
            f->wide[i] = number;
        else
            bytes[i] = (uint8_t)number;
    }
    if (f->wide) {
        rdk_free(f->narrow);
        f->narrow = NULL;
    }
    rdk_free(f->characters.number);
    f->characters.number = NULL;
    return true;
}

/* FNV-1a, 64 bits: enough to tell whether two runs read the same file. */
static uint64_t file_hash(const uint8_t *bytes, size_t n)
{
    uint64_t h = RDK_HASH_START;
    for (size_t i = 0; i < n; i++) h = rdk_hash_add(h, bytes[i]);
    return h;
}

static void add_vocabulary(rdk_text *out, const rdk_charset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        char utf8[RDK_UTF8_MAX];
        rdk_text_bytes(out, utf8, rdk_utf8_encode(set->code_point[i], utf8));
    }
}

static bool read_symbols(rdk_task *task, text_file *f, const rdk_task_config *c, rdk_status *s)
{
    if (c->tokenizer == RDK_TOKENS_BYTE) {
        task->vocab = BYTES;
        rdk_text_add(&task->vocabulary, "bytes");
        return true;
    }
    if (!rdk_charset_read(&f->characters, f->narrow, f->size, c->data, s)) return false;
    task->vocab = f->characters.count;
    add_vocabulary(&task->vocabulary, &f->characters);
    return number_characters(f, s);
}

static bool long_enough(const rdk_task *task, const char *path, const char *part, size_t size,
                        rdk_status *s)
{
    if (size > task->tokens) return true;
    return rdk_fail(s, RDK_EFORMAT,
                    "%s is too short: its %s part has %zu symbols, one window of --seq-len %zu "
                    "needs %zu (lower --seq-len, change --val-fraction, or give a longer file)",
                    path, part, size, task->tokens, task->tokens + 1);
}

static bool split(rdk_task *task, text_file *f, const rdk_task_config *c, rdk_status *s)
{
    f->train = (size_t)((double)f->size * (1.0 - c->val_fraction));
    size_t val = f->size - f->train;
    if (!long_enough(task, c->data, "training", f->train, s) ||
        !long_enough(task, c->data, "validation", val, s))
        return false;
    size_t targets = val - 1;
    task->eval_windows = (targets + task->tokens - 1) / task->tokens;
    return true;
}

static bool load(rdk_task *task, text_file *f, const rdk_task_config *c, rdk_status *s)
{
    if (!rdk_file_is_regular(c->data, s)) return false;
    f->narrow = (uint8_t *)rdk_file_read(c->data, &f->size, s);
    if (!f->narrow) return false;
    if (f->size == 0) return rdk_fail(s, RDK_EFORMAT, "%s is empty (give a text)", c->data);
    uint64_t hash = file_hash(f->narrow, f->size);
    if (!read_symbols(task, f, c, s) || !split(task, f, c, s)) return false;
    if (task->vocab_option != 0 && task->vocab_option != task->vocab)
        return rdk_fail(s, RDK_EVALUE,
                        "--vocab %zu does not fit the text: %s has %zu different symbols (give "
                        "--vocab auto, which takes what the text has)",
                        task->vocab_option, c->data, task->vocab);
    task->vocab_option = task->vocab;
    rdk_text_add(&task->summary,
                 "text: %zu %s, %zu kind%s; %zu for training, the last %zu for validation (%zu "
                 "windows); hash %016llx",
                 f->size, f->characters.count ? "characters" : "bytes", task->vocab,
                 task->vocab > 1 ? "s" : "", f->train, f->size - f->train, task->eval_windows,
                 (unsigned long long)hash);
    return true;
}

static bool open(rdk_task *task, const rdk_task_config *c, rdk_status *s)
{
    if (!(c->val_fraction > 0.0 && c->val_fraction < 1.0)) {
        char number[RDK_NUMBER_TEXT];
        return rdk_fail(s, RDK_EVALUE,
                        "--val-fraction %s is out of range: it takes more than 0 and less than 1",
                        rdk_text_double(c->val_fraction, number));
    }
    text_file *f = rdk_alloc(1, sizeof *f, s);
    if (!f) return false;
    task->own = f;
    task->tokens = task->length;
    if (!load(task, f, c, s)) return false;
    rdk_task_set_chance(task, task->vocab);
    task->floor_loss = NAN; /* the entropy of the language, which nobody knows */
    return true;
}

static void close(rdk_task *task)
{
    text_file *f = task->own;
    if (!f) return;
    rdk_free(f->narrow);
    rdk_free(f->wide);
    rdk_charset_free(&f->characters);
    rdk_free(f);
}

static void draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target)
{
    const text_file *f = task->own;
    size_t start = (size_t)rdk_draw_below(d, f->train - task->tokens);
    for (size_t i = 0; i < task->tokens; i++) {
        input[i] = symbol(f, start + i);
        target[i] = symbol(f, start + i + 1);
    }
}

/* An index past the last window starts again at the first. */
static void eval_window(const rdk_task *task, uint64_t index, int32_t *input, int32_t *target,
                        int32_t *length)
{
    const text_file *f = task->own;
    size_t start = f->train + (size_t)(index % task->eval_windows) * task->tokens;
    size_t left = f->size - 1 - start, real = left < task->tokens ? left : task->tokens;
    for (size_t i = 0; i < task->tokens; i++) {
        input[i] = i < real ? symbol(f, start + i) : 0;
        target[i] = i < real ? symbol(f, start + i + 1) : RDK_IGNORE;
    }
    *length = (int32_t)real;
}

static void token_text(const rdk_task *task, int32_t token, char buf[RDK_TOKEN_TEXT])
{
    const text_file *f = task->own;
    if (f->characters.count)
        rdk_code_point_text(f->characters.code_point[token], buf);
    else
        rdk_byte_text((uint8_t)token, buf);
}

const rdk_task_type rdk_task_text = {
    .name = "text",
    .about = "the next symbol of the file --data; --seq-len: window (64), --vocab: as the file has",
    .length = {64, 1, RDK_TASK_MAX_LENGTH},
    .vocab = {0, 1, RDK_CODE_POINTS},
    .decoder_only = true,
    .reads_data = true,
    .open = open,
    .close = close,
    .draw = draw,
    .eval_window = eval_window,
    .token_text = token_text,
};
