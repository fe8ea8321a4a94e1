/* SPDX-License-Identifier: MIT
 * The tape played back: each node once, from the last to the first.
 *
 * Invariant: when a node's turn comes, every node that used its output has had its own, so
 * out->grad is complete. An output without a gradient by then has none to pass on.
 * Read next: src/ops, where each backward stands above its forward. */
#include "tape.h"

#include <string.h>

rdk_real *rdk_grad_unless_new(rdk_tape *t, rdk_tensor *x, bool *add)
{
    *add = true;
    if (!x || !x->needs_grad) return NULL;
    rdk_tensor *root = rdk_tensor_root(x);
    if (!root->grad) {
        root->grad = rdk_tape_alloc(t, rdk_size(root), sizeof *root->grad);
        *add = false;
    }
    x->grad = root->grad;
    return root->grad;
}

rdk_real *rdk_grad(rdk_tape *t, rdk_tensor *x)
{
    bool add;
    rdk_real *grad = rdk_grad_unless_new(t, x, &add);
    if (grad && !add && rdk_size(x) > 0) memset(grad, 0, rdk_size(x) * sizeof *grad);
    return grad;
}

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

static bool replay(rdk_tape *t, const rdk_node *last)
{
    t->replayed = true;
    for (const rdk_node *n = last; rdk_tape_alive(t); n--) {
        const rdk_tensor *root = rdk_tensor_root(n->out);
        n->out->grad = root->grad;
        if (root->grad) n->op->backward(t, n);
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
