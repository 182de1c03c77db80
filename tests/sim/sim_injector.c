/* Injects the faults, and undoes them. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/cluster.h"

enum { OPERATOR_MS = 1000 };

void sim_kill_task(struct sim_cluster *cluster, uint32_t task)
{
    assert(task < cluster->task_count);
    struct process *process = cluster->now[task];
    if (process == NULL || !process->alive) { return; }
    world_log(&cluster->world, "kill -9 %s:%u", role_name(cluster->tasks[task].role),
              cluster->tasks[task].index);
    cluster->kills++;
    process_kill(process, false);
    sim_agent_saw_end(cluster, task, 0, 9);
}

static bool is_over(const struct sim_cluster *cluster)
{
    return cluster->checker.done || cluster->healed;
}

/* ----------------------------------------------------------------- undoing */

static void on_thaw(struct world *world, void *target, uint64_t task, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct process *process = target;
    if (!process->alive || !process->stopped) { return; }
    world_log(world, "SIGCONT %s:%u", role_name(process->task.role), process->task.index);
    (void)task;
    process_freeze(process, false);
}

static void on_heal_peers(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)world;
    (void)data;
    struct sim_cluster *cluster = target;
    net_model_cut(cluster->net, (uint32_t)a, (uint32_t)b, false);
    net_model_cut(cluster->net, (uint32_t)b, (uint32_t)a, false);
}

static void on_heal_zookeeper(struct world *world, void *target, uint64_t host, uint64_t b,
                              void *data)
{
    (void)world;
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    for (uint32_t s = 0; s < cluster->setup.zk.servers; s++) {
        zk_model_cut(cluster->zk, (uint32_t)host, s, false);
    }
}

static void on_servers_up(struct world *world, void *target, uint64_t mask, uint64_t wiped,
                          void *data)
{
    (void)world;
    (void)data;
    struct sim_cluster *cluster = target;
    for (uint32_t s = 0; s < cluster->setup.zk.servers; s++) {
        if (mask >> s & 1) { zk_model_server(cluster->zk, s, true); }
    }
    if (wiped && zk_tree_find(zk_model_tree(cluster->zk), "/tanist") == NULL) {
        sim_bootstrap(cluster);
    }
}

static void request_with(struct sim_cluster *cluster, enum request_kind kind, uint64_t step,
                         const char *folder)
{
    if (!zk_model_serves(cluster->zk)) { return; }
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    cluster->live.resumes += kind == REQUEST_RESUME;
    znode_path(path, cluster->setup.job.name, "requests");
    if (zk_tree_find(zk_model_tree(cluster->zk), path) == NULL) { return; }
    znode_path(path, cluster->setup.job.name, "requests/");
    struct request entry = {
        .kind = kind, .wall_ms = world_ms(&cluster->world), .by = "operator", .step = step};
    (void)snprintf(entry.path, sizeof entry.path, "%s", folder);
    size_t size = request_encode(&entry, text);
    struct zk_write write = {
        .kind = ZK_CREATE, .path = path, .data = text, .size = size, .flags = ZK_SEQUENTIAL};
    zk_model_write(cluster->zk, &write, 1);
}

static void request(struct sim_cluster *cluster, enum request_kind kind, uint64_t step)
{
    request_with(cluster, kind, step, "");
}

static void on_resume(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)a;
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    if (cluster->checker.done) { return; }
    if (!zk_model_serves(cluster->zk)) {
        world_after(world, 100000, on_resume, target, a, b, NULL);
        return;
    }
    request(cluster, REQUEST_RESUME, 0);
}

static void accept_loss(struct sim_cluster *cluster, uint64_t step)
{
    cluster->losses_accepted++;
    request(cluster, REQUEST_ACCEPT_LOSS, step);
}

/* An operator looks from time to time. When the run is held, it names the folder of the other host.
 * If the run is still held although every ps is where it was, it accepts the loss: of the steps
 * since an older checkpoint, then of everything. */
static void on_operator(struct world *world, void *target, uint64_t held_ms, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    const struct run *run = &cluster->checker.run;
    /* A load that is being tried does not end the wait. */
    if (run->phase != RUN_HELD && run->phase != RUN_LOADING) { held_ms = 0; }
    if (run->phase == RUN_HELD) { held_ms += OPERATOR_MS; }
    bool named = held_ms == 2 * OPERATOR_MS && world_chance(world, 500);
    if (named || held_ms == 10 * OPERATOR_MS) {
        request_with(cluster, REQUEST_RESTORE, 0, "/other/host");
    }
    if (disk_model_is_away(cluster->disk)) { held_ms = u64_min(held_ms, 12 * OPERATOR_MS); }
    if (held_ms == 20 * OPERATOR_MS) { accept_loss(cluster, run->held_step); }
    if (held_ms == 40 * OPERATOR_MS) { accept_loss(cluster, 0); }
    if (held_ms >= 40 * OPERATOR_MS) { held_ms = 0; }
    /* The request to resume may have been deleted by another program. */
    if (cluster->healed && run->pause_requested) { request(cluster, REQUEST_RESUME, 0); }
    if (cluster->checker.done) { return; }
    world_after(world, OPERATOR_MS * 1000, on_operator, target, held_ms, 0, NULL);
}

void sim_operator_start(struct sim_cluster *cluster)
{
    world_after(&cluster->world, OPERATOR_MS * 1000, on_operator, cluster, 0, 0, NULL);
}

/* --------------------------------------------------------------- injecting */

static void freeze_one(struct sim_cluster *cluster, uint32_t task, uint64_t duration_ms)
{
    struct process *process = cluster->now[task];
    if (process == NULL || !process->alive || process->stopped) { return; }
    world_log(&cluster->world, "SIGSTOP %s:%u for %" PRIu64 " ms",
              role_name(cluster->tasks[task].role), cluster->tasks[task].index, duration_ms);
    process_freeze(process, true);
    world_after(&cluster->world, duration_ms * 1000, on_thaw, process, task, 0, NULL);
}

/* Workers that share rows are one process. */
static void freeze(struct sim_cluster *cluster, uint32_t task, uint64_t duration_ms)
{
    const bool shares = cluster->setup.shares_rows && cluster->tasks[task].role == ROLE_WORKER;
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (t != task && !(shares && cluster->tasks[t].role == ROLE_WORKER)) { continue; }
        freeze_one(cluster, t, duration_ms);
    }
}

static void cut_peers(struct sim_cluster *cluster, const struct fault *fault)
{
    if (cluster->task_count < 2 || cluster->setup.one_host) { return; }
    uint32_t a = fault->target % cluster->task_count;
    uint32_t b = (a + 1 + fault->other % (cluster->task_count - 1)) % cluster->task_count;
    net_model_cut(cluster->net, a, b, true);
    if (fault->both_ways) { net_model_cut(cluster->net, b, a, true); }
    world_after(&cluster->world, fault->duration_ms * 1000, on_heal_peers, cluster, a, b, NULL);
}

static void cut_zookeeper(struct sim_cluster *cluster, const struct fault *fault)
{
    uint32_t host = cluster->setup.one_host ? 0 : fault->target % cluster->task_count;
    for (uint32_t s = 0; s < cluster->setup.zk.servers; s++) {
        bool cut = fault->both_ways || s == fault->other % cluster->setup.zk.servers;
        if (cut) { zk_model_cut(cluster->zk, host, s, true); }
    }
    world_after(&cluster->world, fault->duration_ms * 1000, on_heal_zookeeper, cluster, host, 0,
                NULL);
}

static void stop_servers(struct sim_cluster *cluster, const struct fault *fault)
{
    uint32_t servers = cluster->setup.zk.servers;
    uint32_t wanted = fault->kind == FAULT_SERVER ? 1 : servers / 2 + 1;
    bool wipe = fault->kind == FAULT_WIPE;
    if (wipe) {
        wanted = servers;
        zk_model_wipe(cluster->zk);
        checker_on_wipe(&cluster->checker);
    }
    uint64_t mask = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t server = (fault->target + i) % servers;
        zk_model_server(cluster->zk, server, false);
        mask |= 1u << server;
    }
    world_after(&cluster->world, fault->duration_ms * 1000, on_servers_up, cluster, mask, wipe,
                NULL);
}

static uint32_t task_of_ps(const struct sim_cluster *cluster, uint32_t index)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (cluster->tasks[t].role == ROLE_PS && cluster->tasks[t].index == index) { return t; }
    }
    assert(false);
    return 0;
}

/* The ps restarts where its shards are again. */
static void on_moved_back(struct world *world, void *target, uint64_t ps, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    world_log(world, "ps:%u moves back to its shards", (unsigned)ps);
    disk_model_away(cluster->disk, (uint32_t)ps, false);
    sim_kill_task(cluster, task_of_ps(cluster, (uint32_t)ps));
    sim_kept_drop(cluster, task_of_ps(cluster, (uint32_t)ps));
}

static void move(struct sim_cluster *cluster, const struct fault *fault)
{
    uint32_t ps = fault->target % cluster->setup.job.cluster.ps;
    disk_model_away(cluster->disk, ps, true);
    sim_kill_task(cluster, task_of_ps(cluster, ps));
    sim_kept_drop(cluster, task_of_ps(cluster, ps));
    world_after(&cluster->world, fault->duration_ms * 1000, on_moved_back, cluster, ps, 0, NULL);
}

/* Once the run knows its inputs: before that, those of any worker are as good. */
static void start_other_inputs(struct sim_cluster *cluster, const struct fault *fault)
{
    const struct run *run = &cluster->checker.run;
    uint32_t task = fault->target % cluster->task_count;
    if (!inputs_have_data(&run->inputs) || cluster->tasks[task].role != ROLE_WORKER) { return; }
    cluster->other_inputs[task] = true;
    sim_kill_task(cluster, task);
}

static void kill_all(struct sim_cluster *cluster)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) { sim_kill_task(cluster, t); }
}

static enum coverage_moment moment(const struct sim_cluster *cluster)
{
    const struct checker *checker = &cluster->checker;
    const struct run *run = &checker->run;
    if (!checker->has_chief) { return MOMENT_BEFORE; }
    const struct process *chief = cluster->now[checker->chief.task.index];
    if (chief == NULL || !chief->alive || chief->config.incarnation != checker->chief.incarnation) {
        return MOMENT_NO_CHIEF;
    }
    switch (run->phase) {
    case RUN_LOADING: return run->load_checkpoint != 0 ? MOMENT_RESTORING : MOMENT_LOADING;
    case RUN_RUNNING: return disk_model_writing(cluster->disk) ? MOMENT_SAVING : MOMENT_RUNNING;
    case RUN_HELD:
    case RUN_PAUSED: return MOMENT_PAUSED;
    case RUN_STOPPING:
    case RUN_DONE:
    case RUN_FAILED: return MOMENT_STOPPING;
    default: return MOMENT_FORMING;
    }
}

void sim_inject(struct sim_cluster *cluster, const struct fault *fault)
{
    if (is_over(cluster)) { return; }
    uint32_t task = fault->target % cluster->task_count;
    struct sim_agent *agent = sim_agent_of(cluster, task);
    struct process *process = cluster->now[task];
    cluster->coverage->cells[fault->kind][moment(cluster)]++;
    world_log(&cluster->world, "fault: %s", fault_name(fault->kind));
    switch (fault->kind) {
    case FAULT_KILL: sim_kill_task(cluster, task); break;
    case FAULT_CRASH_LOOP:
        cluster->looping_until_us[task] = cluster->world.now_us + fault->duration_ms * 1000;
        sim_kill_task(cluster, task);
        break;
    case FAULT_FREEZE: freeze(cluster, task, fault->duration_ms); break;
    case FAULT_AGENT: sim_agent_die(agent, false, fault->duration_ms); break;
    case FAULT_HOST: sim_agent_die(agent, true, fault->duration_ms); break;
    case FAULT_EVERYTHING: kill_all(cluster); break;
    case FAULT_RESET:
        if (process != NULL && process->alive) { net_endpoint_reset(process->endpoint); }
        break;
    case FAULT_CUT_PEERS: cut_peers(cluster, fault); break;
    case FAULT_CUT_ZOOKEEPER: cut_zookeeper(cluster, fault); break;
    case FAULT_DROP_SESSION:
        if (process != NULL && process->alive) { zk_model_drop_connection(process->zk); }
        break;
    case FAULT_SERVER:
    case FAULT_OUTAGE:
    case FAULT_WIPE: stop_servers(cluster, fault); break;
    case FAULT_DAMAGE: (void)disk_model_damage(cluster->disk, fault->other); break;
    case FAULT_RESIGN: request(cluster, REQUEST_RESIGN, 0); break;
    case FAULT_HOLD:
        request(cluster, REQUEST_PAUSE, 0);
        world_after(&cluster->world, fault->duration_ms * 1000, on_resume, cluster, 0, 0, NULL);
        break;
    case FAULT_MOVE: move(cluster, fault); break;
    case FAULT_DRAIN: sim_agent_drain(agent, fault->duration_ms); break;
    case FAULT_DELETE: sim_foreign_delete(cluster, fault); break;
    case FAULT_REPLACE: sim_foreign_damage(cluster, fault); break;
    case FAULT_READ_ONLY: sim_foreign_lock(cluster, fault); break;
    case FAULT_OTHER_INPUTS: start_other_inputs(cluster, fault); break;
    case FAULT_TEAR: sim_kept_tear(cluster, fault->target, fault->other); break;
    case FAULT_STOP: request(cluster, REQUEST_STOP, 0); break;
    case FAULT_RESIZE: sim_resize(cluster, fault->target, fault->other); break;
    case FAULT_SCALE:
        cluster->live.workers = fault->target;
        cluster->live.scaled_ms = world_ms(&cluster->world);
        request(cluster, REQUEST_SCALE, fault->target);
        break;
    case FAULT_CHANGE:
        if (fault->both_ways) {
            sim_author_start_groups(cluster, fault->target);
            break;
        }
        sim_author_start(cluster, fault->target, fault->other, fault->duration_ms);
        break;
    case FAULT_WORKERS: sim_author_start_workers(cluster, fault->target); break;
    case FAULT_KINDS: assert(false);
    }
}

void sim_heal(struct sim_cluster *cluster)
{
    struct world *world = &cluster->world;
    world_log(world, "faults end");
    cluster->healed = true;
    cluster->healed_ms = world_ms(world);
    net_model_heal(cluster->net);
    disk_model_heal(cluster->disk);
    for (uint32_t ps = 0; ps < cluster->setup.job.cluster.ps; ps++) {
        if (disk_model_is_away(cluster->disk)) { on_moved_back(world, cluster, ps, 0, NULL); }
    }
    bool wiped = zk_tree_find(zk_model_tree(cluster->zk), "/tanist") == NULL;
    on_servers_up(world, cluster, UINT64_MAX, wiped, NULL);
    sim_foreign_unlock(cluster);
    uint32_t hosts = cluster->setup.one_host ? 1 : cluster->task_count;
    for (uint32_t host = 0; host < hosts; host++) {
        on_heal_zookeeper(world, cluster, host, 0, NULL);
    }
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (cluster->now[t] != NULL) { process_freeze(cluster->now[t], false); }
    }
    for (uint32_t a = 0; a < cluster->agent_count; a++) {
        if (!cluster->agents[a].alive) { sim_agent_start(&cluster->agents[a]); }
    }
}
