/* SPDX-License-Identifier: MIT
 * AdamW and SGD with momentum: one update of every trainable parameter.
 *
 * Invariant: the moments are all the state there is; the step comes from the caller, so that an
 * interrupted run continues with the same bias correction. Weight decay reaches a parameter where
 * its .decay says so, and nowhere else.
 * Read next: schedule.c, gradient.c. */
#include <math.h>

#include <rootdk/optim.h>

#include "kernels/kernels.h"

enum { MOST_STATES = 2 };

struct rdk_optimizer {
    rdk_optim_config config;
    int n_states;
    rdk_real *state[MOST_STATES]; /* m, v: buffers of the model's layout */
};

static bool check_range(rdk_status *s, const char *option, double x, double below)
{
    char text[RDK_NUMBER_TEXT], most[RDK_NUMBER_TEXT];
    if (x >= 0 && x < below) return true;
    if (isinf(below))
        return rdk_fail(s, RDK_EVALUE, "%s %s is out of range (0 or more, finite)", option,
                        rdk_text_double(x, text));
    return rdk_fail(s, RDK_EVALUE, "%s %s is out of range (0 to less than %s)", option,
                    rdk_text_double(x, text), rdk_text_double(below, most));
}

static bool check(const rdk_optim_config *c, rdk_status *s)
{
    const struct {
        const char *option;
        double value, below;
    } ranges[] = {
        {"--lr", c->lr, INFINITY},
        {"--min-lr", c->min_lr, INFINITY},
        {"--beta1", c->beta1, 1},
        {"--beta2", c->beta2, 1},
        {"--eps", c->eps, INFINITY},
        {"--momentum", c->momentum, 1},
        {"--weight-decay", c->weight_decay, INFINITY},
        {"--clip", c->clip, INFINITY},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (!check_range(s, ranges[i].option, ranges[i].value, ranges[i].below)) return false;
    return true;
}

rdk_optimizer *rdk_optimizer_new(const rdk_optim_config *c, rdk_model *m, rdk_status *s)
{
    if (!check(c, s)) return NULL;
    rdk_optimizer *o = rdk_alloc(1, sizeof *o, s);
    if (!o) return NULL;
    o->config = *c;
    o->n_states = c->kind == RDK_ADAMW ? 2 : 1;
    for (int i = 0; i < o->n_states; i++) {
        o->state[i] = rdk_alloc(rdk_model_size(m), sizeof(rdk_real), s);
        if (!o->state[i]) {
            rdk_optimizer_free(o);
            return NULL;
        }
    }
    return o;
}

void rdk_optimizer_free(rdk_optimizer *o)
{
    if (!o) return;
    for (int i = 0; i < MOST_STATES; i++) rdk_free(o->state[i]);
    rdk_free(o);
}

/* One update. */
typedef struct update {
    const rdk_optimizer *o;
    uint64_t step;
    double lr, factor; /* on the gradient: that of clipping */
    double *norm;      /* of the change, by parameter; or NULL */
} update;

/* Both return the sum of squares of the parameter's change. */
static double adamw(const update *u, rdk_param *p)
{
    const rdk_optimizer *o = u->o;
    const rdk_optim_config *c = &o->config;
    double t = (double)u->step + 1;
    rdk_adamw rule = {.lr = u->lr,
                      .beta1 = c->beta1,
                      .beta2 = c->beta2,
                      .eps = c->eps,
                      .weight_decay = p->decay ? c->weight_decay : 0,
                      .correction1 = 1 - pow(c->beta1, t),
                      .correction2 = 1 - pow(c->beta2, t),
                      .factor = u->factor};
    return rdk_kernels_get()->adamw(&rule, rdk_size(&p->tensor), p->tensor.data, p->tensor.grad,
                                    o->state[0] + p->offset, o->state[1] + p->offset);
}

static double sgd(const update *u, rdk_param *p)
{
    const rdk_optimizer *o = u->o;
    const rdk_optim_config *c = &o->config;
    return rdk_kernels_get()->sgd(u->lr, c->momentum, p->decay ? c->weight_decay : 0, u->factor,
                                  rdk_size(&p->tensor), p->tensor.data, p->tensor.grad,
                                  o->state[0] + p->offset);
}

static void update_param(rdk_model *m, size_t i, void *context)
{
    const update *u = context;
    rdk_param *p = rdk_model_param(m, i);
    double squares = 0;
    if (p->trainable) squares = u->o->config.kind == RDK_ADAMW ? adamw(u, p) : sgd(u, p);
    if (u->norm) u->norm[i] = sqrt(squares);
}

void rdk_optimizer_step(rdk_optimizer *o, rdk_model *m, uint64_t step, double lr,
                        double clip_factor, double *update_norm)
{
    update u = {o, step, lr, clip_factor, update_norm};
    rdk_model_each(m, update_param, &u);
}

int rdk_optimizer_state_count(const rdk_optimizer *o)
{
    return o->n_states;
}

const char *rdk_optimizer_state_name(const rdk_optimizer *o, int i)
{
    return i < 0 || i >= o->n_states ? NULL : i == 0 ? "optimizer.m." : "optimizer.v.";
}

rdk_real *rdk_optimizer_state(rdk_optimizer *o, int i)
{
    return i < 0 || i >= o->n_states ? NULL : o->state[i];
}
