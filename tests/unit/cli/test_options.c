/* The parser of command lines. Its messages go to stderr and are not tested here. */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tanist/status.h"

static struct {
    bool flag;
    const char *text, *choice;
    struct option_texts texts;
    struct option_number number;
} got;

static const char *const choices[] = {"a", "b", NULL};
static struct options options;
static int exit_code;

static bool parse(int argc, const char **argv)
{
    char *arguments[16];
    memset(&got, 0, sizeof got);
    options = (struct options){.command = "test",
                               .synopsis = "ARGUMENT [OPTION]...",
                               .about = "about",
                               .examples = "  example\n",
                               .arguments_least = 1,
                               .arguments_most = 2};
    options_flag(&options, 'f', "flag", &got.flag, "a flag");
    options_text(&options, "text", &got.text, "T", "a text");
    options_texts(&options, "many", &got.texts, "T", "texts");
    options_number(&options, "number", &got.number, "N", "a number");
    options_choice(&options, 'c', "choice", &got.choice, choices, "a choice");
    for (int i = 0; i < argc; i++) { arguments[i] = (char *)(uintptr_t)argv[i]; }
    return options_parse(&options, argc, arguments, &exit_code);
}

#define PARSE(...)                                                                                 \
    parse((int)(sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(char *)),                   \
          (const char *[]){"test", __VA_ARGS__})

/* A value follows '=', is the next argument, or follows the letter; the order does not matter. */
static void values_are_read_in_every_form(void **state)
{
    (void)state;
    assert_true(PARSE("--text=x", "argument", "-f", "--number", "5", "--many", "1", "--many=2",
                      "--choice", "b"));
    assert_true(got.flag && got.number.given);
    assert_string_equal(got.text, "x");
    assert_int_equal(got.number.value, 5);
    assert_int_equal(got.texts.count, 2);
    assert_string_equal(got.texts.items[1], "2");
    assert_string_equal(got.choice, "b");
    assert_int_equal(exit_code, TN_EXIT_OK);
    assert_string_equal(options.arguments[0], "argument");
    assert_true(PARSE("-cb", "argument"));
    assert_string_equal(got.choice, "b");
    assert_true(PARSE("-c", "a", "argument"));
    assert_string_equal(got.choice, "a");
}

/* After "--" everything is an argument. */
static void double_dash_ends_the_options(void **state)
{
    (void)state;
    assert_true(PARSE("--text", "x", "--", "--flag"));
    assert_false(got.flag);
    assert_string_equal(options.arguments[0], "--flag");
}

/* Every error has the exit code 128. */
static void errors_end_with_bad_arguments(void **state)
{
    (void)state;
    const char *cases[][3] = {
        {"argument", "--txt", "x"},        /* Unknown. */
        {"argument", "--flag=1", "x"},     /* A flag has no value. */
        {"argument", "--number", "x"},     /* Not a number. */
        {"argument", "--number", "-1"},    /* Negative. */
        {"argument", "--choice", "c"},     /* Not one of the choices. */
        {"argument", "-x", "y"},           /* Unknown letter. */
        {"argument", "another", "--text"}, /* No value. */
        {"a", "b", "c"},                   /* Too many arguments. */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(PARSE(cases[i][0], cases[i][1], cases[i][2]));
        assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
    }
    assert_false(PARSE("--flag")); /* Too few arguments. */
    assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
}

/* --help ends the command, without an error. */
static void help_is_no_error(void **state)
{
    (void)state;
    assert_false(PARSE("--help"));
    assert_int_equal(exit_code, TN_EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_in_every_form),
        cmocka_unit_test(double_dash_ends_the_options),
        cmocka_unit_test(errors_end_with_bad_arguments),
        cmocka_unit_test(help_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
