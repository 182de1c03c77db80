#include "cli/run/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/wait_notice.h"
#include "common/base/log.h"

void progress_init(struct progress *progress, const struct job *job, uint64_t now_ms)
{
    assert(job != NULL);
    *progress = (struct progress){.job = job,
                                  .started_ms = now_ms,
                                  .line_ms = PROGRESS_TERMINAL_MS,
                                  .line_at_ms = now_ms + PROGRESS_TERMINAL_MS,
                                  .waiting_since_ms = now_ms};
}

void progress_print(const struct progress *progress, uint64_t now_ms, const char *format, ...)
{
    char text[EVENT_TEXT_MAX + 256];
    va_list arguments;
    assert(now_ms >= progress->started_ms);
    if (progress->quiet) { return; }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (log_is_json()) {
        log_info("%s", text);
        return;
    }
    log_line("[%6.1f s] %s", (double)(now_ms - progress->started_ms) / 1000.0, text);
}

static void print_rate(struct progress *progress, const struct run *run, uint64_t step,
                       uint64_t now_ms)
{
    char evaluated[96] = "";
    if (run->evaluation.step != STEP_NONE) {
        snprintf(evaluated, sizeof evaluated, "; at step %" PRIu64 " loss %.4f, accuracy %.4f",
                 run->evaluation.step, run->evaluation.loss, run->evaluation.accuracy);
    }
    double seconds = (double)(now_ms - progress->rate_at_ms) / 1000.0;
    if (progress->rate_at_ms != 0 && step >= progress->rate_step && seconds > 0) {
        progress_print(progress, now_ms, "step %" PRIu64 " of %" PRIu64 ", %.0f steps/s%s", step,
                       progress->job->train.steps, (double)(step - progress->rate_step) / seconds,
                       evaluated);
    }
    progress->rate_step = step;
    progress->rate_at_ms = now_ms;
}

static void print_running(struct progress *progress, const struct agent_event *event)
{
    uint64_t step = 0;
    assert(event->observer->has_run);
    if (progress->steps == NULL || !step_poller_reached(progress->steps, event->observer, &step)) {
        return;
    }
    print_rate(progress, &event->observer->run, step, event->now_ms);
}

static void missing_tasks(const struct observer *observer, char *text, size_t size)
{
    size_t length = 0;
    assert(size > 0);
    text[0] = '\0';
    for (uint32_t i = 0; i < observer->task_count && length + TASK_NAME_MAX < size; i++) {
        char name[TASK_NAME_MAX];
        if (observer->tasks[i].present) { continue; }
        task_format(observer->tasks[i].task, ':', name, sizeof name);
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
    }
}

static bool is_running(const struct observer *observer)
{
    return observer->has_run && observer->run.phase == RUN_RUNNING;
}

/* While training waits for a checkpoint at which nodes leave, the run has a reason. */
static bool is_waiting(const struct observer *observer)
{
    return !is_running(observer) || observer->run.reason[0] != '\0';
}

/* A wait is reported at its start, and then as often as progress. */
static bool wait_line_is_due(struct progress *progress, uint64_t now_ms)
{
    const uint64_t last_ms = progress->waiting_line_ms;
    assert(last_ms <= now_ms);
    if (last_ms != 0 && now_ms - last_ms < progress->line_ms) { return false; }
    progress->waiting_line_ms = now_ms;
    return true;
}

static void print_waiting(struct progress *progress, const struct agent_event *event)
{
    const struct observer *observer = event->observer;
    const uint64_t waited_ms = event->now_ms - progress->waiting_since_ms;
    char waited[32], missing[256];
    if (waited_ms < WAIT_NOTICE_MS || !wait_line_is_due(progress, event->now_ms)) { return; }
    event_text_duration(waited_ms, waited, sizeof waited);
    missing_tasks(observer, missing, sizeof missing);
    if (!observer->has_chief) {
        progress_print(progress, event->now_ms, "no chief for %s%s%s", waited,
                       *missing ? "; missing: " : "", missing);
        return;
    }
    const char *reason = observer->has_run ? observer->run.reason : "";
    const char *phase = observer->has_run ? run_phase_name(observer->run.phase) : "forming";
    progress_print(progress, event->now_ms, "%s for %s%s%s%s%s",
                   is_running(observer) ? "waiting" : phase, waited, *reason ? ": " : "", reason,
                   *missing ? "; missing: " : "", missing);
}

static void print_group(struct progress *progress, struct progress_group *group, uint64_t now_ms)
{
    char text[EVENT_TEXT_MAX];
    if (group->count == 0) { return; }
    event_text_history(&group->last, text);
    if (group->count == 1) {
        progress_print(progress, now_ms, "%s", text);
    } else {
        progress_print(progress, now_ms, "%" PRIu64 " checkpoints are %s; the last: %s",
                       group->count, group == &progress->skipped ? "skipped" : "committed", text);
    }
    group->count = 0;
    group->line_ms = now_ms;
}

static void print_due_group(struct progress *progress, struct progress_group *group,
                            uint64_t interval_ms, uint64_t now_ms)
{
    if (group->line_ms == 0 || now_ms - group->line_ms >= interval_ms) {
        print_group(progress, group, now_ms);
    }
}

static void print_due_groups(struct progress *progress, uint64_t now_ms)
{
    print_due_group(progress, &progress->committed, PROGRESS_TERMINAL_MS, now_ms);
    print_due_group(progress, &progress->skipped, progress->line_ms, now_ms);
}

void progress_history(struct progress *progress, const struct history_entry *entry, uint64_t now_ms)
{
    char text[EVENT_TEXT_MAX];
    if (entry->kind == HISTORY_SKIPPED || entry->kind == HISTORY_CHECKPOINT) {
        struct progress_group *group =
            entry->kind == HISTORY_SKIPPED ? &progress->skipped : &progress->committed;
        group->last = *entry;
        group->count++;
        print_due_groups(progress, now_ms);
        return;
    }
    if (entry->kind != HISTORY_EVALUATED) {
        print_group(progress, &progress->committed, now_ms);
        print_group(progress, &progress->skipped, now_ms);
    }
    event_text_history(entry, text);
    progress_print(progress, now_ms, "%s", text);
}

void progress_step(struct progress *progress, const struct run *run, uint64_t step, uint64_t now_ms)
{
    const uint64_t last_ms = progress->rate_at_ms;
    print_due_groups(progress, now_ms);
    if (last_ms == 0 || now_ms - last_ms >= progress->line_ms) {
        print_rate(progress, run, step, now_ms);
    }
}

static void tick(struct progress *progress, const struct agent_event *event)
{
    if (event->observer == NULL) { return; }
    print_due_groups(progress, event->now_ms);
    if (progress->steps != NULL) { step_poller_ask_all(progress->steps, event->observer); }
    if (event->now_ms < progress->line_at_ms) { return; }
    progress->line_at_ms = event->now_ms + PROGRESS_TERMINAL_MS;
    if (!is_waiting(event->observer)) {
        const uint64_t last_ms = progress->rate_at_ms;
        const bool due = last_ms == 0 || event->now_ms - last_ms >= progress->line_ms;
        if (due) { print_running(progress, event); }
    } else {
        print_waiting(progress, event);
    }
}

static void note_phase(struct progress *progress, const struct agent_event *event)
{
    assert(event->observer != NULL);
    const enum run_phase phase = event->observer->run.phase;
    const bool waits = is_waiting(event->observer);
    if (progress->have_phase && phase == progress->phase && waits == progress->waits) { return; }
    progress->have_phase = true;
    progress->waits = waits;
    progress->phase = phase;
    progress->waiting_since_ms = event->now_ms;
    progress->rate_at_ms = 0;
    progress->waiting_line_ms = 0;
}

void progress_handle(struct progress *progress, const struct agent_event *event)
{
    switch (event->type) {
    case AGENT_WAITING:
        if (wait_line_is_due(progress, event->now_ms)) {
            progress_print(progress, event->now_ms, "%s", event->text);
        }
        break;
    case AGENT_SPARE:
    case AGENT_UNREACHABLE:
    case AGENT_DRAINING:
    case AGENT_CHANGING:
    case AGENT_SIGNAL_SENT:
    case AGENT_CHILD_DIED: progress_print(progress, event->now_ms, "%s", event->text); break;
    case AGENT_DISCONNECTED:
        progress_print(progress, event->now_ms,
                       "lost the connection to ZooKeeper; training continues, decisions wait");
        break;
    case AGENT_HISTORY:
        if (!event->observer->entry_old) {
            progress_history(progress, &event->observer->entry, event->now_ms);
        }
        break;
    case AGENT_RUN: note_phase(progress, event); break;
    case AGENT_TICK: tick(progress, event); break;
    case AGENT_CONNECTED: progress->waiting_line_ms = 0; break;
    case AGENT_SETTLED: break;
    }
}
