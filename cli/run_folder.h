/*
 * cli/run_folder.h: the folder of a run: what is in it, and who may use it.
 *
 *   DIR/run.json           struct run_note: where its ZooKeeper is, whose it is
 *   DIR/lock               locked while an agent works here; holds its pid
 *   DIR/job.json           the job with flags applied, as the nodes read it
 *   DIR/result.json        what the last run that ended came to
 *   DIR/logs, sessions, zookeeper, ...   by the agent and the nodes
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_RUN_FOLDER_H
#define CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ensemble.h"
#include "common/error.h"
#include "common/job.h"

enum { RUN_PATH_MAX = 1024 };

struct run_note {
    char connect[1024], cluster[CLUSTER_NAME_MAX];
    uint64_t agent_pid;
    uint64_t cluster_made_ms; /* When its cluster was made, as its /spec says; 0: not yet. */
    size_t server_count;      /* Of its own ensemble. */
    uint32_t server_ids[ENSEMBLE_SERVERS_MAX];
    char servers[ENSEMBLE_SERVERS_MAX][ZOO_ADDRESS_MAX];
};

/* TN_ENOENT: `dir` holds no run; TN_EIO; TN_ECORRUPT. */
MUST_CHECK enum tn_status run_note_read(const char *dir, struct run_note *out, struct error *error);
MUST_CHECK enum tn_status run_note_write(const char *dir, const struct run_note *note,
                                         struct error *error);

/* Pid of server `id` of the ensemble in `dir`; 0: not known, or not running. */
uint64_t run_server_pid(const char *dir, uint32_t id);

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
