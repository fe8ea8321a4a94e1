/* SPDX-License-Identifier: MIT
 * What show prints in words. */
#ifndef RDK_REPORT_TERMINAL_H
#define RDK_REPORT_TERMINAL_H

#include <stdio.h>

#include "data.h"

enum { RDK_SHOWN_RUNS = 26 }; /* a letter each */

/* Printable text, at most so many characters wide. */
void rdk_printable(rdk_text *t, const char *text, bool unicode, size_t most);
/* What each of n runs, lettered from `letter` on, has of the options in which they differ and which
 * their names do not say; that none differs; nothing of a run alone. n <= RDK_SHOWN_RUNS. */
void rdk_print_differing(FILE *out, const rdk_report_run *const *runs, size_t n, char letter,
                         size_t width, bool unicode);

#endif
