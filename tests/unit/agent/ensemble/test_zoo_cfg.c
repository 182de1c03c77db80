/* zoo.cfg: parsing, formatting, and the addresses derived from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ensemble/zoo_cfg.h"

static struct zoo_cfg cfg;
static struct error error;

static enum tn_status parse(const char *text)
{
    zoo_cfg_init(&cfg);
    memset(&error, 0, sizeof error);
    return zoo_cfg_parse(&cfg, text, "zoo.cfg", &error);
}

static const char *connect_of(const char *text)
{
    static char connect[256];
    assert_int_equal(parse(text), TN_OK);
    assert_int_equal(zoo_cfg_connect(&cfg, connect, sizeof connect, &error), TN_OK);
    return connect;
}

/* A classical file: comments, spaces, CRLF and unknown keys are accepted. */
static void classical_file_is_read(void **state)
{
    (void)state;
    assert_int_equal(parse("# The number of milliseconds of each tick\r\n"
                           "tickTime = 2000\r\n"
                           "! another comment\n"
                           "\n"
                           "  initLimit=10\n"
                           "dataDir=/var/lib/zoo keeper/data  \n"
                           "clientPort: 2181\n"
                           "maxClientCnxns 60"),
                     TN_OK);
    assert_int_equal(cfg.tick_ms, 2000);
    assert_string_equal(cfg.data_dir, "/var/lib/zoo keeper/data");
    assert_int_equal(cfg.client_port, 2181);
    assert_int_equal(cfg.server_count, 0);
}

/* A server line has a host, ports, a role and a client address. */
static void server_line_is_read(void **state)
{
    (void)state;
    assert_int_equal(parse("server.7=10.0.0.7:2888:3888:observer;10.1.0.7:2181\n"
                           "server.8=[fd00::8]:2888:3888;2182\n"
                           "server.9=h9:1:2"),
                     TN_OK);
    assert_int_equal(cfg.server_count, 3);
    const struct zoo_server *server = &cfg.servers[0];
    assert_int_equal(server->id, 7);
    assert_string_equal(server->host, "10.0.0.7");
    assert_int_equal(server->peer_port, 2888);
    assert_int_equal(server->election_port, 3888);
    assert_true(server->observer);
    assert_string_equal(server->client_host, "10.1.0.7");
    assert_int_equal(server->client_port, 2181);
    assert_string_equal(cfg.servers[1].host, "fd00::8");
    assert_int_equal(cfg.servers[1].client_port, 2182);
    assert_int_equal(cfg.servers[2].client_port, 0);
}

/* A later line for the same server replaces the earlier one, as in a properties file. */
static void later_line_wins(void **state)
{
    (void)state;
    assert_string_equal(connect_of("server.1=a:1:2;5\nserver.1=b:1:2;6\n"), "b:6");
}

/* An error has the file, line, key and value. */
static void errors_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"\nclientPort=x", "zoo.cfg:2: clientPort=x: use a port"},
        {"clientPort=65536", "clientPort=65536: use a port"},
        {"clientPort=", "zoo.cfg:1: clientPort=: use a port"},
        {"tickTime=0", "tickTime=0: use milliseconds"},
        {"nonsense", "zoo.cfg:1: \"nonsense\" is not of the form key=value"},
        {"server.0=h:1:2", "server.0=h:1:2: the number of a server is 1 to 255"},
        {"server.x=h:1:2", "the number of a server"},
        {"server.1=h:1", "server.1=h:1: use host:peer-port:election-port"},
        {"server.1=:1:2", "use host:"},
        {"server.1=h:1:2:king", "use host:"},
        {"server.1=h:1:2;", "use host:"},
        {"server.1=h:1:2;0", "use host:"},
        {"server.1=h:70000:2", "use host:"},
        {"server.1=a:1:2|b:1:2", "several addresses"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(cases[i].text), TN_EINVAL);
        if (strstr(error.text, cases[i].message) == NULL) { fail_msg("%zu: %s", i, error.text); }
    }
}

/* One server more than the table holds is refused. */
static void too_many_servers_are_refused(void **state)
{
    (void)state;
    char text[4096] = "";
    for (unsigned i = 1; i <= ZOO_SERVERS_MAX + 1; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "server.%u=h%u:1:2;3\n", i, i);
    }
    assert_int_equal(parse(text), TN_EINVAL);
    assert_int_equal(cfg.server_count, ZOO_SERVERS_MAX);
}

/* The connect string has a server's own client address or else clientPort; an address that means
 * "all addresses" is replaced by one that clients can connect to. */
static void connect_string_is_derived(void **state)
{
    (void)state;
    assert_string_equal(connect_of("clientPort=2181"), "127.0.0.1:2181");
    assert_string_equal(connect_of("clientPort=2181\nclientPortAddress=10.0.0.1"), "10.0.0.1:2181");
    assert_string_equal(connect_of("clientPortAddress=0.0.0.0\nclientPort=2181"), "127.0.0.1:2181");
    assert_string_equal(connect_of("clientPort=2181\nserver.1=a:2:3\nserver.2=b:2:3\n"),
                        "a:2181,b:2181");
    assert_string_equal(connect_of("server.1=a:2:3;2181\nserver.2=b:2:3;0.0.0.0:2182\n"
                                   "server.3=c:2:3;127.0.0.3:2183\n"),
                        "a:2181,b:2182,127.0.0.3:2183");
    assert_string_equal(connect_of("clientPort=2181\nserver.1=a:2:3\nserver.2=a:4:5\n"), "a:2181");
}

/* A server without a client port, and a buffer that is too small, are errors. */
static void connect_string_may_not_exist(void **state)
{
    (void)state;
    char connect[8];
    assert_int_equal(parse("server.1=a:2:3"), TN_OK);
    assert_int_equal(zoo_cfg_connect(&cfg, connect, sizeof connect, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "server.1 has no client port"));
    assert_int_equal(parse("server.1=a:2:3;4\nserver.2=bbb:2:3;4"), TN_OK);
    assert_int_equal(zoo_cfg_connect(&cfg, connect, sizeof connect, &error), TN_EINVAL);
}

/* The server of a file is found by myid, or else by its client port if that is unique. */
static void own_server_is_found(void **state)
{
    (void)state;
    assert_int_equal(parse("clientPort=5\nserver.1=a:2:3;4\nserver.2=a:6:7;5\n"), TN_OK);
    assert_int_equal(zoo_cfg_own_server(&cfg, 0)->id, 2);
    assert_int_equal(zoo_cfg_own_server(&cfg, 1)->id, 1);
    assert_null(zoo_cfg_own_server(&cfg, 3));
    assert_int_equal(parse("clientPort=5\nserver.1=a:2:3;5\nserver.2=b:2:3;5\n"), TN_OK);
    assert_null(zoo_cfg_own_server(&cfg, 0));
    assert_int_equal(parse("clientPort=5\nclientPortAddress=127.0.0.2\n"
                           "server.1=a:2:3;127.0.0.1:5\nserver.2=b:2:3;127.0.0.2:5\n"),
                     TN_OK);
    assert_int_equal(zoo_cfg_own_server(&cfg, 0)->id, 2);
}

/* Parsing the formatted text yields the same configuration. */
static void format_and_parse_agree(void **state)
{
    (void)state;
    char text[4096];
    assert_int_equal(parse("dataDir=/d\nclientPort=4\nclientPortAddress=127.0.0.1\ntickTime=250\n"
                           "server.1=127.0.0.1:2:3;127.0.0.1:4\n"
                           "server.2=127.0.0.1:5:6:observer;127.0.0.1:7\n"),
                     TN_OK);
    struct zoo_cfg before = cfg;
    assert_int_equal(zoo_cfg_format(&before, &before.servers[0], text, sizeof text, &error), TN_OK);
    assert_int_equal(parse(text), TN_OK);
    assert_memory_equal(&before, &cfg, sizeof cfg);
    assert_int_equal(zoo_cfg_format(&before, &before.servers[0], text, 100, &error), TN_EINVAL);
}

/* A file needs a data folder and a client port, and must exist. */
static void unusable_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(zoo_cfg_read(&cfg, "/nonexistent/zoo.cfg", &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent/zoo.cfg"));
    assert_int_equal(zoo_cfg_read(&cfg, "/dev/null", &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "dataDir is missing"));
    assert_int_equal(zoo_cfg_read(&cfg, "/dev/zero", &error), TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classical_file_is_read),
        cmocka_unit_test(server_line_is_read),
        cmocka_unit_test(later_line_wins),
        cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(too_many_servers_are_refused),
        cmocka_unit_test(connect_string_is_derived),
        cmocka_unit_test(connect_string_may_not_exist),
        cmocka_unit_test(own_server_is_found),
        cmocka_unit_test(format_and_parse_agree),
        cmocka_unit_test(unusable_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
