/* A relay adds the gradients of its host, and pushes their sums (M14). */
#include <assert.h>
#include <string.h>

#include "tests/sim/replicas/scene.h"

static uint32_t parts_of(struct slice_node node, const struct replica_part *parts, uint32_t count)
{
    uint32_t found = 0;
    while (found < count && parts[found].first < node.first + node.count) { found++; }
    return found;
}

void scene_forward(struct scene *s, struct process *p, const struct replica_action *action,
                   const struct replica_part *parts)
{
    struct slice_node nodes[SLICES_MAX];
    struct slice_set set = {0};
    uint64_t *held = p->held[action->range][action->step % 2];
    uint64_t slots[SCENE_SLICES];
    uint32_t done = 0;
    memcpy(slots, held, sizeof slots);
    for (uint32_t i = 0; i < action->part_count; i++) {
        const struct replica_part *part = &parts[i];
        slice_set_add(&set, (struct slice_node){part->first, part->count});
        if (part->own != REPLICA_NOT_OWN) { slots[part->first] = p->own[part->own][action->range]; }
        held[part->first] = SCENE_RELEASED;
    }
    const uint32_t count = slices_cover(s->slices, &set, nodes);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t found = parts_of(nodes[i], &parts[done], action->part_count - done);
        const struct replica_event event = {.type = REPLICA_EV_PUSH,
                                            .generation = action->generation,
                                            .step = action->step,
                                            .range = action->range,
                                            .node = nodes[i]};
        const struct body body = {.sum = scene_add(s, nodes[i], &parts[done], found, slots)};
        held[nodes[i].first] = body.sum;
        s->counts->forwards++;
        scene_send(s, p->link[action->peer], false, &event, &body);
        done += found;
    }
}
