/* SPDX-License-Identifier: MIT
 * Cells coloured by a share, all of one shade in one path; see shade.h. */
#include <math.h>

#include "shade.h"
#include "svg.h"

void rdk_shade_cell(rdk_shades *s, double share, double x, double y, double width, double height)
{
    if (!isfinite(share)) return;
    double in = fmin(fmax(share, 0), 1);
    rdk_text *t = &s->path[lround(in * (RDK_SHADES - 1))];
    rdk_text_add(t, "M");
    rdk_coordinate(t, x);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y);
    rdk_text_add(t, "h");
    rdk_coordinate(t, width);
    rdk_text_add(t, "v");
    rdk_coordinate(t, height);
    rdk_text_add(t, "h");
    rdk_coordinate(t, -width);
    rdk_text_add(t, "z");
}

void rdk_shade_write(rdk_text *t, rdk_shades *s)
{
    for (int k = 0; k < RDK_SHADES; k++) {
        if (s->path[k].size)
            rdk_text_add(t, "<path class=\"cell h%d\" d=\"%s\"/>\n", k, s->path[k].data);
        if (s->path[k].failed) t->failed = true;
        rdk_text_free(&s->path[k]);
    }
}

void rdk_shade_key(rdk_text *t, double x, double y, const char *low, const char *high)
{
    rdk_svg_text(t, x - 4, y + 9, "number end", low);
    for (int k = 0; k < RDK_SHADES; k++) {
        rdk_text_add(t, "<rect class=\"cell h%d\" x=\"", k);
        rdk_coordinate(t, x + 16 * k);
        rdk_text_add(t, "\" y=\"");
        rdk_coordinate(t, y);
        rdk_text_add(t, "\" width=\"16\" height=\"10\"/>");
    }
    rdk_svg_text(t, x + 16 * RDK_SHADES + 4, y + 9, "number", high);
}
