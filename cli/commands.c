#include "cli/commands.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/limits.h"
#include "cli/output.h"
#include "cli/subcommands.h"
#include "common/base/mapping_fault.h"
#include "common/base/nearest.h"
#include "common/base/utf8.h"
#include "common/job/job.h"
#include "tanist/status.h"

enum { SHOWN_MAX = 256 };

static int command_version(int argc, char **argv);
static int command_help(int argc, char **argv);

static const struct subcommand list[] = {
    {"run", "Train a job on this machine, with a ZooKeeper ensemble of its own.", command_run},
    {"agent", "Run some tasks of a job on this host; other hosts run the rest.", command_agent},
    {"coordinator", "Run one coordinator, a candidate for chief.", command_coordinator},
    {"ps", "Run one parameter server.", command_ps},
    {"worker", "Run one worker.", command_worker},
    {"evaluator", "Run the evaluator, which evaluates checkpoints.", command_evaluator},
    {"zk", "Start, stop and show ZooKeeper servers from zoo.cfg files.", command_zk},
    {"data", "Show or check the data of a job.", command_data},
    {"graph", "Show a job's model as a graph: operations, memory, cost.", command_graph},
    {"plan", "Show which ps owns which part of a job's parameters.", command_plan},
    {"devices", "List the GPUs of this machine.", command_devices},
    {"status", "Show a cluster: phase, chief, tasks, checkpoint.", command_status},
    {"top", "Show a running cluster on the full screen, refreshed every second.", command_top},
    {"watch", "Print elections, failures and recoveries as they happen.", command_watch},
    {"elections", "List all leader elections of a cluster.", command_elections},
    {"checkpoints", "List, verify, show or compare checkpoints.", command_checkpoints},
    {"plot", "Draw the curves of runs, in the terminal or into a file.", command_plot},
    {"compare", "Compare the jobs and the results of runs.", command_compare},
    {"pause", "Pause training.", command_pause},
    {"resume", "Continue training after `tanist pause`.", command_resume},
    {"stop", "End the job early, with a final checkpoint.", command_stop},
    {"resign", "Ask the chief to step down, so that another is elected.", command_resign},
    {"scale", "Change the number of workers of a running job.", command_scale},
    {"resize", "Change the number of ps while the job runs.", command_resize},
    {"strategy", "Change the strategy (with or without ps) while the job runs.", command_strategy},
    {"drain", "Stop all nodes of one host without losing a step.", command_drain},
    {"restore", "Decide how a run that is held continues.", command_restore},
    {"evaluate", "Compute the metrics of a run's model on examples.", command_evaluate},
    {"predict", "Predict classes or numbers for new examples.", command_predict},
    {"export", "Write the parameters of a run to a file for other programs.", command_export},
    {"serve", "Run a server for sessions, which compute a graph on several servers.",
     command_serve},
    {"chaos", "Inject faults into a real cluster and check that it recovers.", command_chaos},
    {"kill", "Send a signal to one node, if its agent allows it.", command_kill},
    {"version", "Print the version.", command_version},
    {"help",
     "Explain a command, a key of a job file (`help train.batch`), or all keys (`help job`).",
     command_help},
};

static const struct subcommand_heading headings[] = {
    {"run", "Train"},
    {"data", "Check a job before training"},
    {"status", "Observe"},
    {"pause", "Control a running job"},
    {"evaluate", "Use a model"},
    {"chaos", "Inject faults"},
    {"version", "Other"},
    {NULL, NULL},
};

static const struct subcommands commands = {
    .prefix = "",
    .synopsis = "COMMAND [ARGUMENT]...",
    .examples = "  tanist run examples/fashion-mnist.json\n"
                "  tanist watch --dir runs/fashion-mnist\n"
                "  tanist status --zk 127.0.0.1:2181 --cluster fashion-mnist -o json\n",
    .footer = "`tanist COMMAND --help` explains a command.",
    .list = list,
    .count = sizeof list / sizeof *list,
    .headings = headings,
};

static int command_version(int argc, char **argv)
{
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {.command = "version",
                              .synopsis = "[OPTION]...",
                              .about = "Print the version of this program.",
                              .examples = "  tanist version\n  tanist version -o json\n"};
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    if (output_is_json(output)) {
        return output_json(json_pack("{s:i, s:s}", "version", 1, "tanist", TANIST_VERSION),
                           JSON_INDENT(2));
    }
    return puts("tanist " TANIST_VERSION) < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

/* The keys that docs/job-file.md lists, as its table. */
static int print_markdown(void)
{
    char *text = job_reference();
    if (text == NULL) { return TN_EXIT_ERROR; }
    int written = fputs(text, stdout);
    free(text);
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static int print_keys(const char *name)
{
    struct error error = {0};
    char *text = NULL;
    if (job_reference_text(name, &text, &error) != TN_OK) { return command_failed(&error); }
    int written = fputs(text, stdout);
    free(text);
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static int command_help(int argc, char **argv)
{
    char option[] = "--help";
    if (argc < 2 || argv[1][0] == '-') {
        return subcommands_overview(&commands, stdout, TN_EXIT_OK);
    }
    const bool is_job = strcmp(argv[1], "job") == 0;
    if (is_job && argc > 2 && strcmp(argv[2], "--markdown") == 0) { return print_markdown(); }
    const struct subcommand *command = subcommands_find(&commands, argv[1]);
    if (command != NULL) {
        char *arguments[] = {argv[1], argc > 2 ? argv[2] : option, option, NULL};
        return command->run(argc > 2 ? 3 : 2, arguments);
    }
    const bool is_key = is_job || strchr(argv[1], '.') != NULL || job_has_key(argv[1]);
    return is_key ? print_keys(argv[1]) : subcommands_unknown(&commands, argv[1]);
}

/* An option where a command is expected. */
static int refuse_option(const char *option)
{
    static const char *const known[] = {"--help", "--version"};
    const char *near = nearest_word(option, known, sizeof known / sizeof *known);
    char shown[SHOWN_MAX];
    (void)snprintf(shown, sizeof shown, "%s", option);
    utf8_plain(shown);
    fprintf(stderr, "tanist: unknown option %s: ", shown);
    if (near != NULL) {
        fprintf(stderr, "did you mean %s?\n", near);
    } else {
        fputs("give a command first (`tanist --help` lists all commands)\n", stderr);
    }
    return TN_EXIT_ARGUMENTS;
}

int cli_main(int argc, char **argv)
{
    static char version[] = "version";
    if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        argv[1] = version;
    }
    /* A file above RLIMIT_FSIZE is an error of its writer, as on a full disk. Nodes inherit it. */
    (void)signal(SIGXFSZ, SIG_IGN);
    mapping_faults_handle();
    struct error error = {0};
    if (limits_check_stack(&error) != TN_OK) { return command_failed(&error); }
    const bool is_option = argc >= 2 && argv[1][0] == '-';
    if (is_option && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
        return refuse_option(argv[1]);
    }
    int code = subcommands_run(&commands, argc, argv);
    /* Output that could not be written (a full disk, a closed pipe) is a failure. */
    return output_end(code);
}

int command_failed(const struct error *error)
{
    assert(error->status != TN_OK);
    output_message(LOG_ERROR, "%s", error->text);
    return tanist_exit_code(error->status);
}
