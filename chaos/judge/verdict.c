#include "chaos/judge/verdict.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "agent/process.h"
#include "chaos/judge/verdict_checks.h"
#include "checker/judge.h"
#include "common/base/files.h"

enum {
    PATH_BYTES = TARGET_PATH_MAX + 64,
    VERIFY_MS = 60000,
    VERIFIED_BYTES_MAX = 4 << 20,
    EXIT_GRACE_MS = 3000, /* For processes that still exit when the run has ended. */
    ENSEMBLES_MAX = VERDICT_FORMER_MAX + 1,
};

/* ----------------------------------------------------------------- orders */

/* Files that help to diagnose a failed round: the orders that the checker saw, DIR/orders.txt, and
 * the last znodes, DIR/znodes.txt. A file that cannot be written does not change the verdict. */
struct artifacts {
    FILE *orders, *znodes;
};

static FILE *open_artifact(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "we");
}

static void on_order(void *ctx, uint64_t wall_ms, const char *text)
{
    const struct artifacts *artifacts = ctx;
    char time[TIME_TEXT_MAX];
    clock_format(wall_ms, time);
    if (artifacts->orders != NULL) { (void)fprintf(artifacts->orders, "%s %s\n", time, text); }
}

static void on_znode(void *ctx, const char *path, uint64_t owner, const void *data, size_t size)
{
    FILE *file = ((const struct artifacts *)ctx)->znodes;
    if (file == NULL) { return; }
    (void)fprintf(file, "%s%s ", path, owner != 0 ? " (ephemeral)" : "");
    if (size > 0) { (void)fwrite(data, 1, size, file); }
    (void)fputc('\n', file);
}

static void close_artifacts(struct artifacts *artifacts)
{
    if (artifacts->orders != NULL) { (void)fclose(artifacts->orders); }
    if (artifacts->znodes != NULL) { (void)fclose(artifacts->znodes); }
}

/* Run the checker over the transactions of all ensembles of the round. */
static enum tn_status judge_ensembles(const struct verdict_input *input, struct judgement *out,
                                      struct error *error)
{
    char last[PATH_BYTES];
    const char *folders[ENSEMBLES_MAX];
    struct artifacts artifacts = {.orders = open_artifact(input->cluster->dir, "orders.txt"),
                                  .znodes = open_artifact(input->cluster->dir, "znodes.txt")};
    struct judge_input judged = {.job = input->cluster->job,
                                 .ensembles = folders,
                                 .on_event = on_order,
                                 .on_znode = on_znode,
                                 .ctx = &artifacts};
    assert(input->former_count <= VERDICT_FORMER_MAX);
    for (uint32_t i = 0; i < input->former_count; i++) {
        folders[judged.ensemble_count++] = input->former_zookeepers[i];
    }
    (void)snprintf(last, sizeof last, "%s/zookeeper", input->cluster->run_dir);
    folders[judged.ensemble_count++] = last;
    enum tn_status status = judge_run(&judged, out, error);
    close_artifacts(&artifacts);
    return status;
}

static void check_transactions(json_t *checks, const struct verdict_input *input)
{
    struct judgement judgement;
    struct error error = {0};
    assert(input->former_count == 0 || input->former_zookeepers != NULL);
    if (input->former_count > VERDICT_FORMER_MAX) {
        verdict_add(checks, "orders", false, "the ensemble was wiped %u times; the limit is %d",
                    input->former_count, VERDICT_FORMER_MAX);
        return;
    }
    if (judge_ensembles(input, &judgement, &error) != TN_OK) {
        verdict_add_error(checks, "orders", &error);
        verdict_add_error(checks, "znodes", &error);
        return;
    }
    verdict_check_orders(checks, &judgement, input->former_count + 1);
    verdict_check_znodes(checks, &judgement, input->cluster->job, input->baseline,
                         verdict_count_unloadable(input->history));
}

enum tn_status verdict_count_znodes(const char *run_dir, uint64_t *count, struct error *error)
{
    char folder[PATH_BYTES], path[PATH_BYTES];
    const char *const folders[] = {folder};
    struct judgement judgement;
    struct job *job = malloc(sizeof *job);
    assert(run_dir != NULL);
    if (job == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    job_init(job);
    (void)snprintf(folder, sizeof folder, "%s/zookeeper", run_dir);
    (void)snprintf(path, sizeof path, "%s/job.json", run_dir);
    const struct judge_input input = {.job = job, .ensembles = folders, .ensemble_count = 1};
    enum tn_status status = job_read_file(job, path, error);
    if (status == TN_OK) { status = judge_run(&input, &judgement, error); }
    if (status == TN_OK) { *count = judgement.znodes; }
    free(job);
    return status;
}

/* ------------------------------------------------------------ checkpoints */

/* The JSON in the program's output, which may begin with warnings. NULL: there is none. */
static json_t *read_verified(const char *path, struct error *error)
{
    char *text = NULL;
    size_t size;
    if (files_read(path, VERIFIED_BYTES_MAX, &text, &size, error) != TN_OK) { return NULL; }
    const char *start = strchr(text, '{');
    json_t *json = start != NULL ? json_loads(start, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    if (json == NULL) {
        (void)error_set(error, TN_ECORRUPT, "checkpoints verify printed no JSON: %.400s", text);
    }
    free(text);
    return json;
}

/* The output of `tanist checkpoints verify`, a new reference. NULL: an error. */
static json_t *verify_checkpoints(const struct target_cluster *cluster, struct error *error)
{
    char path[PATH_BYTES];
    const char *const arguments[] = {"tanist",         "checkpoints", "verify", "--dir",
                                     cluster->run_dir, "-o",          "json",   NULL};
    struct process process;
    int exit_code, signal_number;
    (void)snprintf(path, sizeof path, "%s/verified.json", cluster->dir);
    (void)unlink(path);
    /* It is not part of the run: it has the harness's environment, without the mark. */
    const struct process_config config = {.program = cluster->program,
                                          .arguments = arguments,
                                          .environment = environ,
                                          .log_path = path};
    if (process_start(&config, &process, error) != TN_OK) { return NULL; }
    if (process_wait(&process, VERIFY_MS, &exit_code, &signal_number)) {
        return read_verified(path, error);
    }
    (void)kill(process.pid, SIGKILL);
    process_reap(&process, &exit_code, &signal_number);
    (void)error_set(error, TN_ETIMEDOUT, "checkpoints verify did not end within %d s",
                    VERIFY_MS / 1000);
    return NULL;
}

static void check_checkpoints(json_t *checks, const struct verdict_input *input)
{
    struct error error = {0};
    json_t *verified = verify_checkpoints(input->cluster, &error);
    if (verified == NULL) {
        verdict_add_error(checks, "checkpoints", &error);
    } else {
        verdict_check_checkpoints(checks, verified, input->history);
    }
    json_decref(verified);
}

/* ---------------------------------------------------------------- verdict */

json_t *verdict_make(const struct verdict_input *input)
{
    const struct target_cluster *cluster = input->cluster;
    json_t *checks = json_array();
    char log[PATH_BYTES];
    assert(cluster != NULL);
    assert(input->history != NULL);
    if (checks == NULL) { return NULL; }
    if (!input->may_be_idle) { verdict_check_faults(checks, input->history, input->allowed_skips); }
    verdict_check_ended(checks, input->exit_code, input->result);
    verdict_check_result(checks, cluster->job->train.mode, input->baseline, input->result);
    verdict_check_pace(checks, cluster->job, input->result, input->former_count > 0);
    check_transactions(checks, input);
    check_checkpoints(checks, input);
    verdict_check_refusals(checks, input->history);
    (void)snprintf(log, sizeof log, "%s/run.log", cluster->dir);
    verdict_check_crashes(checks, log, cluster->run_dir);
    verdict_check_exits(checks, log, input->history);
    verdict_check_recovery(checks, input->history, input->recover_within_ms);
    verdict_check_resources(checks, input->history);
    verdict_check_disk(checks, cluster->run_dir, cluster->job->checkpoint.keep,
                       verdict_count_unloadable(input->history));
    verdict_check_nothing_left(checks, input->mark, cluster->dir, cluster->run_dir, EXIT_GRACE_MS);
    return verdict_of_checks(checks);
}
