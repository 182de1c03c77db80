/* Workers: the driver of a replica, with hashes for tensors. Memory that the replica has released
 * is overwritten, so that its use shows. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/replicas/scene.h"

struct process *scene_member(struct scene *s, uint32_t worker)
{
    assert(worker < s->workers);
    if (s->member[worker] == 0) { return NULL; }
    struct process *p = &s->processes[s->member[worker] - 1];
    return p->alive ? p : NULL;
}

bool scene_holds(const struct scene *s, const struct process *p)
{
    return p->alive && !p->expired && p->core.whole && s->member[p->index] == p->id + 1 &&
           p->core.generation == s->run.generation;
}

uint32_t scene_holders(const struct scene *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->process_count; i++) { count += scene_holds(s, &s->processes[i]); }
    return count;
}

uint64_t scene_furthest(const struct scene *s)
{
    uint64_t step = 0;
    for (uint32_t i = 0; i < s->process_count; i++) {
        const struct process *p = &s->processes[i];
        if (scene_holds(s, p)) { step = u64_max(step, p->core.step); }
    }
    return step;
}

/* ------------------------------------------------------------------- checks */

static void check_values(struct scene *s, struct process *p, uint64_t step, const char *what)
{
    for (uint32_t i = 0; i < s->ranges; i++) {
        const struct value *expected = &s->reference[step][i];
        if (p->values[i].parameter == expected->parameter &&
            p->values[i].moment == expected->moment) {
            continue;
        }
        world_fail(s->world, "I6: worker:%u %s step %" PRIu64 ": range %u has other bits", p->index,
                   what, step, i);
    }
    if (p->seen_generation == p->core.generation && step < p->seen_step) {
        world_fail(s->world, "I18: worker:%u goes back from step %" PRIu64 " to %" PRIu64, p->index,
                   p->seen_step, step);
    }
    p->seen_generation = p->core.generation;
    p->seen_step = step;
}

static void check_sum(struct scene *s, const struct process *p, uint32_t range, uint64_t step)
{
    if (p->sums[range][step % SCENE_SUMS] == s->reference_sum[step][range]) { return; }
    world_fail(s->world, "I6: worker:%u has another sum of range %u, step %" PRIu64, p->index,
               range, step);
}

/* ------------------------------------------------------------- slow actions */

static bool is_frozen(struct world *world, const struct process *p, world_call call, void *target,
                      void *data, size_t size)
{
    if (p->frozen_until_us <= world->now_us) { return false; }
    void *again = NULL;
    if (size > 0) {
        again = malloc(size);
        assert(again != NULL);
        memcpy(again, data, size);
    }
    world_at(world, p->frozen_until_us, call, target, p->id, 0, again);
    return true;
}

static void computed(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, computed, s, data, 0)) { return; }
    if (p->computations_lost > 0) {
        p->computations_lost--;
        return;
    }
    for (uint32_t k = 0; k < p->computing_count; k++) {
        for (uint32_t i = 0; i < s->ranges; i++) {
            p->own[p->computing_first + k][i] =
                scene_gradient(s, p->computing_from, p->computing_step, p->computing_nodes[k], i);
        }
    }
    scene_feed(s, p, (struct replica_event){.type = REPLICA_EV_COMPUTED}, NULL);
}

static void compute(struct scene *s, struct process *p, const struct replica_action *action)
{
    assert(action->node_count <= SCENE_SLICES);
    p->computing_step = action->step;
    p->computing_first = action->first_node;
    p->computing_count = action->node_count;
    memcpy(p->computing_from, p->values, sizeof p->values);
    memcpy(p->computing_nodes, &p->core.nodes[action->first_node],
           action->node_count * sizeof p->core.nodes[0]);
    world_after(s->world, 500 + world_below(s->world, 6000) + p->slow_us, computed, s, p->id, 0,
                NULL);
}

void scene_set_able(struct scene *s, struct process *p, bool is_able)
{
    if (!is_able && p->core.computing) { p->computations_lost++; }
    s->counts->incomplete += !is_able;
    world_log(s->world, "worker:%u is %s", p->index, is_able ? "able" : "unable");
    scene_feed(s, p, (struct replica_event){.type = is_able ? REPLICA_EV_ABLE : REPLICA_EV_UNABLE},
               NULL);
}

static void evaluated(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, evaluated, s, data, 0)) { return; }
    scene_feed(s, p, (struct replica_event){.type = REPLICA_EV_EVALUATED}, NULL);
}

/* The values are read when it begins, and the result is known when it ends; a report may come
 * before that with the former one. */
static void evaluate(struct scene *s, struct process *p, const struct replica_action *action)
{
    p->evaluated_step = action->step;
    p->evaluated_digest = scene_digest(s, p->values);
    world_after(s->world, 500 + world_below(s->world, 8000), evaluated, s, p->id, 0, NULL);
}

struct loading {
    struct replica_event event;
    struct body body;
};

static void loaded(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    const struct loading *loading = data;
    (void)b;
    if (!p->alive || is_frozen(world, p, loaded, s, data, sizeof *loading)) { return; }
    scene_feed(s, p, loading->event, &loading->body);
}

static void load(struct scene *s, struct process *p, const struct replica_action *action)
{
    struct loading *loading = calloc(1, sizeof *loading);
    assert(loading != NULL);
    loading->event = (struct replica_event){
        .type = REPLICA_EV_LOADED, .generation = action->generation, .step = action->step};
    for (uint32_t i = 0; i < s->ranges; i++) {
        const struct stored *stored = &s->store[action->checkpoint][i];
        loading->body.values[i] = action->checkpoint == 0 ? s->reference[0][i] : stored->value;
        if (action->checkpoint == 0 || (stored->present && stored->step == action->step)) {
            continue;
        }
        world_fail(s->world, "I3: checkpoint %" PRIu64 " lacks range %u", action->checkpoint, i);
    }
    world_after(s->world, 2000 + world_below(s->world, 30000), loaded, s, p->id, 0, loading);
}

struct saving {
    uint64_t checkpoint, step;
    uint32_t range;
    struct value value;
};

static void saved(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    const struct saving *saving = data;
    (void)b;
    if (!p->alive || is_frozen(world, p, saved, s, data, sizeof *saving)) { return; }
    s->store[saving->checkpoint][saving->range] =
        (struct stored){.present = true, .step = saving->step, .value = saving->value};
    if (saving->checkpoint < p->saved_checkpoint) { return; }
    if (p->saved_checkpoint != saving->checkpoint) { p->saved_ranges = 0; }
    p->saved_checkpoint = saving->checkpoint;
    p->saved_ranges |= 1u << saving->range;
}

static void save(struct scene *s, struct process *p, const struct replica_action *action)
{
    struct saving *saving = calloc(1, sizeof *saving);
    assert(saving != NULL);
    *saving =
        (struct saving){action->checkpoint, action->step, action->range, p->values[action->range]};
    world_after(s->world, 500 + world_below(s->world, 20000), saved, s, p->id, 0, saving);
}

/* ------------------------------------------------------------------ actions */

static void release(uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) { numbers[i] = SCENE_RELEASED; }
}

static void release_held(struct scene *s, struct process *p, uint64_t step)
{
    for (uint32_t i = 0; i < s->ranges; i++) { release(p->held[i][step % 2], SCENE_SLICES); }
}

static void reduce(struct scene *s, struct process *p, const struct replica_action *action,
                   const struct replica_part *parts)
{
    uint64_t slots[SCENE_SLICES];
    memcpy(slots, p->held[action->range][action->step % 2], sizeof slots);
    for (uint32_t i = 0; i < action->part_count; i++) {
        if (parts[i].own == REPLICA_NOT_OWN) { continue; }
        slots[parts[i].first] = p->own[parts[i].own][action->range];
    }
    p->sums[action->range][action->step % SCENE_SUMS] =
        scene_add(s, (struct slice_node){0, s->slices}, parts, action->part_count, slots);
    check_sum(s, p, action->range, action->step);
    release(p->held[action->range][action->step % 2], SCENE_SLICES);
}

static void apply(struct scene *s, struct process *p, uint64_t step)
{
    for (uint32_t i = 0; i < s->ranges; i++) {
        p->values[i] = scene_apply(p->values[i], p->sums[i][step % SCENE_SUMS], step);
        if (step < s->keep_sums) { continue; }
        p->sums[i][(step - s->keep_sums) % SCENE_SUMS] = SCENE_RELEASED; /* No longer kept. */
    }
    release_held(s, p, step);
    if (step + 1 > s->steps) {
        world_fail(s->world, "I2: worker:%u passes the last step", p->index);
        return;
    }
    check_values(s, p, step + 1, "reaches");
    world_log(s->world, "worker:%u is at step %" PRIu64, p->index, step + 1);
}

static void adopt(struct scene *s, struct process *p, const struct replica_action *action,
                  const struct body *body)
{
    assert(body != NULL);
    memcpy(p->values, body->values, sizeof p->values);
    check_values(s, p, action->step, "adopts");
    world_log(s->world, "worker:%u adopts step %" PRIu64 " of generation %" PRIu64, p->index,
              action->step, action->generation);
}

static void push(struct scene *s, struct process *p, const struct replica_action *action)
{
    for (uint32_t k = action->first_node; k < action->first_node + action->node_count; k++) {
        const struct replica_event event = {.type = REPLICA_EV_PUSH,
                                            .generation = action->generation,
                                            .step = action->step,
                                            .range = action->range,
                                            .node = p->core.nodes[k]};
        const struct body body = {.sum = p->own[k][action->range]};
        s->counts->pushes++;
        scene_send(s, p->link[action->peer], false, &event, &body);
    }
}

static void ask(struct scene *s, struct process *p, const struct replica_action *action,
                enum replica_event_type type)
{
    const struct replica_event event = {.type = type,
                                        .generation = action->generation,
                                        .step = action->step,
                                        .range = action->range};
    s->counts->pulls++;
    scene_send(s, p->link[action->peer], false, &event, NULL);
}

static void answer(struct scene *s, struct process *p, const struct replica_action *action,
                   enum replica_event_type type)
{
    const struct replica_event event = {.type = type,
                                        .generation = action->generation,
                                        .step = action->step,
                                        .range = action->range,
                                        .refusal = action->refusal};
    struct body body = {0};
    if (type == REPLICA_EV_SUM) { body.sum = p->sums[action->range][action->step % SCENE_SUMS]; }
    if (type == REPLICA_EV_VALUES) {
        memcpy(body.values, p->values, sizeof p->values);
        s->counts->values_sent++;
    }
    scene_send(s, action->conn, true, &event, &body);
}

static void carry_out(struct scene *s, struct process *p, const struct replica_action *a,
                      const struct replica_part *parts, const struct body *body)
{
    switch (a->type) {
    case REPLICA_DO_HOLD: p->held[a->range][a->step % 2][a->node.first] = body->sum; break;
    case REPLICA_DO_REDUCE: reduce(s, p, a, parts); break;
    case REPLICA_DO_TAKE:
        p->sums[a->range][a->step % SCENE_SUMS] = body->sum;
        check_sum(s, p, a->range, a->step);
        break;
    case REPLICA_DO_APPLY: apply(s, p, a->step); break;
    case REPLICA_DO_FORGET: release(&p->own[0][0], sizeof p->own / sizeof p->own[0][0]); break;
    case REPLICA_DO_DROP:
        if (a->step != STEP_NONE) {
            release_held(s, p, a->step + 1);
        } else {
            release(&p->held[0][0][0], sizeof p->held / sizeof p->held[0][0][0]);
        }
        break;
    case REPLICA_DO_ANSWER: answer(s, p, a, REPLICA_EV_SUM); break;
    case REPLICA_DO_REFUSE: answer(s, p, a, REPLICA_EV_REFUSED); break;
    case REPLICA_DO_COMPUTE: compute(s, p, a); break;
    case REPLICA_DO_PUSH: push(s, p, a); break;
    case REPLICA_DO_FORWARD: scene_forward(s, p, a, parts); break;
    case REPLICA_DO_PULL: ask(s, p, a, REPLICA_EV_PULL); break;
    case REPLICA_DO_PULL_VALUES: ask(s, p, a, REPLICA_EV_PULL_VALUES); break;
    case REPLICA_DO_SEND_VALUES: answer(s, p, a, REPLICA_EV_VALUES); break;
    case REPLICA_DO_ADOPT: adopt(s, p, a, body); break;
    case REPLICA_DO_LOAD: load(s, p, a); break;
    case REPLICA_DO_SAVE: save(s, p, a); break;
    case REPLICA_DO_MISS: p->missed_checkpoint = a->checkpoint; break;
    case REPLICA_DO_EVALUATE: evaluate(s, p, a); break;
    }
}

static void tick(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, tick, s, data, 0)) { return; }
    p->ticks_at_us = 0;
    scene_feed(s, p, (struct replica_event){.type = REPLICA_EV_TICK}, NULL);
}

static void set_timer(struct scene *s, struct process *p)
{
    const uint64_t deadline_ms = replica_deadline_ms(&p->core);
    if (deadline_ms == UINT64_MAX) { return; }
    const uint64_t at_us = u64_max(deadline_ms * 1000, s->world->now_us + 1);
    if (p->ticks_at_us != 0 && p->ticks_at_us <= at_us) { return; }
    p->ticks_at_us = at_us;
    world_at(s->world, at_us, tick, s, p->id, 0, NULL);
}

void scene_feed(struct scene *s, struct process *p, struct replica_event event,
                const struct body *body)
{
    static struct replica_actions actions;
    assert(p->alive);
    event.now_ms = world_ms(s->world);
    replica_handle(&p->core, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct replica_action *action = &actions.items[i];
        carry_out(s, p, action, &actions.parts[action->first_part], body);
    }
    set_timer(s, p);
}

/* ---------------------------------------------------------------- processes */

static void dials(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, dials, s, data, 0)) { return; }
    scene_dial(s, p);
    world_after(world, 3000 + world_below(world, 5000), dials, s, id, 0, NULL);
}

static void reports(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, reports, s, data, 0)) { return; }
    scene_report(s, p);
    world_after(world, 6000 + world_below(world, 10000), reports, s, id, 0, NULL);
}

static void registers(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    if (!p->alive || is_frozen(world, p, registers, s, data, 0)) { return; }
    if (world->now_us < s->zookeeper_down_until_us || s->member[p->index] != 0) {
        world_after(world, 5000 + world_below(world, 10000), registers, s, id, 0, NULL);
        return;
    }
    s->member[p->index] = p->id + 1;
    scene_notify(s, p);
}

void scene_spawn(struct scene *s, uint32_t worker)
{
    struct world *w = s->world;
    assert(worker < s->workers);
    if (s->process_count == SCENE_PROCESSES || s->finished) { return; }
    struct process *p = &s->processes[s->process_count];
    memset(p, 0, sizeof *p);
    p->alive = true;
    p->index = worker;
    p->host = worker * s->hosts / s->workers;
    if (world_chance(w, 50)) { p->host = (uint32_t)world_below(w, s->hosts); }
    p->id = s->process_count++;
    p->evaluated_step = STEP_NONE;
    replica_init(&p->core, &(struct replica_config){.workers = s->workers,
                                                    .ranges = s->ranges,
                                                    .slices = s->slices,
                                                    .index = worker,
                                                    .keep_sums = s->keep_sums});
    world_after(w, 500 + world_below(w, 20000), registers, s, p->id, 0, NULL);
    world_after(w, world_below(w, 3000), dials, s, p->id, 0, NULL);
    world_after(w, world_below(w, 5000), reports, s, p->id, 0, NULL);
}

void scene_die(struct scene *s, struct process *p)
{
    if (!p->alive) { return; }
    p->alive = false;
    world_log(s->world, "worker:%u (process %u) dies at step %" PRIu64, p->index, p->id,
              p->core.step);
    scene_close_all(s, p);
}

static void expires(struct world *world, void *target, uint64_t id, uint64_t b, void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)b;
    (void)data;
    if (world->now_us < s->zookeeper_down_until_us) {
        world_at(world, s->zookeeper_down_until_us + world_below(world, 20000), expires, s, id, 0,
                 NULL);
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

/* Its agent closes the session at once, or the session expires. */
void scene_kill(struct scene *s, struct process *p)
{
    struct world *w = s->world;
    s->counts->kills++;
    scene_die(s, p);
    if (s->member[p->index] != p->id + 1) { return; }
    const bool host = world_chance(w, 250);
    const uint64_t gone_us = host ? SCENE_SESSION_US : 1000 + world_below(w, 15000);
    world_after(w, gone_us, expires, s, p->id, 0, NULL);
    world_after(w, gone_us + world_below(w, world_chance(w, 300) ? 300000 : 20000), spawns, s,
                p->index, 0, NULL);
}
