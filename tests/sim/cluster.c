#include "tests/sim/cluster.h"
#include "common/cluster/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "kernels/optimizer.h"

/* ------------------------------------------------------------- observers */

static void on_txn(void *ctx, const struct zk_txn *txn)
{
    struct sim_cluster *cluster = ctx;
    bool was_done = cluster->checker.done;
    const uint64_t commits = cluster->checker.commits;
    sim_live_on_txn(cluster, txn);
    checker_on_txn(&cluster->checker, txn);
    if (cluster->checker.commits != commits) { sim_rows_committed(cluster); }
    if (cluster->checker.done && !was_done) { cluster->stopping = true; }
}

/* The process with that incarnation. */
static const struct process *sender_of(const struct sim_cluster *cluster, uint64_t incarnation)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        const struct process *process = cluster->now[t];
        if (process != NULL && process->config.incarnation == incarnation) { return process; }
    }
    for (uint32_t i = cluster->process_count; i-- > 0;) {
        if (cluster->processes[i]->config.incarnation == incarnation) {
            return cluster->processes[i];
        }
    }
    return NULL;
}

static void log_frame(struct sim_cluster *cluster, const struct frame_header *header)
{
    static const char *const names[FRAME_TYPE_END] = {
        [FRAME_REPORT] = "report",       [FRAME_REPORT_ACK] = "ack",
        [FRAME_PUSH] = "push",           [FRAME_PULL] = "pull",
        [FRAME_VALUES] = "values",       [FRAME_REFUSED] = "refused",
        [FRAME_NORM_PART] = "norm-part", [FRAME_LOSSES] = "losses",
        [FRAME_LOOKUP] = "lookup",       [FRAME_ROWS] = "rows",
        [FRAME_PUSH_ROWS] = "push-rows", [FRAME_SUM] = "sum",
        [FRAME_GROUP] = "group",         [FRAME_VALUES_GROWING] = "values-growing",
    };
    const struct process *from = sender_of(cluster, header->sender);
    if (header->type == FRAME_REPORT || header->type == FRAME_REPORT_ACK) { return; }
    world_log(&cluster->world, "%s from %s:%u generation %" PRIu64 " step %" PRIi64 " [%u+%u]",
              names[header->type], role_name(from->task.role), from->task.index, header->generation,
              (int64_t)header->step, header->first, header->count);
}

static struct sim_question *question_at(struct sim_cluster *cluster, uint64_t sender, uint64_t ps,
                                        uint64_t round)
{
    uint64_t mixed = (sender * 31 + ps) * 31 + round;
    return &cluster->questions[(mixed * 0x9e3779b97f4a7c15ULL >> 32) % SIM_QUESTIONS];
}

/* P2: a ps answers a push or pull with values only if it serves the generation of the request. A
 * push that was on its way while the ps loaded another generation must be refused. */
static void check_answer(struct sim_cluster *cluster, const struct frame_header *header,
                         uint64_t worker)
{
    const struct sim_question *asked =
        question_at(cluster, worker, header->sender, header->sequence);
    if (asked->sender != worker || asked->ps != header->sender ||
        asked->round != header->sequence) {
        return;
    }
    if (asked->generation == header->generation) { return; }
    world_fail(&cluster->world,
               "P2: a request of generation %" PRIu64 " got values of generation %" PRIu64,
               asked->generation, header->generation);
}

/* A worker has values of a later step than any before. */
static void note_progress(struct sim_cluster *cluster, uint64_t step)
{
    const uint64_t now_us = cluster->world.now_us, former_us = cluster->reached_us;
    if (step <= cluster->reached_step) { return; }
    if (cluster->reached_step > 0 && cluster->checker.run.phase == RUN_RUNNING) {
        cluster->longest_stall_us = u64_max(cluster->longest_stall_us, now_us - former_us);
    }
    cluster->reached_step = step;
    cluster->reached_us = now_us;
}

/* The values of a frame, and behind them their averages if the job has them. */
static void check_values(struct sim_cluster *cluster, const struct frame_header *header,
                         uint32_t shard, const float *values)
{
    const struct job *job = &cluster->setup.job;
    const size_t count = header->body_bytes / sizeof(float) / (job->train.ema > 0 ? 2 : 1);
    checker_on_values(&cluster->checker, header->generation, header->step, shard, job->cluster.ps,
                      values, count);
    if (job->train.ema <= 0 || job->train.mode != TRAIN_SYNC || header->step > job->train.steps) {
        return;
    }
    const struct placement place =
        variable_table_shard(&cluster->model->table, job->cluster.ps, shard);
    const float *averages = reference_averages(cluster->reference, header->step) + place.first;
    if (count == place.count && memcmp(averages, values + count, count * sizeof *values) == 0) {
        return;
    }
    world_fail(&cluster->world, "I6: ps:%u sent wrong averages of step %" PRIu64, shard,
               header->step);
}

/* A chunk of values that are sent while the update makes them has the bits of the whole step. */
static void check_growing(struct sim_cluster *cluster, const struct frame_header *header,
                          uint64_t first, uint32_t shard, const void *body)
{
    const struct checker_config *config = &cluster->checker.config;
    cluster->coverage->grown += header->offset > 0;
    if (!config->exact_steps || header->step > cluster->setup.job.train.steps) { return; }
    const float *values = config->view.values(config->view.ctx, header->step) + first;
    if (memcmp((const uint8_t *)values + header->offset, body, header->body_bytes) == 0) { return; }
    world_fail(&cluster->world, "I6: ps:%u sent wrong values of step %" PRIu64 " at %" PRIu64,
               shard, header->step, header->offset);
}

/* Collect the chunks of values, and check them as soon as they are complete. A worker has one
 * connection to each ps, so those of one body follow each other. */
static void assemble_values(struct sim_cluster *cluster, const struct frame_header *header,
                            uint32_t shard, uint64_t worker, const void *body)
{
    const struct job *job = &cluster->setup.job;
    struct sim_answer *answer = &cluster->answers[(worker + 8 * shard) % SIM_ANSWERS];
    const struct placement place =
        variable_table_shard(&cluster->model->table, job->cluster.ps, shard);
    const size_t total = place.count * sizeof(float) * (job->train.ema > 0 ? 2 : 1);
    assert(total <= sizeof answer->values);
    const bool growing = header->type == FRAME_VALUES_GROWING;
    const uint64_t end = header->offset + header->body_bytes;
    const uint64_t before = growing && end <= total ? total - end : header->offset;
    if (before == 0) { *answer = (struct sim_answer){.worker = worker, .header = *header}; }
    if (answer->worker != worker || answer->header.sender != header->sender) { return; }
    const bool follows = answer->have == before && answer->header.type == header->type &&
                         answer->header.generation == header->generation &&
                         answer->header.step == header->step && end <= total;
    if (!follows) {
        world_fail(&cluster->world,
                   "T9: ps:%u sent a chunk at %" PRIu64 " after one that ends at %zu", shard,
                   header->offset, answer->have);
        return;
    }
    if (growing) { check_growing(cluster, header, place.first, shard, body); }
    memcpy((uint8_t *)answer->values + header->offset, body, header->body_bytes);
    answer->have += header->body_bytes;
    if (answer->have < total) { return; }
    answer->header.body_bytes = (uint32_t)total;
    check_values(cluster, &answer->header, shard, answer->values);
}

/* Without ps: a worker may be the only one that is running, so that no sum is sent. */
static void note_replica(struct sim_cluster *cluster, const struct frame_header *header,
                         const void *body)
{
    struct report report;
    struct error error;
    if (header->type != FRAME_REPORT || cluster->setup.job.cluster.ps > 0) { return; }
    if (report_decode(body, header->body_bytes, &report, &error) != TN_OK) { return; }
    if (report.task.role != ROLE_WORKER) { return; }
    note_progress(cluster, report.step);
    checker_on_step(&cluster->checker, report.generation, report.step, report.task.index,
                    header->sender);
}

/* Array 0 of a replica are the values, whichever worker sends them. */
static void check_replica(struct sim_cluster *cluster, const struct frame_header *header,
                          uint32_t worker, const void *body)
{
    if (header->first != 0 || header->step > cluster->setup.job.train.steps) { return; }
    const float *values = reference_values(cluster->reference, header->step);
    assert(header->offset + header->body_bytes <=
           reference_parameters(cluster->reference) * sizeof *values);
    cluster->checker.values_checked++;
    if (memcmp((const uint8_t *)values + header->offset, body, header->body_bytes) == 0) { return; }
    world_fail(&cluster->world, "I6: worker:%u sent wrong values of step %" PRIu64, worker,
               header->step);
}

static void on_frame(void *ctx, void *receiver, const struct frame_header *header, const void *body)
{
    struct sim_cluster *cluster = ctx;
    const struct process *to = receiver;
    if (cluster->world.shows_frames) { log_frame(cluster, header); }
    if (header->type == FRAME_PUSH && to->task.role == ROLE_PS && header->offset == 0) {
        checker_on_push(&cluster->checker, header->generation, header->step, to->task.index,
                        header->first);
    }
    if ((header->type == FRAME_PUSH || header->type == FRAME_PULL) && to->task.role == ROLE_PS) {
        *question_at(cluster, header->sender, to->config.incarnation, header->sequence) =
            (struct sim_question){header->sender, to->config.incarnation, header->sequence,
                                  header->generation};
    }
    if (header->type == FRAME_LOOKUP && to->task.role == ROLE_PS) {
        sim_rows_asked(cluster, header, to, body);
    }
    sim_group_on_frame(cluster, header);
    if (header->type == FRAME_SUM) { /* It is made from values of its step (M4). */
        const struct process *from = sender_of(cluster, header->sender);
        assert(from != NULL && from->task.role == ROLE_WORKER);
        checker_on_step(&cluster->checker, header->generation, header->step, from->task.index,
                        header->sender);
    }
    note_replica(cluster, header, body);
    const bool growing = header->type == FRAME_VALUES_GROWING;
    if (header->type != FRAME_VALUES && header->type != FRAME_ROWS && !growing) { return; }
    const struct process *process = sender_of(cluster, header->sender);
    if (process != NULL && process->task.role == ROLE_WORKER) {
        check_replica(cluster, header, process->task.index, body);
        return;
    }
    assert(process != NULL && process->task.role == ROLE_PS);
    if (header->type == FRAME_ROWS) {
        sim_rows_answered(cluster, header, process, to, body);
        return;
    }
    if (!growing || header->offset == 0) { note_progress(cluster, header->step); }
    check_answer(cluster, header, to->config.incarnation);
    assemble_values(cluster, header, process->task.index, to->config.incarnation, body);
}

/* ----------------------------------------------------------------- set-up */

static void open_training(struct sim_cluster *cluster)
{
    const struct job *job = &cluster->setup.job;
    struct error error;
    cluster->kernels = kernels_reference();
    if (cluster->setup.ledger && !cluster->setup.ledger_rows) {
        cluster->model = ledger_open(job->data.examples);
        cluster->train = ledger_dataset(job->data.examples);
        cluster->test = ledger_dataset(job->data.examples);
    } else {
        enum tn_status status = TN_OK;
        if (cluster->setup.ledger_rows) {
            cluster->model = ledger_rows_open();
        } else {
            status = model_open(job, &cluster->model, &error);
        }
        if (status == TN_OK) { status = dataset_open(job, DATASET_TRAIN, &cluster->train, &error); }
        if (status == TN_OK) { status = dataset_open(job, DATASET_TEST, &cluster->test, &error); }
        if (status != TN_OK) { fprintf(stderr, "%s\n", error.text); }
        assert(status == TN_OK);
    }
    cluster->reference =
        reference_create(job, cluster->model, cluster->kernels, cluster->train, cluster->test);
}

static void add_tasks(struct sim_cluster *cluster, enum role role, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(cluster->task_count < SIM_TASKS_MAX);
        cluster->tasks[cluster->task_count++] = (struct task){role, i};
    }
}

static void add_agents(struct sim_cluster *cluster)
{
    cluster->agent_count = cluster->setup.one_host ? 1 : cluster->task_count;
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        struct sim_agent *agent = sim_agent_of(cluster, t);
        agent->cluster = cluster;
        agent->host = cluster->setup.one_host ? 0 : t;
        agent->tasks[agent->task_count++] = t;
    }
}

static void on_fault(struct world *world, void *target, uint64_t index, uint64_t b, void *data)
{
    (void)world;
    (void)b;
    (void)data;
    struct sim_cluster *cluster = target;
    sim_inject(cluster, &cluster->setup.faults[index]);
}

static void build(struct sim_cluster *cluster, const struct sim_setup *setup, uint64_t seed,
                  uint64_t mask, bool verbose)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->setup = *setup;
    cluster->other_job = setup->job;
    cluster->other_job.seed ^= 1;
    world_init(&cluster->world, seed, verbose);
    cluster->world.shows_frames = verbose && getenv("SIM_FRAMES") != NULL;
    cluster->next_incarnation = seed << 20 | 1;
    cluster->key = SIM_CLUSTER_KEY;
    cluster->zk = zk_model_create(&cluster->world, &setup->zk);
    cluster->net = net_model_create(&cluster->world, &setup->net);
    cluster->disk = disk_model_create(&cluster->world, &setup->disk);
    open_training(cluster);
    struct error error;
    const enum tn_status status = row_sharing_open(&cluster->sharing, &error);
    assert(status == TN_OK);
    const bool exact = setup->job.train.mode == TRAIN_SYNC || setup->in_order;
    struct checker_config config = {.view = sim_view(cluster),
                                    .job = &cluster->setup.job,
                                    .variables = &cluster->model->table,
                                    .exact_steps = exact,
                                    .exact_cuts = exact || setup->ledger,
                                    .tree = zk_model_tree(cluster->zk)};
    checker_init(&cluster->checker, &config);
    zk_model_observe(cluster->zk, on_txn, cluster);
    net_model_observe(cluster->net, on_frame, cluster);
    add_tasks(cluster, ROLE_COORDINATOR, setup->job.cluster.coordinators);
    add_tasks(cluster, ROLE_PS, u32_max(setup->ps_most, setup->job.cluster.ps));
    add_tasks(cluster, ROLE_WORKER, u32_max(setup->workers_most, setup->job.cluster.workers));
    add_tasks(cluster, ROLE_EVALUATOR, setup->job.cluster.evaluators);
    add_agents(cluster);
    sim_bootstrap(cluster);
    for (uint32_t i = 0; i < setup->fault_count; i++) {
        if (!(mask >> i & 1)) { continue; }
        world_after(&cluster->world, setup->faults[i].at_ms * 1000, on_fault, cluster, i, 0, NULL);
    }
}

/* -------------------------------------------------------------------- run */

static bool any_process_runs(const struct sim_cluster *cluster)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) {
        if (cluster->now[t] != NULL && cluster->now[t]->alive) { return true; }
    }
    return false;
}

static void run_until(struct sim_cluster *cluster, uint64_t until_us)
{
    while (!cluster->world.failed && world_step(&cluster->world, until_us)) {
        if (cluster->stopping) {
            cluster->stopping = false;
            sim_agents_job_ended(cluster);
        }
        if (cluster->checker.done && !any_process_runs(cluster)) { return; }
    }
}

/* The run must end soon after the faults. It may take longer while it advances: a slow network and
 * a checkpoint every few steps make a long run slow, and no bound is promised for that. */
static void run_to_end(struct sim_cluster *cluster)
{
    const struct checker *checker = &cluster->checker;
    uint64_t wait_ms = SIM_LIVENESS_MS;
    for (;;) {
        const uint64_t committed = checker->run.committed_step;
        const bool done = checker->done;
        run_until(cluster, cluster->world.now_us + wait_ms * 1000);
        const bool advanced = checker->run.committed_step > committed || checker->done != done;
        const bool over = checker->done && !any_process_runs(cluster);
        if (cluster->world.failed || over || !advanced) { return; }
        wait_ms = SIM_PROGRESS_MS;
    }
}

static void count(struct sim_cluster *cluster)
{
    struct coverage *coverage = cluster->coverage;
    coverage->seeds++;
    coverage->virtual_ms += world_ms(&cluster->world);
    coverage->handled += cluster->world.handled;
    coverage->steps += cluster->checker.run.evaluation.step;
    coverage->values_checked += cluster->checker.values_checked;
    coverage->lent += net_model_lent(cluster->net);
    coverage->rows_checked += cluster->rows_checked;
    coverage->elections += cluster->checker.elections;
    coverage->loads += cluster->checker.loads;
    coverage->restores += cluster->checker.restores;
    coverage->commits += cluster->checker.commits;
    coverage->kills += cluster->kills;
}

static void log_setup(struct sim_cluster *cluster)
{
    const struct job *job = &cluster->setup.job;
    world_log(&cluster->world,
              "%s%s: %u coordinators, %u ps, %u workers%s; %u slices, %" PRIu64
              " steps, optimizer %s; "
              "session %u ms; %u servers",
              job->train.mode == TRAIN_SYNC ? "sync" : "async",
              cluster->setup.ledger ? " (ledger)" : "", job->cluster.coordinators, job->cluster.ps,
              job->cluster.workers, cluster->setup.one_host ? " on one host" : "",
              job->train.slices, job->train.steps, optimizer_name(job->train.optimizer),
              job->zookeeper.session_timeout_ms, cluster->setup.zk.servers);
}

void sim_cluster_run(struct sim_cluster *cluster, const struct sim_setup *setup, uint64_t seed,
                     uint64_t mask, bool verbose, struct coverage *coverage)
{
    build(cluster, setup, seed, mask, verbose);
    cluster->coverage = coverage;
    log_setup(cluster);
    for (uint32_t i = 0; i < cluster->agent_count; i++) { sim_agent_start(&cluster->agents[i]); }
    sim_operator_start(cluster);
    uint64_t start_us = cluster->world.now_us;
    run_until(cluster, start_us + setup->faults_until_ms * 1000);
    if (!cluster->world.failed && !cluster->checker.done) {
        sim_heal(cluster);
        run_to_end(cluster);
    } else if (!cluster->world.failed) {
        cluster->healed = true;
        sim_heal(cluster);
        run_to_end(cluster);
    }
    if (!cluster->checker.done) {
        world_fail(&cluster->world,
                   "I10: %" PRIu64 " s after the faults ended the run is still %s: %s",
                   (world_ms(&cluster->world) - cluster->healed_ms) / 1000,
                   run_phase_name(cluster->checker.run.phase), cluster->checker.run.reason);
    } else if (any_process_runs(cluster)) {
        world_fail(&cluster->world, "I10: the run is done, but not all nodes have left");
    }
    count(cluster);
}

void sim_cluster_free(struct sim_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->process_count; i++) {
        process_kill(cluster->processes[i], true);
    }
    disk_model_free(cluster->disk);
    for (uint32_t i = 0; i < cluster->process_count; i++) { process_free(cluster->processes[i]); }
    row_sharing_close(cluster->sharing);
    sim_kept_free(cluster);
    sim_changer_stop(cluster);
    net_model_free(cluster->net);
    zk_model_free(cluster->zk);
    reference_free(cluster->reference);
    model_close(cluster->model);
    dataset_close(cluster->train);
    dataset_close(cluster->test);
    world_free(&cluster->world);
}
