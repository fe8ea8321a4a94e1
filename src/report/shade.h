/* SPDX-License-Identifier: MIT
 * Cells coloured by a share from 0 to 1, always on the same range of colours. */
#ifndef RDK_REPORT_SHADE_H
#define RDK_REPORT_SHADE_H

#include "data.h"

enum { RDK_SHADES = 11 };

/* The cells of each shade as one path. Zero before use. */
typedef struct rdk_shades {
    rdk_text path[RDK_SHADES];
} rdk_shades;
/* share: cut to 0..1; NAN draws nothing. */
void rdk_shade_cell(rdk_shades *s, double share, double x, double y, double width, double height);
/* Writes the paths and frees them. */
void rdk_shade_write(rdk_text *t, rdk_shades *s);
void rdk_shade_key(rdk_text *t, double x, double y, const char *low, const char *high);

/* attmaps.c: the attention maps of one example for each series, or how to get them. */
void rdk_attention_maps(rdk_report *r, rdk_text *t);

#endif
