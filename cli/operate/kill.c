/* cli/operate/kill.c: `tanist kill`: send a signal to one node of a running cluster, through the
 * agent of that node. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/target.h"
#include "common/cluster/requests.h"

enum { ANSWER_MS = 4000 };

static enum tn_status kill_task(struct target *target, const char *task, enum kill_signal signal,
                                struct member *member, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    assert(task != NULL);
    assert(signal < KILL_SIGNALS);
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    status = request_find_member(sync, target->cluster, task, member, error);
    if (status == TN_OK) {
        status = request_kill(sync, target->cluster, member, signal, ANSWER_MS, error);
    }
    zk_sync_close(sync);
    if (status == TN_EAGAIN) { status = error->status = TN_EUNHEALTHY; /* No node to signal. */ }
    return status;
}

/* Before ZooKeeper is asked, which may not be running. */
static enum tn_status check_task(const char *task, struct error *error)
{
    struct task ignored;
    if (strcmp(task, "chief") == 0 || task_parse(task, &ignored)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "\"%.60s\" is not a task: give ps:1, worker:0, or chief",
                     task);
}

static int print_sent(const char *cluster, const struct member *member, const char *signal_name,
                      bool json)
{
    char task[TASK_NAME_MAX];
    task_format(member->task, ':', task, sizeof task);
    if (json) {
        return output_json(json_pack("{s:i, s:s, s:s, s:I, s:s, s:s}", "version", 1, "cluster",
                                     cluster, "task", task, "pid", (json_int_t)member->pid, "host",
                                     member->host, "signal", signal_name),
                           JSON_INDENT(2));
    }
    fprintf(stderr, "%s: sent SIG%s to %s (pid %" PRIu64 " on %s)\n", cluster, signal_name, task,
            member->pid, member->host);
    return TN_EXIT_OK;
}

static int work(const struct target_options *given, const char *task, const char *signal_name,
                bool json)
{
    struct target target;
    struct error error = {0};
    struct member member;
    enum kill_signal signal = KILL_SIGKILL;
    (void)kill_signal_parse(signal_name, &signal);
    enum tn_status status = check_task(task, &error);
    if (status == TN_OK) { status = target_find(given, &target, &error); }
    if (status == TN_OK) { status = kill_task(&target, task, signal, &member, &error); }
    if (status != TN_OK) { return command_failed(&error); }
    return print_sent(target.cluster, &member, signal_name, json);
}

int command_kill(int argc, char **argv)
{
    static const char *const signals[] = {"KILL", "TERM", "STOP", "CONT", NULL};
    struct target_options given = {0};
    const char *signal = "KILL", *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "kill",
        .synopsis = "TASK " TARGET_SYNOPSIS,
        .about = "Send a signal to one node of a running cluster, to see the cluster recover. The "
                 "agent of the\nnode sends it, on any host, if that agent runs with --allow-chaos. "
                 "TASK is ps:1, worker:0,\ncoordinator:1 or chief.",
        .examples = "  tanist kill ps:1 --dir runs/fashion-mnist\n"
                    "  tanist kill chief --zk h1:2181,h2:2181 --cluster NAME --signal STOP\n",
        .arguments_least = 1,
        .arguments_most = 1};
    target_options_add(&options, &given);
    options_choice(&options, 0, "signal", &signal, signals, "Signal to send; default KILL.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&given, options.arguments[0], signal, output_is_json(output));
}
