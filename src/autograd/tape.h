/* SPDX-License-Identifier: MIT
 * The inside of a tape, for src/autograd alone.
 *
 * Invariant: nodes[0 .. length) stand in the order of their creation; whatever they point to lives
 * in the arena or is a parameter. Both memories outlive a reset, so a step like the one before asks
 * nothing of the heap.
 * Read next: tape.c, backward.c. */
#ifndef RDK_TAPE_H
#define RDK_TAPE_H

#include <rootdk/autograd.h>

/* A scope's text, kept once per recording however often it is named. */
typedef struct rdk_scope {
    struct rdk_scope *next;
    char text[];
} rdk_scope;

/* Memory of a gradient, or of data, that nobody needs any more; this stands in its first bytes. */
typedef struct rdk_spare {
    struct rdk_spare *next;
    size_t count; /* elements */
} rdk_spare;

struct rdk_tape {
    rdk_arena *arena;
    rdk_status status;
    rdk_node *nodes;
    size_t length, room;
    rdk_scope *scopes; /* all of this recording, the latest first */
    const char *scope; /* the current one, or NULL */
    rdk_spare *spares; /* the latest first: the likeliest to be in the cache */
    bool recording;
    bool keeps_gradients;
    bool frugal;   /* memory of data is used again */
    bool replayed; /* backward has run on this recording */
    bool training;
    rdk_precision precision; /* of products */
    rdk_stream stream;       /* of dropout */
    uint32_t part;
    uint64_t dropout_calls; /* since rdk_tape_training */
    bool profiles;
    double clock; /* when the last op ended */
    size_t n_times;
    rdk_op_time times[RDK_PROFILE_OPS];
};

/* ---- profile.c: each does nothing unless the tape profiles ----------------------------------- */

void rdk_profile_pause(rdk_tape *t); /* the time until now belongs to no op */
void rdk_profile_forward(rdk_tape *t, const rdk_op *op);
void rdk_profile_backward(rdk_tape *t, const rdk_op *op);

/* The tensor whose data and grad x shares: itself, unless it is a view. */
rdk_tensor *rdk_tensor_root(rdk_tensor *x);

#endif
