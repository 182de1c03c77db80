/* cli/chaos/chaos.c: `tanist chaos VERB`: a real cluster is attacked, heals, and is judged. */
#include "cli/chaos/chaos.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "common/base/nearest.h"
#include "tanist/status.h"

static const struct verb {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"run", "Attack: rounds of faults that a plan draws from a seed.", chaos_run},
    {"attack", "Attack a cluster that runs already, by way of its agents.", chaos_attack},
    {"list", "Show plans, faults and failpoints, and what this machine can do.", chaos_list},
    {"replay", "Do the faults of a recorded round again.", chaos_replay},
    {"shrink", "Find the fewest faults that still make a round fail.", chaos_shrink},
    {"report", "Write the report of a campaign anew.", chaos_report},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int print_verbs(FILE *out, int exit_code)
{
    fprintf(out, "Usage: tanist chaos VERB [ARGUMENT]...\n\n"
                 "Examples:\n"
                 "  tanist chaos run --plan kill-chief --rounds 5\n"
                 "  tanist chaos list\n\n"
                 "Attack a cluster of real processes, watch it heal, get a verdict.\n\nVerbs:\n");
    for (int i = 0; i < VERBS; i++) {
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
    }
    fprintf(out, "\n`tanist chaos VERB --help` explains each; the guide is docs/chaos.md.\n");
    return exit_code;
}

static int unknown_verb(const char *name)
{
    const char *names[VERBS];
    for (int i = 0; i < VERBS; i++) { names[i] = verbs[i].name; }
    const char *near = nearest_word(name, names, VERBS);
    fprintf(stderr, "tanist: unknown command \"chaos %s\": ", name);
    if (near != NULL) {
        fprintf(stderr, "did you mean \"%s\"?\n", near);
    } else {
        fprintf(stderr, "`tanist chaos --help` lists all\n");
    }
    return TN_EXIT_ARGUMENTS;
}

int command_chaos(int argc, char **argv)
{
    if (argc < 2) { return print_verbs(stderr, TN_EXIT_ARGUMENTS); }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return print_verbs(stdout, TN_EXIT_OK);
    }
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) { return verbs[i].run(argc - 1, argv + 1); }
    }
    return unknown_verb(argv[1]);
}
