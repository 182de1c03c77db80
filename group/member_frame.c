#include "group/member_frame.h"

#include <assert.h>

#include "common/base/minmax.h"

struct frame_header member_frame_write(const struct member_frame *message)
{
    assert(message->kind > 0 && message->kind < MEMBER_FRAME_KINDS);
    return (struct frame_header){
        .type = FRAME_GROUP,
        .epoch = message->kind,
        .sequence = message->attempt,
        .generation = message->label.generation,
        .step = message->label.step,
        .first = message->label.slice,
        .count = message->number,
    };
}

static bool has_right_body(const struct frame_header *header, enum member_frame_kind kind)
{
    switch (kind) {
    case MEMBER_FRAME_TENSOR:
    case MEMBER_FRAME_RESULT:
    case MEMBER_FRAME_FLOATS:
    case MEMBER_FRAME_GRADIENT: return true;
    case MEMBER_FRAME_RELAY:
    case MEMBER_FRAME_ANSWER: return header->body_bytes == WIRE_HEADER_BYTES;
    default: return header->body_bytes == 0;
    }
}

bool member_frame_read(const struct frame_header *header, uint32_t slices, struct member_frame *out)
{
    if (header->type != FRAME_GROUP || header->epoch == 0 || header->epoch >= MEMBER_FRAME_KINDS) {
        return false;
    }
    *out = (struct member_frame){
        .kind = (enum member_frame_kind)header->epoch,
        .attempt = header->sequence,
        .label = {header->generation, header->step, header->first},
        .number = header->count,
    };
    const bool is_low = header->sequence <= COUNTER_MAX && header->generation <= COUNTER_MAX &&
                        header->step <= COUNTER_MAX;
    if (!is_low || !has_right_body(header, out->kind)) { return false; }
    if (out->kind < MEMBER_FRAME_LINK_UP && header->first >= slices) { return false; }
    return out->kind != MEMBER_FRAME_ORDER || slices_is_node(slices, header->first, header->count);
}
