/* library/main.c: tn_main(): the commands of `tanist` for a model of the caller. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "common/job/cluster_spec.h"
#include "model/user_model.h"
#include "tanist/model.h"

/* The value of --name=value or --name value; NULL: the flag is not among the arguments. */
static const char *value_of(int argc, char **argv, const char *flag)
{
    const size_t length = strlen(flag);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], flag, length) != 0) { continue; }
        if (argv[i][length] == '=') { return argv[i] + length + 1; }
        if (argv[i][length] == '\0') { return i + 1 < argc ? argv[i + 1] : ""; }
    }
    return NULL;
}

/* The role that the environment or the flags give this process; has_task: they do. */
static enum tn_status find_task(int argc, char **argv, struct cluster_spec *spec,
                                struct error *error)
{
    const char *job_name = value_of(argc, argv, "--job_name");
    cluster_spec_init(spec);
    enum tn_status status = cluster_spec_read_environment(spec, error);
    if (status != TN_OK || job_name == NULL) { return status; }
    return cluster_spec_set_task(spec, job_name, NULL, error);
}

/* Run `command` with the arguments behind the name of the program. */
static int run_command(const char *const *command, int argc, char **argv)
{
    enum { COMMAND_MAX = 2 };
    char **arguments = calloc((size_t)argc + COMMAND_MAX + 1, sizeof *arguments);
    int count = 0;
    if (arguments == NULL) { return TN_EXIT_ERROR; }
    arguments[count++] = argv[0];
    for (int i = 0; command[i] != NULL; i++) { arguments[count++] = (char *)(uintptr_t)command[i]; }
    for (int i = 1; i < argc; i++) { arguments[count++] = argv[i]; }
    const int code = cli_main(count, arguments);
    free(arguments);
    return code;
}

static int run_without_command(int argc, char **argv)
{
    struct error error = {0};
    struct cluster_spec *spec = calloc(1, sizeof *spec);
    const char *const alone[] = {"run", "--local", NULL};
    const char *task[] = {NULL, NULL};
    if (spec == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = find_task(argc, argv, spec, &error);
    const bool is_node = spec->has_task;
    if (is_node) { task[0] = role_name(spec->task.role); }
    free(spec);
    if (status != TN_OK) { return command_failed(&error); }
    return run_command(is_node ? task : alone, argc, argv);
}

static bool is_for_all_commands(const char *argument)
{
    static const char *const list[] = {"--help", "-h", "--version", "-V"};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (strcmp(argument, list[i]) == 0) { return true; }
    }
    return false;
}

int tn_main(int argc, char **argv, const struct tn_model *model)
{
    struct error error = {0};
    assert(argc >= 1 && argv != NULL && model != NULL);
    enum tn_status status = user_model_set_program(model, &error);
    if (status != TN_OK) { return command_failed(&error); }
    const bool names_command = argc >= 2 && (argv[1][0] != '-' || is_for_all_commands(argv[1]));
    return names_command ? cli_main(argc, argv) : run_without_command(argc, argv);
}
