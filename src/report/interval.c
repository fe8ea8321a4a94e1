/* SPDX-License-Identifier: MIT
 * An interval as people read it: no digit that its width makes meaningless; see figures.h. */
#include <math.h>
#include <stdio.h>

#include "figures.h"
#include "svg.h"

static void fixed(double x, int places, char buf[RDK_INTERVAL_TEXT])
{
    snprintf(buf, RDK_INTERVAL_TEXT, "%.*f", places, x);
    for (char *p = buf; *p; p++) /* the point of a locale that a host program set */
        if (*p == ',') *p = '.';
}

void rdk_interval_texts(rdk_interval v, double factor, char mean[RDK_INTERVAL_TEXT],
                        char half[RDK_INTERVAL_TEXT])
{
    enum { MOST_PLACES = 6, LARGEST = 1000000 };
    double x = factor * v.mean, h = factor * v.half;
    rdk_readable(x, mean);
    *half = '\0';
    if (v.n < 2 || !isfinite(h)) return;
    rdk_readable(h, half);
    if (!(h > 0) || fabs(x) >= LARGEST || h >= LARGEST) return;
    int places = 1 - (int)floor(log10(h));
    if (places > MOST_PLACES) return;
    if (places < 0) places = 0;
    fixed(x, places, mean);
    fixed(h, places, half);
}
