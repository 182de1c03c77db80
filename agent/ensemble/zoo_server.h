/*
 * agent/ensemble/zoo_server.h: the ZooKeeper server of one zoo.cfg on this machine, for `tanist
 * zk`: its files, its process, and whether a process id still belongs to that server.
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
    char cfg_path[ZOO_PATH_MAX]; /* Absolute, links resolved; identifies the process. */
    char pid_path[ZOO_PATH_MAX]; /* In dataDir. */
    char log_path[ZOO_PATH_MAX];
    struct zoo_cfg cfg;
    uint32_t id; /* From dataDir/myid, the client port, or the address; 0: a standalone server. */
    bool id_missing;               /* The file myid does not exist yet. */
    char address[ZOO_ADDRESS_MAX]; /* For clients. */
};

/* Read the file of a server; nothing is written. TN_EINVAL: it is invalid, or it names several
 * servers, and neither myid nor a client port nor an address of this host shows which of them it is
 * for. */
MUST_CHECK enum tn_status zoo_server_read(const char *path, struct zoo_server_files *out,
                                          struct error *error);

/* Create dataDir and its file myid, where they are missing. */
MUST_CHECK enum tn_status zoo_server_prepare(struct zoo_server_files *server, struct error *error);

/* The running process, found by the pid file and checked by its command line; 0: none. */
pid_t zoo_server_pid(const struct zoo_server_files *server);

/* Start the server in a session of its own, so that it outlives the caller, with its log beside the
 * pid file. The caller may waitpid() for `*pid` to learn whether it exited at once. TN_EIO: the
 * error has the system's reason. */
MUST_CHECK enum tn_status zoo_server_detach(const struct zoo_server_files *server,
                                            const struct ensemble_command *command, pid_t *pid,
                                            struct error *error);

/* Write or remove the pid file. */
MUST_CHECK enum tn_status zoo_server_note_pid(const struct zoo_server_files *server, pid_t pid,
                                              struct error *error);
void zoo_server_forget_pid(const struct zoo_server_files *server);

/* The last line of its log that contains an error, for people; "" if there is no such line. */
void zoo_server_last_error(const struct zoo_server_files *server, char *text, size_t size);

#endif
