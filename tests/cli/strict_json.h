/* SPDX-License-Identifier: MIT
 * Is a text one JSON object by RFC 8259, and nothing else? Written apart from the program's own
 * reader, and of the whole language: numbers, nesting, escapes, UTF-8. */
#ifndef RDK_TEST_STRICT_JSON_H
#define RDK_TEST_STRICT_JSON_H

#include <stdbool.h>
#include <string.h>

static inline const char *json_value(const char *p, int depth);

static inline const char *json_blank(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static inline const char *json_digits(const char *p)
{
    size_t n = strspn(p, "0123456789");
    return n ? p + n : NULL;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static inline const char *json_number(const char *p)
{
    if (*p == '-') p++;
    p = *p == '0' ? p + 1 : json_digits(p);
    if (p && *p == '.') p = json_digits(p + 1);
    if (!p || (*p != 'e' && *p != 'E')) return p;
    p++;
    return json_digits(p + (*p == '+' || *p == '-'));
}

/* The bytes of one UTF-8 sequence, or 0. */
static inline size_t json_utf8(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = u[0] < 0x80   ? 1
               : u[0] < 0xC2 ? 0
               : u[0] < 0xE0 ? 2
               : u[0] < 0xF0 ? 3
               : u[0] < 0xF5 ? 4
                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xC0) != 0x80) return 0;
    return n;
}

static inline const char *json_string(const char *p)
{
    if (*p++ != '"') return NULL;
    while (*p != '"') {
        size_t n = (unsigned char)*p < 0x20 ? 0 : json_utf8(p);
        if (*p == '\\')
            n = p[1] == 'u' ? (strspn(p + 2, "0123456789abcdefABCDEF") >= 4 ? 6 : 0)
                            : (p[1] && strchr("\"\\/bfnrt", p[1]) ? 2 : 0);
        if (!n) return NULL;
        p += n;
    }
    return p + 1;
}

/* What stands between `open` (already read) and `close`; of an object where `keys`. */
static inline const char *json_members(const char *p, char close, bool keys, int depth)
{
    p = json_blank(p);
    if (*p == close) return p + 1;
    for (;;) {
        p = json_blank(p);
        if (keys) {
            if (!(p = json_string(p))) return NULL;
            p = json_blank(p);
            if (*p++ != ':') return NULL;
        }
        if (!(p = json_value(p, depth))) return NULL;
        p = json_blank(p);
        if (*p == close) return p + 1;
        if (*p++ != ',') return NULL;
    }
}

static inline const char *json_value(const char *p, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    enum { DEEPEST = 50 };
    p = json_blank(p);
    if (depth > DEEPEST) return NULL;
    if (*p == '{') return json_members(p + 1, '}', true, depth + 1);
    if (*p == '[') return json_members(p + 1, ']', false, depth + 1);
    if (*p == '"') return json_string(p);
    for (int i = 0; i < 3; i++)
        if (!strncmp(p, words[i], strlen(words[i]))) return p + strlen(words[i]);
    return json_number(p);
}

static inline bool is_strict_json(const char *text)
{
    const char *end = *json_blank(text) == '{' ? json_value(text, 0) : NULL;
    return end && !*json_blank(end);
}

#endif
