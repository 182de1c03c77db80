#include "tests/sim/scenario_async.h"

#include "tests/sim/scenario_draw.h"

enum { FIRST_PS = SCENARIO_COORDINATORS };

/* The counts of the ledger are exact in any order of updates. */
static void count(struct sim_setup *setup)
{
    struct job *job = &setup->job;
    setup->ledger = true;
    job->train.mode = TRAIN_ASYNC;
    job->train.optimizer = OPTIMIZER_SGD;
    job->train.learning_rate = job->train.batch;
    job->train.slices = 8;
    job->train.schedule = (struct job_schedule){.type = SCHEDULE_CONSTANT};
    job->train.decay_steps = job->train.before_count = job->train.rule_count = 0;
    job->train.clip_norm = job->train.clip_value = job->train.ema = 0;
}

/* Async: an operator stops the run, and the nodes read of it at different times, so that a worker
 * may push beyond the end. */
void scenario_stop_async(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    const uint32_t tasks = SCENARIO_COORDINATORS + job->cluster.ps + job->cluster.workers;
    count(setup);
    job->train.max_staleness = STALENESS_FREE;
    setup->zk.lag_us = (uint32_t)scenario_between(random, 500, 200000);
    if (random_below(random, 2) == 0) {
        const uint32_t task = (uint32_t)random_below(random, tasks);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 500, 2500), task);
    }
    scenario_add(setup, FAULT_STOP, scenario_between(random, 1000, 2500), 0);
}

static uint32_t any_ps(const struct sim_setup *setup, struct random *random)
{
    return FIRST_PS + (uint32_t)random_below(random, setup->job.cluster.ps);
}

/* Some or all ps at about the same time, in half of the cases with the chief. */
static void kill_ps(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const bool all = random_below(random, 3) == 0;
    scenario_add(setup, FAULT_KILL, at_ms, any_ps(setup, random));
    for (uint32_t p = 0; p < setup->job.cluster.ps; p++) {
        if (!all && random_below(random, 3) != 0) { continue; }
        scenario_add(setup, FAULT_KILL, at_ms + random_below(random, 30), FIRST_PS + p);
    }
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        if (random_below(random, 2) == 0) { continue; }
        scenario_add(setup, FAULT_KILL, at_ms + random_below(random, 300), i);
    }
}

/* An operator stops the run. Nodes read of it at different times, in half of the cases soon after a
 * load, when the chief does not know how fast training is: so they may have passed the end. */
static void stop(struct sim_setup *setup, struct random *random, uint64_t loaded_ms)
{
    const bool soon = random_below(random, 2) == 0;
    const uint64_t at_ms = soon ? loaded_ms + scenario_between(random, 100, 1500)
                                : scenario_between(random, 1500, 5000);
    setup->zk.lag_us = (uint32_t)scenario_between(random, 500, 200000);
    scenario_add(setup, FAULT_STOP, at_ms, 0);
    if (random_below(random, 2) == 0) { return; }
    struct fault *cut = scenario_add(setup, FAULT_CUT_ZOOKEEPER, at_ms, any_ps(setup, random));
    cut->duration_ms = scenario_between(random, 50, 600);
    cut->both_ways = true;
}

/* Async: with one slice, whose worker does not die, the order of updates is that of sync mode, so
 * that values, rows and checkpoints are compared, too. Ps and chiefs die, also at once, and
 * connections break; in three quarters of the seeds an operator stops the run. */
void scenario_async_tables(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    uint64_t at_ms = 0;
    scenario_set_tables(setup, random);
    setup->in_order = true;
    job->train.mode = TRAIN_ASYNC;
    job->train.slices = 1;
    job->train.max_staleness = random_below(random, 2) == 0 ? STALENESS_FREE : 0;
    job->train.table_rule_count = 0;
    job->placement.strategy = PLACEMENT_RANGES;
    job->placement.rule_count = 0;
    job->cluster.ps = (uint32_t)scenario_between(random, 2, 4);
    job->cluster.workers = 1;
    for (uint64_t kills = scenario_between(random, 1, 3); kills > 0; kills--) {
        at_ms = scenario_between(random, 800, 4000);
        kill_ps(setup, random, at_ms);
    }
    for (uint64_t breaks = scenario_between(random, 0, 8); breaks > 0; breaks--) {
        const uint32_t worker = FIRST_PS + job->cluster.ps;
        const bool all = random_below(random, 2) == 0;
        scenario_add(setup, FAULT_RESET, scenario_between(random, 800, 6000),
                     all ? worker : any_ps(setup, random));
    }
    if (random_below(random, 4) != 0) { stop(setup, random, at_ms); }
}

/* Async: each row of a table counts the examples that had its key, in whatever order slices are
 * applied, so that a row that an update misses, or has twice, is a wrong count in a checkpoint. Any
 * nodes die, and slices move. */
void scenario_async_counts(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    sim_rows_job(job, "train.table_optimizer=sgd");
    setup->ledger_rows = true;
    count(setup);
    job->train.max_staleness =
        random_below(random, 2) == 0 ? STALENESS_FREE : random_below(random, 4);
    job->train.table_rule_count = 0;
    job->evaluate.every_steps = scenario_between(random, 5, 40);
    job->checkpoint.every_steps = scenario_between(random, 4, 20);
    const uint32_t tasks = SCENARIO_COORDINATORS + job->cluster.ps + job->cluster.workers;
    for (uint32_t i = 0; i < 8; i++) {
        const bool breaks = random_below(random, 4) == 0;
        scenario_add(setup, breaks ? FAULT_RESET : FAULT_KILL, scenario_between(random, 800, 6000),
                     (uint32_t)random_below(random, tasks));
    }
    if (random_below(random, 3) == 0) { stop(setup, random, scenario_between(random, 1500, 4000)); }
}

/* Async: the host of a ps is drained near the end of training, while one worker waits there for the
 * other one, which computes more slowly. The chief has been elected shortly before, or connections
 * break, so that it gives orders by old reports. */
void scenario_async_drain(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    const uint64_t drained_ms = scenario_between(random, 800, 3500);
    count(setup);
    job->train.steps = scenario_between(random, 40, 120);
    job->train.slices = (uint32_t)scenario_between(random, 1, 2) * 2;
    job->train.max_staleness = STALENESS_FREE;
    job->cluster.ps = (uint32_t)scenario_between(random, 1, 3);
    setup->slice_us[1] = scenario_between(random, 500, 12000);
    setup->zk.lag_us = (uint32_t)scenario_between(random, 500, 100000);
    scenario_add(setup, FAULT_DRAIN, drained_ms, any_ps(setup, random))->duration_ms =
        scenario_between(random, 10, 1500);
    const uint32_t tasks = SCENARIO_COORDINATORS + job->cluster.ps + job->cluster.workers;
    for (uint64_t faults = scenario_between(random, 1, 3); faults > 0; faults--) {
        static const enum fault_kind kinds[] = {FAULT_RESIGN, FAULT_RESET, FAULT_KILL};
        scenario_add(setup, kinds[random_below(random, 3)], drained_ms - random_below(random, 600),
                     (uint32_t)random_below(random, tasks));
    }
}
