/*
 * worker/compute_team.h: several GPUs of a worker, which compute the slices of a node at the same
 * time. Each member of the team has programs on a GPU of its own, with their values and fields, and
 * a thread; the first is the compute of the worker itself.
 *
 * A node is cut into subtrees of the slice tree, which are dealt to the members in their order.
 * Their sums are then added along the tree, so the bits do not depend on the number of GPUs: in the
 * memory of GPUs (graph/device_sums.h), or on the CPU without GPUs or if these have too little
 * memory.
 *
 * Threads: the owner's; those of members belong to the team. Blocks while members compute.
 */
#ifndef WORKER_COMPUTE_TEAM_H
#define WORKER_COMPUTE_TEAM_H

#include "worker/compute.h"

struct compute_team;

/*
 * The kernels for programs of member `member`: those of `config`, and of "cuda" and "cublas" those
 * on GPU `first_gpu + member` of those that the driver shows, beginning with the first after the
 * last. Static storage, or that of `config`.
 *
 *   TN_ENOENT  there are fewer GPUs than `config->gpus`
 */
MUST_CHECK enum tn_status compute_team_programs(const struct compute_config *config,
                                                uint32_t member, const char **programs,
                                                struct error *error);

/* A team of `leader->config.gpus` members with the configuration of `leader`. Errors as
 * compute_open(); those of another GPU name it. */
MUST_CHECK enum tn_status compute_team_open(const struct compute *leader, struct compute_team **out,
                                            struct error *error);
void compute_team_close(struct compute_team *team); /* NULL is allowed. */

/* compute_node_into() by all members. The whole sum becomes final at the end. */
MUST_CHECK enum tn_status compute_team_sum(struct compute_team *team, struct compute *leader,
                                           struct slice_node node, struct error *error);

#endif
