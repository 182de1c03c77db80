#include "cli/run/local_options.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/plan/validate.h"
#include "common/base/files.h"
#include "common/base/log_file.h"
#include "common/base/stop_signals.h"
#include "data/source/index.h"

void local_options_add(struct options *options, struct local_options *given, const char *wait_help)
{
    options_text(options, "dir", &given->dir, "DIR",
                 "Folder for everything the run writes; default runs/NAME.");
    options_settings(options, &given->set);
    options_flag(options, 0, "resume", &given->resume,
                 "Continue from the last checkpoint even if the run has finished, or with another "
                 "learning rate, number of ps or strategy.");
    zk_options_add(options, &given->zk);
    options_seconds(options, "wait", &given->wait, 1, wait_help);
    options_flag(options, 0, "allow-chaos", &given->allow_chaos,
                 "Let `tanist kill` and `tanist chaos attack` send signals to the nodes.");
    options_flag(options, 'q', "quiet", &given->quiet, "Print no progress on stderr.");
    options_flag(options, 'v', "verbose", &given->verbose, "Print debug messages on stderr.");
    log_options_add(options, &given->log,
                    "Lowest level of messages that are logged; default for this command warn (with "
                    "--log-format json: info), for its nodes info.");
    options_number(
        options, "log-max-size", &given->log_bytes, "BYTES",
        "Size at which a log of a node or server is rotated; default 16777216. Three old "
        "files of each are kept.");
}

/* A run with the defaults of the options; also starts the log. NULL: out of memory. */
static struct local_run *new_run(const struct local_options *given)
{
    struct local_run *run = calloc(1, sizeof *run);
    if (run == NULL) { return NULL; }
    /* In JSON the progress is part of the log, as messages of level info. */
    const enum log_level level =
        given->log.format != NULL && output_is_json(given->log.format) ? LOG_INFO : LOG_WARN;
    log_options_start(&given->log, given->verbose ? LOG_DEBUG : level,
                      given->one_process ? "local" : "agent");
    local_run_init(run);
    run->log_format = given->log.format;
    run->log_level = given->log.level;
    run->log_bytes = given->log_bytes.given ? given->log_bytes.value : LOG_FILE_DEFAULT_BYTES;
    run->allow_chaos = given->allow_chaos;
    run->progress.quiet = given->quiet;
    return run;
}

int local_options_command(struct options *options, int argc, char **argv,
                          const struct local_options *given,
                          enum tn_status (*work)(void *ctx, const char *path, struct local_run *run,
                                                 struct error *error),
                          int (*conclude)(void *ctx, struct local_run *run), void *ctx)
{
    int exit_code = 0;
    struct error error = {0};
    assert(work != NULL && conclude != NULL);
    if (!options_parse(options, argc, argv, &exit_code)) { return exit_code; }
    struct local_run *run = new_run(given);
    if (run == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = work(ctx, options->arguments[0], run, &error);
    exit_code = status == TN_OK ? conclude(ctx, run) : command_failed(&error);
    local_run_free(run);
    free(run);
    return exit_code;
}

enum tn_status local_options_read_zk(const struct local_options *given, struct local_run *run,
                                     struct error *error)
{
    enum tn_status status = zk_options_connect(&given->zk, run->connect, error);
    return status == TN_OK ? zk_options_credentials(&given->zk, run->credentials, error) : status;
}

void local_options_folder(const struct local_options *given, const struct job *job,
                          char dir[static RUN_PATH_MAX])
{
    assert(*job->name != '\0');
    if (given->dir != NULL) {
        snprintf(dir, RUN_PATH_MAX, "%s", given->dir);
    } else {
        snprintf(dir, RUN_PATH_MAX, "runs/%s", job->name);
    }
}

bool local_options_use_index(const struct local_options *given, const struct job *job)
{
    char dir[RUN_PATH_MAX];
    struct error ignored;
    if (!job_has_rows(job)) { return false; }
    local_options_folder(given, job, dir);
    const bool exists = access(dir, F_OK) == 0;
    const bool created = !exists && files_make_folders(dir, &ignored) == TN_OK;
    index_use(dir);
    return created;
}

void local_options_drop_index(const struct local_options *given, const struct local_run *run)
{
    char dir[RUN_PATH_MAX];
    if (run->folder.dir[0] != '\0') { return; }
    local_options_folder(given, &run->job, dir);
    index_discard();
    (void)rmdir(dir);
}

enum tn_status local_options_open_folder(const struct local_options *given, bool resume,
                                         struct local_run *run, struct error *error)
{
    char dir[RUN_PATH_MAX];
    local_options_folder(given, &run->job, dir);
    run->resume = given->resume;
    enum tn_status status =
        run_folder_open(&run->folder, dir, &run->job, resume, given->resume, error);
    if (status != TN_OK || run->columns == NULL) { return status; }
    char path[RUN_PATH_MAX];
    run_folder_path(&run->folder, "columns.json", path);
    return files_write_atomic(path, run->columns, strlen(run->columns), error);
}

/* Signals that stop a run wait while files of its folder are created and removed, so that a run
 * that trained nothing leaves none. The agent handles them as long as it runs. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    stop_signals_set(held);
    sigprocmask(SIG_BLOCK, held, before);
}

/* If a signal has stopped the run, later ones have nothing left to stop. */
static void release_signals(const struct local_run *run, const sigset_t *held,
                            const sigset_t *before)
{
    const struct timespec none = {0};
    if (run->agent_result.signal != 0) {
        while (sigtimedwait(held, NULL, &none) > 0) {}
    }
    sigprocmask(SIG_SETMASK, before, NULL);
}

enum tn_status local_options_work(const struct local_options *given, uint64_t wait_s, bool resume,
                                  struct local_run *run, struct error *error)
{
    assert(wait_s <= UINT32_MAX / 1000);
    if (run->log_bytes < LOG_FILE_LEAST_BYTES) {
        return error_set(error, TN_EINVAL,
                         "--log-max-size is %" PRIu64 " bytes, which is too small: give at least "
                         "%" PRIu64,
                         run->log_bytes, LOG_FILE_LEAST_BYTES);
    }
    if (given->wait.given) { wait_s = given->wait.value; }
    run->connect_timeout_ms = (uint32_t)wait_s * 1000;
    sigset_t held, before;
    hold_signals(&held, &before);
    enum tn_status status = local_options_open_folder(given, resume, run, error);
    if (status == TN_OK) { status = local_run_work(run, error); }
    release_signals(run, &held, &before);
    return status;
}
