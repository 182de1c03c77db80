#include "cli/cluster_read.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/run_record.h"
#include "common/base/minmax.h"

enum { PATH_BYTES = 256, NAME_BYTES = 128 };

static enum tn_status read_znode(struct zk_sync *sync, const char *cluster, const char *name,
                                 struct zk_sync_data *out, struct error *error)
{
    char path[PATH_BYTES];
    assert(*cluster != '\0');
    znode_path(path, cluster, name);
    return zk_sync_read(sync, path, out, error);
}

enum tn_status cluster_read_run(struct zk_sync *sync, const char *cluster, struct run *out,
                                struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status = read_znode(sync, cluster, "run", &data, error);
    if (status != TN_OK) { return status; }
    status = run_decode(data.data, data.size, out, error);
    free(data.data);
    return status;
}

uint64_t cluster_recorded_step(const struct run *run)
{
    const uint64_t evaluated = run->evaluation.step;
    return evaluated == STEP_NONE ? run->committed_step : u64_max(run->committed_step, evaluated);
}

bool cluster_read_ended(const char *dir, struct run *out)
{
    struct run_record *record = calloc(1, sizeof *record);
    assert(dir != NULL);
    if (record == NULL) { return false; }
    const bool ended =
        run_record_read(dir, record, NULL) == TN_OK && record->has_run && run_is_over(&record->run);
    if (ended) { *out = record->run; }
    free(record);
    return ended;
}

const char *cluster_mode_name(const struct job *job)
{
    return job->train.mode == TRAIN_SYNC ? "sync" : "async";
}

enum tn_status cluster_read_chief(struct zk_sync *sync, const char *cluster,
                                  struct chief_record *out, struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status = read_znode(sync, cluster, "chief", &data, error);
    if (status != TN_OK) { return status; }
    if (data.size == 0) {
        status = error_set(error, TN_ENOENT, "%s has not elected a chief yet", cluster);
    } else {
        status = chief_record_decode(data.data, data.size, out, error);
    }
    free(data.data);
    return status;
}

enum tn_status cluster_read_slices(struct zk_sync *sync, const char *cluster,
                                   uint32_t owned[static WORKERS_MAX],
                                   bool late[static WORKERS_MAX], struct error *error)
{
    struct assignment assignment = {0};
    struct zk_sync_data data;
    enum tn_status status = read_znode(sync, cluster, "assignment", &data, error);
    if (status != TN_OK) { return status; }
    status = assignment_decode(data.data, data.size, &assignment, error);
    memset(owned, 0, WORKERS_MAX * sizeof owned[0]);
    memset(late, 0, WORKERS_MAX * sizeof late[0]);
    for (uint32_t v = 0; status == TN_OK && v < assignment.slice_count; v++) {
        if (assignment.worker[v] < WORKERS_MAX) { owned[assignment.worker[v]]++; }
    }
    for (uint32_t i = 0; status == TN_OK && i < assignment.late_count; i++) {
        if (assignment.late[i] < WORKERS_MAX) { late[assignment.late[i]] = true; }
    }
    free(data.data);
    return status;
}

enum tn_status cluster_read_member(struct zk_sync *sync, const char *cluster, struct task task,
                                   struct member *out, struct error *error)
{
    char path[PATH_BYTES];
    struct zk_sync_data data;
    assert(*cluster != '\0');
    assert(task.role < ROLE_COUNT);
    znode_member_path(path, cluster, task);
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = member_decode(data.data, data.size, out, error);
    free(data.data);
    return status;
}

typedef enum tn_status decode_fn(const void *data, size_t size, void *out, struct error *error);

/* Read and decode the znode `name` in `folder`. */
static enum tn_status read_below(struct zk_sync *sync, const char *cluster, const char *folder,
                                 const char *name, decode_fn *decode, void *out,
                                 struct error *error)
{
    char below[NAME_BYTES];
    struct zk_sync_data data;
    assert(*name != '\0');
    snprintf(below, sizeof below, "%s/%.100s", folder, name);
    enum tn_status status = read_znode(sync, cluster, below, &data, error);
    if (status != TN_OK) { return status; }
    status = decode(data.data, data.size, out, error);
    free(data.data);
    return status == TN_OK ? TN_OK : error_context(error, "%s", below);
}

static enum tn_status decode_history(const void *data, size_t size, void *out, struct error *error)
{
    return history_decode(data, size, out, error);
}

enum tn_status cluster_read_history(struct zk_sync *sync, const char *cluster, const char *name,
                                    struct history_entry *out, struct error *error)
{
    return read_below(sync, cluster, "history", name, decode_history, out, error);
}

static enum tn_status decode_manifest(const void *data, size_t size, void *out, struct error *error)
{
    return manifest_decode(data, size, out, error);
}

enum tn_status cluster_read_manifest(struct zk_sync *sync, const char *cluster, const char *name,
                                     struct manifest *out, struct error *error)
{
    return read_below(sync, cluster, "checkpoints", name, decode_manifest, out, error);
}
