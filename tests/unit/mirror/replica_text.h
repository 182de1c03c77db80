/* tests/unit/mirror/replica_text.h: the actions of a replica under test as text. */
#ifndef TESTS_UNIT_MIRROR_REPLICA_TEXT_H
#define TESTS_UNIT_MIRROR_REPLICA_TEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/mirror/replica_scene.h"

static char text[2000];

static const char *const names[] = {
    [REPLICA_DO_HOLD] = "hold",
    [REPLICA_DO_REDUCE] = "reduce",
    [REPLICA_DO_TAKE] = "take",
    [REPLICA_DO_APPLY] = "apply",
    [REPLICA_DO_FORGET] = "forget",
    [REPLICA_DO_DROP] = "drop",
    [REPLICA_DO_ANSWER] = "answer",
    [REPLICA_DO_REFUSE] = "refuse",
    [REPLICA_DO_COMPUTE] = "compute",
    [REPLICA_DO_PUSH] = "push",
    [REPLICA_DO_FORWARD] = "forward",
    [REPLICA_DO_PULL] = "pull",
    [REPLICA_DO_PULL_VALUES] = "pull-values",
    [REPLICA_DO_SEND_VALUES] = "send-values",
    [REPLICA_DO_ADOPT] = "adopt",
    [REPLICA_DO_LOAD] = "load",
    [REPLICA_DO_SAVE] = "save",
    [REPLICA_DO_MISS] = "miss",
    [REPLICA_DO_EVALUATE] = "evaluate",
};

__attribute__((format(printf, 1, 2))) static inline void append(const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
}

static inline void append_nodes(const struct replica_action *a)
{
    for (uint32_t i = a->first_node; i < a->first_node + a->node_count; i++) {
        append(" %" PRIu32 "+%" PRIu32, replica.nodes[i].first, replica.nodes[i].count);
    }
}

static inline void append_parts(const struct replica_action *a)
{
    for (uint32_t i = a->first_part; i < a->first_part + a->part_count; i++) {
        append(" %u+%u", actions.parts[i].first, actions.parts[i].count);
    }
}

static inline void append_action(const struct replica_action *a)
{
    static const char *const refusals[] = {"not-here", "not-owner", "gone"};
    append("%s%s", text[0] != '\0' ? "; " : "", names[a->type]);
    switch (a->type) {
    case REPLICA_DO_HOLD: append(" r%u %u+%u", a->range, a->node.first, a->node.count); break;
    case REPLICA_DO_REDUCE: append(" r%u of %u", a->range, a->part_count); break;
    case REPLICA_DO_TAKE: append(" r%u", a->range); break;
    case REPLICA_DO_ANSWER: append(" c%u r%u @%" PRIu64, a->conn, a->range, a->step); break;
    case REPLICA_DO_REFUSE: append(" c%u %s", a->conn, refusals[a->refusal]); break;
    case REPLICA_DO_COMPUTE: append_nodes(a); break;
    case REPLICA_DO_PUSH:
        append(" r%u to %u", a->range, a->peer);
        append_nodes(a);
        break;
    case REPLICA_DO_FORWARD:
        append(" r%u to %u", a->range, a->peer);
        append_parts(a);
        break;
    case REPLICA_DO_PULL: append(" r%u from %u", a->range, a->peer); break;
    case REPLICA_DO_PULL_VALUES: append(" from %u", a->peer); break;
    case REPLICA_DO_SAVE:
    case REPLICA_DO_MISS: append(" r%u of %" PRIu64, a->range, a->checkpoint); break;
    case REPLICA_DO_DROP: break;
    default: append(" @%" PRIu64, a->step); break;
    }
}

/* The actions that the replica asks for after the event. */
static inline const char *feed(struct replica_event event)
{
    handle(event);
    text[0] = '\0';
    for (uint32_t i = 0; i < actions.count; i++) { append_action(&actions.items[i]); }
    return text;
}

static inline const char *order(void)
{
    return feed(next_order());
}

static inline const char *assign(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    return feed(owners(a, b, c, d));
}

/* From worker 1 on connection 11, and so on. */
static inline const char *from(uint32_t peer, enum replica_event_type type, uint32_t range,
                               uint64_t step, uint32_t first, uint32_t count)
{
    return feed((struct replica_event){.type = type,
                                       .conn = 10 + peer,
                                       .peer = peer,
                                       .generation = run.generation,
                                       .step = step,
                                       .range = range,
                                       .node = {first, count}});
}

static inline const char *push(uint32_t peer, uint32_t range, uint64_t step, uint32_t first,
                               uint32_t count)
{
    return from(peer, REPLICA_EV_PUSH, range, step, first, count);
}

static inline const char *refused(uint32_t peer, uint32_t range, uint64_t step,
                                  enum replica_refusal refusal)
{
    return feed((struct replica_event){.type = REPLICA_EV_REFUSED,
                                       .peer = peer,
                                       .generation = run.generation,
                                       .step = step,
                                       .range = range,
                                       .refusal = refusal});
}

static inline const char *happens(enum replica_event_type type, uint32_t peer)
{
    return feed((struct replica_event){.type = type, .peer = peer});
}

#endif
