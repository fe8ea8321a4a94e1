/* SPDX-License-Identifier: MIT
 * The strict JSON reader of json.h. No recursion, no memory but the caller's text. */
#include "json.h"

#include <string.h>

#include "base/utf8.h"

rdk_json rdk_json_open(const char *text, size_t size)
{
    return (rdk_json){.at = text, .start = text, .end = text + size};
}

bool rdk_json_fail(rdk_json *j, const char *error)
{
    if (!j->error) {
        j->error = error;
        j->error_at = j->at;
    }
    return false;
}

static void skip_blanks(rdk_json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

bool rdk_json_next_is(rdk_json *j, char c)
{
    skip_blanks(j);
    return !j->error && j->at < j->end && *j->at == c;
}

bool rdk_json_take(rdk_json *j, char c)
{
    if (j->error) return false;
    if (!rdk_json_next_is(j, c)) return rdk_json_fail(j, "unexpected character");
    j->at++;
    return true;
}

bool rdk_json_finished(rdk_json *j)
{
    skip_blanks(j);
    return !j->error && (j->at == j->end || rdk_json_fail(j, "text behind the end"));
}

bool rdk_json_uint(rdk_json *j, uint64_t *x)
{
    skip_blanks(j);
    if (j->error) return false;
    const char *first = j->at;
    *x = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
        uint64_t digit = (uint64_t)(*j->at - '0');
        if (*x > (UINT64_MAX - digit) / 10) return rdk_json_fail(j, "a number is too large");
        *x = *x * 10 + digit;
    }
    if (j->at == first) return rdk_json_fail(j, "a whole number was expected");
    if (*first == '0' && j->at - first > 1) return rdk_json_fail(j, "a number begins with 0");
    return true;
}

static bool hex4(rdk_json *j, uint32_t *code)
{
    *code = 0;
    if (j->end - j->at < 4) return rdk_json_fail(j, "a string has no end");
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = *j->at++;
        if (c >= 'A' && c <= 'F') c = (char)(c - 'A' + 'a');
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit) return rdk_json_fail(j, "bad escape in a string");
        *code = *code * 16 + (uint32_t)(digit - digits);
    }
    return true;
}

static void add_utf8(rdk_text *out, uint32_t code_point)
{
    char bytes[RDK_UTF8_MAX];
    rdk_text_bytes(out, bytes, rdk_utf8_encode(code_point, bytes));
}

static bool unicode_escape(rdk_json *j, rdk_text *out)
{
    uint32_t code, low;
    if (!hex4(j, &code)) return false;
    if (code >= 0xD800 && code < 0xE000) {
        bool pair = code < 0xDC00 && j->end - j->at >= 6 && j->at[0] == '\\' && j->at[1] == 'u';
        if (!pair) return rdk_json_fail(j, "half a surrogate pair in a string");
        j->at += 2;
        if (!hex4(j, &low)) return false;
        if (low < 0xDC00 || low >= 0xE000)
            return rdk_json_fail(j, "half a surrogate pair in a string");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    add_utf8(out, code);
    return true;
}

static bool escape(rdk_json *j, rdk_text *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end) return rdk_json_fail(j, "a string has no end");
    char c = *j->at++;
    if (c == 'u') return unicode_escape(j, out);
    const char *name = c ? strchr(names, c) : NULL;
    if (!name) return rdk_json_fail(j, "bad escape in a string");
    rdk_text_bytes(out, &values[name - names], 1);
    return true;
}

bool rdk_json_string(rdk_json *j, rdk_text *out)
{
    if (!rdk_json_take(j, '"')) return false;
    rdk_text_bytes(out, "", 0);
    while (j->at < j->end && *j->at != '"') {
        const char *run = j->at;
        while (j->at < j->end && *j->at != '"' && *j->at != '\\' && (unsigned char)*j->at >= 0x20)
            j->at++;
        rdk_text_bytes(out, run, (size_t)(j->at - run));
        if (j->at == j->end || *j->at == '"') break;
        if (*j->at != '\\') return rdk_json_fail(j, "control character in a string");
        j->at++;
        if (!escape(j, out)) return false;
    }
    if (j->at == j->end) return rdk_json_fail(j, "a string has no end");
    j->at++;
    return true;
}

static const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* -?(0 | [1-9]d*)(.d+)?([eE][+-]?d+)? */
static bool is_number(const char *p, const char *end)
{
    if (p < end && *p == '-') p++;
    const char *from = p;
    p = digits(p, end);
    if (p == from || (*from == '0' && p - from > 1)) return false;
    if (p < end && *p == '.') {
        from = ++p;
        if ((p = digits(p, end)) == from) return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        from = p;
        if ((p = digits(p, end)) == from) return false;
    }
    return p == end;
}

bool rdk_json_scalar(rdk_json *j, rdk_text *out)
{
    static const char *const words[] = {"true", "false", "null"};
    if (rdk_json_next_is(j, '"')) return rdk_json_string(j, out);
    if (j->error) return false;
    const char *from = j->at, *to = from;
    while (to < j->end && !strchr(",]} \t\r\n", *to)) to++;
    size_t n = (size_t)(to - from);
    bool fine = is_number(from, to);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        fine = fine || (n == strlen(words[i]) && memcmp(from, words[i], n) == 0);
    if (!fine) return rdk_json_fail(j, "a string, number, true, false or null was expected");
    rdk_text_bytes(out, from, n);
    j->at = to;
    return true;
}
