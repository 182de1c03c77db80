/* cli/operate/kill.c: `tanist kill`: a signal to one node of a running cluster, by way of its
 * agent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/target.h"
#include "common/cluster/requests.h"

enum { KILL_OPTIONS = TARGET_OPTIONS + 1, ANSWER_MS = 4000 };

static enum tn_status kill_task(struct target *target, const char *task, enum kill_signal signal,
                                struct member *member, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    free(spec.job_json);
    status = request_find_member(sync, target->cluster, task, member, error);
    if (status == TN_OK) {
        status = request_kill(sync, target->cluster, member, signal, ANSWER_MS, error);
    }
    zk_sync_close(sync);
    if (status == TN_EAGAIN) { status = error->status = TN_EUNHEALTHY; /* Nobody to signal. */ }
    return status;
}

int command_kill(int argc, char **argv)
{
    static const char *const signals[] = {"KILL", "TERM", "STOP", "CONT", NULL};
    struct target_options given = {0};
    const char *name = "KILL";
    struct option rows[KILL_OPTIONS];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){
        "signal", 0, OPTION_CHOICE, &name, "KILL|TERM|STOP|CONT", signals, "Which; default KILL."};
    struct options options = {
        .command = "kill",
        .synopsis = "TASK --dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
        .about =
            "Signal one node of a running cluster, to see it recover. Its agent does it, on "
            "whatever host that is,\nif it was started with --allow-chaos. TASK: ps:1, worker:0, "
            "coordinator:1, or chief.",
        .examples = "  tanist kill ps:1 --dir runs/fashion-mnist\n"
                    "  tanist kill chief --zk h1:2181,h2:2181 --cluster NAME --signal STOP\n",
        .list = rows,
        .count = KILL_OPTIONS,
        .arguments_least = 1,
        .arguments_most = 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct target *target = calloc(1, sizeof *target);
    struct error error = {0};
    struct member member = {0};
    enum kill_signal signal = KILL_SIGKILL;
    if (target == NULL) { return TN_EXIT_ERROR; }
    (void)kill_signal_parse(name, &signal);
    enum tn_status status = target_find(&given, target, &error);
    if (status == TN_OK) {
        status = kill_task(target, options.arguments[0], signal, &member, &error);
    }
    if (status == TN_OK) {
        char task[TASK_NAME_MAX];
        task_format(member.task, ':', task, sizeof task);
        fprintf(stderr, "%s: SIG%s to %s (pid %" PRIu64 " on %s)\n", target->cluster, name, task,
                member.pid, member.host);
    }
    free(target);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}
