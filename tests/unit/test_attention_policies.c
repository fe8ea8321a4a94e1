/* SPDX-License-Identifier: MIT
 * What may be done to scores beside the scale (gain, length factor, soft cap, sink), in the kernels
 * of every table: against the plain computation, what changes p and what does not, what is measured
 * of it, and what must never change a bit. */
#include "attention_case.h"

#include "probe/row.h"

enum { HEADS = 3 };

static const rdk_real gains[HEADS] = {1.7f, 0.4f, -0.8f}, sinks[HEADS] = {0.5f, -1, 3};
static const rdk_real high_sinks[HEADS] = {60, 100, 1e4f}, low_sinks[HEADS] = {-60, -100, -1e4f};

static const struct policy {
    const char *name;
    bool gain;
    double length_base, softcap;
    const rdk_real *sink;
    bool ignores_shifts; /* of q.k in a row, where the sink is not shifted with it */
} policies[] = {
    {"gain", true, 0, 0, NULL, true},
    {"length, base e", false, 2.718281828459045, 0, NULL, true},
    {"length, base 40", false, 40, 0, NULL, true},
    {"soft cap", false, 0, 0.7, NULL, false},
    {"wide soft cap", false, 0, 30, NULL, false},
    {"sink", false, 0, 0, sinks, false},
    {"a sink that takes all", false, 0, 0, high_sinks, false},
    {"gain and length", true, 3, 0, NULL, true},
    {"all", true, 12, 1.5, sinks, false},
};
enum { POLICIES = sizeof policies / sizeof *policies };

static rdk_attention_shape shape_of(const struct policy *p, size_t len, bool causal)
{
    return (rdk_attention_shape){.batch = 2,
                                 .heads = HEADS,
                                 .len = len,
                                 .d_k = 20,
                                 .d_v = 9,
                                 .scale = 0.3,
                                 .causal = causal,
                                 .gain = p->gain ? gains : NULL,
                                 .length_base = p->length_base,
                                 .softcap = p->softcap,
                                 .sink = p->sink};
}

/* ---- against the plain computation ----------------------------------------------------------- */

static void near(const char *what, const struct policy *p, size_t len, double error, double allowed)
{
    ck_assert_msg(error <= allowed, "%s of %s, T %zu: error %.3g", what, p->name, len, error);
}

static void check_sums(const attention_case *c, const struct policy *p, const double *got,
                       const double *want)
{
    size_t n = c->s.batch * c->s.heads;
    double largest = 1e-12;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++)
        near("a gradient of a head", p, c->s.len, fabs(got[i] - want[i]) / largest, 2e-5);
}

static void check_case(const rdk_kernels *k, const struct policy *p, rdk_attention_shape s)
{
    attention_case c = case_new(s, 1);
    case_run(k, &c);
    plain_results want = plain_run(&c, NULL);
    near("o", p, s.len, distance(c.n_v, c.o, want.o), 4e-6);
    near("dv", p, s.len, distance(c.n_v, c.dv, want.dv), 8e-6);
    near("dq", p, s.len, distance(c.n_qk, c.dq, want.dq), 2e-5);
    near("dk", p, s.len, distance(c.n_qk, c.dk, want.dk), 2e-5);
    if (s.gain) check_sums(&c, p, c.s.head_grads, want.dgain);
    if (s.sink) check_sums(&c, p, c.s.head_grads + s.batch * s.heads, want.dsink);
    plain_free(&want);
    case_free(&c);
}

START_TEST(policies_against_the_plain_computation)
{
    TABLE(k);
    static const size_t lens[] = {0, 1, 2, 5, 63, 64, 65, 130};
    static const int32_t padded[] = {70, 1};
    for (size_t at = 0; at < POLICIES; at++) {
        const struct policy *p = &policies[at];
        if (p->sink == high_sinks) continue; /* nothing is left to be relative to */
        for (size_t t = 0; t < COUNT(lens); t++)
            for (int causal = 0; causal < 2; causal++)
                check_case(k, p, shape_of(p, lens[t], causal));
        for (int causal = 0; causal < 2; causal++) {
            rdk_attention_shape s = shape_of(p, 100, causal);
            s.lengths = padded;
            s.dropout = 0.3;
            check_case(k, p, s);
        }
    }
}
END_TEST

/* ---- what changes p -------------------------------------------------------------------------- */

/* All rows of p, by v = the unit matrix: o = p. */
static attention_case weights_of(const rdk_kernels *k, rdk_attention_shape s, double shift)
{
    s.d_v = s.len;
    attention_case c = case_new(s, 1);
    for (size_t i = 0; i < c.n_qk; i += s.d_k) c.q[i] = 1, c.k[i] = (rdk_real)shift;
    for (size_t i = 0; i < c.n_v; i++) c.v[i] = i % s.d_v == i / s.d_v / s.heads % s.len;
    case_forward(k, &c);
    return c;
}

static double largest_change(const attention_case *a, const attention_case *b, size_t from)
{
    double most = 0;
    for (size_t i = 0; i < a->n_v; i++) {
        size_t row = i / a->s.d_v / a->s.heads % a->s.len;
        if (row >= from) most = fmax(most, fabs((double)a->o[i] - (double)b->o[i]));
    }
    return most;
}

/* Subtracting s ln n from every score of a row, as it has been done under the name of SSMax, leaves
 * p as it is: this test is not passed so. */
START_TEST(every_policy_changes_p)
{
    TABLE(k);
    static const struct policy none = {.name = "none"};
    for (size_t at = 0; at < POLICIES; at++) {
        const struct policy *p = &policies[at];
        attention_case plain = weights_of(k, shape_of(&none, 9, true), 0);
        attention_case with = weights_of(k, shape_of(p, 9, true), 0);
        double least = p->softcap > 10 ? 1e-6 : 1e-2; /* hardly felt: scores are about 1 */
        ck_assert_msg(largest_change(&plain, &with, 1) > least, "%s changes nothing", p->name);
        case_free(&plain), case_free(&with);
    }
}
END_TEST

/* A constant on all scores of a row: nothing changes, but what a cap or a sink compares it with. */
START_TEST(a_constant_on_a_row_changes_nothing)
{
    TABLE(k);
    for (size_t at = 0; at < POLICIES; at++) {
        const struct policy *p = &policies[at];
        attention_case here = weights_of(k, shape_of(p, 9, true), 0);
        attention_case there = weights_of(k, shape_of(p, 9, true), 5);
        double change = largest_change(&here, &there, 0);
        if (p->ignores_shifts)
            ck_assert_msg(change < 1e-5, "%s: p moves by %g", p->name, change);
        else if (p->softcap < 10 && p->sink != high_sinks)
            ck_assert_msg(change > 1e-2, "%s: p moves by %g only", p->name, change);
        case_free(&here), case_free(&there);
    }
}
END_TEST

/* ln 1 = 0: a row of one key scores it 0, looks at it alone, and passes nothing back. */
START_TEST(one_key_under_a_length_factor)
{
    TABLE(k);
    attention_case c = case_new(shape_of(&policies[7], 1, true), 5);
    case_measure(&c);
    case_run(k, &c);
    for (size_t i = 0; i < c.n_v; i++) ck_assert(c.o[i] == c.v[i] && c.dv[i] == c.dout[i]);
    for (size_t i = 0; i < c.n_qk; i++) ck_assert(c.dq[i] == 0 && c.dk[i] == 0);
    for (size_t i = 0; i < c.rows; i++) {
        ck_assert(c.measured[i].n == 1 && c.measured[i].max == 0 && c.measured[i].ds_norm == 0);
        ck_assert(c.measured[i].variance == 0 && isfinite(c.measured[i].cosine));
    }
    for (size_t i = 0; i < c.s.batch * c.s.heads; i++) ck_assert(c.s.head_grads[i] == 0);
    case_free(&c);
}
END_TEST

/* exp(s) / (1 + sum exp(s)) is a key with a zero vector and a zero value. */
START_TEST(a_sink_of_zero_is_a_zero_key)
{
    TABLE(k);
    enum { T = 40 };
    static const rdk_real zeros[HEADS] = {0};
    static const struct policy one = {.name = "one", .sink = zeros}, none = {.name = "none"};
    attention_case sink = case_new(shape_of(&one, T, false), 1);
    attention_case key = case_new(shape_of(&none, T + 1, false), 1);
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i <= T; i++) {
            size_t n = HEADS * 20, v = HEADS * 9;
            size_t from = b * T + (i < T ? i : 0), to = b * (T + 1) + i;
            memcpy(key.q + to * n, sink.q + from * n, n * sizeof *key.q);
            memcpy(key.k + to * n, sink.k + from * n, n * sizeof *key.k);
            memcpy(key.v + to * v, sink.v + from * v, v * sizeof *key.v);
            for (size_t e = 0; e < n && i == T; e++) key.k[to * n + e] = 0;
            for (size_t e = 0; e < v && i == T; e++) key.v[to * v + e] = 0;
        }
    case_forward(k, &sink), case_forward(k, &key);
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < T * HEADS * 9; i++)
            ck_assert_close(sink.o[b * T * HEADS * 9 + i], key.o[b * (T + 1) * HEADS * 9 + i], 1e-5,
                            1e-3);
    case_free(&sink), case_free(&key);
}
END_TEST

/* Far above or below all scores a sink leaves 0, or nothing changed; and no number is lost. */
START_TEST(sinks_far_away)
{
    TABLE(k);
    static const struct policy low = {.name = "low", .sink = low_sinks}, none = {.name = "none"};
    attention_case plain = case_new(shape_of(&none, 70, true), 1);
    attention_case with = case_new(shape_of(&low, 70, true), 1);
    case_run(k, &plain), case_run(k, &with);
    ck_assert(same_bits(plain.o, with.o, plain.n_v));
    for (size_t i = 0; i < plain.n_qk; i++) ck_assert_close(with.dq[i], plain.dq[i], 1e-6, 1e-6);
    case_free(&plain), case_free(&with);
    attention_case high = case_new(shape_of(&policies[6], 70, true), 1);
    case_measure(&high);
    case_run(k, &high);
    for (size_t i = 0; i < high.n_v; i++) ck_assert(fabs((double)high.o[i]) < 1e-20);
    for (size_t i = 0; i < high.n_qk; i++) ck_assert(isfinite(high.dq[i]) && isfinite(high.dk[i]));
    for (size_t i = 0; i < 2 * HEADS; i++) ck_assert(isfinite(high.s.head_grads[2 * HEADS + i]));
    for (size_t i = 0; i < high.rows; i++) {
        rdk_row_figures f = rdk_row_measure(&high.measured[i]);
        ck_assert(f.p_max > 1 - 1e-6 && f.entropy >= 0 && f.entropy < 1e-6);
    }
    case_free(&high);
}
END_TEST

/* ---- what is measured ------------------------------------------------------------------------ */

static void check_row(const attention_case *c, const struct policy *p, size_t i, const plain_row *r)
{
    const rdk_attention_row *got = &c->measured[i];
    double s[LONGEST + 1], z = 0, s_ds = 0, ds2 = 0, cosine = 0, uncapped = 0;
    size_t h = i / c->s.len % c->s.heads, b = i / c->s.len / c->s.heads, at = i % c->s.len;
    if (r->n == 0) return;
    memcpy(s, r->s, r->n * sizeof *s);
    rdk_attention_row keys = rdk_row_from_scores(s, r->n);
    if (c->s.sink) s[r->n] = (double)c->s.sink[h];
    rdk_row_figures want = rdk_row_of_scores(s, r->n + (c->s.sink ? 1 : 0));
    rdk_row_figures f = rdk_row_measure(got);
    for (size_t j = 0; j < r->n; j++) {
        const rdk_real *q = c->q + at_qk(c, b, h, at), *k = c->k + at_qk(c, b, h, j);
        double slope = c->s.softcap > 0 ? pow(cosh(r->factor * r->x[j] / c->s.softcap), -2) : 1;
        z = r->factor * r->x[j];
        s_ds += z * slope * r->ds[j];
        ds2 += r->ds[j] * r->ds[j];
        uncapped = fmax(uncapped, fabs(z));
        cosine += r->x[j] / c->s.scale / sqrt(dot_of(c->s.d_k, q, q) * dot_of(c->s.d_k, k, k));
    }
    /* the rounding of a score is a relative error of its p */
    const double relative = 1e-5 + 1e-6 * (double)keys.abs_max;
    ck_assert_int_eq(got->n, (int)r->n);
    ck_assert_int_eq(got->sink, c->s.sink != NULL);
    near("entropy", p, at, fabs(f.entropy - want.entropy), relative * want.entropy + 1e-9);
    near("p_max", p, at, fabs(f.p_max - want.p_max), 1e-5);
    near("trace", p, at, fabs(f.jacobian_trace - want.jacobian_trace),
         relative * want.jacobian_trace);
    near("frob2", p, at, fabs(f.jacobian_frob2 - want.jacobian_frob2),
         relative * want.jacobian_frob2);
    near("variance", p, at, fabs(got->variance - keys.variance), 1e-5 * keys.variance + 1e-10);
    near("max", p, at, fabs((double)got->max - (double)keys.max), 1e-5);
    near("abs_max", p, at, fabs((double)got->abs_max - (double)keys.abs_max), 1e-5);
    near("cosine", p, at, fabs((double)got->cosine - cosine), 1e-4);
    near("ds", p, at, fabs((double)got->ds_norm - sqrt(ds2)), 1e-5 * sqrt(ds2) + 2e-6);
    near("s_ds", p, at, fabs(got->s_ds - s_ds), 2e-5);
    if (c->s.softcap > 0)
        near("uncapped", p, at, fabs((double)got->uncapped - uncapped), 1e-5 * uncapped + 1e-6);
    else
        ck_assert(got->uncapped == 0);
}

START_TEST(rows_against_the_plain_computation)
{
    TABLE(k);
    static const int32_t padded[] = {100, 1};
    plain_row *rows = calloc(2 * HEADS * 100, sizeof *rows);
    for (size_t at = 0; at < POLICIES; at++) {
        const struct policy *p = &policies[at];
        if (p->sink == high_sinks) continue;
        for (int causal = 0; causal < 2; causal++) {
            rdk_attention_shape s = shape_of(p, 100, causal);
            s.lengths = padded;
            attention_case c = case_new(s, 1);
            case_measure(&c);
            case_run(k, &c);
            memset(rows, 0, 2 * HEADS * 100 * sizeof *rows);
            plain_results want = plain_run(&c, rows);
            for (size_t i = 0; i < c.rows; i++) check_row(&c, p, i, &rows[i]);
            plain_free(&want);
            case_free(&c);
        }
    }
    free(rows);
}
END_TEST

/* p of one row as the maps of a run have it, beside that of the pass. */
START_TEST(weights_of_one_row)
{
    TABLE(k);
    double p[9];
    for (size_t at = 0; at < POLICIES; at++) {
        attention_case c = weights_of(k, shape_of(&policies[at], 9, true), 0);
        rdk_head_view v = {.q = c.q,
                           .k = c.k,
                           .batch = 2,
                           .len = 9,
                           .heads = HEADS,
                           .d_k = c.s.d_k,
                           .head = 2,
                           .scale = c.s.scale,
                           .causal = true,
                           .gain = c.s.gain,
                           .sink = c.s.sink,
                           .length_base = c.s.length_base,
                           .softcap = c.s.softcap};
        for (size_t i = 0; i < 9; i++) {
            ck_assert_uint_eq(rdk_head_weights(&v, 1, i, p), i + 1);
            for (size_t j = 0; j <= i; j++)
                near("p", &policies[at], i, fabs(p[j] - (double)c.o[at_v(&c, 1, 2, i) + j]), 2e-6);
        }
        case_free(&c);
    }
}
END_TEST

/* ---- what must change no bit ----------------------------------------------------------------- */

START_TEST(threads_measuring_and_padding_change_no_bit)
{
    TABLE(k);
    static const int32_t padded[] = {70, 31};
    for (size_t at = 0; at < POLICIES; at++) {
        rdk_attention_shape s = shape_of(&policies[at], 90, at % 2);
        s.lengths = padded;
        s.dropout = 0.1;
        attention_case c = case_new(s, 1), d = case_copy(&c);
        case_measure(&d);
        for (size_t b = 0; b < 2; b++)
            for (size_t i = (size_t)padded[b]; i < 90; i++) {
                for (size_t e = 0; e < HEADS * 20; e++)
                    d.q[at_qk(&d, b, 0, i) + e] = d.k[at_qk(&d, b, 0, i) + e] = NAN;
                for (size_t e = 0; e < HEADS * 9; e++)
                    d.v[at_v(&d, b, 0, i) + e] = d.dout[at_v(&d, b, 0, i) + e] = NAN;
            }
        rdk_threads_set(1);
        case_run(k, &c);
        rdk_threads_set(3);
        case_run(k, &d);
        ck_assert(same_bits(c.o, d.o, c.n_v) && same_bits(c.dv, d.dv, c.n_v));
        ck_assert(same_bits(c.dq, d.dq, c.n_qk) && same_bits(c.dk, d.dk, c.n_qk));
        if (c.s.head_grads)
            ck_assert_mem_eq(c.s.head_grads, d.s.head_grads, 4 * HEADS * sizeof(double));
        case_free(&c), case_free(&d);
    }
}
END_TEST

RDK_TEST_MAIN("attention policies", {
    ADD_LOOP(policies_against_the_plain_computation, ISAS);
    ADD_LOOP(every_policy_changes_p, ISAS);
    ADD_LOOP(a_constant_on_a_row_changes_nothing, ISAS);
    ADD_LOOP(one_key_under_a_length_factor, ISAS);
    ADD_LOOP(a_sink_of_zero_is_a_zero_key, ISAS);
    ADD_LOOP(sinks_far_away, ISAS);
    ADD_LOOP(rows_against_the_plain_computation, ISAS);
    ADD_LOOP(weights_of_one_row, ISAS);
    ADD_LOOP(threads_measuring_and_padding_change_no_bit, ISAS);
})
