/* common/zk/zk.h against a real ensemble of three, when nothing fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/servers.h"

enum { SESSION_MS = 60000, DEADLINE_MS = 60000 };

/* A client reads what its own server has applied, which may lag behind the writes of other clients.
 * A write, also a refused one, is answered after all earlier ones. */
static void open_client(struct test_client *client)
{
    servers_connect(client, SESSION_MS, DEADLINE_MS);
}

/* A znode is created, read, set and deleted. */
static void znode_is_created_and_deleted(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    struct zk_answer answer = test_client_create(&client, "/life", "one", ZK_PERSISTENT);
    assert_ok(answer);
    assert_string_equal(answer.path, "/life");
    answer = test_client_get(&client, "/life");
    assert_ok(answer);
    assert_string_equal(answer.data, "one");
    assert_int_equal(answer.stat.version, 0);
    assert_int_equal(answer.stat.ephemeral_owner, 0);
    assert_true(answer.stat.created_zxid == answer.stat.modified_zxid);
    assert_true(answer.stat.modified_wall_ms > 0);
    answer = test_client_set(&client, "/life", "", 0);
    assert_ok(answer);
    assert_int_equal(answer.stat.version, 1);
    answer = test_client_get(&client, "/life");
    assert_ok(answer);
    assert_int_equal(answer.size, 0);
    assert_ok(test_client_delete(&client, "/life", 1));
    assert_refused(test_client_get(&client, "/life"), ZK_REASON_NO_NODE);
    test_client_close(&client);
}

/* Each refusal has its own reason. */
static void refusals_have_reasons(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/why", "x", ZK_PERSISTENT));
    assert_ok(test_client_create(&client, "/why/child", "x", ZK_PERSISTENT));
    assert_refused(test_client_create(&client, "/why", "x", 0), ZK_REASON_NODE_EXISTS);
    assert_refused(test_client_create(&client, "/no/such", "x", 0), ZK_REASON_NO_NODE);
    assert_refused(test_client_set(&client, "/why", "y", 7), ZK_REASON_BAD_VERSION);
    assert_refused(test_client_set(&client, "/nowhere", "y", 0), ZK_REASON_NO_NODE);
    assert_refused(test_client_delete(&client, "/why", ZK_ANY_VERSION), ZK_REASON_NOT_EMPTY);
    assert_refused(test_client_children(&client, "/nowhere"), ZK_REASON_NO_NODE);
    test_client_close(&client);
}

/* A listing has the names of the children, without paths, and the parent's stat. */
static void children_are_listed(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/list", "", 0));
    struct zk_answer answer = test_client_children(&client, "/list");
    assert_ok(answer);
    assert_int_equal(answer.child_count, 0);
    assert_ok(test_client_create(&client, "/list/b", "", 0));
    assert_ok(test_client_create(&client, "/list/a", "", ZK_EPHEMERAL));
    answer = test_client_children(&client, "/list");
    assert_string_equal(answer.names, "a,b");
    assert_int_equal(answer.stat.children_version, 2);
    test_client_close(&client);
}

/* The answer holds the full name of a sequential znode; an ephemeral one belongs to the session. */
static void sequential_ephemeral_has_an_owner(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/election", "", 0));
    for (int i = 0; i < 2; i++) {
        struct zk_answer answer =
            test_client_create(&client, "/election/n-", "me", ZK_EPHEMERAL | ZK_SEQUENTIAL);
        assert_ok(answer);
        assert_string_equal(answer.path,
                            i == 0 ? "/election/n-0000000000" : "/election/n-0000000001");
        answer = test_client_get(&client, answer.path);
        assert_ok(answer);
        assert_true(answer.stat.ephemeral_owner == client.session);
    }
    assert_true((uint64_t)zk_session_of(client.zk).id == client.session);
    test_client_close(&client);
}

/* A transaction is applied completely; its answer describes the first CREATE and the first SET. */
static void transaction_is_applied(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/tx", "", 0));
    assert_ok(test_client_create(&client, "/tx/old", "", 0));
    const struct zk_write writes[] = {
        {.kind = ZK_CHECK, .path = "/tx", .version = 0},
        {.kind = ZK_CREATE, .path = "/tx/s-", .data = "1", .size = 1, .flags = ZK_SEQUENTIAL},
        {.kind = ZK_CREATE, .path = "/tx/t-", .data = "2", .size = 1, .flags = ZK_SEQUENTIAL},
        {.kind = ZK_SET, .path = "/tx", .data = "new", .size = 3, .version = ZK_ANY_VERSION},
        {.kind = ZK_DELETE, .path = "/tx/old", .version = ZK_ANY_VERSION},
    };
    struct zk_answer answer = test_client_wait(&client, test_client_write(&client, writes, 5));
    assert_ok(answer);
    assert_string_equal(answer.path, "/tx/s-0000000001");
    assert_int_equal(answer.stat.version, 1);
    assert_string_equal(test_client_children(&client, "/tx").names, "s-0000000001,t-0000000002");
    test_client_close(&client);
}

/* A transaction with a refused part changes nothing; its answer names the part and the reason. */
static void transaction_fails_completely(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/txf", "", 0));
    const struct zk_write writes[] = {
        {.kind = ZK_CREATE, .path = "/txf/a", .flags = 0},
        {.kind = ZK_SET, .path = "/txf", .version = ZK_ANY_VERSION},
        {.kind = ZK_CHECK, .path = "/txf", .version = 5},
        {.kind = ZK_DELETE, .path = "/nowhere", .version = ZK_ANY_VERSION},
    };
    struct zk_answer answer = test_client_wait(&client, test_client_write(&client, writes, 4));
    assert_refused(answer, ZK_REASON_BAD_VERSION);
    assert_int_equal(answer.failed_write, 2);
    answer = test_client_get(&client, "/txf");
    assert_int_equal(answer.stat.version, 0);
    assert_int_equal(test_client_children(&client, "/txf").child_count, 0);
    answer = test_client_wait(&client, test_client_write(&client, &writes[2], 1));
    assert_refused(answer, ZK_REASON_BAD_VERSION);
    assert_int_equal(answer.failed_write, 0);
    test_client_close(&client);
}

/* A watch on a znode fires once for a change of its data, and once for its removal. */
static void data_watch_fires_once(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/watched", "", 0));
    assert_ok(test_client_wait(&client, test_client_read(&client, "/watched", true)));
    assert_ok(test_client_wait(&client, test_client_read(&client, "/watched", true)));
    assert_ok(test_client_set(&client, "/watched", "1", 0));
    test_client_expect_change(&client, 0, "/watched");
    assert_ok(test_client_set(&client, "/watched", "2", 1));
    assert_ok(test_client_wait(&client, test_client_read(&client, "/watched", true)));
    assert_ok(test_client_delete(&client, "/watched", 2));
    test_client_expect_change(&client, 1, "/watched");
    assert_ok(test_client_get(&client, "/"));
    assert_int_equal(test_client_count(&client, ZK_CHANGED), 2);
    test_client_close(&client);
}

/* A watch on a missing znode fires when the znode is created. */
static void creation_watch_fires(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_refused(test_client_wait(&client, test_client_read(&client, "/coming", true)),
                   ZK_REASON_NO_NODE);
    assert_ok(test_client_create(&client, "/coming", "", 0));
    test_client_expect_change(&client, 0, "/coming");
    test_client_close(&client);
}

/* A watch on a listing fires when a child is created, not when data change. */
static void child_watch_fires(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/parent", "", 0));
    assert_ok(test_client_create(&client, "/parent/a", "", 0));
    assert_ok(test_client_wait(&client, test_client_list(&client, "/parent", true)));
    assert_ok(test_client_set(&client, "/parent/a", "x", 0));
    assert_ok(test_client_set(&client, "/parent", "x", 0));
    assert_int_equal(test_client_count(&client, ZK_CHANGED), 0);
    assert_ok(test_client_create(&client, "/parent/b", "", 0));
    test_client_expect_change(&client, 0, "/parent");
    test_client_close(&client);
}

/* Data of the largest size is stored; a byte more, also in sum, is refused and not sent. */
static void sizes_are_bounded(void **state)
{
    (void)state;
    struct test_client client;
    char *data = malloc(ZK_DATA_MAX + 1);
    assert_non_null(data);
    memset(data, 1, ZK_DATA_MAX + 1);
    open_client(&client);
    struct zk_write writes[] = {
        {.kind = ZK_CREATE, .path = "/big", .data = data, .size = ZK_DATA_MAX + 1},
        {.kind = ZK_CREATE, .path = "/small", .data = data, .size = 1},
    };
    assert_refused(test_client_wait(&client, test_client_write(&client, writes, 1)),
                   ZK_REASON_TOO_LARGE);
    writes[0].size = ZK_DATA_MAX;
    assert_refused(test_client_wait(&client, test_client_write(&client, writes, 2)),
                   ZK_REASON_TOO_LARGE);
    assert_ok(test_client_wait(&client, test_client_write(&client, writes, 1)));
    struct zk_answer answer = test_client_get(&client, "/big");
    assert_ok(answer);
    assert_int_equal(answer.size, ZK_DATA_MAX);
    assert_int_equal(answer.checksum, ZK_DATA_MAX);
    assert_int_equal(test_client_count(&client, ZK_DISCONNECTED), 0);
    test_client_close(&client);
    free(data);
}

/* A malformed request is refused and not sent. */
static void malformed_requests_are_refused(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    static const char *const paths[] = {"", "relative", "/a//b", "/a/", "/./a", "/..", "/a\nb"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_refused(test_client_get(&client, paths[i]), ZK_REASON_OTHER);
        assert_refused(test_client_create(&client, paths[i], "", 0), ZK_REASON_OTHER);
    }
    assert_refused(test_client_wait(&client, test_client_write(&client, NULL, 0)), ZK_REASON_OTHER);
    test_client_close(&client);
}

/* With a chroot, the paths in answers and in watches are relative to it. */
static void chroot_is_invisible(void **state)
{
    (void)state;
    struct test_client client;
    struct test_client inside;
    char connect[sizeof servers.ensemble.connect + 8];
    open_client(&client);
    assert_ok(test_client_create(&client, "/root", "", 0));
    snprintf(connect, sizeof connect, "%s/root", servers.ensemble.connect);
    test_client_open(&inside, connect, SESSION_MS, DEADLINE_MS, NULL, NULL);
    assert_refused(test_client_wait(&inside, test_client_read(&inside, "/x-0000000000", true)),
                   ZK_REASON_NO_NODE);
    const struct zk_write writes[] = {
        {.kind = ZK_CHECK, .path = "/", .version = 0},
        {.kind = ZK_CREATE, .path = "/x-", .flags = ZK_SEQUENTIAL},
    };
    struct zk_answer answer = test_client_wait(&inside, test_client_write(&inside, writes, 2));
    assert_ok(answer);
    assert_string_equal(answer.path, "/x-0000000000");
    test_client_expect_change(&inside, 0, "/x-0000000000");
    assert_ok(test_client_set(&client, "/root", "", ZK_ANY_VERSION));
    assert_ok(test_client_get(&client, "/root/x-0000000000"));
    test_client_close(&inside);
    test_client_close(&client);
}

/* Znodes created with credentials, which include the key of the frames, are read and changed only
 * by the owner. */
static void credentials_protect(void **state)
{
    (void)state;
    const char *connect = servers.ensemble.connect;
    struct test_client owner;
    struct test_client other;
    struct test_client anonymous;
    test_client_open(&owner, connect, SESSION_MS, DEADLINE_MS, "tanist:secret", NULL);
    test_client_open(&other, connect, SESSION_MS, DEADLINE_MS, "tanist:guess", NULL);
    test_client_open(&anonymous, connect, SESSION_MS, DEADLINE_MS, NULL, NULL);
    assert_ok(test_client_create(&owner, "/own", "first", 0));
    assert_string_equal(test_client_get(&owner, "/own").data, "first");
    assert_refused(test_client_set(&other, "/own", "stolen", ZK_ANY_VERSION), ZK_REASON_NO_AUTH);
    assert_refused(test_client_set(&anonymous, "/own", "stolen", ZK_ANY_VERSION),
                   ZK_REASON_NO_AUTH);
    assert_refused(test_client_get(&other, "/own"), ZK_REASON_NO_AUTH);
    assert_refused(test_client_get(&anonymous, "/own"), ZK_REASON_NO_AUTH);
    assert_refused(test_client_create(&anonymous, "/own/child", "", 0), ZK_REASON_NO_AUTH);
    assert_ok(test_client_set(&owner, "/own", "kept", 0));
    test_client_close(&owner);
    test_client_close(&other);
    test_client_close(&anonymous);
}

static struct zk_answer set_permissions(struct test_client *client, const char *path,
                                        unsigned others)
{
    const uint64_t op = ++client->last_op;
    zk_set_permissions(client->zk, op, path, others);
    return test_client_wait(client, op);
}

/* A znode is closed to all clients but those with the credentials of the one that closed it. */
static void permissions_close_a_znode(void **state)
{
    (void)state;
    const char *connect = servers.ensemble.connect;
    struct test_client owner;
    struct test_client anonymous;
    test_client_open(&owner, connect, SESSION_MS, DEADLINE_MS, "tanist:secret", NULL);
    test_client_open(&anonymous, connect, SESSION_MS, DEADLINE_MS, NULL, NULL);
    assert_ok(test_client_create(&anonymous, "/closed", "x", 0));
    assert_ok(set_permissions(&owner, "/closed", ZK_MAY_READ));
    assert_string_equal(test_client_get(&anonymous, "/closed").data, "x");
    assert_refused(test_client_create(&anonymous, "/closed/a", "", 0), ZK_REASON_NO_AUTH);
    assert_refused(set_permissions(&anonymous, "/closed", ZK_MAY_READ), ZK_REASON_NO_AUTH);
    assert_ok(test_client_create(&owner, "/closed/a", "", 0));
    assert_refused(set_permissions(&owner, "/nowhere", ZK_MAY_READ), ZK_REASON_NO_NODE);
    assert_refused(set_permissions(&owner, "nowhere", ZK_MAY_READ), ZK_REASON_OTHER);
    test_client_close(&owner);
    test_client_close(&anonymous);
}

/* Without credentials, a client that gives up ZK_MAY_SET_PERMISSIONS has closed the znode to itself
 * as well; until then it may change its mind, and children cannot be deleted. */
static void permissions_apply_to_their_author(void **state)
{
    (void)state;
    struct test_client client;
    open_client(&client);
    assert_ok(test_client_create(&client, "/shut", "", 0));
    assert_ok(
        set_permissions(&client, "/shut", ZK_MAY_READ | ZK_MAY_CREATE | ZK_MAY_SET_PERMISSIONS));
    assert_ok(test_client_create(&client, "/shut/a", "", 0));
    assert_refused(test_client_delete(&client, "/shut/a", 0), ZK_REASON_NO_AUTH);
    assert_ok(set_permissions(&client, "/shut", ZK_MAY_READ));
    assert_refused(test_client_create(&client, "/shut/b", "", 0), ZK_REASON_NO_AUTH);
    assert_refused(set_permissions(&client, "/shut", ZK_MAY_READ), ZK_REASON_NO_AUTH);
    test_client_close(&client);
}

/* A connected session has its server. */
static void session_has_its_server(void **state)
{
    (void)state;
    struct test_client client;
    char server[64];
    open_client(&client);
    zk_server(client.zk, server, sizeof server);
    test_ensemble_find(&servers, server);
    test_client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(znode_is_created_and_deleted),
        cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(children_are_listed),
        cmocka_unit_test(sequential_ephemeral_has_an_owner),
        cmocka_unit_test(transaction_is_applied),
        cmocka_unit_test(transaction_fails_completely),
        cmocka_unit_test(data_watch_fires_once),
        cmocka_unit_test(creation_watch_fires),
        cmocka_unit_test(child_watch_fires),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(malformed_requests_are_refused),
        cmocka_unit_test(chroot_is_invisible),
        cmocka_unit_test(credentials_protect),
        cmocka_unit_test(permissions_close_a_znode),
        cmocka_unit_test(permissions_apply_to_their_author),
        cmocka_unit_test(session_has_its_server),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
