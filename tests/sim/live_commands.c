#include "tests/sim/live_commands.h"

#include <assert.h>

#include "tests/sim/live_scenarios.h"
#include "tests/sim/scenario_commands.h"
#include "tests/sim/scenario_draw.h"
#include "tests/sim/scenario_group.h"
#include "tests/sim/scenario_verdicts.h"

enum {
    PS_MOST = 4,
    FIRST_PS = SCENARIO_COORDINATORS,
    FIRST_WORKER = SCENARIO_COORDINATORS + PS_MOST,
    STEPS = 1500,
    GROUP_STEPS = 300,
    CHANGES_MAX = SIM_AUTHORS_MAX - 1, /* One more may come first. */
    COMMANDS_FROM_MS = 1000,
    COMMANDS_MS = 7000,    /* From the first command to the last one. */
    CLOSE_MS = 900,        /* A third of the commands follow another one so closely. */
    SCALE_LATE_MS = 20000, /* A request to scale has taken effect by then. */
};

/* The commands of a run as they are drawn. */
struct operators {
    struct random *random;
    uint64_t at_ms;
    bool gentle;      /* No step may be lost. */
    uint32_t unit;    /* The number of workers is a multiple of it. */
    uint32_t changes; /* That are left. */
};

/* As many workers as a group has members, or twice as many, are valid with each strategy. */
static uint32_t draw_workers(const struct sim_setup *setup, struct random *random, uint32_t unit)
{
    return unit * (uint32_t)scenario_between(random, 1, setup->workers_most / unit);
}

static void add_change(struct sim_setup *setup, struct operators *operators)
{
    struct random *random = operators->random;
    const bool has_range = setup->job.cluster.workers_least > 0;
    if (operators->changes == 0) { return; }
    operators->changes--;
    if (!has_range && random_below(random, 3) == 0) {
        scenario_add(setup, FAULT_WORKERS, operators->at_ms,
                     draw_workers(setup, random, operators->unit));
        return;
    }
    const bool has_ps = random_below(random, 3) != 0;
    struct fault *fault = scenario_add(setup, FAULT_CHANGE, operators->at_ms,
                                       has_ps ? (uint32_t)scenario_between(random, 1, PS_MOST) : 0);
    if (random_below(random, 6) == 0) { fault->duration_ms = scenario_between(random, 1, 1500); }
}

/* If no step may be lost, only coordinators and workers but the first one die. */
static void add_death(struct sim_setup *setup, struct operators *operators)
{
    struct random *random = operators->random;
    const uint32_t workers = setup->job.cluster.workers;
    if (operators->gentle) {
        const uint64_t task = random_below(random, SCENARIO_COORDINATORS + workers - 1);
        const bool is_worker = task >= SCENARIO_COORDINATORS;
        scenario_add(setup, FAULT_KILL, operators->at_ms,
                     (uint32_t)task + (is_worker ? PS_MOST + 1 : 0));
        return;
    }
    const uint32_t task = (uint32_t)random_below(random, FIRST_WORKER + workers);
    if (random_below(random, 2) == 0) {
        scenario_add(setup, FAULT_KILL, operators->at_ms, task);
    } else {
        scenario_add(setup, FAULT_FREEZE, operators->at_ms, task)->duration_ms =
            scenario_between(random, 10, 5000);
    }
}

static void add_request(struct sim_setup *setup, struct operators *operators)
{
    struct random *random = operators->random;
    const struct job *job = &setup->job;
    switch (random_below(random, 10)) {
    case 0:
        scenario_add(setup, FAULT_HOLD, operators->at_ms, 0)->duration_ms =
            scenario_between(random, 10, 3000);
        break;
    case 1: scenario_add(setup, FAULT_RESIGN, operators->at_ms, 0); break;
    case 2:
    case 3:
        scenario_add(setup, FAULT_DRAIN, operators->at_ms, 0)->duration_ms =
            scenario_between(random, 10, 2500);
        break;
    case 4:
        if (job->cluster.workers_least == 0) { break; }
        scenario_add(
            setup, FAULT_SCALE, operators->at_ms,
            (uint32_t)scenario_between(random, job->cluster.workers_least, job->cluster.workers));
        break;
    case 5:
    case 6: add_death(setup, operators); break;
    default: add_change(setup, operators);
    }
}

/* With ps, without, or in groups without ps, which a change may give up. */
static void draw_cluster(struct sim_setup *setup, struct operators *operators)
{
    enum { MOST = 5 };
    struct random *random = operators->random;
    struct job *job = &setup->job;
    const uint64_t kind = random_below(random, 4);
    live_on_one_host(setup, random, kind < 2);
    setup->workers_most = MOST;
    job->train.steps = STEPS;
    if (kind == 3) {
        scenario_groups_without_ps(setup, random);
        job->train.steps = GROUP_STEPS;
        job->train.learning_rate /= 32; /* A higher one diverges. */
        job->train.decay_steps = 0;
        job->train.before_count = 0;
        job->train.schedule = (struct job_schedule){.type = SCHEDULE_CONSTANT};
        operators->unit = job->strategy.members;
        setup->workers_most = job->cluster.workers;
    } else if (random_below(random, 2) == 0) {
        job->cluster.workers_least = 1;
    }
}

/* In half of the seeds with groups, changes to ps may be to groups with ps, most often the first
 * one. Each member has the layers behind those of the member before it, and a ps of its own, so
 * that the variables keep their order. From a stream of its own. */
static void ask_for_groups(struct sim_setup *setup, struct random random)
{
    static const char *const layers[] = {
        [2] = "model.layers=[{\"dense\": {\"units\": 6, \"activation\": \"tanh\"}, \"task\": 0}, "
              "{\"dropout\": 0.25, \"task\": 0}, {\"dense\": {\"units\": 5, \"activation\": "
              "\"relu\"}, \"task\": 1}, {\"dense\": 2, \"task\": 1}]",
        [3] = "model.layers=[{\"dense\": {\"units\": 6, \"activation\": \"tanh\"}, \"task\": 0}, "
              "{\"batch_norm\": {}, \"task\": 0}, {\"dense\": {\"units\": 5, \"activation\": "
              "\"relu\"}, \"task\": 1}, {\"dense\": 2, \"task\": 2}]",
    };
    struct job *job = &setup->job;
    struct error error;
    random.state ^= 0x67726f7570730000u;
    if (job->strategy.type != STRATEGY_TYPE_GROUP || random_below(&random, 2) == 0) { return; }
    const enum tn_status status = job_set(job, layers[job->strategy.members], &error);
    assert(status == TN_OK);
    job->train.clip_norm = 0; /* Norms need placement ranges. */
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        struct fault *fault = &setup->faults[i];
        if (fault->kind != FAULT_CHANGE || fault->target == 0) { continue; }
        fault->both_ways = random_below(&random, 2) == 0;
        if (fault->both_ways) { fault->target = job->strategy.members; }
    }
    if (random_below(&random, 4) == 0) { return; }
    const uint64_t first_ms = COMMANDS_FROM_MS - random_below(&random, CLOSE_MS / 2);
    scenario_add(setup, FAULT_CHANGE, first_ms, job->strategy.members)->both_ways = true;
}

void live_commands(struct sim_setup *setup, struct random *random)
{
    const struct random own = *random;
    struct operators operators = {.random = random, .unit = 1, .changes = CHANGES_MAX};
    draw_cluster(setup, &operators);
    operators.gentle = random_below(random, 2) == 0;
    for (uint64_t left = scenario_between(random, 5, 20); left > 0; left--) {
        const bool follows = operators.at_ms > 0 && random_below(random, 3) == 0;
        operators.at_ms = follows ? operators.at_ms + random_below(random, CLOSE_MS)
                                  : COMMANDS_FROM_MS + random_below(random, COMMANDS_MS);
        add_request(setup, &operators);
    }
    ask_for_groups(setup, own);
    setup->faults_until_ms = COMMANDS_FROM_MS + COMMANDS_MS + 4000;
    if (random_below(random, 4) != 0) { return; }
    scenario_add(setup, FAULT_STOP, COMMANDS_FROM_MS + random_below(random, COMMANDS_MS), 0);
}

/* ------------------------------------------------------------------- verdict */

static bool may_lose_steps(const struct sim_setup *setup)
{
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        const struct fault *fault = &setup->faults[i];
        const bool kills_values = fault->target >= FIRST_PS && fault->target <= FIRST_WORKER;
        if (fault->kind == FAULT_FREEZE || (fault->kind == FAULT_KILL && kills_values)) {
            return true;
        }
    }
    return false;
}

const char *live_commands_are_obeyed(const struct sim_cluster *cluster)
{
    const struct sim_live *live = &cluster->live;
    const char *wrong = answers_are_true(cluster);
    if (wrong != NULL) { return wrong; }
    if (any_request_waits(cluster)) { return "a request was not answered"; }
    const bool in_time =
        live->workers > 0 && world_ms(&cluster->world) >= live->scaled_ms + SCALE_LATE_MS;
    if (in_time && !cluster->checker.stop_requested &&
        cluster->checker.run.workers != live->workers) {
        return "a request to scale was lost";
    }
    return may_lose_steps(&cluster->setup) ? NULL : no_step_is_lost(cluster);
}
