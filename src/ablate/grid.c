/* SPDX-License-Identifier: MIT
 * The grid of a directory: ablation.ini and points.csv, and what a call adds to them.
 *
 * An option that was not given is as the directory has it. So the first command again, or no option
 * at all, goes on with what is there; `--seed 4..5` adds two seeds to everything; and an option
 * that all runs share can never silently change.
 * Read next: point.c. */
#include <stdlib.h>
#include <string.h>

#include "ablate.h"
#include "run/rundir.h"

enum { MOST_AXES = 24, FILE_PATH = RDK_PATH_TEXT + 64 };

/* A plan being made. */
typedef struct plan {
    rdk_ablation *a;
    const rdk_setting *settings;
    size_t n_settings;
    rdk_grid_axis *given; /* [n_settings] their values */
    rdk_table *stored;
    rdk_status *status;
} plan;

static void *take_memory(const plan *p, size_t count, size_t size)
{
    void *memory = rdk_arena_alloc(p->a->arena, count, size);
    if (memory) memset(memory, 0, count * size);
    if (!memory) rdk_fail(p->status, RDK_ENOMEM, "no memory for a grid of this size");
    return memory;
}

static char *file_of(const rdk_ablation *a, const char *name, char buf[FILE_PATH])
{
    snprintf(buf, FILE_PATH, "%s/%s", a->directory, name);
    return buf;
}

size_t rdk_ablation_axis(const rdk_ablation *a, const char *option)
{
    size_t i = 0;
    while (i < a->n_axes && strcmp(a->axes[i].option->name, option) != 0) i++;
    return i;
}

const char *rdk_ablation_value(const rdk_ablation *a, size_t point, size_t axis)
{
    size_t number = a->points[point];
    for (size_t i = a->n_axes; --i > axis;) number /= a->axes[i].n;
    return a->axes[axis].values[number % a->axes[axis].n];
}

/* ---- the options ----------------------------------------------------------------------------- */

/* The order of the option table, but the seed is always the last: it varies fastest. */
static bool axis_before(const rdk_grid_axis *x, const rdk_grid_axis *y)
{
    bool x_is_seed = !strcmp(x->option->name, "seed"), y_is_seed = !strcmp(y->option->name, "seed");
    return x_is_seed != y_is_seed ? y_is_seed : x->option < y->option;
}

static bool add_axis(const plan *p, const rdk_option *o, rdk_grid_axis **added)
{
    rdk_ablation *a = p->a;
    size_t at = a->n_axes;
    rdk_grid_axis new = {.option = o};
    if (!a->axes && !(a->axes = take_memory(p, MOST_AXES, sizeof *a->axes))) return false;
    if (a->n_axes == MOST_AXES)
        return rdk_fail(p->status, RDK_EVALUE, "more than %d options vary", MOST_AXES);
    for (; at > 0 && axis_before(&new, &a->axes[at - 1]); at--) a->axes[at] = a->axes[at - 1];
    a->axes[at] = new;
    a->n_axes++;
    if (added) *added = &a->axes[at];
    return true;
}

static bool parse_settings(plan *p)
{
    p->given = take_memory(p, p->n_settings + 1, sizeof *p->given);
    for (size_t i = 0; p->given && i < p->n_settings; i++) {
        const rdk_setting *w = &p->settings[i];
        p->given[i].option = w->option;
        bool ok =
            w->list ? rdk_grid_axis_parse(&p->given[i], w->option, w->text, p->a->arena, p->status)
                    : rdk_grid_axis_add(&p->given[i], w->text, p->a->arena, p->status);
        if (!ok) return false;
    }
    return p->given != NULL;
}

static const rdk_grid_axis *given_for(const plan *p, const rdk_option *o)
{
    for (size_t i = 0; i < p->n_settings; i++)
        if (p->given[i].option == o) return &p->given[i];
    return NULL;
}

/* A new ablation varies what was given more than one value. */
static bool begin_new(const plan *p)
{
    rdk_ablation *a = p->a;
    rdk_config_init(&a->base);
    for (size_t i = 0; i < p->n_settings; i++) {
        const rdk_grid_axis *w = &p->given[i];
        bool ok = w->n > 1 ? add_axis(p, w->option, NULL)
                           : rdk_option_set(&a->base, w->option, w->values[0], p->status);
        if (!ok) return false;
    }
    bool saves_given = given_for(p, rdk_option_find("save-every")) != NULL;
    a->saves_by_steps = !saves_given && rdk_ablation_axis(a, "steps") < a->n_axes;
    if (!saves_given) a->base.save_every = rdk_ablation_save_every(a->base.steps);
    return a->n_axes || rdk_fail(p->status, RDK_EVALUE,
                                 "nothing varies (give an option several values, as in "
                                 "--scale none,sqrt --seed 1..3)");
}

/* An option that all runs share may be given again, but not changed. */
static bool check_shared(const plan *p, const rdk_grid_axis *w)
{
    const rdk_ablation *a = p->a;
    rdk_text shared = {0};
    if (a->saves_by_steps && !strcmp(w->option->name, "save-every"))
        return rdk_fail(p->status, RDK_EVALUE,
                        "%s saves each run every quarter of its --steps, this command says %s "
                        "(drop --save-every, or choose another --out)",
                        a->directory, w->values[0]);
    rdk_option_text(&a->base, w->option, &shared);
    bool ok = rdk_text_ok(&shared, p->status);
    if (ok && (w->n > 1 || strcmp(shared.data, w->values[0]) != 0))
        ok = rdk_fail(p->status, RDK_EVALUE,
                      "%s has %s = %s for all its runs, this command says %s%s (drop --%s, or "
                      "choose another --out)",
                      a->directory, w->option->name, shared.data, w->values[0],
                      w->n > 1 ? ",..." : "", w->option->name);
    rdk_text_free(&shared);
    return ok;
}

/* ---- what stands there ----------------------------------------------------------------------- */

static bool read_base(const plan *p)
{
    char path[FILE_PATH];
    rdk_status cause = {0};
    char *text = rdk_file_read(file_of(p->a, RDK_ABLATION_FILE, path), NULL, p->status);
    bool *given = take_memory(p, rdk_option_count(), sizeof *given);
    rdk_config_init(&p->a->base);
    bool ok = text && given && rdk_config_read(&p->a->base, text, path, given, &cause);
    rdk_free(text);
    if (ok) p->a->saves_by_steps = !given[rdk_option_find("save-every") - rdk_option_at(0)];
    return ok || rdk_fail(p->status, RDK_EFORMAT, "%s", cause.message);
}

static bool read_axes(const plan *p)
{
    const rdk_table *t = p->stored;
    for (size_t column = 0; column < t->columns; column++) {
        rdk_grid_axis *axis;
        const rdk_option *o = rdk_option_find(t->names[column]);
        if (!o || o->scope == RDK_OPT_RUNS)
            return rdk_fail(p->status, RDK_EFORMAT, "%s: '%s' is no option that can vary", t->path,
                            t->names[column]);
        if (!add_axis(p, o, &axis)) return false;
    }
    /* values only now: adding an axis moves others */
    for (size_t i = 0; i < p->a->n_axes; i++) {
        rdk_grid_axis *axis = &p->a->axes[i];
        int column = rdk_table_column(t, axis->option->name);
        for (size_t row = 0; row < t->rows; row++) {
            rdk_config c = {0};
            const char *value = rdk_table_word(t, row, column);
            rdk_status cause = {0};
            if (!rdk_option_set(&c, axis->option, value, &cause))
                return rdk_fail(p->status, RDK_EFORMAT, "%s: %s", t->path, cause.message);
            if (!rdk_grid_axis_add(axis, value, p->a->arena, p->status)) return false;
        }
    }
    return true;
}

/* p->stored stays NULL where there is nothing. */
static bool read_stored(plan *p)
{
    char path[FILE_PATH];
    if (!rdk_file_exists(file_of(p->a, "points.csv", path))) return true;
    p->stored = rdk_table_read(path, p->status);
    p->a->stored = p->stored != NULL;
    if (p->stored && (!p->stored->rows || !p->stored->columns))
        return rdk_fail(p->status, RDK_EFORMAT, "%s has no point (remove it to begin anew)", path);
    return p->stored && read_base(p) && read_axes(p);
}

/* ---- the points ------------------------------------------------------------------------------ */

static int by_number(const void *x, const void *y)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return (a > b) - (a < b);
}

/* The point whose place on axis i is place[i]. */
static size_t number_of(const rdk_ablation *a, const size_t *place)
{
    size_t number = 0;
    for (size_t i = 0; i < a->n_axes; i++) number = number * a->axes[i].n + place[i];
    return number;
}

static void add_stored_points(const plan *p)
{
    rdk_ablation *a = p->a;
    size_t place[MOST_AXES];
    for (size_t row = 0; p->stored && row < p->stored->rows; row++) {
        for (size_t i = 0; i < a->n_axes; i++) {
            int column = rdk_table_column(p->stored, a->axes[i].option->name);
            place[i] = rdk_grid_axis_find(&a->axes[i], rdk_table_word(p->stored, row, column));
        }
        a->points[a->n_points++] = number_of(a, place);
    }
}

/* All combinations of wanted[i], which are values of axis i of all `axes`. */
static void add_product(const plan *p, const rdk_grid_axis *wanted, size_t axes, size_t count)
{
    rdk_ablation *a = p->a;
    size_t place[MOST_AXES] = {0};
    for (size_t k = 0; k < count; k++) {
        size_t rest = k;
        for (size_t i = axes; i-- > 0; rest /= wanted[i].n)
            place[i] = rdk_grid_axis_find(&a->axes[i], wanted[i].values[rest % wanted[i].n]);
        a->points[a->n_points++] = number_of(a, place);
    }
}

static void sort_points(rdk_ablation *a)
{
    size_t n = 0;
    qsort(a->points, a->n_points, sizeof *a->points, by_number);
    for (size_t i = 0; i < a->n_points; i++)
        if (i == 0 || a->points[i] != a->points[i - 1]) a->points[n++] = a->points[i];
    a->n_points = n;
}

/* A call that names no axis adds nothing to what stands there. */
static bool adds_points(const plan *p)
{
    bool adds = !p->stored;
    for (size_t i = 0; i < p->a->n_axes; i++) adds = adds || given_for(p, p->a->axes[i].option);
    return adds;
}

static bool merge_points(const plan *p)
{
    rdk_ablation *a = p->a;
    rdk_grid_axis wanted[MOST_AXES];
    size_t count = 1, all = 1, stored = p->stored ? p->stored->rows : 0;
    const size_t axes = a->n_axes;
    bool counted = true;
    for (size_t i = 0; i < axes; i++) {
        rdk_grid_axis *axis = &a->axes[i];
        const rdk_grid_axis *w = given_for(p, axis->option);
        /* a copy: what was there is about to get more values */
        wanted[i] =
            w ? *w
              : (rdk_grid_axis){axis->option, take_memory(p, axis->n, sizeof(char *)), axis->n};
        if (!wanted[i].values) return false;
        if (!w) memcpy(wanted[i].values, axis->values, axis->n * sizeof *axis->values);
        for (size_t k = 0; k < wanted[i].n; k++)
            if (!rdk_grid_axis_add(axis, wanted[i].values[k], a->arena, p->status)) return false;
        counted = counted && rdk_size_mul(count, wanted[i].n, &count) && count <= RDK_MOST_POINTS &&
                  rdk_size_mul(all, axis->n, &all);
    }
    if (!counted || count + stored > RDK_MOST_POINTS)
        return rdk_fail(p->status, RDK_EVALUE, "more than %d points (choose fewer values)",
                        RDK_MOST_POINTS);
    a->points = take_memory(p, count + stored, sizeof *a->points);
    if (!a->points) return false;
    add_stored_points(p);
    if (adds_points(p)) add_product(p, wanted, axes, count);
    sort_points(a);
    return true;
}

/* ---- planning -------------------------------------------------------------------------------- */

static bool choose_directory(const plan *p, const char *directory)
{
    const rdk_option *o = rdk_option_find("task");
    const rdk_grid_axis *task = given_for(p, o);
    size_t room = sizeof p->a->directory;
    int n = directory[0]          ? snprintf(p->a->directory, room, "%s", directory)
            : task && task->n > 1 ? snprintf(p->a->directory, room, "runs/ablate")
                                  : snprintf(p->a->directory, room, "runs/ablate-%s",
                                             task ? task->values[0] : o->initial);
    for (; n > 1 && (size_t)n < room && p->a->directory[n - 1] == '/'; n--)
        p->a->directory[n - 1] = '\0';
    return (size_t)n < room ||
           rdk_fail(p->status, RDK_EVALUE, "--out is too long a path for the runs below it");
}

static bool make_plan(plan *p, const char *directory)
{
    if (!parse_settings(p) || !choose_directory(p, directory) || !read_stored(p)) return false;
    if (!p->stored && !begin_new(p)) return false;
    for (size_t i = 0; p->stored && i < p->n_settings; i++) {
        bool varies = rdk_ablation_axis(p->a, p->given[i].option->name) < p->a->n_axes;
        if (!varies && !check_shared(p, &p->given[i])) return false;
    }
    return merge_points(p);
}

bool rdk_ablation_plan(rdk_ablation *a, const char *directory, const rdk_setting *settings,
                       size_t n, rdk_status *s)
{
    memset(a, 0, sizeof *a);
    plan p = {.a = a, .settings = settings, .n_settings = n, .status = s};
    a->arena = rdk_arena_new(s);
    bool ok = a->arena && make_plan(&p, directory);
    rdk_table_free(p.stored);
    return ok;
}

void rdk_ablation_free(rdk_ablation *a)
{
    rdk_arena_free(a->arena);
    a->arena = NULL;
}
