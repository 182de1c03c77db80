#include "tests/sim/scenarios.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/strategy.h"

enum {
    COORDINATORS = 2,
    PARAMETER_SERVERS = 2,
    WORKERS = 2,
    STEPS = 250,
    LATENCY_MIN_US = 5000, /* Every run lasts longer than the faults. */
    FIRST_PS = COORDINATORS,
    FIRST_WORKER = COORDINATORS + PARAMETER_SERVERS,
    FIRST_EVALUATOR = FIRST_WORKER + WORKERS,
    SLOW_WORKER = 1,
    SLOW_SLICES = 8,
    EVALUATED_MIN = 3, /* A run has at least 31 checkpoints. */
};

static uint64_t between(struct random *random, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + random_below(random, high - low + 1);
}

static struct fault *add(struct sim_setup *setup, enum fault_kind kind, uint64_t at_ms,
                         uint32_t task)
{
    assert(setup->fault_count < FAULTS_MAX);
    struct fault *fault = &setup->faults[setup->fault_count++];
    *fault = (struct fault){.kind = kind, .at_ms = at_ms, .target = task};
    return fault;
}

/* The host of the first ps is drained while the cluster trains. Returns the time of a second fault,
 * between the request and the end of the drain. */
static uint64_t add_drain(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = between(random, 500, 1500);
    add(setup, FAULT_DRAIN, at_ms, FIRST_PS)->duration_ms = between(random, 10, 1500);
    return at_ms + random_below(random, 500);
}

static void drain(struct sim_setup *setup, struct random *random)
{
    (void)add_drain(setup, random);
}

static void drain_worker_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    add(setup, FAULT_KILL, at_ms, FIRST_WORKER + (uint32_t)random_below(random, WORKERS));
}

static void drain_other_ps_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    add(setup, FAULT_KILL, at_ms, FIRST_PS + 1);
}

static void drain_ps_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    add(setup, FAULT_KILL, at_ms, FIRST_PS);
}

/* Whichever coordinator is the chief. */
static void drain_chief_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    for (uint32_t i = 0; i < COORDINATORS; i++) { add(setup, FAULT_KILL, at_ms, i); }
}

static void other_inputs(struct sim_setup *setup, struct random *random)
{
    uint32_t worker = FIRST_WORKER + (uint32_t)random_below(random, WORKERS);
    add(setup, FAULT_OTHER_INPUTS, between(random, 500, 1500), worker);
}

/* The worker joins while training waits at the gate of a drain, or loads. */
static void drain_other_inputs(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    add(setup, FAULT_OTHER_INPUTS, at_ms, FIRST_WORKER + (uint32_t)random_below(random, WORKERS));
}

/* After a wipe the chief raises its epoch; another program has made /chief read-only by then. */
static void wipe_read_only_chief(struct sim_setup *setup, struct random *random)
{
    enum { LOCKS = 60, APART_MS = 25, CHIEF = 1 /* In sim_foreign.c. */ };
    uint64_t at_ms = between(random, 1500, 2000), down_ms = between(random, 100, 500);
    add(setup, FAULT_WIPE, at_ms, 0)->duration_ms = down_ms;
    for (uint64_t i = 0; i < LOCKS; i++) {
        add(setup, FAULT_READ_ONLY, at_ms + down_ms + i * APART_MS, CHIEF);
    }
}

/* Another program deletes /run, and the chief dies: its successor remembers an older /run. Which
 * coordinator is the chief is not known, so each dies once. */
static void run_lost_chief_dies(struct sim_setup *setup, struct random *random)
{
    enum { RUN = 1 /* In sim_foreign.c. */ };
    setup->zk.lag_us = 500000;
    setup->job.checkpoint.every_steps = between(random, 5, 10);
    for (uint32_t i = 0; i < COORDINATORS; i++) {
        uint64_t at_ms = between(random, 1500, 2500) + i * UINT64_C(3000);
        add(setup, FAULT_DELETE, at_ms, RUN);
        add(setup, FAULT_KILL, at_ms, i);
    }
}

/* Workers hold all values; two to four of them. */
static void without_ps(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.learning_rate = 0.0625;
    job->strategy.type = STRATEGY_TYPE_MIRROR;
    job->checkpoint.best = BEST_NONE;
    job->cluster.workers = (uint32_t)between(random, 2, 4);
    strategy_settle(job);
}

/* The ps need each other's parts of norms at every step. */
static void need_norms(struct sim_setup *setup)
{
    struct job *job = &setup->job;
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.optimizer = OPTIMIZER_MOMENTUM;
    job->train.learning_rate = 0.0625;
    job->train.clip_norm = 0.01;
}

/* The connections of both ps break, again and again. */
static void norms_reset(struct sim_setup *setup, struct random *random)
{
    enum { RESETS = 40 };
    need_norms(setup);
    for (uint32_t i = 0; i < RESETS; i++) {
        uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
        add(setup, FAULT_RESET, between(random, 500, 3000), ps);
    }
}

static void norms_ps_dies(struct sim_setup *setup, struct random *random)
{
    need_norms(setup);
    uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
    add(setup, FAULT_KILL, between(random, 500, 2000), ps);
}

/* A run that stops before its last step, whatever dies: the checker knows the step. */
static void early_stop(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    const struct job_schedule constant = {.type = SCHEDULE_CONSTANT};
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.optimizer = OPTIMIZER_SGD;
    job->train.learning_rate = 1; /* The loss is least about step 80. */
    job->train.schedule = constant;
    job->train.decay_steps = job->train.before_count = job->train.rule_count = 0;
    job->train.clip_norm = job->train.clip_value = job->train.ema = 0;
    job->checkpoint.best = BEST_NONE;
    job->evaluate.every_steps = between(random, 3, 6);
    job->train.stop_patience = between(random, 3, 8);
    job->checkpoint.every_steps = between(random, 3, 10);
    job->train.stop_metric = random_below(random, 2) == 0 ? METRIC_LOSS : METRIC_ACCURACY;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        add(setup, FAULT_KILL, between(random, 500, 4000), task);
    }
}

/* Async: an operator stops the run, and the nodes read of it at different times, so that a worker
 * may push beyond the end. */
static void stop_async(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    setup->ledger = true;
    job->train.mode = TRAIN_ASYNC;
    job->train.optimizer = OPTIMIZER_SGD; /* The counts of the ledger are exact. */
    job->train.learning_rate = job->train.batch;
    job->train.slices = 8;
    job->train.max_staleness = STALENESS_FREE;
    job->train.schedule = (struct job_schedule){.type = SCHEDULE_CONSTANT};
    job->train.decay_steps = job->train.before_count = job->train.rule_count = 0;
    job->train.clip_norm = job->train.clip_value = job->train.ema = 0;
    setup->zk.lag_us = (uint32_t)between(random, 500, 200000);
    if (random_below(random, 2) == 0) {
        const uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        add(setup, FAULT_KILL, between(random, 500, 2500), task);
    }
    add(setup, FAULT_STOP, between(random, 1000, 2500), 0);
}

/* An evaluator, which dies like its chief and a ps. Only the newest checkpoint is kept besides
 * those that are needed. */
static void evaluator(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    job->cluster.evaluators = 1;
    job->evaluate.every_steps = job->train.stop_patience = 0;
    job->checkpoint.every_steps = between(random, 3, 8);
    job->checkpoint.every_seconds = 0;
    job->checkpoint.keep = 1;
    job->checkpoint.best = random_below(random, 2) == 0 ? BEST_LOSS : BEST_ACCURACY;
    setup->disk.write_ms = u32_min(setup->disk.write_ms, 20);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t tasks[] = {FIRST_EVALUATOR, FIRST_EVALUATOR, FIRST_PS, 0};
        const uint32_t task = tasks[random_below(random, 4)];
        add(setup, FAULT_KILL, between(random, 500, 4000), task);
    }
}

/* Ps die in the middle of updates and between them, both at once, and the chief and workers with
 * them; but their agents do not, so nothing is loaded again. */
static void warm(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    setup->ledger = false;
    setup->keeps_memory = true;
    job->train.mode = TRAIN_SYNC;
    job->train.clip_norm = 0;
    job->train.rule_count = job->train.before_count = 0;
    job->train.optimizer = random_below(random, 2) == 0 ? OPTIMIZER_MOMENTUM : OPTIMIZER_ADAM;
    job->train.learning_rate = job->train.optimizer == OPTIMIZER_ADAM ? 0.01 : 0.0625;
    for (uint32_t i = 0; i < 12; i++) {
        const bool tears = random_below(random, 2) == 0;
        const uint32_t ps = (uint32_t)random_below(random, PARAMETER_SERVERS);
        const uint64_t at_ms = between(random, 800, 6000);
        add(setup, tears ? FAULT_TEAR : FAULT_KILL, at_ms, tears ? ps : FIRST_PS + ps)->other =
            (uint32_t)random_below(random, 1000);
        const uint32_t other = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        if (random_below(random, 3) != 0) { continue; }
        add(setup, FAULT_KILL, at_ms + random_below(random, 60), other);
    }
}

/* The model has tables: ps, workers and chiefs die between steps and saves. */
static void tables(struct sim_setup *setup, struct random *random)
{
    setup->ledger = false;
    setup->job.train.learning_rate = 0.0625;
    setup->job.train.optimizer = OPTIMIZER_MOMENTUM;
    setup->job.train.rule_count = setup->job.train.before_count = 0;
    sim_rows_job(&setup->job, random_below(random, 2) == 0 ? "train.table_optimizer=row_adagrad"
                                                           : "train.table_optimizer=lazy_adam");
    setup->job.evaluate.every_steps = between(random, 5, 30);
    setup->job.checkpoint.every_steps = between(random, 4, 20);
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        add(setup, FAULT_KILL, between(random, 800, 6000), task);
    }
}

/* One worker needs several times as long for a slice as the other one, which dies in half of the
 * seeds. */
static void slow_worker(struct sim_setup *setup, struct random *random)
{
    const uint64_t slice_us = between(random, 1000, 3000);
    setup->job.train.slices = SLOW_SLICES;
    setup->slice_us[0] = slice_us;
    setup->slice_us[SLOW_WORKER] = slice_us * between(random, 4, 8);
    if (random_below(random, 2) == 0) { return; }
    add(setup, FAULT_KILL, between(random, 500, 6000), FIRST_WORKER);
}

/* ------------------------------------------------------------------ verdicts */

static const char *no_step_is_lost(const struct sim_cluster *cluster)
{
    if (cluster->drains_late > 0) { return "a host was not drained in good order"; }
    return cluster->checker.steps_redone > 0 ? "steps were redone" : NULL;
}

/* The steps since the last checkpoint are lost with the other ps; the drain does not wait for its
 * deadline. */
static const char *ends_in_good_order(const struct sim_cluster *cluster)
{
    return cluster->drains_late > 0 ? "a host was not drained in good order" : NULL;
}

/* The rules of the checker are all that must hold. */
static const char *accept(const struct sim_cluster *cluster)
{
    return cluster->checker.loads < 2 ? "the ps did not load again" : NULL;
}

static const char *keeps_the_rules(const struct sim_cluster *cluster)
{
    return cluster->checker.done ? NULL : "the run is not done";
}

static const char *rows_are_sent(const struct sim_cluster *cluster)
{
    return cluster->rows_checked == 0 ? "no rows were sent" : NULL;
}

static const char *nothing_is_loaded_again(const struct sim_cluster *cluster)
{
    uint64_t found = 0;
    for (uint32_t t = 0; t < cluster->task_count; t++) { found += cluster->kept[t].found; }
    if (found == 0) { return "no ps found the state of a former one"; }
    if (cluster->checker.loads > 1) { return "the ps loaded again"; }
    return no_step_is_lost(cluster);
}

static const char *stops_early(const struct sim_cluster *cluster)
{
    const uint64_t step = cluster->checker.run.evaluation.step;
    return step >= STEPS ? "the run did not stop early" : NULL;
}

static const char *checkpoints_are_evaluated(const struct sim_cluster *cluster)
{
    const struct checker *checker = &cluster->checker;
    return checker->evaluated < EVALUATED_MIN ? "few checkpoints were evaluated" : NULL;
}

/* At the end the slow worker owns few slices, and slices moved seldom: when the workers joined, at
 * the death and the return of one, and for speed. */
static const char *slow_worker_owns_few(const struct sim_cluster *cluster)
{
    enum { MOVES_MAX = 8 };
    char path[256];
    struct assignment assignment;
    uint32_t slow = 0;
    znode_path(path, cluster->setup.job.name, "assignment");
    const struct zk_node *znode = zk_tree_find(zk_model_tree(cluster->zk), path);
    if (znode == NULL || znode->blob == NULL ||
        assignment_decode(znode->blob->data, znode->blob->size, &assignment, NULL) != TN_OK) {
        return "/assignment cannot be read";
    }
    for (uint32_t v = 0; v < assignment.slice_count; v++) {
        slow += assignment.worker[v] == SLOW_WORKER;
    }
    if (slow > SLOW_SLICES / 4) { return "the slow worker owns too many slices"; }
    return znode->stat.version > MOVES_MAX ? "slices moved too often" : no_step_is_lost(cluster);
}

static const char *worker_is_refused(const struct sim_cluster *cluster)
{
    if (cluster->others_started == 0) { return "no worker with other inputs was started"; }
    if (cluster->others_refused != cluster->others_started) {
        return "a worker with other inputs was not refused";
    }
    return no_step_is_lost(cluster);
}

/* Without ps: whatever stops or separates nodes. */
static void mirror(struct sim_setup *setup, struct random *random)
{
    enum {
        KINDS = 1 << FAULT_KILL | 1 << FAULT_CRASH_LOOP | 1 << FAULT_FREEZE | 1 << FAULT_AGENT |
                1 << FAULT_HOST | 1 << FAULT_EVERYTHING | 1 << FAULT_RESET | 1 << FAULT_CUT_PEERS |
                1 << FAULT_CUT_ZOOKEEPER | 1 << FAULT_DROP_SESSION | 1 << FAULT_SERVER |
                1 << FAULT_OUTAGE | 1 << FAULT_RESIGN | 1 << FAULT_HOLD,
    };
    without_ps(setup, random);
    setup->fault_count =
        faults_draw(random, (uint32_t)between(random, 1, 12), 500, setup->faults_until_ms, KINDS,
                    setup->job.zookeeper.session_timeout_ms, setup->faults);
}

/* Workers and coordinators are killed, but never the first worker: no step is made again. */
static void mirror_survivor(struct sim_setup *setup, struct random *random)
{
    without_ps(setup, random);
    for (uint64_t i = 0, kills = between(random, 1, 8); i < kills; i++) {
        const uint32_t task =
            (uint32_t)random_below(random, COORDINATORS + setup->job.cluster.workers - 1);
        add(setup, FAULT_KILL, between(random, 800, 6000), task < COORDINATORS ? task : task + 1);
    }
}

const struct scenario scenarios[SCENARIOS] = {
    {"drain", drain, no_step_is_lost},
    {"drain-worker-dies", drain_worker_dies, no_step_is_lost},
    {"drain-chief-dies", drain_chief_dies, no_step_is_lost},
    {"drain-other-ps-dies", drain_other_ps_dies, ends_in_good_order},
    {"drain-ps-dies", drain_ps_dies, accept},
    {"wipe-read-only-chief", wipe_read_only_chief, accept},
    {"run-lost-chief-dies", run_lost_chief_dies, accept},
    {"other-inputs", other_inputs, worker_is_refused},
    {"drain-other-inputs", drain_other_inputs, worker_is_refused},
    {"norms-reset", norms_reset, no_step_is_lost},
    {"norms-ps-dies", norms_ps_dies, accept},
    {"early-stop", early_stop, stops_early},
    {"stop-async", stop_async, stops_early},
    {"evaluator", evaluator, checkpoints_are_evaluated},
    {"warm", warm, nothing_is_loaded_again},
    {"tables", tables, rows_are_sent},
    {"slow-worker", slow_worker, slow_worker_owns_few},
    {"mirror", mirror, keeps_the_rules},
    {"mirror-survivor", mirror_survivor, no_step_is_lost},
};

/* ---------------------------------------------------------------------- setup */

/* The disturbances of the world that no fault causes. */
static void calm(struct sim_setup *setup)
{
    assert(setup->zk.servers > 0);
    setup->fault_count = 0;
    memset(setup->slice_us, 0, sizeof setup->slice_us);
    setup->faults_until_ms = 8000;
    setup->one_host = false;
    setup->zk.slow_per_mille = setup->net.slow_per_mille = setup->net.break_per_mille = 0;
    setup->zk.lag_us = 500;
    setup->net.latency_us = u32_max(setup->net.latency_us, LATENCY_MIN_US);
    setup->disk.fail_per_mille = setup->disk.damage_per_mille = 0;
}

void scenario_draw(const struct scenario *scenario, struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x7363656e00000000u};
    sim_setup_draw(setup, seed);
    calm(setup);
    struct job *job = &setup->job;
    job->train.steps = STEPS;
    job->train.stop_patience = 0;
    if (job->cluster.evaluators > 0) { job->checkpoint.best = BEST_NONE; }
    job->cluster.evaluators = 0;
    job->cluster.coordinators = COORDINATORS;
    job->cluster.ps = PARAMETER_SERVERS;
    job->cluster.workers = WORKERS;
    job->cluster.min_workers = 1;
    job->on_chief_failure = CHIEF_FAILURE_CONTINUE;
    scenario->draw(setup, &random);
}
