/* graph/core/device.h: device strings are parsed, merged, refused and printed. */
#include "graph/core/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *canonical)
{
    struct device device = device_none();
    char out[DEVICE_TEXT_MAX];
    assert_int_equal(device_parse(text, &device, NULL), TN_OK);
    device_format(&device, out);
    assert_string_equal(out, canonical);
}

static void parts_are_printed_in_one_order(void **state)
{
    (void)state;
    expect("", "");
    expect("/job:worker", "/job:worker");
    expect("/gpu:1/task:3/job:ps", "/job:ps/task:3/gpu:1");
    expect("/job:ps/task:007", "/job:ps/task:7");
    expect("/cpu:0", "/cpu:0");
}

static void parts_that_are_left_out_are_inherited(void **state)
{
    (void)state;
    struct device device = device_none();
    char out[DEVICE_TEXT_MAX];
    assert_int_equal(device_parse("/job:ps/task:1", &device, NULL), TN_OK);
    assert_int_equal(device_parse("/gpu:0", &device, NULL), TN_OK);
    device_format(&device, out);
    assert_string_equal(out, "/job:ps/task:1/gpu:0");
    /* Task 1 of another job is another task. */
    assert_int_equal(device_parse("/job:worker", &device, NULL), TN_OK);
    device_format(&device, out);
    assert_string_equal(out, "/job:worker/gpu:0");
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "job:ps",
        "/",
        "/job:",
        "/job:chief",
        "/task:1",
        "/gpu",
        "/gpu:",
        "/gpu:x",
        "/gpu:-1",
        "/gpu:99999",
        "/job:ps//gpu:0",
        "/job:ps/task:123456",
        "/tpu:0",
        "/job:ps/",
        "/gpu:0000000000000000000000000000000001",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct device device = device_none();
        struct error error;
        if (device_parse(wrong[i], &device, &error) != TN_EINVAL) { fail_msg("%s", wrong[i]); }
        assert_non_null(strstr(error.text, wrong[i]));
        assert_int_equal(device.task, DEVICE_ANY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_printed_in_one_order),
        cmocka_unit_test(parts_that_are_left_out_are_inherited),
        cmocka_unit_test(wrong_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
