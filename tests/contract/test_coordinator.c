/* Coordinators on a real ZooKeeper and real connections, with ps and workers that only simulate
 * training: a cluster is created, forms, runs, loses its chief and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/bootstrap.h"
#include "common/cluster/requests.h"
#include "common/node/membership.h"
#include "common/node/runtime.h"
#include "coordinator/coordinator.h"
#include "tanist/status.h"
#include "tests/support/patience.h"
#include "tests/support/servers.h"

enum { SESSION_MS = 60000, STEPS = 300, STEP_MS = 5, NODES_MAX = 5 };

static struct zk_sync *sync_client;

/* --------------------------------------------------------------- fake nodes */

struct fake_node {
    struct membership membership;
    struct report report;
    uint64_t step_at_ms;
    bool finished;
    int exit_code;
};

static void fake_ps(struct fake_node *p, const struct run *run, uint64_t now_ms)
{
    struct report *report = &p->report;
    if (run->phase == RUN_LOADING && report->generation != run->generation) {
        report->generation = run->generation;
        report->step = run->load_step;
    }
    bool runs = run->phase == RUN_RUNNING && report->step < run->until;
    if (runs && now_ms >= p->step_at_ms) {
        report->step++;
        p->step_at_ms = now_ms + STEP_MS;
    }
    if (run->save_checkpoint <= report->saved_checkpoint || report->step < run->save_step) {
        return;
    }
    if (report->step > run->save_step) {
        report->missed_checkpoint = report->late_checkpoint = run->save_checkpoint;
    }
    if (report->step > run->save_step) { return; }
    report->saved_checkpoint = run->save_checkpoint;
    report->saved_step = run->save_step;
    report->saved_bytes = 64;
}

static void fake_worker(struct fake_node *p, const struct run *run)
{
    p->report.ready = 1;
    p->report.generation = run->generation;
    if (run->phase == RUN_STOPPING) { p->report.evaluation.step = run->until; }
}

static void fake_node_handle(void *self, const struct node_event *event)
{
    struct fake_node *p = self;
    unsigned changes = membership_handle(&p->membership, event);
    const struct run *run = &p->membership.run;
    if (event->type == NODE_TRANSPORT && event->transport->type == TRANSPORT_FRAME) {
        buffer_release(event->transport->body);
    }
    p->finished = p->finished || (changes & MEMBERSHIP_ENDED) || event->type == NODE_LEAVE ||
                  (p->membership.has_run && run->phase == RUN_DONE);
    p->exit_code = p->membership.exit_code;
    if (p->finished || !p->membership.has_run) { return; }
    if (p->membership.identity.task.role == ROLE_PS) {
        fake_ps(p, run, event->now_ms);
    } else {
        fake_worker(p, run);
    }
    membership_report(&p->membership, &p->report);
}

static uint64_t fake_node_deadline(const void *self)
{
    const struct fake_node *p = self;
    uint64_t deadline = membership_deadline_ms(&p->membership);
    return p->step_at_ms < deadline && p->membership.run.phase == RUN_RUNNING ? p->step_at_ms
                                                                              : deadline;
}

static bool fake_node_finished(const void *self, int *exit_code)
{
    const struct fake_node *p = self;
    *exit_code = p->exit_code;
    return p->finished;
}

/* ------------------------------------------------------------------- nodes */

struct task_thread {
    struct task task;
    uint64_t key;
    pthread_t id;
    int exit_code;
};

static struct node_identity identity_of(const struct task_thread *thread, struct runtime *runtime)
{
    struct node_identity identity = {.task = thread->task,
                                     .incarnation = clock_new_incarnation(),
                                     .pid = 1,
                                     .cluster = "c",
                                     .host = "here",
                                     .session_timeout_ms = SESSION_MS};
    runtime_address(runtime, identity.address, sizeof identity.address);
    return identity;
}

static int run_coordinator(const struct task_thread *thread, struct runtime *runtime,
                           const struct node_identity *identity)
{
    const struct coordinator_config config = {
        .chief = {.self = thread->task,
                  .ps = 2,
                  .workers = 1,
                  .min_workers = 1,
                  .slices = 4,
                  .steps = STEPS,
                  .checkpoint_every_steps = 100,
                  .checkpoint_keep = 2,
                  .manifest = {.parameter_count = 64,
                               .shard_count = 2,
                               .shards = {{.count = 32}, {.first = 32, .count = 32}},
                               .state_arrays = 1,
                               .slices = 4,
                               .optimizer = "sgd",
                               .mode = "sync",
                               .kernels = "none"}}};
    struct coordinator *coordinator = coordinator_create(&config, identity, runtime_ports(runtime));
    struct node node = coordinator_node(coordinator);
    int exit_code = runtime_run(runtime, &node);
    coordinator_destroy(coordinator);
    return exit_code;
}

static int run_fake_node(struct runtime *runtime, const struct node_identity *identity)
{
    struct fake_node p = {.report = {.evaluation = {.step = STEP_NONE}, .place = "here:/"}};
    membership_init(&p.membership, identity, runtime_ports(runtime));
    const struct node node = {.self = &p,
                              .handle = fake_node_handle,
                              .deadline_ms = fake_node_deadline,
                              .finished = fake_node_finished};
    return runtime_run(runtime, &node);
}

static void *run_task(void *ctx)
{
    struct task_thread *thread = ctx;
    struct runtime *runtime;
    struct error error = {0};
    /* The transport sends the incarnation in each frame; it must be the node's. */
    struct runtime_config config = {.zk_connect = servers.ensemble.connect,
                                    .session_timeout_ms = SESSION_MS,
                                    .listen = "tcp://127.0.0.1:0",
                                    .cluster_key = thread->key,
                                    .incarnation = clock_new_incarnation(),
                                    .body_max = 4096};
    if (runtime_open(&config, &runtime, &error) != TN_OK) {
        fprintf(stderr, "%s\n", error.text);
        thread->exit_code = -1;
        return NULL;
    }
    struct node_identity identity = identity_of(thread, runtime);
    identity.incarnation = config.incarnation;
    thread->exit_code = thread->task.role == ROLE_COORDINATOR
                            ? run_coordinator(thread, runtime, &identity)
                            : run_fake_node(runtime, &identity);
    runtime_close(runtime);
    return NULL;
}

/* ------------------------------------------------------------------- tests */

static struct run read_run(void)
{
    struct zk_sync_data data;
    struct run run;
    struct error error;
    assert_int_equal(zk_sync_read(sync_client, "/tanist/c/run", &data, &error), TN_OK);
    assert_int_equal(run_decode(data.data, data.size, &run, &error), TN_OK);
    free(data.data);
    return run;
}

static void wait_for_phase(enum run_phase phase)
{
    uint64_t deadline_ms = clock_monotonic_ms() + patience_ms(120000);
    while (read_run().phase != phase) { assert_true(clock_monotonic_ms() < deadline_ms); }
}

static uint32_t count_history(enum history_kind kind)
{
    struct zk_sync_list list;
    uint32_t count = 0;
    assert_int_equal(zk_sync_list(sync_client, "/tanist/c/history", &list, NULL), TN_OK);
    for (size_t i = 0; i < list.count; i++) {
        char path[ZK_PATH_MAX];
        struct zk_sync_data data;
        struct history_entry entry;
        snprintf(path, sizeof path, "/tanist/c/history/%s", list.names[i]);
        assert_int_equal(zk_sync_read(sync_client, path, &data, NULL), TN_OK);
        assert_int_equal(history_decode(data.data, data.size, &entry, NULL), TN_OK);
        count += entry.kind == kind;
        free(data.data);
    }
    zk_sync_list_free(&list);
    return count;
}

static void request(enum request_kind kind)
{
    char text[ZNODE_JSON_MAX];
    const struct request asked = {.kind = kind, .by = "the test"};
    const struct zk_write write = {.kind = ZK_CREATE,
                                   .path = "/tanist/c/requests/r-",
                                   .data = text,
                                   .size = request_encode(&asked, text),
                                   .flags = ZK_SEQUENTIAL};
    assert_int_equal(zk_sync_write(sync_client, &write, 1, NULL), TN_OK);
}

static struct spec make_cluster(void)
{
    struct error error;
    struct spec found;
    struct spec spec = {.key = clock_new_incarnation(), .job_hash = 5, .ps = 2, .workers = 1};
    assert_int_equal(bootstrap_create(sync_client, "c", &spec, 4, &found, &error), TN_OK);
    return found;
}

/* Creating the same cluster again keeps its key; another job with its name is refused. */
static void cluster_is_created_once(void **state)
{
    (void)state;
    struct error error;
    struct spec found = make_cluster(), other = found, again = make_cluster();
    assert_true(found.key == again.key);
    other.job_hash = 6;
    assert_int_equal(bootstrap_create(sync_client, "c", &other, 4, &again, &error), TN_EEXIST);
    assert_null(again.job_json); /* The caller may free it after a failure, too. */
    assert_non_null(strstr(error.text, "cluster c exists with another job"));
    assert_int_equal(bootstrap_read_spec(sync_client, "d", &again, &error), TN_ENOENT);
    assert_int_equal(read_run().phase, RUN_FORMING);
}

/* The chief resigns while the run is running; the next one continues; all nodes end with the
 * run. */
static void run_survives_the_resignation_of_its_chief(void **state)
{
    (void)state;
    struct task_thread threads[NODES_MAX] = {{.task = {ROLE_COORDINATOR, 0}},
                                             {.task = {ROLE_COORDINATOR, 1}},
                                             {.task = {ROLE_PS, 0}},
                                             {.task = {ROLE_PS, 1}},
                                             {.task = {ROLE_WORKER, 0}}};
    uint64_t key = make_cluster().key;
    for (int i = 0; i < NODES_MAX; i++) {
        threads[i].key = key;
        assert_int_equal(pthread_create(&threads[i].id, NULL, run_task, &threads[i]), 0);
    }
    wait_for_phase(RUN_RUNNING);
    request(REQUEST_RESIGN);
    wait_for_phase(RUN_DONE);
    int resigned = 0;
    for (int i = 0; i < NODES_MAX; i++) {
        pthread_join(threads[i].id, NULL);
        if (i < 2 && threads[i].exit_code == TN_EXIT_RESIGNED) { resigned++; }
        if (i >= 2) { assert_int_equal(threads[i].exit_code, 0); }
    }
    assert_int_equal(resigned, 1);
    struct run run = read_run();
    assert_true(run.committed_step == STEPS && run.evaluation.step == STEPS);
    assert_true(run.elections == 2 && run.epoch == 2 && run.generation == 1);
    assert_int_equal(count_history(HISTORY_ELECTED), 2);
    assert_int_equal(count_history(HISTORY_DONE), 1);
    assert_int_equal(count_history(HISTORY_PAUSED), 0);
    assert_true(count_history(HISTORY_CHECKPOINT) >= 2);
}

static size_t count_requests(void)
{
    struct zk_sync_list list;
    assert_int_equal(zk_sync_list(sync_client, "/tanist/c/requests", &list, NULL), TN_OK);
    size_t count = list.count;
    zk_sync_list_free(&list);
    return count;
}

/* A request is withdrawn by its sender, and ends with its sender's session. */
static void request_ends_with_its_sender(void **state)
{
    (void)state;
    struct zk_sync *sender = NULL;
    struct sent_request sent, other;
    struct error error;
    assert_int_equal(zk_sync_open(servers.ensemble.connect, NULL, 10000, &sender, &error), TN_OK);
    const struct request stop = {.kind = REQUEST_STOP};
    assert_int_equal(request_send(sender, "c", &stop, &sent, &error), TN_OK);
    assert_int_equal(request_send(sender, "c", &stop, &other, &error), TN_OK);
    assert_int_equal(request_find(sender, "c", &sent, &error), TN_OK);
    assert_int_equal(count_requests(), 2);
    assert_int_equal(request_withdraw(sender, "c", &sent, &error), TN_OK);
    assert_int_equal(count_requests(), 1);
    assert_int_equal(request_withdraw(sender, "c", &sent, &error), TN_ENOENT);
    zk_sync_close(sender);
    assert_int_equal(count_requests(), 0);
}

/* Requests from before a start are deleted, one made since then is for the run that begins. */
static void request_to_the_run_that_begins_stays(void **state)
{
    (void)state;
    struct sent_request sent;
    const struct request stop = {.kind = REQUEST_STOP};
    const uint64_t since_ms = clock_wall_ms();
    request(REQUEST_STOP); /* It has no time. */
    assert_int_equal(request_send(sync_client, "c", &stop, &sent, NULL), TN_OK);
    assert_int_equal(bootstrap_clear_requests(sync_client, "c", since_ms, NULL), TN_OK);
    assert_int_equal(count_requests(), 1);
    assert_int_equal(request_find(sync_client, "c", &sent, NULL), TN_OK);
    assert_int_equal(bootstrap_clear_requests(sync_client, "c", clock_wall_ms() + 1, NULL), TN_OK);
    assert_int_equal(count_requests(), 0);
}

/* A run that is done forms again, from its last checkpoint. */
static void finished_run_can_form_again(void **state)
{
    (void)state;
    request(REQUEST_STOP);
    assert_int_equal(count_requests(), 1);
    assert_int_equal(bootstrap_reform(sync_client, "c", NULL, 0, clock_wall_ms(), NULL), TN_OK);
    struct run run = read_run();
    assert_true(run.phase == RUN_FORMING && run.committed_step == STEPS);
    assert_int_equal(count_requests(), 0);
    assert_int_equal(bootstrap_reform(sync_client, "d", NULL, 0, 0, NULL), TN_ENOENT);
}

static int start(void **state)
{
    log_init(LOG_INFO, LOG_TEXT, "test");
    (void)servers_start_one(state);
    return zk_sync_open(servers.ensemble.connect, NULL, 10000, &sync_client, NULL);
}

static int stop(void **state)
{
    zk_sync_close(sync_client);
    return servers_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_is_created_once),
        cmocka_unit_test(run_survives_the_resignation_of_its_chief),
        cmocka_unit_test(finished_run_can_form_again),
        cmocka_unit_test(request_ends_with_its_sender),
        cmocka_unit_test(request_to_the_run_that_begins_stays),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
