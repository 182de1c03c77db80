/* common/zk/zk.h against a real ensemble of three whose servers die, freeze and return. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/support/servers.h"

enum { SESSION_MS = 60000, DEADLINE_MS = 30000 };

static void open_client(struct test_client *client)
{
    servers_connect(client, SESSION_MS, DEADLINE_MS);
}

/* Repeats a write until it is applied: ZooKeeper may have to elect a leader first. */
static void write_until_applied(struct test_client *client, const char *path)
{
    for (;;) {
        struct zk_answer answer = test_client_create(client, path, "", 0);
        if (answer.outcome == ZK_OK || answer.reason == ZK_REASON_NODE_EXISTS) { return; }
        assert_int_equal(answer.outcome, ZK_UNKNOWN);
    }
}

static void close_session(const struct zk_session *session, enum tn_status expected)
{
    assert_int_equal(zk_close_session(servers.ensemble.connect, session, 5000, NULL), expected);
}

/* The connected server dies: the session continues at another one, with ephemerals and watches. */
static void server_death_is_survived(void **state)
{
    (void)state;
    struct test_client client;
    char address[64];
    open_client(&client);
    assert_ok(test_client_create(&client, "/survivor", "", ZK_EPHEMERAL));
    assert_ok(test_client_wait(&client, test_client_read(&client, "/survivor", true)));
    uint64_t session = client.session;
    zk_server(client.zk, address, sizeof address);
    size_t index = test_ensemble_find(&servers, address);
    test_ensemble_kill_server(&servers, index);
    test_client_wait_event(&client, ZK_DISCONNECTED, 1);
    test_client_wait_event(&client, ZK_CONNECTED, 2);
    assert_true(client.session == session);
    write_until_applied(&client, "/after-death");
    assert_ok(test_client_set(&client, "/survivor", "x", 0));
    test_client_expect_change(&client, 0, "/survivor");
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 0);
    test_client_close(&client);
}

/* While the servers are frozen the deadline answers UNKNOWN; the late answer is dropped, although
 * the write was applied. */
static void deadline_answers_for_frozen_servers(void **state)
{
    (void)state;
    struct test_client client;
    test_client_open(&client, servers.ensemble.connect, SESSION_MS, 300, NULL, NULL);
    test_ensemble_signal_all(&servers, SIGSTOP);
    uint64_t start_ms = clock_monotonic_ms();
    struct zk_write write = {.kind = ZK_CREATE, .path = "/late", .flags = 0};
    uint64_t op = test_client_write(&client, &write, 1);
    struct zk_answer answer = test_client_wait(&client, op);
    uint64_t took_ms = clock_monotonic_ms() - start_ms;
    test_ensemble_signal_all(&servers, SIGCONT);
    assert_int_equal(answer.outcome, ZK_UNKNOWN);
    assert_int_equal(answer.reason, ZK_REASON_DEADLINE);
    assert_true(took_ms >= 300);
    do {
        answer = test_client_get(&client, "/late");
    } while (answer.outcome != ZK_OK);
    assert_int_equal(test_client_wait(&client, op).times, 1);
    test_client_close(&client);
}

/* Without a majority requests end as UNKNOWN in bounded time; with it the session continues. */
static void majority_is_lost_and_restored(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/minority", "", ZK_EPHEMERAL));
    test_ensemble_kill_server(&servers, 0);
    test_ensemble_kill_server(&servers, 1);
    /* The last server serves reads until it detects the loss. */
    struct ensemble_health health;
    while (ensemble_probe(servers.ensemble.servers[2].address, 1000, &health) == TN_OK) {
        pause_ms(10);
    }
    while (test_client_get(&client, "/minority").outcome != ZK_UNKNOWN) { pause_ms(10); }
    uint64_t start_ms = clock_monotonic_ms();
    for (int i = 0; i < 5; i++) {
        struct zk_answer answer = test_client_get(&client, "/minority");
        assert_int_equal(answer.outcome, ZK_UNKNOWN);
    }
    /* Not a busy loop for a client that repeats its request at once. */
    assert_true(clock_monotonic_ms() - start_ms >= 50);
    unsigned connected = test_client_count(&client, ZK_CONNECTED);
    test_ensemble_start_server(&servers, 0);
    test_ensemble_start_server(&servers, 1);
    test_client_wait_event(&client, ZK_CONNECTED, connected + 1);
    write_until_applied(&client, "/majority-is-back");
    struct zk_answer answer = test_client_get(&client, "/minority");
    assert_ok(answer);
    assert_true(answer.stat.ephemeral_owner == client.session);
    test_client_close(&client);
}

/* A session closed from outside: EXPIRED arrives once, and later requests are refused. */
static void expiry_is_reported_once(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    struct zk_session session = zk_session_of(client.zk);
    close_session(&session, TN_OK);
    test_client_wait_event(&client, ZK_EXPIRED, 1);
    for (int i = 0; i < 3; i++) {
        assert_refused(test_client_get(&client, "/"), ZK_REASON_EXPIRED);
        assert_refused(test_client_create(&client, "/expired", "", 0), ZK_REASON_EXPIRED);
        assert_refused(test_client_children(&client, "/"), ZK_REASON_EXPIRED);
    }
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 1);
    /* It may have reconnected before the session was closed. */
    assert_int_equal(test_client_count(&client, ZK_DISCONNECTED),
                     test_client_count(&client, ZK_CONNECTED));
    test_client_close(&client);
}

/* A process that dies leaves its ephemerals. Closing its session by the saved id removes them at
 * once; a second call finds the session closed. */
static void dead_session_is_closed_fast(void **state)
{
    (void)state;
    struct test_client dead;
    struct test_client witness;
    open_client(&dead);
    open_client(&witness);
    assert_ok(test_client_create(&dead, "/dead", "", ZK_EPHEMERAL));
    struct zk_session session = zk_session_of(dead.zk);
    test_client_abandon(&dead);
    struct zk_answer answer = test_client_wait(&witness, test_client_read(&witness, "/dead", true));
    assert_ok(answer);
    assert_true(answer.stat.ephemeral_owner == (uint64_t)session.id);
    pause_ms(300); /* Long enough for a CLOSE that abandoning might have sent. */
    assert_int_equal(test_client_count(&witness, ZK_CHANGED), 0);
    close_session(&session, TN_OK);
    test_client_expect_change(&witness, 0, "/dead"); /* Within less than SESSION_MS. */
    close_session(&session, TN_EEXPIRED);
    test_client_close(&witness);
}

/* A saved session can be resumed; its ephemerals remain. */
static void session_is_resumed(void **state)
{
    (void)state;
    struct test_client first;
    struct test_client second;
    open_client(&first);
    assert_ok(test_client_create(&first, "/resumed", "", ZK_EPHEMERAL));
    struct zk_session session = zk_session_of(first.zk);
    test_client_abandon(&first);
    test_client_open(&second, servers.ensemble.connect, SESSION_MS, DEADLINE_MS, NULL, &session);
    assert_true(second.session == (uint64_t)session.id);
    assert_ok(test_client_delete(&second, "/resumed", 0));
    test_client_close(&second);
}

/* Without a server, closing a session ends at its timeout. */
static void closing_without_servers_is_bounded(void **state)
{
    (void)state;
    struct zk_session session = {.id = 1};
    uint64_t start_ms = clock_monotonic_ms();
    assert_int_equal(zk_close_session("127.0.0.1:1", &session, 300, NULL), TN_ETIMEDOUT);
    assert_true(clock_monotonic_ms() - start_ms >= 290);
    assert_int_equal(zk_close_session("127.0.0.1", &session, 300, NULL), TN_EINVAL);
}

/* Many requests while the leader dies: each is answered exactly once, and every write that was
 * answered OK exists. */
static void every_request_is_answered_once(void **state)
{
    (void)state;
    enum { REQUESTS = 2000 };
    struct test_client client;
    char path[64];
    open_client(&client);
    assert_ok(test_client_create(&client, "/storm", "", 0));
    uint64_t first = client.last_op + 1;
    size_t leader = test_ensemble_leader(&servers);
    for (unsigned i = 0; i < REQUESTS; i++) {
        snprintf(path, sizeof path, "/storm/%u", i);
        struct zk_write write = {.kind = ZK_CREATE, .path = path};
        test_client_write(&client, &write, 1);
        test_client_read(&client, path, true);
        if (i == REQUESTS / 4) { test_ensemble_kill_server(&servers, leader); }
        if (i % 50 == 49) { pause_ms(1); }
    }
    uint64_t last = client.last_op;
    test_ensemble_start_server(&servers, leader);
    test_ensemble_wait(&servers);
    unsigned applied = 0;
    for (uint64_t op = first; op <= last; op++) {
        if (test_client_wait(&client, op).outcome == ZK_OK && (op - first) % 2 == 0) { applied++; }
    }
    struct zk_answer listed = test_client_children(&client, "/storm");
    while (listed.outcome == ZK_UNKNOWN) { listed = test_client_children(&client, "/storm"); }
    assert_ok(listed);
    assert_in_range(listed.child_count, applied, REQUESTS);
    for (uint64_t op = first; op <= last; op++) {
        assert_int_equal(test_client_wait(&client, op).times, 1);
    }
    test_client_close(&client);
}

/* After closing and abandoning with requests in flight no event arrives, and nothing leaks. */
static void closing_is_quiet(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct test_client client;
        open_client(&client);
        const struct zk_write writes[] = {
            {.kind = ZK_CHECK, .path = "/", .version = ZK_ANY_VERSION},
            {.kind = ZK_CREATE, .path = "/quiet-", .flags = ZK_SEQUENTIAL | ZK_EPHEMERAL}};
        for (int j = 0; j < 50; j++) {
            test_client_write(&client, writes, 2);
            test_client_read(&client, "/nowhere", true);
            test_client_list(&client, "/", true);
        }
        if (i % 2 == 0) {
            test_client_close(&client); /* Frees what a late event would touch. */
        } else {
            struct zk_session session = zk_session_of(client.zk);
            test_client_abandon(&client);
            close_session(&session, TN_OK);
        }
    }
}

/* Credentials are sent again after a reconnection, before the first write. */
static void credentials_survive_reconnection(void **state)
{
    (void)state;
    struct test_client owner;
    char address[64];
    test_client_open(&owner, servers.ensemble.connect, SESSION_MS, DEADLINE_MS, "a:b", NULL);
    assert_ok(test_client_create(&owner, "/guarded", "", 0));
    zk_server(owner.zk, address, sizeof address);
    size_t index = test_ensemble_find(&servers, address);
    test_ensemble_kill_server(&servers, index);
    test_client_wait_event(&owner, ZK_CONNECTED, 2);
    write_until_applied(&owner, "/guarded/child");
    assert_ok(test_client_set(&owner, "/guarded", "x", ZK_ANY_VERSION));
    test_client_close(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(server_death_is_survived, servers_heal),
        cmocka_unit_test_setup(deadline_answers_for_frozen_servers, servers_heal),
        cmocka_unit_test_setup(majority_is_lost_and_restored, servers_heal),
        cmocka_unit_test_setup(expiry_is_reported_once, servers_heal),
        cmocka_unit_test_setup(dead_session_is_closed_fast, servers_heal),
        cmocka_unit_test_setup(session_is_resumed, servers_heal),
        cmocka_unit_test_setup(closing_without_servers_is_bounded, servers_heal),
        cmocka_unit_test_setup(every_request_is_answered_once, servers_heal),
        cmocka_unit_test_setup(closing_is_quiet, servers_heal),
        cmocka_unit_test_setup(credentials_survive_reconnection, servers_heal),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
