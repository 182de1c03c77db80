/* graph/device_memory_private.h: what the files of a program's memory on a device share. */
#ifndef GRAPH_DEVICE_MEMORY_PRIVATE_H
#define GRAPH_DEVICE_MEMORY_PRIVATE_H

#include "graph/device_memory.h"
#include "graph/device_staging.h"

enum { VALUE_PARTS_MAX = 16, GRADIENT_PARTS_MAX = 256 };

/* Elements [first, end) of the values or of the gradient; the event is behind their copy. */
struct vector_part {
    uint64_t first, end;
    struct gpu_event *copied;
};

/* A result, which is first copied to pinned memory. */
struct root_copy {
    struct place place;
    size_t bytes;
    uint64_t offset; /* In `roots`. */
    bool is_loss;
};

/* The copies of a program beside its kernels. */
struct device_copies {
    struct device_staging staging; /* For the values. */
    struct vector_part *values;    /* Ascending. */
    uint32_t value_count;
    struct vector_part *gradient; /* Descending, in the order in which they become final. */
    uint32_t gradient_count;
    struct root_copy *root_list;
    uint32_t root_count, rest_count; /* The number of all, and of those that are not losses. */
    uint8_t *sums, *roots;           /* Pinned: the gradient, and the results. */
    struct gpu_event *fields_sent, *computed, *finished;
    /* The state of this run: the parts of the values that are queued, for which the kernels wait,
     * that are needed at most, and that instructions so far read; the parts of the gradient that
     * are queued, and the first element of the last one. */
    uint32_t sent, followed, to_send, read, fetched;
    uint64_t final_from;
    bool waits_for_fields; /* The kernels do not yet. */
    bool has_next;         /* The fields of the next run are in `next_fields`, or on their way. */
    uint8_t *next_fields;
};

struct device_memory {
    uint8_t *all;           /* The allocation; the others are parts of it. */
    uint8_t *parts[SPACES]; /* By space. */
    uint64_t sizes[SPACES], bytes;
    uint64_t *constants;       /* By node: offset within SPACE_CONSTANTS. */
    struct gpu_graphs *graphs; /* NULL: kernels are started one by one. */
    struct device_copies copies;
};

/* The bytes of pinned memory that device_copies_open() allocates. */
uint64_t device_copies_pinned(const struct tn_program *program);
/* The part of these for losses and outputs, which are copied to the host's results. */
uint64_t device_copies_fetched(const struct tn_program *program);
/* The memory on the device exists. Errors as device_memory_open(). */
MUST_CHECK enum tn_status device_copies_open(struct tn_program *program, struct error *error);
void device_copies_close(struct tn_program *program); /* Allowed after a failure to open. */

/* A place on the device; NULL: SPACE_NONE. */
void *device_memory_address(const struct tn_program *program, const struct place *place);
size_t device_memory_value_bytes(const struct tn_program *program, tn_tensor value);

#endif
