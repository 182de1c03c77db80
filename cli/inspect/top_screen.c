#include "cli/inspect/top_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/canvas.h"

/* Where things stand: values of the head, and the columns of the tables. */
enum {
    AT_VALUE = 12,
    AT_STATE = 17,
    AT_PID = 28,
    AT_HOST = 37,
    AT_AGE = 54,
    AT_STEP = 66,
    AT_BEHIND = 78,
    BAR_CELLS = 24,
    RATE_NOW = 5, /* Samples that "now" and the ETA look back at. */
    EVENTS_LEAST = 3,
    TASKS_LEAST = 2,
    CLOCK_AT = 11, /* In "2026-11-20T21:36:49.123Z" */
    CLOCK_SIZE = 12,
};

/* ------------------------------------------------------------------ speed */

void top_speed_add(struct top_speed *speed, uint64_t step, uint64_t now_ms)
{
    const bool comparable = speed->has_last && now_ms > speed->last_ms;
    const bool forward = step > speed->last_step;
    if (comparable) {
        if (speed->count == TOP_SAMPLES_MAX) {
            speed->count--;
            memmove(speed->rates, speed->rates + 1, speed->count * sizeof *speed->rates);
        }
        double seconds = (double)(now_ms - speed->last_ms) / 1000.0;
        speed->rates[speed->count++] = forward ? (double)(step - speed->last_step) / seconds : 0.0;
    }
    speed->has_last = true;
    speed->last_step = step;
    speed->last_ms = now_ms;
}

double top_speed_mean(const struct top_speed *speed, uint32_t samples)
{
    uint32_t count = samples < speed->count ? samples : speed->count;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) { sum += speed->rates[speed->count - 1 - i]; }
    return count > 0 ? sum / count : 0;
}

/* ------------------------------------------------------------------- head */

static const char *phase_of(const struct observer *observer)
{
    return run_phase_name(observer->has_run ? observer->run.phase : RUN_FORMING);
}

static enum ink ink_of_phase(const struct observer *observer)
{
    if (!observer->has_run) { return INK_WARN; }
    switch (observer->run.phase) {
    case RUN_RUNNING:
    case RUN_DONE: return INK_GOOD;
    case RUN_FAILED: return INK_BAD;
    default: return INK_WARN;
    }
}

static void end(struct canvas *canvas)
{
    canvas_end_line(canvas);
}

static void label(struct canvas *canvas, const char *name)
{
    canvas_put(canvas, INK_DIM, "%s", name);
    canvas_to(canvas, AT_VALUE);
}

static void draw_title(struct canvas *canvas, const struct top_view *view)
{
    const struct observer *observer = view->observer;
    uint64_t epoch = observer->has_chief ? observer->chief.epoch : observer->run.epoch;
    char away[32];
    canvas_put(canvas, INK_BOLD, "%s", view->cluster);
    canvas_put(canvas, INK_PLAIN, "  ");
    canvas_put(canvas, ink_of_phase(observer), "%s", phase_of(observer));
    canvas_put(canvas, INK_PLAIN, "  epoch %" PRIu64 "  generation %" PRIu64, epoch,
               observer->run.generation);
    end(canvas);
    label(canvas, "zookeeper");
    if (view->connected) {
        canvas_put(canvas, INK_PLAIN, "%s", view->connect);
    } else {
        event_text_duration(view->away_ms, away, sizeof away);
        canvas_put(canvas, INK_BAD, "%s is away since %s; waiting for it; what is below is old",
                   view->connect, away);
    }
    end(canvas);
}

static void draw_mode(struct canvas *canvas, const struct top_view *view)
{
    uint64_t stale = view->job->train.max_staleness;
    label(canvas, "mode");
    if (view->job->train.mode == TRAIN_SYNC) {
        canvas_put(canvas, INK_PLAIN, "sync: each step waits for all of its batch");
    } else if (stale == STALENESS_FREE) {
        canvas_put(canvas, INK_PLAIN, "async: gradients may be of any age");
    } else {
        canvas_put(canvas, INK_PLAIN, "async: a gradient is at most %" PRIu64 " steps old", stale);
    }
    end(canvas);
}

static void draw_bar(struct canvas *canvas, double share, bool unicode)
{
    int full = (int)(share * BAR_CELLS + 0.5);
    canvas_put(canvas, INK_PLAIN, "  [");
    for (int i = 0; i < BAR_CELLS; i++) {
        canvas_put(canvas, i < full ? INK_GOOD : INK_DIM, "%s",
                   i < full ? (unicode ? "█" : "#") : (unicode ? "░" : "."));
    }
    canvas_put(canvas, INK_PLAIN, "] %5.1f %%", share * 100);
}

static void draw_step(struct canvas *canvas, const struct top_view *view, bool unicode)
{
    uint64_t steps = view->job->train.steps;
    double rate = top_speed_mean(view->speed, RATE_NOW);
    char left[32];
    label(canvas, "step");
    if (!view->has_step) {
        canvas_put(canvas, INK_WARN, "not known: no ps answers");
    } else {
        double share = steps > 0 ? (double)view->step / (double)steps : 0;
        if (share > 1) { share = 1; }
        canvas_put(canvas, INK_PLAIN, "%" PRIu64 " of %" PRIu64, view->step, steps);
        draw_bar(canvas, share, unicode);
        if (rate > 0 && view->step < steps) {
            event_text_duration((uint64_t)((double)(steps - view->step) / rate * 1000.0), left,
                                sizeof left);
            canvas_put(canvas, INK_PLAIN, "  ETA %s", left);
        }
    }
    end(canvas);
}

static void draw_speed(struct canvas *canvas, const struct top_speed *speed, bool unicode)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    double most = 0;
    label(canvas, "steps/s");
    if (speed->count == 0) {
        canvas_put(canvas, INK_PLAIN, "-");
    } else {
        canvas_put(canvas, INK_PLAIN, "%-8.0f ", top_speed_mean(speed, RATE_NOW));
    }
    for (uint32_t i = 0; i < speed->count; i++) {
        if (speed->rates[i] > most) { most = speed->rates[i]; }
    }
    for (uint32_t i = 0; i < speed->count; i++) {
        int level = most > 0 ? (int)(speed->rates[i] / most * 7 + 0.5) : 0;
        canvas_put(canvas, speed->rates[i] > 0 ? INK_GOOD : INK_BAD, "%s",
                   unicode ? blocks[level] : marks[level]);
    }
    end(canvas);
}

static void draw_saved(struct canvas *canvas, const struct run *run)
{
    label(canvas, "checkpoint");
    if (run->committed_checkpoint == 0) {
        canvas_put(canvas, INK_PLAIN, "none yet");
    } else {
        canvas_put(canvas, INK_PLAIN, "%" PRIu64 " of step %" PRIu64, run->committed_checkpoint,
                   run->committed_step);
    }
    if (run->evaluation.step != STEP_NONE && run->generation != 0) {
        canvas_put(canvas, INK_PLAIN, "; at step %" PRIu64 " loss %.4f, accuracy %.4f",
                   run->evaluation.step, run->evaluation.loss, run->evaluation.accuracy);
    }
    end(canvas);
}

static void since(uint64_t now_ms, uint64_t from_ms, char *text, size_t size)
{
    event_text_duration(now_ms > from_ms ? now_ms - from_ms : 0, text, size);
}

static void draw_chief(struct canvas *canvas, const struct top_view *view)
{
    const struct chief_record *record = &view->observer->chief;
    char task[TASK_NAME_MAX], term[32];
    label(canvas, "chief");
    if (observer_chief(view->observer) == NULL) {
        canvas_put(canvas, INK_BAD, "none at present");
    } else {
        task_format(record->task, ':', task, sizeof task);
        since(view->wall_ms, record->since_wall_ms, term, sizeof term);
        canvas_put(canvas, INK_BOLD, "%s", task);
        canvas_put(canvas, INK_PLAIN, " since %s, elected in %" PRIu64 " ms%s%s", term,
                   record->took_ms, *record->cause ? ": " : "", record->cause);
    }
    end(canvas);
}

/* Why nothing moves, when nothing does. */
static void draw_reason(struct canvas *canvas, const struct run *run)
{
    label(canvas, "");
    canvas_put(canvas, INK_WARN, "%s", run->reason);
    end(canvas);
}

/* ----------------------------------------------------------------- tables */

struct room {
    uint32_t tasks, events; /* Lines for them. */
};

/* The furthest ps of the present generation. */
static uint64_t furthest(const struct top_view *view)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < view->job->cluster.ps && i < PS_MAX; i++) {
        if (view->ps[i].known && view->ps[i].generation == view->observer->run.generation &&
            view->ps[i].step > most) {
            most = view->ps[i].step;
        }
    }
    return most;
}

static void draw_ps_step(struct canvas *canvas, const struct top_view *view, uint32_t index,
                         uint64_t most)
{
    const struct top_seat_step *at = &view->ps[index];
    if (!at->known) { return; }
    canvas_to(canvas, AT_STEP);
    canvas_put(canvas, INK_PLAIN, "%" PRIu64, at->step);
    canvas_to(canvas, AT_BEHIND);
    if (at->generation != view->observer->run.generation) {
        canvas_put(canvas, INK_WARN, "generation %" PRIu64, at->generation);
    } else {
        canvas_put(canvas, INK_PLAIN, "%" PRIu64, most - at->step);
    }
}

static void draw_seat(struct canvas *canvas, const struct top_view *view,
                      const struct observed_task *seat, uint64_t most)
{
    char task[TASK_NAME_MAX], age[32];
    const bool chief = seat == observer_chief(view->observer);
    const bool candidate = seat->task.role == ROLE_COORDINATOR;
    task_format(seat->task, ':', task, sizeof task);
    canvas_put(canvas, chief ? INK_BOLD : INK_PLAIN, "%s", task);
    canvas_to(canvas, AT_STATE);
    if (!seat->present) {
        canvas_put(canvas, INK_BAD, "missing");
        end(canvas);
        return;
    }
    since(view->wall_ms, seat->member.since_wall_ms, age, sizeof age);
    canvas_put(canvas, chief ? INK_BOLD : INK_GOOD, "%s",
               chief       ? "chief"
               : candidate ? "candidate"
                           : "up");
    canvas_to(canvas, AT_PID);
    canvas_put(canvas, INK_PLAIN, "%" PRIu64, seat->member.pid);
    canvas_to(canvas, AT_HOST);
    canvas_put(canvas, INK_PLAIN, "%.16s", seat->member.host);
    canvas_to(canvas, AT_AGE);
    canvas_put(canvas, INK_PLAIN, "%s", age);
    if (seat->task.role == ROLE_PS) { draw_ps_step(canvas, view, seat->task.index, most); }
    end(canvas);
}

static void heading(struct canvas *canvas, const char *const words[], const uint32_t at[])
{
    end(canvas);
    for (int i = 0; words[i] != NULL; i++) {
        canvas_to(canvas, at[i]);
        canvas_put(canvas, INK_DIM, "%s", words[i]);
    }
    end(canvas);
}

static void draw_tasks(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    static const char *const words[] = {"TASK", "STATE", "PID",    "HOST",
                                        "AGE",  "STEP",  "BEHIND", NULL};
    static const uint32_t at[] = {0, AT_STATE, AT_PID, AT_HOST, AT_AGE, AT_STEP, AT_BEHIND};
    const struct observer *observer = view->observer;
    const uint64_t most = furthest(view);
    uint32_t shown = observer->task_count <= lines ? observer->task_count : lines - 1, missing = 0;
    heading(canvas, words, at);
    for (uint32_t i = 0; i < shown; i++) { draw_seat(canvas, view, &observer->tasks[i], most); }
    for (uint32_t i = shown; i < observer->task_count; i++) {
        missing += !observer->tasks[i].present;
    }
    if (shown == observer->task_count) { return; }
    canvas_put(canvas, missing > 0 ? INK_BAD : INK_DIM, "%u more, %u of them missing",
               observer->task_count - shown, missing);
    end(canvas);
}

static enum ink ink_of_mode(const char *mode)
{
    if (strcmp(mode, "down") == 0) { return INK_BAD; }
    return strcmp(mode, "no quorum") == 0 ? INK_WARN : INK_GOOD;
}

static void draw_servers(struct canvas *canvas, const struct top_view *view)
{
    static const char *const words[] = {"ZOOKEEPER", "MODE", NULL};
    static const uint32_t at[] = {0, AT_PID};
    heading(canvas, words, at);
    for (uint32_t i = 0; i < view->server_count; i++) {
        const struct top_server *server = &view->servers[i];
        canvas_put(canvas, INK_PLAIN, "%s", server->address);
        canvas_to(canvas, AT_PID);
        canvas_put(canvas, ink_of_mode(server->mode), "%s", *server->mode ? server->mode : "-");
        end(canvas);
    }
}

static void draw_events(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    static const char *const words[] = {"LAST EVENTS", NULL};
    static const uint32_t at[] = {0};
    if (lines == 0 || view->event_count == 0) { return; }
    heading(canvas, words, at);
    for (uint32_t i = view->event_count - lines; i < view->event_count; i++) {
        char time[TIME_TEXT_MAX];
        clock_format(view->events[i].wall_ms, time);
        canvas_put(canvas, INK_DIM, "%.*s", CLOCK_SIZE, time + CLOCK_AT);
        canvas_put(canvas, INK_PLAIN, "  %s", view->events[i].words);
        end(canvas);
    }
}

/* ------------------------------------------------------------------ frame */

static uint32_t take(uint32_t *from, uint32_t least, uint32_t wanted)
{
    uint32_t can = *from > least ? *from - least : 0;
    uint32_t taken = wanted < can ? wanted : can;
    *from -= taken;
    return wanted - taken;
}

/* What gives way when rows are few: old events, then tasks, then all events. */
static struct room share_rows(const struct top_view *view, uint32_t head, uint32_t rows)
{
    struct room room = {.tasks = view->observer->task_count, .events = view->event_count};
    uint32_t fixed = head + 2 + 2 + view->server_count + (view->event_count > 0 ? 2 : 0);
    uint32_t total = fixed + room.tasks + room.events;
    if (rows == 0 || total <= rows) { return room; }
    uint32_t excess = take(&room.events, EVENTS_LEAST, total - rows);
    excess = take(&room.tasks, TASKS_LEAST, excess);
    (void)take(&room.events, 0, excess);
    return room;
}

/* The frame's first `rows` lines. */
static size_t cut(char *text, size_t length, uint32_t rows)
{
    const char *at = text;
    if (rows == 0) { return length; }
    for (uint32_t row = 0; row < rows; row++) {
        const char *line_end = strchr(at, '\n');
        if (line_end == NULL) { return length; }
        at = line_end + 1;
    }
    text[at - text] = '\0';
    return (size_t)(at - text);
}

size_t top_screen_draw(const struct top_view *view, const struct top_style *style,
                       char text[static TOP_FRAME_MAX])
{
    struct canvas canvas;
    canvas_init(&canvas, text, TOP_FRAME_MAX, style->columns, style->color);
    draw_title(&canvas, view);
    draw_mode(&canvas, view);
    draw_step(&canvas, view, style->unicode);
    draw_speed(&canvas, view->speed, style->unicode);
    draw_saved(&canvas, &view->observer->run);
    draw_chief(&canvas, view);
    if (*view->observer->run.reason) { draw_reason(&canvas, &view->observer->run); }
    const struct room room = share_rows(view, canvas.rows, style->rows);
    draw_tasks(&canvas, view, room.tasks);
    draw_servers(&canvas, view);
    draw_events(&canvas, view, room.events);
    return cut(text, canvas.length, style->rows);
}
