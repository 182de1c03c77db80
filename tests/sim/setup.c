/* The setup of a seed: the job, sizes, speeds, and faults with their times. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/job/job_rate.h"
#include "common/job/job_schedule.h"
#include "common/net/loans.h"
#include "tests/sim/cluster.h"

static bool coin(struct random *random)
{
    return random_below(random, 2) == 0;
}

static uint64_t between(struct random *random, uint64_t low, uint64_t high)
{
    return low + random_below(random, high - low + 1);
}

static void draw_job(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    job_init(job);
    (void)snprintf(job->name, sizeof job->name, "sim");
    job->seed = random_next(random) >> 1;
    (void)snprintf(job->model.type, sizeof job->model.type, "linear");
    (void)snprintf(job->data.type, sizeof job->data.type, "synthetic");
    job->model.inputs = (uint32_t)between(random, 30, 50); /* Enough parameters for three ps. */
    job->model.outputs = 2;
    job->model.hidden_count = 0;
    job->data.examples = 64;
    job->data.test_examples = 16;
    setup->ledger = coin(random);
    static const uint32_t slices[] = {1, 2, 3, 4, 8};
    job->train.slices = slices[random_below(random, 5)];
    job->train.batch = 16;
    job->train.steps = between(random, 30, 300);
    job->train.mode = random_below(random, 4) == 0 ? TRAIN_ASYNC : TRAIN_SYNC;
    static const enum optimizer_kind optimizers[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM,
                                                     OPTIMIZER_ADAM};
    job->train.optimizer = optimizers[random_below(random, 3)];
    job->train.learning_rate = 0.0625;
    job->train.max_staleness = coin(random) ? STALENESS_FREE : random_below(random, 4);
    if (setup->ledger || job->train.mode == TRAIN_ASYNC) {
        /* The counts must be exact: rates and shares are powers of two, and SGD keeps no state. */
        setup->ledger = true;
        job->train.optimizer = OPTIMIZER_SGD;
        job->train.learning_rate = job->train.batch;
        if (job->train.slices == 3) { job->train.slices = 4; }
    }
    job->cluster.coordinators = (uint32_t)between(random, 1, 3);
    job->cluster.ps = (uint32_t)between(random, 1, 3);
    job->cluster.workers = (uint32_t)between(random, 1, 3);
    job->cluster.min_workers = (uint32_t)between(random, 1, job->cluster.workers);
    job->checkpoint.every_steps = coin(random) ? between(random, 5, 60) : 0;
    job->checkpoint.every_seconds = job->checkpoint.every_steps == 0 || coin(random) ? 1 : 0;
    job->checkpoint.keep = (uint32_t)between(random, 1, 3);
    job->evaluate.every_steps = coin(random) ? between(random, 10, 80) : 0;
    job->zookeeper.session_timeout_ms = (uint32_t)between(random, 1000, 4000);
    job->on_chief_failure =
        random_below(random, 3) == 0 ? CHIEF_FAILURE_RESTORE : CHIEF_FAILURE_CONTINUE;
}

static void draw_schedule(struct job *job, struct random *random)
{
    struct job_schedule *schedule = &job->train.schedule;
    uint64_t steps = job->train.steps;
    schedule->type = (enum schedule_type)random_below(random, SCHEDULE_PIECEWISE + 1);
    schedule->warmup_steps = coin(random) ? between(random, 1, 9) : 0;
    switch (schedule->type) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_LINEAR:
    case SCHEDULE_COSINE:
        job->train.decay_steps = between(random, 10, steps);
        job->train.final_learning_rate = 0.001;
        break;
    case SCHEDULE_STEP:
    case SCHEDULE_EXPONENTIAL:
        schedule->every_steps = between(random, 1, steps);
        schedule->factor = 0.7;
        break;
    case SCHEDULE_PIECEWISE:
        schedule->boundary_count = schedule->rate_count = 2;
        schedule->boundaries[0] = between(random, 10, 50);
        schedule->boundaries[1] = between(random, 51, 200);
        schedule->rates[0] = 0.02;
        schedule->rates[1] = 0.003;
        break;
    }
}

/* A network whose batch norm has averages among its variables. */
static void draw_batch_norm(struct job *job)
{
    struct error error;
    (void)snprintf(job->model.type, sizeof job->model.type, "layers");
    job->model.loss = LOSS_SQUARED_ERROR;
    enum tn_status status = job_set(
        job, "model.layers=[{\"dense\": 6}, \"batch_norm\", \"relu\", {\"dense\": 2}]", &error);
    assert(status == TN_OK);
}

/* Half of the jobs that need no exact counts have one of the other optimizers, a schedule, or batch
 * norm. From a stream of its own, so that the faults of a seed stay what they were. */
/* A norm cannot be clipped with it. */
static bool uses_lamb(const struct job *job)
{
    const bool by_rule =
        job->train.rule_count > 0 && job->train.rules[0].optimizer == OPTIMIZER_LAMB;
    return by_rule || job->train.optimizer == OPTIMIZER_LAMB;
}

static void draw_optimizer(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6f7074696d697a65u};
    struct job *job = &setup->job;
    if (setup->ledger || random_below(&random, 2) == 0) { return; }
    job->train.optimizer = (enum optimizer_kind)random_below(&random, OPTIMIZER_KINDS);
    job->train.weight_decay = coin(&random) ? 0.01 : 0;
    job->train.clip_value = coin(&random) ? 0.05 : 0;
    if (coin(&random)) {
        job->train.rule_count = 1;
        job->train.rules[0] = (struct job_variable_rule){
            "*bias", 0.5, 2, (enum optimizer_kind)random_below(&random, OPTIMIZER_KINDS + 1)};
    }
    if (coin(&random) && !uses_lamb(job)) { job->train.clip_norm = 0.1; }
    if (coin(&random)) { draw_schedule(job, &random); }
    if (coin(&random)) { draw_batch_norm(job); }
    if (coin(&random)) { job->train.ema = 0.9; }
    struct error error;
    enum tn_status status = job_check_schedule(job, &error);
    assert(status == TN_OK);
}

/* In one seed of four the run may stop early. */
static void draw_early_stop(struct job *job, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x73746f7000000000u};
    if (random_below(&random, 4) != 0) { return; }
    if (job->checkpoint.best == BEST_NONE) { job->evaluate.every_steps = between(&random, 3, 30); }
    job->train.stop_patience = between(&random, 1, 4);
    job->train.stop_metric = coin(&random) ? METRIC_LOSS : METRIC_ACCURACY;
}

/* In one seed of four there is an evaluator. */
static void draw_evaluator(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6576616c75000000u};
    struct job *job = &setup->job;
    if (random_below(&random, 4) != 0) { return; }
    job->cluster.evaluators = 1;
    if (job->checkpoint.best == BEST_NONE && coin(&random)) { job->checkpoint.best = BEST_LOSS; }
}

/* In one seed of four the learning rate was changed, once or twice; not where counts must be
 * exact. */
static void draw_rate_changes(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x7261746500000000u};
    struct job *job = &setup->job;
    if (setup->ledger || random_below(&random, 4) != 0) { return; }
    const uint64_t first = between(&random, 5, job->train.steps);
    for (uint64_t i = 0, until = first; i < 2 && until <= job->train.steps; i++) {
        struct error error;
        const struct job stored = *job;
        job->train.learning_rate *= 0.75;
        enum tn_status status = job_rate_change(job, &stored, until, &error);
        assert(status == TN_OK);
        until += between(&random, 5, 100);
    }
}

/* Servers lag a little; one in ten by up to seconds, as a follower that is about to be dropped. */
static uint32_t mostly_small(uint64_t lag_us)
{
    return (uint32_t)(lag_us % 10 == 0 ? lag_us * 20 : lag_us);
}

/* A third of the jobs that can have it; from a stream of its own. */
static void draw_best(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x62657374u};
    struct job *job = &setup->job;
    const bool can = job->train.mode == TRAIN_SYNC && job->checkpoint.every_steps != 0;
    if (!can || random_below(&random, 3) != 0) { return; }
    job->checkpoint.best = coin(&random) ? BEST_LOSS : BEST_ACCURACY;
    job->evaluate.every_steps = job->checkpoint.every_steps * between(&random, 1, 3);
}

static void draw_world(struct sim_setup *setup, struct random *random)
{
    setup->one_host = random_below(random, 3) == 0;
    setup->zk_tick_ms = (uint32_t)between(random, 200, 1000);
    setup->agent_notice_us = (uint32_t)between(random, 500, 8000);
    /* Swarm testing: each kind of disturbance is absent from half of the runs. */
    struct zk_model_config *zk = &setup->zk;
    zk->servers = coin(random) ? 3 : 1;
    zk->tick_ms = setup->zk_tick_ms;
    zk->latency_us = (uint32_t)between(random, 200, 4000);
    zk->slow_per_mille = coin(random) ? (uint32_t)random_below(random, 50) : 0;
    zk->slow_us = (uint32_t)between(random, 10000, 900000);
    zk->lag_us = coin(random) ? mostly_small(random_below(random, 100000)) : 500;
    struct net_config *net = &setup->net;
    net->latency_us = (uint32_t)between(random, 1000, 15000);
    net->slow_per_mille =
        coin(random) ? (uint32_t)random_below(random, coin(random) ? 20 : 250) : 0;
    net->slow_us = (uint32_t)between(random, 20000, 700000);
    net->break_per_mille = coin(random) ? (uint32_t)random_below(random, 8) : 0;
    net->heartbeat_ms = (uint32_t)between(random, 100, 1000);
    struct disk_config *disk = &setup->disk;
    disk->write_ms = (uint32_t)between(random, 1, 120);
    disk->fail_per_mille = random_below(random, 4) == 0 ? (uint32_t)random_below(random, 200) : 0;
    disk->damage_per_mille = random_below(random, 8) == 0 ? (uint32_t)random_below(random, 100) : 0;
}

/* One seed in five moves a ps to a host without its shards. Drawn from a stream of its own, so that
 * the other faults of a seed stay what they were. */
static void draw_move(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6d6f766500000000u};
    if (random_below(&random, 5) != 0 || setup->fault_count == FAULTS_MAX) { return; }
    setup->faults[setup->fault_count++] = (struct fault){
        .kind = FAULT_MOVE,
        .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
        .duration_ms = between(&random, 100, 4000),
        .target = (uint32_t)random_below(&random, 1000),
    };
}

/* Every third seed drains hosts, also several at once, half of them those with a ps. */
static void draw_drains(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x647261696e000000u};
    if (random_below(&random, 3) != 0) { return; }
    const struct job *job = &setup->job;
    for (uint64_t left = 1 + random_below(&random, 3); left > 0; left--) {
        if (setup->fault_count == FAULTS_MAX) { return; }
        bool ps = random_below(&random, 2) == 0;
        uint32_t first = job->cluster.coordinators;
        setup->faults[setup->fault_count++] = (struct fault){
            .kind = FAULT_DRAIN,
            .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
            .duration_ms = between(&random, 10, 3000),
            .target = ps ? first + (uint32_t)random_below(&random, job->cluster.ps)
                         : (uint32_t)random_below(&random, 1000),
        };
    }
}

/* In one seed of three another program deletes or damages znodes; from a stream of its own, too. */
static void draw_foreign(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x666f726500000000u};
    if (random_below(&random, 3) != 0) { return; }
    uint64_t count = between(&random, 1, 4);
    for (uint64_t i = 0; i < count && setup->fault_count < FAULTS_MAX; i++) {
        setup->faults[setup->fault_count++] = (struct fault){
            .kind = random_below(&random, 3) == 0 ? FAULT_REPLACE : FAULT_DELETE,
            .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
            .target = (uint32_t)random_below(&random, 1000),
            .other = (uint32_t)random_below(&random, 1000),
        };
    }
}

/* In one seed of six another program makes znodes read-only. */
static void draw_read_only(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6c6f636b00000000u};
    if (random_below(&random, 6) != 0) { return; }
    for (uint64_t left = between(&random, 1, 3); left > 0; left--) {
        if (setup->fault_count == FAULTS_MAX) { return; }
        setup->faults[setup->fault_count++] = (struct fault){
            .kind = FAULT_READ_ONLY,
            .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
            .duration_ms = between(&random, 10, 3000),
            .target = (uint32_t)random_below(&random, 1000),
            .other = (uint32_t)random_below(&random, 1000),
            .both_ways = coin(&random),
        };
    }
}

/* In one seed of six a worker starts with other data; not where /run and with it the inputs of the
 * run may be lost. */
static void draw_other_inputs(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6f74686572000000u};
    if (random_below(&random, 6) != 0 || setup->fault_count == FAULTS_MAX) { return; }
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        enum fault_kind kind = setup->faults[i].kind;
        if (kind == FAULT_WIPE || kind == FAULT_DELETE || kind == FAULT_REPLACE) { return; }
    }
    const struct job *job = &setup->job;
    setup->faults[setup->fault_count++] = (struct fault){
        .kind = FAULT_OTHER_INPUTS,
        .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
        .target = job->cluster.coordinators + job->cluster.ps +
                  (uint32_t)random_below(&random, job->cluster.workers),
    };
}

/* In three of four seeds agents keep the memory of ps, and in half of these updates are torn. */
static void draw_kept(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6b65707400000000u};
    setup->keeps_memory = random_below(&random, 4) != 0;
    if (!setup->keeps_memory || coin(&random)) { return; }
    for (uint64_t left = between(&random, 1, 4); left > 0; left--) {
        if (setup->fault_count == FAULTS_MAX) { return; }
        setup->faults[setup->fault_count++] = (struct fault){
            .kind = FAULT_TEAR,
            .at_ms = between(&random, SIM_FAULTS_FROM_MS, setup->faults_until_ms),
            .target = (uint32_t)random_below(&random, 1000),
            .other = (uint32_t)random_below(&random, 1000),
        };
    }
}

/* In half of the seeds, pushes and values travel in chunks. A shard has at least 16 floats. */
static void draw_chunks(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6368756e6b000000u};
    static const uint32_t bytes[] = {0, 0, 0, 64, 64, 128};
    setup->net.chunk_bytes = bytes[random_below(&random, 6)];
}

/* In half of the seeds, workers use values in memory that they share with the ps. */
static void draw_lanes(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6c616e6573000000u};
    setup->net.lanes = coin(&random);
}

/* Where ps and workers share memory, a ps lends its values in three of four seeds: few at a time in
 * most, so that others are copied, and some are read for long. */
static void draw_loans(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x6c6f616e73000000u};
    static const uint32_t slots[] = {2, 4, 8, LOAN_SLOTS_MAX};
    static const uint64_t longer_us[] = {0, 20000, 500000, 5000000};
    setup->net.lends = random_below(&random, 4) != 0;
    setup->net.loan_slots = slots[random_below(&random, 4)];
    setup->net.read_longer_us = longer_us[random_below(&random, 4)];
}

/* In one seed of four computing takes time, on some hosts several times as much as on others. */
static void draw_speeds(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x7370656564000000u};
    if (random_below(&random, 4) != 0) { return; }
    const uint64_t slice_us = between(&random, 100, 4000);
    for (uint32_t w = 0; w < setup->job.cluster.workers; w++) {
        setup->slice_us[w] = slice_us * (coin(&random) ? 1 : between(&random, 2, 8));
    }
}

void sim_setup_draw(struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x7a6e697374000000u};
    memset(setup, 0, sizeof *setup);
    draw_job(setup, &random);
    draw_optimizer(setup, seed);
    draw_best(setup, seed);
    draw_early_stop(&setup->job, seed);
    draw_evaluator(setup, seed);
    draw_rate_changes(setup, seed);
    draw_world(setup, &random);
    draw_chunks(setup, seed);
    draw_lanes(setup, seed);
    draw_loans(setup, seed);
    draw_speeds(setup, seed);
    setup->faults_until_ms = between(&random, 2000, 12000);
    uint32_t allowed = (uint32_t)random_next(&random) & ((1u << FAULT_DRAWN) - 1);
    allowed |= 1u << FAULT_KILL;
    uint32_t count = (uint32_t)random_below(&random, 24);
    setup->fault_count =
        faults_draw(&random, count, SIM_FAULTS_FROM_MS, setup->faults_until_ms, allowed,
                    setup->job.zookeeper.session_timeout_ms, setup->faults);
    draw_move(setup, seed);
    draw_drains(setup, seed);
    draw_foreign(setup, seed);
    draw_read_only(setup, seed);
    draw_other_inputs(setup, seed);
    draw_kept(setup, seed);
}
