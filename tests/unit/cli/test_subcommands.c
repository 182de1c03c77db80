/* Finding and running subcommands. Messages go to stderr and are not tested here. */
#include "cli/subcommands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tanist/status.h"

enum { EXIT_OF_FIRST = 41 };

static int first(int argc, char **argv)
{
    assert_int_equal(argc, 2);
    assert_string_equal(argv[0], "first");
    assert_string_equal(argv[1], "--option");
    return EXIT_OF_FIRST;
}

static const struct subcommand list[] = {{"first", "The first.", first}};
static const struct subcommands commands = {.prefix = "test ",
                                            .synopsis = "test COMMAND",
                                            .examples = "  tanist test first\n",
                                            .footer = "The end.",
                                            .list = list,
                                            .count = 1};

static int run(const char *name)
{
    char *arguments[] = {(char *)(uintptr_t) "test", (char *)(uintptr_t)name,
                         (char *)(uintptr_t) "--option", NULL};
    return subcommands_run(&commands, name != NULL ? 3 : 1, arguments);
}

/* A subcommand gets its name and its arguments, and decides the exit code. */
static void subcommand_gets_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(run("first"), EXIT_OF_FIRST);
}

/* Without a known subcommand the arguments are wrong. */
static void unknown_subcommand_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(run("fist"), TN_EXIT_ARGUMENTS);
    assert_int_equal(run("unlike"), TN_EXIT_ARGUMENTS);
    assert_int_equal(run(NULL), TN_EXIT_ARGUMENTS);
}

/* --help prints the overview and is not an error. */
static void help_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), TN_EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subcommand_gets_its_arguments),
        cmocka_unit_test(unknown_subcommand_is_an_error),
        cmocka_unit_test(help_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
