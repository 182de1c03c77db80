/* common/zk/zk.h against real servers that lose all their data, which ends the session, and against
 * long outages, which do not. */
#include <ftw.h>
#include <inttypes.h>
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
#include "tests/support/patience.h"
#include "tests/support/servers.h"

enum { SESSION_MS = 4000, DEADLINE_MS = 5000, PATIENCE_MS = 60000 };

static void open_client(struct test_client *client)
{
    servers_connect(client, SESSION_MS, DEADLINE_MS);
}

/* Removes logs and snapshots; myid stays. */
static int forget(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return strstr(path, "/version-2/") != NULL ? remove(path) : 0;
}

static void wipe(void)
{
    assert_int_equal(nftw(servers.dir, forget, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void fill(struct test_client *client)
{
    char path[32];
    for (int i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/filled-%d", i);
        struct zk_answer answer;
        do { /* The servers may have to elect a leader first. */
            answer = test_client_create(client, path, "", i % 2 == 0 ? ZK_EPHEMERAL : 0);
        } while (answer.outcome == ZK_UNKNOWN);
    }
}

/* Servers without data refuse a client that has seen a newer zxid: EXPIRED arrives once, and a new
 * session finds an empty tree. */
static void wiped_servers_end_the_session(void **state)
{
    (void)state;
    struct test_client client, next;
    open_client(&client);
    fill(&client);
    servers_kill_all();
    wipe();
    uint64_t start_ms = clock_monotonic_ms();
    test_ensemble_heal(&servers);
    while (test_client_count(&client, ZK_EXPIRED) == 0) {
        assert_in_range(clock_monotonic_ms() - start_ms, 0, patience_ms(PATIENCE_MS));
        pause_ms(20);
    }
    uint64_t took_ms = clock_monotonic_ms() - start_ms;
    print_message("EXPIRED arrived %" PRIu64 " ms after the start of the servers\n", took_ms);
    assert_in_range(took_ms, SESSION_MS, 20 * SESSION_MS);
    assert_refused(test_client_get(&client, "/"), ZK_REASON_EXPIRED);
    open_client(&next);
    assert_refused(test_client_get(&next, "/filled-1"), ZK_REASON_NO_NODE);
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 1);
    test_client_close(&next);
    test_client_close(&client);
}

/* An outage of three session timeouts: with the same data the session and its ephemerals
 * continue. */
static void session_survives_an_outage(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/outage", "", ZK_EPHEMERAL));
    uint64_t session = client.session;
    servers_kill_all();
    test_client_wait_event(&client, ZK_DISCONNECTED, 1);
    pause_ms(2 * SESSION_MS);
    test_ensemble_start_server(&servers, 0); /* One of three does not have a quorum. */
    pause_ms(SESSION_MS);
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 0);
    test_ensemble_heal(&servers);
    test_client_wait_event(&client, ZK_CONNECTED, 2);
    assert_true(client.session == session);
    struct zk_answer answer;
    do {
        answer = test_client_get(&client, "/outage");
    } while (answer.outcome == ZK_UNKNOWN);
    assert_ok(answer);
    assert_true(answer.stat.ephemeral_owner == session);
    pause_ms(SESSION_MS + SESSION_MS / 2); /* The probe of the outage has no late effect. */
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 0);
    test_client_close(&client);
}

/* Frozen servers accept connections and do not answer: this is an outage as well. */
static void session_survives_frozen_servers(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    test_ensemble_signal_all(&servers, SIGSTOP);
    test_client_wait_event(&client, ZK_DISCONNECTED, 1);
    pause_ms(4 * SESSION_MS);
    assert_int_equal(test_client_count(&client, ZK_EXPIRED), 0);
    test_ensemble_signal_all(&servers, SIGCONT);
    test_client_close(&client);
    /* The next test starts new servers: those that were frozen once accepted no session for 30 s,
     * although they answered probes (ZooKeeper 3.8.0). */
    servers_kill_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(session_survives_an_outage, servers_heal),
        cmocka_unit_test_setup(session_survives_frozen_servers, servers_heal),
        cmocka_unit_test_setup(wiped_servers_end_the_session, servers_heal),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
