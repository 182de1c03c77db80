/* Faults, until SCENE_FAULTS_US; then everything heals. */
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/replicas/scene.h"

/* The workers of `set`, in the same instant. */
static void kill_set(struct scene *s, uint32_t set)
{
    const uint64_t before = scene_furthest(s);
    const uint32_t holders = scene_holders(s);
    bool any = false;
    for (uint32_t w = 0; w < s->workers; w++) {
        struct process *p = scene_member(s, w);
        if ((set >> w & 1) == 0 || p == NULL) { continue; }
        scene_kill(s, p);
        any = true;
    }
    if (!any || holders == 0 || scene_holders(s) == 0) { return; }
    s->counts->lost[u64_min(before - scene_furthest(s), 3)]++;
}

static void kill_furthest(struct scene *s)
{
    uint32_t set = 0;
    for (uint32_t w = 0; w < s->workers; w++) {
        const struct process *p = scene_member(s, w);
        if (p == NULL || !scene_holds(s, p) || p->core.step != scene_furthest(s)) { continue; }
        set |= 1u << w;
    }
    if (scene_holders(s) > 1) { kill_set(s, set); }
}

/* Only those remain that have no values yet, some of which are on their way. */
static void kill_holders(struct scene *s)
{
    uint32_t set = 0;
    for (uint32_t w = 0; w < s->workers; w++) {
        const struct process *p = scene_member(s, w);
        if (p != NULL && scene_holds(s, p)) { set |= 1u << w; }
    }
    kill_set(s, set);
}

static void expires(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    (void)data;
    if (world->now_us < s->zookeeper_down_until_us) {
        world_at(world, s->zookeeper_down_until_us, expires, s, id, 0, NULL);
        return;
    }
    p->expired = true;
    if (s->member[p->index] == p->id + 1) { s->member[p->index] = 0; }
}

static void spawns(struct world *world, void *target, uint64_t worker, uint64_t b, void *data)
{
    (void)world;
    (void)b;
    (void)data;
    scene_spawn(target, (uint32_t)worker);
}

/* A zombie learns that its session is over, and ends; until then it works on. */
static void wakes(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    (void)data;
    if (p->frozen_until_us > world->now_us) {
        world_at(world, p->frozen_until_us + world_below(world, 50000), wakes, s, id, 0, NULL);
        return;
    }
    scene_die(s, p);
}

static void freeze(struct scene *s, uint32_t worker)
{
    struct world *w = s->world;
    struct process *p = scene_member(s, worker);
    if (p == NULL) { return; }
    const bool is_short = world_chance(w, 500);
    const uint64_t for_us = is_short ? world_below(w, 200000) : 350000 + world_below(w, 400000);
    p->frozen_until_us = w->now_us + for_us;
    s->counts->freezes++;
    world_log(w, "worker:%u is frozen", worker);
    if (is_short) { return; }
    world_after(w, SCENE_SESSION_US, expires, s, p->id, 0, NULL);
    world_after(w, SCENE_SESSION_US + world_below(w, 50000), spawns, s, worker, 0, NULL);
    world_at(w, p->frozen_until_us + world_below(w, 100000), wakes, s, p->id, 0, NULL);
}

static void break_some(struct scene *s)
{
    struct world *w = s->world;
    for (uint64_t n = 1 + world_below(w, 6); n > 0 && s->conn_count > 1; n--) {
        const uint64_t newest = u64_min(s->conn_count - 1, 60);
        const uint32_t conn = s->conn_count - 1 - (uint32_t)world_below(w, newest);
        if (!s->conns[conn].open_from) { continue; }
        s->counts->breaks++;
        scene_break(s, conn);
    }
}

static void joins(struct world *world, void *target, uint64_t worker, uint64_t b, void *data)
{
    struct scene *s = target;
    (void)world;
    (void)b;
    (void)data;
    for (uint32_t i = 0; i < s->workers; i++) { s->cut[worker][i] = s->cut[i][worker] = false; }
}

/* Two workers, or one and all others, do not reach each other for a while; perhaps only one way. */
static void cut(struct scene *s, uint32_t worker)
{
    struct world *w = s->world;
    const bool all = world_chance(w, 500);
    const uint32_t other = (worker + 1 + (uint32_t)world_below(w, s->workers - 1)) % s->workers;
    for (uint32_t i = 0; i < s->workers; i++) {
        if (i == worker || (!all && i != other)) { continue; }
        s->cut[worker][i] = true;
        s->cut[i][worker] = !world_chance(w, 250);
    }
    for (uint32_t i = 1; i < s->conn_count; i++) {
        const struct conn *c = &s->conns[i];
        const uint32_t from = s->processes[c->from].index, to = s->processes[c->to].index;
        if (c->open_from && s->cut[from][to]) { scene_break(s, i); }
    }
    s->counts->cuts++;
    world_after(w, world_below(w, 400000), joins, s, worker, 0, NULL);
}

static void slow_down(struct scene *s, uint32_t worker)
{
    struct process *p = scene_member(s, worker);
    if (p == NULL) { return; }
    p->slow_us = world_chance(s->world, 500) ? 0 : 50000 + world_below(s->world, 100000);
}

static void is_elected(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    (void)world;
    (void)a;
    (void)b;
    (void)data;
    s->chief_up = true;
}

static void kill_chief(struct scene *s)
{
    if (!s->chief_up) { return; }
    s->chief_up = false;
    memset(s->observed, 0, sizeof s->observed);
    s->counts->chiefs++;
    world_log(s->world, "the chief dies");
    world_after(s->world, 10000 + world_below(s->world, 300000), is_elected, s, 0, 0, NULL);
}

static void inject(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    const uint32_t worker = (uint32_t)world_below(world, s->workers);
    const uint32_t all = (1u << s->workers) - 1;
    (void)a;
    (void)b;
    (void)data;
    if (s->healed || s->finished) { return; }
    switch (world_below(world, 13)) {
    case 0:
    case 1: kill_set(s, 1u << worker); break;
    case 2: kill_set(s, (uint32_t)world_below(world, all)); break; /* Not all. */
    case 3: kill_furthest(s); break;
    case 4:
        if (world_chance(world, 250)) { kill_set(s, all); }
        if (world_chance(world, 250)) { kill_holders(s); }
        break;
    case 5: freeze(s, worker); break;
    case 6:
    case 7: break_some(s); break;
    case 8: cut(s, worker); break;
    case 9: slow_down(s, worker); break;
    case 10: s->zookeeper_down_until_us = world->now_us + world_below(world, 300000); break;
    case 11: kill_chief(s); break;
    case 12:
        if (world_chance(world, 100)) { scene_request_stop(s); }
        if (world_chance(world, 100)) { scene_request_restore(s); }
        break;
    default: break;
    }
}

static void heal(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    (void)a;
    (void)b;
    (void)data;
    s->healed = true;
    s->zookeeper_down_until_us = 0;
    memset(s->cut, 0, sizeof s->cut);
    for (uint32_t i = 0; i < s->process_count; i++) { s->processes[i].slow_us = 0; }
    world_log(world, "faults end");
}

static void completes(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    (void)data;
    if (!p->alive) { return; }
    if (p->frozen_until_us > world->now_us) {
        world_at(world, p->frozen_until_us, completes, s, id, 0, NULL);
        return;
    }
    scene_set_able(s, p, true);
}

/* A group lacks a member for a while, perhaps only for a moment. */
static void loses_member(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = scene_member(s, (uint32_t)world_below(world, s->workers));
    const uint64_t for_us = world_below(world, world_chance(world, 500) ? 300 : 150000);
    (void)a;
    (void)b;
    (void)data;
    if (s->healed || p == NULL || p->frozen_until_us > world->now_us) { return; }
    scene_set_able(s, p, false);
    world_after(world, for_us, completes, s, p->id, 0, NULL);
}

static void plan_losses(struct scene *s)
{
    struct world *w = s->world;
    for (uint64_t i = world_below(w, 60); i > 0; i--) {
        world_after(w, world_below(w, SCENE_FAULTS_US), loses_member, s, 0, 0, NULL);
    }
}

void scene_plan_faults(struct scene *s)
{
    struct world *w = s->world;
    const uint64_t faults = world_below(w, 25), from_us = world_below(w, 300000);
    const uint64_t for_us = 200000 + world_below(w, SCENE_FAULTS_US - 600000);
    for (uint64_t i = 0; i < faults; i++) {
        world_after(w, from_us + world_below(w, for_us), inject, s, 0, 0, NULL);
    }
    world_after(w, SCENE_FAULTS_US, heal, s, 0, 0, NULL);
    if (s->has_groups) { plan_losses(s); }
}
