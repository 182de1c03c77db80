#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/nearest.h"
#include "common/base/utf8.h"
#include "tanist/status.h"

enum { NAME_MAX_BYTES = 64, CHOICES_TEXT_MAX = 128, SECONDS_MOST = 86400 };
enum { WRONG_MAX = 2048 };
enum { HELP_AT = 28, HELP_COLUMNS = 100 }; /* The texts of options in --help. */

struct cursor {
    int argc, at;
    char **argv;
};

/* ------------------------------------------------------------- the list */

static const struct option *find_long(const struct options *options, const char *name,
                                      size_t length)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *known = options->list[i].name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return &options->list[i];
        }
    }
    return NULL;
}

static const struct option *find_letter(const struct options *options, char letter)
{
    for (size_t i = 0; i < options->count; i++) {
        if (options->list[i].letter == letter) { return &options->list[i]; }
    }
    return NULL;
}

static struct option *add(struct options *options, enum option_type type, const char *name,
                          const char *argument, const char *help)
{
    assert(options->count < OPTIONS_MAX);
    assert(strlen(name) < NAME_MAX_BYTES);
    assert(find_long(options, name, strlen(name)) == NULL);
    struct option *option = &options->list[options->count++];
    *option = (struct option){.name = name, .type = type, .argument = argument, .help = help};
    return option;
}

static void set_letter(const struct options *options, struct option *option, char letter)
{
    assert(letter == 0 || find_letter(options, letter) == NULL);
    option->letter = letter;
}

void options_flag(struct options *options, char letter, const char *name, bool *value,
                  const char *help)
{
    assert(value != NULL);
    struct option *option = add(options, OPTION_FLAG, name, NULL, help);
    set_letter(options, option, letter);
    option->value.flag = value;
}

void options_text(struct options *options, const char *name, const char **value,
                  const char *argument, const char *help)
{
    assert(value != NULL);
    add(options, OPTION_TEXT, name, argument, help)->value.text = value;
}

void options_texts(struct options *options, const char *name, struct option_texts *value,
                   const char *argument, const char *help)
{
    assert(value != NULL);
    add(options, OPTION_TEXTS, name, argument, help)->value.texts = value;
}

void options_number(struct options *options, const char *name, struct option_number *value,
                    const char *argument, const char *help)
{
    options_range(options, name, value, argument, 0, INT64_MAX, help);
}

void options_range(struct options *options, const char *name, struct option_number *value,
                   const char *argument, uint64_t least, uint64_t most, const char *help)
{
    assert(value != NULL);
    assert(least <= most && most <= INT64_MAX);
    struct option *option = add(options, OPTION_NUMBER, name, argument, help);
    option->value.number = value;
    option->least = least;
    option->most = most;
}

void options_seconds(struct options *options, const char *name, struct option_number *value,
                     uint64_t least, const char *help)
{
    options_range(options, name, value, "SECONDS", least, SECONDS_MOST, help);
}

void options_choice(struct options *options, char letter, const char *name, const char **value,
                    const char *const *choices, const char *help)
{
    assert(value != NULL);
    assert(choices != NULL);
    assert(choices[0] != NULL);
    struct option *option = add(options, OPTION_CHOICE, name, NULL, help);
    set_letter(options, option, letter);
    option->value.text = value;
    option->choices = choices;
}

void options_folder(struct options *options, const char **value, bool required, const char *help)
{
    assert(options->folder == NULL);
    options_text(options, "dir", value, "DIR", help);
    options->folder = &options->list[options->count - 1];
    options->folders_least = required;
    options->folders_most = 1;
}

void options_folders(struct options *options, struct option_texts *value, size_t least, size_t most,
                     const char *help)
{
    assert(options->folder == NULL && options->arguments_most == 0);
    assert(least <= most && most <= ARGUMENTS_MAX);
    options_texts(options, "dir", value, "DIR", help);
    options->folder = &options->list[options->count - 1];
    options->folders_least = least;
    options->folders_most = most;
}

/* ------------------------------------------------------------- --help */

/* "table|json" or "table, json". */
static const char *choices_text(const struct option *option, const char *separator,
                                char text[static CHOICES_TEXT_MAX])
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; option->choices[i] != NULL && length < CHOICES_TEXT_MAX; i++) {
        length += (size_t)snprintf(text + length, CHOICES_TEXT_MAX - length, "%s%s",
                                   i > 0 ? separator : "", option->choices[i]);
    }
    return text;
}

/* The placeholder for the value: "DIR", "table|json", or "" for a flag. */
static const char *value_text(const struct option *option, char text[static CHOICES_TEXT_MAX])
{
    if (option->type == OPTION_FLAG) { return ""; }
    return option->type == OPTION_CHOICE ? choices_text(option, "|", text) : option->argument;
}

/* Print a text that begins behind column HELP_AT, in lines of at most HELP_COLUMNS. */
static void print_help_text(const char *text)
{
    const int width = HELP_COLUMNS - HELP_AT - 3;
    while ((int)strlen(text) > width) {
        int length = width;
        while (length > 0 && text[length] != ' ') { length--; }
        if (length == 0) { break; }
        printf("%.*s\n%*s", length, text, HELP_AT + 3, "");
        text += length + 1;
    }
    puts(text);
}

static void print_option(const struct option *option)
{
    char left[CHOICES_TEXT_MAX + NAME_MAX_BYTES], choices[CHOICES_TEXT_MAX], letter[8] = "    ";
    const char *value = value_text(option, choices);
    if (option->letter != 0) { snprintf(letter, sizeof letter, "-%c, ", option->letter); }
    snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, *value ? " " : "", value);
    if (strlen(left) > HELP_AT) {
        printf("  %s\n  %*s ", left, HELP_AT, "");
    } else {
        printf("  %-*s ", HELP_AT, left);
    }
    print_help_text(option->help);
}

static void print_help(const struct options *options)
{
    printf("Usage: tanist %s %s\n\nExamples:\n%s\n%s\n\nOptions:\n", options->command,
           options->synopsis, options->examples, options->about);
    for (size_t i = 0; i < options->count; i++) {
        if (options->list[i].help != NULL) { print_option(&options->list[i]); }
    }
    printf("  %-*s %s\n", HELP_AT, "-h, --help", "Show this help.");
}

/* ------------------------------------------------------------- parsing */

static void print_wrong(const struct options *options, const char *format, va_list arguments)
{
    char text[WRONG_MAX];
    (void)vsnprintf(text, sizeof text, format, arguments);
    utf8_plain(text);
    fprintf(stderr, "tanist %s: %s (see `tanist %s --help`)\n", options->command, text,
            options->command);
}

__attribute__((format(printf, 2, 3))) static bool wrong(const struct options *options,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_wrong(options, format, arguments);
    va_end(arguments);
    return false;
}

int options_refuse(const struct options *options, const char *format, ...)
{
    va_list arguments;
    assert(options->command != NULL);
    va_start(arguments, format);
    print_wrong(options, format, arguments);
    va_end(arguments);
    return TN_EXIT_ARGUMENTS;
}

static bool unknown(const struct options *options, const char *given, size_t length)
{
    const char *names[OPTIONS_MAX + 1];
    char name[NAME_MAX_BYTES];
    size_t count = 0;
    for (; count < options->count; count++) { names[count] = options->list[count].name; }
    names[count++] = "help";
    snprintf(name, sizeof name, "%.*s", (int)size_min(length, sizeof name - 1), given);
    const char *near = nearest_word(name, names, count);
    if (near != NULL) {
        return wrong(options, "unknown option --%s: did you mean --%s?", name, near);
    }
    return wrong(options, "unknown option --%s", name);
}

static bool take_choice(const struct options *options, const struct option *option,
                        const char *text)
{
    char choices[CHOICES_TEXT_MAX];
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *option->value.text = text;
            return true;
        }
    }
    return wrong(options, "--%s is \"%s\": give one of %s", option->name, text,
                 choices_text(option, ", ", choices));
}

static bool take_number(const struct options *options, const struct option *option,
                        const char *text)
{
    struct option_number *number = option->value.number;
    const bool digits = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    errno = 0;
    number->value = digits ? strtoull(text, NULL, 10) : 0;
    number->given = true;
    const bool counted = digits && errno == 0;
    if (counted && number->value >= option->least && number->value <= option->most) { return true; }
    if (option->most == INT64_MAX) {
        return wrong(options, "--%s is \"%s\": give a whole number", option->name, text);
    }
    return wrong(options, "--%s is \"%s\": give a whole number from %" PRIu64 " to %" PRIu64,
                 option->name, text, option->least, option->most);
}

/* An empty text is never a folder: `--dir "$DIR"` with an unset variable. */
static bool take_text(const struct options *options, const struct option *option, const char *text)
{
    *option->value.text = text;
    if (*text != '\0' || strcmp(option->name, "dir") != 0) { return true; }
    return wrong(options, "--dir is \"\": give %s",
                 option == options->folder ? "the folder of a run" : "a folder");
}

static bool take_value(const struct options *options, const struct option *option, const char *text)
{
    struct option_texts *texts = option->value.texts;
    switch (option->type) {
    case OPTION_FLAG: *option->value.flag = true; return true;
    case OPTION_TEXT: return take_text(options, option, text);
    case OPTION_CHOICE: return take_choice(options, option, text);
    case OPTION_NUMBER: return take_number(options, option, text);
    case OPTION_TEXTS:
        if (texts->count == OPTION_TEXTS_MAX) {
            return wrong(options, "--%s is given more than %d times", option->name,
                         OPTION_TEXTS_MAX);
        }
        texts->items[texts->count++] = text;
        return true;
    }
    return false;
}

/* The option at the cursor; its value follows a '=' or is the next argument. */
static bool take_option(const struct options *options, struct cursor *cursor)
{
    const char *given = cursor->argv[cursor->at], *text = NULL;
    char choices[CHOICES_TEXT_MAX];
    const struct option *option;
    if (given[1] == '-') {
        size_t length = strcspn(given + 2, "=");
        option = find_long(options, given + 2, length);
        if (option == NULL) { return unknown(options, given + 2, length); }
        if (given[2 + length] == '=') { text = given + 3 + length; }
    } else {
        option = find_letter(options, given[1]);
        if (option == NULL) { return wrong(options, "unknown option %s", given); }
        if (given[2]) { text = given + 2 + (given[2] == '='); }
    }
    if (option->type == OPTION_FLAG && text != NULL) {
        return wrong(options, "--%s takes no value", option->name);
    }
    if (option->type != OPTION_FLAG && text == NULL) {
        if (cursor->at + 1 >= cursor->argc) {
            return wrong(options, "--%s needs a value: %s", option->name,
                         value_text(option, choices));
        }
        text = cursor->argv[++cursor->at];
    }
    return take_value(options, option, text);
}

static bool refuse_argument(const struct options *options, const char *argument)
{
    return wrong(options, "unexpected argument \"%s\"; usage: tanist %s %s", argument,
                 options->command, options->synopsis);
}

/* "ps=5" or "12": an argument of a command, not a folder. */
static bool is_word(const char *argument)
{
    const size_t name = strcspn(argument, "=/");
    return argument[name] == '=' || strspn(argument, "0123456789") == strlen(argument);
}

static bool take_argument(struct options *options, const char *argument)
{
    const struct option *folder = options->folder;
    if (folder != NULL && folder->type == OPTION_TEXTS) {
        return take_value(options, folder, argument);
    }
    const size_t own = options->arguments_most, count = options->argument_count;
    const bool surplus = count >= own && own > 0 && is_word(argument);
    if (surplus || count >= own + options->folders_most || count >= ARGUMENTS_MAX) {
        return refuse_argument(options, argument);
    }
    options->arguments[options->argument_count++] = argument;
    return true;
}

/* The last argument is the folder if the command has no use for it itself. */
static bool take_last_as_folder(struct options *options)
{
    const struct option *folder = options->folder;
    if (folder == NULL || folder->type == OPTION_TEXTS) { return true; }
    if (options->argument_count <= options->arguments_least) { return true; }
    const char *last = options->arguments[options->argument_count - 1];
    const char *given = *folder->value.text;
    if (options->argument_count <= options->arguments_most) {
        if (given != NULL || is_word(last)) { return true; }
    } else if (given != NULL) {
        return wrong(options, "unexpected argument \"%s\": the folder is given by --dir \"%s\"",
                     last, given);
    }
    options->argument_count--;
    return take_value(options, folder, last);
}

static bool check_folders(const struct options *options)
{
    const struct option *folder = options->folder;
    if (folder == NULL) { return true; }
    const bool many = folder->type == OPTION_TEXTS;
    const size_t count = many ? folder->value.texts->count : *folder->value.text != NULL;
    if (count < options->folders_least) {
        return wrong(options, "the folder of %s run is missing; usage: tanist %s %s",
                     count > 0 ? "another" : "a", options->command, options->synopsis);
    }
    if (count <= options->folders_most) { return true; }
    return wrong(options, "%zu folders are given: give at most %zu", count, options->folders_most);
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

bool options_parse(struct options *options, int argc, char **argv, int *exit_code)
{
    struct cursor cursor = {.argc = argc, .at = 1, .argv = argv};
    bool options_ended = false, good = true;
    assert(options->command != NULL);
    assert(options->arguments_least <= options->arguments_most);
    options->argument_count = 0;
    *exit_code = TN_EXIT_ARGUMENTS;
    for (; good && cursor.at < argc; cursor.at++) {
        const char *given = argv[cursor.at];
        if (!options_ended && is_help(given)) {
            print_help(options);
            *exit_code = TN_EXIT_OK;
            return false;
        }
        if (!options_ended && strcmp(given, "--") == 0) {
            options_ended = true;
        } else if (!options_ended && given[0] == '-' && given[1]) {
            good = take_option(options, &cursor);
        } else {
            good = take_argument(options, given);
        }
    }
    good = good && take_last_as_folder(options);
    if (good && options->argument_count < options->arguments_least) {
        good = wrong(options, "an argument is missing; usage: tanist %s %s", options->command,
                     options->synopsis);
    }
    good = good && check_folders(options);
    if (good) { *exit_code = TN_EXIT_OK; }
    return good;
}
