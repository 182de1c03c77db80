#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/cluster/job_key_rows.h"

static const char *const modes[] = {"sync", "async", NULL};
static const char *const kernels[] = {"portable", "openblas", NULL};
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
    NAME(FIELD_ENUM, "train.table_optimizer", train.table_optimizer, table_optimizers, FIXED,
         "How the gradients of [rows of tables](models.md#tables) are applied, with the learning "
         "rate and the constants of the job. `auto`: as `train.optimizer`, `sgd`, `momentum`, "
         "`adagrad`, or `lazy_adam` with `adam`; other optimizers have no form for rows."),
    NUMBER(FIELD_REAL, "train.ftrl.l1", train.ftrl_l1, 0, 1e6, FIXED,
           "Of the table optimizer `ftrl`: the weight of the absolute values, which keeps rows of "
           "rare keys at 0."),
    NUMBER(FIELD_REAL, "train.ftrl.l2", train.ftrl_l2, 0, 1e6, FIXED,
           "Of `ftrl`: the weight of the squares."),
    NUMBER(FIELD_REAL, "train.ftrl.beta", train.ftrl_beta, 0, 1e6, FIXED,
           "Of `ftrl`: added to the root that divides the learning rate."),
    NUMBER(FIELD_REAL, "train.learning_rate", train.learning_rate, 1e-12, 1e6, RATE, "Step size."),
    NUMBER(FIELD_UINT, "train.decay_steps", train.decay_steps, 0, MANY, RATE,
           "The learning rate falls, linearly or by `train.schedule.type`, reaches "
           "`train.final_learning_rate` at this step, and then stays; 0: it is the same at all "
           "steps."),
    NUMBER(FIELD_REAL, "train.final_learning_rate", train.final_learning_rate, 0, 1e6, RATE,
           "See `train.decay_steps`."),
    NAME(
        FIELD_ENUM, "train.schedule.type", train.schedule.type, schedules, RATE,
        "How the learning rate changes: `linear` or `cosine` until `train.decay_steps`; `step` and "
        "`exponential` by `factor` every `every_steps`; `piecewise` at `boundaries`."),
    NUMBER(FIELD_UINT, "train.schedule.warmup_steps", train.schedule.warmup_steps, 0, MANY, RATE,
           "In the first steps, this many, the learning rate rises from 0; the schedule begins "
           "behind them."),
    NUMBER(FIELD_UINT, "train.schedule.every_steps", train.schedule.every_steps, 0, MANY, RATE,
           "Of `step` and `exponential`."),
    NUMBER(FIELD_REAL, "train.schedule.factor", train.schedule.factor, 0, 1e3, RATE,
           "Of `step` and `exponential`."),
    {
        .name = "train.schedule.boundaries",
        .type = FIELD_LIST,
        AT(train.schedule.boundaries),
        .length_offset = offsetof(struct job, train.schedule.boundary_count),
        .element = &boundary,
        .tags = RATE,
        .help = "Of `piecewise`: the steps at which the learning rate changes, ascending.",
    },
    {
        .name = "train.schedule.rates",
        .type = FIELD_LIST,
        AT(train.schedule.rates),
        .length_offset = offsetof(struct job, train.schedule.rate_count),
        .element = &rate,
        .tags = RATE,
        .help = "Of `piecewise`: the learning rate from each of these steps on.",
    },
    {
        .name = "train.before",
        .type = FIELD_LIST,
        AT(train.before),
        .length_offset = offsetof(struct job, train.before_count),
        .element = &earlier,
        .tags = FIXED,
        .help = "Earlier learning rates and schedules, each for the steps below its `until`: "
                "`[{\"until\": 500, \"learning_rate\": 0.1}]`. `--resume` adds to it: see "
                "[changing the learning rate](#changing-the-learning-rate).",
    },
    NUMBER(FIELD_REAL, "train.momentum", train.momentum, 0, 0.999999, FIXED,
           "Of `momentum`, `nesterov` and `lars`."),
    NUMBER(FIELD_REAL, "train.beta1", train.beta1, 0, 0.999999, FIXED,
           "Of `adam`, `adamw` and `lamb`."),
    NUMBER(FIELD_REAL, "train.beta2", train.beta2, 0, 0.999999, FIXED,
           "Of `adam`, `adamw` and `lamb`."),
    NUMBER(FIELD_REAL, "train.rho", train.rho, 0, 0.999999, FIXED,
           "Of `rmsprop`: how much of the mean of squares stays at each step."),
    NUMBER(FIELD_REAL, "train.epsilon", train.epsilon, 1e-30, 1, FIXED,
           "Of `adagrad`, `rmsprop`, `adam`, `adamw` and `lamb`: added to the root that divides."),
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
           "never. Needs `evaluate.every_steps` or `cluster.evaluators`."),
    SWITCH("train.same_bits", train.same_bits, CHANGEABLE,
           "Sync: whether all workers must have the same arithmetic (version of OpenBLAS and type "
           "of processor), so that the result has the same bits on any hosts. `false` permits "
           "mixtures."),
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

const char *schedule_name(enum schedule_type type)
{
    assert(type <= SCHEDULE_PIECEWISE);
    return schedules[type];
}
