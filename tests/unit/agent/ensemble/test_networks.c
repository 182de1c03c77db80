/* The file of networks, and the errors in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/ensemble/networks.h"

static struct networks networks;
static struct error error;

static enum tn_status read_text(const char *text)
{
    char path[] = "/tmp/tanist-networks-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum tn_status status = networks_read(&networks, path, &error);
    unlink(path);
    return status;
}

/* Each child finds its network; the error names a child without. */
static void children_find_their_networks(void **state)
{
    (void)state;
    const struct network *found;
    assert_int_equal(
        read_text(
            "{\"version\": 1, \"networks\": {\"ps:0\": {\"namespace\": \"/proc/self/ns/net\", "
            "\"address\": \"10.77.0.2\"}}}"),
        TN_OK);
    assert_int_equal(networks_find(&networks, "ps:0", &found, &error), TN_OK);
    assert_string_equal(found->path, "/proc/self/ns/net");
    assert_string_equal(found->address, "10.77.0.2");
    assert_int_equal(networks_find(&networks, "ps:1", &found, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "ps:1"));
}

/* Without networks no child needs one. */
static void without_networks_no_child_needs_one(void **state)
{
    (void)state;
    const struct networks none = {0};
    const struct network *found;
    assert_int_equal(networks_find(NULL, "ps:0", &found, &error), TN_OK);
    assert_null(found);
    assert_int_equal(networks_find(&none, "ps:0", &found, &error), TN_OK);
    assert_null(found);
}

/* An error names the wrong field. */
static void wrong_fields_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named;
    } wrong[] = {
        {"{", "line 1"},
        {"[]", "version"},
        {"{\"version\": 2, \"networks\": {}}", "version"},
        {"{\"version\": 1}", "networks"},
        {"{\"version\": 1, \"networks\": {}}", "networks"},
        {"{\"version\": 1, \"networks\": {\"ps:0\": 7}}", "ps:0: namespace"},
        {"{\"version\": 1, \"networks\": {\"ps:0\": {\"namespace\": \"/proc/no\"}}}",
         "namespace: /proc/no"},
        {"{\"version\": 1, \"networks\": {\"ps:0\": {\"namespace\": \"/proc/self/ns/net\"}}}",
         "ps:0: address"},
        {"{\"version\": 1, \"networks\": {\"ps:0\": {\"namespace\": \"/proc/self/ns/net\", "
         "\"address\": \"x\"}}}",
         "ps:0: address"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_text(wrong[i].text), TN_EINVAL);
        assert_non_null(strstr(error.text, wrong[i].named));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_find_their_networks),
        cmocka_unit_test(without_networks_no_child_needs_one),
        cmocka_unit_test(wrong_fields_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
