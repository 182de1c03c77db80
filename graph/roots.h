/*
 * graph/roots.h: the results of a program while it is compiled: losses, gradients of variables and
 * of looked-up rows, metrics and outputs. Private to graph/.
 *
 * Threads: a program belongs to one thread at a time. All functions: TN_ENOMEM.
 */
#ifndef GRAPH_ROOTS_H
#define GRAPH_ROOTS_H

#include "graph/program.h"

/* Append the nodes of all gradients. Other errors as graph_differentiate(). */
MUST_CHECK enum tn_status program_differentiate(struct tn_program *program, struct error *error);

MUST_CHECK enum tn_status program_run_passes(struct tn_program *program, struct error *error);

/* The value whose memory a view shows. */
tn_tensor program_through_views(const struct tn_graph *graph, tn_tensor value);

/* Let each gradient of a variable be computed in a place of its own. */
MUST_CHECK enum tn_status program_separate_gradients(struct tn_program *program,
                                                     struct error *error);

/* TN_EINVAL: there are none. */
MUST_CHECK enum tn_status program_list_roots(struct tn_program *program, struct error *error);

#endif
