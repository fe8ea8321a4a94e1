/* SPDX-License-Identifier: MIT
 * Paths of any bytes, and commands in hints: what is printed to be typed can be typed. */
#include "run_files.h"

#include "strict_json.h"

enum { LETTERS = 1500 };

static void write_text(const char *dir, const char *name)
{
    char text[LETTERS + 1] = "";
    for (int i = 0; i < LETTERS; i++) text[i] = "abcdefgh \n"[(i * i + i / 7) % 10];
    program_write(dir, name, text);
}

static const char *const TEXT[] = {"--task",  "text", "--seq-len", "8", "--d-model", "8",
                                   "--batch", "4",    "--threads", "1", NULL};

/* Latin-1, a lone continuation byte, bytes that no UTF-8 has; spaces and quotes. */
START_TEST(any_bytes_make_a_path)
{
    static const char *const names[] = {"caf\xE9",          "\x80",    "\xFE\xFF", "a b",
                                        "it's \"#\" \\n$x", "\xC3\xA4"};
    const char *name = names[_i];
    char *dir = program_directory(), data[64], config[64];
    snprintf(data, sizeof data, "%s.txt", name);
    snprintf(config, sizeof config, "%s/config.ini", name);
    write_text(dir, data);
    train(dir, TEXT, WITH("--steps", "6", "--data", data, "--out", "whole"), 0);
    train(dir, TEXT, WITH("--steps", "6", "--data", data, "--out", name, "--stop-at", "3"), 0);
    char *json = program_file(dir, below(name, "run.json").text, NULL);
    ck_assert_msg(is_strict_json(json), "%s", json);
    free(json);
    train(dir, WITH("--resume", name), NULL, 0);
    same_runs(dir, "whole", name);
    train(dir, WITH("--config", config, "--out", "again"), NULL, 0);
    same_runs(dir, "whole", "again");
    program_directory_remove(dir);
}
END_TEST

/* The program under a name of its own, so that it has to be quoted too. */
static void through_shell(const char *dir, const char *command)
{
    char line[3 * PROGRAM_PATH];
    snprintf(line, sizeof line, "cd '%s' && %s >said 2>&1", dir, command);
    int status = system(line);
    char *said = program_file(dir, "said", NULL);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %s", line, said);
    free(said);
}

/* The line of a text that holds this, from the word on that begins the command, without what
 * follows a '#'. */
static char *hinted(const char *text, const char *holds)
{
    const char *at = strstr(text, holds);
    ck_assert_msg(at != NULL, "no %s in: %s", holds, text);
    while (at > text && at[-1] != '\n') at--;
    at += strspn(at, " ");
    if (!strncmp(at, "next", 4)) at += 4 + strspn(at + 4, " ");
    char *line = strndup(at, strcspn(at, "\n"));
    char *comment = strstr(line, "    # ");
    if (comment) *comment = '\0';
    return line;
}

START_TEST(a_hint_can_be_typed)
{
    char *dir = program_directory(), command[PROGRAM_PATH + 64];
    snprintf(command, sizeof command, "%s/my 'own' $program", dir);
    ck_assert_int_eq(symlink(program_path(), command), 0);
    setenv("RDK_COMMAND", command, 1);
    program_run r = train_and_read(
        dir, TINY, WITH("--steps", "4", "--stop-at", "2", "--out", "it's 'a' $run"), 0);
    char *line = hinted(r.out, "--resume");
    through_shell(dir, line);
    ck_assert(run_json_has(dir, "it's 'a' $run", "\"status\": \"done\""));
    program_free(&r);
    free(line);
    r = train_and_read(dir, WITH("--config", "it's 'a' $run/config.ini", "--out", "b c"), NULL, 0);
    line = hinted(r.out, "--seed 2");
    through_shell(dir, line);
    ck_assert(run_has(dir, "runs/copy-sqrt-dk4-seed2", "last.safetensors"));
    free(line);
    line = hinted(r.out, "--scale none");
    through_shell(dir, line);
    ck_assert(run_has(dir, "runs/copy-none-dk4-seed1", "last.safetensors"));
    free(line);
    program_free(&r);
    r = train_and_read(dir, TINY, WITH("--steps", "1", "--out", "b c"), 2);
    ck_assert_msg(strstr(r.err, "--resume 'b c'") != NULL, "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Behind the last seed comes none. */
START_TEST(the_seed_after_the_last)
{
    char *dir = program_directory();
    program_run r = train_and_read(
        dir, TINY, WITH("--steps", "1", "--seed", "18446744073709551615", "--out", "run"), 0);
    ck_assert_msg(strstr(r.out, "--seed 1 ") && !strstr(r.out, "--seed 0"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* ---- one configuration over another ---------------------------------------------------------- */

START_TEST(another_text_over_the_run_of_a_text)
{
    char *dir = program_directory();
    write_text(dir, "text");
    train(dir, TEXT, WITH("--steps", "3", "--data", "text", "--out", "run"), 0);
    char more[2 * LETTERS + 1] = "";
    for (int i = 0; i < 2 * LETTERS; i++) more[i] = "abcdefghijklm \n"[(i * i + i / 7) % 15];
    program_write(dir, "other", more);
    train(dir, WITH("--config", "run/config.ini", "--data", "other", "--out", "over"), NULL, 0);
    train(dir, TEXT, WITH("--steps", "3", "--data", "other", "--out", "fresh"), 0);
    same_runs(dir, "fresh", "over"); /* all windows of the longer text are evaluated on */
    ck_assert(rename(below(dir, "text").text, below(dir, "moved").text) == 0);
    train(dir, WITH("--config", "run/config.ini", "--data", "moved", "--out", "same"), NULL, 0);
    same_file(dir, "run", "same", "metrics.csv");
    ck_assert(rename(below(dir, "moved").text, below(dir, "text").text) == 0);
    /* another task takes neither the file nor its symbols along */
    train(dir, WITH("--config", "run/config.ini", "--task", "sort", "--out", "sorted"), NULL, 0);
    char *ini = program_file(dir, "sorted/config.ini", NULL);
    ck_assert_msg(strstr(ini, "\ndata =\n") && strstr(ini, "\nvocab = 3\n"), "%s", ini);
    free(ini);
    /* and the other way round */
    train(
        dir,
        WITH("--config", "sorted/config.ini", "--task", "text", "--data", "text", "--out", "back"),
        NULL, 0);
    train(dir, TINY, WITH("--steps", "1", "--out", "copied"), 0);
    refused(dir, WITH("--config", "copied/config.ini", "--task", "text", "--data", "text"), NULL, 2,
            WITH("--vocab 5 does not fit", "--vocab auto"));
    train(dir, WITH("--config", "copied/config.ini", "--task", "text"),
          WITH("--data", "text", "--vocab", "auto"), 0);
    program_directory_remove(dir);
}
END_TEST

/* The text has a symbol more: it is another text, and that is what is said, also before anything
 * was saved. */
START_TEST(a_text_that_gained_a_symbol)
{
    char *dir = program_directory();
    write_text(dir, "text");
    train(dir, TEXT, WITH("--steps", "6", "--stop-at", "3", "--data", "text", "--out", "run"), 0);
    char *text = program_file(dir, "text", NULL);
    text[700] = 'Z';
    program_write(dir, "text", text);
    free(text);
    copy_run(dir, "run", "copy");
    for (int saved = 1; saved >= 0; saved--) {
        program_run r = train_and_read(dir, WITH("--resume", "run"), NULL, 1);
        ck_assert_msg(strstr(r.err, "data") && strstr(r.err, "10 kinds") &&
                          strstr(r.err, "11 kinds") && !strstr(r.err, "--vocab"),
                      "%s", r.err);
        program_free(&r);
        unchanged(dir, "run", "copy");
        if (!saved) break;
        for (int i = 0; i < 2; i++) { /* as if it had been killed before it saved anything */
            const char *run = i ? "copy" : "run";
            char *json = program_file(dir, below(run, "run.json").text, NULL);
            char *key = strstr(json, "\"saved_step\"");
            memcpy(key, "\"never_saved", strlen("\"never_saved"));
            key[strlen("\"never_saved")] = '"';
            memmove(key + strlen("\"never_saved\""), strchr(key, ':'),
                    strlen(strchr(key, ':')) + 1);
            program_write(dir, below(run, "run.json").text, json);
            free(json);
            unlink(below(dir, below(run, "last.safetensors").text).text);
        }
    }
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("paths", {
    ADD_LOOP(any_bytes_make_a_path, 6);
    ADD(a_hint_can_be_typed);
    ADD(the_seed_after_the_last);
    ADD(another_text_over_the_run_of_a_text);
    ADD(a_text_that_gained_a_symbol);
})
