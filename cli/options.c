#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nearest.h"
#include "tanist/status.h"

enum { NAMES_MAX = 64 };

/* Where the parser stands. */
struct cursor {
    int argc, at;
    char **argv;
};

__attribute__((format(printf, 2, 3))) static bool wrong(const struct options *options,
                                                        const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "tanist %s: ", options->command);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (`tanist %s --help` shows all options)\n", options->command);
    return false;
}

static void print_help(const struct options *options)
{
    printf("Usage: tanist %s %s\n\nExamples:\n%s\n%s\n", options->command, options->synopsis,
           options->examples, options->about);
    printf("\nOptions:\n");
    for (size_t i = 0; i < options->count; i++) {
        const struct option *option = &options->list[i];
        char left[64], letter[8] = "    ";
        if (option->help == NULL) { continue; }
        if (option->letter) { snprintf(letter, sizeof letter, "-%c, ", option->letter); }
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                 option->argument != NULL ? " " : "",
                 option->argument != NULL ? option->argument : "");
        printf("  %-28s %s\n", left, option->help);
    }
    printf("  %-28s %s\n", "-h, --help", "Show this.");
}

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

static bool unknown(const struct options *options, const char *word, size_t length)
{
    const char *names[NAMES_MAX];
    char name[64];
    size_t count = 0;
    for (size_t i = 0; i < options->count && count < NAMES_MAX - 1; i++) {
        names[count++] = options->list[i].name;
    }
    names[count++] = "help";
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word);
    const char *near = nearest_word(name, names, count);
    if (near != NULL) {
        return wrong(options, "unknown option --%s: did you mean --%s?", name, near);
    }
    return wrong(options, "unknown option --%s", name);
}

static bool take_choice(const struct options *options, const struct option *option,
                        const char *text)
{
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(const char **)option->value = text;
            return true;
        }
    }
    char list[128] = "";
    size_t length = 0;
    for (int i = 0; option->choices[i] != NULL && length < sizeof list; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   option->choices[i]);
    }
    return wrong(options, "--%s is \"%s\": give one of %s", option->name, text, list);
}

static bool take_value(const struct options *options, const struct option *option, const char *text)
{
    struct option_texts *texts = option->value;
    struct option_number *number = option->value;
    char *end = NULL;
    switch (option->type) {
    case OPTION_FLAG: *(bool *)option->value = true; return true;
    case OPTION_TEXT: *(const char **)option->value = text; return true;
    case OPTION_CHOICE: return take_choice(options, option, text);
    case OPTION_TEXTS:
        if (texts->count == OPTION_TEXTS_MAX) {
            return wrong(options, "--%s is given more than %d times", option->name,
                         OPTION_TEXTS_MAX);
        }
        texts->items[texts->count++] = text;
        return true;
    case OPTION_COUNT:
        number->value = strtoull(text, &end, 10);
        number->given = true;
        if (*text < '0' || *text > '9' || *end || number->value > INT64_MAX) {
            return wrong(options, "--%s is \"%s\": give a whole number", option->name, text);
        }
        return true;
    }
    return false;
}

/* The option at the cursor, with its value behind '=' or in the next word. */
static bool take_option(const struct options *options, struct cursor *cursor)
{
    const char *word = cursor->argv[cursor->at], *text = NULL;
    const struct option *option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_long(options, word + 2, length);
        if (option == NULL) { return unknown(options, word + 2, length); }
        if (word[2 + length] == '=') { text = word + 3 + length; }
    } else {
        option = find_letter(options, word[1]);
        if (option == NULL) { return wrong(options, "unknown option %s", word); }
        if (word[2]) { text = word + 2 + (word[2] == '='); }
    }
    if (option->type == OPTION_FLAG && text != NULL) {
        return wrong(options, "--%s takes no value", option->name);
    }
    if (option->type != OPTION_FLAG && text == NULL) {
        if (cursor->at + 1 >= cursor->argc) {
            return wrong(options, "--%s needs a value: %s", option->name, option->argument);
        }
        text = cursor->argv[++cursor->at];
    }
    return take_value(options, option, text);
}

static bool take_argument(struct options *options, const char *word)
{
    if (options->argument_count >= options->arguments_most ||
        options->argument_count >= ARGUMENTS_MAX) {
        return wrong(options, "\"%s\" is one argument too many: usage is %s", word,
                     options->synopsis);
    }
    options->arguments[options->argument_count++] = word;
    return true;
}

bool options_parse(struct options *options, int argc, char **argv, int *exit_code)
{
    struct cursor cursor = {.argc = argc, .at = 1, .argv = argv};
    bool literal = false, good = true;
    options->argument_count = 0;
    *exit_code = TN_EXIT_ARGUMENTS;
    for (; good && cursor.at < argc; cursor.at++) {
        const char *word = argv[cursor.at];
        if (!literal && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            print_help(options);
            *exit_code = TN_EXIT_OK;
            return false;
        }
        if (!literal && strcmp(word, "--") == 0) {
            literal = true;
        } else if (!literal && word[0] == '-' && word[1]) {
            good = take_option(options, &cursor);
        } else {
            good = take_argument(options, word);
        }
    }
    if (good && options->argument_count < options->arguments_least) {
        good = wrong(options, "an argument is missing: usage is %s", options->synopsis);
    }
    return good;
}
