/* The chief creates a missing folder again until it exists, also while an ACL forbids it (C15). */
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

/* All names; the last one may be missing. */
static const char *const names[] = {
    "spec",  "election", "members",    "exits",  "history",       "checkpoints", "kills",
    "chief", "run",      "assignment", "drains", "verifications", "requests"};
enum { NAMES = sizeof names / sizeof names[0] };

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&c, 0, sizeof c);
    ports = fake_node_ports(&fake, NULL);
    c.ports = &ports;
    c.stage = LEADERSHIP_ACTIVE;
    c.now_ms = 1000;
    strcpy(c.identity.cluster, "test");
    c.election.epoch = 1;
    struct chief_config config = {.ps = 1,
                                  .workers = 1,
                                  .min_workers = 1,
                                  .slices = 1,
                                  .steps = 10,
                                  .checkpoint_keep = 1,
                                  .manifest = {.parameter_count = 16}};
    chief_init(&c.chief, &config);
    coordinator_decide(&c, (struct chief_event){.type = CHIEF_EV_ELECTED,
                                                .elected = {.epoch = 1, .cause = "first chief"}});
    restore_start(&c);
    return 0;
}

/* The last request for the children of the cluster's znode is answered. */
static void list(size_t count)
{
    const struct fake_request *request = fake_last(&fake, 'l', "/tanist/test");
    assert_non_null(request);
    restore_handle(&c, &(struct zk_event){.type = ZK_RESULT,
                                          .op = request->op,
                                          .path = "/tanist/test",
                                          .children = names,
                                          .child_count = count});
}

static void deny_creation(void)
{
    const struct fake_request *request = fake_last(&fake, 'w', "/requests");
    assert_non_null(request);
    assert_int_equal(request->op, c.restore_op);
    restore_handle(&c, &(struct zk_event){.type = ZK_RESULT,
                                          .op = request->op,
                                          .outcome = ZK_REFUSED,
                                          .reason = ZK_REASON_NO_AUTH,
                                          .path = "/tanist/test/requests"});
}

static void denied_folder_is_restored_once_it_is_permitted(void **state)
{
    (void)state;
    list(NAMES - 1);
    deny_creation();
    assert_non_null(strstr(c.membership.problem, "/tanist/test/requests"));
    assert_int_equal(restore_deadline_ms(&c), c.now_ms + LOOK_AGAIN_MS);
    c.now_ms += LOOK_AGAIN_MS;
    restore_tick(&c);
    list(NAMES - 1);
    deny_creation();
    c.now_ms += LOOK_AGAIN_MS;
    restore_tick(&c);
    list(NAMES);
    assert_string_equal(c.membership.problem, "");
    assert_int_equal(restore_deadline_ms(&c), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(denied_folder_is_restored_once_it_is_permitted, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
