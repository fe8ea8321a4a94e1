/* SPDX-License-Identifier: MIT
 * Grids: lists of values, their combinations, what a call adds to a directory, names of points. */
#include <harness.h>

#include <sys/stat.h>
#include <unistd.h>

#include "ablate/ablate.h"

/* ---- lists ----------------------------------------------------------------------------------- */

/* "a b c" of the values, or the message of the refusal. */
static void check_list(const char *option, const char *list, const char *want)
{
    rdk_status s = {0};
    rdk_grid_axis axis;
    rdk_text got = {0};
    rdk_arena *arena = rdk_arena_new(&s);
    bool ok = rdk_grid_axis_parse(&axis, rdk_option_find(option), list, arena, &s);
    for (size_t i = 0; ok && i < axis.n; i++)
        rdk_text_add(&got, "%s%s", i ? " " : "", axis.values[i]);
    ck_assert_str_eq(ok ? got.data : s.message, want);
    ck_assert(ok || s.code == RDK_EVALUE);
    rdk_text_free(&got);
    rdk_arena_free(arena);
}

START_TEST(lists_are_normal_and_in_order)
{
    check_list("lr", "3e-3,0.0003,1e-3", "0.0003 0.001 0.003");
    check_list("scale", "sqrt,none,0.50,.25,qknorm", "none sqrt qknorm 0.25 0.5");
    check_list("seed", "1..5", "1 2 3 4 5");
    check_list("seed", "10,7..9,2", "2 7 8 9 10");
    check_list("seed", "18446744073709551614..18446744073709551615",
               "18446744073709551614 18446744073709551615");
    check_list("d-k", "auto,16,4", "auto 4 16");
    check_list("bias", "on,off", "off on");
    check_list("mlp", "none,gelu,relu", "gelu relu none");
    check_list("data", "b..c,a", "a b..c");
    check_list("scale-layers", "1:none,1:10,off,1:2,0:dk", "off 0:dk 1:2 1:10 1:none");
    check_list("steps", "3", "3");
}
END_TEST

START_TEST(lists_are_refused_by_name)
{
    check_list("seed", "1,,2", "--seed: an empty value in '1,,2'");
    check_list("seed", "1,", "--seed: an empty value in '1,'");
    check_list("scale-layers", ",0:none",
               "--scale-layers: an empty value (for no list say off) in ',0:none'");
    check_list("seed", "1,x", "--seed: 'x' is not a whole number from 0 to 18446744073709551615");
    check_list("seed", "1,01", "--seed: a value stands twice in '1,01'");
    check_list("lr", "1e-3,0.001", "--lr: a value stands twice in '1e-3,0.001'");
    check_list("seed", "1..3,2", "--seed: a value stands twice in '1..3,2'");
    check_list("seed", "5..1", "--seed: a range that runs downwards in '5..1'");
    check_list("seed", "0..18446744073709551615",
               "--seed: too long a range in "
               "'0..18446744073709551615'");
    check_list("lr", "1..3", "--lr: '1..3' is not a number from 0 to 1e30");
}
END_TEST

/* ---- directories ----------------------------------------------------------------------------- */

static char directory[64];

static void set_up(void)
{
    strcpy(directory, "/tmp/rdk-test-grid-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    strcat(directory, "/a");
}

static void tear_down(void)
{
    static const char *const files[] = {"ablation.ini", "ablation.lock", "points.csv"};
    char path[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
    directory[strlen(directory) - 2] = '\0';
    ck_assert_int_eq(rmdir(directory), 0);
}

/* "--opt=list" each, NULL-terminated. */
static size_t settings_of(const char *const *words, rdk_setting *settings)
{
    size_t n = 0;
    char name[32];
    for (; *words; words++, n++) {
        const char *equals = strchr(*words, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - *words), *words);
        settings[n] = (rdk_setting){rdk_option_find(name), equals + 1, true};
        ck_assert_msg(settings[n].option != NULL, "no option %s", name);
    }
    return n;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_SETTINGS   ((const char *const[]){NULL})

static rdk_ablation stored(const char *const *words)
{
    rdk_setting settings[16];
    rdk_status s = {0};
    rdk_ablation a;
    size_t n = settings_of(words, settings);
    ck_assert_msg(rdk_ablation_plan(&a, directory, settings, n, &s), "%s", s.message);
    ck_assert_msg(rdk_ablation_resolve(&a, &s), "%s", s.message);
    ck_assert_msg(rdk_ablation_store(&a, settings, n, &s), "%s", s.message);
    return a;
}

static void check_names(const rdk_ablation *a, const char *const *names)
{
    char name[RDK_POINT_NAME];
    for (size_t i = 0; i < a->n_points; i++) {
        ck_assert_ptr_nonnull(names[i]);
        ck_assert_str_eq(rdk_point_name(a, i, name), names[i]);
    }
    ck_assert_ptr_null(names[a->n_points]);
}

static void refused(const char *const *words, const char *message)
{
    rdk_setting settings[16];
    rdk_status s = {0};
    rdk_ablation a;
    size_t n = settings_of(words, settings);
    ck_assert(!rdk_ablation_plan(&a, directory, settings, n, &s) || !rdk_ablation_resolve(&a, &s));
    ck_assert_msg(strstr(s.message, message) != NULL, "%s", s.message);
    rdk_ablation_free(&a);
}

START_TEST(combinations_with_the_seed_last)
{
    rdk_ablation a = stored(SETTINGS("seed=2,1", "scale=sqrt,none", "steps=40", "heads=2"));
    check_names(&a, SETTINGS("scale-none_seed-1", "scale-none_seed-2", "scale-sqrt_seed-1",
                             "scale-sqrt_seed-2"));
    rdk_config c;
    rdk_point_config(&a, 3, &c);
    ck_assert_str_eq(c.model.scale, "sqrt");
    ck_assert_uint_eq(c.seed, 2);
    ck_assert_uint_eq(c.steps, 40);
    ck_assert_uint_eq(c.save_every, 10);            /* a quarter */
    ck_assert_uint_eq(a.resolved[3].model.d_k, 32); /* d_model 64 over two heads */
    rdk_ablation_free(&a);
}
END_TEST

static uint64_t saves_of(const rdk_ablation *a, size_t point)
{
    rdk_config c;
    rdk_point_config(a, point, &c);
    ck_assert_uint_eq(a->resolved[point].save_every, c.save_every);
    return c.save_every;
}

/* Where --steps varies, each point has a quarter of its own; the directory knows that. */
START_TEST(a_quarter_of_the_steps_of_the_point)
{
    rdk_ablation a = stored(SETTINGS("steps=3,40,4000"));
    for (int again = 0; again < 2; again++) {
        ck_assert_uint_eq(saves_of(&a, 0), 1);
        ck_assert_uint_eq(saves_of(&a, 1), 10);
        ck_assert_uint_eq(saves_of(&a, 2), 1000);
        rdk_ablation_free(&a);
        a = stored(NO_SETTINGS);
    }
    rdk_ablation_free(&a);
    refused(SETTINGS("save-every=7"), "saves each run every quarter of its --steps");
}
END_TEST

START_TEST(a_given_interval_is_that_of_all_points)
{
    rdk_ablation a = stored(SETTINGS("steps=40,4000", "save-every=0"));
    rdk_ablation_free(&a);
    a = stored(NO_SETTINGS);
    ck_assert(saves_of(&a, 0) == 0 && saves_of(&a, 1) == 0);
    rdk_ablation_free(&a);
}
END_TEST

START_TEST(the_same_call_and_none_are_the_same_grid)
{
    rdk_ablation a = stored(SETTINGS("lr=1e-3,1e-2", "seed=1..2", "steps=40"));
    rdk_ablation_free(&a);
    a = stored(SETTINGS("lr=1e-2,0.001", "seed=1..2", "steps=40"));
    ck_assert_uint_eq(a.n_points, 4);
    rdk_ablation_free(&a);
    a = stored(NO_SETTINGS);
    ck_assert_uint_eq(a.n_points, 4);
    ck_assert_uint_eq(a.base.steps, 40);
    rdk_ablation_free(&a);
}
END_TEST

/* Nothing that stood there moves or goes, and what is added takes all values of the other axes. */
START_TEST(points_are_added)
{
    rdk_ablation a = stored(SETTINGS("lr=1e-3,1e-2", "seed=1..2"));
    rdk_ablation_free(&a);
    a = stored(SETTINGS("seed=4"));
    check_names(&a, SETTINGS("lr-0.001_seed-1", "lr-0.001_seed-2", "lr-0.001_seed-4",
                             "lr-0.01_seed-1", "lr-0.01_seed-2", "lr-0.01_seed-4"));
    rdk_ablation_free(&a);
    a = stored(SETTINGS("seed=9", "lr=5e-3"));
    check_names(&a,
                SETTINGS("lr-0.001_seed-1", "lr-0.001_seed-2", "lr-0.001_seed-4", "lr-0.005_seed-9",
                         "lr-0.01_seed-1", "lr-0.01_seed-2", "lr-0.01_seed-4"));
    rdk_ablation_free(&a);
    a = stored(SETTINGS("steps=600")); /* what is said of no axis adds nothing */
    ck_assert_uint_eq(a.n_points, 7);
    rdk_ablation_free(&a);
}
END_TEST

START_TEST(contradictions_are_refused_by_name)
{
    rdk_ablation a = stored(SETTINGS("seed=1..2", "steps=40"));
    rdk_ablation_free(&a);
    refused(SETTINGS("seed=1..2", "steps=41"),
            "has steps = 40 for all its runs, this command says 41");
    refused(SETTINGS("lr=1e-3,1e-2"),
            "has lr = 0.001 for all its runs, this command says 0.001,...");
    refused(SETTINGS("d-k=32"), "has d-k = auto for all its runs");
}
END_TEST

START_TEST(nothing_is_written_before_all_is_possible)
{
    refused(SETTINGS("steps=40"), "nothing varies");
    refused(SETTINGS("seed=1..4000", "lr=1,2,3,4,5,6"), "more than 20000 points");
    refused(SETTINGS("task=modadd", "vocab=7,1"),
            "--vocab 1 is out of range for task modadd: it takes");
    refused(SETTINGS("task=modadd", "vocab=7,1"), "(in the point vocab-1)");
    ck_assert(access(directory, F_OK) != 0);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
}
END_TEST

START_TEST(damaged_files_are_named)
{
    rdk_status s = {0};
    char path[128];
    rdk_ablation a = stored(SETTINGS("seed=1..2"));
    rdk_ablation_free(&a);
    snprintf(path, sizeof path, "%s/points.csv", directory);
    ck_assert(rdk_file_replace(path, "seed\nx\n", 7, &s));
    refused(NO_SETTINGS, "/points.csv: --seed: 'x' is not a whole number");
    ck_assert(rdk_file_replace(path, "out\nx\n", 6, &s));
    refused(NO_SETTINGS, "/points.csv: 'out' is no option that can vary");
    ck_assert(rdk_file_replace(path, "seed\n", 5, &s));
    refused(NO_SETTINGS, "/points.csv has no point");
    refused(SETTINGS("seed=1..2"), "/points.csv has no point");
}
END_TEST

/* ---- names and words ------------------------------------------------------------------------- */

START_TEST(names_suit_every_file_system)
{
    rdk_status s = {0};
    char one[RDK_POINT_NAME], other[RDK_POINT_NAME];
    rdk_setting settings[] = {{rdk_option_find("data"), "x y/a b.txt,z/a b.txt,c.txt", true},
                              {rdk_option_find("lr"), "1e30,1e-5", true}};
    rdk_ablation a;
    ck_assert_msg(rdk_ablation_plan(&a, directory, settings, 2, &s), "%s", s.message);
    ck_assert_uint_eq(a.n_points, 6);
    ck_assert_str_eq(rdk_point_name(&a, 1, one), "data-c.txt_lr-1e30");
    rdk_point_name(&a, 2, one);
    rdk_point_name(&a, 4, other);
    ck_assert_int_eq(strncmp(one, "data-a~b.txt~", 13), 0);
    ck_assert_int_eq(strncmp(other, "data-a~b.txt~", 13), 0);
    ck_assert_str_ne(one, other);
    rdk_ablation_free(&a);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
}
END_TEST

/* The command of a point holds what differs from the defaults, and trains in its directory. */
START_TEST(command_of_a_point)
{
    rdk_status s = {0};
    rdk_ablation a = stored(SETTINGS("seed=1..2", "scale=sqrt,none", "steps=40"));
    char out[128];
    char **w = rdk_point_command(&a, 1, RDK_POINT_NEW, 2, "prog", a.arena, &s);
    snprintf(out, sizeof out, "--out=%s/scale-none_seed-2", directory);
    const char *want[] = {"prog",       "train",    "--threads=2",     "--scale=none",
                          "--steps=40", "--seed=2", "--save-every=10", out,
                          "--force"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) ck_assert_str_eq(w[i], want[i]);
    ck_assert_ptr_null(w[sizeof want / sizeof *want]);
    w = rdk_point_command(&a, 1, RDK_POINT_BEGUN, 1, "prog", a.arena, &s);
    snprintf(out, sizeof out, "--resume=%s/scale-none_seed-2", directory);
    ck_assert_str_eq(w[3], out);
    ck_assert_ptr_null(w[4]);
    rdk_ablation_free(&a);
}
END_TEST

#define ADD_IN_DIRECTORY(name) tcase_add_test(in_directory, name)

RDK_TEST_MAIN("grid", {
    TCase *in_directory = tcase_create("in a directory");
    tcase_add_checked_fixture(in_directory, set_up, tear_down);
    suite_add_tcase(s, in_directory);
    ADD(lists_are_normal_and_in_order);
    ADD(lists_are_refused_by_name);
    ADD_IN_DIRECTORY(combinations_with_the_seed_last);
    ADD_IN_DIRECTORY(a_quarter_of_the_steps_of_the_point);
    ADD_IN_DIRECTORY(a_given_interval_is_that_of_all_points);
    ADD_IN_DIRECTORY(the_same_call_and_none_are_the_same_grid);
    ADD_IN_DIRECTORY(points_are_added);
    ADD_IN_DIRECTORY(contradictions_are_refused_by_name);
    ADD_IN_DIRECTORY(nothing_is_written_before_all_is_possible);
    ADD_IN_DIRECTORY(damaged_files_are_named);
    ADD_IN_DIRECTORY(names_suit_every_file_system);
    ADD_IN_DIRECTORY(command_of_a_point);
})
