/* cli/operate/restore.c: `tanist restore`: an operator's decision about a run that is held because
 * a checkpoint cannot be loaded. */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/base/utf8.h"
#include "common/cluster/requests.h"

enum { EFFECT_S = 60, POLL_MS = 20 };

struct restore {
    struct request request;
    struct target target;
    struct zk_sync *sync;
    struct sent_request sent;
    uint64_t timeout_ms;
    uint64_t held_generation; /* The generation that was held. */
    struct run run;           /* As read last. */
};

/* --------------------------------------------------------------- arguments */

/* A ps looks for the folder on its own host, so the path is absolute, and need not exist here. */
static enum tn_status use_folder(struct request *request, const char *folder, struct error *error)
{
    char here[RESTORE_PATH_MAX] = "";
    assert(folder != NULL);
    if (folder[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return error_set(error, TN_EINVAL, "--from %s: give an absolute path", folder);
    }
    int length = snprintf(request->path, sizeof request->path, "%s%s%s", here,
                          *here != '\0' ? "/" : "", folder);
    if (length < 0 || (size_t)length >= sizeof request->path) {
        return error_set(error, TN_EINVAL, "--from has %d characters: give at most %d", length,
                         RESTORE_PATH_MAX - 1);
    }
    char plain[RESTORE_PATH_MAX];
    memcpy(plain, request->path, sizeof plain);
    utf8_plain(plain);
    if (strcmp(plain, request->path) == 0) { return TN_OK; }
    return error_set(error, TN_EINVAL, "--from %s: the path is not plain UTF-8", plain);
}

static enum tn_status use_options(struct restore *restore, const char *folder,
                                  const struct option_number *step, struct error *error)
{
    if ((folder != NULL) == step->given) {
        return error_set(error, TN_EINVAL, "%s: `tanist status` shows what is missing",
                         folder != NULL ? "--from and --accept-loss are given: choose one"
                                        : "give --from DIR or --accept-loss STEP");
    }
    if (folder != NULL) {
        restore->request.kind = REQUEST_RESTORE;
        return use_folder(&restore->request, folder, error);
    }
    restore->request.kind = REQUEST_ACCEPT_LOSS;
    restore->request.step = step->value;
    if (step->value <= COUNTER_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "--accept-loss %" PRIu64 ": give the step of a checkpoint",
                     step->value);
}

/* ------------------------------------------------------------------ effect */

static enum tn_status fail_not_held(const struct restore *restore, struct error *error)
{
    return error_set(error, TN_EUNHEALTHY, "%s is not held (phase %s): there is nothing to restore",
                     restore->target.cluster, run_phase_name(restore->run.phase));
}

/* The chief has granted the request. `*done`: its effect is complete. */
static enum tn_status check_effect(const struct restore *restore, bool *done, struct error *error)
{
    const struct run *run = &restore->run;
    const char *cluster = restore->target.cluster;
    switch (run->phase) {
    case RUN_HELD:
        if (run->generation == restore->held_generation &&
            restore->request.kind == REQUEST_ACCEPT_LOSS) {
            return error_set(error, TN_EUNHEALTHY,
                             "%s has no other checkpoint at or before step %" PRIu64
                             ": `tanist checkpoints list` shows all; 0 starts over",
                             cluster, restore->request.step);
        }
        return error_set(error, TN_EUNHEALTHY, "%s is still held: %s", cluster, run->reason);
    case RUN_FAILED:
        return error_set(error, TN_EUNHEALTHY, "%s has failed: %s", cluster, run->reason);
    case RUN_FORMING: break;
    case RUN_LOADING:
        /* Loaded; it stays in this phase until `tanist resume`. */
        *done = run->pause_requested && strcmp(run->reason, RUN_PAUSED_REASON) == 0;
        break;
    default: *done = run->generation > restore->held_generation; break;
    }
    return TN_OK;
}

static enum tn_status fail_timeout(struct restore *restore, struct error *error)
{
    const char *cluster = restore->target.cluster;
    const bool granted =
        request_withdraw(restore->sync, cluster, &restore->sent, NULL) == TN_ENOENT;
    return error_set(error, TN_EUNHEALTHY,
                     "%s was not restored within %" PRIu64 " s (phase %s%s%s): %s", cluster,
                     restore->timeout_ms / 1000, run_phase_name(restore->run.phase),
                     *restore->run.reason ? ": " : "", restore->run.reason,
                     granted ? "the chief has accepted the request; watch its effect with `tanist "
                               "status`"
                             : "the request was withdrawn; check with `tanist status` that the "
                               "cluster has a chief, and try again");
}

static enum tn_status wait_effect(struct restore *restore, struct error *error)
{
    const char *cluster = restore->target.cluster;
    enum tn_status status = TN_OK, found = TN_OK;
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    assert(restore->sync != NULL);
    for (uint64_t now_ms = notice.start_ms; now_ms < notice.start_ms + restore->timeout_ms;
         now_ms = clock_monotonic_ms()) {
        bool done = false;
        found = request_find(restore->sync, cluster, &restore->sent, error);
        status = found == TN_ENOENT ? TN_OK : found;
        if (status == TN_OK) {
            status = cluster_read_run(restore->sync, cluster, &restore->run, error);
        }
        if (target_reads_again(&restore->target, status)) { continue; }
        if (status == TN_OK && found == TN_ENOENT) { status = check_effect(restore, &done, error); }
        if (status != TN_OK || done) { return status; }
        if (wait_notice_due(&notice, now_ms)) {
            fprintf(stderr, "still waiting for %s after %" PRIu64 " s (phase %s%s%s)\n", cluster,
                    wait_notice_seconds(&notice, now_ms), run_phase_name(restore->run.phase),
                    *restore->run.reason ? ": " : "", restore->run.reason);
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    return status == TN_OK ? fail_timeout(restore, error) : status;
}

static enum tn_status carry_out(struct restore *restore, struct error *error)
{
    struct spec spec;
    const char *cluster = restore->target.cluster;
    enum tn_status status = target_open(&restore->target, &restore->sync, &spec, NULL, error);
    if (status == TN_OK) {
        status = cluster_read_run(restore->sync, cluster, &restore->run, error);
    }
    if (status == TN_OK && restore->run.phase != RUN_HELD) {
        status = fail_not_held(restore, error);
    }
    restore->held_generation = restore->run.generation;
    if (status == TN_OK) {
        status = request_send(restore->sync, cluster, &restore->request, &restore->sent, error);
    }
    if (status == TN_OK) { status = wait_effect(restore, error); }
    zk_sync_close(restore->sync);
    return status;
}

/* ------------------------------------------------------------------ output */

static int print_done(const struct restore *restore, bool json)
{
    const struct run *run = &restore->run;
    if (json) {
        json_t *checkpoint = run->load_checkpoint != 0
                                 ? json_integer((json_int_t)run->load_checkpoint)
                                 : json_null();
        return output_json(json_pack("{s:i, s:s, s:s, s:I, s:o, s:I}", "version", 1, "cluster",
                                     restore->target.cluster, "phase", run_phase_name(run->phase),
                                     "generation", (json_int_t)run->generation, "checkpoint",
                                     checkpoint, "step", (json_int_t)run->load_step),
                           JSON_INDENT(2));
    }
    if (run->load_checkpoint == 0) {
        fprintf(stderr, "%s: continues from the initial values\n", restore->target.cluster);
    } else {
        fprintf(stderr, "%s: continues from checkpoint %" PRIu64 " (step %" PRIu64 ")\n",
                restore->target.cluster, run->load_checkpoint, run->load_step);
    }
    return TN_EXIT_OK;
}

int command_restore(int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number timeout_s = {.value = EFFECT_S}, step = {0};
    const char *folder = NULL, *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "restore",
        .synopsis = "(--from DIR | --accept-loss STEP) (--dir DIR | --zk CONNECT) [OPTION]...",
        .about = "Decide how a run continues that is held because a checkpoint cannot be loaded. "
                 "`tanist status` names the\nmissing shards. If you can restore their files, do "
                 "that and restart the ps instead of using this command.",
        .examples = "  tanist restore --from /backup/checkpoints --dir runs/fashion-mnist\n"
                    "  tanist restore --accept-loss 2000 --zk h1:2181,h2:2181 --cluster NAME\n"};
    options_text(&options, "from", &folder, "DIR",
                 "Also look for shards in DIR, or DIR/checkpoints, on the hosts of the ps that "
                 "lack them.");
    options_number(&options, "accept-loss", &step, "STEP",
                   "Give up the steps after STEP: load the newest checkpoint at or before STEP; 0: "
                   "start over.");
    target_options_add(&options, &given);
    options_seconds(&options, "timeout", &timeout_s, 0,
                    "How long to wait for the effect; default 60.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct restore restore = {.timeout_ms = timeout_s.value * 1000};
    struct error error = {0};
    enum tn_status status = use_options(&restore, folder, &step, &error);
    if (status == TN_OK) { status = target_find(&given, &restore.target, &error); }
    if (status == TN_OK) { status = carry_out(&restore, &error); }
    if (status != TN_OK) { return command_failed(&error); }
    return print_done(&restore, output_is_json(output));
}
