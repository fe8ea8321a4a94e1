/* SPDX-License-Identifier: MIT
 * Rows of a table by number: y[r] = table[ids[r]], dtable[ids[r]] += dy[r]. */
#include "shape.h"
#include "table.h"

#include <string.h>

#include <kernels/kernels.h>

static void embedding_backward(rdk_tape *t, const rdk_node *n)
{
    const int32_t *ids = n->saved;
    const rdk_tensor *y = n->out;
    rdk_real *dtable = rdk_grad(t, n->in[0]);
    if (!dtable) return;
    rdk_kernels_get()->embedding_backward(rdk_rows(y), rdk_cols(y), ids, y->grad, dtable);
}

const rdk_op rdk_op_embedding = {"embedding", "y[r] = table[ids[r]]", embedding_backward};

static bool ids_in_range(rdk_tape *t, size_t n, const int32_t *ids, size_t v)
{
    for (size_t r = 0; r < n; r++) {
        if (ids[r] >= 0 && (size_t)ids[r] < v) continue;
        rdk_tape_fail(t, RDK_EVALUE, "embedding of id %d at position %zu: the table has %zu rows",
                      (int)ids[r], r, v);
        return false;
    }
    return true;
}

rdk_tensor *rdk_embedding(rdk_tape *t, rdk_tensor *table, const int32_t *ids, int n_dims,
                          const size_t *dim)
{
    if (!rdk_tape_alive(t) || !table) return NULL;
    if (table->n_dims != 2) {
        return rdk_refuse(t, &rdk_op_embedding, 1, &table, "a table is [v, d]");
    }
    if (n_dims < 0 || n_dims >= RDK_MAX_DIMS) {
        return rdk_refuse(t, &rdk_op_embedding, 1, &table,
                          "ids of %d dimensions: 0 to %d are possible", n_dims, RDK_MAX_DIMS - 1);
    }
    size_t y_dim[RDK_MAX_DIMS];
    for (int i = 0; i < n_dims; i++) y_dim[i] = dim[i];
    y_dim[n_dims] = table->dim[1];
    rdk_tensor *y = rdk_tape_tensor(t, n_dims + 1, y_dim);
    if (!y || !ids_in_range(t, rdk_rows(y), ids, table->dim[0])) return NULL;

    const size_t rows = rdk_rows(y);
    int32_t *copy = rdk_tape_alloc(t, rows, sizeof *copy);
    if (!copy) return NULL;
    if (rows > 0) memcpy(copy, ids, rows * sizeof *copy);
    y->data_unread = true;
    rdk_kernels_get()->embedding(rows, table->dim[1], table->data, copy, y->data);
    return rdk_tape_record(t, &rdk_op_embedding, y, 1, &table, copy);
}
