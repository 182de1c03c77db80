/* The commands that ask for a change of the job while it runs, and what operators have asked for:
 * tests/sim/live.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/job/variable_placement.h"
#include "tests/sim/cluster.h"

enum {
    AUTHOR_HOST = 1, /* The cluster is on host 0. */
    SESSION_MS = 4000,
    DEADLINE_MS = 5000,
    POLL_US = 20000,
    ACCEPT_MS = 10000,
};

static void end(struct sim_author *author, int result)
{
    static const char *const names[] = {"", "done", "refused", "withdrawn", "busy"};
    world_log(&author->cluster->world, "the command for %u ps ends: %s%s%s", author->request.ps,
              names[result], result == RESULT_REFUSED ? ": " : "",
              result == RESULT_REFUSED ? author->request.text : "");
    author->result = result;
    author->stage = AUTHOR_OVER;
    zk_client_close(author->zk);
}

static void create(struct sim_author *author)
{
    char text[ZNODE_JSON_MAX];
    const struct zk_write write = {.kind = ZK_CREATE,
                                   .path = author->path,
                                   .data = text,
                                   .size = change_request_encode(&author->request, text),
                                   .flags = ZK_EPHEMERAL};
    author->stage = AUTHOR_CREATES;
    author->port.write(author->port.ctx, ++author->op, &write, 1);
}

static void read_it(struct sim_author *author, int stage)
{
    author->stage = stage;
    author->port.read(author->port.ctx, ++author->op, author->path, false);
}

static void remove_it(struct sim_author *author, int stage)
{
    const struct zk_write write = {
        .kind = ZK_DELETE, .path = author->path, .version = author->version};
    author->stage = stage;
    author->port.write(author->port.ctx, ++author->op, &write, 1);
}

/* The next look. */
static void on_poll(struct world *world, void *target, uint64_t op, uint64_t b, void *data)
{
    struct sim_author *author = target;
    (void)world;
    (void)b;
    (void)data;
    const bool looks = author->stage == AUTHOR_WAITS || author->stage == AUTHOR_READS_OTHER;
    if (author->killed || !looks || author->op != op) { return; }
    read_it(author, author->stage);
}

static void look_later(struct sim_author *author, int stage)
{
    author->stage = stage;
    world_after(&author->cluster->world, POLL_US, on_poll, author, author->op, 0, NULL);
}

/* A request exists: of another command, or of this author, whose creation was not confirmed. */
static void on_other(struct sim_author *author, const struct zk_event *event)
{
    struct change_request found;
    if (event->outcome != ZK_OK) {
        create(author);
        return;
    }
    const enum tn_status status = change_request_decode(event->data, event->size, &found, NULL);
    assert(status == TN_OK);
    author->version = event->stat.version;
    if (event->stat.ephemeral_owner == zk_client_session(author->zk)) {
        look_later(author, AUTHOR_WAITS);
    } else if (found.state < CHANGE_DONE) {
        end(author, RESULT_BUSY);
    } else if (world_ms(&author->cluster->world) < author->asked_ms + CHANGE_ANSWER_READ_MS) {
        look_later(author, AUTHOR_READS_OTHER);
    } else {
        remove_it(author, AUTHOR_REMOVES);
    }
}

static void on_look(struct sim_author *author, const struct zk_event *event)
{
    if (event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_NODE) {
        world_fail(&author->cluster->world, "S14: the request of a command that waits was removed");
        return;
    }
    if (event->outcome != ZK_OK) {
        look_later(author, AUTHOR_WAITS);
        return;
    }
    const enum tn_status status =
        change_request_decode(event->data, event->size, &author->request, NULL);
    assert(status == TN_OK);
    author->version = event->stat.version;
    const bool is_late = world_ms(&author->cluster->world) >= author->asked_ms + ACCEPT_MS;
    switch (author->request.state) {
    case CHANGE_DONE: end(author, RESULT_DONE); break;
    case CHANGE_REFUSED: end(author, RESULT_REFUSED); break;
    case CHANGE_WANTED:
        if (is_late) {
            remove_it(author, AUTHOR_WITHDRAWS);
        } else {
            look_later(author, AUTHOR_WAITS);
        }
        break;
    default: look_later(author, AUTHOR_WAITS);
    }
}

static void on_result(struct sim_author *author, const struct zk_event *event)
{
    const bool is_done = event->outcome == ZK_OK;
    switch (author->stage) {
    case AUTHOR_CREATES:
        if (is_done) {
            look_later(author, AUTHOR_WAITS);
        } else {
            read_it(author, AUTHOR_READS_OTHER);
        }
        break;
    case AUTHOR_READS_OTHER: on_other(author, event); break;
    case AUTHOR_REMOVES: create(author); break;
    case AUTHOR_WAITS: on_look(author, event); break;
    case AUTHOR_WITHDRAWS:
        if (is_done) {
            end(author, RESULT_WITHDRAWN);
        } else {
            look_later(author, AUTHOR_WAITS);
        }
        break;
    case AUTHOR_OVER: break;
    }
}

static void on_zk(void *ctx, const struct zk_event *event)
{
    struct sim_author *author = ctx;
    if (author->killed || author->stage == AUTHOR_OVER) { return; }
    if (event->type == ZK_CONNECTED && author->op == 0) { create(author); }
    if (event->type == ZK_EXPIRED) {
        author->killed = true; /* The command fails, and reports that. */
        zk_client_kill(author->zk);
        return;
    }
    if (event->type == ZK_RESULT && event->op == author->op) { on_result(author, event); }
}

static void on_kill(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct sim_author *author = target;
    (void)a;
    (void)b;
    (void)data;
    if (author->stage == AUTHOR_OVER || author->killed) { return; }
    world_log(world, "the command for %u ps is killed", author->request.ps);
    author->killed = true;
    zk_client_kill(author->zk);
}

static void start(struct sim_cluster *cluster, const struct change_request *request,
                  uint64_t dies_ms)
{
    struct sim_live *live = &cluster->live;
    assert(live->author_count < SIM_AUTHORS_MAX && request->ps <= cluster->setup.ps_most);
    struct sim_author *author = &live->authors[live->author_count++];
    *author = (struct sim_author){
        .cluster = cluster, .request = *request, .asked_ms = world_ms(&cluster->world)};
    change_request_path(author->path, cluster->setup.job.name);
    author->zk = zk_client_open(cluster->zk, AUTHOR_HOST, SESSION_MS, DEADLINE_MS, on_zk, author);
    author->port = zk_client_port(author->zk);
    if (dies_ms > 0) { world_after(&cluster->world, dies_ms * 1000, on_kill, author, 0, 0, NULL); }
}

void sim_author_start(struct sim_cluster *cluster, uint32_t ps, uint32_t borders, uint64_t dies_ms)
{
    const struct change_request request = {
        .ps = ps, .rows = sim_rows_borders(ps, borders), .by = "operator"};
    world_log(&cluster->world, "a command asks for %u ps", ps);
    start(cluster, &request, dies_ms);
}

void sim_author_start_groups(struct sim_cluster *cluster, uint32_t ps)
{
    const struct change_request request = {.strategy = CHANGE_TO_GROUP, .ps = ps, .by = "operator"};
    world_log(&cluster->world, "a command asks for groups with %u ps", ps);
    start(cluster, &request, 0);
}

void sim_author_start_workers(struct sim_cluster *cluster, uint32_t workers)
{
    const struct job *job = &cluster->setup.job;
    const struct change_request request = {
        .ps = job->cluster.ps, .rows = job->placement.rows, .workers = workers, .by = "operator"};
    assert(workers <= cluster->setup.workers_most);
    world_log(&cluster->world, "a command asks for %u workers", workers);
    start(cluster, &request, 0);
}

/* --------------------------------------------------------------- transactions */

static bool any_node_runs(const struct sim_cluster *cluster)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (cluster->now[t] != NULL && cluster->now[t]->alive) { return true; }
    }
    return false;
}

/* Their order is the same: sim_changer.c. */
static void place_variables(struct sim_cluster *cluster)
{
    struct error error;
    struct variable_table *table = &cluster->model->table;
    table->shard_count = 0;
    const enum tn_status status = variables_place(table, &cluster->setup.job, &error);
    assert(status == TN_OK);
}

static void on_spec(struct sim_cluster *cluster, const struct zk_blob *blob)
{
    struct spec spec = {0};
    struct job *job = &cluster->setup.job;
    if (blob == NULL || spec_decode(blob->data, blob->size, &spec, NULL) != TN_OK) { return; }
    const bool is_fixed = spec.workers_least == 0;
    if (spec.ps != job->cluster.ps || !row_borders_equal(&spec.rows, &job->placement.rows) ||
        (is_fixed && spec.workers != job->cluster.workers)) {
        world_log(&cluster->world, "%u ps and %u workers from now on, before %u and %u", spec.ps,
                  spec.workers, job->cluster.ps, job->cluster.workers);
        if (any_node_runs(cluster)) {
            world_fail(&cluster->world, "P16: the job changed while a node ran");
        }
        const bool to_group = cluster->live.to_group && spec.ps > 0;
        live_plan_job(
            job, &(struct change_request){.strategy = to_group ? CHANGE_TO_GROUP : CHANGE_BY_PS,
                                          .ps = spec.ps,
                                          .rows = spec.rows,
                                          .workers = is_fixed ? spec.workers : 0});
        place_variables(cluster);
        cluster->key++;
        cluster->resizes++;
    }
    free(spec.job_json);
}

static void on_run(struct sim_cluster *cluster, const struct zk_blob *blob)
{
    struct sim_live *live = &cluster->live;
    struct run run;
    if (blob == NULL || run_decode(blob->data, blob->size, &run, NULL) != TN_OK) { return; }
    const bool is_stopped = cluster->checker.stop_requested && run.ending; /* It ends the pause. */
    const bool is_resumed = live->is_paused && !run.pause_requested && !is_stopped;
    if (is_resumed && ++live->unpaused > live->resumes && !run_is_over(&run)) {
        world_fail(&cluster->world, "P16: a pause ended that no operator ended");
    }
    live->is_paused = run.pause_requested;
}

void sim_live_on_txn(struct sim_cluster *cluster, const struct zk_txn *txn)
{
    char spec[256], run[256];
    if (!cluster->setup.live) { return; }
    znode_path(spec, cluster->setup.job.name, "spec");
    znode_path(run, cluster->setup.job.name, "run");
    for (size_t i = 0; i < txn->count; i++) {
        const struct zk_change *change = &txn->changes[i];
        if (change->kind == ZK_DELETE) { continue; }
        if (strcmp(change->path, spec) == 0) { on_spec(cluster, change->blob); }
        if (strcmp(change->path, run) == 0) { on_run(cluster, change->blob); }
    }
}
