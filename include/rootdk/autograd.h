/* SPDX-License-Identifier: MIT
 * Tensors and the tape: reverse-mode automatic differentiation.
 *
 * Invariant: a tape is an array of nodes in the order of their creation, which already is a
 * topological order; backward walks it once from the end. No recursion, no sort, each node once.
 * Every tensor is contiguous, row-major, the last dimension fastest.
 *
 * Intended use:
 *
 *     rdk_tape *t = rdk_tape_new(&status);
 *     for (step ...) {
 *         rdk_tensor *loss = rdk_mean_all(t, rdk_mul(t, w, x));    // w: a parameter
 *         if (!rdk_tape_backward(t, loss)) ...                     // rdk_tape_status(t)->message
 *         ... use w->grad, then zero it ...
 *         rdk_tape_reset(t);
 *     }
 *     rdk_tape_free(t);
 *
 * Errors are sticky: a call that fails sets the tape's status (what failed, both shapes, the rule)
 * and returns NULL; every op given NULL, or a tape that has failed, returns NULL at once. So code
 * reads like the maths and asks once, at the end.
 * Read next: ops.h, the catalogue. */
#ifndef ROOTDK_AUTOGRAD_H
#define ROOTDK_AUTOGRAD_H

#include <rootdk/base.h>

enum { RDK_MAX_DIMS = 6 };

/* What operands of products are rounded to. float: nothing, they are as they are (rdk_real). bf16:
 * bfloat16, a float's range with 8 bits of precision; products are summed in rdk_real. */
typedef enum { RDK_FLOAT, RDK_BF16 } rdk_precision;

/* A matrix that is laid out for products as well, by its owner (rdk_model_pack). Ops read panels in
 * place of the values while that is current, in products of that precision; who changes the values
 * ends it first. */
typedef struct rdk_packing {
    rdk_precision precision;
    bool current;
    rdk_real *panels;          /* of float: W^T, as it multiplies x */
    uint32_t *pairs_t, *pairs; /* of bf16: the same, and W, as it multiplies dy */
} rdk_packing;

/* An n-dimensional array. A dimension may be 0 (then there is no element).
 * Made on a tape it lives there until rdk_tape_reset; a parameter is owned by its model.
 *
 * grad: NULL until the first gradient arrives in backward (it is made at that moment). Afterwards
 * leaves have theirs, what was computed on the way only by rdk_tape_keep_gradients;
 * a parameter's grad stands from the start and is added to, or, where it is stale, written first.
 * Ops reach it with rdk_grad or rdk_grad_unless_new only. */
typedef struct rdk_tensor {
    rdk_real *data;
    rdk_real *grad;
    int n_dims;
    size_t dim[RDK_MAX_DIMS];
    bool needs_grad;  /* a parameter, or computed from one */
    bool grad_stale;  /* grad holds nothing of use: whoever comes first writes it */
    bool data_own;    /* nobody else's: made by rdk_tape_tensor, and not given away yet */
    bool data_unread; /* the op that made it does not read it in backward; the op says so */
    unsigned n_uses;  /* as an input of recorded calls, its views among it */
    struct rdk_tensor *view_of; /* shares data and grad of that tensor (reshape), else NULL;
                                 * read a view's gradient with rdk_grad */
    const char *name;           /* for messages; NULL where unnamed */
    const rdk_packing *packing; /* NULL where it has none */
} rdk_tensor;

size_t rdk_size(const rdk_tensor *x); /* number of elements; 1 for a scalar (n_dims 0) */
size_t rdk_cols(const rdk_tensor *x); /* the last dimension; 1 for a scalar */
size_t rdk_rows(const rdk_tensor *x); /* product of all dimensions but the last */
/* "[8, 24, 64]", or "q [8, 24, 64]" where it has a name; buf returned. */
enum { RDK_SHAPE_TEXT = 160 };
char *rdk_shape_text(const rdk_tensor *x, char buf[RDK_SHAPE_TEXT]);

typedef struct rdk_tape rdk_tape;
typedef struct rdk_node rdk_node;

/* An op as the tape knows it: one constant in the op's own file, listed in src/ops/table.c. */
typedef struct rdk_op {
    const char *name;
    const char *formula; /* one line, for documentation */
    void (*backward)(rdk_tape *t, const rdk_node *n);
} rdk_op;

/* One recorded call. Backward reads out->grad and ADDS into rdk_grad(t, in[k]). */
enum { RDK_MAX_INPUTS = 8 };
struct rdk_node {
    const rdk_op *op;
    rdk_tensor *out;
    rdk_tensor *in[RDK_MAX_INPUTS]; /* a missing optional input is NULL */
    int n_in;
    void *saved;       /* what backward needs beyond inputs and output; on the tape */
    const char *scope; /* where in the model, see rdk_tape_scope */
};

/* ---- the tape -------------------------------------------------------------------------------- */

rdk_tape *rdk_tape_new(rdk_status *s);
void rdk_tape_free(rdk_tape *t);
/* Forgets nodes, tensors, scope and the status; keeps the memory and the modes (recording,
 * keeping gradients, frugal, training, products). Pointers into the tape are dead. */
void rdk_tape_reset(rdk_tape *t);
const rdk_status *rdk_tape_status(const rdk_tape *t);
/* Not recording: ops compute and record nothing (evaluation). Default: recording. Returns what
 * was. */
bool rdk_tape_recording(rdk_tape *t, bool on);
/* Keep the gradients of what was computed on the way (default: their memory is used again while
 * backward goes on, and they are NULL afterwards). */
void rdk_tape_keep_gradients(rdk_tape *t, bool on);
/* Use the memory of data again, too: on the way back a gradient takes the place of data that
 * nothing before it reads. No gradient changes. After backward, also one that failed, the data of
 * all that recorded calls made are gone: NULL, and where a view shows them (rdk_reshape) they are
 * another's; no call may be given them. What stays: the data of the tensor that backward began
 * with, of leaves and of parameters. Where gradients are kept, data are as well. Default: off. */
void rdk_tape_frugal(rdk_tape *t, bool on);
/* Training mode: whether dropout drops, and the stream that it draws from. Calls of dropout are
 * numbered since the last call of this function, and each number has draws of its own.
 * part: the micro-batch within the step. */
void rdk_tape_training(rdk_tape *t, bool on, rdk_stream stream, uint32_t part);
/* Products of rdk_linear and its kin, rdk_matmul and rdk_attention are of this precision from
 * now on, forward and backward; a change between the two is for the caller to avoid. Gradients pass
 * through the rounding unchanged. Another value: RDK_EVALUE. Default: RDK_FLOAT. */
void rdk_tape_products(rdk_tape *t, rdk_precision precision);
/* Names the part of the model that the following calls belong to ("layer 1 attention"); copied. */
void rdk_tape_scope(rdk_tape *t, const char *format, ...) RDK_PRINTF(2, 3);

/* Gradients of loss (exactly one element) with respect to everything that needs one.
 * loss must come from a call recorded on this tape (not a leaf). Errors (RDK_ESTATE): a second
 * backward on the same recording, recording another call behind it. False on failure. */
bool rdk_tape_backward(rdk_tape *t, rdk_tensor *loss);
/* The same from an upstream gradient dy of y's shape (vector-Jacobian product); dy is copied. */
bool rdk_tape_backward_from(rdk_tape *t, rdk_tensor *y, const rdk_real *dy);

size_t rdk_tape_length(const rdk_tape *t);
const rdk_node *rdk_tape_node(const rdk_tape *t, size_t i);
size_t rdk_tape_bytes(const rdk_tape *t);
/* The first node, in order of computation, whose output holds inf or nan; NULL where none does
 * (outputs that are gone are passed over, see rdk_tape_frugal).
 * *at: index of that element. Used to name the culprit after a non-finite loss. */
const rdk_node *rdk_tape_first_nonfinite(const rdk_tape *t, size_t *at);

/* A new tensor on the tape, not zeroed; data is the caller's to fill. */
rdk_tensor *rdk_tape_tensor(rdk_tape *t, int n_dims, const size_t *dim);
/* The same, filled from values (row-major; NULL: zeros). needs_grad: a leaf to differentiate by. */
rdk_tensor *rdk_tape_leaf(rdk_tape *t, int n_dims, const size_t *dim, const rdk_real *values,
                          bool needs_grad);

/* ---- where the time goes --------------------------------------------------------------------- */

enum { RDK_PROFILE_OPS = 64 }; /* kinds of ops that one tape tells apart */
typedef struct rdk_op_time {
    const rdk_op *op;
    uint64_t calls;           /* of its forward pass */
    double forward, backward; /* seconds */
} rdk_op_time;
/* From now on the time of every op is summed, over resets, and recorded or not; switching starts at
 * zero. No result changes. Default: off. */
void rdk_tape_profile(rdk_tape *t, bool on);
/* The i-th op that was seen, in the order of the first calls; NULL past the end. */
const rdk_op_time *rdk_tape_profile_at(const rdk_tape *t, size_t i);

/* ---- for ops --------------------------------------------------------------------------------- */

/* Where condition is false: sets RDK_ESHAPE with the message and returns false. */
bool rdk_tape_expect(rdk_tape *t, bool condition, const char *format, ...) RDK_PRINTF(3, 4);
/* Sets any status; returns NULL for `return rdk_tape_fail(...)`. */
rdk_tensor *rdk_tape_fail(rdk_tape *t, rdk_code code, const char *format, ...) RDK_PRINTF(3, 4);
/* False where t is NULL or has failed. */
bool rdk_tape_alive(const rdk_tape *t);
/* Records out = op(in...) and returns out. saved must be on the tape (or NULL).
 * Nothing is recorded where no input needs a gradient or the tape does not record; out->needs_grad
 * follows. Backward reads the data of in, of out, and what lies in saved, and no other: on a frugal
 * tape they may be gone. Where it does not read those of out either, out->data_unread says so. */
rdk_tensor *rdk_tape_record(rdk_tape *t, const rdk_op *op, rdk_tensor *out, int n_in,
                            rdk_tensor *const *in, void *saved);
/* Would a call on these inputs be recorded? (For ops that save something only then.) */
bool rdk_tape_would_record(const rdk_tape *t, int n_in, rdk_tensor *const *in);
/* x's gradient to add into, made and zeroed at the first touch; NULL where x (may be NULL) needs
 * none, or without memory (the tape then has failed). */
rdk_real *rdk_grad(rdk_tape *t, rdk_tensor *x);
/* The same for an op that can write as well as add, without zeroing first: where *add is false the
 * gradient was made just now or was stale, holds nothing, and the op must write all of it before
 * anything else asks for it (its other inputs may be the same tensor). */
rdk_real *rdk_grad_unless_new(rdk_tape *t, rdk_tensor *x, bool *add);
/* May x's gradient be written over x's data, once the call at hand has read them? True on a frugal
 * tape where no other recorded call uses x and the op that made x does not read it (data_unread).
 * Backward then reads x first and asks by rdk_grad_over_data for the gradient, which holds nothing
 * of use: all of it is to be written. */
bool rdk_grad_may_take_data(const rdk_tape *t, rdk_tensor *x);
rdk_real *rdk_grad_over_data(rdk_tensor *x);
/* dx += dy, of x's size. */
void rdk_grad_add(rdk_tape *t, rdk_tensor *x, const rdk_real *dy);
/* The same of n's output y, for y = .. + x. Where x has no gradient yet it takes over that of y,
 * which n then has no more: to be the last thing that n's backward does. Where gradients are kept,
 * it is copied. */
void rdk_grad_pass_on(rdk_tape *t, const rdk_node *n, rdk_tensor *x);
/* Memory on the tape, not zeroed; and scratch that ends with the call (mark and release). */
void *rdk_tape_alloc(rdk_tape *t, size_t count, size_t size);
rdk_arena *rdk_tape_arena(rdk_tape *t);
/* As rdk_tape_products has set it. */
rdk_precision rdk_tape_precision(const rdk_tape *t);
/* The stream and index base for the next dropout call; false where not training. */
bool rdk_tape_dropout_stream(rdk_tape *t, rdk_stream *stream);

/* ---- gradient checking ----------------------------------------------------------------------- */

/* A function under test: builds its graph on the tape from the leaves and returns any tensor
 * (it is reduced to a scalar by a fixed random weighting). Must be deterministic. */
typedef rdk_tensor *(*rdk_check_fn)(rdk_tape *t, rdk_tensor *const *leaves, void *context);

typedef struct rdk_check_result {
    double worst_error; /* max |analytic - numeric| / max(scale of that leaf's gradient, 1e-8) */
    int worst_leaf;
    size_t worst_at;
    double analytic, numeric; /* there */
} rdk_check_result;

/* Central differences with step h about the values of the leaves, every element of every leaf that
 * needs a gradient (at most max_elements of each, evenly spaced; 0: all).
 * Useful in the double build (h about 1e-5 there). False: the function itself failed. */
bool rdk_gradcheck(rdk_check_fn f, void *context, int n_leaves, rdk_tensor *const *leaves, double h,
                   size_t max_elements, rdk_check_result *result, rdk_status *s);

#endif
