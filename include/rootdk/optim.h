/* SPDX-License-Identifier: MIT
 * Optimizers, learning-rate schedules, gradient clipping.
 * Invariant: everything is a function of the step; nothing counts on its own. */
#ifndef ROOTDK_OPTIM_H
#define ROOTDK_OPTIM_H

#include <rootdk/nn.h>

typedef enum { RDK_ADAMW, RDK_SGD } rdk_optimizer_kind;
typedef enum { RDK_CONSTANT, RDK_LINEAR, RDK_COSINE } rdk_schedule_kind;

typedef struct rdk_optim_config {
    rdk_optimizer_kind kind;
    double lr, min_lr; /* peak, and the end of linear and cosine */
    uint64_t warmup;   /* steps */
    rdk_schedule_kind schedule;
    double beta1, beta2, eps; /* adamw */
    double momentum;          /* sgd */
    double weight_decay;      /* adamw: decoupled (times lr); sgd: L2; only params with .decay */
    double clip;              /* on the global gradient norm; 0: never */
} rdk_optim_config;

/* lr of the update number step (from 0) of a run of `steps`:
 *   step < warmup: lr (step + 1) / (warmup + 1)      never 0
 *   then, with x = (step - warmup) / max(1, steps - 1 - warmup) held to 0..1:
 *   constant: lr;  linear: lr + x (min_lr - lr);  cosine: min_lr + (lr - min_lr)(1 + cos(pi x))/2
 */
double rdk_schedule(const rdk_optim_config *c, uint64_t step, uint64_t steps);

/* The norm of n numbers, in double. */
double rdk_norm(size_t n, const rdk_real *x);
/* The norm over all trainable gradients, computed in double (no overflow of finite gradients). */
double rdk_grad_norm(rdk_model *m);
/* min(1, clip / norm), 1 where clip is 0 or the norm is 0. */
double rdk_clip_factor(double norm, double clip);
/* The first trainable parameter whose gradient holds inf or nan, or NULL. *at: the element. */
rdk_param *rdk_grad_first_nonfinite(rdk_model *m, size_t *at);

/* QK-clip, after an update: every head whose largest score exceeds tau > 0 has its rows of W_Q (and
 * bias) multiplied by eta^alpha and those of W_K by eta^(1 - alpha), eta = tau / largest, for
 * 0 <= alpha <= 1. score_max: [layers, H] of the update's passes, rdk_model_probe.score_max from
 * -INFINITY on. A head without a larger score keeps its bits.
 * Of use where a score is c q.k. Under QK-norm no score moves. Not for additive scores, which are
 * no product; nor beside a soft cap, whose scores are capped when they are compared; nor beside
 * sigma_reparam, where a head that is clipped changes sigma and so the others. Nothing of this is
 * checked here. */
void rdk_qk_clip(rdk_model *m, const rdk_real *score_max, double tau, double alpha);
/* How many heads that will be. */
size_t rdk_qk_clip_count(const rdk_model *m, const rdk_real *score_max, double tau);

/* Moments in buffers of the model's layout. */
typedef struct rdk_optimizer rdk_optimizer;
rdk_optimizer *rdk_optimizer_new(const rdk_optim_config *c, rdk_model *m, rdk_status *s);
void rdk_optimizer_free(rdk_optimizer *o);
/* One update with learning rate lr from the gradients times clip_factor. step from 0 (bias
 * correction uses step + 1). update_norm: [param_count] norms of each parameter's change, or
 * NULL. */
void rdk_optimizer_step(rdk_optimizer *o, rdk_model *m, uint64_t step, double lr,
                        double clip_factor, double *update_norm);
/* The state to save and restore, one buffer of rdk_model_size each, named by what stands before a
 * parameter's name in files: "optimizer.m.", for adamw also "optimizer.v.". */
int rdk_optimizer_state_count(const rdk_optimizer *o);
const char *rdk_optimizer_state_name(const rdk_optimizer *o, int i);
rdk_real *rdk_optimizer_state(rdk_optimizer *o, int i);

#endif
