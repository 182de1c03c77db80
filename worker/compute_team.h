/*
 * worker/compute_team.h: several GPUs of a worker, or several threads of the CPU, which compute the
 * slices of a node at the same time. Each member of the team has programs of its own, with their
 * fields, on a GPU or for the CPU, and a thread; the first is the compute of the worker itself.
 *
 * Each member gets as many neighbouring slices of a node as the others, or one more, and computes
 * the largest subtrees of the slice tree among them. Their sums are then added along the tree, so
 * the bits do not depend on the number of members: in the memory of GPUs (graph/device_sums.h), or
 * on the CPU, without GPUs or if these have too little memory. There each thread adds a range of
 * the elements, and a range of the keys of each table (kernels/sparse/row_tree.h).
 *
 * All members read the values and the rows of tables of the leader, and take examples from its
 * reader.
 *
 * Threads: the owner's; those of members belong to the team. Blocks while members compute.
 */
#ifndef WORKER_COMPUTE_TEAM_H
#define WORKER_COMPUTE_TEAM_H

#include "common/base/thread_team.h"
#include "worker/compute.h"

struct compute_team;

/* The members of the team of `leader`, whose training is open. With threads of the CPU,
 * `fewer_threads` leaves out those that would have too little work. Pure. */
uint32_t compute_team_members(const struct compute *leader);

/* Whether the members are threads with so little work that one of them may be faster
 * (`alone`). False for a number of threads that is given. */
bool compute_team_is_small(const struct compute *leader);

/* Set `leader->team` to a team of `gpus` or `threads` members with the configuration of `leader`,
 * which does not move; NULL: it has one member. Errors as compute_open(); those of another member
 * name it. */
MUST_CHECK enum tn_status compute_team_open(struct compute *leader, struct error *error);
void compute_team_close(struct compute_team *team); /* NULL is allowed. */

/* compute_node_into() by all members. The whole sum becomes final at the end. */
MUST_CHECK enum tn_status compute_team_sum(struct compute_team *team, struct compute *leader,
                                           struct slice_node node, struct error *error);

/* Read the examples of these slices of `step` for compute_list_slices(). Errors are found there. */
void compute_team_read(struct compute_team *team, uint64_t step, const struct slice_set *slices);

/* The subtrees of `node` that a member of a team computes, one after the other, each into a
 * gradient of its own. Returns their number. Pure. */
uint32_t compute_team_parts(uint32_t members, uint32_t member, struct slice_node node,
                            struct slice_node out[static SLICES_MAX]);

/* The vectors that each GPU of a team has for sums of `node` and of all nodes below it, beside the
 * one for copies (graph/device_sums.h). Pure. */
uint32_t compute_team_vectors(uint32_t members, struct slice_node node);

/* The threads of the CPU, for other work between two sums; NULL: one, or GPUs. */
struct thread_team *compute_team_threads(const struct compute_team *team);

/* Consecutive examples of the test set, evaluated by one member. */
struct compute_chunk {
    struct training *training; /* The member's. */
    uint64_t first;
    uint32_t count;
    struct fields fields;
    struct evaluation_sum sum;
    struct error error; /* With the status. */
};
/* The chunk of a member. Valid until the team is closed. */
struct compute_chunk *compute_team_chunk(struct compute_team *team, uint32_t member);

#endif
