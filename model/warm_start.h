/*
 * model/warm_start.h: changes of a model that its job asks for: initial values from a file
 * (model.warm_start), and variables that are not trained (model.freeze).
 *
 * Both become part of the graph, so that its hash covers them: nodes with another file are refused,
 * and so are checkpoints. Threads: the graph's owner. Blocking: on the disk.
 */
#ifndef MODEL_WARM_START_H
#define MODEL_WARM_START_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "tanist/graph.h"

enum { WARM_START_NAME_MAX = 256 };

/*
 *   TN_EINVAL  a pattern matches no variable; a tensor of the file has another shape or type than
 *              its variable; no variable is in the file: the error names tensor, variable, shapes
 *   TN_ENOENT, TN_EIO, TN_ENOMEM
 */
MUST_CHECK enum tn_status warm_start_apply(const struct job *job, struct tn_graph *graph,
                                           struct error *error);

/* The name in the file of variable `name`, by the first pair "variables=tensors" that matches, in
 * which one "*" on each side is the same text; else `name`. Returns the number of the pair + 1; 0:
 * none. */
uint32_t warm_start_name(const struct job *job, const char *name,
                         char out[static WARM_START_NAME_MAX]);

#endif
