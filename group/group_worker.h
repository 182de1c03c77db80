/*
 * group/group_worker.h: a worker of a run with strategy.type "group" as a node: one member of a
 * group, which together are one worker (docs/protocol.md, section G). Task worker:I is member
 * I % strategy.members of its group; member 0, the head, decides (G4) by the training loop of
 * workers (worker/training_loop.h). A reactor, as worker/worker.h, with the same exit codes.
 */
#ifndef GROUP_GROUP_WORKER_H
#define GROUP_GROUP_WORKER_H

#include "worker/worker.h"

struct group_worker;

/* The job's strategy is a group. TN_EINVAL: the model cannot be cut, or a member computes nothing
 * of it; TN_ENOMEM. On failure `*out` is NULL. */
MUST_CHECK enum tn_status group_worker_create(const struct worker_config *config,
                                              struct group_worker **out, struct error *error);
void group_worker_destroy(struct group_worker *worker); /* NULL is allowed. */

/* Valid until group_worker_destroy(). */
struct node group_worker_node(struct group_worker *worker);

#endif
