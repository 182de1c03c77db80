/* chaos/inject/inject_disk_full.c: the device of the checkpoints is full: a file takes all that is
 * left of a small tmpfs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/inject/inject_disk.h"
#include "common/base/files.h"

enum { PATH_BYTES = TARGET_PATH_MAX + 64, PART_MIN = 4096, SHARD_EXTRA = 1 << 20, SPARE = 3 };

static void folder_of(const struct target_cluster *cluster, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/checkpoints", cluster->run_dir);
}

static void ballast_of(const struct target_cluster *cluster, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/checkpoints/ballast", cluster->run_dir);
}

/* ------------------------------------------------------------- the device */

static uint64_t parameters_of(const struct job *job)
{
    uint64_t inputs = job->model.inputs, count = 0;
    for (uint32_t i = 0; i < job->model.hidden_count; i++) {
        count += (inputs + 1) * job->model.hidden[i];
        inputs = job->model.hidden[i];
    }
    return count + (inputs + 1) * job->model.outputs;
}

uint64_t disk_full_bytes(const struct job *job)
{
    enum { ARRAYS_MOST = 3 }; /* Adam's: values and two moments. */
    uint64_t checkpoint = parameters_of(job) * sizeof(float) * ARRAYS_MOST;
    checkpoint += checkpoint / 8 + (uint64_t)SHARD_EXTRA * job->cluster.ps;
    return checkpoint * (job->checkpoint.keep + SPARE);
}

enum tn_status disk_full_prepare(const struct target_cluster *cluster, struct error *error)
{
    char folder[PATH_BYTES], options[64];
    folder_of(cluster, folder);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) { return status; }
    snprintf(options, sizeof options, "size=%llu,mode=0755",
             (unsigned long long)disk_full_bytes(cluster->job));
    if (mount("tanist-chaos", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0) {
        return TN_OK;
    }
    return error_set(error, TN_ENOTSUP, "cannot mount a small tmpfs on %s: %s", folder,
                     strerror(errno));
}

/* Whether the folder is a device other than the one around it. */
static bool is_mounted(const struct target_cluster *cluster)
{
    char folder[PATH_BYTES];
    struct stat inner, outer;
    folder_of(cluster, folder);
    return stat(folder, &inner) == 0 && stat(cluster->run_dir, &outer) == 0 &&
           inner.st_dev != outer.st_dev;
}

/* `cp -a FROM TO`; false: it failed. */
static bool copy_tree(const char *from, const char *to)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("cp", "cp", "-a", from, to, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void disk_full_cleanup(const struct target_cluster *cluster, bool keep)
{
    char folder[PATH_BYTES], copy[PATH_BYTES + 16], ballast[PATH_BYTES];
    if (!is_mounted(cluster)) { return; }
    folder_of(cluster, folder);
    ballast_of(cluster, ballast);
    snprintf(copy, sizeof copy, "%s.kept", folder);
    (void)unlink(ballast);
    bool copied = keep && copy_tree(folder, copy);
    (void)umount2(folder, MNT_DETACH);
    if (copied && rmdir(folder) == 0) { (void)rename(copy, folder); }
}

/* --------------------------------------------------------------- the fault */

struct ballast {
    int fd;
    uint64_t bytes;
};

/* All that is left. Others write meanwhile: what cannot be had at once is taken in parts. */
static void fill(struct ballast *ballast)
{
    struct statvfs device;
    if (fstatvfs(ballast->fd, &device) != 0) { return; }
    uint64_t part = (uint64_t)device.f_bavail * device.f_frsize;
    while (part >= PART_MIN) {
        if (posix_fallocate(ballast->fd, (off_t)ballast->bytes, (off_t)part) == 0) {
            ballast->bytes += part;
        }
        part /= 2;
    }
}

static enum tn_status begin_full(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    char path[PATH_BYTES];
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    if (!is_mounted(cluster)) {
        return error_set(error, TN_ENOTSUP, "the checkpoints have no small device of their own");
    }
    ballast_of(cluster, path);
    struct ballast *ballast = calloc(1, sizeof *ballast);
    if (ballast == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    ballast->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (ballast->fd < 0) {
        free(ballast);
        return files_error(error, errno, "make", path);
    }
    fill(ballast);
    if (strike->injection.for_ms == 0) { strike->injection.for_ms = 1; }
    strike->state = ballast;
    snprintf(strike->text, sizeof strike->text,
             "the device of all checkpoints is full: %llu KiB "
             "were left",
             (unsigned long long)ballast->bytes / 1024);
    return TN_OK;
}

/* What is deleted meanwhile makes no room. */
static void tick_full(struct target_cluster *cluster, struct strike *strike)
{
    (void)cluster;
    fill(strike->state);
}

static void end_full(struct target_cluster *cluster, struct strike *strike)
{
    struct ballast *ballast = strike->state;
    char path[PATH_BYTES];
    ballast_of(cluster, path);
    close(ballast->fd);
    (void)unlink(path);
    snprintf(strike->text, sizeof strike->text, "the device of the checkpoints has %llu KiB again",
             (unsigned long long)ballast->bytes / 1024);
    free(ballast);
    strike->state = NULL;
}

const struct injector injector_disk_full = {
    .begin = begin_full, .tick = tick_full, .end = end_full};
