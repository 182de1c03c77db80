#include "cli/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/cluster/job.h"
#include "tanist/status.h"

static const struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "Train a job on this machine: the ensemble, all nodes, their restarts.", command_run},
    {"agent", "Run some tasks of a job on this host of many.", command_agent},
    {"coordinator", "Run one candidate for chief.", command_coordinator},
    {"ps", "Run one parameter server.", command_ps},
    {"worker", "Run one worker.", command_worker},
    {"zk", "Start, stop and show ZooKeeper servers from zoo.cfg files.", command_zk},
    {"status", "Show a cluster: phase, chief, tasks, checkpoint.", command_status},
    {"watch", "Show elections, failures and recoveries as they happen.", command_watch},
    {"top", "Show a cluster at work, drawn again and again.", command_top},
    {"elections", "List the chiefs: epoch, who, why, how long it took.", command_elections},
    {"checkpoints", "List or verify checkpoints.", command_checkpoints},
    {"chaos", "Attack a cluster of real processes, and judge how it heals.", command_chaos},
    {"resign", "Ask the chief to step down.", command_resign},
    {"stop", "End the job early, with a last checkpoint.", command_stop},
    {"pause", "Hold the workers.", command_pause},
    {"resume", "Let held workers go on.", command_resume},
    {"kill", "Signal one node, where its agent allows that.", command_kill},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int print_overview(FILE *out)
{
    fprintf(out, "Usage: tanist COMMAND [ARGUMENT]...\n\n"
                 "Examples:\n"
                 "  tanist run examples/fashion-mnist.json\n"
                 "  tanist watch --dir runs/fashion-mnist\n"
                 "  tanist status --zk 127.0.0.1:2181 --cluster fashion-mnist -o json\n\n"
                 "Commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "  %-12s %s\n", "version", "Print the version.");
    fprintf(out, "  %-12s %s\n", "help", "Explain a command, or `job`: all keys of a job file.");
    return TN_EXIT_OK;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT + 2] = {[COMMAND_COUNT] = "help", "version"};
    for (int i = 0; i < COMMAND_COUNT; i++) { names[i] = commands[i].name; }
    const char *near = nearest_word(name, names, COMMAND_COUNT + 2);
    if (near != NULL) {
        fprintf(stderr, "tanist: unknown command \"%s\": did you mean \"%s\"?\n", name, near);
    } else {
        fprintf(stderr, "tanist: unknown command \"%s\": `tanist help` lists all\n", name);
    }
    return TN_EXIT_ARGUMENTS;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) { return &commands[i]; }
    }
    return NULL;
}

static int help_command(int argc, char **argv)
{
    char option[] = "--help";
    if (argc < 2) { return print_overview(stdout); }
    if (strcmp(argv[1], "job") == 0) {
        char *text = job_reference();
        if (text != NULL) { fputs(text, stdout); }
        free(text);
        return text != NULL ? TN_EXIT_OK : TN_EXIT_ERROR;
    }
    const struct command *command = find_command(argv[1]);
    char *arguments[] = {argv[1], option, NULL};
    return command != NULL ? command->run(2, arguments) : unknown_command(argv[1]);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

int cli_main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return TN_EXIT_ARGUMENTS;
    }
    if (is_one_of(argv[1], "help", "--help", "-h")) { return help_command(argc - 1, argv + 1); }
    if (is_one_of(argv[1], "version", "--version", "-V")) {
        return puts("tanist " TANIST_VERSION) < 0 ? TN_EXIT_IO : TN_EXIT_OK;
    }
    const struct command *command = find_command(argv[1]);
    int code = command != NULL ? command->run(argc - 1, argv + 1) : unknown_command(argv[1]);
    /* Output that could not be written (a full disk, a closed pipe) is no success. */
    if (fflush(stdout) != 0 && code == TN_EXIT_OK) { code = TN_EXIT_IO; }
    return code;
}

int command_failed(const struct error *error)
{
    fprintf(stderr, "tanist: %s\n", error->text);
    return tanist_exit_code(error->status);
}
