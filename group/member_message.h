/*
 * group/member_message.h: what becomes of a message between the members of a group: which of them
 * count (G1), and which member may send which (G4 to G6). Pure.
 *
 * Threads: any.
 */
#ifndef GROUP_MEMBER_MESSAGE_H
#define GROUP_MEMBER_MESSAGE_H

#include "group/attempt.h"
#include "group/member_frame.h"

enum message_action {
    MESSAGE_DROP,       /* Drop it. */
    MESSAGE_ATTEMPT,    /* BEGIN, READY, BROKEN: attempt_handle(). */
    MESSAGE_VALUE,      /* TENSOR, RESULT, GRADIENT. */
    MESSAGE_LATE_VALUE, /* A value of another attempt: collect its chunks, and drop it. */
    MESSAGE_ORDER,
    MESSAGE_DONE,
    MESSAGE_DELIVER, /* Another kind from LINK_UP on. */
};

/* A message of `peer` arrived on the present connection. */
enum message_action member_message_action(const struct attempt *attempt, uint32_t peer,
                                          const struct member_frame *message);

/* Whether `peer` may send `member` a message of this kind, one from LINK_UP on. `owner`: the member
 * that is connected to the ps which the message names; GROUP_MEMBERS_MAX: the job has no such ps.
 */
bool member_message_is_for(uint32_t member, uint32_t peer, enum member_frame_kind kind,
                           uint32_t owner);

/* At the head: the members that have carried out the present order. Zero at first, and after an
 * attempt. */
struct order_progress {
    bool is_active;
    bool has_done[GROUP_MEMBERS_MAX]; /* By member. */
};

void order_progress_begin(struct order_progress *progress);
/* `member` has carried the order out. True: all `members` have, just now. */
bool order_progress_done(struct order_progress *progress, uint32_t members, uint32_t member);

#endif
