/*
 * cli/run_folder.h: the folder of a run: its files, and the lock that keeps other agents out.
 *
 *   DIR/run.json      struct run_note (agent/observe/run_note.h): its ZooKeeper and its cluster; a
 *                     run in one process has none
 *   DIR/lock          locked while an agent uses the folder; holds the pid of the agent
 *   DIR/job.json      the job with the flags applied, as the nodes read it
 *   DIR/result.json   the result of the last run that has ended
 *   DIR/record.json   the last known state, and in history.jsonl the last events
 *                     (agent/observe/run_record.h)
 *   DIR/logs, sessions, zookeeper, ...   written by the agent and the nodes
 *
 * Threads: any. Blocking: on the disk; run_folder_open() for up to 5 s while the lock is held by a
 * process of an agent that has ended.
 */
#ifndef CLI_RUN_FOLDER_H
#define CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/job.h"

enum { RUN_PATH_MAX = 1024, RUN_FOLDER_CREATED = 11 };

/* Entries that a run creates in its folder before its cluster exists, besides `checkpoints` and
 * `logs`, which are empty then, and `lock`. */
extern const char *const run_folder_created[RUN_FOLDER_CREATED];

/* An agent is using `dir` now. */
bool run_folder_in_use(const char *dir);

/* The last run in `dir` has ended. */
bool run_folder_has_result(const char *dir);

/* The run in `dir` is that of a cluster: it has a run.json. */
bool run_folder_has_cluster(const char *dir);

/* The run in `dir` is that of one process: it has a record.json, but no run.json. */
bool run_folder_is_local(const char *dir);

struct run_folder {
    char dir[RUN_PATH_MAX]; /* Absolute. */
    int lock;               /* Descriptor, -1: none. */
    bool is_new;            /* The folder had no file of a run, except logs, when it was opened. */
    /* Which of run_folder_created[] it held then; those may be the user's. `zookeeper` does not
     * count with nothing but logs, which remain of a run that has trained nothing. */
    bool held[RUN_FOLDER_CREATED];
    bool continued;   /* The folder had a run, of the job `before`. */
    bool job_changes; /* As `--resume` allows: job.json is still that of before. */
    struct job before;
};

/*
 * Create the folder or use an existing one for `job`: lock it, compare the job that is in it, and
 * write job.json. A finished run is moved to DIR.<UTC time>, unless `resume`; a message on stderr
 * reports that. `job` gets the earlier learning rates of the run; with `may_change`, it may
 * differ in what `--resume` may change, and the caller writes job.json when it knows from which
 * step on.
 *
 *   TN_EEXIST  another agent is using the folder; the error names its pid
 *   TN_EINVAL  the folder holds another job; the error names the key that differs
 *   TN_EIO, TN_ENOSPC  the folder cannot be created, read or written
 */
MUST_CHECK enum tn_status run_folder_open(struct run_folder *folder, const char *dir,
                                          struct job *job, bool resume, bool may_change,
                                          struct error *error);

/* Replace job.json. */
MUST_CHECK enum tn_status run_folder_write_job(const struct run_folder *folder,
                                               const struct job *job, struct error *error);
void run_folder_close(struct run_folder *folder);

/* DIR + "/" + name. */
void run_folder_path(const struct run_folder *folder, const char *name,
                     char path[static RUN_PATH_MAX]);

/* Write the result. From then on the run counts as finished. */
MUST_CHECK enum tn_status run_folder_finish(const struct run_folder *folder, const char *json,
                                            struct error *error);

#endif
