#include "mirror/frame_codec.h"

#include <assert.h>

#include "common/base/minmax.h"

static uint64_t range_bytes(const struct frame_codec_shape *shape, uint64_t range)
{
    assert(range < shape->ranges);
    return shape->places[range].count * sizeof(float);
}

static struct replica_event event_of(const struct frame_header *header,
                                     enum replica_event_type type)
{
    return (struct replica_event){
        .type = type,
        .generation = header->generation,
        .step = header->step,
        .range = (uint32_t)header->sequence,
    };
}

static const char *read_push(const struct frame_codec_shape *shape,
                             const struct frame_header *header, struct replica_event *out,
                             uint64_t *bytes)
{
    if (header->sequence >= shape->ranges) { return "its range does not exist"; }
    if (!slices_is_node(shape->slices, header->first, header->count)) {
        return "its slices are not a node of the tree";
    }
    *out = event_of(header, REPLICA_EV_PUSH);
    out->node = (struct slice_node){header->first, header->count};
    *bytes = range_bytes(shape, header->sequence);
    return NULL;
}

static const char *read_pull(const struct frame_codec_shape *shape,
                             const struct frame_header *header, struct replica_event *out)
{
    if (header->sequence == REPLICA_ALL_RANGES) {
        *out = event_of(header, REPLICA_EV_PULL_VALUES);
        return NULL;
    }
    if (header->sequence >= shape->ranges) { return "its range does not exist"; }
    *out = event_of(header, REPLICA_EV_PULL);
    return NULL;
}

const char *frame_codec_read_question(const struct frame_codec_shape *shape,
                                      const struct frame_header *header, struct replica_event *out,
                                      uint64_t *bytes)
{
    const bool asks_values = header->type == FRAME_PULL && header->sequence == REPLICA_ALL_RANGES;
    *bytes = 0;
    if (header->step > COUNTER_MAX && !(asks_values && header->step == STEP_NONE)) {
        return "its step is too high";
    }
    if (header->type == FRAME_PUSH) { return read_push(shape, header, out, bytes); }
    if (header->type == FRAME_PULL) { return read_pull(shape, header, out); }
    return "a replica is not asked this";
}

static const char *read_refused(const struct frame_codec_shape *shape,
                                const struct frame_header *header, struct replica_event *out)
{
    const bool exists = header->sequence < shape->ranges || header->sequence == REPLICA_ALL_RANGES;
    if (!exists) { return "its range does not exist"; }
    if (header->first < 1 || header->first > 1 + REPLICA_GONE) { return "its reason is unknown"; }
    *out = event_of(header, REPLICA_EV_REFUSED);
    out->refusal = (enum replica_refusal)(header->first - 1);
    return NULL;
}

const char *frame_codec_read_answer(const struct frame_codec_shape *shape,
                                    const struct frame_header *header, struct replica_event *out,
                                    uint64_t *bytes)
{
    *bytes = 0;
    if (header->step > COUNTER_MAX) { return "its step is too high"; }
    switch (header->type) {
    case FRAME_REFUSED: return read_refused(shape, header, out);
    case FRAME_SUM:
        if (header->sequence >= shape->ranges) { return "its range does not exist"; }
        *out = event_of(header, REPLICA_EV_SUM);
        *bytes = range_bytes(shape, header->sequence);
        return NULL;
    case FRAME_VALUES:
        if (header->count != shape->arrays) { return "it has another number of arrays"; }
        if (header->first >= shape->arrays) { return "its array does not exist"; }
        *out = event_of(header, REPLICA_EV_VALUES);
        *bytes = shape->parameters * sizeof(float);
        return NULL;
    default: return "a replica does not answer this";
    }
}

struct frame_header frame_codec_write(const struct frame_codec_shape *shape,
                                      const struct replica_action *action, struct slice_node node,
                                      uint32_t array)
{
    struct frame_header header = {
        .generation = action->generation, .step = action->step, .sequence = action->range};
    switch (action->type) {
    case REPLICA_DO_PUSH:
    case REPLICA_DO_FORWARD:
        header.type = FRAME_PUSH;
        header.first = node.first;
        header.count = node.count;
        break;
    case REPLICA_DO_PULL: header.type = FRAME_PULL; break;
    case REPLICA_DO_PULL_VALUES:
        header.type = FRAME_PULL;
        header.sequence = REPLICA_ALL_RANGES;
        break;
    case REPLICA_DO_ANSWER: header.type = FRAME_SUM; break;
    case REPLICA_DO_REFUSE:
        header.type = FRAME_REFUSED;
        header.first = 1 + action->refusal;
        break;
    case REPLICA_DO_SEND_VALUES:
        assert(array < shape->arrays);
        header.type = FRAME_VALUES;
        header.first = array;
        header.count = shape->arrays;
        break;
    default: assert(false);
    }
    return header;
}
