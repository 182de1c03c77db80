/*
 * bench/bench_transport.c: compares the transport, through shared memory and over TCP, with raw TCP
 * (blocking sockets, pieces of 1 MiB) on the loopback, in alternating rounds in one process.
 *
 *   bench_transport [ROUNDS]           default: 15
 *   bench_transport ROUNDS BYTES       for bench/run: bodies of BYTES both ways; prints for each
 *                                      round the speeds of the transport through shared memory, of
 *                                      raw TCP, and of the transport over TCP, in GB/s
 *
 * For each exchange it prints the median times and the ratio of the speeds, as median and quartiles
 * over the rounds. Context switches and minor page faults are counted per exchange for the process,
 * that is for both sides together.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/net/transport.h"
#include "common/node/inbox.h"

enum { PIECE_BYTES = 1 << 20, BODY_BYTES_MAX = 64 << 20 };

struct exchange {
    const char *name;
    uint32_t request_bytes;
    uint32_t response_bytes;
    unsigned count; /* Exchanges in a round. */
};

static const struct exchange exchanges[] = {
    {"64 B both ways", 64, 64, 400},
    {"200 KiB both ways", 200 << 10, 200 << 10, 40},
    {"64 MiB, answer 64 B", 64 << 20, 64, 1},
};
enum { EXCHANGE_COUNT = sizeof exchanges / sizeof *exchanges };

static void require(bool condition, const char *what)
{
    if (condition) { return; }
    perror(what);
    exit(1);
}

/* --------------------------------------------------------------- raw TCP */

static void raw_write(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size_min(size, PIECE_BYTES), MSG_NOSIGNAL);
        require(sent > 0, "send");
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* False: the peer closed the connection. */
static bool raw_read(int fd, char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = recv(fd, bytes, size_min(size, PIECE_BYTES), 0);
        if (got <= 0) { return false; }
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

static char *touched(size_t size)
{
    char *memory = malloc(size);
    require(memory != NULL, "malloc");
    memset(memory, 1, size);
    return memory;
}

static void no_delay(int fd)
{
    int on = 1;
    require(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "setsockopt");
}

/* Each request begins with its size and the size of the response. */
static void *raw_serve(void *arg)
{
    int fd = accept(*(int *)arg, NULL, NULL);
    require(fd >= 0, "accept");
    no_delay(fd);
    char *memory = touched(BODY_BYTES_MAX);
    uint32_t sizes[2];
    while (raw_read(fd, (char *)sizes, sizeof sizes) && raw_read(fd, memory, sizes[0])) {
        raw_write(fd, memory, sizes[1]);
    }
    free(memory);
    close(fd);
    return NULL;
}

static int raw_fd;
static char *raw_memory;

static void raw_exchange(const struct exchange *exchange)
{
    uint32_t sizes[2] = {exchange->request_bytes, exchange->response_bytes};
    raw_write(raw_fd, (char *)sizes, sizeof sizes);
    raw_write(raw_fd, raw_memory, exchange->request_bytes);
    require(raw_read(raw_fd, raw_memory, exchange->response_bytes), "recv");
}

static pthread_t raw_open(void)
{
    static int listener;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(listener, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    require(listen(listener, 1) == 0, "listen");
    require(getsockname(listener, (struct sockaddr *)&own, &length) == 0, "getsockname");
    require(pthread_create(&thread, NULL, raw_serve, &listener) == 0, "pthread_create");
    raw_fd = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(raw_fd, (struct sockaddr *)&own, sizeof own) == 0, "connect");
    no_delay(raw_fd);
    raw_memory = touched(BODY_BYTES_MAX);
    return thread;
}

/* ------------------------------------------------------------- transport */

/* One end, with a loop as a node has it (common/node/runtime.c): its thread polls the transport. */
struct side {
    struct transport *transport;
    struct transport_port port;
    struct buffer_pool *pool;
    struct inbox *inbox;
};

/* Whether it is the chunk that is sent last: `count` is the size of the whole body. */
static bool is_complete(const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    if (event->type != TRANSPORT_FRAME) { return false; }
    if (wire_is_last_first(header->type)) { return header->offset == 0; }
    return header->offset + header->body_bytes == header->count;
}

/* `first` of a request is the size of its response. */
static void answer(struct side *side, const struct transport_event *event)
{
    struct buffer *body = buffer_acquire(side->pool, event->header.first);
    struct frame_header header = {.type = FRAME_VALUES, .count = event->header.first};
    side->port.send(side->port.ctx, event->conn, &header, body);
}

/* Wait for the next event. True: `*event` is the end of a request or of an answer, and has no body.
 * False: the side stops, or its connection was closed. */
static bool take_complete(struct side *side, struct transport_event *event)
{
    for (;;) {
        struct inbox_item *item = inbox_take(side->inbox, UINT64_MAX);
        const bool is_frame = item->type == NODE_TRANSPORT;
        *event = item->transport;
        inbox_release(item);
        if (!is_frame || event->type == TRANSPORT_CLOSED) { return false; }
        if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
        if (is_complete(event)) { return true; }
    }
}

static void *serve(void *arg)
{
    struct side *side = arg;
    struct transport_event event;
    while (take_complete(side, &event)) { answer(side, &event); }
    return NULL;
}

/* One end sends requests, the other answers. */
struct pair {
    bool lanes;
    struct side server, client;
    pthread_t thread; /* The server's. */
    conn_id conn;
};

static struct pair by_lane = {.lanes = true}, over_tcp;

static void pair_exchange(struct pair *pair, const struct exchange *exchange)
{
    struct side *client = &pair->client;
    struct buffer *body = buffer_acquire(client->pool, exchange->request_bytes);
    require(body != NULL, "buffer_acquire");
    struct frame_header header = {
        .type = FRAME_PUSH, .first = exchange->response_bytes, .count = exchange->request_bytes};
    client->port.send(client->port.ctx, pair->conn, &header, body);
    struct transport_event event;
    require(take_complete(client, &event), "connection");
}

static void lane_exchange(const struct exchange *exchange)
{
    pair_exchange(&by_lane, exchange);
}

static void tcp_exchange(const struct exchange *exchange)
{
    pair_exchange(&over_tcp, exchange);
}

static void put(void *ctx, const struct transport_event *event)
{
    require(inbox_put_transport(((struct side *)ctx)->inbox, event), "inbox");
}

static bool is_behind(void *ctx)
{
    return inbox_is_behind(((struct side *)ctx)->inbox);
}

static void open_side(struct side *side, const char *listen, bool lanes)
{
    side->pool = buffer_pool_create(0);
    side->inbox = inbox_create();
    require(side->pool != NULL && side->inbox != NULL, "memory");
    struct transport_config config = {
        .listen = listen,
        .cluster = 1,
        .sender = 1,
        .body_max = WIRE_CHUNK_BYTES,
        .heartbeat_ms = 5000,
        .lanes = lanes,
        .owner_polls = true,
        .pool = side->pool,
        .sink = put,
        .sink_ctx = side,
        .is_behind = is_behind,
    };
    struct error error;
    measure_require(transport_open(&config, &side->transport, &error), &error);
    side->port = transport_port_of(side->transport);
    inbox_poll_transport(side->inbox, side->transport);
}

static void open_pair(struct pair *pair)
{
    char address[TRANSPORT_ADDRESS_MAX];
    open_side(&pair->server, "tcp://127.0.0.1:0", pair->lanes);
    open_side(&pair->client, NULL, pair->lanes);
    transport_address(pair->server.transport, address, sizeof address);
    pair->conn = pair->client.port.dial(pair->client.port.ctx, address);
    require(pthread_create(&pair->thread, NULL, serve, &pair->server) == 0, "pthread_create");
}

static void close_side(struct side *side)
{
    inbox_poll_end(side->inbox);
    transport_close(side->transport);
    inbox_destroy(side->inbox);
    buffer_pool_destroy(side->pool);
}

static void close_pair(struct pair *pair)
{
    inbox_put_leave(pair->server.inbox, true);
    pthread_join(pair->thread, NULL);
    close_side(&pair->client);
    close_side(&pair->server);
}

/* ------------------------------------------------------------- measuring */

struct measure {
    double microseconds; /* Per exchange. */
    double switches;
    double faults;
};

static struct measure measure(void (*once)(const struct exchange *),
                              const struct exchange *exchange)
{
    struct rusage before, after;
    (void)getrusage(RUSAGE_SELF, &before);
    uint64_t start_ns = clock_monotonic_ns();
    for (unsigned i = 0; i < exchange->count; i++) { once(exchange); }
    uint64_t spent_ns = clock_monotonic_ns() - start_ns;
    (void)getrusage(RUSAGE_SELF, &after);
    double count = exchange->count;
    return (struct measure){
        .microseconds = (double)spent_ns / 1000 / count,
        .switches = (double)(after.ru_nvcsw - before.ru_nvcsw) / count,
        .faults = (double)(after.ru_minflt - before.ru_minflt) / count,
    };
}

static void compare(const struct exchange *exchange, unsigned rounds)
{
    enum { WAYS = 3 }; /* The first is the limit. */
    static const char *const names[WAYS] = {"raw TCP", "over TCP", "through memory"};
    void (*const ways[WAYS])(const struct exchange *) = {raw_exchange, tcp_exchange, lane_exchange};
    double us[WAYS][ROUNDS_MAX], ratio[WAYS][ROUNDS_MAX];
    struct measure last[WAYS];
    for (unsigned w = 0; w < WAYS; w++) { (void)measure(ways[w], exchange); }
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned w = 0; w < WAYS; w++) {
            last[w] = measure(ways[w], exchange);
            us[w][i] = last[w].microseconds;
            ratio[w][i] = us[0][i] / us[w][i];
        }
    }
    printf("%s\n", exchange->name);
    for (unsigned w = 0; w < WAYS; w++) {
        measure_sort(us[w], rounds);
        measure_sort(ratio[w], rounds);
        printf("  %-15s %9.1f us  ratio of speeds %.2f [%.2f, %.2f]  switches %.1f  faults %.1f\n",
               names[w], measure_quantile(us[w], rounds, 0.5),
               measure_quantile(ratio[w], rounds, 0.5), measure_quantile(ratio[w], rounds, 0.25),
               measure_quantile(ratio[w], rounds, 0.75), last[w].switches, last[w].faults);
    }
}

/* About 16 MiB in a round; the first round warms up. */
static void print_rounds(uint32_t bytes, unsigned rounds)
{
    unsigned count = (unsigned)u64_min(400, u64_max(1, (8U << 20) / bytes));
    struct exchange exchange = {"", bytes, bytes, count};
    double kilobytes = 2e-3 * bytes;
    for (unsigned i = 0; i <= rounds; i++) {
        double lane = measure(lane_exchange, &exchange).microseconds;
        double raw = measure(raw_exchange, &exchange).microseconds;
        double tcp = measure(tcp_exchange, &exchange).microseconds;
        if (i > 0) {
            printf("%.6g %.6g %.6g\n", kilobytes / lane, kilobytes / raw, kilobytes / tcp);
        }
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 15;
    unsigned long bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    if (rounds < 1 || rounds > ROUNDS_MAX || bytes < 1 || bytes > BODY_BYTES_MAX) { return 128; }
    pthread_t raw_server = raw_open();
    open_pair(&by_lane);
    open_pair(&over_tcp);
    if (argc > 2) { print_rounds((uint32_t)bytes, (unsigned)rounds); }
    for (unsigned i = 0; i < EXCHANGE_COUNT && argc <= 2; i++) {
        compare(&exchanges[i], (unsigned)rounds);
    }
    close(raw_fd);
    pthread_join(raw_server, NULL);
    free(raw_memory);
    close_pair(&by_lane);
    close_pair(&over_tcp);
    return 0;
}
