/* SPDX-License-Identifier: MIT
 * Optimizer updates and the sums that go with them, each in one pass over the arrays.
 *
 * Invariant: sums are formed in double, over chunks that depend on the length alone and are added
 * in index order; so no finite array overflows them, and the thread count changes no bit. Read
 * next: src/optim. */
#include <float.h>

#include "chunks.h"
#include "kernels.h"
#include "vector.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static double dot_chunk(size_t n, const rdk_real *x, const rdk_real *y)
{
    vsum sum = {{0}, {0}};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum = v_accumulate_product(sum, v_load(x + i), v_load(y + i));
    if (i < n) sum = v_accumulate_product(sum, v_load_n(x + i, n - i), v_load_n(y + i, n - i));
    return v_total(sum);
}

RDK_SHARED static void dot_chunks(size_t begin, size_t end, size_t size, size_t n,
                                  const rdk_real *x, const rdk_real *y, double *partial)
{
    for (size_t c = begin; c < end; c++)
        partial[c] = dot_chunk(chunk_length(n, size, c), x + c * size, y + c * size);
}

static double dot(size_t n, const rdk_real *x, const rdk_real *y)
{
    double partial[MAX_CHUNKS];
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT), count = chunk_count(n, size);
    RDK_SHARE(n >= SERIAL_ELEMENTS, count, dot_chunks, size, n, x, y, partial);
    return chunk_sum(partial, count);
}

static double sum_squares(size_t n, const rdk_real *x)
{
    return dot(n, x, x);
}

/* ---- AdamW ----------------------------------------------------------------------------------- */

/* The constants of an update, rounded once. */
typedef struct adamw_rule {
    rdk_real factor, beta1, rest1, beta2, rest2; /* rest = 1 - beta */
    rdk_real unbias1, unbias2;                   /* 1 / correction */
    rdk_real lr, eps, decay;
} adamw_rule;

static adamw_rule adamw_rule_of(const rdk_adamw *p)
{
    return (adamw_rule){
        .factor = (rdk_real)p->factor,
        .beta1 = (rdk_real)p->beta1,
        .rest1 = (rdk_real)(1 - p->beta1),
        .beta2 = (rdk_real)p->beta2,
        .rest2 = (rdk_real)(1 - p->beta2),
        .unbias1 = (rdk_real)(1 / p->correction1),
        .unbias2 = (rdk_real)(1 / p->correction2),
        .lr = (rdk_real)p->lr,
        .eps = (rdk_real)p->eps,
        .decay = (rdk_real)p->weight_decay,
    };
}

typedef struct adamw_lanes {
    vreal w, m, v;
} adamw_lanes;

/* Moments, and gradients whose square is one, that are denormal count as 0: those of a weight
 * without gradient would otherwise decay into the denormals and stay there, slow in every step.
 * Without eps, a weight that never had a gradient would move by 0 / 0: it stays. */
static inline adamw_lanes adamw_step(const adamw_rule *p, adamw_lanes a, vreal grad)
{
    static const rdk_real least = SINGLE ? (rdk_real)FLT_MIN : (rdk_real)DBL_MIN;
    static const rdk_real root_least = SINGLE ? (rdk_real)0x1p-63 : (rdk_real)0x1p-511;
    vreal g = p->factor * grad, square = v_flush(g, root_least);
    a.m = v_flush(p->beta1 * a.m + p->rest1 * g, least);
    a.v = v_flush(p->beta2 * a.v + p->rest2 * (square * square), least);
    vreal root = v_sqrt(a.v * p->unbias2) + p->eps;
    vreal move = v_select(root == 0, v_set(0), a.m * p->unbias1 / root);
    a.w -= p->lr * (move + p->decay * a.w);
    return a;
}

static double adamw_chunk(const adamw_rule *p, size_t n, rdk_real *w, const rdk_real *grad,
                          rdk_real *m, rdk_real *v)
{
    vsum sum = {{0}, {0}};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        adamw_lanes old = {v_load(w + i), v_load(m + i), v_load(v + i)};
        adamw_lanes new = adamw_step(p, old, v_load(grad + i));
        v_store(w + i, new.w);
        v_store(m + i, new.m);
        v_store(v + i, new.v);
        sum = v_accumulate_product(sum, new.w - old.w, new.w - old.w);
    }
    if (i < n) {
        size_t rest = n - i;
        adamw_lanes old = {v_load_n(w + i, rest), v_load_n(m + i, rest), v_load_n(v + i, rest)};
        adamw_lanes new = adamw_step(p, old, v_load_n(grad + i, rest));
        v_store_n(w + i, rest, new.w);
        v_store_n(m + i, rest, new.m);
        v_store_n(v + i, rest, new.v);
        sum = v_accumulate_product(sum, new.w - old.w, new.w - old.w);
    }
    return v_total(sum);
}

RDK_SHARED static void adamw_chunks(size_t begin, size_t end, size_t size, const adamw_rule *rule,
                                    size_t n, rdk_real *w, const rdk_real *grad, rdk_real *m,
                                    rdk_real *v, double *partial)
{
    for (size_t c = begin; c < end; c++) {
        size_t at = c * size;
        partial[c] = adamw_chunk(rule, chunk_length(n, size, c), w + at, grad + at, m + at, v + at);
    }
}

static double adamw(const rdk_adamw *p, size_t n, rdk_real *w, const rdk_real *grad, rdk_real *m,
                    rdk_real *v)
{
    const adamw_rule rule = adamw_rule_of(p);
    double partial[MAX_CHUNKS];
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT), count = chunk_count(n, size);
    RDK_SHARE(n >= SERIAL_ELEMENTS, count, adamw_chunks, size, &rule, n, w, grad, m, v, partial);
    return chunk_sum(partial, count);
}

/* ---- SGD ------------------------------------------------------------------------------------- */

typedef struct sgd_rule {
    rdk_real lr, momentum, decay, factor;
} sgd_rule;

static double sgd_chunk(const sgd_rule *p, size_t n, rdk_real *w, const rdk_real *grad, rdk_real *m)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        rdk_real old = w[i];
        rdk_real g = p->factor * grad[i] + p->decay * old;
        m[i] = p->momentum * m[i] + g;
        w[i] = old - p->lr * m[i];
        double change = (double)(w[i] - old);
        sum += change * change;
    }
    return sum;
}

RDK_SHARED static void sgd_chunks(size_t begin, size_t end, size_t size, const sgd_rule *rule,
                                  size_t n, rdk_real *w, const rdk_real *grad, rdk_real *m,
                                  double *partial)
{
    for (size_t c = begin; c < end; c++) {
        size_t at = c * size;
        partial[c] = sgd_chunk(rule, chunk_length(n, size, c), w + at, grad + at, m + at);
    }
}

static double sgd(double lr, double momentum, double weight_decay, double factor, size_t n,
                  rdk_real *w, const rdk_real *grad, rdk_real *m)
{
    const sgd_rule rule = {(rdk_real)lr, (rdk_real)momentum, (rdk_real)weight_decay,
                           (rdk_real)factor};
    double partial[MAX_CHUNKS];
    size_t size = chunk_size(n, LEAST_CHUNK, CHUNK_UNIT), count = chunk_count(n, size);
    RDK_SHARE(n >= SERIAL_ELEMENTS, count, sgd_chunks, size, &rule, n, w, grad, m, partial);
    return chunk_sum(partial, count);
}
