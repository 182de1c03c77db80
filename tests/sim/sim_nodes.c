/* The nodes of the simulated world: the roles, created as cli/ creates them. */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/bootstrap.h"
#include "common/job/strategy.h"
#include "coordinator/coordinator.h"
#include "group/group_worker.h"
#include "kernels/optimizer.h"
#include "mirror/mirror_worker.h"
#include "ps/ps.h"
#include "tanist/status.h"
#include "tests/sim/cluster.h"
#include "worker/worker.h"

static struct spec spec_of(const struct sim_cluster *cluster)
{
    const struct job *job = &cluster->setup.job;
    return (struct spec){.key = cluster->key,
                         .job_hash = job_hash(job),
                         .variables_hash = variable_table_hash(&cluster->model->table),
                         .coordinators = job->cluster.coordinators,
                         .ps = job->cluster.ps,
                         .workers = job->cluster.workers,
                         .evaluators = job->cluster.evaluators};
}

void sim_bootstrap(struct sim_cluster *cluster)
{
    const struct spec spec = spec_of(cluster);
    static struct bootstrap bootstrap;
    struct error error;
    enum tn_status status = bootstrap_init(&bootstrap, cluster->setup.job.name, &spec,
                                           cluster->setup.job.train.slices, &error);
    assert(status == TN_OK);
    for (uint32_t i = 0; i < bootstrap.count; i++) {
        const struct bootstrap_znode *znode = &bootstrap.znodes[i];
        if (zk_tree_find(zk_model_tree(cluster->zk), znode->path) != NULL) { continue; }
        struct zk_write write = {
            .kind = ZK_CREATE, .path = znode->path, .data = znode->data, .size = znode->size};
        zk_model_write(cluster->zk, &write, 1);
    }
    bootstrap_free(&bootstrap);
}

/* Whether values that a worker without ps has may still be needed when it leaves: steps are made
 * from them, and no chief has found that others have them. */
static bool values_are_needed(const struct sim_cluster *cluster, const struct process *process)
{
    const struct run *run = &cluster->checker.run;
    const bool is_released = released_has(&cluster->checker.released, process->config.incarnation);
    if (run->phase == RUN_STOPPING) { return !is_released; }
    if (run->phase != RUN_RUNNING && !run_is_paused_by_operator(run)) { return false; }
    return run->gate != 0 || !is_released;
}

/* Whether all that have values, and stay or are not released, lack steps of this one. One that
 * follows others is at most one step ahead of the first of them. */
static bool steps_are_lost(const struct sim_cluster *cluster, uint64_t step)
{
    const struct released *released = &cluster->checker.released;
    uint64_t first = 0, generation, reached;
    bool any_stays = false;
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        const struct process *other = cluster->now[t];
        if (cluster->tasks[t].role != ROLE_WORKER || other == NULL || !other->alive) { continue; }
        const bool is_released = released_has(released, other->config.incarnation);
        if (is_released || other->ordered_to_leave) { continue; }
        const bool holds = mirror_worker_values(other->node.self, &generation, &reached) != NULL &&
                           generation == cluster->checker.run.generation;
        if (!holds) { continue; }
        any_stays = true;
        first = u64_max(first, reached);
    }
    return any_stays && first + 1 < step;
}

/* C24: a worker without ps that leaves of its own accord does not have values that are needed. */
static void judge_departure(struct sim_cluster *cluster, const struct process *process)
{
    const struct run *run = &cluster->checker.run;
    uint64_t generation, step;
    const bool has_ps = strategy_of_job(&cluster->setup.job)->has_ps;
    if (process->task.role != ROLE_WORKER || has_ps || process->ordered_to_leave) { return; }
    const uint64_t stayed_us = cluster->world.now_us - process->drained_us;
    if (stayed_us >= NODE_DRAIN_MS * UINT64_C(1000)) { return; }
    const bool holds = mirror_worker_values(process->node.self, &generation, &step) != NULL &&
                       generation == run->generation;
    const bool is_training = run->phase == RUN_RUNNING && run->gate == 0;
    if (holds && is_training && steps_are_lost(cluster, step)) {
        world_fail(&cluster->world,
                   "C24: worker:%u leaves with steps that no other has, up to %" PRIu64,
                   process->task.index, step);
    }
    /* It has only the loaded values, as all others, and may not know yet that steps are made. */
    const bool has_loaded = run->phase == RUN_RUNNING && step == run->load_step;
    if (!holds || has_loaded || !values_are_needed(cluster, process)) { return; }
    world_fail(&cluster->world,
               "C24: worker:%u leaves before it is released, or the gate %" PRIu64
               " or the end is saved",
               process->task.index, run->gate);
}

static void on_ended(void *ctx, struct process *process, int exit_code)
{
    struct sim_cluster *cluster = ctx;
    world_log(&cluster->world, "%s:%u leaves with %d", role_name(process->task.role),
              process->task.index, exit_code);
    if (exit_code == TN_EXIT_OK) { judge_departure(cluster, process); }
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (cluster->now[t] != process) { continue; }
        bool refused = cluster->other_inputs[t] && exit_code == TN_EXIT_INVALID_INPUT;
        /* It would fail the job (S3): an operator provides the data of the run instead. */
        if (refused) { cluster->other_inputs[t] = false; }
        cluster->others_refused += refused;
        sim_agent_saw_end(cluster, t, refused ? 0 : exit_code, refused ? SIGTERM : 0);
    }
}

static void make_coordinator(struct sim_cluster *cluster, struct process *process,
                             const struct node_identity *identity)
{
    struct coordinator_config config;
    const struct optimizer optimizer =
        optimizer_of_job(&cluster->setup.job, &cluster->model->table);
    coordinator_config_init(&config, &cluster->setup.job, &cluster->model->table, optimizer.arrays,
                            "reference");
    const struct spec spec = spec_of(cluster);
    char *text = spec_encode(&spec);
    assert(text != NULL);
    config.spec = text;
    struct coordinator *coordinator = coordinator_create(&config, identity, &process->ports);
    assert(coordinator != NULL);
    free(text);
    process->node = coordinator_node(coordinator);
    process->destroy = (void (*)(void *))coordinator_destroy;
}

static void make_ps(struct sim_cluster *cluster, struct process *process,
                    const struct node_identity *identity)
{
    sim_kept_open(cluster, process);
    struct ps_config config = {.identity = *identity,
                               .ports = &process->ports,
                               .job = &cluster->setup.job,
                               .variables = &cluster->model->table,
                               .kernels = sim_kept_kernels(cluster),
                               .kept = process->kept,
                               .store = disk_user_port(process->store),
                               .place = "sim:/checkpoints",
                               .push_place_chunks = 1};
    struct ps *ps;
    struct error error;
    enum tn_status status = ps_create(&config, &ps, &error);
    assert(status == TN_OK);
    process->node = ps_node(ps);
    process->destroy = (void (*)(void *))ps_destroy;
}

/* `others`: it has the data of another run. */
static struct worker_config worker_config_of(struct sim_cluster *cluster, struct process *process,
                                             const struct node_identity *identity, bool others)
{
    cluster->others_started += others;
    return (struct worker_config){
        .identity = *identity,
        .ports = &process->ports,
        .job = others ? &cluster->other_job : &cluster->setup.job,
        .model = cluster->model,
        .programs = "reference",
        .kernels = cluster->kernels,
        .train = cluster->train,
        .test = cluster->test,
        .inputs = {.fingerprint = "sim", .data = {1, others ? 3 : 2}},
        .member = {.sharing = cluster->setup.shares_rows ? cluster->sharing : NULL,
                   .place = process->task.index,
                   .wake = process_wake,
                   .ctx = process},
    };
}

static void make_worker(struct process *process, const struct worker_config *config)
{
    struct worker *worker;
    struct error error;
    process->sharing = config->member.sharing;
    enum tn_status status = worker_create(config, &worker, &error);
    assert(status == TN_OK);
    process->node = worker_node(worker);
    process->destroy = (void (*)(void *))worker_destroy;
}

/* A worker of a run without ps. */
static void make_mirror(struct process *process, const struct worker_config *config)
{
    const struct mirror_config mirror = {
        .worker = *config, .store = disk_user_port(process->store), .place = "sim:/checkpoints"};
    struct mirror_worker *worker;
    struct error error;
    enum tn_status status = mirror_worker_create(&mirror, &worker, &error);
    assert(status == TN_OK);
    process->node = mirror_worker_node(worker);
    process->destroy = (void (*)(void *))mirror_worker_destroy;
}

/* A member of a group. */
static void make_member(struct process *process, const struct worker_config *config)
{
    struct group_worker *worker;
    struct error error;
    enum tn_status status = group_worker_create(config, &worker, &error);
    assert(status == TN_OK);
    process->node = group_worker_node(worker);
    process->destroy = (void (*)(void *))group_worker_destroy;
}

static void make_worker_of_strategy(struct sim_cluster *cluster, struct process *process,
                                    const struct node_identity *identity, bool others)
{
    const struct worker_config config = worker_config_of(cluster, process, identity, others);
    if (!strategy_of_job(&cluster->setup.job)->has_ps) {
        make_mirror(process, &config);
    } else if (strategy_members(&cluster->setup.job) > 1) {
        make_member(process, &config);
    } else {
        make_worker(process, &config);
    }
}

static uint64_t slice_us(const struct sim_cluster *cluster, uint32_t task)
{
    const struct task *worker = &cluster->tasks[task];
    return worker->role == ROLE_WORKER ? cluster->setup.slice_us[worker->index] : 0;
}

void sim_spawn(struct sim_cluster *cluster, uint32_t task)
{
    assert(task < cluster->task_count);
    assert(cluster->process_count < SIM_PROCESSES_MAX);
    struct process *old = cluster->now[task];
    assert(old == NULL || !old->alive);
    struct world *world = &cluster->world;
    struct process_config config = {
        .world = world,
        .zk = cluster->zk,
        .net = cluster->net,
        .disk = cluster->disk,
        .host = sim_agent_of(cluster, task)->host,
        .incarnation = cluster->next_incarnation++,
        .cluster_key = cluster->key,
        .session_timeout_ms = cluster->setup.job.zookeeper.session_timeout_ms,
        .slice_us = slice_us(cluster, task),
        .clock_drift_ppm = (int32_t)world_below(world, 2001) - 1000,
        .ended = on_ended,
        .died = sim_kept_torn,
        .ctx = cluster,
    };
    struct process *process = process_create(&config, cluster->tasks[task]);
    cluster->processes[cluster->process_count++] = process;
    cluster->now[task] = process;
    struct node_identity identity = {.task = cluster->tasks[task],
                                     .incarnation = config.incarnation,
                                     .pid = cluster->process_count,
                                     .session_timeout_ms = config.session_timeout_ms};
    (void)snprintf(identity.cluster, sizeof identity.cluster, "%s", cluster->setup.job.name);
    (void)snprintf(identity.host, sizeof identity.host, "host%u", config.host);
    /* Workers have relays (M14): several agents may be on one machine. */
    (void)snprintf(identity.machine, sizeof identity.machine, "machine%u",
                   cluster->tasks[task].index / 2 % 2);
    net_endpoint_address(process->endpoint, identity.address, sizeof identity.address);
    world_log(world, "start %s:%u", role_name(cluster->tasks[task].role),
              cluster->tasks[task].index);
    switch (cluster->tasks[task].role) {
    case ROLE_COORDINATOR: make_coordinator(cluster, process, &identity); break;
    case ROLE_PS: make_ps(cluster, process, &identity); break;
    case ROLE_WORKER:
        make_worker_of_strategy(cluster, process, &identity, cluster->other_inputs[task]);
        break;
    case ROLE_EVALUATOR: sim_make_evaluator(cluster, process, &identity); break;
    case ROLE_COUNT: assert(false);
    }
    process_start(process);
}
