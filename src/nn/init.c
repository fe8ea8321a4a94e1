/* SPDX-License-Identifier: MIT
 * The first values of parameters: by the role of the parameter and the kind of initialisation.
 *
 * Invariant: element e of a parameter is init_mean + init_std z, z ~ N(0, 1), where z depends on
 * the seed, the parameter's name and e alone. So models that differ in scaling, or in having
 * further parts, start from the same matrices.
 * Read next: scaling.c (query_shrink). */
#include <math.h>

#include "base/hash.h"
#include "nn/model.h"

static const double GPT2_STD = 0.02;
static const double SINUSOID_BASE = 10000;

static bool writes_to_stream(rdk_role role)
{
    return role == RDK_ROLE_WO || role == RDK_ROLE_MLP_OUT;
}

static double fan_in(const rdk_model_config *c, rdk_role role)
{
    if (role == RDK_ROLE_WO) return (double)c->heads * (double)c->d_k;
    if (role == RDK_ROLE_MLP_OUT) return (double)c->d_ff;
    if (role == RDK_ROLE_SCORE) return (double)c->d_k;
    return (double)c->d_model;
}

/* With a tied head the table's rows are the head's too, and must not make logits of variance
 * d_model. */
static double table_std(const rdk_model_config *c)
{
    return c->init == RDK_INIT_GPT2 ? GPT2_STD : c->tie ? 1 / sqrt((double)c->d_model) : 1;
}

static double matrix_std(const rdk_model_config *c, rdk_role role)
{
    double std = c->init == RDK_INIT_GPT2 ? GPT2_STD : 1 / sqrt(fan_in(c, role));
    if (c->init != RDK_INIT_T5 && writes_to_stream(role)) std /= sqrt(2 * (double)c->layers);
    return std;
}

/* W_Q is shrunk for the policy or for t5's initialisation; where both ask, once. Under a tanh that
 * would be no scale of the score. */
static double query_std(const rdk_model_config *c)
{
    const rdk_scaling *policy = rdk_scaling_find(c->scale);
    double std = matrix_std(c, RDK_ROLE_WQ);
    if (policy && policy->query_shrink) return std * policy->query_shrink(c->d_k);
    return c->init == RDK_INIT_T5 && c->attention == RDK_DOT ? std / sqrt((double)c->d_k) : std;
}

double rdk_init_std(const rdk_model_config *c, rdk_role role)
{
    switch (role) {
    case RDK_ROLE_TOKENS:
    case RDK_ROLE_POSITIONS:
        return table_std(c);
    case RDK_ROLE_WQ:
        return query_std(c);
    case RDK_ROLE_POWER: /* a direction; its size is taken out */
        return 1;
    default:
        return rdk_nn_is_matrix(role) ? matrix_std(c, role) : 0;
    }
}

/* FNV-1a, folded to the 44 bits of a stream index. That no two names of a model meet is tested for
 * every name there can be. */
uint64_t rdk_nn_name_index(const char *name)
{
    const int bits = 44;
    uint64_t h = RDK_HASH_START;
    for (; *name; name++) h = rdk_hash_add(h, (unsigned char)*name);
    return (h ^ h >> bits) & (((uint64_t)1 << bits) - 1);
}

void rdk_nn_draw(rdk_param *p, uint64_t seed)
{
    rdk_real *w = p->tensor.data;
    size_t n = rdk_size(&p->tensor);
    rdk_stream stream = {.seed = seed, .purpose = RDK_FOR_INIT, .step = 0};
    rdk_draws draws = rdk_draws_at(stream, rdk_nn_name_index(p->name));
    if (p->init_std == 0)
        for (size_t e = 0; e < n; e++) w[e] = (rdk_real)p->init_mean;
    else
        for (size_t e = 0; e < n; e++)
            w[e] = (rdk_real)(p->init_mean + p->init_std * rdk_draw_normal(&draws));
}

void rdk_nn_sinusoids(size_t len, size_t d, rdk_real *table)
{
    for (size_t t = 0; t < len; t++)
        for (size_t i = 0; i < d; i++) {
            double even = (double)(i - i % 2);
            double angle = (double)t * pow(SINUSOID_BASE, -even / (double)d);
            table[t * d + i] = (rdk_real)(i % 2 ? cos(angle) : sin(angle));
        }
}
