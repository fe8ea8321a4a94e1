/* SPDX-License-Identifier: MIT
 * The figures of a head against sums written out over p and J of every row, and the rules for which
 * rows count by hand. */
#include <harness.h>
#include <rootdk/probe.h>

enum { B = 4, H = 3, T = 21, D_K = 5, ROWS = B * T };

static double draw(uint64_t step, size_t index)
{
    rdk_draws d =
        rdk_draws_at((rdk_stream){.seed = 5, .purpose = RDK_FOR_TEST, .step = step}, index);
    return rdk_draw_normal(&d);
}

/* Scores of B sequences of the lengths given, causal or not; rows of padding see no key. */
typedef struct batch_case {
    int32_t lengths[B];
    bool causal;
    double sigma;
    double score[B][H][T][T];
    size_t n[B][T];
    rdk_attention_row rows[B * H * T];
    rdk_real q[B * T * H * D_K], k[B * T * H * D_K];
} batch_case;

static void fill_row(batch_case *c, size_t b, size_t h, size_t i)
{
    size_t real = (size_t)c->lengths[b];
    size_t n = i >= real ? 0 : c->causal ? i + 1 : real, at = (b * H + h) * T + i;
    c->n[b][i] = n;
    for (size_t j = 0; j < n; j++) c->score[b][h][i][j] = c->sigma * draw(h, at * T + j) + 0.5;
    c->rows[at] = rdk_row_from_scores(c->score[b][h][i], n);
    c->rows[at].ds_norm = n < 2 ? 0 : exp(2 * draw(10, at));
    c->rows[at].reached = n > 0;
    c->rows[at].s_ds = n < 2 ? 0 : draw(11, at);
    for (size_t j = 0; j < n; j++) {
        double cosine = sin(draw(12, at * T + j)); /* any number in -1..1 */
        c->rows[at].cosine += cosine;
        c->rows[at].cosine2 += cosine * cosine;
    }
}

static batch_case *new_case(const int32_t lengths[B], bool causal, double sigma)
{
    batch_case *c = rdk_alloc(1, sizeof *c, NULL);
    memcpy(c->lengths, lengths, sizeof c->lengths);
    c->causal = causal;
    c->sigma = sigma;
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < T; i++) fill_row(c, b, h, i);
    for (size_t i = 0; i < B * T * H * D_K; i++) {
        size_t token = i / (H * D_K) % T, b = i / (H * D_K) / T;
        bool real = (int32_t)token < lengths[b];
        c->q[i] = real ? draw(20, i) : NAN; /* padding must not be read */
        c->k[i] = real ? 3 * draw(21, i) : NAN;
    }
    return c;
}

static rdk_head_figures measure(const batch_case *c, size_t head)
{
    double scratch[2 * ROWS];
    return rdk_head_measure(c->rows, B, H, T, head, c->q, c->k, D_K, c->lengths, scratch);
}

/* ---- written out ----------------------------------------------------------------------------- */

typedef struct sums {
    double rows, two, many, variance, entropy, norm, p_max, sat90, sat99, trace, frob2;
    double max, abs_max, peak, mean, theta;
    double traces[ROWS], frobs[ROWS]; /* of each row */
} sums;

/* ||J||_{inf->1} = max_S 4 P(S)(1 - P(S)), which the figure is where p_max >= 1/2, and else not
 * larger than: by the largest key alone, or by 1 - p_max^2. */
static double theta_of(double top)
{
    double alone = 4 * top * (1 - top);
    return top >= .5 ? alone : fmax(alone, 1 - top * top);
}

static void add_written_out(sums *s, const double *score, size_t n, size_t many_from)
{
    double p[T], z = 0, mean = 0, variance = 0, entropy = 0, top = 0, trace = 0, frob2 = 0;
    double peak = -INFINITY;
    for (size_t j = 0; j < n; j++) z += exp(score[j]);
    for (size_t j = 0; j < n; j++) p[j] = exp(score[j]) / z;
    for (size_t j = 0; j < n; j++) {
        mean += score[j] / (double)n;
        entropy -= p[j] * log(p[j]);
        top = fmax(top, p[j]);
        s->max = fmax(s->max, score[j]);
        s->abs_max = fmax(s->abs_max, fabs(score[j]));
        peak = fmax(peak, score[j]);
        trace += p[j] * (1 - p[j]);
        for (size_t i = 0; i < n; i++) frob2 += pow((i == j ? p[j] : 0) - p[i] * p[j], 2);
    }
    s->traces[(size_t)s->rows] = trace, s->frobs[(size_t)s->rows] = sqrt(frob2);
    s->trace += trace, s->frob2 += frob2, s->mean += mean, s->theta += theta_of(top);
    s->peak = fmax(s->peak, peak - mean);
    for (size_t j = 0; j < n; j++) variance += (score[j] - mean) * (score[j] - mean) / (double)n;
    s->rows += 1;
    s->entropy += entropy;
    if (n >= 2) s->two += 1, s->variance += variance, s->norm += entropy / log((double)n);
    if (n < many_from) return;
    s->many += 1, s->p_max += top, s->sat90 += top > .9, s->sat99 += top > .99;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Nearest rank, by counting: the smallest value with at least that share of the values <= it. */
static double quantile_by_counting(const double *x, size_t n, double share)
{
    double best = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double below = 0;
        for (size_t j = 0; j < n; j++) below += x[j] <= x[i];
        if (below >= share * (double)n - 1e-9) best = fmin(best, x[i]);
    }
    return best;
}

static void check_against_sums(const batch_case *c, size_t h, size_t many_from)
{
    sums s = {.max = -1e300};
    double cosine = 0, cosine2 = 0, pairs = 0;
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < T; i++)
            if (c->n[b][i]) {
                const rdk_attention_row *row = &c->rows[(b * H + h) * T + i];
                add_written_out(&s, c->score[b][h][i], c->n[b][i], many_from);
                cosine += row->cosine, cosine2 += row->cosine2, pairs += (double)c->n[b][i];
            }
    rdk_head_figures f = measure(c, h);
    ck_assert_uint_eq(f.rows, (size_t)s.rows);
    ck_assert_close(f.score_std, sqrt(s.variance / s.two), 1e-12, 0);
    ck_assert_close(f.score_absmax, s.abs_max, 0, 0);
    ck_assert_close(f.score_max, s.max, 0, 0);
    ck_assert_close(f.entropy, s.entropy / s.rows, 1e-11, 0);
    ck_assert_close(f.entropy_norm, s.norm / s.two, 1e-11, 0);
    ck_assert_close(f.p_max, s.p_max / s.many, 1e-12, 0);
    ck_assert_close(f.sat90, s.sat90 / s.many, 1e-15, 0);
    ck_assert_close(f.sat99, s.sat99 / s.many, 1e-15, 0);
    ck_assert_close(f.jacobian_trace, s.trace / s.rows, 1e-11, 0);
    ck_assert_close(f.jacobian_frob, sqrt(s.frob2 / s.rows), 1e-11, 0);
    size_t n = (size_t)s.rows;
    ck_assert_close(f.jacobian_trace_median, quantile_by_counting(s.traces, n, .5), 1e-11, 1e-300);
    ck_assert_close(f.jacobian_frob_median, quantile_by_counting(s.frobs, n, .5), 1e-11, 1e-300);
    ck_assert_close(f.theta, s.theta / s.rows, 1e-11, 0);
    ck_assert_close(f.score_mean, s.mean / s.rows, 1e-12, .01);
    ck_assert_close(f.score_peak, s.peak, 1e-12, 0);
    ck_assert_close(f.q_k_cosine, cosine / pairs, 1e-12, .01);
    ck_assert_close(f.q_k_cosine_rms, sqrt(cosine2 / pairs), 1e-12, 0);
}

static void check_gradients(const batch_case *c, size_t h)
{
    double x[ROWS], total = 0, top = 0, s_ds = 0;
    size_t n = 0;
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < T; i++) {
            const rdk_attention_row *row = &c->rows[(b * H + h) * T + i];
            s_ds += row->s_ds;
            if (c->n[b][i] >= 2) x[n++] = row->ds_norm;
        }
    rdk_head_figures f = measure(c, h);
    ck_assert_double_eq(f.ds_p10, quantile_by_counting(x, n, .1));
    ck_assert_double_eq(f.ds_median, quantile_by_counting(x, n, .5));
    ck_assert_double_eq(f.ds_p90, quantile_by_counting(x, n, .9));
    qsort(x, n, sizeof *x, descending);
    for (size_t i = 0; i < n; i++) total += x[i] * x[i];
    for (size_t i = 0; (double)i < .05 * (double)n - 1e-9; i++) top += x[i] * x[i];
    ck_assert_close(f.ds_top5_share, top / total, 1e-12, 0);
    ck_assert_close(f.ds_rms, sqrt(total / (double)n), 1e-12, 0);
    ck_assert_close(f.scale_gradient, s_ds, 1e-12, 1);
}

static void check_norms(const batch_case *c, size_t h)
{
    double q2 = 0, k2 = 0, count = 0;
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < (size_t)c->lengths[b]; t++)
            for (size_t d = 0; d < D_K; d++) {
                size_t at = (b * T + t) * H * D_K + h * D_K + d;
                q2 += c->q[at] * c->q[at];
                k2 += c->k[at] * c->k[at];
                count += 1;
            }
    rdk_head_figures f = measure(c, h);
    ck_assert_close(f.q_rms, sqrt(q2 / count), 1e-12, 0);
    ck_assert_close(f.k_rms, sqrt(k2 / count), 1e-12, 0);
}

static const int32_t length_sets[][B] = {{T, T, T, T}, {T, 9, 1, 0}, {0, 0, 12, 8}, {2, 3, 7, 6}};
static const double sigmas[] = {.1, 1, 8};

START_TEST(written_out)
{
    for (int causal = 0; causal < 2; causal++)
        for (size_t k = 0; k < 3; k++) {
            batch_case *c = new_case(length_sets[_i], causal, sigmas[k]);
            /* the last set has no row of 8 keys: then every row with 2 counts as long */
            for (size_t h = 0; h < H; h++) {
                check_against_sums(c, h, _i == 3 ? 2 : 8);
                check_gradients(c, h);
                check_norms(c, h);
            }
            rdk_free(c);
        }
}
END_TEST

/* ---- rules by hand --------------------------------------------------------------------------- */

/* One sequence, one head; only what is given is set. */
static rdk_head_figures of_rows(const rdk_attention_row *rows, size_t n)
{
    double scratch[2 * 128];
    return rdk_head_measure(rows, 1, 1, n, 0, NULL, NULL, 1, NULL, scratch);
}

static rdk_attention_row spread_row(double ds_norm)
{
    rdk_attention_row row = rdk_row_from_scores((double[]){0, 1}, 2);
    row.ds_norm = ds_norm;
    row.reached = true;
    return row;
}

/* ||ds|| = 1 .. n in some order. */
static rdk_head_figures of_norms(size_t n)
{
    rdk_attention_row rows[128];
    for (size_t i = 0; i < n; i++) rows[i] = spread_row((double)(i * 7 % n + 1));
    return of_rows(rows, n);
}

START_TEST(quantiles_by_hand)
{
    rdk_head_figures f = of_norms(20);
    ck_assert_double_eq(f.ds_p10, 2);
    ck_assert_double_eq(f.ds_median, 10);
    ck_assert_double_eq(f.ds_p90, 18);
    ck_assert_close(f.ds_top5_share, 400. / 2870, 1e-15, 0);
    f = of_norms(22); /* top 5 %: 1.1 rows, so 2 */
    ck_assert_double_eq(f.ds_p10, 3);
    ck_assert_double_eq(f.ds_median, 11);
    ck_assert_double_eq(f.ds_p90, 20);
    ck_assert_close(f.ds_top5_share, (484. + 441) / 3795, 1e-15, 0);
    f = of_norms(1);
    ck_assert_double_eq(f.ds_p10, 1);
    ck_assert_double_eq(f.ds_median, 1);
    ck_assert_double_eq(f.ds_p90, 1);
    ck_assert_double_eq(f.ds_top5_share, 1);
    f = of_norms(100);
    ck_assert_double_eq(f.ds_p10, 10);
    ck_assert_double_eq(f.ds_p90, 90);
}
END_TEST

/* Which rows the gradient quantiles take: not a row without a choice (one key), nor one that no
 * gradient reached, one-hot or not; but a row that one reached and that lets nothing through is a 0
 * that counts. */
START_TEST(rows_without_gradient)
{
    rdk_attention_row one_hot = rdk_row_from_scores((double[]){0, 1e5}, 2), one_key, apart[3];
    ck_assert_double_eq(one_hot.rest, 0);
    one_key = rdk_row_from_scores((double[]){3}, 1);
    one_key.reached = true;
    apart[0] = one_hot, apart[1] = spread_row(0), apart[2] = spread_row(5);
    apart[1].reached = false;
    rdk_head_figures f = of_rows(apart, 3);
    ck_assert_double_eq(f.ds_p10, 5);
    ck_assert_double_eq(f.ds_rms, 5);
    one_hot.reached = true;
    rdk_attention_row rows[] = {one_key, spread_row(5), one_hot, (rdk_attention_row){0}};
    f = of_rows(rows, 4);
    ck_assert_double_eq(f.ds_median, 0);
    ck_assert_double_eq(f.ds_p90, 5);
    ck_assert_close(f.ds_rms, sqrt(12.5), 1e-15, 0);
    f = of_rows(rows, 2);
    ck_assert_double_eq(f.ds_median, 5);
    f = of_rows(rows + 2, 2); /* nothing comes through at all: of that there are no shares */
    ck_assert(f.ds_median == 0 && f.ds_p90 == 0 && f.ds_rms == 0 && isnan(f.ds_top5_share));
}
END_TEST

START_TEST(nothing_measured)
{
    rdk_attention_row rows[4] = {{0}};
    rdk_head_figures f = of_rows(rows, 4);
    ck_assert_uint_eq(f.rows, 0);
    ck_assert(isnan(f.score_std) && isnan(f.score_absmax) && isnan(f.score_max));
    ck_assert(isnan(f.entropy) && isnan(f.entropy_norm) && isnan(f.p_max));
    ck_assert(isnan(f.sat90) && isnan(f.sat99));
    ck_assert(isnan(f.jacobian_trace) && isnan(f.jacobian_frob));
    ck_assert(isnan(f.ds_median) && isnan(f.ds_p10) && isnan(f.ds_p90) && isnan(f.ds_top5_share));
    ck_assert(isnan(f.q_rms) && isnan(f.k_rms));
    ck_assert(isnan(f.score_mean) && isnan(f.score_peak) && isnan(f.theta));
    ck_assert(isnan(f.jacobian_trace_median) && isnan(f.jacobian_frob_median));
    ck_assert(isnan(f.q_k_cosine) && isnan(f.q_k_cosine_rms));
    ck_assert(isnan(f.ds_rms) && isnan(f.scale_gradient));
    f = of_rows(rows, 0);
    ck_assert_uint_eq(f.rows, 0);
    batch_case *c = new_case((int32_t[B]){0, 0, 0, 0}, true, 1);
    f = measure(c, 1);
    ck_assert(isnan(f.q_rms) && isnan(f.k_rms) && isnan(f.entropy));
    rdk_free(c);
}
END_TEST

/* T = 1: a row of one key has entropy 0, and no entropy per ln 1. */
START_TEST(one_key_rows)
{
    rdk_attention_row row = rdk_row_from_scores((double[]){-6}, 1);
    rdk_head_figures f = of_rows(&row, 1);
    ck_assert_uint_eq(f.rows, 1);
    ck_assert_double_eq(f.entropy, 0);
    ck_assert_double_eq(f.jacobian_trace, 0);
    ck_assert_double_eq(f.jacobian_frob, 0);
    ck_assert_double_eq(f.score_absmax, 6);
    ck_assert_double_eq(f.score_max, -6);
    ck_assert(isnan(f.entropy_norm) && isnan(f.score_std) && isnan(f.p_max) && isnan(f.sat99));
}
END_TEST

/* Before a backward the row norms are 0, and after one that diverged they are not finite. */
START_TEST(no_usable_gradient)
{
    rdk_attention_row rows[] = {spread_row(0), spread_row(0)};
    rows[0].reached = rows[1].reached = false;
    ck_assert(isnan(of_rows(rows, 2).ds_median) && isnan(of_rows(rows, 2).scale_gradient));
    rows[1].reached = true;
    rows[1].ds_norm = INFINITY;
    ck_assert(isnan(of_rows(rows, 2).ds_median));
    rows[1].ds_norm = NAN;
    ck_assert(isnan(of_rows(rows, 2).ds_top5_share));
    ck_assert(!isnan(of_rows(rows, 2).entropy));
}
END_TEST

/* A constant added to all scores of a row moves score_max, and neither score_std nor the
 * entropy. */
START_TEST(rows_are_centred)
{
    double s[3] = {0, 1, 2}, shifted[3] = {4096, 4097, 4098};
    rdk_attention_row rows[] = {rdk_row_from_scores(s, 3), rdk_row_from_scores(shifted, 3)};
    rdk_head_figures one = of_rows(rows, 1), both = of_rows(rows, 2);
    ck_assert_double_eq(both.score_std, one.score_std);
    ck_assert_close(one.score_std, sqrt(2. / 3), 1e-15, 0);
    ck_assert_double_eq(both.entropy_norm, one.entropy_norm);
    ck_assert_double_eq(both.score_max, 4098);
}
END_TEST

RDK_TEST_MAIN("head", {
    ADD_LOOP(written_out, 4);
    ADD(quantiles_by_hand);
    ADD(rows_without_gradient);
    ADD(nothing_measured);
    ADD(one_key_rows);
    ADD(no_usable_gradient);
    ADD(rows_are_centred);
})
