#include "common/cluster/bootstrap.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct bootstrap *b, const char *cluster, const char *rest, const char *data)
{
    assert(b->count < BOOTSTRAP_ZNODES_MAX);
    struct bootstrap_znode *znode = &b->znodes[b->count++];
    znode_path(znode->path, cluster, rest);
    znode->data = data;
    znode->size = data != NULL ? strlen(data) : 0;
}

enum tn_status bootstrap_init(struct bootstrap *b, const char *cluster, const struct spec *spec,
                              uint32_t slices, struct error *error)
{
    static const char *const folders[] = {"election",    "members", "exits",
                                          "checkpoints", "history", "requests",
                                          "kills",       "drains",  "verifications"};
    const struct run run = {
        .phase = RUN_FORMING, .evaluate_step = STEP_NONE, .evaluation = {.step = STEP_NONE}};
    struct assignment assignment = {.slice_count = slices};
    assert(cluster_name_check(cluster, NULL) == TN_OK);
    assert(slices <= SLICES_MAX);
    memset(b, 0, sizeof *b);
    for (uint32_t i = 0; i < slices; i++) { assignment.worker[i] = UINT16_MAX; }
    assignment_encode(&assignment, b->assignment);
    run_encode(&run, b->run);
    b->spec = spec_encode(spec);
    if (b->spec == NULL) {
        return error_set(error, TN_ENOMEM, "no memory for the spec of a cluster");
    }
    add(b, cluster, "", NULL);
    memcpy(b->znodes[0].path, "/tanist", sizeof "/tanist");
    add(b, cluster, "", NULL);
    add(b, cluster, "spec", b->spec);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        add(b, cluster, folders[i], NULL);
    }
    add(b, cluster, "chief", NULL);
    add(b, cluster, "assignment", b->assignment);
    add(b, cluster, "run", b->run);
    return TN_OK;
}

void bootstrap_free(struct bootstrap *b)
{
    free(b->spec);
    b->spec = NULL;
}

enum tn_status bootstrap_check_graph(const char *cluster, const struct spec *spec,
                                     uint64_t graph_hash, struct error *error)
{
    assert(spec != NULL);
    if (spec->graph_hash == 0 || graph_hash == 0 || spec->graph_hash == graph_hash) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "the model of the cluster \"%s\" is a graph with the hash %016" PRIx64
                     ", but here it has %016" PRIx64
                     ": give every node a build of the same model, or the job another name",
                     cluster, spec->graph_hash, graph_hash);
}

static enum tn_status compare(const char *cluster, const struct spec *found,
                              const struct spec *wanted, struct error *error)
{
    assert(found != NULL && wanted != NULL);
    if (found->ps != wanted->ps) {
        return error_set(error, TN_EEXIST,
                         "cluster %s exists with %" PRIu32 " ps, the job has %" PRIu32
                         ": give the job another name, or remove the cluster",
                         cluster, found->ps, wanted->ps);
    }
    enum tn_status status = bootstrap_check_graph(cluster, found, wanted->graph_hash, error);
    if (found->job_hash == wanted->job_hash && status != TN_OK) { return status; }
    if (found->variables_hash != wanted->variables_hash) {
        return error_set(error, TN_EEXIST,
                         "cluster %s exists with another model: give the job another name, or "
                         "remove the cluster",
                         cluster);
    }
    if (found->job_hash != wanted->job_hash) {
        return error_set(error, TN_EEXIST,
                         "cluster %s exists with another job (seed, data, mode, batch, slices or "
                         "optimizer differ): give the job another name, or remove the cluster",
                         cluster);
    }
    return TN_OK;
}

enum tn_status bootstrap_read_spec(struct zk_sync *sync, const char *cluster, struct spec *out,
                                   struct error *error)
{
    assert(sync != NULL && out != NULL);
    char path[ZK_PATH_MAX];
    struct zk_sync_data data;
    znode_path(path, cluster, "spec");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_ENOENT) {
        return error_set(error, TN_ENOENT, "no cluster is named %s", cluster);
    }
    if (status != TN_OK) { return status; }
    status = spec_decode(data.data, data.size, out, error);
    out->version = data.stat.version;
    free(data.data);
    return status;
}

static bool exists(struct zk_sync *sync, const char *path)
{
    struct zk_sync_data data;
    if (zk_sync_read(sync, path, &data, NULL) != TN_OK) { return false; }
    free(data.data);
    return true;
}

/* If the answer was lost, the second attempt finds the znode. Where the parent is closed, ZooKeeper
 * refuses to create also what exists. */
static enum tn_status create(struct zk_sync *sync, const struct bootstrap_znode *znode,
                             struct error *error)
{
    const struct zk_write write = {
        .kind = ZK_CREATE, .path = znode->path, .data = znode->data, .size = znode->size};
    enum tn_status status = zk_sync_write(sync, &write, 1, error);
    if (status == TN_ETIMEDOUT) { status = zk_sync_write(sync, &write, 1, error); }
    bool found = status == TN_EEXIST || (status == TN_EREFUSED && exists(sync, znode->path));
    return found ? TN_OK : status;
}

enum tn_status bootstrap_create(struct zk_sync *sync, const char *cluster,
                                const struct spec *wanted, uint32_t slices, struct spec *out,
                                struct error *error)
{
    assert(sync != NULL && out != NULL);
    struct bootstrap *b = malloc(sizeof *b);
    if (b == NULL) { return error_set(error, TN_ENOMEM, "no memory for the spec of a cluster"); }
    enum tn_status status = bootstrap_init(b, cluster, wanted, slices, error);
    bool compared = false;
    for (uint32_t i = 0; status == TN_OK && i < b->count; i++) {
        status = create(sync, &b->znodes[i], error);
        if (status != TN_OK || b->znodes[i].data != b->spec) { continue; }
        status = bootstrap_read_spec(sync, cluster, out, error);
        compared = status == TN_OK;
        if (compared) { status = compare(cluster, out, wanted, error); }
    }
    if (status != TN_OK && compared) {
        free(out->job_json);
        out->job_json = NULL;
    }
    bootstrap_free(b);
    free(b);
    return status;
}

/* Delete the request unless it was made since then. One that cannot be read is left over, too. */
static enum tn_status clear_request(struct zk_sync *sync, const char *path, uint64_t since_wall_ms,
                                    struct error *error)
{
    struct zk_sync_data data;
    struct request request;
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    const bool is_new = request_decode(data.data, data.size, &request, NULL) == TN_OK &&
                        request.wall_ms >= since_wall_ms;
    free(data.data);
    if (is_new) { return TN_OK; }
    const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    return zk_sync_write(sync, &write, 1, error);
}

enum tn_status bootstrap_clear_requests(struct zk_sync *sync, const char *cluster,
                                        uint64_t since_wall_ms, struct error *error)
{
    assert(sync != NULL);
    char path[ZK_PATH_MAX], rest[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, cluster, "requests");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < found.count; i++) {
        snprintf(rest, sizeof rest, "requests/%.100s", found.names[i]);
        znode_path(path, cluster, rest);
        status = clear_request(sync, path, since_wall_ms, error);
        if (status == TN_ENOENT) { status = TN_OK; }
    }
    zk_sync_list_free(&found);
    return status;
}

void bootstrap_reformed(struct run *run)
{
    run->phase = RUN_FORMING;
    run->save_checkpoint = run->save_step = run->gate = 0;
    run->pause_requested = run->ending = false;
    run->released_count = 0;
    run->revision = 0;
    run->reason[0] = '\0';
    /* Nothing that was trained remains, so that other workers and data may begin. */
    if (run->committed_checkpoint == 0) { run->inputs = (struct inputs){0}; }
}

enum tn_status bootstrap_reform(struct zk_sync *sync, const char *cluster,
                                const struct zk_write *writes, uint32_t count,
                                uint64_t since_wall_ms, struct error *error)
{
    assert(sync != NULL);
    assert(count <= REFORM_WRITES_MAX);
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    struct zk_sync_data data;
    struct run run;
    znode_path(path, cluster, "run");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = run_decode(data.data, data.size, &run, error);
    free(data.data);
    if (status != TN_OK || (run.phase == RUN_FORMING && count == 0)) { return status; }
    status = bootstrap_clear_requests(sync, cluster, since_wall_ms, error);
    if (status != TN_OK) { return status; }
    bootstrap_reformed(&run);
    struct zk_write all[REFORM_WRITES_MAX + 1] = {{.kind = ZK_SET,
                                                   .path = path,
                                                   .data = text,
                                                   .size = run_encode(&run, text),
                                                   .version = data.stat.version}};
    for (uint32_t i = 0; i < count; i++) { all[i + 1] = writes[i]; }
    return zk_sync_write(sync, all, count + 1, error);
}
