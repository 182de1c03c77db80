/* The chief reads the oldest request, and ignores names that are too long for a path. */
#include "tests/unit/coordinator/coordinator_scene.h"

static int setup(void **state)
{
    char longest[CLUSTER_NAME_MAX] = {0};
    (void)state;
    memset(longest, 'c', sizeof longest - 1);
    scene_begin(longest);
    scene_follow_requests();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(request_with_too_long_a_path_is_ignored, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
