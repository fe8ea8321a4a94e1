/* SPDX-License-Identifier: MIT
 * Events, summaries and histograms as protocol buffers: see event.h.
 *
 * A field is a tag, its number times 8 and its kind, then its value: a varint, 4 or 8 bytes, or a
 * length and that many bytes.
 * Read next: tfrecord.c. */
#include "event.h"

#include <math.h>
#include <string.h>

typedef enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 } kind;

/* The numbers of the fields. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_HISTOGRAM = 5 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX = 2,
    HISTOGRAM_COUNT = 3,
    HISTOGRAM_SUM = 4,
    HISTOGRAM_SQUARES = 5,
    HISTOGRAM_LIMITS = 6,
    HISTOGRAM_BUCKETS = 7
};
enum { HISTOGRAM_DOUBLES = 5 }; /* min to squares; then come two lists */

/* ---- fields ---------------------------------------------------------------------------------- */

enum { KIND_BITS = 3, VARINT_BITS = 7, VARINT_MORE = 0x80, VARINT_MOST = 10 };

static void add_varint(rdk_text *t, uint64_t x)
{
    for (; x >= VARINT_MORE; x >>= VARINT_BITS)
        rdk_text_bytes(t, &(unsigned char){(unsigned char)(x | VARINT_MORE)}, 1);
    rdk_text_bytes(t, &(unsigned char){(unsigned char)x}, 1);
}

static void add_tag(rdk_text *t, unsigned field, kind k)
{
    add_varint(t, (uint64_t)field << KIND_BITS | k);
}

static void add_bits(rdk_text *t, uint64_t bits, int bytes)
{
    for (; bytes > 0; bytes--, bits >>= 8)
        rdk_text_bytes(t, &(unsigned char){(unsigned char)(bits & 0xFF)}, 1);
}

static void add_double_bits(rdk_text *t, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    add_bits(t, bits, sizeof bits);
}

static void add_double(rdk_text *t, unsigned field, double x)
{
    add_tag(t, field, EIGHT_BYTES);
    add_double_bits(t, x);
}

static void add_float(rdk_text *t, unsigned field, double x)
{
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    add_tag(t, field, FOUR_BYTES);
    add_bits(t, bits, sizeof bits);
}

static void add_bytes(rdk_text *t, unsigned field, const void *bytes, size_t n)
{
    add_tag(t, field, BYTES);
    add_varint(t, n);
    rdk_text_bytes(t, bytes, n);
}

/* Repeated doubles, packed: their bytes in a row. */
static void add_doubles(rdk_text *t, unsigned field, const double *x, size_t n)
{
    add_tag(t, field, BYTES);
    add_varint(t, n * sizeof *x);
    for (size_t i = 0; i < n; i++) add_double_bits(t, x[i]);
}

/* ---- summaries ------------------------------------------------------------------------------- */

/* Bytes of x as a varint. */
static size_t varint_size(uint64_t x)
{
    size_t n = 1;
    for (; x >= VARINT_MORE; x >>= VARINT_BITS) n++;
    return n;
}

/* The beginning of a value: its tag, and `size` bytes that the caller adds. */
static void begin_value(rdk_text *summary, const char *tag, size_t size)
{
    size_t n = strlen(tag);
    add_tag(summary, SUMMARY_VALUE, BYTES);
    add_varint(summary, 1 + varint_size(n) + n + size);
    add_bytes(summary, VALUE_TAG, tag, n);
}

void rdk_summary_scalar(rdk_text *summary, const char *tag, double x)
{
    begin_value(summary, tag, 1 + sizeof(float));
    add_float(summary, VALUE_SIMPLE, x);
}

enum { BUCKETS = 30 };

typedef struct histogram {
    double least, largest, sum, squares, limit[BUCKETS], count[BUCKETS];
    size_t n_buckets;
} histogram;

static histogram histogram_of(const double *x, size_t n)
{
    histogram h = {.least = x[0], .largest = x[0]};
    for (size_t i = 0; i < n; i++) {
        h.least = fmin(h.least, x[i]);
        h.largest = fmax(h.largest, x[i]);
        h.sum += x[i];
        h.squares += x[i] * x[i];
    }
    double width = (h.largest - h.least) / BUCKETS;
    h.n_buckets = width > 0 ? BUCKETS : 1;
    for (size_t k = 0; k + 1 < h.n_buckets; k++) h.limit[k] = h.least + (double)(k + 1) * width;
    h.limit[h.n_buckets - 1] = h.largest;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k + 1 < h.n_buckets && x[i] > h.limit[k]) k++;
        h.count[k]++;
    }
    return h;
}

void rdk_summary_histogram(rdk_text *summary, const char *tag, const double *x, size_t n)
{
    histogram h = histogram_of(x, n);
    const size_t doubles = h.n_buckets * sizeof(double);
    const size_t packed = 1 + varint_size(doubles) + doubles, single = 1 + sizeof(double);
    const size_t size = HISTOGRAM_DOUBLES * single + 2 * packed;
    begin_value(summary, tag, 1 + varint_size(size) + size);
    add_tag(summary, VALUE_HISTOGRAM, BYTES);
    add_varint(summary, size);
    add_double(summary, HISTOGRAM_MIN, h.least);
    add_double(summary, HISTOGRAM_MAX, h.largest);
    add_double(summary, HISTOGRAM_COUNT, (double)n);
    add_double(summary, HISTOGRAM_SUM, h.sum);
    add_double(summary, HISTOGRAM_SQUARES, h.squares);
    add_doubles(summary, HISTOGRAM_LIMITS, h.limit, h.n_buckets);
    add_doubles(summary, HISTOGRAM_BUCKETS, h.count, h.n_buckets);
}

/* ---- events ---------------------------------------------------------------------------------- */

void rdk_event_version(rdk_text *event, double wall_time)
{
    static const char version[] = "brain.Event:2";
    add_double(event, EVENT_WALL_TIME, wall_time);
    add_bytes(event, EVENT_FILE_VERSION, version, strlen(version));
}

void rdk_event_summary(rdk_text *event, double wall_time, uint64_t step, const rdk_text *summary)
{
    add_double(event, EVENT_WALL_TIME, wall_time);
    add_tag(event, EVENT_STEP, VARINT);
    add_varint(event, step);
    add_bytes(event, EVENT_SUMMARY, summary->data, summary->size);
}

/* ---- back ------------------------------------------------------------------------------------ */

/* Reads a varint at *at; false where it does not end before `end`. */
static bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *x)
{
    *x = 0;
    for (int i = 0; i < VARINT_MOST && *at < end; i++) {
        unsigned char byte = *(*at)++;
        *x |= (uint64_t)(byte & (VARINT_MORE - 1)) << (i * VARINT_BITS);
        if (byte < VARINT_MORE) return true;
    }
    return false;
}

/* Steps over the value of a field of this kind; a varint's goes to *x. */
static bool read_value(const unsigned char **at, const unsigned char *end, unsigned k, uint64_t *x)
{
    uint64_t n = k == EIGHT_BYTES ? 8 : k == FOUR_BYTES ? 4 : 0;
    if (k == VARINT) return read_varint(at, end, x);
    if (k == BYTES && !read_varint(at, end, &n)) return false;
    if (n == 0 && k != BYTES) return false;
    if (n > (uint64_t)(end - *at)) return false;
    *at += n;
    return true;
}

bool rdk_event_step(const char *event, size_t n, uint64_t *step)
{
    const unsigned char *at = (const unsigned char *)event, *end = at + n;
    *step = 0;
    while (at < end) {
        uint64_t tag, x = 0;
        if (!read_varint(&at, end, &tag)) return false;
        if (!read_value(&at, end, (unsigned)(tag & ((1 << KIND_BITS) - 1)), &x)) return false;
        if (tag == (EVENT_STEP << KIND_BITS | VARINT)) *step = x;
    }
    return true;
}
