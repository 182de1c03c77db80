#include "common/net/transport_streams.h"

#include <assert.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/net/transport_private.h"

enum {
    EVENTS_PER_POLL = 32,
    SMALL_READS_MIN = 16, /* In a row; then the stream rests. */
};

/* ------------------------------------------------------------ open, close */

struct streams *streams_open(struct lanes *lanes)
{
    struct streams *streams = calloc(1, sizeof *streams);
    if (streams == NULL) { return NULL; }
    streams->lanes = lanes;
    (void)doorbell_open(&streams->own, false);
    streams->doorbell = lanes != NULL ? &lanes->doorbell : &streams->own;
    if (doorbell_open_set(streams->doorbell)) { return streams; }
    doorbell_close(&streams->own);
    free(streams);
    return NULL;
}

void streams_close(struct streams *streams)
{
    if (streams == NULL) { return; }
    assert(atomic_load(&streams->resting) == 0);
    doorbell_close(&streams->own);
    free(streams);
}

/* ------------------------------------------------------------ descriptors */

static bool is_address(const struct sockaddr_storage *own, const nng_sockaddr *address)
{
    if (own->ss_family == AF_INET && address->s_family == NNG_AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)own;
        return in->sin_port == address->s_in.sa_port &&
               in->sin_addr.s_addr == address->s_in.sa_addr;
    }
    if (own->ss_family == AF_INET6 && address->s_family == NNG_AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)own;
        return in->sin6_port == address->s_in6.sa_port &&
               memcmp(&in->sin6_addr, address->s_in6.sa_addr, sizeof in->sin6_addr) == 0;
    }
    return false;
}

static bool is_socket_of(int fd, const nng_sockaddr *local, const nng_sockaddr *remote)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && is_address(&own, local) &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 && is_address(&peer, remote);
}

/* The descriptor of a stream that is open; -1: not found. No other socket of this process has the
 * same two addresses. */
static int find_descriptor(nng_stream *stream)
{
    nng_sockaddr local, remote;
    if (nng_stream_get_addr(stream, NNG_OPT_LOCADDR, &local) != 0 ||
        nng_stream_get_addr(stream, NNG_OPT_REMADDR, &remote) != 0) {
        return -1;
    }
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) { return -1; }
    int found = -1;
    for (struct dirent *entry; found < 0 && (entry = readdir(folder)) != NULL;) {
        char *end;
        const long fd = strtol(entry->d_name, &end, 10);
        if (end == entry->d_name || *end != '\0') { continue; }
        if (is_socket_of((int)fd, &local, &remote)) { found = (int)fd; }
    }
    closedir(folder);
    return found;
}

/* ---------------------------------------------------------------- resting */

static bool has_lanes(const struct streams *streams)
{
    return streams->lanes != NULL && lanes_are_polled(streams->lanes);
}

static bool may_rest(struct connection *connection)
{
    const struct streams *streams = connection->host->streams;
    if (streams == NULL || has_lanes(streams) || connection->phase != CONNECTION_OPEN ||
        connection->lane.state != CONNECTION_LANE_NONE) {
        return false;
    }
    connection->small_reads = connection->reader.in_body ? 0 : connection->small_reads + 1;
    if (connection->small_reads < SMALL_READS_MIN) { return false; }
    connection->small_reads = SMALL_READS_MIN;
    if (!connection->searched) { connection->fd = find_descriptor(connection->stream); }
    connection->searched = true;
    return connection->fd >= 0;
}

static void leave(struct connection *connection)
{
    struct streams *streams = connection->host->streams;
    assert(connection->resting && atomic_load(&streams->resting) > 0);
    connection->resting = false;
    atomic_fetch_sub(&streams->resting, 1);
    (void)epoll_ctl(streams->doorbell->set, EPOLL_CTL_DEL, connection->fd, NULL);
}

bool streams_rest(struct connection *connection)
{
    struct streams *streams = connection->host->streams;
    assert(!connection->resting);
    if (!may_rest(connection)) { return false; }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(streams->doorbell->set, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
        return false;
    }
    connection->resting = true;
    atomic_fetch_add(&streams->resting, 1);
    /* The owner looks for streams that rest after it has chosen where it sleeps, and this thread
     * looks at its choice after the stream rests: one of both sees the other. */
    if (doorbell_is_awaited(streams->doorbell, DOORBELL_OWNER) &&
        !doorbell_is_in_set(streams->doorbell)) {
        leave(connection);
    }
    return connection->resting;
}

void streams_forget(struct connection *connection)
{
    if (connection->resting) { leave(connection); }
    connection->small_reads = 0;
    connection->searched = false;
}

/* nng's threads read again. With the mutex held; the caller's count in `pending` passes to the
 * read. */
static void give_back(struct connection *connection)
{
    leave(connection);
    connection->small_reads = 0;
    connection_continue_reading(connection);
}

static void give_back_all(struct connection *all)
{
    for (unsigned i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        struct connection *connection = &all[i];
        pthread_mutex_lock(&connection->mutex);
        if (connection->resting && !connection->reading) {
            connection->pending++;
            give_back(connection);
        }
        pthread_mutex_unlock(&connection->mutex);
    }
}

/* ------------------------------------------------------------- the owner's */

/* The reader is the owner's as long as the stream rests: no read of nng's is pending. */
static void read_resting(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);
    if (!connection->resting) { /* It was closed, or given back. */
        pthread_mutex_unlock(&connection->mutex);
        return;
    }
    connection->pending++;
    connection->reading = true;
    if (connection_read_now(connection)) {
        pthread_mutex_unlock(&connection->mutex);
        struct error error;
        enum tn_status status = connection_deliver(connection, &connection->reader, &error);
        if (status != TN_OK) { connection_warn(connection, &error); }
        pthread_mutex_lock(&connection->mutex);
        if (status != TN_OK) { connection_begin_closing(connection, status); }
    }
    connection->reading = false;
    if (connection->resting && connection->reader.in_body) {
        give_back(connection);
    } else {
        connection_end_operation(connection);
    }
    pthread_mutex_unlock(&connection->mutex);
}

bool streams_rest_now(struct streams *streams)
{
    return streams != NULL && atomic_load(&streams->resting) > 0;
}

bool streams_poll(struct streams *streams)
{
    if (streams == NULL) { return false; }
    /* Only the owner changes it. */
    const unsigned polls = atomic_load_explicit(&streams->polls, memory_order_relaxed);
    atomic_store_explicit(&streams->polls, polls + 1, memory_order_relaxed);
    if (!streams_rest_now(streams)) { return false; }
    struct epoll_event events[EVENTS_PER_POLL];
    const int count = epoll_wait(streams->doorbell->set, events, EVENTS_PER_POLL, 0);
    bool done = false;
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == NULL) { continue; } /* The doorbell. */
        read_resting(events[i].data.ptr);
        done = true;
    }
    return done;
}

/* lanes_add() counts a lane before it looks whether the owner waits, and the owner has announced
 * that it waits before it looks for lanes here, all of it sequentially consistent. */
void streams_prepare_sleep(struct streams *streams, struct connection *all)
{
    if (streams == NULL) { return; }
    doorbell_choose_set(streams->doorbell, true);
    if (!has_lanes(streams)) { return; }
    doorbell_choose_set(streams->doorbell, false);
    if (atomic_load(&streams->resting) > 0) { give_back_all(all); }
}

/* An owner that sleeps notices the streams. One that computes may do so for long. */
void streams_tick(struct streams *streams, struct connection *all)
{
    if (streams == NULL) { return; }
    const unsigned polls = atomic_load(&streams->polls);
    const bool polled = polls != streams->polls_at_tick;
    streams->polls_at_tick = polls;
    const bool sleeps = doorbell_is_awaited(streams->doorbell, DOORBELL_OWNER);
    if (!polled && !sleeps && atomic_load(&streams->resting) > 0) { give_back_all(all); }
}
