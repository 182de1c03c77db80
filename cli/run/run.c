/* cli/run/run.c: `tanist run`: a whole cluster on this machine, until the job is done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/run/cluster_create.h"
#include "cli/run/local_run.h"
#include "cli/run/node.h"
#include "cli/run/progress.h"
#include "cli/run/result.h"
#include "cli/run/validate.h"
#include "cli/run_folder.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/cluster/bootstrap.h"

enum { RUN_OPTIONS = 13, SERVERS_WAIT_S = 60 };

struct run_options {
    const char *dir, *zk, *zk_config, *credentials, *output, *networks;
    bool resume, allow_chaos, quiet, verbose;
    struct option_number seed, wait;
    struct option_texts set;
};

static const char *const outputs[] = {"text", "json", NULL};

static void fill_options(struct run_options *o, struct option rows[static RUN_OPTIONS])
{
    const struct option all[RUN_OPTIONS] = {
        {"dir", 0, OPTION_TEXT, &o->dir, "DIR", NULL,
         "Everything of the run is kept there; default runs/NAME."},
        {"resume", 0, OPTION_FLAG, &o->resume, NULL, NULL,
         "Go on from DIR's last checkpoint, also of a finished run."},
        {"seed", 0, OPTION_COUNT, &o->seed, "N", NULL, "The same as --set seed=N."},
        {"set", 0, OPTION_TEXTS, &o->set, "KEY=VALUE", NULL,
         "Override a key of the job file (`tanist help job`)."},
        {"zk", 0, OPTION_TEXT, &o->zk, "CONNECT", NULL,
         "Use this ZooKeeper (h1:2181,h2:2181/chroot), start none."},
        {"zk-config", 0, OPTION_TEXT, &o->zk_config, "FILE", NULL,
         "Use the ZooKeeper of this zoo.cfg, start none."},
        {"zk-credentials", 0, OPTION_TEXT, &o->credentials, "FILE", NULL,
         "File with user:password (or TANIST_ZK_CREDENTIALS)."},
        {"output", 'o', OPTION_CHOICE, &o->output, "text|json", outputs,
         "Form of the result on stdout; default text."},
        {"wait", 0, OPTION_COUNT, &o->wait, "SECONDS", NULL,
         "How long to wait for ZooKeeper; default 60, with --zk 20."},
        {"allow-chaos", 0, OPTION_FLAG, &o->allow_chaos, NULL, NULL,
         "Let `tanist kill` and `tanist chaos` signal the nodes, through ZooKeeper."},
        {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, NULL, "No progress on stderr."},
        {"verbose", 'v', OPTION_FLAG, &o->verbose, NULL, NULL, "More words on stderr."},
        {"networks", 0, OPTION_TEXT, &o->networks, "FILE", NULL, NULL},
    };
    memcpy(rows, all, sizeof all);
}

static enum tn_status read_job(const struct run_options *o, const char *path, struct job *job,
                               struct error *error)
{
    char seed[40];
    job_init(job);
    enum tn_status status = job_read_file(job, path, error);
    for (size_t i = 0; status == TN_OK && i < o->set.count; i++) {
        status = job_set(job, o->set.items[i], error);
        if (status != TN_OK) { (void)error_context(error, "--set"); }
    }
    if (status != TN_OK || !o->seed.given) { return status; }
    snprintf(seed, sizeof seed, "seed=%" PRIu64, o->seed.value);
    status = job_set(job, seed, error);
    return status == TN_OK ? TN_OK : error_context(error, "--seed");
}

static const char *status_of(const struct agent_result *result)
{
    if (!result->job_ended || result_run_was_stopped(&result->run)) { return "stopped"; }
    return result->run.phase == RUN_DONE ? "done" : "failed";
}

/* What the run came to, in words; a finished one is kept as such. Its exit code. */
static int judge(const struct local_run *run, const char *json)
{
    const struct agent_result *result = &run->agent_result;
    struct error error;
    if (!result->job_ended) {
        fprintf(stderr,
                "stopped at checkpoint %" PRIu64 " of step %" PRIu64
                "; the same command goes on from there\n",
                result->run.committed_checkpoint, result->run.committed_step);
        return 128 + result->signal;
    }
    if (result_run_was_stopped(&result->run)) {
        fprintf(stderr, RUN_STOPPED_REASON "; the same command goes on with it\n");
        return TN_EXIT_OK;
    }
    if (result->run.phase == RUN_FAILED) {
        fprintf(stderr,
                "tanist: the job failed: %s; once that is mended the same command goes on from "
                "checkpoint %" PRIu64 "\n",
                result->run.reason, result->run.committed_checkpoint);
        return TN_EXIT_ERROR;
    }
    if (json != NULL && run_folder_finish(&run->folder, json, &error) != TN_OK) {
        fprintf(stderr, "tanist: %s\n", error.text);
    }
    return TN_EXIT_OK;
}

static bool print_text(const char *text, bool line_end)
{
    if (text == NULL) { return true; }
    return fputs(text, stdout) >= 0 && (!line_end || putchar('\n') != EOF) && fflush(stdout) == 0;
}

/* Print the result; the program's exit code. */
static int conclude(const struct run_options *o, struct local_run *run)
{
    const struct agent_result *result = &run->agent_result;
    const char *status = status_of(result);
    bool json = o->output != NULL && strcmp(o->output, "json") == 0;
    char *object = result->has_run ? result_json(&run->result, &result->run, status) : NULL;
    char *words = result->has_run ? result_text(&run->result, &result->run, status) : NULL;
    int exit_code = judge(run, object);
    if (!print_text(json ? object : words, json)) { exit_code = TN_EXIT_IO; }
    free(object);
    free(words);
    return exit_code;
}

static enum tn_status run_job(const struct run_options *o, const char *path, struct local_run *run,
                              struct error *error)
{
    char dir[RUN_PATH_MAX];
    enum tn_status status = read_job(o, path, &run->job, error);
    if (status == TN_OK) { status = validate_job(&run->job, &run->variables, error); }
    if (status != TN_OK) { return status; }
    status = target_connect(o->zk, o->zk_config, run->connect, error);
    if (status == TN_OK) { status = target_credentials(o->credentials, run->credentials, error); }
    if (status == TN_OK && o->networks != NULL) {
        status = networks_read(&run->networks, o->networks, error);
    }
    if (status != TN_OK) { return status; }
    run->own_ensemble = !*run->connect;
    run->allow_chaos = o->allow_chaos;
    uint64_t wait_s = o->wait.given ? o->wait.value : run->own_ensemble ? SERVERS_WAIT_S : 20;
    run->connect_timeout_ms = (uint32_t)(wait_s < 86400 ? wait_s : 86400) * 1000;
    snprintf(dir, sizeof dir, "runs/%s", run->job.name);
    status =
        run_folder_open(&run->folder, o->dir != NULL ? o->dir : dir, &run->job, o->resume, error);
    if (status != TN_OK) { return status; }
    if (o->quiet) { run->progress.quiet = true; }
    return local_run_work(run, error);
}

int command_run(int argc, char **argv)
{
    struct run_options given = {0};
    struct option rows[RUN_OPTIONS];
    int exit_code = 0;
    fill_options(&given, rows);
    struct options options = {
        .command = "run",
        .synopsis = "JOB.json [OPTION]...",
        .about =
            "Train a job with a whole cluster on this machine: a ZooKeeper ensemble, coordinators, "
            "ps and\nworkers. What dies is started again. A DIR with an unfinished run of the same "
            "job is resumed.\nExit status: 0 done or ended by `tanist stop`, 1 failed, 130 and 143 "
            "stopped by a signal;\n"
            "others: docs/exit-codes.md.",
        .examples =
            "  tanist run examples/fashion-mnist.json\n"
            "  tanist run examples/fashion-mnist.json --dir /tmp/x --set train.steps=500 -o "
            "json\n"
            "  tanist run job.json --zk h1:2181,h2:2181,h3:2181/chroot\n",
        .list = rows,
        .count = RUN_OPTIONS,
        .arguments_least = 1,
        .arguments_most = 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct local_run *run = calloc(1, sizeof *run);
    struct error error = {0};
    if (run == NULL) { return TN_EXIT_ERROR; }
    log_init(given.verbose ? LOG_DEBUG : LOG_WARN, LOG_TEXT, "agent");
    local_run_init(run);
    if (run_job(&given, options.arguments[0], run, &error) == TN_OK) {
        exit_code = conclude(&given, run);
    } else {
        exit_code = command_failed(&error);
    }
    local_run_free(run);
    free(run);
    return exit_code;
}
