#include "cli/plan/memory_programs.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "graph/device_sums.h"
#include "graph/placed_program.h"
#include "graph/program_memory.h"
#include "kernels/cuda/gpus.h"
#include "kernels/job_kernels.h"
#include "worker/compute_gpus.h"
#include "worker/compute_team.h"

enum { SIZES = 2 }; /* Slices have at most two. */

/* The program of several slices. */
struct joined_program {
    bool is_known, is_possible;
    uint32_t examples; /* In each slice. */
    struct program_memory memory;
};

struct memory_programs {
    const struct job *job;
    const struct model *model;
    struct gpu_placement placement;                      /* With GPUs. */
    uint64_t examples;                                   /* The bytes of those of a slice. */
    struct joined_program joined[SIZES][SLICES_MAX + 1]; /* By the number of slices. */
};

/* The threads or GPUs of a worker. */
static uint32_t members_of_job(const struct job *job)
{
    return job_has_gpus(job) ? job->train.gpus : job_worker_threads(job);
}

enum tn_status memory_programs_open(const struct job *job, const struct model *model,
                                    struct memory_programs **out, struct error *error)
{
    struct memory_programs *programs = calloc(1, sizeof *programs);
    *out = programs;
    if (programs == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    programs->job = job;
    programs->model = model;
    if (!job_has_gpus(job)) { return TN_OK; }
    return compute_gpu_check(job, model->graph, &programs->placement, error);
}

void memory_programs_close(struct memory_programs *programs)
{
    free(programs);
}

bool memory_programs_are_placed(const struct memory_programs *programs)
{
    return gpu_placement_tasks(programs->placement) > 1;
}

/* The threads or GPUs of a worker among which its slices are divided. */
static uint32_t members_of(const struct memory_programs *programs)
{
    if (memory_programs_are_placed(programs)) { return 1; }
    return members_of_job(programs->job);
}

/* Where the variables are in the flat vector. */
static void list_offsets(const struct model *model, uint64_t offsets[static VARIABLES_MAX])
{
    for (uint32_t i = 0; i < model->table.count; i++) {
        offsets[model->table.variables[i].number] = model->table.variables[i].offset;
    }
}

static enum tn_status plan_program(const struct memory_programs *programs, enum tn_mode mode,
                                   uint32_t examples, uint32_t slices, struct program_memory *out,
                                   struct error *error)
{
    const struct model *model = programs->model;
    uint64_t offsets[VARIABLES_MAX];
    list_offsets(model, offsets);
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .variable_offsets = offsets,
                                               .mode = mode,
                                               .examples = examples,
                                               .kernels = job_programs(programs->job)};
    return program_memory_plan(model->graph, &options, slices, out, error);
}

/* The program that computes all slices of a node in one run; NULL: they are computed one by one,
 * or the model's operations cannot do that. */
static const struct joined_program *find_joined(struct memory_programs *programs,
                                                struct slice_node node)
{
    uint32_t examples;
    if (memory_programs_are_placed(programs)) { return NULL; }
    if (!compute_joins(programs->job, &programs->model->table, node, &examples)) { return NULL; }
    struct joined_program *found = &programs->joined[0][node.count];
    if (found->is_known && found->examples != examples) {
        found = &programs->joined[1][node.count];
    }
    if (!found->is_known) {
        struct error unused;
        found->is_known = true;
        found->examples = examples;
        found->is_possible = plan_program(programs, TN_TRAIN, examples * node.count, node.count,
                                          &found->memory, &unused) == TN_OK;
    }
    assert(found->examples == examples);
    return found->is_possible ? found : NULL;
}

/* ------------------------------------------------------ sums on the host */

/* The levels below the sum of a node whose slices are computed one by one. */
static uint32_t levels_of(struct slice_node node)
{
    if (node.count == 1) { return 0; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return u32_max(levels_of(left), 1 + levels_of(right));
}

uint32_t memory_programs_sums(const struct job *job, struct memory_programs *programs,
                              struct slice_node node)
{
    struct slice_node parts[SLICES_MAX];
    const uint32_t members = members_of_job(job);
    uint32_t sums = 0;
    if (job->train.gpus > 1) { return 0; } /* They are in the memory of the GPUs. */
    for (uint32_t m = 0; m < members; m++) {
        const uint32_t count = compute_team_parts(members, m, node, parts);
        uint32_t levels = 0;
        for (uint32_t i = 0; i < count; i++) {
            const bool joins = programs != NULL && find_joined(programs, parts[i]) != NULL;
            if (!joins) { levels = u32_max(levels, levels_of(parts[i])); }
        }
        sums += count + levels;
    }
    assert(sums >= 1);
    return sums - 1;
}

/* ------------------------------------------------------ programs */

/* One program of member `member`. */
static void add_program(const struct memory_programs *programs, uint32_t member,
                        const struct program_memory *memory, struct worker_memory *worker)
{
    worker->programs += memory->host;
    worker->pinned += memory->pinned;
    if (!job_has_gpus(programs->job)) { return; }
    struct gpu_memory *gpu = &worker->gpus[member];
    gpu->values += memory->values;
    gpu->gradients += memory->gradient;
    gpu->results += memory->results;
    gpu->examples += memory->rest;
}

/* The parts of one program, each on its GPU, or on the CPU. */
static enum tn_status add_parts(const struct memory_programs *programs, enum tn_mode mode,
                                uint32_t examples, struct worker_memory *worker,
                                struct error *error)
{
    struct program_memory parts[COMPUTE_PLACES_MAX];
    uint64_t offsets[VARIABLES_MAX];
    const uint32_t tasks = gpu_placement_tasks(programs->placement);
    const uint32_t gpus = programs->job->train.gpus;
    assert(tasks <= COMPUTE_PLACES_MAX && programs->placement.gpus == gpus);
    list_offsets(programs->model, offsets);
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .variable_offsets = offsets,
                                               .mode = mode,
                                               .examples = examples,
                                               .kernels = job_programs(programs->job)};
    const enum tn_status status =
        placed_program_plan(programs->model->graph, &options, parts, error);
    /* The part behind those of the GPUs is on the CPU: its sizes on a GPU are 0. */
    for (uint32_t p = 0; p < tasks && status == TN_OK; p++) {
        add_program(programs, u32_min(p, gpus - 1), &parts[p], worker);
    }
    return status;
}

/* The programs for up to two numbers of examples; 0: none. */
static enum tn_status add_sizes(const struct memory_programs *programs, enum tn_mode mode,
                                const uint32_t sizes[static SIZES], uint32_t members,
                                struct worker_memory *worker, struct error *error)
{
    const bool placed = memory_programs_are_placed(programs);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct program_memory memory;
        if (sizes[i] == 0 || (i > 0 && sizes[i] == sizes[0])) { continue; }
        const enum tn_status status =
            placed ? add_parts(programs, mode, sizes[i], worker, error)
                   : plan_program(programs, mode, sizes[i], 0, &memory, error);
        if (status != TN_OK) { return status; }
        if (placed) { continue; }
        for (uint32_t m = 0; m < members; m++) { add_program(programs, m, &memory, worker); }
    }
    return TN_OK;
}

/* The memory of GPUs beside programs. */
static void add_sums(const struct memory_programs *programs, struct worker_memory *worker)
{
    const struct job *job = programs->job;
    const struct slice_node all = {0, job->train.slices};
    if (!job_has_gpus(job)) { return; }
    for (uint32_t g = 0; g < job->train.gpus; g++) {
        if (job->train.kernels == JOB_KERNELS_CUBLAS) {
            worker->gpus[g].cublas = CUDA_CUBLAS_WORKSPACE_BYTES;
        }
        if (members_of(programs) == 1) { continue; }
        worker->gpus[g].sums = device_sums_bytes(programs->model->table.parameter_count,
                                                 compute_team_vectors(job->train.gpus, all));
    }
}

enum tn_status memory_programs_plan(struct memory_programs *programs,
                                    const struct memory_data *data, struct worker_memory *worker,
                                    struct error *error)
{
    const struct job *job = programs->job;
    const uint32_t most = compute_slice_examples(job), members = members_of(programs);
    const uint32_t slices = job->train.slices, batch = job->train.batch;
    const uint32_t sizes[SIZES] = {slices_positions(slices, batch, 0).count,
                                   slices_positions(slices, batch, slices - 1).count};
    const bool known = data != NULL && data->known;
    const uint64_t tested = known ? data->evaluated : most;
    const uint32_t chunks[SIZES] = {tested >= most ? most : 0, (uint32_t)(tested % most)};
    struct program_memory slice;
    enum tn_status status = plan_program(programs, TN_TRAIN, most, 0, &slice, error);
    if (status != TN_OK) { return status; }
    programs->examples = slice.examples;
    add_sums(programs, worker);
    status = add_sizes(programs, TN_TRAIN, sizes, members, worker, error);
    /* The first GPU evaluates, or all threads. */
    const uint32_t evaluating = job->train.gpus > 1 ? 1 : members;
    if (status != TN_OK) { return status; }
    return add_sizes(programs, TN_EVALUATE, chunks, evaluating, worker, error);
}

/* The programs of the subtrees of all nodes that a member computes, of each size once. */
static void add_joined(struct memory_programs *programs, uint32_t member,
                       const struct slice_node *nodes, uint32_t count, struct worker_memory *worker)
{
    const struct joined_program *counted[TRAINING_JOINED_MAX];
    uint32_t counted_count = 0;
    for (uint32_t n = 0; n < count; n++) {
        struct slice_node parts[SLICES_MAX];
        const uint32_t part_count =
            compute_team_parts(members_of(programs), member, nodes[n], parts);
        for (uint32_t i = 0; i < part_count; i++) {
            const struct joined_program *found = find_joined(programs, parts[i]);
            uint32_t c = 0;
            while (c < counted_count && counted[c] != found) { c++; }
            if (found == NULL || c < counted_count || c == TRAINING_JOINED_MAX) { continue; }
            counted[counted_count++] = found;
            add_program(programs, member, &found->memory, worker);
        }
    }
}

void memory_programs_add_nodes(struct memory_programs *programs, const struct slice_node *nodes,
                               uint32_t count, struct worker_memory *worker)
{
    const struct job *job = programs->job;
    const bool reads_ahead = job->data.threads > 0 || programs->model->table.row_table_count > 0;
    for (uint32_t m = 0; m < members_of(programs); m++) {
        add_joined(programs, m, nodes, count, worker);
    }
    for (uint32_t n = 0; n < count && reads_ahead; n++) {
        worker->programs += nodes[n].count * programs->examples; /* One entry for each slice. */
    }
}
