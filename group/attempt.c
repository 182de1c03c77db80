#include "group/attempt.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

static bool is_head(const struct attempt *attempt)
{
    return attempt->member == 0;
}

static void act(struct attempt_actions *out, enum attempt_action_type type, uint32_t member,
                uint64_t number)
{
    assert(out->count < sizeof out->items / sizeof out->items[0]);
    out->items[out->count++] =
        (struct attempt_action){.type = type, .member = member, .number = number};
}

static bool all(const struct attempt *attempt, const bool *flags)
{
    for (uint32_t m = 0; m < attempt->members; m++) {
        if (!flags[m]) { return false; }
    }
    return true;
}

/* Begin the present attempt, or take part in it, as soon as there are all connections. */
static void proceed(struct attempt *attempt, struct attempt_actions *out)
{
    if (attempt->begun || attempt->number == 0 || !all(attempt, attempt->up)) { return; }
    attempt->begun = true;
    attempt->ready[attempt->member] = true;
    if (!is_head(attempt)) {
        act(out, ATTEMPT_DO_READY, 0, attempt->number);
        return;
    }
    for (uint32_t m = 1; m < attempt->members; m++) {
        act(out, ATTEMPT_DO_BEGIN, m, attempt->number);
    }
}

/* The next attempt of the head is `number`; other members wait for it, with 0. */
static void end(struct attempt *attempt, uint64_t number, struct attempt_actions *out)
{
    if (attempt->begun) { act(out, ATTEMPT_DO_RESET, 0, attempt->number); }
    attempt->number = number;
    attempt->begun = false;
    memset(attempt->ready, 0, sizeof attempt->ready);
}

static void link_down(struct attempt *attempt, uint32_t member, struct attempt_actions *out)
{
    if (!attempt->up[member]) { return; }
    attempt->up[member] = false;
    if (is_head(attempt)) {
        if (attempt->begun) { end(attempt, attempt->number + 1, out); }
    } else if (member == 0) {
        end(attempt, 0, out);
    } else if (attempt->begun) {
        act(out, ATTEMPT_DO_BROKEN, 0, attempt->number);
        end(attempt, 0, out);
    }
}

uint64_t attempt_first(uint64_t incarnation)
{
    return incarnation % (COUNTER_MAX / 2) + 1;
}

void attempt_init(struct attempt *attempt, uint32_t member, uint32_t members, uint64_t first)
{
    assert(members >= 1 && members <= GROUP_MEMBERS_MAX);
    assert(member < members);
    assert(first >= 1);
    *attempt = (struct attempt){.member = member, .members = members};
    attempt->number = member == 0 ? first : 0;
    attempt->up[member] = true;
    struct attempt_actions none = {.count = 0};
    if (members == 1) { proceed(attempt, &none); }
}

/* A BEGIN is the head's, READY and BROKEN are for the head, and of its present attempt. */
static void frame(struct attempt *attempt, const struct attempt_event *event,
                  struct attempt_actions *out)
{
    if (!attempt->up[event->member]) { return; }
    if (event->type == ATTEMPT_EV_BEGIN) {
        if (is_head(attempt) || event->member != 0 || event->number == 0) { return; }
        end(attempt, event->number, out);
        return;
    }
    if (!is_head(attempt) || event->number != attempt->number || !attempt->begun) { return; }
    if (event->type == ATTEMPT_EV_READY) {
        attempt->ready[event->member] = true;
    } else {
        end(attempt, attempt->number + 1, out);
    }
}

void attempt_handle(struct attempt *attempt, const struct attempt_event *event,
                    struct attempt_actions *out)
{
    out->count = 0;
    if (event->member >= attempt->members || event->member == attempt->member) { return; }
    switch (event->type) {
    case ATTEMPT_EV_LINK_UP:
        link_down(attempt, event->member, out);
        attempt->up[event->member] = true;
        break;
    case ATTEMPT_EV_LINK_DOWN: link_down(attempt, event->member, out); break;
    case ATTEMPT_EV_BEGIN:
    case ATTEMPT_EV_READY:
    case ATTEMPT_EV_BROKEN: frame(attempt, event, out); break;
    }
    proceed(attempt, out);
}

bool attempt_is_ready(const struct attempt *attempt)
{
    return attempt->begun;
}

bool attempt_is_complete(const struct attempt *attempt)
{
    assert(is_head(attempt));
    return attempt->begun && all(attempt, attempt->ready);
}
