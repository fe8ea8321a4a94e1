/* SPDX-License-Identifier: MIT
 * Directories of runs that were made one by one, each with another option: what their series are
 * called, what tells them apart, what is said of them, and runs that are there twice. */
#include "pages.h"

#include <math.h>

/* ---- runs that are there twice --------------------------------------------------------------- */

START_TEST(copies_count_once)
{
    char *dir = program_directory();
    three_steps(dir, "runs/b", NULL);
    copy_run(dir, "runs/b", "runs/a");
    copy_run(dir, "runs/b", "runs/d");
    three_steps(dir, "runs/c", WITH("--seed", "2"));
    train(dir, TINY, WITH("--steps", "3", "--seed", "2", "--log-every", "2", "--out", "runs/e"), 0);
    char *page = report(dir, "runs");
    holds(page, "2 runs, varied in seed (2).");
    holds(page, "<b>b</b>: left out: it is a again, with the same options and the same seed (1)");
    holds(page, "<b>d</b>: left out: it is a again");
    holds(page, "<b>e</b>: left out: it is c again, with the same options and the same seed (2)");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* The one that went furthest stays, whatever it is called. */
START_TEST(of_copies_the_longest_stays)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "9", "--stop-at", "3", "--out", "runs/a"), 0);
    train(dir, TINY, WITH("--steps", "9", "--out", "runs/b"), 0);
    three_steps(dir, "runs/c", NULL);
    char *page = report(dir, "runs");
    holds(page, "<b>a</b>: left out: it is b again");
    ck_assert(!strstr(page, "it is a again"));
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

/* A warm-up that --steps cut is no option that was chosen; steps that most runs have are no word.
 */
START_TEST(series_are_called_by_what_departs)
{
    char *dir = program_directory();
    three_steps(dir, "runs/a", NULL);
    three_steps(dir, "runs/b", WITH("--scale", "none"));
    three_steps(dir, "runs/c", WITH("--softcap", "5"));
    three_steps(dir, "runs/d", WITH("--head-temperature"));
    three_steps(dir, "runs/e", WITH("--scale-layers", "1:none"));
    train(dir, TINY, WITH("--steps", "5", "--out", "runs/f"), 0);
    char *page = report(dir, "runs");
    holds(page, "\"series\":[\"none\",\"sqrt\",\"sqrt, head-temperature\",\"sqrt, scale-layers "
                "1:none\",\"sqrt, softcap 5\",\"sqrt, steps 5\"]");
    holds(page, "{\"name\":\"scale-layers\",\"values\":[\"off\",\"1:none\"]}");
    ck_assert(!strstr(page, "warmup (2)"));
    holds(page, "under <b>sqrt, softcap 5</b>");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* Policies in the order of their table, numbers by value, of whatever names them. */
START_TEST(series_are_in_order)
{
    static const char *const runs[][4] = {
        {"--scale", "sqrt", "--softcap", "10"}, {"--scale", "sqrt", "--softcap", "5"},
        {"--scale", "dk", "--softcap", "5"},    {"--scale", "none", "--softcap", "5"},
        {"--scale", "sqrt", "--seed", "10"},    {"--scale", "sqrt", "--seed", "2"},
        {"--scale", "dk", "--seed", "2"}};
    char *dir = program_directory();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char out[32];
        snprintf(out, sizeof out, "runs/%s-%s-%s", runs[i][1], runs[i][2] + 2, runs[i][3]);
        three_steps(dir, out, WITH(runs[i][0], runs[i][1], runs[i][2], runs[i][3]));
    }
    char *page = report(dir, "runs");
    holds(page,
          "\"series\":[\"sqrt\",\"dk\",\"none, softcap 5\",\"sqrt, softcap 5\",\"sqrt, softcap "
          "10\",\"dk, softcap 5\"]");
    holds(page, "{\"name\":\"softcap\",\"values\":[\"0\",\"5\",\"10\"]}");
    holds(page, "{\"name\":\"seed\",\"values\":[\"1\",\"2\",\"10\"]}");
    free(page);
    program_run r = call(dir, WITH("show", "runs"), 0);
    static const char *const rows[] = {"dk-seed-2",      "dk-softcap-5", "none-softcap-5",
                                       "sqrt-seed-2",    "sqrt-seed-10", "sqrt-softcap-5",
                                       "sqrt-softcap-10"};
    const char *at = r.out;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        at = strstr(at, rows[i]);
        ck_assert_msg(at != NULL, "%s is not in its place: %s", rows[i], r.out);
    }
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Where no run has the default and none is like most, each says what it has. */
START_TEST(without_a_default_each_has_its_value)
{
    char *dir = program_directory();
    three_steps(dir, "runs/a", WITH("--qk-clip", "20"));
    three_steps(dir, "runs/b", WITH("--qk-clip", "30"));
    char *page = report(dir, "runs");
    holds(page, "\"series\":[\"qk-clip 20\",\"qk-clip 30\"]");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- many of them ---------------------------------------------------------------------------- */

enum { MANY = 18 };

static void many_runs(const char *dir)
{
    char out[32], value[32];
    for (int i = 0; i < MANY; i++) {
        static const char *const options[] = {"--softcap", "--dropout", "--weight-decay"};
        snprintf(out, sizeof out, "runs/%02d", i);
        snprintf(value, sizeof value, "0.%d", i / 3 + 2);
        train(dir, TINY, WITH("--steps", "1", options[i % 3], value, "--out", out), 0);
    }
    train(dir, TINY, WITH("--steps", "1", "--scale", "none", "--out", "runs/none"), 0);
    train(dir, TINY, WITH("--steps", "1", "--out", "runs/sqrt"), 0);
}

START_TEST(many_series_can_be_told_apart)
{
    char *dir = program_directory();
    bool seen[8][8] = {{false}};
    int keys = 0, colour, dash;
    many_runs(dir);
    char *page = report(dir, "runs");
    const char *at = strstr(page, "<figure id=\"fig-loss\""), *end = strstr(at, "</figure>");
    while ((at = strstr(at, "<g class=\"key\"")) && at < end) {
        at = strstr(at, "class=\"mean ");
        ck_assert(sscanf(at, "class=\"mean c%d d%d\"", &colour, &dash) == 2);
        ck_assert_msg(!seen[colour][dash], "colour %d, dashes %d twice", colour, dash);
        seen[colour][dash] = true;
        keys++;
    }
    ck_assert_int_eq(keys, MANY + 2);
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* Sentences name a few and count the others; no command is offered for a grid of thousands. */
START_TEST(of_many_series_little_is_said)
{
    char *dir = program_directory();
    many_runs(dir);
    char *page = report(dir, "runs");
    char *verdict = strstr(page, "<section id=\"verdict\">");
    strstr(verdict, "</section>")[0] = '\0';
    ck_assert_msg(strlen(verdict) < 2500, "%zu bytes: %s", strlen(verdict), verdict);
    holds(verdict, "(16 more: see the table); 1 is uniform");
    holds(verdict, "; 16 more in the table");
    holds(verdict, "under <b>none</b> got ");
    holds(verdict, "times the gradient that it got under <b>sqrt</b>, a ratio");
    holds(verdict, "One run of each has a final loss, so there are no intervals");
    holds(verdict, "These 20 runs are no grid (one of all that differs has 686 points)");
    ck_assert(!strstr(verdict, "./train ablate"));
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* Section 3 has points, and so has its key; the loss has lines. */
START_TEST(the_key_shows_what_is_drawn)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    char *page = report(dir, "run");
    const char *std = strstr(strstr(page, "<figure id=\"fig-std\""), "<g class=\"key\"");
    const char *loss = strstr(strstr(page, "<figure id=\"fig-loss\""), "<g class=\"key\"");
    static const char point[] = "<g class=\"key\" data-s=\"0\"><path class=\"dot c1\"";
    ck_assert_msg(!strncmp(std, point, sizeof point - 1), "%.120s", std);
    ck_assert(strncmp(loss, point, sizeof point - 1) != 0);
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- the command ----------------------------------------------------------------------------- */

/* The scaling is named, what is by rule is not; a grid says where it is. */
START_TEST(the_command_has_what_was_typed)
{
    static const char *const small[] = {"--batch", "2",         "--steps", "1", "--eval-size",
                                        "2",       "--threads", "1",       NULL};
    char *dir = program_directory();
    train(dir, small, WITH("--out", "a"), 0);
    train(dir, small, WITH("--out", "b", "--d-k", "32"), 0);
    char *page = report(dir, "a");
    holds(page, "<code>./train --scale sqrt --steps 1 --batch 2 --eval-size 2</code>");
    free(page);
    page = report(dir, "b");
    holds(page, "<code>./train --scale sqrt --d-k 32 --steps 1 ");
    free(page);
    program_run r =
        call(dir,
             WITH("ablate", "--scale", "none,dk", "--task", "copy", "--d-model", "8", "--heads",
                  "2", "--batch", "2", "--eval-size", "2", "--steps", "1", "--out", "abl"),
             0);
    program_free(&r);
    page = report(dir, "abl");
    holds(page, "<code>./train ablate --scale none,dk --heads 2 --d-model 8 ");
    holds(page, " --out abl</code>");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- colours --------------------------------------------------------------------------------- */

/* Of colour k in the light palette of a page, L*a*b* (CIE 1976), seen in full or without the cones
 * of medium wavelengths (Machado et al. 2009). */
static void lab_of(const char *page, int k, bool deuteranope, double lab[3])
{
    static const double to_xyz[3][3] = {{.4124 / .9505, .3576 / .9505, .1805 / .9505},
                                        {.2126, .7152, .0722},
                                        {.0193 / 1.089, .1192 / 1.089, .9505 / 1.089}};
    static const double seen[3][3] = {
        {.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}};
    char key[16];
    double rgb[3], f[3];
    snprintf(key, sizeof key, "--c%d: #", k);
    const char *at = strstr(page, key);
    ck_assert_ptr_nonnull(at);
    unsigned long hex = strtoul(at + strlen(key), NULL, 16);
    for (int i = 0; i < 3; i++) {
        double v = (double)(hex >> (16 - 8 * i) & 255) / 255;
        rgb[i] = v <= .04045 ? v / 12.92 : pow((v + .055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++) {
        double t = 0;
        for (int j = 0; j < 3; j++) {
            const double *m = seen[j];
            double v = deuteranope ? m[0] * rgb[0] + m[1] * rgb[1] + m[2] * rgb[2] : rgb[j];
            t += to_xyz[i][j] * fmin(fmax(v, 0), 1);
        }
        f[i] = t > .008856 ? cbrt(t) : 7.787 * t + 16. / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

/* That of the first series which is none of the usual scalings: amber was 12 from none's orange. */
START_TEST(a_fifth_colour_is_unlike_the_usual_four)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    char *page = report(dir, "run");
    for (int k = 0; k < 4; k++) {
        for (int deuteranope = 0; deuteranope < 2; deuteranope++) {
            double a[3], b[3];
            lab_of(page, 4, deuteranope, a);
            lab_of(page, k, deuteranope, b);
            double far = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
            ck_assert_msg(far > 30, "c4 is %.1f from c%d", far, k);
        }
    }
    ck_assert_ptr_nonnull(strstr(page, "svg .d4 { stroke-dasharray: 8 3 8 11; }"));
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("series", {
    ADD(a_fifth_colour_is_unlike_the_usual_four);
    ADD(copies_count_once);
    ADD(of_copies_the_longest_stays);
    ADD(series_are_called_by_what_departs);
    ADD(series_are_in_order);
    ADD(without_a_default_each_has_its_value);
    ADD(many_series_can_be_told_apart);
    ADD(of_many_series_little_is_said);
    ADD(the_key_shows_what_is_drawn);
    ADD(the_command_has_what_was_typed);
})
