/* SPDX-License-Identifier: MIT
 * ./train theory from outside: every figure within three standard errors of its reference, the hand
 * table to its digits, slopes, what is refused; and that what is said fits what was measured. */
#include "run_files.h"

enum { WIDEST = 100 };
enum { TABLE, D_K, KEYS, SCALE, SIGMA2, FIGURE, VALUE, SE, EXPECTED, SOURCE, Z, VERDICT, COLUMNS };

static const char *const PLAIN[] = {"theory", NULL};

/* Its CSV from an empty directory, where it must leave nothing. */
static char *csv_of(const char *const *more)
{
    char *dir = program_directory();
    const char *arguments[PROGRAM_ARGS] = {"theory", "--format", "csv"};
    for (size_t n = 3; *more; n++) arguments[n] = *more++;
    program_run r = program_call(dir, arguments);
    ck_assert_msg(r.status == 0 && !r.err[0], "exit %d: %s", r.status, r.err);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    char *out = strdup(r.out);
    program_free(&r);
    program_directory_remove(dir);
    return out;
}

static bool field_is(const char *line, int column, const char *want)
{
    char field[64];
    return !strcmp(field_of(line, column, field), want);
}

/* The first row with these fields ("" where any will do), or NULL. */
static const char *row_of(const char *csv, const char *table, const char *scale, const char *sigma2,
                          const char *figure, const char *source)
{
    const struct {
        int column;
        const char *want;
    } keys[] = {
        {TABLE, table}, {SCALE, scale}, {SIGMA2, sigma2}, {FIGURE, figure}, {SOURCE, source}};
    for (const char *line = csv; (line = next_line(line));) {
        bool same = true;
        for (int k = 0; k < 5; k++)
            same = same && (!*keys[k].want || field_is(line, keys[k].column, keys[k].want));
        if (same) return line;
    }
    return NULL;
}

static void near(const char *csv, const char *const place[5], double want, double digit)
{
    const char *line = row_of(csv, place[0], place[1], place[2], place[3], place[4]);
    ck_assert_msg(line != NULL, "no row %s %s %s %s", place[0], place[1], place[2], place[3]);
    double got = number_at(line, VALUE), se = number_at(line, SE);
    ck_assert_msg(fabs(got - want) <= 3 * se + digit / 2, "%s %s %s %s = %g +- %g, want %g",
                  place[0], place[1], place[2], place[3], got, se, want);
}

/* ---- --d-k 64 --keys 64 ---------------------------------------------------------------------- */

START_TEST(agrees_with_the_tables)
{
    static const struct {
        const char *place[5];
        double want, digit;
    } rows[] = {
        {{"rows", "", "1", "entropy", ""}, 3.6845, 1e-3},
        {{"rows", "", "64", "entropy_norm", ""}, .1389, 1e-4},
        {{"rows", "", "0.015625", "p_max", ""}, .0208, 1e-4},
        {{"rows", "", "16", "jacobian_trace", ""}, .5423, 2e-3},
        {{"rows", "", "64", "jacobian_trace_median", ""}, .249, 1e-2},
        {{"rows", "", "256", "jacobian_frob", ""}, .2067, 1e-3},
        {{"rows", "", "64", "sat99", ""}, .195, 3e-3},
        {{"rows", "", "64", "sat90", ""}, .440, 4e-3},
        {{"causal", "", "1", "entropy_norm", ""}, .8614, 1e-3},
        {{"dot", "none", "", "entropy_norm", ""}, .139, 2e-3},
        {{"dot", "sqrt", "", "jacobian_trace", ""}, .961, 1e-3},
        {{"dot", "dk", "", "p_max", ""}, .021, 1e-3},
        {{"dot", "l2", "", "entropy_norm", ""}, .770, 3e-3},
        {{"dot", "none", "64", "variance", "formula"}, 64, 0},
        {{"dot", "sqrt", "1", "variance", "formula"}, 1, 0},
        {{"dot", "dk", "0.015625", "variance", "formula"}, 1. / 64, 0},
    };
    char *csv = csv_of(WITH("--d-k", "64", "--keys", "64"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        near(csv, rows[i].place, rows[i].want, rows[i].digit);
    free(csv);
}
END_TEST

START_TEST(every_check_within_three_standard_errors)
{
    int checks = 0, references = 0;
    char *csv = csv_of(WITH("--d-k", "64", "--keys", "64"));
    ck_assert_int_eq(columns_of(csv), COLUMNS);
    for (const char *line = csv; (line = next_line(line));) {
        ck_assert_int_eq(columns_of(line), COLUMNS);
        if (field_is(line, VERDICT, "")) continue;
        ck_assert_msg(field_is(line, VERDICT, "ok"), "%.100s", line);
        ck_assert_double_le(fabs(number_at(line, Z)), 3);
        checks++;
        references += field_is(line, SOURCE, "reference");
    }
    ck_assert_int_eq(references, 6 * 8 + 6 * 4 + 5 * 3);
    ck_assert_int_ge(checks, references + 50);
    free(csv);
}
END_TEST

/* The last column of digits that textbooks print. */
START_TEST(hand_table_to_its_digits)
{
    static const char *const digits[] = {
        ".999999887", "1.125351621e-07", "1.125351494e-07", "2.250702988e-07", "1.913097761e-06",
        ".880797078", ".119202922",      "0.1049935854",    "0.2099871708",    "0.3653338551",
        ".562176501", ".437823499",      "0.2461340827",    "0.4922681655",    "0.6853952947"};
    char *dir = program_directory();
    program_run r = train_and_read(dir, PLAIN, WITH("--samples", "1000"), 0);
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
        ck_assert_msg(strstr(r.out, digits[i]) != NULL, "no %s", digits[i]);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* ---- sweeps ---------------------------------------------------------------------------------- */

START_TEST(slopes_of_the_variance)
{
    static const struct {
        const char *scale;
        double slope;
    } rows[] = {{"none", 1}, {"sqrt", 0}, {"dk", -1}, {"rms", 0}, {"dmodel", 0}, {"l2", -1}};
    char *csv = csv_of(WITH("--d-k", "1..4096", "--keys", "16"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const place[] = {"slope", rows[i].scale, "", "variance", "formula"};
        near(csv, place, rows[i].slope, 0);
    }
    const char *qknorm = row_of(csv, "slope", "qknorm", "", "variance", "formula");
    ck_assert_double_eq_tol(number_at(qknorm, VALUE), 0, .02); /* d_k / (d_k - 1) is not quite 1 */
    free(csv);
    csv = csv_of(WITH("--d-k", "4,8", "--keys", "16"));
    ck_assert_ptr_null(row_of(csv, "slope", "", "", "", ""));
    free(csv);
    csv = csv_of(WITH("--d-k", "4..16", "--keys", "16", "--d-model", "64"));
    near(csv, (const char *const[]){"slope", "dmodel", "", "variance", "formula"}, 1, 0);
    free(csv);
}
END_TEST

/* Corners: the narrowest head, the fewest keys, lengths that no table has. */
START_TEST(corners_hold_as_well)
{
    static const char *const corners[][8] = {
        {"--d-k", "1", "--keys", "2", "--samples", "2000"},
        {"--d-k", "2,1,3", "--keys", "7,2", "--samples", "2000"},
        {"--d-k", "100", "--keys", "300", "--samples", "1000"},
        {"--seed", "18446744073709551615", "--samples", "1000", "--d-k", "8"},
    };
    free(csv_of(corners[_i]));
}
END_TEST

/* ---- output ---------------------------------------------------------------------------------- */

START_TEST(same_bytes_in_a_file_and_for_any_threads)
{
    char *dir = program_directory();
    static const char *const small[] = {"theory", "--d-k", "8", "--samples", "1000", NULL};
    program_run one = train_and_read(dir, small, WITH("--threads", "1", "--format", "csv"), 0);
    program_run two =
        train_and_read(dir, small, WITH("--threads", "3", "--csv", "all.csv", "--seed", "1"), 0);
    char *file = program_file(dir, "all.csv", NULL);
    ck_assert_str_eq(one.out, file);
    ck_assert(strstr(two.out, "all.csv") && strstr(two.out, "verdict"));
    program_run other = train_and_read(dir, small, WITH("--seed", "2", "--format", "csv"), 0);
    ck_assert_str_ne(other.out, file);
    free(file);
    program_free(&one);
    program_free(&two);
    program_free(&other);
    refused(dir, small, WITH("--csv", "missing/all.csv"), 1, WITH("missing/all.csv"));
    ck_assert_int_eq(program_directory_entries(dir), 1);
    program_directory_remove(dir);
}
END_TEST

/* On a screen: 100 columns, no blank at an end of a line, what a reader needs to find. */
START_TEST(screen)
{
    static const char *const commands[][8] = {
        {"theory", "--samples", "1000"},
        {"theory", "--samples", "1000", "--d-k", "1..16", "--keys", "2,8"},
        {"theory", "--help"},
        {"theory", "--samples", "1000", "--d-k", "1", "--keys", "2"}};
    static const char *const holds[] = {"as predicted", "slope ", "--keys LIST",
                                        "little to divide"};
    char *dir = program_directory();
    program_run r = program_call(dir, commands[_i]);
    ck_assert_msg(r.status == 0 && !r.err[0], "exit %d: %s", r.status, r.err);
    ck_assert_msg(strstr(r.out, holds[_i]) != NULL, "no %s", holds[_i]);
    ck_assert(!strstr(r.out, "nan") && !strstr(r.out, "inf"));
    for (const char *p = r.out, *end; (end = strchr(p, '\n')); p = end + 1) {
        ck_assert_msg(end - p <= WIDEST, "too wide: %.*s", (int)(end - p), p);
        ck_assert_msg(end == p || end[-1] != ' ', "blank at the end: %.*s", (int)(end - p), p);
    }
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* The sentences of the verdict at narrow and wide heads: what must be said, and what must not.
 * Blanks are made of its line breaks. */
START_TEST(words_follow_the_numbers)
{
    static const struct {
        const char *d_k, *keys, *said[4], *not_said[5];
    } rows[] = {
        {"1",
         "64",
         {"the same as sqrt, and as none", "so all scores are 0", "little to divide"},
         {"must grow", "LayerNorm leaves", "Nothing", "one key or two", "practically"}},
        {"2",
         "64",
         {"0.5 times that under sqrt", "qknorm: variance 2. ", "/ (d_k - 1) = 2 is predicted",
          "little to divide"},
         {"must grow", "not that of sqrt", "practically", "one key or two"}},
        {"4",
         "64",
         {"0.25 times that under sqrt", "/ (d_k - 1) = 1.33 is predicted", "practically",
          "must grow"},
         {"not that of sqrt", "one key or two"}},
        {"64",
         "64",
         {"beyond 2 ln n", "one key or two", "/ (d_k - 1) = 1.02 is predicted", "must grow"},
         {"little to divide", "not that of sqrt"}},
        {"1024",
         "64",
         {"beyond 2 ln n", "one key or two", "/ (d_k - 1) = 1 is predicted", "must grow"},
         {"little to divide", "not that of sqrt"}},
        {"16", "2", {"beyond 2 ln n", "must grow"}, {"one key or two", "little to divide"}},
    };
    char *dir = program_directory();
    program_run r = train_and_read(
        dir, PLAIN, WITH("--samples", "1000", "--d-k", rows[_i].d_k, "--keys", rows[_i].keys), 0);
    char *verdict = strstr(r.out, "\nverdict:"), *to = verdict;
    ck_assert_ptr_nonnull(verdict);
    for (const char *from = verdict; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == verdict || to[-1] != ' ') *to++ = c;
    }
    *to = 0;
    for (size_t i = 0; i < 4 && rows[_i].said[i]; i++)
        ck_assert_msg(strstr(verdict, rows[_i].said[i]) != NULL, "no %s", rows[_i].said[i]);
    for (size_t i = 0; i < 5 && rows[_i].not_said[i]; i++)
        ck_assert_msg(!strstr(verdict, rows[_i].not_said[i]), "%s", rows[_i].not_said[i]);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(help_man_and_completion_know_the_verb)
{
    static const char *const commands[][4] = {
        {"help", "theory"}, {"theory", "--help=d-k"}, {"--man"}, {"--completion"}, {"--help"}};
    static const char *const holds[] = {"--d-k LIST", "a list A,B,..", "OPTIONS OF THEORY",
                                        "theory) words=\" --d-k --keys", "theory [OPTIONS]"};
    char *dir = program_directory();
    program_run r = program_call(dir, commands[_i]);
    ck_assert_int_eq(r.status, 0);
    ck_assert_msg(strstr(r.out, holds[_i]) != NULL, "no %s in %s", holds[_i], r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* ---- the page -------------------------------------------------------------------------------- */

/* Every table line of docs/theory.md (it stands seven columns in) begins a line of the two commands
 * that the page names. */
START_TEST(the_page_shows_what_is_measured)
{
    enum { OF_PAGE = 4, OF_TABLE = 3, TABLE_LINES = 60 };
    char *dir = program_directory(), *page = program_file("docs", "theory.md", NULL);
    program_run one = train_and_read(dir, PLAIN, NULL, 0);
    program_run two = train_and_read(dir, PLAIN, WITH("--d-k", "1..4096"), 0);
    int lines = 0;
    for (char *at = page, *end; (end = strchr(at, '\n')); at = end + 1) {
        char line[PROGRAM_PATH];
        if (strspn(at, " ") < OF_PAGE + OF_TABLE) continue;
        snprintf(line, sizeof line, "\n%.*s", (int)(end - at) - OF_PAGE, at + OF_PAGE);
        ck_assert_msg(strstr(one.out, line) || strstr(two.out, line), "not measured:%s", line);
        lines++;
    }
    ck_assert_int_ge(lines, TABLE_LINES);
    program_free(&one);
    program_free(&two);
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("theory command", {
    ADD(agrees_with_the_tables);
    ADD(every_check_within_three_standard_errors);
    ADD(hand_table_to_its_digits);
    ADD(slopes_of_the_variance);
    ADD_LOOP(corners_hold_as_well, 4);
    ADD(same_bytes_in_a_file_and_for_any_threads);
    ADD_LOOP(screen, 4);
    ADD_LOOP(help_man_and_completion_know_the_verb, 5);
    ADD(the_page_shows_what_is_measured);
    ADD_LOOP(words_follow_the_numbers, 6);
})
