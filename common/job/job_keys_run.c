#include <assert.h>

#include "common/cluster/manifest.h"
#include "common/cluster/row_borders.h"
#include "common/job/job_key_rows.h"
#include "common/job/job_workers.h"
#include "common/job/strategy.h"

static const char *const types[] = {"ps", "local", "mirror", "group", NULL};
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
           "Steps between evaluations, on the validation split or the test set; 0: only at the "
           "end. Every multiple is evaluated. In async mode, the worker that reaches it evaluates "
           "it with the values that it has at that time."),
    NUMBER(FIELD_UINT, "checkpoint.every_steps", checkpoint.every_steps, 0, MANY, CHANGEABLE,
           "Steps between checkpoints; 0: not by steps. A multiple is skipped only if the disk is "
           "too slow; `skipped_checkpoints` counts these."),
    NUMBER(FIELD_UINT, "checkpoint.every_seconds", checkpoint.every_seconds, 0, 1e6, CHANGEABLE,
           "Seconds between checkpoints; 0: not by time. A checkpoint is always saved at the end."),
    NUMBER(FIELD_UINT, "checkpoint.keep", checkpoint.keep, 1, CHECKPOINT_KEEP_MAX, CHANGEABLE,
           "How many committed checkpoints are kept on disk. With tables of rows one more is kept, "
           "which shares no file with them."),
    NAME(FIELD_ENUM, "checkpoint.best", checkpoint.best, best_metric_names, CHANGEABLE,
         "The metric, `loss` or `accuracy`, by which the best checkpoint is kept in addition to "
         "the newest ones; `none`: no such checkpoint is kept. Needs `cluster.evaluators`, or sync "
         "mode and evaluations at steps of checkpoints. A checkpoint of an evaluated step is never "
         "skipped: training waits for the disk."),
    NUMBER(FIELD_UINT, "metrics.every_steps", metrics.every_steps, 1, 10000, CHANGEABLE,
           "Steps between the points of [the curves](metrics.md)."),
    NUMBER(FIELD_UINT, "metrics.every_seconds", metrics.every_seconds, 0, 1e6, CHANGEABLE,
           "For slow steps: another point is added as soon as the last one is this old; 0: no such "
           "points."),
    SWITCH("metrics.summaries", metrics.summaries, CHANGEABLE,
           "Whether the curves are also written for [TensorBoard](metrics.md#tensorboard)."),
    SWITCH("metrics.histograms", metrics.histograms, CHANGEABLE,
           "Whether the files for TensorBoard have a histogram of each variable and gradient at "
           "each evaluation."),
    NAME(FIELD_ENUM, "strategy.type", strategy.type, types, CHANGEABLE,
         "How the work is divided: see [Strategies](#strategies). `ps`: parameter servers hold the "
         "parameters. `mirror`: no ps run, and each worker holds all values. `group`: several "
         "worker tasks act as one worker, and each computes a part of the model. `local`: one "
         "process does everything, as with `tanist run --local`. All but `ps` need sync mode."),
    NUMBER(FIELD_UINT, "strategy.members", strategy.members, 2, GROUP_TASKS_MAX, CHANGEABLE,
           "With `strategy.type` `group`: the number of worker tasks that act as one worker. Task "
           "`worker:0` is member 0 of the first group, `worker:1` member 1, and so on. See "
           "[Groups](#groups)."),
    NUMBER(FIELD_UINT, "strategy.keep_sums", strategy.keep_sums, 0, KEEP_SUMS_MAX, CHANGEABLE,
           "Without ps: of how many earlier steps each worker keeps the sums of gradients, in 4 "
           "bytes for each parameter and step. A worker that lacks a sum which none keeps fetches "
           "all values: see [Memory](#memory-of-a-run-without-ps)."),
    NUMBER(FIELD_UINT, "cluster.coordinators", cluster.coordinators, 1, COORDINATORS_MAX,
           CHANGEABLE,
           "Candidates for chief: one of them is the chief, the others wait to take over."),
    NUMBER(FIELD_UINT, "cluster.ps", cluster.ps, 0, PS_MAX, RESUMED,
           "Parameter servers; each owns one range of the parameters. With `strategy.type` "
           "`mirror` there are none, and the number is ignored; with `group`, 0 means [groups "
           "without ps](#groups-without-ps). `--resume` may [change it](#another-number-of-ps)."),
    {
        .name = "cluster.workers",
        .type = FIELD_CUSTOM,
        AT(cluster.workers),
        .converter = &job_workers_converter,
        .tags = CHANGEABLE,
        .help = "Workers. At most `train.slices` of them have work in sync mode. With a range, "
                "`\"2-8\"`, the run begins with the smaller number, and `tanist scale` "
                "[changes it](#a-range-of-workers).",
    },
    NUMBER(FIELD_UINT, "cluster.min_workers", cluster.min_workers, 1, WORKERS_MAX, CHANGEABLE,
           "Workers that must be registered before training starts; with `strategy.type` `group`, "
           "complete groups."),
    NUMBER(FIELD_UINT, "cluster.evaluators", cluster.evaluators, 0, EVALUATORS_MAX, CHANGEABLE,
           "1: the task `evaluator:0` evaluates each committed checkpoint while training "
           "continues, without waiting. The workers then evaluate only the last step, and "
           "`evaluate.every_steps` is ignored."),
    NUMBER(FIELD_UINT, "cluster.table_mib", cluster.table_mib, 0, 1 << 30, CHANGEABLE,
           "The most memory, in MiB, that the rows of [tables](models.md#tables) may use on each "
           "ps, or in the one process of a local run. A job that needs more fails with an error. "
           "0: no limit."),
    NUMBER(FIELD_UINT, "cluster.workers_per_process", cluster.workers_per_process, 1, WORKERS_MAX,
           CHANGEABLE,
           "Workers that an agent runs in one process, each on a thread: fewer threads, sessions "
           "and copies of the data than with a process for each, with the same result. They end "
           "together: [Several workers in one process](#several-workers-in-one-process)."),
    SWITCH(
        "cluster.bind", cluster.bind, CHANGEABLE,
        "Whether an agent binds each of its workers and ps to one processor, if its host has fewer "
        "processors than such nodes and each processor gets as many workers as any other. Steps "
        "of less than a millisecond become up to a fifth faster on a machine that does nothing "
        "else, and slower where other programs are busy."),
    NAME(FIELD_ENUM, "placement.strategy", placement.strategy, placements, RESUMED,
         "How the parameters are divided among the ps. `ranges`: equal parts, which may cut "
         "variables. `round_robin`: whole variables in turn. `greedy`: whole variables, the "
         "largest first, each to the ps with the fewest bytes. See `tanist plan`. `--resume` may "
         "[change it](#another-number-of-ps)."),
    {
        .name = "placement.variables",
        .type = FIELD_LIST,
        AT(placement.rules),
        .length_offset = offsetof(struct job, placement.rule_count),
        .element = &pin,
        .tags = FIXED,
        .help = "Variables that are assigned to a given ps: `{\"match\": \"embedding*\", \"ps\": "
                "1}`. Only for `round_robin` and `greedy`.",
    },
    {
        .name = "placement.buckets",
        .type = FIELD_CUSTOM,
        AT(placement.rows),
        .converter = &row_borders_converter,
        .tags = RESUMED,
        .help = "How the rows of [tables](models.md#tables) are divided among the ps: the first of "
                "4096 buckets of keys that belongs to `ps:1`, to `ps:2`, and so on. `[]`: equal "
                "parts. `--resume` may change it, and keeps it if it is not given. `tanist resize "
                "--balance` [computes it](cli-control.md#balancing-the-rows-of-tables) from "
                "measured loads.",
    },
    NUMBER(FIELD_UINT, "zookeeper.servers", zookeeper.servers, 1, 3, CHANGEABLE,
           "The number of servers in the ensemble that `tanist run` starts: 1 or 3."),
    NUMBER(
        FIELD_UINT, "zookeeper.session_timeout_ms", zookeeper.session_timeout_ms, 200, 600000,
        CHANGEABLE,
        "How long a node may be silent, because its host is lost or it is frozen, until ZooKeeper "
        "ends its session. The death of a process is noticed at once, whatever this value is."),
    NAME(FIELD_ENUM, "transport.lane", transport.lane, lanes, CHANGEABLE,
         "How workers and ps exchange tensors. `auto`: through shared memory if both run on one "
         "host, in one network namespace and as one user, and otherwise over TCP. `shm`: a worker "
         "that cannot reach a ps through shared memory fails with an error. `tcp`: always over "
         "TCP."),
    NAME(FIELD_ENUM, "on_chief_failure", on_chief_failure, policies, CHANGEABLE,
         "`continue`: workers continue training while a new chief is elected. `restore`: they "
         "pause, and all ps restore the last committed checkpoint."),
};

const struct json_part job_keys_run = {JSON_FIELDS(fields)};

const char *placement_strategy_name(enum placement_strategy strategy)
{
    assert(strategy <= PLACEMENT_GREEDY);
    return placements[strategy];
}
