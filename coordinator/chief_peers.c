/* The state of the members, as their reports show it: which nodes hold the generation, which
 * steps they have reached, and which tasks are missing. */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

/* The last step that any node may reach: the end, whatever orders moved it. */
static uint64_t step_limit(const struct chief *c)
{
    const struct run *next = c->writing ? &c->write.run : &c->run;
    uint64_t known = u64_max(c->run.until, c->run.load_step);
    return u64_max(c->config.steps, u64_max(known, u64_max(next->until, next->load_step)));
}

static bool registered_otherwise(const struct chief_peer *peers, uint32_t count, enum role role,
                                 const struct report *report)
{
    assert(count <= TASKS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        bool own = role == report->task.role && i == report->task.index;
        if (peers[i].present && peers[i].incarnation == report->incarnation && !own) {
            return true;
        }
    }
    return false;
}

const char *chief_refuses_report(const struct chief *c, const struct report *report)
{
    const struct run *next = c->writing ? &c->write.run : &c->run;
    assert(report != NULL);
    if (registered_otherwise(c->ps, c->config.ps, ROLE_PS, report) ||
        registered_otherwise(c->workers, c->config.workers, ROLE_WORKER, report) ||
        registered_otherwise(&c->evaluator, c->config.evaluators, ROLE_EVALUATOR, report)) {
        return "its sender is registered as another task";
    }
    /* Before its election the chief knows no orders; it checks what it kept when it is elected. */
    if (!c->elected) { return NULL; }
    if (report->step > step_limit(c)) { return "its step is beyond the last one"; }
    uint64_t generation = u64_max(report->generation, report->disk_generation);
    if (generation > u64_max(next->generation, CHIEF_RAISE_MAX)) {
        return "its generation is too high";
    }
    if (report->disk_epoch > u64_max(c->epoch, CHIEF_RAISE_MAX)) {
        return "the epoch on its disk is too high";
    }
    if (u64_max(report->disk_checkpoint, report->disk_last_checkpoint) >
        u64_max(next->last_checkpoint, CHIEF_RAISE_MAX)) {
        return "the id of a checkpoint on its disk is too high";
    }
    return NULL;
}

struct chief_peer *chief_peer_of(struct chief *c, struct task task)
{
    if (task.role == ROLE_PS && task.index < c->config.ps) { return &c->ps[task.index]; }
    if (task.role == ROLE_WORKER && task.index < c->config.workers) {
        return &c->workers[task.index];
    }
    if (task.role == ROLE_EVALUATOR && task.index < c->config.evaluators) { return &c->evaluator; }
    return NULL;
}

/* R6: a report whose sender /members did not show yet. */
const struct report *chief_early_report(const struct chief_peer *peer, uint64_t incarnation)
{
    assert(peer != NULL);
    for (uint32_t i = 0; i < CHIEF_EARLY_MAX && incarnation != 0; i++) {
        if (peer->early[i].incarnation == incarnation) { return &peer->early[i]; }
    }
    return NULL;
}

void chief_keep_early(struct chief_peer *peer, const struct report *report)
{
    assert(peer->early_next < CHIEF_EARLY_MAX);
    for (uint32_t i = 0; i < CHIEF_EARLY_MAX; i++) {
        struct report *kept = &peer->early[i];
        if (kept->incarnation != report->incarnation) { continue; }
        if (report->sequence >= kept->sequence) { *kept = *report; }
        return;
    }
    peer->early[peer->early_next] = *report;
    peer->early_next = (peer->early_next + 1) % CHIEF_EARLY_MAX;
}

bool chief_worker_ready(const struct chief_peer *peer)
{
    assert(peer->known || !peer->present);
    return peer->present && peer->reported && peer->report.ready != 0;
}

uint32_t chief_holder_count(const struct chief *c)
{
    assert(c->strategy->holder == ROLE_PS || c->strategy->holder == ROLE_WORKER);
    return c->strategy->holder == ROLE_PS ? c->config.ps : c->config.workers;
}

const struct chief_peer *chief_holder(const struct chief *c, uint32_t index)
{
    assert(index < chief_holder_count(c));
    return c->strategy->holder == ROLE_PS ? &c->ps[index] : &c->workers[index];
}

struct task chief_holder_task(const struct chief *c, uint32_t index)
{
    assert(index < chief_holder_count(c));
    return (struct task){.role = c->strategy->holder, .index = index};
}

bool chief_holder_reported(const struct chief *c, uint32_t index)
{
    const struct chief_peer *holder = chief_holder(c, index);
    assert(holder->known || !holder->present);
    return holder->present && holder->reported;
}

bool chief_has_reported(const struct chief *c, const struct run *run)
{
    const uint32_t count = chief_holder_count(c);
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        if (c->strategy->is_awaited(c, run, i)) { return false; }
    }
    return true;
}

bool chief_holds(const struct chief *c, const struct run *run, uint32_t index)
{
    assert(run != NULL);
    return chief_holder_reported(c, index) &&
           chief_holder(c, index)->report.generation == run->generation && run->generation != 0;
}

bool chief_load_failed(const struct chief *c, const struct run *run, uint32_t index)
{
    const struct report *report = &chief_holder(c, index)->report;
    assert(run != NULL);
    return chief_holder_reported(c, index) && report->failed_load_generation == run->generation &&
           report->failed_load == run->load_checkpoint;
}

/* A lost holder counts, too: the steps that it reached are those that may be lost. */
static uint64_t highest_reported_step(const struct chief *c, const struct run *run)
{
    const uint32_t count = chief_holder_count(c);
    uint64_t step = 0;
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (report->generation == run->generation) { step = u64_max(step, report->step); }
    }
    return step;
}

uint64_t chief_max_step(const struct chief *c, const struct run *run)
{
    assert(run != NULL);
    /* A new chief may have no report yet: a ps that died with the former one sends none. */
    uint64_t step = u64_max(run->load_step, run->committed_step);
    if (run->evaluation.step != STEP_NONE) { step = u64_max(step, run->evaluation.step); }
    return u64_max(step, highest_reported_step(c, run));
}

static uint32_t workers_ready(const struct chief *c, const struct run *run)
{
    assert(c->config.workers <= WORKERS_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->config.workers; i++) { count += chief_worker_agrees(c, run, i); }
    return count;
}

/* Why a holder is absent; "": unknown. A chief that was elected after the holder had left finds it
 * in /run. */
static const char *cause_of_absence(const struct chief *c, const struct run *run, uint32_t index)
{
    const struct recovery *recovery = &run->recovery;
    const struct chief_peer *peer = chief_holder(c, index);
    assert(!peer->present);
    if (peer->cause[0] != '\0') { return peer->cause; }
    bool recorded = recovery->kind == c->strategy->recovery &&
                    recovery->task.role == c->strategy->holder && recovery->task.index == index;
    return recorded ? recovery->cause : "";
}

static void name_holder(struct text *text, const struct chief *c, const struct run *run,
                        uint32_t index)
{
    const struct chief_peer *peer = chief_holder(c, index);
    const bool is_drained = !peer->present && peer->report.leaving != 0;
    const char *cause = peer->present ? "no report yet" : cause_of_absence(c, run, index);
    task_append(text, chief_holder_task(c, index));
    if (!is_drained && cause[0] == '\0') { return; }
    text_add(text, is_drained ? " (drained from " : " (");
    text_add(text, is_drained ? peer->report.place : cause);
    text_add(text, ")");
}

static void name_refused(const struct chief *c, const struct run *run, struct text *text)
{
    assert(c->config.workers <= WORKERS_MAX);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (!chief_worker_ready(&c->workers[i]) || chief_worker_agrees(c, run, i)) { continue; }
        text_add(text, "; ");
        task_append(text, (struct task){.role = ROLE_WORKER, .index = i});
        text_add(text, inputs_data_agree(&run->inputs, &c->workers[i].report.inputs)
                           ? " refused: other kernels"
                           : " refused: other data");
    }
}

bool chief_name_missing(const struct chief *c, const struct run *run,
                        char reason[static RUN_TEXT_MAX])
{
    assert(c->elected);
    struct text text = text_begin(reason, RUN_TEXT_MAX);
    text_add(&text, "waiting for ");
    uint32_t named = 0;
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        if (!c->strategy->is_awaited(c, run, i)) { continue; }
        if (named++ > 0) { text_add(&text, ", "); }
        name_holder(&text, c, run, i);
    }
    uint32_t ready = workers_ready(c, run), wanted = c->config.min_workers;
    if (run->phase == RUN_FORMING && ready < wanted) {
        if (named++ > 0) { text_add(&text, ", "); }
        text_add(&text, "workers (");
        text_add_number(&text, ready);
        text_add(&text, " of ");
        text_add_number(&text, wanted);
        text_add(&text, " ready");
        name_refused(c, run, &text);
        text_add(&text, ")");
    }
    return named > 0;
}

/* M8: a worker that reports this order or a later one has read of the pause. */
void chief_note_pause(struct chief *c)
{
    const bool stands = c->run.phase == RUN_PAUSED || c->run.phase == RUN_HELD;
    if (stands && c->pause_revision != 0) { return; }
    c->pause_epoch = stands ? c->run.epoch : 0;
    c->pause_revision = stands ? c->run.revision : 0;
}

void chief_take_report(struct chief *c, struct chief_peer *peer, const struct report *report)
{
    assert(peer->present);
    const bool leaves_already = peer->reported && peer->report.leaving != 0;
    const bool is_first = !peer->reported || peer->report.leaving != LEAVING_WITHOUT_SLICES ||
                          peer->report.generation != report->generation;
    if (report->leaving != 0 && !leaves_already) { c->departs_ms = c->now_ms; }
    if (report->leaving == LEAVING_WITHOUT_SLICES && is_first) { peer->own_step = report->step; }
    peer->report = *report;
    peer->reported = true;
    peer->heard_ms = c->now_ms;
}

/* The measurement starts with the first report that a holder sends in our term. Steps made before
 * it must not count: the rate would be far too high, and the next checkpoint would be ordered for a
 * step that is not reached in time. */
void chief_measure_rate(struct chief *c, const struct report *report)
{
    assert(c->rate_at_ms <= c->now_ms);
    if (report->task.role != c->strategy->holder || report->generation != c->run.generation) {
        return;
    }
    uint64_t step = chief_max_step(c, &c->run), passed_ms = c->now_ms - c->rate_at_ms;
    bool known = c->rate_step != STEP_NONE;
    if (known && passed_ms < CHIEF_RATE_MS) { return; }
    if (known && step >= c->rate_step) { c->rate = (step - c->rate_step) * 1000 / passed_ms; }
    c->rate_step = step;
    c->rate_at_ms = c->now_ms;
}
