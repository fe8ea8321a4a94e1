/* SPDX-License-Identifier: MIT
 * The headings of what is printed, against the columns of the files: docs/metrics.md, "On the
 * screen", has a row for each, and no other; and a printed figure is that of the file. */
#include "run_files.h"

#include <math.h>

enum { MOST_CELLS = 6, CELL = 96, MOST_HEADINGS = 12 };

/* A row of the page's table: printed by, heading, column, file, taken. */
typedef struct mapping {
    char by[CELL], heading[CELL], column[CELL], file[CELL], taken[CELL];
} mapping;

/* The text between two bars, without blanks and backticks around it. */
static const char *next_cell(const char *at, char out[CELL])
{
    const char *end = strchr(at, '|');
    ck_assert_msg(end != NULL, "a row without its last bar: %.60s", at);
    while (at < end && strchr(" `", *at)) at++;
    size_t n = (size_t)(end - at);
    while (n && strchr(" `", at[n - 1])) n--;
    ck_assert_uint_lt(n, CELL);
    memcpy(out, at, n);
    out[n] = '\0';
    return end + 1;
}

/* The rows of the page that are about this verb; their number. */
static size_t rows_about(const char *page, const char *verb, mapping rows[MOST_HEADINGS])
{
    size_t n = 0;
    const char *at = strstr(page, "\n## On the screen\n"), *end = strstr(at + 1, "\n## ");
    while ((at = strstr(at, "\n| ")) && at < end) {
        mapping m;
        at = next_cell(at + 2, m.by);
        at = next_cell(at, m.heading);
        at = next_cell(at, m.column);
        at = next_cell(at, m.file);
        at = next_cell(at, m.taken) - 1;
        if (strcmp(m.by, verb) != 0) continue;
        ck_assert_uint_lt(n, MOST_HEADINGS);
        rows[n++] = m;
    }
    ck_assert_msg(n > 0, "docs/metrics.md has no row of %s", verb);
    return n;
}

/* The words of a line that two blanks or more part, or bars; their number. */
static size_t headings_of(const char *line, char out[][CELL])
{
    size_t n = 0, length = strcspn(line, "\n");
    for (size_t i = 0; i < length;) {
        while (i < length && strchr(" |", line[i])) i++;
        size_t from = i;
        while (i < length && line[i] != '|' && strncmp(&line[i], "  ", 2) != 0) i++;
        size_t to = i;
        while (to > from && line[to - 1] == ' ') to--;
        if (to == from) continue;
        snprintf(out[n++], CELL, "%.*s", (int)(to - from), &line[from]);
        ck_assert_uint_le(n, MOST_HEADINGS);
    }
    return n;
}

/* All headings of the line but the first `known` ones have a row, and each row a heading. */
static void same_headings(const char *line, size_t known, const mapping *rows, size_t n,
                          const char *verb)
{
    char headings[MOST_HEADINGS][CELL];
    size_t count = headings_of(line, headings), met = 0;
    for (size_t i = known; i < count; i++) {
        size_t k = 0;
        while (k < n && strcmp(rows[k].heading, headings[i]) != 0) k++;
        ck_assert_msg(k < n, "docs/metrics.md has no row for `%s` of %s", headings[i], verb);
        met++;
    }
    ck_assert_msg(met == n, "docs/metrics.md has %zu rows of %s, the program %zu headings", n, verb,
                  met);
}

/* The place of a column in a file's header. */
static int column_of(const char *text, const char *name, const char *file)
{
    char word[CELL];
    int n = columns_of(text);
    for (int i = 0; i < n; i++)
        if (!strcmp(field_of(text, i, word), name)) return i;
    ck_abort_msg("%s has no column `%s`", file, name);
    return -1;
}

static void columns_exist(const char *dir, const char *where, const mapping *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = program_file(dir, below(where, rows[i].file).text, NULL);
        column_of(text, rows[i].column, rows[i].file);
        free(text);
    }
}

/* Mean of a column over the rows of step 0 that the figure is of. */
static double figure_of(const char *dir, const mapping *m)
{
    char *text = program_file(dir, below("run", m->file).text, NULL), word[CELL];
    int column = column_of(text, m->column, m->file);
    double sum = 0;
    int n = 0;
    for (const char *line = text; (line = next_line(line)) && number_at(line, 0) == 0;) {
        if (!strcmp(m->file, "metrics.csv") && strcmp(field_of(line, 1, word), "train") != 0)
            continue;
        if (!strcmp(m->file, "gradients.csv") && !strstr(field_of(line, 1, word), "wq")) continue;
        sum += number_at(line, column);
        n++;
    }
    free(text);
    ck_assert_int_gt(n, 0);
    return sum / n * (strstr(m->taken, "per cent") ? 100 : 1);
}

/* The first row under the headings of train: its figures are those of the files. */
static void same_figures(const char *dir, const char *line, const mapping *rows, size_t n)
{
    char headings[MOST_HEADINGS][CELL];
    size_t count = headings_of(line, headings);
    const char *at = strchr(line, '\n') + 1;
    for (size_t i = 0; i < count; i++) {
        char *end;
        double printed = strtod(at, &end), want = 0;
        for (size_t k = 0; k < n; k++)
            if (!strcmp(rows[k].heading, headings[i])) want = figure_of(dir, &rows[k]);
        ck_assert_msg(fabs(printed - want) <= 6e-4 * fabs(want) + 0.051 * (*end == '%'),
                      "%s: %g is printed, the file has %g", headings[i], printed, want);
        at = end + strspn(end, "% ");
        if (i == 0) at += strcspn(at, " "); /* "train" */
    }
}

START_TEST(headings_are_columns)
{
    char *dir = program_directory(), *page = program_file("docs", "metrics.md", NULL);
    mapping rows[MOST_HEADINGS];
    program_run r =
        train_and_read(dir, TINY, WITH("--scale", "none", "--steps", "2", "--out", "run"), 0);
    size_t n = rows_about(page, "train", rows);
    const char *line = strstr(r.out, "\n    step ");
    ck_assert_msg(line != NULL, "%s", r.out);
    same_headings(line + 1, 0, rows, n, "train");
    columns_exist(dir, "run", rows, n);
    same_figures(dir, line + 1, rows, n);
    program_free(&r);

    setenv("COLUMNS", "100", 1);
    r = train_and_read(dir, WITH("show", "run"), NULL, 0);
    n = rows_about(page, "show", rows);
    same_headings(r.out, 2, rows, n, "show"); /* run, status */
    columns_exist(dir, "run", rows, n);
    program_free(&r);

    r = train_and_read(dir, WITH("ablate", "--seed", "1..2", "--steps", "1"),
                       WITH("--batch", "2", "--eval-size", "4", "--out", "a"), 0);
    n = rows_about(page, "ablate", rows);
    line = strstr(r.out, "| final loss");
    ck_assert_msg(line != NULL, "%s", r.out);
    same_headings(line, 0, rows, n, "ablate");
    columns_exist(dir, "a", rows, n);
    program_free(&r);
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("headings", { ADD(headings_are_columns); })
