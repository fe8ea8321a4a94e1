/* SPDX-License-Identifier: MIT
 * The tape while it records: memory, tensors, nodes, modes, the sticky status.
 *
 * Invariant: after a failure the status stands, and every call here is a no-op until reset.
 * Read next: backward.c. */
#include "tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

rdk_tape *rdk_tape_new(rdk_status *s)
{
    rdk_tape *t = rdk_alloc(1, sizeof *t, s);
    if (!t) return NULL;
    t->arena = rdk_arena_new(s);
    if (!t->arena) {
        rdk_free(t);
        return NULL;
    }
    t->recording = true;
    return t;
}

void rdk_tape_free(rdk_tape *t)
{
    if (!t) return;
    rdk_arena_free(t->arena);
    rdk_free(t->nodes);
    rdk_free(t);
}

void rdk_tape_reset(rdk_tape *t)
{
    rdk_arena_reset(t->arena);
    t->spares = NULL;
    t->length = 0;
    t->scopes = NULL;
    t->scope = NULL;
    t->replayed = false;
    t->status = (rdk_status){.code = RDK_OK};
    rdk_profile_pause(t);
}

/* ---- status ---------------------------------------------------------------------------------- */

const rdk_status *rdk_tape_status(const rdk_tape *t)
{
    return &t->status;
}

bool rdk_tape_alive(const rdk_tape *t)
{
    return t && rdk_ok(&t->status);
}

bool rdk_tape_expect(rdk_tape *t, bool condition, const char *format, ...)
{
    if (condition || !t) return condition;
    va_list args;
    va_start(args, format);
    rdk_vfail(&t->status, RDK_ESHAPE, format, args);
    va_end(args);
    return false;
}

rdk_tensor *rdk_tape_fail(rdk_tape *t, rdk_code code, const char *format, ...)
{
    if (!t) return NULL;
    va_list args;
    va_start(args, format);
    rdk_vfail(&t->status, code, format, args);
    va_end(args);
    return NULL;
}

/* ---- modes ----------------------------------------------------------------------------------- */

bool rdk_tape_recording(rdk_tape *t, bool on)
{
    bool was = t->recording;
    t->recording = on;
    return was;
}

void rdk_tape_keep_gradients(rdk_tape *t, bool on)
{
    t->keeps_gradients = on;
}

void rdk_tape_frugal(rdk_tape *t, bool on)
{
    t->frugal = on;
}

void rdk_tape_products(rdk_tape *t, rdk_precision precision)
{
    if (precision == RDK_FLOAT || precision == RDK_BF16)
        t->precision = precision;
    else
        rdk_tape_fail(t, RDK_EVALUE, "products: there is no precision %d (0 or 1)", (int)precision);
}

rdk_precision rdk_tape_precision(const rdk_tape *t)
{
    return t->precision;
}

void rdk_tape_training(rdk_tape *t, bool on, rdk_stream stream, uint32_t part)
{
    t->training = on;
    t->stream = stream;
    t->part = part;
    t->dropout_calls = 0;
}

/* Each call gets a seed of its own, one Philox block of (call, part, purpose) under the run's seed;
 * step and purpose stay. So the kernel is free to use the whole range of index and draw, and the
 * draws of two calls, of two micro-batches and of two steps never coincide by construction. */
bool rdk_tape_dropout_stream(rdk_tape *t, rdk_stream *stream)
{
    if (!t->training) return false;
    uint64_t call = t->dropout_calls++;
    uint64_t seed = t->stream.seed;
    const uint32_t counter[4] = {(uint32_t)call, (uint32_t)(call >> 32), t->part,
                                 (uint32_t)t->stream.purpose};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];
    rdk_philox(counter, key, word);
    *stream = t->stream;
    stream->seed = (uint64_t)word[0] | (uint64_t)word[1] << 32;
    return true;
}

void rdk_tape_scope(rdk_tape *t, const char *format, ...)
{
    if (!rdk_tape_alive(t)) return;
    enum { SCOPE_TEXT = 96 };
    char text[SCOPE_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);

    rdk_scope *known = t->scopes;
    while (known && strcmp(known->text, text) != 0) known = known->next;
    if (!known) {
        known = rdk_tape_alloc(t, 1, sizeof *known + strlen(text) + 1);
        if (!known) return;
        strcpy(known->text, text);
        known->next = t->scopes;
        t->scopes = known;
    }
    t->scope = known->text;
}

/* ---- memory and tensors ---------------------------------------------------------------------- */

rdk_arena *rdk_tape_arena(rdk_tape *t)
{
    return t->arena;
}

void *rdk_tape_alloc(rdk_tape *t, size_t count, size_t size)
{
    if (!rdk_tape_alive(t)) return NULL;
    void *p = rdk_arena_alloc(t->arena, count, size);
    if (!p)
        rdk_fail(&t->status, RDK_ENOMEM, "no memory for %zu x %zu bytes on the tape", count, size);
    return p;
}

size_t rdk_tape_bytes(const rdk_tape *t)
{
    return rdk_arena_bytes(t->arena) + t->room * sizeof *t->nodes;
}

static bool shape_size(rdk_tape *t, int n_dims, const size_t *dim, size_t *size)
{
    if (!rdk_tape_expect(t, n_dims >= 0 && n_dims <= RDK_MAX_DIMS,
                         "a tensor of %d dimensions: 0 to %d are possible", n_dims, RDK_MAX_DIMS)) {
        return false;
    }
    *size = 1;
    for (int i = 0; i < n_dims; i++) {
        if (!rdk_size_mul(*size, dim[i], size)) {
            rdk_fail(&t->status, RDK_ENOMEM, "the size of a tensor overflows at dimension %d (%zu)",
                     i, dim[i]);
            return false;
        }
    }
    return true;
}

rdk_tensor *rdk_tape_tensor(rdk_tape *t, int n_dims, const size_t *dim)
{
    size_t size;
    if (!rdk_tape_alive(t) || !shape_size(t, n_dims, dim, &size)) return NULL;
    rdk_tensor *x = rdk_tape_alloc(t, 1, sizeof *x);
    if (!x) return NULL;
    *x = (rdk_tensor){.n_dims = n_dims, .data_own = true};
    for (int i = 0; i < n_dims; i++) x->dim[i] = dim[i];
    x->data = rdk_tape_alloc(t, size, sizeof *x->data);
    return x->data ? x : NULL;
}

rdk_tensor *rdk_tape_leaf(rdk_tape *t, int n_dims, const size_t *dim, const rdk_real *values,
                          bool needs_grad)
{
    rdk_tensor *x = rdk_tape_tensor(t, n_dims, dim);
    if (!x) return NULL;
    size_t bytes = rdk_size(x) * sizeof *x->data;
    if (bytes > 0 && values) memcpy(x->data, values, bytes);
    if (bytes > 0 && !values) memset(x->data, 0, bytes);
    x->needs_grad = needs_grad;
    return x;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Room for one more node; the array doubles, and is kept over resets. */
static bool make_room(rdk_tape *t)
{
    enum { FIRST_ROOM = 256 };
    if (t->length < t->room) return true;
    size_t room = t->room > 0 ? 2 * t->room : FIRST_ROOM;
    rdk_node *nodes = rdk_alloc(room, sizeof *nodes, &t->status);
    if (!nodes) return false;
    if (t->length > 0) memcpy(nodes, t->nodes, t->length * sizeof *nodes);
    rdk_free(t->nodes);
    t->nodes = nodes;
    t->room = room;
    return true;
}

bool rdk_tape_would_record(const rdk_tape *t, int n_in, rdk_tensor *const *in)
{
    if (!rdk_tape_alive(t) || !t->recording) return false;
    for (int i = 0; i < n_in; i++) {
        if (in[i] && in[i]->needs_grad) return true;
    }
    return false;
}

/* Of the tape's own tensors; parameters may be at work on several tapes. */
static void count_use(rdk_tensor *x)
{
    rdk_tensor *root = x ? rdk_tensor_root(x) : NULL;
    if (root && root->data_own) root->n_uses++;
}

rdk_tensor *rdk_tape_record(rdk_tape *t, const rdk_op *op, rdk_tensor *out, int n_in,
                            rdk_tensor *const *in, void *saved)
{
    if (!rdk_tape_alive(t) || !out) return NULL;
    rdk_profile_forward(t, op);
    if (!rdk_tape_would_record(t, n_in, in)) return out;
    if (t->replayed) {
        return rdk_tape_fail(t, RDK_ESTATE,
                             "cannot record %s: backward has run on this recording (call "
                             "rdk_tape_reset first)",
                             op->name);
    }
    if (n_in > RDK_MAX_INPUTS) {
        return rdk_tape_fail(t, RDK_EVALUE, "cannot record %s: it has %d inputs, a node holds %d",
                             op->name, n_in, RDK_MAX_INPUTS);
    }
    if (!make_room(t)) return NULL;
    rdk_node *n = &t->nodes[t->length++];
    *n = (rdk_node){.op = op, .out = out, .n_in = n_in, .saved = saved, .scope = t->scope};
    for (int i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        count_use(in[i]);
    }
    out->needs_grad = true;
    return out;
}

size_t rdk_tape_length(const rdk_tape *t)
{
    return t->length;
}

const rdk_node *rdk_tape_node(const rdk_tape *t, size_t i)
{
    return i < t->length ? &t->nodes[i] : NULL;
}

const rdk_node *rdk_tape_first_nonfinite(const rdk_tape *t, size_t *at)
{
    for (size_t i = 0; i < t->length; i++) {
        const rdk_tensor *y = t->nodes[i].out;
        size_t size = y->data ? rdk_size(y) : 0;
        for (size_t j = 0; j < size; j++) {
            if (isfinite(y->data[j])) continue;
            if (at) *at = j;
            return &t->nodes[i];
        }
    }
    return NULL;
}
