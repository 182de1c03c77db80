/* The ZooKeeper adapter against real servers that lose all their data, and against those that are
 * only away for long: the first ends the session, the second does not. */
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/support/ensemble.h"
#include "tests/support/zk_client.h"

enum { SESSION_MS = 4000, DEADLINE_MS = 5000, PATIENCE_MS = 60000 };

static struct test_ensemble servers;

static int start_servers(void **state)
{
    (void)state;
    test_ensemble_start(&servers, 3);
    return 0;
}

static int stop_servers(void **state)
{
    (void)state;
    test_ensemble_stop(&servers);
    return 0;
}

static int heal(void **state)
{
    (void)state;
    test_ensemble_heal(&servers);
    return 0;
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void open_client(struct zk_client *client)
{
    zk_client_open(client, servers.ensemble.connect, SESSION_MS, DEADLINE_MS, NULL, NULL);
}

static void kill_all(void)
{
    for (size_t i = 0; i < servers.ensemble.count; i++) { test_ensemble_kill_server(&servers, i); }
}

/* Their logs and snapshots go; who they are (myid) stays. */
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

static void fill(struct zk_client *client)
{
    char path[32];
    for (int i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/filled-%d", i);
        struct zk_answer answer;
        do { /* The servers may have to find a leader first. */
            answer = zk_client_create(client, path, "", i % 2 == 0 ? ZK_EPHEMERAL : 0);
        } while (answer.outcome == ZK_UNKNOWN);
    }
}

/* Servers that have lost everything refuse us, who know more: we are told that the session is gone,
 * once, and a new one finds nothing of what was. */
static void wiped_servers_end_the_session(void **state)
{
    (void)state;
    struct zk_client client, next;
    open_client(&client);
    fill(&client);
    kill_all();
    wipe();
    uint64_t start_ms = clock_monotonic_ms();
    test_ensemble_heal(&servers);
    while (zk_client_count(&client, ZK_EXPIRED) == 0) {
        assert_in_range(clock_monotonic_ms() - start_ms, 0, PATIENCE_MS);
        pause_ms(20);
    }
    uint64_t took_ms = clock_monotonic_ms() - start_ms;
    print_message("told %llu ms after the servers were started\n", (unsigned long long)took_ms);
    assert_in_range(took_ms, SESSION_MS, 20 * SESSION_MS);
    assert_refused(zk_client_get(&client, "/"), ZK_REASON_EXPIRED);
    open_client(&next);
    assert_refused(zk_client_get(&next, "/filled-1"), ZK_REASON_NO_NODE);
    assert_int_equal(zk_client_count(&client, ZK_EXPIRED), 1);
    zk_client_close(&next);
    zk_client_close(&client);
}

/* Nobody serves for three session timeouts: that is an outage. With the same data the session and
 * its ephemerals are there again. */
static void an_outage_is_no_end(void **state)
{
    (void)state;
    struct zk_client client;
    open_client(&client);
    assert_ok(zk_client_create(&client, "/outage", "", ZK_EPHEMERAL));
    uint64_t session = client.session;
    kill_all();
    zk_client_wait_event(&client, ZK_DISCONNECTED, 1);
    pause_ms(2 * SESSION_MS);
    test_ensemble_start_server(&servers, 0); /* One of three is no quorum. */
    pause_ms(SESSION_MS);
    assert_int_equal(zk_client_count(&client, ZK_EXPIRED), 0);
    test_ensemble_heal(&servers);
    zk_client_wait_event(&client, ZK_CONNECTED, 2);
    assert_true(client.session == session);
    struct zk_answer answer;
    do {
        answer = zk_client_get(&client, "/outage");
    } while (answer.outcome == ZK_UNKNOWN);
    assert_ok(answer);
    assert_true(answer.stat.ephemeral_owner == session);
    pause_ms(SESSION_MS + SESSION_MS / 2); /* The doubt of before has no sequel. */
    assert_int_equal(zk_client_count(&client, ZK_EXPIRED), 0);
    zk_client_close(&client);
}

/* Frozen servers accept connections and say nothing: an outage as well. */
static void frozen_servers_are_no_end(void **state)
{
    (void)state;
    struct zk_client client;
    open_client(&client);
    test_ensemble_signal_all(&servers, SIGSTOP);
    zk_client_wait_event(&client, ZK_DISCONNECTED, 1);
    pause_ms(4 * SESSION_MS);
    assert_int_equal(zk_client_count(&client, ZK_EXPIRED), 0);
    test_ensemble_signal_all(&servers, SIGCONT);
    zk_client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_outage_is_no_end, heal),
        cmocka_unit_test_setup(frozen_servers_are_no_end, heal),
        cmocka_unit_test_setup(wiped_servers_end_the_session, heal),
    };
    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
