/* An owner that polls reads small frames from streams itself, and sleeps where they wake it. The
 * owner is a thread that waits as the inbox of a node does. */
#include <stdatomic.h>

#include "common/base/doorbell.h"
#include "transport_probe.h"

#define LOOPBACK "tcp://127.0.0.1:0"

/* More than after which a stream is left to the owner. */
enum { SMALL_FRAMES = 100, SMALL_BYTES = 64, LARGE_BYTES = 8 << 20 };

struct owner {
    struct probe *probe;
    pthread_t thread;
    atomic_bool stops, computes; /* It does not poll while it computes. */
    atomic_uint sleeps;
};

static void wait_as_inbox(struct owner *owner)
{
    struct transport *transport = owner->probe->transport;
    struct doorbell *doorbell = transport_doorbell(transport);
    if (transport_poll(transport)) { return; }
    const uint32_t ticket = doorbell_announce(doorbell, DOORBELL_OWNER);
    transport_prepare_sleep(transport);
    if (!transport_poll(transport) && !atomic_load(&owner->stops) &&
        !atomic_load(&owner->computes)) {
        atomic_fetch_add(&owner->sleeps, 1);
        doorbell_sleep(doorbell, ticket, DOORBELL_OWNER, UINT64_MAX);
    }
    doorbell_withdraw(doorbell, DOORBELL_OWNER);
}

static void *run_owner(void *arg)
{
    struct owner *owner = arg;
    while (!atomic_load(&owner->stops)) {
        if (!atomic_load(&owner->computes)) { wait_as_inbox(owner); }
    }
    return NULL;
}

static void start_owner(struct owner *owner, struct probe_options options)
{
    options.owner_polls = true;
    *owner = (struct owner){.probe = probe_open(options)};
    assert_non_null(transport_doorbell(owner->probe->transport));
    assert_int_equal(pthread_create(&owner->thread, NULL, run_owner, owner), 0);
}

static void ring(struct owner *owner, atomic_bool *flag)
{
    atomic_store(flag, true);
    doorbell_wake(transport_doorbell(owner->probe->transport), DOORBELL_OWNER);
}

static void stop_owner(struct owner *owner)
{
    ring(owner, &owner->stops);
    assert_int_equal(pthread_join(owner->thread, NULL), 0);
}

/* Small frames one by one, each answered before the next is sent. */
static uint64_t ping(struct probe *client, conn_id conn, uint64_t sequence)
{
    for (unsigned i = 0; i < SMALL_FRAMES; i++) {
        probe_send(client, conn, ++sequence, SMALL_BYTES);
        WAIT_UNTIL(client, client->frames == sequence);
    }
    return sequence;
}

/* Small frames wake the owner; a large body among them arrives as well, and small ones again. */
static void owner_is_woken_by_frames(void **state)
{
    (void)state;
    struct owner server;
    start_owner(&server, (struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server.probe->address);
    uint64_t sequence = ping(client, conn, 0);
    const unsigned sleeps = atomic_load(&server.sleeps);
    assert_true(sleeps > SMALL_FRAMES / 4);
    for (unsigned i = 0; i < 3; i++) {
        probe_send(client, conn, ++sequence, LARGE_BYTES);
        sequence = ping(client, conn, sequence);
    }
    assert_true(atomic_load(&server.sleeps) > sleeps);
    probe_close(client);
    WAIT_UNTIL(server.probe, server.probe->closed == 1);
    stop_owner(&server);
    probe_close(server.probe);
}

/* While the owner computes, frames are received all the same, and no connection is closed as
 * silent. */
static void frames_arrive_while_the_owner_computes(void **state)
{
    (void)state;
    struct owner server;
    start_owner(&server, (struct probe_options){.listen = LOOPBACK, .heartbeat_ms = 100});
    struct probe *client = probe_open((struct probe_options){.heartbeat_ms = 100});
    conn_id conn = probe_dial(client, server.probe->address);
    uint64_t sequence = 0;
    for (unsigned i = 0; i < SMALL_FRAMES; i++) {
        probe_send(client, conn, ++sequence, SMALL_BYTES);
        WAIT_UNTIL(server.probe, server.probe->frames == sequence);
    }
    ring(&server, &server.computes);
    for (unsigned i = 0; i < 20; i++) {
        probe_send(client, conn, ++sequence, SMALL_BYTES);
        WAIT_UNTIL(server.probe, server.probe->frames == sequence);
    }
    ASSERT_HOLDS(server.probe, server.probe->closed == 0);
    atomic_store(&server.computes, false);
    for (unsigned i = 0; i < SMALL_FRAMES; i++) {
        probe_send(client, conn, ++sequence, SMALL_BYTES);
        WAIT_UNTIL(server.probe, server.probe->frames == sequence);
    }
    probe_close(client);
    WAIT_UNTIL(server.probe, server.probe->closed == 1);
    stop_owner(&server);
    probe_close(server.probe);
}

/* Both ends close streams that are left to the owner; so does the transport, with frames on the
 * way and after its owner has stopped. */
static void streams_of_the_owner_are_closed(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        struct owner server, client;
        start_owner(&server, (struct probe_options){.listen = LOOPBACK, .echo = true});
        start_owner(&client, (struct probe_options){0});
        conn_id conn = probe_dial(client.probe, server.probe->address);
        uint64_t sequence = ping(client.probe, conn, 0);
        for (unsigned i = 0; i < round % 4 * 10; i++) {
            probe_send(client.probe, conn, ++sequence, SMALL_BYTES);
        }
        if (round % 3 == 0) {
            client.probe->port.close(client.probe->port.ctx, conn);
            WAIT_UNTIL(client.probe, client.probe->closed == 1);
            WAIT_UNTIL(server.probe, server.probe->closed == 1);
        }
        stop_owner(round % 2 == 0 ? &server : &client);
        stop_owner(round % 2 == 0 ? &client : &server);
        probe_close(round % 2 == 0 ? client.probe : server.probe);
        probe_close(round % 2 == 0 ? server.probe : client.probe);
    }
}

/* Twenty streams of one owner, in turn and at once. */
static void many_streams_of_one_owner(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    struct owner server;
    start_owner(&server, (struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conns[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        conns[i] = probe_dial(client, server.probe->address);
        WAIT_UNTIL(client, client->opened == i + 1);
    }
    uint64_t frames = 0;
    for (uint64_t sequence = 1; sequence <= SMALL_FRAMES; sequence++) {
        for (unsigned i = 0; i < COUNT; i++) {
            probe_send(client, conns[i], sequence, SMALL_BYTES);
            frames++;
            if (sequence % 2 == 0) { WAIT_UNTIL(client, client->frames == frames); }
        }
    }
    WAIT_UNTIL(client, client->frames == frames);
    stop_owner(&server);
    probe_close(server.probe);
    probe_close(client);
}

/* The owner sleeps in the set of its streams, and then gets a peer with a lane: both wake it. */
static void owner_is_woken_by_lanes_too(void **state)
{
    (void)state;
    struct owner server;
    probe_lanes = true;
    start_owner(&server, (struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *near = probe_open((struct probe_options){0});
    probe_lanes = false;
    struct probe *far = probe_open((struct probe_options){0});
    conn_id by_stream = probe_dial(far, server.probe->address);
    uint64_t sequence = ping(far, by_stream, 0);
    conn_id by_lane = probe_dial(near, server.probe->address);
    WAIT_UNTIL(near, near->opened == 1);
    assert_true(near->seen[0].by_lane);
    const uint64_t near_sequence = ping(near, by_lane, 0);
    sequence = ping(far, by_stream, sequence);
    (void)ping(near, by_lane, near_sequence);
    probe_close(near);
    WAIT_UNTIL(server.probe, server.probe->closed == 1);
    (void)ping(far, by_stream, sequence);
    stop_owner(&server);
    probe_close(far);
    probe_close(server.probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_is_woken_by_frames),
        cmocka_unit_test(frames_arrive_while_the_owner_computes),
        cmocka_unit_test(streams_of_the_owner_are_closed),
        cmocka_unit_test(many_streams_of_one_owner),
        cmocka_unit_test(owner_is_woken_by_lanes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
