#include "tests/sim/scenario_commands.h"

#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/scenario_draw.h"
#include "tests/sim/scenario_group.h"
#include "tests/sim/scenario_membership.h"
#include "tests/sim/scenario_verdicts.h"

enum {
    MANY_STEPS = 2500,     /* More than a run makes until its last fault. */
    GROUP_STEPS = 150,     /* The same in groups, whose steps take longer. */
    ANSWER_MS = 20000,     /* A request is answered much sooner. */
    COMMANDS_MS = 8000,    /* From the first command to the last one. */
    DRAIN_LATE_MS = 26000, /* A host that has not left by then is killed. */
    DRAINS_UNTIL = 80000,  /* All drains are over. */
};

static bool coin(struct random *random)
{
    return random_below(random, 2) == 0;
}

/* Steps since the last checkpoint are lost with the values. */
static void make_many_steps(struct sim_setup *setup, uint64_t steps)
{
    struct job *job = &setup->job;
    job->train.learning_rate *= (double)SCENARIO_STEPS / 4 / (double)steps;
    job->train.steps = steps;
    job->checkpoint.every_seconds = 1000;
    job->checkpoint.every_steps = steps / 3;
}

static uint32_t task_of_worker(const struct sim_setup *setup, uint64_t worker)
{
    return SCENARIO_COORDINATORS + setup->job.cluster.ps + (uint32_t)worker;
}

/* All hosts with workers, one after the other, from a random one on. In two thirds of the seeds
 * each is back before the next one, which takes its agent at least SUPERVISOR_SESSIONS_MS. */
static uint64_t drain_in_turn(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const uint32_t workers = setup->job.cluster.workers;
    const uint64_t first = random_below(random, workers);
    const bool waits = random_below(random, 3) != 0;
    const uint64_t apart_ms =
        waits ? scenario_between(random, 4500, 6500) : scenario_between(random, 300, 4000);
    for (uint64_t i = 0; i < workers; i++, at_ms += apart_ms) {
        const uint32_t task = task_of_worker(setup, (first + i) % workers);
        scenario_add(setup, FAULT_DRAIN, at_ms, task)->duration_ms =
            scenario_between(random, 10, 800);
    }
    return at_ms;
}

static void pause_between(struct sim_setup *setup, uint64_t from_ms, uint64_t to_ms)
{
    assert(from_ms < to_ms);
    scenario_add(setup, FAULT_HOLD, from_ms, 0)->duration_ms = to_ms - from_ms;
}

static void kill_chiefs(struct sim_setup *setup, uint64_t at_ms)
{
    for (uint32_t i = 0; i < SCENARIO_COORDINATORS; i++) {
        scenario_add(setup, FAULT_KILL, at_ms, i);
    }
}

/* Without ps: while an operator has paused the run, all hosts are drained, one after the other. In
 * some seeds, the run is resumed meanwhile, the chief dies, or the number of workers changes. */
void scenario_mirror_drain_paused(struct sim_setup *setup, struct random *random)
{
    scenario_without_ps(setup, random);
    make_many_steps(setup, MANY_STEPS);
    setup->faults_until_ms = DRAINS_UNTIL;
    const uint64_t from_ms = scenario_between(random, 900, 1500);
    const bool scales = random_below(random, 3) == 0;
    if (scales) { setup->job.cluster.workers_least = 1; }
    if (scales) { scenario_add(setup, FAULT_SCALE, 600, setup->job.cluster.workers); }
    uint64_t end_ms = drain_in_turn(setup, random, from_ms + random_below(random, 600));
    if (scales) {
        scenario_add(setup, FAULT_SCALE, scenario_between(random, from_ms, end_ms),
                     (uint32_t)scenario_between(random, 1, setup->job.cluster.workers));
    }
    if (random_below(random, 4) == 0) {
        kill_chiefs(setup, scenario_between(random, from_ms, end_ms));
    }
    const bool resumes = random_below(random, 4) == 0;
    end_ms = resumes ? scenario_between(random, from_ms + 100, end_ms) : end_ms + DRAIN_LATE_MS;
    pause_between(setup, from_ms, end_ms);
}

/* All heads at about the same time; other members stay, and have the values. */
static void drain_heads(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const uint32_t members = setup->job.strategy.members;
    const uint64_t within_ms = scenario_between(random, 1, 600);
    for (uint32_t head = 0; head < setup->job.cluster.workers; head += members) {
        scenario_add(setup, FAULT_DRAIN, at_ms + random_below(random, within_ms),
                     task_of_worker(setup, head))
            ->duration_ms = scenario_between(random, 10, 3000);
    }
}

/* Groups without ps: the hosts of all heads are drained, or all hosts one after the other, so that
 * a group may lack a member meanwhile; in a quarter of the seeds in a paused run. */
void scenario_group_mirror_drain(struct sim_setup *setup, struct random *random)
{
    scenario_groups_without_ps(setup, random);
    make_many_steps(setup, GROUP_STEPS);
    setup->faults_until_ms = DRAINS_UNTIL;
    const uint64_t at_ms = scenario_between(random, 900, 2500);
    uint64_t end_ms = at_ms + 3000;
    if (coin(random)) {
        drain_heads(setup, random, at_ms);
    } else {
        end_ms = drain_in_turn(setup, random, at_ms);
    }
    if (random_below(random, 4) == 0) {
        kill_chiefs(setup, scenario_between(random, at_ms, end_ms));
    }
    if (random_below(random, 4) != 0) { return; }
    pause_between(setup, at_ms - scenario_between(random, 1, 400), end_ms + DRAIN_LATE_MS);
}

/* --------------------------------------------------------------- any commands */

static void add_command(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const struct job *job = &setup->job;
    const uint32_t nodes = SCENARIO_COORDINATORS + job->cluster.ps + job->cluster.workers;
    switch (random_below(random, 8)) {
    case 0:
    case 1: pause_between(setup, at_ms, at_ms + scenario_between(random, 10, 3000)); break;
    case 2:
        if (job->cluster.workers_least == 0) { break; }
        scenario_add(
            setup, FAULT_SCALE, at_ms,
            (uint32_t)scenario_between(random, job->cluster.workers_least, job->cluster.workers));
        break;
    case 3: scenario_add(setup, FAULT_RESIGN, at_ms, 0); break;
    case 4: kill_chiefs(setup, at_ms); break;
    default:
        scenario_add(setup, FAULT_DRAIN, at_ms, (uint32_t)random_below(random, nodes))
            ->duration_ms = scenario_between(random, 10, 2500);
    }
}

/* Operators pause, resume and scale the run, drain hosts, let chiefs resign and stop the run, in
 * any order and at any time; chiefs die. With ps, without, and with groups of both kinds. */
void scenario_commands(struct sim_setup *setup, struct random *random)
{
    const uint64_t kind = random_below(random, 5);
    const uint64_t from_ms = scenario_between(random, 300, 1200);
    if (kind == 0) {
        scenario_groups_with_ps(setup, random);
    } else if (kind == 1) {
        scenario_groups_without_ps(setup, random);
    } else if (kind > 2) {
        scenario_without_ps(setup, random);
    }
    if (setup->job.strategy.type == STRATEGY_TYPE_GROUP) {
        make_many_steps(setup, GROUP_STEPS);
    } else {
        if (kind > 2) { make_many_steps(setup, MANY_STEPS); }
        if (coin(random)) { setup->job.cluster.workers_least = 1; }
    }
    for (uint64_t left = scenario_between(random, 4, 16); left > 0; left--) {
        add_command(setup, random, from_ms + random_below(random, COMMANDS_MS));
    }
    if (random_below(random, 4) != 0) { return; }
    scenario_add(setup, FAULT_STOP, from_ms + random_below(random, COMMANDS_MS), 0);
}

/* ------------------------------------------------------------------- verdict */

bool any_request_waits(const struct sim_cluster *cluster)
{
    const struct zk_tree *tree = zk_model_tree(cluster->zk);
    char path[ZK_PATH_MAX];
    znode_path(path, cluster->setup.job.name, "requests/");
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        struct request request;
        if (strncmp(node->path, path, strlen(path)) != 0 || node->blob == NULL) { continue; }
        if (request_decode(node->blob->data, node->blob->size, &request, NULL) != TN_OK) {
            continue;
        }
        if (request.wall_ms + ANSWER_MS < world_ms(&cluster->world)) { return true; }
    }
    return false;
}

const char *commands_are_carried_out(const struct sim_cluster *cluster)
{
    if (any_request_waits(cluster)) { return "a request was not answered"; }
    return no_step_is_lost(cluster);
}
