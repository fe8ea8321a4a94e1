/* SPDX-License-Identifier: MIT
 * The options, one row each. The command line, ranges, --help, config.ini, checkpoints, the man
 * page and completion all follow from the row; nothing else lists options.
 *
 * Invariant: names are unique, rows of one group stand together, and every default is a value that
 * the row itself accepts (tests/unit/test_options.c).
 * A new option is a field of rdk_config and a row here; where it counts only beside certain others,
 * the row's need says so.
 * Read next: option_value.c, how a row reads and writes its field. */
#include <string.h>

#include <rootdk/run.h>

/* Where the field lies and how wide it is. */
#define FIELD(f) offsetof(rdk_config, f), sizeof(((rdk_config *)0)->f)

enum { MOST_WIDTH = 65536, MOST_SYMBOLS = 1 << 20, MOST_SEQUENCES = 1 << 20 };

static const char attention[] = "attention";
static const char model[] = "model";
static const char task[] = "task";
static const char training[] = "training";
static const char running[] = "running";

/* In the order of their enums. */
static const char *const attention_names[] = {"dot", "additive", NULL};
static const char *const length_names[] = {"off", "ssmax", "log", NULL};
static const char *const sink_names[] = {"off", "one", "learned", NULL};
static const char *const arch_names[] = {"decoder", "encoder", NULL};
static const char *const qk_norm_names[] = {"off", "l2", "layer", "rms", NULL};
static const char *const norm_place_names[] = {"pre", "post", NULL};
static const char *const norm_names[] = {"layer", "rms", NULL};
static const char *const position_names[] = {"learned", "sinusoidal", "rope", "none", NULL};
static const char *const mlp_names[] = {"gelu", "relu", "swiglu", "none", "gelu-exact", NULL};
static const char *const init_names[] = {"unit", "gpt2", "t5", NULL};
static const char *const tokenizer_names[] = {"char", "byte", NULL};
static const char *const optimizer_names[] = {"adamw", "sgd", NULL};
static const char *const precision_names[] = {"float", "bf16", NULL};
static const char *const schedule_names[] = {"constant", "linear", "cosine", NULL};

static const char *scaling_name(size_t i)
{
    return rdk_scaling_at(i)->name;
}

/* ---- what an option may need of others ------------------------------------------------------- */

static bool has_qk_norm(const rdk_config *c)
{
    const rdk_scaling *policy = rdk_scaling_find(c->model.scale);
    if (c->model.qk_norm != RDK_QK_AUTO) return c->model.qk_norm != RDK_QK_OFF;
    return policy && policy->qk_norm != RDK_QK_OFF;
}

static bool is_ssmax(const rdk_config *c)
{
    return c->model.length == RDK_LENGTH_SSMAX;
}

static bool is_log_length(const rdk_config *c)
{
    return c->model.length == RDK_LENGTH_LOG;
}

static bool has_qk_clip(const rdk_config *c)
{
    return c->qk_clip > 0;
}

static bool has_mlp(const rdk_config *c)
{
    return c->model.mlp != RDK_MLP_NONE;
}

static bool is_text(const rdk_config *c)
{
    return rdk_task_type_reads_data(c->task.name);
}

static bool is_adamw(const rdk_config *c)
{
    return c->optim.kind == RDK_ADAMW;
}

static bool is_sgd(const rdk_config *c)
{
    return c->optim.kind == RDK_SGD;
}

static bool lr_ends(const rdk_config *c)
{
    return c->optim.schedule != RDK_CONSTANT;
}

static bool has_out(const rdk_config *c)
{
    return c->out[0] != '\0';
}

static const rdk_need qk_norm_needed = {has_qk_norm, "--qk-norm l2, layer or rms"};
static const rdk_need ssmax_needed = {is_ssmax, "--length-scale ssmax"};
static const rdk_need log_needed = {is_log_length, "--length-scale log"};
static const rdk_need qk_clip_needed = {has_qk_clip, "--qk-clip TAU"};
static const rdk_need mlp_needed = {has_mlp, "an --mlp other than none"};
static const rdk_need text_needed = {is_text, "--task text"};
static const rdk_need adamw_needed = {is_adamw, "--optimizer adamw"};
static const rdk_need sgd_needed = {is_sgd, "--optimizer sgd"};
static const rdk_need end_needed = {lr_ends, "--schedule linear or cosine"};
static const rdk_need out_needed = {has_out, "--out DIR"};

static const rdk_option options[] = {
    {"attention", attention, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.attention), "dot",
     .choices = attention_names, .value_name = "KIND",
     .help = "what the score is: c q.k, or c w.tanh(q + k)"},
    {"scale", attention, RDK_OPT_NAME, RDK_OPT_DEFINES, FIELD(model.scale), "auto", 1e-6, 1e6,
     .auto_rule = "sqrt; additive: none", .name_count = rdk_scaling_count, .name_at = scaling_name,
     .value_name = "NAME|C", .help = "factor on the score: a policy, or a number"},
    {"qk-norm", attention, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.qk_norm), "auto",
     .choices = qk_norm_names, .auto_rule = "by --scale", .value_name = "KIND",
     .help = "norm on q and k; l2: c g cos(q, k)"},
    {"qk-gain", attention, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(model.qk_gain), "auto", 1e-6, 1e6,
     .auto_rule = "1; l2: sqrt(d_k), 1/c of sqrt", .value_name = "G", .help = "start of gain g",
     .need = &qk_norm_needed},
    {"qk-gain-learned", attention, RDK_OPT_BOOL, RDK_OPT_DEFINES, FIELD(model.qk_gain_learned),
     "on", .help = "train that gain", .need = &qk_norm_needed},
    {"scale-layers", attention, RDK_OPT_TEXT, RDK_OPT_DEFINES, FIELD(model.scale_layers), "off",
     .value_name = "LIST", .form = "a list LAYER:SCALE/LAYER:SCALE, as in 0:none/3:0.5, or off",
     .help = "layers of another scale: 0:none/3:0.5"},
    {"head-temperature", attention, RDK_OPT_BOOL, RDK_OPT_DEFINES, FIELD(model.temperature), "off",
     .help = "learn a factor on the scores of each head, from 1"},
    {"length-scale", attention, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.length), "off",
     .choices = length_names, .value_name = "KIND",
     .help = "scores times s ln n, or ln n / ln base, for n keys"},
    {"length-gain", attention, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(model.length_gain), "auto",
     1e-6, 1e6, .auto_rule = "mean of s ln n is 1", .value_name = "S",
     .help = "s of ssmax at the start", .need = &ssmax_needed},
    {"length-base", attention, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(model.length_base), "auto",
     1.01, 1e9, .auto_rule = "tokens of a sequence", .value_name = "N",
     .help = "base of that logarithm", .need = &log_needed},
    {"softcap", attention, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(model.softcap), "0", 1e-6, 1e6,
     .or_zero = true, .value_name = "X", .help = "scores become X tanh(s / X); 0: no cap"},
    {"sink", attention, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.sink), "off",
     .choices = sink_names, .value_name = "KIND",
     .help = "one more outcome of the softmax, of value 0"},
    {"heads", attention, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(model.heads), "auto", 1, 1024,
     .auto_rule = "2", .value_name = "N", .help = "attention heads"},
    {"d-k", attention, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(model.d_k), "auto", 1, MOST_WIDTH,
     .auto_rule = "64, or d_model/heads if one is set", .value_name = "N",
     .help = "width of a head"},
    {"arch", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.arch), "decoder",
     .choices = arch_names, .value_name = "KIND", .help = "causal or bidirectional attention"},
    {"layers", model, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(model.layers), "2", 1, 1000,
     .value_name = "N", .help = "blocks of attention and MLP"},
    {"d-model", model, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(model.d_model), "auto", 1, MOST_WIDTH,
     .auto_rule = "64; random: 128", .value_name = "N", .help = "width of the residual stream"},
    {"d-ff", model, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(model.d_ff), "auto", 1, 16 * MOST_WIDTH,
     .auto_rule = "4 d_model", .value_name = "N", .help = "width inside the MLP",
     .need = &mlp_needed},
    {"norm-place", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.norm_place), "pre",
     .choices = norm_place_names, .value_name = "KIND",
     .help = "normalise before or after each part"},
    {"norm", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.norm), "layer",
     .choices = norm_names, .value_name = "KIND", .help = "LayerNorm or RMSNorm"},
    {"positions", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.positions), "learned",
     .choices = position_names, .value_name = "KIND", .help = "how the model is told positions"},
    {"mlp", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.mlp), "gelu", .choices = mlp_names,
     .value_name = "KIND", .help = "activation (gelu: tanh form)"},
    {"bias", model, RDK_OPT_BOOL, RDK_OPT_DEFINES, FIELD(model.bias), "off",
     .help = "biases in linear layers and norms"},
    {"tie", model, RDK_OPT_BOOL, RDK_OPT_DEFINES, FIELD(model.tie), "off",
     .help = "token embedding and output head share one matrix"},
    {"dropout", model, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(model.dropout), "0", 0, 0.99,
     .value_name = "P", .help = "share of activations dropped in training"},
    {"sigma-reparam", model, RDK_OPT_BOOL, RDK_OPT_DEFINES, FIELD(model.sigma_reparam), "off",
     .help = "linear layers multiply by gamma/sigma(W) W, gamma learned"},
    {"init", model, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(model.init), "unit",
     .choices = init_names, .value_name = "KIND", .help = "initial weights; unit: N(0, 1/fan_in)"},
    {"task", task, RDK_OPT_NAME, RDK_OPT_DEFINES, FIELD(task.name), "recall",
     .name_count = rdk_task_type_count, .name_at = rdk_task_type_name, .value_name = "NAME",
     .help = "what is learned, see below"},
    {"seq-len", task, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(task.length), "auto", 1, MOST_SYMBOLS,
     .auto_rule = "by the task", .value_name = "N", .help = "length of a sequence, see the task"},
    {"vocab", task, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(task.vocab), "auto", 1, MOST_SYMBOLS,
     .auto_rule = "by the task", .value_name = "N", .help = "kinds of symbols, see the task"},
    {"data", task, RDK_OPT_TEXT, RDK_OPT_FINDS, FIELD(data), "", .value_name = "PATH",
     .help = "file to read (--task text)", .need = &text_needed},
    {"tokenizer", task, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(task.tokenizer), "char",
     .choices = tokenizer_names, .value_name = "KIND",
     .help = "symbols of a text: UTF-8 characters or bytes", .need = &text_needed},
    {"val-fraction", task, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(task.val_fraction), "0.1", 1e-6,
     0.999999, .value_name = "F", .help = "share of a text held out, its last part",
     .need = &text_needed},
    {"steps", training, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(steps), "600", 1, 1e12,
     .value_name = "N", .help = "updates"},
    {"batch", training, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(batch), "64", 1, MOST_SEQUENCES,
     .value_name = "N", .help = "sequences in a micro-batch"},
    {"accum", training, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(accum), "1", 1, MOST_SEQUENCES,
     .value_name = "N", .help = "micro-batches in an update"},
    {"optimizer", training, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(optim.kind), "adamw",
     .choices = optimizer_names, .value_name = "KIND",
     .help = "AdamW, or gradient descent with momentum"},
    {"lr", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.lr), "0.001", 0, 1e30,
     .value_name = "X", .help = "peak learning rate"},
    {"min-lr", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.min_lr), "0", 0, 1e30,
     .value_name = "X", .help = "where the linear and cosine schedules end", .need = &end_needed},
    {"warmup", training, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(optim.warmup), "50", 0, 1e12,
     .value_name = "N", .help = "updates of rising lr, at most --steps"},
    {"schedule", training, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(optim.schedule), "constant",
     .choices = schedule_names, .value_name = "KIND", .help = "lr after the warmup"},
    {"beta1", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.beta1), "0.9", 0, 0.999999,
     .value_name = "B", .help = "adamw: memory of the mean", .need = &adamw_needed},
    {"beta2", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.beta2), "0.95", 0, 0.999999,
     .value_name = "B", .help = "adamw: memory of the square", .need = &adamw_needed},
    {"eps", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.eps), "1e-8", 1e-30, 1,
     .value_name = "X", .help = "adamw: added to the root of the square", .need = &adamw_needed},
    {"momentum", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.momentum), "0.9", 0, 0.999999,
     .value_name = "M", .help = "sgd: memory of the gradient", .need = &sgd_needed},
    {"weight-decay", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.weight_decay), "0.01", 0,
     100, .value_name = "X", .help = "pull of matrices towards 0"},
    {"clip", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(optim.clip), "1", 0, 1e30,
     .value_name = "X", .help = "largest gradient norm; 0: no limit"},
    {"qk-clip", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(qk_clip), "0", 0, 1e30,
     .value_name = "TAU", .help = "largest score that leaves W_Q, W_K as they are; 0: any"},
    {"qk-clip-alpha", training, RDK_OPT_REAL, RDK_OPT_DEFINES, FIELD(qk_clip_alpha), "0.5", 0, 1,
     .value_name = "A", .help = "share of W_Q in that, as an exponent", .need = &qk_clip_needed},
    {"precision", training, RDK_OPT_CHOICE, RDK_OPT_DEFINES, FIELD(precision), "float",
     .choices = precision_names, .value_name = "KIND",
     .help = "whether operands of products become bfloat16 first"},
    {"seed", training, RDK_OPT_UINT, RDK_OPT_DEFINES, FIELD(seed), "1", 0, 18446744073709551615.0,
     .value_name = "N", .help = "decides all random numbers"},
    {"out", running, RDK_OPT_TEXT, RDK_OPT_RUNS, FIELD(out), "", .value_name = "DIR",
     .help = "new directory [runs/TASK-SCALE-dkN-seedN; -2, -3, .. where it is taken]"},
    {"resume", running, RDK_OPT_TEXT, RDK_OPT_RUNS, FIELD(resume), "", .value_name = "DIR",
     .help = "go on with the run in DIR"},
    {"stop-at", running, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(stop_at), "0", 0, 1e12,
     .value_name = "N", .help = "save and stop after so many updates; 0: at --steps"},
    {"threads", running, RDK_OPT_UINT, RDK_OPT_RUNS, FIELD(threads), "auto", 1, 256,
     .auto_rule = "OMP_NUM_THREADS, else all", .value_name = "N",
     .help = "results do not depend on it"},
    {"log-every", running, RDK_OPT_UINT, RDK_OPT_RECORDS, FIELD(log_every), "20", 0, 1e12,
     .value_name = "N", .help = "updates between table lines; 0: first and last only"},
    {"probe-every", running, RDK_OPT_UINT, RDK_OPT_RECORDS, FIELD(probe_every), "20", 0, 1e12,
     .value_name = "N", .help = "updates between looks at attention; 0: never"},
    {"eval-every", running, RDK_OPT_UINT, RDK_OPT_RECORDS, FIELD(eval_every), "auto", 0, 1e12,
     .auto_rule = "100+, by cost", .value_name = "N",
     .help = "updates between evaluations; 0: the last"},
    {"eval-size", running, RDK_OPT_UINT, RDK_OPT_RECORDS, FIELD(eval_size), "auto", 1, 1e9,
     .auto_rule = "1024; text: all", .value_name = "N", .help = "sequences of an evaluation"},
    {"save-every", running, RDK_OPT_UINT, RDK_OPT_RECORDS, FIELD(save_every), "0", 0, 1e12,
     .value_name = "N", .help = "updates between checkpoints; 0: at the end only"},
    {"tensorboard", running, RDK_OPT_BOOL, RDK_OPT_RECORDS, FIELD(tensorboard), "off",
     .help = "write events for TensorBoard beside the logs"},
    {"force", running, RDK_OPT_BOOL, RDK_OPT_RUNS, FIELD(force), "off",
     .help = "replace the run that stands in --out", .need = &out_needed},
    {"quiet", running, RDK_OPT_BOOL, RDK_OPT_RUNS, FIELD(quiet), "off",
     .help = "no table, progress or time, only the verdict"},
    {"profile", running, RDK_OPT_BOOL, RDK_OPT_RUNS, FIELD(profile), "off",
     .help = "at the end, on stderr: where one thread's time went, by op"},
};

enum { OPTIONS = sizeof options / sizeof *options };

size_t rdk_option_count(void)
{
    return OPTIONS;
}

const rdk_option *rdk_option_at(size_t i)
{
    return i < OPTIONS ? &options[i] : NULL;
}

const rdk_option *rdk_option_find(const char *name)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!strcmp(options[i].name, name)) return &options[i];
    }
    return NULL;
}

bool rdk_option_counts(const rdk_config *c, const rdk_option *o, rdk_status *s)
{
    if (!o->need || o->need->met(c)) return true;
    return rdk_fail(s, RDK_EVALUE,
                    "--%s does nothing here: it counts with %s (add that, or drop --%s)", o->name,
                    o->need->by, o->name);
}
