#include "worker/ps_frames.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

struct frame_header ps_frames_pull(const struct loop_action *action)
{
    assert(action->type == LOOP_DO_PULL);
    return (struct frame_header){
        .sequence = action->round,
        .type = FRAME_PULL,
        .epoch = action->epoch,
        .generation = action->generation,
        .step = action->step,
        .first = (uint32_t)u64_min(action->revision, UINT32_MAX),
        .count = action->last,
    };
}

struct frame_header ps_frames_push(const struct training_loop *loop,
                                   const struct loop_action *action, uint32_t node)
{
    assert(node < loop->node_count);
    return (struct frame_header){
        .sequence = action->round,
        .type = FRAME_PUSH,
        .generation = action->generation,
        .step = action->step,
        .first = loop->nodes[node].first,
        .count = loop->nodes[node].count,
    };
}

bool ps_frames_are_values(const struct frame_header *header)
{
    return header->type == FRAME_VALUES || header->type == FRAME_VALUES_GROWING;
}

struct loop_event ps_frames_answer(uint32_t ps, const struct frame_header *header)
{
    const bool refused = header->type == FRAME_REFUSED;
    assert(refused || ps_frames_are_values(header));
    struct loop_event event = {
        .type = refused ? LOOP_EV_REFUSED : LOOP_EV_VALUES,
        .ps = ps,
        .generation = header->generation,
        .step = header->step,
        .round = header->sequence,
    };
    if (refused) { event.refusal = (enum refusal)header->first; }
    return event;
}

void ps_frames_log_invalid(uint32_t ps, const struct transport_event *event, const char *fault)
{
    const struct frame_header *header = &event->header;
    log_warn("closing the connection to ps:%" PRIu32 ": invalid frame: %s; type=%u bytes=%" PRIu32
             " offset=%" PRIu64,
             ps, fault, header->type, header->body_bytes, header->offset);
}
