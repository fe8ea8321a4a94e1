/* SPDX-License-Identifier: MIT
 * What the files of src/run share: the state of one run.
 *
 * Invariant: everything that decides the weights is (config, step); nothing else is carried from
 * one step to the next but weights and moments. So a run can be cut and continued anywhere. Read
 * next: train.c, the loop; step.c, one update. */
#ifndef RDK_RUN_TRAINER_H
#define RDK_RUN_TRAINER_H

#include <rootdk/run.h>

#include "csv.h"
#include "rundir.h"
#include "tensorboard.h"

/* Sequences side by side: [n, len] each. */
typedef struct rdk_batch {
    size_t n, len;
    int32_t *input, *target, *length;
    /* [n, len], by the last forward pass and where a target counts; elsewhere what was there */
    rdk_real *nll; /* loss of each target */
    int32_t *best; /* most probable token there */
} rdk_batch;

/* Averages over the counted targets of a pass. */
typedef struct rdk_score {
    double loss, accuracy, sequence_accuracy;
    uint64_t counted; /* targets */
    uint64_t tokens;  /* inputs, padding left out */
} rdk_score;

/* Where the statistics of attention of one whole step are kept; see measure.c. */
typedef struct rdk_measure rdk_measure;

/* The held-out sequences that every probed step looks at, before and after its update; see
 * watch.c. */
typedef struct rdk_watch rdk_watch;

/* What is seen at a step, before its update. */
typedef struct rdk_step_report {
    rdk_score pass;
    double lr, grad_norm, clip_factor;
    double score_absmax; /* over all layers and heads; NAN where not measured */
} rdk_step_report;

enum { RDK_ISA_TEXT = 128 };

/* Where the seconds of this call go, to tell what measuring costs; see cost.c. */
typedef struct rdk_cost {
    double plain, measured; /* in gradients, without and with statistics */
    double plain_flops;     /* of all that plain is the time of */
    uint64_t plain_steps, measured_steps;
    double apart; /* in what is done for measuring alone */
} rdk_cost;

/* What a call does beside training, and how much of what the tape counts is its; see profile.c. */
typedef enum { RDK_APART_EVALUATION, RDK_APART_PROBING, RDK_APARTS } rdk_apart;
typedef struct rdk_profile {
    double begun, seconds[RDK_APARTS];
    double forward[RDK_PROFILE_OPS]; /* of all of them, op by op */
} rdk_profile;

typedef struct rdk_trainer {
    rdk_config config;
    const rdk_run_io *io;
    rdk_status *status;
    rdk_task *task;
    rdk_model *model;
    rdk_optimizer *optimizer;
    size_t groups;        /* that the sequences of an update are cut into; see passes.c */
    rdk_model **replicas; /* [groups - 1]: where the others than the first leave their gradients */
    size_t workers;       /* threads that a group may meet */
    rdk_tape **tapes;     /* [workers]; the first also for what is not cut */
    rdk_batch batch;      /* of one update: accum * batch sequences */
    rdk_batch eval_batch; /* of a round of evaluation */
    rdk_measure *measure;
    rdk_watch *watch;                /* NULL where nothing is probed */
    double *grad_norm, *weight_norm; /* [param_count] before the update of a probed step */
    double *update_norm;             /* [param_count] of the last update */
    rdk_real *score_max;             /* [workers, layers, heads]; the first worker's: of the last
                                      * gradients. NULL: no --qk-clip */
    /* what QK-clip did since step 0: updates in which it shrank a head; most heads in one; unknown
     * where a run goes on from a state that run.json does not speak of */
    uint64_t clip_updates, clip_most;
    bool clip_unknown;
    rdk_theory *theory;              /* [layers]: what attention should show at the start */
    struct rdk_layer_figures *layer; /* [layers] for the verdict (sentences.h), where they differ */
    rdk_rundir directory;
    rdk_csv metrics, attention, gradients, timing, maps;
    rdk_tensorboard tensorboard;
    uint64_t step;         /* updates done */
    uint64_t tokens_seen;  /* input tokens trained on */
    double best_loss;      /* lowest held-out loss so far; INFINITY before the first */
    uint64_t best_step;    /* of a killed run: perhaps one still to come */
    const char *best_name; /* the file that holds it, until rdk_best_settle; NULL: none */
    bool saved;            /* is there a last.safetensors? */
    uint64_t saved_step;   /* of which step, where there is */
    double started;        /* rdk_seconds at the start of this call */
    uint64_t started_step, started_tokens;
    char isa[RDK_ISA_TEXT]; /* of all calls so far: "avx512, base from step 7" */
    rdk_cost cost;
    rdk_profile profile;
    double progress_drawn; /* when the progress bar was drawn last */
} rdk_trainer;

/* ---- setup.c: everything that is made before the first step ---------------------------------- */

/* Opens the task and resolves the configuration; *task is the caller's to close. */
bool rdk_setup_task(rdk_config *c, rdk_task **task, rdk_status *s);
/* Model, optimizer, tape, batches for r->config (with its status and io set). */
bool rdk_setup_trainer(rdk_trainer *r);
void rdk_trainer_free(rdk_trainer *r);
/* The mean over layers of what theory predicts for the start; that of layer 0 where all are alike.
 */
rdk_theory rdk_trainer_theory(const rdk_trainer *r);
/* Parameters that are trained. */
uint64_t rdk_trainable_count(rdk_model *m);

/* ---- resolve.c ------------------------------------------------------------------------------- */

/* Elements of the matrices of such a model: its size, or hardly less. */
double rdk_matrix_elements(const rdk_model_config *m);

/* ---- batch.c --------------------------------------------------------------------------------- */

bool rdk_batch_make(rdk_batch *b, size_t n, size_t len, rdk_status *s);
void rdk_batch_free(rdk_batch *b);
void rdk_batch_train(rdk_batch *b, const rdk_task *task, uint64_t seed, uint64_t step);
/* The n held-out sequences from `first` on, at most b->n of them; the rest of b is empty. */
void rdk_batch_eval(rdk_batch *b, const rdk_task *task, uint64_t seed, uint64_t first, size_t n);
uint64_t rdk_batch_counted(const rdk_batch *b);
rdk_asked rdk_batch_asked(const rdk_batch *b);
/* From nll and best. No counted target: loss and accuracies 0. */
rdk_score rdk_batch_score(const rdk_batch *b);

/* ---- passes.c -------------------------------------------------------------------------------- */

enum { RDK_MOST_GROUPS = 8 };
/* Groups that the sequences of an update are cut into. */
size_t rdk_group_count(const rdk_config *c);
/* Sequences that go through the model at once: as many as keep the widest tensor of a pass in the
 * nearer caches, and no more than a micro-batch. */
size_t rdk_pass_sequences(const rdk_config *c);

/* One pass: n sequences from `first` on, on this worker's tape. */
typedef struct rdk_pass_at {
    size_t first, n;
    size_t worker, group;
    rdk_tape *tape;
    rdk_status *status; /* of this group */
} rdk_pass_at;
typedef bool (*rdk_pass_fn)(rdk_trainer *r, const rdk_pass_at *at, void *context);
/* Calls fn for all passes over n sequences in so many groups (at most RDK_MOST_GROUPS); groups may
 * run at the same time, so fn writes only what belongs to its sequences, group or worker. False:
 * some fn was, and r->status is that of the first group where one was. */
bool rdk_passes(rdk_trainer *r, size_t n, size_t groups, rdk_pass_fn fn, void *context);

/* ---- loss.c ---------------------------------------------------------------------------------- */

/* The loss of these sequences of b through m, divided by denominator, on their tape; fills what
 * belongs to them of nll and best, where a target counts. NULL: the tape has failed. */
rdk_tensor *rdk_batch_loss(rdk_batch *b, rdk_model *m, const rdk_pass_at *at, double denominator,
                           const rdk_model_probe *probe);

/* ---- step.c ---------------------------------------------------------------------------------- */

/* Forward and backward over the batch of update r->step; gradients in the model. measuring: fills
 * r->measure. False: the run failed or diverged (r->status; RDK_ENONFINITE names the culprit). */
bool rdk_step_gradients(rdk_trainer *r, bool measuring, rdk_step_report *report);
/* Records that this loss is not finite, naming the layer, head and op where the recorded pass on
 * the tape first was not; or why the tape itself failed. Return false. */
bool rdk_fail_on_loss(const rdk_trainer *r, const rdk_pass_at *at, const char *what, double loss);
bool rdk_fail_with_tape(const rdk_pass_at *at);
/* The update from those gradients; r->step advances. */
void rdk_step_update(rdk_trainer *r, const rdk_step_report *report);

/* ---- evaluate.c ------------------------------------------------------------------------------ */

/* Stopped: a signal came between two batches; nothing is known then, and nothing changed. Failed:
 * r->status tells (RDK_ENONFINITE names the culprit). */
typedef enum { RDK_EVAL_DONE, RDK_EVAL_FAILED, RDK_EVAL_STOPPED } rdk_evaluation;
rdk_evaluation rdk_evaluate(rdk_trainer *r, rdk_score *pass);
/* An empty tape for a pass that is not for training: no dropout, and recorded only where asked. Who
 * asks for none sets the tape to record again behind the pass. */
void rdk_evaluate_begin(rdk_tape *t, bool recording);

/* ---- measure.c ------------------------------------------------------------------------------- */

rdk_measure *rdk_measure_new(const rdk_trainer *r, rdk_status *s);
void rdk_measure_free(rdk_measure *m);
/* The probe to hand to the model for a pass of this worker whose first sequence is `first`; then,
 * before its backward, which makes an end of queries and keys, take its n sequences in. Workers do
 * so side by side. */
const rdk_model_probe *rdk_measure_probe(rdk_measure *m, size_t worker, size_t first);
void rdk_measure_take(rdk_measure *m, size_t worker, size_t first, size_t n);
/* After the last pass; then the figures of that update are at hand. */
void rdk_measure_finish(rdk_measure *m);
/* The statistics of the rows of a head in that update: of row i < rdk_measure_rows, sequence by
 * sequence. */
size_t rdk_measure_rows(const rdk_measure *m);
const rdk_attention_row *rdk_measure_row(const rdk_measure *m, size_t layer, size_t head, size_t i);
const rdk_head_figures *rdk_measure_head(const rdk_measure *m, size_t layer, size_t head);
double rdk_measure_score_absmax(const rdk_measure *m);
/* Means over heads, for the table and the words: of all layers, or one. */
enum { RDK_ALL_LAYERS = -1 };
rdk_head_figures rdk_measure_mean(const rdk_measure *m, int layer);
/* |dW_Q| / |dW_V|, mean over layers, of the gradients in the model; NAN where a W_V has none. */
double rdk_measure_query_value_ratio(const rdk_trainer *r);

/* ---- rows.c: which steps have rows ----------------------------------------------------------- */

bool rdk_logs_at(const rdk_config *c, uint64_t step);
bool rdk_probes_at(const rdk_config *c, uint64_t step);
bool rdk_evaluates_at(const rdk_config *c, uint64_t step);
/* The rows of one file before r->step, in order; begins with .r and .file set. An rdk_csv_next. */
typedef enum {
    RDK_ROWS_METRICS,
    RDK_ROWS_ATTENTION,
    RDK_ROWS_GRADIENTS,
    RDK_ROWS_MAPS
} rdk_log_file;
typedef struct rdk_log_rows {
    const rdk_trainer *r;
    rdk_log_file file;
    uint64_t step;
    size_t row;
} rdk_log_rows;
bool rdk_log_rows_next(void *rows, char key[RDK_CSV_KEY]);

/* ---- watch.c --------------------------------------------------------------------------------- */

rdk_watch *rdk_watch_new(const rdk_trainer *r, rdk_status *s);
void rdk_watch_free(rdk_watch *w);
const rdk_batch *rdk_watch_batch(const rdk_watch *w);
/* A pass before the update of a probed step, and one after it. False: it failed (r->status). */
bool rdk_watch_before(rdk_trainer *r);
bool rdk_watch_after(rdk_trainer *r);
/* The head as it was before the update. */
rdk_head_view rdk_watch_head(const rdk_trainer *r, size_t layer, size_t head);
/* The learned factor on its scores and the score of its sink then; see rdk_model_head_gain. */
double rdk_watch_gain(const rdk_watch *w, size_t layer, size_t head);
double rdk_watch_sink(const rdk_watch *w, size_t layer, size_t head);
/* Root mean square of how far the update moved the scores. */
double rdk_watch_change(const rdk_watch *w, size_t layer, size_t head);

/* ---- maps.c: maps.csv and example.csv; nothing where nothing is probed ----------------------- */

/* Rows of one head at one step; r->watch is there. */
size_t rdk_maps_rows_of_head(const rdk_trainer *r);
/* Rows of this step, from the pass before its update. */
bool rdk_maps_rows(rdk_trainer *r, uint64_t step);
bool rdk_maps_example(const rdk_trainer *r);

/* ---- cost.c: what measuring costs ------------------------------------------------------------ */

/* The gradients of the batch at hand took so long, with statistics or without. */
void rdk_cost_gradients(rdk_trainer *r, bool measuring, double seconds);
/* Seconds of this call that were spent on measuring; NAN where no step went without it. */
double rdk_cost_seconds(const rdk_trainer *r);

/* ---- speed.c --------------------------------------------------------------------------------- */

/* FLOP/s of multiply-adds in registers with all threads, measured now (some 50 ms). */
double rdk_speed_peak(void);
/* What a step costs, for --describe: operations, bytes, memory, and its time, for which some steps
 * are tried (two seconds; the weights of r change). */
void rdk_speed_lines(rdk_trainer *r, FILE *out);
/* The rate of the gradients of this call beside the peak; nothing after less than a second. */
void rdk_speed_summary(const rdk_trainer *r, FILE *out);

/* ---- profile.c ------------------------------------------------------------------------------- */

/* Around each of what is beside training; one does not lie in another. */
void rdk_profile_apart_begin(rdk_trainer *r);
void rdk_profile_apart_end(rdk_trainer *r, rdk_apart what);
/* The table of --profile on io->err; nothing without the option. */
void rdk_profile_table(const rdk_trainer *r);

/* ---- logs.c: rows of the run's files --------------------------------------------------------- */

/* Can the logs that lie in the directory be gone on with? Changes nothing. */
bool rdk_logs_check(rdk_trainer *r);
bool rdk_logs_open(rdk_trainer *r, bool resuming);
void rdk_logs_close(rdk_trainer *r);
/* All rows written so far are on the disk. */
bool rdk_logs_sync(rdk_trainer *r);
bool rdk_logs_train_row(rdk_trainer *r, const rdk_step_report *report);
bool rdk_logs_eval_row(rdk_trainer *r, const rdk_score *pass);
/* Keeps the norms of gradients and weights before the update; then, after it, the rows of that
 * step. updated: r->update_norm and r->watch tell of its update; false at the last step, which has
 * none. */
void rdk_logs_keep_norms(rdk_trainer *r);
bool rdk_logs_attention_rows(rdk_trainer *r, uint64_t step, bool updated);
bool rdk_logs_gradient_rows(rdk_trainer *r, uint64_t step, bool updated);
bool rdk_logs_timing_row(rdk_trainer *r);

/* ---- tensorboard.c: all no-ops without --tensorboard ----------------------------------------- */

/* As rdk_logs_check and rdk_logs_open, which call them. Resuming, events of step r->step and later
 * are cut off; a file that is not there begins with that step. */
bool rdk_tensorboard_check(rdk_trainer *r);
bool rdk_tensorboard_open(rdk_trainer *r, bool resuming);
bool rdk_tensorboard_sync(rdk_tensorboard *b, rdk_status *s);
void rdk_tensorboard_close(rdk_tensorboard *b);
/* Values "GROUP/NAME" of the event that is being made; the histograms of a head's rows; its end. */
void rdk_tensorboard_scalar(rdk_tensorboard *b, const char *group, const char *name, double x);
void rdk_tensorboard_rows(rdk_tensorboard *b, const rdk_measure *m, size_t layer, size_t head);
bool rdk_tensorboard_event(rdk_tensorboard *b, uint64_t step, rdk_status *s);

/* ---- run_json.c ------------------------------------------------------------------------------ */

typedef struct rdk_finals {
    bool known;
    rdk_step_report first, last;
    rdk_score held_out;
    rdk_head_figures attention_first, attention_last;
    double ratio_first, ratio_last; /* |dW_Q| / |dW_V| */
    bool have_first;                /* false where step 0 has not been, or left no figures */
    bool have_last;                 /* false where it measured no step */
} rdk_finals;

/* status: "running", "done", "diverged", "interrupted", "failed". finals may be NULL. */
bool rdk_run_json(const rdk_trainer *r, const char *status, const rdk_finals *finals,
                  rdk_status *s);
/* What it has of step 0, and of QK-clip up to r->step, in a run that goes on. */
void rdk_run_json_past(rdk_trainer *r, rdk_finals *f);
/* What the run.json that lies in the directory says of this key: a string, or the text of a number,
 * appended to value. *found is false where there is no such key or no such file. False: the file is
 * damaged (s). */
bool rdk_run_json_find(const rdk_trainer *r, const char *key, rdk_text *value, bool *found,
                       rdk_status *s);
/* May the run in the directory, whose configuration r has, be gone on with? Not where config.ini
 * was changed in what no checkpoint holds: what is recorded when. */
bool rdk_run_json_agrees(const rdk_trainer *r);
/* Fills r->isa: results depend on the instruction set in their last bits, and a run that goes on
 * with another one has no equal. False: run.json is damaged (r->status). */
bool rdk_run_json_isa(rdk_trainer *r);
/* Fills what f holds of step 0 from run.json, for a run that goes on; leaves it where that says
 * nothing. */
void rdk_run_json_first(const rdk_trainer *r, rdk_finals *f);

/* ---- checkpoint.c ---------------------------------------------------------------------------- */

/* name: "last.safetensors" or "best.safetensors". Refuses (RDK_ENONFINITE) a state that holds inf
 * or nan. */
bool rdk_checkpoint_save(rdk_trainer *r, const char *name);
/* What the file `name`, which is there, says of itself. current: its configuration is that of this
 * run to the letter, and not that of a shorter one. */
typedef struct rdk_best_words {
    double loss;
    uint64_t step;
    bool current;
} rdk_best_words;
bool rdk_checkpoint_best_words(rdk_trainer *r, const char *name, rdk_best_words *words);
/* Writes the file again, the same state under the configuration of this run. */
bool rdk_checkpoint_rewrite(rdk_trainer *r, const char *name);
/* Reads DIR/last.safetensors into the trainer: weights, moments, step, tokens_seen. Refuses what is
 * not of this configuration, vocabulary, data and precision, and what is damaged. A run that was
 * killed before it saved anything starts at step 0. */
bool rdk_checkpoint_load(rdk_trainer *r);

/* ---- best.c ---------------------------------------------------------------------------------- */

/* Sets best_loss and best_step from what lies in the directory. Changes nothing. */
bool rdk_best_load(rdk_trainer *r);
/* Then, once nothing can be refused any more: the files as this run, if it is a lengthened one,
 * would have them. */
bool rdk_best_settle(rdk_trainer *r);
/* The state of step r->step is the best so far. */
bool rdk_best_save(rdk_trainer *r, double loss);

/* ---- resume.c -------------------------------------------------------------------------------- */

/* Replaces *c by the configuration of the run in c->resume, with what this call may change. Refuses
 * options that were given and contradict it. */
bool rdk_resume_config(rdk_config *c, const bool *given, rdk_status *s);
/* Do a saved state of configuration `saved` and a run of `now` train the same model in the same
 * way? *different: the first option that says no. */
bool rdk_same_definition(const rdk_config *saved, const rdk_config *now,
                         const rdk_option **different);

/* ---- what is seen: screen.c, verdict.c ------------------------------------------------------- */

void rdk_screen_header(const rdk_trainer *r);
/* Instead of all that follows, where a resumed run has nothing left to do. */
void rdk_screen_complete(const rdk_trainer *r);
/* Predicted beside measured, at step 0, and the heading of the table. */
void rdk_screen_start(const rdk_trainer *r, bool measured);
void rdk_screen_row(const rdk_trainer *r, const rdk_step_report *report);
void rdk_screen_eval(const rdk_trainer *r, const rdk_score *pass);
void rdk_screen_progress(rdk_trainer *r);
void rdk_screen_progress_clear(const rdk_trainer *r);
void rdk_screen_resume_hint(const rdk_trainer *r, const char *why);
void rdk_verdict(const rdk_trainer *r, const rdk_finals *f);

#endif
