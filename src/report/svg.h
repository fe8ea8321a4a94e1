/* SPDX-License-Identifier: MIT
 * Text for a page: escaping, coordinates, numbers as people read them.
 * Read next: figure.h. */
#ifndef RDK_REPORT_SVG_H
#define RDK_REPORT_SVG_H

#include <rootdk/base.h>

/* Any bytes as text of HTML, SVG or a quoted attribute: < > & " ' become entities; what is no UTF-8
 * or a control character becomes U+FFFD. */
void rdk_html(rdk_text *t, const char *text);
/* Any bytes as a JSON string that may stand in a <script>: no "<" in it. */
void rdk_page_json(rdk_text *t, const char *text);
/* A number for JSON: null where it is not finite. As a float, as the CSV files have it: zero is
 * 0, never -0. */
void rdk_page_number(rdk_text *t, double x);
/* A coordinate: one digit behind the point, none where it is 0. Not finite: 0. */
void rdk_coordinate(rdk_text *t, double x);
/* Four significant digits at most: "0.01234", "1.2e-05", "1234", "-" for NAN. buf returned. */
enum { RDK_READABLE = 32 };
char *rdk_readable(double x, char buf[RDK_READABLE]);
/* "<text x= y= class=>...</text>", escaped. */
void rdk_svg_text(rdk_text *t, double x, double y, const char *classes, const char *text);

/* From where to where a title may reach. */
typedef struct rdk_room {
    double from, to;
} rdk_room;
/* A title that begins at x where it has room behind it, else further left; too long for all of the
 * room it is drawn closer, and cut where that would not be legible (the pointer reads all of it).
 * small: 10 px, else 12. */
void rdk_svg_title(rdk_text *t, double x, double y, const rdk_room *room, bool small,
                   const char *text);

#endif
