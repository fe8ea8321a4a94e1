/* SPDX-License-Identifier: MIT
 * Every backward kernel against central differences of its forward, in double: of the scalar
 * <weights, f(x)> in each element of x (gain, bias). */
#include "kernels_support.h"

enum { ROWS = 3, MOST = 19, MOST_ALL = ROWS * MOST };
static const double step = 1e-5, tolerance = 1e-7;
static const size_t widths[] = {1, 2, 5, 8, MOST};

/* The function under test at x, written to y [n]; context says which. */
typedef void (*forward)(const rdk_kernels *k, const void *context, const rdk_real *x, rdk_real *y);

static double weighted(const rdk_kernels *k, forward f, const void *context, const rdk_real *x,
                       const rdk_real *weights, size_t n)
{
    rdk_real y[MOST_ALL];
    f(k, context, x, y);
    return k->dot(n, weights, y);
}

/* dx: the gradient under test, of <weights, f(x)>. x is restored. */
static void check(const rdk_kernels *k, forward f, const void *context, size_t inputs, rdk_real *x,
                  size_t outputs, const rdk_real *weights, const rdk_real *dx)
{
    double scale = 1e-3;
    for (size_t i = 0; i < inputs; i++) scale = fmax(scale, fabs(dx[i]));
    for (size_t i = 0; i < inputs; i++) {
        double at = x[i];
        x[i] = at + step;
        double up = weighted(k, f, context, x, weights, outputs);
        x[i] = at - step;
        double down = weighted(k, f, context, x, weights, outputs);
        x[i] = at;
        ck_assert_close(dx[i], (up - down) / (2 * step), tolerance, scale);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

typedef struct map_case {
    rdk_map f;
    size_t n;
} map_case;

static void map_forward(const rdk_kernels *k, const void *context, const rdk_real *x, rdk_real *y)
{
    const map_case *c = context;
    k->map(c->f, c->n, x, y);
}

START_TEST(maps)
{
    TABLE(k);
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        map_case c = {f, MOST};
        rdk_real *x = normals(MOST, f == RDK_MAP_LOG ? 3 : 0, f == RDK_MAP_LOG ? 0.3 : 1.5, 1);
        rdk_real *weights = normals(MOST, 0, 1, 2), y[MOST], dx[MOST] = {0}, slope[MOST];
        k->map(f, MOST, x, y);
        k->map_backward(f, MOST, x, y, weights, dx, true);
        check(k, map_forward, &c, MOST, x, MOST, weights, dx);
        k->map_and_slope(f, MOST, x, y, slope);
        k->mul(MOST, weights, slope, slope);
        check(k, map_forward, &c, MOST, x, MOST, weights, slope);
        drop(x);
        drop(weights);
    }
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

static void softmax_forward(const rdk_kernels *k, const void *n, const rdk_real *x, rdk_real *y)
{
    k->softmax(ROWS, *(const size_t *)n, x, y);
}

static void log_softmax_forward(const rdk_kernels *k, const void *n, const rdk_real *x, rdk_real *y)
{
    k->log_softmax(ROWS, *(const size_t *)n, x, y);
}

START_TEST(softmax_and_its_log)
{
    TABLE(k);
    for (size_t w = 0; w < COUNT(widths); w++) {
        size_t n = widths[w], all = n * ROWS;
        rdk_real *x = normals(all, 0, 2, 1), *weights = normals(all, 0, 1, 2), y[MOST_ALL];
        rdk_real dx[MOST_ALL] = {0}, dx_log[MOST_ALL] = {0};
        k->softmax(ROWS, n, x, y);
        k->softmax_backward(ROWS, n, y, weights, dx);
        check(k, softmax_forward, &n, all, x, all, weights, dx);
        k->log_softmax(ROWS, n, x, y);
        k->log_softmax_backward(ROWS, n, y, weights, dx_log);
        check(k, log_softmax_forward, &n, all, x, all, weights, dx_log);
        for (size_t r = 0; r < ROWS; r++) { /* a shift of a row changes nothing */
            double sum = 0, sum_log = 0;
            for (size_t j = 0; j < n; j++) sum += dx[r * n + j], sum_log += dx_log[r * n + j];
            ck_assert(fabs(sum) < 1e-14 && fabs(sum_log) < 1e-14);
        }
        drop(x);
        drop(weights);
    }
}
END_TEST

typedef struct loss_case {
    size_t v;
    const int32_t *targets;
} loss_case;

static void loss_forward(const rdk_kernels *k, const void *context, const rdk_real *x, rdk_real *y)
{
    const loss_case *c = context;
    rdk_real max[ROWS], inv[ROWS];
    y[0] = k->cross_entropy(ROWS, c->v, x, c->targets, max, inv, NULL, NULL);
}

START_TEST(cross_entropy)
{
    TABLE(k);
    for (size_t w = 0; w < COUNT(widths); w++) {
        size_t v = widths[w], all = v * ROWS;
        const int32_t targets[ROWS] = {0, -1, (int32_t)v - 1};
        loss_case c = {v, targets};
        rdk_real *x = normals(all, 0, 2, 1), max[ROWS], inv[ROWS], dx[MOST_ALL] = {0};
        const rdk_real weight = 0.7;
        k->cross_entropy(ROWS, v, x, targets, max, inv, NULL, NULL);
        k->cross_entropy_backward(ROWS, v, x, targets, max, inv, weight, dx);
        check(k, loss_forward, &c, all, x, 1, &weight, dx);
        for (size_t j = v; j < 2 * v; j++) ck_assert(dx[j] == 0); /* the ignored row */
        drop(x);
    }
}
END_TEST

/* ---- norms ----------------------------------------------------------------------------------- */

/* x: rows, then gain, then bias where affine. */
typedef struct norm_case {
    bool center, mean_square, affine;
    size_t n;
    double eps;
} norm_case;

static void norm_forward(const rdk_kernels *k, const void *context, const rdk_real *x, rdk_real *y)
{
    const norm_case *c = context;
    const rdk_real *gain = c->affine ? x + c->n * ROWS : NULL;
    rdk_real mean[ROWS], rstd[ROWS];
    k->norm(c->center, c->mean_square, ROWS, c->n, c->eps, x, gain, gain ? gain + c->n : NULL, y,
            mean, rstd);
}

START_TEST(norms_in_every_form)
{
    TABLE(k);
    for (int form = 0; form < 8; form++) {
        for (size_t w = 0; w < COUNT(widths); w++) {
            size_t n = widths[w], all = n * ROWS, inputs = form & 4 ? all + 2 * n : all;
            norm_case c = {form & 1, form & 2, form & 4, n, 1e-2};
            rdk_real *x = normals(inputs, 1, 1, 1), *weights = normals(all, 0, 1, 2);
            rdk_real y[MOST_ALL], dx[MOST_ALL + 2 * MOST] = {0}, mean[ROWS], rstd[ROWS];
            const rdk_real *gain = c.affine ? x + all : NULL;
            for (size_t j = 0; j < n; j++) x[j] = 0; /* the zero row has a gradient as well */
            k->norm(c.center, c.mean_square, ROWS, n, c.eps, x, gain, NULL, y, mean, rstd);
            k->norm_backward(c.center, c.mean_square, ROWS, n, x, gain, c.center ? mean : NULL,
                             rstd, weights, dx, c.affine ? dx + all : NULL,
                             c.affine ? dx + all + n : NULL);
            check(k, norm_forward, &c, inputs, x, all, weights, dx);
            drop(x);
            drop(weights);
        }
    }
}
END_TEST

/* Without eps the length of a row does not matter: x . dx = 0 (QK-norm's q . dq). */
START_TEST(norms_pass_no_gradient_along_the_row)
{
    TABLE(k);
    for (int form = 0; form < 4; form++) {
        rdk_real *x = normals(MOST, 0, 3, 1), *dy = normals(MOST, 0, 1, 2), y[MOST], mean, rstd;
        rdk_real dx[MOST] = {0};
        k->norm(form & 1, form & 2, 1, MOST, 0, x, NULL, NULL, y, &mean, &rstd);
        k->norm_backward(form & 1, form & 2, 1, MOST, x, NULL, &mean, &rstd, dy, dx, NULL, NULL);
        ck_assert_double_lt(fabs(k->dot(MOST, x, dx)), 1e-13);
        drop(x);
        drop(dy);
    }
}
END_TEST

/* ---- by index -------------------------------------------------------------------------------- */

static const rdk_stream stream = {.seed = 2, .purpose = RDK_FOR_TEST, .step = 9};

static void dropout_forward(const rdk_kernels *k, const void *n, const rdk_real *x, rdk_real *y)
{
    k->dropout(*(const size_t *)n, 0.3, stream, x, y);
}

START_TEST(dropout)
{
    TABLE(k);
    size_t n = MOST_ALL;
    rdk_real *x = normals(n, 0, 1, 1), *weights = normals(n, 0, 1, 2), dx[MOST_ALL] = {0};
    k->dropout_backward(n, 0.3, stream, weights, dx);
    check(k, dropout_forward, &n, n, x, n, weights, dx);
    drop(x);
    drop(weights);
}
END_TEST

enum { HEADS = 2, D = 6, LEN = 2, TURNED = ROWS * HEADS * D };

static void rope_forward(const rdk_kernels *k, const void *base, const rdk_real *x, rdk_real *y)
{
    k->rope(ROWS, 0, LEN, HEADS, D, *(const double *)base, 1, x, y, false);
}

START_TEST(rope)
{
    TABLE(k);
    double base = 50;
    rdk_real *x = normals(TURNED, 0, 1, 1), *weights = normals(TURNED, 0, 1, 2), dx[TURNED] = {0};
    k->rope(ROWS, 0, LEN, HEADS, D, base, -1, weights, dx, true);
    check(k, rope_forward, &base, TURNED, x, TURNED, weights, dx);
    drop(x);
    drop(weights);
}
END_TEST

/* The slopes of GELU and SiLU go to 0 and 1, and far out are there already. */
START_TEST(slopes_far_out)
{
    TABLE(k);
    static const rdk_map smooth[] = {RDK_MAP_GELU, RDK_MAP_GELU_TANH, RDK_MAP_SILU};
    for (size_t f = 0; f < COUNT(smooth); f++) {
        rdk_real x[] = {-INFINITY, -1e300, -1000, 1000, INFINITY}, y[COUNT(x)], dx[COUNT(x)];
        const rdk_real dy[] = {1, 1, 1, 1, 1}, want[] = {0, 0, 0, 1, 1};
        k->map(smooth[f], COUNT(x), x, y);
        k->map_backward(smooth[f], COUNT(x), x, y, dy, dx, false);
        for (size_t i = 0; i < COUNT(x); i++) ck_assert(dx[i] == want[i]);
        k->map_and_slope(smooth[f], COUNT(x), x, y, dx);
        for (size_t i = 0; i < COUNT(x); i++) ck_assert(dx[i] == want[i]);
    }
}
END_TEST

RDK_TEST_MAIN("kernels: gradients", {
    ADD_LOOP(maps, ISAS);
    ADD_LOOP(slopes_far_out, ISAS);
    ADD_LOOP(softmax_and_its_log, ISAS);
    ADD_LOOP(cross_entropy, ISAS);
    ADD_LOOP(norms_in_every_form, ISAS);
    ADD_LOOP(norms_pass_no_gradient_along_the_row, ISAS);
    ADD_LOOP(dropout, ISAS);
    ADD_LOOP(rope, ISAS);
})
