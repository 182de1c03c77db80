/* The transport over real sockets, with peers that work. test_transport_faults.c has the others. */
#include "transport_probe.h"

#include <poll.h>

#define LOOPBACK "tcp://127.0.0.1:0"

static uint64_t frames_of(struct probe *probe)
{
    pthread_mutex_lock(&probe->mutex);
    uint64_t frames = probe->frames;
    pthread_mutex_unlock(&probe->mutex);
    return frames;
}

static void exchange(const char *listen)
{
    struct probe *server = probe_open((struct probe_options){.listen = listen, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    static const size_t sizes[] = {0,     8,         64,      4096, 32768 - WIRE_HEADER_BYTES,
                                   32768, 200 << 10, 8 << 20, 0,    16};
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        total += sizes[i];
        probe_send(client, conn, i + 1, sizes[i]);
        WAIT_UNTIL(client, client->frames == i + 1);
    }
    WAIT_UNTIL(client, client->body_bytes == total);
    WAIT_UNTIL(server, server->body_bytes == total);
    assert_true(server->seen[0].accepted);
    assert_false(client->seen[0].accepted);
    probe_close(client);
    probe_close(server);
}

/* Small frames and one of 8 MiB are echoed with the same contents, over TCP. */
static void frames_round_trip_over_tcp(void **state)
{
    (void)state;
    exchange(LOOPBACK);
}

/* The same over a Unix socket. */
static void frames_round_trip_over_ipc(void **state)
{
    (void)state;
    char folder[] = "/tmp/tanist-transport-XXXXXX", path[64], address[80];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    (void)snprintf(address, sizeof address, "ipc://%s", path);
    exchange(address);
    (void)remove(path);
    assert_int_equal(remove(folder), 0);
}

/* Frames of mixed sizes arrive in the order in which they were sent, also those that were sent
 * before the connection was open. The probe checks the order. */
static void frames_keep_their_order(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    for (uint64_t i = 1; i <= 500; i++) {
        probe_send(client, conn, i, i % 7 == 0 ? 100000 : 8 * (i % 50));
    }
    WAIT_UNTIL(client, client->frames == 500);
    probe_close(client);
    probe_close(server);
}

/* A hundred connections, each with its own traffic. They are opened in groups, because a server
 * refuses more unidentified peers of one address. */
static void many_connections_work(void **state)
{
    (void)state;
    enum { COUNT = 100, GROUP = 20 };
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conns[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        conns[i] = probe_dial(client, server->address);
        if ((i + 1) % GROUP == 0) { WAIT_UNTIL(server, server->opened == i + 1); }
    }
    for (uint64_t frame = 1; frame <= 5; frame++) {
        for (unsigned i = 0; i < COUNT; i++) { probe_send(client, conns[i], frame, 1000 * frame); }
    }
    WAIT_UNTIL(client, client->frames == 5 * COUNT);
    ASSERT_HOLDS(client, client->opened == COUNT);
    probe_close(client);
    probe_close(server);
}

/* One body is sent to many peers without a copy and returns to its pool once. */
static void one_body_is_sent_to_many(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    struct probe *client = probe_open((struct probe_options){0});
    struct buffer *body = buffer_acquire(client->pool, 1 << 20);
    fill_pattern(body, 1);
    struct frame_header header = {.type = FRAME_VALUES, .sequence = 1};
    for (unsigned i = 0; i < COUNT; i++) {
        conn_id conn = probe_dial(client, server->address);
        client->port.send(client->port.ctx, conn, &header, buffer_retain(body));
    }
    buffer_release(body);
    WAIT_UNTIL(server, server->frames == COUNT);
    assert_int_equal(buffer_pool_bytes(client->pool), 1 << 20);
    probe_close(client);
    probe_close(server);
}

/* CLOSED is delivered once on both sides; sending afterwards is harmless. */
static void close_reaches_both_sides(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    WAIT_UNTIL(server, server->opened == 1);
    client->port.close(client->port.ctx, conn);
    client->port.close(client->port.ctx, conn);
    probe_send(client, conn, 1, 64);
    WAIT_UNTIL(client, client->closed == 1);
    WAIT_UNTIL(server, server->closed == 1);
    assert_int_equal(client->seen[0].status, TN_OK);
    assert_int_equal(server->seen[0].status, TN_ECLOSED);
    probe_send(client, conn, 1, 64);
    client->port.close(client->port.ctx, conn);
    client->port.close(client->port.ctx, (conn_id){0});
    client->port.close(client->port.ctx, (conn_id){UINT64_MAX});
    probe_close(client);
    probe_close(server);
}

/* Twice the time after which `client` closes a silent connection: two such ones close. */
static void wait_for_silence(struct probe *client)
{
    struct probe *deaf =
        probe_open((struct probe_options){.listen = LOOPBACK, .heartbeat_ms = 60000});
    for (unsigned lives = 1; lives <= 2; lives++) {
        probe_dial(client, deaf->address);
        WAIT_UNTIL(client, client->closed == lives);
    }
    probe_close(deaf);
}

/* Heartbeats keep an idle connection open and never reach the sink. */
static void idle_connection_is_kept(void **state)
{
    (void)state;
    struct probe_options options = {.listen = LOOPBACK, .heartbeat_ms = 150};
    struct probe *server = probe_open(options);
    struct probe *client = probe_open(options);
    conn_id conn = probe_dial(client, server->address);
    WAIT_UNTIL(server, server->opened == 1);
    wait_for_silence(client);
    ASSERT_HOLDS(server, server->closed == 0);
    ASSERT_HOLDS(server, server->frames == 0);
    probe_send(client, conn, 1, 8);
    WAIT_UNTIL(server, server->frames == 1);
    probe_close(client);
    probe_close(server);
}

/* 500 connections with traffic are opened and closed at any moment, by either side. */
static void connections_close_under_traffic(void **state)
{
    (void)state;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    for (unsigned round = 0; round < 500; round++) {
        uint64_t enough = frames_of(client) + round % 5;
        conn_id conn = probe_dial(client, server->address);
        for (uint64_t i = 1; i <= 8; i++) {
            probe_send(client, conn, i, (round * 977 * i) % 60000);
        }
        WAIT_UNTIL(client, client->frames >= enough);
        struct probe *closer = round % 2 == 0 ? client : server;
        pthread_mutex_lock(&server->mutex);
        conn_id theirs = {server->seen_count > 0 ? server->seen[server->seen_count - 1].conn : 0};
        pthread_mutex_unlock(&server->mutex);
        closer->port.close(closer->port.ctx, closer == client ? conn : theirs);
        if (closer == server) { client->port.close(client->port.ctx, conn); }
        WAIT_UNTIL(client, client->closed == round + 1);
    }
    probe_close(client);
    probe_close(server);
}

/* Transports are closed with traffic in flight in both directions. */
static void transports_close_under_traffic(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
        struct probe *client = probe_open((struct probe_options){0});
        for (unsigned c = 0; c < 4; c++) {
            conn_id conn = probe_dial(client, server->address);
            for (uint64_t i = 1; i <= 10; i++) { probe_send(client, conn, i, 20000 * (i % 4)); }
        }
        uint64_t enough = round % 20;
        WAIT_UNTIL(client, client->frames >= enough);
        probe_close(round % 2 == 0 ? client : server);
        probe_close(round % 2 == 0 ? server : client);
    }
}

/* Over a lane, no frame is received for an owner that is behind, and none is lost. */
static void frames_wait_for_the_owner(void **state)
{
    (void)state;
    enum { FRAMES = 40, BODY_BYTES = 300000 };
    struct probe_options options = {.listen = LOOPBACK, .heartbeat_ms = 60000};
    struct probe *server = probe_open(options);
    struct probe *client = probe_open(options);
    conn_id conn = probe_dial(client, server->address);
    WAIT_UNTIL(server, server->opened == 1);
    atomic_store(&server->behind, true);
    for (uint64_t i = 1; i < FRAMES; i++) { probe_send(client, conn, i, BODY_BYTES); }
    (void)poll(NULL, 0, 200);
    ASSERT_HOLDS(server, !server->seen[0].by_lane || server->frames == 0);
    atomic_store(&server->behind, false);
    probe_send(client, conn, FRAMES, BODY_BYTES);
    WAIT_UNTIL(server, server->frames == FRAMES);
    probe_close(client);
    probe_close(server);
}

/* A peer that sends much to an owner that is behind for long does not close the connection
 * because nothing is read (T4). */
static void busy_owner_keeps_its_peers(void **state)
{
    (void)state;
    enum { FRAMES = 40, BODY_BYTES = 300000 };
    struct probe_options options = {.listen = LOOPBACK, .heartbeat_ms = 150};
    struct probe *server = probe_open(options);
    struct probe *client = probe_open(options);
    conn_id conn = probe_dial(client, server->address);
    WAIT_UNTIL(server, server->opened == 1);
    atomic_store(&server->behind, true);
    for (uint64_t i = 1; i <= FRAMES; i++) { probe_send(client, conn, i, BODY_BYTES); }
    wait_for_silence(client);
    ASSERT_HOLDS(server, server->closed == 0);
    atomic_store(&server->behind, false);
    WAIT_UNTIL(server, server->frames == FRAMES);
    probe_close(client);
    probe_close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_round_trip_over_tcp),
        cmocka_unit_test(frames_round_trip_over_ipc),
        cmocka_unit_test(frames_keep_their_order),
        cmocka_unit_test(many_connections_work),
        cmocka_unit_test(one_body_is_sent_to_many),
        cmocka_unit_test(close_reaches_both_sides),
        cmocka_unit_test(idle_connection_is_kept),
        cmocka_unit_test(connections_close_under_traffic),
        cmocka_unit_test(transports_close_under_traffic),
        cmocka_unit_test(frames_wait_for_the_owner),
        cmocka_unit_test(busy_owner_keeps_its_peers),
    };
    int failed = cmocka_run_group_tests_name("over TCP", tests, NULL, NULL);
    probe_lanes = true;
    return failed + cmocka_run_group_tests_name("over lanes", tests, NULL, NULL);
}
