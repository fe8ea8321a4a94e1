/* SPDX-License-Identifier: MIT
 * Functions applied element by element, y = f(x) and dx += dy f'(x). What f and f' are stands in
 * src/kernels; each op here is its name, its formula and its place in the kernel's list. */
#include "table.h"

#include <kernels/kernels.h>

static void map_backward(rdk_tape *t, const rdk_node *n, rdk_map f)
{
    const rdk_tensor *x = n->in[0], *y = n->out;
    bool add;
    rdk_real *dx = rdk_grad_unless_new(t, n->in[0], &add);
    if (!dx) return;
    rdk_kernels_get()->map_backward(f, rdk_size(x), x->data, y->data, y->grad, dx, add);
}

static rdk_tensor *map(rdk_tape *t, rdk_tensor *x, rdk_map f, const rdk_op *op)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    if (!y) return NULL;
    rdk_kernels_get()->map(f, rdk_size(x), x->data, y->data);
    return rdk_tape_record(t, op, y, 1, &x, NULL);
}

static void exp_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_EXP);
}

const rdk_op rdk_op_exp = {"exp", "y = exp(x)", exp_backward};

rdk_tensor *rdk_exp(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_EXP, &rdk_op_exp);
}

static void log_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_LOG);
}

const rdk_op rdk_op_log = {"log", "y = ln(x)", log_backward};

rdk_tensor *rdk_log(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_LOG, &rdk_op_log);
}

static void tanh_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_TANH);
}

const rdk_op rdk_op_tanh = {"tanh", "y = tanh(x)", tanh_backward};

rdk_tensor *rdk_tanh(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_TANH, &rdk_op_tanh);
}

static void erf_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_ERF);
}

const rdk_op rdk_op_erf = {"erf", "y = 2/sqrt(pi) int_0^x exp(-u^2) du", erf_backward};

rdk_tensor *rdk_erf(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_ERF, &rdk_op_erf);
}

static void relu_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_RELU);
}

const rdk_op rdk_op_relu = {"relu", "y = max(x, 0)", relu_backward};

rdk_tensor *rdk_relu(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_RELU, &rdk_op_relu);
}

static void gelu_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_GELU);
}

const rdk_op rdk_op_gelu = {"gelu", "y = x/2 (1 + erf(x / sqrt(2)))", gelu_backward};

rdk_tensor *rdk_gelu(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_GELU, &rdk_op_gelu);
}

static void gelu_tanh_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_GELU_TANH);
}

const rdk_op rdk_op_gelu_tanh = {
    "gelu_tanh",
    "y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
    gelu_tanh_backward,
};

rdk_tensor *rdk_gelu_tanh(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_GELU_TANH, &rdk_op_gelu_tanh);
}

static void silu_backward(rdk_tape *t, const rdk_node *n)
{
    map_backward(t, n, RDK_MAP_SILU);
}

const rdk_op rdk_op_silu = {"silu", "y = x / (1 + exp(-x))", silu_backward};

rdk_tensor *rdk_silu(rdk_tape *t, rdk_tensor *x)
{
    return map(t, x, RDK_MAP_SILU, &rdk_op_silu);
}
