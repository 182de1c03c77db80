#include "common/cluster/job_keys.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/cluster/job_data.h"
#include "common/cluster/job_layers.h"
#include "common/cluster/manifest.h"

static const char *const model_types[] = {"mlp",  "softmax", "linear",  "layers",
                                          "onnx", "program", "library", NULL};
static const char *const losses[] = {"softmax_cross_entropy", "squared_error",
                                     "absolute_error",        "huber_error",
                                     "sigmoid_cross_entropy", NULL};
static const char *const metrics[] = {"loss", "accuracy", NULL};
static const char *const targets[] = {"data", "inputs", NULL};
static const char *const data_types[] = {"idx", "text", "synthetic", "matches", NULL};
static const char *const modes[] = {"sync", "async", NULL};
static const char *const kernels[] = {"portable", "openblas", NULL};
#define OPTIMIZERS                                                                                 \
    [OPTIMIZER_SGD] = "sgd", [OPTIMIZER_MOMENTUM] = "momentum", [OPTIMIZER_NESTEROV] = "nesterov", \
    [OPTIMIZER_ADAGRAD] = "adagrad", [OPTIMIZER_RMSPROP] = "rmsprop", [OPTIMIZER_ADAM] = "adam",   \
    [OPTIMIZER_ADAMW] = "adamw", [OPTIMIZER_LARS] = "lars"
static const char *const optimizers[] = {OPTIMIZERS, NULL};
static const char *const rule_optimizers[] = {OPTIMIZERS, [OPTIMIZER_AUTO] = "auto", NULL};
static const char *const schedules[] = {"constant",    "linear",    "cosine", "step",
                                        "exponential", "piecewise", NULL};
static const char *const strategies[] = {"ranges", "round_robin", "greedy", NULL};
static const char *const policies[] = {"continue", "restore", NULL};

enum { CHANGEABLE = 0, FIXED = JOB_KEY_FIXED };

#define AT(member) JSON_MEMBER(struct job, member)
#define TEXT(key, member, tag_set, text)                                                           \
    {                                                                                              \
        .name = key, .type = FIELD_TEXT, AT(member), .tags = tag_set, .help = text                 \
    }
#define SWITCH(key, member, tag_set, text)                                                         \
    {                                                                                              \
        .name = (key), .type = FIELD_BOOL, AT(member), .tags = (tag_set), .help = (text)           \
    }
#define NAME(kind, key, member, list, tag_set, text)                                               \
    {                                                                                              \
        .name = key, .type = kind, AT(member), .names = list, .tags = tag_set, .help = text        \
    }
#define NUMBER(kind, key, member, low, high, tag_set, text)                                        \
    {                                                                                              \
        .name = key, .type = kind, AT(member), .least = low, .most = high, .tags = tag_set,        \
        .help = text                                                                               \
    }

#define CUSTOM(key, member, conversion, text)                                                      \
    {                                                                                              \
        .name = key, .type = FIELD_CUSTOM, AT(member), .converter = &(conversion), .tags = FIXED,  \
        .help = text                                                                               \
    }

#define MANY 9e15 /* Whole numbers up to this are exact in a double, and hence in JSON. */

static const struct json_field hidden_layer = {
    .type = FIELD_UINT,
    .size = sizeof(uint32_t),
    .least = 1,
    .most = 1 << 20,
};

static const struct json_field dimension = {
    .type = FIELD_UINT,
    .size = sizeof(uint32_t),
    .least = 1,
    .most = 1 << 20,
};

static const struct json_field boundary = {
    .type = FIELD_UINT,
    .size = sizeof(uint64_t),
    .least = 1,
    .most = MANY,
};

static const struct json_field rate = {
    .type = FIELD_REAL,
    .size = sizeof(double),
    .least = 0,
    .most = 1e6,
};

static const struct json_field pattern = {
    .type = FIELD_TEXT,
    .size = JOB_PATTERN_MAX,
};

static const struct json_field pair = {.type = FIELD_TEXT, .size = JOB_PAIR_MAX};
#define RULE(member) JSON_MEMBER(struct job_variable_rule, member)

static const struct json_field rule_fields[] = {
    {.name = "match", .type = FIELD_TEXT, RULE(match)},
    {
        .name = "learning_rate_factor",
        .type = FIELD_REAL,
        RULE(learning_rate_factor),
        .most = 1e6,
        .optional = true,
    },
    {
        .name = "weight_decay_factor",
        .type = FIELD_REAL,
        RULE(weight_decay_factor),
        .most = 1e6,
        .none = "auto",
        .optional = true,
    },
    {
        .name = "optimizer",
        .type = FIELD_ENUM,
        RULE(optimizer),
        .names = rule_optimizers,
        .optional = true,
    },
};

static const struct job_variable_rule first_rule = {
    .optimizer = OPTIMIZER_AUTO,
    .learning_rate_factor = 1,
    .weight_decay_factor = NAN,
};

static const struct json_table rule_table = {
    JSON_FIELDS(rule_fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED,
    .status = TN_EINVAL,
    .initial = &first_rule,
};

static const struct json_field rule = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct job_variable_rule),
    .table = &rule_table,
};

#define PIN(member) JSON_MEMBER(struct job_placement_rule, member)

static const struct json_field pin_fields[] = {
    {.name = "match", .type = FIELD_TEXT, PIN(match)},
    {.name = "ps", .type = FIELD_UINT, PIN(ps), .most = PS_MAX - 1},
};

static const struct json_table pin_table = {
    JSON_FIELDS(pin_fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED,
    .status = TN_EINVAL,
};

static const struct json_field pin = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct job_placement_rule),
    .table = &pin_table,
};

static const struct json_field fields[] = {
    TEXT("name", name, CHANGEABLE, "Name of the job and of its cluster: the znode `/tanist/NAME`."),
    NUMBER(FIELD_UINT, "seed", seed, 0, MANY, FIXED,
           "Decides initial values and the order of examples. Same seed, same bits."),
    NAME(FIELD_CHOICE, "model.type", model.type, model_types, FIXED,
         "`mlp`: hidden layers with ReLU, softmax classifier. `softmax`: softmax regression. "
         "`linear`: linear regression. `layers`: the network of `model.layers`. "
         "`onnx`: the [ONNX file](onnx.md) `model.path`. "
         "`program`: the model of the program, [written in C](models.md); its default. "
         "`library`: that of `model.path`."),
    TEXT("model.path", model.path, CHANGEABLE,
         "The ONNX file, or the [shared library](models.md#a-library-that-every-node-loads) with "
         "the model. Of `onnx` and `library` only. Hosts may have it in different places: nodes "
         "compare the graph."),
    TEXT("model.symbol", model.symbol, CHANGEABLE,
         "The name of the model in that library, a `struct tn_model`."),
    NUMBER(FIELD_UINT, "model.inputs", model.inputs, 1, 1 << 24, FIXED, "Numbers per example."),
    NUMBER(FIELD_UINT, "model.outputs", model.outputs, 1, 1 << 20, FIXED,
           "Classes; of a regression: numbers to predict."),
    {
        .name = "model.hidden",
        .type = FIELD_LIST,
        AT(model.hidden),
        .length_offset = offsetof(struct job, model.hidden_count),
        .element = &hidden_layer,
        .tags = FIXED,
        .help =
            "Widths of the hidden layers, a list: `[128]`. Of `mlp` only; default `[]` for others.",
    },
    {
        .name = "model.shape",
        .type = FIELD_LIST,
        AT(model.shape),
        .length_offset = offsetof(struct job, model.shape_count),
        .element = &dimension,
        .tags = FIXED,
        .help = "Dimensions of an example: `[28, 28, 1]` for images of height, width and channels. "
                "Their product is `model.inputs`. `[]`: one dimension. Of `layers` only.",
    },
    {
        .name = "model.layers",
        .type = FIELD_CUSTOM,
        AT(model.layers),
        .converter = &job_layers_converter,
        .tags = FIXED,
        .help = "The network, a list: see [Layers](#layers). Of `layers` only.",
    },
    NAME(FIELD_ENUM, "model.loss", model.loss, losses, FIXED,
         "The quantity to minimise: `softmax_cross_entropy` for classes, `sigmoid_cross_entropy` "
         "for two classes with `model.outputs` 1, the others for numbers. Of "
         "`layers`; of code only whether the data have labels or targets."),
    NAME(FIELD_ENUM, "model.targets", model.targets, targets, FIXED,
         "What the outputs are compared with: the labels or targets of the `data`, or the `inputs` "
         "themselves, as an autoencoder needs it. Not of `mlp`, `softmax` and `linear`."),
    NUMBER(FIELD_REAL, "model.label_smoothing", model.label_smoothing, 0, 0.99, FIXED,
           "Of `softmax_cross_entropy` in `layers`: the share of the wanted distribution that is "
           "uniform over all classes."),
    {
        .name = "model.options",
        .type = FIELD_CUSTOM,
        AT(model.options),
        .converter = &job_options_converter,
        .tags = FIXED,
        .help = "An object that the model's own code reads. Of `program` and `library` only.",
    },
    {
        .name = "model.freeze",
        .type = FIELD_LIST,
        AT(model.freeze),
        .length_offset = offsetof(struct job, model.freeze_count),
        .element = &pattern,
        .tags = FIXED,
        .help = "Patterns of the names of variables that are not trained, a list: "
                "`[\"embedding*\"]`; `*` is any text, `?` any character.",
    },
    TEXT("model.warm_start", model.warm_start, CHANGEABLE,
         "A safetensors file whose tensors are the initial values of the variables of the same "
         "names. Hosts may have it in different places: nodes compare the values."),
    {
        .name = "model.map",
        .type = FIELD_LIST,
        AT(model.map),
        .length_offset = offsetof(struct job, model.map_count),
        .element = &pair,
        .tags = CHANGEABLE,
        .help = "Other names in `model.warm_start`, a list of `variables=tensors`: "
                "`[\"hidden1/*=encoder/*\"]`. One `*` on each side is the same text.",
    },
    NAME(FIELD_CHOICE, "data.type", data.type, data_types, FIXED,
         "`idx`: images and labels in IDX format, gzip'ed or not. `text`: the bytes of a file, "
         "each to be predicted from those before it. `synthetic` and `matches`: drawn from the "
         "seed. See [Data](#data)."),
    TEXT("data.path", data.path, FIXED,
         "Of `idx`: folder with `train-images-idx3-ubyte[.gz]` and the other three files. Of "
         "`text`: the file."),
    NUMBER(FIELD_UINT, "data.examples", data.examples, 1, 1 << 30, FIXED,
           "Training examples. Of `synthetic` and `matches` only."),
    NUMBER(FIELD_UINT, "data.test_examples", data.test_examples, 1, 1 << 30, FIXED,
           "Test examples. Of `synthetic` and `matches` only."),
    NUMBER(
        FIELD_REAL, "data.noise", data.noise, 0, 1e6, FIXED,
        "Standard deviation of the noise: of a regression on the targets, of a classifier on the "
        "inputs. Of `matches`: on the score that decides the label. Of `synthetic` and `matches` "
        "only."),
    TEXT("data.format", data.format, FIXED,
         "The format of files with columns, in place of `data.type`: `csv`, `tsv` or one of the "
         "[other formats](data-formats.md). See [data in files](data.md)."),
    TEXT("data.train", data.train, FIXED,
         "The files for training, a pattern as in a shell: `d/train-*.csv`. This and all below are "
         "of `data.format` only."),
    TEXT("data.test", data.test, FIXED,
         "The files for evaluations. Without them, `data.split.test` takes rows of `data.train`."),
    TEXT("data.validation", data.validation, FIXED,
         "Files that neither training nor its evaluations use."),
    CUSTOM("data.label", data.label, job_label_converter,
           "The column to be predicted: its name; of a regression also a list of names. "
           "`{\"column\": NAME, \"vocabulary\": [...]}` gives classes names; others are whole "
           "numbers from 0."),
    CUSTOM("data.columns", data.columns, job_columns_converter,
           "How columns become inputs: see [feature columns](data.md#feature-columns). `{}`: "
           "each column but the label is a number."),
    CUSTOM("data.options", data.options, job_options_converter,
           "An object that the format reads: see [data-formats.md](data-formats.md)."),
    NUMBER(FIELD_REAL, "data.split.test", data.split_test, 0, 0.99, FIXED,
           "The part of the rows of `data.train` that is used for evaluations, chosen by a hash of "
           "the row's number and `seed`."),
    NUMBER(FIELD_REAL, "data.split.validation", data.split_validation, 0, 0.99, FIXED,
           "The part that neither training nor its evaluations use."),
    CUSTOM("data.shuffle", data.shuffle, job_shuffle_converter,
           "The order of examples in an epoch. `permutation`: any, by `seed`; `none`: that of "
           "the files; `{\"block\": 4096, \"window\": 64}`: blocks of examples in any order, "
           "and any order within a window of blocks, for slow disks. Of any data."),
    NUMBER(
        FIELD_UINT, "data.threads", data.threads, 0, 64, CHANGEABLE,
        "Threads of each worker that read the examples of the next step while the present one is "
        "computed; 0: examples are read when they are needed. They do not change the result."),
    NAME(FIELD_ENUM, "train.mode", train.mode, modes, FIXED,
         "`sync`: each step sums all slices of one global batch; the result does not depend on "
         "failures. `async`: each worker's gradient is applied at once."),
    NAME(FIELD_ENUM, "train.kernels", train.kernels, kernels, FIXED,
         "The arithmetic of models. `portable`: Tanist's own; the same bits on every processor. "
         "`openblas`: OpenBLAS, which must be installed, for matrix products; convolutions and "
         "attention are slow; the same bits on processors of one type."),
    NUMBER(FIELD_UINT, "train.steps", train.steps, 1, MANY, CHANGEABLE,
           "Updates of the parameters until the job is done."),
    NUMBER(FIELD_UINT, "train.batch", train.batch, 1, 1 << 24, FIXED,
           "Examples per step, all workers together. A multiple of `train.slices`."),
    NUMBER(FIELD_UINT, "train.slices", train.slices, 1, 256, FIXED,
           "Equal parts of a batch: the most workers that can share a step."),
    NAME(FIELD_ENUM, "train.optimizer", train.optimizer, optimizers, FIXED,
         "How a gradient is applied."),
    NUMBER(FIELD_REAL, "train.learning_rate", train.learning_rate, 1e-12, 1e6, FIXED, "Step size."),
    NUMBER(FIELD_UINT, "train.decay_steps", train.decay_steps, 0, MANY, FIXED,
           "The learning rate falls, linearly or by `train.schedule.type`, reaches "
           "`train.final_learning_rate` at this step, and then stays; 0: it is the same at all "
           "steps."),
    NUMBER(FIELD_REAL, "train.final_learning_rate", train.final_learning_rate, 0, 1e6, FIXED,
           "See `train.decay_steps`."),
    NAME(
        FIELD_ENUM, "train.schedule.type", train.schedule.type, schedules, FIXED,
        "How the learning rate changes: `linear` or `cosine` until `train.decay_steps`; `step` and "
        "`exponential` by `factor` every `every_steps`; `piecewise` at `boundaries`."),
    NUMBER(FIELD_UINT, "train.schedule.warmup_steps", train.schedule.warmup_steps, 0, MANY, FIXED,
           "In the first steps, this many, the learning rate rises from 0; the schedule begins "
           "behind them."),
    NUMBER(FIELD_UINT, "train.schedule.every_steps", train.schedule.every_steps, 0, MANY, FIXED,
           "Of `step` and `exponential`."),
    NUMBER(FIELD_REAL, "train.schedule.factor", train.schedule.factor, 0, 1e3, FIXED,
           "Of `step` and `exponential`."),
    {
        .name = "train.schedule.boundaries",
        .type = FIELD_LIST,
        AT(train.schedule.boundaries),
        .length_offset = offsetof(struct job, train.schedule.boundary_count),
        .element = &boundary,
        .tags = FIXED,
        .help = "Of `piecewise`: the steps at which the learning rate changes, ascending.",
    },
    {
        .name = "train.schedule.rates",
        .type = FIELD_LIST,
        AT(train.schedule.rates),
        .length_offset = offsetof(struct job, train.schedule.rate_count),
        .element = &rate,
        .tags = FIXED,
        .help = "Of `piecewise`: the learning rate from each of these steps on.",
    },
    NUMBER(FIELD_REAL, "train.momentum", train.momentum, 0, 0.999999, FIXED,
           "Of `momentum`, `nesterov` and `lars`."),
    NUMBER(FIELD_REAL, "train.beta1", train.beta1, 0, 0.999999, FIXED, "Of `adam` and `adamw`."),
    NUMBER(FIELD_REAL, "train.beta2", train.beta2, 0, 0.999999, FIXED, "Of `adam` and `adamw`."),
    NUMBER(FIELD_REAL, "train.rho", train.rho, 0, 0.999999, FIXED,
           "Of `rmsprop`: how much of the mean of squares stays at each step."),
    NUMBER(FIELD_REAL, "train.epsilon", train.epsilon, 1e-30, 1, FIXED,
           "Of `adagrad`, `rmsprop`, `adam` and `adamw`: added to the root that divides."),
    NUMBER(FIELD_REAL, "train.trust", train.trust, 1e-12, 1e6, FIXED,
           "Of `lars`: the part of a variable's norm by which a step may change it, before the "
           "learning rate."),
    NUMBER(
        FIELD_REAL, "train.weight_decay", train.weight_decay, 0, 1e3, FIXED,
        "`adamw` moves each parameter towards 0 by this part, times the learning rate; all others "
        "add this multiple of the parameter to its gradient. 0: none."),
    {
        .name = "train.variables",
        .type = FIELD_LIST,
        AT(train.rules),
        .length_offset = offsetof(struct job, train.rule_count),
        .element = &rule,
        .tags = FIXED,
        .help = "Rules for single variables: `{\"match\": \"embedding*\", "
                "\"learning_rate_factor\": 0.1, "
                "\"weight_decay_factor\": 0, \"optimizer\": \"adagrad\"}`. See above.",
    },
    NUMBER(FIELD_REAL, "train.clip_value", train.clip_value, 0, 1e30, FIXED,
           "The elements of a gradient are limited to this absolute value; 0: they are not."),
    NUMBER(FIELD_REAL, "train.clip_norm", train.clip_norm, 0, 1e30, FIXED,
           "A gradient whose Euclidean norm, over all variables, exceeds this is scaled down to "
           "it; 0: none is. Async: that of each slice, to a `train.slices`th of it."),
    NUMBER(FIELD_REAL, "train.ema", train.ema, 0, 0.999999, FIXED,
           "Evaluations use an exponential moving average of the parameters, of which each step "
           "keeps this part; 0: they use the parameters."),
    {
        .name = "train.max_staleness",
        .type = FIELD_UINT,
        AT(train.max_staleness),
        .most = MANY,
        .none = "none",
        .help = "Async: how many updates a worker's parameters may be behind when its gradient is "
                "applied; 0: lock step; `none`: no bound.",
    },
    NUMBER(FIELD_REAL, "train.target_accuracy", train.target_accuracy, 0, 1, CHANGEABLE,
           "Stop early when the test accuracy reaches this; 0: train all steps. Checked at each "
           "evaluation: see `evaluate.every_steps`."),
    NAME(FIELD_ENUM, "train.stop.metric", train.stop_metric, metrics, CHANGEABLE,
         "The metric that `train.stop.patience` watches; of a regression `accuracy` is R squared."),
    NUMBER(FIELD_UINT, "train.stop.patience", train.stop_patience, 0, 1e9, CHANGEABLE,
           "Stop early when as many evaluations in succession are not better than the best; 0: "
           "never. Needs `evaluate.every_steps`."),
    SWITCH("train.same_bits", train.same_bits, CHANGEABLE,
           "Sync: whether all workers must have the same arithmetic (version of OpenBLAS and type "
           "of processor), so that the result has the same bits on any hosts. `false` permits "
           "mixtures."),
    NUMBER(FIELD_UINT, "evaluate.every_steps", evaluate.every_steps, 0, MANY, CHANGEABLE,
           "Steps between evaluations on the test set; 0: only at the end. Every multiple is "
           "evaluated; in async mode by the worker that reaches it, with the values it then has."),
    NUMBER(FIELD_UINT, "checkpoint.every_steps", checkpoint.every_steps, 0, MANY, CHANGEABLE,
           "Steps between checkpoints; 0: not by steps. A multiple is skipped only when the disk "
           "cannot follow, and counted in `skipped_checkpoints`."),
    NUMBER(FIELD_UINT, "checkpoint.every_seconds", checkpoint.every_seconds, 0, 1e6, CHANGEABLE,
           "Seconds between checkpoints; 0: not by time. There is always one at the end."),
    NUMBER(FIELD_UINT, "checkpoint.keep", checkpoint.keep, 1, CHECKPOINT_KEEP_MAX, CHANGEABLE,
           "Committed checkpoints that are kept on disk."),
    NUMBER(FIELD_UINT, "metrics.every_steps", metrics.every_steps, 1, 10000, CHANGEABLE,
           "Steps between the points of [the curves](metrics.md)."),
    NUMBER(FIELD_UINT, "metrics.every_seconds", metrics.every_seconds, 0, 1e6, CHANGEABLE,
           "Another point as soon as the last is this old, for slow steps; 0: none."),
    SWITCH("metrics.summaries", metrics.summaries, CHANGEABLE,
           "Whether the curves are also written for [TensorBoard](metrics.md#tensorboard)."),
    NUMBER(FIELD_UINT, "cluster.coordinators", cluster.coordinators, 1, COORDINATORS_MAX,
           CHANGEABLE, "Candidates for chief: one is the chief, the others wait to take over."),
    NUMBER(FIELD_UINT, "cluster.ps", cluster.ps, 1, PS_MAX, FIXED,
           "Parameter servers; each owns one range of the parameters."),
    NUMBER(FIELD_UINT, "cluster.workers", cluster.workers, 1, WORKERS_MAX, CHANGEABLE,
           "Workers. At most `train.slices` of them have work in sync mode."),
    NUMBER(FIELD_UINT, "cluster.min_workers", cluster.min_workers, 1, WORKERS_MAX, CHANGEABLE,
           "Workers that must be registered before training starts."),
    NAME(FIELD_ENUM, "placement.strategy", placement.strategy, strategies, FIXED,
         "How the parameters are divided among the ps: `ranges`: into equal parts, which may cut "
         "variables; `round_robin`: whole variables in turn; `greedy`: whole variables, the "
         "largest first, each to the ps with the fewest bytes. See `tanist plan`."),
    {
        .name = "placement.variables",
        .type = FIELD_LIST,
        AT(placement.rules),
        .length_offset = offsetof(struct job, placement.rule_count),
        .element = &pin,
        .tags = FIXED,
        .help = "Variables with a ps of their own: `{\"match\": \"embedding*\", \"ps\": 1}`. Of "
                "`round_robin` and `greedy` only.",
    },
    NUMBER(FIELD_UINT, "zookeeper.servers", zookeeper.servers, 1, 3, CHANGEABLE,
           "Servers of the ensemble that `tanist run` starts: 1 or 3."),
    NUMBER(FIELD_UINT, "zookeeper.session_timeout_ms", zookeeper.session_timeout_ms, 200, 600000,
           CHANGEABLE,
           "Silence after which ZooKeeper ends the session of a node (host loss, freeze). The "
           "death of a "
           "process is noticed at once, whatever this is."),
    NAME(FIELD_ENUM, "on_chief_failure", on_chief_failure, policies, CHANGEABLE,
         "`continue`: workers go on training until a new chief is elected. `restore`: they pause, "
         "and all ps restore the last committed checkpoint."),
};

const struct json_table job_keys = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_WHOLE_REALS,
    .status = TN_EINVAL,
    .keys_help = "`tanist help job` lists all keys",
};

const char *optimizer_name(enum optimizer_kind kind)
{
    assert(kind < OPTIMIZER_KINDS);
    return optimizers[kind];
}

bool optimizer_of_name(const char *name, enum optimizer_kind *kind)
{
    for (enum optimizer_kind i = 0; i < OPTIMIZER_KINDS; i++) {
        if (strcmp(optimizers[i], name) != 0) { continue; }
        *kind = i;
        return true;
    }
    return false;
}

const char *schedule_name(enum schedule_type type)
{
    assert(type <= SCHEDULE_PIECEWISE);
    return schedules[type];
}

const char *placement_strategy_name(enum placement_strategy strategy)
{
    assert(strategy <= PLACEMENT_GREEDY);
    return strategies[strategy];
}
