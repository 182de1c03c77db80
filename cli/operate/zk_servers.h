/*
 * cli/operate/zk_servers.h: the servers that the arguments of a `tanist zk` command name, one
 * zoo.cfg file each.
 *
 * Threads: the main thread. Blocking: on the disk.
 */
#ifndef CLI_OPERATE_ZK_SERVERS_H
#define CLI_OPERATE_ZK_SERVERS_H

#include <jansson.h>

#include "agent/ensemble/zoo_server.h"
#include "cli/options.h"

enum {
    ZK_SERVER_NAME_MAX = ZOO_ADDRESS_MAX + 32,
    ZK_CONNECT_MAX = ARGUMENTS_MAX * ZOO_ADDRESS_MAX,
    ZK_STOP_MS = 10000, /* From SIGTERM to SIGKILL. */
};

struct zk_servers {
    struct zoo_server_files *list; /* Owned; zk_servers_free(). */
    size_t count;
};

/* Parse the command line and read the files that it names. False: the command ends with `*code`,
 * and there is nothing to free. */
bool zk_servers_parse(struct options *options, int argc, char **argv, struct zk_servers *out,
                      int *code);

/* As zk_servers_parse(), but a file that cannot be read is reported and left out: `*code` is then
 * not 0. */
bool zk_servers_parse_each(struct options *options, int argc, char **argv, struct zk_servers *out,
                           int *code);
void zk_servers_free(struct zk_servers *servers);

/* "server 1 (127.0.0.1:2181)"; returns `text`. */
const char *zk_server_name(const struct zoo_server_files *server,
                           char text[static ZK_SERVER_NAME_MAX]);

/* A server of the result of a command, for programs: id (null: standalone), address, pid (null: 0),
 * config. NULL: out of memory. */
json_t *zk_server_json(const struct zoo_server_files *server, pid_t pid);

/* The connect string: the addresses of all servers, separated by commas. */
void zk_servers_connect(const struct zk_servers *servers, char text[static ZK_CONNECT_MAX]);

#endif
