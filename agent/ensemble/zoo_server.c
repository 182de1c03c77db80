#include "agent/ensemble/zoo_server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/ensemble/zoo_ports.h"
#include "common/base/files.h"
#include "common/base/log_file.h"

enum { SMALL_FILE_MAX = 64, COMMAND_LINE_MAX = 16384, LOG_TAIL_MAX = 8192 };

/* ------------------------------------------------------------------ reading */

/* The number in a file such as myid; 0: no file, or no number. */
static unsigned long read_number(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    assert(path != NULL);
    if (files_read(path, SMALL_FILE_MAX, &text, &size, NULL) != TN_OK) { return 0; }
    char *end = text;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || (*end != '\n' && *end != '\0')) { number = 0; }
    free(text);
    return number;
}

static enum tn_status join(char path[static ZOO_PATH_MAX], const char *folder, const char *name,
                           struct error *error)
{
    assert(folder != NULL && name != NULL);
    if (snprintf(path, ZOO_PATH_MAX, "%s/%s", folder, name) < ZOO_PATH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "dataDir %s: the path is too long", folder);
}

/* Finds the server of the ensemble that this file is for. */
static enum tn_status identify(struct zoo_server_files *server, struct error *error)
{
    char path[ZOO_PATH_MAX];
    const struct zoo_cfg *cfg = &server->cfg;
    assert(server->cfg_path[0] != '\0');
    enum tn_status status = join(path, cfg->data_dir, "myid", error);
    if (status != TN_OK) { return status; }
    uint32_t myid = (uint32_t)read_number(path);
    server->id_missing = access(path, F_OK) != 0;
    const struct zoo_server *own = zoo_cfg_own_server(cfg, myid);
    if (own == NULL && myid == 0) { own = zoo_ports_server_of_host(cfg); }
    if (own == NULL && cfg->server_count > 0 && myid != 0) {
        return error_set(error, TN_EINVAL, "%s contains %u, but %s has no server.%u", path,
                         (unsigned)myid, server->cfg_path, (unsigned)myid);
    }
    if (own == NULL && cfg->server_count > 0) {
        return error_set(error, TN_EINVAL,
                         "%s does not show which of its servers is that of this host: give each "
                         "server line an address of its host, such as 10.0.0.1, or write the N of "
                         "its server.N into %s",
                         server->cfg_path, path);
    }
    server->id = own != NULL ? own->id : 0;
    return zoo_cfg_own_address(cfg, own, server->address, sizeof server->address, error);
}

enum tn_status zoo_server_read(const char *path, struct zoo_server_files *out, struct error *error)
{
    assert(path != NULL && out != NULL);
    char resolved[PATH_MAX];
    memset(out, 0, sizeof *out);
    if (realpath(path, resolved) == NULL) { return files_error(error, errno, "open", path); }
    if (strlen(resolved) >= sizeof out->cfg_path) {
        return error_set(error, TN_EINVAL, "the path %s is too long", resolved);
    }
    memcpy(out->cfg_path, resolved, strlen(resolved) + 1);
    enum tn_status status = zoo_cfg_read(&out->cfg, resolved, error);
    if (status == TN_OK) { status = join(out->pid_path, out->cfg.data_dir, "tanist.pid", error); }
    if (status == TN_OK) { status = join(out->log_path, out->cfg.data_dir, "tanist.log", error); }
    if (status == TN_OK) { status = identify(out, error); }
    return status;
}

enum tn_status zoo_server_prepare(struct zoo_server_files *server, struct error *error)
{
    char path[ZOO_PATH_MAX];
    char number[SMALL_FILE_MAX];
    assert(server->cfg.data_dir[0] != '\0');
    enum tn_status status = files_make_folders(server->cfg.data_dir, error);
    if (status != TN_OK || server->id == 0 || !server->id_missing) { return status; }
    status = join(path, server->cfg.data_dir, "myid", error);
    if (status != TN_OK) { return status; }
    int length = snprintf(number, sizeof number, "%u\n", (unsigned)server->id);
    return files_write_atomic(path, number, (size_t)length, error);
}

/* -------------------------------------------------------------- the process */

/* Whether the process is a ZooKeeper server with `cfg_path` as one of its arguments. */
static bool is_server_of(pid_t pid, const char *cfg_path)
{
    char path[SMALL_FILE_MAX];
    char line[COMMAND_LINE_MAX];
    bool zookeeper = false;
    bool named = false;
    assert(pid > 0);
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) { return false; }
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = '\0';
    for (const char *at = line; at < line + size; at += strlen(at) + 1) {
        if (strstr(at, "QuorumPeerMain") != NULL) { zookeeper = true; }
        if (strcmp(at, cfg_path) == 0) { named = true; }
    }
    return zookeeper && named;
}

pid_t zoo_server_pid(const struct zoo_server_files *server)
{
    assert(server->pid_path[0] != '\0');
    unsigned long pid = read_number(server->pid_path);
    if (pid == 0 || pid > INT_MAX) { return 0; }
    return is_server_of((pid_t)pid, server->cfg_path) ? (pid_t)pid : 0;
}

/* Runs in the child; never returns. */
static _Noreturn void become(const struct ensemble_command *command, int log, int null)
{
    sigset_t none;
    assert(log >= 0 && null >= 0);
    sigemptyset(&none);
    if (setsid() < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0) {
        _exit(126);
    }
    (void)syscall(SYS_close_range, 3U, ~0U, 0U);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(command->argv[0], (char *const *)command->argv);
    _exit(127);
}

enum tn_status zoo_server_detach(const struct zoo_server_files *server,
                                 const struct ensemble_command *command, pid_t *pid,
                                 struct error *error)
{
    assert(command->argv[0] != NULL && pid != NULL);
    log_file_rotate_if_full(server->log_path, LOG_FILE_DEFAULT_BYTES);
    int log = open(server->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log < 0) { return files_error(error, errno, "open", server->log_path); }
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *pid = null < 0 ? -1 : fork();
    if (*pid == 0) { become(command, log, null); }
    enum tn_status status = TN_OK;
    if (*pid < 0) {
        status = error_set(error, TN_EIO, "cannot start %s: %s", command->argv[0], strerror(errno));
    }
    if (null >= 0) { close(null); }
    close(log);
    return status;
}

enum tn_status zoo_server_note_pid(const struct zoo_server_files *server, pid_t pid,
                                   struct error *error)
{
    char number[SMALL_FILE_MAX];
    assert(pid > 0);
    int length = snprintf(number, sizeof number, "%ld\n", (long)pid);
    return files_write_atomic(server->pid_path, number, (size_t)length, error);
}

void zoo_server_forget_pid(const struct zoo_server_files *server)
{
    (void)unlink(server->pid_path);
}

void zoo_server_last_error(const struct zoo_server_files *server, char *text, size_t size)
{
    char tail[LOG_TAIL_MAX + 1];
    assert(size > 0);
    text[0] = '\0';
    FILE *file = fopen(server->log_path, "re");
    if (file == NULL) { return; }
    if (fseek(file, -LOG_TAIL_MAX, SEEK_END) != 0) { rewind(file); /* The log is shorter. */ }
    size_t length = fread(tail, 1, LOG_TAIL_MAX, file);
    fclose(file);
    tail[length] = '\0';
    for (char *rest = tail, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\t' || strstr(line, "Exiting JVM") != NULL) {
            continue; /* These lines do not contain the cause. */
        }
        bool is_error = strstr(line, "ERROR") != NULL || strstr(line, "Exception") != NULL ||
                        strncmp(line, "Error", 5) == 0 || strstr(line, "Caused by") != NULL;
        if (is_error) { snprintf(text, size, "%s", line); }
    }
}
