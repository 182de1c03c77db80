#include "cli/node/cluster_create.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/zk_options.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/bootstrap.h"
#include "common/cluster/reachability.h"

static enum tn_status create_znode(struct zk_sync *sync, const char *path, struct error *error)
{
    struct zk_sync_data data;
    const struct zk_write write = {.kind = ZK_CREATE, .path = path};
    assert(path[0] == '/');
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_OK) { free(data.data); }
    if (status != TN_ENOENT) { return status; }
    status = zk_sync_write(sync, &write, 1, error);
    return status == TN_EEXIST ? TN_OK : status;
}

enum tn_status cluster_create_chroot(const char *connect, uint32_t timeout_ms, struct error *error)
{
    char servers[CONNECT_MAX], path[ZK_PATH_MAX] = "";
    struct zk_sync *sync = NULL;
    const char *chroot = strchr(connect, '/'), *end = chroot;
    if (chroot == NULL || !chroot[1]) { return TN_OK; }
    snprintf(servers, sizeof servers, "%.*s", (int)(chroot - connect), connect);
    enum tn_status status = zk_sync_open(servers, NULL, timeout_ms, &sync, error);
    while (status == TN_OK && *end) {
        end += 1 + strcspn(end + 1, "/");
        snprintf(path, sizeof path, "%.*s", (int)(end - chroot), chroot);
        status = create_znode(sync, path, error);
        if (status != TN_OK) {
            status = error_context(error, "cannot create %s, the chroot of --zk", path);
        }
    }
    zk_sync_close(sync);
    return status;
}

/* Replace the error by one that names the key that differs, if that can be found out. */
static enum tn_status name_difference(const struct job *job, const struct spec *found,
                                      struct error *error)
{
    struct job existing;
    char difference[JOB_DIFFERENCE_MAX];
    assert(error->status != TN_OK);
    job_init_existing(&existing);
    if (found->job_json == NULL || job_read_text(&existing, found->job_json,
                                                 strlen(found->job_json), "/spec", NULL) != TN_OK) {
        return error->status;
    }
    if (!job_difference(&existing, job, difference)) { return error->status; }
    return error_set(
        error, TN_EINVAL,
        "the cluster \"%s\" was created for another job: %s; rename the job (--set name=...), or "
        "give the same value",
        job->name, difference);
}

/* `out->job_json` is NULL when memory is lacking. */
static void describe_new(const struct job *job, const struct variable_table *variables,
                         uint64_t key, struct spec *out)
{
    assert(key != 0);
    *out = (struct spec){.key = key,
                         .job_hash = job_hash(job),
                         .variables_hash = variable_table_hash(variables),
                         .graph_hash = variables->graph_hash,
                         .coordinators = job->cluster.coordinators,
                         .ps = job->cluster.ps,
                         .rows = job->placement.rows,
                         .workers = job->cluster.workers,
                         .workers_least = job->cluster.workers_least,
                         .evaluators = job->cluster.evaluators,
                         .created_wall_ms = clock_wall_ms(),
                         .job_json = job_to_json(job)};
}

char *cluster_new_spec(const struct job *job, const struct variable_table *variables, uint64_t key)
{
    struct spec spec;
    describe_new(job, variables, key, &spec);
    char *text = spec.job_json != NULL ? spec_encode(&spec) : NULL;
    free(spec.job_json);
    return text;
}

enum tn_status cluster_create(struct zk_sync *sync, const struct job *job,
                              const struct variable_table *variables, uint64_t key,
                              struct spec *out, struct error *error)
{
    struct spec wanted;
    assert(sync != NULL);
    describe_new(job, variables, key != 0 ? key : clock_new_incarnation(), &wanted);
    if (wanted.job_json == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status =
        bootstrap_create(sync, job->name, &wanted, job->train.slices, out, error);
    if (status == TN_EEXIST) {
        struct spec found = {0};
        if (bootstrap_read_spec(sync, job->name, &found, NULL) == TN_OK) {
            status = name_difference(job, &found, error);
        }
        free(found.job_json);
    }
    free(wanted.job_json);
    return status;
}

enum tn_status cluster_check_no_nodes(struct zk_sync *sync, const char *cluster,
                                      struct error *error)
{
    static const char *const folders[] = {"members", "election"};
    assert(*cluster != '\0');
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[ZK_PATH_MAX];
        struct zk_sync_list found = {0};
        znode_path(path, cluster, folders[i]);
        enum tn_status status = zk_sync_list(sync, path, &found, error);
        if (status == TN_ENOENT) { continue; }
        if (status != TN_OK) { return status; }
        size_t count = found.count;
        if (count > 0) {
            (void)error_set(
                error, TN_EEXIST,
                "a cluster \"%s\" is already running in that ZooKeeper (%zu nodes in %s, one is "
                "%s): rename the job (--set name=...), or end that cluster with `tanist stop`",
                cluster, count, path, found.names[0]);
        }
        zk_sync_list_free(&found);
        if (count > 0) { return TN_EEXIST; }
    }
    return TN_OK;
}

static enum tn_status refuse_numbers(const struct job *job, const struct spec *spec,
                                     struct error *error)
{
    const struct {
        const char *key;
        uint32_t here, running;
    } numbers[] = {
        {"cluster.workers", job->cluster.workers, spec->workers},
        {"cluster.evaluators", job->cluster.evaluators, spec->evaluators},
        {"the least of cluster.workers", job->cluster.workers_least, spec->workers_least},
        {"cluster.coordinators", job->cluster.coordinators, spec->coordinators},
    };
    size_t at = 0;
    while (at < 3 && numbers[at].here == numbers[at].running) { at++; }
    return error_set(error, TN_EINVAL,
                     "%s is %" PRIu32 " here, but the cluster \"%s\" is running with %" PRIu32
                     ": give every host and coordinator the same job file and host lists, or end "
                     "the cluster with `tanist stop` first",
                     numbers[at].key, numbers[at].here, job->name, numbers[at].running);
}

static bool declares(const struct spec *spec, const struct job *job)
{
    return spec->workers == job->cluster.workers &&
           spec->workers_least == job->cluster.workers_least &&
           spec->evaluators == job->cluster.evaluators &&
           spec->coordinators == job->cluster.coordinators;
}

char *cluster_spec_of(const struct spec *spec, const struct job *job, struct spec *out)
{
    *out = *spec;
    out->job_json = job_to_json(job);
    out->job_hash = job_hash(job);
    out->coordinators = job->cluster.coordinators;
    out->ps = job->cluster.ps;
    out->rows = job->placement.rows;
    out->workers = job->cluster.workers;
    out->workers_least = job->cluster.workers_least;
    out->evaluators = job->cluster.evaluators;
    char *text = out->job_json != NULL ? spec_encode(out) : NULL;
    if (text == NULL) {
        free(out->job_json);
        out->job_json = NULL;
    }
    return text;
}

/* TN_EREFUSED: another program changed /spec since `spec` was read. */
static enum tn_status replace_spec(struct zk_sync *sync, const struct job *job, struct spec *spec,
                                   struct error *error)
{
    char path[ZK_PATH_MAX];
    struct spec wanted;
    char *text = cluster_spec_of(spec, job, &wanted);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    znode_path(path, job->name, "spec");
    const struct zk_write write = {
        .kind = ZK_SET, .path = path, .data = text, .size = strlen(text), .version = spec->version};
    enum tn_status status = zk_sync_write(sync, &write, 1, error);
    free(text);
    if (status != TN_OK) {
        free(wanted.job_json);
        return status;
    }
    free(spec->job_json);
    *spec = wanted;
    return TN_OK;
}

enum tn_status cluster_declare(struct zk_sync *sync, const struct job *job, bool shared,
                               struct spec *spec, struct error *error)
{
    assert(sync != NULL);
    if (declares(spec, job)) { return TN_OK; }
    if (shared && cluster_check_no_nodes(sync, job->name, error) != TN_OK) {
        return error->status == TN_EEXIST ? refuse_numbers(job, spec, error) : error->status;
    }
    enum tn_status status = replace_spec(sync, job, spec, error);
    if (status != TN_EREFUSED && status != TN_ETIMEDOUT) { return status; }
    free(spec->job_json);
    status = bootstrap_read_spec(sync, job->name, spec, error);
    if (status != TN_OK || declares(spec, job)) { return status; }
    return refuse_numbers(job, spec, error);
}

static enum tn_status remove_znode(struct zk_sync *sync, const char *path, struct error *error)
{
    const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    enum tn_status status = zk_sync_write(sync, &write, 1, error);
    return status == TN_ENOENT ? TN_OK : status;
}

static enum tn_status remove_children(struct zk_sync *sync, const char *cluster, const char *name,
                                      struct error *error)
{
    char path[ZK_PATH_MAX], rest[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, cluster, name);
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < found.count; i++) {
        snprintf(rest, sizeof rest, "%s/%.100s", name, found.names[i]);
        znode_path(path, cluster, rest);
        status = remove_znode(sync, path, error);
    }
    zk_sync_list_free(&found);
    znode_path(path, cluster, name);
    return status == TN_OK ? remove_znode(sync, path, error) : status;
}

enum tn_status cluster_remove(struct zk_sync *sync, const char *cluster, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    assert(*cluster != '\0');
    znode_path(path, cluster, "");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < found.count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%.100s", found.names[i]);
        status = remove_children(sync, cluster, name, error);
    }
    zk_sync_list_free(&found);
    return status == TN_OK ? remove_znode(sync, path, error) : status;
}

static enum tn_status check_member(struct zk_sync *sync, const char *path, const char *flag,
                                   const char *address, struct error *error)
{
    struct zk_sync_data data;
    struct member member;
    char machine[MACHINE_MAX], other[MACHINE_ADDRESS_MAX], text[REACHABILITY_TEXT_MAX];
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status == TN_ENOENT ? TN_OK : status; }
    status = member_decode(data.data, data.size, &member, NULL);
    free(data.data);
    if (status != TN_OK) { return TN_OK; } /* Z1: logged and ignored by the nodes that follow it. */
    machine_identity(machine);
    const enum reachability reach = reachability_of(address, machine, &member);
    if (reach == REACHABLE) { return TN_OK; }
    machine_other_address(other);
    reachability_describe(reach, flag, address, other, &member, text);
    if (reach == REACHABILITY_NOT_US) { return error_set(error, TN_EINVAL, "%s", text); }
    log_warn("%s", text);
    return TN_OK;
}

enum tn_status cluster_check_reach(struct zk_sync *sync, const char *cluster, const char *flag,
                                   const char *address, struct error *error)
{
    char path[ZK_PATH_MAX], rest[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    assert(*cluster != '\0');
    znode_path(path, cluster, "members");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < found.count; i++) {
        snprintf(rest, sizeof rest, "members/%.100s", found.names[i]);
        znode_path(path, cluster, rest);
        status = check_member(sync, path, flag, address, error);
    }
    zk_sync_list_free(&found);
    return status;
}
