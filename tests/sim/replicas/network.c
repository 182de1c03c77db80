/* Directed connections: a worker asks on those that it dialled, and is answered there. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/replicas/scene.h"

struct frame {
    struct replica_event event;
    struct body body;
};

uint64_t scene_delay_us(struct scene *s)
{
    if (world_chance(s->world, 5)) { return 20000 + world_below(s->world, 80000); }
    return 100 + world_below(s->world, world_chance(s->world, 250) ? 8000 : 1500);
}

static void arrive(struct world *world, void *target, uint64_t conn, uint64_t answers, void *data)
{
    struct scene *s = target;
    struct conn *c = &s->conns[conn];
    struct process *to = &s->processes[answers ? c->from : c->to];
    const struct frame *frame = data;
    if (!to->alive || !(answers ? c->open_from : c->open_to)) { return; }
    if (to->frozen_until_us > world->now_us) {
        struct frame *again = malloc(sizeof *again);
        assert(again != NULL);
        *again = *frame;
        world_at(world, to->frozen_until_us, arrive, s, conn, answers, again);
        return;
    }
    struct replica_event event = frame->event;
    event.conn = (uint32_t)conn;
    event.peer = s->processes[answers ? c->to : c->from].index;
    scene_feed(s, to, event, &frame->body);
}

void scene_send(struct scene *s, uint32_t conn, bool answers, const struct replica_event *event,
                const struct body *body)
{
    struct conn *c = &s->conns[conn];
    assert(conn > 0 && conn < s->conn_count);
    if (!(answers ? c->open_to : c->open_from)) { return; }
    uint64_t at_us = s->world->now_us + scene_delay_us(s);
    if (at_us <= c->last_us[answers]) { at_us = c->last_us[answers] + 1; }
    c->last_us[answers] = at_us;
    struct frame *frame = calloc(1, sizeof *frame);
    assert(frame != NULL);
    frame->event = *event;
    if (body != NULL) { frame->body = *body; }
    world_at(s->world, at_us, arrive, s, conn, answers, frame);
}

static void went_down(struct world *world, void *target, uint64_t conn, uint64_t b, void *data)
{
    struct scene *s = target;
    struct conn *c = &s->conns[conn];
    struct process *p = &s->processes[c->from];
    const uint32_t peer = s->processes[c->to].index;
    (void)b;
    (void)data;
    if (!p->alive || !c->open_from) { return; }
    if (p->frozen_until_us > world->now_us) {
        world_at(world, p->frozen_until_us, went_down, s, conn, 0, NULL);
        return;
    }
    c->open_from = false;
    if (p->link[peer] != conn) { return; }
    p->link[peer] = 0;
    scene_feed(s, p, (struct replica_event){.type = REPLICA_EV_LINK_DOWN, .peer = peer}, NULL);
}

static void was_closed(struct world *world, void *target, uint64_t conn, uint64_t b, void *data)
{
    struct scene *s = target;
    struct conn *c = &s->conns[conn];
    struct process *p = &s->processes[c->to];
    (void)b;
    (void)data;
    if (!p->alive || !c->open_to) { return; }
    if (p->frozen_until_us > world->now_us) {
        world_at(world, p->frozen_until_us, was_closed, s, conn, 0, NULL);
        return;
    }
    c->open_to = false;
    scene_feed(s, p, (struct replica_event){.type = REPLICA_EV_CONN_CLOSED, .conn = (uint32_t)conn},
               NULL);
}

/* The asker notices early, the other end perhaps late: until then it receives frames. */
void scene_break(struct scene *s, uint32_t conn)
{
    struct world *w = s->world;
    const uint64_t late_us = world_below(w, world_chance(w, 300) ? 150000 : 3000);
    world_after(w, world_below(w, 3000), went_down, s, conn, 0, NULL);
    world_after(w, late_us, was_closed, s, conn, 0, NULL);
}

void scene_close_all(struct scene *s, const struct process *p)
{
    struct world *w = s->world;
    for (uint32_t i = 1; i < s->conn_count; i++) {
        const struct conn *c = &s->conns[i];
        const uint64_t late_us = world_below(w, world_chance(w, 300) ? 100000 : 3000);
        if (c->from == p->id && c->open_to) { world_after(w, late_us, was_closed, s, i, 0, NULL); }
        if (c->to != p->id || !c->open_from) { continue; }
        /* Frames that were sent before arrive first, unless the host is lost as well. */
        const uint64_t soon_us = w->now_us + world_below(w, 3000);
        const bool flushes = world_chance(w, 700);
        world_at(w, flushes ? u64_max(soon_us, c->last_us[true] + 1) : soon_us, went_down, s, i, 0,
                 NULL);
    }
}

static void came_up(struct world *world, void *target, uint64_t conn, uint64_t b, void *data)
{
    struct scene *s = target;
    struct conn *c = &s->conns[conn];
    struct process *p = &s->processes[c->from];
    const struct process *to = &s->processes[c->to];
    (void)b;
    (void)data;
    c->is_dialled = false;
    if (!p->alive || p->link[to->index] != conn) { return; }
    if (p->frozen_until_us > world->now_us || !to->alive || s->cut[p->index][to->index]) {
        p->link[to->index] = 0;
        return;
    }
    c->open_from = c->open_to = true;
    scene_feed(s, p,
               (struct replica_event){
                   .type = REPLICA_EV_LINK_UP, .peer = to->index, .is_near = p->host == to->host},
               NULL);
}

static void dial(struct scene *s, struct process *p, uint32_t worker)
{
    if (worker == p->index || p->link[worker] != 0 || s->member[worker] == 0) { return; }
    if (s->cut[p->index][worker] || s->conn_count == SCENE_CONNS) { return; }
    const struct process *to = &s->processes[s->member[worker] - 1];
    if (!to->alive) { return; }
    const uint32_t conn = s->conn_count++;
    s->conns[conn] = (struct conn){.from = p->id, .to = to->id, .is_dialled = true};
    p->link[worker] = conn;
    world_after(s->world, scene_delay_us(s), came_up, s, conn, 0, NULL);
}

void scene_dial(struct scene *s, struct process *p)
{
    assert(p->alive);
    for (uint32_t w = 0; w < s->workers; w++) { dial(s, p, w); }
}
