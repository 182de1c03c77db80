/*
 * bench/bench_barrier.c: the fewest messages that a step of a cluster needs, without a gradient in
 * them: each worker announces that it is done, and the last announcement releases all. The limit of
 * the steps per second of a model without arithmetic.
 *
 *   bench_barrier futex WORKERS     threads of one process; the kernel is called only to sleep
 *   bench_barrier tcp WORKERS       a connection to each worker, 64 bytes there and back
 *
 * Steps/s for each line; see serve.h.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/serve.h"
#include "common/base/clock.h"

enum { WORKERS_MAX = 128, MESSAGE_BYTES = 64 };

static unsigned workers;
static pthread_t threads[WORKERS_MAX];
static atomic_uint arrived, released; /* The futex barrier; counted up forever. */
static atomic_bool is_over;
static int sockets[WORKERS_MAX][2]; /* The ends of the server and of the worker. */

static void require(bool condition, const char *what)
{
    if (condition) { return; }
    perror(what);
    exit(1);
}

static void sleep_while(atomic_uint *word, unsigned value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word, unsigned count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void *futex_worker(void *arg)
{
    (void)arg;
    unsigned step = atomic_load(&released);
    while (!atomic_load(&is_over)) {
        if ((atomic_fetch_add(&arrived, 1) + 1) % workers == 0) { wake(&arrived, 1); }
        while (atomic_load(&released) == step) { sleep_while(&released, step); }
        step++;
    }
    return NULL;
}

static void futex_step(void)
{
    unsigned wanted = (atomic_load(&released) + 1) * workers, seen;
    while ((seen = atomic_load(&arrived)) != wanted) { sleep_while(&arrived, seen); }
}

static void futex_release(void)
{
    atomic_fetch_add(&released, 1);
    wake(&released, workers);
}

static bool receive(int fd)
{
    char message[MESSAGE_BYTES];
    return recv(fd, message, sizeof message, MSG_WAITALL) == MESSAGE_BYTES;
}

static void transmit(int fd)
{
    static const char message[MESSAGE_BYTES];
    require(send(fd, message, sizeof message, MSG_NOSIGNAL) == MESSAGE_BYTES, "send");
}

static void *tcp_worker(void *arg)
{
    int fd = ((int *)arg)[1];
    while (!atomic_load(&is_over)) {
        transmit(fd);
        require(receive(fd), "recv");
    }
    return NULL;
}

static void tcp_step(void)
{
    for (unsigned w = 0; w < workers; w++) { require(receive(sockets[w][0]), "recv"); }
}

static void tcp_release(void)
{
    for (unsigned w = 0; w < workers; w++) { transmit(sockets[w][0]); }
}

static void tcp_open(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(listener, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    require(listen(listener, WORKERS_MAX) == 0, "listen");
    require(getsockname(listener, (struct sockaddr *)&own, &length) == 0, "getsockname");
    for (unsigned w = 0; w < workers; w++) {
        int *ends = sockets[w];
        ends[1] = socket(AF_INET, SOCK_STREAM, 0);
        require(connect(ends[1], (struct sockaddr *)&own, sizeof own) == 0, "connect");
        ends[0] = accept(listener, NULL, NULL);
        require(ends[0] >= 0, "accept");
        for (int end = 0; end < 2; end++) {
            require(setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "option");
        }
    }
    close(listener);
}

struct barrier {
    const char *name;
    void *(*worker)(void *);
    void (*step)(void);    /* All workers have arrived. */
    void (*release)(void); /* They go on. */
};
static const struct barrier barriers[] = {
    {"futex", futex_worker, futex_step, futex_release},
    {"tcp", tcp_worker, tcp_step, tcp_release},
};
static const struct barrier *barrier;

static double steps_per_second(double seconds)
{
    uint64_t start = clock_monotonic_ns(), end = start + (uint64_t)(seconds * 1e9), steps = 0;
    atomic_store(&is_over, false);
    for (unsigned w = 0; w < workers; w++) {
        require(pthread_create(&threads[w], NULL, barrier->worker, sockets[w]) == 0, "thread");
    }
    while (!atomic_load(&is_over)) {
        barrier->step();
        steps++;
        atomic_store(&is_over, clock_monotonic_ns() >= end);
        barrier->release();
    }
    for (unsigned w = 0; w < workers; w++) { (void)pthread_join(threads[w], NULL); }
    return (double)steps / ((double)(clock_monotonic_ns() - start) * 1e-9);
}

int main(int argc, char **argv)
{
    workers = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (workers < 1 || workers > WORKERS_MAX) { return 128; }
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++) {
        if (strcmp(argv[1], barriers[i].name) == 0) { barrier = &barriers[i]; }
    }
    if (barrier == NULL) { return 128; }
    if (barrier == &barriers[1]) { tcp_open(); }
    serve(steps_per_second);
    return 0;
}
