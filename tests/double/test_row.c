/* SPDX-License-Identifier: MIT
 * One softmax row: sums and figures against the hand table and against p and J written out in long
 * double, in the places where the obvious formulas lose their digits. */
#include <harness.h>
#include <rootdk/probe.h>

enum { MAX_N = 80 };

static double draw(size_t index, uint32_t skip)
{
    rdk_draws d =
        rdk_draws_at((rdk_stream){.seed = 7, .purpose = RDK_FOR_TEST, .step = skip}, index);
    return rdk_draw_normal(&d);
}

/* ---- the hand table -------------------------------------------------------------------------- */

typedef struct hand_row {
    double score, rest, trace, entropy, theta, digits;
} hand_row;

/* Two keys with scores +-s: R = e^(-2s), tr J = ||J||_F = 2 p1 p2, theta = 4 p1 p2. `digits`: half
 * a unit of the last printed digit, relative. */
static const hand_row hand_table[] = {
    {8, 1.125351747e-07, 2.250702988e-07, 1.913097761e-06, 4.501406e-07, 3e-10},
    {1, .1353352832, .2099871708, .3653338551, .4199743, 3e-10},
    {.125, .7788007831, .4922681655, .6853952947, .9845363, 3e-10},
};

static void check_hand_figures(const rdk_row_figures *f, const hand_row *want)
{
    ck_assert_close(f->p_max, 1 / (1 + want->rest), want->digits, 0);
    ck_assert_close(f->jacobian_trace, want->trace, want->digits, 0);
    ck_assert_close(f->jacobian_frob2, want->trace * want->trace, 2 * want->digits, 0);
    ck_assert_close(f->entropy, want->entropy, want->digits, 0);
    ck_assert_close(f->theta, want->theta, 2e-7, 0);
}

START_TEST(hand_table_from_scores)
{
    const hand_row *want = &hand_table[_i];
    rdk_attention_row row = rdk_row_from_scores((double[]){want->score, -want->score}, 2);
    rdk_row_figures f = rdk_row_measure(&row);
    check_hand_figures(&f, want);
    ck_assert_int_eq(row.n, 2);
    ck_assert_double_eq(row.max, want->score);
    ck_assert_double_eq(row.abs_max, want->score);
    ck_assert_double_eq(row.mean, 0);
    ck_assert_double_eq(row.variance, want->score * want->score);
}
END_TEST

START_TEST(hand_table_from_sums)
{
    const hand_row *want = &hand_table[_i];
    double r = exp(-2 * want->score);
    rdk_attention_row row = {
        .n = 2, .rest = r, .a = -2 * want->score * r, .b2 = r * r, .b3 = r * r * r};
    rdk_row_figures f = rdk_row_measure(&row);
    check_hand_figures(&f, want);
}
END_TEST

/* p1, p2 and p1 p2 as printed in the table, which the formulas above do not use. */
START_TEST(hand_table_probabilities)
{
    const double p1[] = {.999999887, .880797078, .562176501};
    const double p2[] = {1.125351621e-07, .119202922, .437823499};
    const double product[] = {1.125351494e-07, .1049935854, .2461340827};
    rdk_attention_row row =
        rdk_row_from_scores((double[]){-hand_table[_i].score, hand_table[_i].score}, 2);
    rdk_row_figures f = rdk_row_measure(&row);
    ck_assert_double_eq_tol(f.p_max, p1[_i], 5.1e-10);
    ck_assert_close(row.rest / (1 + row.rest), p2[_i], 2e-9, 0);
    ck_assert_close(f.jacobian_trace / 2, product[_i], 5e-10, 0);
}
END_TEST

/* ---- any row against p and J written out ----------------------------------------------------- */

typedef struct reference {
    long double entropy, p_max, trace, frob2, variance, mean;
} reference;

static reference direct(const double *s, size_t n)
{
    long double p[MAX_N] = {0}, rest = 0, sum = 0;
    size_t top = 0;
    reference r = {0};
    for (size_t j = 0; j < n; j++) top = s[j] > s[top] ? j : top;
    for (size_t j = 0; j < n; j++) rest += j == top ? 0 : expl((long double)s[j] - s[top]);
    for (size_t j = 0; j < n; j++) p[j] = expl((long double)s[j] - s[top]) / (1 + rest);
    for (size_t j = 0; j < n; j++) {
        long double others = j == top ? rest / (1 + rest) : 1 - p[j];
        r.entropy -= p[j] * ((long double)s[j] - s[top] - log1pl(rest));
        r.trace += p[j] * others;
        for (size_t i = 0; i < n; i++) {
            long double entry = i == j ? p[j] * others : -p[i] * p[j];
            r.frob2 += entry * entry;
        }
        sum += s[j];
    }
    r.p_max = p[top];
    r.mean = sum / n;
    for (size_t j = 0; j < n; j++) r.variance += (s[j] - r.mean) * (s[j] - r.mean) / n;
    return r;
}

static void check_row(const double *s, size_t n)
{
    const double tiny = 1e-290; /* below, double has fewer digits */
    rdk_attention_row row = rdk_row_from_scores(s, n);
    rdk_row_figures f = rdk_row_measure(&row);
    reference r = direct(s, n);
    ck_assert_close(f.entropy, (double)r.entropy, 1e-12, tiny);
    ck_assert_close(f.p_max, (double)r.p_max, 1e-14, tiny);
    ck_assert_close(f.jacobian_trace, (double)r.trace, 1e-12, tiny);
    ck_assert_close(f.jacobian_frob2, (double)r.frob2, 1e-12, tiny);
    ck_assert_close(row.variance, (double)r.variance, 1e-12, tiny);
    ck_assert_close(row.mean, (double)r.mean, 1e-12, 1);
    ck_assert(f.entropy >= 0 && f.entropy <= log((double)n) + 1e-12);
    ck_assert(f.jacobian_frob2 <= f.jacobian_trace * f.jacobian_trace * (1 + 1e-12));
    ck_assert_int_eq(row.n, (int)n);
    ck_assert_double_eq(row.ds_norm, 0);
    ck_assert_double_eq(row.s_ds, 0);
}

static const double sigmas[] = {0, 1e-3, 0.1, 1, 8, 30, 300, 1e4};
static const double offsets[] = {0, 1e4, -1e4, -20000};
static const size_t sizes[] = {1, 2, 3, 8, 64, 77};

START_TEST(random_rows)
{
    double s[MAX_N];
    size_t n = sizes[_i];
    for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++)
        for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
            for (size_t j = 0; j < n; j++)
                s[j] = offsets[o] + sigmas[k] * draw(j, (uint32_t)(100 * k + o));
            check_row(s, n);
        }
}
END_TEST

/* Ties: any number of equal maxima, first, last, and everything equal. */
START_TEST(ties)
{
    double s[MAX_N];
    for (size_t n = 2; n <= 20; n++)
        for (size_t equal = 2; equal <= n; equal++) {
            for (size_t j = 0; j < n; j++) s[j] = j < equal ? 3 : 3 - 50 * fabs(draw(j, 5));
            check_row(s, n);
            for (size_t j = 0; j < n / 2; j++) {
                double other = s[j];
                s[j] = s[n - 1 - j];
                s[n - 1 - j] = other;
            }
            check_row(s, n);
        }
    check_row((double[]){8000, 8000, 1}, 3);
    rdk_attention_row row = rdk_row_from_scores((double[]){8000, 8000, 1}, 3);
    ck_assert_double_eq(rdk_row_measure(&row).p_max, .5);
    ck_assert_double_eq(rdk_row_measure(&row).theta, 1);
}
END_TEST

START_TEST(equal_scores_are_uniform)
{
    const double levels[] = {0, -20000, 1e4, 1e300, -1e300};
    double s[MAX_N];
    for (size_t n = 1; n <= MAX_N; n++) {
        for (size_t j = 0; j < n; j++) s[j] = levels[n % 5];
        rdk_attention_row row = rdk_row_from_scores(s, n);
        rdk_row_figures f = rdk_row_measure(&row);
        ck_assert_double_eq(row.rest, (double)n - 1);
        ck_assert_double_eq(row.variance, 0);
        ck_assert_double_eq(row.mean, levels[n % 5]);
        ck_assert_close(f.entropy, log((double)n), 1e-15, 1);
        ck_assert_close(f.p_max, 1 / (double)n, 1e-15, 0);
        ck_assert_close(f.jacobian_trace, 1 - 1 / (double)n, 1e-15, 1);
        ck_assert_close(f.jacobian_frob2, ((double)n - 1) / ((double)n * (double)n), 1e-14, 1e-3);
    }
}
END_TEST

START_TEST(one_key_and_none)
{
    rdk_attention_row row = rdk_row_from_scores((double[]){-42.5}, 1);
    rdk_row_figures f = rdk_row_measure(&row);
    ck_assert_int_eq(row.n, 1);
    ck_assert_double_eq(row.max, -42.5);
    ck_assert_double_eq(row.abs_max, 42.5);
    ck_assert_double_eq(row.variance, 0);
    ck_assert_double_eq(f.entropy, 0);
    ck_assert_double_eq(f.p_max, 1);
    ck_assert_double_eq(f.jacobian_trace, 0);
    ck_assert_double_eq(f.jacobian_frob2, 0);
    ck_assert_double_eq(f.theta, 0);
    row = rdk_row_from_scores(NULL, 0);
    ck_assert_int_eq(row.n, 0);
    ck_assert_double_eq(row.rest, 0);
}
END_TEST

/* A gap no exponential can bridge: the sums are exactly 0, and nothing is nan. */
START_TEST(infinite_gap)
{
    rdk_attention_row row = rdk_row_from_scores((double[]){-1.7e308, 1.7e308, 0}, 3);
    rdk_row_figures f = rdk_row_measure(&row);
    ck_assert_double_eq(f.entropy, 0);
    ck_assert_double_eq(f.p_max, 1);
    ck_assert_double_eq(f.jacobian_trace, 0);
    ck_assert_double_eq(f.theta, 0);
}
END_TEST

START_TEST(shift_changes_nothing)
{
    double s[16], shifted[16];
    for (size_t j = 0; j < 16; j++) {
        s[j] = ldexp(round(draw(j, 3) * 64), -4);
        shifted[j] = s[j] + 8192; /* exact */
    }
    rdk_attention_row a = rdk_row_from_scores(s, 16), b = rdk_row_from_scores(shifted, 16);
    ck_assert_double_eq(a.rest, b.rest);
    ck_assert_double_eq(a.a, b.a);
    ck_assert_double_eq(a.b2, b.b2);
    ck_assert_double_eq(a.b3, b.b3);
    ck_assert_close(a.variance, b.variance, 1e-12, 0);
}
END_TEST

/* ||J||_{inf->1} = max over subsets S of 4 P(S) (1 - P(S)), by trying all of them. */
static double theta_of(const double *s, size_t n)
{
    double p[16], z = 0, best = 0;
    for (size_t j = 0; j < n; j++) z += exp(s[j]);
    for (size_t j = 0; j < n; j++) p[j] = exp(s[j]) / z;
    for (size_t set = 0; set < (size_t)1 << n; set++) {
        double inside = 0;
        for (size_t j = 0; j < n; j++) inside += set >> j & 1 ? p[j] : 0;
        best = fmax(best, 4 * inside * (1 - inside));
    }
    return best;
}

START_TEST(theta_by_all_subsets)
{
    size_t exact = 0, bounds = 0;
    for (size_t k = 0; k < 200; k++) {
        double s[10];
        size_t n = 2 + k % 9;
        for (size_t j = 0; j < n; j++) s[j] = (0.3 + (double)(k % 7)) * draw(j, (uint32_t)k);
        rdk_attention_row row = rdk_row_from_scores(s, n);
        rdk_row_figures f = rdk_row_measure(&row);
        double want = theta_of(s, n);
        if (f.p_max >= 0.5) {
            ck_assert_close(f.theta, want, 1e-11, 1e-3);
            exact++;
        } else {
            ck_assert(f.theta <= want + 1e-12 && want <= 1 + 1e-12);
            ck_assert(f.theta >= 4 * f.p_max * (1 - f.p_max) - 1e-12);
            ck_assert(f.theta >= 1 - f.p_max * f.p_max - 1e-12);
            bounds++;
        }
    }
    ck_assert(exact > 50 && bounds > 50);
}
END_TEST

RDK_TEST_MAIN("row", {
    ADD_LOOP(hand_table_from_scores, 3);
    ADD_LOOP(hand_table_from_sums, 3);
    ADD_LOOP(hand_table_probabilities, 3);
    ADD_LOOP(random_rows, 6);
    ADD(ties);
    ADD(equal_scores_are_uniform);
    ADD(one_key_and_none);
    ADD(infinite_gap);
    ADD(shift_changes_nothing);
    ADD(theta_by_all_subsets);
})
