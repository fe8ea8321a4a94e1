/* SPDX-License-Identifier: MIT
 * A reader of event files that shares nothing with the writer: framing, checksums, fields, values.
 * Invariant: what is damaged, or cannot be read, fails the test. */
#ifndef RDK_TEST_EVENTS_H
#define RDK_TEST_EVENTS_H

#include "run_files.h"

#define EVENTS "events.out.tfevents.rootdk"

/* ---- records --------------------------------------------------------------------------------- */

typedef struct bytes {
    const unsigned char *at, *end;
} bytes;

/* Bit by bit, by the reversed polynomial of CRC-32C. */
static inline uint32_t masked_sum(const unsigned char *p, size_t n)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        sum ^= p[i];
        for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
    }
    sum = ~sum;
    return (sum >> 15 | sum << 17) + 0xa282ead8;
}

static inline uint64_t little_endian(const unsigned char *p, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

/* The data of the next record; a damaged one fails the test. */
static inline bytes next_record(bytes *file)
{
    size_t left = (size_t)(file->end - file->at);
    ck_assert_uint_ge(left, 16);
    uint64_t n = little_endian(file->at, 8);
    ck_assert_uint_eq(little_endian(file->at + 8, 4), masked_sum(file->at, 8));
    ck_assert_uint_le(n, left - 16);
    bytes data = {file->at + 12, file->at + 12 + n};
    ck_assert_uint_eq(little_endian(data.end, 4), masked_sum(data.at, n));
    file->at = data.end + 4;
    return data;
}

/* ---- fields ---------------------------------------------------------------------------------- */

typedef struct field {
    unsigned number, kind;
    uint64_t x;   /* varint, or bits */
    bytes inside; /* kind 2 */
} field;

static inline uint64_t varint(bytes *b)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        ck_assert(b->at < b->end);
        unsigned char byte = *b->at++;
        x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return x;
    }
    ck_abort_msg("a varint without end");
}

static inline field next_field(bytes *b)
{
    uint64_t tag = varint(b);
    field f = {.number = (unsigned)(tag >> 3), .kind = tag & 7};
    size_t n = f.kind == 1 ? 8 : 4;
    if (f.kind == 0) {
        f.x = varint(b);
        return f;
    }
    ck_assert_msg(f.kind == 1 || f.kind == 2 || f.kind == 5, "kind %u", f.kind);
    if (f.kind == 2) n = varint(b);
    ck_assert_uint_le(n, (size_t)(b->end - b->at));
    f.inside = (bytes){b->at, b->at + n};
    if (f.kind != 2) f.x = little_endian(b->at, (int)n);
    b->at += n;
    return f;
}

static inline double as_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float as_float(uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    float x;
    memcpy(&x, &narrow, sizeof x);
    return x;
}

/* ---- events ---------------------------------------------------------------------------------- */

enum { MOST_BUCKETS = 64, MOST_VALUES = 128, MOST_EVENTS = 128 };

typedef struct value {
    char tag[64];
    bool is_histogram;
    float scalar;
    double least, largest, n, sum, squares;
    size_t limits, buckets;
    double limit[MOST_BUCKETS], bucket[MOST_BUCKETS];
} value;

typedef struct event {
    double wall_time;
    uint64_t step;
    size_t n;
    value *v; /* [n] */
} event;

typedef struct events {
    size_t n;
    event at[MOST_EVENTS];
} events;

static inline size_t doubles(bytes b, double *to)
{
    size_t n = (size_t)(b.end - b.at) / 8;
    ck_assert(n * 8 == (size_t)(b.end - b.at) && n <= MOST_BUCKETS);
    for (size_t i = 0; i < n; i++) to[i] = as_double(little_endian(b.at + 8 * i, 8));
    return n;
}

static inline void read_histogram(value *v, bytes b)
{
    double *single[] = {&v->least, &v->largest, &v->n, &v->sum, &v->squares};
    v->is_histogram = true;
    while (b.at < b.end) {
        field f = next_field(&b);
        if (f.number <= 5) *single[f.number - 1] = as_double(f.x);
        if (f.number == 6) v->limits = doubles(f.inside, v->limit);
        if (f.number == 7) v->buckets = doubles(f.inside, v->bucket);
    }
}

static inline void read_value(value *v, bytes b)
{
    while (b.at < b.end) {
        field f = next_field(&b);
        if (f.number == 1)
            snprintf(v->tag, sizeof v->tag, "%.*s", (int)(f.inside.end - f.inside.at),
                     (const char *)f.inside.at);
        if (f.number == 2) v->scalar = as_float(f.x);
        if (f.number == 5) read_histogram(v, f.inside);
    }
}

static inline void read_event(event *e, bytes b, bool first)
{
    bool version = false;
    while (b.at < b.end) {
        field f = next_field(&b);
        if (f.number == 1) e->wall_time = as_double(f.x);
        if (f.number == 2) e->step = f.x;
        if (f.number == 3)
            version = !strncmp((const char *)f.inside.at, "brain.Event:2",
                               (size_t)(f.inside.end - f.inside.at));
        if (f.number != 5) continue;
        e->v = calloc(MOST_VALUES, sizeof *e->v);
        while (f.inside.at < f.inside.end) {
            field one = next_field(&f.inside);
            ck_assert(one.number == 1 && one.kind == 2 && e->n < MOST_VALUES);
            read_value(&e->v[e->n++], one.inside);
        }
    }
    ck_assert(version == first && (first || e->n > 0));
}

static inline events *read_events(const char *dir, const char *run)
{
    size_t n;
    char *text = program_file(dir, below(run, EVENTS).text, &n);
    bytes file = {(unsigned char *)text, (unsigned char *)text + n};
    events *all = calloc(1, sizeof *all);
    while (file.at < file.end) {
        ck_assert_uint_lt(all->n, MOST_EVENTS);
        read_event(&all->at[all->n], next_record(&file), all->n == 0);
        all->n++;
    }
    free(text);
    return all;
}

static inline void free_events(events *all)
{
    for (size_t i = 0; i < all->n; i++) free(all->at[i].v);
    free(all);
}

static inline const value *find(const event *e, const char *tag)
{
    for (size_t i = 0; i < e->n; i++)
        if (!strcmp(e->v[i].tag, tag)) return &e->v[i];
    ck_abort_msg("no %s at step %d", tag, (int)e->step);
}

#endif
