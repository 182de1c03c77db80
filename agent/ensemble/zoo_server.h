/*
 * agent/ensemble/zoo_server.h: the ZooKeeper server of one zoo.cfg on this machine, as `tanist zk`
 * handles it: its files, its process, and whether a process id is really that server's.
 *
 * Threads: one. Blocking: on the disk.
 */
#ifndef AGENT_ENSEMBLE_ZOO_SERVER_H
#define AGENT_ENSEMBLE_ZOO_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/ensemble/ensemble.h"
#include "agent/ensemble/zoo_cfg.h"
#include "common/base/error.h"

struct zoo_server_files {
    char cfg_path[ZOO_PATH_MAX]; /* Absolute, links resolved: how the process is recognised. */
    char pid_path[ZOO_PATH_MAX]; /* In dataDir. */
    char log_path[ZOO_PATH_MAX];
    struct zoo_cfg cfg;
    uint32_t id;     /* From dataDir/myid, else by the client port; 0: stands alone. */
    bool id_missing; /* There is no file myid yet. */
    char address[ZOO_ADDRESS_MAX]; /* For clients. */
};

/* Read the file; nothing is written. TN_EINVAL: also when it names several servers and nothing
 * tells which of them it is for. */
MUST_CHECK enum tn_status zoo_server_read(const char *path, struct zoo_server_files *out,
                                          struct error *error);

/* Make dataDir and its file myid, where missing. */
MUST_CHECK enum tn_status zoo_server_prepare(struct zoo_server_files *server, struct error *error);

/* The running process, by the pid file and by what the process was started with; 0: none. */
pid_t zoo_server_pid(const struct zoo_server_files *server);

/* Start it in a session of its own, to outlive us, with its log beside the pid file. The caller may
 * waitpid() for `*pid` to learn that it ended at once. TN_EIO: with the system's reason. */
MUST_CHECK enum tn_status zoo_server_detach(const struct zoo_server_files *server,
                                            const struct ensemble_command *command, pid_t *pid,
                                            struct error *error);

/* Write or remove the pid file. */
MUST_CHECK enum tn_status zoo_server_note_pid(const struct zoo_server_files *server, pid_t pid,
                                              struct error *error);
void zoo_server_forget_pid(const struct zoo_server_files *server);

/* The last line of its log that tells of an error, for people; "" if there is none. */
void zoo_server_last_error(const struct zoo_server_files *server, char *text, size_t size);

#endif
