/* SPDX-License-Identifier: MIT
 * Text for a page; see svg.h.
 *
 * Invariant: no byte that came from a run reaches a page but through rdk_html or rdk_page_json. */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char *entity(uint32_t code_point)
{
    switch (code_point) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Not allowed in XML, and nothing to see: controls but tab and line ends, and the two that are no
 * characters. */
static bool is_invisible(uint32_t c)
{
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0) ||
           c == 0xFFFE || c == 0xFFFF;
}

void rdk_html(rdk_text *t, const char *text)
{
    const uint8_t *s = (const uint8_t *)text;
    for (size_t left = strlen(text), n; left > 0; s += n, left -= n) {
        uint32_t code_point = 0;
        n = rdk_utf8_decode(s, left, &code_point);
        bool bad = n == 0 || is_invisible(code_point);
        if (n == 0) n = 1;
        const char *name = bad ? "\xEF\xBF\xBD" : entity(code_point);
        if (name)
            rdk_text_bytes(t, name, strlen(name));
        else
            rdk_text_bytes(t, s, n);
    }
}

void rdk_page_json(rdk_text *t, const char *text)
{
    rdk_text json = {0};
    rdk_text_json(&json, text);
    if (json.failed) t->failed = true;
    for (const char *p = json.data; p && *p; p++) {
        if (*p == '<')
            rdk_text_add(t, "\\u003c");
        else
            rdk_text_bytes(t, p, 1);
    }
    rdk_text_free(&json);
}

void rdk_page_number(rdk_text *t, double x)
{
    char number[RDK_NUMBER_TEXT];
    rdk_text_add(t, "%s", isfinite(x) ? rdk_text_figure(x, number) : "null");
}

void rdk_coordinate(rdk_text *t, double x)
{
    static const double most = 1e6;
    double tenths = isfinite(x) ? round(10 * fmin(fmax(x, -most), most)) : 0;
    long long whole = (long long)tenths, rest = whole % 10;
    if (rest)
        rdk_text_add(t, "%s%lld.%lld", tenths < 0 ? "-" : "", (whole < 0 ? -whole : whole) / 10,
                     rest < 0 ? -rest : rest);
    else
        rdk_text_add(t, "%lld", whole / 10);
}

char *rdk_readable(double x, char buf[RDK_READABLE])
{
    if (isnan(x))
        snprintf(buf, RDK_READABLE, "-");
    else if (x != 0 && isfinite(x) && (fabs(x) < 1e-4 || fabs(x) >= 1e6))
        snprintf(buf, RDK_READABLE, "%.3g", x);
    else
        snprintf(buf, RDK_READABLE, "%.4g", x);
    char *exponent = strchr(buf, 'e'); /* 1e-05 as 1e-5 */
    if (exponent && exponent[2] == '0') memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
    for (char *p = buf; *p; p++) /* the point of a locale that a host program set */
        if (*p == ',') *p = '.';
    return buf;
}

void rdk_svg_text(rdk_text *t, double x, double y, const char *classes, const char *text)
{
    rdk_text_add(t, "<text x=\"");
    rdk_coordinate(t, x);
    rdk_text_add(t, "\" y=\"");
    rdk_coordinate(t, y);
    rdk_text_add(t, "\" class=\"%s\">", classes);
    rdk_html(t, text);
    rdk_text_add(t, "</text>");
}

/* Fonts differ: a letter is taken to be this wide, of the font's size, and where a title has little
 * room the width is set. */
void rdk_svg_title(rdk_text *t, double x, double y, const rdk_room *room, bool small,
                   const char *text)
{
    static const double letter = 0.56, spare = 1.15, closest = 0.8;
    double size = letter * (small ? 10 : 12), most = room->to - room->from;
    size_t n = strlen(text), fits = (size_t)(most / size / closest);
    double width = size * (double)n;
    if (x + spare * width <= room->to) {
        rdk_svg_text(t, x, y, small ? "title small" : "title", text);
        return;
    }
    rdk_text_add(t, "<text x=\"");
    rdk_coordinate(t, fmax(room->from, fmin(x, room->to - width)));
    rdk_text_add(t, "\" y=\"");
    rdk_coordinate(t, y);
    rdk_text_add(t, "\" class=\"title%s\" lengthAdjust=\"spacingAndGlyphs\" textLength=\"",
                 small ? " small" : "");
    rdk_coordinate(t, fmin(width, most));
    rdk_text_add(t, "\">");
    if (n > fits) {
        while (fits > 4 && ((unsigned char)text[fits - 3] & 0xC0) == 0x80)
            fits--; /* whole letters */
        rdk_text cut = {0};
        rdk_text_bytes(&cut, text, fits - 3);
        rdk_html(t, cut.data ? cut.data : "");
        rdk_text_add(t, "...<title>");
        rdk_text_free(&cut);
    }
    rdk_html(t, text);
    rdk_text_add(t, n > fits ? "</title></text>" : "</text>");
}
