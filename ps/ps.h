/*
 * ps/ps.h: a parameter server as a node: it registers, follows /run, keeps its shard, answers
 * workers, and writes and reads checkpoints through the store port. A reactor: no thread, no clock;
 * see common/node/node.h. ps/step.h decides, ps/shard.h computes, and ps/checkpoint_client.h uses
 * the store.
 *
 * NODE_ROLE events are `struct store_event`s, the answers of `config.store`.
 *
 * With a GPU, each update is computed there (ps/shard_gpu.h).
 *
 * It exits with 0 when the run is done or it is asked to leave, with 1 when the run failed or
 * memory ran out, with 14 when its GPU failed, else with membership's code. When a run has ended,
 * it first copies the last manifest and removes old checkpoints, and gives its last losses to
 * observers, for at most PS_LEAVE_MS.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "common/node/node.h"
#include "kernels/kernels.h"
#include "ps/kept_memory.h"
#include "ps/shard_gpu.h"
#include "ps/store/store_port.h"

enum {
    PS_LEAVE_MS = 10000,
    PS_REFUSAL_LOG_MS = 3000, /* Refused requests are logged at most this often. */
};

struct ps_config {
    struct node_identity identity;
    const struct node_ports *ports; /* All pointers outlive the ps. */
    const struct job *job;
    const struct variable_table *variables;
    const struct kernels *kernels;
    struct store_port store;
    struct shard_gpu_place gpu; /* With train.ps_kernels cuda. */
    const char *place;        /* "host:folder" of the store, for the manifest; copied, truncated. */
    struct kept_memory *kept; /* NULL: nothing outlives this process. */
    uint32_t push_place_chunks; /* PUSH_PLACE_CHUNKS; fewer in tests of small models. */
};

struct ps;

/* The size of the memory in which ps `index` keeps its shard (P13), and with tables as many blocks
 * of rows as `rows` has; most of it is never touched. 0: the ps of this job do not use such memory.
 */
size_t ps_kept_bytes(const struct job *job, const struct variable_table *variables, uint32_t index,
                     struct cell_arena_size rows);
/* The slots of this memory that the ps uses while it trains and saves. */
uint32_t ps_kept_slots(const struct job *job, const struct variable_table *variables);
/* Open memory of this size, page-aligned. Close it after the transport. False: out of
 * memory. */
bool ps_kept_open(struct kept_memory *kept, void *memory, const struct job *job,
                  const struct variable_table *variables, uint32_t index,
                  struct cell_arena_size rows);

/* If another process has left its state in `config.kept`, the ps continues from that state.
 * TN_ENOMEM; TN_EINVAL when some ps would own no parameters; TN_EDEVICE: the GPU failed, or has too
 * little memory. On failure `*out` is NULL. */
MUST_CHECK enum tn_status ps_create(const struct ps_config *config, struct ps **out,
                                    struct error *error);
/* Releases every buffer except those that the store and the transport still hold. NULL is
 * allowed. */
void ps_destroy(struct ps *ps);

/* Valid until ps_destroy(). */
struct node ps_node(struct ps *ps);

/* For tests and tools: the shard's current values, NULL while it has none, and their generation and
 * step. */
const float *ps_values(const struct ps *ps, uint64_t *generation, uint64_t *step);

#endif
