/* Requests that may be sent to ZooKeeper, and well-formed connect strings. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/zk/zk_check.h"

/* ZooKeeper's rules for paths. */
static void paths_are_checked(void **state)
{
    (void)state;
    static const char *const good[] = {"/",   "/a",   "/a/b-0000000001", "/...",
                                       "/.a", "/a..", "/\xc3\xa9"};
    static const char *const bad[] = {"",   "a",     "//",    "/a/",  "/a//b",
                                      "/.", "/a/..", "/../a", "/a\t", "/\x7f"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(zk_check_path(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) { assert_false(zk_check_path(bad[i])); }
    assert_false(zk_check_path(NULL));
}

/* A path of 255 bytes is the longest. */
static void path_length_is_bounded(void **state)
{
    (void)state;
    char path[ZK_PATH_MAX + 1];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[ZK_PATH_MAX] = '\0';
    assert_false(zk_check_path(path));
    path[ZK_PATH_MAX - 1] = '\0';
    assert_true(zk_check_path(path));
}

/* The limit applies to the sum of all data; deletes and checks have none. */
static void sizes_are_summed(void **state)
{
    (void)state;
    struct zk_write writes[] = {
        {.kind = ZK_SET, .path = "/a", .data = "", .size = ZK_DATA_MAX},
        {.kind = ZK_DELETE, .path = "/a", .size = 1000},
        {.kind = ZK_CREATE, .path = "/b", .data = "", .size = 0},
    };
    assert_int_equal(zk_check_writes(writes, 3), ZK_REASON_NONE);
    writes[2].size = 1;
    assert_int_equal(zk_check_writes(writes, 3), ZK_REASON_TOO_LARGE);
    writes[2].size = SIZE_MAX;
    assert_int_equal(zk_check_writes(writes, 3), ZK_REASON_TOO_LARGE);
}

/* No parts and too many parts are refused. */
static void number_of_parts_is_bounded(void **state)
{
    (void)state;
    struct zk_write writes[ZK_WRITES_MAX + 1];
    for (size_t i = 0; i <= ZK_WRITES_MAX; i++) {
        writes[i] = (struct zk_write){.kind = ZK_CHECK, .path = "/"};
    }
    assert_int_equal(zk_check_writes(writes, 0), ZK_REASON_OTHER);
    assert_int_equal(zk_check_writes(writes, ZK_WRITES_MAX), ZK_REASON_NONE);
    assert_int_equal(zk_check_writes(writes, ZK_WRITES_MAX + 1), ZK_REASON_OTHER);
}

/* An answer carries the path of the first CREATE, or else of the first part. */
static void answer_names_the_first_create(void **state)
{
    (void)state;
    const struct zk_write writes[] = {{.kind = ZK_CHECK, .path = "/check"},
                                      {.kind = ZK_CREATE, .path = "/one"},
                                      {.kind = ZK_CREATE, .path = "/two"}};
    assert_string_equal(zk_asked_path(writes, 3), "/one");
    assert_string_equal(zk_asked_path(writes, 1), "/check");
    assert_null(zk_asked_path(NULL, 0));
}

/* Addresses are formatted as users write them. */
static void addresses_are_formatted(void **state)
{
    (void)state;
    char text[64];
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(2181)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(2181)};
    assert_int_equal(inet_pton(AF_INET, "10.0.0.1", &ipv4.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "::1", &ipv6.sin6_addr), 1);
    zk_format_address((const struct sockaddr *)(const void *)&ipv4, text, sizeof text);
    assert_string_equal(text, "10.0.0.1:2181");
    zk_format_address((const struct sockaddr *)(const void *)&ipv6, text, sizeof text);
    assert_string_equal(text, "[::1]:2181");
    zk_format_address((const struct sockaddr *)(const void *)&ipv4, text, 5);
    assert_string_equal(text, "");
}

/* Well-formed connect strings, with and without a chroot. */
static void connect_strings_are_accepted(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1:2181", "a:1,b:2,c:65535",
                                       "zk-1.example.org:2181/a/b", "::1:2181", "host:2181/"};
    struct error error = {.text = ""};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (zk_check_connect(good[i], &error) != TN_OK) { fail_msg("%s", error.text); }
    }
}

/* The error names the part of a connect string that is wrong. */
static void connect_strings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *connect;
        const char *message;
    } cases[] = {
        {"", "no ZooKeeper servers: give host:port"},
        {"host", "\"host\": add a port"},
        {"host:", "port \"\" is not a number from 1 to 65535"},
        {"host:0", "port \"0\""},
        {"host:65536", "port \"65536\""},
        {"host:99999999999999999999", "is not a number"},
        {"host:21a", "port \"21a\""},
        {":2181", "the host has 0 characters"},
        {"a:1,,b:2", "a server is empty"},
        {"a:1,", "a server is empty"},
        {"a b:1", "cannot contain \" \""},
        {"a:1/b/", "\"/b/\" is not a znode path"},
        {"a:1//b", "\"//b\" is not a znode path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {.text = ""};
        assert_int_equal(zk_check_connect(cases[i].connect, &error), TN_EINVAL);
        if (strstr(error.text, cases[i].message) == NULL) { fail_msg("%zu: %s", i, error.text); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_checked),
        cmocka_unit_test(path_length_is_bounded),
        cmocka_unit_test(sizes_are_summed),
        cmocka_unit_test(number_of_parts_is_bounded),
        cmocka_unit_test(answer_names_the_first_create),
        cmocka_unit_test(addresses_are_formatted),
        cmocka_unit_test(connect_strings_are_accepted),
        cmocka_unit_test(connect_strings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
