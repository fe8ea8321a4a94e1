/* SPDX-License-Identifier: MIT
 * The kernels that kernels.c measures: how a step calls each, how much it has to do, and the same
 * computed plainly, in double.
 * Read next: kernels.c. */
#ifndef ROOTDK_BENCH_KERNEL_CASES_H
#define ROOTDK_BENCH_KERNEL_CASES_H

#include "kernel_attention.h"

/* ---- element by element ---------------------------------------------------------------------- */

static size_t inner(const job *j)
{
    return 4 * j->d;
}
static size_t inner_size(const job *j)
{
    return j->tokens * inner(j);
}
static size_t width_size(const job *j)
{
    return j->tokens * j->d;
}

static void gelu(const job *j)
{
    j->k->map(RDK_MAP_GELU_TANH, inner_size(j), j->a[0], j->a[1]);
}

static const double gelu_a = 0.7978845608028654, gelu_b = 0.044715; /* sqrt(2 / pi) */

static double gelu_error(const job *j, size_t i)
{
    double x = (double)j->a[0][i];
    return error_of(j->a[1][i], x / 2 * (1 + tanh(gelu_a * (x + gelu_b * x * x * x))));
}

static double gelu_slope(double x)
{
    double t = tanh(gelu_a * (x + gelu_b * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * gelu_a * (1 + 3 * gelu_b * x * x);
}

static void gelu_and_slope(const job *j)
{
    j->k->map_and_slope(RDK_MAP_GELU_TANH, inner_size(j), j->a[0], j->a[1], j->a[2]);
}

static double gelu_and_slope_error(const job *j, size_t i)
{
    return fmax(gelu_error(j, i), error_of(j->a[2][i], gelu_slope((double)j->a[0][i])));
}

/* What is left of GELU in backward: dy times the slope. */
static void slope_times(const job *j)
{
    j->k->mul(inner_size(j), j->a[0], j->a[1], j->a[2]);
}

static double slope_times_error(const job *j, size_t i)
{
    return error_of(j->a[2][i], (double)j->a[0][i] * (double)j->a[1][i]);
}

static void bias_gradient(const job *j)
{
    j->k->sum_rows(j->tokens, inner(j), j->a[0], j->a[1]);
}

static double bias_gradient_error(const job *j, size_t i)
{
    double sum = (double)job_input(1, i %= inner(j));
    for (size_t r = 0; r < j->tokens; r++) sum += (double)j->a[0][r * inner(j) + i];
    return error_of(j->a[1][i], sum);
}

static void add(const job *j)
{
    j->k->add(width_size(j), j->a[0], j->a[1], j->a[2]);
}

static double add_error(const job *j, size_t i)
{
    return error_of(j->a[2][i], (double)j->a[0][i] + (double)j->a[1][i]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { GAIN, BIAS, MEAN, RSTD, DGAIN, DBIAS };
static const double norm_eps = 1e-5;

static void layer_norm(const job *j)
{
    j->k->norm(true, true, j->tokens, j->d, norm_eps, j->a[0], j->side[GAIN], j->side[BIAS],
               j->a[1], j->side[MEAN], j->side[RSTD]);
}

static double row_rstd(const job *j, size_t row, double *mean)
{
    const rdk_real *x = j->a[0] + row * j->d;
    double sum = 0, squares = 0, n = (double)j->d;
    for (size_t c = 0; c < j->d; c++) sum += (double)x[c];
    *mean = sum / n;
    for (size_t c = 0; c < j->d; c++) squares += pow((double)x[c] - *mean, 2);
    return 1 / sqrt(squares / n + norm_eps);
}

static double layer_norm_error(const job *j, size_t i)
{
    double mean, rstd = row_rstd(j, i / j->d, &mean);
    size_t c = i % j->d;
    return error_of(j->a[1][i], ((double)j->a[0][i] - mean) * rstd * (double)j->side[GAIN][c] +
                                    (double)j->side[BIAS][c]);
}

static void layer_norm_backward(const job *j)
{
    j->k->norm_backward(true, true, j->tokens, j->d, j->a[0], j->side[GAIN], j->side[MEAN],
                        j->side[RSTD], j->a[1], j->a[2], j->side[DGAIN], j->side[DBIAS]);
}

static double layer_norm_backward_error(const job *j, size_t i)
{
    size_t row = i / j->d;
    const rdk_real *x = j->a[0] + row * j->d, *dy = j->a[1] + row * j->d;
    double mean, rstd = row_rstd(j, row, &mean), g_sum = 0, gx_sum = 0, n = (double)j->d;
    for (size_t c = 0; c < j->d; c++) {
        double g = (double)dy[c] * (double)j->side[GAIN][c];
        g_sum += g;
        gx_sum += g * ((double)x[c] - mean) * rstd;
    }
    double g = (double)j->a[1][i] * (double)j->side[GAIN][i % j->d];
    double dx = rstd * (g - g_sum / n - ((double)j->a[0][i] - mean) * rstd * gx_sum / n);
    return error_of(j->a[2][i], (double)job_input(2, i) + dx);
}

static void softmax(const job *j)
{
    j->k->softmax(j->tokens * j->heads, j->len, j->a[0], j->a[1]);
}

/* ln sum exp of a row. */
static double row_log_sum(const rdk_real *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) sum += exp((double)x[c]);
    return log(sum);
}

static double softmax_error(const job *j, size_t i)
{
    double log_sum = row_log_sum(j->a[0] + i / j->len * j->len, j->len);
    return error_of(j->a[1][i], exp((double)j->a[0][i] - log_sum));
}

static void cross_entropy(const job *j)
{
    j->k->cross_entropy(j->tokens, j->vocab, j->a[0], j->ids, j->side[ROW_MAX], j->side[ROW_INV],
                        j->side[NLL], NULL);
}

static double cross_entropy_error(const job *j, size_t i)
{
    size_t r = i / j->vocab;
    const rdk_real *x = j->a[0] + r * j->vocab;
    return error_of(j->side[NLL][r], row_log_sum(x, j->vocab) - (double)x[j->ids[r]]);
}

static void cross_entropy_backward(const job *j)
{
    j->k->cross_entropy_backward(j->tokens, j->vocab, j->a[0], j->ids, j->side[ROW_MAX],
                                 j->side[ROW_INV], 1, j->a[1]);
}

static double cross_entropy_backward_error(const job *j, size_t i)
{
    size_t r = i / j->vocab;
    double p = exp((double)j->a[0][i] - row_log_sum(j->a[0] + r * j->vocab, j->vocab));
    double right = p - ((size_t)j->ids[r] == i % j->vocab);
    return error_of(j->a[1][i], (double)job_input(1, i) + right);
}

/* ---- the table of embeddings ----------------------------------------------------------------- */

static void embedding(const job *j)
{
    j->k->embedding(j->tokens, j->d, j->a[0], j->ids, j->a[1]);
}

static double embedding_error(const job *j, size_t i)
{
    return error_of(j->a[1][i], (double)j->a[0][(size_t)j->ids[i / j->d] * j->d + i % j->d]);
}

static void embedding_backward(const job *j)
{
    j->k->embedding_backward(j->tokens, j->d, j->ids, j->a[0], j->a[1]);
}

static double embedding_backward_error(const job *j, size_t i)
{
    i %= j->vocab * j->d;
    double sum = (double)job_input(1, i);
    for (size_t r = 0; r < j->tokens; r++)
        if ((size_t)j->ids[r] == i / j->d) sum += (double)j->a[0][r * j->d + i % j->d];
    return error_of(j->a[1][i], sum);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

enum { WEIGHT, GRAD, MOMENT, SQUARES };
static const rdk_adamw adamw_rule = {.lr = 1e-3,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .eps = 1e-8,
                                     .weight_decay = 0.1,
                                     .correction1 = 0.5,
                                     .correction2 = 0.25,
                                     .factor = 0.5};

static void adamw_before(const job *j)
{
    for (size_t i = 0; i < j->params; i++) j->a[SQUARES][i] *= j->a[SQUARES][i];
}

static void adamw(const job *j)
{
    j->k->adamw(&adamw_rule, j->params, j->a[WEIGHT], j->a[GRAD], j->a[MOMENT], j->a[SQUARES]);
}

static double adamw_error(const job *j, size_t i)
{
    const rdk_adamw *p = &adamw_rule;
    double w = (double)job_input(WEIGHT, i), g = p->factor * (double)j->a[GRAD][i];
    double m = p->beta1 * (double)job_input(MOMENT, i) + (1 - p->beta1) * g;
    double v = p->beta2 * pow((double)job_input(SQUARES, i), 2) + (1 - p->beta2) * g * g;
    double move = m / p->correction1 / (sqrt(v / p->correction2) + p->eps) + p->weight_decay * w;
    return error_of(j->a[WEIGHT][i], w - p->lr * move);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static size_t tokens(const job *j)
{
    return j->tokens;
}
static size_t width(const job *j)
{
    return j->d;
}
static size_t kinds(const job *j)
{
    return j->vocab;
}
static size_t queries(const job *j)
{
    return j->tokens * j->heads;
}
static size_t keys(const job *j)
{
    return j->len;
}
static size_t params(const job *j)
{
    return j->params;
}
static size_t one(const job *j)
{
    (void)j;
    return 1;
}

static const kernel kernel_cases[] = {
    {"attention", tokens, width, 4, 0, 2, false, NULL, attention, attention_error},
    /* scores again, dP, dV, dQ, dK */
    {"attention backward", tokens, width, 8, 0, 5, false, attention, attention_backward,
     attention_backward_error},
    {"gelu", tokens, inner, 2, 2, 0, false, NULL, gelu, gelu_error},
    {"gelu and slope", tokens, inner, 3, 3, 0, false, NULL, gelu_and_slope, gelu_and_slope_error},
    {"gelu backward", tokens, inner, 3, 3, 0, false, NULL, slope_times, slope_times_error},
    {"bias gradient", tokens, inner, 2, 1, 0, false, NULL, bias_gradient, bias_gradient_error},
    {"layer norm", tokens, width, 2, 2, 0, false, NULL, layer_norm, layer_norm_error},
    {"layer norm backward", tokens, width, 3, 4, 0, false, layer_norm, layer_norm_backward,
     layer_norm_backward_error},
    {"softmax", queries, keys, 2, 2, 0, false, NULL, softmax, softmax_error},
    {"cross-entropy", tokens, kinds, 1, 1, 0, false, NULL, cross_entropy, cross_entropy_error},
    {"cross-entropy backward", tokens, kinds, 2, 3, 0, false, cross_entropy, cross_entropy_backward,
     cross_entropy_backward_error},
    {"embedding", tokens, width, 2, 2, 0, false, NULL, embedding, embedding_error},
    {"embedding backward", tokens, width, 2, 3, 0, false, NULL, embedding_backward,
     embedding_backward_error},
    {"add", tokens, width, 3, 3, 0, false, NULL, add, add_error},
    {"adamw", params, one, 4, 7, 0, true, adamw_before, adamw, adamw_error},
};

enum { KERNEL_CASES = sizeof kernel_cases / sizeof *kernel_cases };

#endif
