/* SPDX-License-Identifier: MIT
 * Is a page well formed, and does it need nothing beside it? */
#ifndef RDK_TEST_PAGE_CHECK_H
#define RDK_TEST_PAGE_CHECK_H

#include "harness.h"

enum { PAGE_DEPTH = 64, PAGE_NAME = 32 };

static inline size_t tag_name(const char *at, char name[PAGE_NAME])
{
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    ck_assert_msg(n > 0 && n < PAGE_NAME, "no tag at %.40s", at);
    memcpy(name, at, n);
    name[n] = '\0';
    return n;
}

/* Behind the '>' of an open tag; every attribute quoted. */
static inline const char *tag_end(const char *at)
{
    const char *start = at;
    for (bool quoted = false; *at && (quoted || *at != '>'); at++) {
        ck_assert_msg(*at != '<', "a < in the tag %.80s", start);
        if (*at == '"') quoted = !quoted;
        if (!quoted && *at == '=') ck_assert_msg(at[1] == '"', "not quoted: %.80s", start);
    }
    ck_assert_msg(*at == '>', "a tag without its end: %.80s", start);
    return at + 1;
}

static inline void page_text(const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        if (*p != '&') continue;
        size_t n = strspn(p + 1, "#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        ck_assert_msg(n > 0 && p[1 + n] == ';', "an & that is no entity: %.40s", p);
    }
}

/* Every tag is closed by its own, in order. */
static inline void page_is_well_formed(const char *page)
{
    char open[PAGE_DEPTH][PAGE_NAME], name[PAGE_NAME], end[PAGE_NAME + 4];
    size_t depth = 0;
    static const char doctype[] = "<!DOCTYPE html>";
    ck_assert_msg(!strncmp(page, doctype, sizeof doctype - 1), "no doctype");
    const char *at = page + sizeof doctype - 1;
    for (const char *next; (next = strchr(at, '<'));) {
        page_text(at, next);
        bool closes = next[1] == '/';
        at = next + 1 + closes + tag_name(next + 1 + closes, name);
        at = tag_end(at);
        if (closes) {
            ck_assert_msg(depth > 0 && !strcmp(open[depth - 1], name), "</%s> closes <%s> at %.80s",
                          name, depth ? open[depth - 1] : "nothing", next);
            depth--;
        } else if (at[-2] != '/') {
            ck_assert_msg(depth < PAGE_DEPTH, "too deep at %.80s", next);
            strcpy(open[depth++], name);
        }
        if (closes || (strcmp(name, "script") != 0 && strcmp(name, "style") != 0)) continue;
        snprintf(end, sizeof end, "</%s", name);
        at = strstr(at, end);
        ck_assert_msg(at != NULL, "<%s> is not closed", name);
    }
    ck_assert_msg(depth == 0, "<%s> is not closed", depth ? open[depth - 1] : "");
}

/* It names no address but that of the SVG namespace, links only into itself and holds UTF-8. */
static inline void page_is_alone(const char *page)
{
    static const char name_space[] = "http://www.w3.org/2000/svg";
    for (const char *p = page; (p = strstr(p, "://")); p += 3) {
        const char *from = p - page >= 4 ? p - 4 : page;
        ck_assert_msg(!strncmp(from, name_space, sizeof name_space - 1), "an address: %.60s", from);
    }
    for (const char *p = page; (p = strstr(p, "href=\"")); p++)
        ck_assert_msg(p[6] == '#', "a link out: %.60s", p);
    ck_assert(!strstr(page, "src=") && !strstr(page, "@import") && !strstr(page, "<link"));
}

#endif
