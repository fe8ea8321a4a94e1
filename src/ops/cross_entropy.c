/* SPDX-License-Identifier: MIT
 * The loss: cross entropy of softmax(logits) against one target a row.
 *     loss = sum over counted rows of -log softmax(logits[r])[targets[r]] / denominator
 *     dlogits[r] += dloss / denominator (softmax(logits[r]) - onehot(targets[r])) of counted rows
 *
 * The denominator is the caller's: the counted targets of the whole step, so that micro-batches add
 * up to the batch's mean. The sum runs in double. */
#include "shape.h"
#include "table.h"

#include <math.h>
#include <string.h>

#include <kernels/kernels.h>

typedef struct loss_saved {
    int32_t *targets;            /* [rows] */
    rdk_real *row_max, *row_inv; /* [rows] */
    double denominator;
} loss_saved;

static void cross_entropy_backward(rdk_tape *t, const rdk_node *n)
{
    const loss_saved *s = n->saved;
    const rdk_tensor *logits = n->in[0];
    rdk_real *dlogits = rdk_grad(t, n->in[0]);
    if (!dlogits) return;
    const rdk_real factor = (rdk_real)((double)n->out->grad[0] / s->denominator);
    rdk_kernels_get()->cross_entropy_backward(rdk_rows(logits), rdk_cols(logits), logits->data,
                                              s->targets, s->row_max, s->row_inv, factor, dlogits);
}

const rdk_op rdk_op_cross_entropy = {
    "cross_entropy",
    "loss = sum of -log softmax(logits)[target] / denominator",
    cross_entropy_backward,
};

static bool targets_in_range(rdk_tape *t, size_t rows, const int32_t *targets, size_t v)
{
    for (size_t r = 0; r < rows; r++) {
        const int32_t target = targets[r];
        if (target == RDK_IGNORE || (target >= 0 && (size_t)target < v)) continue;
        rdk_tape_fail(t, RDK_EVALUE,
                      "cross_entropy of target %d at position %zu: there are %zu classes (%d is "
                      "ignored)",
                      (int)target, r, v, RDK_IGNORE);
        return false;
    }
    return true;
}

rdk_tensor *rdk_cross_entropy(rdk_tape *t, rdk_tensor *logits, const int32_t *targets,
                              double denominator, rdk_real *nll, int32_t *best)
{
    if (!rdk_tape_alive(t) || !logits) return NULL;
    if (logits->n_dims < 1) {
        return rdk_refuse(t, &rdk_op_cross_entropy, 1, &logits, "logits are [.., classes]");
    }
    if (!(denominator > 0) || !isfinite(denominator)) {
        return rdk_tape_fail(t, RDK_EVALUE, "cross_entropy with denominator %g: it must be above 0",
                             denominator);
    }
    const size_t rows = rdk_rows(logits), v = rdk_cols(logits);
    if (!targets_in_range(t, rows, targets, v)) return NULL;
    rdk_tensor *loss = rdk_tape_tensor(t, 0, NULL);
    loss_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!loss || !s) return NULL;
    s->denominator = denominator;
    s->targets = rdk_tape_alloc(t, rows, sizeof *s->targets);
    s->row_max = rdk_tape_alloc(t, rows, sizeof *s->row_max);
    s->row_inv = rdk_tape_alloc(t, rows, sizeof *s->row_inv);
    if (!rdk_tape_alive(t)) return NULL;

    if (rows > 0) memcpy(s->targets, targets, rows * sizeof *s->targets);
    const double total = rdk_kernels_get()->cross_entropy(rows, v, logits->data, s->targets,
                                                          s->row_max, s->row_inv, nll, best);
    loss->data[0] = (rdk_real)(total / denominator);
    return rdk_tape_record(t, &rdk_op_cross_entropy, loss, 1, &logits, s);
}
