/*
 * group/attempt.h: whether the members of a group are one worker, as a pure state machine of one
 * member.
 *
 * An *attempt* is a time in which no connection between members is lost (G1). The head, member 0,
 * numbers attempts. Frames between members carry the number, and those of another attempt are
 * dropped:
 *
 *   - The head begins an attempt when it is connected to all members, and sends them BEGIN.
 *   - A member that receives BEGIN forgets all that it has computed, received and pulled (G2).
 *     Once it is connected to all members it is ready, and sends READY.
 *   - When all are ready, the group is *complete*: it is one worker, which has just started.
 *   - A member that loses a connection after it was ready sends BROKEN. When the head receives
 *     BROKEN, or loses a connection of its own, it ends the attempt and begins the next one.
 *
 * A frame can be lost only with its connection, and one of its two ends notices that after it was
 * ready. So within an attempt nothing is lost, nothing has to be kept until it is confirmed, and
 * nothing is sent twice. What the ps already have of the step is computed once more with the same
 * bits, and dropped there (rule P3).
 *
 * The driver keeps one connection between two members, the one that was made last. LINK_UP comes
 * each time one is made, also if the loss of the one before was not noticed, and LINK_DOWN when the
 * present one is lost. Frames of former connections are dropped.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef GROUP_ATTEMPT_H
#define GROUP_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

enum { GROUP_MEMBERS_MAX = 64 };

enum attempt_event_type {
    ATTEMPT_EV_LINK_UP,   /* Connected to `member`. */
    ATTEMPT_EV_LINK_DOWN, /* No longer connected to it. */
    ATTEMPT_EV_BEGIN,     /* Frames from `member`, which carry `number`. */
    ATTEMPT_EV_READY,
    ATTEMPT_EV_BROKEN,
};

struct attempt_event {
    enum attempt_event_type type;
    uint32_t member;
    uint64_t number;
};

enum attempt_action_type {
    ATTEMPT_DO_RESET, /* Forget all that belongs to the last attempt. */
    ATTEMPT_DO_BEGIN, /* Frames to `member`, which carry `number`. */
    ATTEMPT_DO_READY,
    ATTEMPT_DO_BROKEN,
};

struct attempt_action {
    enum attempt_action_type type;
    uint32_t member;
    uint64_t number;
};

struct attempt_actions {
    struct attempt_action items[2 + GROUP_MEMBERS_MAX];
    uint32_t count;
};

/* Private to attempt.c, but for `number`. */
struct attempt {
    uint32_t member, members;
    uint64_t number; /* The present attempt; 0: none. */
    bool begun;
    bool up[GROUP_MEMBERS_MAX];    /* By member; that of the member itself is true. */
    bool ready[GROUP_MEMBERS_MAX]; /* By member: in the present attempt; others only at the head. */
};

/* The first attempt of the head that is the process `incarnation`, a random number. */
uint64_t attempt_first(uint64_t incarnation);
/* `first` is the number of the head's first attempt, at least 1: the heads of a group, one process
 * after another, do not use the same numbers. */
void attempt_init(struct attempt *attempt, uint32_t member, uint32_t members, uint64_t first);
void attempt_handle(struct attempt *attempt, const struct attempt_event *event,
                    struct attempt_actions *out);

/* Whether this member takes part in the present attempt. */
bool attempt_is_ready(const struct attempt *attempt);
/* Whether all members do, as the head knows it. */
bool attempt_is_complete(const struct attempt *attempt);

#endif
