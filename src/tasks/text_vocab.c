/* SPDX-License-Identifier: MIT
 * Characters of a text. A character is a Unicode code point; nothing is normalised, folded or left
 * out (a byte order mark and each half of CR LF are characters too), so that decoding gives back
 * the very bytes of the file. A file that is not UTF-8 is refused, never repaired.
 *
 * Invariant: numbers ascend with code points, so they depend only on which characters occur.
 * Read next: text.c. */
#include "text_vocab.h"

#include <stdio.h>

/* Would a terminal act on it, or show nothing or other text in another order? */
static bool invisible(uint32_t c)
{
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool format = c == 0xad || c == 0x061c || c == 0xfeff || (c >= 0x200b && c <= 0x200f) ||
                  (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f);
    return control || format;
}

static bool escaped(uint32_t c, char buf[RDK_TOKEN_TEXT])
{
    char letter = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c == '\\' ? '\\' : 0;
    if (letter) snprintf(buf, RDK_TOKEN_TEXT, "\\%c", letter);
    return letter != 0;
}

void rdk_code_point_text(uint32_t code_point, char buf[RDK_TOKEN_TEXT])
{
    if (escaped(code_point, buf)) return;
    if (invisible(code_point)) {
        snprintf(buf, RDK_TOKEN_TEXT, "\\u{%x}", (unsigned)code_point);
        return;
    }
    buf[rdk_utf8_encode(code_point, buf)] = '\0';
}

void rdk_byte_text(uint8_t byte, char buf[RDK_TOKEN_TEXT])
{
    if (escaped(byte, buf)) return;
    snprintf(buf, RDK_TOKEN_TEXT, byte >= 0x20 && byte < 0x7f ? "%c" : "\\x%02x", byte);
}

/* Marks the characters that occur, and counts all. */
static bool scan(rdk_charset *set, const uint8_t *bytes, size_t n, const char *path, rdk_status *s)
{
    size_t at = 0;
    while (at < n) {
        uint32_t c;
        size_t size = rdk_utf8_decode(bytes + at, n - at, &c);
        if (size == 0)
            return rdk_fail(s, RDK_EFORMAT,
                            "%s is not UTF-8: invalid sequence at byte offset %zu, value 0x%02x "
                            "(use --tokenizer byte, or convert the file)",
                            path, at, bytes[at]);
        if (c == 0)
            return rdk_fail(s, RDK_EFORMAT,
                            "%s is not a text: NUL at byte offset %zu (use --tokenizer byte, or "
                            "convert the file to UTF-8)",
                            path, at);
        set->number[c] = 1;
        set->characters++;
        at += size;
    }
    return true;
}

bool rdk_charset_read(rdk_charset *set, const uint8_t *bytes, size_t n, const char *path,
                      rdk_status *s)
{
    set->number = rdk_alloc(RDK_CODE_POINTS, sizeof *set->number, s);
    if (!set->number || !scan(set, bytes, n, path, s)) return false;
    for (size_t c = 0; c < RDK_CODE_POINTS; c++) set->count += (size_t)set->number[c];
    set->code_point = rdk_alloc(set->count, sizeof *set->code_point, s);
    if (!set->code_point) return false;
    size_t next = 0;
    for (uint32_t c = 0; c < RDK_CODE_POINTS; c++) {
        if (!set->number[c]) continue;
        set->code_point[next] = c;
        set->number[c] = (int32_t)next++;
    }
    return true;
}

void rdk_charset_free(rdk_charset *set)
{
    rdk_free(set->code_point);
    rdk_free(set->number);
    *set = (rdk_charset){0};
}
