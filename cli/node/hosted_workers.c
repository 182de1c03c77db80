#include "cli/node/hosted_workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/base/log.h"

struct hosted_workers {
    struct node_host *host;
    struct row_sharing *sharing;
    uint32_t count;
    pthread_mutex_t lock; /* Guards the outcome: that of the first failure. */
    int exit_code;
    enum tn_status status;
    struct error error;
    struct hosted_worker {
        struct hosted_workers *all;
        struct worker_config config;
        struct runtime *runtime;
        pthread_t thread;
    } list[];
};

static void end(struct hosted_workers *all, int exit_code, enum tn_status status,
                const struct error *error)
{
    if (exit_code == TN_EXIT_OK && status == TN_OK) { return; }
    pthread_mutex_lock(&all->lock);
    const bool first = all->exit_code == TN_EXIT_OK && all->status == TN_OK;
    if (first) {
        all->exit_code = exit_code;
        all->status = status;
        if (status != TN_OK) { all->error = *error; }
    }
    pthread_mutex_unlock(&all->lock);
    node_host_leave(all->host);
}

static void keep(void *event)
{
    (void)event; /* It is not allocated. */
}

/* The worker has to look at its rows: an event without content. */
static void wake(void *ctx)
{
    struct hosted_worker *one = ctx;
    static char nothing;
    runtime_post(one->runtime, &nothing, keep);
}

static void *run_one(void *ctx)
{
    struct hosted_worker *one = ctx;
    struct worker *worker = NULL;
    struct error error = {0};
    char name[TASK_NAME_MAX];
    int exit_code = TN_EXIT_OK;
    task_format(one->config.identity.task, ':', name, sizeof name);
    log_set_thread_task(name);
    enum tn_status status = worker_create(&one->config, &worker, &error);
    if (status == TN_OK) {
        const struct node node = worker_node(worker);
        exit_code = runtime_run(one->runtime, &node);
    }
    worker_destroy(worker);
    end(one->all, exit_code, status, &error);
    return NULL;
}

static enum tn_status open_one(const struct node_setup *setup, const struct worker_config *shared,
                               struct hosted_workers *all, struct error *error)
{
    struct hosted_worker *one = &all->list[all->count];
    one->all = all;
    one->config = *shared;
    enum tn_status status = node_open_runtime(setup, all->host, all->count, &one->config.identity,
                                              &one->runtime, error);
    if (status != TN_OK) { return status; }
    one->config.ports = runtime_ports(one->runtime);
    one->config.member = (struct row_member){all->sharing, all->count, wake, one};
    all->count++;
    return TN_OK;
}

static enum tn_status open_all(const struct node_setup *setup, const struct worker_config *shared,
                               struct hosted_workers *all, struct error *error)
{
    const struct node_host_config config = {
        .zk_connect = setup->connect,
        .zk_credentials = setup->credentials[0] != '\0' ? setup->credentials : NULL,
        .session_timeout_ms = setup->job.zookeeper.session_timeout_ms,
        .session_file = setup->session_file,
        .nodes = setup->nodes,
    };
    enum tn_status status = row_sharing_open(&all->sharing, error);
    if (status == TN_OK) { status = node_host_open(&config, &all->host, error); }
    while (status == TN_OK && all->count < setup->nodes) {
        status = open_one(setup, shared, all, error);
    }
    return status == TN_OK ? node_host_connect(all->host, error) : status;
}

/* A worker has up to 13 descriptors with 8 ps; shells allow 1024 for a process unless it asks. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return; }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void run_all(struct hosted_workers *all)
{
    uint32_t started = 0;
    struct error error;
    while (started < all->count &&
           pthread_create(&all->list[started].thread, NULL, run_one, &all->list[started]) == 0) {
        started++;
    }
    if (started < all->count) {
        (void)error_set(&error, TN_ENOMEM, "cannot start a thread for each of %u workers",
                        all->count);
        end(all, TN_EXIT_OK, TN_ENOMEM, &error);
    }
    for (uint32_t i = 0; i < started; i++) { pthread_join(all->list[i].thread, NULL); }
}

/* The registrations disappear before the connections. */
static void close_all(struct hosted_workers *all)
{
    if (all->host != NULL) { node_host_disconnect(all->host); }
    for (uint32_t i = 0; i < all->count; i++) { runtime_close(all->list[i].runtime); }
    node_host_close(all->host);
    row_sharing_close(all->sharing);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

enum tn_status hosted_workers_run(const struct node_setup *setup,
                                  const struct worker_config *shared, int *exit_code,
                                  struct error *error)
{
    assert(setup->nodes > 1 && setup->task.role == ROLE_WORKER);
    struct hosted_workers *all = calloc(1, sizeof *all + setup->nodes * sizeof all->list[0]);
    if (all == NULL) { return error_set(error, TN_ENOMEM, "out of memory for the workers"); }
    pthread_mutex_init(&all->lock, NULL);
    allow_descriptors();
    enum tn_status status = open_all(setup, shared, all, error);
    if (status == TN_OK) {
        run_all(all);
        *exit_code = all->exit_code;
        status = all->status;
        if (status != TN_OK) { *error = all->error; }
    }
    close_all(all);
    return status;
}
