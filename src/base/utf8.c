/* SPDX-License-Identifier: MIT
 * Reading and writing UTF-8: see utf8.h. */
#include "utf8.h"

#include <stdbool.h>

static size_t sequence_size(uint8_t lead)
{
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return 2;
    if (lead >= 0xe0 && lead <= 0xef) return 3;
    if (lead >= 0xf0 && lead <= 0xf4) return 4;
    return 0;
}

/* Well-formed sequences as in the Unicode Standard, section 3.9, table 3-7. */
size_t rdk_utf8_decode(const uint8_t *bytes, size_t n, uint32_t *code_point)
{
    static const uint8_t lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = sequence_size(bytes[0]);
    if (size == 0 || size > n) return 0;
    uint32_t c = bytes[0] & lead_mask[size];
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    bool surrogate = c >= 0xd800 && c <= 0xdfff;
    if (c < least[size] || c >= RDK_CODE_POINTS || surrogate) return 0;
    *code_point = c;
    return size;
}

size_t rdk_utf8_encode(uint32_t code_point, char out[RDK_UTF8_MAX])
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    uint32_t rest = code_point;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (rest & 0x3f));
        rest >>= 6;
    }
    out[0] = (char)(lead[size] | rest);
    return size;
}
