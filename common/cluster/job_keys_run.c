#include <assert.h>

#include "common/cluster/job_key_rows.h"
#include "common/cluster/manifest.h"

static const char *const types[] = {"ps", "local", "mirror", NULL};
static const char *const placements[] = {"ranges", "round_robin", "greedy", NULL};
static const char *const lanes[] = {"auto", "shm", "tcp", NULL};
static const char *const policies[] = {"continue", "restore", NULL};

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
    NAME(
        FIELD_ENUM, "checkpoint.best", checkpoint.best, best_metric_names, CHANGEABLE,
        "The metric, `loss` or `accuracy`, by which the best checkpoint is kept beside the newest "
        "ones; `none`: no checkpoint is. Needs `cluster.evaluators`, or sync mode and evaluations "
        "at steps of checkpoints. A checkpoint of an evaluated step is not skipped: training waits "
        "for the disk."),
    NUMBER(FIELD_UINT, "metrics.every_steps", metrics.every_steps, 1, 10000, CHANGEABLE,
           "Steps between the points of [the curves](metrics.md)."),
    NUMBER(FIELD_UINT, "metrics.every_seconds", metrics.every_seconds, 0, 1e6, CHANGEABLE,
           "Another point as soon as the last is this old, for slow steps; 0: none."),
    SWITCH("metrics.summaries", metrics.summaries, CHANGEABLE,
           "Whether the curves are also written for [TensorBoard](metrics.md#tensorboard)."),
    SWITCH("metrics.histograms", metrics.histograms, CHANGEABLE,
           "Whether they have a histogram of each variable and gradient at each evaluation."),
    NAME(FIELD_ENUM, "strategy.type", strategy.type, types, CHANGEABLE,
         "How the work is divided. `ps`: workers compute gradients, parameter servers hold the "
         "parameters, by `train.mode`. `local`: one process does all of it, without "
         "ZooKeeper and `cluster`, as with `tanist run --local`; sync mode only. `mirror`: no ps; "
         "each worker keeps all values, and workers exchange sums of gradients; sync mode only. "
         "The parameters are the same."),
    NUMBER(FIELD_UINT, "cluster.coordinators", cluster.coordinators, 1, COORDINATORS_MAX,
           CHANGEABLE, "Candidates for chief: one is the chief, the others wait to take over."),
    NUMBER(FIELD_UINT, "cluster.ps", cluster.ps, 0, PS_MAX, FIXED,
           "Parameter servers; each owns one range of the parameters. With `strategy.type` "
           "`mirror` there are none, and the number is ignored."),
    NUMBER(FIELD_UINT, "cluster.workers", cluster.workers, 1, WORKERS_MAX, CHANGEABLE,
           "Workers. At most `train.slices` of them have work in sync mode."),
    NUMBER(FIELD_UINT, "cluster.min_workers", cluster.min_workers, 1, WORKERS_MAX, CHANGEABLE,
           "Workers that must be registered before training starts."),
    NUMBER(FIELD_UINT, "cluster.evaluators", cluster.evaluators, 0, EVALUATORS_MAX, CHANGEABLE,
           "1: the task `evaluator:0` evaluates each committed checkpoint beside training, which "
           "never waits for it. The workers then evaluate only the last step, and "
           "`evaluate.every_steps` is ignored."),
    NAME(FIELD_ENUM, "placement.strategy", placement.strategy, placements, FIXED,
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
    NAME(FIELD_ENUM, "transport.lane", transport.lane, lanes, CHANGEABLE,
         "How workers and ps exchange tensors. `auto`: through shared memory if both run on one "
         "host, in one network namespace and as one user, otherwise over TCP. `shm`: a worker that "
         "cannot reach a ps through shared memory ends with an error. `tcp`: always over TCP."),
    NAME(FIELD_ENUM, "on_chief_failure", on_chief_failure, policies, CHANGEABLE,
         "`continue`: workers go on training until a new chief is elected. `restore`: they pause, "
         "and all ps restore the last committed checkpoint."),
};

const struct json_part job_keys_run = {JSON_FIELDS(fields)};

const char *placement_strategy_name(enum placement_strategy strategy)
{
    assert(strategy <= PLACEMENT_GREEDY);
    return placements[strategy];
}
