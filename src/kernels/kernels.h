/* SPDX-License-Identifier: MIT
 * The numeric inner loops on plain arrays: no tensors, no tape, no memory of their own.
 *
 * They are compiled once per instruction set from the same sources: src/kernels/isa.c includes the
 * other .c files, whose functions are static, and exports one constant table. Which table is used
 * is decided once, by what the processor has (RDK_ISA=base|avx2|avx512|avx512bf16, on aarch64 neon,
 * in the environment forces one).
 *
 * Invariants:
 * - the result does not depend on the number of threads: every element is written by one thread,
 *   and sums run over fixed chunks in index order;
 * - matrices are row-major with a row stride (ld) in elements; arrays do not overlap unless said;
 * - "+=" in a comment means the kernel adds into the array, "=" that it overwrites;
 * - any size may be 0.
 * Read next: vector.h (the vector type, exp and tanh), erf.h, gemm.c, attention.c. */
#ifndef RDK_KERNELS_H
#define RDK_KERNELS_H

#include <rootdk/base.h>
#include <rootdk/kernels.h>

/* One element-wise function with its derivative. */
typedef enum rdk_map {
    RDK_MAP_EXP,
    RDK_MAP_LOG,
    RDK_MAP_TANH,
    RDK_MAP_ERF,
    RDK_MAP_RELU,
    RDK_MAP_GELU,
    RDK_MAP_GELU_TANH,
    RDK_MAP_SILU,
} rdk_map;

/* Additive attention (Bahdanau et al. 2015): s = c w.tanh(q + k) instead of s = c q.k. */
typedef struct rdk_attention_additive {
    const rdk_real *w; /* [H, d_k] */
    /* of backward alone: */
    rdk_real *dw;  /* [H, d_k], +=; or NULL */
    double *parts; /* [B, H, d_k], room for what each (b, h) adds to it; NULL where dw is */
} rdk_attention_additive;

/* Operands of attention, for the B sequences at once: row (b, i) of k begins at (b*T + i) * H *
 * d_k, head h of it at column h * d_k (d_v for v). Queries, and so q, o and their gradients, are
 * those of the positions from `first` on: row (b, i) of them is (b * (T - first) + i - first). */
typedef struct rdk_attention_shape {
    size_t batch, heads, len, d_k, d_v; /* B, H, T */
    size_t first;                       /* <= T; 0: every position asks */
    double scale;
    const rdk_attention_additive *additive; /* NULL: the score is a product */
    bool causal;
    const int32_t *lengths; /* [B] or NULL */
    double dropout;         /* 0: none */
    rdk_stream stream;      /* dropout draws: index = (b*H + h)*T + i, draw = j / 4, word j % 4 */
    /* what becomes of c q.k before the softmax (attention_policy.h); all off where 0 and NULL */
    const rdk_real *gain; /* [H] factors on the scores of a head */
    double length_base;   /* > 1: scores times ln n / ln base, n the keys that the row sees */
    double softcap;       /* > 0: cap tanh(s / cap) */
    const rdk_real *sink; /* [H] scores of one more outcome, whose value is 0 */
    double *head_grads;   /* backward: [2, B, H], = dL/dgain and dL/dsink of each (b, h); or NULL */
} rdk_attention_shape;

/* Where its backward puts the gradients of q, k and v: NULL where not asked for; add: += in place
 * of =. Two of them may be one array if both are added, since their parts come in any order. */
typedef struct rdk_attention_grads {
    rdk_real *dq, *dk, *dv;
    bool add_q, add_k, add_v;
} rdk_attention_grads;

/* C = residual + (op(A) op(B) + bias), or C += where accumulate.  op(A): [m, k], op(B): [k, n], C:
 * [m, n]. ta: A is stored [k, m]; tb: B is stored [n, k]. */
typedef struct rdk_product {
    bool ta, tb, accumulate;
    size_t m, n, k, lda, ldb, ldc;
    const rdk_real *a, *b;
    const void *panels;       /* B as these kernels' panels() laid it out, in place of b; or NULL */
    const rdk_real *bias;     /* [n] or NULL */
    const rdk_real *residual; /* [m, n], its rows as far apart as those of C; or NULL */
    rdk_real *c;
} rdk_product;

/* Numbers rounded to bfloat16 (bf16.h). */
typedef struct rdk_bf16_kernels {
    /* The product of a and b rounded, summed in rdk_real: by pairs of terms, in order. Where
     * nothing over- or underflows, the same bits in every table. scratch:
     * rdk_product_bf16_scratch() words, aligned to 64 bytes. */
    void (*product)(const rdk_product *p, uint32_t *scratch);
    /* What it does to B first, done once for many: to rdk_panels_bf16_size() words at out, aligned
     * to 64 bytes. */
    void (*panels)(bool tb, size_t n, size_t k, const rdk_real *b, size_t ldb, uint32_t *out);
    /* y = x rounded; y may be x */
    void (*round)(size_t n, const rdk_real *x, rdk_real *y);
} rdk_bf16_kernels;

typedef struct rdk_adamw {
    double lr, beta1, beta2, eps, weight_decay; /* weight_decay 0 for undecayed ranges */
    double correction1, correction2;            /* 1 - beta^t */
    double factor;                              /* on the gradient: the clip factor */
} rdk_adamw;

typedef struct rdk_kernels {
    const char *isa;

    /* C = op(A) op(B), or C += where accumulate.  op(A): [m, k], op(B): [k, n], C: [m, n].
     * ta: A is stored [k, m]; tb: B is stored [n, k]. */
    void (*gemm)(bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a, size_t lda,
                 const rdk_real *b, size_t ldb, rdk_real *c, size_t ldc, bool accumulate);
    /* y = residual + (x w^T + bias).  x: [m, k], w: [n, k], bias: [n] or NULL, residual: [m, n] or
     * NULL, y: [m, n]. w as it is stored, or in_panels: as panels() laid it out. Bit by bit
     * gemm(false, true, ..), then the bias, then the residual. */
    void (*linear)(size_t m, size_t n, size_t k, const rdk_real *x, const rdk_real *w,
                   bool in_panels, const rdk_real *bias, const rdk_real *residual, rdk_real *y);
    /* What a product with tb does to B first, done once for many: B, stored [n, k], to
     * rdk_panels_size() elements at out, aligned to 64 bytes. */
    void (*panels)(size_t n, size_t k, const rdk_real *b, size_t ldb, rdk_real *out);

    const rdk_bf16_kernels *bf16;

    /* y = f(x);  dx = dy f'(x), or += where add; y = f(x) is at hand. y may be x, dx may be x or
     * dy. */
    void (*map)(rdk_map f, size_t n, const rdk_real *x, rdk_real *y);
    void (*map_backward)(rdk_map f, size_t n, const rdk_real *x, const rdk_real *y,
                         const rdk_real *dy, rdk_real *dx, bool add);
    /* y = f(x), slope = f'(x) in one pass: the bits of map, and of map_backward where dy = 1. slope
     * may be x. */
    void (*map_and_slope)(rdk_map f, size_t n, const rdk_real *x, rdk_real *y, rdk_real *slope);
    /* y may be a in add, either in mul, x in scale */
    void (*add)(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y);     /* y = a + b */
    void (*mul)(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y);     /* y = a * b */
    void (*mul_add)(size_t n, const rdk_real *a, const rdk_real *b, rdk_real *y); /* y += a * b */
    void (*axpy)(size_t n, rdk_real a, const rdk_real *x, rdk_real *y);           /* y += a x */
    void (*scale)(size_t n, rdk_real a, const rdk_real *x, rdk_real *y);          /* y = a x */
    void (*sum_rows)(size_t rows, size_t cols, const rdk_real *x, rdk_real *y); /* y += sum x[r] */

    /* rows of n; softmax: y = exp(x - max) / sum, log_softmax: y = x - max - log sum */
    void (*softmax)(size_t rows, size_t n, const rdk_real *x, rdk_real *y);
    void (*softmax_backward)(size_t rows, size_t n, const rdk_real *y, const rdk_real *dy,
                             rdk_real *dx);
    void (*log_softmax)(size_t rows, size_t n, const rdk_real *x, rdk_real *y);
    void (*log_softmax_backward)(size_t rows, size_t n, const rdk_real *y, const rdk_real *dy,
                                 rdk_real *dx);

    /* y = (x - mean) rstd gain + bias; mean, rstd: [rows], kept for backward. center false: RMS
     * norm, mean untouched (may be NULL). mean_square false: sum of squares instead of their mean
     * (L2). gain, bias and their gradients may be NULL. */
    void (*norm)(bool center, bool mean_square, size_t rows, size_t n, double eps,
                 const rdk_real *x, const rdk_real *gain, const rdk_real *bias, rdk_real *y,
                 rdk_real *mean, rdk_real *rstd);
    void (*norm_backward)(bool center, bool mean_square, size_t rows, size_t n, const rdk_real *x,
                          const rdk_real *gain, const rdk_real *mean, const rdk_real *rstd,
                          const rdk_real *dy, rdk_real *dx, rdk_real *dgain, rdk_real *dbias);

    /* y[r] = table[ids[r]];  dtable[ids[r]] += dy[r], in index order, without races */
    void (*embedding)(size_t rows, size_t d, const rdk_real *table, const int32_t *ids,
                      rdk_real *y);
    void (*embedding_backward)(size_t rows, size_t d, const int32_t *ids, const rdk_real *dy,
                               rdk_real *dtable);

    /* keep with probability 1 - p: y = x mask / (1 - p);  dx += dy mask / (1 - p), mask drawn
     * again: element e by word e % 4 of the block at index e / 4 */
    void (*dropout)(size_t n, double p, rdk_stream stream, const rdk_real *x, rdk_real *y);
    void (*dropout_backward)(size_t n, double p, rdk_stream stream, const rdk_real *dy,
                             rdk_real *dx);

    /* x: [rows, heads, d] at positions pos(r) = first + r % len; sign -1 turns back (the gradient).
     * y = turned x, or += where accumulate */
    void (*rope)(size_t rows, size_t first, size_t len, size_t heads, size_t d, double base,
                 int sign, const rdk_real *x, rdk_real *y, bool accumulate);

    /* streaming attention. row_max, row_inv: [B, H, T], the largest score and 1 / sum exp(s - max),
     * kept for backward. rows: [B, H, T] statistics to fill, or NULL. Of all three those before
     * `first` are left as they are.
     * scratch: rdk_attention_scratch() elements for each of rdk_threads(). */
    void (*attention)(const rdk_attention_shape *s, const rdk_real *q, const rdk_real *k,
                      const rdk_real *v, rdk_real *o, rdk_real *row_max, rdk_real *row_inv,
                      rdk_attention_row *rows, rdk_real *scratch);
    /* It needs no o (attention_backward.c says why) */
    void (*attention_backward)(const rdk_attention_shape *s, const rdk_real *q, const rdk_real *k,
                               const rdk_real *v, const rdk_real *dout, const rdk_real *row_max,
                               const rdk_real *row_inv, const rdk_attention_grads *to,
                               rdk_attention_row *rows, rdk_real *scratch);

    /* nll[r] = -log softmax(logits[r])[targets[r]], 0 where ignored (target < 0); best[r] = first
     * argmax; row_max, row_inv: [rows] kept for backward. nll, best may be NULL. Returns the sum of
     * nll in double.
     * backward: dlogits[r] += factor (softmax(logits[r]) - onehot(target)); 0 where ignored */
    double (*cross_entropy)(size_t rows, size_t v, const rdk_real *logits, const int32_t *targets,
                            rdk_real *row_max, rdk_real *row_inv, rdk_real *nll, int32_t *best);
    void (*cross_entropy_backward)(size_t rows, size_t v, const rdk_real *logits,
                                   const int32_t *targets, const rdk_real *row_max,
                                   const rdk_real *row_inv, rdk_real factor, rdk_real *dlogits);

    /* sums in double over fixed chunks */
    double (*sum_squares)(size_t n, const rdk_real *x);
    double (*dot)(size_t n, const rdk_real *x, const rdk_real *y);

    /* Loshchilov and Hutter 2019, algorithm 2: g = factor * grad; m, v moments;
     * w -= lr (m / correction1 / (sqrt(v / correction2) + eps) + weight_decay w).
     * Returns the sum of squares of the change of w, in double. */
    double (*adamw)(const rdk_adamw *p, size_t n, rdk_real *w, const rdk_real *grad, rdk_real *m,
                    rdk_real *v);
    /* g = factor * grad + weight_decay w; m = momentum m + g; w -= lr m. Returns as adamw. */
    double (*sgd)(double lr, double momentum, double weight_decay, double factor, size_t n,
                  rdk_real *w, const rdk_real *grad, rdk_real *m);

    /* n rounds of x = x a + b in registers, *flops operations in all; the mean of where they end,
     * b / (1 - a) for |a| < 1 and enough rounds. The limit that products are measured by. */
    double (*multiply_adds)(size_t n, double a, double b, double *flops);
} rdk_kernels;

/* Elements of the panels of B, stored [n, k]; n k is known to fit memory. */
size_t rdk_panels_size(size_t n, size_t k);
/* Words of the panels of op(B), [k, n], and of the scratch of a product of pairs. */
size_t rdk_panels_bf16_size(size_t n, size_t k);
size_t rdk_product_bf16_scratch(const rdk_product *p);
/* Elements of scratch that one thread needs in attention and its backward. */
size_t rdk_attention_scratch(size_t len, size_t d_k, size_t d_v);

/* The table in use; never NULL, the same for the whole process. */
const rdk_kernels *rdk_kernels_get(void);
/* The i-th table that this processor can run, best first; NULL past the end (for tests). */
const rdk_kernels *rdk_kernels_at(int i);

#endif
