#include "chaos/inject/proxy.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/inject/proxy_stream.h"
#include "common/base/clock.h"

enum { CONNECTIONS_MAX = 512, READ_BYTES = 64 * 1024, LISTENER = 3 };

/* A redirected connection: side 0 is the peer that connected, side 1 the destination it wanted.
 * Stream i carries the bytes that side i sends. */
struct connection {
    int fds[2];    /* -1: free. */
    int received;  /* The stream that the node receives. */
    bool ended[2]; /* Side i has ended its stream. */
    bool shut[2];  /* The side opposite to i was shut after the last byte of side i. */
    struct stream streams[2];
};

struct relay {
    struct proxy_config config;
    struct in_addr node; /* Its address. */
    struct proxy_counts *counts;
    struct random random;
    struct connection connections[CONNECTIONS_MAX];
    struct pollfd polled[2 * CONNECTIONS_MAX + 1];
    uint8_t bytes[READ_BYTES];
};

/* ------------------------------------------------------------- connections */

/* `abruptly`: with a reset of both sides. */
static void close_connection(struct connection *connection, bool abruptly)
{
    const struct linger hard = {.l_onoff = 1};
    for (int side = 0; side < 2; side++) {
        if (abruptly && connection->fds[side] >= 0) {
            (void)setsockopt(connection->fds[side], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        if (connection->fds[side] >= 0) { close(connection->fds[side]); }
        connection->fds[side] = -1;
        stream_free(&connection->streams[side]);
    }
}

/* Begin to connect; -1: it failed. */
static int begin_connect(const struct sockaddr_in *destination)
{
    const int mark = PROXY_PACKET_MARK, yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { return -1; }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) == 0 &&
        (connect(fd, (const struct sockaddr *)(const void *)destination, sizeof *destination) ==
             0 ||
         errno == EINPROGRESS)) {
        return fd;
    }
    close(fd);
    return -1;
}

static struct connection *free_connection(struct relay *relay)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        if (relay->connections[i].fds[0] < 0) { return &relay->connections[i]; }
    }
    return NULL;
}

/* The destination that a redirected connection had. False: it was not redirected. */
static bool find_destination(int fd, struct sockaddr_in *destination)
{
    struct sockaddr_in own = {0};
    socklen_t size = sizeof *destination, own_size = sizeof own;
    *destination = own;
    if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, destination, &size) != 0) { return false; }
    if (getsockname(fd, (struct sockaddr *)(void *)&own, &own_size) != 0) { return false; }
    return own.sin_port != destination->sin_port ||
           own.sin_addr.s_addr != destination->sin_addr.s_addr;
}

static void accept_connection(struct relay *relay)
{
    struct sockaddr_in destination;
    const int yes = 1;
    int fd = accept4(LISTENER, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) { return; }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct connection *connection = free_connection(relay);
    int other =
        connection != NULL && find_destination(fd, &destination) ? begin_connect(&destination) : -1;
    if (other < 0) {
        close(fd);
        return;
    }
    atomic_fetch_add(&relay->counts->connections, 1);
    /* A peer connected to the node, or the node to a peer. */
    int received = destination.sin_addr.s_addr == relay->node.s_addr ? 0 : 1;
    *connection = (struct connection){.fds = {fd, other}, .received = received};
    const struct proxy_config *config = &relay->config;
    stream_init(&connection->streams[received], config->delay_ms, config->duplicate_percent,
                random_next(&relay->random));
    stream_init(&connection->streams[!received], 0, 0, 0);
}

static bool put(struct relay *relay, struct connection *connection, int side, size_t size,
                uint64_t now_ms)
{
    assert(side == 0 || side == 1);
    struct stream *stream = &connection->streams[side];
    uint64_t frames = stream->frames, doubled = stream->doubled;
    bool success = stream_put(stream, relay->bytes, size, now_ms);
    if (side == connection->received) { atomic_fetch_add(&relay->counts->bytes, size); }
    atomic_fetch_add(&relay->counts->frames, stream->frames - frames);
    atomic_fetch_add(&relay->counts->doubled, stream->doubled - doubled);
    return success;
}

/* False: the connection has failed. */
static bool read_side(struct relay *relay, struct connection *connection, int side, uint64_t now_ms)
{
    ssize_t size = recv(connection->fds[side], relay->bytes, sizeof relay->bytes, 0);
    if (size < 0) { return errno == EAGAIN || errno == EINTR; }
    if (size > 0) { return put(relay, connection, side, (size_t)size, now_ms); }
    connection->ended[side] = true;
    return stream_end(&connection->streams[side], now_ms);
}

static bool write_side(struct connection *connection, int side, uint64_t now_ms)
{
    assert(side == 0 || side == 1);
    struct stream *stream = &connection->streams[!side];
    const uint8_t *bytes;
    size_t size = stream_due(stream, now_ms, &bytes);
    if (size == 0) { return true; }
    ssize_t sent = send(connection->fds[side], bytes, size, MSG_NOSIGNAL);
    if (sent < 0) { return errno == EAGAIN || errno == EINTR; }
    stream_remove(stream, (size_t)sent);
    return true;
}

/* Pass the end of a stream on after its last byte. */
static void pass_ends(struct connection *connection)
{
    for (int side = 0; side < 2; side++) {
        if (!connection->ended[side] || connection->shut[side] ||
            connection->streams[side].queued > 0) {
            continue;
        }
        (void)shutdown(connection->fds[!side], SHUT_WR);
        connection->shut[side] = true;
    }
}

/* ------------------------------------------------------------- the loop */

/* The events that a side is polled for; 0: none. */
static short wanted(const struct connection *connection, int side, uint64_t now_ms)
{
    const uint8_t *bytes;
    short events = 0;
    bool room = connection->streams[side].queued < STREAM_QUEUE_BYTES;
    if (!connection->ended[side] && room) { events |= POLLIN; }
    if (stream_due(&connection->streams[!side], now_ms, &bytes) > 0) { events |= POLLOUT; }
    return events;
}

static int prepare_poll(struct relay *relay, uint64_t now_ms)
{
    uint64_t until_ms = now_ms + 1000;
    relay->polled[0] = (struct pollfd){.fd = LISTENER, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *connection = &relay->connections[i];
        for (int side = 0; side < 2; side++) {
            struct pollfd *polled = &relay->polled[1 + 2 * i + side];
            *polled = (struct pollfd){.fd = -1};
            if (connection->fds[0] < 0) { continue; }
            polled->events = wanted(connection, side, now_ms);
            if (polled->events != 0) { polled->fd = connection->fds[side]; }
            uint64_t due_ms = stream_deadline_ms(&connection->streams[side]);
            if (due_ms > now_ms && due_ms < until_ms) { until_ms = due_ms; }
        }
    }
    return (int)(until_ms - now_ms);
}

static void serve(struct relay *relay, struct connection *connection, const struct pollfd *polled,
                  uint64_t now_ms)
{
    bool success = true;
    for (int side = 0; side < 2 && success; side++) {
        short came = polled[side].revents;
        bool broken = came & (POLLERR | POLLHUP | POLLNVAL);
        if (success && ((came & POLLOUT) || (broken && (polled[side].events & POLLOUT)))) {
            success = write_side(connection, side, now_ms);
        }
        if (success && ((came & POLLIN) || broken) && !connection->ended[side]) {
            success = read_side(relay, connection, side, now_ms);
        }
        if (came & POLLERR) { success = false; }
    }
    if (success) { pass_ends(connection); }
    if (!success || (connection->shut[0] && connection->shut[1])) {
        close_connection(connection, !success);
    }
}

static _Noreturn void work(struct relay *relay)
{
    for (;;) {
        int timeout_ms = prepare_poll(relay, clock_monotonic_ms());
        if (poll(relay->polled, 2 * CONNECTIONS_MAX + 1, timeout_ms) <= 0) { continue; }
        uint64_t now_ms = clock_monotonic_ms();
        for (int i = 0; i < CONNECTIONS_MAX; i++) {
            if (relay->connections[i].fds[0] >= 0) {
                serve(relay, &relay->connections[i], &relay->polled[1 + 2 * i], now_ms);
            }
        }
        if (relay->polled[0].revents != 0) { accept_connection(relay); }
    }
}

/* ------------------------------------------------------------- the process */

/* In the child. It keeps no descriptor of the harness but the listener, so that locks and pipes end
 * with the harness. */
static _Noreturn void run_child(struct relay *relay, int listener, int network, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) { _exit(1); }
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "chaos-proxy");
    if (setns(network, CLONE_NEWNET) != 0) { _exit(1); }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) { (void)dup2(null, fd); }
    if (listener != LISTENER && dup2(listener, LISTENER) < 0) { _exit(1); }
    (void)syscall(SYS_close_range, LISTENER + 1U, ~0U, 0U);
    for (int number = 1; number < 32; number++) { (void)signal(number, SIG_DFL); }
    sigprocmask(SIG_SETMASK, &none, NULL);
    work(relay);
}

static int open_listener(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { return -1; }
    if (bind(fd, (struct sockaddr *)(void *)&address, size) == 0 && listen(fd, 128) == 0 &&
        getsockname(fd, (struct sockaddr *)(void *)&address, &size) == 0) {
        *port = ntohs(address.sin_port);
        return fd;
    }
    close(fd);
    return -1;
}

enum tn_status proxy_start(const struct proxy_config *config, const struct lab *lab,
                           const char *component, struct proxy *out, struct error *error)
{
    assert(config->duplicate_percent <= 100);
    enum tn_status status = lab_enter(lab, component, error);
    if (status != TN_OK) { return status; }
    int listener = open_listener(&out->port);
    lab_leave(lab);
    struct relay *relay = calloc(1, sizeof *relay);
    void *shared =
        mmap(NULL, sizeof *out->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    out->pid = 0;
    if (relay != NULL && listener >= 0 && shared != MAP_FAILED) {
        out->counts = relay->counts = shared;
        relay->config = *config;
        relay->random.state = config->seed;
        (void)inet_pton(AF_INET, lab_address(lab, component), &relay->node);
        for (int i = 0; i < CONNECTIONS_MAX; i++) {
            relay->connections[i].fds[0] = relay->connections[i].fds[1] = -1;
        }
        pid_t parent = getpid();
        out->pid = fork();
        if (out->pid == 0) { run_child(relay, listener, lab_namespace(lab, component), parent); }
    }
    if (out->pid <= 0) {
        status = error_set(error, TN_EIO, "cannot start a proxy: %s", strerror(errno));
        if (shared != MAP_FAILED) { munmap(shared, sizeof *out->counts); }
    }
    if (listener >= 0) { close(listener); }
    free(relay);
    return status;
}

void proxy_stop(struct proxy *proxy, struct proxy_counts *counts)
{
    assert(proxy->pid > 0);
    kill(proxy->pid, SIGKILL);
    while (waitpid(proxy->pid, NULL, 0) < 0 && errno == EINTR) {}
    proxy->pid = 0;
    if (counts != NULL) {
        counts->connections += proxy->counts->connections;
        counts->bytes += proxy->counts->bytes;
        counts->frames += proxy->counts->frames;
        counts->doubled += proxy->counts->doubled;
    }
    munmap(proxy->counts, sizeof *proxy->counts);
    proxy->counts = NULL;
}
