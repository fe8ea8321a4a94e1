/* SPDX-License-Identifier: MIT
 * What the runs of an ablation cannot say, in sentences: too few seeds, one learning rate, a best
 * rate at the end of the range, one d_k.
 *
 * Invariant: a sentence states what was run and what therefore cannot be concluded; it never says
 * what would come out. */
#include <math.h>
#include <string.h>

#include "rates.h"

enum { ENOUGH_SEEDS = 5 };

static void missing_runs(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    if (r->missing)
        rdk_text_add(out, "- %zu of %zu runs are not finished: this is not the whole grid.\n",
                     r->missing, a->n_points);
}

static void one_rate(const rdk_ablation *a, rdk_text *out)
{
    size_t axis = rdk_ablation_axis(a, "lr");
    if (axis < a->n_axes && a->axes[axis].n > 1) return;
    rdk_text_add(out, "- Only one learning rate was run (");
    if (axis < a->n_axes)
        rdk_text_add(out, "%s", a->axes[axis].values[0]);
    else
        rdk_option_text(&a->base, rdk_option_find("lr"), out);
    rdk_text_add(out,
                 "): which setting is better at its own best rate, and for how wide a range of "
                 "rates it works, cannot be concluded.\n");
}

static void rates_at_the_end(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    rdk_rates t;
    size_t ends = 0, diverged = 0;
    if (rdk_rates_make(&t, a, r)) {
        for (size_t k = 0; k < t.groups.count; k++) {
            rdk_best_rate best = rdk_rates_best(&t, k);
            ends += best.at_end;
            diverged += best.rate == t.rates || best.diverged > 0;
        }
        if (ends)
            rdk_text_add(out,
                         "- In %zu of %zu rows of the second table the best lr is the smallest "
                         "or the largest that was run: a better one may lie beyond.\n",
                         ends, t.groups.count);
        if (diverged)
            rdk_text_add(out,
                         "- In %zu of %zu rows of the second table some run diverged at every lr: "
                         "the best one is that at which the fewest did, its loss that of the "
                         "others.\n",
                         diverged, t.groups.count);
    }
    rdk_rates_free(&t);
}

/* Seeds of the runs that are there, whatever the grid wants. */
static size_t seeds_run(const rdk_ablation *a, const rdk_results *r)
{
    size_t axis = rdk_ablation_axis(a, "seed"), n = 0;
    if (axis == a->n_axes) return 1;
    for (size_t k = 0; k < a->axes[axis].n; k++) {
        size_t i = 0;
        while (i < r->n &&
               strcmp(rdk_ablation_value(a, r->rows[i].point, axis), a->axes[axis].values[k]) != 0)
            i++;
        n += i < r->n;
    }
    return n;
}

static void few_seeds(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    size_t n = seeds_run(a, r);
    if (n == 0 || n >= ENOUGH_SEEDS) return;
    if (n == 1) {
        rdk_text_add(out, "- One seed was run: nothing is known of the spread between seeds, so no "
                          "difference between rows can be concluded.\n");
        return;
    }
    rdk_text_add(out,
                 "- %zu seeds were run, fewer than %d: intervals are wide (%.1f standard errors "
                 "where %d seeds have %.1f), and that a row never fails cannot be concluded; nor "
                 "can a difference between rows whose intervals overlap.\n",
                 n, ENOUGH_SEEDS, rdk_student_t(0.95, n - 1), ENOUGH_SEEDS,
                 rdk_student_t(0.95, ENOUGH_SEEDS - 1));
}

/* none, sqrt, dk and dmodel are one policy with different factors as long as no width varies. */
static void one_width(const rdk_ablation *a, rdk_text *out)
{
    static const char *const factors[] = {"none", "sqrt", "dk", "dmodel"};
    static const char *const widths[] = {"d-k", "d-model", "heads"};
    size_t axis = rdk_ablation_axis(a, "scale"), found = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (rdk_ablation_axis(a, widths[i]) < a->n_axes) return;
    for (size_t i = 0; axis < a->n_axes && i < sizeof factors / sizeof *factors; i++)
        found += rdk_grid_axis_find(&a->axes[axis], factors[i]) < a->axes[axis].n;
    if (found > 1)
        rdk_text_add(out, "- One d_k was run: there none, sqrt, dk and dmodel differ by a constant "
                          "factor alone, so which of them suits other widths cannot be "
                          "concluded.\n");
}

void rdk_results_limits(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    rdk_text t = {0};
    missing_runs(a, r, &t);
    one_rate(a, &t);
    rates_at_the_end(a, r, &t);
    few_seeds(a, r, &t);
    one_width(a, &t);
    if (t.size) rdk_text_add(out, "What cannot be concluded:\n\n%s\n", t.data);
    rdk_text_free(&t);
}
