/* cli/node/ps.c: `tanist ps`: one parameter server, with its checkpoint store on a thread. */
#include "ps/ps.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/node/node.h"
#include "cli/node/node_store.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "kernels/cuda/library.h"
#include "kernels/gpu/devices.h"
#include "kernels/job_kernels.h"
#include "kernels/kernels.h"
#include "ps/kept_file.h"
#include "ps/kept_prefault.h"
#include "ps/push_place.h"

struct ps_parts {
    const struct kernels *kernels;
    struct shard_gpu_place gpu; /* Zeros: updates are computed on the CPU. */
    struct node_store store;
    void *memory; /* The agent's, mapped; NULL: none. */
    size_t memory_bytes;
    struct cell_arena_size rows;
    struct kept_memory kept;
    struct loan_memory loans; /* Its slots, by a descriptor of their own; -1: none. */
    struct kept_prefault prefault;
    struct ps *ps;
};

/* P13. Without this memory, a ps that is killed is loaded from a checkpoint. */
static void open_memory(struct ps_parts *parts, const struct node_setup *setup)
{
    struct error error;
    const uint32_t index = setup->task.index;
    parts->rows = kept_file_rows();
    parts->memory_bytes = ps_kept_bytes(&setup->job, &setup->variables, index, parts->rows);
    if (setup->memory < 0 || parts->memory_bytes == 0) { return; }
    parts->loans.fd = fcntl(setup->memory, F_DUPFD_CLOEXEC, 0);
    parts->memory = kept_file_map(setup->memory, parts->memory_bytes, &error);
    if (parts->memory == NULL) {
        log_warn("this ps keeps nothing if it is killed: %s", error.text);
    }
}

/* As the workers do: task 0 has the first GPU, and after the last one the first one follows. */
static enum tn_status open_gpu(struct ps_parts *parts, const struct node_setup *setup,
                               struct error *error)
{
    uint32_t count = 0;
    if (!job_ps_has_gpu(&setup->job)) { return TN_OK; }
    /* An error is found again, and explained, when the GPU is opened. */
    if (gpu_devices_count(&count, NULL) != TN_OK || count == 0) { count = 1; }
    parts->gpu.number = setup->task.index % u32_min(count, CUDA_GPUS_MAX);
    parts->gpu.piece = SHARD_GPU_PIECE;
    enum tn_status status = cuda_library_open(parts->gpu.number, &parts->gpu.library, error);
    if (status == TN_OK) { return TN_OK; }
    /* A former process may still have had the memory: with this status, another one tries. */
    if (status == TN_ENOMEM) { error->status = TN_EDEVICE; }
    return error_context(error, "train.ps_kernels is cuda, and cpu has the same bits");
}

static enum tn_status open_ps(struct node_setup *setup, void **out, struct error *error)
{
    struct ps_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    parts->loans.fd = -1;
    enum tn_status status = kernels_open(job_kernels(&setup->job), &parts->kernels, error);
    if (status == TN_OK) { status = open_gpu(parts, setup, error); }
    if (status == TN_OK) { open_memory(parts, setup); }
    if (parts->memory != NULL && !ps_kept_open(&parts->kept, parts->memory, &setup->job,
                                               &setup->variables, setup->task.index, parts->rows)) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    if (parts->memory != NULL && parts->loans.fd >= 0) {
        parts->loans = kept_memory_loans(&parts->kept, parts->loans.fd);
        setup->loans = &parts->loans;
    }
    return status == TN_OK ? node_store_prepare(&parts->store, setup, error) : status;
}

static enum tn_status run_ps(struct node_setup *setup, void *role, int *exit_code,
                             struct error *error)
{
    struct ps_parts *parts = role;
    assert(setup->runtime != NULL);
    enum tn_status status = node_store_start(&parts->store, setup, error);
    if (status != TN_OK) { return status; }
    const struct ps_config config = {.identity = setup->identity,
                                     .ports = runtime_ports(setup->runtime),
                                     .job = &setup->job,
                                     .variables = &setup->variables,
                                     .kernels = parts->kernels,
                                     .gpu = parts->gpu,
                                     .kept = parts->memory != NULL ? &parts->kept : NULL,
                                     .store = store_thread_port(parts->store.thread),
                                     .place = parts->store.place,
                                     .push_place_chunks = PUSH_PLACE_CHUNKS};
    status = ps_create(&config, &parts->ps, error);
    if (status == TN_OK) {
        const uint32_t slots = ps_kept_slots(&setup->job, &setup->variables);
        if (config.kept != NULL) { kept_prefault_start(&parts->prefault, &parts->kept, slots); }
        const struct node node = ps_node(parts->ps);
        *exit_code = runtime_run(setup->runtime, &node);
    }
    kept_prefault_stop(&parts->prefault);
    store_thread_stop(parts->store.thread, *exit_code == TN_EXIT_OK);
    ps_destroy(parts->ps);
    return status;
}

static void close_ps(void *role)
{
    struct ps_parts *parts = role;
    if (parts == NULL) { return; }
    kept_memory_close(&parts->kept);
    if (parts->loans.fd >= 0) { close(parts->loans.fd); }
    if (parts->memory != NULL) { kept_file_unmap(parts->memory, parts->memory_bytes); }
    free(parts);
}

int command_ps(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_PS,
        .about =
            "Run one parameter server: it holds one range of the parameters, applies gradients to "
            "it, and writes\nits part of each checkpoint to DIR/checkpoints.",
        .examples = "  tanist ps --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --listen "
                    "tcp://h4:0 --dir /data/run\n",
        .open = open_ps,
        .run = run_ps,
        .close = close_ps};
    return node_command(&role, argc, argv);
}
