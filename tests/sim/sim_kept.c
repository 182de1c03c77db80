/* The memory that agents keep for their ps. A ps that is killed finds it again; one that is killed
 * in the middle of an update finds it as it was at that moment. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sparse/update.h"
#include "ps/ps.h"
#include "tests/sim/cluster.h"

enum { PAGE_BYTES = 4096, TEAR_CALLS_MAX = 12, TEAR_ROWS_MAX = 72 };

/* Tables of a few hundred cells, up to three times at once. */
static const struct cell_arena_size rows_size = {.blocks = 64, .block_bytes = PAGE_BYTES};

static size_t bytes_of(const struct sim_cluster *cluster, uint32_t task)
{
    return ps_kept_bytes(&cluster->setup.job, &cluster->model->table, cluster->tasks[task].index,
                         rows_size);
}

static uint32_t task_number(const struct sim_cluster *cluster, struct task task)
{
    uint32_t t = 0;
    while (!task_equal(cluster->tasks[t], task)) { t++; }
    assert(t < cluster->task_count);
    return t;
}

void sim_kept_open(struct sim_cluster *cluster, struct process *process)
{
    const uint32_t number = task_number(cluster, process->task);
    const size_t bytes = bytes_of(cluster, number);
    struct sim_kept *kept = &cluster->kept[number];
    if (!cluster->setup.keeps_memory || bytes == 0) { return; }
    if (kept->memory == NULL) {
        kept->memory = aligned_alloc(PAGE_BYTES, bytes);
        assert(kept->memory != NULL);
        memset(kept->memory, 0, bytes);
        kept->file = ++cluster->kept_files;
    }
    struct kept_memory *opened = malloc(sizeof *opened);
    struct kept_record record;
    assert(opened != NULL);
    bool open = ps_kept_open(opened, kept->memory, &cluster->setup.job, &cluster->model->table,
                             process->task.index, rows_size);
    assert(open);
    kept->found += kept_memory_read(opened, &record);
    process->kept = opened;
    const struct loan_memory lent = kept_memory_loans(opened, kept->file);
    net_endpoint_lend(process->endpoint, &lent);
}

/* Workers may still read values in it. */
static void retire(struct sim_cluster *cluster, void *memory)
{
    const size_t bytes = (cluster->retired_count + 1) * sizeof *cluster->retired;
    cluster->retired = realloc(cluster->retired, bytes);
    assert(cluster->retired != NULL);
    cluster->retired[cluster->retired_count++] = memory;
}

void sim_kept_free(struct sim_cluster *cluster)
{
    for (uint32_t t = 0; t < cluster->task_count; t++) { sim_kept_drop(cluster, t); }
    for (size_t i = 0; i < cluster->retired_count; i++) { free(cluster->retired[i]); }
    free(cluster->retired);
}

void sim_kept_drop(struct sim_cluster *cluster, uint32_t task)
{
    struct sim_kept *kept = &cluster->kept[task];
    if (kept->memory != NULL) { retire(cluster, kept->memory); }
    free(kept->torn);
    kept->memory = kept->torn = NULL;
    kept->tear_after = 0;
}

/* ------------------------------------------------------------------- tearing */

void sim_kept_tear(struct sim_cluster *cluster, uint32_t target, uint32_t at)
{
    const struct job *job = &cluster->setup.job;
    const uint32_t task = job->cluster.coordinators + target % job->cluster.ps;
    assert(cluster->tasks[task].role == ROLE_PS);
    const uint32_t most =
        cluster->model->table.row_table_count > 0 ? TEAR_ROWS_MAX : TEAR_CALLS_MAX;
    cluster->kept[task].tear_after = 1 + at % most;
}

/* A place in the middle of an update: the ps may be killed here. */
static void pass(void)
{
    struct process *process = process_running();
    if (process == NULL || process->task.role != ROLE_PS || process->dies) { return; }
    struct sim_cluster *cluster = process->config.ctx;
    const uint32_t task = task_number(cluster, process->task);
    struct sim_kept *kept = &cluster->kept[task];
    if (kept->memory == NULL || kept->tear_after == 0 || --kept->tear_after > 0) { return; }
    const size_t bytes = bytes_of(cluster, task);
    assert(kept->torn == NULL);
    kept->torn = malloc(bytes);
    assert(kept->torn != NULL);
    memcpy(kept->torn, kept->memory, bytes);
    process->dies = true;
    net_endpoint_mute(process->endpoint);
}

void sim_kept_torn(void *ctx, struct process *process, int exit_code)
{
    struct sim_cluster *cluster = ctx;
    (void)exit_code;
    const uint32_t task = task_number(cluster, process->task);
    struct sim_kept *kept = &cluster->kept[task];
    assert(kept->torn != NULL);
    memcpy(kept->memory, kept->torn, bytes_of(cluster, task));
    free(kept->torn);
    kept->torn = NULL;
    world_log(&cluster->world, "in the middle of an update:");
    sim_kill_task(cluster, task);
}

/* A part of a block is computed when the ps dies. */
static void update(enum optimizer_kind kind, size_t count,
                   const struct optimizer_constants *constants, const float *gradient,
                   const float *const in[static OPTIMIZER_ARRAYS_MAX],
                   float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    const size_t half = count / 2;
    const float *rest_in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *rest_out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        if (in[a] != NULL) { rest_in[a] = in[a] + half; }
        if (out[a] != NULL) { rest_out[a] = out[a] + half; }
    }
    pass();
    optimizer_reference.update[kind](half, constants, gradient, in, out);
    pass();
    optimizer_reference.update[kind](count - half, constants, gradient + half, rest_in, rest_out);
    pass();
}

/* The linker puts it in the place of sparse_update(). A row is half written when the ps dies. */
void __wrap_sparse_update(enum sparse_kind kind, uint32_t width,
                          const struct sparse_constants *constants, const float *gradient,
                          const float *in, float *out);
void __real_sparse_update(enum sparse_kind kind, uint32_t width,
                          const struct sparse_constants *constants, const float *gradient,
                          const float *in, float *out);

void __wrap_sparse_update(enum sparse_kind kind, uint32_t width,
                          const struct sparse_constants *constants, const float *gradient,
                          const float *in, float *out)
{
    pass();
    __real_sparse_update(kind, width, constants, gradient, in, out);
    pass();
}

/* In the place of kept_memory_copy_block(). A part of a block is in its place when the ps dies. */
void __wrap_kept_memory_copy_block(struct kept_memory *kept,
                                   float *const arrays[static OPTIMIZER_ARRAYS_MAX]);
void __real_kept_memory_copy_block(struct kept_memory *kept,
                                   float *const arrays[static OPTIMIZER_ARRAYS_MAX]);

void __wrap_kept_memory_copy_block(struct kept_memory *kept,
                                   float *const arrays[static OPTIMIZER_ARRAYS_MAX])
{
    const uint64_t first = kept->count - kept_memory_done(kept) - kept_memory_noted(kept);
    const bool updates = process_running() != NULL; /* Else a ps opens, and may have no block. */
    pass();
    for (uint32_t a = 0; a < kept->arrays && updates; a++) {
        if (arrays[a] != NULL) { arrays[a][first] = kept_memory_block(kept, a)[0]; }
    }
    pass();
    __real_kept_memory_copy_block(kept, arrays);
}

#define UPDATE(kind)                                                                               \
    static void update_##kind(size_t count, const struct optimizer_constants *constants,           \
                              const float *gradient,                                               \
                              const float *const in[static OPTIMIZER_ARRAYS_MAX],                  \
                              float *const out[static OPTIMIZER_ARRAYS_MAX])                       \
    {                                                                                              \
        update(kind, count, constants, gradient, in, out);                                         \
    }

UPDATE(OPTIMIZER_SGD)
UPDATE(OPTIMIZER_MOMENTUM)
UPDATE(OPTIMIZER_NESTEROV)
UPDATE(OPTIMIZER_ADAGRAD)
UPDATE(OPTIMIZER_RMSPROP)
UPDATE(OPTIMIZER_ADAM)
UPDATE(OPTIMIZER_ADAMW)

const struct kernels *sim_kept_kernels(struct sim_cluster *cluster)
{
    struct optimizer_kernels *optimizers = &cluster->torn_optimizers;
    *optimizers = *cluster->kernels->optimizers;
    optimizers->update[OPTIMIZER_SGD] = update_OPTIMIZER_SGD;
    optimizers->update[OPTIMIZER_MOMENTUM] = update_OPTIMIZER_MOMENTUM;
    optimizers->update[OPTIMIZER_NESTEROV] = update_OPTIMIZER_NESTEROV;
    optimizers->update[OPTIMIZER_ADAGRAD] = update_OPTIMIZER_ADAGRAD;
    optimizers->update[OPTIMIZER_RMSPROP] = update_OPTIMIZER_RMSPROP;
    optimizers->update[OPTIMIZER_ADAM] = update_OPTIMIZER_ADAM;
    optimizers->update[OPTIMIZER_ADAMW] = update_OPTIMIZER_ADAMW;
    cluster->torn_kernels = *cluster->kernels;
    cluster->torn_kernels.optimizers = optimizers;
    return &cluster->torn_kernels;
}
