/*
 * common/net/wire.h: the bytes of a frame, which carries a report or a tensor. Pure; knows no
 * sockets.
 *
 * A frame is a fixed header of WIRE_HEADER_BYTES, little-endian, closed by a checksum (XXH32 of
 * the bytes before it), then `body_bytes` of body. The header is checked before the body is read: a
 * wrong magic, version, checksum, cluster key or size closes the connection.
 */
#ifndef COMMON_NET_WIRE_H
#define COMMON_NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { WIRE_HEADER_BYTES = 88, WIRE_VERSION = 3 };

/* The largest body of a frame. A longer one travels in chunks of this size, of which the last may
 * be shorter: frames that follow each other and differ only in `offset`, `body_bytes` and `loss`. A
 * multiple of 64, so that a chunk ends at a block of 16 floats (A15). */
enum { WIRE_CHUNK_BYTES = 1 << 20 };
/* The lines of 64 bytes in a page of memory. */
enum { WIRE_PAGE_LINES = 64 };
enum { LOSSES_MAX = 16384 }; /* In a frame LOSSES; a ps keeps as many. */

enum frame_type {
    FRAME_HEARTBEAT = 1, /* Used by the transport itself; never reaches a driver. */
    FRAME_REPORT, /* Node -> chief. Body: encoded `struct report`. `sequence` is the report's. */
    FRAME_REPORT_ACK, /* Chief -> node. `sequence` acknowledged, `epoch` the chief's own, `first`: 0
                         or REPORT_ACK_UNDECLARED. */
    FRAME_PUSH, /* Worker -> ps. Body: sum of the gradients of slices [first, first+count), float32.
                 */
    FRAME_PULL, /* Worker -> ps. `step` wanted, or STEP_LATEST. */
    FRAME_VALUES,    /* Ps -> worker. Body: the shard's values at `step`, float32. `first`: the line
                        of a page at which they are to begin in a slot (common/net/slots.h). */
    FRAME_REFUSED,   /* Ps -> worker: `generation` and `step` are the ps's own; `first` is enum
                        refusal. */
    FRAME_NORM_PART, /* Ps `first` -> ps. Body: its part of the norm of the gradient of `step`. */
    FRAME_LOSSES,    /* Observer -> ps: `step` is the first whose loss it lacks. Ps -> observer: the
                        losses of `count` steps from `step` on. Body: float64. */
    FRAME_LANE,      /* Used by the transport itself. `step`, `sequence`: the nonce of a lane (T10).
                        `first` of the answer: 1, frames travel over it from now on. `count` of the
                        question: 1, the dialing end can borrow (common/net/loans.h). */
    FRAME_LOOKUP,    /* Worker -> ps: the rows of tables at `step` are wanted. Body: their keys
                        (common/cluster/row_body.h). `first`: the number of the lookup. */
    FRAME_ROWS,      /* Ps -> worker: the rows of lookup `first`, float32. */
    FRAME_PUSH_ROWS, /* Worker -> ps. Body: keys and gradients of rows; those of a push are in the
                        bodies before it, whose headers are otherwise its own. */
    FRAME_SUM,       /* Worker -> worker, without ps. Body: the sum of the gradients of all slices,
                        range `sequence`. Their frames: mirror/frame_codec.h. */
    FRAME_SESSION,   /* Client or server of a session. Kinds and fields: session/message.h. */
    FRAME_TABLES,    /* Observer -> ps: statistics of tables are wanted. Ps -> observer: those of
                        `count` tables, as of its `generation` and `step`. Other members and body:
                        common/cluster/table_stats.h. */
    FRAME_GROUP,     /* Between the members of a group. Kinds and fields: group/member_frame.h. */
    FRAME_BUCKETS,   /* Observer -> ps: the loads of its buckets of rows are wanted. Ps -> observer:
                        those of `count` buckets from `first` on; `sequence`: the updates since they
                        count. Body: common/cluster/row_loads.h. */
    FRAME_VALUES_GROWING, /* Ps -> worker. As VALUES, but its chunks are sent while the update makes
                             them, and so from the last one to the first one. */
    FRAME_TYPE_END
};

/* Whether the chunks of a body travel from the last one to the first one: so do those of a PUSH,
 * because the gradients of the last layers are final first, and of values that an update makes as
 * these arrive. The first layers need their values first. */
static inline bool wire_is_last_first(uint8_t type)
{
    return type == FRAME_PUSH || type == FRAME_VALUES_GROWING;
}

enum refusal {
    REFUSAL_GENERATION = 1, /* The frame is of another generation than the ps. */
    REFUSAL_NOT_RUNNING,    /* The ps has no loaded generation, or is loading. */
    REFUSAL_STEP_GONE,      /* The step is not among those that the ps keeps: gather again. */
};

/* REPORT_ACK, `first`: the job of the chief has only `count` tasks of the sender's role. */
enum { REPORT_ACK_UNDECLARED = 1 };

/* REFUSED, `count`, if the question was a ps's progress: its connections with workers through
 * shared memory in the low bits, those over TCP in the others. */
enum { WIRE_LANES_SHIFT = 16 };

#define STEP_LATEST UINT64_MAX

struct frame_header {
    uint8_t type; /* enum frame_type. */
    /* 0: the body follows the header; else the slot or loan of the lane that has it (T10). */
    uint8_t slot;
    uint8_t line;     /* The line of a page at which the body begins in that slot. */
    uint64_t cluster; /* Key of the cluster; frames of other clusters are refused. Set by the
                         transport. */
    uint64_t sender;  /* Incarnation of the sending node. Set by the transport. */
    uint64_t epoch;   /* The highest epoch that the sender knows. PULL: of its last order. */
    uint64_t generation;
    uint64_t step;
    uint64_t sequence; /* REPORT, its ACK: the report's. PUSH, PULL, LOOKUP: the worker's round, and
                          VALUES, ROWS the same. */
    uint32_t first;    /* PUSH: first slice. NORM_PART: the ps. PULL: revision of the last order. */
    uint32_t count;    /* PUSH: number of slices summed. PULL: 1, training ends at `step`. */
    uint32_t body_bytes;
    double loss; /* PUSH: the sum of the losses of its examples; that of the last chunk counts. */
    uint64_t offset; /* Bytes of the whole body before this chunk. */
};

void wire_encode_header(const struct frame_header *header, uint8_t out[static WIRE_HEADER_BYTES]);

/* TN_EPROTO with the field and value in `error` (may be NULL): bad magic, version, checksum, type,
 * or a body over `body_max`. `out` is then undefined. */
MUST_CHECK enum tn_status wire_decode_header(const uint8_t in[static WIRE_HEADER_BYTES],
                                             uint32_t body_max, struct frame_header *out,
                                             struct error *error);

#endif
