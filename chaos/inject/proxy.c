#include "chaos/inject/proxy.h"

#include <arpa/inet.h>
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

/* Side 0 was dialled by, side 1 leads to whom it meant. Stream i is what side i sends. */
struct passage {
    int fds[2];             /* -1: free. */
    int towards;            /* The stream that the node receives. */
    bool ended[2], told[2]; /* Side i sends no more; the other has been told so. */
    struct stream streams[2];
};

struct passages {
    struct proxy_config config;
    struct in_addr own; /* Address of the node. */
    struct proxy_counts *counts;
    struct random random;
    struct passage list[CONNECTIONS_MAX];
    struct pollfd polled[2 * CONNECTIONS_MAX + 1];
    uint8_t bytes[READ_BYTES];
};

/* ------------------------------------------------------------- passages */

/* `abruptly`: both ends get a reset. */
static void close_passage(struct passage *passage, bool abruptly)
{
    const struct linger hard = {.l_onoff = 1};
    for (int side = 0; side < 2; side++) {
        if (abruptly && passage->fds[side] >= 0) {
            (void)setsockopt(passage->fds[side], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        if (passage->fds[side] >= 0) { close(passage->fds[side]); }
        passage->fds[side] = -1;
        stream_free(&passage->streams[side]);
    }
}

/* Begin to connect to where the other wanted to go; -1: cannot. */
static int dial(const struct sockaddr_in *meant)
{
    const int mark = PROXY_PACKET_MARK, yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { return -1; }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) == 0 &&
        (connect(fd, (const struct sockaddr *)(const void *)meant, sizeof *meant) == 0 ||
         errno == EINPROGRESS)) {
        return fd;
    }
    close(fd);
    return -1;
}

static struct passage *free_passage(struct passages *all)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        if (all->list[i].fds[0] < 0) { return &all->list[i]; }
    }
    return NULL;
}

/* Where a redirected connection was meant to go. False: it was not redirected. */
static bool find_meant(int fd, struct sockaddr_in *meant)
{
    struct sockaddr_in ours = {0};
    socklen_t size = sizeof *meant, ours_size = sizeof ours;
    *meant = ours;
    if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, meant, &size) != 0) { return false; }
    if (getsockname(fd, (struct sockaddr *)(void *)&ours, &ours_size) != 0) { return false; }
    return ours.sin_port != meant->sin_port || ours.sin_addr.s_addr != meant->sin_addr.s_addr;
}

static void take_connection(struct passages *all)
{
    struct sockaddr_in meant;
    const int yes = 1;
    int fd = accept4(LISTENER, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) { return; }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct passage *passage = free_passage(all);
    int other = passage != NULL && find_meant(fd, &meant) ? dial(&meant) : -1;
    if (other < 0) {
        close(fd);
        return;
    }
    atomic_fetch_add(&all->counts->connections, 1);
    /* Towards the node: what the dialler sends if it dialled the node, else what comes back. */
    int towards = meant.sin_addr.s_addr == all->own.s_addr ? 0 : 1;
    *passage = (struct passage){.fds = {fd, other}, .towards = towards};
    const struct proxy_config *config = &all->config;
    stream_init(&passage->streams[towards], config->delay_ms, config->duplicate_percent,
                random_next(&all->random));
    stream_init(&passage->streams[!towards], 0, 0, 0);
}

static bool put(struct passages *all, struct passage *passage, int side, size_t size,
                uint64_t now_ms)
{
    struct stream *stream = &passage->streams[side];
    uint64_t frames = stream->frames, doubled = stream->doubled;
    bool good = stream_put(stream, all->bytes, size, now_ms);
    if (side == passage->towards) { atomic_fetch_add(&all->counts->bytes, size); }
    atomic_fetch_add(&all->counts->frames, stream->frames - frames);
    atomic_fetch_add(&all->counts->doubled, stream->doubled - doubled);
    return good;
}

/* False: the passage is at its end. */
static bool read_side(struct passages *all, struct passage *passage, int side, uint64_t now_ms)
{
    ssize_t size = recv(passage->fds[side], all->bytes, sizeof all->bytes, 0);
    if (size < 0) { return errno == EAGAIN || errno == EINTR; }
    if (size > 0) { return put(all, passage, side, (size_t)size, now_ms); }
    passage->ended[side] = true;
    return stream_end(&passage->streams[side], now_ms);
}

static bool write_side(struct passage *passage, int side, uint64_t now_ms)
{
    struct stream *stream = &passage->streams[!side];
    const uint8_t *bytes;
    size_t size = stream_due(stream, now_ms, &bytes);
    if (size == 0) { return true; }
    ssize_t sent = send(passage->fds[side], bytes, size, MSG_NOSIGNAL);
    if (sent < 0) { return errno == EAGAIN || errno == EINTR; }
    stream_gone(stream, (size_t)sent);
    return true;
}

/* The end of what one side sends is told to the other after its last byte. */
static void tell_ends(struct passage *passage)
{
    for (int side = 0; side < 2; side++) {
        if (!passage->ended[side] || passage->told[side] || passage->streams[side].queued > 0) {
            continue;
        }
        (void)shutdown(passage->fds[!side], SHUT_WR);
        passage->told[side] = true;
    }
}

/* ------------------------------------------------------------- the loop */

/* What a side is waited for; 0: nothing. */
static short wanted(const struct passage *passage, int side, uint64_t now_ms)
{
    const uint8_t *bytes;
    short events = 0;
    bool room = passage->streams[side].queued < STREAM_QUEUE_BYTES;
    if (!passage->ended[side] && room) { events |= POLLIN; }
    if (stream_due(&passage->streams[!side], now_ms, &bytes) > 0) { events |= POLLOUT; }
    return events;
}

static int prepare_poll(struct passages *all, uint64_t now_ms)
{
    uint64_t until_ms = now_ms + 1000;
    all->polled[0] = (struct pollfd){.fd = LISTENER, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        const struct passage *passage = &all->list[i];
        for (int side = 0; side < 2; side++) {
            struct pollfd *polled = &all->polled[1 + 2 * i + side];
            *polled = (struct pollfd){.fd = -1};
            if (passage->fds[0] < 0) { continue; }
            polled->events = wanted(passage, side, now_ms);
            if (polled->events != 0) { polled->fd = passage->fds[side]; }
            uint64_t due_ms = stream_deadline_ms(&passage->streams[side]);
            if (due_ms > now_ms && due_ms < until_ms) { until_ms = due_ms; }
        }
    }
    return (int)(until_ms - now_ms);
}

static void serve(struct passages *all, struct passage *passage, const struct pollfd *polled,
                  uint64_t now_ms)
{
    bool good = true;
    for (int side = 0; side < 2 && good; side++) {
        short came = polled[side].revents;
        bool broken = came & (POLLERR | POLLHUP | POLLNVAL);
        if (good && ((came & POLLOUT) || (broken && (polled[side].events & POLLOUT)))) {
            good = write_side(passage, side, now_ms);
        }
        if (good && ((came & POLLIN) || broken) && !passage->ended[side]) {
            good = read_side(all, passage, side, now_ms);
        }
        if (came & POLLERR) { good = false; }
    }
    if (good) { tell_ends(passage); }
    if (!good || (passage->told[0] && passage->told[1])) { close_passage(passage, !good); }
}

static _Noreturn void work(struct passages *all)
{
    for (;;) {
        int timeout_ms = prepare_poll(all, clock_monotonic_ms());
        if (poll(all->polled, 2 * CONNECTIONS_MAX + 1, timeout_ms) <= 0) { continue; }
        uint64_t now_ms = clock_monotonic_ms();
        for (int i = 0; i < CONNECTIONS_MAX; i++) {
            if (all->list[i].fds[0] >= 0) {
                serve(all, &all->list[i], &all->polled[1 + 2 * i], now_ms);
            }
        }
        if (all->polled[0].revents != 0) { take_connection(all); }
    }
}

/* ------------------------------------------------------------- the process */

/* In the child. It keeps nothing of the harness's but the listener: locks and pipes must end with
 * the harness. */
static _Noreturn void become(struct passages *all, int listener, int network, pid_t parent)
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
    work(all);
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
                           const char *place, struct proxy *out, struct error *error)
{
    enum tn_status status = lab_enter(lab, place, error);
    if (status != TN_OK) { return status; }
    int listener = open_listener(&out->port);
    lab_leave(lab);
    struct passages *all = calloc(1, sizeof *all);
    void *shared =
        mmap(NULL, sizeof *out->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    out->pid = 0;
    if (all != NULL && listener >= 0 && shared != MAP_FAILED) {
        out->counts = all->counts = shared;
        all->config = *config;
        all->random.state = config->seed;
        (void)inet_pton(AF_INET, lab_address(lab, place), &all->own);
        for (int i = 0; i < CONNECTIONS_MAX; i++) {
            all->list[i].fds[0] = all->list[i].fds[1] = -1;
        }
        pid_t parent = getpid();
        out->pid = fork();
        if (out->pid == 0) { become(all, listener, lab_namespace(lab, place), parent); }
    }
    if (out->pid <= 0) {
        status = error_set(error, TN_EIO, "cannot start a proxy: %s", strerror(errno));
        if (shared != MAP_FAILED) { munmap(shared, sizeof *out->counts); }
    }
    if (listener >= 0) { close(listener); }
    free(all);
    return status;
}

void proxy_stop(struct proxy *proxy, struct proxy_counts *counts)
{
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
