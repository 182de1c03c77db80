/* The simulated world as the checker reads it. */
#include "tests/sim/cluster.h"

static void on_log(void *ctx, const char *text)
{
    struct sim_cluster *cluster = ctx;
    world_log(&cluster->world, "%s", text);
}

static void on_fail(void *ctx, const char *text)
{
    struct sim_cluster *cluster = ctx;
    world_fail(&cluster->world, "%s", text);
}

static enum shard_state shard_on_disk(void *ctx, const struct manifest *manifest, uint32_t shard,
                                      const float **values)
{
    const struct sim_cluster *cluster = ctx;
    bool flipped;
    bool whole = disk_model_holds(cluster->disk, manifest, shard, &flipped);
    if (values != NULL) { *values = disk_model_values(cluster->disk, manifest, shard); }
    if (flipped) { return SHARD_DAMAGED; }
    return whole ? SHARD_WHOLE : SHARD_GONE;
}

static uint64_t highest_epoch(void *ctx)
{
    const struct sim_cluster *cluster = ctx;
    return disk_model_highest_epoch(cluster->disk);
}

static uint64_t highest_checkpoint(void *ctx)
{
    const struct sim_cluster *cluster = ctx;
    return disk_model_highest_id(cluster->disk);
}

static const float *undisturbed_values(void *ctx, uint64_t step)
{
    const struct sim_cluster *cluster = ctx;
    return reference_values(cluster->reference, step);
}

static struct digest undisturbed_digest(void *ctx, uint64_t step)
{
    const struct sim_cluster *cluster = ctx;
    return reference_digest(cluster->reference, step);
}

static uint64_t undisturbed_end(void *ctx)
{
    const struct sim_cluster *cluster = ctx;
    return reference_end(cluster->reference);
}

struct checker_view sim_view(struct sim_cluster *cluster)
{
    return (struct checker_view){.ctx = cluster,
                                 .log = on_log,
                                 .fail = on_fail,
                                 .shard = shard_on_disk,
                                 .highest_epoch = highest_epoch,
                                 .highest_checkpoint = highest_checkpoint,
                                 .values = undisturbed_values,
                                 .digest = undisturbed_digest,
                                 .end = undisturbed_end};
}
