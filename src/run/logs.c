/* SPDX-License-Identifier: MIT
 * The rows of a run's CSV files. What each column means: docs/metrics.md.
 * Invariant: all files but timing.csv depend on the configuration alone. */
#include "trainer.h"

#include <math.h>

static const char METRICS[] =
    "step,split,loss,accuracy,lr,grad_norm,clip_factor,score_absmax,tokens,"
    "sequence_accuracy,tokens_seen";
static const char ATTENTION[] =
    "step,layer,head,scale,score_std,score_absmax,entropy,entropy_norm,p_max,sat90,sat99,"
    "jacobian_trace,jacobian_frob,ds_median,ds_p90,ds_top5_share,q_rms,k_rms,score_std_theory,"
    "entropy_norm_theory";
static const char GRADIENTS[] = "step,tensor,grad_norm,weight_norm,update_ratio";
static const char TIMING[] = "step,seconds,tokens_per_second,peak_memory";

static bool open_one(rdk_trainer *r, rdk_csv *c, const char *name, const char *header,
                     bool resuming)
{
    const char *directory = r->directory.path;
    return resuming ? rdk_csv_continue(c, directory, name, header, r->step, r->status)
                    : rdk_csv_create(c, directory, name, header, r->status);
}

bool rdk_logs_open(rdk_trainer *r, bool resuming)
{
    return open_one(r, &r->metrics, "metrics.csv", METRICS, resuming) &&
           open_one(r, &r->attention, "attention.csv", ATTENTION, resuming) &&
           open_one(r, &r->gradients, "gradients.csv", GRADIENTS, resuming) &&
           open_one(r, &r->timing, "timing.csv", TIMING, resuming);
}

void rdk_logs_close(rdk_trainer *r)
{
    rdk_csv_close(&r->metrics);
    rdk_csv_close(&r->attention);
    rdk_csv_close(&r->gradients);
    rdk_csv_close(&r->timing);
}

bool rdk_logs_train_row(rdk_trainer *r, const rdk_step_report *report)
{
    rdk_csv *c = &r->metrics;
    rdk_csv_uint(c, r->step);
    rdk_csv_word(c, "train");
    rdk_csv_real(c, report->pass.loss);
    rdk_csv_real(c, report->pass.accuracy);
    rdk_csv_exact(c, report->lr);
    rdk_csv_real(c, report->grad_norm);
    rdk_csv_real(c, report->clip_factor);
    rdk_csv_real(c, report->score_absmax);
    rdk_csv_uint(c, report->pass.counted);
    rdk_csv_real(c, report->pass.sequence_accuracy);
    rdk_csv_uint(c, r->tokens_seen);
    return rdk_csv_end(c, r->status);
}

bool rdk_logs_eval_row(rdk_trainer *r, const rdk_pass *pass)
{
    enum { TRAIN_ONLY = 4 }; /* lr, grad_norm, clip_factor, score_absmax */
    rdk_csv *c = &r->metrics;
    rdk_csv_uint(c, r->step);
    rdk_csv_word(c, "eval");
    rdk_csv_real(c, pass->loss);
    rdk_csv_real(c, pass->accuracy);
    for (int i = 0; i < TRAIN_ONLY; i++) rdk_csv_empty(c);
    rdk_csv_uint(c, pass->counted);
    rdk_csv_real(c, pass->sequence_accuracy);
    rdk_csv_uint(c, r->tokens_seen);
    return rdk_csv_end(c, r->status);
}

static bool attention_row(rdk_trainer *r, size_t layer, size_t head, const rdk_theory *theory)
{
    const rdk_head_figures *f = rdk_measure_head(r->measure, layer, head);
    const double values[] = {rdk_model_score_scale(r->model),
                             f->score_std,
                             f->score_absmax,
                             f->entropy,
                             f->entropy_norm,
                             f->p_max,
                             f->sat90,
                             f->sat99,
                             f->jacobian_trace,
                             f->jacobian_frob,
                             f->ds_median,
                             f->ds_p90,
                             f->ds_top5_share,
                             f->q_rms,
                             f->k_rms,
                             theory->score_std,
                             theory->entropy_norm};
    rdk_csv *c = &r->attention;
    rdk_csv_uint(c, r->step);
    rdk_csv_uint(c, layer);
    rdk_csv_uint(c, head);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) rdk_csv_real(c, values[i]);
    return rdk_csv_end(c, r->status);
}

bool rdk_logs_attention_rows(rdk_trainer *r)
{
    for (size_t layer = 0; layer < r->config.model.layers; layer++)
        for (size_t head = 0; head < r->config.model.heads; head++)
            if (!attention_row(r, layer, head, &r->theory)) return false;
    return true;
}

static double norm_of(const rdk_real *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

void rdk_logs_keep_norms(rdk_trainer *r)
{
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        const rdk_tensor *p = &rdk_model_param(r->model, i)->tensor;
        r->grad_norm[i] = norm_of(p->grad, rdk_size(p));
        r->weight_norm[i] = norm_of(p->data, rdk_size(p));
    }
}

bool rdk_logs_gradient_rows(rdk_trainer *r, uint64_t step, bool updated)
{
    rdk_csv *c = &r->gradients;
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        rdk_csv_uint(c, step);
        rdk_csv_word(c, rdk_model_param(r->model, i)->name);
        rdk_csv_real(c, r->grad_norm[i]);
        rdk_csv_real(c, r->weight_norm[i]);
        /* a tensor that starts at zero (a bias) has no ratio yet */
        if (updated && r->weight_norm[i] > 0)
            rdk_csv_real(c, r->update_norm[i] / r->weight_norm[i]);
        else
            rdk_csv_empty(c);
        if (!rdk_csv_end(c, r->status)) return false;
    }
    return true;
}

bool rdk_logs_timing_row(rdk_trainer *r)
{
    rdk_csv *c = &r->timing;
    double seconds = rdk_seconds() - r->started;
    double tokens = (double)(r->tokens_seen - r->started_tokens);
    rdk_csv_uint(c, r->step);
    rdk_csv_real(c, seconds);
    rdk_csv_real(c, seconds > 0 ? tokens / seconds : 0);
    rdk_csv_uint(c, rdk_peak_memory());
    return rdk_csv_end(c, r->status);
}
