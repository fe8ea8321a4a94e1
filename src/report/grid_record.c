/* SPDX-License-Identifier: MIT
 * The options that make a grid, from the record in its directory.
 *
 * Invariant: the command with these options is taken by the directory that they were read from, and
 * in a new one it makes the same points under the same names. So options stand as they were typed:
 * what was left to rule is left to rule again, whatever it came to.
 * Read next: commands.c, which prints them; src/ablate/grid.c, which wrote the record. */
#include "grid_record.h"

#include <rootdk/report.h>

#include <stdio.h>
#include <string.h>

#include "run/rundir.h"

/* A record being read. */
typedef struct record {
    rdk_config base;
    rdk_table *points;
    bool saves_given; /* the file says how often a run saves itself */
} record;

uint64_t rdk_ablation_save_every(uint64_t steps)
{
    enum { SAVES = 4 };
    return steps < SAVES ? 1 : steps / SAVES;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_base(record *r, const char *directory)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_status ignored = {0};
    size_t n = rdk_option_count(),
           save = (size_t)(rdk_option_find("save-every") - rdk_option_at(0));
    bool *given = rdk_alloc(n, sizeof *given, &ignored);
    if (!given) return false;
    memset(given, 0, n * sizeof *given);
    snprintf(path, sizeof path, "%s/" RDK_ABLATION_FILE, directory);
    rdk_config_init(&r->base);
    bool ok = rdk_config_load(&r->base, path, given, &ignored);
    r->saves_given = given[save];
    rdk_free(given);
    return ok;
}

static bool read_points(record *r, const char *directory)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_status ignored = {0};
    snprintf(path, sizeof path, "%s/points.csv", directory);
    r->points = rdk_table_read(path, &ignored);
    return r->points && r->points->rows && r->points->columns;
}

/* ---- what stands there ----------------------------------------------------------------------- */

/* Has none of the rows before this one its value in this column? */
static bool first_with(const rdk_table *t, size_t row, int column)
{
    const char *value = rdk_table_word(t, row, column);
    for (size_t i = 0; i < row; i++)
        if (!strcmp(rdk_table_word(t, i, column), value)) return false;
    return true;
}

static size_t values_of(const rdk_table *t, int column)
{
    size_t n = 0;
    for (size_t row = 0; row < t->rows; row++) n += first_with(t, row, column);
    return n;
}

/* No row stands twice, so their number tells. */
static bool is_product(const rdk_table *t)
{
    size_t product = 1;
    for (size_t c = 0; c < t->columns && product <= t->rows; c++) product *= values_of(t, (int)c);
    return product == t->rows;
}

/* Does the option do something at one of the points? Typed where it does not, it is refused. */
static bool counts(const record *r, const rdk_option *o)
{
    for (size_t row = 0; row < r->points->rows; row++) {
        rdk_config c = r->base;
        for (size_t k = 0; k < r->points->columns; k++) {
            const rdk_option *varied = rdk_option_find(r->points->names[k]);
            if (varied) rdk_option_set(&c, varied, rdk_table_word(r->points, row, (int)k), NULL);
        }
        if (rdk_option_counts(&c, o, NULL)) return true;
    }
    return false;
}

/* The config of a new grid of these options, before one that all runs share is typed. */
static void untyped(const record *r, rdk_config *c)
{
    rdk_config_init(c);
    if (rdk_table_column(r->points, "steps") < 0)
        c->save_every = rdk_ablation_save_every(r->base.steps);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void add_values(const record *r, int column, rdk_text *out)
{
    size_t n = 0;
    for (size_t row = 0; row < r->points->rows; row++) {
        if (!first_with(r->points, row, column)) continue;
        const char *value = rdk_table_word(r->points, row, column);
        if (n++) rdk_text_add(out, ",");
        rdk_text_shell_word(out, *value ? value : "off");
    }
}

static void add_shared(const record *r, const rdk_option *o, rdk_text *out)
{
    rdk_config usual;
    rdk_text is = {0}, initial = {0};
    untyped(r, &usual);
    rdk_option_text(&r->base, o, &is);
    rdk_option_text(&usual, o, &initial);
    rdk_text_bytes(&is, "", 0);
    rdk_text_bytes(&initial, "", 0);
    if (is.failed || initial.failed) out->failed = true;
    bool saves = !strcmp(o->name, "save-every") && !r->saves_given;
    if (!out->failed && !saves && strcmp(is.data, initial.data) != 0 && counts(r, o)) {
        rdk_text_add(out, " --%s ", o->name);
        rdk_text_shell_word(out, is.data);
    }
    rdk_text_free(&is);
    rdk_text_free(&initial);
}

/* A value that all runs share and that holds a comma, as a path may: typed, it would be a list. */
static bool has_a_comma(const record *r)
{
    bool has = false;
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        rdk_text is = {0};
        if (o->scope != RDK_OPT_RUNS && rdk_table_column(r->points, o->name) < 0)
            rdk_option_text(&r->base, o, &is);
        has = has || (is.data && strchr(is.data, ','));
        rdk_text_free(&is);
    }
    return has;
}

/* The file holds what is shared, and in a file no value is a list. */
static void add_file(const char *directory, rdk_text *out)
{
    rdk_text path = {0};
    rdk_text_add(&path, "%s/" RDK_ABLATION_FILE, directory);
    rdk_text_add(out, " --config ");
    rdk_text_shell_word(out, path.data ? path.data : "");
    if (path.failed) out->failed = true;
    rdk_text_free(&path);
}

static void add_options(const record *r, const char *directory, rdk_text *out)
{
    bool by_file = has_a_comma(r);
    if (by_file) add_file(directory, out);
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        int column = rdk_table_column(r->points, o->name);
        if (o->scope == RDK_OPT_RUNS) continue;
        if (column >= 0) {
            rdk_text_add(out, " --%s ", o->name);
            add_values(r, column, out);
        } else if (!by_file) {
            add_shared(r, o, out);
        }
    }
}

bool rdk_grid_record_read(rdk_grid_record *g, const char *directory)
{
    record r = {0};
    *g = (rdk_grid_record){0};
    bool ok = read_base(&r, directory) && read_points(&r, directory);
    if (ok) {
        add_options(&r, directory, &g->options);
        g->points = r.points->rows;
        g->product = is_product(r.points);
        ok = !g->options.failed;
    }
    rdk_table_free(r.points);
    if (!ok) rdk_grid_record_free(g);
    return ok;
}

void rdk_grid_record_free(rdk_grid_record *g)
{
    rdk_text_free(&g->options);
    *g = (rdk_grid_record){0};
}
