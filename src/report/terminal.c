/* SPDX-License-Identifier: MIT
 * Text that is fit for a terminal, and in what options runs differ, in lines of its width.
 * Read next: differing.c. */
#include "terminal.h"

#include <string.h>

#include "base/utf8.h"

void rdk_printable(rdk_text *t, const char *text, bool unicode, size_t most)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t left = strlen(text), n;
    for (; left > 0 && most > 0; s += n, left -= n, most--) {
        uint32_t c = 0;
        n = rdk_utf8_decode(s, left, &c);
        bool good = n && c >= ' ' && c != 0x7F && !(c >= 0x80 && c < 0xA0) && (unicode || c < 0x80);
        if (!n) n = 1;
        rdk_text_bytes(t, good ? (const void *)s : "?", good ? n : 1);
    }
}

/* "scale none, lr 0.001, ..." behind the letter of a run, broken behind commas. */
static void option_lines(FILE *out, char letter, const char *options, size_t width, bool unicode)
{
    size_t column = 1;
    fputc(letter, out);
    while (*options) {
        size_t n = strcspn(options, ",");
        n += options[n] == ',';
        rdk_text one = {0}, clean = {0};
        rdk_text_bytes(&one, options, n);
        rdk_printable(&clean, one.data ? one.data : "", unicode, width - 2);
        bool fits = column == 1 || column + 1 + clean.size <= width;
        fprintf(out, "%s%s", fits ? " " : "\n  ", clean.data ? clean.data : "");
        column = (fits ? column + 1 : 2) + clean.size;
        rdk_text_free(&one);
        rdk_text_free(&clean);
        options += n + strspn(options + n, " ");
    }
    fputc('\n', out);
}

void rdk_print_differing(FILE *out, const rdk_report_run *const *runs, size_t n, char letter,
                         size_t width, bool unicode)
{
    rdk_text has[RDK_SHOWN_RUNS] = {0};
    if (n < 2) return;
    if (!rdk_differing(runs, n, has)) fprintf(out, "\nno option differs\n");
    for (size_t i = 0; i < n; i++) {
        if (has[i].size && !i) fprintf(out, "\nwhat differs:\n");
        if (has[i].size) option_lines(out, (char)(letter + (int)i), has[i].data, width, unicode);
        rdk_text_free(&has[i]);
    }
}
