#include "agent/observe/event_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/cluster/recovery_text.h"

void event_text_duration(uint64_t ms, char *text, size_t size)
{
    assert(text != NULL && size > 0);
    uint64_t s = ms / 1000;
    if (s < 60) {
        snprintf(text, size, "%" PRIu64 " s", s);
    } else if (s < 3600) {
        snprintf(text, size, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    } else {
        snprintf(text, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    }
}

void event_text_digest(const uint64_t digest[2], char text[static 33])
{
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, digest[1], digest[0]);
}

json_t *event_text_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Whether an operator stopped the run before training began, which is stored as a failure. */
static bool is_stop(const struct history_entry *entry)
{
    return entry->kind == HISTORY_FAILED && strcmp(entry->cause, RUN_STOPPED_REASON) == 0;
}

const char *event_text_event(const struct history_entry *entry)
{
    if (is_stop(entry)) { return "stopped"; }
    return entry->kind == HISTORY_RECOVERED ? "restored" : history_kind_name(entry->kind);
}

static void recovered(const struct history_entry *entry, char text[static EVENT_TEXT_MAX])
{
    assert(entry->kind == HISTORY_RECOVERED);
    char reason[RECOVERY_TEXT_MAX];
    recovery_text(entry, reason);
    snprintf(text, EVENT_TEXT_MAX,
             "running again from step %" PRIu64 ": %s; %" PRIu64 " steps redone; paused %" PRIu64
             " ms",
             entry->step, reason, entry->steps_redone, entry->took_ms);
}

static void paused(const struct history_entry *entry, char text[static EVENT_TEXT_MAX])
{
    assert(entry->kind == HISTORY_PAUSED);
    char reason[RECOVERY_TEXT_MAX];
    recovery_text(entry, reason);
    snprintf(text, EVENT_TEXT_MAX, "paused at step %" PRIu64 ": %s", entry->step, reason);
}

static void evaluated(const struct history_entry *entry, const char *what,
                      char text[static EVENT_TEXT_MAX])
{
    assert(entry->kind == HISTORY_EVALUATED || entry->kind == HISTORY_DONE);
    char checkpoint[48] = "";
    if (entry->kind == HISTORY_EVALUATED && entry->checkpoint != 0) {
        snprintf(checkpoint, sizeof checkpoint, " (checkpoint %" PRIu64 ")", entry->checkpoint);
    }
    snprintf(text, EVENT_TEXT_MAX, "%s at step %" PRIu64 "%s: loss %.4f, accuracy %.4f%s%s", what,
             entry->step, checkpoint, entry->loss, entry->accuracy, *entry->cause ? "; " : "",
             entry->cause);
}

void event_text_history(const struct history_entry *entry, char text[static EVENT_TEXT_MAX])
{
    char task[TASK_NAME_MAX];
    assert(entry->kind < HISTORY_KINDS);
    const char *because = *entry->cause ? ": " : "";
    task_format(entry->task, ':', task, sizeof task);
    switch (entry->kind) {
    case HISTORY_ELECTED:
        snprintf(text, EVENT_TEXT_MAX,
                 "%s (pid %" PRIu64 ") became chief of epoch %" PRIu64 " in %" PRIu64 " ms%s%s",
                 task, entry->pid, entry->epoch, entry->took_ms, because, entry->cause);
        break;
    case HISTORY_TASK_UP:
        snprintf(text, EVENT_TEXT_MAX, "%s (pid %" PRIu64 ") is up", task, entry->pid);
        break;
    case HISTORY_TASK_LOST:
        snprintf(text, EVENT_TEXT_MAX, "%s (pid %" PRIu64 ") is lost%s%s", task, entry->pid,
                 because, entry->cause);
        break;
    case HISTORY_PAUSED: paused(entry, text); break;
    case HISTORY_RECOVERED: recovered(entry, text); break;
    case HISTORY_RUNNING:
        snprintf(text, EVENT_TEXT_MAX, "training begins at step %" PRIu64, entry->step);
        break;
    case HISTORY_CHECKPOINT:
        snprintf(text, EVENT_TEXT_MAX, "checkpoint %" PRIu64 " of step %" PRIu64 " is committed",
                 entry->checkpoint, entry->step);
        break;
    case HISTORY_FALLBACK:
        /* The cause names the checkpoint that is loaded instead. */
        snprintf(text, EVENT_TEXT_MAX, "checkpoint %" PRIu64 "%s%s", entry->checkpoint,
                 *because ? because : " cannot be loaded", entry->cause);
        break;
    case HISTORY_HELD: snprintf(text, EVENT_TEXT_MAX, "held: %s", entry->cause); break;
    case HISTORY_EVALUATED: evaluated(entry, "evaluated", text); break;
    case HISTORY_SKIPPED:
        snprintf(text, EVENT_TEXT_MAX, "the checkpoint of step %" PRIu64 " is skipped%s%s",
                 entry->step, because, entry->cause);
        break;
    case HISTORY_DONE: evaluated(entry, "done", text); break;
    case HISTORY_FAILED:
        snprintf(text, EVENT_TEXT_MAX, "%s%s%s", is_stop(entry) ? "" : "failed",
                 is_stop(entry) ? "" : because, entry->cause);
        break;
    case HISTORY_CHANGED:
        snprintf(text, EVENT_TEXT_MAX, "changed from step %" PRIu64 " on%s%s", entry->step, because,
                 entry->cause);
        break;
    case HISTORY_LATE:
        snprintf(text, EVENT_TEXT_MAX,
                 "%s is late at step %" PRIu64 ": other workers compute its slices", task,
                 entry->step);
        break;
    case HISTORY_RETURNED:
        snprintf(text, EVENT_TEXT_MAX,
                 "%s gets slices again at step %" PRIu64 ", after %" PRIu64 " ms", task,
                 entry->step, entry->took_ms);
        break;
    case HISTORY_KINDS: snprintf(text, EVENT_TEXT_MAX, "?"); break;
    }
}

void event_text_member(const struct member *member, enum member_event event,
                       char text[static EVENT_TEXT_MAX])
{
    static const char *const states[] = {
        [MEMBER_UP] = "up",
        [MEMBER_LOST] = "lost",
        [MEMBER_CHIEF_LOST] = "lost: it was the chief",
    };
    assert(member != NULL);
    assert(event <= MEMBER_CHIEF_LOST);
    char task[TASK_NAME_MAX];
    task_format(member->task, ':', task, sizeof task);
    snprintf(text, EVENT_TEXT_MAX, "%s (pid %" PRIu64 ") is %s", task, member->pid, states[event]);
}

const char *event_text_member_event(enum member_event event)
{
    static const char *const names[] = {
        [MEMBER_UP] = "task-up",
        [MEMBER_LOST] = "task-lost",
        [MEMBER_CHIEF_LOST] = "chief-lost",
    };
    assert(event <= MEMBER_CHIEF_LOST);
    return names[event];
}

static bool concerns_a_task(const struct history_entry *entry)
{
    assert(entry->kind < HISTORY_KINDS);
    switch (entry->kind) {
    case HISTORY_ELECTED:
    case HISTORY_TASK_UP:
    case HISTORY_TASK_LOST:
    case HISTORY_LATE:
    case HISTORY_RETURNED: return true;
    case HISTORY_PAUSED:
    case HISTORY_RECOVERED:
        return entry->recovery == RECOVERY_PS || entry->recovery == RECOVERY_WARM ||
               entry->recovery == RECOVERY_CHIEF || entry->recovery == RECOVERY_WORKER;
    default: return false;
    }
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    assert(object != NULL);
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_details(json_t *object, const struct history_entry *entry)
{
    assert(object != NULL);
    switch (entry->kind) {
    case HISTORY_ELECTED:
    case HISTORY_RETURNED: set_number(object, "took_ms", entry->took_ms); break;
    case HISTORY_RECOVERED:
        json_object_set_new(object, "kind", json_string(recovery_kind_name(entry->recovery)));
        set_number(object, "paused_ms", entry->took_ms);
        set_number(object, "steps_redone", entry->steps_redone);
        break;
    case HISTORY_CHECKPOINT:
    case HISTORY_HELD:
    case HISTORY_FALLBACK: set_number(object, "checkpoint", entry->checkpoint); break;
    case HISTORY_EVALUATED:
    case HISTORY_DONE:
        if (entry->kind == HISTORY_EVALUATED && entry->checkpoint != 0) {
            set_number(object, "checkpoint", entry->checkpoint);
        }
        json_object_set_new(object, "loss", event_text_number(entry->loss));
        json_object_set_new(object, "accuracy", event_text_number(entry->accuracy));
        json_object_set_new(object, "metrics", metrics_json(&entry->metrics));
        break;
    default: break;
    }
}

json_t *event_text_history_json(const struct history_entry *entry)
{
    assert(entry->kind < HISTORY_KINDS);
    char time[TIME_TEXT_MAX], task[TASK_NAME_MAX];
    bool concerns = concerns_a_task(entry);
    clock_format(entry->wall_ms, time);
    task_format(entry->task, ':', task, sizeof task);
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?, s:I}", "time", time, "event",
                  event_text_event(entry), "epoch", (json_int_t)entry->epoch, "generation",
                  (json_int_t)entry->generation, "task", concerns ? task : NULL, "cause",
                  *entry->cause ? entry->cause : NULL, "step", (json_int_t)entry->step);
    if (object == NULL) { return NULL; }
    if (concerns && entry->pid != 0) { set_number(object, "pid", entry->pid); }
    set_details(object, entry);
    return object;
}

json_t *event_text_recovery_json(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX];
    bool concerns = concerns_a_task(entry);
    task_format(entry->task, ':', task, sizeof task);
    return json_pack("{s:s, s:s?, s:s?, s:I, s:I}", "kind", recovery_kind_name(entry->recovery),
                     "task", concerns ? task : NULL, "cause", *entry->cause ? entry->cause : NULL,
                     "paused_ms", (json_int_t)entry->took_ms, "steps_redone",
                     (json_int_t)entry->steps_redone);
}
