/*
 * phase                event                                  next
 * WORKING              DRAIN                                  DRAINING
 * WORKING, DRAINING    JOB_ENDED                              LEAVING
 * WORKING, DRAINING    STOP, or a verdict                     STOPPING
 * DRAINING             no node runs, or the deadline passed   STOPPING, unless for a change
 * DRAINING             CHANGED                                WORKING
 * LEAVING              STOP, or SUPERVISOR_LEAVE_MS passed    STOPPING
 * LEAVING, STOPPING    no child runs                          OVER
 */
#include "agent/supervisor.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include "agent/supervisor_private.h"
#include "common/base/minmax.h"
#include "tanist/status.h"

void supervisor_act(struct supervisor_actions *out, enum supervisor_action_type type,
                    uint32_t child, enum supervisor_verdict verdict)
{
    assert(out->count < SUPERVISOR_ACTIONS_MAX);
    out->list[out->count++] =
        (struct supervisor_action){.type = type, .child = child, .verdict = verdict};
}

/* Whether the child is restarted when it ends. */
static bool restarts(const struct supervisor *supervisor, const struct supervised *child)
{
    if (child->unwanted) { return false; }
    if (supervisor->phase == SUPERVISOR_WORKING) { return true; }
    if (supervisor->phase != SUPERVISOR_DRAINING) { return false; }
    return child->kind == CHILD_SERVER || child->stage > supervisor->stage;
}

static void spawn(struct supervisor *supervisor, uint32_t index, struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(index < supervisor->count);
    assert(restarts(supervisor, child));
    assert(!supervised_runs(child));
    child->state = CHILD_STARTING;
    child->drained = child->killed = child->terminated = child->member_seen = child->left =
        child->asked = false;
    child->spare = false;
    child->member_lost_ms = 0;
    child->starts++;
    supervisor_act(out, DO_SPAWN, index, VERDICT_NONE);
}

void supervisor_start(struct supervisor *supervisor, enum child_kind kind,
                      struct supervisor_actions *out)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        const struct supervised *child = &supervisor->children[i];
        if (child->kind == kind && child->state == CHILD_IDLE && !child->unwanted) {
            spawn(supervisor, i, out);
        }
    }
}

bool supervisor_kill(struct supervisor *supervisor, uint32_t index, struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(index < supervisor->count);
    if (child->state != CHILD_ALIVE || child->killed) { return false; }
    child->killed = true;
    supervisor_act(out, DO_KILL, index, VERDICT_NONE);
    return true;
}

static void terminate_child(struct supervisor *supervisor, uint32_t index,
                            struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(index < supervisor->count);
    assert(supervisor->phase > SUPERVISOR_DRAINING);
    if (child->state == CHILD_WAITING) { child->state = CHILD_IDLE; }
    if (child->state != CHILD_ALIVE || child->terminated || child->killed) { return; }
    child->terminated = true;
    supervisor_act(out, DO_TERMINATE, index, VERDICT_NONE);
}

bool supervisor_any_runs(const struct supervisor *supervisor, enum child_kind kind)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        if (supervisor->children[i].kind == kind && supervised_runs(&supervisor->children[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a child of `kind` runs that was not sent SIGKILL yet. */
static bool any_to_kill(const struct supervisor *supervisor, enum child_kind kind)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        const struct supervised *child = &supervisor->children[i];
        if (child->kind == kind && child->state == CHILD_ALIVE && !child->killed) { return true; }
    }
    return false;
}

/* Phases only advance. */
static void enter(struct supervisor *supervisor, int phase, uint64_t now_ms)
{
    assert(phase > SUPERVISOR_WORKING && phase < SUPERVISOR_OVER);
    if ((int)supervisor->phase >= phase) { return; }
    supervisor->phase = phase;
    supervisor->phase_ms = now_ms;
}

static void set_sessions(struct supervisor *supervisor, int state, uint64_t now_ms)
{
    assert((int)supervisor->sessions < state);
    supervisor->sessions = state;
    supervisor->sessions_ms = now_ms;
}

/* Between the end of the last node and that of the servers. */
static void close_sessions(struct supervisor *supervisor, uint64_t now_ms,
                           struct supervisor_actions *out)
{
    assert(!supervisor_any_runs(supervisor, CHILD_NODE));
    if (supervisor->sessions == SESSIONS_OPEN && !supervisor->forced) {
        set_sessions(supervisor, SESSIONS_CLOSING, now_ms);
        supervisor_act(out, DO_CLOSE_SESSIONS, 0, VERDICT_NONE);
        return;
    }
    bool open = supervisor->sessions < SESSIONS_CLOSED;
    if (open &&
        (supervisor->forced || now_ms >= supervisor->sessions_ms + SUPERVISOR_SESSIONS_MS)) {
        set_sessions(supervisor, SESSIONS_ABANDONED, now_ms);
        supervisor_act(out, DO_ABANDON_SESSIONS, 0, VERDICT_NONE);
    }
}

/* S5, S6: the next step towards the end of a child. */
static void stop_child(struct supervisor *supervisor, uint32_t index, uint64_t now_ms,
                       struct supervisor_actions *out)
{
    bool node = supervisor->children[index].kind == CHILD_NODE;
    bool due =
        node ? supervisor->phase == SUPERVISOR_STOPPING : supervisor->sessions >= SESSIONS_CLOSED;
    uint64_t since_ms = node ? supervisor->phase_ms : supervisor->sessions_ms;
    /* A child that has not reacted for this time does not react to SIGTERM either. */
    bool silent = node ? supervisor->drain_late : supervisor->sessions == SESSIONS_ABANDONED;
    assert(!due || since_ms <= now_ms);
    if (supervisor->forced || (due && (silent || now_ms >= since_ms + SUPERVISOR_GRACE_MS))) {
        (void)supervisor_kill(supervisor, index, out);
    } else if (due) {
        terminate_child(supervisor, index, out);
    }
}

static void ask_to_leave(struct supervisor *supervisor, uint32_t index, uint64_t now_ms,
                         struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(child->kind == CHILD_NODE);
    if (child->state != CHILD_ALIVE || child->drained) { return; }
    child->drained = true;
    child->drained_ms = now_ms;
    supervisor_act(out, DO_DRAIN, index, VERDICT_NONE);
}

/* S13. */
static void release_unwanted(struct supervisor *supervisor, uint64_t now_ms,
                             struct supervisor_actions *out)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    if (supervisor->phase > SUPERVISOR_DRAINING) { return; }
    for (uint32_t i = 0; i < supervisor->count; i++) {
        struct supervised *child = &supervisor->children[i];
        if (!child->unwanted) { continue; }
        if (child->state == CHILD_WAITING) { child->state = CHILD_IDLE; }
        ask_to_leave(supervisor, i, now_ms, out);
        if (child->drained && now_ms >= child->drained_ms + SUPERVISOR_UNWANTED_MS) {
            (void)supervisor_kill(supervisor, i, out);
        }
    }
}

/* S13: earlier faults no longer count. */
static void want(struct supervisor *supervisor, uint32_t index, struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(child->kind == CHILD_NODE);
    if (!child->unwanted) { return; }
    child->unwanted = false;
    child->faults = child->delay_ms = 0;
    if (supervisor->started && child->state == CHILD_IDLE && restarts(supervisor, child)) {
        spawn(supervisor, index, out);
    }
}

static void drain(struct supervisor *supervisor, uint64_t now_ms, struct supervisor_actions *out)
{
    if (supervisor->phase != SUPERVISOR_DRAINING) { return; }
    if (now_ms >= supervisor->drain_until_ms) {
        supervisor->drain_late = true;
        if (!supervisor->changes) {
            enter(supervisor, SUPERVISOR_STOPPING, now_ms);
            return;
        }
        supervisor_kill_late(supervisor, out);
    }
    for (; supervisor->stage < DRAIN_STAGES; supervisor->stage++) {
        bool waits = false;
        for (uint32_t i = 0; i < supervisor->count; i++) {
            struct supervised *child = &supervisor->children[i];
            if (child->kind != CHILD_NODE || child->stage != supervisor->stage) { continue; }
            if (child->state == CHILD_WAITING) { child->state = CHILD_IDLE; }
            waits = waits || supervised_runs(child);
            ask_to_leave(supervisor, i, now_ms, out);
        }
        if (waits) { return; }
    }
    if (supervisor->changes) {
        supervisor_ask_change(supervisor, out);
        return;
    }
    supervisor->drained = !supervisor->drain_lost;
    enter(supervisor, SUPERVISOR_STOPPING, now_ms);
}

/* Advances the end: nodes first, then sessions, then servers, then DO_END (S5, S6). */
static void wind_down(struct supervisor *supervisor, uint64_t now_ms,
                      struct supervisor_actions *out)
{
    if (supervisor->phase <= SUPERVISOR_DRAINING || supervisor->phase == SUPERVISOR_OVER) {
        return;
    }
    assert(supervisor->phase_ms <= now_ms);
    if (supervisor->phase == SUPERVISOR_LEAVING &&
        now_ms >= supervisor->phase_ms + SUPERVISOR_LEAVE_MS) {
        enter(supervisor, SUPERVISOR_STOPPING, now_ms);
    }
    if (!supervisor_any_runs(supervisor, CHILD_NODE)) { close_sessions(supervisor, now_ms, out); }
    for (uint32_t i = 0; i < supervisor->count; i++) { stop_child(supervisor, i, now_ms, out); }
    if (supervisor->sessions >= SESSIONS_CLOSED && !supervisor_any_runs(supervisor, CHILD_NODE) &&
        !supervisor_any_runs(supervisor, CHILD_SERVER)) {
        supervisor->phase = SUPERVISOR_OVER;
        supervisor_act(out, DO_END, 0, VERDICT_NONE);
    }
}

static void fail(struct supervisor *supervisor, uint32_t index, enum supervisor_verdict verdict,
                 uint64_t now_ms, struct supervisor_actions *out)
{
    assert(verdict != VERDICT_NONE);
    assert(index < supervisor->count);
    if (supervisor->failed) { return; }
    supervisor->failed = true;
    supervisor_act(out, DO_FAIL, index, verdict);
    enter(supervisor, SUPERVISOR_STOPPING, now_ms);
}

static void restart_due(struct supervisor *supervisor, uint64_t now_ms,
                        struct supervisor_actions *out)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        struct supervised *child = &supervisor->children[i];
        if (!restarts(supervisor, child)) { continue; }
        if (child->state != CHILD_WAITING || now_ms < child->restart_at_ms) { continue; }
        if (!child->left) {
            spawn(supervisor, i, out);
        } else if (!child->asked) {
            child->asked = true;
            supervisor_act(out, DO_READ_RUN, i, VERDICT_NONE);
        }
    }
}

/* S7: the nodes for which /run was read may restart. */
static void job_continues(struct supervisor *supervisor)
{
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        if (supervisor->children[i].asked) { supervisor->children[i].left = false; }
    }
}

/* S4: when a process whose member znode is missing is treated as frozen. One that was asked to
 * leave may have closed its session, and takes long to exit if it has much memory. */
static uint64_t frozen_at_ms(const struct supervised *child)
{
    if (child->member_lost_ms == 0) { return UINT64_MAX; }
    return child->member_lost_ms + (child->drained ? SUPERVISOR_GRACE_MS : SUPERVISOR_FROZEN_MS);
}

static void kill_frozen(struct supervisor *supervisor, uint64_t now_ms,
                        struct supervisor_actions *out)
{
    assert(out->count == 0);
    if (supervisor->phase > SUPERVISOR_DRAINING) { return; }
    for (uint32_t i = 0; i < supervisor->count; i++) {
        struct supervised *child = &supervisor->children[i];
        if (now_ms >= frozen_at_ms(child) && supervisor_kill(supervisor, i, out)) {
            child->member_lost_ms = 0;
        }
    }
}

static void become_spare(struct supervisor *supervisor, uint32_t index,
                         struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[index];
    assert(child->state == CHILD_WAITING);
    child->spare = true;
    child->restart_at_ms = UINT64_MAX;
    supervisor_act(out, DO_SPARE, index, VERDICT_NONE);
}

static void ended(struct supervisor *supervisor, const struct supervisor_event *event,
                  struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[event->child];
    assert(event->type == SUPERVISOR_EXITED || event->type == SUPERVISOR_NOT_SPAWNED);
    if (!supervised_runs(child)) { return; }
    child->exit_code = event->exit_code;
    child->signal = event->signal;
    bool looping = supervised_count_end(child, event->now_ms, supervisor->gpus);
    if (child->kind == CHILD_NODE && child->state == CHILD_ALIVE) {
        supervisor_act(out, DO_REAP_NODE, event->child, VERDICT_NONE);
    }
    child->member_lost_ms = 0;
    child->member_seen = false;
    child->state = CHILD_IDLE;
    if (!restarts(supervisor, child)) {
        const bool left = child->signal == 0 && child->exit_code == TN_EXIT_OK;
        if (child->kind == CHILD_NODE && child->stage == DRAIN_PS && !left && !child->unwanted) {
            supervisor->drain_lost = true;
        }
        return;
    }
    child->state = CHILD_WAITING;
    child->left = event->type == SUPERVISOR_EXITED && child->kind == CHILD_NODE &&
                  child->signal == 0 && child->exit_code == TN_EXIT_OK;
    if (child->left && child->restart_at_ms < event->now_ms + SUPERVISOR_ASK_MS) {
        child->restart_at_ms = event->now_ms + SUPERVISOR_ASK_MS;
    }
    if (supervisor->spares && child->kind == CHILD_NODE && child->signal == 0 &&
        child->exit_code == TN_EXIT_TASK_TAKEN) {
        become_spare(supervisor, event->child, out);
    } else if (supervised_is_permanent(child)) {
        fail(supervisor, event->child, VERDICT_PERMANENT, event->now_ms, out);
    } else if (looping) {
        fail(supervisor, event->child, VERDICT_CRASH_LOOP, event->now_ms, out);
    }
}

void supervisor_init(struct supervisor *supervisor, const enum child_kind *kinds, uint32_t count)
{
    assert(kinds != NULL || count == 0);
    assert(count <= SUPERVISOR_CHILDREN_MAX);
    memset(supervisor, 0, sizeof *supervisor);
    supervisor->count = count;
    for (uint32_t i = 0; i < count; i++) { supervisor->children[i].kind = kinds[i]; }
}

uint32_t supervisor_add(struct supervisor *supervisor)
{
    assert(supervisor->count < SUPERVISOR_CHILDREN_MAX);
    supervisor->children[supervisor->count] =
        (struct supervised){.kind = CHILD_NODE, .unwanted = true};
    return supervisor->count++;
}

void supervisor_set_stage(struct supervisor *supervisor, uint32_t child, enum role role)
{
    static const enum drain_stage stages[ROLE_COUNT] = {[ROLE_PS] = DRAIN_PS,
                                                        [ROLE_WORKER] = DRAIN_WORKERS,
                                                        [ROLE_EVALUATOR] = DRAIN_WORKERS,
                                                        [ROLE_COORDINATOR] = DRAIN_COORDINATORS};
    assert(child < supervisor->count && role < ROLE_COUNT);
    supervisor->children[child].stage = stages[role];
}

static void member_changed(struct supervised *child, const struct supervisor_event *event)
{
    const uint64_t now_ms = event->now_ms;
    switch (event->type) {
    case SUPERVISOR_MEMBER_SEEN:
        child->member_seen = supervised_runs(child);
        child->member_lost_ms = 0;
        break;
    case SUPERVISOR_MEMBER_LOST:
        if (child->member_seen && child->member_lost_ms == 0) { child->member_lost_ms = now_ms; }
        if (child->spare && child->restart_at_ms == UINT64_MAX) {
            child->restart_at_ms = now_ms + SUPERVISOR_SPARE_MS;
        }
        break;
    default:
        assert(event->type == SUPERVISOR_MEMBER_TAKEN);
        if (child->spare) { child->restart_at_ms = UINT64_MAX; }
    }
}

static void apply(struct supervisor *supervisor, const struct supervisor_event *event,
                  struct supervisor_actions *out)
{
    struct supervised *child = &supervisor->children[event->child];
    const bool working = supervisor->phase == SUPERVISOR_WORKING;
    switch (event->type) {
    case SUPERVISOR_START_SERVERS:
        if (working) { supervisor_start(supervisor, CHILD_SERVER, out); }
        break;
    case SUPERVISOR_START_NODES:
        supervisor->started = true;
        if (working) { supervisor_start(supervisor, CHILD_NODE, out); }
        break;
    case SUPERVISOR_SPAWNED:
        assert(child->state == CHILD_STARTING);
        child->state = CHILD_ALIVE;
        child->started_ms = event->now_ms;
        break;
    case SUPERVISOR_NOT_SPAWNED:
    case SUPERVISOR_EXITED: ended(supervisor, event, out); break;
    case SUPERVISOR_MEMBER_SEEN:
    case SUPERVISOR_MEMBER_LOST:
    case SUPERVISOR_MEMBER_TAKEN: member_changed(child, event); break;
    case SUPERVISOR_WANTED: want(supervisor, event->child, out); break;
    case SUPERVISOR_UNWANTED:
        assert(child->kind == CHILD_NODE);
        child->unwanted = true;
        child->spare = false;
        break;
    case SUPERVISOR_JOB_CONTINUES: job_continues(supervisor); break;
    case SUPERVISOR_JOB_ENDED: enter(supervisor, SUPERVISOR_LEAVING, event->now_ms); break;
    case SUPERVISOR_SESSIONS_CLOSED:
        if (supervisor->sessions == SESSIONS_CLOSING) {
            set_sessions(supervisor, SESSIONS_CLOSED, event->now_ms);
        }
        break;
    case SUPERVISOR_DRAIN:
        if (supervisor_may_drain(supervisor, event)) {
            enter(supervisor, SUPERVISOR_DRAINING, event->now_ms);
        }
        break;
    case SUPERVISOR_CHANGED: supervisor_changed(supervisor, event->now_ms, out); break;
    case SUPERVISOR_STOP:
        supervisor->forced = supervisor->forced || supervisor->phase == SUPERVISOR_STOPPING ||
                             (supervisor->phase == SUPERVISOR_DRAINING && !supervisor->changes);
        enter(supervisor, SUPERVISOR_STOPPING, event->now_ms);
        break;
    case SUPERVISOR_TICK: kill_frozen(supervisor, event->now_ms, out); break;
    }
}

void supervisor_step(struct supervisor *supervisor, const struct supervisor_event *event,
                     struct supervisor_actions *out)
{
    assert(event->child < supervisor->count || supervisor->count == 0);
    out->count = 0;
    apply(supervisor, event, out);
    release_unwanted(supervisor, event->now_ms, out);
    drain(supervisor, event->now_ms, out);
    restart_due(supervisor, event->now_ms, out);
    wind_down(supervisor, event->now_ms, out);
}

uint64_t supervisor_deadline_ms(const struct supervisor *supervisor)
{
    uint64_t deadline_ms = UINT64_MAX;
    assert(supervisor->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < supervisor->count; i++) {
        const struct supervised *child = &supervisor->children[i];
        if (supervisor->phase > SUPERVISOR_DRAINING) { break; }
        if (child->state == CHILD_WAITING && !child->asked) {
            deadline_ms = u64_min(deadline_ms, child->restart_at_ms);
        }
        if (child->unwanted && child->drained && child->state == CHILD_ALIVE && !child->killed) {
            deadline_ms = u64_min(deadline_ms, child->drained_ms + SUPERVISOR_UNWANTED_MS);
        }
        if (!child->killed) { deadline_ms = u64_min(deadline_ms, frozen_at_ms(child)); }
    }
    if (supervisor->phase == SUPERVISOR_DRAINING) {
        deadline_ms = u64_min(deadline_ms, supervisor->drain_until_ms);
    }
    if (supervisor->phase == SUPERVISOR_LEAVING) {
        deadline_ms = u64_min(deadline_ms, supervisor->phase_ms + SUPERVISOR_LEAVE_MS);
    }
    if (supervisor->phase == SUPERVISOR_STOPPING && any_to_kill(supervisor, CHILD_NODE)) {
        deadline_ms = u64_min(deadline_ms, supervisor->phase_ms + SUPERVISOR_GRACE_MS);
    }
    if (supervisor->sessions == SESSIONS_CLOSING) {
        deadline_ms = u64_min(deadline_ms, supervisor->sessions_ms + SUPERVISOR_SESSIONS_MS);
    }
    if (supervisor->sessions == SESSIONS_CLOSED && any_to_kill(supervisor, CHILD_SERVER)) {
        deadline_ms = u64_min(deadline_ms, supervisor->sessions_ms + SUPERVISOR_GRACE_MS);
    }
    return deadline_ms;
}
