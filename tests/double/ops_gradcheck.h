/* SPDX-License-Identifier: MIT
 * The checks that every op goes through, row by row of a table of calls: gradients alone, where
 * tensors are used twice, behind a transpose and a slice, added to what stands, and with a constant
 * input; and that a gradient of the wrong sign is seen.
 *
 * Shapes are one character a dimension: a digit is itself, a small letter a random size (0 too), a
 * capital one that is never 0; the same letter is the same size in all leaves of the row.
 * Invariant: a file that includes this has a table, says how many rows it has, and runs
 * ALL_CHECKS(rows).
 * Read next: test_ops_gradcheck.c. */
#ifndef RDK_TEST_OPS_GRADCHECK_H
#define RDK_TEST_OPS_GRADCHECK_H

#include <rootdk/ops.h>

#include "harness.h"

enum { MAX_LEAVES = 6, LETTERS = 128 };
static const double STEP = 1e-5, ALLOWED = 1e-6;

#define BUILDER(name, call)                                                                        \
    static rdk_tensor *name(rdk_tape *t, rdk_tensor *const *x, void *context)                      \
    {                                                                                              \
        (void)context;                                                                             \
        return call;                                                                               \
    }

typedef enum { ANY, POSITIVE } domain;

typedef struct row {
    const char *op; /* as in the table; NULL: a view, which is not recorded */
    rdk_check_fn build;
    int n_leaves;
    const char *shape[MAX_LEAVES];
    domain values;
} row;

/* Row i of the table of the file that includes this. */
static const row *row_at(int i);

/* Has one of these n rows this op? */
static inline bool has_row(int n, const char *op)
{
    for (int r = 0; r < n; r++)
        if (row_at(r)->op && strcmp(row_at(r)->op, op) == 0) return true;
    return false;
}

static inline void train(rdk_tape *t)
{
    rdk_tape_training(t, true, (rdk_stream){.seed = 7, .purpose = RDK_FOR_DROPOUT, .step = 3}, 1);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* How the letters of a row are drawn. */
enum { ALL_ONE, ALL_ZERO, ODD, RANDOM, N_DRAWS = 7 };

typedef struct leaves {
    int n;
    rdk_tensor tensor[MAX_LEAVES];
    rdk_tensor *at[MAX_LEAVES];
    char text[200];
} leaves;

static inline rdk_draws cursor(int r, int draw, int purpose)
{
    const rdk_stream s = {.seed = 11, .purpose = RDK_FOR_TEST, .step = (uint64_t)r};
    return rdk_draws_at(s, (uint64_t)(draw * 100 + purpose));
}

static inline void draw_sizes(int r, int draw, size_t size[LETTERS])
{
    static const size_t odd[] = {9, 3, 5, 7, 11}, any[] = {0, 1, 2, 3, 5, 7};
    rdk_draws d = cursor(r, draw, 0);
    for (int c = 0; c < LETTERS; c++) {
        bool never_0 = c >= 'A' && c <= 'Z';
        size[c] = draw == ALL_ONE    ? 1
                  : draw == ALL_ZERO ? (size_t)never_0
                  : draw == ODD      ? odd[c % 3]
                                     : any[rdk_draw_below(&d, 6)];
        if (never_0 && size[c] == 0) size[c] = 4;
        if (c >= '0' && c <= '9') size[c] = (size_t)(c - '0');
    }
}

/* Away from 0 (the kink of relu, the pole of 1/x): magnitudes 0.2 to 1.2, either sign. */
static inline double draw_value(rdk_draws *d, domain values)
{
    double sign = rdk_draw_uniform(d) < 0.5 ? -1 : 1;
    double x = 0.2 + rdk_draw_uniform(d);
    return values == POSITIVE ? x : sign * x;
}

static inline leaves make_leaves(int r, int draw)
{
    size_t size[LETTERS];
    leaves l = {.n = row_at(r)->n_leaves};
    draw_sizes(r, draw, size);
    int used = snprintf(l.text, sizeof l.text, "row %d, op %s, draw %d:", r,
                        row_at(r)->op ? row_at(r)->op : "(view)", draw);
    for (int i = 0; i < l.n; i++) {
        rdk_tensor *x = &l.tensor[i];
        *x = (rdk_tensor){.needs_grad = true};
        for (const char *c = row_at(r)->shape[i]; *c; c++) x->dim[x->n_dims++] = size[(int)*c];
        x->data = rdk_alloc(rdk_size(x), sizeof *x->data, NULL);
        x->grad = rdk_alloc(rdk_size(x), sizeof *x->grad, NULL);
        rdk_draws d = cursor(r, draw, i + 1);
        for (size_t j = 0; j < rdk_size(x); j++) {
            x->data[j] = draw_value(&d, row_at(r)->values);
        }
        char shape[RDK_SHAPE_TEXT];
        used +=
            snprintf(l.text + used, sizeof l.text - (size_t)used, " %s", rdk_shape_text(x, shape));
    }
    return l;
}

/* Set after the struct stands where it will be used. */
static inline rdk_tensor *const *pointers(leaves *l)
{
    for (int i = 0; i < l->n; i++) l->at[i] = &l->tensor[i];
    return l->at;
}

static inline void free_leaves(leaves *l)
{
    for (int i = 0; i < l->n; i++) {
        rdk_free(l->tensor[i].data);
        rdk_free(l->tensor[i].grad);
    }
}

/* ---- the checks ------------------------------------------------------------------------------ */

static inline rdk_check_result check(rdk_check_fn f, const row *r, leaves *l)
{
    rdk_status s = {.code = RDK_OK};
    rdk_check_result result;
    bool ran = rdk_gradcheck(f, (void *)r, l->n, pointers(l), STEP, 0, &result, &s);
    ck_assert_msg(ran, "%s: %s", l->text, s.message);
    return result;
}

static inline void assert_gradient(const char *what, rdk_check_fn f, int r)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        leaves l = make_leaves(r, draw);
        rdk_check_result got = check(f, row_at(r), &l);
        ck_assert_msg(
            got.worst_error <= ALLOWED,
            "%s, %s: error %.3g in leaf %d at %zu: backward says %.12g, differences %.12g", l.text,
            what, got.worst_error, got.worst_leaf, got.worst_at, got.analytic, got.numeric);
        free_leaves(&l);
    }
}

static inline size_t recorded(const rdk_tape *t, const char *op)
{
    size_t n = 0;
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        n += strcmp(rdk_tape_node(t, i)->op->name, op) == 0;
    }
    return n;
}

START_TEST(row_records_its_op)
{
    const row *r = row_at(_i);
    rdk_tape *t = rdk_tape_new(NULL);
    leaves l = make_leaves(_i, ODD);
    rdk_tensor *y = r->build(t, pointers(&l), NULL);
    ck_assert_msg(y != NULL, "%s: %s", l.text, rdk_tape_status(t)->message);
    if (r->op) ck_assert_msg(recorded(t, r->op) == 1, "%s: the op is not recorded", l.text);
    free_leaves(&l);
    rdk_tape_free(t);
}
END_TEST

START_TEST(alone)
{
    assert_gradient("alone", row_at(_i)->build, _i);
}
END_TEST

/* The same tensors into two branches: once as they are, once scaled. */
static inline rdk_tensor *in_two_branches(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *scaled[MAX_LEAVES];
    rdk_tensor *first = r->build(t, x, NULL);
    for (int i = 0; i < r->n_leaves; i++) scaled[i] = rdk_scale(t, x[i], 0.8);
    return rdk_add(t, first, r->build(t, scaled, NULL));
}

START_TEST(reused)
{
    assert_gradient("reused", in_two_branches, _i);
}
END_TEST

static inline rdk_tensor *then_transposed(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    return y && y->n_dims >= 2 ? rdk_transpose(t, y, 0, -1) : y;
}

START_TEST(incoming_gradient_transposed)
{
    assert_gradient("transposed", then_transposed, _i);
}
END_TEST

static inline rdk_tensor *then_sliced(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    return y && y->n_dims >= 1 ? rdk_slice(t, y, -1, rdk_cols(y) / 3, (rdk_cols(y) + 1) / 2) : y;
}

START_TEST(incoming_gradient_sliced)
{
    assert_gradient("sliced", then_sliced, _i);
}
END_TEST

/* Gradients from an upstream gradient that depends on the element alone. */
static inline void differentiate(const row *r, leaves *l)
{
    rdk_tape *t = rdk_tape_new(NULL);
    rdk_tensor *y = r->build(t, pointers(l), NULL);
    ck_assert_msg(y != NULL, "%s: %s", l->text, rdk_tape_status(t)->message);
    rdk_real *dy = rdk_alloc(rdk_size(y), sizeof *dy, NULL);
    for (size_t i = 0; i < rdk_size(y); i++) dy[i] = sin(1.0 + (double)i);
    if (y->needs_grad) {
        ck_assert_msg(rdk_tape_backward_from(t, y, dy), "%s: %s", l->text,
                      rdk_tape_status(t)->message);
    }
    rdk_free(dy);
    rdk_tape_free(t);
}

static inline void fill_gradients(leaves *l, double x)
{
    for (int i = 0; i < l->n; i++) {
        for (size_t j = 0; j < rdk_size(&l->tensor[i]); j++) l->tensor[i].grad[j] = x;
    }
}

START_TEST(adds_into_a_gradient_that_stands)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        leaves fresh = make_leaves(_i, draw), standing = make_leaves(_i, draw);
        fill_gradients(&standing, 2.5);
        differentiate(row_at(_i), &fresh);
        differentiate(row_at(_i), &standing);
        for (int i = 0; i < fresh.n; i++) {
            for (size_t j = 0; j < rdk_size(&fresh.tensor[i]); j++) {
                double want = 2.5 + fresh.tensor[i].grad[j], got = standing.tensor[i].grad[j];
                ck_assert_msg(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)),
                              "%s: leaf %d at %zu: %.15g, not %.15g", fresh.text, i, j, got, want);
            }
        }
        free_leaves(&fresh);
        free_leaves(&standing);
    }
}
END_TEST

/* A leaf that needs no gradient gets none, and the others get the very same. */
static inline void check_constant(int r, int draw, int constant)
{
    leaves all = make_leaves(r, draw), some = make_leaves(r, draw);
    some.tensor[constant].needs_grad = false;
    differentiate(row_at(r), &all);
    differentiate(row_at(r), &some);
    for (int i = 0; i < all.n; i++) {
        for (size_t j = 0; j < rdk_size(&all.tensor[i]); j++) {
            double want = i == constant ? 0 : all.tensor[i].grad[j];
            ck_assert_msg(some.tensor[i].grad[j] == want,
                          "%s: with leaf %d constant, leaf %d at %zu gets %.17g, not %.17g",
                          all.text, constant, i, j, some.tensor[i].grad[j], want);
        }
    }
    free_leaves(&all);
    free_leaves(&some);
}

START_TEST(constant_input)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        for (int i = 0; i < row_at(_i)->n_leaves; i++) check_constant(_i, draw, i);
    }
}
END_TEST

/* ---- a wrong gradient is seen ---------------------------------------------------------------- */

static const rdk_op *spoilt; /* the op whose backward is called with the sign of dy turned */

static inline void spoilt_backward(rdk_tape *t, const rdk_node *n)
{
    for (size_t i = 0; i < rdk_size(n->out); i++) n->out->grad[i] = -n->out->grad[i];
    spoilt->backward(t, n);
}

static const rdk_op spoilt_op = {"spoilt", "", spoilt_backward};

static inline rdk_tensor *build_spoilt(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        rdk_node *n = (rdk_node *)rdk_tape_node(t, i);
        if (!r->op || strcmp(n->op->name, r->op) != 0) continue;
        spoilt = n->op;
        n->op = &spoilt_op;
    }
    return y;
}

START_TEST(sign_turned_in_any_op_is_seen)
{
    if (!row_at(_i)->op) return;
    leaves l = make_leaves(_i, ODD);
    size_t elements = 0;
    rdk_tape *t = rdk_tape_new(NULL);
    elements = rdk_size(row_at(_i)->build(t, pointers(&l), NULL));
    rdk_tape_free(t);
    rdk_check_result got = check(build_spoilt, row_at(_i), &l);
    if (elements > 0) {
        ck_assert_msg(got.worst_error > 0.5, "%s: a turned sign went unseen (error %g)", l.text,
                      got.worst_error);
    }
    free_leaves(&l);
}
END_TEST

#define ALL_CHECKS(n)                                                                              \
    ADD_LOOP(row_records_its_op, n);                                                               \
    ADD_LOOP(alone, n);                                                                            \
    ADD_LOOP(reused, n);                                                                           \
    ADD_LOOP(incoming_gradient_transposed, n);                                                     \
    ADD_LOOP(incoming_gradient_sliced, n);                                                         \
    ADD_LOOP(adds_into_a_gradient_that_stands, n);                                                 \
    ADD_LOOP(constant_input, n);                                                                   \
    ADD_LOOP(sign_turned_in_any_op_is_seen, n)

#endif
