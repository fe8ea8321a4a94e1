/* SPDX-License-Identifier: MIT
 * What came of a run, in sentences chosen by its measured numbers against the thresholds named
 * here. Nothing is concluded that was not measured. Read next: verdict.c, the terminal;
 * src/report/verdict_alone.c, the page. */
#include "sentences.h"

#include <inttypes.h>
#include <math.h>

#include "thresholds.h"

/* entropy / ln n above which attention is called practically uniform, below which sharp */
static const double UNIFORM = 0.98, SHARP = 0.30;
/* steps before which nothing is said of what did not happen; the held-out loss over its lowest that
 * is called a rise */
static const uint64_t LONG_ENOUGH = 100;
static const double ROSE = 1.2;
/* how far a measured start may be from its prediction and still be called "as predicted" */
static const double AS_PREDICTED = 0.03;

static bool stayed_near_chance(const rdk_verdict_figures *f)
{
    return rdk_is_near_chance(f->accuracy, f->chance_accuracy);
}

static void task_sentence(const rdk_verdict_figures *f, rdk_text *out)
{
    double accuracy = f->accuracy, floor = f->floor_loss;
    if (!isfinite(f->loss)) return;
    if (!(floor > 0) && accuracy >= RDK_SOLVED)
        rdk_text_add(out, "solved: %.2f%% of held-out targets right", 100 * accuracy);
    else if (!(floor > 0) && stayed_near_chance(f))
        rdk_text_add(out, "not learned%s: %.2f%% of held-out targets right, a guess has %.1f%%",
                     f->step < LONG_ENOUGH ? " so far" : "", 100 * accuracy,
                     100 * f->chance_accuracy);
    else
        rdk_text_add(out, "%.2f%% of held-out targets right", 100 * accuracy);
    if (!isnan(f->sequence_accuracy))
        rdk_text_add(out, " (%.2f%% of sequences whole)", 100 * f->sequence_accuracy);
    rdk_text_add(out, ", loss %.4f", f->loss);
    if (floor > 0) rdk_text_add(out, " (no model can get below %.4f on average)", floor);
    rdk_text_add(out, ", after %" PRIu64 " step%s.\n", f->step, f->step == 1 ? "" : "s");
    if (f->best_step == f->step || !isfinite(f->best_loss)) return;
    rdk_text_add(out, "The lowest held-out loss was %.4f at step %" PRIu64 "%s.\n", f->best_loss,
                 f->best_step,
                 f->loss > ROSE * f->best_loss && !(floor > 0) && accuracy < RDK_SOLVED
                     ? "; it rose since (try a smaller --lr, or more --warmup)"
                     : "");
}

static const char *character(double entropy_norm)
{
    return entropy_norm > UNIFORM ? "practically uniform" : entropy_norm < SHARP ? "sharp" : "soft";
}

/* ---- by layer -------------------------------------------------------------------------------- */

/* Layers that are named one by one; of more the two extremes. */
enum { FEW_LAYERS = 4 };

/* Are the figures of each layer known? Those of a start are not where a run went on from a run.json
 * without them. */
static bool by_layer(const rdk_verdict_figures *f, bool first)
{
    for (size_t l = 0; l < f->layers; l++)
        if (!isfinite(first ? f->layer[l].entropy_first : f->layer[l].entropy_last)) return false;
    return f->layers > 1;
}

/* The layer of the least entropy, or of the most. */
static size_t extreme(const rdk_verdict_figures *f, bool first, bool most)
{
    size_t at = 0;
    for (size_t l = 1; l < f->layers; l++) {
        double x = first ? f->layer[l].entropy_first : f->layer[l].entropy_last;
        double best = first ? f->layer[at].entropy_first : f->layer[at].entropy_last;
        if (most ? x > best : x < best) at = l;
    }
    return at;
}

static void layer_start(const rdk_layer_figures *a, size_t l, rdk_text *out)
{
    rdk_text_add(out, "%s in layer %zu: entropy/ln n %.3f (", character(a->entropy_first), l,
                 a->entropy_first);
    if (isfinite(a->entropy_theory))
        rdk_text_add(out, "predicted %.3f", a->entropy_theory);
    else
        rdk_text_add(out, "no prediction");
    rdk_text_add(out, "), %.1f%% of rows above p = 0.99", 100 * a->sat99_first);
}

static void layer_end(const rdk_layer_figures *a, size_t l, rdk_text *out)
{
    rdk_text_add(out, "%s in layer %zu: entropy/ln n %.3f, score std %.3g, largest |score| %.3g",
                 character(a->entropy_last), l, a->entropy_last, a->score_std_last,
                 a->score_absmax_last);
}

static void layers_words(const rdk_verdict_figures *f, bool first, rdk_text *out)
{
    void (*say)(const rdk_layer_figures *, size_t, rdk_text *) = first ? layer_start : layer_end;
    size_t low = extreme(f, first, false), high = extreme(f, first, true);
    if (f->layers <= FEW_LAYERS) {
        for (size_t l = 0; l < f->layers; l++) {
            rdk_text_add(out, l ? "; " : "");
            say(&f->layer[l], l, out);
        }
    } else {
        rdk_text_add(out, "(of %zu layers those of least and most entropy) ", f->layers);
        say(&f->layer[low], low, out);
        rdk_text_add(out, "; ");
        say(&f->layer[high], high, out);
    }
    rdk_text_add(out, ".");
}

/* Was the whole model sharp, or one of the layers that differ? */
static bool sharp_at_end(const rdk_verdict_figures *f)
{
    if (!by_layer(f, false)) return f->entropy_last < SHARP;
    return f->layer[extreme(f, false, false)].entropy_last < SHARP;
}

static bool sharp_throughout(const rdk_verdict_figures *f)
{
    if (!by_layer(f, false) || !by_layer(f, true))
        return f->entropy_first < SHARP && f->entropy_last < SHARP;
    for (size_t l = 0; l < f->layers; l++)
        if (f->layer[l].entropy_first < SHARP && f->layer[l].entropy_last < SHARP) return true;
    return false;
}

/* ---- attention ------------------------------------------------------------------------------- */

static void start_sentence(const rdk_verdict_figures *f, rdk_text *out)
{
    double e = f->entropy_first, theory = f->entropy_theory;
    if (!f->started || !isfinite(e)) return; /* end_sentence says why */
    if (by_layer(f, true)) {
        rdk_text_add(out, "Attention started ");
        layers_words(f, true, out);
        rdk_text_add(out, "\n");
        return;
    }
    rdk_text_add(out, "Attention started %s: entropy/ln n %.3f (", character(e), e);
    if (isfinite(theory))
        rdk_text_add(out, "predicted %.3f%s", theory,
                     fabs(e - theory) <= AS_PREDICTED
                         ? ""
                         : "; the prediction assumes independent inputs of unit size, and wide "
                           "heads");
    else
        rdk_text_add(out, "there is no formula for a prediction");
    rdk_text_add(out, "), %.1f%% of rows above p = 0.99.\n", 100 * f->sat99_first);
}

static void end_sentence(const rdk_verdict_figures *f, rdk_text *out)
{
    double e = f->entropy_last;
    if (!f->ended) return;
    if (!isfinite(e)) {
        rdk_text_add(out, "No row of attention has two keys to choose from.\n");
        return;
    }
    if (by_layer(f, false)) {
        rdk_text_add(out, "It ended ");
        layers_words(f, false, out);
    } else {
        rdk_text_add(out, "It ended %s: entropy/ln n %.3f, score std %.3g, largest |score| %.3g.",
                     character(e), e, f->score_std_last, f->score_absmax_last);
    }
    if (sharp_at_end(f) && f->accuracy >= RDK_SOLVED)
        rdk_text_add(out, " Sharp and right: low entropy late is no failure.");
    if (f->started && sharp_throughout(f) && !(f->floor_loss > 0) && stayed_near_chance(f) &&
        f->step >= LONG_ENOUGH)
        rdk_text_add(out, " Sharp from the start and near chance at the end: the picture of "
                          "saturation.");
    rdk_text_add(out, "\n");
}

static void gradient_sentence(const rdk_verdict_figures *f, rdk_text *out)
{
    double first = f->ratio_first, last = f->ratio_last;
    if (!f->started || !f->ended) return;
    if (!isfinite(first) || !isfinite(last)) {
        rdk_text_add(out, "|gW_Q|/|gW_V| is undefined: a W_V got no gradient.\n");
        return;
    }
    rdk_text_add(out, "|gW_Q|/|gW_V| went from %.3g to %.3g", first, last);
    if (isfinite(f->scale))
        rdk_text_add(out, "; without the factor c that it carries, from %.3g to %.3g",
                     first / f->scale, last / f->scale);
    rdk_text_add(out, ".\n");
    if (isfinite(f->top5_first))
        rdk_text_add(out,
                     "At the start the top 5%% of rows held %.0f%% of the squared gradient at the "
                     "scores.\n",
                     100 * f->top5_first);
    else
        rdk_text_add(out, "At the start no gradient reached the scores.\n");
}

static void clip_sentence(const rdk_verdict_figures *f, rdk_text *out)
{
    if (!(f->qk_clip > 0) || !isfinite(f->clip_updates) || !isfinite(f->clip_most)) return;
    const char *s = f->step == 1 ? "" : "s";
    if (f->clip_updates == 0)
        rdk_text_add(out, "QK-clip at %g shrank no head in %" PRIu64 " update%s.\n", f->qk_clip,
                     f->step, s);
    else
        rdk_text_add(out,
                     "QK-clip at %g shrank heads in %.0f of %" PRIu64 " update%s, at most %.0f of "
                     "%zu heads at once.\n",
                     f->qk_clip, f->clip_updates, f->step, s, f->clip_most, f->all_heads);
}

void rdk_verdict_sentences(const rdk_verdict_figures *f, rdk_text *out)
{
    task_sentence(f, out);
    start_sentence(f, out);
    end_sentence(f, out);
    clip_sentence(f, out);
    gradient_sentence(f, out);
}
