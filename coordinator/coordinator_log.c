/* The log lines of the chief about its writes. */
#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/cluster/recovery_text.h"
#include "coordinator/assign.h"
#include "coordinator/coordinator_private.h"

static void log_paused(const struct history_entry *entry)
{
    char reason[RECOVERY_TEXT_MAX];
    recovery_text(entry, reason);
    if (entry->kind == HISTORY_PAUSED) {
        log_warn("paused at step %" PRIu64 ": %s", entry->step, reason);
        return;
    }
    log_info("%s step %" PRIu64 ": %s; %" PRIu64 " steps redone, paused %" PRIu64 " ms",
             entry->checkpoint != 0 ? "restored" : "resumed at", entry->step, reason,
             entry->steps_redone, entry->took_ms);
}

static void log_entry(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX];
    task_format(entry->task, ':', task, sizeof task);
    switch (entry->kind) {
    case HISTORY_ELECTED: break; /* Logged by became_chief(). */
    case HISTORY_TASK_UP: log_info("%s (pid %" PRIu64 ") is up", task, entry->pid); break;
    case HISTORY_TASK_LOST:
        log_warn("%s is lost at step %" PRIu64 ": %s", task, entry->step, entry->cause);
        break;
    case HISTORY_PAUSED:
    case HISTORY_RECOVERED: log_paused(entry); break;
    case HISTORY_RUNNING: log_info("training begins at step %" PRIu64, entry->step); break;
    case HISTORY_CHECKPOINT:
        log_info("checkpoint %" PRIu64 " committed at step %" PRIu64, entry->checkpoint,
                 entry->step);
        break;
    case HISTORY_FALLBACK:
        log_warn("checkpoint %" PRIu64 " cannot be used: %s", entry->checkpoint, entry->cause);
        break;
    case HISTORY_HELD: log_error("held: %s", entry->cause); break;
    case HISTORY_SKIPPED:
        log_warn("checkpoint of step %" PRIu64 " skipped: %s", entry->step, entry->cause);
        break;
    case HISTORY_EVALUATED:
        log_info("evaluated at step %" PRIu64 ": loss %.4f, accuracy %.4f%s%s", entry->step,
                 entry->loss, entry->accuracy, *entry->cause ? "; " : "", entry->cause);
        break;
    case HISTORY_DONE:
        log_info("done at step %" PRIu64 ": loss %.4f, accuracy %.4f", entry->step, entry->loss,
                 entry->accuracy);
        break;
    case HISTORY_FAILED: log_error("failed: %s", entry->cause); break;
    case HISTORY_CHANGED: log_info("from step %" PRIu64 " on %s", entry->step, entry->cause); break;
    case HISTORY_LATE:
        log_warn("%s is late at step %" PRIu64 ": other workers compute its slices", task,
                 entry->step);
        break;
    case HISTORY_RETURNED:
        log_info("%s gets slices again at step %" PRIu64 ", after %" PRIu64 " ms", task,
                 entry->step, entry->took_ms);
        break;
    case HISTORY_KINDS: assert(false);
    }
}

/* "worker:0 24 at 810 us, worker:1 8 at 2430 us": slices, and the time for each as far as it is
 * known. */
static void list_slices(const struct chief *chief, const struct assignment *assignment,
                        struct text *text)
{
    uint32_t slices[WORKERS_MAX] = {0}, listed = 0;
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        if (assignment->worker[v] < WORKERS_MAX) { slices[assignment->worker[v]]++; }
    }
    for (uint32_t w = 0; w < chief->config.workers; w++) {
        const struct chief_peer *peer = &chief->workers[w];
        if (slices[w] == 0) { continue; }
        text_add(text, listed++ > 0 ? ", " : "");
        task_append(text, (struct task){.role = ROLE_WORKER, .index = w});
        text_add(text, " ");
        text_add_number(text, slices[w]);
        if (!peer->reported || peer->report.slice_ns == 0) { continue; }
        text_add(text, " at ");
        text_add_number(text, peer->report.slice_ns / 1000);
        text_add(text, " us");
    }
}

/* Nothing is logged if no slice has moved: the generation is new, or the znode was lost. */
static void log_assigned(const struct chief *chief, const struct chief_write *write)
{
    char slices[WORKERS_MAX * 48];
    struct text text = text_begin(slices, sizeof slices);
    const struct assignment *before = &chief->assignment, *now = &write->assignment;
    uint32_t moved = 0;
    for (uint32_t v = 0; v < now->slice_count; v++) {
        moved += before->slice_count != now->slice_count || before->worker[v] != now->worker[v];
    }
    if (moved == 0) { return; }
    list_slices(chief, now, &text);
    log_info("slices assigned%s: %s; %" PRIu32 " moved, %" PRIu32 " pushes a step",
             write->for_speed ? " for speed" : "", slices, moved, assign_pushes(now));
}

void log_written(const struct coordinator *c, const struct chief_write *write)
{
    assert(write->history_count <= CHIEF_HISTORY_MAX);
    for (uint32_t i = 0; i < write->history_count; i++) { log_entry(&write->history[i]); }
    if (write->assigns) { log_assigned(&c->chief, write); }
}
