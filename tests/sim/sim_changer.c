/* The agent's half of a change of the job while it runs: tests/sim/live.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/job/job_strategy.h"
#include "common/job/variable_placement.h"
#include "tests/sim/cluster.h"

enum {
    SESSION_MS = 10000,
    DEADLINE_MS = 5000,
    TICK_US = 10000,
    DRAIN_MS = 60000,
    RETRY_MS = 50,
};

#define OPS_OBSERVER (UINT64_C(1) << 32)
#define OPS_CHANGE   (UINT64_C(2) << 32)

static struct sim_agent *agent_of(struct sim_cluster *cluster)
{
    assert(cluster->setup.live && cluster->agent_count == 1);
    return &cluster->agents[0];
}

static bool agent_works(struct sim_cluster *cluster)
{
    const struct supervisor *supervisor = &agent_of(cluster)->supervisor;
    return supervisor->phase == SUPERVISOR_WORKING ||
           (supervisor->phase == SUPERVISOR_DRAINING && supervisor->changes);
}

/* An agent whose host is drained meanwhile starts no nodes, whether the change was made or not. */
static void start_nodes(struct sim_cluster *cluster)
{
    const struct sim_agent *agent = agent_of(cluster);
    sim_agent_feed(agent_of(cluster), &(struct supervisor_event){.type = SUPERVISOR_CHANGED});
    if (agent->back_after_ms != 0 && agent->supervisor.phase == SUPERVISOR_WORKING) {
        world_fail(&cluster->world, "S14: an agent that is to leave starts its nodes again");
    }
}

static void give_up(struct sim_cluster *cluster, const char *text)
{
    struct sim_changer *changer = &cluster->live.changer;
    world_log(&cluster->world, "agent: %s", text);
    job_change_refuse(&changer->core, TN_EUNHEALTHY, text, &changer->port);
}

/* ------------------------------------------------------------ request, drain */

/* The reference and the disks have the variables in the order of the first job. */
static bool keeps_order(const struct sim_cluster *cluster, const struct job *wanted)
{
    static struct variable_table table;
    struct error error;
    table = cluster->model->table;
    table.shard_count = 0;
    if (variables_place(&table, wanted, &error) != TN_OK) { return false; }
    for (uint32_t i = 0; i < table.count; i++) {
        if (table.variables[i].number != i) { return false; }
    }
    return true;
}

/* As live_change_check(). This agent has two more conditions: it moves no variables, and it
 * compares only numbers to find whether a change was made, as the /spec of the simulator has no
 * job. */
static enum tn_status check_wanted(struct sim_cluster *cluster,
                                   const struct change_request *request, struct error *error)
{
    const struct job *job = &cluster->setup.job;
    static struct job wanted;
    wanted = *job;
    live_plan_job(&wanted, request);
    if (job_check_strategy(&wanted, error) != TN_OK) {
        if (request->strategy == CHANGE_TO_GROUP) { /* A scenario asks for valid ones only. */
            world_fail(&cluster->world, "S14: no valid job has the groups: %.150s", error->text);
        }
        return error->status;
    }
    if (wanted.strategy.type != job->strategy.type && wanted.cluster.ps == job->cluster.ps) {
        return error_set(error, TN_EINVAL, "the numbers stay the same");
    }
    if (keeps_order(cluster, &wanted)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the variables would have another order");
}

static void check(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    struct job_change *core = &changer->core;
    struct error error = {0};
    if (agent_of(cluster)->supervisor.phase != SUPERVISOR_WORKING || !changer->observer.has_run) {
        give_up(cluster, "the agent is starting or leaving");
        return;
    }
    assert(core->request.ps <= cluster->setup.ps_most);
    enum tn_status status =
        live_plan_check(&cluster->setup.job, &core->request, &changer->observer.run, &error);
    if (status == TN_OK) { status = check_wanted(cluster, &core->request, &error); }
    if (status != TN_OK) {
        give_up(cluster, error.text);
        return;
    }
    job_change_accept(core, "a change", &changer->port);
}

static void begin(struct sim_cluster *cluster)
{
    struct sim_agent *agent = agent_of(cluster);
    world_log(&cluster->world, "agent: the nodes leave for a change to %u ps",
              cluster->live.changer.core.request.ps);
    if (agent->supervisor.phase != SUPERVISOR_WORKING) { return; }
    sim_agent_feed(agent,
                   &(struct supervisor_event){.type = SUPERVISOR_DRAIN,
                                              .changes = true,
                                              .until_ms = world_ms(&cluster->world) + DRAIN_MS});
}

void sim_changer_nodes_left(struct sim_cluster *cluster)
{
    const uint64_t now_ms = world_ms(&cluster->world);
    job_change_stopped(&cluster->live.changer.core, now_ms,
                       cluster->setup.job.zookeeper.session_timeout_ms);
}

/* --------------------------------------------------------------- the transaction */

static void adopt(struct sim_cluster *cluster)
{
    struct sim_agent *agent = agent_of(cluster);
    struct sim_changer *changer = &cluster->live.changer;
    for (uint32_t i = 0; i < agent->task_count; i++) {
        if (cluster->tasks[agent->tasks[i]].role == ROLE_PS) {
            sim_kept_drop(cluster, agent->tasks[i]);
        }
    }
    sim_agent_choose_ps(agent, changer->wanted.cluster.ps);
    if (changer->wanted.cluster.workers_least == 0) {
        sim_agent_choose_workers(agent, changer->wanted.cluster.workers);
    }
    observer_change(&changer->observer, changer->wanted.cluster.ps, changer->wanted.cluster.workers,
                    &changer->port, world_ms(&cluster->world));
}

static void applied(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    changer->apply = APPLY_IDLE;
    adopt(cluster);
    job_change_applied(&changer->core, changer->view.run.generation, &changer->port);
    start_nodes(cluster);
}

/* `is_unknown`: the change may have been made. */
static void repeat(struct sim_cluster *cluster, bool is_unknown)
{
    struct sim_changer *changer = &cluster->live.changer;
    const uint64_t now_ms = world_ms(&cluster->world);
    changer->apply = APPLY_IDLE;
    changer->core.retry_at_ms = now_ms + RETRY_MS;
    if (is_unknown || now_ms < changer->core.give_up_ms) { return; }
    give_up(cluster, "not changed: a node is registered");
    start_nodes(cluster);
}

static void ask(struct sim_cluster *cluster, int stage)
{
    static const char *const names[] = {[APPLY_SPEC] = "spec",
                                        [APPLY_RUN] = "run",
                                        [APPLY_MEMBERS] = "members",
                                        [APPLY_ELECTION] = "election"};
    struct sim_changer *changer = &cluster->live.changer;
    char path[ZK_PATH_MAX];
    changer->apply = stage;
    znode_path(path, cluster->setup.job.name, names[stage]);
    changer->op++;
    if (stage == APPLY_SPEC || stage == APPLY_RUN) {
        changer->port.read(changer->port.ctx, changer->op, path, false);
    } else {
        changer->port.list(changer->port.ctx, changer->op, path, false);
    }
}

static void write_all(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    struct error error;
    changer->apply = APPLY_WRITE;
    cluster->live.to_group = changer->core.request.strategy == CHANGE_TO_GROUP;
    live_writes_free(&changer->writes);
    const enum tn_status status =
        live_writes_init(&changer->writes, &changer->view, &cluster->setup.job, &changer->wanted,
                         changer->view.spec.variables_hash, world_ms(&cluster->world), &error);
    assert(status == TN_OK);
    changer->port.write(changer->port.ctx, ++changer->op, changer->writes.list, LIVE_WRITES);
}

static void on_spec(struct sim_cluster *cluster, const struct zk_event *event)
{
    struct live_view *view = &cluster->live.changer.view;
    free(view->spec.job_json);
    const enum tn_status status = spec_decode(event->data, event->size, &view->spec, NULL);
    assert(status == TN_OK);
    view->spec.version = event->stat.version;
    ask(cluster, APPLY_RUN);
}

static void on_run(struct sim_cluster *cluster, const struct zk_event *event)
{
    struct sim_changer *changer = &cluster->live.changer;
    struct live_view *view = &changer->view;
    const enum tn_status status = run_decode(event->data, event->size, &view->run, NULL);
    assert(status == TN_OK);
    view->run_version = event->stat.version;
    changer->wanted = cluster->setup.job;
    live_plan_job(&changer->wanted, &changer->core.request);
    switch (live_plan_judge(view, &cluster->setup.job, &changer->wanted)) {
    case LIVE_MADE: applied(cluster); break;
    case LIVE_OVER:
        changer->apply = APPLY_IDLE;
        give_up(cluster, "not changed: the run ends");
        start_nodes(cluster);
        break;
    case LIVE_WRITE: ask(cluster, APPLY_MEMBERS); break;
    }
}

static void on_answer(struct sim_cluster *cluster, const struct zk_event *event)
{
    struct sim_changer *changer = &cluster->live.changer;
    const bool is_answer =
        event->type == ZK_RESULT && changer->apply != APPLY_IDLE && event->op == changer->op;
    if (!is_answer || changer->core.stage != JOB_CHANGE_APPLYING) { return; }
    if (event->outcome != ZK_OK) {
        repeat(cluster, event->outcome == ZK_UNKNOWN || event->reason == ZK_REASON_EXPIRED);
        return;
    }
    switch (changer->apply) {
    case APPLY_IDLE: break;
    case APPLY_SPEC: on_spec(cluster, event); break;
    case APPLY_RUN: on_run(cluster, event); break;
    case APPLY_MEMBERS:
    case APPLY_ELECTION:
        if (event->child_count > 0) {
            repeat(cluster, false);
        } else if (changer->apply == APPLY_MEMBERS) {
            ask(cluster, APPLY_ELECTION);
        } else {
            write_all(cluster);
        }
        break;
    case APPLY_WRITE: applied(cluster); break;
    }
}

/* ------------------------------------------------------------------- the session */

static void open_session(struct sim_cluster *cluster);

static void observe(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    const struct job *job = &cluster->setup.job;
    const uint64_t now_ms = world_ms(&cluster->world);
    if (changer->observer.cluster[0] != '\0') {
        observer_restart(&changer->observer, &changer->port, now_ms);
        job_change_restart(&changer->core, &changer->port, now_ms);
    } else {
        const struct task_counts tasks = job_tasks(job);
        observer_start(&changer->observer, job->name, &tasks, OPS_OBSERVER, &changer->port, now_ms);
        job_change_start(&changer->core, job->name, cluster->next_incarnation++, OPS_CHANGE,
                         &changer->port, now_ms);
    }
    changer->observing = true;
}

static void on_change(struct sim_cluster *cluster, const struct zk_event *event)
{
    struct sim_changer *changer = &cluster->live.changer;
    const uint64_t now_ms = world_ms(&cluster->world);
    switch (job_change_handle(&changer->core, event, &changer->port, now_ms)) {
    case JOB_CHANGE_NOTHING: break;
    case JOB_CHANGE_CHECK: check(cluster); break;
    case JOB_CHANGE_BEGIN: begin(cluster); break;
    }
    const unsigned changes = observer_handle(&changer->observer, event, &changer->port, now_ms);
    if ((changes & OBSERVER_HISTORY) == 0) { return; }
    if (job_change_note(&changer->core, &changer->observer.entry, &changer->port)) {
        world_log(&cluster->world, "agent: changed, training continues");
    }
}

static void on_zk(void *ctx, const struct zk_event *event)
{
    struct sim_cluster *cluster = ctx;
    struct sim_changer *changer = &cluster->live.changer;
    if (event->type == ZK_CONNECTED) { changer->connected = true; }
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) { changer->connected = false; }
    if (changer->connected && !changer->observing) { observe(cluster); }
    if (changer->observing) {
        on_change(cluster, event);
        on_answer(cluster, event);
    }
    if (event->type != ZK_EXPIRED) { return; }
    zk_client_kill(changer->zk);
    changer->apply = APPLY_IDLE;
    open_session(cluster);
}

static void open_session(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    changer->connected = changer->observing = false;
    changer->zk = zk_client_open(cluster->zk, 0, SESSION_MS, DEADLINE_MS, on_zk, cluster);
    changer->port = zk_client_port(changer->zk);
}

/* As agent_change_tick(). */
static void tick(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    struct job_change *core = &changer->core;
    const uint64_t now_ms = world_ms(&cluster->world);
    if (now_ms >= observer_deadline_ms(&changer->observer)) {
        observer_tick(&changer->observer, &changer->port, now_ms);
    }
    znode_watch_tick(&core->watch, &changer->port, &core->next_op, now_ms);
    if (core->stage < JOB_CHANGE_STOPPING || core->stage > JOB_CHANGE_APPLYING) { return; }
    if (!agent_works(cluster)) {
        changer->apply = APPLY_IDLE;
        give_up(cluster, "not changed: the run has ended meanwhile");
        return;
    }
    if (core->stage != JOB_CHANGE_APPLYING || changer->apply != APPLY_IDLE) { return; }
    if (now_ms >= core->retry_at_ms) { ask(cluster, APPLY_SPEC); }
}

static void on_tick(struct world *world, void *target, uint64_t starts, uint64_t b, void *data)
{
    struct sim_cluster *cluster = target;
    (void)b;
    (void)data;
    struct sim_changer *changer = &cluster->live.changer;
    if (changer->zk == NULL || changer->starts != starts) { return; }
    if (changer->connected && changer->observing) { tick(cluster); }
    world_after(world, TICK_US, on_tick, cluster, starts, 0, NULL);
}

void sim_changer_start(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    const uint64_t starts = changer->starts + 1;
    assert(changer->zk == NULL);
    memset(changer, 0, sizeof *changer);
    changer->starts = starts;
    open_session(cluster);
    world_after(&cluster->world, TICK_US, on_tick, cluster, starts, 0, NULL);
}

void sim_changer_stop(struct sim_cluster *cluster)
{
    struct sim_changer *changer = &cluster->live.changer;
    if (changer->zk == NULL) { return; }
    zk_client_kill(changer->zk);
    changer->zk = NULL;
    free(changer->view.spec.job_json);
    changer->view.spec.job_json = NULL;
    live_writes_free(&changer->writes);
    cluster->live.agents_lost++;
}
