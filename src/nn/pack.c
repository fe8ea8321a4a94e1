/* SPDX-License-Identifier: MIT
 * The weights of linear layers, laid out as the products with them need it: once for all passes
 * over a batch, in place of once in each.
 *
 * The kernel shares each among the threads where it is large.
 *
 * Invariant: panels are current from rdk_model_pack to rdk_model_unpack, and no longer; a weight
 * that is not packed, and one that sigma_reparam multiplies by a factor first, is read as it is.
 * Read next: src/kernels/gemm.c. */
#include "nn/model.h"

#include "kernels/kernels.h"

static bool allocate(rdk_packing *p, const rdk_tensor *weight, rdk_status *s)
{
    if (!p->panels)
        p->panels =
            rdk_alloc(rdk_panels_size(weight->dim[0], weight->dim[1]), sizeof *p->panels, s);
    return p->panels != NULL;
}

bool rdk_model_pack(rdk_model *m, rdk_status *s)
{
    for (size_t i = 0; i < m->n_params; i++) {
        const rdk_tensor *x = &m->param[i].tensor;
        if (x->packing && !allocate(&m->packing[i], x, s)) return false;
    }
    for (size_t i = 0; i < m->n_params; i++) {
        const rdk_tensor *x = &m->param[i].tensor;
        if (!x->packing) continue;
        rdk_kernels_get()->panels(x->dim[0], x->dim[1], x->data, x->dim[1], m->packing[i].panels);
        m->packing[i].current = true;
    }
    return true;
}

void rdk_model_unpack(rdk_model *m)
{
    for (size_t i = 0; i < m->n_params; i++) m->packing[i].current = false;
}
