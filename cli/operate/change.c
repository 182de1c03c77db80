/* cli/operate/change.c: `tanist resize` and `tanist strategy`: another number of ps, other borders
 * between their rows, or another strategy, in a running job; for `tanist scale` another fixed
 * number of workers (S14). */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/operate/balance.h"
#include "cli/operate/change.h"
#include "cli/operate/change_wanted.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/target.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/cluster/change_request.h"
#include "common/job/job_resume.h"
#include "common/job/strategy.h"

enum {
    EFFECT_S = 120,
    ACCEPT_MS = 10000, /* An agent answers within milliseconds, unless it waits for ZooKeeper. */
    POLL_MS = 20,
    REMOVALS_MAX = 3, /* Other commands may come between. */
    PS_DEFAULT = 2,
};

struct change {
    struct target target;
    struct zk_sync *sync;
    struct job job; /* The present one. */
    struct change_request request;
    bool balances;          /* --balance */
    struct balance balance; /* Its result. */
    char path[ZK_PATH_MAX];
    uint64_t timeout_ms;
};

/* A number that is not given: as many ps as before, as far as the strategy allows. */
static void settle(struct change *change)
{
    struct change_request *wanted = &change->request;
    const uint32_t present = change->job.cluster.ps;
    if (wanted->workers > 0) { wanted->ps = present; }
    if (wanted->strategy == CHANGE_TO_MIRROR || wanted->workers > 0 || wanted->ps > 0) { return; }
    wanted->ps = present > 0 ? present : PS_DEFAULT;
    if (wanted->strategy == CHANGE_TO_GROUP) {
        const uint32_t given = wanted->members;
        wanted->ps = u32_max(wanted->ps, given > 0 ? given : change->job.strategy.members);
    }
    if (wanted->ps == present || wanted->strategy == CHANGE_BY_PS) { return; }
    (void)fprintf(stderr, "%s: ps=N is not given: the run gets %" PRIu32 " ps\n",
                  change->target.cluster, wanted->ps);
}

/* The agent checks the rest. */
static enum tn_status check_wanted(const struct change *change, struct error *error)
{
    const uint32_t wanted = change->request.ps, present = change->job.cluster.ps;
    const enum change_strategy strategy = change->request.strategy;
    const uint32_t members = change->request.members;
    const bool in_group = strategy_members(&change->job) > 1;
    const bool keeps_members = members == 0 || members == change->job.strategy.members;
    if (change->request.workers > 0) { return TN_OK; }
    if (strategy == CHANGE_BY_PS && present == 0) {
        return error_set(error, TN_EINVAL,
                         "%s trains without ps (strategy.type %s): `tanist strategy ps "
                         "ps=%" PRIu32 "` gives it ps",
                         change->target.cluster, job_strategy_text(&change->job), wanted);
    }
    const bool is_same =
        present > 0 && ((strategy == CHANGE_TO_PS && !in_group) ||
                        (strategy == CHANGE_TO_GROUP && in_group && keeps_members));
    if (is_same && wanted != present) {
        return error_set(error, TN_EINVAL,
                         "%s has strategy.type %s already, with %" PRIu32 " ps: `tanist resize "
                         "ps=%" PRIu32 "` changes their number",
                         change->target.cluster, job_strategy_text(&change->job), present, wanted);
    }
    return TN_OK;
}

/* -------------------------------------------------------------- the request */

static enum tn_status create(struct change *change, struct error *error)
{
    char host[HOST_NAME_MAX_BYTES] = "", text[ZNODE_JSON_MAX];
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(change->request.by, sizeof change->request.by, "pid %ld on %.40s",
                   (long)getpid(), host);
    change->request.wall_ms = clock_wall_ms();
    change_request_path(change->path, change->target.cluster);
    const struct zk_write write = {.kind = ZK_CREATE,
                                   .path = change->path,
                                   .data = text,
                                   .size = change_request_encode(&change->request, text),
                                   .flags = ZK_EPHEMERAL};
    return zk_sync_write(change->sync, &write, 1, error);
}

/* Make room for another request. An answered one disappears when its command has read the answer;
 * that of a command that was killed exists until its session ends, and is removed once `is_late`.
 */
static enum tn_status remove_answered(struct change *change, bool is_late, struct error *error)
{
    struct zk_sync_data data;
    struct change_request other;
    enum tn_status status = zk_sync_read(change->sync, change->path, &data, error);
    if (status != TN_OK) { return status == TN_ENOENT ? TN_OK : status; }
    status = change_request_decode(data.data, data.size, &other, error);
    free(data.data);
    if (status != TN_OK) { return status; }
    if (other.state < CHANGE_DONE) {
        return error_set(error, TN_EUNHEALTHY,
                         "another change of %s is being made, requested by %s (%s): wait for it, "
                         "then try again",
                         change->target.cluster, other.by, change_state_name(other.state));
    }
    if (!is_late) {
        (void)poll(NULL, 0, POLL_MS);
        return TN_OK;
    }
    const struct zk_write remove = {
        .kind = ZK_DELETE, .path = change->path, .version = data.stat.version};
    status = zk_sync_write(change->sync, &remove, 1, error);
    return status == TN_ENOENT ? TN_OK : status;
}

static enum tn_status send(struct change *change, struct error *error)
{
    const uint64_t until_ms = clock_monotonic_ms() + CHANGE_ANSWER_READ_MS;
    enum tn_status status = create(change, error);
    for (int removals = 0; removals < REMOVALS_MAX && status == TN_EEXIST;) {
        const bool is_late = clock_monotonic_ms() >= until_ms;
        status = remove_answered(change, is_late, error);
        if (status != TN_OK) { return status; }
        removals += is_late;
        status = create(change, error);
    }
    return status;
}

static enum tn_status fail_ended(const struct run *run, struct error *error)
{
    return error_set(error, TN_EUNHEALTHY,
                     "the run has ended (phase %s); `tanist run --resume` may change it",
                     run_phase_name(run->phase));
}

/* Whether the run has ended and no agent of its folder is about to continue it. Whatever cannot be
 * read is not an end. */
static enum tn_status check_not_ended(const struct change *change, struct error *error)
{
    struct run run;
    const struct target *target = &change->target;
    if (target->dir != NULL && !target_agent_is_gone(target)) { return TN_OK; }
    const enum tn_status status = cluster_read_run(change->sync, target->cluster, &run, NULL);
    return status == TN_OK && run_is_over(&run) ? fail_ended(&run, error) : TN_OK;
}

static enum tn_status read_request(struct change *change, int32_t *version, struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status = zk_sync_read(change->sync, change->path, &data, error);
    if (status == TN_ENOENT) {
        return error_set(error, TN_EUNHEALTHY,
                         "the request was deleted by another program: see in `tanist status` "
                         "whether the change was made, and give the command again if not");
    }
    if (status != TN_OK) { return status; }
    status = change_request_decode(data.data, data.size, &change->request, error);
    *version = data.stat.version;
    free(data.data);
    return status;
}

/* TN_OK: withdrawn. TN_EREFUSED: accepted at the last moment. */
static enum tn_status withdraw(struct change *change, int32_t version, struct error *error)
{
    const struct zk_write write = {.kind = ZK_DELETE, .path = change->path, .version = version};
    char setting[CHANGE_SETTING_MAX];
    enum tn_status status = zk_sync_write(change->sync, &write, 1, error);
    if (status != TN_OK) { return status; }
    if (change->target.dir != NULL && !target_agent_is_gone(&change->target)) {
        return error_set(error, TN_EUNHEALTHY,
                         "the agent of the run in %s did not take the request within %d s, and it "
                         "was withdrawn: the agent is frozen (SIGSTOP), or ZooKeeper does not "
                         "answer it; see its messages, then give the command again",
                         change->target.dir, ACCEPT_MS / 1000);
    }
    status = check_not_ended(change, error);
    if (status != TN_OK) { return status; }
    return error_set(error, TN_EUNHEALTHY,
                     "no agent of `tanist run` takes the request, and it was withdrawn. Nodes that "
                     "`tanist agent` or other programs have started are changed between two runs: "
                     "`tanist stop`, then start them all with --resume --set %s%s",
                     change_setting(&change->request, setting),
                     change->request.workers > 0 ? ", or with a range, such as 1-N, which "
                                                   "`tanist scale` changes at any time"
                                                 : "");
}

static enum tn_status fail_agent_gone(const struct change *change, struct error *error)
{
    const char *dir = change->target.dir;
    char setting[CHANGE_SETTING_MAX];
    struct run last;
    if (cluster_read_ended(dir, &last)) { return fail_ended(&last, error); }
    return error_set(error, TN_EUNHEALTHY,
                     "the agent of the run in %s ended before it reported the change: `tanist run "
                     "JOB.json --dir %s --resume --set %s` continues the run with this change, "
                     "whether it was made before or not",
                     dir, dir, change_setting(&change->request, setting));
}

static enum tn_status fail_late(const struct change *change, struct error *error)
{
    return error_set(error, TN_EUNHEALTHY,
                     "%s: the change (%s) was not complete within %" PRIu64
                     " s; the agent continues it: see `tanist status`",
                     change->target.cluster, change_state_name(change->request.state),
                     change->timeout_ms / 1000);
}

/* One look at the request. `*over`: the wait has ended. */
static enum tn_status look(struct change *change, uint64_t waited_ms, bool *over,
                           struct error *error)
{
    int32_t version = 0;
    *over = true;
    enum tn_status status = read_request(change, &version, error);
    if (status != TN_OK && target_agent_is_gone(&change->target)) {
        return fail_agent_gone(change, error);
    }
    if (target_reads_again(&change->target, status) && waited_ms < change->timeout_ms) {
        *over = false;
        return TN_OK;
    }
    if (status != TN_OK) { return status; }
    if (change->request.state == CHANGE_DONE) { return TN_OK; }
    if (change->request.state == CHANGE_REFUSED) {
        return error_set(error, change->request.invalid ? TN_EINVAL : TN_EUNHEALTHY, "%s",
                         change->request.text);
    }
    if (target_agent_is_gone(&change->target)) { return fail_agent_gone(change, error); }
    if (change->request.state == CHANGE_WANTED && waited_ms >= ACCEPT_MS) {
        status = withdraw(change, version, error);
        if (status != TN_EREFUSED) { return status; }
    }
    if (waited_ms >= change->timeout_ms) { return fail_late(change, error); }
    *over = false;
    return TN_OK;
}

static enum tn_status wait_done(struct change *change, struct error *error)
{
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    for (;;) {
        bool over = false;
        const uint64_t now_ms = clock_monotonic_ms();
        enum tn_status status = look(change, now_ms - notice.start_ms, &over, error);
        if (over) { return status; }
        if (wait_notice_due(&notice, now_ms)) {
            (void)fprintf(stderr, "still waiting after %" PRIu64 " s (%s)\n",
                          wait_notice_seconds(&notice, now_ms),
                          change_state_name(change->request.state));
        }
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* The rest of the request. Another number of ps without --balance has equal parts. */
static enum tn_status complete(struct change *change, const struct spec *spec, struct error *error)
{
    struct change_request *request = &change->request;
    const bool resizes = request->strategy == CHANGE_BY_PS && request->workers == 0;
    if (!resizes && request->ps == spec->ps) { request->rows = spec->rows; }
    if (!change->balances) { return TN_OK; }
    const enum tn_status status = balance_measure(change->sync, change->target.cluster, spec,
                                                  request->ps, &change->balance, error);
    request->rows = change->balance.rows;
    return status;
}

static enum tn_status carry_out(struct change *change, struct error *error)
{
    struct spec spec;
    enum tn_status status = target_open(&change->target, &change->sync, &spec, &change->job, error);
    if (status == TN_OK) { status = check_not_ended(change, error); }
    if (status == TN_OK) {
        /* Jobs of other programs have none in /spec. */
        change->job.cluster.ps = spec.ps;
        settle(change);
        status = check_wanted(change, error);
    }
    if (status == TN_OK) { status = complete(change, &spec, error); }
    if (status == TN_OK) { status = send(change, error); }
    if (status == TN_OK) {
        status = wait_done(change, error);
        if (status == TN_ETIMEDOUT || status == TN_EEXPIRED) {
            (void)error_context(error, "the change may be made all the same, see `tanist status`");
        }
    }
    zk_sync_close(change->sync); /* With the request. */
    return status;
}

/* -------------------------------------------------------------- the result */

static int print_done(const struct change *change, bool json, uint64_t took_ms)
{
    const struct change_request *done = &change->request;
    const struct balance *balance = change->balances ? &change->balance : NULL;
    if (json) {
        json_t *root =
            json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "version", 1, "cluster",
                      change->target.cluster, "change", done->text, "ps_before",
                      (json_int_t)change->job.cluster.ps, "ps", (json_int_t)done->ps, "step",
                      (json_int_t)done->step, "steps_redone", (json_int_t)done->steps_redone,
                      "paused_ms", (json_int_t)done->paused_ms, "took_ms", (json_int_t)took_ms);
        if (root != NULL && done->workers > 0) {
            json_object_set_new(root, "workers_before", json_integer(change->job.cluster.workers));
            json_object_set_new(root, "workers", json_integer(done->workers));
        }
        if (root != NULL && balance != NULL) {
            json_object_set_new(root, "imbalance_before", json_real(balance->imbalance_before));
            json_object_set_new(root, "imbalance_expected", json_real(balance->imbalance));
        }
        return output_json(root, JSON_INDENT(2));
    }
    if (balance != NULL) {
        (void)fprintf(stderr,
                      "%s: the busiest ps had %.2f times the mean load of rows, and is expected to "
                      "have %.2f times\n",
                      change->target.cluster, balance->imbalance_before, balance->imbalance);
    }
    (void)fprintf(stderr,
                  "%s: %s; training continues from step %" PRIu64 " after a pause of %" PRIu64
                  " ms\n",
                  change->target.cluster, done->text, done->step, done->paused_ms);
    return TN_EXIT_OK;
}

int change_workers(const struct target *target, uint32_t workers, uint64_t timeout_ms, bool json)
{
    struct error error = {0};
    const uint64_t start_ms = clock_monotonic_ms();
    struct change *change = calloc(1, sizeof *change);
    assert(workers > 0);
    if (change == NULL) { return TN_EXIT_ERROR; }
    change->target = *target;
    change->request.workers = workers;
    change->timeout_ms = timeout_ms;
    const int exit_code = carry_out(change, &error) == TN_OK
                              ? print_done(change, json, clock_monotonic_ms() - start_ms)
                              : command_failed(&error);
    free(change);
    return exit_code;
}

static int command(struct options *options, int argc, char **argv,
                   enum tn_status (*read)(const struct options *options,
                                          struct change_request *wanted, struct error *error))
{
    struct target_options given = {0};
    struct option_number timeout_s = {.value = EFFECT_S};
    const char *output = NULL;
    bool balances = false;
    const uint64_t start_ms = clock_monotonic_ms();
    int exit_code = 0;
    struct error error = {0};
    target_options_add(options, &given);
    options_seconds(options, "timeout", &timeout_s, 0,
                    "How long to wait until training continues; default 120.");
    const bool resizes = read == change_read_resize;
    if (resizes) {
        options_flag(options, 0, "balance", &balances,
                     "Move the borders between the rows of tables on the ps, so that each ps has "
                     "about the same load, as measured since the ps started.");
    }
    output_option_text(options, &output);
    if (!options_parse(options, argc, argv, &exit_code)) { return exit_code; }
    if (resizes && options->argument_count == 0 && !balances) {
        return options_refuse(options, "an argument is missing: give ps=N, --balance, or both");
    }
    struct change *change = calloc(1, sizeof *change);
    if (change == NULL) { return TN_EXIT_ERROR; }
    change->timeout_ms = timeout_s.value * 1000;
    change->balances = balances;
    enum tn_status status = read(options, &change->request, &error);
    if (status == TN_OK) { status = target_find(&given, &change->target, &error); }
    if (status == TN_OK) { status = carry_out(change, &error); }
    exit_code = status != TN_OK
                    ? command_failed(&error)
                    : print_done(change, output_is_json(output), clock_monotonic_ms() - start_ms);
    free(change);
    return exit_code;
}

int command_resize(int argc, char **argv)
{
    struct options options = {
        .command = "resize",
        .synopsis = "[ps=N] [--balance] " TARGET_SYNOPSIS,
        .about =
            "Change the number of ps of a run of `tanist run` while it trains, or which rows of "
            "tables each ps has:\nall nodes stop at a checkpoint and start again, and each ps "
            "reads the parameters and rows that it owns\nfrom the shards of the previous ps. No "
            "step "
            "is repeated, and the result has the same bits.",
        .examples = "  tanist resize ps=5 --dir runs/fashion-mnist\n"
                    "  tanist resize --balance --dir runs/ctr\n"
                    "  tanist resize ps=4 --balance --dir runs/ctr -o json\n",
        .arguments_least = 0,
        .arguments_most = 1};
    return command(&options, argc, argv, change_read_resize);
}

int command_strategy(int argc, char **argv)
{
    struct options options = {
        .command = "strategy",
        .synopsis = "mirror|ps|group [ps=N] [members=N] " TARGET_SYNOPSIS,
        .about = "Change the strategy of a run of `tanist run` while it trains: without ps "
                 "(mirror), with N ps, or\nwith groups of workers, of N members each. The number "
                 "of ps is that of before, or 2. All nodes stop and\nstart again from a "
                 "checkpoint; the result has the same bits.",
        .examples = "  tanist strategy mirror --dir runs/fashion-mnist\n"
                    "  tanist strategy ps ps=3 --dir runs/fashion-mnist\n"
                    "  tanist strategy group members=2 --dir runs/group\n",
        .arguments_least = 1,
        .arguments_most = 3};
    return command(&options, argc, argv, change_read_strategy);
}
