/* SPDX-License-Identifier: MIT
 * The weights of linear layers, laid out as the products with them need it: once for all passes
 * over a batch, in place of once in each.
 *
 * Invariant: panels are current from rdk_model_pack to rdk_model_unpack, and no longer; a weight
 * that is not packed, and one that sigma_reparam multiplies by a factor first, is read as it is.
 * Read next: share.c, src/kernels/gemm.c, gemm_bf16.c. */
#include "nn/model.h"

#include "kernels/kernels.h"

/* What is laid out of a weight, [n, k], for float: its transposed; for bf16 itself as well, since
 * every operand is converted. */
static bool allocate(rdk_packing *p, const rdk_tensor *weight, rdk_precision precision,
                     rdk_status *s)
{
    const size_t n = weight->dim[0], k = weight->dim[1];
    if (precision == RDK_FLOAT) {
        if (!p->panels) p->panels = rdk_alloc(rdk_panels_size(n, k), sizeof *p->panels, s);
        return p->panels != NULL;
    }
    if (!p->pairs_t) p->pairs_t = rdk_alloc(rdk_panels_bf16_size(n, k), sizeof *p->pairs_t, s);
    if (!p->pairs) p->pairs = rdk_alloc(rdk_panels_bf16_size(k, n), sizeof *p->pairs, s);
    return p->pairs_t && p->pairs;
}

static void lay_out(rdk_packing *p, const rdk_tensor *weight, rdk_precision precision)
{
    const rdk_kernels *kernels = rdk_kernels_get();
    const size_t n = weight->dim[0], k = weight->dim[1];
    if (precision == RDK_FLOAT) {
        kernels->panels(n, k, weight->data, k, p->panels);
    } else {
        kernels->bf16->panels(true, n, k, weight->data, k, p->pairs_t);
        kernels->bf16->panels(false, k, n, weight->data, k, p->pairs);
    }
    p->precision = precision;
    p->current = true;
}

static void lay_out_param(rdk_model *m, size_t i, void *precision)
{
    const rdk_tensor *x = &m->param[i].tensor;
    if (x->packing) lay_out(&m->packing[i], x, *(const rdk_precision *)precision);
}

bool rdk_model_pack(rdk_model *m, rdk_precision precision, rdk_status *s)
{
    for (size_t i = 0; i < m->n_params; i++) {
        const rdk_tensor *x = &m->param[i].tensor;
        if (x->packing && !allocate(&m->packing[i], x, precision, s)) return false;
    }
    rdk_model_each(m, lay_out_param, &precision);
    return true;
}

void rdk_model_unpack(rdk_model *m)
{
    for (size_t i = 0; i < m->n_params; i++) m->packing[i].current = false;
}
