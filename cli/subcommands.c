#include "cli/subcommands.h"

#include <assert.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/base/utf8.h"
#include "tanist/status.h"

enum { SHOWN_MAX = 256 };

static void print_heading(const struct subcommands *commands, const char *name, FILE *out)
{
    const struct subcommand_heading *heading = commands->headings;
    for (; heading != NULL && heading->before != NULL; heading++) {
        if (strcmp(heading->before, name) == 0) { fprintf(out, "\n%s:\n", heading->text); }
    }
}

int subcommands_overview(const struct subcommands *commands, FILE *out, int exit_code)
{
    fprintf(out, "Usage: tanist %s\n\nExamples:\n%s\nCommands:\n", commands->synopsis,
            commands->examples);
    for (size_t i = 0; i < commands->count; i++) {
        print_heading(commands, commands->list[i].name, out);
        fprintf(out, "  %-12s %s\n", commands->list[i].name, commands->list[i].summary);
    }
    fprintf(out, "\n%s\n", commands->footer);
    return exit_code;
}

const struct subcommand *subcommands_find(const struct subcommands *commands, const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < commands->count; i++) {
        if (strcmp(commands->list[i].name, name) == 0) { return &commands->list[i]; }
    }
    return NULL;
}

int subcommands_unknown(const struct subcommands *commands, const char *name)
{
    const char *names[SUBCOMMANDS_MAX];
    assert(commands->count <= SUBCOMMANDS_MAX);
    for (size_t i = 0; i < commands->count; i++) { names[i] = commands->list[i].name; }
    const char *near = nearest_word(name, names, commands->count);
    char shown[SHOWN_MAX];
    (void)snprintf(shown, sizeof shown, "%s", name);
    utf8_plain(shown);
    fprintf(stderr, "tanist: unknown command \"%s%s\": ", commands->prefix, shown);
    if (near != NULL) {
        fprintf(stderr, "did you mean \"%s\"?\n", near);
    } else {
        fprintf(stderr, "`tanist %s--help` lists all commands\n", commands->prefix);
    }
    return TN_EXIT_ARGUMENTS;
}

int subcommands_run(const struct subcommands *commands, int argc, char **argv)
{
    if (argc < 2) { return subcommands_overview(commands, stderr, TN_EXIT_ARGUMENTS); }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return subcommands_overview(commands, stdout, TN_EXIT_OK);
    }
    const struct subcommand *command = subcommands_find(commands, argv[1]);
    if (command == NULL) { return subcommands_unknown(commands, argv[1]); }
    return command->run(argc - 1, argv + 1);
}
