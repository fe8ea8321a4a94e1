/* SPDX-License-Identifier: MIT
 * The figures of a run at its start are of the model as it was drawn, and those that theory has;
 * and where nothing can be learned they stay. */
#include "run_files.h"

/* Columns. */
enum { LOSS = 2, LR = 4, GRAD_NORM = 5, ENTROPY_NORM = 7, ENTROPY_THEORY = 19 };

static char *table(const char *dir, const char *run, const char *name)
{
    return program_file(dir, below(run, name).text, NULL);
}

/* Row 0 is of the model as it was drawn: its loss does not know the learning rate, row 1's does. */
START_TEST(row_0_comes_before_the_first_update)
{
    enum { SYMBOLS = 32 };
    static const char *const rates[] = {"0.001", "0.1"};
    static const char *const base[] = {
        "--task",      "random", "--vocab",   "32", "--seq-len", "8",  "--batch", "64",
        "--eval-size", "8",      "--steps",   "2",  "--d-model", "16", "--init",  "gpt2",
        "--log-every", "1",      "--threads", "1",  "--warmup",  "0",  NULL};
    char *dir = program_directory(), *text[2];
    const char *row[2];
    for (int i = 0; i < 2; i++) {
        train(dir, base, WITH("--lr", rates[i], "--out", rates[i]), 0);
        text[i] = table(dir, rates[i], "metrics.csv");
        row[i] = next_line(text[i]);
        ck_assert_double_eq_tol(number_at(row[i], LOSS), log(SYMBOLS), 0.05);
        ck_assert_double_eq(number_at(row[i], LR), strtod(rates[i], NULL));
    }
    ck_assert(number_at(row[0], LOSS) == number_at(row[1], LOSS));
    ck_assert(number_at(row[0], GRAD_NORM) == number_at(row[1], GRAD_NORM));
    for (int i = 0; i < 2; i++) row[i] = next_line(next_line(row[i])); /* an eval row between */
    ck_assert(number_at(row[0], LOSS) != number_at(row[1], LOSS));
    free(text[0]);
    free(text[1]);
    program_directory_remove(dir);
}
END_TEST

/* The held-out loss of the model as it was drawn does not know what dropout is set to. */
START_TEST(evaluation_drops_nothing)
{
    static const char *const rates[] = {"0", "0.5"};
    char *dir = program_directory(), *text[2];
    const char *train_row[2], *eval_row[2];
    for (int i = 0; i < 2; i++) {
        train(dir, TINY, WITH("--steps", "1", "--dropout", rates[i], "--out", rates[i]), 0);
        text[i] = table(dir, rates[i], "metrics.csv");
        train_row[i] = next_line(text[i]);
        eval_row[i] = next_line(train_row[i]);
    }
    ck_assert(number_at(train_row[0], LOSS) != number_at(train_row[1], LOSS));
    ck_assert(number_at(eval_row[0], LOSS) == number_at(eval_row[1], LOSS));
    free(text[0]);
    free(text[1]);
    program_directory_remove(dir);
}
END_TEST

/* On independent tokens every head is within 0.02 of the theory column, and that of the entropy of
 * a Gaussian row with this variance under a causal mask of 64 positions. Of additive scores within
 * 0.03: their variance goes with |w|^2 of the head, which is drawn as well and varies by 18 %. */
START_TEST(entropy_at_the_start_is_as_predicted)
{
    static const struct {
        const char *scale;
        double entropy_norm;
        const char *attention;
    } cases[] = {{"none", 0.1446, "dot"},
                 {"sqrt", 0.8614, "dot"},
                 {"dk", 0.9976, "dot"},
                 {"qknorm", 0.8614, "dot"},
                 {"auto", 0.9573, "additive"}};
    static const char *const base[] = {"--task",  "random", "--seq-len",   "64", "--steps",   "1",
                                       "--batch", "16",     "--eval-size", "4",  "--threads", "2",
                                       "--out",   "run",    NULL};
    char *dir = program_directory();
    train(dir, base, WITH("--attention", cases[_i].attention, "--scale", cases[_i].scale), 0);
    char *text = table(dir, "run", "attention.csv");
    int rows = 0;
    double allowed = !strcmp(cases[_i].attention, "dot") ? 0.02 : 0.03;
    for (const char *line = text; (line = next_line(line)) && number_at(line, 0) == 0;) {
        double measured = number_at(line, ENTROPY_NORM), theory = number_at(line, ENTROPY_THEORY);
        ck_assert_msg(fabs(measured - theory) < allowed, "%s: %.4f, predicted %.4f",
                      cases[_i].scale, measured, theory);
        ck_assert_msg(fabs(measured - cases[_i].entropy_norm) < allowed, "%s: %.4f, table %.4f",
                      cases[_i].scale, measured, cases[_i].entropy_norm);
        rows++;
    }
    ck_assert_int_eq(rows, 4);
    free(text);
    program_directory_remove(dir);
}
END_TEST

/* The leak detector: independent tokens cannot be foreseen, by any model. */
START_TEST(random_tokens_stay_random)
{
    enum { SYMBOLS = 8 };
    char *dir = program_directory(), buf[64];
    train(dir,
          WITH("--task", "random", "--vocab", "8", "--seq-len", "12", "--d-model", "16", "--heads",
               "2", "--batch", "16", "--threads", "1"),
          WITH("--scale", "none", "--lr", "1e-2", "--steps", "150", "--eval-every", "15",
               "--eval-size", "1024", "--out", "run"),
          0);
    char *text = table(dir, "run", "metrics.csv");
    int rows = 0;
    for (const char *line = text; (line = next_line(line));) {
        if (strcmp(field_of(line, 1, buf), "eval") != 0) continue;
        ck_assert_double_ge(number_at(line, LOSS), log(SYMBOLS) - 0.01);
        rows++;
    }
    ck_assert_int_eq(rows, 11);
    free(text);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("the start of a run", {
    ADD(row_0_comes_before_the_first_update);
    ADD(evaluation_drops_nothing);
    ADD_LOOP(entropy_at_the_start_is_as_predicted, 5);
    ADD(random_tokens_stay_random);
})
