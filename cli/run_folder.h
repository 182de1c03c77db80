/*
 * cli/run_folder.h: the folder of a run: what is in it, and who may use it.
 *
 *   DIR/run.json           struct run_note (agent/observe/run_note.h): where its ZooKeeper is,
 * whose it is DIR/lock               locked while an agent works here; holds its pid DIR/job.json
 * the job with flags applied, as the nodes read it DIR/result.json        what the last run that
 * ended came to DIR/logs, sessions, zookeeper, ...   by the agent and the nodes
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_RUN_FOLDER_H
#define CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/job.h"

enum { RUN_PATH_MAX = 1024 };

/* An agent works in `dir` now. */
bool run_folder_in_use(const char *dir);

/* The last run in `dir` has ended. */
bool run_folder_has_result(const char *dir);

struct run_folder {
    char dir[RUN_PATH_MAX]; /* Absolute. */
    int lock;               /* Descriptor, -1: none. */
    bool resumes;           /* It holds an unfinished run of this job, or --resume was given. */
    bool finished;          /* ... and that run had ended. */
};

/*
 * Make or take over the folder for `job`: lock it, compare with the job that is in it, and write
 * job.json. A finished run is moved aside to DIR.<UTC time>, unless `resume`; that is said on
 * stderr.
 *
 *   TN_EEXIST  another agent works there (its pid is named)
 *   TN_EINVAL  another job is in there: the key that differs is named
 *   TN_EIO, TN_ENOSPC  the folder cannot be made, read or written
 */
MUST_CHECK enum tn_status run_folder_open(struct run_folder *folder, const char *dir,
                                          const struct job *job, bool resume, struct error *error);
void run_folder_close(struct run_folder *folder);

/* DIR + "/" + name. */
void run_folder_path(const struct run_folder *folder, const char *name,
                     char path[static RUN_PATH_MAX]);

/* Keep the result; from then on the run counts as finished. */
MUST_CHECK enum tn_status run_folder_finish(const struct run_folder *folder, const char *json,
                                            struct error *error);

#endif
