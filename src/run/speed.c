/* SPDX-License-Identifier: MIT
 * What a step costs: its operations, its bytes, and its time on this machine, beside the most that
 * the machine could do.
 *
 * Invariant: figures of time are measured here and now, and go to the reader alone: nothing that a
 * run leaves depends on them.
 * Read next: cost.c, bench/README.md. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/parallel.h"
#include "kernels/kernels.h"
#include "words.h"

/* Multiply-adds of attention in one sequence: K and V of all positions, Q and two products with the
 * keys that they see of those from `first` on. */
static double attention_products(const rdk_model_config *m, double first)
{
    double width = (double)m->d_model, inner = (double)(m->heads * m->d_k);
    double len = (double)m->max_len, queries = len - first;
    double keys = m->arch == RDK_DECODER ? (first + len + 1) / 2 : len; /* of a query, the mean */
    return inner * (width * (2 * len + queries) + 2 * keys * queries);
}

double rdk_step_flops(const rdk_config *c, rdk_asked asked)
{
    const rdk_model_config *m = &c->model;
    double width = (double)m->d_model, inner = (double)(m->heads * m->d_k);
    double in_mlp = m->mlp == RDK_MLP_NONE ? 0 : m->mlp == RDK_MLP_SWIGLU ? 3 : 2;
    double behind = width * inner + in_mlp * width * (double)m->d_ff,
           before = (double)m->layers - 1;
    double attention =
        before * attention_products(m, 0) + attention_products(m, (double)asked.first);
    double token = (before + asked.share) * behind + asked.share * width * (double)m->vocab;
    double sequence = attention + token * (double)m->max_len;
    return 6 * sequence * (double)c->batch * (double)c->accum; /* forward 2, backward 4 */
}

/* Of additive attention: one for each pair and each of its d_k, again in backward. */
static double step_tanhs(const rdk_trainer *r)
{
    const rdk_model_config *m = &r->config.model;
    if (m->attention == RDK_DOT) return 0;
    double pairs = (double)r->batch.n * (double)r->batch.len * (double)r->batch.len;
    return 2 * pairs * (double)(m->layers * m->heads * m->d_k);
}

/* Bytes that a step has to move at least: the weights through every pass, forward and for both
 * gradients, as bfloat16 two of the three at half the size; gradients and moments through the
 * update, read and written. */
static double step_bytes(const rdk_trainer *r)
{
    double state = (double)rdk_model_size(r->model) * sizeof(rdk_real);
    double passes = ceil((double)r->batch.n / (double)rdk_pass_sequences(&r->config));
    double times = r->config.precision == RDK_BF16 ? 2 : 3;
    return state * (times * passes + 3 + 2 * rdk_optimizer_state_count(r->optimizer));
}

/* ---- the machine ----------------------------------------------------------------------------- */

double rdk_speed_peak(void)
{
    /* Rounds of some milliseconds; the best counts, as others may want the processor too. Threads
     * that were just made may share one until the system looks around, tens of milliseconds on. */
    enum { CHAIN = 2 * 1000 * 1000, MOST_THREADS = 1024 };
    static const double long_enough = 0.15;
    const rdk_kernels *k = rdk_kernels_get();
    const double first = rdk_seconds();
    int threads = rdk_threads() < MOST_THREADS ? rdk_threads() : MOST_THREADS;
    double best = 0, flops[MOST_THREADS], end[MOST_THREADS];
    do {
        double done = 0, begun = rdk_seconds();
        RDK_PARALLEL_FOR
        for (int t = 0; t < threads; t++) end[t] = k->multiply_adds(CHAIN, 0.5, 1, &flops[t]);
        double seconds = rdk_seconds() - begun;
        for (int t = 0; t < threads; t++) done += fabs(end[t] - 2) < 1e-5 ? flops[t] : 0;
        best = fmax(best, done / seconds);
    } while (rdk_seconds() - first < long_enough);
    return best;
}

/* The peak is that of floats, whatever the products are of. */
static void say_rate(const rdk_trainer *r, FILE *out, double rate, double peak)
{
    fprintf(out, "%.3g GFLOP/s, %.0f%% of the %.3g that %d thread%s can do%s", rate / 1e9,
            100 * rate / peak, peak / 1e9, rdk_threads(), rdk_threads() == 1 ? "" : "s",
            r->config.precision == RDK_BF16 ? " with floats" : "");
}

/* ---- of a run -------------------------------------------------------------------------------- */

void rdk_speed_summary(const rdk_trainer *r, FILE *out)
{
    static const double least = 1; /* seconds of training of which a rate is told */
    const rdk_cost *c = &r->cost;
    if (!(c->plain > least)) return;
    fprintf(out, "speed    gradients at ");
    say_rate(r, out, c->plain_flops / c->plain, rdk_speed_peak());
    fprintf(out, "\n");
}

/* ---- before one ------------------------------------------------------------------------------ */

/* Seconds of a step, by trying some on this model, whose weights they change; 0: it failed. */
static double try_steps(rdk_trainer *r)
{
    static const double most = 2;
    double begun = rdk_seconds(), least = INFINITY;
    do {
        rdk_step_report report;
        double from = rdk_seconds();
        if (!rdk_step_gradients(r, false, &report)) return 0;
        rdk_step_update(r, &report);
        least = fmin(least, rdk_seconds() - from);
    } while (rdk_seconds() - begun < most);
    return least;
}

/* The time of a step: tried where that takes no more than some seconds, else supposed. */
static void time_line(rdk_trainer *r, double flops, FILE *out)
{
    static const double supposed_share = 0.35, longest = 1;
    double peak = rdk_speed_peak();
    double seconds = flops / (supposed_share * peak);
    bool tries = seconds < longest;
    if (tries) {
        seconds = try_steps(r);
        peak = fmax(peak, rdk_speed_peak()); /* one that others disturbed is none */
    }
    fprintf(out, "time     ");
    if (!(seconds > 0)) {
        fprintf(out, "of a step not known: %s\n", r->status->message);
        return;
    }
    rdk_text all = {0};
    rdk_text_duration(&all, seconds * (double)r->config.steps);
    fprintf(out, "%.3g ms a step, %s: %s for %" PRIu64 " steps, evaluations apart\nrate     ",
            1e3 * seconds, tries ? "tried just now" : "supposed, not tried",
            all.data ? all.data : "", r->config.steps);
    say_rate(r, out, flops / seconds, peak);
    fprintf(out, "\n");
    rdk_text_free(&all);
}

static double activation_bytes(const rdk_trainer *r)
{
    double bytes = 0;
    for (size_t i = 0; i < r->workers; i++) bytes += (double)rdk_tape_bytes(r->tapes[i]);
    return bytes;
}

void rdk_speed_lines(rdk_trainer *r, FILE *out)
{
    static const double mebi = 1 << 20;
    rdk_text n = {0};
    rdk_batch_train(&r->batch, r->task, r->config.seed, 0);
    rdk_asked asked = rdk_batch_asked(&r->batch);
    double flops = rdk_step_flops(&r->config, asked);
    double tanhs = step_tanhs(r);
    rdk_words_count(&n, (uint64_t)(r->batch.n * r->batch.len));
    fprintf(out, "\na step   %s token%s", n.data ? n.data : "",
            r->batch.n * r->batch.len == 1 ? "" : "s");
    if (asked.share < 1)
        fprintf(out, ", %.3g%% of them with a target that counts", 100 * asked.share);
    fprintf(out, ", %.4g GFLOP", flops / 1e9);
    if (tanhs > 0) fprintf(out, " and %.4g G tanh", tanhs / 1e9);
    fprintf(
        out,
        "\n         at least %.4g MiB of weights, gradients and moments moved; its %zu "
        "sequence%s cut\n         into %zu group%s, which go%s through the model %zu at a time\n",
        step_bytes(r) / mebi, r->batch.n, r->batch.n == 1 ? " is" : "s are", r->groups,
        r->groups == 1 ? "" : "s", r->groups == 1 ? "es" : "", rdk_pass_sequences(&r->config));
    rdk_text_free(&n);
    double state = (double)rdk_model_size(r->model) * sizeof(rdk_real) / mebi;
    int moments = rdk_optimizer_state_count(r->optimizer);
    time_line(r, flops, out);
    double activations = activation_bytes(r); /* none where no step was tried */
    fprintf(out,
            "memory   %.4g MiB of weights, as much for each of %d moment%s and %zu gradient%s, and "
            "once more\n         as products need them laid out",
            state, moments, moments == 1 ? "" : "s", r->groups, r->groups == 1 ? "" : "s");
    if (activations > 0) fprintf(out, "; %.4g MiB of activations", activations / mebi);
    fprintf(out, "\n");
}
