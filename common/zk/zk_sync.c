#include "common/zk/zk_sync.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/condition.h"

/* The answer to the request under way; the library's thread fills it in. */
struct answer {
    bool arrived;
    enum zk_outcome outcome;
    enum zk_reason reason;
    struct zk_sync_data data;
    struct zk_sync_list list;
};

struct zk_sync {
    struct zk *zk;
    uint32_t timeout_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool connected, expired;
    bool over;   /* `expired` as the caller's thread saw it last. */
    uint64_t op; /* The request in progress. */
    struct answer answer;
};

static void clear(struct answer *answer)
{
    free(answer->data.data);
    zk_sync_list_free(&answer->list);
    *answer = (struct answer){0};
}

/* Copy the borrowed memory of the event. False: out of memory. */
static bool copy_answer(struct answer *answer, const struct zk_event *event)
{
    assert(answer->data.data == NULL && answer->list.names == NULL);
    answer->data.stat = event->stat;
    answer->data.size = event->size;
    answer->data.data = calloc(1, event->size + 1);
    if (answer->data.data == NULL) { return false; }
    if (event->size > 0) { memcpy(answer->data.data, event->data, event->size); }
    if (event->child_count == 0) { return true; }
    answer->list.names = calloc(event->child_count, sizeof answer->list.names[0]);
    if (answer->list.names == NULL) { return false; }
    for (size_t i = 0; i < event->child_count; i++) {
        answer->list.names[i] = strdup(event->children[i]);
        if (answer->list.names[i] == NULL) { return false; }
        answer->list.count++;
    }
    return true;
}

static void on_event(void *ctx, const struct zk_event *event)
{
    assert(event != NULL);
    struct zk_sync *sync = ctx;
    pthread_mutex_lock(&sync->lock);
    if (event->type == ZK_CONNECTED) { sync->connected = true; }
    if (event->type == ZK_DISCONNECTED) { sync->connected = false; }
    if (event->type == ZK_EXPIRED) { sync->expired = true; }
    if (event->type == ZK_RESULT && event->op == sync->op && !sync->answer.arrived) {
        sync->answer.arrived = true;
        sync->answer.outcome = copy_answer(&sync->answer, event) ? event->outcome : ZK_UNKNOWN;
        sync->answer.reason = event->reason;
    }
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
}

/* With the lock held: wait until `*flag`, expiry or the deadline. */
static void wait_for(struct zk_sync *sync, const bool *flag, uint64_t deadline_ms)
{
    bool in_time = true;
    while (!*flag && !sync->expired && in_time) {
        in_time = condition_wait_until(&sync->changed, &sync->lock, deadline_ms);
    }
}

static struct zk_sync *create(uint32_t timeout_ms)
{
    struct zk_sync *sync = calloc(1, sizeof *sync);
    if (sync == NULL) { return NULL; }
    pthread_mutex_init(&sync->lock, NULL);
    condition_init(&sync->changed);
    sync->timeout_ms = timeout_ms;
    return sync;
}

enum tn_status zk_sync_open(const char *connect, const char *credentials, uint32_t timeout_ms,
                            struct zk_sync **out, struct error *error)
{
    assert(timeout_ms > 0);
    *out = NULL;
    struct zk_sync *sync = create(timeout_ms);
    if (sync == NULL) { return error_set(error, TN_ENOMEM, "no memory for a ZooKeeper client"); }
    const struct zk_config config = {.connect = connect,
                                     .session_timeout_ms = 10000,
                                     .deadline_ms = timeout_ms,
                                     .credentials = credentials,
                                     .sink = on_event,
                                     .sink_ctx = sync};
    enum tn_status status = zk_open(&config, &sync->zk, error);
    if (status == TN_OK) {
        pthread_mutex_lock(&sync->lock);
        wait_for(sync, &sync->connected, clock_monotonic_ms() + timeout_ms);
        bool connected = sync->connected;
        pthread_mutex_unlock(&sync->lock);
        if (!connected) {
            status = error_set(error, TN_ECONNECT, ZK_SYNC_NO_ANSWER, connect, timeout_ms);
        }
    }
    if (status == TN_OK) {
        *out = sync;
    } else {
        zk_sync_close(sync);
    }
    return status;
}

void zk_sync_close(struct zk_sync *sync)
{
    if (sync == NULL) { return; }
    zk_close(sync->zk);
    clear(&sync->answer);
    pthread_cond_destroy(&sync->changed);
    pthread_mutex_destroy(&sync->lock);
    free(sync);
}

/* ---------------------------------------------------------------- requests */

enum request_type { REQUEST_WRITE, REQUEST_READ, REQUEST_LIST, REQUEST_PERMISSIONS };

struct sync_request {
    enum request_type type;
    const char *path;
    const struct zk_write *writes;
    size_t count;
    unsigned others; /* Permissions. */
};

/* Sent without the lock, as the adapter may answer before it returns. */
static void send_once(struct zk_sync *sync, const struct sync_request *request,
                      uint64_t deadline_ms)
{
    assert(request->type != REQUEST_WRITE || request->count > 0);
    const struct zk_port port = zk_port_of(sync->zk);
    pthread_mutex_lock(&sync->lock);
    clear(&sync->answer);
    uint64_t op = ++sync->op;
    pthread_mutex_unlock(&sync->lock);
    switch (request->type) {
    case REQUEST_WRITE: port.write(port.ctx, op, request->writes, request->count); break;
    case REQUEST_READ: port.read(port.ctx, op, request->path, false); break;
    case REQUEST_LIST: port.list(port.ctx, op, request->path, false); break;
    case REQUEST_PERMISSIONS:
        zk_set_permissions(sync->zk, op, request->path, request->others);
        break;
    }
    pthread_mutex_lock(&sync->lock);
    wait_for(sync, &sync->answer.arrived, deadline_ms);
    if (!sync->answer.arrived) { sync->answer.outcome = ZK_UNKNOWN; }
    sync->over = sync->expired;
    sync->op++; /* A later answer is ignored. */
    pthread_mutex_unlock(&sync->lock);
}

static enum tn_status status_of(const struct zk_sync *sync, const struct sync_request *request,
                                struct error *error)
{
    assert(request->path != NULL);
    const struct answer *answer = &sync->answer;
    if (answer->outcome == ZK_OK) { return TN_OK; }
    if (sync->over) {
        return error_set(error, TN_EEXPIRED, "%s: ZooKeeper ended our session", request->path);
    }
    if (answer->outcome == ZK_UNKNOWN) {
        return error_set(error, TN_ETIMEDOUT,
                         "%s: ZooKeeper did not answer within %" PRIu32 " ms%s", request->path,
                         sync->timeout_ms,
                         request->type == REQUEST_WRITE ? "; the write may have been applied" : "");
    }
    switch (answer->reason) {
    case ZK_REASON_NO_NODE: return error_set(error, TN_ENOENT, "%s: no such znode", request->path);
    case ZK_REASON_NODE_EXISTS:
        return error_set(error, TN_EEXIST, "%s already exists", request->path);
    case ZK_REASON_BAD_VERSION:
        return error_set(error, TN_EREFUSED, "%s was changed meanwhile", request->path);
    case ZK_REASON_NOT_EMPTY:
        return error_set(error, TN_EREFUSED, "%s has children", request->path);
    case ZK_REASON_NO_AUTH:
        return error_set(error, TN_EREFUSED,
                         "%s: access denied: give the credentials of its creator "
                         "(--zk-credentials FILE)",
                         request->path);
    default: return error_set(error, TN_EREFUSED, "%s: ZooKeeper refused", request->path);
    }
}

/* Requests that may be applied twice are repeated until the deadline. */
static enum tn_status send_request(struct zk_sync *sync, const struct sync_request *request,
                                   struct error *error)
{
    uint64_t deadline_ms = clock_monotonic_ms() + sync->timeout_ms;
    for (;;) {
        send_once(sync, request, deadline_ms);
        bool again = sync->answer.outcome == ZK_UNKNOWN && request->type != REQUEST_WRITE;
        if (!again || sync->over || clock_monotonic_ms() >= deadline_ms) { break; }
        const struct timespec pause = {.tv_nsec = 20 * 1000000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return status_of(sync, request, error);
}

enum tn_status zk_sync_write(struct zk_sync *sync, const struct zk_write *writes, size_t count,
                             struct error *error)
{
    assert(count > 0 && count <= ZK_WRITES_MAX);
    const struct sync_request request = {
        .type = REQUEST_WRITE, .path = writes[0].path, .writes = writes, .count = count};
    return send_request(sync, &request, error);
}

enum tn_status zk_sync_read(struct zk_sync *sync, const char *path, struct zk_sync_data *out,
                            struct error *error)
{
    assert(path != NULL);
    const struct sync_request request = {.type = REQUEST_READ, .path = path};
    enum tn_status status = send_request(sync, &request, error);
    if (status != TN_OK) { return status; }
    *out = sync->answer.data;
    sync->answer.data.data = NULL;
    return TN_OK;
}

enum tn_status zk_sync_set_permissions(struct zk_sync *sync, const char *path, unsigned others,
                                       struct error *error)
{
    assert(path != NULL);
    const struct sync_request request = {
        .type = REQUEST_PERMISSIONS, .path = path, .others = others};
    return send_request(sync, &request, error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum tn_status zk_sync_list(struct zk_sync *sync, const char *path, struct zk_sync_list *out,
                            struct error *error)
{
    assert(path != NULL);
    const struct sync_request request = {.type = REQUEST_LIST, .path = path};
    enum tn_status status = send_request(sync, &request, error);
    if (status != TN_OK) { return status; }
    *out = sync->answer.list;
    sync->answer.list = (struct zk_sync_list){0};
    if (out->count > 0) { qsort(out->names, out->count, sizeof out->names[0], by_name); }
    return TN_OK;
}

void zk_sync_list_free(struct zk_sync_list *list)
{
    for (size_t i = 0; i < list->count; i++) { free(list->names[i]); }
    free(list->names);
    *list = (struct zk_sync_list){0};
}
