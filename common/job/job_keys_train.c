#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/job/job_key_rows.h"

static const char *const modes[] = {"sync", "async", NULL};
static const char *const kernels[] = {"portable", "openblas", "cuda", "cublas", NULL};
static const char *const ps_kernels[] = {"cpu", "cuda", NULL};
static const char *const precisions[] = {
    [JOB_PRECISION_FLOAT32] = "float32",
    [JOB_PRECISION_TF32] = "tf32",
    [JOB_PRECISION_BF16] = "bf16",
    NULL,
};
#define OPTIMIZERS                                                                                 \
    [OPTIMIZER_SGD] = "sgd", [OPTIMIZER_MOMENTUM] = "momentum", [OPTIMIZER_NESTEROV] = "nesterov", \
    [OPTIMIZER_ADAGRAD] = "adagrad", [OPTIMIZER_RMSPROP] = "rmsprop", [OPTIMIZER_ADAM] = "adam",   \
    [OPTIMIZER_ADAMW] = "adamw", [OPTIMIZER_LARS] = "lars", [OPTIMIZER_LAMB] = "lamb"
static const char *const optimizers[] = {OPTIMIZERS, NULL};
static const char *const rule_optimizers[] = {OPTIMIZERS, [OPTIMIZER_AUTO] = "auto", NULL};
static const char *const table_optimizers[] = {
    [TABLE_SGD] = "sgd",
    [TABLE_MOMENTUM] = "momentum",
    [TABLE_ADAGRAD] = "adagrad",
    [TABLE_ROW_ADAGRAD] = "row_adagrad",
    [TABLE_LAZY_ADAM] = "lazy_adam",
    [TABLE_FTRL] = "ftrl",
    [TABLE_AUTO] = "auto",
    NULL,
};
static const char *const schedules[] = {"constant",    "linear",    "cosine", "step",
                                        "exponential", "piecewise", NULL};
static const char *const metrics[] = {"loss", "accuracy", NULL};

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

#define TABLE_RULE(member) JSON_MEMBER(struct job_table_rule, member)

static const struct json_field table_rule_fields[] = {
    {.name = "match", .type = FIELD_TEXT, TABLE_RULE(match)},
    {
        .name = "expire_after_steps",
        .type = FIELD_UINT,
        TABLE_RULE(expire_after_steps),
        .most = MANY,
        .optional = true,
    },
    {
        .name = "admit_after",
        .type = FIELD_UINT,
        TABLE_RULE(admit_after),
        .most = 1000000,
        .optional = true,
    },
    {
        .name = "admit_within_steps",
        .type = FIELD_UINT,
        TABLE_RULE(admit_within_steps),
        .most = MANY,
        .optional = true,
    },
};

static const struct json_table table_rule_table = {
    JSON_FIELDS(table_rule_fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED,
    .status = TN_EINVAL,
};

static const struct json_field table_rule = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct job_table_rule),
    .table = &table_rule_table,
};

#define EARLIER(key, kind, member)                                                                 \
    .name = key, .type = kind, JSON_MEMBER(struct job_rate, member), .optional = true

static const struct json_field earlier_fields[] = {
    {
        .name = "until",
        .type = FIELD_UINT,
        JSON_MEMBER(struct job_rate, until),
        .least = 1,
        .most = MANY,
    },
    {
        .name = "learning_rate",
        .type = FIELD_REAL,
        JSON_MEMBER(struct job_rate, learning_rate),
        .least = 1e-12,
        .most = 1e6,
    },
    {EARLIER("decay_steps", FIELD_UINT, decay_steps), .most = MANY},
    {EARLIER("final_learning_rate", FIELD_REAL, final_learning_rate), .most = 1e6},
    {EARLIER("schedule.type", FIELD_ENUM, schedule.type), .names = schedules},
    {EARLIER("schedule.warmup_steps", FIELD_UINT, schedule.warmup_steps), .most = MANY},
    {EARLIER("schedule.every_steps", FIELD_UINT, schedule.every_steps), .most = MANY},
    {EARLIER("schedule.factor", FIELD_REAL, schedule.factor), .most = 1e3},
    {
        EARLIER("schedule.boundaries", FIELD_LIST, schedule.boundaries),
        .length_offset = offsetof(struct job_rate, schedule.boundary_count),
        .element = &boundary,
    },
    {
        EARLIER("schedule.rates", FIELD_LIST, schedule.rates),
        .length_offset = offsetof(struct job_rate, schedule.rate_count),
        .element = &rate,
    },
};

static const struct job_rate first_earlier = {.schedule = {.type = SCHEDULE_LINEAR}};

static const struct json_table earlier_table = {
    JSON_FIELDS(earlier_fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED | JSON_WHOLE_REALS,
    .status = TN_EINVAL,
    .initial = &first_earlier,
};

static const struct json_field earlier = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct job_rate),
    .table = &earlier_table,
};

static const struct json_field fields[] = {
    NAME(FIELD_ENUM, "train.mode", train.mode, modes, FIXED,
         "`sync`: each step adds up all slices of one global batch, and the result does not depend "
         "on failures. `async`: the gradient of each slice is applied as soon as it arrives."),
    NAME(FIELD_ENUM, "train.kernels", train.kernels, kernels, FIXED,
         "The implementation of the arithmetic. `portable`: Tanist's own kernels, with the same "
         "bits on every processor. `openblas`: products by OpenBLAS, with the same bits on "
         "processors of one type; convolutions and attention are slow. `cuda`: on the "
         "[GPU](gpu.md) of each worker, with the bits of `portable`. `cublas`: on GPUs, with "
         "products by [cuBLAS](gpu.md#matrix-products-by-cublas)."),
    NAME(FIELD_ENUM, "train.precision", train.precision, precisions, FIXED,
         "With `train.kernels` `cublas`: the [format to which the operands of matrix products are "
         "rounded](gpu.md#tf32-and-bf16). Sums, parameters, gradients and updates are in float32 "
         "in any case. Other kernels support `float32` only."),
    NUMBER(FIELD_UINT, "train.gpus", train.gpus, 1, JOB_GPUS_MAX, CHANGEABLE,
           "With `train.kernels` `cuda` or `cublas`: the number of [GPUs](gpu.md#several-gpus) of "
           "each worker, which compute slices of a step at the same time. The number does not "
           "change the result. If the model names GPUs, it must be the number of these, [among "
           "which the layers are divided](gpu.md#layers-on-gpus-of-your-choice)."),
    NUMBER(
        FIELD_UINT, "train.threads", train.threads, 0, JOB_THREADS_MAX, CHANGEABLE,
        "The number of threads on which [a worker, or a run in one "
        "process](#several-threads-of-a-worker), "
        "computes the slices of a step. `0`: a worker of a cluster uses one, and a run in one "
        "process (`--local`) one for each processor, if there is enough work. The number does not "
        "change the result."),
    NAME(FIELD_ENUM, "train.ps_kernels", train.ps_kernels, ps_kernels, CHANGEABLE,
         "Where a ps updates its parameters, with the same bits: `cpu`, or `cuda`: on a "
         "[GPU](gpu.md#a-ps-on-a-gpu), which has the state of the optimizer in its memory."),
    NUMBER(FIELD_UINT, "train.steps", train.steps, 1, MANY, CHANGEABLE,
           "The number of updates of the parameters until the job is done."),
    NUMBER(FIELD_UINT, "train.batch", train.batch, 1, 1 << 24, FIXED,
           "Examples in a step, over all workers. It must be a multiple of `train.slices`."),
    NUMBER(FIELD_UINT, "train.slices", train.slices, 1, 256, FIXED,
           "The number of equal parts of a batch. At most this many workers can share a step."),
    NAME(FIELD_ENUM, "train.optimizer", train.optimizer, optimizers, FIXED,
         "How gradients change the parameters: see [Optimizers](#optimizers-and-learning-rates)."),
    NAME(FIELD_ENUM, "train.table_optimizer", train.table_optimizer, table_optimizers, FIXED,
         "How gradients change the [rows of tables](models.md#tables), with the learning rate and "
         "the constants of the job. `auto`: the same as `train.optimizer` if that is `sgd`, "
         "`momentum` or `adagrad`, and `lazy_adam` if it is `adam`; other optimizers cannot be "
         "used for rows."),
    NUMBER(FIELD_REAL, "train.ftrl.l1", train.ftrl_l1, 0, 1e6, FIXED,
           "For the table optimizer `ftrl`: the weight of the absolute values, which keeps rows of "
           "rare keys at 0."),
    NUMBER(FIELD_REAL, "train.ftrl.l2", train.ftrl_l2, 0, 1e6, FIXED,
           "For `ftrl`: the weight of the squares."),
    NUMBER(FIELD_REAL, "train.ftrl.beta", train.ftrl_beta, 0, 1e6, FIXED,
           "For `ftrl`: the constant that is added to the root by which the learning rate is "
           "divided."),
    NUMBER(FIELD_REAL, "train.learning_rate", train.learning_rate, 1e-12, 1e6, RATE,
           "The step size."),
    NUMBER(FIELD_UINT, "train.decay_steps", train.decay_steps, 0, MANY, RATE,
           "The step at which the learning rate reaches `train.final_learning_rate`, after which "
           "it is constant. It falls linearly, or by `train.schedule.type`. 0: it does not fall."),
    NUMBER(FIELD_REAL, "train.final_learning_rate", train.final_learning_rate, 0, 1e6, RATE,
           "See `train.decay_steps`."),
    NAME(
        FIELD_ENUM, "train.schedule.type", train.schedule.type, schedules, RATE,
        "How the learning rate changes: `linear` or `cosine` until `train.decay_steps`; `step` and "
        "`exponential` by `factor` every `every_steps`; `piecewise` at `boundaries`."),
    NUMBER(FIELD_UINT, "train.schedule.warmup_steps", train.schedule.warmup_steps, 0, MANY, RATE,
           "The number of first steps in which the learning rate rises from 0. The schedule begins "
           "after them."),
    NUMBER(FIELD_UINT, "train.schedule.every_steps", train.schedule.every_steps, 0, MANY, RATE,
           "For `step` and `exponential`: the steps after which the learning rate is multiplied by "
           "`factor`."),
    NUMBER(FIELD_REAL, "train.schedule.factor", train.schedule.factor, 0, 1e3, RATE,
           "For `step` and `exponential`: the factor, at least 1e-300."),
    {
        .name = "train.schedule.boundaries",
        .type = FIELD_LIST,
        AT(train.schedule.boundaries),
        .length_offset = offsetof(struct job, train.schedule.boundary_count),
        .element = &boundary,
        .tags = RATE,
        .help =
            "For `piecewise`: the steps at which the learning rate changes, in ascending order.",
    },
    {
        .name = "train.schedule.rates",
        .type = FIELD_LIST,
        AT(train.schedule.rates),
        .length_offset = offsetof(struct job, train.schedule.rate_count),
        .element = &rate,
        .tags = RATE,
        .help = "For `piecewise`: the learning rate from each of these steps on.",
    },
    {
        .name = "train.before",
        .type = FIELD_LIST,
        AT(train.before),
        .length_offset = offsetof(struct job, train.before_count),
        .element = &earlier,
        .tags = FIXED,
        .help = "Earlier learning rates and schedules, each for the steps below its `until`: "
                "`[{\"until\": 500, \"learning_rate\": 0.1}]`. `--resume` adds to this list: see "
                "[changing the learning rate](#changing-the-learning-rate).",
    },
    NUMBER(FIELD_REAL, "train.momentum", train.momentum, 0, 0.999999, FIXED,
           "For `momentum`, `nesterov` and `lars`."),
    NUMBER(FIELD_REAL, "train.beta1", train.beta1, 0, 0.999999, FIXED,
           "For `adam`, `adamw` and `lamb`."),
    NUMBER(FIELD_REAL, "train.beta2", train.beta2, 0, 0.999999, FIXED,
           "For `adam`, `adamw` and `lamb`."),
    NUMBER(FIELD_REAL, "train.rho", train.rho, 0, 0.999999, FIXED,
           "For `rmsprop`: the share of the mean of squares that each step keeps."),
    NUMBER(FIELD_REAL, "train.epsilon", train.epsilon, 1e-30, 1, FIXED,
           "For `adagrad`, `rmsprop`, `adam`, `adamw` and `lamb`: the constant that is added to "
           "the root in the denominator."),
    NUMBER(FIELD_REAL, "train.trust", train.trust, 1e-12, 1e6, FIXED,
           "For `lars`: the share of a variable's norm by which a step may change the variable, "
           "before the learning rate is applied."),
    NUMBER(
        FIELD_REAL, "train.weight_decay", train.weight_decay, 0, 1e3, FIXED,
        "`adamw` moves each parameter towards 0 by this share, times the learning rate. All other "
        "optimizers add this multiple of the parameter to its gradient. 0: no weight decay."),
    {
        .name = "train.variables",
        .type = FIELD_LIST,
        AT(train.rules),
        .length_offset = offsetof(struct job, train.rule_count),
        .element = &rule,
        .tags = FIXED,
        .help =
            "Rules for single variables: `{\"match\": \"embedding*\", \"learning_rate_factor\": "
            "0.1, \"weight_decay_factor\": 0, \"optimizer\": \"adagrad\"}`. See [rules for single "
            "variables](#weight-decay-and-rules-for-single-variables).",
    },
    {
        .name = "train.tables",
        .type = FIELD_LIST,
        AT(train.table_rules),
        .length_offset = offsetof(struct job, train.table_rule_count),
        .element = &table_rule,
        .tags = FIXED,
        .help = "Rules for single tables: `{\"match\": \"columns/*\", \"expire_after_steps\": "
                "100000, \"admit_after\": 3, \"admit_within_steps\": 10000}`. See [expiry of "
                "rows](models.md#expiry-of-rows) and [admission of "
                "keys](models.md#admission-of-keys).",
    },
    NUMBER(FIELD_REAL, "train.clip_value", train.clip_value, 0, 1e30, FIXED,
           "The elements of a gradient are limited to this absolute value; 0: no limit."),
    NUMBER(FIELD_REAL, "train.clip_norm", train.clip_norm, 0, 1e30, FIXED,
           "A gradient whose Euclidean norm over all variables is greater than this is scaled down "
           "to it; 0: no limit. In async mode the gradient of each slice is scaled down to this "
           "value divided by `train.slices`."),
    NUMBER(FIELD_REAL, "train.ema", train.ema, 0, 0.999999, FIXED,
           "If greater than 0, evaluations use an exponential moving average of the parameters, of "
           "which each step keeps this share. 0: they use the parameters."),
    {
        .name = "train.max_staleness",
        .type = FIELD_UINT,
        AT(train.max_staleness),
        .most = MANY,
        .none = "none",
        .help = "Async mode: how many updates the parameters of a worker may be behind when its "
                "gradient is applied. 0: lock step. `none`: no limit.",
    },
    NUMBER(FIELD_REAL, "train.target_accuracy", train.target_accuracy, 0, 1, CHANGEABLE,
           "The run stops early when the accuracy of an evaluation reaches this value; 0: it "
           "trains all steps. Checked at each evaluation: see `evaluate.every_steps`."),
    NAME(FIELD_ENUM, "train.stop.metric", train.stop_metric, metrics, CHANGEABLE,
         "The metric that `train.stop.patience` watches. For a regression, `accuracy` is R "
         "squared."),
    NUMBER(FIELD_UINT, "train.stop.patience", train.stop_patience, 0, 1e9, CHANGEABLE,
           "The run stops early when this many evaluations in a row are not better than the best "
           "one; 0: never. Needs `evaluate.every_steps` or `cluster.evaluators`."),
    SWITCH("train.same_bits", train.same_bits, CHANGEABLE,
           "Sync mode: whether all workers must have the same arithmetic (version of OpenBLAS and "
           "type of processor), so that the result has the same bits on any hosts. `false` permits "
           "different ones."),
};

const struct json_part job_keys_train = {JSON_FIELDS(fields)};

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

const char *precision_name(enum job_precision precision)
{
    assert(precision <= JOB_PRECISION_BF16);
    return precisions[precision];
}

const char *schedule_name(enum schedule_type type)
{
    assert(type <= SCHEDULE_PIECEWISE);
    return schedules[type];
}
