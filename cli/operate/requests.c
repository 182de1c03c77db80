/* cli/operate/requests.c: `tanist stop`, `resign`, `pause` and `resume`: an operator's request to
 * the chief, and the wait for its effect. */
#include "cli/operate/requests.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/target.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/cluster/requests.h"

enum { POLL_MS = 20 };

static bool stopped(const struct operation *operation, const struct operation_state *before,
                    const struct operation_state *now)
{
    (void)operation;
    (void)before;
    return run_is_over(&now->run);
}

static bool resigned(const struct operation *operation, const struct operation_state *before,
                     const struct operation_state *now)
{
    (void)operation;
    return now->epoch > before->epoch;
}

static bool paused(const struct operation *operation, const struct operation_state *before,
                   const struct operation_state *now)
{
    (void)operation;
    (void)before;
    return now->run.pause_requested && now->run.phase != RUN_RUNNING;
}

static bool resumed(const struct operation *operation, const struct operation_state *before,
                    const struct operation_state *now)
{
    (void)operation;
    (void)before;
    return !now->run.pause_requested;
}

static enum tn_status read_state(struct zk_sync *sync, const char *cluster,
                                 struct operation_state *out, struct error *error)
{
    struct chief_record record = {0};
    enum tn_status status = cluster_read_run(sync, cluster, &out->run, error);
    if (status != TN_OK) { return status; }
    status = cluster_read_chief(sync, cluster, &record, error);
    out->epoch = status == TN_OK ? record.epoch : 0;
    out->chief = record.task;
    return status == TN_ENOENT ? TN_OK : status;
}

/* Whether the run is only about to begin: the process that creates a cluster writes /run after
 * /spec; and an agent that starts a run again finds the end of the previous one in /run, and sets
 * it back, so that an end counts once the agent of the folder has exited. */
static bool is_about_to_begin(enum tn_status status, const struct target *target,
                              const struct operation_state *state)
{
    if (status != TN_OK) { return status == TN_ENOENT; }
    return run_is_over(&state->run) && target->dir != NULL && run_folder_in_use(target->dir);
}

static enum tn_status read_first_state(struct zk_sync *sync, const struct target *target,
                                       uint64_t timeout_ms, struct operation_state *out,
                                       struct error *error)
{
    const uint64_t until_ms = clock_monotonic_ms() + timeout_ms;
    enum tn_status status = read_state(sync, target->cluster, out, error);
    while (is_about_to_begin(status, target, out) && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
        status = read_state(sync, target->cluster, out, error);
    }
    return status;
}

static enum tn_status fail_run_over(const struct operation *operation,
                                    const struct operation_state *state, struct error *error)
{
    return error_set(error, TN_EUNHEALTHY, "the run has ended (phase %s): there is nothing to %s",
                     run_phase_name(state->run.phase), operation->name);
}

static enum tn_status wait_effect(const struct operation *operation, struct zk_sync *sync,
                                  const struct target *target, uint64_t timeout_ms,
                                  struct operation_result *result, const struct sent_request *sent,
                                  struct error *error)
{
    const char *cluster = target->cluster;
    enum tn_status status = TN_OK;
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    struct operation_state *now = &result->now;
    for (uint64_t now_ms = notice.start_ms; now_ms < notice.start_ms + timeout_ms;
         now_ms = clock_monotonic_ms()) {
        if (wait_notice_due(&notice, now_ms)) {
            fprintf(stderr,
                    "still waiting for the chief of %s to %s after %" PRIu64
                    " s (phase %s, epoch %" PRIu64 ")\n",
                    cluster, operation->name, wait_notice_seconds(&notice, now_ms),
                    run_phase_name(now->run.phase), now->epoch);
        }
        status = read_state(sync, cluster, now, error);
        if (target_reads_again(target, status)) { continue; }
        if (status != TN_OK) { return status; }
        if (operation->has_effect(operation, &result->before, now)) { return TN_OK; }
        if (run_is_over(&now->run)) { return fail_run_over(operation, now, error); }
        (void)poll(NULL, 0, POLL_MS);
    }
    if (status != TN_OK) { return status; }
    const bool granted = request_withdraw(sync, cluster, sent, NULL) == TN_ENOENT;
    return error_set(error, TN_EUNHEALTHY, "%s did not %s within %" PRIu64 " s (phase %s): %s",
                     cluster, operation->name, timeout_ms / 1000, run_phase_name(now->run.phase),
                     granted ? "the chief has accepted the request; watch its effect with `tanist "
                               "status`"
                             : "the request was withdrawn; check with `tanist status` that the "
                               "cluster has a chief, and try again");
}

/* The ZooKeeper of a local run does not answer: it ends with the run. If the run has ended, its
 * folder has the answer once its agent has exited; else `error` remains as it is. */
static enum tn_status judge_by_folder(const struct operation *operation, const char *dir,
                                      uint64_t timeout_ms, struct operation_result *result,
                                      struct error *error)
{
    struct operation_state last = {0};
    const uint64_t until_ms = clock_monotonic_ms() + timeout_ms;
    while (run_folder_in_use(dir) && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
    }
    if (run_folder_in_use(dir) || !cluster_read_ended(dir, &last.run)) { return error->status; }
    if (!operation->has_effect(operation, &last, &last)) {
        return fail_run_over(operation, &last, error);
    }
    *result = (struct operation_result){.before = last, .now = last};
    return TN_OK;
}

static enum tn_status request(const struct operation *operation, struct target *target,
                              uint64_t timeout_ms, struct operation_result *result,
                              struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct operation_state *before = &result->before;
    struct sent_request sent;
    assert(operation->kind < REQUEST_KINDS);
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    if (operation->check != NULL) { status = operation->check(operation, &spec, error); }
    if (status == TN_OK) { status = read_first_state(sync, target, timeout_ms, before, error); }
    bool already = status == TN_OK && operation->has_effect(operation, before, before);
    if (status == TN_OK && !already && run_is_over(&before->run)) {
        status = fail_run_over(operation, before, error);
    }
    result->now = *before;
    if (status == TN_OK && !already) {
        const struct request request = {.kind = operation->kind, .step = operation->number};
        status = request_send(sync, target->cluster, &request, &sent, error);
    }
    if (status == TN_OK && !already) {
        status = wait_effect(operation, sync, target, timeout_ms, result, &sent, error);
    }
    zk_sync_close(sync);
    return status;
}

enum tn_status operation_request(const struct operation *operation, struct target *target,
                                 uint64_t timeout_ms, struct operation_result *result,
                                 struct error *error)
{
    *result = (struct operation_result){0};
    enum tn_status status = request(operation, target, timeout_ms, result, error);
    const bool unreachable = status == TN_ECONNECT || status == TN_ETIMEDOUT;
    if (!unreachable || target->dir == NULL) { return status; }
    return judge_by_folder(operation, target->dir, timeout_ms, result, error);
}

static int print_done(const struct operation *operation, const char *cluster,
                      const struct operation_state *now, bool json)
{
    char chief[TASK_NAME_MAX] = "";
    if (!json) {
        fprintf(stderr, "%s: %s\n", cluster, operation->done);
        return TN_EXIT_OK;
    }
    if (now->epoch != 0) { task_format(now->chief, ':', chief, sizeof chief); }
    return output_json(json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:s?, s:{s:I, s:I}}", "version", 1,
                                 "cluster", cluster, "request", operation->name, "phase",
                                 run_phase_name(now->run.phase), "generation",
                                 (json_int_t)now->run.generation, "epoch",
                                 (json_int_t)u64_max(now->epoch, now->run.epoch), "chief",
                                 *chief != '\0' ? chief : NULL, "checkpoint", "id",
                                 (json_int_t)now->run.committed_checkpoint, "step",
                                 (json_int_t)now->run.committed_step),
                       JSON_INDENT(2));
}

static int command(const struct operation *operation, int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number timeout_s = {.value = OPERATION_EFFECT_S};
    const char *output = NULL;
    char examples[256];
    int exit_code = 0;
    assert(operation->has_effect != NULL);
    snprintf(examples, sizeof examples,
             "  tanist %s runs/fashion-mnist\n"
             "  tanist %s --zk h1:2181,h2:2181 --cluster NAME -o json\n",
             operation->name, operation->name);
    struct options options = {.command = operation->name,
                              .synopsis = TARGET_SYNOPSIS,
                              .about = operation->about,
                              .examples = examples};
    target_options_add(&options, &given);
    options_seconds(&options, "timeout", &timeout_s, 0,
                    "How long to wait for the effect; default 60.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct target target;
    struct operation_result result;
    struct error error = {0};
    enum tn_status status = target_find(&given, &target, &error);
    if (status == TN_OK) {
        status = operation_request(operation, &target, timeout_s.value * 1000, &result, &error);
    }
    if (status != TN_OK) { return command_failed(&error); }
    return print_done(operation, target.cluster, &result.now, output_is_json(output));
}

int command_stop(int argc, char **argv)
{
    static const struct operation stop = {
        .name = "stop",
        .about = "End the job early: the cluster takes a final checkpoint, evaluates the model, "
                 "and all nodes exit.",
        .kind = REQUEST_STOP,
        .has_effect = stopped,
        .done = "stopped"};
    return command(&stop, argc, argv);
}

int command_resign(int argc, char **argv)
{
    static const struct operation resign = {
        .name = "resign",
        .about = "Ask the chief to step down. Another coordinator is elected; training continues.",
        .kind = REQUEST_RESIGN,
        .has_effect = resigned,
        .done = "another coordinator is the chief now"};
    return command(&resign, argc, argv);
}

int command_pause(int argc, char **argv)
{
    static const struct operation pause = {.name = "pause",
                                           .about = "Pause training until `tanist resume`.",
                                           .kind = REQUEST_PAUSE,
                                           .has_effect = paused,
                                           .done = "paused"};
    return command(&pause, argc, argv);
}

int command_resume(int argc, char **argv)
{
    static const struct operation resume = {.name = "resume",
                                            .about = "Continue training after `tanist pause`.",
                                            .kind = REQUEST_RESUME,
                                            .has_effect = resumed,
                                            .done = "resumed"};
    return command(&resume, argc, argv);
}
