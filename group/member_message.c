#include "group/member_message.h"

#include <assert.h>

enum message_action member_message_action(const struct attempt *attempt, uint32_t peer,
                                          const struct member_frame *message)
{
    const bool is_present = attempt_is_ready(attempt) && message->attempt == attempt->number;
    switch (message->kind) {
    case MEMBER_FRAME_BEGIN:
    case MEMBER_FRAME_READY:
    case MEMBER_FRAME_BROKEN: return MESSAGE_ATTEMPT; /* It checks the number. */
    case MEMBER_FRAME_TENSOR:
    case MEMBER_FRAME_RESULT:
    case MEMBER_FRAME_GRADIENT: return is_present ? MESSAGE_VALUE : MESSAGE_LATE_VALUE;
    case MEMBER_FRAME_ORDER: return is_present && peer == 0 ? MESSAGE_ORDER : MESSAGE_DROP;
    case MEMBER_FRAME_DONE: return is_present && attempt->member == 0 ? MESSAGE_DONE : MESSAGE_DROP;
    case MEMBER_FRAME_HELLO:
    case MEMBER_FRAME_KINDS: return MESSAGE_DROP;
    default: return is_present ? MESSAGE_DELIVER : MESSAGE_DROP;
    }
}

bool member_message_is_for(uint32_t member, uint32_t peer, enum member_frame_kind kind,
                           uint32_t owner)
{
    assert(member != peer);
    switch (kind) {
    case MEMBER_FRAME_LINK_UP:
    case MEMBER_FRAME_LINK_DOWN:
    case MEMBER_FRAME_ANSWER: return member == 0 && owner == peer;
    case MEMBER_FRAME_RELAY:
    case MEMBER_FRAME_TAKE: return peer == 0 && owner == member;
    case MEMBER_FRAME_SWAP:
    case MEMBER_FRAME_EVALUATE:
    case MEMBER_FRAME_READ: return peer == 0;
    case MEMBER_FRAME_FLOATS:
    case MEMBER_FRAME_HOLDS:
    case MEMBER_FRAME_GRADIENT: return member == 0;
    case MEMBER_FRAME_RESULT: return true;
    default: return false;
    }
}

void order_progress_begin(struct order_progress *progress)
{
    assert(!progress->is_active);
    *progress = (struct order_progress){.is_active = true};
}

bool order_progress_done(struct order_progress *progress, uint32_t members, uint32_t member)
{
    assert(member < members && members <= GROUP_MEMBERS_MAX);
    if (!progress->is_active) { return false; }
    progress->has_done[member] = true;
    for (uint32_t m = 0; m < members; m++) {
        if (!progress->has_done[m]) { return false; }
    }
    progress->is_active = false;
    return true;
}
