/*
 * common/cluster/manifest.h: the record that makes a set of shards a checkpoint. A checkpoint
 * exists once its manifest is in ZooKeeper (`/checkpoints/ID`, written by the chief in a fenced
 * transaction). Each ps keeps a copy beside its shard, so that the disks suffice after ZooKeeper
 * has lost its data.
 *
 * Pure: no I/O, no clock. Encoding and decoding allocate; cores only fill and read the struct.
 */
#ifndef COMMON_CLUSTER_MANIFEST_H
#define COMMON_CLUSTER_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/best.h"
#include "common/cluster/row_owner.h"

struct job;
struct variable_table;

enum {
    MANIFEST_SHARDS_MAX = 64,
    MANIFEST_ARRAYS_MAX = 8,       /* Values and optimizer state of a shard. */
    MANIFEST_CHAIN_MAX = 16,       /* Files of table rows: a full one, and deltas. */
    MANIFEST_JSON_MAX = 64 * 1024, /* Bytes; a longer text is refused. */
    MANIFEST_FORMAT = 1,
    CHECKPOINT_KEEP_MAX = 256, /* The highest `checkpoint.keep`. */
    /* Checkpoints that a chief and a ps know at once: those kept, those that could not be loaded,
     * and those not deleted yet. */
    CHECKPOINTS_MAX = 2 * CHECKPOINT_KEEP_MAX,
};

/* The shard of one ps. */
struct manifest_shard {
    uint64_t first;       /* Offset in the flat parameter vector, in floats. */
    uint64_t count;       /* Floats of each array; 0 is allowed: more ps than parameters. */
    uint64_t bytes;       /* Exact size of its file. */
    struct digest digest; /* Digest of its whole file. */
    char place[128];      /* "host:folder", UTF-8. */
};

/* A file of table rows: what the checkpoint `checkpoint` wrote of all tables. */
struct manifest_rows {
    uint64_t checkpoint;
    uint64_t bytes; /* Its exact size. */
    struct digest digest;
};

struct manifest {
    uint64_t id;         /* From 1; grows with each checkpoint, committed or not. */
    uint64_t generation; /* In which its step was reached. */
    uint64_t step;
    uint64_t epoch; /* Epoch of the chief that committed it. */
    uint64_t created_wall_ms;
    /* Hash of the variable table; a restore into another model is refused. */
    uint64_t variables_hash;
    uint64_t graph_hash; /* The model that was trained; 0: unknown. */
    uint64_t parameter_count;
    uint64_t seed;
    uint32_t slices;
    uint32_t state_arrays; /* Arrays per shard, the values included: 1 to MANIFEST_ARRAYS_MAX. */
    uint32_t shard_count;  /* 1 to MANIFEST_SHARDS_MAX. */
    char optimizer[16];
    char mode[8];       /* "sync" or "async". */
    char kernels[128];  /* Fingerprint of the arithmetic that computed these bits. */
    struct digest data; /* The digest of the data set; 0: unknown. */
    struct best best;   /* The best checkpoint as of this one (C17); checkpoint 0: unknown. */
    struct manifest_shard shards[MANIFEST_SHARDS_MAX]; /* In the order of the flat vector. */
    struct row_borders rows; /* The borders between the rows of the shards. */
    /* The rows of tables: a full file and the deltas behind it, the last one by this checkpoint; 0:
     * the model has no tables. */
    uint32_t chain_count;
    struct manifest_rows chain[MANIFEST_CHAIN_MAX];
};

/* The lowest id of a checkpoint that can have files of table rows in common with checkpoint `id`:
 * ids are in blocks of MANIFEST_CHAIN_MAX, and no chain of files has some of two blocks. */
static inline uint64_t manifest_chain_begin(uint64_t id)
{
    return id - id % MANIFEST_CHAIN_MAX;
}

/* Check that `manifest` can be a checkpoint: every field within its bounds, shards contiguous from
 * 0 to `parameter_count`. TN_EINVAL: the error names the field, its value and what is expected. */
MUST_CHECK enum tn_status manifest_check(const struct manifest *manifest, struct error *error);

/*
 * One line of JSON without a line end, zero-terminated; the caller frees `*text`. `*size` does not
 * count the zero. Equal manifests give equal bytes.
 *
 *   TN_EINVAL  it does not pass manifest_check()
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status manifest_encode(const struct manifest *manifest, char **text,
                                          size_t *size, struct error *error);

/*
 * Read the output of manifest_encode() from any source: bounded, strict, and protected by a digest
 * over all fields, so that any flipped bit is refused. `*out` is undefined after a failure.
 *
 *   TN_ECORRUPT  the error names the field, or the digest does not match
 *   TN_EINVAL    a format later than MANIFEST_FORMAT
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status manifest_decode(const char *text, size_t size, struct manifest *out,
                                          struct error *error);

#endif
