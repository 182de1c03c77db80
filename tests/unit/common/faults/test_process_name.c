/* common/faults/process_name.h: the name of a process by its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/faults/process_name.h"

/* The name of a process with these arguments, separated by '|'; "": it has none. */
static const char *name_of(const char *text)
{
    static char name[FAULT_CONTROL_NAME_MAX];
    char arguments[512];
    size_t size = strlen(text) + 1;
    assert_true(size < sizeof arguments);
    memcpy(arguments, text, size);
    arguments[size] = '\0';
    for (size_t i = 0; i < size; i++) {
        if (arguments[i] == '|') { arguments[i] = '\0'; }
    }
    bool found = process_name(arguments, size, name);
    assert_int_equal(found, *name != '\0');
    return name;
}

/* The name of a node is its role and its index, wherever they are among the arguments. */
static void node_is_named_by_role_and_index(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|ps|--index|1|--zk|127.0.0.1:2181"), "ps:1");
    assert_string_equal(name_of("/usr/bin/tanist|worker|--zk|h:1|--index|12"), "worker:12");
    assert_string_equal(name_of("tanist|coordinator|--index=0|--zk|h:1"), "coordinator:0");
    assert_string_equal(name_of("tanist|evaluator|--index|0|--zk|h:1"), "evaluator:0");
}

/* The first process of a run and an agent are agents. */
static void run_is_named_agent(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|run|job.json|--dir|/x"), "agent");
    assert_string_equal(name_of("/x/tanist|agent|job.json"), "agent");
}

/* Similar command lines are not of nodes: another command, another program, an index that is
 * missing or not a number. */
static void other_processes_have_no_name(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|status|--dir|/x|--index|1"), "");
    assert_string_equal(name_of("cat|tanist|ps|--index|1"), "");
    assert_string_equal(name_of("tanist|ps|--index"), "");
    assert_string_equal(name_of("tanist|ps|--index|one"), "");
    assert_string_equal(name_of("tanist|ps|--indexes|1"), "");
    assert_string_equal(name_of("tanist"), "");
    assert_string_equal(name_of(""), "");
}

/* A server is named by the folder of its zoo.cfg. */
static void server_is_named_by_its_folder(void **state)
{
    (void)state;
    assert_string_equal(name_of("/usr/bin/java|-cp|a.jar:b.jar|Main|/runs/x/zookeeper/2/zoo.cfg"),
                        "zookeeper:2");
    assert_string_equal(name_of("java|Main|/runs/x/zookeeper/2/zoo.cfg.old"), "");
    assert_string_equal(name_of("java|Main|/runs/x/zookeeper/two/zoo.cfg"), "");
    assert_string_equal(name_of("cat|/runs/x/zookeeper/2/zoo.cfg"), "");
}

/* A run may be below a folder called zookeeper, with a number or without. */
static void outer_folder_is_not_a_server(void **state)
{
    (void)state;
    assert_string_equal(name_of("java|Main|/srv/zookeeper/7/runs/x/zookeeper/3/zoo.cfg"),
                        "zookeeper:3");
    assert_string_equal(name_of("java|Main|/srv/zookeeper/runs/zookeeper/1/zoo.cfg"),
                        "zookeeper:1");
    assert_string_equal(name_of("java|-Dlog=/srv/zookeeper/9/zookeeper.log|Main"), "");
}

/* A number that makes the name too long is refused. */
static void long_numbers_are_refused(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|coordinator|--index|123456789012345"), "");
    assert_string_equal(name_of("java|Main|/zookeeper/12345678901234567890/zoo.cfg"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_named_by_role_and_index),
        cmocka_unit_test(run_is_named_agent),
        cmocka_unit_test(other_processes_have_no_name),
        cmocka_unit_test(server_is_named_by_its_folder),
        cmocka_unit_test(outer_folder_is_not_a_server),
        cmocka_unit_test(long_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
