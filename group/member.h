/*
 * group/member.h: one member of a group: its connections with the other members, the attempts
 * (group/attempt.h), and its part of what the head orders (group/computation.h). It knows neither
 * ZooKeeper nor the ps: its owner gives it the values of its variables, and takes their gradients.
 *
 * Of two members, the one with the higher number dials. When a connection is lost it dials again
 * after MEMBER_DIAL_MS.
 *
 * Threads: the owner's. Nothing blocks; handling an event may compute.
 */
#ifndef GROUP_MEMBER_H
#define GROUP_MEMBER_H

#include "common/net/transport.h"
#include "group/computation.h"
#include "group/member_frame.h"

enum { MEMBER_DIAL_MS = 100 };

struct worker_config;

/* Whether a member has the values of an order. */
enum member_answer {
    MEMBER_REFUSES, /* No: a new attempt begins. */
    MEMBER_BEGINS,
    MEMBER_WAITS, /* Not yet: the owner calls member_resume(). Never at the head. */
};

/* Called by the member; `ctx` is the owner's. */
struct member_calls {
    /* As in struct computation_config. */
    enum tn_status (*fill)(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error);
    /* An order to compute slices: if it begins, set values, version and sum. */
    enum member_answer (*prepare)(void *ctx, struct computation_order *order);
    /* The order is carried out here: the sum is complete. */
    void (*computed)(void *ctx, const struct computation_order *order, double loss);
    /* The head's: all members have carried it out. */
    void (*done)(void *ctx, const struct schedule_label *label);
    /* An attempt is over: an order that was not done is forgotten, and so is all that was
     * computed. */
    void (*reset)(void *ctx);
    /* This member takes part in a new attempt. */
    void (*ready)(void *ctx);
    /* The size of what RESULT or GRADIENT of `peer` brings; 0: it brings nothing here. */
    uint64_t (*expects)(void *ctx, uint32_t peer, const struct member_frame *message);
    /* A message of the present attempt, of a kind from LINK_UP on, with its whole body, which is
     * borrowed. Returns why it is not valid, or NULL. */
    const char *(*message)(void *ctx, uint32_t peer, const struct member_frame *message,
                           struct buffer *body);
    void *ctx;
};

struct member_config {
    const struct training_cut *cut; /* Outlives the member. */
    uint32_t member, members;
    uint32_t slices, batch;
    uint64_t seed;
    const char *kernels;
    struct buffer_pool *pool; /* Outlives the member. */
    struct transport_port transport;
    uint64_t first_attempt; /* The head's; as attempt_init(). */
    struct member_calls calls;
};

/* The member of a worker whose tasks form groups: `calls` are its own, `cut` outlives the
 * member. */
struct member_config member_config_of(const struct worker_config *config,
                                      const struct training_cut *cut,
                                      const struct member_calls *calls);

struct group_member;

/* Errors as part_runner_create(). */
MUST_CHECK enum tn_status member_create(const struct member_config *config,
                                        struct group_member **out, struct error *error);
void member_destroy(struct group_member *member); /* NULL is allowed. */

/* Another member can be reached at `address`; NULL: it cannot. */
void member_locate(struct group_member *member, uint32_t peer, const char *address);
/* Dial the members that are due. */
void member_tick(struct group_member *member, uint64_t now_ms);
/* When member_tick() has something to do; UINT64_MAX: never. */
uint64_t member_deadline_ms(const struct group_member *member);

/* Something happened to a connection. Sets `*taken`: it is one between members; the frame's body
 * was released. An error of the computation: the process is to end. */
MUST_CHECK enum tn_status member_handle(struct group_member *member,
                                        const struct transport_event *event, uint64_t now_ms,
                                        bool *taken, struct error *error);

/* Whether this member takes part in the present attempt. */
bool member_is_ready(const struct group_member *member);
/* Whether there is a connection to another member. */
bool member_is_connected(const struct group_member *member, uint32_t peer);
/* Send a message of the present attempt; takes the reference of `body`, which may be NULL. The
 * member is ready. */
void member_send(struct group_member *member, uint32_t to, struct member_frame message,
                 struct buffer *body);
/* End the attempt: this member cannot do what the head ordered. */
void member_fail(struct group_member *member, const char *why);

/* Values have changed: an order that waits may begin. Errors of the computation. */
MUST_CHECK enum tn_status member_resume(struct group_member *member, struct error *error);

/* At the head: whether the group is one worker now. */
bool member_is_complete(const struct group_member *member);
/* At the head of a complete group, whose last order is done: compute slices of a step. Errors of
 * the computation. */
MUST_CHECK enum tn_status member_order(struct group_member *member, uint64_t generation,
                                       uint64_t step, struct slice_node node, struct error *error);

#endif
