#include "cli/plan/memory_plan.h"

#include <assert.h>
#include <string.h>

#include "cli/plan/memory_plan_tables.h"
#include "cli/plan/memory_programs.h"
#include "common/base/minmax.h"
#include "common/cluster/slices.h"
#include "common/job/strategy.h"
#include "common/net/lane.h"
#include "coordinator/assign.h"
#include "graph/program_memory.h"
#include "group/member_memory.h"
#include "kernels/job_kernels.h"
#include "kernels/optimizer.h"
#include "model/model.h"
#include "ps/push_place.h"
#include "ps/shard_gpu.h"
#include "worker/compute.h"
#include "worker/value_array.h"

enum {
    MIB = 1 << 20,
    PROCESS_BYTES = 8 * MIB, /* Libraries, stacks, connections. */
    SERVER_BYTES = 80 * MIB, /* A ZooKeeper server. */
    FRAMES_BYTES = 12 * MIB, /* Chunks that have arrived, but are not collected yet: as measured. */
    /* More of them where answers are copied, from memory that the workers cannot map. */
    COPIED_BYTES = 16 * MIB,
};

/* The owners of all slices when every worker is ready. */
static void assign_all(const struct job *job, uint32_t workers, struct assignment *out)
{
    struct assign_input input = {.slices = job->train.slices,
                                 .push_ns =
                                     strategy_of_job(job)->slice_updates ? 0 : ASSIGN_PUSH_NS};
    for (uint32_t w = 0; w < workers; w++) { input.ready[w] = true; }
    (void)assign_slices(&(struct assignment){0}, &input, out);
}

static struct slice_set slices_of(const struct assignment *assignment, uint32_t worker)
{
    struct slice_set set = {0};
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        if (assignment->worker[v] == worker) { slice_set_add(&set, (struct slice_node){v, 1}); }
    }
    return set;
}

/* The nodes that worker `index` computes and pushes in a step. */
static uint32_t nodes_of(const struct job *job, const struct assignment *assignment, uint32_t index,
                         struct slice_node nodes[static SLICES_MAX])
{
    const struct slice_set set = slices_of(assignment, index);
    uint32_t count = 0;
    if (!strategy_of_job(job)->slice_updates) {
        return slices_cover(job->train.slices, &set, nodes);
    }
    for (uint32_t v = 0; v < assignment->slice_count; v++) { /* Each is an update. */
        if (assignment->worker[v] == index) { nodes[count++] = (struct slice_node){v, 1}; }
    }
    return count;
}

/* The number of these nodes, and the sums beside the largest of them. `programs` as in
 * memory_programs_sums(). */
static uint32_t pushes_of(const struct job *job, struct memory_programs *programs,
                          const struct assignment *assignment, uint32_t index, uint32_t *sums)
{
    struct slice_node nodes[SLICES_MAX];
    const uint32_t count = nodes_of(job, assignment, index, nodes);
    *sums = 0;
    for (uint32_t i = 0; i < count; i++) {
        *sums = u32_max(*sums, memory_programs_sums(job, programs, nodes[i]));
    }
    return count;
}

/* In memory that outlives it, which has no norms, a ps allocates one more array for the values that
 * an evaluation uses during a save (ps_kept_slots()). */
static struct ps_memory plan_ps(const struct job *job, const struct optimizer *optimizer,
                                uint64_t parameters, uint32_t pushes)
{
    const uint64_t bytes = parameters * sizeof(float);
    const uint32_t arrays = optimizer->arrays;
    const bool norms = optimizer_needs_norms(optimizer);
    const bool on_gpu = job_ps_has_gpu(job);
    const bool keeps = !norms && !on_gpu && strategy_of_job(job)->exact_steps;
    const bool saves = job->checkpoint.every_steps > 0 || job->checkpoint.every_seconds > 0;
    struct ps_memory ps = {.values = bytes,
                           .state = bytes * (arrays - 1),
                           .next = bytes,
                           .frames = u64_min(bytes, FRAMES_BYTES)};
    if (job->train.ema > 0) { ps.next += 4 * bytes; } /* Answers with both, of two steps. */
    if (norms || on_gpu) { ps.frames += u64_min(bytes, COPIED_BYTES); }
    ps.pushed = bytes * pushes;
    ps.saving = saves ? bytes * arrays : 0;
    if (saves && keeps && job_evaluate_every(job) > 0) { ps.saving += bytes; }
    if (!on_gpu) { return ps; }
    const struct shard_gpu_size size =
        shard_gpu_size(parameters, arrays, job->train.slices, SHARD_GPU_PIECE);
    /* The copies with which the ps begins stay allocated for those of saves. Norms that need the
     * state are those of each step, for which it is copied. */
    ps.saving = u64_max(ps.saving, ps.state);
    if (!optimizer_norms_need_state(optimizer)) { ps.state = 0; }
    ps.device = size.device_bytes;
    ps.pinned = size.pinned_bytes;
    return ps;
}

/* A worker without ps has all values and the state, which it updates in place, both again while it
 * saves them or another worker fetches them, the pushes to its range of two steps, and the sums of
 * the step and of those that it keeps. The head of a group has the range; the others have a copy of
 * their variables, and one gradient. */
static void plan_replicas(const struct job *job, const struct variable_table *variables,
                          const struct optimizer *optimizer, uint32_t pushes,
                          struct memory_plan *plan)
{
    assert(plan->members >= 1);
    const uint32_t arrays = optimizer->arrays;
    const uint64_t bytes = variables->parameter_count * sizeof(float);
    const uint32_t sums = 1 + job->strategy.keep_sums;
    const struct ps_memory all = plan_ps(job, optimizer, variables->parameter_count, sums);
    const uint64_t groups = job_workers_least(job) / plan->members;
    const uint64_t lanes = (uint64_t)plan->workers * (plan->workers - 1);
    for (uint32_t m = 0; m < plan->members; m++) {
        struct worker_memory *worker = &plan->member[m];
        const bool is_head = m == 0;
        worker->values = 2 * bytes * arrays;
        if (plan->members > 1) { worker->values += bytes; }
        worker->gradients = is_head ? worker->gradients + 2 * bytes * pushes / groups : bytes;
        worker->gradients += all.pushed;
    }
    if (job->transport.lane != LANE_TCP) { plan->lanes_bytes = lanes * LANE_BYTES; }
}

/* The pushes of a step, of all workers and of the one with the most, with the sums beside them.
 * `programs` as in memory_programs_sums(). */
static void count_pushes(const struct job *job, struct memory_programs *programs, uint32_t workers,
                         uint32_t *all, uint32_t *most)
{
    struct assignment assignment;
    uint32_t sums;
    *all = *most = 0;
    assign_all(job, workers, &assignment);
    for (uint32_t w = 0; w < workers; w++) {
        const uint32_t pushes = pushes_of(job, programs, &assignment, w, &sums);
        *all += pushes;
        *most = u32_max(*most, pushes + sums);
    }
}

/* The workers, or groups of them, that have slices. */
static uint32_t groups_of(const struct job *job, uint32_t workers)
{
    return u32_min(workers / strategy_members(job), job->train.slices);
}

/* The values that a worker task has: in a group with ps, those of its ps. */
static uint64_t count_values(const struct job *job, const struct variable_table *variables,
                             uint32_t member)
{
    const uint32_t members = strategy_members(job);
    uint64_t count = 0;
    assert(member < members);
    if (members == 1 || job->cluster.ps == 0) { return variables->parameter_count; }
    for (uint32_t p = member; p < job->cluster.ps; p += members) {
        count += variable_table_shard(variables, job->cluster.ps, p).count;
    }
    return count;
}

/* Whether the values of a worker are pages of the ps of its machine: these have to be in memory
 * that outlives the ps (P13), and be longer than the few bodies for which a worker has two arrays
 * (worker/value_array.h). */
static bool values_are_shared(const struct job *job, const struct variable_table *variables)
{
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    if (job->cluster.ps == 0 || strategy_members(job) > 1 || job->transport.lane == LANE_TCP ||
        job->train.ema > 0 || job_ps_has_gpu(job) || !strategy_of_job(job)->exact_steps ||
        optimizer_needs_norms(&optimizer)) {
        return false;
    }
    for (uint32_t p = 0; p < job->cluster.ps; p++) {
        const uint64_t bytes =
            variable_table_shard(variables, job->cluster.ps, p).count * sizeof(float);
        if (bytes > (uint64_t)VALUE_BODIES_MAX * WIRE_CHUNK_BYTES) { return true; }
    }
    return false;
}

void memory_plan_find_largest(struct memory_plan *plan)
{
    assert(plan->members >= 1 && plan->members <= GROUP_TASKS_MAX);
    plan->worker = plan->member[0];
    for (uint32_t m = 1; m < plan->members; m++) {
        const struct worker_memory *member = &plan->member[m];
        if (memory_of_worker(member) > memory_of_worker(&plan->worker)) { plan->worker = *member; }
    }
}

/* In a range of workers, the greater number needs the most on ps and in all, the smaller one the
 * most for each worker. */
void memory_plan_parameters(const struct job *job, const struct variable_table *variables,
                            struct memory_plan *plan)
{
    assert(job->cluster.ps <= PS_MAX && job->cluster.workers >= 1);
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    const uint32_t members = strategy_members(job);
    assert(members >= 1 && members <= job_workers_least(job));
    const bool shared = values_are_shared(job, variables);
    const bool norms = optimizer_needs_norms(&optimizer);
    /* Members of a group also keep the values that a ps has sent until the head takes them. */
    const uint64_t steps = shared ? 1 : 2;
    const uint64_t copies = members > 1 ? 3 : steps * (job->train.ema > 0 ? 2 : 1);
    uint32_t all, least_all, ignored, most;
    count_pushes(job, NULL, groups_of(job, job->cluster.workers), &all, &ignored);
    count_pushes(job, NULL, groups_of(job, job_workers_least(job)), &least_all, &most);
    *plan = (struct memory_plan){
        .ps_count = job->cluster.ps,
        .workers = job->cluster.workers,
        .members = members,
        .workers_per_process = job->cluster.workers_per_process,
        .pushes = all,
        .sums = most,
        .others = job->cluster.coordinators + job->zookeeper.servers,
        .others_bytes = (uint64_t)job->cluster.coordinators * PROCESS_BYTES +
                        (uint64_t)job->zookeeper.servers * SERVER_BYTES,
    };
    for (uint32_t m = 0; m < members; m++) {
        const uint64_t bytes = count_values(job, variables, m) * sizeof(float);
        plan->member[m] = (struct worker_memory){
            .values = bytes * copies, .shared = shared ? bytes : 0, .gradients = bytes * most};
    }
    if (plan->ps_count == 0) { plan_replicas(job, variables, &optimizer, least_all, plan); }
    for (uint32_t p = 0; p < plan->ps_count; p++) {
        uint64_t count = variable_table_shard(variables, plan->ps_count, p).count;
        const bool places =
            push_place_exists(job, variables, count, PUSH_PLACE_CHUNKS, WIRE_CHUNK_BYTES);
        plan->ps[p] = plan_ps(job, &optimizer, count, all - (places && all > 0 ? 1 : 0));
        if (job->transport.lane == LANE_TCP) {
            /* They arrive while the worker computes (P17). */
            if (places && !norms) { plan->member[0].values += count * sizeof(float); }
            continue;
        }
        const uint64_t body = count * sizeof(float) * (job->train.ema > 0 ? 2 : 1);
        plan->lanes_bytes += job->cluster.workers / members * lane_used_bytes(body);
    }
    memory_plan_find_largest(plan);
}

/* The programs of subtrees, of the worker that needs most of them. */
static void add_nodes(const struct job *job, struct memory_programs *programs,
                      struct worker_memory *worker)
{
    const uint32_t workers = groups_of(job, job_workers_least(job));
    const struct worker_memory without = *worker;
    struct assignment assignment;
    assign_all(job, workers, &assignment);
    for (uint32_t w = 0; w < workers; w++) {
        struct slice_node nodes[SLICES_MAX];
        struct worker_memory with = without;
        const uint32_t count = nodes_of(job, &assignment, w, nodes);
        memory_programs_add_nodes(programs, nodes, count, &with);
        const bool is_more = with.programs + with.pinned > worker->programs + worker->pinned;
        if (is_more) { *worker = with; }
    }
}

/* The gradients that a worker does not need because its slices are computed in one run. */
static uint64_t unneeded_gradients(const struct job *job, struct memory_programs *programs,
                                   uint64_t parameters)
{
    const uint32_t workers = groups_of(job, job_workers_least(job));
    uint32_t all, one_by_one, most;
    count_pushes(job, NULL, workers, &all, &one_by_one);
    count_pushes(job, programs, workers, &all, &most);
    return (one_by_one - most) * parameters * sizeof(float);
}

/* A worker whose GPUs share each slice adds gradients on the host, as one with a single GPU. */
static uint64_t placed_gradients(const struct job *job, const struct memory_programs *programs,
                                 uint64_t parameters)
{
    const uint32_t workers = groups_of(job, job_workers_least(job));
    struct job one = *job;
    uint32_t all, on_gpus, on_host;
    if (!memory_programs_are_placed(programs)) { return 0; }
    one.train.gpus = 1;
    count_pushes(job, NULL, workers, &all, &on_gpus);
    count_pushes(&one, NULL, workers, &all, &on_host);
    return (on_host - on_gpus) * parameters * sizeof(float);
}

/* A worker that has the whole model. */
static enum tn_status plan_whole(const struct job *job, const struct model *model,
                                 const struct memory_data *data, struct worker_memory *worker,
                                 struct error *error)
{
    const uint64_t parameters = model->table.parameter_count;
    struct memory_programs *programs = NULL;
    enum tn_status status = memory_programs_open(job, model, &programs, error);
    if (status == TN_OK) { status = memory_programs_plan(programs, data, worker, error); }
    if (status == TN_OK) {
        add_nodes(job, programs, worker);
        worker->gradients -= unneeded_gradients(job, programs, parameters);
        worker->gradients += placed_gradients(job, programs, parameters);
    }
    memory_programs_close(programs);
    return status;
}

static enum tn_status plan_evaluation(const struct job *job, const struct model *model,
                                      uint64_t *bytes, struct error *error)
{
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_EVALUATE,
                                               .examples = compute_slice_examples(job),
                                               .kernels = job_programs(job)};
    struct program_memory memory;
    const enum tn_status status = program_memory_plan(model->graph, &options, 0, &memory, error);
    if (status == TN_OK) { *bytes += memory.host; }
    return status;
}

/* The members of a group, each of which has the programs of its parts. Without ps a member
 * evaluates alone. */
static enum tn_status plan_members(const struct job *job, const struct model *model,
                                   struct memory_plan *plan, struct error *error)
{
    struct training_cut cut = {.tasks = 0};
    struct evaluation_cut evaluation = {.result_count = 0};
    enum tn_status status = training_cut_create(model->graph, plan->members, &cut, error);
    const bool evaluates_alone = job->cluster.ps == 0;
    if (status == TN_OK && !evaluates_alone) {
        status = evaluation_cut_create(&cut, &evaluation, error);
    }
    for (uint32_t m = 0; m < plan->members && status == TN_OK; m++) {
        const struct member_memory_config config = {
            .cut = &cut,
            .evaluation = evaluates_alone ? NULL : &evaluation,
            .task = m,
            .slices = job->train.slices,
            .batch = job->train.batch,
            .chunk = compute_slice_examples(job),
            .kernels = job_programs(job),
        };
        status = member_memory_plan(&config, &plan->member[m].programs, error);
        if (status != TN_OK || !evaluates_alone) { continue; }
        status = plan_evaluation(job, model, &plan->member[m].programs, error);
    }
    evaluation_cut_free(&evaluation);
    training_cut_free(&cut);
    return status;
}

enum tn_status memory_plan_make(const struct job *job, const struct variable_table *variables,
                                const struct memory_data *data, struct memory_plan *plan,
                                struct error *error)
{
    struct model *model = NULL;
    enum tn_status status = model_open(job, &model, error);
    if (status != TN_OK) { return status; }
    memory_plan_parameters(job, variables, plan);
    status = plan->members > 1 ? plan_members(job, model, plan, error)
                               : plan_whole(job, model, data, &plan->member[0], error);
    model_close(model);
    memory_plan_add_data(job, variables, data, plan);
    memory_plan_find_largest(plan);
    return status;
}

uint64_t memory_of_ps(const struct ps_memory *ps)
{
    return PROCESS_BYTES + ps->values + ps->state + ps->next + ps->pushed + ps->frames +
           ps->saving + ps->rows + ps->pinned;
}

uint64_t memory_of_largest_ps(const struct memory_plan *plan)
{
    uint64_t most = 0;
    for (uint32_t p = 0; p < plan->ps_count; p++) {
        most = u64_max(most, memory_of_ps(&plan->ps[p]));
    }
    return most;
}

uint64_t memory_of_worker(const struct worker_memory *worker)
{
    return PROCESS_BYTES + worker->values + worker->gradients + worker->programs + worker->pinned +
           worker->data + worker->rows + worker->evaluated;
}

uint64_t memory_of_gpu(const struct gpu_memory *gpu)
{
    return gpu->values + gpu->gradients + gpu->results + gpu->examples + gpu->sums + gpu->cublas;
}

/* The processes that run this member of a group. */
static uint64_t processes_of(const struct memory_plan *plan)
{
    const uint32_t tasks = plan->workers / plan->members, each = plan->workers_per_process;
    assert(each >= 1);
    return (tasks + each - 1) / each;
}

uint64_t memory_of_all(const struct memory_plan *plan)
{
    uint64_t bytes = plan->others_bytes + plan->lanes_bytes;
    for (uint32_t m = 0; m < plan->members; m++) {
        const struct worker_memory *member = &plan->member[m];
        const uint64_t process = PROCESS_BYTES + member->data;
        const uint64_t each =
            memory_of_worker(member) - process - member->shared - member->evaluated;
        bytes += plan->workers / plan->members * each + processes_of(plan) * process;
        bytes += member->evaluated;
    }
    for (uint32_t p = 0; p < plan->ps_count; p++) { bytes += memory_of_ps(&plan->ps[p]); }
    return bytes;
}
