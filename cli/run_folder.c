#include "cli/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/files.h"

enum { NOTE_MAX = 64 * 1024, NOTE_VERSION = 1 };

static void join(char path[static RUN_PATH_MAX], const char *dir, const char *name)
{
    snprintf(path, RUN_PATH_MAX, "%.*s/%s", RUN_PATH_MAX - 64, dir, name);
}

void run_folder_path(const struct run_folder *folder, const char *name,
                     char path[static RUN_PATH_MAX])
{
    join(path, folder->dir, name);
}

/* ------------------------------------------------------------- run.json */

static void note_from_json(const json_t *root, struct run_note *note)
{
    const char *connect = json_string_value(json_object_get(root, "zookeeper"));
    const char *cluster = json_string_value(json_object_get(root, "cluster"));
    const json_t *servers = json_object_get(root, "servers");
    snprintf(note->connect, sizeof note->connect, "%s", connect ? connect : "");
    snprintf(note->cluster, sizeof note->cluster, "%s", cluster ? cluster : "");
    note->agent_pid = (uint64_t)json_integer_value(json_object_get(root, "agent_pid"));
    note->cluster_made_ms = (uint64_t)json_integer_value(json_object_get(root, "cluster_made_ms"));
    for (size_t i = 0; i < json_array_size(servers) && i < ENSEMBLE_SERVERS_MAX; i++) {
        const json_t *server = json_array_get(servers, i);
        const char *address = json_string_value(json_object_get(server, "address"));
        note->server_ids[i] = (uint32_t)json_integer_value(json_object_get(server, "id"));
        snprintf(note->servers[i], sizeof note->servers[i], "%s", address ? address : "");
        note->server_count++;
    }
}

enum tn_status run_note_read(const char *dir, struct run_note *out, struct error *error)
{
    char path[RUN_PATH_MAX], *text = NULL;
    size_t size = 0;
    memset(out, 0, sizeof *out);
    join(path, dir, "run.json");
    enum tn_status status = files_read(path, NOTE_MAX, &text, &size, error);
    if (status == TN_ENOENT)
        return error_set(error, TN_ENOENT, "%s holds no run (there is no run.json in it)", dir);
    if (status != TN_OK) return status;
    json_t *root = json_loadb(text, size, 0, NULL);
    free(text);
    if (!root || json_integer_value(json_object_get(root, "version")) != NOTE_VERSION)
        status = error_set(error, TN_ECORRUPT, "%s is not what `tanist run` writes", path);
    else
        note_from_json(root, out);
    json_decref(root);
    if (status == TN_OK && !*out->connect)
        status = error_set(error, TN_ECORRUPT, "%s does not say where ZooKeeper is", path);
    return status;
}

enum tn_status run_note_write(const char *dir, const struct run_note *note, struct error *error)
{
    char path[RUN_PATH_MAX];
    join(path, dir, "run.json");
    json_t *servers = json_array();
    for (size_t i = 0; i < note->server_count; i++)
        json_array_append_new(servers, json_pack("{s:i, s:s}", "id", (int)note->server_ids[i],
                                                 "address", note->servers[i]));
    json_t *root = json_pack("{s:i, s:s, s:s, s:I, s:I, s:o}", "version", NOTE_VERSION, "cluster",
                             note->cluster, "zookeeper", note->connect, "agent_pid",
                             (json_int_t)note->agent_pid, "cluster_made_ms",
                             (json_int_t)note->cluster_made_ms, "servers", servers);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) return error_set(error, TN_ENOMEM, "out of memory");
    enum tn_status status = files_write_atomic(path, text, strlen(text), error);
    free(text);
    return status;
}

uint64_t run_server_pid(const char *dir, uint32_t id)
{
    char path[RUN_PATH_MAX];
    unsigned long long pid = 0;
    snprintf(path, sizeof path, "%s/zookeeper/%u/pid", dir, id);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, "%llu", &pid) != 1 || pid > INT_MAX) pid = 0;
    fclose(file);
    return pid > 0 && kill((pid_t)pid, 0) == 0 ? pid : 0;
}

/* ------------------------------------------------------------- the folder */

/* The whole file; of this open file, so that asking about it disturbs nobody. */
static struct flock whole_lock(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

bool run_folder_in_use(const char *dir)
{
    char path[RUN_PATH_MAX];
    struct flock lock = whole_lock();
    join(path, dir, "lock");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}

bool run_folder_has_result(const char *dir)
{
    char path[RUN_PATH_MAX];
    snprintf(path, sizeof path, "%s/result.json", dir);
    return access(path, F_OK) == 0;
}

static enum tn_status lock_folder(struct run_folder *folder, struct error *error)
{
    char path[RUN_PATH_MAX], text[32] = "";
    join(path, folder->dir, "lock");
    folder->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (folder->lock < 0) return files_error(error, errno, "open", path);
    struct flock lock = whole_lock();
    if (fcntl(folder->lock, F_OFD_SETLK, &lock) == 0) {
        int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        if (ftruncate(folder->lock, 0) != 0 ||
            write(folder->lock, text, (size_t)length) != (ssize_t)length)
            return files_error(error, errno, "write", path);
        return TN_OK;
    }
    ssize_t size = pread(folder->lock, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    return error_set(error, TN_EEXIST,
                     "%s is in use by another tanist (pid %ld): wait for it, stop it, or give "
                     "another --dir",
                     folder->dir, strtol(text, NULL, 10));
}

static enum tn_status make_folder(struct run_folder *folder, const char *dir, struct error *error)
{
    enum tn_status status = files_make_folders(dir, error);
    if (status != TN_OK) return error_context(error, "--dir");
    char *absolute = realpath(dir, NULL);
    if (!absolute) return files_error(error, errno, "open", dir);
    size_t length = strlen(absolute);
    if (length < RUN_PATH_MAX - 256) memcpy(folder->dir, absolute, length + 1);
    free(absolute);
    if (length >= RUN_PATH_MAX - 256)
        return error_set(error, TN_EINVAL, "--dir: the path is too long");
    return lock_folder(folder, error);
}

/* DIR becomes DIR.20261120T213649Z, and DIR is new. */
static enum tn_status move_aside(struct run_folder *folder, struct error *error)
{
    char old[RUN_PATH_MAX + 32], stamp[32];
    time_t seconds = (time_t)(clock_wall_ms() / 1000);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &utc));
    snprintf(old, sizeof old, "%s.%s", folder->dir, stamp);
    if (rename(folder->dir, old) != 0) return files_error(error, errno, "rename", folder->dir);
    fprintf(stderr, "%s held a finished run: moved to %s (--resume would have gone on from it)\n",
            folder->dir, old);
    close(folder->lock);
    folder->lock = -1;
    char dir[RUN_PATH_MAX];
    memcpy(dir, folder->dir, sizeof dir);
    return make_folder(folder, dir, error);
}

static enum tn_status compare_job(const struct run_folder *folder, const struct job *job,
                                  const char *path, struct error *error)
{
    struct job there;
    char difference[256];
    job_init(&there);
    enum tn_status status = job_read_file(&there, path, error);
    if (status != TN_OK) return status;
    if (strcmp(there.name, job->name) != 0)
        return error_set(error, TN_EINVAL,
                         "%s holds a run of the job \"%s\", not of \"%s\": give another --dir",
                         folder->dir, there.name, job->name);
    if (!job_difference(&there, job, difference, sizeof difference)) return TN_OK;
    return error_set(error, TN_EINVAL,
                     "%s holds an unfinished run of another job: %s; give another --dir, or that "
                     "value",
                     folder->dir, difference);
}

static enum tn_status write_job(const struct run_folder *folder, const struct job *job,
                                struct error *error)
{
    char path[RUN_PATH_MAX];
    char *text = job_to_json(job);
    if (!text) return error_set(error, TN_ENOMEM, "out of memory");
    run_folder_path(folder, "job.json", path);
    enum tn_status status = files_write_atomic(path, text, strlen(text), error);
    free(text);
    return status;
}

static enum tn_status take_over(struct run_folder *folder, const struct job *job, bool resume,
                                struct error *error)
{
    char path[RUN_PATH_MAX], result[RUN_PATH_MAX];
    run_folder_path(folder, "job.json", path);
    run_folder_path(folder, "result.json", result);
    folder->finished = access(result, F_OK) == 0;
    if (folder->finished && !resume) {
        folder->finished = false;
        return move_aside(folder, error);
    }
    if (access(path, F_OK) != 0) return TN_OK;
    enum tn_status status = compare_job(folder, job, path, error);
    if (status != TN_OK) return status;
    folder->resumes = true;
    if (folder->finished && unlink(result) != 0) return files_error(error, errno, "remove", result);
    return TN_OK;
}

enum tn_status run_folder_open(struct run_folder *folder, const char *dir, const struct job *job,
                               bool resume, struct error *error)
{
    *folder = (struct run_folder){.lock = -1};
    enum tn_status status = make_folder(folder, dir, error);
    if (status == TN_OK) status = take_over(folder, job, resume, error);
    if (status == TN_OK) status = write_job(folder, job, error);
    if (status != TN_OK) run_folder_close(folder);
    return status;
}

void run_folder_close(struct run_folder *folder)
{
    if (folder->lock >= 0) close(folder->lock);
    folder->lock = -1;
}

enum tn_status run_folder_finish(const struct run_folder *folder, const char *json,
                                 struct error *error)
{
    char path[RUN_PATH_MAX];
    run_folder_path(folder, "result.json", path);
    return files_write_atomic(path, json, strlen(json), error);
}
