/* The chief reads the oldest request, and passes over those that cannot be read or deleted. */
#include "tests/unit/coordinator/coordinator_scene.h"

static int setup(void **state)
{
    char longest[CLUSTER_NAME_MAX] = {0};
    (void)state;
    memset(longest, 'c', sizeof longest - 1);
    scene_begin(longest);
    requests_start(&c);
    return 0;
}

static void request_with_too_long_a_path_is_ignored(void **state)
{
    char longest[192];
    const char *const names[] = {longest, "n-0000000002"};
    (void)state;
    memset(longest, 'x', sizeof longest);
    memcpy(longest + sizeof longest - 11, "0000000001", 11);
    scene_list("/requests", names, 2);
    assert_non_null(fake_last(&fake, 'r', "/requests/n-0000000002"));
    assert_string_equal(c.request_name, "n-0000000002");
}

static const char *const both[] = {"n-0000000002", "n-0000000001"};

/* The first of two requests is read. */
static void read_first(void)
{
    scene_list("/requests", both, 2);
    assert_ptr_equal(scene_newest(), fake_last(&fake, 'r', "/requests/n-0000000001"));
}

/* The chief lists the requests again, and then reads the second one. */
static void assert_second_is_read(void)
{
    assert_ptr_equal(scene_newest(), fake_last(&fake, 'l', "/requests"));
    scene_list("/requests", both, 2);
    assert_ptr_equal(scene_newest(), fake_last(&fake, 'r', "/requests/n-0000000002"));
}

/* A request that cannot be decoded is deleted. If the deletion is refused, the next one is read. */
static void request_that_cannot_be_dropped_does_not_block(void **state)
{
    (void)state;
    read_first();
    scene_answer("damaged");
    assert_ptr_equal(scene_newest(), fake_last(&fake, 'w', "/requests/n-0000000001"));
    scene_refuse(scene_newest(), 0, ZK_REASON_NOT_EMPTY);
    assert_second_is_read();
}

/* While a request is being deleted, no other one is read. */
static void dropped_request_precedes_the_next_one(void **state)
{
    (void)state;
    read_first();
    scene_answer("damaged");
    const uint64_t deletion = scene_newest()->op;
    scene_event((struct zk_event){.type = ZK_CHANGED, .path = c.requests.path});
    scene_list("/requests", both, 2);
    assert_null(fake_last(&fake, 'r', "/requests/n-0000000002"));
    scene_event((struct zk_event){.type = ZK_RESULT, .op = deletion});
    scene_list("/requests", both, 1);
    assert_non_null(fake_last(&fake, 'r', "/requests/n-0000000002"));
}

/* A request that an ACL hides does not block the next one. */
static void request_that_cannot_be_read_does_not_block(void **state)
{
    (void)state;
    read_first();
    scene_refuse(scene_newest(), 0, ZK_REASON_NO_AUTH);
    assert_second_is_read();
}

/* A request whose deletion is refused is not granted, and does not block the next one. */
static void request_that_cannot_be_granted_does_not_block(void **state)
{
    char text[ZNODE_JSON_MAX];
    const struct request stop = {.kind = REQUEST_STOP, .by = "me"};
    (void)state;
    (void)request_encode(&stop, text);
    coordinator_decide(&c, (struct chief_event){.type = CHIEF_EV_ELECTED,
                                                .elected = {.epoch = 1, .cause = "first chief"}});
    scene_answer(NULL);
    read_first();
    scene_answer(text);
    while (c.writing.request_at < 0) {
        if (c.writing.zk_op == 0) { scene_wait(100); }
        if (c.writing.request_at < 0) { scene_answer(NULL); }
    }
    scene_refuse(scene_newest(), c.writing.request_at, ZK_REASON_NOT_EMPTY);
    (void)run_encode(&c.chief.run, text);
    scene_answer(text);
    assert_ptr_equal(fake_last(&fake, 'l', "/requests")->op, c.requests.op);
    scene_list("/requests", both, 2);
    assert_non_null(fake_last(&fake, 'r', "/requests/n-0000000002"));
}

/* After a change of /requests, a request that was passed over is read again. */
static void request_passed_over_is_read_again_after_a_change(void **state)
{
    (void)state;
    read_first();
    scene_refuse(scene_newest(), 0, ZK_REASON_NO_AUTH);
    scene_list("/requests", both, 0);
    scene_event((struct zk_event){.type = ZK_CHANGED, .path = c.requests.path});
    const size_t before = fake.request_count;
    read_first();
    assert_int_equal(fake.request_count, before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(request_with_too_long_a_path_is_ignored, setup),
        cmocka_unit_test_setup(request_that_cannot_be_dropped_does_not_block, setup),
        cmocka_unit_test_setup(dropped_request_precedes_the_next_one, setup),
        cmocka_unit_test_setup(request_that_cannot_be_read_does_not_block, setup),
        cmocka_unit_test_setup(request_that_cannot_be_granted_does_not_block, setup),
        cmocka_unit_test_setup(request_passed_over_is_read_again_after_a_change, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
