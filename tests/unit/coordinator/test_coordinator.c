/* The chief reads the oldest request, and ignores names that are too long for a path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/coordinator_private.h"
#include "tests/unit/support/fake_ports.h"

static struct fake_ports fake;
static struct node_ports ports;
static struct coordinator c;

static int setup(void **state)
{
    char path[ZK_PATH_MAX];
    const struct chief_config config = {.ps = 1,
                                        .workers = 1,
                                        .min_workers = 1,
                                        .slices = 1,
                                        .steps = 10,
                                        .checkpoint_keep = 1,
                                        .manifest = {.parameter_count = 16}};
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&c, 0, sizeof c);
    ports = fake_node_ports(&fake, NULL);
    c.ports = &ports;
    c.retry_at_ms = UINT64_MAX;
    c.identity.incarnation = 1;
    memset(c.identity.cluster, 'c', CLUSTER_NAME_MAX - 1); /* The longest name. */
    membership_init(&c.membership, &c.identity, &ports);
    election_init(&c.election, 1);
    c.election.epoch = 1;
    chief_init(&c.chief, &config);
    c.stage = LEADERSHIP_ACTIVE;
    znode_path(path, c.identity.cluster, "requests");
    znode_watch_start(&c.requests, WATCH_CHILDREN, path, &ports.zk, &c.membership.next_op, 0);
    return 0;
}

static void request_with_too_long_a_path_is_ignored(void **state)
{
    char longest[192], path[ZK_PATH_MAX];
    const char *const names[] = {longest, "n-0000000002"};
    (void)state;
    memset(longest, 'x', sizeof longest);
    memcpy(longest + sizeof longest - 11, "0000000001", 11);
    znode_path(path, c.identity.cluster, "requests");
    const struct fake_request *list = fake_last(&fake, 'l', "/requests");
    assert_non_null(list);
    const struct zk_event listed = {
        .type = ZK_RESULT, .op = list->op, .path = path, .children = names, .child_count = 2};
    struct node node = coordinator_node(&c);
    node.handle(node.self, &(struct node_event){.type = NODE_ZK, .now_ms = 1, .zk = &listed});
    assert_non_null(fake_last(&fake, 'r', "/requests/n-0000000002"));
    assert_string_equal(c.request_name, "n-0000000002");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(request_with_too_long_a_path_is_ignored, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
