/* SPDX-License-Identifier: MIT
 * Curves in a terminal; see canvas.h. */
#include "canvas.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

enum { BRAILLE = 0x2800, DOT_COLUMNS = 2, DOT_LINES = 4, LETTERS = 26, COLOURS = 6 };

rdk_canvas rdk_canvas_new(rdk_arena *a, size_t columns, size_t lines, bool braille)
{
    rdk_canvas c = {columns, lines, braille, rdk_arena_alloc(a, columns, lines),
                    rdk_arena_alloc(a, columns, lines)};
    if (c.dots) memset(c.dots, 0, columns * lines);
    if (c.owner) memset(c.owner, 0, columns * lines);
    return c;
}

/* x and y in dots, from the top left. */
static void put(rdk_canvas *c, long x, long y, unsigned char owner)
{
    /* bits of the dots of a cell, from the top: left column, right column */
    static const unsigned char bit[DOT_LINES][DOT_COLUMNS] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    long wide = c->braille ? DOT_COLUMNS : 1, tall = c->braille ? DOT_LINES : 1;
    if (x < 0 || y < 0 || x >= wide * (long)c->columns || y >= tall * (long)c->lines) return;
    size_t cell = (size_t)(y / tall) * c->columns + (size_t)(x / wide);
    if (c->braille)
        c->dots[cell] |= bit[y % tall][x % wide];
    else
        c->dots[cell] = (unsigned char)('a' + (owner - 1) % LETTERS);
    c->owner[cell] = owner;
}

static void segment(rdk_canvas *c, const double from[2], const double to[2], unsigned char owner)
{
    double far = fmax(fabs(to[0] - from[0]), fabs(to[1] - from[1]));
    long n = (long)fmin(ceil(far), 10000);
    for (long k = 0; k <= n; k++) {
        double f = n ? (double)k / (double)n : 0;
        put(c, lround(from[0] + f * (to[0] - from[0])), lround(from[1] + f * (to[1] - from[1])),
            owner);
    }
}

void rdk_canvas_curve(rdk_canvas *c, const rdk_axis *x, const rdk_axis *y, const rdk_curve *curve,
                      unsigned char owner)
{
    double wide = (double)c->columns * (c->braille ? DOT_COLUMNS : 1) - 1;
    double tall = (double)c->lines * (c->braille ? DOT_LINES : 1) - 1;
    double last[2] = {NAN, NAN};
    for (size_t i = 0; i < curve->n; i++) {
        double px = rdk_axis_place(x, curve->x[i]), py = rdk_axis_place(y, curve->y[i]);
        if (!isfinite(px) || !isfinite(py)) {
            last[0] = NAN;
            continue;
        }
        double now[2] = {wide * px, tall * (1 - fmin(fmax(py, -1), 2))};
        segment(c, isnan(last[0]) ? now : last, now, owner);
        memcpy(last, now, sizeof last);
    }
}

const char *rdk_canvas_colour(unsigned char owner)
{
    /* told apart also by those who do not tell red from green */
    static const char *const sgr[COLOURS] = {"\033[33m", "\033[36m", "\033[35m",
                                             "\033[34m", "\033[32m", "\033[37m"};
    return sgr[(owner - 1) % COLOURS];
}

void rdk_canvas_line(const rdk_canvas *c, size_t line, bool colour, rdk_text *out)
{
    unsigned char now = 0;
    for (size_t i = 0; i < c->columns; i++) {
        size_t cell = line * c->columns + i;
        unsigned char owner = c->owner[cell];
        if (colour && owner != now)
            rdk_text_add(out, "%s", owner ? rdk_canvas_colour(owner) : "\033[0m");
        now = owner;
        char bytes[RDK_UTF8_MAX] = {' '};
        size_t n = 1;
        if (owner && c->braille)
            n = rdk_utf8_encode(BRAILLE + (uint32_t)c->dots[cell], bytes);
        else if (owner)
            bytes[0] = (char)c->dots[cell];
        rdk_text_bytes(out, bytes, n);
    }
    if (colour && now) rdk_text_add(out, "\033[0m");
}
