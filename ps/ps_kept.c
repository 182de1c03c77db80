/* P13: what a ps keeps in memory that outlives it, and how it continues from there. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/job/strategy.h"
#include "ps/ps_private.h"

/* Exact steps without norms: a part of a norm that another ps has sent would be lost. The memory of
 * a GPU is lost with the process. */
static bool is_possible(const struct job *job, const struct optimizer *optimizer)
{
    return !job_ps_has_gpu(job) && strategy_of_job(job)->exact_steps &&
           !optimizer_needs_norms(optimizer);
}

static size_t slot_size(uint64_t count, const struct optimizer *optimizer)
{
    return count * sizeof(float) * (optimizer_has_average(optimizer) ? 2 : 1);
}

/* The shard of a ps: where its arena of rows begins, so that its blocks have huge pages. */
static size_t arena_at(size_t slot_bytes, struct cell_arena_size rows)
{
    const size_t bytes = kept_memory_bytes(slot_bytes);
    return (bytes + rows.block_bytes - 1) / rows.block_bytes * rows.block_bytes;
}

size_t ps_kept_bytes(const struct job *job, const struct variable_table *variables, uint32_t index,
                     struct cell_arena_size rows)
{
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    if (!is_possible(job, &optimizer)) { return 0; }
    const struct placement place = variable_table_shard(variables, job->cluster.ps, index);
    const size_t slot_bytes = slot_size(place.count, &optimizer);
    if (variables->row_table_count == 0) { return kept_memory_bytes(slot_bytes); }
    return arena_at(slot_bytes, rows) + cell_arena_bytes(rows);
}

/* The arrays of the current step, the values of the next step, and, in a job with checkpoints, the
 * arrays that are saved and the values of a step that is evaluated meanwhile. With an average the
 * answers of three steps are apart from them. */
uint32_t ps_kept_slots(const struct job *job, const struct variable_table *variables)
{
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    const bool saves = job->checkpoint.every_steps > 0 || job->checkpoint.every_seconds > 0;
    const uint32_t copies = saves ? 2 : 1, evaluated = saves && job_evaluate_every(job) > 0 ? 1 : 0;
    return copies * optimizer.arrays + 1 + evaluated + (optimizer_has_average(&optimizer) ? 3 : 0);
}

/* An agent keeps memory for one cluster and one task; this confirms it. */
static struct digest identity_of(const struct job *job, const struct variable_table *variables,
                                 uint32_t index, struct placement place,
                                 struct cell_arena_size rows)
{
    const struct {
        uint64_t job, variables, graph, index, ps, first, count, slices, blocks, block_bytes;
    } parts = {
        job_hash(job),         variable_table_hash(variables),
        variables->graph_hash, index,
        job->cluster.ps,       place.first,
        place.count,           job->train.slices,
        rows.blocks,           rows.block_bytes,
    };
    return digest_of(&parts, sizeof parts);
}

bool ps_kept_open(struct kept_memory *kept, void *memory, const struct job *job,
                  const struct variable_table *variables, uint32_t index,
                  struct cell_arena_size rows)
{
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    const struct placement place = variable_table_shard(variables, job->cluster.ps, index);
    const size_t slot_bytes = slot_size(place.count, &optimizer);
    const struct digest identity = identity_of(job, variables, index, place, rows);
    assert(is_possible(job, &optimizer));
    if (!kept_memory_open(kept, memory, slot_bytes, place.count, optimizer.arrays, identity)) {
        return false;
    }
    if (variables->row_table_count == 0) { return true; }
    cell_arena_open(&kept->rows, (uint8_t *)memory + arena_at(slot_bytes, rows), rows);
    return true;
}

static void recover_losses(struct losses *losses, uint64_t step)
{
    losses_load(losses, step);
    if (losses->end - losses->first > LOSSES_MAX) { losses->first = losses->end; }
}

void ps_kept_recover(struct ps *ps)
{
    struct kept_record record;
    if (ps->kept == NULL) { return; }
    ps->losses = kept_memory_losses(ps->kept);
    const bool found = kept_memory_read(ps->kept, &record);
    if (!found) { record.rows.set = 0; }
    if (!shard_rows_recover(&ps->rows, &record) || !found) {
        kept_memory_clear(ps->kept);
        losses_load(ps->losses, 0);
        return;
    }
    shard_recover(&ps->shard, &record);
    recover_losses(ps->losses, record.step);
    ps_step_recover(&ps->core, &(struct ps_memory){
                                   .generation = record.generation,
                                   .run_ms = record.run_ms,
                                   .step = record.step,
                                   .begun = record.begun != 0,
                                   .has_previous = record.previous != BUFFER_NO_SLOT,
                                   .kept_evaluation = record.evaluation_step,
                                   .kept_checkpoint = record.checkpoint_step,
                                   .save_handled = record.save_handled,
                                   .saved_checkpoint = record.saved_checkpoint,
                                   .saved_step = record.saved_step,
                               });
    ps->kept_evaluation = record.evaluation_step;
    ps->kept_checkpoint = record.checkpoint_step;
    struct checkpoint_client *checkpoints = &ps->checkpoints;
    checkpoints->saved_checkpoint = record.saved_checkpoint;
    checkpoints->saved_digest =
        (struct digest){.low = record.saved_digest[0], .high = record.saved_digest[1]};
    checkpoints->saved_bytes = record.saved_bytes;
    log_info("continuing generation=%" PRIu64 " step=%" PRIu64 "%s from the memory of a former "
             "process",
             record.generation, record.step, record.begun != 0 ? ", whose update had begun," : "");
}

void ps_kept_write(struct ps *ps, uint64_t step)
{
    if (ps->kept == NULL) { return; }
    const struct ps_step *core = &ps->core;
    const struct checkpoint_client *checkpoints = &ps->checkpoints;
    assert(core->generation != 0);
    struct kept_record record = {
        .generation = core->generation,
        .run_ms = core->run_ms,
        .step = step,
        .evaluation_step = ps->kept_evaluation,
        .checkpoint_step = ps->kept_checkpoint,
        .save_handled = core->save_handled,
    };
    if (checkpoints->saved_checkpoint == core->saved_checkpoint) {
        record.saved_checkpoint = core->saved_checkpoint;
        record.saved_step = core->saved_step;
        record.saved_digest[0] = checkpoints->saved_digest.low;
        record.saved_digest[1] = checkpoints->saved_digest.high;
        record.saved_bytes = checkpoints->saved_bytes;
    }
    if (shard_describe(&ps->shard, &record) && shard_rows_describe(&ps->rows, &record.rows)) {
        kept_memory_write(ps->kept, &record);
    } else {
        kept_memory_clear(ps->kept);
    }
}

void ps_kept_clear(struct ps *ps)
{
    ps->kept_evaluation = ps->kept_checkpoint = 0;
    if (ps->kept != NULL) { kept_memory_clear(ps->kept); }
}

void ps_kept_arrays(struct ps *ps, enum ps_values values, uint64_t step)
{
    const bool arrays = values == VALUES_CHECKPOINT;
    assert(arrays || values == VALUES_EVALUATION);
    *(arrays ? &ps->kept_checkpoint : &ps->kept_evaluation) = step;
    if (step == 0) {
        shard_unkeep(&ps->shard, arrays);
    } else if (!shard_keep(&ps->shard, arrays) && ps->shard.failure.status != TN_OK) {
        ps_shard_failed(ps); /* Without memory, the checkpoint of this step is missed. */
    }
}
