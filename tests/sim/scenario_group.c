#include "tests/sim/scenario_group.h"

#include <assert.h>
#include <stdio.h>

#include "common/job/strategy.h"
#include "group/member_frame.h"
#include "tests/sim/scenario_draw.h"
#include "tests/sim/scenario_verdicts.h"

enum {
    GROUPS = 2,
    STEPS = 100,
    LOST_MS = 15000,    /* A member is away for this time. */
    ATTEMPTS_MAX = 150, /* While two members do not reach each other, each dial is one. */
    STALL_MS = 9000,    /* Much less, and more than a session and everything else takes. */
};

/* The parts send each other values and gradients, and losses and averages are on several
 * members. */
static const char *const layers[] = {
    [2] =
        "model.layers=[{\"dense\": {\"units\": 6, \"activation\": \"tanh\"}, \"task\": 0}, "
        "{\"dropout\": 0.25}, {\"dense\": {\"units\": 5, \"activation\": \"relu\"}, \"task\": 1}, "
        "{\"residual\": [{\"dense\": 5, \"task\": 0}], \"task\": 1}, {\"dense\": 2}]",
    [3] =
        "model.layers=[{\"concat\": [[{\"dense\": 4, \"task\": 0}, \"batch_norm\"], "
        "[{\"dense\": 4, \"task\": 1}, \"tanh\"]], \"task\": 2}, {\"dense\": 5, \"task\": 2}, "
        "{\"residual\": [{\"dense\": 5, \"task\": 0}], \"task\": 1}, {\"dense\": 2, \"task\": 2}]",
};

void scenario_groups_with_ps(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    const uint32_t members = (uint32_t)scenario_between(random, 2, 3);
    static const enum optimizer_kind optimizers[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM,
                                                     OPTIMIZER_ADAM};
    struct error error;
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.learning_rate = 0.0625 / 4; /* A higher one diverges. */
    job->train.optimizer = optimizers[random_below(random, 3)];
    job->train.ema = job->train.clip_norm = 0; /* Norms need placement ranges. */
    job->train.rule_count = 0;
    job->train.steps = STEPS;
    job->strategy.type = STRATEGY_TYPE_GROUP;
    job->strategy.members = members;
    job->placement.strategy =
        random_below(random, 2) == 0 ? PLACEMENT_GREEDY : PLACEMENT_ROUND_ROBIN;
    job->cluster.workers = GROUPS * members;
    job->cluster.ps = (uint32_t)scenario_between(random, members, 4);
    (void)snprintf(job->model.type, sizeof job->model.type, "layers");
    job->model.loss = LOSS_SQUARED_ERROR;
    enum tn_status status = job_set(job, layers[members], &error);
    assert(status == TN_OK);
}

/* In half of the seeds, connections break at any frame, and frames are late. */
static void disturb_network(struct sim_setup *setup, struct random *random)
{
    if (random_below(random, 2) == 0) { return; }
    setup->net.break_per_mille = (uint32_t)scenario_between(random, 1, 4);
    setup->net.slow_per_mille = (uint32_t)scenario_between(random, 0, 20);
}

static uint32_t first_worker(const struct sim_setup *setup)
{
    return SCENARIO_COORDINATORS + setup->job.cluster.ps;
}

/* Faults of all kinds that stop or separate nodes. */
static void draw_faults(struct sim_setup *setup, struct random *random)
{
    enum {
        KINDS = 1 << FAULT_KILL | 1 << FAULT_CRASH_LOOP | 1 << FAULT_FREEZE | 1 << FAULT_AGENT |
                1 << FAULT_HOST | 1 << FAULT_EVERYTHING | 1 << FAULT_RESET | 1 << FAULT_CUT_PEERS |
                1 << FAULT_CUT_ZOOKEEPER | 1 << FAULT_DROP_SESSION | 1 << FAULT_SERVER |
                1 << FAULT_OUTAGE | 1 << FAULT_RESIGN | 1 << FAULT_HOLD,
    };
    disturb_network(setup, random);
    setup->fault_count =
        faults_draw(random, (uint32_t)scenario_between(random, 1, 16), 500, setup->faults_until_ms,
                    KINDS, setup->job.zookeeper.session_timeout_ms, setup->faults);
}

void scenario_group(struct sim_setup *setup, struct random *random)
{
    scenario_groups_with_ps(setup, random);
    draw_faults(setup, random);
}

/* Heads, other members and coordinators are killed, also those of both groups at once; and their
 * connections break. */
void scenario_group_kills(struct sim_setup *setup, struct random *random)
{
    scenario_groups_with_ps(setup, random);
    disturb_network(setup, random);
    uint64_t at_ms = 0;
    for (uint64_t i = 0, count = scenario_between(random, 1, 16); i < count; i++) {
        const uint64_t tasks = SCENARIO_COORDINATORS + setup->job.cluster.workers;
        uint32_t task = (uint32_t)random_below(random, tasks);
        if (task >= SCENARIO_COORDINATORS) { task += setup->job.cluster.ps; }
        const bool follows = i > 0 && random_below(random, 3) == 0;
        at_ms = follows ? at_ms + random_below(random, 60) : scenario_between(random, 500, 7900);
        const bool resets = random_below(random, 4) == 0;
        scenario_add(setup, resets ? FAULT_RESET : FAULT_KILL, at_ms, task);
    }
}

/* Without ps, each member has all values, and any optimizer will do. */
void scenario_groups_without_ps(struct sim_setup *setup, struct random *random)
{
    const struct job drawn = setup->job;
    struct job *job = &setup->job;
    scenario_groups_with_ps(setup, random);
    job->cluster.ps = 0;
    job->placement.strategy = PLACEMENT_RANGES;
    job->checkpoint.best = BEST_NONE;
    job->train.clip_norm = drawn.train.clip_norm;
    strategy_settle(job);
}

/* Two members of a group do not reach each other. */
static void cut_members(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const uint32_t members = setup->job.strategy.members, workers = setup->job.cluster.workers;
    const uint32_t tasks = first_worker(setup) + workers;
    const uint32_t member = (uint32_t)random_below(random, members);
    const uint32_t peer = (member + 1) % members;
    const uint32_t head = first_worker(setup) + members * (uint32_t)random_below(random, GROUPS);
    struct fault *fault = scenario_add(setup, FAULT_CUT_PEERS, at_ms, head + member);
    fault->other = (peer + tasks - member - 1) % tasks; /* Counted from the one behind `member`. */
    fault->duration_ms = LOST_MS;
    fault->both_ways = true;
}

/* The host of one member is away for long, or cannot reach that of another one. */
static void lose_member(struct sim_setup *setup, struct random *random)
{
    static const enum fault_kind kinds[] = {FAULT_AGENT, FAULT_HOST, FAULT_CUT_PEERS};
    const enum fault_kind kind = kinds[random_below(random, 3)];
    const uint64_t at_ms = scenario_between(random, 500, 2000);
    setup->faults_until_ms = 2000 + LOST_MS;
    if (kind == FAULT_CUT_PEERS) {
        cut_members(setup, random, at_ms);
        return;
    }
    const uint32_t member = (uint32_t)random_below(random, setup->job.cluster.workers);
    scenario_add(setup, kind, at_ms, first_worker(setup) + member)->duration_ms = LOST_MS;
}

void scenario_group_lost(struct sim_setup *setup, struct random *random)
{
    scenario_groups_with_ps(setup, random);
    lose_member(setup, random);
}

void scenario_group_mirror(struct sim_setup *setup, struct random *random)
{
    scenario_groups_without_ps(setup, random);
    draw_faults(setup, random);
}

/* All workers but one, whichever it is, and coordinators are killed, and connections break. */
void scenario_group_mirror_survivor(struct sim_setup *setup, struct random *random)
{
    scenario_groups_without_ps(setup, random);
    disturb_network(setup, random);
    const uint32_t survivor =
        first_worker(setup) + (uint32_t)random_below(random, setup->job.cluster.workers);
    for (uint64_t i = 0, count = scenario_between(random, 1, 16); i < count; i++) {
        const uint64_t tasks = SCENARIO_COORDINATORS + setup->job.cluster.workers;
        const uint32_t task = (uint32_t)random_below(random, tasks);
        const uint64_t at_ms = scenario_between(random, 500, 7900);
        const bool resets = task == survivor || random_below(random, 4) == 0;
        scenario_add(setup, resets ? FAULT_RESET : FAULT_KILL, at_ms, task);
    }
}

/* As scenario_group_lost(). */
void scenario_group_mirror_lost(struct sim_setup *setup, struct random *random)
{
    scenario_groups_without_ps(setup, random);
    lose_member(setup, random);
}

void sim_group_on_frame(struct sim_cluster *cluster, const struct frame_header *header)
{
    const bool begins = header->type == FRAME_GROUP && header->epoch == MEMBER_FRAME_BEGIN;
    assert(cluster->attempts < UINT64_MAX);
    cluster->attempts += begins;
}

const char *group_is_left_behind(const struct sim_cluster *cluster)
{
    if (cluster->longest_stall_us > STALL_MS * UINT64_C(1000)) {
        return "training waited for a group that lacked a member";
    }
    if (cluster->attempts > ATTEMPTS_MAX) { return "attempts ended without a reason"; }
    return no_step_is_lost(cluster);
}
