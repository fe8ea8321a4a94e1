/* SPDX-License-Identifier: MIT
 * The ground floor: numbers, errors, memory, random numbers, files.
 *
 * Invariant of the whole library: nothing here or above (below src/cli and src/run) prints, exits
 * or keeps global state. A failure is a status with a message; see rdk_status.
 * Read next: autograd.h. */
#ifndef ROOTDK_BASE_H
#define ROOTDK_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error                                                                                             \
    "rootdk must not be compiled with -ffast-math or -Ofast: masks and non-finite checks need IEEE arithmetic"
#endif

/* The number everything is computed in: float, or double in the build that checks gradients. */
#ifdef RDK_DOUBLE
typedef double rdk_real;
#define RDK_BUILT_WITH rdk_built_with_double
#else
typedef float rdk_real;
#define RDK_BUILT_WITH rdk_built_with_float
#endif
/* A program and its library must agree on that number, or arrays are read as what they are not. So
 * whatever includes this refers to the symbol of its own precision, which a library of the other
 * has not: the link fails and names it. */
extern const char RDK_BUILT_WITH;
#if defined(__GNUC__)
static const char *const rdk_built_with __attribute__((used)) = &RDK_BUILT_WITH;
#endif

#if defined(__GNUC__)
#define RDK_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define RDK_PRINTF(format_at, args_at)
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum rdk_code {
    RDK_OK = 0,
    RDK_ENOMEM,     /* no memory, or a size that overflows */
    RDK_ESHAPE,     /* shapes that do not fit together */
    RDK_EVALUE,     /* an argument, option or datum out of its range */
    RDK_ESTATE,     /* a call out of order, e.g. a second backward */
    RDK_EIO,        /* the system refused: open, write, rename, disk full */
    RDK_EFORMAT,    /* a file that is not what it should be */
    RDK_ENONFINITE, /* a loss, activation or gradient is inf or nan: the run diverged */
} rdk_code;

/* The first failure, kept. message: lower case, no full stop, what failed first, then the
 * remedy. */
typedef struct rdk_status {
    rdk_code code;
    char message[500];
} rdk_status;

/* Records a failure unless one is recorded already (the first cause is the useful one).
 * Returns false, so that a function can end with `return rdk_fail(...)`. s may be NULL. */
bool rdk_fail(rdk_status *s, rdk_code code, const char *format, ...) RDK_PRINTF(3, 4);
bool rdk_vfail(rdk_status *s, rdk_code code, const char *format, va_list args);
static inline bool rdk_ok(const rdk_status *s)
{
    return s->code == RDK_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* True and *product = a * b, or false where that does not fit a size_t. */
bool rdk_size_mul(size_t a, size_t b, size_t *product);
bool rdk_size_add(size_t a, size_t b, size_t *sum);

/* count * size bytes, zeroed, 64-byte aligned. NULL on overflow or without memory (status set).
 * count or size 0 gives a valid pointer. The only way to the heap outside src/base. */
void *rdk_alloc(size_t count, size_t size, rdk_status *s);
void rdk_free(void *p);

/* An arena: allocation moves a pointer, everything goes at once at reset. Blocks are kept on reset,
 * so that from the second step on nothing is asked of the heap. Owned by whoever made it. */
typedef struct rdk_arena rdk_arena;
rdk_arena *rdk_arena_new(rdk_status *s);
void rdk_arena_free(rdk_arena *a);
/* 64-byte aligned, NOT zeroed (0xFF under RDK_DEBUG, where a stale float then reads as NaN).
 * NULL on overflow or without memory. */
void *rdk_arena_alloc(rdk_arena *a, size_t count, size_t size);
void rdk_arena_reset(rdk_arena *a);
/* Scratch: what was allocated since the mark is given back by rdk_arena_release(mark). */
typedef struct rdk_arena_mark {
    void *block;
    size_t used;
} rdk_arena_mark;
rdk_arena_mark rdk_arena_mark_here(const rdk_arena *a);
void rdk_arena_release(rdk_arena *a, rdk_arena_mark mark);
size_t rdk_arena_bytes(const rdk_arena *a); /* held from the heap, all blocks */

/* ---- random numbers -------------------------------------------------------------------------- */

/* What a draw is for: streams of different purposes never meet. Values are part of the file
 * format of a run (they decide its bits): append only. */
typedef enum rdk_purpose {
    RDK_FOR_INIT = 1,
    RDK_FOR_TRAIN_DATA = 2,
    RDK_FOR_EVAL_DATA = 3,
    RDK_FOR_DROPOUT = 4,
    RDK_FOR_THEORY = 5,
    RDK_FOR_TEST = 6,
} rdk_purpose;

/* Every random number is a pure function of (seed, purpose, step, index, draw), by Philox4x32-10
 * (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3): so neither the
 * thread count nor the place of an interruption can change it. step, index < 2^44. */
typedef struct rdk_stream {
    uint64_t seed;
    rdk_purpose purpose;
    uint64_t step;
} rdk_stream;

/* The raw block function: 4 words for counter c under key k (known-answer tests). */
void rdk_philox(const uint32_t c[4], const uint32_t k[2], uint32_t out[4]);
/* Four independent words of block `draw` at `index`. */
void rdk_random_block(rdk_stream s, uint64_t index, uint32_t draw, uint32_t out[4]);

/* A cursor over the draws at one index, for code that needs an unknown number of them. */
typedef struct rdk_draws {
    rdk_stream stream;
    uint64_t index;
    uint32_t block, word[4];
    int left;
} rdk_draws;
rdk_draws rdk_draws_at(rdk_stream s, uint64_t index);
uint32_t rdk_draw_u32(rdk_draws *d);
uint64_t rdk_draw_below(rdk_draws *d, uint64_t n); /* uniform on 0..n-1 without bias; n >= 1 */
double rdk_draw_uniform(rdk_draws *d); /* uniform on (0, 1), ends excluded, steps of 2^-52 */
double rdk_draw_normal(rdk_draws *d);  /* N(0, 1), Box-Muller */
/* n independent N(0, 1) numbers, two from each block of four words from block `first` on: for
 * drawing whole vectors, at half the cost of a cursor. */
void rdk_random_normals(rdk_stream s, uint64_t index, uint32_t first, double *x, size_t n);

/* ---- threads and time ------------------------------------------------------------------------ */

/* The threads that parallel loops use from now on (1 where OpenMP is absent). Results never depend
 * on it. n >= 1. */
void rdk_threads_set(int n);
int rdk_threads(void);
/* How many cores this process may use: affinity mask and cgroup quota respected.
 * *reason says which of them decided. */
int rdk_threads_available(const char **reason);

double rdk_seconds(void);        /* monotonic clock */
double rdk_machine_memory(void); /* bytes of memory in this machine; INFINITY where unknown */
size_t rdk_peak_memory(void);    /* bytes resident at most so far; 0 where unknown */

/* ---- text and files -------------------------------------------------------------------------- */

/* The shortest decimal text that reads back to the same value; '.' whatever the locale; nan, inf,
 * -inf as such. float: as a float. buf holds at least RDK_NUMBER_TEXT bytes; returns buf. */
enum { RDK_NUMBER_TEXT = 32 };
char *rdk_text_double(double x, char buf[RDK_NUMBER_TEXT]);
char *rdk_text_float(float x, char buf[RDK_NUMBER_TEXT]);
char *rdk_text_real(rdk_real x, char buf[RDK_NUMBER_TEXT]);
/* A figure, as files have it: the text of the nearest float; beyond a float's range, of the double.
 * exact: of the double. Zero is 0, never -0. */
char *rdk_text_figure(double x, char buf[RDK_NUMBER_TEXT]);
char *rdk_text_exact(double x, char buf[RDK_NUMBER_TEXT]);
/* The whole of text as one number (no blanks, no hexadecimal, no trailing characters), '.' whatever
 * the locale. False otherwise. Finite only. */
bool rdk_parse_double(const char *text, double *x);
bool rdk_parse_int(const char *text, int64_t *x);
bool rdk_parse_uint(const char *text, uint64_t *x);

/* A growing string. Zero it before use; free with rdk_text_free. A failed append is remembered:
 * ask once, at the end, with rdk_text_ok. */
typedef struct rdk_text {
    char *data; /* ends with NUL where not NULL */
    size_t size, room;
    bool failed;
} rdk_text;
void rdk_text_add(rdk_text *t, const char *format, ...) RDK_PRINTF(2, 3);
void rdk_text_bytes(rdk_text *t, const void *bytes, size_t n);
void rdk_text_json(rdk_text *t, const char *string); /* quoted and escaped, strict JSON */
/* One word of a POSIX shell, quoted where that is needed. */
void rdk_text_shell_word(rdk_text *t, const char *word);
/* The same of a path, which is never taken for an option: "-x" becomes "./-x". */
void rdk_text_shell(rdk_text *t, const char *path);
/* One field of CSV as RFC 4180 has it: quoted where it holds a comma, a quote or a line end. */
void rdk_text_csv(rdk_text *t, const char *field);
/* Rounded up: "12 s", "3 min", "2.1 h". */
void rdk_text_duration(rdk_text *t, double seconds);
bool rdk_text_ok(const rdk_text *t, rdk_status *s);
void rdk_text_free(rdk_text *t);

/* As strcmp, with the numbers in the texts by value: "softcap 5" is before "softcap 10", "lr-3e-4"
 * before "lr-0.01". 0 for equal texts only. */
int rdk_text_order(const char *a, const char *b);

/* The nearest of n names to `word` by edit distance, or NULL where none is near (distance > 1/2 of
 * its length): for "did you mean". */
const char *rdk_nearest(const char *word, const char *const *names, size_t n);

/* The whole file into a new buffer (rdk_free), one NUL behind it. Errors name path and cause. A
 * file larger than the machine's memory is refused, and so is a pipe or device that gives more than
 * 64 MiB (/dev/zero has no end). */
char *rdk_file_read(const char *path, size_t *size, rdk_status *s);
/* May it be read as often as one likes? False (status set) for a pipe, a device, a directory. */
bool rdk_file_is_regular(const char *path, rdk_status *s);
/* Replaces path with n bytes, all or nothing: temporary name beside it, fsync, rename, fsync of
 * the directory. On failure the old file stands and the temporary one is gone. */
bool rdk_file_replace(const char *path, const void *bytes, size_t n, rdk_status *s);
/* The same of n parts, one behind the other. */
typedef struct rdk_part {
    const void *bytes;
    size_t n;
} rdk_part;
bool rdk_file_replace_parts(const char *path, size_t n, const rdk_part *parts, rdk_status *s);
/* Is name (without its directory) that of an unfinished new form of `of`, left by a process that
 * was killed in rdk_file_replace? */
bool rdk_file_is_unfinished(const char *name, const char *of);
/* False only where there is certainly none: what cannot be reached counts as there. */
bool rdk_file_exists(const char *path);
/* mkdir -p. */
bool rdk_directory_make(const char *path, rdk_status *s);

/* ---- build ----------------------------------------------------------------------------------- */

const char *rdk_version(void);  /* "0.1.0" */
const char *rdk_build_id(void); /* commit of the sources, with "+" where they were changed */
const char *rdk_compiler(void); /* "gcc 12.2.0" */
/* The kernels in use: "avx512bf16", "avx512", "avx2" or "base"; on aarch64 "neon". */
const char *rdk_isa(void);
/* False (RDK_EVALUE, with the names that there are) where RDK_ISA in the environment names none
 * that this build and this processor have. The kernels in use are then the best. */
bool rdk_isa_check(rdk_status *s);

#endif
