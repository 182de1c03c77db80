/* I5, I9, I16: what restores use and what collection spares, on the disks. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "checker/checker_private.h"

static enum shard_state shard_of(const struct checker *checker, const struct manifest *manifest,
                                 uint32_t index)
{
    assert(checker->config.view.shard != NULL && index < manifest->shard_count);
    return checker->config.view.shard(checker->config.view.ctx, manifest, index, NULL);
}

static bool is_intact(const struct checker *checker, const struct manifest *manifest)
{
    assert(checker->config.view.shard != NULL);
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        if (shard_of(checker, manifest, i) != SHARD_WHOLE) { return false; }
    }
    return true;
}

/* I5: no newer checkpoint may be committed and intact. */
void checker_check_restore(const struct checker *checker, const struct run *run)
{
    const struct zk_tree *tree = checker->config.tree;
    assert(tree != NULL && run->phase == RUN_LOADING);
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        if (strstr(node->path, "/checkpoints/") == NULL || node->blob == NULL) { continue; }
        struct manifest manifest;
        struct error error;
        if (manifest_decode((const char *)node->blob->data, node->blob->size, &manifest, &error) !=
            TN_OK) {
            checker_fail(checker, "I4: %s cannot be read: %s", node->path, error.text);
            return;
        }
        if (manifest.id > run->load_checkpoint && is_intact(checker, &manifest)) {
            checker_fail(checker,
                         "I5: generation %" PRIu64 " loads checkpoint %" PRIu64 " though %" PRIu64
                         " is committed and intact",
                         run->generation, run->load_checkpoint, manifest.id);
        }
    }
}

static void check_shards(const struct checker *checker, const struct manifest *manifest,
                         const char *rule, const char *which)
{
    for (uint32_t s = 0; s < manifest->shard_count; s++) {
        if (shard_of(checker, manifest, s) != SHARD_GONE) { continue; }
        checker_fail(checker, "%s: shard %u of the %s checkpoint %" PRIu64 " does not exist", rule,
                     s, which, manifest->id);
    }
}

/* I16. A wiped ZooKeeper gets the newest manifest alone. */
static void check_best_kept(const struct checker *checker, const struct best *best)
{
    struct manifest manifest;
    const struct zk_tree *tree = checker->config.tree;
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        if (strstr(node->path, "/checkpoints/") == NULL || node->blob == NULL) { continue; }
        if (manifest_decode((const char *)node->blob->data, node->blob->size, &manifest, NULL) !=
                TN_OK ||
            manifest.id != best->checkpoint) {
            continue;
        }
        check_shards(checker, &manifest, "I16", "best");
        return;
    }
    if (checker->foreign || checker->epoch_floor != 0) { return; }
    checker_fail(checker, "I16: the manifest of the best checkpoint %" PRIu64 " does not exist",
                 best->checkpoint);
}

/* I9: the shards that the newest committed manifest names exist (their bits may have flipped). */
void checker_check_kept(const struct checker *checker)
{
    const struct zk_tree *tree = checker->config.tree;
    assert(tree != NULL);
    bool found = checker->highest_id == 0;
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        const char *at = strstr(node->path, "/checkpoints/");
        if (at == NULL || node->blob == NULL) { continue; }
        struct manifest manifest;
        if (manifest_decode((const char *)node->blob->data, node->blob->size, &manifest, NULL) !=
            TN_OK) {
            continue;
        }
        /* After a fall-back the newest checkpoint is not the committed one, and may be
         * collected. */
        if (manifest.id != checker->run.committed_checkpoint) { continue; }
        if (manifest.id < checker->highest_id) { continue; }
        found = true;
        check_shards(checker, &manifest, "I9", "newest");
        if (manifest.best.checkpoint != 0) { check_best_kept(checker, &manifest.best); }
    }
    if (!found && !checker->foreign && checker->run.committed_checkpoint == checker->highest_id) {
        checker_fail(checker, "I9: the manifest of checkpoint %" PRIu64 " does not exist",
                     checker->highest_id);
    }
}
