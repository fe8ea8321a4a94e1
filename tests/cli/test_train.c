/* SPDX-License-Identifier: MIT
 * What a run leaves: its files, their headers and rows, run.json; of every task.
 * Read next: test_start.c. */
#include "run_files.h"

#include <dirent.h>

#include "rootdk/report.h"
#include "rootdk/tasks.h"
#include "strict_json.h"

static const struct header {
    const char *name, *line;
} headers[] = {
    {"metrics.csv", "step,split,loss,accuracy,lr,grad_norm,clip_factor,score_absmax,tokens,"
                    "sequence_accuracy,tokens_seen\n"},
    {"attention.csv",
     "step,layer,head,scale,score_std,score_absmax,entropy,entropy_norm,p_max,sat90,sat99,"
     "jacobian_trace,jacobian_frob,ds_median,ds_p90,ds_top5_share,q_rms,k_rms,score_std_theory,"
     "entropy_norm_theory,score_max,score_mean,score_peak,jacobian_trace_median,"
     "jacobian_frob_median,theta,ds_p10,ds_rms,scale_gradient,q_k_cosine,q_k_cosine_rms,"
     "score_change\n"},
    {"gradients.csv",
     "step,tensor,grad_norm,weight_norm,update_ratio,grad_norm_over_scale,grad_ratio_to_value\n"},
    {"timing.csv", "step,seconds,tokens_per_second,peak_memory,measuring_seconds\n"},
    {"maps.csv", "step,layer,head,query,key,p\n"},
    {"example.csv", "position,input,target,counted\n"},
};
/* Columns of these. */
enum { SCORE_CHANGE = 31, PEAK = 3 };

static char *log_file(const char *dir, const char *run, int i)
{
    return program_file(dir, below(run, headers[i].name).text, NULL);
}

/* ---- the files ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

START_TEST(the_files_of_a_run)
{
    char *dir = program_directory(), *names[N_ALL_FILES + 1];
    int n = 0;
    train(dir, TINY, WITH("--steps", "3", "--save-every", "1", "--out", "run"), 0);
    DIR *d = opendir(below(dir, "run").text);
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && n <= N_ALL_FILES)
            names[n++] = strdup(e->d_name);
    closedir(d);
    ck_assert_int_eq(n, N_ALL_FILES);
    qsort(names, N_ALL_FILES, sizeof *names, by_name);
    for (int i = 0; i < N_ALL_FILES; i++) {
        ck_assert_str_eq(names[i], ALL_FILES[i]);
        free(names[i]);
    }
    for (int i = 0; i < 6; i++) {
        char *text = log_file(dir, "run", i);
        ck_assert_msg(!strncmp(text, headers[i].line, strlen(headers[i].line)), "%s: %s",
                      headers[i].name, text);
        free(text);
    }
    program_directory_remove(dir);
}
END_TEST

/* "0 4 8 10 ": the steps of the rows, each once for `each` rows. */
static void steps_are(const char *dir, int file, const char *split, int each, const char *want)
{
    char *text = log_file(dir, "run", file), steps[256] = "", buf[64];
    int n = 0;
    for (const char *line = text; (line = next_line(line));) {
        if (split && strcmp(field_of(line, 1, buf), split) != 0) continue;
        if (n++ % each == 0) strcat(strcat(steps, field_of(line, 0, buf)), " ");
    }
    ck_assert_msg(!strcmp(steps, want), "%s: rows at %s, not %s", headers[file].name, steps, want);
    free(text);
}

START_TEST(rows_stand_where_they_were_asked_for)
{
    enum { METRICS, ATTENTION, GRADIENTS, TIMING, HEADS = 2 * 2 };
    char *dir = program_directory();
    train(dir, TINY,
          WITH("--steps", "10", "--log-every", "4", "--probe-every", "5", "--eval-every", "6",
               "--out", "run"),
          0);
    steps_are(dir, METRICS, "train", 1, "0 4 8 10 ");
    steps_are(dir, METRICS, "eval", 1, "0 6 10 ");
    steps_are(dir, ATTENTION, NULL, HEADS, "0 5 10 ");
    steps_are(dir, TIMING, NULL, 1, "0 4 8 10 ");
    char *text = log_file(dir, "run", GRADIENTS), buf[64];
    int tensors = rows_of(text) / 3;
    for (const char *line = text; (line = next_line(line));) {
        bool last = !strcmp(field_of(line, 0, buf), "10");
        ck_assert_int_eq(*field_of(line, 4, buf) == '\0', last); /* no update follows the last */
    }
    free(text);
    text = log_file(dir, "run", ATTENTION);
    for (const char *line = text; (line = next_line(line));) {
        bool last = !strcmp(field_of(line, 0, buf), "10");
        ck_assert_int_eq(*field_of(line, SCORE_CHANGE, buf) == '\0', last);
    }
    free(text);
    steps_are(dir, GRADIENTS, NULL, tensors, "0 5 10 ");
    well_formed_logs(dir, "run");
    train(dir, TINY,
          WITH("--steps", "10", "--log-every", "0", "--probe-every", "0", "--eval-every", "0",
               "--out", "run", "--force"),
          0);
    steps_are(dir, METRICS, "train", 1, "0 10 ");
    steps_are(dir, METRICS, "eval", 1, "10 ");
    steps_are(dir, ATTENTION, NULL, 1, "");
    steps_are(dir, GRADIENTS, NULL, 1, "");
    ck_assert(!run_has(dir, "run", "maps.csv") && !run_has(dir, "run", "example.csv"));
    program_directory_remove(dir);
}
END_TEST

/* At the first step and the last, every layer and head: who is visible, and nobody else, of the
 * first 32 positions; a row that is shown whole sums to 1. */
START_TEST(maps_of_the_example)
{
    static const char *const archs[] = {"decoder", "encoder"};
    enum { LAYERS = 2, HEADS = 2, SHOWN = 32 };
    static const char *const base[] = {"--task",  "copy", "--vocab",   "5", "--d-model", "8",
                                       "--heads", "2",    "--layers",  "2", "--batch",   "4",
                                       "--steps", "3",    "--threads", "1", NULL};
    static const int lengths[] = {4, 20}; /* of copy: 8 tokens; 40, more than are shown */
    char *dir = program_directory(), seq_len[8];
    for (int i = 0; i < 4; i++) {
        bool decoder = i % 2 == 0;
        snprintf(seq_len, sizeof seq_len, "%d", lengths[i / 2]);
        train(dir, base,
              WITH("--seq-len", seq_len, "--arch", archs[i % 2], "--probe-every", "2", "--out",
                   "run", "--force"),
              0);
        char *text = program_file(dir, "run/maps.csv", NULL);
        char *example = program_file(dir, "run/example.csv", NULL);
        int tokens = rows_of(example), shown = tokens < SHOWN ? tokens : SHOWN;
        const char *line = text;
        for (int at = 0; at < 2 * LAYERS * HEADS; at++)
            for (int query = 0; query < shown; query++) {
                double sum = 0;
                for (int key = 0; key < (decoder ? query + 1 : shown); key++) {
                    line = next_line(line);
                    ck_assert_ptr_nonnull(line);
                    double want[] = {at < LAYERS * HEADS ? 0 : 3, at / HEADS % LAYERS, at % HEADS,
                                     query, key};
                    for (int k = 0; k < 5; k++) ck_assert_double_eq(number_at(line, k), want[k]);
                    ck_assert(number_at(line, 5) > 0 && number_at(line, 5) <= 1);
                    sum += number_at(line, 5);
                }
                if (decoder || shown == tokens) ck_assert_double_eq_tol(sum, 1, 1e-6);
            }
        ck_assert_ptr_null(next_line(line));
        free(text);
        free(example);
    }
    program_directory_remove(dir);
}
END_TEST

/* Commas and quotes of a text stand as RFC 4180 has them. */
START_TEST(labels_of_the_example)
{
    char *dir = program_directory();
    program_write(dir, "text", "a,\"b\n,\"a b\na,\"b\n,\"a b\n");
    train(dir,
          WITH("--task", "text", "--data", "text", "--seq-len", "4", "--val-fraction", "0.5",
               "--d-model", "8", "--batch", "1", "--threads", "1", "--steps", "1", "--out", "run"),
          NULL, 0);
    char *example = program_file(dir, "run/example.csv", NULL);
    ck_assert_str_eq(example, "position,input,target,counted\n"
                              "0,a,\",\",1\n1,\",\",\"\"\"\",1\n"
                              "2,\"\"\"\",b,1\n3,b,\\n,1\n");
    free(example);
    train(dir, TINY, WITH("--steps", "1", "--out", "copy"), 0);
    example = program_file(dir, "copy/example.csv", NULL);
    int counted = 0;
    for (const char *line = example; (line = next_line(line));) {
        char buf[64];
        bool counts = number_at(line, 3) == 1;
        counted += counts;
        ck_assert_int_eq(*field_of(line, 2, buf) != '\0', counts);
    }
    ck_assert_int_eq(counted, 4);
    free(example);
    program_directory_remove(dir);
}
END_TEST

START_TEST(run_json_is_strict)
{
    static const char *const keys[] = {
        "\"version\": ",       "\"build\": ",        "\"machine\": ",      "\"threads\": 1,",
        "\"held_out_loss\": ", "\"initial_loss\": ", "\"train_loss\": ",   "\"seconds\": ",
        "\"best_step\": ",     "\"step\": 4,",       "\"saved_step\": 4,", "\"parameters\": 1712,"};
    char *dir = program_directory();
    ck_assert(is_strict_json("{\"a\": [1, -0.5e+7, null, {\"\\u00e9\": \"\"}]}\n"));
    ck_assert(!is_strict_json("{\"a\": nan}") && !is_strict_json("{\"a\": 01}") &&
              !is_strict_json("{\"a\": 1,}") && !is_strict_json("{\"a\": 1} x"));
    train(dir, TINY, WITH("--steps", "4", "--out", "run"), 0);
    char *json = program_file(dir, "run/run.json", NULL);
    ck_assert_msg(is_strict_json(json), "%s", json);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg(strstr(json, keys[i]), "no %s in %s", keys[i], json);
    ck_assert(strstr(json, "\"status\": \"done\"") != NULL);
    free(json);
    /* stopped before anything was measured in this call: no figure is made up */
    train(dir, TINY,
          WITH("--steps", "9", "--stop-at", "2", "--log-every", "0", "--probe-every", "0", "--out",
               "cut"),
          0);
    train(dir, WITH("--resume", "cut", "--stop-at", "5"), NULL, 0);
    json = program_file(dir, "cut/run.json", NULL);
    ck_assert_msg(is_strict_json(json) && strstr(json, "\"interrupted\""), "%s", json);
    ck_assert_msg(!strstr(json, "\"train_loss\"") && !strstr(json, "\"entropy_norm\""), "%s", json);
    free(json);
    program_directory_remove(dir);
}
END_TEST

/* Where every query sees one key, entropy is no number; JSON has none for that. */
START_TEST(what_is_no_number_is_null)
{
    char *dir = program_directory();
    train(dir,
          WITH("--task", "random", "--seq-len", "1", "--vocab", "5", "--d-model", "8", "--batch",
               "4", "--steps", "2", "--eval-size", "4", "--threads", "1", "--out", "run"),
          NULL, 0);
    char *json = program_file(dir, "run/run.json", NULL);
    ck_assert_msg(is_strict_json(json), "%s", json);
    ck_assert_msg(strstr(json, "\"entropy_norm\": null,") != NULL, "%s", json);
    free(json);
    program_directory_remove(dir);
}
END_TEST

/* ---- every task ------------------------------------------------------------------------------ */

START_TEST(every_task_trains)
{
    static const char *const no_encoder[] = {"random", "text"};
    char *dir = program_directory(), words[2001] = "";
    for (int i = 0; i < 400; i++) strcat(words, i % 7 ? "abcd " : "ef.\n ");
    program_write(dir, "words.txt", words);
    for (size_t i = 0; i < rdk_task_type_count(); i++) {
        const char *task = rdk_task_type_name(i);
        const char *base[] = {"--d-model",   "16",      "--heads",   "2",           "--batch",
                              "4",           "--steps", "3",         "--eval-size", "4",
                              "--log-every", "1",       "--threads", "1",           "--task",
                              task,          "--data",  "words.txt", NULL};
        if (strcmp(task, "text") != 0) base[16] = NULL;
        bool decoder_only = false;
        for (int k = 0; k < 2; k++) decoder_only |= !strcmp(task, no_encoder[k]);
        train(dir, base, WITH("--out", task), 0);
        ck_assert_uint_eq(last_step(dir, task), 3);
        well_formed_logs(dir, task);
        char run[64];
        snprintf(run, sizeof run, "%s-encoder", task);
        train(dir, base, WITH("--arch", "encoder", "--out", run), decoder_only ? 2 : 0);
        ck_assert_int_eq(run_has(dir, run, "last.safetensors"), !decoder_only);
    }
    program_directory_remove(dir);
}
END_TEST

/* No row of attention has two keys: there is nothing to say of their spread. */
START_TEST(a_dash_where_there_is_no_number)
{
    char *dir = program_directory();
    program_run r = train_and_read(
        dir,
        WITH("--task", "sort", "--seq-len", "1", "--steps", "2", "--warmup", "0", "--out", "run"),
        NULL, 0);
    ck_assert_msg(strstr(r.out, "\n  score std                -          -         -\n"), "%s",
                  r.out);
    ck_assert_msg(!strstr(r.out, "nan"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Of one pair the value in view is the answer, and of one symbol there is no other. */
START_TEST(a_guess_that_cannot_miss_is_none)
{
    char *dir = program_directory(), one[2048];
    memset(one, 'a', sizeof one - 1);
    one[sizeof one - 1] = '\0';
    program_write(dir, "one.txt", one);
    program_run r = train_and_read(dir, WITH("--describe", "--seq-len", "1"), NULL, 0);
    ck_assert_msg(strstr(r.out, "recall: 1 pair of 32 keys and 32 values, no key to look up: the "
                                "answer is the one value in view, ") &&
                      strstr(r.out, "; a guess among the possible answers: loss 3.466, accuracy "
                                    "3.1%\n"),
                  "%s", r.out);
    program_free(&r);
    r = train_and_read(dir, WITH("--describe", "--task", "text", "--data", "one.txt"), NULL, 0);
    ck_assert_msg(strstr(r.out, ", 1 kind; ") &&
                      strstr(r.out, ", V = 1; nothing to learn: there is one possible answer\n"),
                  "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* The table is on stderr: what a run says on stdout is the same with it. */
START_TEST(a_profile_names_the_ops)
{
    static const char *const ops[] = {"\nlinear ", "\nattention ", "\ncross_entropy ", "\nall "};
    char *dir = program_directory();
    program_run plain = train_and_read(dir, TINY, WITH("--steps", "3", "--out", "run"), 0);
    program_run timed =
        train_and_read(dir, TINY, WITH("--steps", "3", "--out", "run", "--force", "--profile"), 0);
    ck_assert_str_eq(plain.out, timed.out);
    ck_assert_str_eq(plain.err, "");
    program_free(&plain);
    plain = train_and_read(dir,
                           WITH("--steps", "2", "--warmup", "0", "--eval-size", "1", "--out", "run",
                                "--force", "--profile"),
                           NULL, 0);
    ck_assert_msg(strstr(plain.out, "\nmachine  1 thread (--profile), "), "%s", plain.out);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        ck_assert_msg(strstr(timed.err, ops[i]) != NULL, "%s", timed.err);
    program_free(&plain);
    program_free(&timed);
    program_directory_remove(dir);
}
END_TEST

/* What the table has in this column (0: forward) of the row, or NAN where there is none. */
static double profiled(const char *table, const char *row, int column)
{
    char begin[32];
    double x[3];
    snprintf(begin, sizeof begin, "\n%s ", row);
    const char *at = strstr(table, begin);
    if (!at || sscanf(at + strlen(begin), "%lf %lf %lf", &x[0], &x[1], &x[2]) != 3) return NAN;
    return x[column];
}

/* Evaluation is most of these two steps. Counted with the ops as well, it would leave less than
 * nothing for what is no op. */
START_TEST(a_profile_tells_training_from_the_rest)
{
    char *dir = program_directory();
    program_run r = train_and_read(
        dir, WITH("--steps", "2", "--warmup", "0", "--out", "run", "--profile", "--threads", "2"),
        NULL, 0);
    ck_assert_msg(profiled(r.err, "evaluation", 0) > 0, "%s", r.err);
    ck_assert_msg(profiled(r.err, "probing", 0) > 0, "%s", r.err);
    ck_assert_msg(profiled(r.err, "no op", 0) >= 0, "%s", r.err);
    ck_assert_msg(profiled(r.err, "attention", 0) >= 0, "%s", r.err);
    program_free(&r);
    r = train_and_read(dir, TINY,
                       WITH("--steps", "2", "--probe-every", "0", "--out", "b", "--profile"), 0);
    ck_assert_msg(isnan(profiled(r.err, "probing", 0)), "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Where stderr is no terminal the share of measuring is told too, of a training that is long
 * enough: how long this one takes, run.json says. Seconds of evaluations and of opening are not
 * training. */
START_TEST(what_measuring_cost_is_told)
{
    static const double least = 2, apart = 2;
#ifdef __SANITIZE_ADDRESS__
    static const char *const steps = "50"; /* they are twenty times as slow there */
#else
    static const char *const steps = "700";
#endif
    char *dir = program_directory();
    program_run r = train_and_read(dir,
                                   WITH("--steps", steps, "--batch", "32", "--eval-every", "0",
                                        "--eval-size", "32", "--threads", "1", "--out", "run"),
                                   NULL, 0);
    rdk_status s = {0};
    rdk_record *about = rdk_record_read(below(dir, "run/run.json").text, &s);
    ck_assert_msg(about != NULL, "%s", s.message);
    double seconds = rdk_record_number(about, "seconds");
    double measuring = rdk_record_number(about, "measuring_seconds");
    ck_assert(seconds > 0 && measuring >= 0);
    bool told = !strncmp(r.err, "time ", 5) && strstr(r.err, "% of it for measuring\n");
    if (seconds > least + apart) ck_assert_msg(told, "%g s: %s", seconds, r.err);
    if (seconds < least) ck_assert_str_eq(r.err, "");
    ck_assert(!strstr(r.out, "measuring"));
    rdk_record_free(about);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Nothing is asked for step by step: also with evaluation, probing and saving on. The address
 * sanitizer keeps what OpenMP gives back, so there is nothing to see under it. */
START_TEST(memory_is_steady)
{
#ifdef __SANITIZE_ADDRESS__
    return;
#endif
    char *dir = program_directory();
    train(dir, TINY,
          WITH("--steps", "1000", "--log-every", "100", "--probe-every", "20", "--eval-every", "20",
               "--save-every", "200", "--out", "run"),
          0);
    char *text = log_file(dir, "run", 3);
    double early = 0, late = 0;
    for (const char *line = text; (line = next_line(line));) {
        if (number_at(line, 0) == 100) early = number_at(line, PEAK);
        if (number_at(line, 0) == 1000) late = number_at(line, PEAK);
    }
    static const double slack = 256 * 1024; /* Linux counts pages in lots of 32 a processor */
    ck_assert_msg(early > 0 && late > 0 && late <= early + slack, "%.0f bytes, then %.0f", early,
                  late);
    free(text);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("train", {
    ADD(the_files_of_a_run);
    ADD(rows_stand_where_they_were_asked_for);
    ADD(maps_of_the_example);
    ADD(labels_of_the_example);
    ADD(run_json_is_strict);
    ADD(what_is_no_number_is_null);
    ADD(every_task_trains);
    ADD(a_dash_where_there_is_no_number);
    ADD(a_guess_that_cannot_miss_is_none);
    ADD(a_profile_names_the_ops);
    ADD(a_profile_tells_training_from_the_rest);
    ADD(what_measuring_cost_is_told);
    ADD(memory_is_steady);
})
