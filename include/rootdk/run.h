/* SPDX-License-Identifier: MIT
 * A run: configuration, the training loop, the run's directory, checkpoints.
 * Read next: src/run/train.c. */
#ifndef ROOTDK_RUN_H
#define ROOTDK_RUN_H

#include <signal.h>
#include <stdio.h>

#include <rootdk/optim.h>
#include <rootdk/probe.h>
#include <rootdk/tasks.h>

enum { RDK_PATH_TEXT = 1024 };
#define RDK_BY_RULE UINT64_MAX /* an interval that is left to rule */

/* Everything a run depends on; src/run/options.c has one row for each field. */
typedef struct rdk_config {
    rdk_model_config model; /* vocab and max_len come from the task */
    rdk_task_config task;   /* task.data points to data, or is NULL where that is empty */
    rdk_optim_config optim;
    double qk_clip, qk_clip_alpha; /* rdk_qk_clip after each update; tau 0: no */
    uint64_t steps, seed;
    rdk_precision precision; /* of products */
    size_t batch, accum;     /* sequences a micro-batch; micro-batches an update */
    /* 0: never (log: first and last; eval: last). eval_every RDK_BY_RULE: what evaluating costs */
    uint64_t log_every, probe_every, eval_every, save_every;
    size_t eval_size; /* sequences of an evaluation; 0: the whole split (text) or 1024 */
    uint64_t stop_at; /* save and stop when this many updates are done; 0: no */
    int threads;      /* 0: what the machine has */
    bool tensorboard; /* events for TensorBoard beside the logs */
    bool force, quiet, profile;
    char data[RDK_PATH_TEXT], out[RDK_PATH_TEXT], resume[RDK_PATH_TEXT];
} rdk_config;

/* ---- options: one typed row each ------------------------------------------------------------- */

typedef enum {
    RDK_OPT_UINT,
    RDK_OPT_REAL,
    RDK_OPT_BOOL,   /* on, off; --NAME and --no-NAME */
    RDK_OPT_CHOICE, /* one of choices */
    RDK_OPT_NAME,   /* one of name_at(0 .. name_count() - 1); a number too where low < high */
    RDK_OPT_TEXT,   /* a path, or what form says; empty: none, which a list writes as "off" */
    RDK_OPT_LIST,   /* whole numbers, each once: "4,64,256"; "1..4096" is the powers of two there */
} rdk_option_type;
typedef enum {
    RDK_OPT_DEFINES, /* decides the bits of the weights: stored in checkpoints, fixed on resume */
    RDK_OPT_RECORDS, /* decides what is written when: in config.ini, fixed on resume */
    RDK_OPT_FINDS,   /* where a thing is, known by its content: in config.ini, free on resume */
    RDK_OPT_RUNS,    /* this call only: free on resume */
} rdk_option_scope;

/* What an option needs of the others in order to do anything. */
typedef struct rdk_need {
    bool (*met)(const rdk_config *c); /* resolved or not */
    const char *by;                   /* "--optimizer sgd": what would meet it */
} rdk_need;

typedef struct rdk_option {
    const char *name;  /* "d-model": --d-model on the command line, key in config.ini */
    const char *group; /* heading in --help */
    rdk_option_type type;
    rdk_option_scope scope;
    size_t offset, size;        /* of the field in the struct that the table is about */
    const char *initial;        /* default, as text */
    double low, high;           /* range of a number, both included */
    bool or_zero;               /* a number that may also be 0, below its range: off */
    const char *const *choices; /* NULL-terminated, in the order of the enum */
    const char *auto_rule;      /* where "auto" may be given: what it means. Kept as 0
                                 * (RDK_BY_RULE where the range begins there), a choice as -1, a
                                 * name as "" */
    const rdk_need *need;       /* where the option does something; NULL: everywhere */
    const char *value_name;     /* "N", "PATH", ... for help */
    const char *help;           /* one line */
    const char *form;           /* of an RDK_OPT_TEXT that is a list: "a list .."; none: "off" */
    size_t (*name_count)(void); /* names of an RDK_OPT_NAME: those of another table */
    const char *(*name_at)(size_t i);
} rdk_option;

/* The field of an RDK_OPT_LIST, in the order given. */
enum { RDK_LIST_ROOM = 32 };
typedef struct rdk_uint_list {
    size_t n;
    uint64_t at[RDK_LIST_ROOM];
} rdk_uint_list;

size_t rdk_option_count(void);
const rdk_option *rdk_option_at(size_t i);
const rdk_option *rdk_option_find(const char *name); /* exact; NULL where there is none */
/* What the user may have meant: a name that begins so, the nearest one, or ours for what other
 * trainers call it ("batch-size"). NULL where nothing is near. */
const rdk_option *rdk_option_nearest(const char *name);
/* A validated assignment; on failure (RDK_EVALUE: option, value, allowed range or names, the
 * nearest name) nothing is changed. fields: the struct that o's table is about, for the rows here
 * an rdk_config. */
bool rdk_option_set(void *fields, const rdk_option *o, const char *value, rdk_status *s);
void rdk_option_text(const void *fields, const rdk_option *o, rdk_text *out);
/* What may be given, for messages and help: "a whole number from 1 to 1000, or auto". */
enum { RDK_RANGE_TEXT = 200 };
char *rdk_option_range(const rdk_option *o, char buf[RDK_RANGE_TEXT]);
/* A word that somebody typed, in quotes, on one line, cut where it is long; buf returned. */
enum { RDK_QUOTE_TEXT = 72 };
char *rdk_quote(const char *word, char buf[RDK_QUOTE_TEXT]);

/* Refuses (RDK_EVALUE, naming what would make it count) an option that does nothing beside the
 * others of c. For those that somebody typed: in a file that states everything they are no
 * mistake. */
bool rdk_option_counts(const rdk_config *c, const rdk_option *o, rdk_status *s);

void rdk_config_init(rdk_config *c); /* all defaults */
/* Refuses (RDK_EVALUE) a warmup longer than the run, where somebody typed it: of a default or of a
 * file rdk_config_resolve takes as much as fits. */
bool rdk_config_warmup_fits(const rdk_config *c, rdk_status *s);
/* "key = value" lines, '#' comments; a value that begins with '"' is quoted (\" and \\ inside).
 * Any option may stand there, each once. name: the file, for messages with line numbers.
 * given: [option_count], receives true for each key set, or NULL. On failure (RDK_EVALUE) c holds
 * what stood before the faulty line. */
bool rdk_config_read(rdk_config *c, const char *text, const char *name, bool *given, rdk_status *s);
/* The same from a file, which must be a text. */
bool rdk_config_load(rdk_config *c, const char *path, bool *given, rdk_status *s);
/* Fills in what is left to rule (0 and "auto"): scale, heads, d_model, d_k, d_ff, qk-norm and its
 * gain, seq-len, vocab, eval-size, eval-every, warmup (at most steps), model.vocab and max_len;
 * checks what involves several options, and that the run's size fits the machine. Doing it twice
 * changes nothing. threads stays 0 where it is left to rule. task: as opened. */
bool rdk_config_resolve(rdk_config *c, const rdk_task *task, rdk_status *s);
/* Leaves to rule again what is as the rule would have it (scale, qk-norm and its gain, d-k, d-ff,
 * seq-len, vocab, eval-size, eval-every), so that an option laid over a resolved file carries its
 * followers with it: --config of a sqrt run with --scale qknorm is QK-norm. Resolving afterwards
 * gives the same values back. The vocabulary of a text always follows the text. */
void rdk_config_unresolve(rdk_config *c);
/* Leaves to rule heads and d-model where both are as they are if nobody states them; then d-k too
 * where it is as wide as that. c has the d-k that it came to. */
void rdk_config_unresolve_sizes(rdk_config *c);
/* Of one that a file has, before another text is laid over it: where it evaluates on all windows of
 * its own text, eval-size is left to rule, which is all windows of the other. It stays as it is
 * where that text cannot be read: then it has moved, and the other is the same. */
void rdk_config_unresolve_windows(rdk_config *c);
/* The options of these scopes as config.ini text. */
void rdk_config_write(const rdk_config *c, rdk_option_scope last_scope, rdk_text *out);

/* ---- training -------------------------------------------------------------------------------- */

typedef enum { RDK_RUN_DONE, RDK_RUN_FAILED, RDK_RUN_DIVERGED, RDK_RUN_INTERRUPTED } rdk_run_end;

/* Who listens. All may be NULL. */
typedef struct rdk_run_io {
    FILE *out;                   /* results: header, table, verdict */
    FILE *err;                   /* progress; at the end the time, of a training of some seconds */
    bool progress;               /* draw a progress bar on err */
    volatile sig_atomic_t *stop; /* set by a signal handler: the run saves, returns INTERRUPTED */
    const char *command;         /* how the user calls the program ("./train"), for hints */
    const char *threads_reason;  /* why rdk_threads() is what it is ("--threads"), for the header */
} rdk_run_io;

/* Trains as configured; resumes where c->resume is set (c then holds what the caller gave, given[i]
 * telling which options). directory: receives the run's path. */
rdk_run_end rdk_train(rdk_config *c, const bool *given, const rdk_run_io *io,
                      char directory[RDK_PATH_TEXT], rdk_status *s);
/* What a step asks for: the share of the tokens whose targets count, and the first position that
 * has one in any sequence. Of other tokens the last layer ends behind its attention, which has no
 * queries before that position. */
typedef struct rdk_asked {
    double share;
    size_t first;
} rdk_asked;
/* Operations of one step: a multiply-add counts as two, each weight of a product once forward and
 * twice backward, and so attention's pairs of a query and a key that it sees; not what is formed to
 * be measured alone. c is resolved. */
double rdk_step_flops(const rdk_config *c, rdk_asked asked);
/* Of the first sequences of a training. NAN without memory. */
rdk_asked rdk_task_asked(const rdk_task *task, uint64_t seed, rdk_status *s);

/* What would be trained: options, parameters by tensor, decay list, predictions. */
bool rdk_describe(rdk_config *c, const bool *given, const rdk_run_io *io, rdk_status *s);
/* The first sequences of the first batch: input, target, loss mask side by side. */
bool rdk_show_batch(rdk_config *c, const bool *given, const rdk_run_io *io, rdk_status *s);

/* ---- record.c: a flat JSON object, such as run.json ------------------------------------------ */

/* Keys and values. */
typedef struct rdk_record {
    char *path;
    size_t count;
    struct rdk_record_field {
        char *key, *value; /* value: a string unescaped; a number as it stands; "" for null */
    } * fields;
} rdk_record;

/* NULL on failure: RDK_EIO, RDK_EFORMAT (path, line). */
rdk_record *rdk_record_read(const char *path, rdk_status *s);
void rdk_record_free(rdk_record *r);
const char *rdk_record_word(const rdk_record *r, const char *key); /* NULL where absent */
double rdk_record_number(const rdk_record *r, const char *key); /* NAN: absent, null, no number */

#endif
