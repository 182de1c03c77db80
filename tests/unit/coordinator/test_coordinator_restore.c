/* The chief creates a missing folder again until it exists, also while an ACL forbids it (C15). */
#include "tests/unit/coordinator/coordinator_scene.h"

/* All names; the last one may be missing. */
static const char *const names[] = {
    "spec",  "election", "members",    "exits",  "history",       "checkpoints", "kills",
    "chief", "run",      "assignment", "drains", "verifications", "requests"};
enum { NAMES = sizeof names / sizeof names[0] };

static int setup(void **state)
{
    (void)state;
    scene_begin("test");
    coordinator_decide(&c, (struct chief_event){.type = CHIEF_EV_ELECTED,
                                                .elected = {.epoch = 1, .cause = "first chief"}});
    restore_start(&c);
    return 0;
}

static void list(size_t count)
{
    scene_list("/tanist/test", names, count);
}

static void deny_creation(void)
{
    const struct fake_request *request = fake_last(&fake, 'w', "/requests");
    assert_non_null(request);
    assert_int_equal(request->op, c.restore_op);
    scene_refuse(request, 0, ZK_REASON_NO_AUTH);
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
