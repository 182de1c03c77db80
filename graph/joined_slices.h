/*
 * graph/joined_slices.h: programs that compute several slices of a batch in one run, with the bits
 * of one run for each slice whose gradients and losses are added over the tree of slices (A5). A
 * run of few examples is slow: weights pass through the caches for each slice, and so does the
 * gradient, which is then read again to be added.
 *
 * That is possible where all values are of one example each, and gradients are sums over examples
 * by products and sums that add slice by slice: models of dense layers, at present. Batch norm
 * joins the examples of a slice; a weight that is used twice has a gradient whose parts are added
 * before slices are.
 *
 * Threads: as for programs.
 */
#ifndef GRAPH_JOINED_SLICES_H
#define GRAPH_JOINED_SLICES_H

#include "graph/program.h"

/*
 * As tn_program_create() for training, with `options->examples` of all `slices` slices together,
 * which they divide. The first example of a run is that of the first slice.
 *
 *   TN_EINVAL  also: the bits would be others, and the error names the operation; or values are
 *              checked by TANIST_CHECK_NUMERICS, which names the slice
 */
MUST_CHECK enum tn_status joined_slices_create(const struct tn_graph *graph,
                                               const struct tn_program_options *options,
                                               uint32_t slices, struct tn_program **out,
                                               struct tn_error *error);

/* The loss_sum of one slice of the last run. */
double joined_slices_loss(const struct tn_program *program, uint32_t slice);

/* For graph/program.c: let the instructions add slice by slice. TN_EINVAL: as of
 * joined_slices_create(). */
MUST_CHECK enum tn_status joined_slices_prepare(struct tn_program *program, struct error *error);

#endif
