/* cli/run/run.c: `tanist run`: a whole cluster on this machine, until the job is done. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/model/evaluate.h"
#include "cli/output.h"
#include "cli/plan/memory_check.h"
#include "cli/plan/validate.h"
#include "cli/run/local_options.h"
#include "cli/run/one_process.h"
#include "cli/run/stored_digest.h"
#include "cli/run/warm_options.h"
#include "common/job/strategy.h"
#include "data/dataset.h"
#include "data/job_columns.h"
#include "model/model.h"

enum { SERVERS_WAIT_S = 60, CONNECT_WAIT_S = 20 };

struct run_options {
    struct local_options local;
    const char *output, *networks;
    struct option_number seed;
    struct warm_options warm;
};

static enum tn_status read_job(const struct run_options *given, const char *path, struct job *job,
                               struct error *error)
{
    char seed[40];
    enum tn_status status = read_job_argument(job, path, error);
    if (status == TN_OK) { status = override_keys(job, &given->local.set, error); }
    if (status != TN_OK || !given->seed.given) { return status; }
    snprintf(seed, sizeof seed, "seed=%" PRIu64, given->seed.value);
    status = job_set(job, seed, error);
    return status == TN_OK ? TN_OK : error_context(error, "--seed");
}

static const char *status_of(const struct local_run *run)
{
    const struct agent_result *result = &run->agent_result;
    if (*run->result.damage.text) { return "failed"; }
    if (!result->job_ended || result_run_was_stopped(&result->run)) { return "stopped"; }
    return result->run.phase == RUN_DONE ? "done" : "failed";
}

/* With tables, workers evaluate rows of which no worker has all: the digest of all parameters is
 * that of the checkpoint of the same step. */
static void set_digest(struct local_run *run)
{
    struct run *ended = &run->agent_result.run;
    struct digest stored;
    run->result.digest_unknown = ended->evaluation.step != ended->committed_step ||
                                 !digest_parse(run->result.checkpoint_digest, &stored);
    if (run->result.digest_unknown) { return; }
    ended->evaluation.digest[0] = stored.low;
    ended->evaluation.digest[1] = stored.high;
}

/* Read the last checkpoint of a finished run back from the disk. */
static void check_checkpoint(struct local_run *run)
{
    struct error error = {0};
    char folder[RUN_PATH_MAX];
    assert(run->agent_result.run.phase == RUN_DONE);
    run_folder_path(&run->folder, "checkpoints", folder);
    enum tn_status status =
        stored_digest_check(folder, &run->agent_result.run, &run->variables, &run->job,
                            run->result.checkpoint_digest, &run->result, &error);
    if (run->variables.row_table_count > 0) { set_digest(run); }
    if (status == TN_ENOENT) {
        output_message(LOG_ERROR, "the last checkpoint was not read back: %s", error.text);
    } else if (status != TN_OK) {
        run->result.damage = error;
    }
}

/* With a validation split no evaluation has used the test set. */
static void evaluate_test(struct local_run *run)
{
    struct result *result = &run->result;
    struct error error = {0};
    if (!dataset_has_validation(&run->job)) { return; }
    result->has_test = evaluate_test_set(run->folder.dir, &result->test_loss,
                                         &result->test_accuracy, &error) == TN_OK;
    if (!result->has_test) {
        output_message(LOG_WARN, "the test set was not evaluated: %s", error.text);
    }
}

/* Report how the run ended. Writes the result of a finished run into the folder. Returns the exit
 * code. */
static int report_end(const struct local_run *run, const char *json)
{
    const struct agent_result *result = &run->agent_result;
    struct error error;
    assert(json == NULL || run->agent_result.has_run);
    if (!result->job_ended && result->run.committed_checkpoint == 0) {
        output_message(LOG_INFO,
                       "stopped by %s before the first checkpoint, so no step is kept; the same "
                       "command begins the run again",
                       result->signal != 0 ? "a signal" : "`tanist drain`");
        return result->signal != 0 ? 128 + result->signal : TN_EXIT_OK;
    }
    if (!result->job_ended) {
        output_message(LOG_INFO,
                       "stopped by %s; checkpoint %" PRIu64 " is of step %" PRIu64
                       "; the same command continues from there%s",
                       result->signal != 0 ? "a signal" : "`tanist drain`",
                       result->run.committed_checkpoint, result->run.committed_step,
                       result->drained ? ", and no step is lost"
                                       : "; the nodes were killed, so later steps are lost");
        return result->signal != 0 ? 128 + result->signal : TN_EXIT_OK;
    }
    if (result_run_was_stopped(&result->run)) {
        output_message(LOG_INFO, RUN_STOPPED_REASON "; the same command continues the run");
        return TN_EXIT_OK;
    }
    if (result->run.phase == RUN_FAILED) {
        output_message(LOG_ERROR,
                       "the job failed: %s; after repairing the cause, the same command continues "
                       "from checkpoint %" PRIu64,
                       result->run.reason, result->run.committed_checkpoint);
        return TN_EXIT_ERROR;
    }
    if (*run->result.damage.text) { return command_failed(&run->result.damage); }
    if (json != NULL && run_folder_finish(&run->folder, json, &error) != TN_OK) {
        output_message(LOG_ERROR, "%s", error.text);
    }
    return TN_EXIT_OK;
}

/* Returns the exit code. */
static int print_text(const char *text, bool line_end, int exit_code)
{
    if (text != NULL) { (void)printf("%s%s", text, line_end ? "\n" : ""); }
    return output_end(exit_code);
}

/* Print the result. Returns the exit code. */
static int conclude(void *ctx, struct local_run *run)
{
    const struct run_options *given = ctx;
    const struct agent_result *result = &run->agent_result;
    if (result->job_ended && result->run.phase == RUN_DONE) {
        check_checkpoint(run);
        evaluate_test(run);
    }
    const char *status = status_of(run);
    const bool wants_json = output_is_json(given->output);
    char *json = result->has_run ? result_json(&run->result, &result->run, status) : NULL;
    char *text = result->has_run ? result_text(&run->result, &result->run, status) : NULL;
    int exit_code = report_end(run, json);
    exit_code = print_text(wants_json ? json : text, wants_json, exit_code);
    free(json);
    free(text);
    return exit_code;
}

/* ------------------------------------------------------------- one process */

static enum tn_status refuse_option(const char *option, const char *reason, struct error *error)
{
    return error_set(error, TN_EINVAL,
                     "%s has no meaning with --local (strategy.type local), %s: leave it out",
                     option, reason);
}

static enum tn_status check_one_process(const struct run_options *given, struct error *error)
{
    const struct local_options *local = &given->local;
    const struct zk_options *zk = &local->zk;
    const struct {
        const char *option;
        bool given;
        const char *reason;
    } rows[] = {
        {"--zk", zk->connect != NULL, "which uses no ZooKeeper"},
        {"--zk-config", zk->config != NULL, "which uses no ZooKeeper"},
        {"--zk-credentials", zk->credentials != NULL, "which uses no ZooKeeper"},
        {"--wait", local->wait.given, "which waits for no ZooKeeper"},
        {"--networks", given->networks != NULL, "which starts no nodes"},
        {"--allow-chaos", local->allow_chaos, "which starts no nodes"},
        {"--log-max-size", local->log_bytes.given, "which starts no nodes with logs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].given) { return refuse_option(rows[i].option, rows[i].reason, error); }
    }
    return TN_OK;
}

/* A run of a cluster has its state in ZooKeeper, too. A finished one is moved aside. */
static enum tn_status check_folder(const struct run_options *given, const struct job *job,
                                   struct error *error)
{
    char dir[RUN_PATH_MAX];
    local_options_folder(&given->local, job, dir);
    if (!run_folder_has_cluster(dir)) { return TN_OK; }
    if (run_folder_has_result(dir) && !given->local.resume) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s contains the run of a cluster, whose state is in ZooKeeper: continue it "
                     "without --local (strategy.type local), or give another --dir",
                     dir);
}

static enum tn_status run_in_one_process(const struct run_options *given, struct local_run *run,
                                         struct error *error)
{
    enum tn_status status = check_one_process(given, error);
    if (status == TN_OK) { status = check_folder(given, &run->job, error); }
    if (status == TN_OK) {
        status = validate_job(&run->job, &run->variables, &run->columns, NULL, error);
    }
    if (status == TN_OK) {
        status = local_options_open_folder(&given->local, given->local.resume, run, error);
    }
    return status == TN_OK ? one_process_work(run, error) : status;
}

/* --------------------------------------------------------------- a cluster */

static enum tn_status check_memory(const struct local_run *run, const struct memory_data *data,
                                   struct error *error)
{
    return memory_plan_check(&run->job, &run->variables, data, memory_of_machine(), error);
}

static enum tn_status warn_of_memory(const struct local_run *run, struct error *error)
{
    struct memory_plan plan;
    const enum tn_status status =
        memory_plan_make(&run->job, &run->variables, &run->memory_data, &plan, error);
    if (status == TN_OK) { memory_plan_warn(&plan, memory_of_machine()); }
    return status;
}

/* Before anything is allocated, and before the data are loaded. */
static enum tn_status check_parameters(struct local_run *run, struct error *error)
{
    enum tn_status status = job_check(&run->job, error);
    if (status == TN_OK) { status = model_describe(&run->job, &run->variables, error); }
    if (status == TN_OK) {
        status = variable_table_check_ps(&run->variables, strategy_shards(&run->job), error);
    }
    return status == TN_OK ? check_memory(run, NULL, error) : status;
}

static enum tn_status run_on_cluster(const struct run_options *given, struct local_run *run,
                                     struct error *error)
{
    enum tn_status status = check_parameters(run, error);
    if (status != TN_OK) { return status; }
    status = validate_job(&run->job, &run->variables, &run->columns, &run->memory_data, error);
    if (status == TN_OK) { status = check_memory(run, &run->memory_data, error); }
    if (status == TN_OK) { status = warn_of_memory(run, error); }
    if (status == TN_OK) { status = local_options_read_zk(&given->local, run, error); }
    if (status == TN_OK && given->networks != NULL) {
        status = networks_read(&run->networks, given->networks, error);
    }
    if (status != TN_OK) { return status; }
    run->own_ensemble = !*run->connect;
    return local_options_work(&given->local, run->own_ensemble ? SERVERS_WAIT_S : CONNECT_WAIT_S,
                              given->local.resume, run, error);
}

/* TN_EAGAIN: a signal, `tanist drain` or `tanist stop` before it began. */
static enum tn_status end_of(const struct local_run *run)
{
    const struct agent_result *result = &run->agent_result;
    if (!result->job_ended || result_run_was_stopped(&result->run)) { return TN_EAGAIN; }
    return result->run.phase == RUN_DONE ? TN_OK : TN_EUNHEALTHY;
}

static enum tn_status run_settled(const struct run_options *given, struct local_run *run,
                                  struct error *error)
{
    char dir[RUN_PATH_MAX];
    bool exported = false;
    strategy_settle(&run->job);
    enum tn_status status = job_columns_settle(&run->job, error);
    if (status != TN_OK) { return status; }
    local_options_folder(&given->local, &run->job, dir);
    status =
        warm_options_apply(&given->warm, dir, given->local.resume, &run->job, &exported, error);
    if (status != TN_OK) { return status; }
    run_hooks_open(&run->hooks, &run->job);
    status = strategy_of_job(&run->job)->on_cluster ? run_on_cluster(given, run, error)
                                                    : run_in_one_process(given, run, error);
    run_hooks_close(&run->hooks, status == TN_OK ? end_of(run) : status);
    const bool begun = run->folder.dir[0] != '\0';
    if (exported && !begun) { (void)unlink(run->job.model.warm_start); }
    return status;
}

static enum tn_status run_job(void *ctx, const char *path, struct local_run *run,
                              struct error *error)
{
    const struct run_options *given = ctx;
    enum tn_status status = read_job(given, path, &run->job, error);
    if (status != TN_OK) { return status; }
    if (given->local.one_process) { run->job.strategy.type = STRATEGY_TYPE_LOCAL; }
    const bool created = local_options_use_index(&given->local, &run->job);
    status = run_settled(given, run, error);
    if (status != TN_OK && created) { local_options_drop_index(&given->local, run); }
    return status;
}

static void add_options(struct options *options, struct run_options *given)
{
    local_options_add(options, &given->local,
                      "How long to wait for ZooKeeper; default 60, with --zk 20.");
    options_flag(options, 0, "local", &given->local.one_process,
                 "The same as --set strategy.type=local: train in this process, without "
                 "ZooKeeper and nodes.");
    options_number(options, "seed", &given->seed, "N", "The same as --set seed=N.");
    warm_options_add(options, &given->warm);
    output_option_text(options, &given->output);
    options_text(options, "networks", &given->networks, "FILE", NULL);
}

int command_run(int argc, char **argv)
{
    struct run_options given = {0};
    struct options options = {
        .command = "run",
        .synopsis = "JOB.json [OPTION]...",
        .about =
            "Train a job with a whole cluster on this machine: coordinators, ps, workers and, "
            "without --zk,\na ZooKeeper ensemble. Processes that die are restarted. With --local, "
            "train it in one process.\nAn unfinished run of the same job in DIR is continued.\n"
            "Exit status: 0 the job is done or was ended by `tanist stop`, 1 it failed, 130 or 143 "
            "stopped by\na signal; docs/exit-codes.md lists the others.",
        .examples =
            "  tanist run examples/fashion-mnist.json\n"
            "  tanist run examples/fashion-mnist.json --dir /tmp/x --set train.steps=500 -o "
            "json\n"
            "  tanist run --local examples/quick.json\n"
            "  tanist run job.json --zk h1:2181,h2:2181,h3:2181/chroot\n",
        .arguments_least = job_has_program() ? 0 : 1,
        .arguments_most = 1};
    add_options(&options, &given);
    return local_options_command(&options, argc, argv, &given.local, run_job, conclude, &given);
}
