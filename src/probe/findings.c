/* SPDX-License-Identifier: MIT
 * The variance argument checked: every figure as a finding, and what it is held against.
 *
 * Invariant: a check is off where its distance cannot be luck. Of m checks with a standard error
 * the bound on |z| is the one that all of them together pass in one run of a thousand; what has no
 * random number in it must agree to its digits.
 * Read next: src/cli/theory.c. */
#include <math.h>
#include <string.h>

#include <rootdk/probe.h>

/* Scores +x and -x: p_2 = 1 / (1 + e^2x). */
const rdk_hand_row rdk_hand_table[RDK_HAND_ROWS] = {
    {8, 1.125351621e-07, 1.125351494e-07, 2.250702988e-07, 1.913097761e-06, 4.501406e-07},
    {1, .119202922, .1049935854, .2099871708, .3653338551, .4199743},
    {.125, .437823499, .2461340827, .4922681655, .6853952947, .9845363},
};

rdk_hand_row rdk_hand_measure(double x)
{
    const double scores[] = {x, -x};
    rdk_row_figures f = rdk_row_of_scores(scores, 2);
    double p2 = exp(-2 * x) / (1 + exp(-2 * x));
    return (rdk_hand_row){x, p2, f.p_max * p2, f.jacobian_trace, f.entropy, f.theta};
}

/* ---- the list -------------------------------------------------------------------------------- */

static rdk_finding *add(rdk_findings *f, const rdk_finding *one)
{
    if (f->n < f->room) f->at[f->n++] = *one;
    return &f->at[f->n - 1];
}

/* A figure of a Monte Carlo, held against a value that may be off by half a digit and, of another
 * Monte Carlo, has a variance `noise` times that of ours. */
static void hold(rdk_findings *f, const rdk_finding *place, const char *figure, rdk_estimate e,
                 rdk_against against, double expected, double digit, double noise)
{
    rdk_finding *one = add(f, place);
    one->figure = figure;
    one->e = e;
    if (against == RDK_AGAINST_NOTHING || isnan(expected)) return;
    double distance = fabs(e.mean - expected) - digit / 2, error = e.se * sqrt(1 + noise);
    one->against = against;
    one->expected = expected;
    one->z = distance <= 0 ? 0 : copysign(distance / error, e.mean - expected); /* NAN is off */
    f->n_z++;
}

static void note(rdk_findings *f, const rdk_finding *place, const char *figure, rdk_estimate e)
{
    hold(f, place, figure, e, RDK_AGAINST_NOTHING, NAN, 0, 0);
}

/* A value without randomness, that may be off by `allowed`. */
static void compare(rdk_findings *f, const rdk_finding *place, const char *figure, double value,
                    rdk_against against, double expected, double allowed)
{
    rdk_finding *one = add(f, place);
    one->figure = figure;
    one->e = (rdk_estimate){value, NAN};
    one->against = against;
    one->expected = expected;
    one->z = (value - expected) / allowed;
}

/* ---- rows of scores -------------------------------------------------------------------------- */

/* Where no sample is saturated the measured error is 0; by the expected share it is not. */
static rdk_estimate share(rdk_estimate e, double expected, size_t samples)
{
    double binomial = sqrt(expected * (1 - expected) / (double)samples);
    return (rdk_estimate){e.mean, fmax(e.se, binomial)};
}

static void hold_to_reference(rdk_findings *f, const rdk_finding *at, const rdk_row_estimates *e,
                              const rdk_reference *r)
{
    const rdk_against ref = RDK_AGAINST_REFERENCE;
    double noise = (double)e->samples / r->rows, median_digit = r->trace_median < .1 ? 1e-4 : 1e-3;
    hold(f, at, "entropy", e->entropy, ref, r->entropy, 1e-4, noise);
    hold(f, at, "entropy_norm", e->entropy_norm, ref, r->entropy_norm, 1e-4, noise);
    hold(f, at, "p_max", e->p_max, ref, r->p_max, 1e-4, noise);
    hold(f, at, "sat90", share(e->sat90, r->sat90, e->samples), ref, r->sat90, 1e-3, noise);
    hold(f, at, "sat99", share(e->sat99, r->sat99, e->samples), ref, r->sat99, 1e-3, noise);
    hold(f, at, "jacobian_trace", e->trace, ref, r->trace, 1e-4, noise);
    hold(f, at, "jacobian_trace_median", e->trace_median, ref, r->trace_median, median_digit,
         noise);
    hold(f, at, "jacobian_frob", e->frob, ref, r->frob, 1e-4, noise);
}

static void note_row(rdk_findings *f, const rdk_finding *at, const rdk_row_estimates *e)
{
    note(f, at, "entropy", e->entropy);
    note(f, at, "entropy_norm", e->entropy_norm);
    note(f, at, "p_max", e->p_max);
    note(f, at, "sat90", e->sat90);
    note(f, at, "sat99", e->sat99);
    note(f, at, "jacobian_trace", e->trace);
    note(f, at, "jacobian_trace_median", e->trace_median);
    note(f, at, "jacobian_frob", e->frob);
}

static void find_row(rdk_findings *f, const rdk_theory_scores *t, int k)
{
    const rdk_row_estimates *e = &t->row[k];
    double sigma2 = rdk_theory_sigma2[k];
    const rdk_reference *r = rdk_reference_rows(t->keys, sigma2);
    rdk_finding at = {.table = "rows", .keys = t->keys, .scale = "", .sigma2 = sigma2};
    double degrees = ((double)t->keys - 1) * (double)e->samples;
    rdk_estimate variance = {e->variance.mean, sigma2 * sqrt(2 / degrees)};
    hold(f, &at, "variance", variance, RDK_AGAINST_FORMULA, sigma2, 0, 0);
    hold(f, &at, "entropy", e->entropy, RDK_AGAINST_EXACT, t->exact[k].entropy, 0, 0);
    hold(f, &at, "jacobian_trace", e->trace, RDK_AGAINST_EXACT, t->exact[k].trace, 0, 0);
    hold(f, &at, "stein", e->stein, RDK_AGAINST_STEIN, 0, 0, 0);
    if (r) {
        hold_to_reference(f, &at, e, r);
    } else {
        note_row(f, &at, e);
    }
}

static void find_causal(rdk_findings *f, const rdk_theory_scores *t, int k)
{
    const rdk_row_estimates *e = &t->causal[k];
    const rdk_against ref = RDK_AGAINST_REFERENCE;
    static const rdk_reference nothing = {
        .rows = 1, .entropy = NAN, .entropy_norm = NAN, .p_max = NAN, .trace = NAN};
    double sigma2 = rdk_theory_sigma2[k];
    const rdk_reference *r = rdk_reference_causal(t->keys, sigma2);
    if (!r) r = &nothing;
    double noise = (double)e->samples / r->rows;
    rdk_finding at = {.table = "causal", .keys = t->keys, .scale = "", .sigma2 = sigma2};
    hold(f, &at, "stein", e->stein, RDK_AGAINST_STEIN, 0, 0, 0);
    hold(f, &at, "entropy", e->entropy, ref, r->entropy, 1e-4, noise);
    hold(f, &at, "entropy_norm", e->entropy_norm, ref, r->entropy_norm, 1e-4, noise);
    hold(f, &at, "jacobian_trace", e->trace, ref, r->trace, 1e-4, noise);
    hold(f, &at, "p_max_all", e->p_max_all, ref, r->p_max, 1e-4, noise);
}

/* ---- closed forms, and by hand --------------------------------------------------------------- */

/* Each quantity where its form holds, to the stated error; of "small" it is ln n - H, since H
 * itself is ln n to within that error whatever the form says. */
static void find_closed(rdk_findings *f, const rdk_theory_scores *t, int k)
{
    double sigma2 = rdk_theory_sigma2[k], log_n = log((double)t->keys);
    const rdk_expectation *exact = &t->exact[k];
    for (size_t i = 0; i < rdk_closed_form_count(); i++) {
        const rdk_closed_form *c = rdk_closed_form_at(i);
        const rdk_against closed = RDK_AGAINST_CLOSED;
        rdk_finding at = {.table = "closed", .keys = t->keys, .scale = c->name, .sigma2 = sigma2};
        double entropy = c->entropy(t->keys, sigma2), trace = c->trace(t->keys, sigma2);
        if (c->trace_holds(t->keys, sigma2))
            compare(f, &at, "jacobian_trace", trace, closed, exact->trace, c->error * exact->trace);
        if (!c->entropy_holds(t->keys, sigma2)) continue;
        double deficit = log_n - exact->entropy;
        if (!strcmp(c->name, "small")) {
            compare(f, &at, "ln_n-entropy", log_n - entropy, closed, deficit, c->error * deficit);
        } else {
            compare(f, &at, "entropy", entropy, closed, exact->entropy, c->error * exact->entropy);
        }
    }
}

static void find_hand(rdk_findings *f)
{
    for (int i = 0; i < RDK_HAND_ROWS; i++) {
        const rdk_hand_row *want = &rdk_hand_table[i];
        rdk_hand_row got = rdk_hand_measure(want->x);
        rdk_finding at = {.table = "hand", .keys = 2, .scale = "", .sigma2 = NAN};
        const rdk_against hand = RDK_AGAINST_HAND;
        /* Half a unit of the last digit printed: the ninth or tenth; of theta the seventh. */
        compare(f, &at, "p_2", got.p2, hand, want->p2, 5e-9 * want->p2);
        compare(f, &at, "p_1p_2", got.product, hand, want->product, 1e-9 * want->product);
        compare(f, &at, "jacobian_trace", got.trace, hand, want->trace, 1e-9 * want->trace);
        compare(f, &at, "entropy", got.entropy, hand, want->entropy, 1e-9 * want->entropy);
        compare(f, &at, "theta", got.theta, hand, want->theta, 5e-7 * want->theta);
    }
}

/* ---- queries and keys ------------------------------------------------------------------------ */

static void find_way(rdk_findings *f, const rdk_theory_point *p, size_t i)
{
    const rdk_way *way = &p->way[i];
    const rdk_row_estimates *e = &p->e[i];
    const rdk_reference *r = rdk_reference_dot(p->d_k, p->keys, way->name);
    rdk_finding at = {.table = "dot",
                      .d_k = p->d_k,
                      .keys = p->keys,
                      .scale = way->name,
                      .sigma2 = way->variance};
    /* No chance in it: 0, or one dimension, where LayerNorm or another norm leaves a sign. */
    double floor_ = 1e-9 * fmax(way->variance, 1);
    rdk_estimate variance = rdk_theory_variance(p, i);
    hold(f, &at, "variance", variance, RDK_AGAINST_FORMULA, way->variance, floor_, 0);
    if (way->scale.qk_norm == RDK_QK_OFF)
        hold(f, &at, "stein", e->stein, RDK_AGAINST_STEIN, 0, 0, 0);
    note_row(f, &at, e);
    if (!r) return;
    double noise = (double)e->samples / r->rows;
    double digit = r->entropy_norm > .999 ? 1e-4 : 1e-3; /* .9995 */
    const rdk_against ref = RDK_AGAINST_REFERENCE;
    hold(f, &at, "entropy_norm", e->entropy_norm, ref, r->entropy_norm, digit, noise);
    hold(f, &at, "jacobian_trace", e->trace, ref, r->trace, 1e-3, noise);
    hold(f, &at, "p_max", e->p_max, ref, r->p_max, 1e-3, noise);
}

static void find_slopes(rdk_findings *f, const rdk_theory_results *r, size_t i)
{
    const rdk_theory_point *p = rdk_theory_at(r, i, 0);
    for (size_t w = 0; w < p->n_ways; w++) {
        rdk_slope slope = rdk_theory_slope(r, i, w);
        if (isnan(slope.formula)) continue;
        rdk_finding at = {
            .table = "slope", .keys = p->keys, .scale = p->way[w].name, .sigma2 = NAN};
        hold(f, &at, "variance", slope.measured, RDK_AGAINST_SLOPE, slope.formula, 0, 0);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The z with P(|N(0, 1)| > z) = p, by bisection. */
static double two_sided(double p)
{
    double low = 0, high = 40;
    while (high - low > 1e-9) {
        double z = (low + high) / 2;
        if (erfc(z / sqrt(2.)) > p) {
            low = z;
        } else {
            high = z;
        }
    }
    return low;
}

static void free_findings(rdk_theory_results *r)
{
    if (r->findings) rdk_free(r->findings->at);
    rdk_free(r->findings);
    r->findings = NULL;
}

void rdk_theory_free(rdk_theory_results *r)
{
    free_findings(r);
    rdk_free(r->scores);
    rdk_free(r->point);
    memset(r, 0, sizeof *r);
}

bool rdk_theory_find(rdk_theory_results *r, rdk_status *s)
{
    enum { A_POINT = RDK_WAYS * 14, A_LENGTH = RDK_SIGMAS * 24 + RDK_WAYS, HAND = 16 };
    const rdk_theory_plan *plan = &r->plan;
    free_findings(r); /* of an earlier call */
    rdk_findings *f = r->findings = rdk_alloc(1, sizeof *f, s);
    if (!f) return false;
    f->room = plan->n_keys * (plan->n_d_k * A_POINT + A_LENGTH) + HAND;
    f->at = rdk_alloc(f->room, sizeof *f->at, s);
    if (!f->at) return false;
    for (size_t i = 0; i < plan->n_keys; i++) {
        for (size_t j = 0; j < plan->n_d_k; j++) {
            const rdk_theory_point *p = rdk_theory_at(r, i, j);
            for (size_t w = 0; w < p->n_ways; w++) find_way(f, p, w);
        }
        find_slopes(f, r, i);
        for (int k = 0; k < RDK_SIGMAS; k++) find_row(f, &r->scores[i], k);
        for (int k = 0; k < RDK_SIGMAS; k++) find_causal(f, &r->scores[i], k);
        for (int k = 0; k < RDK_SIGMAS; k++) find_closed(f, &r->scores[i], k);
    }
    find_hand(f);
    f->bound = two_sided(.001 / (double)(f->n_z + 1));
    return true;
}

bool rdk_finding_is_off(const rdk_findings *f, const rdk_finding *one)
{
    if (one->against == RDK_AGAINST_NOTHING) return false;
    return !(fabs(one->z) <= (isnan(one->e.se) ? 1 : f->bound));
}

size_t rdk_findings_off(const rdk_findings *f)
{
    size_t off = 0;
    for (size_t i = 0; i < f->n; i++) off += rdk_finding_is_off(f, &f->at[i]);
    return off;
}

/* ---- as CSV ---------------------------------------------------------------------------------- */

static void csv_number(rdk_text *out, double x)
{
    char number[RDK_NUMBER_TEXT];
    rdk_text_add(out, ",%s", isnan(x) ? "" : rdk_text_exact(x, number));
}

static void csv_count(rdk_text *out, size_t n)
{
    if (n) {
        rdk_text_add(out, ",%zu", n);
    } else {
        rdk_text_add(out, ",");
    }
}

void rdk_theory_csv(rdk_text *out, const rdk_findings *f)
{
    static const char *const sources[RDK_AGAINSTS] = {"",      "formula",   "formula", "identity",
                                                      "exact", "reference", "exact",   "hand"};
    rdk_text_add(out, "table,d_k,keys,scale,sigma2,figure,value,se,expected,source,z,verdict\n");
    for (size_t i = 0; i < f->n; i++) {
        const rdk_finding *one = &f->at[i];
        bool held = one->against != RDK_AGAINST_NOTHING;
        rdk_text_add(out, "%s", one->table);
        csv_count(out, one->d_k);
        csv_count(out, one->keys);
        rdk_text_add(out, ",%s", one->scale);
        csv_number(out, one->sigma2);
        rdk_text_add(out, ",%s", one->figure);
        csv_number(out, one->e.mean);
        csv_number(out, one->e.se);
        csv_number(out, held ? one->expected : NAN);
        rdk_text_add(out, ",%s", sources[one->against]);
        csv_number(out, held ? one->z : NAN);
        rdk_text_add(out, ",%s\n", !held ? "" : rdk_finding_is_off(f, one) ? "off" : "ok");
    }
}
