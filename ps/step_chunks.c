/* Pushes that arrive in chunks (P12). */
#include <assert.h>

#include "ps/step_private.h"

/* The first chunk of a push of the present step ends the values of the step before (P4). */
static void place(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    const struct slice_node node = {event->first, event->count};
    if (!s->config.places || event->step != s->step || s->begun || s->applying) { return; }
    if (slice_set_has_all(&s->covered, node)) { return; }
    s->has_previous = false;
    ps_act(out, PS_DO_PLACE)->conn = event->conn;
}

void ps_collect(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->more);
    if (s->generation == 0 || s->generation != event->generation) { return; }
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL || peer->collected != event->chunk) { return; }
    if (peer->collected == 0) {
        place(s, event, out);
        peer->pushed_step = event->step;
        peer->pushed = (struct slice_node){event->first, event->count};
        peer->by_lane = event->by_lane;
        peer->round = event->round;
    }
    peer->collected++;
    ps_act(out, PS_DO_COLLECT)->conn = event->conn;
}

bool ps_collect_last(struct ps_step *s, const struct ps_event *event)
{
    assert(!event->more);
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) { return false; }
    bool complete = peer->collected == event->chunk;
    peer->collected = 0;
    return complete;
}
