#include "cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/children.h"
#include "cli/run_folder.h"
#include "common/cluster/bootstrap.h"

enum { WAIT_S = 5, SAY_MS = 3000 };

void target_options(struct target_options *options, struct option *rows)
{
    const struct option all[TARGET_OPTIONS] = {
        {"dir", 0, OPTION_TEXT, &options->dir, "DIR", NULL, "Folder of a local run."},
        {"zk", 0, OPTION_TEXT, &options->zk, "CONNECT", NULL,
         "ZooKeeper: h1:2181,h2:2181/chroot (or TANIST_ZK)."},
        {"zk-config", 0, OPTION_TEXT, &options->zk_config, "FILE", NULL,
         "ZooKeeper by its own zoo.cfg."},
        {"cluster", 0, OPTION_TEXT, &options->cluster, "NAME", NULL,
         "Which cluster; default: the only one."},
        {"zk-credentials", 0, OPTION_TEXT, &options->credentials, "FILE", NULL,
         "File with user:password (or " CREDENTIALS_VARIABLE ")."},
        {"wait", 0, OPTION_COUNT, &options->wait, "SECONDS", NULL,
         "How long to wait for ZooKeeper; default 5."},
    };
    memcpy(rows, all, sizeof all);
}

enum tn_status target_connect(const char *zk, const char *zk_config,
                              char connect[static CONNECT_MAX], struct error *error)
{
    const char *given = zk;
    connect[0] = '\0';
    if (zk != NULL && zk_config != NULL) {
        return error_set(error, TN_EINVAL, "--zk and --zk-config are both given: give one");
    }
    if (zk_config != NULL) {
        struct zoo_cfg cfg;
        zoo_cfg_init(&cfg);
        enum tn_status status = zoo_cfg_read(&cfg, zk_config, error);
        return status == TN_OK ? zoo_cfg_connect(&cfg, connect, CONNECT_MAX, error) : status;
    }
    if (given == NULL) { given = getenv("TANIST_ZK"); }
    if (given == NULL || !*given) { return TN_OK; }
    if (strlen(given) >= CONNECT_MAX) {
        return error_set(error, TN_EINVAL, "--zk is too long: at most %d bytes", CONNECT_MAX - 1);
    }
    memcpy(connect, given, strlen(given) + 1);
    enum tn_status status = zk_check_connect(connect, error);
    return status == TN_OK ? TN_OK : error_context(error, "--zk");
}

enum tn_status target_credentials(const char *path, char text[static CREDENTIALS_MAX],
                                  struct error *error)
{
    const char *given = getenv(CREDENTIALS_VARIABLE);
    text[0] = '\0';
    if (path != NULL) {
        FILE *file = fopen(path, "re");
        bool read = file != NULL && fgets(text, CREDENTIALS_MAX, file) != NULL;
        if (file != NULL) { fclose(file); }
        if (!read) {
            return error_set(error, TN_EIO, "cannot read the credentials in %s: %s", path,
                             errno ? strerror(errno) : "the file is empty");
        }
        text[strcspn(text, "\r\n")] = '\0';
    } else if (given != NULL && strlen(given) < CREDENTIALS_MAX) {
        memcpy(text, given, strlen(given) + 1);
    }
    if (*text && strchr(text, ':') == NULL) {
        return error_set(error, TN_EINVAL, "ZooKeeper credentials: give user:password");
    }
    return TN_OK;
}

enum tn_status target_enter_network(const struct run_note *note, struct error *error)
{
    char path[64];
    struct stat ours, theirs;
    if (note->network == 0 || stat("/proc/self/ns/net", &ours) != 0) { return TN_OK; }
    if (ours.st_ino == note->network) { return TN_OK; }
    snprintf(path, sizeof path, "/proc/%llu/ns/net", (unsigned long long)note->agent_pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ESRCH)) { return TN_OK; }
    /* The pid may be somebody else's by now. */
    bool gone = fd >= 0 && fstat(fd, &theirs) == 0 && theirs.st_ino != note->network;
    bool entered = fd >= 0 && !gone && setns(fd, CLONE_NEWNET) == 0;
    int reason = errno;
    if (fd >= 0) { close(fd); }
    if (entered || gone) { return TN_OK; }
    return error_set(error, TN_ECONNECT,
                     "the run is in a network of its own (`tanist chaos`), which this user may not "
                     "enter (%s): try as root",
                     strerror(reason));
}

void target_use_note(struct target *target, const struct run_note *note)
{
    memcpy(target->connect, note->connect, sizeof target->connect);
    memcpy(target->cluster, note->cluster, sizeof target->cluster);
    target->server_count = note->server_count;
    for (size_t i = 0; i < note->server_count; i++) {
        memcpy(target->servers[i].address, note->servers[i], sizeof note->servers[i]);
        target->servers[i].pid = run_server_pid(target->dir, note->server_ids[i]);
    }
}

static enum tn_status find_local(const struct target_options *options, struct target *out,
                                 struct error *error)
{
    struct run_note note;
    enum tn_status status = run_note_read(options->dir, &note, error);
    if (status == TN_OK) { status = target_enter_network(&note, error); }
    if (status != TN_OK) { return status; }
    out->dir = options->dir;
    target_use_note(out, &note);
    if (run_folder_in_use(options->dir) || note.server_count == 0) { return TN_OK; }
    if (run_folder_has_result(options->dir)) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run in %s has ended, and its ZooKeeper with it: %s/result.json says "
                         "how, %s/logs what happened, `tanist checkpoints list --dir` what is kept",
                         options->dir, options->dir, options->dir);
    }
    return error_set(
        error, TN_EUNHEALTHY,
        "the run in %s is not running, nor is its ZooKeeper: `tanist run JOB.json --dir "
        "%s` goes on with it",
        options->dir, options->dir);
}

/* Servers named by the connect string or the zoo.cfg, for `status` and `top`. */
static void list_servers(struct target *target)
{
    const char *at = target->connect;
    while (*at && *at != '/' && target->server_count < ZOO_SERVERS_MAX) {
        size_t length = strcspn(at, ",/");
        struct target_server *server = &target->servers[target->server_count++];
        snprintf(server->address, sizeof server->address, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
}

enum tn_status target_find(const struct target_options *options, struct target *out,
                           struct error *error)
{
    memset(out, 0, sizeof *out);
    out->wait_ms = (options->wait.given ? (uint32_t)options->wait.value : WAIT_S) * 1000;
    enum tn_status status = target_credentials(options->credentials, out->credentials, error);
    if (status != TN_OK) { return status; }
    if (options->dir != NULL && options->zk == NULL && options->zk_config == NULL) {
        return find_local(options, out, error);
    }
    status = target_connect(options->zk, options->zk_config, out->connect, error);
    if (status != TN_OK) { return status; }
    if (!*out->connect) {
        return error_set(error, TN_EINVAL,
                         "which cluster? Give --dir DIR of a local run, or --zk "
                         "CONNECT and --cluster NAME");
    }
    if (options->cluster != NULL) {
        status = cluster_name_check(options->cluster, error);
        if (status != TN_OK) { return error_context(error, "--cluster"); }
        snprintf(out->cluster, sizeof out->cluster, "%s", options->cluster);
    }
    list_servers(out);
    return TN_OK;
}

/* ------------------------------------------------------------- the cluster */

static void join_names(char **names, size_t count, char *text, size_t size)
{
    size_t length = 0;
    snprintf(text, size, "none");
    for (size_t i = 0; i < count && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", names[i]);
    }
}

/* The only cluster there is, or the list of those there are. */
static enum tn_status choose_cluster(struct target *target, struct zk_sync *sync,
                                     struct error *error)
{
    struct zk_sync_list found = {0};
    char list[256];
    enum tn_status status = zk_sync_list(sync, "/tanist", &found, error);
    if (status != TN_OK && status != TN_ENOENT) { return status; }
    join_names(found.names, found.count, list, sizeof list);
    bool none = found.count == 0, only = !*target->cluster && found.count == 1;
    if (only) { snprintf(target->cluster, sizeof target->cluster, "%s", found.names[0]); }
    zk_sync_list_free(&found);
    if (only) { return TN_OK; }
    if (*target->cluster) {
        return error_set(error, TN_EUNHEALTHY,
                         "ZooKeeper at %s has no cluster \"%s\" (there: %s): start it with `tanist "
                         "run` or `tanist agent`, or name another",
                         target->connect, target->cluster, list);
    }
    return error_set(error, none ? TN_EUNHEALTHY : TN_EINVAL,
                     "which cluster? Give --cluster NAME (at %s there: %s)", target->connect, list);
}

static enum tn_status read_spec(struct target *target, struct zk_sync *sync, struct spec *spec,
                                struct job *job, struct error *error)
{
    enum tn_status status = bootstrap_read_spec(sync, target->cluster, spec, error);
    if (status == TN_ENOENT) { return choose_cluster(target, sync, error); }
    if (status != TN_OK || job == NULL) { return status; }
    job_init(job);
    if (spec->job_json == NULL) { return TN_OK; }
    return job_read_text(job, spec->job_json, strlen(spec->job_json), "/spec", error);
}

enum tn_status target_connect_sync(const char *connect, const char *credentials,
                                   uint32_t timeout_ms, struct zk_sync **out, struct error *error)
{
    uint32_t first_ms = timeout_ms < SAY_MS ? timeout_ms : SAY_MS;
    enum tn_status status = zk_sync_open(connect, credentials, first_ms, out, error);
    if (status != TN_ECONNECT || timeout_ms <= first_ms) { return status; }
    fprintf(stderr, "waiting for ZooKeeper at %s since 3 s (giving up after %u s)\n", connect,
            timeout_ms / 1000);
    return zk_sync_open(connect, credentials, timeout_ms - first_ms, out, error);
}

enum tn_status target_open(struct target *target, struct zk_sync **sync, struct spec *spec,
                           struct job *job, struct error *error)
{
    const char *credentials = *target->credentials ? target->credentials : NULL;
    memset(spec, 0, sizeof *spec);
    enum tn_status status =
        target_connect_sync(target->connect, credentials, target->wait_ms, sync, error);
    if (status != TN_OK) { return status; }
    if (!*target->cluster) { status = choose_cluster(target, *sync, error); }
    if (status == TN_OK) { status = read_spec(target, *sync, spec, job, error); }
    if (status == TN_OK) { return TN_OK; }
    free(spec->job_json);
    zk_sync_close(*sync);
    *sync = NULL;
    return status;
}
