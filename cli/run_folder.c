#include "cli/run_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/job/job_rate.h"
#include "common/job/job_resume.h"

enum {
    MOVES_MAX = 100,
    LOCK_WAIT_MS = 5000, /* For a lock whose holder has ended. */
    LOCK_PAUSE_MS = 10,
};

static void join(char path[static RUN_PATH_MAX], const char *dir, const char *name)
{
    snprintf(path, RUN_PATH_MAX, "%.*s/%s", RUN_PATH_MAX - 64, dir, name);
}

void run_folder_path(const struct run_folder *folder, const char *name,
                     char path[static RUN_PATH_MAX])
{
    assert(*folder->dir != '\0');
    join(path, folder->dir, name);
}

/* ------------------------------------------------------------- the folder */

/* A lock of the whole file. It belongs to the open file, not to the process, so that looking
 * whether it is locked does not release it. */
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
    if (fd < 0) { return false; }
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}

static bool has_file(const char *dir, const char *name)
{
    char path[RUN_PATH_MAX];
    join(path, dir, name);
    return access(path, F_OK) == 0;
}

bool run_folder_has_result(const char *dir)
{
    return has_file(dir, "result.json");
}

bool run_folder_has_cluster(const char *dir)
{
    return has_file(dir, "run.json");
}

bool run_folder_is_local(const char *dir)
{
    return has_file(dir, "record.json") && !run_folder_has_cluster(dir);
}

static enum tn_status write_pid(const struct run_folder *folder, const char *path,
                                struct error *error)
{
    char text[32];
    assert(folder->lock >= 0);
    const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(folder->lock, 0) != 0 ||
        pwrite(folder->lock, text, (size_t)length, 0) != (ssize_t)length) {
        return files_error(error, errno, "write", path);
    }
    return TN_OK;
}

/* Whether `fd` is still the file at `path`. Between open() and the lock, the agent that held the
 * lock may have moved the folder aside: the lock is then one of the old folder. */
static bool is_file_at(int fd, const char *path)
{
    struct stat locked, current;
    return fstat(fd, &locked) == 0 && stat(path, &current) == 0 &&
           locked.st_dev == current.st_dev && locked.st_ino == current.st_ino;
}

/* The pid in the locked file; 0: none. */
static pid_t holder_of(int fd)
{
    char text[32] = "";
    if (pread(fd, text, sizeof text - 1, 0) < 0) { return 0; }
    return (pid_t)strtol(text, NULL, 10);
}

static bool has_ended(pid_t pid)
{
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

/* An agent that is killed while it starts a task leaves a copy of its descriptors, and so the lock,
 * in the new process, which closes them when it executes its program. */
static bool take_lock(int fd)
{
    struct flock lock = whole_lock();
    for (int waited_ms = 0;; waited_ms += LOCK_PAUSE_MS) {
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) { return true; }
        if (waited_ms >= LOCK_WAIT_MS || !has_ended(holder_of(fd))) { return false; }
        (void)poll(NULL, 0, LOCK_PAUSE_MS);
    }
}

/* TN_EAGAIN: the folder was moved aside at the same time; create it again. */
static enum tn_status lock_folder(struct run_folder *folder, struct error *error)
{
    char path[RUN_PATH_MAX];
    assert(folder->dir[0] == '/');
    assert(folder->lock < 0);
    join(path, folder->dir, "lock");
    folder->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (folder->lock < 0 && errno == ENOENT) { return error_set(error, TN_EAGAIN, "moved aside"); }
    if (folder->lock < 0) { return files_error(error, errno, "open", path); }
    if (take_lock(folder->lock)) {
        if (is_file_at(folder->lock, path)) { return write_pid(folder, path, error); }
        close(folder->lock);
        folder->lock = -1;
        return error_set(error, TN_EAGAIN, "moved aside");
    }
    return error_set(error, TN_EEXIST,
                     "%s is in use by another tanist (pid %ld): wait for it, stop it, or give "
                     "another --dir",
                     folder->dir, (long)holder_of(folder->lock));
}

static enum tn_status create_once(struct run_folder *folder, const char *dir, struct error *error)
{
    enum tn_status status = files_make_folders(dir, error);
    if (status != TN_OK) { return error_context(error, "--dir"); }
    char *absolute = realpath(dir, NULL);
    if (absolute == NULL && errno == ENOENT) { return error_set(error, TN_EAGAIN, "moved aside"); }
    if (absolute == NULL) { return files_error(error, errno, "open", dir); }
    size_t length = strlen(absolute);
    if (length < RUN_PATH_MAX - 256) { memcpy(folder->dir, absolute, length + 1); }
    free(absolute);
    if (length >= RUN_PATH_MAX - 256) {
        return error_set(error, TN_EINVAL, "--dir: the path is too long: give at most %d bytes",
                         RUN_PATH_MAX - 257);
    }
    return lock_folder(folder, error);
}

/* Each repetition means that another agent has moved the folder aside in between. */
static enum tn_status create_folder(struct run_folder *folder, const char *dir, struct error *error)
{
    enum tn_status status = TN_EAGAIN;
    for (int i = 0; i < MOVES_MAX && status == TN_EAGAIN; i++) {
        status = create_once(folder, dir, error);
    }
    if (status != TN_EAGAIN) { return status; }
    return error_set(error, TN_EEXIST,
                     "%s is moved aside again and again by another tanist: give another --dir",
                     dir);
}

/* The new run has the index of the old one: data/source/index.h. */
static void take_index(const struct run_folder *folder, const char *old)
{
    char from[RUN_PATH_MAX + 64], to[RUN_PATH_MAX];
    (void)snprintf(from, sizeof from, "%s/index", old);
    run_folder_path(folder, "index", to);
    (void)rename(from, to); /* Without it, everything is computed again. */
}

/* DIR becomes DIR.20261120T213649Z, and DIR is new. */
static enum tn_status move_aside(struct run_folder *folder, struct error *error)
{
    char old[RUN_PATH_MAX + 48], stamp[32];
    assert(folder->lock >= 0);
    time_t seconds = (time_t)(clock_wall_ms() / 1000);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &utc));
    snprintf(old, sizeof old, "%s.%s", folder->dir, stamp);
    /* Another run may have been moved aside within the same second. */
    for (int n = 2; rename(folder->dir, old) != 0; n++) {
        if ((errno != ENOTEMPTY && errno != EEXIST) || n > MOVES_MAX) {
            return files_error(error, errno, "rename", folder->dir);
        }
        snprintf(old, sizeof old, "%s.%s-%d", folder->dir, stamp, n);
    }
    output_message(LOG_INFO,
                   "%s contained a finished run: moved it to %s (--resume would have continued it)",
                   folder->dir, old);
    close(folder->lock);
    folder->lock = -1;
    char dir[RUN_PATH_MAX];
    memcpy(dir, folder->dir, sizeof dir);
    enum tn_status status = create_folder(folder, dir, error);
    if (status == TN_OK) { take_index(folder, old); }
    return status;
}

static enum tn_status refuse_strategy(const struct run_folder *folder, const struct job *existing,
                                      const struct job *job, bool finished, struct error *error)
{
    const char *had = job_strategy_text(existing);
    return error_set(error, TN_EINVAL,
                     "%s contains %s run with strategy.type %s: give another --dir, --set "
                     "strategy.type=%s, or --resume to continue it with strategy.type %s from the "
                     "last checkpoint on",
                     folder->dir, finished ? "a finished" : "an unfinished", had, had,
                     job_strategy_text(job));
}

static enum tn_status compare_job(struct run_folder *folder, struct job *job, const char *path,
                                  bool finished, bool may_change, struct error *error)
{
    struct job existing;
    char difference[JOB_DIFFERENCE_MAX];
    job_init_existing(&existing);
    enum tn_status status = job_read_file(&existing, path, error);
    if (status != TN_OK) { return status; }
    if (strcmp(existing.name, job->name) != 0) {
        return error_set(error, TN_EINVAL,
                         "%s contains a run of the job \"%s\", not of \"%s\": give another --dir",
                         folder->dir, existing.name, job->name);
    }
    folder->continued = true;
    folder->before = existing;
    job_resume_adopt(job, &existing);
    const bool differs = job_difference(&existing, job, difference);
    if (!differs && !job_layout_differs(&existing, job)) { return TN_OK; }
    const bool allowed = job_resume_allows(&existing, job);
    if (allowed) { status = job_resume_check(&existing, job, error); }
    if (status != TN_OK) { return status; }
    folder->job_changes = allowed && may_change;
    if (folder->job_changes) { return TN_OK; }
    if (allowed && job_strategy_differs(&existing, job)) {
        return refuse_strategy(folder, &existing, job, finished, error);
    }
    return error_set(error, TN_EINVAL,
                     "%s contains %s run of another job: %s; give another --dir, %sthe same values"
                     "%s",
                     folder->dir, finished ? "a finished" : "an unfinished", difference,
                     allowed ? "" : "or ",
                     allowed ? ", or --resume to change it from the last checkpoint on" : "");
}

enum tn_status run_folder_write_job(const struct run_folder *folder, const struct job *job,
                                    struct error *error)
{
    char path[RUN_PATH_MAX];
    assert(folder->lock >= 0);
    char *text = job_to_json(job);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    run_folder_path(folder, "job.json", path);
    enum tn_status status = files_write_atomic(path, text, strlen(text), error);
    free(text);
    return status;
}

const char *const run_folder_created[RUN_FOLDER_CREATED] = {
    "job.json", "columns.json", "run.json",    "record.json", "history.jsonl", "metrics.jsonl",
    "sessions", "times",        "evaluations", "summaries",   "zookeeper",
};

/* Files that every run has soon after it has begun. */
static bool has_run_files(const char *dir)
{
    static const char *const names[] = {"job.json",    "columns.json",       "run.json",
                                        "record.json", "history.jsonl",      "metrics.jsonl",
                                        "sessions",    "checkpoints",        "tables",
                                        "times",       "zookeeper/1/zoo.cfg"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (has_file(dir, names[i])) { return true; }
    }
    return false;
}

/* Whether `path` is a folder in which `N/log`, `N/log.1` and so on are the only files. */
static bool has_only_logs(char *path)
{
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool only_logs = tree != NULL;
    for (FTSENT *entry = NULL; only_logs && (entry = fts_read(tree)) != NULL;) {
        const bool is_folder = entry->fts_info == FTS_D || entry->fts_info == FTS_DP;
        only_logs = is_folder || (entry->fts_info == FTS_F && entry->fts_level == 2 &&
                                  strncmp(entry->fts_name, "log", strlen("log")) == 0);
    }
    if (tree != NULL) { (void)fts_close(tree); }
    return only_logs;
}

static void note_held(struct run_folder *folder)
{
    for (size_t i = 0; i < RUN_FOLDER_CREATED; i++) {
        char path[RUN_PATH_MAX];
        struct stat status;
        const char *name = run_folder_created[i];
        run_folder_path(folder, name, path);
        folder->held[i] =
            lstat(path, &status) == 0 && (strcmp(name, "zookeeper") != 0 || !has_only_logs(path));
    }
}

static enum tn_status check_contents(struct run_folder *folder, struct job *job, bool resume,
                                     bool may_change, struct error *error)
{
    char path[RUN_PATH_MAX], result[RUN_PATH_MAX];
    assert(folder->lock >= 0);
    enum tn_status status = TN_OK;
    /* Another agent may use the new folder, and end, before this one has locked it. */
    for (int i = 0; i < MOVES_MAX && !resume && run_folder_has_result(folder->dir); i++) {
        status = move_aside(folder, error);
        if (status != TN_OK) { return status; }
    }
    run_folder_path(folder, "job.json", path);
    run_folder_path(folder, "result.json", result);
    const bool finished = access(result, F_OK) == 0;
    folder->is_new = !has_run_files(folder->dir);
    note_held(folder);
    if (access(path, F_OK) != 0) { return TN_OK; }
    status = compare_job(folder, job, path, finished, may_change, error);
    if (status == TN_OK && finished && unlink(result) != 0) {
        return files_error(error, errno, "remove", result);
    }
    return status;
}

enum tn_status run_folder_open(struct run_folder *folder, const char *dir, struct job *job,
                               bool resume, bool may_change, struct error *error)
{
    assert(*job->name != '\0');
    *folder = (struct run_folder){.lock = -1};
    enum tn_status status = create_folder(folder, dir, error);
    if (status == TN_OK) { status = check_contents(folder, job, resume, may_change, error); }
    if (status == TN_OK && !folder->job_changes) {
        status = run_folder_write_job(folder, job, error);
    }
    if (status != TN_OK) { run_folder_close(folder); }
    return status;
}

void run_folder_close(struct run_folder *folder)
{
    if (folder->lock >= 0) { close(folder->lock); }
    folder->lock = -1;
}

enum tn_status run_folder_finish(const struct run_folder *folder, const char *json,
                                 struct error *error)
{
    char path[RUN_PATH_MAX];
    assert(folder->lock >= 0);
    run_folder_path(folder, "result.json", path);
    return files_write_atomic(path, json, strlen(json), error);
}
