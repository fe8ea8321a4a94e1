/* SPDX-License-Identifier: MIT
 * What the ops with products share: which kernel forms them. */
#include "product.h"

rdk_product rdk_dense_product(bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a,
                              const rdk_real *b, rdk_real *c, bool accumulate)
{
    return (rdk_product){
        .ta = ta,
        .tb = tb,
        .accumulate = accumulate,
        .m = m,
        .n = n,
        .k = k,
        .lda = ta ? m : k,
        .ldb = tb ? k : n,
        .ldc = n,
        .a = a,
        .b = b,
        .c = c,
    };
}

static void multiply_bf16(rdk_tape *t, const rdk_product *p)
{
    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    uint32_t *scratch = rdk_tape_alloc(t, rdk_product_bf16_scratch(p), sizeof *scratch);
    if (scratch) rdk_kernels_get()->bf16->product(p, scratch);
    rdk_arena_release(rdk_tape_arena(t), mark);
}

void rdk_multiply(rdk_tape *t, const rdk_product *p)
{
    if (rdk_tape_precision(t) == RDK_BF16)
        multiply_bf16(t, p);
    else if (p->bias || p->residual || p->panels)
        rdk_kernels_get()->linear(p->m, p->n, p->k, p->a, p->panels ? p->panels : p->b,
                                  p->panels != NULL, p->bias, p->residual, p->c);
    else
        rdk_kernels_get()->gemm(p->ta, p->tb, p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb, p->c,
                                p->ldc, p->accumulate);
}

const rdk_real *rdk_operand(rdk_tape *t, const rdk_tensor *x)
{
    if (rdk_tape_precision(t) != RDK_BF16) return x->data;
    rdk_real *rounded = rdk_tape_alloc(t, rdk_size(x), sizeof *rounded);
    if (rounded) rdk_kernels_get()->bf16->round(rdk_size(x), x->data, rounded);
    return rounded;
}
