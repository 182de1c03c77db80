/* The parser of command lines. Its words go to stderr; here only what it makes of them counts. */
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
static const struct option list[] = {
    {"flag", 'f', OPTION_FLAG, &got.flag, NULL, NULL, "a flag"},
    {"text", 't', OPTION_TEXT, &got.text, "T", NULL, "a text"},
    {"many", 0, OPTION_TEXTS, &got.texts, "T", NULL, "texts"},
    {"number", 'n', OPTION_COUNT, &got.number, "N", NULL, "a number"},
    {"choice", 0, OPTION_CHOICE, &got.choice, "a|b", choices, "a choice"},
};
static struct options options;
static int exit_code;

static bool parse(int argc, const char **argv)
{
    char *words[16];
    memset(&got, 0, sizeof got);
    options = (struct options){.command = "test",
                               .synopsis = "WORD [OPTION]...",
                               .about = "about",
                               .examples = "  example\n",
                               .list = list,
                               .count = sizeof list / sizeof *list,
                               .arguments_least = 1,
                               .arguments_most = 2};
    for (int i = 0; i < argc; i++) { words[i] = (char *)(uintptr_t)argv[i]; }
    return options_parse(&options, argc, words, &exit_code);
}

#define PARSE(...)                                                                                 \
    parse((int)(sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(char *)),                   \
          (const char *[]){"test", __VA_ARGS__})

/* Values stand behind '=', in the next word, or at the letter; order does not matter. */
static void test_forms(void **state)
{
    (void)state;
    assert_true(
        PARSE("--text=x", "word", "-f", "-n", "5", "--many", "1", "--many=2", "--choice", "b"));
    assert_true(got.flag && got.number.given);
    assert_string_equal(got.text, "x");
    assert_int_equal(got.number.value, 5);
    assert_int_equal(got.texts.count, 2);
    assert_string_equal(got.texts.items[1], "2");
    assert_string_equal(got.choice, "b");
    assert_string_equal(options.arguments[0], "word");
    assert_true(PARSE("-tx", "--", "--flag"));
    assert_string_equal(got.text, "x");
    assert_string_equal(options.arguments[0], "--flag");
}

/* Whatever is wrong ends with 128. */
static void test_wrong(void **state)
{
    (void)state;
    const char *cases[][3] = {{"word", "--txt", "x"},    {"word", "--flag=1", "x"},
                              {"word", "--number", "x"}, {"word", "--choice", "c"},
                              {"a", "b", "c"},           {"word", "-x", "y"},
                              {"word", "y", "--text"},   {"word", "--number", "-1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(PARSE(cases[i][0], cases[i][1], cases[i][2]));
        assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
    }
    assert_false(PARSE("--flag"));
    assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
}

/* --help is no mistake. */
static void test_help(void **state)
{
    (void)state;
    assert_false(PARSE("--help"));
    assert_int_equal(exit_code, TN_EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
