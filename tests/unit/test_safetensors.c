/* SPDX-License-Identifier: MIT
 * The safetensors reader and writer: round trip, the format's rules, and every broken file that is
 * one truncation, one byte or one number away from a good one. */
#include "harness.h"

#include <unistd.h>

#include "run/safetensors.h"

static const rdk_real W[] = {1, -2, (rdk_real)3.25, (rdk_real)1e-40, INFINITY, 0};
static const size_t SHAPE[] = {2, 3}, NONE[] = {0}, ONE[] = {1};
static const rdk_saved_tensor TENSORS[] = {
    {"", "w", 2, SHAPE, W}, {"optimizer.m.", "w", 2, SHAPE, W}, {"", "empty", 1, NONE, W},
    {"", "one", 1, ONE, W}, {"", "scalar", 0, ONE, W},
};
static const rdk_saved_word WORDS[] = {{"step", "7"},
                                       {"text", "a \"quoted\"\nline, \xC3\xA9\x01\\"}};
enum { N_TENSORS = sizeof TENSORS / sizeof *TENSORS, N_WORDS = sizeof WORDS / sizeof *WORDS };

static char path[64];

static void make_path(void)
{
    snprintf(path, sizeof path, "/tmp/rdk_test_%ld.safetensors", (long)getpid());
}

/* A good file, in memory. */
static char *good_file(size_t *size)
{
    rdk_status s = {0};
    make_path();
    ck_assert_msg(rdk_safetensors_write(path, N_TENSORS, TENSORS, N_WORDS, WORDS, &s), "%s",
                  s.message);
    char *bytes = rdk_file_read(path, size, &s);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

/* Reads these bytes as a file; a refusal must carry the path and a code. */
static bool accepted(const char *bytes, size_t size)
{
    rdk_status s = {0};
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    fclose(f);
    rdk_safetensors *read = rdk_safetensors_read(path, &s);
    if (!read) {
        ck_assert_int_eq(s.code, RDK_EFORMAT);
        ck_assert_ptr_nonnull(strstr(s.message, path));
    }
    rdk_safetensors_free(read);
    return read != NULL;
}

START_TEST(round_trip)
{
    size_t size;
    rdk_status s = {0};
    rdk_free(good_file(&size));
    rdk_safetensors *f = rdk_safetensors_read(path, &s);
    ck_assert_msg(f != NULL, "%s", s.message);
    ck_assert_uint_eq(rdk_safetensors_count(f), N_TENSORS);
    for (int i = 0; i < N_WORDS; i++)
        ck_assert_str_eq(rdk_safetensors_word(f, WORDS[i].key), WORDS[i].value);
    ck_assert_str_eq(rdk_safetensors_word(f, "format"), "pt");
    ck_assert_ptr_null(rdk_safetensors_word(f, "absent"));
    rdk_real back[6];
    ck_assert(rdk_safetensors_copy(f, &TENSORS[1], back, &s));
    ck_assert_int_eq(memcmp(back, W, sizeof W), 0);
    rdk_safetensors_free(f);
    unlink(path);
}
END_TEST

START_TEST(header_keeps_the_rules)
{
    size_t size;
    char *bytes = good_file(&size);
    uint64_t length = 0;
    for (int i = 0; i < 8; i++) length |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    ck_assert_uint_eq(length % 8, 0);
    ck_assert_int_eq(bytes[8], '{');
    /* two of 6 elements, one empty, two of 1 element: no holes, to the end of the file */
    ck_assert_uint_eq(size, 8 + length + (6 + 6 + 0 + 1 + 1) * sizeof(rdk_real));
    rdk_free(bytes);
    unlink(path);
}
END_TEST

/* The same bytes may be listed in any order, with empty tensors anywhere between. */
static const char *const ORDERS[] = {
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
    "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
    "{\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]},"
    "\"b\":{\"data_offsets\":[8,12],\"shape\":[1],\"dtype\":\"F32\"},"
    "\"y\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]},"
    "\"__metadata__\":{\"k\":\"v\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[12,12]}}",
};

START_TEST(the_header_may_list_in_any_order)
{
    const float numbers[] = {1, 2, 3};
    const size_t two[] = {2};
    const rdk_saved_tensor a = {"", "a", 1, two, NULL}, b = {"", "b", 1, ONE, NULL};
    char bytes[512] = {0};
    rdk_real back[2] = {0, 0};
    rdk_status s = {0};
    size_t n = strlen(ORDERS[_i]);
    make_path();
    for (int i = 0; i < 8; i++) bytes[i] = (char)(n >> 8 * i & 0xFF);
    memcpy(bytes + 8, ORDERS[_i], n);
    memcpy(bytes + 8 + n, numbers, sizeof numbers);
    ck_assert(rdk_file_replace(path, bytes, 8 + n + sizeof numbers, &s));
    rdk_safetensors *f = rdk_safetensors_read(path, &s);
    ck_assert_msg(f != NULL, "%s", s.message);
    ck_assert(rdk_safetensors_copy(f, &a, back, &s));
    ck_assert(back[0] == 1 && back[1] == 2);
    ck_assert(rdk_safetensors_copy(f, &b, back, &s));
    ck_assert(back[0] == 3);
    rdk_safetensors_free(f);
    unlink(path);
}
END_TEST

START_TEST(shape_and_name_must_match)
{
    size_t size;
    rdk_status s = {0};
    rdk_real back[6];
    const size_t other[] = {3, 2};
    rdk_free(good_file(&size));
    rdk_safetensors *f = rdk_safetensors_read(path, &s);
    rdk_saved_tensor like = {"", "w", 2, other, NULL};
    ck_assert(!rdk_safetensors_copy(f, &like, back, &s));
    ck_assert_int_eq(s.code, RDK_ESHAPE);
    ck_assert_ptr_nonnull(strstr(s.message, "[2, 3]"));
    ck_assert_ptr_nonnull(strstr(s.message, "[3, 2]"));
    s = (rdk_status){0};
    like.name = "absent";
    ck_assert(!rdk_safetensors_copy(f, &like, back, &s));
    ck_assert_ptr_nonnull(strstr(s.message, "absent"));
    rdk_safetensors_free(f);
    unlink(path);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    size_t size;
    char *bytes = good_file(&size);
    for (size_t n = 0; n < size; n++)
        ck_assert_msg(!accepted(bytes, n), "%zu of %zu bytes", n, size);
    ck_assert(accepted(bytes, size));
    rdk_free(bytes);
    unlink(path);
}
END_TEST

/* Any byte of the header may be anything: refused or read, never a crash or an overrun (the
 * sanitizer build watches). A flipped bit in the length or in a bracket cannot pass. */
START_TEST(every_flipped_bit_is_survived)
{
    size_t size, refused = 0;
    char *bytes = good_file(&size);
    size_t header = size - 14 * sizeof(rdk_real);
    for (size_t i = 0; i < header; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
            bool ok = accepted(bytes, size);
            refused += !ok;
            if (i < 8) ck_assert_msg(!ok, "byte %zu bit %d of the length", i, bit);
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
        }
    }
    ck_assert_uint_gt(refused, header * 4);
    rdk_free(bytes);
    unlink(path);
}
END_TEST

static const struct {
    const char *header;
    int data_bytes;
} BAD[] = {
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4}, /* size */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8}, /* hole */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8}, /* rest */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"      /* hole between */
     "\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
     12},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," /* overlap */
     "\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
     12},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}," /* the same bytes */
     "\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}," /* the same name */
     "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     8},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 4}, /* beyond */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4}, /* order */
    {"{\"w\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4}, /* dtype */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616],\"data_offsets\":[0,4]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,-4]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},}", 4},
    {"{\"__metadata__\":{\"a\":1}}", 0},
    {"{\"__metadata__\":{\"a\":\"\\ud800\"}}", 0},
    {"{\"__metadata__\":{\"a\":\"\\x41\"}}", 0},
    {"[]", 0},
    {"{} x", 0},
    {"", 0},
};

START_TEST(broken_numbers_are_refused)
{
    char bytes[512] = {0};
    size_t n = strlen(BAD[_i].header);
    make_path();
    bytes[0] = (char)n;
    memcpy(bytes + 8, BAD[_i].header, n);
    ck_assert_msg(!accepted(bytes, 8 + n + (size_t)BAD[_i].data_bytes), "%s", BAD[_i].header);
    unlink(path);
}
END_TEST

START_TEST(a_huge_header_length_allocates_nothing)
{
    char bytes[16] = {0};
    make_path();
    memset(bytes, 0xFF, 8);
    ck_assert(!accepted(bytes, sizeof bytes));
    bytes[7] = 0x7F;
    ck_assert(!accepted(bytes, sizeof bytes));
    unlink(path);
}
END_TEST

RDK_TEST_MAIN("safetensors", {
    ADD(round_trip);
    ADD(header_keeps_the_rules);
    ADD_LOOP(the_header_may_list_in_any_order, sizeof ORDERS / sizeof *ORDERS);
    ADD(shape_and_name_must_match);
    ADD(every_truncation_is_refused);
    ADD(every_flipped_bit_is_survived);
    ADD_LOOP(broken_numbers_are_refused, sizeof BAD / sizeof *BAD);
    ADD(a_huge_header_length_allocates_nothing);
})
