/*
 * mirror/mirror_group.h: a worker without ps that is a member of a group: it has a replica of all
 * values, as every worker without ps, and its group computes gradients as one worker (M13). The
 * head orders slices, and puts the gradients of the members' variables together. Part of the driver
 * of a worker; mirror/member_state.h decides, group/member.h computes.
 *
 * Threads: the owner's. Nothing blocks; handling an event may compute.
 */
#ifndef MIRROR_MIRROR_GROUP_H
#define MIRROR_MIRROR_GROUP_H

#include "common/net/transport.h"
#include "group/examples.h"
#include "group/member.h"
#include "mirror/member_state.h"
#include "mirror/part_vector.h"
#include "mirror/replica.h"

/* At the head: the nodes of a computation, one after the other. */
struct member_orders {
    bool is_active, is_done; /* `is_done`: all members have computed the present one. */
    bool is_abandoned;       /* The attempt is being ended. */
    uint64_t generation, step;
    uint32_t first_node; /* The number of nodes[0] in the core. */
    uint32_t next, count;
    struct slice_node nodes[SLICES_MAX];
    uint64_t since_ns, slices;
};

struct mirror_group {
    uint32_t index, members, first_task; /* The place of this member in its group. */
    struct training_cut cut;
    struct part_vector parts;
    struct group_examples examples;
    struct group_member *member;
    struct error error;                     /* The error of the event that is being handled. */
    struct buffer *values;                  /* A copy of the own variables. */
    struct member_copy copy;                /* The step of these values. */
    struct buffer *sum;                     /* The own part of the order that is carried out. */
    struct member_holders holders;          /* At the head. */
    struct buffer *part[GROUP_MEMBERS_MAX]; /* At the head: gradients of the present order. */
    double loss;
    struct member_orders orders;
    uint64_t reported; /* The generation that the head knows. */
    bool is_able;      /* As the core knows it. */
    bool was_reset;    /* An attempt has ended, and the core does not know it. */
    uint64_t wait_since_ms, wait_logged_at_ms;
};

struct mirror_worker;

/* Nothing happens if the job has no groups. Errors as training_cut_create() and member_create(). */
MUST_CHECK enum tn_status mirror_group_open(struct mirror_worker *worker, struct error *error);
void mirror_group_close(struct mirror_worker *worker);

/* REPLICA_DO_COMPUTE: answered by REPLICA_EV_COMPUTED, or REPLICA_EV_UNABLE. */
void mirror_group_compute(struct mirror_worker *worker, const struct replica_action *action);
/* Whether the connection is one between members; the frame's body was released. */
bool mirror_group_transport(struct mirror_worker *worker, const struct transport_event *event);
/* After each event. */
void mirror_group_proceed(struct mirror_worker *worker);
uint64_t mirror_group_deadline_ms(const struct mirror_worker *worker);
/* For reports: the head of a group that may own slices; true without groups. */
bool mirror_group_is_worker(const struct mirror_worker *worker);

#endif
