/* tests/sim/net_model.h has the contract of common/net/transport.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/net_model.h"

enum { EVENTS_MAX = 512, HEARTBEAT_MS = 100, SECOND_US = 1000000 };

struct node {
    struct net_endpoint *endpoint;
    struct transport_port port;
    struct transport_event events[EVENTS_MAX];
    char bodies[EVENTS_MAX][8];
    size_t count;
    conn_id close_on_open; /* v != 0: close each connection from within the sink. */
};

struct fixture {
    struct world world;
    struct net_model *net;
    struct buffer_pool *pool;
    struct node a, b, foreign;
};

static void on_event(void *ctx, const struct transport_event *event)
{
    struct node *node = ctx;
    assert_true(node->count < EVENTS_MAX);
    node->events[node->count] = *event;
    if (event->body != NULL) {
        memcpy(node->bodies[node->count], event->body->data, event->body->size);
        buffer_release(event->body);
    }
    node->count++;
    if (event->type == TRANSPORT_OPENED && node->close_on_open.v != 0) {
        node->port.close(node->port.ctx, event->conn);
    }
}

static void open_node(struct fixture *f, struct node *node, uint32_t host, uint64_t cluster)
{
    node->endpoint = net_endpoint_open(f->net, host, cluster, 100 + host, f->pool, on_event, node);
    node->port = net_endpoint_port(node->endpoint);
}

static void begin(struct fixture *f, uint64_t seed)
{
    memset(f, 0, sizeof *f);
    const struct net_config config = {
        .latency_us = 300, .slow_per_mille = 50, .slow_us = 20000, .heartbeat_ms = HEARTBEAT_MS};
    world_init(&f->world, seed, false);
    f->net = net_model_create(&f->world, &config);
    f->pool = buffer_pool_create(0);
    open_node(f, &f->a, 0, 7);
    open_node(f, &f->b, 1, 7);
    open_node(f, &f->foreign, 2, 8);
}

static void end(struct fixture *f)
{
    net_model_free(f->net);
    world_free(&f->world);
    buffer_pool_destroy(f->pool); /* Asserts that every body has been released. */
}

static void pass(struct fixture *f, uint64_t us)
{
    uint64_t until_us = f->world.now_us + us;
    while (world_step(&f->world, until_us)) {}
}

static conn_id dial(struct node *from, const struct node *to)
{
    char address[TRANSPORT_ADDRESS_MAX];
    net_endpoint_address(to->endpoint, address, sizeof address);
    return from->port.dial(from->port.ctx, address);
}

static void send(struct node *from, conn_id conn, uint64_t sequence, struct buffer *body)
{
    struct frame_header header = {.type = FRAME_REPORT, .sequence = sequence};
    from->port.send(from->port.ctx, conn, &header, body);
}

static size_t count_of(const struct node *node, enum transport_event_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < node->count; i++) { count += node->events[i].type == type; }
    return count;
}

/* The last event of the node is its only CLOSED, with this status. */
static void assert_closed(const struct node *node, enum tn_status status)
{
    assert_int_equal(count_of(node, TRANSPORT_CLOSED), 1);
    assert_int_equal(node->events[node->count - 1].type, TRANSPORT_CLOSED);
    assert_int_equal(node->events[node->count - 1].status, status);
}

/* Frames arrive in the order in which they were sent, also those sent before OPENED. */
static void frames_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct fixture f;
        begin(&f, seed);
        conn_id conn = dial(&f.a, &f.b);
        for (uint64_t i = 0; i < 20; i++) { send(&f.a, conn, i, NULL); }
        pass(&f, 3000);
        for (uint64_t i = 20; i < 40; i++) { send(&f.a, conn, i, NULL); }
        pass(&f, SECOND_US);
        assert_int_equal(f.b.count, 41);
        assert_int_equal(f.b.events[0].type, TRANSPORT_OPENED);
        assert_true(f.b.events[0].accepted);
        for (uint64_t i = 0; i < 40; i++) {
            assert_int_equal(f.b.events[i + 1].type, TRANSPORT_FRAME);
            assert_int_equal(f.b.events[i + 1].header.sequence, i);
        }
        assert_true(f.a.count == 1 && f.a.events[0].type == TRANSPORT_OPENED);
        assert_true(f.a.events[0].conn.v == conn.v && !f.a.events[0].accepted);
        end(&f);
    }
}

/* The transport sets the sender and takes the body, which arrives complete. */
static void transport_takes_the_body(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    conn_id conn = dial(&f.a, &f.b);
    struct buffer *body = buffer_acquire(f.pool, 5);
    body->size = 5;
    memcpy(body->data, "words", 5);
    buffer_retain(body);
    send(&f.a, conn, 1, body);
    memcpy(body->data, "other", 5); /* The model has copied; a real sender must not do this. */
    buffer_release(body);
    pass(&f, SECOND_US);
    assert_string_equal(f.b.bodies[1], "words");
    assert_int_equal(f.b.events[1].header.body_bytes, 5);
    assert_int_equal(f.b.events[1].header.cluster, 7);
    assert_int_equal(f.b.events[1].header.sender, 100);
    end(&f);
}

/* The side that closes receives TN_OK, its peer TN_ECLOSED, once each; later frames are dropped. */
static void both_sides_receive_closed_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    conn_id conn = dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    send(&f.a, conn, 1, NULL);
    f.a.port.close(f.a.port.ctx, conn);
    f.a.port.close(f.a.port.ctx, conn);
    send(&f.a, conn, 2, buffer_acquire(f.pool, 8));
    pass(&f, SECOND_US);
    assert_closed(&f.a, TN_OK);
    assert_closed(&f.b, TN_ECLOSED);
    assert_int_equal(count_of(&f.b, TRANSPORT_FRAME), 1);
    send(&f.b, f.b.events[0].conn, 3, buffer_acquire(f.pool, 8));
    f.b.port.close(f.b.port.ctx, f.b.events[0].conn);
    f.b.port.close(f.b.port.ctx, (conn_id){999});
    pass(&f, 5 * SECOND_US);
    assert_true(f.a.count == 2 && f.b.count == 3);
    end(&f);
}

/* A dial that is closed before OPENED ends in CLOSED, and its peer receives nothing; a connection
 * can be closed from within the sink. */
static void connection_can_be_closed_at_any_moment(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    conn_id conn = dial(&f.a, &f.b);
    send(&f.a, conn, 1, buffer_acquire(f.pool, 8));
    f.a.port.close(f.a.port.ctx, conn);
    pass(&f, SECOND_US);
    assert_closed(&f.a, TN_OK);
    assert_int_equal(f.b.count, 0);
    f.a.count = 0;
    f.a.close_on_open.v = 1;
    dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    assert_true(f.a.count == 2);
    assert_closed(&f.a, TN_OK);
    assert_closed(&f.b, TN_ECLOSED);
    end(&f);
}

/* A failed dial has the cause as its status. */
static void failed_dial_has_a_status(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    f.a.port.dial(f.a.port.ctx, "sim://77");
    pass(&f, SECOND_US);
    assert_closed(&f.a, TN_ECONNECT);
    f.a.count = 0;
    f.a.port.dial(f.a.port.ctx, "nonsense");
    pass(&f, SECOND_US);
    assert_closed(&f.a, TN_EINVAL);
    f.a.count = 0;
    net_model_cut(f.net, 1, 0, true);
    send(&f.a, dial(&f.a, &f.b), 1, NULL);
    pass(&f, 2 * SECOND_US);
    assert_closed(&f.a, TN_ETIMEDOUT);
    assert_int_equal(f.b.count, 0);
    end(&f);
}

/* Connections of nodes of another cluster are refused before their driver learns of them. */
static void nodes_of_another_cluster_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 5);
    send(&f.foreign, dial(&f.foreign, &f.a), 1, NULL);
    pass(&f, SECOND_US);
    assert_closed(&f.foreign, TN_ECLOSED);
    assert_int_equal(f.a.count, 0);
    end(&f);
}

/* The death of a process closes its connections at once, after frames in flight, or without
 * them. */
static void death_of_a_process_closes_its_connections(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 6);
    conn_id conn = dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    send(&f.a, conn, 1, NULL);
    net_endpoint_kill(f.a.endpoint, false);
    pass(&f, 2 * HEARTBEAT_MS * 1000);
    assert_true(count_of(&f.b, TRANSPORT_FRAME) <= 1);
    assert_closed(&f.b, TN_ECLOSED);
    assert_int_equal(f.a.count, 1); /* The dead hear nothing. */
    dial(&f.b, &f.a);
    f.b.count = 0;
    pass(&f, SECOND_US);
    assert_closed(&f.b, TN_ECONNECT);
    end(&f);
}

/* A dead host is silent: its peers time out after four heartbeats, and dials time out. */
static void dead_host_is_silent(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 7);
    dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    net_endpoint_kill(f.a.endpoint, true);
    pass(&f, 3 * HEARTBEAT_MS * 1000);
    assert_int_equal(f.b.count, 1);
    pass(&f, 3 * HEARTBEAT_MS * 1000);
    assert_closed(&f.b, TN_ETIMEDOUT);
    dial(&f.b, &f.a);
    f.b.count = 0;
    pass(&f, SECOND_US);
    assert_closed(&f.b, TN_ETIMEDOUT);
    end(&f);
}

/* Frames for a frozen process wait for its thaw; a short freeze closes nothing. */
static void short_freeze_only_delays(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 8);
    net_endpoint_freeze(f.b.endpoint, true);
    conn_id conn = dial(&f.a, &f.b);
    send(&f.a, conn, 1, NULL);
    pass(&f, 2 * HEARTBEAT_MS * 1000);
    assert_int_equal(f.b.count, 0);
    assert_int_equal(count_of(&f.a, TRANSPORT_OPENED), 1); /* The kernel accepts. */
    net_endpoint_freeze(f.b.endpoint, false);
    pass(&f, SECOND_US);
    assert_int_equal(f.b.count, 2);
    assert_int_equal(f.b.events[1].type, TRANSPORT_FRAME);
    assert_int_equal(f.a.count, 1);
    end(&f);
}

/* The peers of a process that is frozen for long time out; it receives CLOSED after its thaw. */
static void long_freeze_times_out(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 9);
    dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    net_endpoint_freeze(f.b.endpoint, true);
    pass(&f, 10 * HEARTBEAT_MS * 1000);
    assert_closed(&f.a, TN_ETIMEDOUT);
    assert_int_equal(f.b.count, 1);
    net_endpoint_freeze(f.b.endpoint, false);
    pass(&f, 10 * HEARTBEAT_MS * 1000);
    assert_int_equal(f.b.count, 2); /* The peer's end, or its silence: whichever it sees first. */
    assert_int_equal(f.b.events[1].type, TRANSPORT_CLOSED);
    end(&f);
}

/* With one direction cut, the side that receives nothing closes, and its peer receives CLOSED. */
static void cut_of_one_direction_closes_both_sides(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 10);
    conn_id conn = dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    net_model_cut(f.net, 0, 1, true);
    send(&f.a, conn, 1, NULL);
    pass(&f, 10 * HEARTBEAT_MS * 1000);
    assert_closed(&f.b, TN_ETIMEDOUT);
    assert_int_equal(count_of(&f.b, TRANSPORT_FRAME), 0);
    assert_closed(&f.a, TN_ECLOSED);
    end(&f);
}

/* A short cut loses no frame: TCP sends it again. */
static void short_cut_only_delays(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 11);
    conn_id conn = dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    net_model_cut(f.net, 0, 1, true);
    send(&f.a, conn, 1, NULL);
    pass(&f, 2 * HEARTBEAT_MS * 1000);
    assert_int_equal(f.b.count, 1);
    net_model_cut(f.net, 0, 1, false);
    pass(&f, SECOND_US);
    assert_int_equal(count_of(&f.b, TRANSPORT_FRAME), 1);
    assert_int_equal(count_of(&f.a, TRANSPORT_CLOSED), 0);
    end(&f);
}

/* A reset closes every connection on both sides; frames sent after it are dropped. */
static void reset_closes_all_connections(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 12);
    conn_id conn = dial(&f.a, &f.b);
    pass(&f, SECOND_US);
    net_endpoint_reset(f.b.endpoint);
    send(&f.a, conn, 1, buffer_acquire(f.pool, 8));
    pass(&f, SECOND_US);
    assert_closed(&f.a, TN_ECLOSED);
    assert_closed(&f.b, TN_ECLOSED);
    assert_int_equal(count_of(&f.b, TRANSPORT_FRAME), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_keep_their_order),
        cmocka_unit_test(transport_takes_the_body),
        cmocka_unit_test(both_sides_receive_closed_once),
        cmocka_unit_test(connection_can_be_closed_at_any_moment),
        cmocka_unit_test(failed_dial_has_a_status),
        cmocka_unit_test(nodes_of_another_cluster_are_refused),
        cmocka_unit_test(death_of_a_process_closes_its_connections),
        cmocka_unit_test(dead_host_is_silent),
        cmocka_unit_test(short_freeze_only_delays),
        cmocka_unit_test(long_freeze_times_out),
        cmocka_unit_test(cut_of_one_direction_closes_both_sides),
        cmocka_unit_test(short_cut_only_delays),
        cmocka_unit_test(reset_closes_all_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
