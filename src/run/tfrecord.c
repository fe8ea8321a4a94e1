/* SPDX-License-Identifier: MIT
 * Records of TFRecord with their checksums: see event.h.
 * Read next: tensorboard.c. */
#include "event.h"

enum { LENGTH_BYTES = 8, SUM_BYTES = 4, FRAME = LENGTH_BYTES + 2 * SUM_BYTES };

/* CRC-32C (Castagnoli et al. 1993), four bits at a time: entry i is the remainder of i x^32 by the
 * polynomial 0x1EDC6F41, all bits reversed. */
uint32_t rdk_crc32c(const void *bytes, size_t n)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *p = bytes;
    uint32_t sum = UINT32_MAX;
    for (; n > 0; n--, p++) {
        sum = table[(sum ^ *p) & 0xF] ^ sum >> 4;
        sum = table[(sum ^ *p >> 4) & 0xF] ^ sum >> 4;
    }
    return ~sum;
}

/* So that a checksum of data that hold checksums is not a function of them alone. */
static uint32_t masked(const void *bytes, size_t n)
{
    uint32_t sum = rdk_crc32c(bytes, n);
    return (sum >> 15 | sum << 17) + 0xa282ead8U;
}

static void put(unsigned char *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++, x >>= 8) to[i] = (unsigned char)(x & 0xFF);
}

static uint64_t get(const char *from, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes; i-- > 0;) x = x << 8 | (unsigned char)from[i];
    return x;
}

void rdk_tfrecord_add(rdk_text *file, const rdk_text *data)
{
    unsigned char head[LENGTH_BYTES + SUM_BYTES], tail[SUM_BYTES];
    put(head, data->size, LENGTH_BYTES);
    put(head + LENGTH_BYTES, masked(head, LENGTH_BYTES), SUM_BYTES);
    put(tail, masked(data->data, data->size), SUM_BYTES);
    rdk_text_bytes(file, head, sizeof head);
    rdk_text_bytes(file, data->data, data->size);
    rdk_text_bytes(file, tail, sizeof tail);
}

/* Is the length, of which all bytes are there, what was written? */
static bool length_is_sound(const char *file)
{
    return get(file + LENGTH_BYTES, SUM_BYTES) == masked(file, LENGTH_BYTES);
}

size_t rdk_tfrecord_read(const char *file, size_t n, const char **data, size_t *size)
{
    if (n < FRAME) return 0;
    uint64_t length = get(file, LENGTH_BYTES);
    if (!length_is_sound(file) || length > n - FRAME) return 0;
    *data = file + LENGTH_BYTES + SUM_BYTES;
    *size = (size_t)length;
    return get(*data + length, SUM_BYTES) == masked(*data, *size) ? *size + FRAME : 0;
}

bool rdk_tfrecord_torn(const char *file, size_t n)
{
    if (n < LENGTH_BYTES + SUM_BYTES) return true;
    return length_is_sound(file) && (n < FRAME || get(file, LENGTH_BYTES) > n - FRAME);
}
