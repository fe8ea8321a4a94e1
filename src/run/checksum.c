/* SPDX-License-Identifier: MIT
 * Checksums of a checkpoint: see checksum.h. */
#include "checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static char *as_text(uint64_t sum, char buf[RDK_CHECKSUM_TEXT])
{
    snprintf(buf, RDK_CHECKSUM_TEXT, "%016" PRIx64, sum);
    return buf;
}

/* With its NUL, so that "ab", "c" and "a", "bc" differ. */
static uint64_t add_string(uint64_t sum, const char *text)
{
    do sum = rdk_hash_add(sum, (unsigned char)*text);
    while (*text++);
    return sum;
}

char *rdk_checksum_words(size_t n, const rdk_saved_word *words, char buf[RDK_CHECKSUM_TEXT])
{
    uint64_t sum = RDK_HASH_START;
    for (size_t i = 0; i < n; i++) sum = add_string(add_string(sum, words[i].key), words[i].value);
    return as_text(sum, buf);
}

static uint64_t bits_of(rdk_real x)
{
    uint64_t whole = 0;
    uint32_t half = 0;
    bool is_half = sizeof x == sizeof half;
    memcpy(is_half ? (void *)&half : (void *)&whole, &x, sizeof x);
    return is_half ? half : whole;
}

static uint64_t add_tensor(uint64_t sum, const rdk_saved_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->n_dims; i++) n *= t->dim[i];
    for (size_t k = 0; k < n; k++) {
        uint64_t bits = bits_of(t->data[k]);
        for (size_t byte = 0; byte < sizeof(rdk_real); byte++, bits >>= 8)
            sum = rdk_hash_add(sum, bits & 0xFF);
    }
    return sum;
}

char *rdk_checksum_tensors(size_t n, const rdk_saved_tensor *tensors, char buf[RDK_CHECKSUM_TEXT])
{
    uint64_t sum = RDK_HASH_START;
    for (size_t i = 0; i < n; i++) sum = add_tensor(sum, &tensors[i]);
    return as_text(sum, buf);
}
