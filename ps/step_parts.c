/* Sync: updates and answers that follow the pushes chunk by chunk (P17). */
#include <assert.h>

#include "common/base/minmax.h"
#include "ps/step_private.h"

/* The parts of an update: the number of frames that may wait for a connection is limited. */
enum { PARTS_MAX = 256 };

/* Whether the connection is sending a push of the present step, and some chunks have arrived. */
static bool is_pushing(const struct ps_step *s, const struct ps_peer *peer)
{
    return peer->collected > 0 && peer->pushed_step == s->step;
}

/* Whether the peer gets values while they are being made. Through shared memory it gets them as a
 * whole, because they are not copied there. */
static bool may_grow(const struct ps_step *s, const struct ps_peer *peer)
{
    return !peer->by_lane && (peer->wanted == s->step + 1 || is_pushing(s, peer));
}

/* How many last chunks of all slices are collected, where they are not held. */
static uint32_t count_collected(const struct ps_step *s)
{
    uint32_t collected[SLICES_MAX] = {0}, least = UINT32_MAX;
    for (uint32_t i = 0; i < s->peer_count; i++) {
        const struct ps_peer *peer = &s->peers[i];
        if (!is_pushing(s, peer)) { continue; }
        for (uint32_t v = peer->pushed.first; v < peer->pushed.first + peer->pushed.count; v++) {
            collected[v] = u32_max(collected[v], peer->collected);
        }
    }
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (!slice_set_has_any(&s->covered, (struct slice_node){v, 1})) {
            least = u32_min(least, collected[v]);
        }
    }
    return least;
}

uint32_t ps_parts_ready(const struct ps_step *s)
{
    const uint32_t least = s->config.chunks / PARTS_MAX + 1;
    bool grows = false;
    if (s->config.chunks == 0) { return 0; }
    for (uint32_t i = 0; i < s->peer_count && !grows; i++) { grows = may_grow(s, &s->peers[i]); }
    if (!grows) { return 0; }
    const uint32_t ready = count_collected(s);
    assert(ready < s->config.chunks);
    return ready >= s->parts_done + least ? ready : 0;
}

void ps_parts_list(const struct ps_step *s, uint32_t chunks, struct ps_actions *out)
{
    uint32_t count;
    assert(out->part_count == 0);
    for (uint32_t first = 0; first < s->config.slices; first += count) {
        conn_id conn = {0};
        count = s->held_count[first];
        for (uint32_t i = 0; i < s->peer_count; i++) {
            const struct ps_peer *peer = &s->peers[i];
            if (!is_pushing(s, peer) || peer->collected < chunks) { continue; }
            if (peer->pushed.first != first || peer->pushed.count <= count) { continue; }
            count = peer->pushed.count;
            conn = peer->conn;
        }
        assert(count >= 1);
        out->part_conns[out->part_count] = conn;
        out->parts[out->part_count++] = (struct slice_node){first, count};
    }
}

static void answer_chunks(const struct ps_step *s, struct ps_peer *peer, uint64_t step,
                          uint32_t until, struct ps_actions *out)
{
    assert(peer->grown < until && until <= s->config.chunks);
    if (peer->grown == 0) { peer->grown_round = peer->round; }
    struct ps_action *action = ps_act(out, PS_DO_ANSWER_CHUNKS);
    action->conn = peer->conn;
    action->generation = s->generation;
    action->step = step;
    action->round = peer->grown_round;
    action->first = peer->grown;
    action->count = until - peer->grown;
    peer->grown = until;
}

void ps_parts_applied(struct ps_step *s, struct ps_actions *out)
{
    assert(s->begun && s->parts_applying > s->parts_done);
    s->parts_done = s->parts_applying;
    s->parts_applying = 0;
    for (uint32_t i = 0; i < s->peer_count; i++) {
        struct ps_peer *peer = &s->peers[i];
        if (may_grow(s, peer)) { answer_chunks(s, peer, s->step + 1, s->parts_done, out); }
    }
}

bool ps_parts_answer_rest(struct ps_step *s, struct ps_peer *peer, struct ps_actions *out)
{
    if (peer->grown == 0) { return false; }
    answer_chunks(s, peer, s->step, s->config.chunks, out);
    peer->grown = 0;
    peer->answered = s->step;
    peer->wanted = 0;
    return true;
}
