/*
 * common/cluster/report.h: the report of a node to the chief. Each contains the whole state, so
 * that a lost report does not matter and a new chief knows everything after one round. Pure: plain
 * data and its fixed-size encoding.
 */
#ifndef COMMON_CLUSTER_REPORT_H
#define COMMON_CLUSTER_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/cluster/task.h"

enum { REPORT_BYTES = 2048 }; /* Encoded; unused bytes are zero. */

enum leaving {
    LEAVING = 1,            /* As soon as no work is lost by that. */
    LEAVING_WITHOUT_SLICES, /* C24, without ps: it also owns no slices, so makes no step alone. */
};

/* The part of a checkpoint that a load lacked. */
enum load_missing {
    MISSING_NOTHING,  /* A file or the manifest is damaged. */
    MISSING_FILES,    /* The shard, or all that this disk should have of the checkpoint. */
    MISSING_MANIFEST, /* The checkpoint was saved to this disk, but its manifest is nowhere. */
};

struct report {
    struct task task;
    uint64_t incarnation;
    uint64_t sequence; /* Grows with each report of an incarnation; older ones are ignored. */
    uint64_t epoch;    /* The highest epoch the node has seen in /chief or /run. */
    /* Without ps: the last order that the worker has read (M8): its epoch and revision. */
    uint64_t order_epoch, order_revision;
    uint64_t generation; /* Ps: completely loaded. Worker: the one it works in. 0: none. */
    uint64_t step;       /* Ps: steps applied. Worker: the step it computes. */
    uint64_t leaving;    /* enum leaving; 0: it does not leave. */

    /* Nodes that hold values: ps, or without ps workers. */
    uint64_t saved_checkpoint; /* Last shard that is durable on disk; 0: none. */
    uint64_t saved_step;
    uint64_t saved_digest[2]; /* XXH3-128 of the shard. */
    uint64_t saved_bytes;
    /* Was not written at its step: ordered too late, or the disk failed. */
    uint64_t missed_checkpoint;
    uint64_t late_checkpoint; /* The last of these that was ordered too late. */
    uint64_t failed_load;     /* Checkpoint that could not be loaded (damaged, missing); 0: none. */
    uint64_t failed_load_generation; /* The generation for which that load was ordered. */
    uint64_t failed_load_missing;    /* enum load_missing */
    uint64_t loading_generation;     /* Being loaded; 0: none. */
    uint64_t disk_checkpoint;        /* Newest checkpoint with a manifest on its disk; 0: none. */
    uint64_t disk_step;
    struct best disk_best; /* As of it. */
    uint64_t disk_epoch;   /* Highest epoch of the manifests on its disk. */
    uint64_t disk_generation;
    uint64_t disk_last_checkpoint; /* Highest id on its disk, of committed checkpoints or not. */
    /* Training waits until this step is ordered or skipped; 0: no. */
    uint64_t waits_for_checkpoint;
    /* C23: the slices of the current step whose gradients are late (M12: or whose workers owe a
     * sum): they are lacking since the first one arrived for `late_periods` times `late_after_ms`.
     * None is late: all are 0. */
    struct slice_set late;
    uint64_t late_after_ms, late_periods;
    /* The gate of /run, if this ps holds nothing of a later step, and will not; or 0. */
    uint64_t gate;
    /* 1: the ps has read of a gate, and holds a part of the step after `step`. Therefore it cannot
     * save `step`, and needs workers to reach a step that it can save. */
    uint64_t beyond;

    /* Worker only. */
    uint64_t ready;         /* 1: data loaded, can own slices. */
    uint64_t slice_ns;      /* The time that it needs for a slice; 0: not yet known. */
    uint64_t evaluation_ms; /* With ps: about how long it needs for an evaluation; 0: unknown. */
    struct evaluation evaluation; /* Its newest in `generation`. */
    /* Evaluator only: the last ordered checkpoint that it has done with. `evaluation` is of it; of
     * STEP_NONE: the evaluator cannot read it. 0: none. */
    uint64_t evaluated_checkpoint;
    char place[112]; /* Ps: host:folder of its checkpoints. */
    /* Worker: its own. Ps: of the newest checkpoint on its disk. `from` is not sent. */
    struct inputs inputs;
};

/* Whether the encodings differ in nothing but the step. Takes a small part of the time of
 * encoding. */
bool report_equal_but_step(const struct report *a, const struct report *b);

void report_encode(const struct report *report, uint8_t out[static REPORT_BYTES]);
/* TN_EPROTO: wrong size, role, index or unterminated text, named in `error`. */
MUST_CHECK enum tn_status report_decode(const void *bytes, size_t size, struct report *out,
                                        struct error *error);

#endif
