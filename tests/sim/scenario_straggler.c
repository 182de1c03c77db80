/* Backup work (C23): workers are frozen for less than their sessions last, or compute slowly, while
 * others and chiefs die. */
#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/job/strategy.h"
#include "tests/sim/scenario_straggler.h"

enum {
    COORDINATORS = 2,
    PARAMETER_SERVERS = 2,
    WORKERS = 4,
    SESSION_MS = 12000,
    FREEZES_MOST = 4,
    KILLS_MOST = 3,
    MEASURED_MS = 6000,     /* Nothing is late before a step was measured; slow steps take 2 s. */
    SLOW_LEAST_US = 100000, /* A slice of the slow worker, if there is one. */
    STALL_MS = 3000,        /* Much less than a freeze, and more than everything else takes. */
};

static uint64_t between(struct random *random, uint64_t low, uint64_t high)
{
    return low + random_below(random, high - low + 1);
}

static void add(struct sim_setup *setup, enum fault_kind kind, uint64_t at_ms, uint64_t duration_ms,
                uint32_t task)
{
    assert(setup->fault_count < FAULTS_MAX);
    setup->faults[setup->fault_count++] =
        (struct fault){.kind = kind, .at_ms = at_ms, .duration_ms = duration_ms, .target = task};
}

/* The worker of index 0 is neither frozen nor killed, for one has to be idle; except as below. */
static uint32_t any_other_worker(const struct sim_setup *setup, struct random *random)
{
    const uint32_t first = COORDINATORS + setup->job.cluster.ps;
    return first + 1 + (uint32_t)random_below(random, WORKERS - 1);
}

static void draw(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    setup->ledger = false;
    setup->faults_until_ms = 20000;
    job->cluster.workers = WORKERS;
    job->zookeeper.session_timeout_ms = SESSION_MS;
    job->train.mode = TRAIN_SYNC;
    job->train.optimizer = OPTIMIZER_MOMENTUM;
    job->train.learning_rate = 0.0625 / 4; /* A higher one diverges. */
    job->train.clip_norm = random_below(random, 2) == 0 ? 0 : 0.01;
    job->train.rule_count = 0; /* Its optimizer may be lamb, which no job has with clip_norm. */
    job->train.steps = 700;
    job->train.slices = (uint32_t)between(random, WORKERS, 2 * SCENARIO_STRAGGLER_SLICES);
    job->checkpoint.best = BEST_NONE;
    job->evaluate.every_steps = random_below(random, 2) == 0 ? 0 : between(random, 50, 300);
    job->checkpoint.every_steps = between(random, 50, 300);
    if (random_below(random, 3) == 0) {
        setup->slice_us[WORKERS - 1] = between(random, SLOW_LEAST_US / 1000, 2000) * 1000;
    }
    for (uint64_t i = 0, freezes = between(random, 1, FREEZES_MOST); i < freezes; i++) {
        add(setup, FAULT_FREEZE, between(random, 2000, 15000), between(random, 4000, 9000),
            any_other_worker(setup, random));
    }
    for (uint64_t i = 0, kills = between(random, 0, KILLS_MOST); i < kills; i++) {
        const bool coordinator = random_below(random, 2) == 0;
        add(setup, FAULT_KILL, between(random, MEASURED_MS, 15000), 0,
            coordinator ? (uint32_t)random_below(random, COORDINATORS)
                        : any_other_worker(setup, random));
    }
}

/* The last worker is spared instead of the first one, which owns slice 0 and so evaluates. Each
 * evaluation takes much longer than a step, so that a freeze meets one. */
static void evaluate_often(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    const uint32_t first = COORDINATORS + job->cluster.ps;
    job->evaluate.every_steps = between(random, 5, 30);
    job->data.test_examples = 64;
    for (uint32_t w = 0; w < WORKERS; w++) { setup->slice_us[w] = between(random, 500, 4000); }
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        if (setup->faults[i].target > first) { setup->faults[i].target--; }
    }
}

/* The owner of slice 0 is often frozen in the first evaluation, when no time is known. */
static void freeze_first_evaluation(struct sim_setup *setup, struct random *random)
{
    enum { SLICE_US = 5000, EVALUATION_SLICES = 40, BEGINS_MS = 1400, ENDS_MS = 2200 };
    struct job *job = &setup->job;
    const uint64_t first = COORDINATORS + job->cluster.ps;
    const uint32_t slice = (job->train.batch + job->train.slices - 1) / job->train.slices;
    job->evaluate.every_steps = between(random, 30, 60);
    job->data.test_examples = EVALUATION_SLICES * slice;
    for (uint32_t w = 0; w < WORKERS; w++) { setup->slice_us[w] = SLICE_US; }
    assert(setup->faults[0].kind == FAULT_FREEZE);
    setup->faults[0].at_ms = between(random, BEGINS_MS, ENDS_MS);
    setup->faults[0].target = (uint32_t)first;
}

void scenario_straggler(struct sim_setup *setup, struct random *random)
{
    assert(setup->job.cluster.ps == PARAMETER_SERVERS);
    draw(setup, random);
    switch (random_below(random, 3)) {
    case 0: evaluate_often(setup, random); break;
    case 1: freeze_first_evaluation(setup, random); break;
    default: break;
    }
}

/* Without ps a frozen worker owns ranges, too, and may have to evaluate. */
void scenario_mirror_straggler(struct sim_setup *setup, struct random *random)
{
    setup->job.strategy.type = STRATEGY_TYPE_MIRROR;
    strategy_settle(&setup->job);
    draw(setup, random);
    if (random_below(random, 2) == 0) { evaluate_often(setup, random); }
}

/* The kills of the slow worker: whenever it gets its first slices, it may delay a step by
 * CHIEF_LATE_JOIN limits (M12). */
static uint64_t kills_of_slow_worker(const struct sim_setup *setup)
{
    const uint32_t slow = COORDINATORS + setup->job.cluster.ps + WORKERS - 1;
    uint64_t kills = 0;
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        const struct fault *fault = &setup->faults[i];
        kills += fault->kind == FAULT_KILL && fault->target == slow;
    }
    return setup->slice_us[WORKERS - 1] >= SLOW_LEAST_US ? kills : 0;
}

const char *straggler_is_left_behind(const struct sim_cluster *cluster)
{
    const uint64_t stalls = 1 + kills_of_slow_worker(&cluster->setup);
    if (cluster->longest_stall_us > stalls * STALL_MS * UINT64_C(1000)) {
        return "training waited for a frozen worker";
    }
    return cluster->checker.steps_redone > 0 ? "steps were redone" : NULL;
}
