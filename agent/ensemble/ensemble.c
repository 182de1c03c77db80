#include "agent/ensemble/ensemble.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/random.h"

enum { HEAP_MIB = 128, CFG_TEXT_MAX = 8192, PROBE_MS = 300 };

static const char LOOPBACK[] = "127.0.0.1";

/* Debian's zookeeper.jar names the jars that it needs; slf4j-simple is the smallest logger that
 * Debian packages. */
static const char DEBIAN_CLASS_PATH[] =
    "/usr/share/java/slf4j-simple.jar:/usr/share/java/zookeeper.jar";
static const char DEBIAN_JAR[] = "/usr/share/java/zookeeper.jar";

/* ---------------------------------------------------------- the command line */

static enum tn_status find_java(char java[static ENSEMBLE_TEXT_MAX], struct error *error)
{
    assert(java != NULL);
    const char *home = getenv("JAVA_HOME");
    if (home != NULL && home[0] != '\0') {
        int length = snprintf(java, ENSEMBLE_TEXT_MAX, "%s/bin/java", home);
        if (length < ENSEMBLE_TEXT_MAX && access(java, X_OK) == 0) { return TN_OK; }
    }
    const char *path = getenv("PATH");
    if (path == NULL) { path = "/usr/bin:/bin"; }
    while (*path != '\0') {
        size_t size = strcspn(path, ":");
        int length = snprintf(java, ENSEMBLE_TEXT_MAX, "%.*s/java", (int)size, path);
        if (size > 0 && length < ENSEMBLE_TEXT_MAX && access(java, X_OK) == 0) { return TN_OK; }
        path += size + (path[size] == ':' ? 1 : 0);
    }
    return error_set(error, TN_ENOENT,
                     "ZooKeeper needs java, which is neither in JAVA_HOME nor on PATH: install "
                     "Debian's zookeeper package, or use running servers with --zk");
}

static enum tn_status find_class_path(char text[static ENSEMBLE_TEXT_MAX], struct error *error)
{
    const char *given = getenv("TANIST_ZOOKEEPER_CLASSPATH");
    bool debian = given == NULL || given[0] == '\0';
    if (debian && access(DEBIAN_JAR, R_OK) != 0) {
        return error_set(error, TN_ENOENT,
                         "ZooKeeper is not installed (no %s): install Debian's zookeeper package, "
                         "set TANIST_ZOOKEEPER_CLASSPATH, or use running servers with --zk",
                         DEBIAN_JAR);
    }
    int length = snprintf(text, ENSEMBLE_TEXT_MAX, "%s", debian ? DEBIAN_CLASS_PATH : given);
    if (length < ENSEMBLE_TEXT_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "TANIST_ZOOKEEPER_CLASSPATH is longer than %d bytes",
                     ENSEMBLE_TEXT_MAX - 1);
}

enum tn_status ensemble_command(const char *cfg_path, uint32_t heap_mib,
                                struct ensemble_command *out, struct error *error)
{
    assert(cfg_path != NULL && out != NULL);
    enum tn_status status = find_java(out->java, error);
    if (status == TN_OK) { status = find_class_path(out->class_path, error); }
    if (status != TN_OK) { return status; }
    if (snprintf(out->cfg, sizeof out->cfg, "%s", cfg_path) >= (int)sizeof out->cfg) {
        return error_set(error, TN_EINVAL, "the path %s is too long", cfg_path);
    }
    snprintf(out->heap, sizeof out->heap, "-Xmx%um", (unsigned)heap_mib);
    const char *const arguments[] = {
        out->java,
        out->heap,
        /* With these options a server starts in 0.3 s with 60 MB, not in 0.5 s with 110 MB. */
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-XX:-UsePerfData", /* Else a SIGKILL leaves a file in /tmp. */
        "-XX:+ExitOnOutOfMemoryError",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
        "-cp",
        out->class_path,
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        out->cfg,
        NULL,
    };
    _Static_assert(sizeof arguments <= sizeof out->argv, "argv holds all arguments");
    memcpy(out->argv, arguments, sizeof arguments);
    return TN_OK;
}

/* -------------------------------------------------------------------- ports */

/* A socket bound to `port` of 127.0.0.1, or -1. ZooKeeper sets SO_REUSEADDR, too. */
static int hold_port(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) { return -1; }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(fd, (const struct sockaddr *)(const void *)&address, sizeof address) == 0 &&
        listen(fd, 1) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}

/* The kernel gives ports from this one on to outgoing connections, which could take the port of a
 * server while it restarts. */
static uint16_t first_ephemeral_port(void)
{
    unsigned first = 32768;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file == NULL) { return (uint16_t)first; }
    if (fscanf(file, "%u", &first) != 1 || first > UINT16_MAX) { first = 32768; }
    fclose(file);
    return (uint16_t)first;
}

/* Whether no other run has chosen the port. */
static bool may_take(struct port_leases *leases, uint16_t port)
{
    return leases == NULL || port_leases_take(leases, port);
}

/* Chooses `count` different free ports, at random so that ensembles started together differ. */
static enum tn_status choose_ports(uint16_t *ports, size_t count, struct port_leases *leases,
                                   struct error *error)
{
    enum { LOWEST = 10000, TRIES = 2000, PORTS_MAX = 3 * ENSEMBLE_SERVERS_MAX };
    _Static_assert((int)PORTS_MAX <= (int)PORT_LEASES_MAX, "the leases of all ports fit");
    assert(count <= PORTS_MAX);
    uint16_t limit = first_ephemeral_port();
    if (limit < LOWEST + 1000) { limit = UINT16_MAX; /* Too few ports are below it. */ }
    struct random random = {.state = clock_new_incarnation()};
    int held[PORTS_MAX];
    size_t found = 0;
    for (unsigned i = 0; i < TRIES && found < count; i++) {
        ports[found] = (uint16_t)(LOWEST + random_below(&random, (uint64_t)limit - LOWEST));
        held[found] = hold_port(ports[found]);
        if (held[found] < 0) { continue; }
        if (may_take(leases, ports[found])) {
            found++;
        } else {
            close(held[found]);
        }
    }
    for (size_t i = 0; i < found; i++) { close(held[i]); }
    if (found == count) { return TN_OK; }
    return error_set(error, TN_EBUSY, "no free port found on 127.0.0.1 from %d to %d", LOWEST,
                     limit - 1);
}

static bool port_is_free(uint16_t port)
{
    int fd = hold_port(port);
    if (fd >= 0) { close(fd); }
    return fd >= 0;
}

/* -------------------------------------------------------------------- files */

static enum tn_status write_file(const char *path, const char *text, struct error *error)
{
    return files_write_atomic(path, text, strlen(text), error);
}

static void format_path(char path[static ENSEMBLE_TEXT_MAX], const char *dir, size_t id,
                        const char *name)
{
    assert(id > 0);
    snprintf(path, ENSEMBLE_TEXT_MAX, "%s/zookeeper/%zu%s", dir, id, name);
}

/* --------------------------------------------------------------- the ensemble */

/* Reads the files of an earlier call into `cfgs`. TN_ENOENT: some or all of them do not exist. */
static enum tn_status read_earlier(const char *dir, size_t count, struct zoo_cfg *cfgs,
                                   struct error *error)
{
    assert(count <= ENSEMBLE_SERVERS_MAX);
    char path[ENSEMBLE_TEXT_MAX];
    for (size_t i = 0; i < count; i++) {
        format_path(path, dir, i + 1, "/zoo.cfg");
        enum tn_status status = zoo_cfg_read(&cfgs[i], path, error);
        size_t servers = cfgs[i].server_count > 0 ? cfgs[i].server_count : 1;
        if (status == TN_OK && servers != count) {
            return error_set(
                error, TN_EINVAL,
                "%s belongs to an ensemble of %zu servers, not %zu: use another folder, "
                "or that number",
                path, servers, count);
        }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

/* The address of each server; server N is list[N - 1]. */
struct hosts {
    const char *list[ENSEMBLE_SERVERS_MAX];
};

static enum tn_status find_hosts(const struct networks *networks, size_t count, struct hosts *out,
                                 struct error *error)
{
    assert(count <= ENSEMBLE_SERVERS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct network *network;
        char child[TASK_NAME_MAX];
        snprintf(child, sizeof child, "zookeeper:%zu", i + 1);
        enum tn_status status = networks_find(networks, child, &network, error);
        if (status != TN_OK) { return status; }
        out->list[i] = network != NULL ? network->address : LOOPBACK;
    }
    return TN_OK;
}

/* Whether a port of an earlier call can be used again. */
static bool take_again(struct port_leases *leases, uint16_t port)
{
    return port_is_free(port) && may_take(leases, port);
}

/* Whether the earlier files can be used again: the folder has not moved, the addresses are the
 * same, and the ports are free, as far as this host sees them. TN_EEXIST: a server of the folder is
 * running. */
static enum tn_status check_earlier(const char *dir, size_t count, const struct hosts *hosts,
                                    const struct zoo_cfg *cfgs, struct port_leases *leases,
                                    bool *reusable, struct error *error)
{
    struct ensemble_health health;
    char address[ZOO_ADDRESS_MAX];
    char data_dir[ENSEMBLE_TEXT_MAX];
    assert(count <= ENSEMBLE_SERVERS_MAX);
    *reusable = true;
    for (size_t i = 0; i < count; i++) {
        format_path(data_dir, dir, i + 1, "/data");
        if (strcmp(data_dir, cfgs[i].data_dir) != 0) { *reusable = false; }
        if (strcmp(hosts->list[i], cfgs[i].client_host) != 0) { *reusable = false; }
        const bool elsewhere = strcmp(cfgs[i].client_host, LOOPBACK) != 0;
        if (elsewhere || !take_again(leases, cfgs[i].client_port)) {
            *reusable = *reusable && elsewhere;
            snprintf(address, sizeof address, "%s:%u", cfgs[i].client_host,
                     (unsigned)cfgs[i].client_port);
            enum tn_status status = ensemble_probe(address, PROBE_MS, &health);
            if (status != TN_OK && status != TN_EUNHEALTHY) { continue; }
            return error_set(error, TN_EEXIST,
                             "the ZooKeeper server of %s is running at %s: stop the run that uses "
                             "this folder, or use another",
                             cfgs[i].data_dir, address);
        }
        for (size_t j = 0; !elsewhere && j < cfgs[i].server_count; j++) {
            const struct zoo_server *server = &cfgs[i].servers[j];
            if (server->client_port != cfgs[i].client_port) { continue; }
            if (!take_again(leases, server->peer_port)) { *reusable = false; }
            if (!take_again(leases, server->election_port)) { *reusable = false; }
        }
    }
    return TN_OK;
}

/* Makes new configurations, with new ports. */
static enum tn_status choose_cfgs(const char *dir, size_t count, const struct hosts *hosts,
                                  struct zoo_cfg *cfgs, struct port_leases *leases,
                                  struct error *error)
{
    uint16_t ports[3 * ENSEMBLE_SERVERS_MAX];
    assert(count <= ENSEMBLE_SERVERS_MAX);
    if (leases != NULL) { port_leases_end(leases); /* They have earlier ports. */ }
    enum tn_status status = choose_ports(ports, 3 * count, leases, error);
    if (status != TN_OK) { return status; }
    for (size_t i = 0; i < count; i++) {
        struct zoo_cfg *cfg = &cfgs[i];
        zoo_cfg_init(cfg);
        format_path(cfg->data_dir, dir, i + 1, "/data");
        snprintf(cfg->client_host, sizeof cfg->client_host, "%s", hosts->list[i]);
        cfg->client_port = ports[3 * i];
        cfg->tick_ms = ENSEMBLE_TICK_MS;
        cfg->server_count = count > 1 ? count : 0;
        for (size_t j = 0; j < cfg->server_count; j++) {
            struct zoo_server *server = &cfg->servers[j];
            server->id = (uint32_t)j + 1;
            snprintf(server->host, sizeof server->host, "%s", hosts->list[j]);
            snprintf(server->client_host, sizeof server->client_host, "%s", hosts->list[j]);
            server->client_port = ports[3 * j];
            server->peer_port = ports[3 * j + 1];
            server->election_port = ports[3 * j + 2];
        }
    }
    return TN_OK;
}

static enum tn_status write_server(const char *dir, size_t id, const struct zoo_cfg *cfg,
                                   struct error *error)
{
    char path[ENSEMBLE_TEXT_MAX];
    char text[CFG_TEXT_MAX];
    assert(cfg->server_count == 0 || id <= cfg->server_count);
    enum tn_status status = files_make_folders(cfg->data_dir, error);
    if (status != TN_OK) { return status; }
    format_path(path, dir, id, "/data/myid");
    snprintf(text, sizeof text, "%zu\n", id);
    status = write_file(path, text, error);
    if (status != TN_OK) { return status; }
    const struct zoo_server *own = cfg->server_count > 0 ? &cfg->servers[id - 1] : NULL;
    status = zoo_cfg_format(cfg, own, text, sizeof text, error);
    if (status != TN_OK) { return status; }
    format_path(path, dir, id, "/zoo.cfg");
    return write_file(path, text, error);
}

static enum tn_status write_files(const char *dir, size_t count, const struct zoo_cfg *cfgs,
                                  struct error *error)
{
    assert(count <= ENSEMBLE_SERVERS_MAX);
    enum tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        status = write_server(dir, i + 1, &cfgs[i], error);
    }
    return status;
}

static enum tn_status describe(const char *dir, size_t count, const struct zoo_cfg *cfgs,
                               struct ensemble *out, struct error *error)
{
    char path[ENSEMBLE_TEXT_MAX];
    assert(count <= ENSEMBLE_SERVERS_MAX);
    memset(out, 0, sizeof *out);
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        struct ensemble_server *server = &out->servers[i];
        server->id = (uint32_t)i + 1;
        snprintf(server->address, sizeof server->address, "%s:%u", cfgs[i].client_host,
                 (unsigned)cfgs[i].client_port);
        format_path(server->log_path, dir, i + 1, "/log");
        format_path(path, dir, i + 1, "/zoo.cfg");
        enum tn_status status = ensemble_command(path, HEAP_MIB, &server->command, error);
        if (status != TN_OK) { return status; }
    }
    return zoo_cfg_connect(&cfgs[0], out->connect, sizeof out->connect, error);
}

enum tn_status ensemble_prepare(const char *dir, size_t count, uint32_t connections,
                                const struct networks *networks, struct port_leases *leases,
                                struct ensemble *out, struct error *error)
{
    assert(dir != NULL && out != NULL);
    assert(leases == NULL || leases->count == 0);
    struct hosts hosts = {0};
    if (count != 1 && count != 3) {
        return error_set(error, TN_EINVAL, "%zu ZooKeeper servers: use 1 or 3", count);
    }
    char root[PATH_MAX]; /* Absolute: the servers must not depend on a working directory. */
    enum tn_status status = find_hosts(networks, count, &hosts, error);
    if (status == TN_OK) { status = files_make_folders(dir, error); }
    if (status != TN_OK) { return status; }
    if (realpath(dir, root) == NULL) {
        return error_set(error, TN_EIO, "folder %s: %s", dir, strerror(errno));
    }
    if (strlen(root) + sizeof "/zookeeper/1/data/myid" > ENSEMBLE_TEXT_MAX) {
        return error_set(error, TN_EINVAL, "the path %s is too long", root);
    }
    struct zoo_cfg *cfgs = calloc(count, sizeof *cfgs);
    if (cfgs == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    bool reusable = false;
    status = read_earlier(root, count, cfgs, error);
    if (status == TN_OK) {
        status = check_earlier(root, count, &hosts, cfgs, leases, &reusable, error);
    } else if (status == TN_ENOENT) {
        status = TN_OK;
    }
    if (status == TN_OK && !reusable) {
        status = choose_cfgs(root, count, &hosts, cfgs, leases, error);
    }
    bool written = reusable;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        written = written && cfgs[i].connections == connections;
        cfgs[i].connections = connections;
    }
    if (status == TN_OK && !written) { status = write_files(root, count, cfgs, error); }
    if (status == TN_OK) { status = describe(root, count, cfgs, out, error); }
    if (status != TN_OK && leases != NULL) { port_leases_end(leases); }
    free(cfgs);
    return status;
}
