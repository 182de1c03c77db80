/* chaos/inject/inject_damage.c: a node that keeps parameters is stopped, files of the newest
 * checkpoint are damaged, and the node is killed: its successor must not load them. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/cluster/proc.h"
#include "chaos/inject/injector.h"
#include "common/base/files.h"
#include "common/cluster/manifest.h"
#include "common/job/strategy.h"

enum {
    PATH_BYTES = TARGET_PATH_MAX + 160,
    FILE_BYTES_MAX = 1 << 30,
    DEFAULT_BITS = 8,
    STOP_TRIES = 50, /* One per millisecond. */
    ID_DIGITS = 10,
};

/* The two newest committed checkpoints that are intact. */
struct committed {
    struct manifest newest, older;
};

/* ------------------------------------------------------------- checkpoints */

/* ps/store/store_layout.h has the names. */
static void shard_path(const struct target_cluster *cluster, const struct manifest *manifest,
                       uint32_t shard, char path[static PATH_BYTES])
{
    assert(shard < manifest->shard_count);
    snprintf(path, PATH_BYTES,
             "%s/checkpoints/%010" PRIu64 "/shard-%" PRIu32 "-of-%" PRIu32 "/data.mdb",
             cluster->run_dir, manifest->id, shard, manifest->shard_count);
}

/* The highest id below `below` that has a folder; 0: none has. */
static uint64_t newest_below(const struct target_cluster *cluster, uint64_t below)
{
    char path[PATH_BYTES];
    uint64_t newest = 0;
    snprintf(path, sizeof path, "%s/checkpoints", cluster->run_dir);
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < ID_DIGITS || strspn(entry->d_name, "0123456789") != length) { continue; }
        uint64_t id = strtoull(entry->d_name, NULL, 10);
        if (id < below && id > newest) { newest = id; }
    }
    closedir(folder);
    return newest;
}

static bool read_manifest(const struct target_cluster *cluster, uint64_t id, struct manifest *out)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/checkpoints/%010" PRIu64 "/manifest.json", cluster->run_dir,
             id);
    if (files_read(path, MANIFEST_JSON_MAX, &text, &size, NULL) != TN_OK) { return false; }
    bool read = manifest_decode(text, size, out, NULL) == TN_OK;
    free(text);
    return read && out->shard_count == strategy_shards(cluster->job);
}

static bool is_intact(const struct target_cluster *cluster, const struct manifest *manifest)
{
    bool intact = true;
    for (uint32_t i = 0; intact && i < manifest->shard_count; i++) {
        char path[PATH_BYTES], *bytes = NULL;
        size_t size = 0;
        shard_path(cluster, manifest, i, path);
        if (files_read(path, FILE_BYTES_MAX, &bytes, &size, NULL) != TN_OK) { return false; }
        intact = size == manifest->shards[i].bytes &&
                 digest_equal(digest_of(bytes, size), manifest->shards[i].digest);
        free(bytes);
    }
    return intact;
}

/* TN_EAGAIN: fewer than two intact checkpoints exist, so the damage would lose everything. */
static enum tn_status find_committed(const struct target_cluster *cluster, struct committed *out,
                                     struct error *error)
{
    struct manifest *next = &out->newest;
    for (uint64_t id = UINT64_MAX; (id = newest_below(cluster, id)) != 0;) {
        if (!read_manifest(cluster, id, next) || !is_intact(cluster, next)) { continue; }
        if (next == &out->older) { return TN_OK; }
        next = &out->older;
    }
    return error_set(error, TN_EAGAIN, "fewer than two intact checkpoints exist");
}

/* ------------------------------------------------------------- damage */

static enum tn_status flip_bits(struct target_cluster *cluster, const char *path, uint32_t count,
                                struct error *error)
{
    struct stat info;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) { return files_error(error, errno, "open", path); }
    int failed = fstat(fd, &info) == 0 ? 0 : errno;
    for (uint32_t i = 0; failed == 0 && i < count && info.st_size > 0; i++) {
        uint8_t byte = 0;
        uint64_t bit = random_below(&cluster->random, (uint64_t)info.st_size * 8);
        if (pread(fd, &byte, 1, (off_t)(bit / 8)) != 1) { failed = EIO; }
        byte = (uint8_t)(byte ^ (1U << bit % 8));
        if (failed == 0 && pwrite(fd, &byte, 1, (off_t)(bit / 8)) != 1) { failed = EIO; }
    }
    close(fd);
    return failed ? files_error(error, failed, "damage", path) : TN_OK;
}

/* Remove the last `bytes`; half of the file if that is 0 or more than there are. */
static enum tn_status cut_end(const char *path, uint64_t bytes, struct error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) { return files_error(error, errno, "stat", path); }
    uint64_t size = (uint64_t)info.st_size;
    if (bytes == 0 || bytes >= size) { bytes = size - size / 2; }
    if (truncate(path, (off_t)(size - bytes)) == 0) { return TN_OK; }
    return files_error(error, errno, "truncate", path);
}

static enum tn_status copy_file(const char *from, const char *to, struct error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    enum tn_status status = files_read(from, FILE_BYTES_MAX, &bytes, &size, error);
    if (status == TN_OK) { status = files_write_atomic(to, bytes, size, error); }
    free(bytes);
    return status;
}

static enum tn_status swap_files(const char *a, const char *b, struct error *error)
{
    char other[PATH_BYTES + 8];
    snprintf(other, sizeof other, "%s.swap", a);
    if (rename(a, other) == 0 && rename(b, a) == 0 && rename(other, b) == 0) { return TN_OK; }
    return files_error(error, errno, "swap", a);
}

static enum tn_status damage(struct target_cluster *cluster, struct active_fault *fault,
                             uint32_t shard, struct error *error)
{
    char path[PATH_BYTES], other[PATH_BYTES];
    const struct committed *committed = fault->state;
    const struct manifest *newest = &committed->newest, *older = &committed->older;
    double value = fault->injection.value;
    const char *what = "";
    enum tn_status status = TN_OK;
    shard_path(cluster, newest, shard, path);
    switch (fault->injection.fault) {
    case FAULT_FLIP_BITS:
        what = "has flipped bits";
        status = flip_bits(cluster, path, value >= 1 ? (uint32_t)value : DEFAULT_BITS, error);
        break;
    case FAULT_TRUNCATE:
        what = "lost its end";
        status = cut_end(path, value >= 1 ? (uint64_t)value : 0, error);
        break;
    case FAULT_SWAP_SHARDS:
        what = "was swapped with the next";
        shard_path(cluster, newest, (shard + 1) % newest->shard_count, other);
        status = swap_files(path, other, error);
        break;
    default:
        what = "was replaced by an older one";
        shard_path(cluster, older, shard, other);
        status = copy_file(other, path, error);
        break;
    }
    fault_describe(fault,
                   "shard %u of checkpoint %" PRIu64 " (step %" PRIu64 ") %s, checkpoint %" PRIu64
                   " (step %" PRIu64 ") is intact; then SIGKILL to ",
                   shard, newest->id, newest->step, what, older->id, older->step);
    return status;
}

/* ------------------------------------------------------------- the injector */

/* Any two neighbours. */
static enum tn_status choose_two_ps(struct target_cluster *cluster, struct target_list *targets,
                                    struct error *error)
{
    uint32_t count = cluster->job->cluster.ps;
    if (count < 2) { return error_set(error, TN_ENOTSUP, "the cluster has fewer than two ps"); }
    uint32_t first = (uint32_t)random_below(&cluster->random, count);
    for (targets->count = 0; targets->count < 2; targets->count++) {
        char name[COMPONENT_NAME_MAX];
        snprintf(name, sizeof name, "ps:%u", (first + targets->count) % count);
        targets->components[targets->count] = target_cluster_component(cluster, name);
    }
    return TN_OK;
}

/* A ps; where none are, a worker. */
static bool keeps_parameters(const struct target_cluster *cluster,
                             const struct component *component)
{
    const enum role role = cluster->job->cluster.ps > 0 ? ROLE_PS : ROLE_WORKER;
    return component->is_node && component->task.role == role;
}

static enum tn_status check_targets(const struct target_cluster *cluster,
                                    const struct target_list *targets, struct error *error)
{
    for (uint32_t i = 0; i < targets->count; i++) {
        const struct component *component = targets->components[i];
        if (!keeps_parameters(cluster, component)) {
            return error_set(error, TN_EINVAL, "%s does not keep parameters", component->name);
        }
        if (component->pid <= 0) {
            return error_set(error, TN_EAGAIN, "%s is not running", component->name);
        }
    }
    return TN_OK;
}

/* Returns once no thread of the targets writes. */
static void stop_targets(struct target_cluster *cluster, struct active_fault *fault)
{
    (void)fault_signal_targets(cluster, fault, SIGSTOP);
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        for (int try = 0; try < STOP_TRIES; try++) {
            char state = proc_state(fault->targets.components[i]->pid);
            if (state == 0 || state == 'T') { break; }
            (void)usleep(1000);
        }
    }
}

static enum tn_status begin_damage(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    enum tn_status status = TN_OK;
    assert(fault->targets.count > 0);
    if (fault->injection.fault == FAULT_SWAP_SHARDS) {
        status = choose_two_ps(cluster, &fault->targets, error);
    }
    if (status == TN_OK) { status = check_targets(cluster, &fault->targets, error); }
    if (status == TN_OK) { status = find_committed(cluster, fault->state, error); }
    if (status != TN_OK) { return status; }
    stop_targets(cluster, fault);
    /* Once more: a checkpoint may have been committed or removed in the meantime. */
    status = find_committed(cluster, fault->state, error);
    if (status == TN_OK) {
        const uint32_t index = fault->targets.components[0]->task.index;
        status = damage(cluster, fault, index % strategy_shards(cluster->job), error);
    }
    (void)fault_signal_targets(cluster, fault, status == TN_OK ? SIGKILL : SIGCONT);
    return status;
}

/* The damage stays: nothing is undone. */
const struct injector injector_damage = {.state_bytes = sizeof(struct committed),
                                         .begin = begin_damage};
