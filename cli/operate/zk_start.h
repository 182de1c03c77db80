/* cli/operate/zk_start.h: `tanist zk start`, and what it shares with its siblings in
 * cli/operate/zk.c. */
#ifndef CLI_OPERATE_ZK_START_H
#define CLI_OPERATE_ZK_START_H

#include "agent/ensemble/zoo_server.h"
#include "cli/options.h"

struct zk_servers {
    struct zoo_server_files *list; /* Owned; zk_servers_free(). */
    size_t count;
};

/* Read the files; on failure what was read is still to be freed. */
MUST_CHECK enum tn_status zk_servers_read(const char *const *paths, size_t count,
                                          struct zk_servers *out, struct error *error);
void zk_servers_free(struct zk_servers *servers);

/* "server 1 (127.0.0.1:2181)"; returns `text`. */
const char *zk_server_name(const struct zoo_server_files *server, char *text, size_t size);

/* The addresses of all of them, separated by commas; cut if `text` is too small. */
void zk_servers_connect(const struct zk_servers *servers, char *text, size_t size);

struct zk_start_options {
    bool foreground;
    struct option_number wait_s, heap_mib;
};

/* Start them and wait; returns the exit code of the program. */
int zk_start(const struct zk_servers *servers, const struct zk_start_options *options);

#endif
