/* SPDX-License-Identifier: MIT
 * The figures of rows as the streaming kernel fills them in one pass in float, against softmax, its
 * Jacobian and its gradient written out per row in double: every kernel this processor can run. */
#include <harness.h>
#include <kernels/kernels.h>
#include <rootdk/probe.h>

enum { B = 2, H = 2, T = 67, D = 16, ALL = B * T * H * D, ROWS = B * H * T };

typedef struct attention_case {
    rdk_attention_shape shape;
    int32_t lengths[B];
    rdk_real q[ALL], k[ALL], v[ALL], o[ALL], dout[ALL], dq[ALL], dk[ALL], dv[ALL];
    rdk_real row_max[ROWS], row_inv[ROWS];
    rdk_attention_row rows[ROWS];
} attention_case;

static void fill(rdk_real *x, uint64_t step, double offset)
{
    rdk_draws d = rdk_draws_at((rdk_stream){.seed = 9, .purpose = RDK_FOR_TEST, .step = step}, 0);
    for (size_t i = 0; i < ALL; i++) x[i] = (rdk_real)(rdk_draw_normal(&d) + offset);
}

static attention_case *run(const rdk_kernels *kernels, double scale, bool causal, double offset)
{
    attention_case *c = rdk_alloc(1, sizeof *c, NULL);
    c->lengths[0] = T;
    c->lengths[1] = 23;
    c->shape = (rdk_attention_shape){.batch = B,
                                     .heads = H,
                                     .len = T,
                                     .d_k = D,
                                     .d_v = D,
                                     .scale = scale,
                                     .causal = causal,
                                     .lengths = c->lengths};
    fill(c->q, 1, offset);
    fill(c->k, 2, offset);
    fill(c->v, 3, 0);
    fill(c->dout, 4, 0);
    size_t scratch = rdk_attention_scratch(T, D, D) * (size_t)rdk_threads();
    rdk_real *work = rdk_alloc(scratch, sizeof *work, NULL);
    kernels->attention(&c->shape, c->q, c->k, c->v, c->o, c->row_max, c->row_inv, c->rows, work);
    const rdk_attention_grads to = {.dq = c->dq, .dk = c->dk, .dv = c->dv};
    kernels->attention_backward(&c->shape, c->q, c->k, c->v, c->dout, c->row_max, c->row_inv, &to,
                                c->rows, work);
    rdk_free(work);
    return c;
}

static double dot(const rdk_real *x, const rdk_real *y)
{
    double sum = 0;
    for (size_t d = 0; d < D; d++) sum += (double)x[d] * (double)y[d];
    return sum;
}

static size_t at(size_t b, size_t h, size_t i)
{
    return ((b * T + i) * H + h) * D;
}

static size_t visible(const attention_case *c, size_t b, size_t i)
{
    size_t real = (size_t)c->lengths[b];
    if (i >= real) return 0;
    return c->shape.causal ? i + 1 : real;
}

/* ds_j = p_j (dp_j - sum p dp), dp_j = dout . v_j. The difference cancels in a saturated row, so
 * float resolves ds to a few roundings of |dout| |v_j| and no finer. */
static void check_gradient(const attention_case *c, const rdk_attention_row *row, size_t b,
                           size_t h, size_t i, const double *s, size_t n)
{
    double p[T], dp[T], z = 0, mean = 0, norm2 = 0, s_ds = 0, size = 1, dp_size = 0,
                        top = -INFINITY;
    for (size_t j = 0; j < n; j++) top = fmax(top, s[j]);
    for (size_t j = 0; j < n; j++) z += p[j] = exp(s[j] - top);
    for (size_t j = 0; j < n; j++) {
        p[j] /= z;
        dp[j] = dot(c->dout + at(b, h, i), c->v + at(b, h, j));
        mean += p[j] * dp[j];
        size = fmax(size, fabs(s[j]));
        dp_size = fmax(dp_size, dot(c->v + at(b, h, j), c->v + at(b, h, j)));
    }
    dp_size = sqrt(dp_size * dot(c->dout + at(b, h, i), c->dout + at(b, h, i)));
    for (size_t j = 0; j < n; j++) {
        double ds = p[j] * (dp[j] - mean);
        norm2 += ds * ds;
        s_ds += s[j] * ds;
    }
    double norm = sqrt(norm2), allowed = (1e-5 + 4e-6 * size) * norm + 3e-7 * dp_size;
    ck_assert_double_eq_tol((double)row->ds_norm, norm, allowed);
    ck_assert_double_eq_tol((double)row->s_ds, s_ds, size * allowed);
}

static void check_row(const attention_case *c, size_t b, size_t h, size_t i)
{
    const rdk_attention_row *row = &c->rows[(b * H + h) * T + i];
    size_t n = visible(c, b, i);
    ck_assert_int_eq(row->n, (int)n);
    if (n == 0) return;
    double s[T], size = 1;
    for (size_t j = 0; j < n; j++) {
        s[j] = c->shape.scale * dot(c->q + at(b, h, i), c->k + at(b, h, j));
        size = fmax(size, fabs(s[j]));
    }
    rdk_attention_row want = rdk_row_from_scores(s, n);
    rdk_row_figures got = rdk_row_measure(row), f = rdk_row_measure(&want);
    /* a score of size |s| carries an absolute error of a few float roundings of |s| */
    double allowed = 1e-5 + 4e-6 * size;
    ck_assert_close((double)row->max, (double)want.max, 1e-5, size);
    ck_assert_close((double)row->abs_max, (double)want.abs_max, 1e-5, size);
    ck_assert_close((double)row->mean, (double)want.mean, 1e-5, size);
    ck_assert_close((double)row->variance, (double)want.variance, allowed, .01);
    ck_assert_close(got.entropy, f.entropy, allowed, .01);
    ck_assert_close(got.p_max, f.p_max, allowed, 0);
    ck_assert_close(got.jacobian_trace, f.jacobian_trace, allowed, .01);
    ck_assert_close(got.jacobian_frob2, f.jacobian_frob2, allowed, .01);
    check_gradient(c, row, b, h, i, s, n);
}

/* Every scale of scores, from nearly uniform to one-hot. */
static const double scales[] = {1. / 16, .25, 1, 8};

START_TEST(rows_of_the_kernel)
{
    for (int isa = 0; rdk_kernels_at(isa); isa++)
        for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
            attention_case *c = run(rdk_kernels_at(isa), scales[k], _i, 0);
            for (size_t b = 0; b < B; b++)
                for (size_t h = 0; h < H; h++)
                    for (size_t i = 0; i < T; i++) check_row(c, b, h, i);
            rdk_free(c);
        }
}
END_TEST

/* The head's figures from float rows, beside the same from rows in double. */
START_TEST(head_of_the_kernel)
{
    attention_case *c = run(rdk_kernels_get(), .25, true, 0);
    rdk_attention_row direct[ROWS];
    double scratch[2 * B * T];
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < T; i++) {
                double s[T];
                size_t n = visible(c, b, i);
                for (size_t j = 0; j < n; j++)
                    s[j] = .25 * dot(c->q + at(b, h, i), c->k + at(b, h, j));
                direct[(b * H + h) * T + i] = rdk_row_from_scores(s, n);
            }
    for (size_t h = 0; h < H; h++) {
        rdk_head_figures got =
            rdk_head_measure(c->rows, B, H, T, h, c->q, c->k, D, c->lengths, scratch);
        rdk_head_figures want = rdk_head_measure(direct, B, H, T, h, NULL, NULL, D, NULL, scratch);
        ck_assert_uint_eq(got.rows, T + 23);
        ck_assert_close(got.score_std, want.score_std, 1e-5, 0);
        ck_assert_close(got.entropy, want.entropy, 1e-5, 0);
        ck_assert_close(got.entropy_norm, want.entropy_norm, 1e-5, 0);
        ck_assert_close(got.p_max, want.p_max, 1e-5, 0);
        ck_assert_close(got.jacobian_trace, want.jacobian_trace, 1e-5, 0);
        ck_assert_close(got.jacobian_frob, want.jacobian_frob, 1e-5, 0);
        ck_assert(got.ds_median > 0 && got.ds_p10 < got.ds_median && got.ds_median < got.ds_p90);
        ck_assert(got.ds_top5_share > .05 && got.ds_top5_share < 1);
        ck_assert_close(got.q_rms, 1, .05, 0);
    }
    rdk_free(c);
}
END_TEST

/* Scores near 10^4 that all share an offset: what ln Z - sum p s would lose. */
START_TEST(common_offset)
{
    for (int isa = 0; rdk_kernels_at(isa); isa++) {
        attention_case *c = run(rdk_kernels_at(isa), 1, true, 20);
        for (size_t r = 0; r < ROWS; r++) {
            if (c->rows[r].n < 2) continue;
            double entropy = rdk_row_measure(&c->rows[r]).entropy;
            ck_assert(entropy >= 0 && entropy <= log((double)c->rows[r].n) * (1 + 1e-6));
            ck_assert(c->rows[r].variance >= 0);
            ck_assert(c->rows[r].max > 5000);
        }
        rdk_free(c);
    }
}
END_TEST

RDK_TEST_MAIN("attention figures", {
    ADD_LOOP(rows_of_the_kernel, 2);
    ADD(head_of_the_kernel);
    ADD(common_offset);
})
