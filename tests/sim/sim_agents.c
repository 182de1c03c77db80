/* The agents of the simulated world: the code of agent/supervisor.h with simulated processes. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

enum {
    SPAWN_MIN_US = 3000,
    SPAWN_MAX_US = 40000,
    MEMBER_POLL_US = 200000,
    REAP_RETRY_US = 50000,
    SESSION_REAPER_BUSY_US = 1500000,
    DRAIN_MS = 25000
};

struct sim_agent *sim_agent_of(struct sim_cluster *cluster, uint32_t task)
{
    assert(task < cluster->task_count);
    return &cluster->agents[cluster->setup.one_host ? 0 : task];
}

static uint32_t child_of(const struct sim_agent *agent, uint32_t task)
{
    for (uint32_t i = 0; i < agent->task_count; i++) {
        if (agent->tasks[i] == task) { return i; }
    }
    assert(false);
    return 0;
}

/* ------------------------------------------------------------ processes */

/* A crash loop kills the process again after its start. */
static void on_loop_kill(struct world *world, void *target, uint64_t task, uint64_t b, void *data)
{
    (void)world;
    (void)b;
    (void)data;
    sim_kill_task(target, (uint32_t)task);
}

/* `a`: the child. `b`: `starts` of the agent. */
static void on_spawn(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct sim_agent *agent = target;
    if (!agent->alive || b != agent->starts) { return; }
    struct sim_cluster *cluster = agent->cluster;
    uint32_t task = agent->tasks[a];
    if (!supervisor_keeps_memory(&agent->supervisor.children[a])) { sim_kept_drop(cluster, task); }
    sim_spawn(cluster, task);
    sim_agent_feed(agent,
                   &(struct supervisor_event){.type = SUPERVISOR_SPAWNED, .child = (uint32_t)a});
    if (cluster->looping_until_us[task] > world->now_us && !cluster->healed) {
        world_after(world, world_below(world, 400000), on_loop_kill, cluster, task, 0, NULL);
    }
}

/* The session reaper closes the session, some time later. */
static void on_close(struct world *world, void *target, uint64_t session, uint64_t b, void *data)
{
    (void)world;
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    zk_model_close_session(cluster->zk, session);
}

/* The znodes of a dead node are removed over the agent's session, in the order of
 * agent/node_reaper.h; requests of the dead node may arrive until its session is closed. */
static void on_reap(struct world *world, void *target, uint64_t session, uint64_t task, void *data)
{
    (void)data;
    struct sim_cluster *cluster = target;
    if (!zk_model_serves(cluster->zk)) {
        world_after(world, REAP_RETRY_US, on_reap, cluster, session, task, NULL);
        return;
    }
    const struct zk_tree *tree = zk_model_tree(cluster->zk);
    for (size_t i = tree->count; i-- > 0;) {
        if (tree->nodes[i].stat.ephemeral_owner != session) { continue; }
        char path[ZK_PATH_MAX];
        memcpy(path, tree->nodes[i].path, sizeof path);
        struct zk_write gone = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
        zk_model_write(cluster->zk, &gone, 1);
    }
    uint64_t busy_us = world_chance(world, 200) ? SESSION_REAPER_BUSY_US : 10000;
    world_after(world, world_below(world, busy_us), on_close, cluster, session, 0, NULL);
}

static void reap(struct sim_cluster *cluster, uint32_t task, uint64_t session)
{
    if (session == 0) { return; }
    uint64_t wait = world_below(&cluster->world, 2 * cluster->setup.agent_notice_us + 1);
    world_after(&cluster->world, wait, on_reap, cluster, session, task, NULL);
}

/* False: ZooKeeper does not answer, or /run is missing or damaged. */
static bool read_run(const struct sim_cluster *cluster, struct run *run)
{
    char path[ZK_PATH_MAX];
    struct error error;
    const struct zk_node *node = NULL;
    znode_path(path, cluster->setup.job.name, "run");
    if (zk_model_serves(cluster->zk)) { node = zk_tree_find(zk_model_tree(cluster->zk), path); }
    return node != NULL && node->blob != NULL &&
           run_decode(node->blob->data, node->blob->size, run, &error) == TN_OK;
}

/* C22, S13. */
void sim_agent_choose_workers(struct sim_agent *agent, uint32_t workers)
{
    const uint32_t wanted = workers != 0 ? workers : job_workers_least(&agent->cluster->setup.job);
    for (uint32_t i = 0; i < agent->task_count; i++) {
        const struct task *task = &agent->cluster->tasks[agent->tasks[i]];
        if (task->role != ROLE_WORKER) { continue; }
        sim_agent_feed(agent, &(struct supervisor_event){.type = task->index < wanted
                                                                     ? SUPERVISOR_WANTED
                                                                     : SUPERVISOR_UNWANTED,
                                                         .child = i});
    }
}

void sim_agent_choose_ps(struct sim_agent *agent, uint32_t ps)
{
    for (uint32_t i = 0; i < agent->task_count; i++) {
        const struct task *task = &agent->cluster->tasks[agent->tasks[i]];
        if (task->role != ROLE_PS) { continue; }
        sim_agent_feed(agent,
                       &(struct supervisor_event){.type = task->index < ps ? SUPERVISOR_WANTED
                                                                           : SUPERVISOR_UNWANTED,
                                                  .child = i});
    }
}

/* S7: reads /run, when ZooKeeper answers. */
static void on_ask_run(struct world *world, void *target, uint64_t starts, uint64_t b, void *data)
{
    (void)data;
    struct sim_agent *agent = target;
    struct sim_cluster *cluster = agent->cluster;
    struct run run;
    if (!agent->alive || agent->starts != starts) { return; }
    if (!read_run(cluster, &run)) {
        world_after(world, REAP_RETRY_US, on_ask_run, agent, starts, b, NULL);
        return;
    }
    bool ended = run_is_over(&run);
    if (!ended) { sim_agent_choose_workers(agent, run.workers); }
    sim_agent_feed(agent, &(struct supervisor_event){.type = ended ? SUPERVISOR_JOB_ENDED
                                                                   : SUPERVISOR_JOB_CONTINUES});
}

static void on_agent_back(struct world *world, void *target, uint64_t starts, uint64_t b,
                          void *data)
{
    (void)b;
    (void)data;
    struct sim_agent *agent = target;
    if (agent->alive || agent->starts != starts) { return; }
    world_log(world, "agent of host %u is back", agent->host);
    sim_agent_start(agent);
}

static void end(struct sim_agent *agent)
{
    struct world *world = &agent->cluster->world;
    if (agent->back_after_ms == 0) { return; }
    world_log(world, "host %u is drained%s", agent->host,
              agent->supervisor.drained ? "" : ", not in good order");
    agent->cluster->drains_late += !agent->supervisor.drained;
    agent->alive = false;
    sim_changer_stop(agent->cluster);
    world_after(world, agent->back_after_ms * 1000, on_agent_back, agent, agent->starts, 0, NULL);
}

static void carry_out(struct sim_agent *agent, const struct supervisor_action *action)
{
    struct sim_cluster *cluster = agent->cluster;
    uint32_t task = action->type >= DO_CLOSE_SESSIONS ? 0 : agent->tasks[action->child];
    struct process *process = cluster->now[task];
    switch (action->type) {
    case DO_SPAWN: {
        uint64_t wait = world_between(&cluster->world, SPAWN_MIN_US, SPAWN_MAX_US);
        world_after(&cluster->world, wait, on_spawn, agent, action->child, agent->starts, NULL);
        break;
    }
    case DO_REAP_NODE:
        if (process != NULL) { reap(cluster, task, zk_client_session(process->zk)); }
        break;
    case DO_DRAIN:
        if (process != NULL) { process_signal(process, NODE_DRAIN); }
        break;
    case DO_TERMINATE:
        if (process != NULL) { process_signal(process, NODE_LEAVE); }
        break;
    case DO_KILL: sim_kill_task(cluster, task); break;
    case DO_READ_RUN:
        world_after(&cluster->world, REAP_RETRY_US, on_ask_run, agent, agent->starts, 0, NULL);
        break;
    case DO_FAIL:
        world_fail(&cluster->world, "I10: an agent gives up on %s:%u",
                   role_name(cluster->tasks[task].role), cluster->tasks[task].index);
        break;
    case DO_SPARE: /* These agents have no spares. */
    case DO_CLOSE_SESSIONS:
    case DO_ABANDON_SESSIONS: break; /* The sessions are closed by reap(). */
    case DO_END: end(agent); break;
    case DO_CHANGE: sim_changer_nodes_left(cluster); break;
    }
}

static void on_supervisor_tick(struct world *world, void *target, uint64_t at_us, uint64_t starts,
                               void *data)
{
    (void)world;
    (void)data;
    struct sim_agent *agent = target;
    if (!agent->alive || agent->starts != starts || agent->tick_at_us != at_us) { return; }
    agent->tick_at_us = 0;
    sim_agent_feed(agent, &(struct supervisor_event){.type = SUPERVISOR_TICK});
}

void sim_agent_feed(struct sim_agent *agent, const struct supervisor_event *event)
{
    if (!agent->alive) { return; }
    struct world *world = &agent->cluster->world;
    struct supervisor_event timed = *event;
    timed.now_ms = world_ms(world);
    struct supervisor_actions actions;
    supervisor_step(&agent->supervisor, &timed, &actions);
    for (uint32_t i = 0; i < actions.count; i++) { carry_out(agent, &actions.list[i]); }
    if (!agent->alive) { return; }
    uint64_t deadline = supervisor_deadline_ms(&agent->supervisor);
    if (deadline == UINT64_MAX) { return; }
    uint64_t at_us = deadline * 1000 > world->now_us ? deadline * 1000 : world->now_us + 1000;
    if (agent->tick_at_us != 0 && agent->tick_at_us <= at_us) { return; }
    agent->tick_at_us = at_us;
    world_at(world, at_us, on_supervisor_tick, agent, at_us, agent->starts, NULL);
}

/* -------------------------------------------------------------- watching */

static void on_poll(struct world *world, void *target, uint64_t starts, uint64_t b, void *data)
{
    (void)data;
    struct sim_agent *agent = target;
    struct sim_cluster *cluster = agent->cluster;
    struct run run;
    if (!agent->alive || agent->starts != starts) { return; }
    if (read_run(cluster, &run) && !run_is_over(&run)) {
        sim_agent_choose_workers(agent, run.workers);
    }
    for (uint32_t i = 0; i < agent->task_count && zk_model_serves(cluster->zk); i++) {
        const struct process *process = cluster->now[agent->tasks[i]];
        if (process == NULL || !process->alive) { continue; }
        char path[ZK_PATH_MAX];
        znode_member_path(path, cluster->setup.job.name, cluster->tasks[agent->tasks[i]]);
        const struct zk_node *node = zk_tree_find(zk_model_tree(cluster->zk), path);
        bool seen = node != NULL && node->stat.ephemeral_owner == zk_client_session(process->zk);
        sim_agent_feed(agent, &(struct supervisor_event){.type = seen ? SUPERVISOR_MEMBER_SEEN
                                                                      : SUPERVISOR_MEMBER_LOST,
                                                         .child = i});
    }
    world_after(world, MEMBER_POLL_US, on_poll, agent, starts, b, NULL);
}

void sim_agent_saw_end(struct sim_cluster *cluster, uint32_t task, int exit_code, int signal)
{
    struct sim_agent *agent = sim_agent_of(cluster, task);
    const uint32_t child = child_of(agent, task);
    const bool is_unwanted = agent->supervisor.children[child].unwanted;
    cluster->left += is_unwanted && exit_code == 0 && signal == 0 && !cluster->checker.done;
    sim_agent_feed(agent, &(struct supervisor_event){.type = SUPERVISOR_EXITED,
                                                     .child = child,
                                                     .exit_code = exit_code,
                                                     .signal = signal});
}

void sim_agents_job_ended(struct sim_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->agent_count; i++) {
        sim_agent_feed(&cluster->agents[i],
                       &(struct supervisor_event){.type = SUPERVISOR_JOB_ENDED});
    }
}

/* ------------------------------------------------------------ starts cycle */

void sim_agent_start(struct sim_agent *agent)
{
    assert(!agent->alive);
    if (!agent->cluster->setup.one_host && !sim_is_declared(agent->cluster, agent->tasks[0])) {
        return;
    }
    enum child_kind kinds[SIM_TASKS_MAX];
    for (uint32_t i = 0; i < agent->task_count; i++) {
        kinds[i] = CHILD_NODE;
        reap(agent->cluster, agent->tasks[i], agent->unreaped[i]);
        agent->unreaped[i] = 0;
    }
    agent->alive = true;
    agent->starts++;
    agent->tick_at_us = agent->back_after_ms = 0;
    supervisor_init(&agent->supervisor, kinds, agent->task_count);
    for (uint32_t i = 0; i < agent->task_count; i++) {
        supervisor_set_stage(&agent->supervisor, i, agent->cluster->tasks[agent->tasks[i]].role);
    }
    sim_agent_choose_workers(agent, 0);
    if (agent->cluster->setup.live) {
        sim_agent_choose_ps(agent, agent->cluster->setup.job.cluster.ps);
        sim_changer_start(agent->cluster);
    }
    sim_agent_feed(agent, &(struct supervisor_event){.type = SUPERVISOR_START_NODES});
    world_after(&agent->cluster->world, MEMBER_POLL_US, on_poll, agent, agent->starts, 0, NULL);
}

void sim_agent_die(struct sim_agent *agent, bool silently, uint64_t back_after_ms)
{
    if (!agent->alive) { return; }
    agent->alive = false;
    sim_changer_stop(agent->cluster);
    world_log(&agent->cluster->world, "agent of host %u dies with its nodes%s", agent->host,
              silently ? " (power lost)" : "");
    for (uint32_t i = 0; i < agent->task_count; i++) {
        struct process *process = agent->cluster->now[agent->tasks[i]];
        sim_kept_drop(agent->cluster, agent->tasks[i]);
        if (process == NULL || !process->alive) { continue; }
        agent->unreaped[i] = zk_client_session(process->zk);
        process_kill(process, silently);
    }
    if (back_after_ms == UINT64_MAX) { return; }
    world_after(&agent->cluster->world, back_after_ms * 1000, on_agent_back, agent, agent->starts,
                0, NULL);
}

void sim_agent_drain(struct sim_agent *agent, uint64_t back_after_ms)
{
    struct world *world = &agent->cluster->world;
    if (!agent->alive || agent->back_after_ms != 0) { return; }
    world_log(world, "host %u is drained", agent->host);
    agent->back_after_ms = back_after_ms;
    sim_agent_feed(agent, &(struct supervisor_event){.type = SUPERVISOR_DRAIN,
                                                     .until_ms = world_ms(world) + DRAIN_MS});
}
