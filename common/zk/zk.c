/*
 * common/zk/zk.c: the adapter to ZooKeeper's C client (3.8.0, multi-threaded); zk_acl.c has its
 * requests for ACLs.
 *
 * The library calls back on its own thread. A request is kept until then (zk_inflight.h); watches
 * carry the handle alone, so that equal watches coincide. Nothing is sent while disconnected: the
 * library would send it later, after we have answered UNKNOWN.
 */
#include "common/zk/zk_private.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault_signals.h"
#include "common/base/log.h"
#include "common/zk/zk_check.h"
#include "common/zk/zk_probe.h"
#include "common/zk/zk_threads.h"

struct zk_event zk_outcome_of(int rc)
{
    struct zk_event event = {.outcome = ZK_REFUSED, .failed_write = -1};
    switch (rc) {
    case ZOK: event.outcome = ZK_OK; break;
    case ZNONODE: event.reason = ZK_REASON_NO_NODE; break;
    case ZNODEEXISTS: event.reason = ZK_REASON_NODE_EXISTS; break;
    case ZBADVERSION: event.reason = ZK_REASON_BAD_VERSION; break;
    case ZNOTEMPTY: event.reason = ZK_REASON_NOT_EMPTY; break;
    case ZNOAUTH:
    case ZINVALIDACL: event.reason = ZK_REASON_NO_AUTH; break;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE: event.reason = ZK_REASON_EXPIRED; break;
    case ZNOCHILDRENFOREPHEMERALS:
    case ZBADARGUMENTS:
    case ZUNIMPLEMENTED: event.reason = ZK_REASON_OTHER; break;
    default: /* Connection loss, timeout, and other errors that prove nothing. */
        event.outcome = ZK_UNKNOWN;
        event.reason = ZK_REASON_CONNECTION;
        break;
    }
    return event;
}

static struct zk_stat stat_of(const struct Stat *stat)
{
    return (struct zk_stat){.version = stat->version,
                            .children_version = stat->cversion,
                            .created_zxid = (uint64_t)stat->czxid,
                            .modified_zxid = (uint64_t)stat->mzxid,
                            .ephemeral_owner = (uint64_t)stat->ephemeralOwner,
                            .modified_wall_ms = (uint64_t)stat->mtime};
}

static void finish(struct request *request, const struct zk_event *answer)
{
    zk_inflight_finish(&request->zk->inflight, &request->entry, answer);
}

/* The part that was refused; parts before it are marked as ok, parts after it as inconsistent. */
static int32_t failed_part(const struct request *request)
{
    assert(request->count > 0 && request->count <= ZK_WRITES_MAX);
    for (int i = 0; i < request->count; i++) {
        int error = request->results[i].err;
        if (error != ZOK && error != ZRUNTIMEINCONSISTENCY) { return i; }
    }
    return -1;
}

static void on_written(int rc, const void *data)
{
    struct request *request = (struct request *)data;
    struct zk_event answer = zk_outcome_of(rc);
    if (answer.outcome == ZK_REFUSED) { answer.failed_write = failed_part(request); }
    if (answer.outcome == ZK_OK) {
        if (request->first_create >= 0) { answer.path = request->created; }
        if (request->first_set >= 0) { answer.stat = stat_of(&request->stat); }
    }
    finish(request, &answer);
}

static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)state;
    struct zk *zk = context;
    /* Watches also receive session events, which on_session_event() handles. */
    if (type == ZOO_SESSION_EVENT) { return; }
    struct zk_event event = {.type = ZK_CHANGED, .path = path};
    zk_inflight_deliver(&zk->inflight, &event);
}

static void on_listed(int rc, const struct String_vector *names, const struct Stat *stat,
                      const void *data)
{
    struct request *request = (struct request *)data;
    struct zk_event answer = zk_outcome_of(rc);
    if (answer.outcome == ZK_OK) {
        answer.children = (const char *const *)names->data;
        answer.child_count = (size_t)names->count;
        answer.stat = stat_of(stat);
    }
    finish(request, &answer);
}

/*
 * To watch a missing znode takes a second call, as `get` sets no watch then but `exists` does. If
 * the znode is created between the two, `get` is called again; each round needs another change of
 * the znode, and the deadline ends them.
 */
static int send_get(struct request *request);

static void on_exists(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    struct request *request = (struct request *)data;
    if (rc == ZOK) { rc = send_get(request); }
    if (rc == ZOK) { return; }
    struct zk_event answer = zk_outcome_of(rc);
    finish(request, &answer);
}

static void on_got(int rc, const char *value, int size, const struct Stat *stat, const void *data)
{
    struct request *request = (struct request *)data;
    struct zk *zk = request->zk;
    if (rc == ZNONODE && request->watch && !zk_inflight_is_late(&zk->inflight, &request->entry)) {
        rc = zoo_awexists(zk->handle, request->entry.path, on_watch, zk, on_exists, request);
        if (rc == ZOK) { return; }
    }
    struct zk_event answer = zk_outcome_of(rc);
    if (answer.outcome == ZK_OK) {
        answer.size = size > 0 ? (size_t)size : 0; /* -1: the znode was created without data. */
        answer.data = answer.size > 0 ? value : NULL;
        answer.stat = stat_of(stat);
        if (answer.size != (size_t)stat->dataLength) {
            answer.outcome = ZK_UNKNOWN; /* Truncated: it has to be read again. */
            answer.reason = ZK_REASON_OTHER;
        }
    }
    finish(request, &answer);
}

static int send_get(struct request *request)
{
    return zoo_awget(request->zk->handle, request->entry.path, request->watch ? on_watch : NULL,
                     request->zk, on_got, request);
}

/* A request with its deadline running. NULL: it was answered for lack of memory. */
static struct request *new_request(struct zk *zk, uint64_t op, const char *path)
{
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        struct zk_event answer = zk_outcome_of(ZUNIMPLEMENTED);
        answer.type = ZK_RESULT;
        answer.op = op;
        answer.path = path;
        zk_inflight_deliver(&zk->inflight, &answer);
        return NULL;
    }
    assert(zk->handle != NULL);
    request->zk = zk;
    request->first_create = -1;
    request->first_set = -1;
    zk_inflight_add(&zk->inflight, &request->entry, op, path);
    return request;
}

/* Whether `request` may be sent; if not, it is answered. */
static bool may_send(struct request *request, enum zk_reason reason)
{
    struct zk *zk = request->zk;
    pthread_mutex_lock(&zk->lock);
    bool expired = zk->expired, connected = zk->connected;
    pthread_mutex_unlock(&zk->lock);
    if (reason == ZK_REASON_NONE && expired) { reason = ZK_REASON_EXPIRED; }
    if (reason != ZK_REASON_NONE) {
        zk_inflight_refuse(&zk->inflight, &request->entry, ZK_REFUSED, reason);
    } else if (!connected || zoo_state(zk->handle) != ZOO_CONNECTED_STATE) {
        /* Also avoids zoo_amulti in an expired session, where 3.8.0 frees paths that it never
         * allocated. A reconnection and an expiry within this call end the process anyway. */
        zk_inflight_park(&zk->inflight, &request->entry);
    } else {
        return true;
    }
    return false;
}

void zk_check_sent(struct request *request, int rc)
{
    if (rc == ZOK) { return; /* The request may be freed already. */ }
    struct zk_event answer = zk_outcome_of(rc);
    zk_inflight_refuse(&request->zk->inflight, &request->entry, answer.outcome, answer.reason);
}

static void prepare_part(struct request *request, int index, const struct zk_write *write,
                         zoo_op_t *op)
{
    assert(index < ZK_WRITES_MAX);
    const char *data = write->size > 0 ? write->data : "";
    bool first = false;
    switch (write->kind) {
    case ZK_CHECK: zoo_check_op_init(op, write->path, write->version); break;
    case ZK_DELETE: zoo_delete_op_init(op, write->path, write->version); break;
    case ZK_SET:
        first = request->first_set < 0;
        if (first) { request->first_set = index; }
        zoo_set_op_init(op, write->path, data, (int)write->size, write->version,
                        first ? &request->stat : NULL);
        break;
    case ZK_CREATE:
        first = request->first_create < 0;
        if (first) { request->first_create = index; }
        zoo_create_op_init(op, write->path, data, (int)write->size, &request->zk->acl,
                           ((write->flags & ZK_EPHEMERAL) != 0 ? ZOO_EPHEMERAL : 0) |
                               ((write->flags & ZK_SEQUENTIAL) != 0 ? ZOO_SEQUENCE : 0),
                           first ? request->created : NULL, first ? CREATED_PATH_MAX : 0);
        break;
    }
}

static void port_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    struct request *request = new_request(ctx, op, zk_asked_path(writes, count));
    if (request == NULL || !may_send(request, zk_check_writes(writes, count))) { return; }
    zoo_op_t parts[ZK_WRITES_MAX];
    request->count = (int)count;
    for (int i = 0; i < request->count; i++) { prepare_part(request, i, &writes[i], &parts[i]); }
    zk_check_sent(request, zoo_amulti(request->zk->handle, request->count, parts, request->results,
                                      on_written, request));
}

struct request *zk_new_request(struct zk *zk, uint64_t op, const char *path, bool watch)
{
    struct request *request = new_request(zk, op, path);
    if (request == NULL || !may_send(request, zk_check_read(path))) { return NULL; }
    request->watch = watch;
    return request;
}

static void port_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct request *request = zk_new_request(ctx, op, path, watch);
    if (request != NULL) { zk_check_sent(request, send_get(request)); }
}

static void port_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct request *request = zk_new_request(ctx, op, path, watch);
    if (request == NULL) { return; }
    zk_check_sent(request,
                  zoo_awget_children2(request->zk->handle, request->entry.path,
                                      watch ? on_watch : NULL, request->zk, on_listed, request));
}

struct zk_port zk_port_of(struct zk *zk)
{
    return (struct zk_port){.ctx = zk, .write = port_write, .read = port_read, .list = port_list};
}

/* -------------------------------------------------------------- the session */

static void describe_server(zhandle_t *handle, char *text, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    text[0] = '\0';
    if (zookeeper_get_connected_host(handle, (struct sockaddr *)&address, &length) == NULL) {
        return;
    }
    zk_format_address((const struct sockaddr *)&address, text, size);
}

static void session_connected(struct zk *zk, zhandle_t *handle)
{
    /* Not in zk_open(): 3.8.0 refuses credentials between two attempts to connect. Requests before
     * it would lack them, but nothing is sent before `connected`. */
    if (zk->credentials != NULL && !zk->authenticated) {
        int rc = zoo_add_auth(handle, "digest", zk->credentials, (int)strlen(zk->credentials), NULL,
                              NULL);
        if (rc != ZOK) { return; /* Disconnected again; the next connection repeats this. */ }
        zk->authenticated = true;
    }
    const clientid_t *id = zoo_client_id(handle);
    pthread_mutex_lock(&zk->lock);
    bool expired = zk->expired; /* Set by the probe, which has notified the owner. */
    zk->connected = !expired;
    zk->session.id = id->client_id;
    memcpy(zk->session.password, id->passwd, sizeof zk->session.password);
    describe_server(handle, zk->server, sizeof zk->server);
    struct zk_event event = {.type = ZK_CONNECTED, .session = (uint64_t)id->client_id};
    pthread_mutex_unlock(&zk->lock);
    zk_probe_note(zk->probe, true, (uint32_t)zoo_recv_timeout(handle));
    zk_inflight_unpark(&zk->inflight);
    if (!expired) { zk_inflight_deliver(&zk->inflight, &event); }
}

/* `probed`: reported by the probe, which may not know yet that we are connected again. */
static void session_lost(struct zk *zk, bool expired, bool probed)
{
    pthread_mutex_lock(&zk->lock);
    if (probed && zk->connected) {
        pthread_mutex_unlock(&zk->lock);
        return;
    }
    struct zk_event event = {.type = expired ? ZK_EXPIRED : ZK_DISCONNECTED};
    bool changed = expired ? !zk->expired : zk->connected;
    zk->expired = zk->expired || expired;
    zk->connected = false;
    zk->server[0] = '\0';
    bool ended = zk->expired;
    pthread_mutex_unlock(&zk->lock);
    zk_probe_note(zk->probe, ended, 0);
    if (expired) { zk_inflight_unpark(&zk->inflight); }
    if (changed) { zk_inflight_deliver(&zk->inflight, &event); }
}

static void on_probed(void *context)
{
    session_lost(context, true, true);
}

static void on_session_event(zhandle_t *handle, int type, int state, const char *path,
                             void *context)
{
    (void)path;
    if (type != ZOO_SESSION_EVENT) { return; }
    if (state == ZOO_CONNECTED_STATE) {
        session_connected(context, handle);
    } else {
        bool expired = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
        session_lost(context, expired, false);
    }
}

static void on_library_log(const char *message)
{
    log_debug("ZooKeeper client: %s", message);
}

/* The library's threads inherit our mask: signals to the program must not reach them. NULL: see
 * errno. */
static zhandle_t *open_handle(const char *connect, watcher_fn watcher, uint32_t timeout_ms,
                              const struct zk_session *session, void *context)
{
    clientid_t id = {.client_id = session != NULL ? session->id : 0};
    if (session != NULL) { memcpy(id.passwd, session->password, sizeof id.passwd); }
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    sigset_t before;
    fault_signals_block_others(&before);
    zhandle_t *handle = NULL;
    if (zk_threads_fit()) {
        handle = zookeeper_init2(connect, watcher, (int)timeout_ms, session != NULL ? &id : NULL,
                                 context, ZOO_NO_LOG_CLIENTENV, on_library_log);
    } else {
        errno = ENOMEM;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return handle;
}

/* After the handle is closed, so that no callback follows. The probe is stopped first, as it
 * delivers events. */
static void free_zk(struct zk *zk)
{
    zk_probe_stop(zk->probe);
    zk_inflight_stop(&zk->inflight);
    pthread_mutex_destroy(&zk->lock);
    free(zk->credentials);
    free(zk);
}

static enum tn_status start(struct zk *zk, const struct zk_config *config)
{
    if (config->credentials != NULL) {
        zk->credentials = strdup(config->credentials);
        if (zk->credentials == NULL) { return TN_ENOMEM; }
    }
    zk->acl_entry = (struct ACL){.perms = ZOO_PERM_ALL, .id = ZOO_AUTH_IDS};
    bool own = zk->credentials != NULL;
    zk->acl = own ? (struct ACL_vector){.count = 1, .data = &zk->acl_entry} : ZOO_OPEN_ACL_UNSAFE;
    if (!config->without_probe &&
        zk_probe_start(config->connect, on_probed, zk, &zk->probe) != TN_OK) {
        return TN_ENOMEM;
    }
    zk->handle = open_handle(config->connect, on_session_event, config->session_timeout_ms,
                             config->resume, zk);
    if (zk->handle != NULL) { return TN_OK; }
    return errno == ENOMEM ? TN_ENOMEM : TN_EINVAL;
}

enum tn_status zk_open(const struct zk_config *config, struct zk **out, struct error *error)
{
    *out = NULL;
    enum tn_status status = zk_check_config(config, error);
    if (status != TN_OK) { return status; }
    struct zk *zk = calloc(1, sizeof *zk);
    if (zk == NULL || zk_inflight_start(&zk->inflight, config->sink, config->sink_ctx,
                                        config->deadline_ms) != TN_OK) {
        free(zk);
        return error_set(error, TN_ENOMEM, "ZooKeeper client: out of memory");
    }
    pthread_mutex_init(&zk->lock, NULL);
    status = start(zk, config);
    if (status == TN_OK) {
        *out = zk;
        return TN_OK;
    }
    free_zk(zk);
    return error_set(error, status, "ZooKeeper servers \"%s\": %s", config->connect,
                     status == TN_ENOMEM ? "out of memory" : "no host name can be resolved");
}

void zk_close(struct zk *zk)
{
    if (zk == NULL) { return; }
    zk_inflight_mute(&zk->inflight);
    zookeeper_close(zk->handle); /* Joins its threads. */
    free_zk(zk);
}

/* zookeeper_close() would close the session. The library drops a connection whose server is not in
 * the list; its thread may be using the socket meanwhile, which callers accept. */
__attribute__((noinline)) static void drop_connection(zhandle_t *handle)
{
    zoo_set_servers(handle, "255.255.255.255:1");
}

void zk_abandon(struct zk *zk)
{
    if (zk == NULL) { return; }
    zk_inflight_mute(&zk->inflight);
    drop_connection(zk->handle);
    zk_close(zk);
}

struct zk_session zk_session_of(const struct zk *zk)
{
    pthread_mutex_lock((pthread_mutex_t *)&zk->lock);
    struct zk_session session = zk->session;
    pthread_mutex_unlock((pthread_mutex_t *)&zk->lock);
    return session;
}

void zk_server(const struct zk *zk, char *text, size_t size)
{
    pthread_mutex_lock((pthread_mutex_t *)&zk->lock);
    snprintf(text, size, "%s", zk->server);
    pthread_mutex_unlock((pthread_mutex_t *)&zk->lock);
}
