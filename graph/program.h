/*
 * graph/program.h: the inside of a program (tanist/program.h), and its creation for a given
 * backend. Private to graph/ and its tests.
 *
 * Threads: a program belongs to one thread at a time.
 */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph/core/backend.h"
#include "graph/plan.h"
#include "tanist/program.h"

struct instruction {
    kernel_function kernel;
    const struct backend *backend; /* The kernel's: the program's, or the host of its device. */
    struct kernel_call call;
    struct kernel_needs needs;
    struct place in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    uint64_t workspace, packed; /* Offsets in the arena and in the packed values. */
    uint64_t final_from;        /* Elements of the gradient that no later instruction writes. */
    uint32_t value_parts; /* With a device: parts of the values up to the last one it reads. */
};

/* A variable's range of the flat vector, in elements. */
struct program_variable {
    uint32_t node;
    uint64_t offset, count;
    tn_tensor gradient; /* TN_NONE: none flows. */
};

/* A lookup in a table; its keys and rows are in the memory of fields. */
struct program_lookup {
    uint32_t node;
    const char *table;  /* The path of the table that it reads; the graph's. */
    tn_tensor gradient; /* The gradient of the rows. TN_NONE: none flows. */
};

struct tn_program {
    struct tn_graph *graph; /* Canonical, differentiated, specialised; owned. */
    const struct backend *backend;
    struct tn_program_options options;
    struct program_variable *variables;
    uint32_t variable_count;
    struct program_lookup *lookups; /* In the order of their nodes. */
    uint32_t *lookups_by_table;     /* Their numbers by the path of the table, then in order. */
    uint32_t lookup_count;
    uint64_t parameters, field_bytes;
    tn_tensor *roots; /* Losses, gradients in the order of their nodes, metrics and outputs. */
    uint32_t root_count;
    uint32_t *order;
    uint32_t order_count;
    struct place *fixed;  /* By value. */
    bool *kept;           /* By value. */
    uint64_t *workspaces; /* By position in `order`: bytes. */
    struct plan plan;
    struct instruction *instructions;
    uint32_t instruction_count;
    uint8_t *arena, *fields, *packed;      /* With a device, the arena is read by the host. */
    struct device_memory *device;          /* NULL: the backend has none. */
    uint64_t packed_bytes, packed_version; /* 0: packed from unknown values. */
    const void *values;                    /* The values of the last run. */
    void *gradient;
    bool (*fill_next)(void *user); /* For the next run (graph/next_fields.h). NULL: none. */
    void *fill_user;
    bool uses_next;      /* The next run has the fields that the last one has filled. */
    bool keeps_gradient; /* The gradient stays on the device (graph/device_sums.h). */
    bool check_numerics;
    bool is_part;    /* The graph is a part of one that was differentiated. */
    uint32_t slices; /* As in graph/joined_slices.h; 0: one, by any operation. */
    struct tn_program_facts facts;
};

/* tn_program_create() on a backend, which also decides the width of floats. */
MUST_CHECK enum tn_status program_create(const struct tn_graph *graph,
                                         const struct tn_program_options *options,
                                         const struct backend *backend, struct tn_program **out,
                                         struct error *error);

/*
 * A program of one part of a cut graph (graph/passes/partition.h, graph/training_cut.h): it
 * computes the outputs as they are, for training and for evaluation, and adds no gradients. The
 * mode of `options` is TN_EVALUATE; a run has the scale of the gradient, seed, step and position as
 * in training. Errors as tn_program_create().
 */
MUST_CHECK enum tn_status program_create_part(const struct tn_graph *graph,
                                              const struct tn_program_options *options,
                                              struct tn_program **out, struct error *error);

/* The same for several slices: graph/joined_slices.h. */
MUST_CHECK enum tn_status program_create_joined(const struct tn_graph *graph,
                                                const struct tn_program_options *options,
                                                uint32_t slices, const struct backend *backend,
                                                struct tn_program **out, struct error *error);

/* The kind of a program: one of several slices, or of one part of a cut graph. */
struct program_variant {
    uint32_t slices;
    bool is_part;
};

/* The same as the functions above, but without memory for values: it cannot run. `*out` is NULL
 * after an error. */
MUST_CHECK enum tn_status program_begin(const struct tn_graph *graph,
                                        const struct tn_program_options *options,
                                        struct program_variant variant,
                                        const struct backend *backend, struct tn_program **out,
                                        struct error *error);

/* The backend called `name`; NULL: the default. TN_ENOENT as tn_program_create(). */
MUST_CHECK enum tn_status program_find_backend(const char *name, const struct backend **out,
                                               struct error *error);

/* tn_program_run(); `values` and `gradient` are floats or doubles as the backend has it and replace
 * the pointers in `run`. */
MUST_CHECK enum tn_status program_run(struct tn_program *program, struct tn_run *run,
                                      const void *values, void *gradient, struct error *error);

/* The memory of a place at the last run; NULL: the program does not compute it. */
void *program_memory(const struct tn_program *program, const struct place *place);

/* TN_EINVAL: an output of the instruction that just ran, or with NULL a variable or a field, has an
 * element that is not finite; the text names it. */
MUST_CHECK enum tn_status program_check_numerics(const struct tn_program *program,
                                                 const struct instruction *instruction,
                                                 const struct tn_run *run, struct error *error);

#endif
