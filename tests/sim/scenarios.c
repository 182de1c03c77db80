#include "tests/sim/scenarios.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/live_commands.h"
#include "tests/sim/live_scenarios.h"
#include "tests/sim/scenario_async.h"
#include "tests/sim/scenario_commands.h"
#include "tests/sim/scenario_draw.h"
#include "tests/sim/scenario_group.h"
#include "tests/sim/scenario_membership.h"
#include "tests/sim/scenario_straggler.h"
#include "tests/sim/scenario_verdicts.h"

enum {
    PARAMETER_SERVERS = 2,
    WORKERS = 2,
    LATENCY_MIN_US = 5000, /* Every run lasts longer than the faults. */
    FIRST_PS = SCENARIO_COORDINATORS,
    FIRST_WORKER = SCENARIO_COORDINATORS + PARAMETER_SERVERS,
    FIRST_EVALUATOR = FIRST_WORKER + WORKERS,
};

/* The host of the first ps is drained while the cluster trains. Returns the time of a second fault,
 * between the request and the end of the drain. */
static uint64_t add_drain(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = scenario_between(random, 500, 1500);
    scenario_add(setup, FAULT_DRAIN, at_ms, FIRST_PS)->duration_ms =
        scenario_between(random, 10, 1500);
    return at_ms + random_below(random, 500);
}

static void drain(struct sim_setup *setup, struct random *random)
{
    (void)add_drain(setup, random);
}

static void drain_worker_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    scenario_add(setup, FAULT_KILL, at_ms, FIRST_WORKER + (uint32_t)random_below(random, WORKERS));
}

static void drain_other_ps_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    scenario_add(setup, FAULT_KILL, at_ms, FIRST_PS + 1);
}

static void drain_ps_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    scenario_add(setup, FAULT_KILL, at_ms, FIRST_PS);
}

/* Whichever coordinator is the chief. */
static void drain_chief_dies(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        scenario_add(setup, FAULT_KILL, at_ms, i);
    }
}

static void other_inputs(struct sim_setup *setup, struct random *random)
{
    uint32_t worker = FIRST_WORKER + (uint32_t)random_below(random, WORKERS);
    scenario_add(setup, FAULT_OTHER_INPUTS, scenario_between(random, 500, 1500), worker);
}

/* The worker joins while training waits at the gate of a drain, or loads. */
static void drain_other_inputs(struct sim_setup *setup, struct random *random)
{
    uint64_t at_ms = add_drain(setup, random);
    scenario_add(setup, FAULT_OTHER_INPUTS, at_ms,
                 FIRST_WORKER + (uint32_t)random_below(random, WORKERS));
}

/* After a wipe the chief raises its epoch; another program has made /chief read-only by then. */
static void wipe_read_only_chief(struct sim_setup *setup, struct random *random)
{
    enum { LOCKS = 60, APART_MS = 25, CHIEF = 1 /* In sim_foreign.c. */ };
    uint64_t at_ms = scenario_between(random, 1500, 2000),
             down_ms = scenario_between(random, 100, 500);
    scenario_add(setup, FAULT_WIPE, at_ms, 0)->duration_ms = down_ms;
    for (uint64_t i = 0; i < LOCKS; i++) {
        scenario_add(setup, FAULT_READ_ONLY, at_ms + down_ms + i * APART_MS, CHIEF);
    }
}

/* Another program deletes /run, and the chief dies: its successor remembers an older /run. Which
 * coordinator is the chief is not known, so each dies once. */
static void run_lost_chief_dies(struct sim_setup *setup, struct random *random)
{
    enum { RUN = 1 /* In sim_foreign.c. */ };
    setup->zk.lag_us = 500000;
    setup->job.checkpoint.every_steps = scenario_between(random, 5, 10);
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        uint64_t at_ms = scenario_between(random, 1500, 2500) + i * UINT64_C(3000);
        scenario_add(setup, FAULT_DELETE, at_ms, RUN);
        scenario_add(setup, FAULT_KILL, at_ms, i);
    }
}

/* Another program deletes the manifests, /run and /chief, or everything, again and again: chiefs
 * end before a disk has the manifest of the newest checkpoint. */
static void deleted_again(struct sim_setup *setup, struct random *random)
{
    enum { TIMES = 12, CHIEF = 0, RUN = 1, CHECKPOINTS = 6, ALL = 12 }; /* In sim_foreign.c. */
    const uint32_t names[] = {CHECKPOINTS, RUN, CHIEF};
    setup->job.checkpoint.every_steps = scenario_between(random, 2, 5);
    uint64_t at_ms = scenario_between(random, 1500, 2500);
    for (uint32_t i = 0; i < TIMES; i++) {
        at_ms += scenario_between(random, 1, random_below(random, 2) == 0 ? 60 : 2000);
        const bool all = random_below(random, 4) == 0;
        for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
            scenario_add(setup, FAULT_DELETE, at_ms, all ? ALL : names[name]);
        }
    }
}

/* Another program deletes /spec, and the chief dies before it can restore it: its successor has
 * never read it. */
static void spec_lost_chief_dies(struct sim_setup *setup, struct random *random)
{
    enum { SPEC = 9 /* In sim_foreign.c. */ };
    setup->zk.lag_us = 500000;
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        const uint64_t at_ms = scenario_between(random, 1500, 2500) + i * UINT64_C(1500);
        scenario_add(setup, FAULT_DELETE, at_ms, SPEC);
        scenario_add(setup, FAULT_KILL, at_ms, i);
    }
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
    job->train.rule_count = 0; /* Its optimizer may be lamb, which no job has with clip_norm. */
}

/* The connections of both ps break, again and again. */
static void norms_reset(struct sim_setup *setup, struct random *random)
{
    enum { RESETS = 40 };
    need_norms(setup);
    for (uint32_t i = 0; i < RESETS; i++) {
        uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
        scenario_add(setup, FAULT_RESET, scenario_between(random, 500, 3000), ps);
    }
}

static void norms_ps_dies(struct sim_setup *setup, struct random *random)
{
    need_norms(setup);
    uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
    scenario_add(setup, FAULT_KILL, scenario_between(random, 500, 2000), ps);
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
    job->evaluate.every_steps = scenario_between(random, 3, 6);
    job->train.stop_patience = scenario_between(random, 3, 8);
    job->checkpoint.every_steps = scenario_between(random, 3, 10);
    job->train.stop_metric = random_below(random, 2) == 0 ? METRIC_LOSS : METRIC_ACCURACY;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 500, 4000), task);
    }
}

/* An evaluator, which dies like its chief and a ps. Only the newest checkpoint is kept besides
 * those that are needed. */
static void evaluator(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    job->cluster.evaluators = 1;
    job->evaluate.every_steps = job->train.stop_patience = 0;
    job->checkpoint.every_steps = scenario_between(random, 3, 8);
    job->checkpoint.every_seconds = 0;
    job->checkpoint.keep = 1;
    job->checkpoint.best = random_below(random, 2) == 0 ? BEST_LOSS : BEST_ACCURACY;
    setup->disk.write_ms = u32_min(setup->disk.write_ms, 20);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t tasks[] = {FIRST_EVALUATOR, FIRST_EVALUATOR, FIRST_PS, 0};
        const uint32_t task = tasks[random_below(random, 4)];
        scenario_add(setup, FAULT_KILL, scenario_between(random, 500, 4000), task);
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
        const uint64_t at_ms = scenario_between(random, 800, 6000);
        scenario_add(setup, tears ? FAULT_TEAR : FAULT_KILL, at_ms, tears ? ps : FIRST_PS + ps)
            ->other = (uint32_t)random_below(random, 1000);
        const uint32_t other = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        if (random_below(random, 3) != 0) { continue; }
        scenario_add(setup, FAULT_KILL, at_ms + random_below(random, 60), other);
    }
}

void scenario_set_tables(struct sim_setup *setup, struct random *random)
{
    setup->ledger = false;
    setup->job.train.learning_rate = 0.0625;
    setup->job.train.optimizer = OPTIMIZER_MOMENTUM;
    setup->job.train.rule_count = setup->job.train.before_count = 0;
    sim_rows_job(&setup->job, random_below(random, 2) == 0 ? "train.table_optimizer=row_adagrad"
                                                           : "train.table_optimizer=lazy_adam");
    setup->shares_rows = sim_rows_are_shared(&setup->job);
    setup->job.evaluate.every_steps = scenario_between(random, 1, 20);
    setup->job.checkpoint.every_steps = scenario_between(random, 4, 20);
}

/* A checkpoint is written for about as long as training takes to the next one, which is therefore
 * often ordered after its step, and often skipped. */
static void save_late(struct sim_setup *setup, struct random *random)
{
    enum { MESSAGES = 4 /* A step waits for this number of messages, one after the other. */ };
    const uint64_t every = scenario_between(random, 3, 6);
    const uint64_t apart_us = every * MESSAGES * setup->net.latency_us;
    setup->job.checkpoint.every_steps = every;
    setup->disk.write_ms = (uint32_t)(apart_us * scenario_between(random, 8, 16) / 10 / 1000);
}

/* The model has tables: ps, workers and chiefs die between steps and late saves. In half of the
 * seeds nothing is kept for ps that were killed; in the others agents of ps die later, so that
 * files are loaded whose rows were saved after a restart that found them in memory. */
static void tables(struct sim_setup *setup, struct random *random)
{
    scenario_set_tables(setup, random);
    save_late(setup, random);
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + WORKERS);
        scenario_add(setup, FAULT_KILL, scenario_between(random, 800, 6000), task);
    }
    setup->keeps_memory = random_below(random, 2) == 0;
    for (uint32_t i = 0; i < 4 && setup->keeps_memory; i++) {
        const uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
        const uint64_t at_ms = scenario_between(random, 1500, 7000);
        scenario_add(setup, FAULT_KILL, at_ms, ps);
        scenario_add(setup, FAULT_AGENT, at_ms + scenario_between(random, 300, 800), ps)
            ->duration_ms = 200;
    }
}

/* The same with kept memory: their rows are not loaded again. */
static void warm_tables(struct sim_setup *setup, struct random *random)
{
    warm(setup, random);
    scenario_set_tables(setup, random);
}

/* Until the first checkpoint is due, no coordinator runs, so the order for it comes late: ps die
 * behind its step, and continue from kept memory before they save it. Then agents of ps die, so
 * that files are loaded which continue those of the first save. */
static void warm_load(struct sim_setup *setup, struct random *random)
{
    enum { KILLS = 6, LOADS = 3 };
    scenario_set_tables(setup, random);
    setup->keeps_memory = true;
    setup->job.checkpoint.every_seconds = 1000; /* A multiple is then ordered when it is near. */
    setup->job.checkpoint.every_steps = scenario_between(random, 8, 20);
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        scenario_add(setup, FAULT_AGENT, scenario_between(random, 400, 600), i)->duration_ms =
            scenario_between(random, 1000, 2500);
    }
    for (uint32_t i = 0; i < KILLS; i++) {
        const bool tears = random_below(random, 4) == 0;
        const uint32_t ps = (uint32_t)random_below(random, PARAMETER_SERVERS);
        const uint64_t at_ms = scenario_between(random, 800, 3500);
        scenario_add(setup, tears ? FAULT_TEAR : FAULT_KILL, at_ms, tears ? ps : FIRST_PS + ps)
            ->other = (uint32_t)random_below(random, 1000);
    }
    for (uint32_t i = 0; i < LOADS; i++) {
        const uint32_t ps = FIRST_PS + (uint32_t)random_below(random, PARAMETER_SERVERS);
        const uint64_t at_ms = scenario_between(random, 3500, 7000);
        scenario_add(setup, FAULT_AGENT, at_ms, ps)->duration_ms = 200;
    }
}

/* Each checkpoint may be the best one, so none may be skipped, though ps die while they write. */
static void best(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    if (random_below(random, 2) == 0) {
        warm_tables(setup, random);
    } else {
        warm(setup, random);
    }
    save_late(setup, random);
    job->checkpoint.every_seconds = 0;
    job->evaluate.every_steps = job->checkpoint.every_steps;
    job->checkpoint.best = random_below(random, 2) == 0 ? BEST_LOSS : BEST_ACCURACY;
}

/* One worker needs several times as long for a slice as the other one, which dies in half of the
 * seeds. Enough steps follow to measure it again. Without evaluations, because a worker that
 * evaluates while slice 0 moves to another one may be late (C23). */
static void slow_worker(struct sim_setup *setup, struct random *random)
{
    const uint64_t slice_us = scenario_between(random, 1000, 3000);
    setup->job.train.steps = 2 * SCENARIO_STEPS;
    setup->job.train.slices = SLOW_SLICES;
    setup->job.evaluate.every_steps = 0;
    setup->job.checkpoint.best = BEST_NONE;
    setup->slice_us[0] = slice_us;
    setup->slice_us[SLOW_WORKER] = slice_us * scenario_between(random, 4, 8);
    if (random_below(random, 2) == 0) { return; }
    scenario_add(setup, FAULT_KILL, scenario_between(random, 500, 6000), FIRST_WORKER);
}

const struct scenario scenarios[SCENARIOS] = {
    {"drain", drain, no_step_is_lost},
    {"drain-worker-dies", drain_worker_dies, no_step_is_lost},
    {"drain-chief-dies", drain_chief_dies, no_step_is_lost},
    {"drain-other-ps-dies", drain_other_ps_dies, ends_in_good_order},
    {"drain-ps-dies", drain_ps_dies, loads_again},
    {"wipe-read-only-chief", wipe_read_only_chief, loads_again},
    {"run-lost-chief-dies", run_lost_chief_dies, loads_again},
    {"spec-lost-chief-dies", spec_lost_chief_dies, spec_exists},
    {"deleted-again", deleted_again, loses_no_checkpoint},
    {"other-inputs", other_inputs, worker_is_refused},
    {"drain-other-inputs", drain_other_inputs, worker_is_refused},
    {"norms-reset", norms_reset, no_step_is_lost},
    {"norms-ps-dies", norms_ps_dies, loads_again},
    {"early-stop", early_stop, stops_early},
    {"stop-async", scenario_stop_async, stops_early},
    {"evaluator", evaluator, checkpoints_are_evaluated},
    {"warm", warm, nothing_is_loaded_again},
    {"tables", tables, rows_are_sent},
    {"warm-tables", warm_tables, rows_are_kept},
    {"warm-load", warm_load, kept_rows_are_loaded},
    {"best", best, no_checkpoint_is_skipped},
    {"async-tables", scenario_async_tables, rows_are_sent},
    {"async-counts", scenario_async_counts, rows_are_sent},
    {"async-drain", scenario_async_drain, keeps_the_rules},
    {"resize", scenario_resize, is_resized},
    {"move-rows", scenario_move_rows, is_resized},
    {"switch-strategy", scenario_switch_strategy, is_resized},
    {"slow-worker", slow_worker, slow_worker_owns_few},
    {"straggler", scenario_straggler, straggler_is_left_behind},
    {"mirror", scenario_mirror, keeps_the_rules},
    {"mirror-survivor", scenario_mirror_survivor, no_step_is_lost},
    {"mirror-keep-none", scenario_mirror_keep_none, no_step_is_lost},
    {"mirror-stop", scenario_mirror_stop, is_stopped},
    {"mirror-drain-stop", scenario_mirror_drain_stop, is_stopped_in_order},
    {"mirror-drain-alone", scenario_mirror_drain_alone, no_step_is_lost},
    {"mirror-drain-paused", scenario_mirror_drain_paused, commands_are_carried_out},
    {"sharded", scenario_sharded, keeps_the_rules},
    {"mirror-straggler", scenario_mirror_straggler, straggler_is_left_behind},
    {"group", scenario_group, keeps_the_rules},
    {"group-kills", scenario_group_kills, no_step_is_lost},
    {"group-lost", scenario_group_lost, group_is_left_behind},
    {"group-mirror", scenario_group_mirror, keeps_the_rules},
    {"group-mirror-survivor", scenario_group_mirror_survivor, no_step_is_lost},
    {"group-mirror-lost", scenario_group_mirror_lost, group_is_left_behind},
    {"group-mirror-drain", scenario_group_mirror_drain, commands_are_carried_out},
    {"commands", scenario_commands, commands_are_carried_out},
    {"scale", scenario_scale, no_step_is_lost},
    {"scale-ps", scenario_scale_ps, is_scaled},
    {"scale-to-an-empty-worker", scenario_scale_to_an_empty_worker, is_scaled},
    {"live-resize", live_resize, is_changed},
    {"live-balance", live_balance, is_changed},
    {"live-switch", live_switch, is_changed},
    {"live-workers", live_workers, is_changed},
    {"live-survivor", live_survivor, is_changed},
    {"live-requests", live_requests, requests_are_kept},
    {"live-sequence", live_sequence, is_sequence},
    {"live-stop", live_stop, is_stopped_live},
    {"live-faults", live_faults, answers_are_true},
    {"live-commands", live_commands, live_commands_are_obeyed},
};

/* ---------------------------------------------------------------------- setup */

/* Leave out the random failures and delays of a drawn setup: a scenario adds its own. */
static void disable_faults(struct sim_setup *setup)
{
    assert(setup->zk.servers > 0);
    setup->fault_count = 0;
    memset(setup->slice_us, 0, sizeof setup->slice_us);
    setup->faults_until_ms = 8000;
    setup->one_host = setup->live = false;
    setup->zk.slow_per_mille = setup->net.slow_per_mille = setup->net.break_per_mille = 0;
    setup->zk.lag_us = 500;
    setup->net.latency_us = u32_max(setup->net.latency_us, LATENCY_MIN_US);
    setup->disk.fail_per_mille = setup->disk.damage_per_mille = 0;
}

static bool scales_by_norms(enum optimizer_kind optimizer)
{
    return optimizer == OPTIMIZER_LARS || optimizer == OPTIMIZER_LAMB;
}

/* LARS and LAMB change values by up to the learning rate times their norm, so values may grow by
 * this factor at each step, and are infinite after a few thousand steps: the more steps a scenario
 * has, the lower is the rate. Its product with SCENARIO_STEPS is the same as in seeds. */
static void limit_growth(struct job *job)
{
    const double most = 0.0625 * SCENARIO_STEPS / (double)job->train.steps;
    struct job_schedule *schedule = &job->train.schedule;
    bool scales = scales_by_norms(job->train.optimizer);
    for (uint32_t i = 0; i < job->train.rule_count; i++) {
        scales = scales || scales_by_norms(job->train.rules[i].optimizer);
    }
    if (!scales) { return; }
    job->train.learning_rate = fmin(job->train.learning_rate, most);
    for (uint32_t i = 0; i < schedule->rate_count; i++) {
        schedule->rates[i] = fmin(schedule->rates[i], most);
    }
}

void scenario_draw(const struct scenario *scenario, struct sim_setup *setup, uint64_t seed)
{
    struct random random = {.state = seed ^ 0x7363656e00000000u};
    sim_setup_draw(setup, seed);
    disable_faults(setup);
    struct job *job = &setup->job;
    job->train.steps = SCENARIO_STEPS;
    job->train.stop_patience = 0;
    if (job->cluster.evaluators > 0) { job->checkpoint.best = BEST_NONE; }
    job->cluster.evaluators = 0;
    job->cluster.coordinators = SCENARIO_COORDINATORS;
    job->cluster.ps = PARAMETER_SERVERS;
    job->cluster.workers = WORKERS;
    job->cluster.min_workers = 1;
    job->on_chief_failure = CHIEF_FAILURE_CONTINUE;
    scenario->draw(setup, &random);
    limit_growth(job);
}
