/* The parser of command lines. Its messages go to stderr and are not tested here. */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Set `out` to the output of --help, with `help` as the text of the option --text. */
static void print_help(const char *help, char *out, size_t size)
{
    char *arguments[] = {"test", "--help"};
    FILE *file = tmpfile();
    const int saved = dup(STDOUT_FILENO);
    struct options wrapped = {.command = "test", .synopsis = "", .about = "", .examples = ""};
    const char *value = NULL;
    options_text(&wrapped, "text", &value, "T", help);
    assert_true(file != NULL && saved >= 0 && fflush(stdout) == 0);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    assert_false(options_parse(&wrapped, 2, arguments, &exit_code));
    assert_int_equal(fflush(stdout), 0);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    close(saved);
}

/* The texts of options are wrapped at 100 columns; a word that is longer stays in one piece. */
static void help_is_wrapped(void **state)
{
    (void)state;
    char help[200] = "", printed[1024];
    for (size_t at = 0; at < 90; at += 5) { memcpy(help + at, "word ", 5); }
    print_help(help, printed, sizeof printed);
    for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 0, 100);
    }
    assert_non_null(strstr(printed, "word\n                               word"));
    memset(help, 'x', 90);
    print_help(help, printed, sizeof printed);
    assert_non_null(strstr(printed, help));
}

/* ------------------------------------------------------------------ folders */

static const char *folder;
static struct option_texts folders;

/* A command with `least` to `most` arguments of its own and a folder. */
static bool parse_folder(size_t least, size_t most, const char **argv)
{
    char *arguments[16] = {NULL};
    int argc = 0;
    folder = NULL;
    options = (struct options){
        .command = "test", .synopsis = "", .arguments_least = least, .arguments_most = most};
    options_folder(&options, &folder, true, "help");
    for (; argv[argc] != NULL; argc++) { arguments[argc] = (char *)(uintptr_t)argv[argc]; }
    return options_parse(&options, argc, arguments, &exit_code);
}

#define PARSE_FOLDER(least, most, ...)                                                             \
    parse_folder(least, most, (const char *[]){"test", __VA_ARGS__, NULL})

/* DIR and --dir DIR are the same, also after the arguments of the command, with or without a
 * choice of fewer of them. */
static void a_folder_is_given_in_both_forms(void **state)
{
    (void)state;
    assert_true(PARSE_FOLDER(0, 0, "runs/a") && strcmp(folder, "runs/a") == 0);
    assert_true(PARSE_FOLDER(0, 0, "--dir", "runs/a") && strcmp(folder, "runs/a") == 0);
    assert_true(PARSE_FOLDER(1, 1, "ps:1", "runs/a") && strcmp(folder, "runs/a") == 0);
    assert_true(PARSE_FOLDER(1, 1, "--dir", "runs/a", "ps:1") && strcmp(folder, "runs/a") == 0);
    assert_true(PARSE_FOLDER(0, 1, "runs/a") && strcmp(folder, "runs/a") == 0);
    assert_int_equal(options.argument_count, 0);
    assert_true(PARSE_FOLDER(1, 3, "show", "12", "12/") && strcmp(folder, "12/") == 0);
    assert_int_equal(options.argument_count, 2);
    assert_true(PARSE_FOLDER(0, 1, "ps=5", "./a=b") && strcmp(folder, "./a=b") == 0);
    assert_true(PARSE_FOLDER(0, 0, "a=b") && strcmp(folder, "a=b") == 0);
}

/* An argument of the command is not treated as a folder; none, two and an empty one are errors. */
static void a_folder_is_not_guessed(void **state)
{
    (void)state;
    assert_false(PARSE_FOLDER(0, 1, "ps=5"));
    assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
    assert_false(PARSE_FOLDER(1, 3, "show", "12"));
    assert_false(PARSE_FOLDER(0, 1, "ps=5", "ps=6"));
    assert_false(PARSE_FOLDER(0, 0, "runs/a", "--dir", "runs/b"));
    assert_false(PARSE_FOLDER(0, 0, "runs/a", "runs/b"));
    assert_false(PARSE_FOLDER(0, 0, "--dir="));
    assert_false(PARSE_FOLDER(1, 1, "ps:1"));
}

static bool parse_folders(const char **argv)
{
    char *arguments[16] = {NULL};
    int argc = 0;
    folders = (struct option_texts){.count = 0};
    options = (struct options){.command = "test", .synopsis = ""};
    options_folders(&options, &folders, 2, 3, "help");
    for (; argv[argc] != NULL; argc++) { arguments[argc] = (char *)(uintptr_t)argv[argc]; }
    return options_parse(&options, argc, arguments, &exit_code);
}

/* Several folders keep their order in both forms. */
static void several_folders_keep_their_order(void **state)
{
    (void)state;
    assert_true(parse_folders((const char *[]){"test", "a", "--dir", "b", "c", NULL}));
    assert_int_equal(folders.count, 3);
    assert_string_equal(folders.items[0], "a");
    assert_string_equal(folders.items[1], "b");
    assert_string_equal(folders.items[2], "c");
    assert_false(parse_folders((const char *[]){"test", "a", NULL}));
    assert_false(parse_folders((const char *[]){"test", "a", "b", "c", "d", NULL}));
}

/* A number outside its range, or too large for any, is an error. */
static void numbers_have_a_range(void **state)
{
    struct option_number number = {.given = false};
    (void)state;
    for (const char *const *text =
             (const char *const[]){"4", "11", "99999999999999999999", "5x", "", "-5", NULL};
         *text != NULL; text++) {
        char *arguments[] = {(char[]){"test"}, (char[]){"--number"}, (char *)(uintptr_t)*text};
        options = (struct options){.command = "test", .synopsis = ""};
        options_range(&options, "number", &number, "N", 5, 10, "help");
        assert_false(options_parse(&options, 3, arguments, &exit_code));
        assert_int_equal(exit_code, TN_EXIT_ARGUMENTS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_in_every_form),
        cmocka_unit_test(double_dash_ends_the_options),
        cmocka_unit_test(errors_end_with_bad_arguments),
        cmocka_unit_test(help_is_no_error),
        cmocka_unit_test(help_is_wrapped),
        cmocka_unit_test(a_folder_is_given_in_both_forms),
        cmocka_unit_test(a_folder_is_not_guessed),
        cmocka_unit_test(several_folders_keep_their_order),
        cmocka_unit_test(numbers_have_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
