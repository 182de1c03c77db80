/* The transport with peers that violate the protocol, are silent or disappear. The peers are raw
 * sockets. */
#include "transport_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LOOPBACK "tcp://127.0.0.1:0"

enum { QUICK_MS = 100 }; /* A short heartbeat, as tests wait for four. */

/* A blocking socket with a timeout, so that the test cannot hang. */
static int raw_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    struct timeval limit = {.tv_sec = PROBE_DEADLINE_S};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    return fd;
}

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int raw_connect(const char *address)
{
    int fd = raw_socket();
    struct sockaddr_in peer = loopback((unsigned)atoi(strrchr(address, ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&peer, sizeof peer), 0);
    return fd;
}

/* A listening socket whose connections are not accepted yet; its address is written. */
static int raw_listen(char *address, size_t size)
{
    int fd = raw_socket();
    struct sockaddr_in own = loopback(0);
    socklen_t length = sizeof own;
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
    (void)snprintf(address, size, "tcp://127.0.0.1:%u", ntohs(own.sin_port));
    return fd;
}

static void raw_send(int fd, const void *bytes, size_t size)
{
    ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    assert_true(sent == (ssize_t)size || errno == EPIPE || errno == ECONNRESET);
}

/* The transport has closed the connection: the end or a reset is read, after earlier bytes. */
static void assert_closed_by_peer(int fd)
{
    char bytes[4096];
    ssize_t got;
    while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0) {}
    assert_true(got == 0 || errno == ECONNRESET);
    close(fd);
}

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

static void encode(uint8_t bytes[WIRE_HEADER_BYTES], uint8_t type, uint32_t body_bytes)
{
    struct frame_header header = {
        .type = type, .cluster = PROBE_CLUSTER, .sender = 5, .body_bytes = body_bytes};
    wire_encode_header(&header, bytes);
}

/* Each kind of invalid peer, once. */
static void be_hostile(const char *address)
{
    uint8_t bytes[WIRE_HEADER_BYTES], garbage[1000];
    memset(garbage, 0x5a, sizeof garbage);
    close(raw_connect(address));
    reset(raw_connect(address));

    int fd = raw_connect(address);
    raw_send(fd, garbage, sizeof garbage);
    assert_closed_by_peer(fd);

    encode(bytes, FRAME_PUSH, 64);
    fd = raw_connect(address);
    raw_send(fd, bytes, 33);
    close(fd);
    fd = raw_connect(address);
    raw_send(fd, bytes, 33);
    reset(fd);

    bytes[30] ^= 1; /* Makes the checksum wrong. */
    fd = raw_connect(address);
    raw_send(fd, bytes, sizeof bytes);
    assert_closed_by_peer(fd);

    encode(bytes, FRAME_PUSH, WIRE_CHUNK_BYTES);
    fd = raw_connect(address);
    raw_send(fd, bytes, sizeof bytes);
    assert_closed_by_peer(fd);

    struct frame_header alien = {.type = FRAME_PUSH, .cluster = PROBE_CLUSTER + 1};
    wire_encode_header(&alien, bytes);
    fd = raw_connect(address);
    raw_send(fd, bytes, sizeof bytes);
    assert_closed_by_peer(fd);
}

/* Hostile peers are closed without an event and do not disturb other peers. */
static void hostile_peers_do_not_disturb_others(void **state)
{
    (void)state;
    struct probe *server = probe_open(
        (struct probe_options){.listen = LOOPBACK, .echo = true, .body_max = WIRE_CHUNK_BYTES / 2});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    for (uint64_t round = 1; round <= 20; round++) {
        probe_send(client, conn, round, 100000);
        be_hostile(server->address);
        WAIT_UNTIL(client, client->frames == round);
    }
    conn = probe_dial(client, server->address);
    probe_send(client, conn, 1, 8);
    WAIT_UNTIL(client, client->frames == 21);
    ASSERT_HOLDS(server, server->opened == 2);
    ASSERT_HOLDS(server, server->closed == 0);
    probe_close(client);
    probe_close(server);
}

/* A known peer that violates the protocol, or disconnects within a body, causes CLOSED. */
static void protocol_error_closes_the_connection(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    uint8_t good[WIRE_HEADER_BYTES], half[WIRE_HEADER_BYTES], bad[WIRE_HEADER_BYTES] = "rubbish";
    encode(good, FRAME_HEARTBEAT, 0);
    encode(half, FRAME_PUSH, 1000);
    const uint8_t *second[] = {bad, half};
    static const enum tn_status expected[] = {TN_EPROTO, TN_ECLOSED};
    for (unsigned i = 0; i < 2; i++) {
        int fd = raw_connect(server->address);
        raw_send(fd, good, sizeof good);
        WAIT_UNTIL(server, server->opened == i + 1);
        raw_send(fd, second[i], WIRE_HEADER_BYTES);
        raw_send(fd, bad, 10);
        shutdown(fd, SHUT_WR);
        WAIT_UNTIL(server, server->closed == i + 1);
        assert_int_equal(server->seen[i].status, expected[i]);
        close(fd);
    }
    probe_close(server);
}

/* Silent peers are closed after four heartbeats: without an event before the first header, with
 * TN_ETIMEDOUT within a body. */
static void silent_peers_are_closed(void **state)
{
    (void)state;
    struct probe *server =
        probe_open((struct probe_options){.listen = LOOPBACK, .heartbeat_ms = QUICK_MS});
    int mute = raw_connect(server->address), slow = raw_connect(server->address);
    uint8_t bytes[WIRE_HEADER_BYTES];
    encode(bytes, FRAME_PUSH, 1 << 20);
    raw_send(slow, bytes, sizeof bytes);
    raw_send(slow, "0123456789", 10);
    assert_closed_by_peer(mute);
    assert_closed_by_peer(slow);
    WAIT_UNTIL(server, server->closed == 1);
    assert_int_equal(server->seen_count, 1);
    assert_int_equal(server->seen[0].status, TN_ETIMEDOUT);
    probe_close(server);
}

/* A black hole: the kernel completes the connection, but no process reads or writes. */
static void black_hole_is_closed(void **state)
{
    (void)state;
    char address[TRANSPORT_ADDRESS_MAX];
    int listener = raw_listen(address, sizeof address);
    struct probe *client = probe_open((struct probe_options){.heartbeat_ms = QUICK_MS});
    conn_id conn = probe_dial(client, address);
    for (uint64_t i = 1; i <= 10; i++) { probe_send(client, conn, i, 8 << 20); }
    WAIT_UNTIL(client, client->closed == 1);
    ASSERT_HOLDS(client, client->opened == 1);
    assert_int_equal(client->seen[0].status, TN_ETIMEDOUT);
    probe_close(client);
    close(listener);
}

/* A peer that sends heartbeats but never reads is closed too. */
static void peer_that_does_not_read_is_closed(void **state)
{
    (void)state;
    char address[TRANSPORT_ADDRESS_MAX];
    int listener = raw_listen(address, sizeof address);
    struct probe *client = probe_open((struct probe_options){.heartbeat_ms = QUICK_MS});
    conn_id conn = probe_dial(client, address);
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    for (uint64_t i = 1; i <= 10; i++) { probe_send(client, conn, i, 8 << 20); }
    uint8_t bytes[WIRE_HEADER_BYTES];
    encode(bytes, FRAME_HEARTBEAT, 0);
    /* Its receive timeout is the interval of its heartbeats. */
    struct timeval pace = {.tv_usec = 20000};
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &pace, sizeof pace), 0);
    unsigned closed = 0;
    for (unsigned i = 0; i < 50 * PROBE_DEADLINE_S && closed == 0; i++) {
        raw_send(fd, bytes, sizeof bytes);
        assert_true(accept(listener, NULL, NULL) < 0);
        pthread_mutex_lock(&client->mutex);
        closed = client->closed;
        pthread_mutex_unlock(&client->mutex);
    }
    assert_int_equal(closed, 1);
    assert_int_equal(client->seen[0].status, TN_ETIMEDOUT);
    probe_close(client);
    close(fd);
    close(listener);
}

/* The queue to a peer is bounded: more than FRAME_WRITER_FRAMES_MAX frames close it. */
static void full_queue_closes_the_connection(void **state)
{
    (void)state;
    char address[TRANSPORT_ADDRESS_MAX];
    int listener = raw_listen(address, sizeof address);
    struct probe *client = probe_open((struct probe_options){.heartbeat_ms = 60000});
    conn_id conn = probe_dial(client, address);
    struct buffer *body = buffer_acquire(client->pool, 8 << 20);
    struct frame_header header = {.type = FRAME_VALUES};
    for (unsigned i = 0; i < 1100; i++) {
        client->port.send(client->port.ctx, conn, &header, buffer_retain(body));
    }
    buffer_release(body);
    WAIT_UNTIL(client, client->closed == 1);
    assert_int_equal(client->seen[0].status, TN_ETIMEDOUT);
    probe_close(client);
    close(listener);
}

/* A body that the pool has no memory for closes the connection; the next one works. The slots of a
 * lane need no memory of the pool. */
static void exhausted_pool_closes_the_connection(void **state)
{
    (void)state;
    const bool lanes = probe_lanes;
    probe_lanes = false;
    struct probe *server = probe_open(
        (struct probe_options){.listen = LOOPBACK, .echo = true, .pool_limit_bytes = 1 << 20});
    struct probe *client = probe_open((struct probe_options){0});
    probe_send(client, probe_dial(client, server->address), 1, 4 << 20);
    WAIT_UNTIL(server, server->closed == 1);
    assert_int_equal(server->seen[0].status, TN_ENOMEM);
    WAIT_UNTIL(client, client->closed == 1);
    probe_send(client, probe_dial(client, server->address), 1, 1 << 19);
    WAIT_UNTIL(client, client->frames == 1);
    probe_close(client);
    probe_close(server);
    probe_lanes = lanes;
}

/* A dial that cannot succeed causes only CLOSED. */
static void failed_dials_are_closed(void **state)
{
    (void)state;
    char address[TRANSPORT_ADDRESS_MAX];
    close(raw_listen(address, sizeof address));
    struct probe *client = probe_open((struct probe_options){0});
    static const char *const malformed[] = {
        "",        "127.0.0.1:4000",     "tcp://127.0.0.1",       "tcp://127.0.0.1:",
        "ipc://",  "tcp://host:65536",   "tcp://127.0.0.1:4000x", "http://127.0.0.1:80",
        "tcp://:", "tls+tcp://host:4000"};
    enum { COUNT = sizeof malformed / sizeof *malformed };
    conn_id conns[COUNT + 3];
    for (unsigned i = 0; i < COUNT; i++) { conns[i] = probe_dial(client, malformed[i]); }
    conns[COUNT] = probe_dial(client, address);
    conns[COUNT + 1] = probe_dial(client, "ipc:///nonexistent/socket");
    conns[COUNT + 2] = probe_dial(client, "tcp://no-host:4000");
    WAIT_UNTIL(client, client->closed == COUNT + 3);
    ASSERT_HOLDS(client, client->opened == 0);
    for (unsigned i = 0; i < COUNT + 2; i++) {
        assert_int_equal(closed_because(client, conns[i]), i < COUNT ? TN_EINVAL : TN_ECONNECT);
    }
    assert_int_equal(closed_because(client, conns[COUNT + 2]), TN_ENOENT);
    probe_close(client);
}

/* Connections are bounded on both sides: one more dial causes CLOSED, one more peer is closed at
 * once; after one has closed, another can connect. */
static void connections_are_bounded(void **state)
{
    (void)state;
    enum { MAX = TRANSPORT_CONNECTIONS_MAX };
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id first = probe_dial(client, server->address);
    for (unsigned i = 1; i < MAX; i++) {
        probe_dial(client, server->address);
        WAIT_UNTIL(server, server->opened == i + 1); /* Fewer than TRANSPORT_UNKNOWN_HOST_MAX. */
    }
    conn_id over = probe_dial(client, server->address);
    WAIT_UNTIL(client, client->closed == 1);
    assert_int_equal(closed_because(client, over), TN_ENOMEM);
    WAIT_UNTIL(server, server->opened == MAX);
    assert_closed_by_peer(raw_connect(server->address));
    client->port.close(client->port.ctx, first);
    WAIT_UNTIL(client, client->closed == 2);
    WAIT_UNTIL(server, server->closed == 1);
    ASSERT_HOLDS(server, server->opened == MAX);
    probe_close(client);
    probe_close(server);
}

/* Peers that connect and send a byte take no slot from a peer that identifies itself. */
static void unknown_peers_take_no_slots(void **state)
{
    (void)state;
    enum { PEERS = 2 * TRANSPORT_CONNECTIONS_MAX };
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    int peers[PEERS];
    for (unsigned i = 0; i < PEERS; i++) {
        peers[i] = raw_connect(server->address);
        raw_send(peers[i], "T", 1);
    }
    conn_id member = probe_dial(client, server->address);
    probe_send(client, member, 1, 8);
    WAIT_UNTIL(client, client->frames == 1);
    for (unsigned i = 0; i < PEERS; i++) { assert_closed_by_peer(peers[i]); }
    WAIT_UNTIL(server, server->opened == 1);
    probe_close(client);
    probe_close(server);
}

/* A first header that comes byte by byte is not waited for. */
static void slow_greeting_is_closed(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    uint8_t bytes[WIRE_HEADER_BYTES];
    encode(bytes, FRAME_REPORT_ACK, 0);
    int peer = raw_connect(server->address);
    struct pollfd polled = {.fd = peer, .events = POLLIN};
    size_t sent = 0;
    for (; sent < sizeof bytes && poll(&polled, 1, 100) == 0; sent++) {
        raw_send(peer, bytes + sent, 1);
    }
    assert_true(sent < sizeof bytes);
    assert_closed_by_peer(peer);
    ASSERT_HOLDS(server, server->opened == 0);
    probe_close(server);
}

/* Half a second for the first header is not too long, even if a tick passes in it and ticks are
 * much longer. */
static void greeting_is_awaited_over_a_tick(void **state)
{
    (void)state;
    enum { HEARTBEAT_MS = 12000, TICK_MS = HEARTBEAT_MS / 4, APART_MS = 500 };
    enum { PEERS = TICK_MS / APART_MS + 2 };
    struct probe *server =
        probe_open((struct probe_options){.listen = LOOPBACK, .heartbeat_ms = HEARTBEAT_MS});
    uint8_t bytes[WIRE_HEADER_BYTES];
    int peers[PEERS];
    encode(bytes, FRAME_PUSH, 64); /* The body never comes. */
    for (unsigned i = 0; i < PEERS; i++) {
        peers[i] = raw_connect(server->address);
        (void)poll(NULL, 0, APART_MS);
        raw_send(peers[i], bytes, sizeof bytes);
    }
    WAIT_UNTIL(server, server->opened == PEERS);
    for (unsigned i = 0; i < PEERS; i++) { close(peers[i]); }
    probe_close(server);
}

/* The error gives the cause. */
static void listen_errors_are_explained(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    const struct {
        const char *address;
        enum tn_status status;
        const char *word;
    } cases[] = {{server->address, TN_EBUSY, "in use"},
                 {"tcp://192.0.2.1:4000", TN_EINVAL, "not an address of this host"},
                 {"127.0.0.1:4000", TN_EINVAL, "HOST:PORT"},
                 {"tcp://127.0.0.1:99999", TN_EINVAL, "HOST:PORT"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct transport_config config = {.listen = cases[i].address,
                                          .heartbeat_ms = 1000,
                                          .pool = server->pool,
                                          .sink = probe_sink};
        struct transport *transport;
        struct error error;
        assert_int_equal(transport_open(&config, &transport, &error), cases[i].status);
        assert_null(transport);
        assert_non_null(strstr(error.text, cases[i].word));
    }
    transport_close(NULL);
    probe_close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_peers_do_not_disturb_others),
        cmocka_unit_test(protocol_error_closes_the_connection),
        cmocka_unit_test(silent_peers_are_closed),
        cmocka_unit_test(black_hole_is_closed),
        cmocka_unit_test(peer_that_does_not_read_is_closed),
        cmocka_unit_test(full_queue_closes_the_connection),
        cmocka_unit_test(exhausted_pool_closes_the_connection),
        cmocka_unit_test(failed_dials_are_closed),
        cmocka_unit_test(connections_are_bounded),
        cmocka_unit_test(unknown_peers_take_no_slots),
        cmocka_unit_test(slow_greeting_is_closed),
        cmocka_unit_test(greeting_is_awaited_over_a_tick),
        cmocka_unit_test(listen_errors_are_explained),
    };
    int failed = cmocka_run_group_tests_name("over TCP", tests, NULL, NULL);
    probe_lanes = true;
    return failed + cmocka_run_group_tests_name("over lanes", tests, NULL, NULL);
}
