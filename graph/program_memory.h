/*
 * graph/program_memory.h: the memory that a program will need, without creating it: for plans. The
 * kernels may be those of GPUs, of which none is opened.
 *
 * Threads: one at a time. Nothing blocks.
 */
#ifndef GRAPH_PROGRAM_MEMORY_H
#define GRAPH_PROGRAM_MEMORY_H

#include <stdint.h>

#include "common/base/error.h"
#include "tanist/program.h"

/* Bytes. */
struct program_memory {
    /* On the host: what operations on the CPU read and write, losses and outputs, and without a GPU
     * the fields. */
    uint64_t host;
    uint64_t pinned;   /* On the host, with a GPU: fields and other memory for copies. */
    uint64_t examples; /* The part of the fields for examples, without rows of tables. */
    /* On the GPU: the variables, their gradient, the results of operations with their workspaces,
     * and fields with constants. All 0 without one. */
    uint64_t values, gradient, results, rest;
};

/* The memory that tn_program_create(), or with `slices` program_create_joined(), allocates. Their
 * errors. */
MUST_CHECK enum tn_status program_memory_plan(const struct tn_graph *graph,
                                              const struct tn_program_options *options,
                                              uint32_t slices, struct program_memory *out,
                                              struct error *error);

/* The same of program_create_part(). */
MUST_CHECK enum tn_status program_memory_plan_part(const struct tn_graph *graph,
                                                   const struct tn_program_options *options,
                                                   struct program_memory *out, struct error *error);

#endif
