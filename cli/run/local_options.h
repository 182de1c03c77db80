/*
 * cli/run/local_options.h: the options that `tanist run` and `tanist agent` share, and what both do
 * with them.
 *
 * Threads: the main thread.
 */
#ifndef CLI_RUN_LOCAL_OPTIONS_H
#define CLI_RUN_LOCAL_OPTIONS_H

#include "cli/log_options.h"
#include "cli/options.h"
#include "cli/run/local_run.h"
#include "cli/zk_options.h"

struct local_options {
    struct zk_options zk;
    struct log_options log;
    const char *dir;
    struct option_texts set;
    struct option_number wait; /* Seconds. */
    struct option_number log_bytes;
    bool resume, allow_chaos, quiet, verbose;
    bool one_process; /* `tanist run --local`. */
};

/* Add the options to a command. The default of --wait differs: `wait_help` names it. */
void local_options_add(struct options *options, struct local_options *given, const char *wait_help);

/*
 * The command: parse the arguments, create a run, let `work` run the job of the file that the
 * arguments name, and `conclude` report how it ended; its result is the exit code. `given` is part
 * of `ctx`, which both receive.
 */
int local_options_command(struct options *options, int argc, char **argv,
                          const struct local_options *given,
                          enum tn_status (*work)(void *ctx, const char *path, struct local_run *run,
                                                 struct error *error),
                          int (*conclude)(void *ctx, struct local_run *run), void *ctx);

/* Read the ZooKeeper options into `run->connect`, "" if none is given, and `run->credentials`. */
MUST_CHECK enum tn_status local_options_read_zk(const struct local_options *given,
                                                struct local_run *run, struct error *error);

/* The folder of --dir, or that of the job's name. */
void local_options_folder(const struct local_options *given, const struct job *job,
                          char dir[static RUN_PATH_MAX]);

/* From now on, results about the data of a job with rows are kept in the folder of --dir
 * (data/source/index.h). It is created if need be; returns whether it was. */
bool local_options_use_index(const struct local_options *given, const struct job *job);
/* Remove the created folder, unless it was opened for the run. */
void local_options_drop_index(const struct local_options *given, const struct local_run *run);

/* Open the folder of --dir for the job of `run`, to continue its run even if it has finished if
 * `resume`. Errors are those of run_folder_open(). */
MUST_CHECK enum tn_status local_options_open_folder(const struct local_options *given, bool resume,
                                                    struct local_run *run, struct error *error);

/*
 * Open the folder and run the job, which is checked. `wait_s` is the default of --wait. `resume`:
 * continue the run of the folder even if it has finished. Errors are those of run_folder_open() and
 * local_run_work().
 */
MUST_CHECK enum tn_status local_options_work(const struct local_options *given, uint64_t wait_s,
                                             bool resume, struct local_run *run,
                                             struct error *error);

#endif
