#include "tests/sim/scenario_membership.h"

#include <assert.h>

#include "common/job/strategy.h"
#include "tests/sim/scenario_draw.h"

enum { WORKERS_MOST = 4 /* The greater number of a range. */ };

/* Workers hold all values; two to four of them. */
void scenario_without_ps(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.learning_rate = 0.0625;
    job->strategy.type = STRATEGY_TYPE_MIRROR;
    job->checkpoint.best = BEST_NONE;
    job->cluster.workers = (uint32_t)scenario_between(random, 2, 4);
    strategy_settle(job);
}

/* Everything ends twice and starts again with `ps` of them; nodes die all the time, also while
 * others load. */
static void start_again(struct sim_setup *setup, struct random *random, uint64_t after_ms,
                        const uint64_t ps[2])
{
    const uint64_t tasks = SCENARIO_COORDINATORS + setup->ps_most + setup->job.cluster.workers;
    setup->job.checkpoint.every_steps = scenario_between(random, 4, 20);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t at_ms = after_ms + scenario_between(random, 0, 1000) + i * (after_ms + 1000);
        scenario_add(setup, FAULT_RESIZE, at_ms, (uint32_t)ps[i]);
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t task = (uint32_t)random_below(random, tasks);
            scenario_add(setup, FAULT_KILL, at_ms + scenario_between(random, 200, 1500), task);
        }
    }
}

void scenario_resize(struct sim_setup *setup, struct random *random)
{
    enum { PS_MOST = 4 };
    struct job *job = &setup->job;
    const uint64_t ps[] = {scenario_between(random, 1, PS_MOST),
                           scenario_between(random, 1, PS_MOST)};
    setup->ps_most = PS_MOST;
    job->train.steps = 2 * SCENARIO_STEPS;
    job->cluster.ps = (uint32_t)scenario_between(random, 1, PS_MOST);
    if (!setup->ledger && random_below(random, 2) == 0) {
        job->train.optimizer = OPTIMIZER_MOMENTUM;
        job->train.rule_count = job->train.before_count = 0;
        sim_rows_job(job, random_below(random, 2) == 0 ? "train.table_optimizer=row_adagrad"
                                                       : "train.table_optimizer=lazy_adam");
    }
    start_again(setup, random, 1500, ps);
}

/* The borders between the rows of ps move, and in half of the runs their number changes, too. */
void scenario_move_rows(struct sim_setup *setup, struct random *random)
{
    enum { PS_MOST = 4 };
    struct job *job = &setup->job;
    job->cluster.ps = (uint32_t)scenario_between(random, 2, PS_MOST);
    job->train.steps = 2 * SCENARIO_STEPS;
    job->train.learning_rate = 0.0625;
    job->train.optimizer = OPTIMIZER_MOMENTUM;
    job->train.rule_count = job->train.before_count = 0;
    setup->ledger = false;
    setup->ps_most = PS_MOST;
    sim_rows_job(job, random_below(random, 2) == 0 ? "train.table_optimizer=row_adagrad"
                                                   : "train.table_optimizer=lazy_adam");
    uint64_t ps[2] = {job->cluster.ps, job->cluster.ps};
    if (random_below(random, 2) == 0) { ps[0] = scenario_between(random, 2, PS_MOST); }
    const uint32_t before = setup->fault_count;
    start_again(setup, random, 1500, ps);
    for (uint32_t i = before; i < setup->fault_count; i++) {
        if (setup->faults[i].kind != FAULT_RESIZE) { continue; }
        setup->faults[i].other = (uint32_t)scenario_between(random, 1, 1000000);
    }
}

/* With and without ps in turn. */
void scenario_switch_strategy(struct sim_setup *setup, struct random *random)
{
    enum { PS_MOST = 3 };
    uint64_t ps[2] = {0, scenario_between(random, 1, PS_MOST)};
    scenario_without_ps(setup, random);
    setup->ps_most = PS_MOST;
    setup->job.train.steps = 8 * SCENARIO_STEPS; /* Not all are made before the second change. */
    setup->job.train.learning_rate /= 16;        /* A higher one diverges. */
    if (random_below(random, 2) == 0) {
        setup->job.strategy.type = STRATEGY_TYPE_PS;
        setup->job.cluster.ps = (uint32_t)scenario_between(random, 1, PS_MOST);
    } else {
        ps[0] = scenario_between(random, 1, PS_MOST);
        ps[1] = 0;
    }
    start_again(setup, random, 700, ps);
}

/* Without ps: whatever stops or separates nodes. */
void scenario_mirror(struct sim_setup *setup, struct random *random)
{
    enum {
        KINDS = 1 << FAULT_KILL | 1 << FAULT_CRASH_LOOP | 1 << FAULT_FREEZE | 1 << FAULT_AGENT |
                1 << FAULT_HOST | 1 << FAULT_EVERYTHING | 1 << FAULT_RESET | 1 << FAULT_CUT_PEERS |
                1 << FAULT_CUT_ZOOKEEPER | 1 << FAULT_DROP_SESSION | 1 << FAULT_SERVER |
                1 << FAULT_OUTAGE | 1 << FAULT_RESIGN | 1 << FAULT_HOLD,
    };
    scenario_without_ps(setup, random);
    setup->fault_count =
        faults_draw(random, (uint32_t)scenario_between(random, 1, 12), 500, setup->faults_until_ms,
                    KINDS, setup->job.zookeeper.session_timeout_ms, setup->faults);
}

/* A ps and a worker of one host, or the ps alone. */
static void add_host_fault(struct sim_setup *setup, struct random *random)
{
    static const enum fault_kind kinds[] = {FAULT_KILL, FAULT_AGENT, FAULT_HOST, FAULT_FREEZE};
    const uint32_t count = setup->job.cluster.ps;
    const uint32_t ps = SCENARIO_COORDINATORS + (uint32_t)random_below(random, count);
    const enum fault_kind kind = kinds[random_below(random, sizeof kinds / sizeof kinds[0])];
    const uint64_t at_ms = scenario_between(random, 500, 7000);
    const uint64_t duration_ms = scenario_between(random, 20, 4000);
    assert(setup->job.cluster.workers == count);
    scenario_add(setup, kind, at_ms, ps)->duration_ms = duration_ms;
    if (random_below(random, 4) == 0) { return; }
    scenario_add(setup, kind, at_ms, ps + count)->duration_ms = duration_ms;
}

/* A sharded state: each worker has a ps on its host, which has the state of one range. Hosts die
 * and freeze while chiefs die and nodes are separated. */
void scenario_sharded(struct sim_setup *setup, struct random *random)
{
    enum {
        KINDS = 1 << FAULT_KILL | 1 << FAULT_RESET | 1 << FAULT_CUT_PEERS |
                1 << FAULT_CUT_ZOOKEEPER | 1 << FAULT_DROP_SESSION | 1 << FAULT_SERVER |
                1 << FAULT_RESIGN,
    };
    struct job *job = &setup->job;
    setup->ledger = false;
    setup->keeps_memory = random_below(random, 2) == 0;
    job->train.mode = TRAIN_SYNC;
    job->train.learning_rate = 0.0625;
    job->placement.strategy = PLACEMENT_RANGES;
    job->placement.rule_count = 0;
    job->checkpoint.every_steps = scenario_between(random, 4, 20);
    job->cluster.ps = job->cluster.workers = (uint32_t)scenario_between(random, 2, 4);
    setup->fault_count =
        faults_draw(random, (uint32_t)scenario_between(random, 1, 6), 500, setup->faults_until_ms,
                    KINDS, job->zookeeper.session_timeout_ms, setup->faults);
    for (uint64_t i = 0, hosts = scenario_between(random, 1, 6); i < hosts; i++) {
        add_host_fault(setup, random);
    }
}

/* Workers and coordinators are killed, but never the first worker: no step is made again. */
void scenario_mirror_survivor(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    for (uint64_t i = 0, kills = scenario_between(random, 1, 8); i < kills; i++) {
        const uint32_t task =
            (uint32_t)random_below(random, SCENARIO_COORDINATORS + setup->job.cluster.workers - 1);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 800, 6000),
                     task < SCENARIO_COORDINATORS ? task : task + 1);
    }
}

/* Likewise, but no sums are kept: a worker that lacks one fetches all values. */
void scenario_mirror_keep_none(struct sim_setup *setup, struct random *random)
{
    scenario_mirror_survivor(setup, random);
    setup->job.strategy.keep_sums = 0;
}

/* Without ps, an operator stops the run at any moment: while it forms, loads, or workers fetch the
 * values, also after one or all of them were killed. */
void scenario_mirror_stop(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    const uint64_t stop_ms = scenario_between(random, 50, 3000);
    setup->job.train.steps = 8000; /* More than it can make until then. */
    setup->zk.lag_us = (uint32_t)scenario_between(random, 500, 100000);
    for (uint64_t i = 0, kills = scenario_between(random, 0, 4); i < kills; i++) {
        const uint64_t task =
            random_below(random, SCENARIO_COORDINATORS + setup->job.cluster.workers);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 50, stop_ms + 300),
                     (uint32_t)task);
    }
    scenario_add(setup, FAULT_STOP, stop_ms, 0);
    if (random_below(random, 3) == 0) { scenario_add(setup, FAULT_EVERYTHING, stop_ms + 50, 0); }
}

/* Without ps, all hosts of workers are drained while an operator stops the run. Its last checkpoint
 * takes longer than a worker without slices has to stay in a run that continues. */
void scenario_mirror_drain_stop(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    const uint64_t stop_ms = scenario_between(random, 1000, 2500);
    setup->job.train.steps = 8000; /* More than it can make until then. */
    setup->job.checkpoint.every_steps = 200;
    setup->job.train.slices = (uint32_t)scenario_between(random, 1, 2);
    setup->disk.write_ms = (uint32_t)scenario_between(random, 500, 1000);
    scenario_add(setup, FAULT_STOP, stop_ms, 0);
    for (uint32_t i = 0; i < setup->job.cluster.workers; i++) {
        scenario_add(setup, FAULT_DRAIN, stop_ms + random_below(random, 300),
                     SCENARIO_COORDINATORS + i)
            ->duration_ms = 3000;
    }
}

/* Without ps, all hosts of workers are drained while no coordinator acts, and all workers but one
 * die before there is a gate. That one may own no slices. The chief is frozen, so that it
 * continues, or dies. */
void scenario_mirror_drain_alone(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    struct job *job = &setup->job;
    const uint64_t from_ms = scenario_between(random, 1200, 2000);
    const uint64_t absent_ms = scenario_between(random, 1200, 2500);
    const uint32_t survivor = (uint32_t)random_below(random, job->cluster.workers);
    const bool dies = random_below(random, 2) == 0;
    job->train.steps = 2500; /* More than it can make until then. */
    job->train.learning_rate /= 64;
    job->train.slices = (uint32_t)scenario_between(random, 1, 2);
    job->checkpoint.every_steps = 200;
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        scenario_add(setup, dies ? FAULT_AGENT : FAULT_FREEZE, from_ms, i)->duration_ms = absent_ms;
    }
    for (uint32_t i = 0; i < job->cluster.workers; i++) {
        const uint32_t task = SCENARIO_COORDINATORS + i;
        scenario_add(setup, FAULT_DRAIN, from_ms + random_below(random, 200), task)->duration_ms =
            6000;
        if (i == survivor) { continue; }
        scenario_add(setup, FAULT_KILL, from_ms + scenario_between(random, 600, 1100), task);
    }
}

/* The number of workers changes all the time, and all die but the first one. */
static void change_workers(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    job->cluster.workers = WORKERS_MOST;
    job->cluster.workers_least = (uint32_t)scenario_between(random, 1, 2);
    for (uint32_t i = 0; i < 14; i++) {
        const uint64_t wanted = scenario_between(random, job->cluster.workers_least, WORKERS_MOST);
        scenario_add(setup, FAULT_SCALE, scenario_between(random, 300, 3000), (uint32_t)wanted);
    }
    const uint32_t first = SCENARIO_COORDINATORS + job->cluster.ps;
    for (uint32_t i = 0; i < 10; i++) {
        const uint64_t task = random_below(random, SCENARIO_COORDINATORS + WORKERS_MOST - 1);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 800, 3500),
                     (uint32_t)(task < SCENARIO_COORDINATORS
                                    ? task
                                    : first + 1 + task - SCENARIO_COORDINATORS));
    }
}

void scenario_scale(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    setup->job.train.steps = 8 * SCENARIO_STEPS;
    setup->job.train.learning_rate /= 16; /* A higher one diverges. */
    change_workers(setup, random);
}

void scenario_scale_ps(struct sim_setup *setup, struct random *random)
{
    setup->job.train.steps = 2 * SCENARIO_STEPS;
    change_workers(setup, random);
}

/* The only worker that stays dies, and the others are to leave before it has the values again. */
void scenario_scale_to_an_empty_worker(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    setup->job.train.steps = 20 * SCENARIO_STEPS; /* They may be fast. */
    setup->job.train.learning_rate /= 16;
    setup->job.cluster.workers = WORKERS_MOST;
    setup->job.cluster.workers_least = 1;
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t at_ms = 1500 + i * 1800;
        scenario_add(setup, FAULT_SCALE, at_ms - 900,
                     (uint32_t)scenario_between(random, 2, WORKERS_MOST));
        scenario_add(setup, FAULT_KILL, at_ms, SCENARIO_COORDINATORS);
        scenario_add(setup, FAULT_SCALE, at_ms + random_below(random, 60), 1);
    }
}
