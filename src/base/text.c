/* SPDX-License-Identifier: MIT
 * A string that grows, for everything that is written to a file in one piece.
 *
 * Invariant: data ends with NUL at data[size] where it is not NULL, and room > size. After a failed
 * append the text stays as it was and `failed` is set for good.
 * Read next: file.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

#include <rootdk/base.h>

#include "base/memory.h"

enum { SMALLEST_ROOM = 256 };

/* Room for n more bytes and the NUL. */
static bool make_room(rdk_text *t, size_t n)
{
    size_t need;
    if (t->failed) return false;
    if (!rdk_size_add(t->size, n, &need) || !rdk_size_add(need, 1, &need)) {
        t->failed = true;
        return false;
    }
    if (need <= t->room) return true;
    size_t room = t->room < SMALLEST_ROOM ? SMALLEST_ROOM : t->room;
    while (room < need) room = room > SIZE_MAX / 2 ? need : room * 2;
    char *data = rdk_grow(t->data, t->size, room);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->room = room;
    return true;
}

void rdk_text_bytes(rdk_text *t, const void *bytes, size_t n)
{
    if (!make_room(t, n)) return;
    if (n) memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = '\0';
}

void rdk_text_add(rdk_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0)
        t->failed = true;
    else if (make_room(t, (size_t)length)) {
        vsnprintf(t->data + t->size, (size_t)length + 1, format, again);
        t->size += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

static void add_string(rdk_text *t, const char *s)
{
    rdk_text_bytes(t, s, strlen(s));
}

static void add_control(rdk_text *t, unsigned char c)
{
    switch (c) {
    case '\n':
        add_string(t, "\\n");
        break;
    case '\r':
        add_string(t, "\\r");
        break;
    case '\t':
        add_string(t, "\\t");
        break;
    default:
        rdk_text_add(t, "\\u%04x", c);
    }
}

/* Bytes that are no UTF-8 become U+FFFD: a path may hold any bytes, a JSON file may not. */
void rdk_text_json(rdk_text *t, const char *string)
{
    static const unsigned char DELETE = 0x7F;
    add_string(t, "\"");
    const unsigned char *s = (const unsigned char *)string;
    for (size_t left = strlen(string), n; left > 0; s += n, left -= n) {
        uint32_t code_point;
        bool valid = (n = rdk_utf8_decode(s, left, &code_point)) > 0;
        if (!valid) n = 1;
        if (!valid)
            add_string(t, "\xEF\xBF\xBD");
        else if (*s == '"' || *s == '\\')
            rdk_text_add(t, "\\%c", *s);
        else if (*s < ' ' || *s == DELETE)
            add_control(t, *s);
        else
            rdk_text_bytes(t, s, n);
    }
    add_string(t, "\"");
}

void rdk_text_csv(rdk_text *t, const char *field)
{
    bool quoted = strpbrk(field, ",\"\r\n") != NULL;
    if (quoted) add_string(t, "\"");
    for (; *field; field++)
        rdk_text_bytes(t, *field == '"' ? "\"\"" : field, *field == '"' ? 2 : 1);
    if (quoted) add_string(t, "\"");
}

void rdk_text_shell_word(rdk_text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        add_string(t, word);
        return;
    }
    add_string(t, "'");
    for (; *word; word++) {
        if (*word == '\'')
            add_string(t, "'\\''");
        else
            rdk_text_bytes(t, word, 1);
    }
    add_string(t, "'");
}

void rdk_text_shell(rdk_text *t, const char *path)
{
    if (*path == '-') add_string(t, "./");
    rdk_text_shell_word(t, path);
}

void rdk_text_duration(rdk_text *t, double seconds)
{
    if (seconds < 90)
        rdk_text_add(t, "%.0f s", ceil(fmax(seconds, 1)));
    else if (seconds < 90 * 60)
        rdk_text_add(t, "%.0f min", ceil(seconds / 60));
    else
        rdk_text_add(t, "%.1f h", seconds / 3600);
}

bool rdk_text_ok(const rdk_text *t, rdk_status *s)
{
    if (t->failed)
        return rdk_fail(s, RDK_ENOMEM, "cannot write a text of more than %zu bytes: out of memory",
                        t->size);
    return true;
}

void rdk_text_free(rdk_text *t)
{
    rdk_free(t->data);
    *t = (rdk_text){0};
}
