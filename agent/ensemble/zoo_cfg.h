/*
 * agent/ensemble/zoo_cfg.h: ZooKeeper's own configuration files, zoo.cfg: the keys that name the
 * servers and their data. Parsing and formatting are pure; only zoo_cfg_read() opens files.
 *
 * Understood: dataDir, clientPort, clientPortAddress, tickTime, dynamicConfigFile, and
 * server.N=host:peer-port:election-port[:participant|observer][;[address:]client-port]. Other keys
 * are ignored. Source: ZooKeeper 3.8 Administrator's Guide and "Dynamic Reconfiguration". Several
 * addresses of one server ("|") are refused.
 *
 * Threads: any. Blocking: zoo_cfg_read(), on the disk.
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
    ZOO_TEXT_MAX = 64 * 1024, /* The largest file, in bytes. */
};

struct zoo_server {
    uint32_t id; /* N of server.N, as in the file myid. */
    char host[ZOO_HOST_MAX];
    uint16_t peer_port;
    uint16_t election_port;
    bool observer;
    char client_host[ZOO_HOST_MAX]; /* "": not given. */
    uint16_t client_port;           /* 0: not given; clientPort applies. */
};

struct zoo_cfg {
    char data_dir[ZOO_PATH_MAX];
    char client_host[ZOO_HOST_MAX]; /* clientPortAddress; "": all addresses. */
    uint16_t client_port;           /* 0: not given. */
    uint32_t tick_ms;
    uint32_t connections;            /* maxClientCnxns, from one address; 0: any number. */
    char dynamic_path[ZOO_PATH_MAX]; /* dynamicConfigFile; "": none. */
    size_t server_count;             /* 0: a standalone server. */
    struct zoo_server servers[ZOO_SERVERS_MAX];
};

/* An empty configuration, with ZooKeeper's default of 3000 for tick_ms. */
void zoo_cfg_init(struct zoo_cfg *cfg);

/* Add the settings in `text` to `cfg`; a later line replaces an earlier one. TN_EINVAL: the error
 * has `name` (the file), line, key and value; `cfg` is then incomplete. */
MUST_CHECK enum tn_status zoo_cfg_parse(struct zoo_cfg *cfg, const char *text, const char *name,
                                        struct error *error);

/* Read a file and the dynamic file that it names. TN_ENOENT, TN_EIO: a file cannot be read.
 * TN_EINVAL: as of zoo_cfg_parse(), or a file is too long, or dataDir or every client port is
 * missing. */
MUST_CHECK enum tn_status zoo_cfg_read(struct zoo_cfg *cfg, const char *path, struct error *error);

/* The connect string for all servers, "h1:2181,h2:2181". TN_EINVAL: a server has no client port, or
 * the string does not fit. */
MUST_CHECK enum tn_status zoo_cfg_connect(const struct zoo_cfg *cfg, char *text, size_t size,
                                          struct error *error);

/* The server that the file is for: the one with id `myid` if that is not 0, else the only one with
 * the file's own client port. NULL: none, or several. */
const struct zoo_server *zoo_cfg_own_server(const struct zoo_cfg *cfg, uint32_t myid);

/* The address for clients of the server of this file, "127.0.0.1:2181"; `own` may be NULL.
 * TN_EINVAL: it has no client port, or the address does not fit. */
MUST_CHECK enum tn_status zoo_cfg_own_address(const struct zoo_cfg *cfg,
                                              const struct zoo_server *own, char *text, size_t size,
                                              struct error *error);

/* Write the file of server `own` (NULL: a standalone server) of a local ensemble: these values, and
 * settings that its comments explain. TN_EINVAL: it does not fit. */
MUST_CHECK enum tn_status zoo_cfg_format(const struct zoo_cfg *cfg, const struct zoo_server *own,
                                         char *text, size_t size, struct error *error);

#endif
