#include "common/node/node_host.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/zk/session_file.h"

enum { ZK_DEADLINE_MS = 5000, OP_BITS = 48 /* The place of a request's node is above them. */ };

struct place {
    struct node_host *host;
    uint64_t tag; /* The place, shifted. */
    struct inbox *inbox;
};

struct node_host {
    struct node_host_config config; /* Its texts belong to the caller until connect(). */
    char *session_file;             /* Owned. NULL: not saved, or saved already. */
    struct zk *zk;
    struct zk_port port;
    pthread_mutex_t lock;   /* Guards the inboxes of the places, and these: */
    bool leaving, at_once;  /* These apply to nodes that join later, too. */
    pthread_mutex_t saving; /* Guards `session_file`. */
    pthread_t watcher;      /* Waits for signals. */
    bool watching;
    int signals, stop; /* Descriptors: signalfd; eventfd that ends the watcher. */
    sigset_t mask_before;
    struct place places[NODE_HOST_NODES_MAX];
};

/* ----------------------------------------------------------------- signals */

static void put_leave(struct node_host *host, bool at_once)
{
    pthread_mutex_lock(&host->lock);
    host->leaving = true;
    host->at_once = host->at_once || at_once;
    for (uint32_t i = 0; i < host->config.nodes; i++) {
        if (host->places[i].inbox != NULL) { inbox_put_leave(host->places[i].inbox, at_once); }
    }
    pthread_mutex_unlock(&host->lock);
}

void node_host_leave(struct node_host *host)
{
    put_leave(host, true);
}

static void *watch_signals(void *ctx)
{
    struct node_host *host = ctx;
    bool draining = false;
    struct pollfd polled[2] = {{.fd = host->signals, .events = POLLIN},
                               {.fd = host->stop, .events = POLLIN}};
    for (;;) {
        if (poll(polled, 2, -1) < 0) { continue; /* EINTR. */ }
        if (polled[1].revents != 0) { return NULL; }
        struct signalfd_siginfo info;
        if (read(host->signals, &info, sizeof info) != (ssize_t)sizeof info) { continue; }
        const bool at_once = draining || info.ssi_signo == SIGINT;
        draining = true;
        log_info("leaving on request (%s)%s", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM",
                 at_once ? "" : " as soon as no work is lost");
        put_leave(host, at_once);
    }
}

/* Called before other threads exist, so that they inherit the mask. */
static enum tn_status block_signals(struct node_host *host, struct error *error)
{
    assert(!host->watching);
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    pthread_sigmask(SIG_BLOCK, &wanted, &host->mask_before);
    host->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    host->stop = eventfd(0, EFD_CLOEXEC);
    if (host->signals >= 0 && host->stop >= 0 &&
        pthread_create(&host->watcher, NULL, watch_signals, host) == 0) {
        host->watching = true;
        return TN_OK;
    }
    return error_set(error, TN_ENOMEM, "cannot start the thread that waits for signals");
}

static void release_signals(struct node_host *host)
{
    if (host->watching) {
        uint64_t one = 1;
        ssize_t put = write(host->stop, &one, sizeof one);
        assert(put == (ssize_t)sizeof one);
        pthread_join(host->watcher, NULL);
    }
    if (host->signals >= 0) { close(host->signals); }
    if (host->stop >= 0) { close(host->stop); }
    pthread_sigmask(SIG_SETMASK, &host->mask_before, NULL);
}

/* ------------------------------------------------------------ open, close */

enum tn_status node_host_open(const struct node_host_config *config, struct node_host **out,
                              struct error *error)
{
    assert(config->nodes >= 1 && config->nodes <= NODE_HOST_NODES_MAX);
    *out = NULL;
    struct node_host *host = calloc(1, sizeof *host);
    char *file = config->session_file != NULL ? strdup(config->session_file) : NULL;
    if (host == NULL || (config->session_file != NULL && file == NULL)) {
        free(host);
        free(file);
        return error_set(error, TN_ENOMEM, "no memory to start a node");
    }
    host->config = *config;
    host->session_file = file;
    host->signals = host->stop = -1;
    pthread_mutex_init(&host->lock, NULL);
    pthread_mutex_init(&host->saving, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &host->mask_before);
    enum tn_status status = block_signals(host, error);
    if (status == TN_OK) {
        *out = host;
    } else {
        node_host_close(host);
    }
    return status;
}

void node_host_disconnect(struct node_host *host)
{
    zk_close(host->zk);
    host->zk = NULL;
}

void node_host_close(struct node_host *host)
{
    if (host == NULL) { return; }
    node_host_disconnect(host);
    release_signals(host);
    pthread_mutex_destroy(&host->saving);
    pthread_mutex_destroy(&host->lock);
    free(host->session_file);
    free(host);
}

/* ---------------------------------------------------------------- requests */

static uint64_t tagged(const struct place *place, uint64_t op)
{
    assert(place->host->config.nodes == 1 || op >> OP_BITS == 0);
    return place->tag | op;
}

static void place_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    struct place *place = ctx;
    const struct zk_port *port = &place->host->port;
    port->write(port->ctx, tagged(place, op), writes, count);
}

static void place_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct place *place = ctx;
    const struct zk_port *port = &place->host->port;
    port->read(port->ctx, tagged(place, op), path, watch);
}

static void place_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct place *place = ctx;
    const struct zk_port *port = &place->host->port;
    port->list(port->ctx, tagged(place, op), path, watch);
}

void node_host_join(struct node_host *host, uint32_t place, struct inbox *inbox,
                    struct zk_port *out)
{
    assert(place < host->config.nodes && inbox != NULL);
    struct place *joined = &host->places[place];
    assert(joined->inbox == NULL);
    pthread_mutex_lock(&host->lock);
    *joined = (struct place){.host = host, .tag = (uint64_t)place << OP_BITS, .inbox = inbox};
    if (host->leaving) { inbox_put_leave(inbox, host->at_once); }
    pthread_mutex_unlock(&host->lock);
    *out = (struct zk_port){
        .ctx = joined, .write = place_write, .read = place_read, .list = place_list};
}

void node_host_part(struct node_host *host, uint32_t place)
{
    assert(place < host->config.nodes);
    pthread_mutex_lock(&host->lock);
    host->places[place].inbox = NULL;
    pthread_mutex_unlock(&host->lock);
}

/* ------------------------------------------------------------------ events */

/* With the lock held. */
static void put(struct node_host *host, uint64_t place, const struct zk_event *event)
{
    assert(place < host->config.nodes);
    if (host->places[place].inbox != NULL) { inbox_put_zk(host->places[place].inbox, event); }
}

/* An answer goes to the node that has asked; all else to all of them. A watch is the session's:
 * where several nodes watch a znode, it fires once. */
static void on_zk(void *ctx, const struct zk_event *event)
{
    struct node_host *host = ctx;
    pthread_mutex_lock(&host->lock);
    if (host->config.nodes == 1) {
        put(host, 0, event);
    } else if (event->type == ZK_RESULT) {
        struct zk_event answer = *event;
        answer.op &= (UINT64_C(1) << OP_BITS) - 1;
        put(host, event->op >> OP_BITS, &answer);
    } else {
        for (uint32_t i = 0; i < host->config.nodes; i++) { put(host, i, event); }
    }
    pthread_mutex_unlock(&host->lock);
}

enum tn_status node_host_connect(struct node_host *host, struct error *error)
{
    assert(host->zk == NULL);
    const struct zk_config zk = {
        .connect = host->config.zk_connect,
        .session_timeout_ms = host->config.session_timeout_ms,
        .deadline_ms = ZK_DEADLINE_MS,
        .credentials = host->config.zk_credentials,
        .sink = on_zk,
        .sink_ctx = host,
    };
    enum tn_status status = zk_open(&zk, &host->zk, error);
    if (status == TN_OK) { host->port = zk_port_of(host->zk); }
    return status;
}

void node_host_save_session(struct node_host *host)
{
    pthread_mutex_lock(&host->saving);
    char *path = host->session_file;
    if (path != NULL) {
        struct zk_session session = zk_session_of(host->zk);
        struct error error;
        if (session_file_write(path, &session, &error) != TN_OK) {
            log_warn("%s: if this node dies, its session ends only by its timeout", error.text);
        }
        host->session_file = NULL;
    }
    pthread_mutex_unlock(&host->saving);
    free(path);
}
