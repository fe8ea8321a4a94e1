/* SPDX-License-Identifier: MIT
 * --resume of a run whose logs or config.ini somebody edited: what would make it another run than
 * the undisturbed one is refused by name, and nothing changes. */
#include "run_files.h"

static const char *const RESUME[] = {"--resume", "run", NULL};

/* A run of 20 steps that stopped at 9, with rows of every kind at 0, 2, 4, 6, 8; and a copy. */
static char *stopped_run(void)
{
    char *dir = program_directory();
    train(dir, TINY,
          WITH("--steps", "20", "--log-every", "2", "--probe-every", "2", "--eval-every", "2",
               "--stop-at", "9", "--out", "run"),
          0);
    copy_run(dir, "run", "copy");
    return dir;
}

/* Takes the lines of the file that begin so out of it, in both places. */
static void take_out(const char *dir, const char *name, const char *start)
{
    char *text = program_file(dir, below("run", name).text, NULL), *to = text;
    size_t n = strlen(start);
    bool taken = false;
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        bool out = strncmp(line, start, n) == 0;
        taken = taken || out;
        if (out) continue;
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    *to = '\0';
    ck_assert_msg(taken, "no %s in %s", start, name);
    program_write(dir, below("run", name).text, text);
    program_write(dir, below("copy", name).text, text);
    free(text);
}

static void is_missed(const char *file, const char *start, const char *told)
{
    char *dir = stopped_run();
    take_out(dir, file, start);
    refused(dir, RESUME, NULL, 1, WITH("cannot continue run/", file, told, "--out"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}

/* From the middle, from the end, one of the rows of a step, all of them. */
START_TEST(rows_that_were_taken_out_are_missed)
{
    static const char *const cases[][3] = {
        {"metrics.csv", "4,train,", "line 6 should begin with \"4,train,\""},
        {"metrics.csv", "4,eval,", "line 7 should begin with \"4,eval,\""},
        {"metrics.csv", "8,eval,", "last rows before step 9 are missing, from \"8,eval,\""},
        {"metrics.csv", "8,", "last rows before step 9 are missing, from \"8,train,\""},
        {"metrics.csv", "0,train", "line 2 should begin with \"0,train,\""},
        {"attention.csv", "6,", "should begin with \"6,0,0,\""},
        {"attention.csv", "4,1,0", "should begin with \"4,1,0,\""},
        {"attention.csv", "8,1,1", "are missing, from \"8,1,1,\""},
        {"gradients.csv", "2,", "should begin with \"2,tokens.weight,\""},
        {"gradients.csv", "8,head.weight", "are missing, from \"8,head.weight,\""},
        {"gradients.csv", "4,layers.0.attention.wq.weight",
         "should begin with \"4,layers.0.attention.wq.weight,\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_missed(cases[i][0], cases[i][1], cases[i][2]);
}
END_TEST

/* Nothing is built on the rows of timing.csv, and no two runs have the same. */
START_TEST(timing_may_lack_rows)
{
    char *dir = stopped_run();
    take_out(dir, "timing.csv", "4,");
    train(dir, RESUME, NULL, 0);
    program_directory_remove(dir);
}
END_TEST

/* In both places, text for text of the same length. */
static void edit(const char *dir, const char *name, const char *was, const char *is)
{
    char *text = program_file(dir, below("run", name).text, NULL), *at = strstr(text, was);
    ck_assert_msg(at != NULL, "no %s in %s", was, text);
    ck_assert_uint_eq(strlen(was), strlen(is));
    memcpy(at, is, strlen(is));
    program_write(dir, below("run", name).text, text);
    program_write(dir, below("copy", name).text, text);
    free(text);
}

/* No checkpoint holds these, so that equal runs have equal files; run.json does. */
START_TEST(an_edited_interval_is_refused)
{
    static const char *const edits[][2] = {{"\nlog-every = 2\n", "\nlog-every = 3\n"},
                                           {"\nprobe-every = 2\n", "\nprobe-every = 4\n"},
                                           {"\neval-every = 2\n", "\neval-every = 1\n"},
                                           {"\neval-size = 8\n", "\neval-size = 9\n"},
                                           {"\nsave-every = 0\n", "\nsave-every = 4\n"}};
    char *dir = stopped_run();
    edit(dir, "config.ini", edits[_i][0], edits[_i][1]);
    refused(dir, RESUME, NULL, 1, WITH("cannot resume run: config.ini was changed", "log-every"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* Where run.json has gone, the rows still tell. */
START_TEST(the_rows_tell_an_edited_interval)
{
    char *dir = stopped_run();
    edit(dir, "config.ini", "\nlog-every = 2\n", "\nlog-every = 1\n");
    ck_assert_int_eq(unlink(below(dir, "run/run.json").text), 0);
    ck_assert_int_eq(unlink(below(dir, "copy/run.json").text), 0);
    refused(dir, RESUME, NULL, 1,
            WITH("run/metrics.csv", "intervals of config.ini", "\"1,train,\""));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_configuration_with_a_zero_byte)
{
    char *dir = stopped_run(), *ini;
    size_t size;
    ini = program_file(dir, "run/config.ini", &size);
    ini[size / 2] = '\0';
    write_bytes(dir, "run/config.ini", ini, size);
    write_bytes(dir, "copy/config.ini", ini, size);
    refused(dir, RESUME, NULL, 1, WITH("run/config.ini is not a text", "zero byte"));
    unchanged(dir, "run", "copy");
    free(ini);
    program_directory_remove(dir);
}
END_TEST

/* A checkpoint that cannot be reached is not one that was never written. */
START_TEST(a_checkpoint_that_cannot_be_reached)
{
    char *dir = stopped_run();
    file_path last = below(dir, "run/last.safetensors");
    ck_assert_int_eq(unlink(last.text), 0);
    ck_assert_int_eq(symlink("last.safetensors", last.text), 0);
    ck_assert_int_eq(unlink(below(dir, "run/run.json").text), 0);
    refused(dir, RESUME, NULL, 1, WITH("run/last.safetensors", "Too many levels"));
    same_file(dir, "run", "copy", "metrics.csv");
    program_directory_remove(dir);
}
END_TEST

/* Whether a state was saved cannot be known; a state that is there is enough. */
START_TEST(a_damaged_run_json)
{
    static const struct {
        const char *text, *says;
    } broken[] = {{"", "run/run.json:1: "},
                  {"{", "run/run.json:1: "},
                  {"{\"step\": 1,\n\"status\": done}\n", "run/run.json:2: "},
                  {"{\"a\": 1} x", "run/run.json:1: "},
                  {"[1]", "run/run.json:1: "}};
    char *dir = stopped_run();
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        file_path last = below(dir, "run/last.safetensors");
        program_write(dir, "run/run.json", broken[i].text);
        unlink(last.text);
        refused(dir, RESUME, NULL, 1,
                WITH(broken[i].says, " (damaged: take it away, or put it back)"));
    }
    program_directory_remove(dir);
}
END_TEST

/* A word of run.json within another string says nothing. */
START_TEST(run_json_is_read_and_not_searched)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "3", "--out", "run"), 0);
    program_write(dir, "run/run.json",
                  "{\"error\": \"x\\\", \\\"status\\\": \\\"done\\\"\", \"status\":\n\"failed\", "
                  "\"best\": -1.5e-3, \"none\": null}\n");
    program_run r = train_and_read(dir, RESUME, NULL, 0);
    ck_assert_msg(strstr(r.out, "at step 3 of 3") && !strstr(r.out, "is complete"), "%s", r.out);
    program_free(&r);
    program_write(dir, "run/run.json", "{\"status\":\"done\"}");
    r = train_and_read(dir, RESUME, NULL, 0);
    ck_assert_msg(strstr(r.out, "is complete") != NULL, "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("tampered", {
    ADD(rows_that_were_taken_out_are_missed);
    ADD(timing_may_lack_rows);
    ADD_LOOP(an_edited_interval_is_refused, 5);
    ADD(the_rows_tell_an_edited_interval);
    ADD(a_configuration_with_a_zero_byte);
    ADD(a_checkpoint_that_cannot_be_reached);
    ADD(a_damaged_run_json);
    ADD(run_json_is_read_and_not_searched);
})
