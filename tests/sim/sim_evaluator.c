/* The evaluator of the simulated world: it reads checkpoints from the modelled disk. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/evaluator.h"
#include "tests/sim/cluster.h"

struct sim_evaluator {
    struct sim_cluster *cluster;
    struct process *process;
    struct evaluator *node;
    struct buffer *values; /* NULL: none were read yet. */
};

/* The manifest of a checkpoint in ZooKeeper. */
static bool find_manifest(const struct sim_cluster *cluster, uint64_t checkpoint,
                          struct manifest *out)
{
    const struct zk_tree *tree = zk_model_tree(cluster->zk);
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        if (strstr(node->path, "/checkpoints/") == NULL || node->blob == NULL) { continue; }
        const char *text = (const char *)node->blob->data;
        if (manifest_decode(text, node->blob->size, out, NULL) != TN_OK) { continue; }
        if (out->id == checkpoint) { return true; }
    }
    return false;
}

/* The disk may be away, and a manifest unknown for a while. */
static enum tn_status read_values(void *ctx, uint64_t checkpoint, struct evaluator_values *out,
                                  struct error *error)
{
    struct sim_evaluator *evaluator = ctx;
    struct sim_cluster *cluster = evaluator->cluster;
    struct manifest manifest;
    if (world_below(&cluster->world, 4) == 0 || !find_manifest(cluster, checkpoint, &manifest)) {
        return error_set(error, TN_ENOENT, "no manifest");
    }
    for (uint32_t i = 0; i < manifest.shard_count; i++) {
        const struct manifest_shard *shard = &manifest.shards[i];
        bool flipped;
        const bool whole = disk_model_holds(cluster->disk, &manifest, i, &flipped);
        if (flipped) { return error_set(error, TN_ECORRUPT, "a bit flipped"); }
        if (!whole) { return error_set(error, TN_ENOENT, "a shard does not exist"); }
        const float *values = disk_model_values(cluster->disk, &manifest, i);
        memcpy((float *)evaluator->values->data + shard->first, values,
               shard->count * sizeof *values);
    }
    *out = (struct evaluator_values){manifest.step, evaluator->values, evaluator->values};
    return TN_OK;
}

static void destroy(void *self)
{
    struct sim_evaluator *evaluator = self;
    evaluator_destroy(evaluator->node);
    buffer_release(evaluator->values);
    free(evaluator);
}

/* The reactor, and the values with it, have one pointer: that which is destroyed. */
static void handle(void *self, const struct node_event *event)
{
    const struct sim_evaluator *evaluator = self;
    const struct node node = evaluator_node(evaluator->node);
    node.handle(node.self, event);
}

static uint64_t deadline_ms(const void *self)
{
    const struct sim_evaluator *evaluator = self;
    const struct node node = evaluator_node(evaluator->node);
    return node.deadline_ms(node.self);
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct sim_evaluator *evaluator = self;
    const struct node node = evaluator_node(evaluator->node);
    return node.finished(node.self, exit_code);
}

void sim_make_evaluator(struct sim_cluster *cluster, struct process *process,
                        const struct node_identity *identity)
{
    struct sim_evaluator *evaluator = calloc(1, sizeof *evaluator);
    assert(evaluator != NULL);
    const size_t bytes = cluster->model->table.parameter_count * sizeof(float);
    evaluator->cluster = cluster;
    evaluator->process = process;
    evaluator->values = buffer_acquire(process->ports.buffers, bytes);
    assert(evaluator->values != NULL);
    const struct evaluator_config config = {
        .worker = {.identity = *identity,
                   .ports = &process->ports,
                   .job = &cluster->setup.job,
                   .model = cluster->model,
                   .programs = "reference",
                   .kernels = cluster->kernels,
                   .train = cluster->train,
                   .test = cluster->test,
                   .inputs = {.fingerprint = "sim", .data = {1, 2}}},
        .source = {evaluator, read_values},
    };
    struct error error;
    const enum tn_status status = evaluator_create(&config, &evaluator->node, &error);
    assert(status == TN_OK);
    process->node = (struct node){evaluator, handle, deadline_ms, is_finished};
    process->destroy = destroy;
}
