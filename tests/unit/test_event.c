/* SPDX-License-Identifier: MIT
 * Events as bytes: checksums, records and protocol buffers against bytes written out by hand, and
 * what a damaged file is taken for. tests/cli/test_tensorboard.c decodes those of runs. */
#include "harness.h"

#include "run/event.h"

/* Castagnoli's check value, and vectors of RFC 3720, B.4. */
START_TEST(checksums)
{
    unsigned char bytes[32] = {0};
    ck_assert_uint_eq(rdk_crc32c("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(rdk_crc32c("", 0), 0);
    ck_assert_uint_eq(rdk_crc32c(bytes, 32), 0x8a9136aa);
    for (int i = 0; i < 32; i++) bytes[i] = 0xff;
    ck_assert_uint_eq(rdk_crc32c(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(rdk_crc32c(bytes, 32), 0x46dd794e);
}
END_TEST

static void same_bytes(const rdk_text *t, const void *want, size_t n)
{
    ck_assert_uint_eq(t->size, n);
    ck_assert_mem_eq(t->data, want, n);
}

/* Event {1: 2.0, 2: 300, 5: Summary {1: Value {1: "a/b", 2: 1.0f}}} */
START_TEST(an_event_by_hand)
{
    static const unsigned char want[] = {
        0x09, 0,    0,    0,    0,    0, 0, 0, 0x40, /* 1, eight bytes: 2.0 */
        0x10, 0xac, 0x02,                            /* 2, varint: 300 */
        0x2a, 12,                                    /* 5, 12 bytes */
        0x0a, 10,                                    /* 1, 10 bytes */
        0x0a, 3,    'a',  '/',  'b',                 /* 1, 3 bytes */
        0x15, 0,    0,    0x80, 0x3f,                /* 2, four bytes: 1.0 */
    };
    rdk_text summary = {0}, event = {0};
    uint64_t step;
    rdk_summary_scalar(&summary, "a/b", 1);
    rdk_event_summary(&event, 2, 300, &summary);
    same_bytes(&event, want, sizeof want);
    ck_assert(rdk_event_step(event.data, event.size, &step));
    ck_assert_uint_eq(step, 300);
    rdk_text_free(&summary);
    rdk_text_free(&event);
}
END_TEST

START_TEST(the_version_by_hand)
{
    static const unsigned char want[] = {0x09, 0,    0,   0,   0,   0,   0,   0xf0,
                                         0x3f, 0x1a, 13,  'b', 'r', 'a', 'i', 'n',
                                         '.',  'E',  'v', 'e', 'n', 't', ':', '2'};
    rdk_text event = {0};
    uint64_t step = 7;
    rdk_event_version(&event, 1);
    same_bytes(&event, want, sizeof want);
    ck_assert(rdk_event_step(event.data, event.size, &step));
    ck_assert_uint_eq(step, 0);
    rdk_text_free(&event);
}
END_TEST

/* Around the ends of varints. */
START_TEST(steps_come_back)
{
    static const uint64_t steps[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        rdk_text summary = {0}, event = {0};
        uint64_t step = 99;
        rdk_summary_scalar(&summary, "x", 0.5);
        rdk_event_summary(&event, 1.5e9, steps[i], &summary);
        ck_assert(rdk_event_step(event.data, event.size, &step));
        ck_assert_uint_eq(step, steps[i]);
        for (size_t n = 1; n < event.size; n++) /* no prefix passes that cuts the last field */
            if (n > 20) ck_assert(!rdk_event_step(event.data, n, &step));
        rdk_text_free(&summary);
        rdk_text_free(&event);
    }
}
END_TEST

static double double_at(const rdk_text *t, size_t at)
{
    double x;
    memcpy(&x, t->data + at, sizeof x);
    return x;
}

/* 0, 1, ..., 30: the buckets are ]i, i + 1], and 0 is in the first. All values equal: one bucket.
 */
START_TEST(histograms)
{
    enum { FIELDS = 9, BUCKETS = 30 };
    double x[BUCKETS + 1];
    rdk_text summary = {0};
    for (int i = 0; i <= BUCKETS; i++) x[i] = i;
    rdk_summary_histogram(&summary, "h", x, BUCKETS + 1);
    /* value: 0a, 2 of length; tag: 0a 01 h; histogram: 2a, 2 of length */
    size_t at = 3 + 3 + 3;
    static const double want[] = {0, 30, 31, 465, 9455};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(summary.data[at + (size_t)i * FIELDS], 8 * (i + 1) + 1);
        ck_assert(double_at(&summary, at + (size_t)i * FIELDS + 1) == want[i]);
    }
    size_t limits = at + 5 * FIELDS + 3, counts = limits + BUCKETS * sizeof(double) + 3;
    for (size_t i = 0; i < BUCKETS; i++) {
        ck_assert(double_at(&summary, limits + i * 8) == (double)(i + 1));
        ck_assert(double_at(&summary, counts + i * 8) == (i == 0 ? 2 : 1));
    }
    ck_assert_uint_eq(summary.size, counts + BUCKETS * sizeof(double));
    summary.size = 0;
    x[1] = x[0] = 0.25;
    rdk_summary_histogram(&summary, "h", x, 2);
    ck_assert_uint_eq(summary.size, 2 + 3 + 2 + 5 * FIELDS + 2 * (2 + sizeof(double)));
    ck_assert(double_at(&summary, summary.size - sizeof(double)) == 2);
    rdk_text_free(&summary);
}
END_TEST

/* A record that is cut, or in which any byte is another, is none. */
START_TEST(damaged_records)
{
    rdk_text data = {0}, file = {0};
    const char *got;
    size_t size;
    rdk_text_add(&data, "some data of a record");
    rdk_tfrecord_add(&file, &data);
    rdk_tfrecord_add(&file, &data);
    size_t one = file.size / 2;
    ck_assert_uint_eq(one, data.size + 16);
    ck_assert_uint_eq(rdk_tfrecord_read(file.data, file.size, &got, &size), one);
    ck_assert(size == data.size && !memcmp(got, data.data, size));
    for (size_t n = 0; n < one; n++)
        ck_assert_uint_eq(rdk_tfrecord_read(file.data, n, &got, &size), 0);
    for (size_t i = 0; i < one; i++) {
        file.data[i] ^= 0x10;
        ck_assert_uint_eq(rdk_tfrecord_read(file.data, file.size, &got, &size), 0);
        file.data[i] ^= 0x10;
    }
    rdk_text_free(&data);
    rdk_text_free(&file);
}
END_TEST

RDK_TEST_MAIN("events", {
    ADD(checksums);
    ADD(an_event_by_hand);
    ADD(the_version_by_hand);
    ADD(steps_come_back);
    ADD(histograms);
    ADD(damaged_records);
})
