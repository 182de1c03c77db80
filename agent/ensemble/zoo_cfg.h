/*
 * agent/ensemble/zoo_cfg.h: ZooKeeper's own configuration files, zoo.cfg, as far as they say where
 * servers are and keep their data. Parsing and formatting are pure; only zoo_cfg_read opens files.
 *
 * Understood: dataDir, clientPort, clientPortAddress, tickTime, dynamicConfigFile, and
 * server.N=host:peer-port:election-port[:participant|observer][;[address:]client-port]. What else a
 * file holds is ZooKeeper's business. Source: ZooKeeper 3.8 Administrator's Guide and "Dynamic
 * Reconfiguration". Not understood, and said so: several addresses of one server ("|").
 *
 * Threads: any. Blocking: zoo_cfg_read, on the disk.
 */
#ifndef AGENT_ENSEMBLE_ZOO_CFG_H
#define AGENT_ENSEMBLE_ZOO_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    ZOO_SERVERS_MAX = 32,
    ZOO_HOST_MAX = 256,
    ZOO_PATH_MAX = 1024,
    ZOO_ADDRESS_MAX = ZOO_HOST_MAX + 8,
    ZOO_TEXT_MAX = 64 * 1024, /* Bytes of a file. */
};

struct zoo_server {
    uint32_t id; /* N of server.N, as in the file myid. */
    char host[ZOO_HOST_MAX];
    uint16_t peer_port;
    uint16_t election_port;
    bool observer;
    char client_host[ZOO_HOST_MAX]; /* "": not given. */
    uint16_t client_port;           /* 0: not given; clientPort holds for it. */
};

struct zoo_cfg {
    char data_dir[ZOO_PATH_MAX];
    char client_host[ZOO_HOST_MAX]; /* clientPortAddress; "": every address. */
    uint16_t client_port;           /* 0: not given. */
    uint32_t tick_ms;
    char dynamic_path[ZOO_PATH_MAX]; /* dynamicConfigFile; "": none. */
    size_t server_count;             /* 0: one server on its own. */
    struct zoo_server servers[ZOO_SERVERS_MAX];
};

/* Nothing given, tick_ms at ZooKeeper's default of 3000. */
void zoo_cfg_init(struct zoo_cfg *cfg);

/* Add what `text` says to `cfg`; later lines win. TN_EINVAL: names `name` (the file), line, key and
 * value; `cfg` is then half filled. */
MUST_CHECK enum tn_status zoo_cfg_parse(struct zoo_cfg *cfg, const char *text, const char *name,
                                        struct error *error);

/* Read the file and the dynamic file it names. TN_ENOENT, TN_EIO: cannot be read. TN_EINVAL: as
 * above, or too long, or it tells neither of dataDir nor of a client port. */
MUST_CHECK enum tn_status zoo_cfg_read(struct zoo_cfg *cfg, const char *path, struct error *error);

/* The connect string for all servers, "h1:2181,h2:2181". TN_EINVAL: a server without a client
 * port, or it does not fit. */
MUST_CHECK enum tn_status zoo_cfg_connect(const struct zoo_cfg *cfg, char *text, size_t size,
                                          struct error *error);

/* Which of the servers this file is for: the one of `myid` if that is not 0, else the only one
 * whose client port is the file's own. NULL: none or several. */
const struct zoo_server *zoo_cfg_own_server(const struct zoo_cfg *cfg, uint32_t myid);

/* Where clients reach the server of this file, "127.0.0.1:2181"; `own` may be NULL. */
MUST_CHECK enum tn_status zoo_cfg_own_address(const struct zoo_cfg *cfg,
                                              const struct zoo_server *own, char *text, size_t size,
                                              struct error *error);

/* A file for server `own` (NULL: it stands alone) of a local ensemble, made of these values and of
 * settings explained in its comments. TN_EINVAL: does not fit. */
MUST_CHECK enum tn_status zoo_cfg_format(const struct zoo_cfg *cfg, const struct zoo_server *own,
                                         char *text, size_t size, struct error *error);

#endif
