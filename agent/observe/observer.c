#include "agent/observe/observer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

enum { ENTRY_RETRY_MS = 100 };

static void add_tasks(struct observer *observer, enum role role, uint32_t count)
{
    assert(observer->task_count <= TASKS_MAX);
    for (uint32_t i = 0; i < count && observer->task_count < TASKS_MAX; i++) {
        observer->tasks[observer->task_count++] =
            (struct observed_task){.task = {.role = role, .index = i}};
    }
}

static void start_watches(struct observer *observer, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(observer->cluster[0] != '\0');
    znode_path(path, observer->cluster, "run");
    znode_watch_start(&observer->run_watch, WATCH_DATA, path, zk, &observer->next_op, now_ms);
    znode_path(path, observer->cluster, "chief");
    znode_watch_start(&observer->chief_watch, WATCH_DATA, path, zk, &observer->next_op, now_ms);
    znode_path(path, observer->cluster, "history");
    znode_watch_start(&observer->history_watch, WATCH_CHILDREN, path, zk, &observer->next_op,
                      now_ms);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        znode_member_path(path, observer->cluster, observer->tasks[i].task);
        znode_watch_start(&observer->tasks[i].watch, WATCH_DATA, path, zk, &observer->next_op,
                          now_ms);
    }
    observer->entry_op = 0;
    observer->waiting_count = 0;
}

void observer_start(struct observer *observer, const char *cluster, const struct task_counts *tasks,
                    uint64_t next_op, const struct zk_port *zk, uint64_t now_ms)
{
    assert(cluster != NULL);
    memset(observer, 0, sizeof *observer);
    snprintf(observer->cluster, sizeof observer->cluster, "%s", cluster);
    observer->next_op = next_op;
    observer->reported = observer->old_until = -1;
    observer->retry_at_ms = UINT64_MAX;
    for (int role = 0; role < ROLE_COUNT; role++) {
        add_tasks(observer, (enum role)role, tasks->of[role]);
    }
    start_watches(observer, zk, now_ms);
}

void observer_restart(struct observer *observer, const struct zk_port *zk, uint64_t now_ms)
{
    start_watches(observer, zk, now_ms);
}

/* The roles follow each other: add_tasks(). */
static void change_tasks(struct observer *observer, enum role role, uint32_t count)
{
    struct observed_task *tasks = observer->tasks;
    uint32_t first = 0, after;
    while (first < observer->task_count && tasks[first].task.role < role) { first++; }
    for (after = first; after < observer->task_count && tasks[after].task.role == role;) {
        after++;
    }
    const uint32_t others = observer->task_count - after;
    assert(first + count + others <= TASKS_MAX);
    if (after - first == count) { return; }
    memmove(&tasks[first + count], &tasks[after], others * sizeof tasks[0]);
    observer->task_count = first;
    add_tasks(observer, role, count);
    observer->task_count += others;
}

void observer_change(struct observer *observer, uint32_t ps, uint32_t workers,
                     const struct zk_port *zk, uint64_t now_ms)
{
    change_tasks(observer, ROLE_PS, ps);
    change_tasks(observer, ROLE_WORKER, workers);
    start_watches(observer, zk, now_ms);
}

/* ------------------------------------------------------------- znodes */

static unsigned read_run(struct observer *observer, const struct zk_event *event)
{
    struct error error;
    struct run run;
    assert(event->data != NULL || event->size == 0);
    observer->run_answered = true;
    if (event->size == 0) { return 0; }
    if (run_decode(event->data, event->size, &run, &error) != TN_OK) {
        log_warn("/run ignored: %s", error.text);
        return 0;
    }
    observer->run = run;
    observer->has_run = true;
    return OBSERVER_RUN;
}

static unsigned read_chief(struct observer *observer, const struct zk_event *event)
{
    assert(event->data != NULL || event->size == 0);
    struct error error;
    struct chief_record record;
    observer->chief_answered = true;
    if (event->size == 0) { return 0; /* There has been no chief yet. */ }
    if (chief_record_decode(event->data, event->size, &record, &error) != TN_OK) {
        log_warn("/chief ignored: %s", error.text);
        return 0;
    }
    bool changed = !observer->has_chief || observer->chief.epoch != record.epoch;
    observer->chief = record;
    observer->has_chief = true;
    return changed ? OBSERVER_CHIEF : 0;
}

static unsigned read_member(struct observer *observer, uint32_t index, const struct zk_event *event)
{
    assert(index < observer->task_count);
    struct observed_task *task = &observer->tasks[index];
    struct error error;
    struct member member;
    if (member_decode(event->data, event->size, &member, &error) != TN_OK) {
        log_warn("member ignored: %s: %s", event->path, error.text);
        return 0;
    }
    bool changed = !task->present || task->member.incarnation != member.incarnation;
    bool problem_changed =
        changed ? member.problem[0] != '\0' : strcmp(task->member.problem, member.problem) != 0;
    task->member = member;
    task->session = event->stat.ephemeral_owner;
    task->present = true;
    if (changed || problem_changed) { observer->changed = index; }
    return (changed ? OBSERVER_MEMBER : 0u) | (problem_changed ? OBSERVER_PROBLEM : 0u);
}

static unsigned handle_task(struct observer *observer, uint32_t index, const struct zk_event *event,
                            const struct zk_port *zk, uint64_t now_ms)
{
    assert(index < observer->task_count);
    struct observed_task *task = &observer->tasks[index];
    bool was_present = task->present;
    switch (znode_watch_handle(&task->watch, event, zk, &observer->next_op, now_ms)) {
    case WATCH_NOTHING: return 0;
    case WATCH_PRESENT: task->answered = true; return read_member(observer, index, event);
    case WATCH_ABSENT: break;
    }
    task->answered = true;
    task->present = false;
    if (was_present) { observer->changed = index; }
    return was_present ? OBSERVER_MEMBER : 0;
}

/* ------------------------------------------------------------- history */

static int compare_numbers(const void *a, const void *b)
{
    int32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The sequence number at the end of a name, or -1. */
static int32_t sequence_of(const char *name)
{
    assert(name != NULL);
    size_t length = strlen(name);
    if (length < SEQUENCE_DIGITS) { return -1; }
    char *end = NULL;
    long number = strtol(name + length - SEQUENCE_DIGITS, &end, 10);
    return *end == '\0' && number >= 0 && number < INT32_MAX ? (int32_t)number : -1;
}

static void read_next_entry(struct observer *observer, const struct zk_port *zk)
{
    char rest[64], path[ZK_PATH_MAX];
    if (observer->entry_op != 0 || observer->waiting_count == 0) { return; }
    assert(observer->waiting[0] >= 0);
    snprintf(rest, sizeof rest, "history/%s%010d", observer->prefix, observer->waiting[0]);
    znode_path(path, observer->cluster, rest);
    observer->entry_op = ++observer->next_op;
    zk->read(zk->ctx, observer->entry_op, path, false);
}

/* After the servers lost their data, a new /history counts from 0 again: all of its
 * entries are new. */
static void identify_history(struct observer *observer, const struct zk_stat *stat)
{
    assert(stat != NULL);
    bool other = observer->history_zxid != stat->created_zxid ||
                 observer->history_wall_ms != stat->modified_wall_ms;
    if (observer->history_listed && observer->history_zxid != 0 && other) {
        observer->reported = observer->old_until = -1;
    }
    observer->history_zxid = stat->created_zxid;
    observer->history_wall_ms = stat->modified_wall_ms;
}

/* Collects the numbers of the entries that were not reported yet. */
static void take_listing(struct observer *observer, const struct zk_event *event)
{
    assert(event->children != NULL || event->child_count == 0);
    const size_t limit = sizeof observer->waiting / sizeof *observer->waiting;
    size_t count = 0;
    for (size_t i = 0; i < event->child_count && count < limit; i++) {
        const char *name = event->children[i];
        int32_t number = sequence_of(name);
        size_t length = strlen(name) - SEQUENCE_DIGITS;
        if (number < 0 || length >= sizeof observer->prefix) { continue; }
        snprintf(observer->prefix, sizeof observer->prefix, "%.*s", (int)length, name);
        if (number > observer->reported) { observer->waiting[count++] = number; }
    }
    qsort(observer->waiting, count, sizeof *observer->waiting, compare_numbers);
    observer->waiting_count = count;
    observer->entry_op = 0; /* The first number may be another one now: read again. */
    if (!observer->history_listed && count > 0) {
        observer->old_until = observer->waiting[count - 1];
    }
    observer->history_listed = true;
}

static void drop_first(struct observer *observer)
{
    assert(observer->waiting_count > 0);
    observer->reported = observer->waiting[0];
    observer->waiting_count--;
    memmove(observer->waiting, observer->waiting + 1,
            observer->waiting_count * sizeof *observer->waiting);
}

static unsigned take_entry(struct observer *observer, const struct zk_event *event,
                           const struct zk_port *zk, uint64_t now_ms)
{
    struct error error;
    unsigned changes = 0;
    assert(observer->entry_op == event->op);
    observer->entry_op = 0;
    bool deleted = event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_NODE;
    if (event->outcome != ZK_OK && !deleted) {
        observer->retry_at_ms = now_ms + ENTRY_RETRY_MS;
        return 0;
    }
    if (event->outcome == ZK_OK) {
        if (history_decode(event->data, event->size, &observer->entry, &error) == TN_OK) {
            changes = OBSERVER_HISTORY;
        } else {
            log_warn("history entry ignored: %s: %s", event->path, error.text);
        }
    }
    drop_first(observer);
    observer->entry_old = observer->reported <= observer->old_until;
    read_next_entry(observer, zk);
    return changes;
}

static unsigned handle_history(struct observer *observer, const struct zk_event *event,
                               const struct zk_port *zk, uint64_t now_ms)
{
    assert(observer->entry_op == 0 || observer->waiting_count > 0);
    switch (znode_watch_handle(&observer->history_watch, event, zk, &observer->next_op, now_ms)) {
    case WATCH_PRESENT:
        observer->history_absent = false;
        identify_history(observer, &event->stat);
        take_listing(observer, event);
        read_next_entry(observer, zk);
        return 0;
    case WATCH_ABSENT:
        observer->history_listed = true;
        observer->history_absent = true;
        return 0;
    case WATCH_NOTHING: break;
    }
    bool is_entry =
        event->type == ZK_RESULT && observer->entry_op != 0 && event->op == observer->entry_op;
    return is_entry ? take_entry(observer, event, zk, now_ms) : 0;
}

/* --------------------------------------------------------- public functions */

static bool all_answered(const struct observer *observer)
{
    assert(observer->task_count <= TASKS_MAX);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        if (!observer->tasks[i].answered) { return false; }
    }
    return observer->run_answered && observer->chief_answered && observer->history_listed &&
           (observer->reported >= observer->old_until || observer->waiting_count == 0);
}

unsigned observer_handle(struct observer *observer, const struct zk_event *event,
                         const struct zk_port *zk, uint64_t now_ms)
{
    assert(observer->task_count <= TASKS_MAX);
    uint64_t *next_op = &observer->next_op;
    unsigned changes = 0;
    switch (znode_watch_handle(&observer->run_watch, event, zk, next_op, now_ms)) {
    case WATCH_PRESENT:
        observer->run_absent = false;
        changes |= read_run(observer, event);
        break;
    case WATCH_ABSENT: observer->run_answered = observer->run_absent = true; break;
    case WATCH_NOTHING: break;
    }
    switch (znode_watch_handle(&observer->chief_watch, event, zk, next_op, now_ms)) {
    case WATCH_PRESENT:
        observer->chief_absent = false;
        changes |= read_chief(observer, event);
        break;
    case WATCH_ABSENT: observer->chief_answered = observer->chief_absent = true; break;
    case WATCH_NOTHING: break;
    }
    for (uint32_t i = 0; i < observer->task_count; i++) {
        changes |= handle_task(observer, i, event, zk, now_ms);
    }
    changes |= handle_history(observer, event, zk, now_ms);
    if (!observer->settled && all_answered(observer)) {
        observer->settled = true;
        changes |= OBSERVER_SETTLED;
    }
    return changes;
}

void observer_ask_run(struct observer *observer, const struct zk_port *zk)
{
    znode_watch_refresh(&observer->run_watch, zk, &observer->next_op);
}

void observer_ask_history(struct observer *observer, const struct zk_port *zk)
{
    znode_watch_refresh(&observer->history_watch, zk, &observer->next_op);
}

void observer_tick(struct observer *observer, const struct zk_port *zk, uint64_t now_ms)
{
    assert(observer->task_count <= TASKS_MAX);
    znode_watch_tick(&observer->run_watch, zk, &observer->next_op, now_ms);
    znode_watch_tick(&observer->chief_watch, zk, &observer->next_op, now_ms);
    znode_watch_tick(&observer->history_watch, zk, &observer->next_op, now_ms);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        znode_watch_tick(&observer->tasks[i].watch, zk, &observer->next_op, now_ms);
    }
    if (now_ms < observer->retry_at_ms) { return; }
    observer->retry_at_ms = UINT64_MAX;
    read_next_entry(observer, zk);
}

uint64_t observer_deadline_ms(const struct observer *observer)
{
    assert(observer->task_count <= TASKS_MAX);
    uint64_t first = observer->retry_at_ms;
    const struct znode_watch *watches[] = {&observer->run_watch, &observer->chief_watch,
                                           &observer->history_watch};
    for (size_t i = 0; i < sizeof watches / sizeof *watches; i++) {
        first = u64_min(first, znode_watch_deadline_ms(watches[i]));
    }
    for (uint32_t i = 0; i < observer->task_count; i++) {
        first = u64_min(first, znode_watch_deadline_ms(&observer->tasks[i].watch));
    }
    return first;
}

bool observer_is_idle(const struct observer *observer)
{
    return observer->waiting_count == 0 && observer->history_watch.state == WATCH_SET;
}

bool observer_has_ps(const struct observer *observer)
{
    assert(observer->task_count <= TASKS_MAX);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        if (observer->tasks[i].task.role == ROLE_PS) { return true; }
    }
    return false;
}

enum role observer_holders(const struct observer *observer)
{
    return role_of_holders(observer_has_ps(observer) ? 1 : 0);
}

bool observer_lost_cluster(const struct observer *observer)
{
    return observer->run_absent && observer->chief_absent && observer->history_absent;
}

const struct observed_task *observer_task(const struct observer *observer, struct task task)
{
    for (uint32_t i = 0; i < observer->task_count; i++) {
        if (task_equal(observer->tasks[i].task, task)) { return &observer->tasks[i]; }
    }
    return NULL;
}

const struct observed_task *observer_chief(const struct observer *observer)
{
    const struct observed_task *task = NULL;
    if (observer->has_chief) { task = observer_task(observer, observer->chief.task); }
    bool present =
        task != NULL && task->present && task->member.incarnation == observer->chief.incarnation;
    return present ? task : NULL;
}
