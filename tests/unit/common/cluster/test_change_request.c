/* The request to change a running job: its text, and texts that are refused. */
#include "common/cluster/change_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* All fields come back, in each state. */
static void text_comes_back(void **state)
{
    (void)state;
    for (int each = 0; each < CHANGE_STATES; each++) {
        char text[ZNODE_JSON_MAX];
        struct change_request back;
        struct change_request request = {.state = (enum change_state)each,
                                         .strategy = CHANGE_TO_GROUP,
                                         .ps = PS_MAX,
                                         .members = 3,
                                         .workers = WORKERS_MAX,
                                         .wall_ms = 5,
                                         .by = "pid 7 on alpha",
                                         .agent = UINT64_MAX,
                                         .step = 9,
                                         .paused_ms = 300,
                                         .steps_redone = 2,
                                         .invalid = each % 2 == 1};
        memset(request.text, 'x', sizeof request.text - 1);
        const size_t size = change_request_encode(&request, text);
        assert_int_equal(change_request_decode(text, size, &back, NULL), TN_OK);
        assert_memory_equal(&back, &request, sizeof back);
    }
}

/* A start with --resume makes the same change, not that of the number of ps. */
static void setting_is_that_of_the_change(void **state)
{
    (void)state;
    const struct change_request mirror = {.strategy = CHANGE_TO_MIRROR};
    const struct change_request group = {.strategy = CHANGE_TO_GROUP, .ps = 2, .members = 2};
    const struct change_request workers = {.ps = 2, .workers = 3};
    const struct change_request ps = {.ps = 3};
    const struct change_request widest = {
        .strategy = CHANGE_TO_GROUP, .ps = UINT32_MAX, .members = UINT32_MAX};
    char text[CHANGE_SETTING_MAX];
    assert_string_equal(change_setting(&mirror, text), "strategy.type=mirror");
    assert_string_equal(change_setting(&group, text),
                        "strategy.type=group --set cluster.ps=2 --set strategy.members=2");
    assert_string_equal(change_setting(&workers, text), "cluster.workers=3");
    assert_string_equal(change_setting(&ps, text), "cluster.ps=3");
    assert_true(strlen(change_setting(&widest, text)) < sizeof text - 1);
}

static void check_damaged(const char *text)
{
    struct change_request out;
    struct error error = {0};
    assert_int_equal(change_request_decode(text, strlen(text), &out, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "/change"));
    assert_int_equal(change_request_decode(text, strlen(text), &out, NULL), TN_ECORRUPT);
}

/* Another version, an unknown state, too many ps and missing fields are refused. */
static void damage_is_refused(void **state)
{
    (void)state;
    const char *const rest = "\"at_ms\":1,\"by\":\"\",\"agent\":\"0000000000000000\",\"step\":0,"
                             "\"paused_ms\":0,\"steps_redone\":0,\"invalid\":false,\"text\":\"\"}";
    char text[512];
    struct change_request out;
    (void)snprintf(text, sizeof text, "{\"version\":1,\"state\":\"wanted\",\"ps\":3,%s", rest);
    assert_int_equal(change_request_decode(text, strlen(text), &out, NULL), TN_OK);
    (void)snprintf(text, sizeof text, "{\"version\":2,\"state\":\"wanted\",\"ps\":3,%s", rest);
    check_damaged(text);
    (void)snprintf(text, sizeof text, "{\"version\":1,\"state\":\"begun\",\"ps\":3,%s", rest);
    check_damaged(text);
    (void)snprintf(text, sizeof text, "{\"version\":1,\"state\":\"wanted\",\"ps\":65,%s", rest);
    check_damaged(text);
    check_damaged("{\"version\":1,\"state\":\"wanted\",\"ps\":3}");
    check_damaged("");
    check_damaged("[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(setting_is_that_of_the_change),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
