/* chaos/inject/inject_disk_full.c: the device of the checkpoints is full: a ballast file takes all
 * space of a small tmpfs. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/inject/inject_disk_full.h"
#include "chaos/inject/injector.h"
#include "common/base/files.h"
#include "common/job/strategy.h"

enum {
    PATH_BYTES = TARGET_PATH_MAX + 64,
    PART_MIN = 4096,
    SHARD_EXTRA = 1 << 20,
    SPARE_CHECKPOINTS = 3
};

static void checkpoints_path(const struct target_cluster *cluster, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/checkpoints", cluster->run_dir);
}

static void ballast_path(const struct target_cluster *cluster, char path[static PATH_BYTES])
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
    enum { ARRAYS_MAX = 3 }; /* Adam has values and two moments. */
    uint64_t checkpoint = parameters_of(job) * sizeof(float) * ARRAYS_MAX;
    checkpoint += checkpoint / 8 + (uint64_t)SHARD_EXTRA * strategy_shards(job);
    return checkpoint * (job->checkpoint.keep + SPARE_CHECKPOINTS);
}

enum tn_status disk_full_prepare(const struct target_cluster *cluster, struct error *error)
{
    char folder[PATH_BYTES], options[64];
    assert(cluster->run_dir[0] != '\0');
    checkpoints_path(cluster, folder);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) { return status; }
    snprintf(options, sizeof options, "size=%" PRIu64 ",mode=0755", disk_full_bytes(cluster->job));
    if (mount("tanist-chaos", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0) {
        return TN_OK;
    }
    return error_set(error, TN_ENOTSUP, "cannot mount a small tmpfs on %s: %s", folder,
                     strerror(errno));
}

/* Whether the checkpoints are on another device than the run. */
static bool is_mounted(const struct target_cluster *cluster)
{
    char folder[PATH_BYTES];
    struct stat inner, outer;
    checkpoints_path(cluster, folder);
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
    checkpoints_path(cluster, folder);
    ballast_path(cluster, ballast);
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

/* Take all free space. The ps write meanwhile, so a part that is not free any more is tried in
 * halves. */
static void fill(struct ballast *ballast)
{
    struct statvfs device;
    assert(ballast->fd >= 0);
    if (fstatvfs(ballast->fd, &device) != 0) { return; }
    uint64_t part = (uint64_t)device.f_bavail * device.f_frsize;
    while (part >= PART_MIN) {
        if (posix_fallocate(ballast->fd, (off_t)ballast->bytes, (off_t)part) == 0) {
            ballast->bytes += part;
        }
        part /= 2;
    }
}

static enum tn_status begin_full(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    char path[PATH_BYTES];
    struct ballast *ballast = fault->state;
    if (!is_mounted(cluster)) {
        return error_set(error, TN_ENOTSUP, "the checkpoints have no small device of their own");
    }
    ballast_path(cluster, path);
    ballast->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (ballast->fd < 0) { return files_error(error, errno, "create", path); }
    fill(ballast);
    fault_describe(fault, "the device of all checkpoints is full: %" PRIu64 " KiB were free",
                   ballast->bytes / 1024);
    return TN_OK;
}

/* Space that is freed meanwhile is taken, too. */
static void tick_full(struct target_cluster *cluster, struct active_fault *fault)
{
    (void)cluster;
    fill(fault->state);
}

static void end_full(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct ballast *ballast = fault->state;
    char path[PATH_BYTES];
    ballast_path(cluster, path);
    close(ballast->fd);
    (void)unlink(path);
    fault_describe(fault, "the device of the checkpoints has %" PRIu64 " KiB free again",
                   ballast->bytes / 1024);
}

const struct injector injector_disk_full = {
    .state_bytes = sizeof(struct ballast), .begin = begin_full, .tick = tick_full, .end = end_full};
