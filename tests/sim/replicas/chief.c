/*
 * A model of the chief, without its fence: it decides by registrations and reports alone, and
 * a successor knows only those and the contents of ZooKeeper. Its rules are those that a strategy
 * without ps needs:
 *
 *   forming -> loading    every worker is registered and has reported
 *   loading -> running    one holds the values
 *   running -> paused     no registered worker is known to hold them: count
 *   paused -> running     the count is complete, and one does
 *   paused -> loading     the count is complete, and none does
 *   running -> stopping   one has reached the last step
 *   stopping -> done      that step is committed and evaluated
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/replicas/scene.h"

/* ------------------------------------------------------------------ orders */

struct orders {
    struct run run;
    uint16_t writers[RANGES_MAX];
    struct assignment assignment;
};

static uint64_t watch_us(struct scene *s)
{
    if (world_chance(s->world, 65)) { return world_below(s->world, 200000); }
    return 500 + world_below(s->world, 12000);
}

/* A read returns the present contents: orders in between are never seen. */
static void reads(struct world *world, void *target, uint64_t id, uint64_t is_assignment,
                  void *data)
{
    struct scene *s = target;
    struct process *p = &s->processes[id];
    (void)data;
    if (!p->alive) { return; }
    const uint64_t later_us = u64_max(s->zookeeper_down_until_us, p->frozen_until_us);
    if (later_us > world->now_us) {
        world_at(world, later_us + watch_us(s), reads, s, id, is_assignment, NULL);
        return;
    }
    if (p->expired || s->member[p->index] != p->id + 1) { return; }
    struct replica_event event = {.type = REPLICA_EV_RUN, .run = &s->run, .writers = s->writers};
    if (is_assignment) {
        event = (struct replica_event){.type = REPLICA_EV_ASSIGNMENT, .assignment = &s->assignment};
    }
    scene_feed(s, p, event, NULL);
}

void scene_notify(struct scene *s, const struct process *p)
{
    assert(p->alive);
    world_after(s->world, watch_us(s), reads, s, p->id, 0, NULL);
    world_after(s->world, watch_us(s), reads, s, p->id, 1, NULL);
}

static void notify_all(struct scene *s)
{
    for (uint32_t i = 0; i < s->process_count; i++) {
        if (s->processes[i].alive) { scene_notify(s, &s->processes[i]); }
    }
}

static void write_run(struct scene *s, enum run_phase phase)
{
    s->run.phase = phase;
    s->run.revision++;
    world_log(s->world,
              "chief: %s, generation %" PRIu64 ", until %" PRIu64 ", save %" PRIu64 " at %" PRIu64,
              run_phase_name(phase), s->run.generation, s->run.until, s->run.save_checkpoint,
              s->run.save_step);
    notify_all(s);
}

/* ------------------------------------------------------------- what it knows */

static bool is_known(const struct scene *s, uint32_t worker)
{
    const struct observed *o = &s->observed[worker];
    return o->known && s->member[worker] == o->process + 1;
}

static bool is_holder(const struct scene *s, uint32_t worker)
{
    const struct observed *o = &s->observed[worker];
    return is_known(s, worker) && o->whole && o->generation == s->run.generation;
}

struct view {
    uint32_t registered, unknown, holders, counted;
    uint64_t furthest;
};

static struct view look(const struct scene *s)
{
    struct view v = {0};
    for (uint32_t w = 0; w < s->workers; w++) {
        const struct observed *o = &s->observed[w];
        if (s->member[w] == 0) { continue; }
        v.registered++;
        v.unknown += !is_known(s, w);
        v.holders += is_holder(s, w);
        v.counted += is_known(s, w) && o->revision >= s->run.revision;
        if (is_holder(s, w)) { v.furthest = u64_max(v.furthest, o->step); }
    }
    v.furthest = u64_max(v.furthest, s->run.load_step);
    return v;
}

struct report {
    struct observed observed;
    uint32_t worker;
};

static void report_arrives(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    const struct report *report = data;
    struct observed *o = &s->observed[report->worker];
    (void)world;
    (void)a;
    (void)b;
    if (!s->chief_up || s->member[report->worker] != report->observed.process + 1) { return; }
    const bool is_older =
        o->known && o->process == report->observed.process &&
        (o->revision > report->observed.revision ||
         (o->generation == report->observed.generation && o->step > report->observed.step));
    if (!is_older) { *o = report->observed; }
}

void scene_report(struct scene *s, const struct process *p)
{
    struct report *report = calloc(1, sizeof *report);
    assert(report != NULL);
    report->worker = p->index;
    report->observed = (struct observed){
        .known = true,
        .process = p->id,
        .whole = p->core.whole,
        .generation = p->core.generation,
        .step = p->core.step,
        .revision = p->core.revision,
        .saved_checkpoint = p->saved_checkpoint,
        .missed_checkpoint = p->missed_checkpoint,
        .saved_ranges = p->saved_ranges,
        .waits_for_checkpoint = replica_waits_for_checkpoint(&p->core),
        .evaluated_step = p->core.evaluating ? STEP_NONE : p->evaluated_step,
        .evaluated_digest = p->evaluated_digest,
    };
    world_after(s->world, scene_delay_us(s), report_arrives, s, 0, 0, report);
}

/* ----------------------------------------------------------------- decisions */

static uint64_t multiple_after(uint64_t step, uint64_t every)
{
    return every == 0 ? 0 : (step / every + 1) * every;
}

/* The first that is due after the last result, and after the step that was loaded. */
static void order_evaluation(struct scene *s)
{
    const uint64_t done = s->run.evaluation.step == STEP_NONE ? 0 : s->run.evaluation.step;
    const uint64_t after = u64_max(done, s->run.load_step);
    const uint64_t multiple = multiple_after(after, s->evaluate_every);
    s->run.evaluate_step = multiple != 0 ? u64_min(multiple, s->run.until) : s->run.until;
}

static void check_that_none_holds(struct scene *s)
{
    for (uint32_t i = 0; s->run.generation != 0 && i < s->process_count; i++) {
        const struct process *p = &s->processes[i];
        if (!scene_holds(s, p)) { continue; }
        world_fail(s->world, "I19: a load is ordered while worker:%u holds step %" PRIu64, p->index,
                   p->core.step);
    }
}

static void begin_generation(struct scene *s)
{
    struct run *run = &s->run;
    run->generation++;
    run->load_checkpoint = run->committed_checkpoint;
    run->load_step = run->committed_step;
    run->save_checkpoint = run->save_step = 0;
    run->save_due = multiple_after(run->load_step, s->checkpoint_every);
    /* An evaluation of a step after the checkpoint is made again. */
    if (run->evaluation.step != STEP_NONE && run->evaluation.step > run->load_step) {
        run->evaluation.step = STEP_NONE;
    }
    order_evaluation(s);
    s->counts->loads++;
    write_run(s, RUN_LOADING);
}

static void load(struct scene *s)
{
    check_that_none_holds(s);
    begin_generation(s);
}

void scene_request_restore(struct scene *s)
{
    if (!s->chief_up || s->run.phase != RUN_RUNNING) { return; }
    s->counts->restores++;
    begin_generation(s);
}

static void assign(struct scene *s, bool at_whim)
{
    uint32_t holders[SCENE_WORKERS], count = 0;
    bool owns[SCENE_WORKERS] = {false};
    struct assignment next = s->assignment;
    for (uint32_t w = 0; w < s->workers; w++) {
        if (is_holder(s, w)) { holders[count++] = w; }
    }
    if (count == 0) { return; }
    for (uint32_t v = 0; v < s->slices; v++) {
        const uint32_t w = next.worker[v];
        const bool gone =
            w >= s->workers || s->member[w] == 0 || (is_known(s, w) && !is_holder(s, w));
        if (gone) { next.worker[v] = (uint16_t)holders[world_below(s->world, count)]; }
        owns[next.worker[v]] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        at_whim = at_whim || (!owns[holders[i]] && world_chance(s->world, 300));
    }
    const bool in_order = world_chance(s->world, 500);
    for (uint32_t v = 0; at_whim && v < s->slices; v++) {
        const uint64_t i = in_order ? v * count / s->slices : world_below(s->world, count);
        next.worker[v] = (uint16_t)holders[i];
    }
    if (memcmp(&next, &s->assignment, sizeof next) == 0) { return; }
    s->assignment = next;
    s->counts->moves++;
    world_log(s->world, "chief: slices move");
    notify_all(s);
}

static void commit(struct scene *s)
{
    struct run *run = &s->run;
    for (uint32_t i = 0; i < s->ranges; i++) {
        const struct stored *stored = &s->store[run->save_checkpoint][i];
        const struct value *expected = &s->reference[run->save_step][i];
        if (stored->present && stored->step == run->save_step &&
            stored->value.parameter == expected->parameter &&
            stored->value.moment == expected->moment) {
            continue;
        }
        world_fail(s->world,
                   "I3: checkpoint %" PRIu64 " of step %" PRIu64 " is committed without range %u",
                   run->save_checkpoint, run->save_step, i);
    }
    run->committed_checkpoint = run->save_checkpoint;
    run->committed_step = run->save_step;
    s->counts->commits++;
}

/* True: an order stands. */
static bool check_order(struct scene *s)
{
    struct run *run = &s->run;
    uint32_t saved = 0;
    bool fails = false, waits = false;
    if (run->save_checkpoint == 0) { return false; }
    for (uint32_t i = 0; i < s->ranges; i++) {
        const struct observed *o = &s->observed[s->writers[i]];
        if (s->member[s->writers[i]] == 0) { fails = true; }
        if (!is_known(s, s->writers[i])) { continue; }
        fails = fails || o->missed_checkpoint == run->save_checkpoint;
        saved += o->saved_checkpoint == run->save_checkpoint && (o->saved_ranges >> i & 1) != 0;
    }
    for (uint32_t w = 0; w < s->workers; w++) {
        waits = waits || (is_holder(s, w) && run->save_due != 0 &&
                          s->observed[w].waits_for_checkpoint == run->save_due);
    }
    if (saved == s->ranges) { commit(s); }
    if (saved == s->ranges || fails) {
        run->save_checkpoint = 0;
        write_run(s, run->phase);
    } else if (waits) {
        run->save_due = multiple_after(run->save_due, s->checkpoint_every);
        s->counts->skips++;
        write_run(s, run->phase);
    }
    return run->save_checkpoint != 0;
}

/* The step of the checkpoint that is wanted now; STEP_NONE: none. */
static uint64_t wanted_step(struct scene *s, uint64_t furthest)
{
    const struct run *run = &s->run;
    const uint64_t ahead = furthest + 1 + world_below(s->world, 3);
    if (run->phase == RUN_STOPPING) { return run->until; }
    if (run->save_due != 0 && run->save_due < run->until) {
        return run->save_due <= ahead + 3 ? run->save_due : STEP_NONE;
    }
    return ahead < run->until && world_chance(s->world, 40) ? ahead : STEP_NONE;
}

static void checkpoints(struct scene *s, uint64_t furthest)
{
    struct run *run = &s->run;
    if (check_order(s) || run->committed_step == run->until) { return; }
    const uint64_t step = wanted_step(s, furthest);
    if (step == STEP_NONE || run->last_checkpoint + 1 >= SCENE_CHECKPOINTS) { return; }
    ranges_owners(&s->assignment, s->workers, s->ranges, s->writers);
    for (uint32_t i = 0; i < s->ranges; i++) {
        if (s->writers[i] >= s->workers || !is_holder(s, s->writers[i])) { return; }
    }
    run->save_checkpoint = ++run->last_checkpoint;
    run->save_step = step;
    if (step == run->save_due) { run->save_due = multiple_after(step, s->checkpoint_every); }
    write_run(s, run->phase);
}

static void evaluations(struct scene *s)
{
    struct run *run = &s->run;
    for (uint32_t w = 0; w < s->workers; w++) {
        const struct observed *o = &s->observed[w];
        if (!is_known(s, w) || o->generation != run->generation) { continue; }
        if (run->evaluate_step == STEP_NONE || o->evaluated_step != run->evaluate_step) {
            continue;
        }
        if (o->evaluated_digest != scene_digest(s, s->reference[o->evaluated_step])) {
            world_fail(s->world, "I6: worker:%u evaluates other values of step %" PRIu64, w,
                       o->evaluated_step);
        }
        const uint64_t before = run->evaluation.step == STEP_NONE ? 0 : run->evaluation.step;
        const uint64_t due = multiple_after(u64_max(before, run->load_step), s->evaluate_every);
        if (due != 0 && due < o->evaluated_step) {
            world_fail(s->world, "I14: step %" PRIu64 " was not evaluated", due);
        }
        run->evaluation.step = run->evaluate_step;
        s->counts->evaluations++;
        run->evaluate_step = STEP_NONE;
        if (run->evaluation.step < run->until) { order_evaluation(s); }
        write_run(s, run->phase);
    }
}

/* A worker passed the end before it read of it. */
static void repair_end(struct scene *s, uint64_t furthest)
{
    struct run *run = &s->run;
    if (furthest <= run->until) { return; }
    run->until = u64_min(furthest + 6, s->steps);
    order_evaluation(s);
    write_run(s, RUN_RUNNING);
}

void scene_request_stop(struct scene *s)
{
    const struct view v = look(s);
    struct run *run = &s->run;
    if (!s->chief_up || run->phase != RUN_RUNNING || v.holders == 0) { return; }
    const uint64_t until = u64_max(v.furthest, run->committed_step) + 4;
    if (until >= run->until) { return; }
    run->until = until;
    order_evaluation(s);
    if (run->save_step > until) { run->save_checkpoint = run->save_step = 0; }
    s->counts->stops++;
    write_run(s, RUN_RUNNING);
}

static void train(struct scene *s, const struct view *v)
{
    struct run *run = &s->run;
    if (v->registered > 0 && v->holders == 0 && v->unknown == 0) {
        s->counts->pauses++;
        write_run(s, RUN_PAUSED);
        return;
    }
    assign(s, world_chance(s->world, s->healed ? 2 : 40));
    repair_end(s, v->furthest);
    evaluations(s);
    checkpoints(s, v->furthest);
    if (run->phase == RUN_RUNNING && v->holders > 0 && v->furthest == run->until) {
        write_run(s, RUN_STOPPING);
    }
    if (run->phase != RUN_STOPPING || run->committed_step != run->until) { return; }
    if (run->evaluation.step != run->until) { return; }
    write_run(s, RUN_DONE);
    s->finished = true;
}

static void decide(struct scene *s)
{
    const struct view v = look(s);
    switch (s->run.phase) {
    case RUN_FORMING:
        if (v.registered == s->workers && v.unknown == 0) { load(s); }
        break;
    case RUN_LOADING:
        if (v.holders > 0) { write_run(s, RUN_RUNNING); }
        break;
    case RUN_RUNNING:
    case RUN_STOPPING: train(s, &v); break;
    case RUN_PAUSED: /* Each report is from after the pause was read: none becomes a holder. */
        if (v.holders > 0) {
            write_run(s, RUN_RUNNING);
        } else if (v.registered > 0 && v.counted == v.registered) {
            load(s);
        }
        break;
    default: break;
    }
}

static void thinks(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    struct scene *s = target;
    (void)data;
    if (s->chief_up && world->now_us >= s->zookeeper_down_until_us) { decide(s); }
    if (s->finished) { return; }
    world_after(world, 2000 + world_below(world, 12000), thinks, s, a, b, NULL);
}

void scene_chief_start(struct scene *s)
{
    s->chief_up = true;
    s->run = (struct run){.phase = RUN_FORMING, .until = s->steps, .ending = true};
    s->run.evaluate_step = s->run.evaluation.step = STEP_NONE;
    s->assignment.slice_count = s->slices;
    for (uint32_t v = 0; v < SLICES_MAX; v++) { s->assignment.worker[v] = UINT16_MAX; }
    world_after(s->world, 1000, thinks, s, 0, 0, NULL);
}
