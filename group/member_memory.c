#include "group/member_memory.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/cluster/slices.h"
#include "graph/program_memory.h"
#include "group/schedule.h"

/* The parts of the task as programs for this number of examples. */
static enum tn_status add_programs(const struct member_memory_config *config,
                                   const struct partition *partition, uint32_t examples,
                                   uint64_t *bytes, struct error *error)
{
    const struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = TN_EVALUATE,
        .examples = examples,
        .kernels = config->kernels,
    };
    for (uint32_t p = 0; p < partition->part_count; p++) {
        struct program_memory needed;
        if (partition->parts[p].task != config->task) { continue; }
        const enum tn_status status =
            program_memory_plan_part(partition->parts[p].graph, &options, &needed, error);
        if (status != TN_OK) { return status; }
        *bytes += needed.host;
    }
    return TN_OK;
}

/* Values of other members are kept for two slices, those between its own parts for one. */
static void add_values(const struct member_memory_config *config, const struct partition *partition,
                       uint32_t examples, uint64_t *bytes)
{
    assert(partition->edge_count == 0 || partition->edges != NULL);
    for (uint32_t e = 0; e < partition->edge_count; e++) {
        const struct partition_edge *edge = &partition->edges[e];
        if (edge->to != config->task || edge->from == PARTITION_CALLER) { continue; }
        const uint64_t each = partition_edge_bytes(edge, examples);
        *bytes += edge->from == config->task ? each : SCHEDULE_SLOTS * each;
    }
}

enum tn_status member_memory_plan(const struct member_memory_config *config, uint64_t *bytes,
                                  struct error *error)
{
    const struct partition *training = &config->cut->partition;
    const uint32_t last = config->slices - 1;
    assert(config->slices >= 1 && config->batch >= config->slices && config->chunk >= 1);
    /* Slices have at most two sizes. */
    const uint32_t sizes[] = {slices_positions(config->slices, config->batch, 0).count,
                              slices_positions(config->slices, config->batch, last).count};
    *bytes = 0;
    enum tn_status status = add_programs(config, training, sizes[0], bytes, error);
    if (status == TN_OK && sizes[1] != sizes[0]) {
        status = add_programs(config, training, sizes[1], bytes, error);
    }
    if (status != TN_OK) { return status; }
    add_values(config, training, u32_max(sizes[0], sizes[1]), bytes);
    if (config->evaluation == NULL) { return TN_OK; }
    add_values(config, &config->evaluation->partition, config->chunk, bytes);
    return add_programs(config, &config->evaluation->partition, config->chunk, bytes, error);
}
