/* SPDX-License-Identifier: MIT
 * The documents say what the program does: every column, key, word and parameter name of a run's
 * files is described, the tests that they name exist, their links lead somewhere, and the
 * examples print what their page shows. */
#include "run_files.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>

static char *document(const char *name)
{
    return program_file("docs", name, NULL);
}

/* `name` in backticks, between two places of a document. */
static bool describes(const char *from, const char *to, const char *name)
{
    char quoted[128];
    snprintf(quoted, sizeof quoted, "`%s`", name);
    const char *at = strstr(from, quoted);
    return at && at < to;
}

/* The part of the text under this heading, to the next of its level. */
static const char *section(const char *text, const char *heading, const char **end)
{
    const char *from = strstr(text, heading);
    ck_assert_msg(from != NULL, "no heading %s", heading);
    *end = strstr(from + 1, "\n## ");
    if (!*end) *end = from + strlen(from);
    return from;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void check_columns(const char *dir, const char *metrics, const char *name)
{
    char heading[64], column[64];
    const char *end;
    snprintf(heading, sizeof heading, "\n## `%s`", name);
    const char *from = section(metrics, heading, &end);
    char *log = program_file(dir, below("run", name).text, NULL);
    for (int i = 0; i < columns_of(log); i++) {
        field_of(log, i, column);
        ck_assert_msg(describes(from, end, column), "docs/metrics.md: no `%s` under %s", column,
                      name);
    }
    free(log);
}

START_TEST(every_column_is_described)
{
    char *dir = program_directory(), *metrics = document("metrics.md");
    train(dir, TINY, WITH("--steps", "1", "--out", "run"), 0);
    check_columns(dir, metrics, "metrics.csv");
    check_columns(dir, metrics, "attention.csv");
    check_columns(dir, metrics, "gradients.csv");
    check_columns(dir, metrics, "timing.csv");
    check_columns(dir, metrics, "maps.csv");
    check_columns(dir, metrics, "example.csv");
    train(dir, TINY,
          WITH("--steps", "1", "--out", "run", "--force", "--head-temperature", "--softcap", "5",
               "--sink", "learned"),
          0);
    check_columns(dir, metrics, "attention.csv");
    train(dir, TINY, WITH("--steps", "1", "--out", "run", "--force", "--qk-clip", "9"), 0);
    check_columns(dir, metrics, "metrics.csv");
    free(metrics);
    program_directory_remove(dir);
}
END_TEST

START_TEST(every_column_of_results_is_described)
{
    char *dir = program_directory(), *files = document("files.md"), column[64];
    const char *end, *from = section(files, "## The directory of an ablation", &end);
    train(dir, WITH("ablate", "--seed", "1..2"), WITH("--steps", "1", "--batch", "2", "--out", "a"),
          0);
    char *results = program_file(dir, "a/results.csv", NULL);
    for (int i = 0; i < columns_of(results); i++)
        ck_assert_msg(!strcmp(field_of(results, i, column), "seed") || describes(from, end, column),
                      "docs/files.md: no `%s` of results.csv", column);
    free(results);
    free(files);
    program_directory_remove(dir);
}
END_TEST

/* ---- keys and words -------------------------------------------------------------------------- */

/* The string that begins at text (its first quote), its end in *end. Escapes are left as they are:
 * keys have none. */
static const char *json_word(const char *text, const char **end)
{
    ck_assert_int_eq(*text, '"');
    const char *p = ++text;
    for (; *p != '"'; p++) {
        if (*p == '\\') p++;
        ck_assert(*p);
    }
    *end = p;
    return text;
}

/* Every key of the object of strings and numbers that begins at text. Returns how many. */
static int check_keys(const char *text, const char *document, const char *heading, const char *file)
{
    const char *end, *to, *from = section(document, heading, &to);
    int n = 0;
    while (*text && *text != '}') {
        char key[64];
        text += strcspn(text, "\"}");
        if (*text != '"') break;
        const char *word = json_word(text, &end);
        snprintf(key, sizeof key, "%.*s", (int)(end - word), word);
        ck_assert_msg(describes(from, to, key), "docs/files.md: no `%s` of %s", key, file);
        n++;
        text = end + 1 + strspn(end + 1, ": ");
        if (*text == '"') json_word(text, &text);
        text += strcspn(text, ",}");
    }
    return n;
}

START_TEST(every_key_of_run_json_is_described)
{
    char *dir = program_directory(), *files = document("files.md");
    train(dir, TINY, WITH("--steps", "1", "--out", "done"), 0);
    train(dir, TINY, WITH("--steps", "9", "--lr", "1e30", "--clip", "0", "--out", "diverged"), 3);
    for (int i = 0; i < 2; i++) {
        char *json = program_file(dir, i ? "diverged/run.json" : "done/run.json", NULL);
        ck_assert_int_gt(check_keys(json, files, "\n## `run.json`", "run.json"), 20);
        ck_assert(!i || strstr(json, "\"error\""));
        free(json);
    }
    free(files);
    program_directory_remove(dir);
}
END_TEST

START_TEST(every_word_of_a_checkpoint_is_described)
{
    static const char *const names[] = {"run/last.safetensors", "run/best.safetensors"};
    enum { LENGTH_BYTES = 8, LEAST_WORDS = 11 };
    char *dir = program_directory(), *files = document("files.md");
    train(dir, TINY, WITH("--steps", "1", "--out", "run"), 0);
    for (int i = 0; i < 2; i++) {
        static const char begin[] = "{\"__metadata__\":{";
        char *bytes = program_file(dir, names[i], NULL);
        ck_assert_int_eq(strncmp(bytes + LENGTH_BYTES, begin, strlen(begin)), 0);
        int n = check_keys(bytes + LENGTH_BYTES + strlen(begin), files, "\n## `last.safetensors`",
                           names[i]);
        ck_assert_int_eq(n, LEAST_WORDS + i); /* best has the loss that made it the best */
        free(bytes);
    }
    free(files);
    program_directory_remove(dir);
}
END_TEST

/* ---- parameters ------------------------------------------------------------------------------ */

static const char *const models[][PROGRAM_ARGS] = {
    {"--steps", "1", "--out", "run", "--qk-norm", "layer", "--bias", "--mlp", "swiglu"},
    {"--steps", "1", "--out", "run", "--qk-norm", "l2", "--norm-place", "post"},
    {"--steps", "1", "--out", "run", "--head-temperature", "--sink", "learned"},
    {"--steps", "1", "--out", "run", "--length-scale", "ssmax", "--sigma-reparam", "--mlp",
     "swiglu"},
};

/* gradients.csv has them all; the page writes "layers.i." for "layers.0." and so on. */
START_TEST(every_parameter_is_described)
{
    char *dir = program_directory(), *files = document("files.md"), name[64];
    const char *end, *from = section(files, "\n## `last.safetensors`", &end);
    train(dir, TINY, models[_i], 0);
    char *log = program_file(dir, "run/gradients.csv", NULL);
    for (const char *line = log; (line = next_line(line));) {
        char *layer = strstr(field_of(line, 1, name), "layers.");
        if (layer) layer[strlen("layers.")] = 'i'; /* fewer than ten layers */
        ck_assert_msg(describes(from, end, name), "docs/files.md: no parameter `%s`", name);
    }
    free(log);
    free(files);
    program_directory_remove(dir);
}
END_TEST

/* ---- tests ----------------------------------------------------------------------------------- */

/* The text with every run of blanks and line ends as one blank. */
static char *on_one_line(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++)
        if (!strchr(" \n", *p))
            *to++ = *p;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = '\0';
    return text;
}

/* "`NAME` in `tests/FILE.c`" means START_TEST(NAME) in that file. */
START_TEST(every_test_that_is_named_exists)
{
    static const char *const pages[] = {"architecture.md", "metrics.md",     "files.md",
                                        "theory.md",       "scaling-out.md", "report.md",
                                        "policies.md",     "embedding.md"};
    static const char between[] = "` in `tests/";
    int n = 0;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char *page = on_one_line(document(pages[i]));
        for (char *at = page; (at = strstr(at, between)); at++, n++) {
            char name[80], file[80];
            const char *begin = at, *path = at + strlen("` in `");
            while (begin > page && begin[-1] != '`') begin--;
            snprintf(name, sizeof name, "START_TEST(%.*s)", (int)(at - begin), begin);
            snprintf(file, sizeof file, "%.*s", (int)strcspn(path, "`"), path);
            char *source = program_file(".", file, NULL);
            ck_assert_msg(strstr(source, name) != NULL, "docs/%s: no %s in %s", pages[i], name,
                          file);
            free(source);
        }
        free(page);
    }
    ck_assert_int_ge(n, 15);
}
END_TEST

/* ---- links ----------------------------------------------------------------------------------- */

/* As GitHub makes an anchor of a heading: small letters, '-' for a blank, no punctuation. */
static void anchor_of(const char *heading, char *anchor, size_t size)
{
    size_t n = 0;
    for (const char *p = heading; *p && *p != '\n' && n + 1 < size; p++) {
        if (*p == ' ')
            anchor[n++] = '-';
        else if (isalnum((unsigned char)*p) || strchr("-_", *p))
            anchor[n++] = (char)tolower((unsigned char)*p);
    }
    anchor[n] = '\0';
}

static bool has_heading(const char *text, const char *anchor)
{
    char own[128];
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
        const char *heading = line + strspn(line, "#");
        if (heading == line || *heading != ' ') continue;
        anchor_of(heading + 1, own, sizeof own);
        if (!strcmp(own, anchor)) return true;
    }
    return false;
}

enum { LINK_TEXT = 160 };

/* link: FILE#ANCHOR, the file as seen from the page. */
static void check_link(const char *page, const char *link)
{
    char path[2 * LINK_TEXT];
    const char *anchor = strchr(link, '#'), *name = strrchr(page, '/') + 1;
    size_t length = strcspn(link, "#");
    if (length)
        snprintf(path, sizeof path, "%.*s%.*s", (int)(name - page), page, (int)length, link);
    else
        snprintf(path, sizeof path, "%s", page);
    ck_assert_msg(access(path, R_OK) == 0, "%s links to %s, which is not there", page, link);
    if (!anchor) return;
    char *text = program_file(".", path, NULL);
    ck_assert_msg(has_heading(text, anchor + 1), "%s links to %s: no such heading", page, link);
    free(text);
}

static int check_links(const char *page)
{
    char *text = program_file(".", page, NULL), link[LINK_TEXT];
    int n = 0;
    for (const char *at = text; (at = strstr(at, "](")); n++) {
        at += 2;
        snprintf(link, sizeof link, "%.*s", (int)strcspn(at, ")\n"), at);
        if (!strstr(link, "://")) check_link(page, link);
    }
    free(text);
    return n;
}

START_TEST(every_link_leads_somewhere)
{
    static const char *const pages[] = {"./*.md", "docs/*.md", "*/README.md"};
    int n = 0;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        glob_t found;
        ck_assert_int_eq(glob(pages[i], 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++) n += check_links(found.gl_pathv[k]);
        globfree(&found);
    }
    ck_assert_int_ge(n, 40);
}
END_TEST

/* Whoever reads the first page finds all others. */
START_TEST(every_page_is_in_the_index)
{
    char *readme = program_file(".", "README.md", NULL), link[2 * LINK_TEXT];
    glob_t found;
    ck_assert_int_eq(glob("docs/*.md", 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        snprintf(link, sizeof link, "\n- [%s](%s): ", found.gl_pathv[k], found.gl_pathv[k]);
        ck_assert_msg(strstr(readme, link) != NULL, "README.md has no line for %s",
                      found.gl_pathv[k]);
    }
    globfree(&found);
    free(readme);
}
END_TEST

/* ---- findings -------------------------------------------------------------------------------- */

/* Every experiment of ablations/ has its place among the findings, and every figure there is a
 * file. */
START_TEST(findings_are_whole)
{
    char *page = document("findings.md"), path[128];
    DIR *scripts = opendir("ablations");
    ck_assert(scripts != NULL);
    int experiments = 0, figures = 0;
    for (struct dirent *e; (e = readdir(scripts));) {
        snprintf(path, sizeof path, "ablations/%.100s", e->d_name);
        if (e->d_name[0] == '.' || access(path, X_OK) != 0) continue; /* a part of others */
        ck_assert_msg(strstr(page, path) != NULL, "docs/findings.md: no `%s`", path);
        experiments++;
    }
    closedir(scripts);
    ck_assert_int_ge(experiments, 10);
    for (const char *at = page; (at = strstr(at, "](figures/")); at++, figures++) {
        snprintf(path, sizeof path, "docs/%.*s", (int)strcspn(at + 2, ")"), at + 2);
        char *picture = program_file(".", path, NULL);
        ck_assert_msg(!strncmp(picture, "<svg ", 5), "%s is no picture", path);
        ck_assert_msg(strlen(picture) < 60000, "%s is too large", path);
        free(picture);
    }
    ck_assert_int_ge(figures, 10);
    free(page);
}
END_TEST

/* ---- examples -------------------------------------------------------------------------------- */

/* What a program prints, each line moved in as in a document. */
static char *indented_output(const char *path)
{
    FILE *f = popen(path, "r");
    char line[256], *text = calloc(1, 4096);
    ck_assert(f && text);
    while (fgets(line, sizeof line, f)) {
        ck_assert_uint_lt(strlen(text) + strlen(line) + 5, 4096);
        strcat(strcat(text, "    "), line);
    }
    ck_assert_msg(pclose(f) == 0, "%s failed", path);
    return text;
}

/* The examples are built beside the tests: in build/release, or where $RDK_PROGRAM is. */
START_TEST(examples_print_what_their_page_shows)
{
    static const char *const names[] = {"embed_tape", "embed_model"};
    char path[2 * PROGRAM_PATH], *page = document("embedding.md");
    const char *program = program_path();
    int directory = (int)(strrchr(program, '/') - program);
    snprintf(path, sizeof path, "%.*s/examples/%s", directory, program, names[_i]);
    if (access(path, X_OK) != 0)
        snprintf(path, sizeof path, "%.*s/release/examples/%s", directory, program, names[_i]);
    char *text = indented_output(path);
    ck_assert_msg(strlen(text) > 100 && strstr(page, text), "docs/embedding.md does not show:\n%s",
                  text);
    free(text);
    free(page);
}
END_TEST

RDK_TEST_MAIN("documents", {
    ADD(every_column_is_described);
    ADD(every_column_of_results_is_described);
    ADD(every_key_of_run_json_is_described);
    ADD(every_word_of_a_checkpoint_is_described);
    ADD_LOOP(every_parameter_is_described, sizeof models / sizeof *models);
    ADD(every_test_that_is_named_exists);
    ADD(every_link_leads_somewhere);
    ADD(every_page_is_in_the_index);
    ADD(findings_are_whole);
    ADD_LOOP(examples_print_what_their_page_shows, 2);
})
