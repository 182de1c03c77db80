/* Faults by another program with access to ZooKeeper: it deletes znodes, replaces their contents,
 * or makes them read-only. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

enum { RESTORE_MS = 300 };

/* Below the znode of the cluster; "" is that one itself. A name that ends in '/' stands for one of
 * the children. */
static const char *const deleted[] = {
    "chief",   "run",       "assignment", "election",    "members",      "exits", "checkpoints",
    "history", "requests",  "spec",       "kills",       "checkpoints/", "",      "run",
    "chief",   "election/", "members/",   "checkpoints",
};
static const char *const damaged[] = {"chief", "run", "assignment", "members/", "run", "chief"};

/* The cluster replaces these znodes when they are read-only. */
static const char *const locked[] = {"run", "chief", "assignment", "members/"};
/* It does not replace these folders: it waits until an administrator restores the ACL. */
static const char *const locked_folders[] = {
    "", "checkpoints", "history", "requests", "election", "members", "exits", "spec",
};
enum { FOLDERS = sizeof locked_folders / sizeof *locked_folders };

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The longest path at or below `folder`: it has no children. NULL: there is none. */
static const char *deepest(const struct zk_tree *tree, const char *folder)
{
    const char *found = NULL;
    for (size_t i = 0; i < tree->count; i++) {
        const char *path = tree->nodes[i].path;
        if (!is_below(path, folder)) { continue; }
        if (found == NULL || strlen(path) > strlen(found)) { found = path; }
    }
    return found;
}

static void delete_all(struct sim_cluster *cluster, const char *folder)
{
    const char *found;
    while ((found = deepest(zk_model_tree(cluster->zk), folder)) != NULL) {
        char path[ZK_PATH_MAX];
        snprintf(path, sizeof path, "%s", found);
        const struct zk_write gone = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
        zk_model_write(cluster->zk, &gone, 1);
    }
}

/* The agents create a cluster again whose znodes are all gone. */
static void on_restore(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct sim_cluster *cluster = target;
    if (!zk_model_serves(cluster->zk)) {
        world_after(world, RESTORE_MS * 1000, on_restore, target, a, b, NULL);
        return;
    }
    char path[ZK_PATH_MAX];
    znode_path(path, cluster->setup.job.name, "");
    if (zk_tree_find(zk_model_tree(cluster->zk), path) == NULL) { sim_bootstrap(cluster); }
}

/* The path that `name` stands for; false: it has no children. */
static bool resolve(struct sim_cluster *cluster, const char *name, uint32_t other,
                    char path[static ZK_PATH_MAX])
{
    const struct zk_tree *tree = zk_model_tree(cluster->zk);
    size_t length = strlen(name), count = 0;
    znode_path(path, cluster->setup.job.name, name);
    if (length == 0 || name[length - 1] != '/') { return zk_tree_find(tree, path) != NULL; }
    char folder[ZK_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (size_t i = 0; i < tree->count; i++) {
        count += strncmp(tree->nodes[i].path, folder, strlen(folder)) == 0;
    }
    if (count == 0) { return false; }
    size_t wanted = other % count;
    for (size_t i = 0; i < tree->count; i++) {
        if (strncmp(tree->nodes[i].path, folder, strlen(folder)) != 0 || wanted-- != 0) {
            continue;
        }
        snprintf(path, ZK_PATH_MAX, "%s", tree->nodes[i].path);
        return true;
    }
    return false;
}

static void note(struct checker *checker, const char *path)
{
    const char *name = strrchr(path, '/');
    checker->foreign = true;
    if (strcmp(name, "/chief") == 0) { checker->chief_lost = true; }
    if (strcmp(name, "/run") == 0) { checker->run_lost = true; }
}

void sim_foreign_delete(struct sim_cluster *cluster, const struct fault *fault)
{
    char path[ZK_PATH_MAX];
    const char *name = deleted[fault->target % (sizeof deleted / sizeof *deleted)];
    if (!zk_model_serves(cluster->zk)) { return; }
    if (!resolve(cluster, name, fault->other, path)) { return; }
    world_log(&cluster->world, "another program deletes %s", path);
    note(&cluster->checker, path);
    if (*name == '\0') { checker_on_wipe(&cluster->checker); }
    delete_all(cluster, path);
    if (*name != '\0') { return; }
    world_after(&cluster->world, RESTORE_MS * 1000, on_restore, cluster, 0, 0, NULL);
}

void sim_foreign_damage(struct sim_cluster *cluster, const struct fault *fault)
{
    char path[ZK_PATH_MAX];
    const char *name = damaged[fault->target % (sizeof damaged / sizeof *damaged)];
    if (!zk_model_serves(cluster->zk)) { return; }
    if (!resolve(cluster, name, fault->other, path)) { return; }
    world_log(&cluster->world, "another program damages %s", path);
    const struct zk_write write = {
        .kind = ZK_SET, .path = path, .data = "garbage", .size = 7, .version = ZK_ANY_VERSION};
    note(&cluster->checker, path);
    cluster->checker.paused = true;
    zk_model_write(cluster->zk, &write, 1);
    cluster->checker.paused = false;
}

/* -------------------------------------------------------------- read-only */

void sim_foreign_unlock(struct sim_cluster *cluster)
{
    char path[ZK_PATH_MAX];
    for (uint32_t i = 0; i < FOLDERS; i++) {
        znode_path(path, cluster->setup.job.name, locked_folders[i]);
        zk_model_set_read_only(cluster->zk, path, false);
    }
}

static void on_unlock(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)a;
    (void)b;
    (void)data;
    world_log(world, "an administrator restores the ACLs");
    sim_foreign_unlock(target);
}

void sim_foreign_lock(struct sim_cluster *cluster, const struct fault *fault)
{
    char path[ZK_PATH_MAX];
    const bool folder = fault->both_ways;
    const char *name = folder ? locked_folders[fault->target % FOLDERS]
                              : locked[fault->target % (sizeof locked / sizeof *locked)];
    if (!zk_model_serves(cluster->zk)) { return; }
    if (!resolve(cluster, name, fault->other, path)) { return; }
    world_log(&cluster->world, "another program makes %s read-only", path);
    zk_model_set_read_only(cluster->zk, path, true);
    if (!folder) { return; }
    world_after(&cluster->world, fault->duration_ms * 1000, on_unlock, cluster, 0, 0, NULL);
}
