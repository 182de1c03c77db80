/* chaos/inject/inject_damage.c: files of the newest checkpoint are damaged under a ps that stands
 * still, which is then killed: what comes next must not believe them. */
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
#include "chaos/cluster/targets.h"
#include "common/base/files.h"
#include "common/cluster/manifest.h"

enum {
    PATH_BYTES = TARGET_PATH_MAX + 160,
    FILE_BYTES_MAX = 1 << 30,
    BITS = 8,       /* Flipped, when no number is given. */
    STOP_TRIES = 50 /* Of a millisecond. */
};

/* The two newest committed checkpoints; only the older need be whole. */
struct committed {
    struct manifest newest, older;
};

/* ------------------------------------------------------------- checkpoints */

static void folder_of(const struct target_cluster *cluster, uint64_t id,
                      char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/checkpoints/%010" PRIu64, cluster->run_dir, id);
}

/* ps/store/store_layout.h has the names. */
static void shard_of(const struct target_cluster *cluster, const struct manifest *manifest,
                     uint32_t shard, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES,
             "%s/checkpoints/%010" PRIu64 "/shard-%" PRIu32 "-of-%" PRIu32 "/data.mdb",
             cluster->run_dir, manifest->id, shard, manifest->shard_count);
}

/* The highest id below `below` whose folder is there; 0: none. */
static uint64_t newest_below(const struct target_cluster *cluster, uint64_t below)
{
    char path[PATH_BYTES];
    uint64_t newest = 0;
    snprintf(path, sizeof path, "%s/checkpoints", cluster->run_dir);
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        if (length < 10 || strspn(name, "0123456789") != length) { continue; }
        uint64_t id = strtoull(name, NULL, 10);
        if (id < below && id > newest) { newest = id; }
    }
    closedir(folder);
    return newest;
}

static bool read_manifest(const struct target_cluster *cluster, uint64_t id, struct manifest *out)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0, used;
    folder_of(cluster, id, path);
    used = strlen(path);
    snprintf(path + used, sizeof path - used, "/manifest.json");
    if (files_read(path, MANIFEST_JSON_MAX, &text, &size, NULL) != TN_OK) { return false; }
    bool read = manifest_decode(text, size, out, NULL) == TN_OK;
    free(text);
    return read;
}

static bool shard_is_whole(const struct target_cluster *cluster, const struct manifest *manifest,
                           uint32_t shard)
{
    char path[PATH_BYTES], *bytes = NULL;
    size_t size = 0;
    shard_of(cluster, manifest, shard, path);
    if (files_read(path, FILE_BYTES_MAX, &bytes, &size, NULL) != TN_OK) { return false; }
    bool whole = size == manifest->shards[shard].bytes &&
                 digest_equal(digest_of(bytes, size), manifest->shards[shard].digest);
    free(bytes);
    return whole;
}

static bool is_whole(const struct target_cluster *cluster, const struct manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        if (!shard_is_whole(cluster, manifest, i)) { return false; }
    }
    return true;
}

/* TN_EAGAIN: there are no two yet of which the older is whole, so that all would be lost. */
static enum tn_status find_committed(const struct target_cluster *cluster, struct committed *out,
                                     struct error *error)
{
    uint64_t id = UINT64_MAX;
    bool found = false;
    while ((id = newest_below(cluster, id)) != 0) {
        struct manifest *place = found ? &out->older : &out->newest;
        if (!read_manifest(cluster, id, place) || place->shard_count != cluster->job->cluster.ps) {
            continue;
        }
        if (!found) {
            found = is_whole(cluster, place); /* What is damaged already does not count. */
        } else if (is_whole(cluster, place)) {
            return TN_OK;
        }
    }
    return error_set(error, TN_EAGAIN, "there are no two whole checkpoints yet");
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

/* Loses its last `bytes`; 0, or more than there are: half of them. */
static enum tn_status cut_end(const char *path, uint64_t bytes, struct error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) { return files_error(error, errno, "look at", path); }
    uint64_t size = (uint64_t)info.st_size;
    if (bytes == 0 || bytes >= size) { bytes = size - size / 2; }
    if (truncate(path, (off_t)(size - bytes)) == 0) { return TN_OK; }
    return files_error(error, errno, "cut", path);
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

static enum tn_status damage(struct target_cluster *cluster, struct strike *strike,
                             const struct committed *committed, uint32_t shard, struct error *error)
{
    char path[PATH_BYTES], other[PATH_BYTES];
    const struct manifest *newest = &committed->newest;
    double value = strike->injection.value;
    const char *what = "";
    enum tn_status status = TN_OK;
    shard_of(cluster, newest, shard, path);
    switch (strike->injection.fault) {
    case FAULT_FLIP_BITS:
        what = "has flipped bits";
        status = flip_bits(cluster, path, value >= 1 ? (uint32_t)value : BITS, error);
        break;
    case FAULT_TRUNCATE:
        what = "has lost its end";
        status = cut_end(path, value >= 1 ? (uint64_t)value : 0, error);
        break;
    case FAULT_SWAP_SHARDS:
        what = "has changed places with the next";
        shard_of(cluster, newest, (shard + 1) % newest->shard_count, other);
        status = swap_files(path, other, error);
        break;
    default:
        what = "is the one of an older checkpoint";
        shard_of(cluster, &committed->older, shard, other);
        status = copy_file(other, path, error);
        break;
    }
    snprintf(strike->text, sizeof strike->text,
             "shard %u of checkpoint %" PRIu64 " (step %" PRIu64 ") %s, %" PRIu64 " (step %" PRIu64
             ") is whole; then SIGKILL to",
             shard, newest->id, newest->step, what, committed->older.id, committed->older.step);
    return status;
}

/* ------------------------------------------------------------- the injector */

/* Its ps: the target, or for swapped shards any two neighbours. */
static enum tn_status choose(struct target_cluster *cluster, struct strike *strike, uint32_t *shard,
                             struct error *error)
{
    uint32_t count = cluster->job->cluster.ps;
    bool swap = strike->injection.fault == FAULT_SWAP_SHARDS;
    if (swap && count < 2) { return error_set(error, TN_ENOTSUP, "there is one ps only"); }
    enum tn_status status = swap ? TN_OK : target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    if (swap) {
        *shard = (uint32_t)random_below(&cluster->random, count);
        strike->target_count = 2;
        for (uint32_t i = 0; i < 2; i++) {
            snprintf(strike->targets[i], PLACE_NAME_MAX, "ps:%u", (*shard + i) % count);
        }
    }
    for (uint32_t i = 0; i < strike->target_count; i++) {
        const struct place *place = target_cluster_place(cluster, strike->targets[i]);
        if (place == NULL || !place->is_node || place->task.role != ROLE_PS) {
            return error_set(error, TN_EINVAL, "%s is no ps: it has no shard", strike->targets[i]);
        }
        if (place->pid <= 0) {
            return error_set(error, TN_EAGAIN, "%s is not running", place->name);
        }
        if (!swap) { *shard = place->task.index; }
    }
    return TN_OK;
}

static void signal_targets(struct target_cluster *cluster, const struct strike *strike, int number)
{
    for (uint32_t i = 0; i < strike->target_count; i++) {
        (void)kill(target_cluster_place(cluster, strike->targets[i])->pid, number);
    }
}

/* No thread of theirs writes any more. */
static void stop_targets(struct target_cluster *cluster, const struct strike *strike)
{
    signal_targets(cluster, strike, SIGSTOP);
    for (uint32_t i = 0; i < strike->target_count; i++) {
        for (int try = 0; try < STOP_TRIES; try++) {
            char state = proc_state(target_cluster_place(cluster, strike->targets[i])->pid);
            if (state == 0 || state == 'T') { break; }
            (void)usleep(1000);
        }
    }
}

static enum tn_status strike_at(struct target_cluster *cluster, struct strike *strike,
                                uint32_t shard, struct committed *committed, struct error *error)
{
    enum tn_status status = find_committed(cluster, committed, error);
    if (status != TN_OK) { return status; }
    stop_targets(cluster, strike);
    /* Again: what was there a moment ago may be collected now, or newer. */
    status = find_committed(cluster, committed, error);
    if (status == TN_OK) { status = damage(cluster, strike, committed, shard, error); }
    if (status != TN_OK) {
        signal_targets(cluster, strike, SIGCONT);
        return status;
    }
    for (uint32_t i = 0; i < strike->target_count; i++) {
        const struct place *place = target_cluster_place(cluster, strike->targets[i]);
        size_t used = strlen(strike->text);
        snprintf(strike->text + used, sizeof strike->text - used, "%s %s (pid %ld)", i ? "," : "",
                 place->name, (long)place->pid);
    }
    signal_targets(cluster, strike, SIGKILL);
    return TN_OK;
}

static enum tn_status begin_damage(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    uint32_t shard = 0;
    enum tn_status status = choose(cluster, strike, &shard, error);
    if (status != TN_OK) { return status; }
    struct committed *committed = calloc(1, sizeof *committed);
    if (committed == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = strike_at(cluster, strike, shard, committed, error);
    free(committed);
    return status;
}

/* The damage stays: there is nothing to undo. */
const struct injector injector_damage = {.begin = begin_damage};
