/* SPDX-License-Identifier: MIT
 * The tape played back: each node once, from the last to the first.
 *
 * Invariant: when a node's turn comes, every node that used its output has had its own, so
 * out->grad is complete. An output without a gradient by then has none to pass on.
 * Read next: src/ops, where each backward stands above its forward. */
#include "tape.h"

#include <string.h>

#include <kernels/kernels.h>

/* ---- memory that is used again --------------------------------------------------------------- */

/* The gradient of what a node made is dead once the node has had its turn, and its data as well,
 * where nobody will read them. Their memory serves the next gradient of that size: less memory, and
 * it is still in the cache. */
static void give_back(rdk_tape *t, rdk_real *memory, size_t count)
{
    if (count * sizeof *memory < sizeof(rdk_spare)) return;
#ifdef RDK_DEBUG
    memset(memory, 0xFF, count * sizeof *memory); /* whoever reads on reads nan */
#endif
    rdk_spare *spare = (void *)memory;
    *spare = (rdk_spare){t->spares, count};
    t->spares = spare;
}

static rdk_real *take(rdk_tape *t, size_t count)
{
    enum { LOOKED_AT = 32 }; /* the list is long only where sizes are many */
    rdk_spare **link = &t->spares;
    for (int i = 0; i < LOOKED_AT && *link; i++, link = &(*link)->next) {
        if ((*link)->count != count) continue;
        rdk_real *grad = (void *)*link;
        *link = (*link)->next;
        return grad;
    }
    return rdk_tape_alloc(t, count, sizeof(rdk_real));
}

rdk_real *rdk_grad_unless_new(rdk_tape *t, rdk_tensor *x, bool *add)
{
    *add = true;
    if (!x || !x->needs_grad) return NULL;
    rdk_tensor *root = rdk_tensor_root(x);
    if (!root->grad) {
        root->grad = take(t, rdk_size(root));
        *add = false;
    } else if (root->grad_stale) {
        root->grad_stale = false;
        *add = false;
    }
    return root->grad;
}

rdk_real *rdk_grad(rdk_tape *t, rdk_tensor *x)
{
    bool add;
    rdk_real *grad = rdk_grad_unless_new(t, x, &add);
    if (grad && !add && rdk_size(x) > 0) memset(grad, 0, rdk_size(x) * sizeof *grad);
    return grad;
}

bool rdk_grad_may_take_data(const rdk_tape *t, rdk_tensor *x)
{
    if (!t->frugal || t->keeps_gradients || !x->needs_grad) return false;
    const rdk_tensor *root = rdk_tensor_root(x);
    return root->data_own && root->data_unread && root->n_uses == 1 && !root->grad;
}

rdk_real *rdk_grad_over_data(rdk_tensor *x)
{
    rdk_tensor *root = rdk_tensor_root(x);
    root->data_own = false; /* the memory goes where the gradient goes */
    root->grad = root->data;
    return root->grad;
}

void rdk_grad_add(rdk_tape *t, rdk_tensor *x, const rdk_real *dy)
{
    bool add;
    rdk_real *dx = rdk_grad_unless_new(t, x, &add);
    if (!dx) return;
    (add ? rdk_kernels_get()->axpy : rdk_kernels_get()->scale)(rdk_size(x), 1, dy, dx);
}

void rdk_grad_pass_on(rdk_tape *t, const rdk_node *n, rdk_tensor *x)
{
    rdk_tensor *y = n->out;
    if (!x || !x->needs_grad) return;
    rdk_tensor *root = rdk_tensor_root(x);
    if (!root->grad && !y->view_of && !t->keeps_gradients) {
        root->grad = y->grad;
        y->grad = NULL;
        return;
    }
    rdk_grad_add(t, x, y->grad);
}

/* ---- the replay ------------------------------------------------------------------------------ */

/* The node that made y, searched from the end (it is the last one nearly always). */
static const rdk_node *maker(const rdk_tape *t, rdk_tensor *y)
{
    const rdk_tensor *root = rdk_tensor_root(y);
    for (size_t i = t->length; i-- > 0;) {
        if (rdk_tensor_root(t->nodes[i].out) == root) return &t->nodes[i];
    }
    return NULL;
}

/* The node to start from; NULL (and the status) where y cannot be differentiated. */
static const rdk_node *begin(rdk_tape *t, rdk_tensor *y)
{
    if (!rdk_tape_alive(t)) return NULL;
    if (!y) {
        rdk_tape_fail(t, RDK_EVALUE, "backward of no tensor (NULL)");
        return NULL;
    }
    char shape[RDK_SHAPE_TEXT];
    rdk_shape_text(y, shape);
    if (t->replayed) {
        rdk_tape_fail(t, RDK_ESTATE,
                      "backward of %s: backward has run on this recording already (call "
                      "rdk_tape_reset and compute the loss anew)",
                      shape);
        return NULL;
    }
    if (!y->needs_grad) {
        rdk_tape_fail(t, RDK_ESTATE,
                      "backward of %s: it does not need a gradient (no input did, or the tape was "
                      "not recording)",
                      shape);
        return NULL;
    }
    const rdk_node *n = maker(t, y);
    if (!n) {
        rdk_tape_fail(t, RDK_ESTATE,
                      "backward of %s: no call recorded on this tape made it (a leaf, or the "
                      "tensor of another tape)",
                      shape);
    }
    return n;
}

/* The node that made out has had its turn, as have all that used it. Of a view the memory is its
 * root's. */
static void retire(rdk_tape *t, rdk_tensor *out, const rdk_tensor *kept)
{
    bool root = !out->view_of;
    if (t->keeps_gradients) return;
    if (t->frugal && rdk_tensor_root(out) != kept) {
        if (root && out->data_own) give_back(t, out->data, rdk_size(out));
        out->data = NULL;
        out->data_own = false;
    }
    if (root && out->grad) give_back(t, out->grad, rdk_size(out));
    out->grad = NULL;
}

static bool replay(rdk_tape *t, const rdk_node *last)
{
    const rdk_tensor *kept = rdk_tensor_root(last->out);
    t->replayed = true;
    rdk_profile_pause(t);
    for (const rdk_node *n = last; rdk_tape_alive(t); n--) {
        rdk_tensor *out = n->out, *root = rdk_tensor_root(out);
        out->grad = root->grad;
        if (root->grad) n->op->backward(t, n);
        retire(t, out, kept);
        rdk_profile_backward(t, n->op);
        if (n == t->nodes) break;
    }
    return rdk_tape_alive(t);
}

bool rdk_tape_backward(rdk_tape *t, rdk_tensor *loss)
{
    const rdk_node *last = begin(t, loss);
    if (!last) return false;
    char shape[RDK_SHAPE_TEXT];
    if (!rdk_tape_expect(t, rdk_size(loss) == 1,
                         "backward of %s: a loss has exactly one element (reduce it, or give an "
                         "upstream gradient to rdk_tape_backward_from)",
                         rdk_shape_text(loss, shape))) {
        return false;
    }
    const rdk_real one = 1;
    return rdk_tape_backward_from(t, loss, &one);
}

bool rdk_tape_backward_from(rdk_tape *t, rdk_tensor *y, const rdk_real *dy)
{
    const rdk_node *last = begin(t, y);
    if (!last) return false;
    rdk_real *grad = rdk_grad(t, y);
    if (!grad) return false;
    size_t size = rdk_size(y);
    for (size_t i = 0; i < size; i++) grad[i] += dy[i];
    return replay(t, last);
}
