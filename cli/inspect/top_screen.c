#include "cli/inspect/top_screen.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/canvas.h"
#include "cli/inspect/top_tables.h"
#include "common/base/minmax.h"

enum {
    AT_VALUE = 12, /* Column of the values in the head. */
    BAR_CELLS = 24,
    RATE_NOW = 5, /* Samples for the present rate and the ETA. */
    EVENTS_LEAST = 3,
    TASKS_LEAST = 2,
    TABLE_LINES = 3, /* Beside those of tables: an empty one, the titles, the sums. */
    PART_LINES = 2,  /* For the rows of ps, which have no sums. */
};

/* ------------------------------------------------------------------ speed */

void top_speed_add(struct top_speed *speed, uint64_t step, uint64_t now_ms)
{
    assert(speed->count <= TOP_SAMPLES_MAX);
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
    const uint32_t count = u32_min(samples, speed->count);
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
    char time[32];
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
        event_text_duration(view->disconnected_ms, time, sizeof time);
        canvas_put(canvas, INK_BAD, "%s unreachable for %s; reconnecting; the state below is old",
                   view->connect, time);
    }
    end(canvas);
}

static void draw_mode(struct canvas *canvas, const struct top_view *view)
{
    uint64_t stale = view->job->train.max_staleness;
    label(canvas, "mode");
    if (view->job->train.mode == TRAIN_SYNC) {
        canvas_put(canvas, INK_PLAIN, "sync: each step waits for its whole batch");
    } else if (stale == STALENESS_FREE) {
        canvas_put(canvas, INK_PLAIN, "async: gradients of any age are applied");
    } else {
        canvas_put(canvas, INK_PLAIN, "async: gradients are at most %" PRIu64 " steps old", stale);
    }
    end(canvas);
}

static void draw_bar(struct canvas *canvas, double share, bool unicode)
{
    assert(share >= 0);
    assert(share <= 1);
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
        canvas_put(canvas, INK_WARN, "unknown: no ps answers");
    } else {
        const double share = steps > 0 ? double_min((double)view->step / (double)steps, 1) : 0;
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
    assert(speed->count <= TOP_SAMPLES_MAX);
    label(canvas, "steps/s");
    if (speed->count == 0) {
        canvas_put(canvas, INK_PLAIN, "-");
    } else {
        canvas_put(canvas, INK_PLAIN, "%-8.0f ", top_speed_mean(speed, RATE_NOW));
    }
    for (uint32_t i = 0; i < speed->count; i++) { most = double_max(most, speed->rates[i]); }
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
    if (run->skipped_checkpoints != 0) {
        canvas_put(canvas, INK_BAD, ", %" PRIu64 " skipped", run->skipped_checkpoints);
    }
    if (run->evaluation.step != STEP_NONE && run->generation != 0) {
        canvas_put(canvas, INK_PLAIN, "; at step %" PRIu64 " loss %.4f, accuracy %.4f",
                   run->evaluation.step, run->evaluation.loss, run->evaluation.accuracy);
    }
    end(canvas);
}

/* The time from `from_ms` to now; 0 if the clocks of two hosts disagree. */
void top_age_text(uint64_t now_ms, uint64_t from_ms, char *text, size_t size)
{
    event_text_duration(now_ms - u64_min(now_ms, from_ms), text, size);
}

static void draw_chief(struct canvas *canvas, const struct top_view *view)
{
    const struct chief_record *record = &view->observer->chief;
    char task[TASK_NAME_MAX], term[32];
    label(canvas, "chief");
    if (observer_chief(view->observer) == NULL) {
        canvas_put(canvas, INK_BAD, "none");
    } else {
        task_format(record->task, ':', task, sizeof task);
        top_age_text(view->wall_ms, record->since_wall_ms, term, sizeof term);
        canvas_put(canvas, INK_BOLD, "%s", task);
        canvas_put(canvas, INK_PLAIN, " for %s, elected in %" PRIu64 " ms%s%s", term,
                   record->took_ms, *record->cause ? ": " : "", record->cause);
    }
    end(canvas);
}

/* Why training stands still, if it does. */
static void draw_reason(struct canvas *canvas, const struct run *run)
{
    label(canvas, "");
    canvas_put(canvas, INK_WARN, "%s", run->reason);
    end(canvas);
}

/* ------------------------------------------------------------------ frame */

/* How many lines a table gets. */
struct table_rows {
    uint32_t tasks, tables, parts, events;
};

uint32_t top_holder_count(const struct job *job)
{
    return job->cluster.ps > 0 ? job->cluster.ps : job->cluster.workers;
}

static uint32_t table_count(const struct top_view *view)
{
    return view->tables != NULL ? view->tables->count : 0;
}

/* Lower `*count` by `excess`, but not below `least`. Returns the excess that remains. */
static uint32_t reduce(uint32_t *count, uint32_t least, uint32_t excess)
{
    const uint32_t taken = u32_min(excess, *count - u32_min(*count, least));
    *count -= taken;
    return excess - taken;
}

/* The lines of a part of the frame that is left out with its `fixed` lines. */
static uint32_t reduce_all(uint32_t *count, uint32_t fixed, uint32_t excess)
{
    const bool had_some = *count > 0;
    excess = reduce(count, 0, excess);
    return had_some && *count == 0 ? excess - u32_min(excess, fixed) : excess;
}

/* When there are too few rows, old events are left out first, then the rows of ps, tables, tasks,
 * and all events. */
static struct table_rows share_rows(const struct top_view *view, uint32_t head, uint32_t rows)
{
    struct table_rows shares = {
        .tasks = view->observer->task_count,
        .tables = u32_min(table_count(view), TOP_TABLES_MAX),
        .parts = table_count(view) > 0 ? u32_min(view->tables->ps_count, TOP_PARTS_MAX) : 0,
        .events = view->event_count,
    };
    uint32_t fixed = head + 2 + 2 + view->server_count + (view->event_count > 0 ? 2 : 0);
    uint32_t total = fixed + shares.tasks + shares.events;
    if (shares.tables > 0) { total += shares.tables + TABLE_LINES + shares.parts + PART_LINES; }
    if (rows == 0 || total <= rows) { return shares; }
    uint32_t excess = reduce(&shares.events, EVENTS_LEAST, total - rows);
    excess = reduce_all(&shares.parts, PART_LINES, excess);
    excess = reduce_all(&shares.tables, TABLE_LINES, excess);
    excess = reduce(&shares.tasks, TASKS_LEAST, excess);
    (void)reduce(&shares.events, 0, excess);
    return shares;
}

/* Keep only the first `rows` lines. Returns the new length. */
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
    assert(view->job != NULL);
    assert(view->observer != NULL);
    assert(view->server_count <= ZOO_SERVERS_MAX);
    assert(view->event_count <= TOP_EVENTS_MAX);
    canvas_init(&canvas, text, TOP_FRAME_MAX, style->columns, style->color);
    draw_title(&canvas, view);
    draw_mode(&canvas, view);
    draw_step(&canvas, view, style->unicode);
    draw_speed(&canvas, view->speed, style->unicode);
    draw_saved(&canvas, &view->observer->run);
    draw_chief(&canvas, view);
    if (*view->observer->run.reason) { draw_reason(&canvas, &view->observer->run); }
    const struct table_rows shares = share_rows(view, canvas.rows, style->rows);
    top_draw_tasks(&canvas, view, shares.tasks);
    top_draw_row_tables(&canvas, view, shares.tables);
    top_draw_row_parts(&canvas, view, shares.parts);
    top_draw_servers(&canvas, view);
    top_draw_events(&canvas, view, shares.events);
    return cut(text, canvas.length, style->rows);
}
