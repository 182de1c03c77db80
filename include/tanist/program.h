/*
 * tanist/program.h: a graph that is compiled to a program: differentiated, simplified and
 * scheduled, with a memory plan. For tests of models, for prediction, and for custom training
 * loops.
 *
 * tn_program_create() allocates all memory. Running allocates nothing. A result depends only on the
 * graph, examples, kernels, values, inputs, seed, step and first. With kernels "portable" it has
 * the same bits on every processor, whatever instruction set TANIST_ISA selects (scalar, avx2,
 * avx512, neon; default the fastest).
 *
 * Threads: a program belongs to one thread at a time.
 */
#ifndef TANIST_PROGRAM_H
#define TANIST_PROGRAM_H

#include "tanist/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_program;

enum tn_mode {
    TN_TRAIN,    /* Losses and gradients. */
    TN_EVALUATE, /* Losses, metrics and outputs; dropout and batch norm behave as in an
                  * evaluation. */
};

struct tn_program_options {
    size_t struct_size; /* sizeof of this struct. */
    enum tn_mode mode;
    uint32_t examples; /* The value of TN_BATCH, at least 1. */
    /* "portable", "cuda", "cuda:1", "cublas", "cublas:1", "cublas-tf32", "cublas-bf16",
     * "openblas", "reference"; NULL: "portable". */
    const char *kernels;
    uint64_t memory_max; /* Bytes; 0: no limit. */
    bool without_passes; /* For tests: the bits must be the same. */
    bool keep_outputs;   /* TN_TRAIN: compute metrics and outputs as well. */
    /* Where each variable begins in the vector of values, by its number in canonical order; ranges
     * that fill the vector. NULL: one after another. Read by tn_program_create() only. */
    const uint64_t *variable_offsets;
};

/*
 * The graph may be destroyed afterwards.
 *
 *   TN_EINVAL  the graph has an error (its text is returned), no loss in TN_TRAIN, nothing to
 *              compute, or an operation without a gradient or kernel that would need one
 *   TN_ENOENT  the name of the kernels is unknown, or their library is not installed; "cuda" and
 *              "cublas": the machine has no GPU, no driver or no module of kernels
 *   TN_ENOMEM  more memory than memory_max, or than there is, also on the GPU; the text has the
 *              number of bytes
 *   TN_EDEVICE the GPU failed
 */
TN_API TN_CHECKED enum tn_status tn_program_create(const struct tn_graph *graph,
                                                   const struct tn_program_options *options,
                                                   struct tn_program **out, struct tn_error *error);
TN_API void tn_program_destroy(struct tn_program *program); /* NULL is allowed. */

/* Number of floats of the variables: one vector in the graph's canonical order. */
TN_API uint64_t tn_program_parameters(const struct tn_program *program);
/* Write the initial values, which depend only on the seed, the number of the variable and the
 * position. */
TN_API void tn_program_initialize(const struct tn_program *program, uint64_t seed, float *values);
/* The input memory of a field, to be filled before a run; tn_program_run() does not change it.
 * `data` is NULL if the program does not read this field. */
TN_API struct tn_view tn_program_field(const struct tn_program *program, const char *field);

struct tn_run {
    size_t struct_size;  /* sizeof of this struct. */
    const float *values; /* tn_program_parameters() floats. */
    uint64_t seed, step; /* For random operations. */
    uint64_t first;      /* Position of the first example in the batch. */
    float scale;         /* Factor of the gradient: 1 / batch. */
    float *gradient;     /* Out, with TN_TRAIN: laid out as `values`; zeros where there is no
                          * gradient. */
    double loss_sum;     /* Out: the sum over the examples, weighted, not scaled. */
    /* Runs with the same version have the same `values`, so weights need to be packed only once for
     * all slices of a step. 0: the values may differ from those of the last run. */
    uint64_t version;
    /* TN_TRAIN: called while the gradient is computed, each time with a smaller `first`, the last
     * time with 0. The elements of the gradient from `first` on are final, and so is loss_sum.
     * NULL: not called. */
    void (*became_final)(void *user, uint64_t first);
    void *user;
};

/* Forward, and in TN_TRAIN backward. TN_EINVAL: with TANIST_CHECK_NUMERICS=1 in the environment of
 * tn_program_create(), the first value that is not finite; the text names operation and scope.
 * TN_EDEVICE: the GPU failed; this process cannot use it again. */
TN_API TN_CHECKED enum tn_status tn_program_run(struct tn_program *program, struct tn_run *run,
                                                struct tn_error *error);
/* The value of a tn_output() or tn_metric(); valid until the next run. `data` is NULL if the
 * program has no such value. */
TN_API struct tn_view tn_program_output(const struct tn_program *program, const char *name);

struct tn_program_facts {
    size_t struct_size; /* In: sizeof of this struct. */
    uint32_t instructions, nodes, pruned, shared, folded, fused;
    uint64_t arena_bytes, lower_bound_bytes, without_reuse_bytes;
    double flops;
};
TN_API void tn_program_describe(const struct tn_program *program, struct tn_program_facts *out);

/*
 * Compute the greatest relative difference between the gradient and central differences, over up
 * to `samples` elements of each variable, by the reference kernels in double. Variables have their
 * initial values plus small random numbers; fields have random values, within the limits of the
 * operations that use them as indices. Every model's own test should call this. TN_EINVAL and
 * TN_ENOMEM as tn_program_create().
 */
TN_API TN_CHECKED enum tn_status tn_check_gradients(const struct tn_graph *graph, uint64_t seed,
                                                    uint32_t examples, uint32_t samples,
                                                    double *worst, struct tn_error *error);

#ifdef __cplusplus
}
#endif
#endif
