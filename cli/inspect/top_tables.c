#include "cli/inspect/top_tables.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"

/* Columns of the tables. */
enum {
    AT_STATE = 17,
    AT_PID = 28,
    AT_HOST = 37,
    AT_AGE = 54,
    AT_STEP = 66,
    AT_BEHIND = 78,
    AT_ROWS = 28,
    AT_BYTES = 40,
    AT_LOOKUPS = 54,
    AT_HOT = 66,
    AT_IMBALANCE = 76,
    CLOCK_AT = 11, /* In "2026-11-20T21:36:49.123Z" */
    CLOCK_SIZE = 12,
};

static bool is_unwanted(const struct top_view *view, const struct observed_task *row)
{
    return row->task.role == ROLE_WORKER && view->observer->has_run &&
           !run_wants_worker(&view->observer->run, row->task.index);
}

/* The highest step of a holder of the present generation. */
static uint64_t highest_step(const struct top_view *view)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < top_holder_count(view->job); i++) {
        const struct top_ps_step *ps = &view->ps[i];
        if (ps->known && ps->generation == view->observer->run.generation) {
            most = u64_max(most, ps->step);
        }
    }
    return most;
}

static void draw_ps_step(struct canvas *canvas, const struct top_view *view, uint32_t index,
                         uint64_t most)
{
    const struct top_ps_step *at = &view->ps[index];
    assert(index < PS_MAX);
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

static void draw_task(struct canvas *canvas, const struct top_view *view,
                      const struct observed_task *row, uint64_t most)
{
    char task[TASK_NAME_MAX], age[32];
    const bool chief = row == observer_chief(view->observer);
    const bool candidate = row->task.role == ROLE_COORDINATOR;
    task_format(row->task, ':', task, sizeof task);
    canvas_put(canvas, chief ? INK_BOLD : INK_PLAIN, "%s", task);
    canvas_to(canvas, AT_STATE);
    if (!row->present) {
        const bool off = is_unwanted(view, row);
        canvas_put(canvas, off ? INK_DIM : INK_BAD, "%s", off ? "off" : "missing");
        canvas_end_line(canvas);
        return;
    }
    top_age_text(view->wall_ms, row->member.since_wall_ms, age, sizeof age);
    canvas_put(canvas, chief ? INK_BOLD : INK_GOOD, "%s",
               chief                    ? "chief"
               : candidate              ? "candidate"
               : is_unwanted(view, row) ? "leaving"
                                        : "up");
    canvas_to(canvas, AT_PID);
    canvas_put(canvas, INK_PLAIN, "%" PRIu64, row->member.pid);
    canvas_to(canvas, AT_HOST);
    canvas_put(canvas, INK_PLAIN, "%.16s", row->member.host);
    canvas_to(canvas, AT_AGE);
    canvas_put(canvas, INK_PLAIN, "%s", age);
    if (row->task.role == role_of_holders(view->job->cluster.ps)) {
        draw_ps_step(canvas, view, row->task.index, most);
    }
    canvas_end_line(canvas);
}

static void heading(struct canvas *canvas, const char *const titles[], const uint32_t at[])
{
    canvas_end_line(canvas);
    for (int i = 0; titles[i] != NULL; i++) {
        canvas_to(canvas, at[i]);
        canvas_put(canvas, INK_DIM, "%s", titles[i]);
    }
    canvas_end_line(canvas);
}

void top_draw_tasks(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    assert(lines > 0 || view->observer->task_count == 0);
    static const char *const titles[] = {"TASK", "STATE", "PID",    "HOST",
                                         "AGE",  "STEP",  "BEHIND", NULL};
    static const uint32_t at[] = {0, AT_STATE, AT_PID, AT_HOST, AT_AGE, AT_STEP, AT_BEHIND};
    const struct observer *observer = view->observer;
    const uint64_t most = highest_step(view);
    const uint32_t count = observer->task_count;
    const uint32_t shown = count > lines ? lines - 1 : count; /* The last line counts the rest. */
    uint32_t missing = 0;
    heading(canvas, titles, at);
    for (uint32_t i = 0; i < shown; i++) { draw_task(canvas, view, &observer->tasks[i], most); }
    for (uint32_t i = shown; i < count; i++) {
        missing += !observer->tasks[i].present && !is_unwanted(view, &observer->tasks[i]);
    }
    if (shown == count) { return; }
    canvas_put(canvas, missing > 0 ? INK_BAD : INK_DIM, "%u more, %u of them missing",
               count - shown, missing);
    canvas_end_line(canvas);
}

static enum ink ink_of_mode(const char *mode)
{
    if (strcmp(mode, "down") == 0) { return INK_BAD; }
    return strcmp(mode, "no quorum") == 0 ? INK_WARN : INK_GOOD;
}

static void put_counters(struct canvas *canvas, enum ink ink, const struct table_stats *stats)
{
    canvas_to(canvas, AT_ROWS);
    canvas_put(canvas, ink, "%" PRIu64, stats->rows);
    canvas_to(canvas, AT_BYTES);
    canvas_put(canvas, ink, "%" PRIu64, stats->bytes);
    canvas_to(canvas, AT_LOOKUPS);
    canvas_put(canvas, ink, "%" PRIu64, stats->lookups);
}

static void draw_table(struct canvas *canvas, const struct table_totals *totals, uint32_t table)
{
    const struct table_stats *stats = &totals->tables[table];
    const double hot = table_hot_share(stats), imbalance = table_imbalance(totals, table);
    canvas_put(canvas, INK_PLAIN, "%.*s", AT_ROWS - 1, stats->name);
    put_counters(canvas, INK_PLAIN, stats);
    if (isfinite(hot) && isfinite(imbalance)) {
        canvas_to(canvas, AT_HOT);
        canvas_put(canvas, INK_PLAIN, "%.1f %%", hot * 100);
        canvas_to(canvas, AT_IMBALANCE);
        canvas_put(canvas, INK_PLAIN, "%.2f", imbalance);
    }
    canvas_end_line(canvas);
}

/* The largest tables, and a line that counts all. */
void top_draw_row_tables(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    static const char *const titles[] = {"TABLE",   "ROWS",      "BYTES", "LOOKUPS",
                                         "HOT 1 %", "IMBALANCE", NULL};
    static const uint32_t at[] = {0, AT_ROWS, AT_BYTES, AT_LOOKUPS, AT_HOT, AT_IMBALANCE};
    uint32_t largest[TOP_TABLES_MAX];
    assert(lines <= TOP_TABLES_MAX);
    if (lines == 0) { return; }
    const struct table_totals *totals = view->tables;
    const struct table_stats all = table_totals_all(totals);
    heading(canvas, titles, at);
    const uint32_t shown = table_totals_largest(totals, lines, largest);
    for (uint32_t i = 0; i < shown; i++) { draw_table(canvas, totals, largest[i]); }
    canvas_put(canvas, totals->answered < totals->ps_count ? INK_WARN : INK_DIM,
               "%" PRIu32 " tables on %" PRIu32 " of %" PRIu32 " ps", totals->count,
               totals->answered, totals->ps_count);
    put_counters(canvas, INK_DIM, &all);
    const double imbalance = table_imbalance(totals, totals->count);
    if (isfinite(imbalance)) {
        canvas_to(canvas, AT_IMBALANCE);
        canvas_put(canvas, INK_DIM, "%.2f", imbalance);
    }
    canvas_end_line(canvas);
}

static void draw_part(struct canvas *canvas, const struct table_totals *totals, uint32_t ps)
{
    const struct table_stats stats = table_totals_of_ps(totals, ps);
    const double load = table_load(totals, totals->count, ps);
    canvas_put(canvas, INK_PLAIN, "ps:%" PRIu32, ps);
    if (!totals->known[ps]) {
        canvas_to(canvas, AT_ROWS);
        canvas_put(canvas, INK_WARN, "no answer");
        canvas_end_line(canvas);
        return;
    }
    put_counters(canvas, INK_PLAIN, &stats);
    if (isfinite(load)) {
        canvas_to(canvas, AT_HOT);
        canvas_put(canvas, INK_PLAIN, "%.2f", load);
    }
    canvas_to(canvas, AT_IMBALANCE);
    canvas_put(canvas, INK_PLAIN, "%" PRIu32, totals->sources[ps].buckets);
    canvas_end_line(canvas);
}

void top_draw_row_parts(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    static const char *const titles[] = {"ROWS OF", "ROWS",    "BYTES", "LOOKUPS",
                                         "LOAD",    "BUCKETS", NULL};
    static const uint32_t at[] = {0, AT_ROWS, AT_BYTES, AT_LOOKUPS, AT_HOT, AT_IMBALANCE};
    if (lines == 0) { return; }
    const uint32_t count = view->tables->ps_count;
    const uint32_t shown = count > lines ? lines - 1 : count;
    heading(canvas, titles, at);
    for (uint32_t ps = 0; ps < shown; ps++) { draw_part(canvas, view->tables, ps); }
    if (shown == count) { return; }
    canvas_put(canvas, INK_DIM, "%" PRIu32 " more", count - shown);
    canvas_end_line(canvas);
}

void top_draw_servers(struct canvas *canvas, const struct top_view *view)
{
    static const char *const titles[] = {"ZOOKEEPER", "MODE", NULL};
    static const uint32_t at[] = {0, AT_PID};
    heading(canvas, titles, at);
    for (uint32_t i = 0; i < view->server_count; i++) {
        const struct top_server *server = &view->servers[i];
        canvas_put(canvas, INK_PLAIN, "%s", server->address);
        canvas_to(canvas, AT_PID);
        canvas_put(canvas, ink_of_mode(server->mode), "%s", *server->mode ? server->mode : "-");
        canvas_end_line(canvas);
    }
}

void top_draw_events(struct canvas *canvas, const struct top_view *view, uint32_t lines)
{
    static const char *const titles[] = {"LAST EVENTS", NULL};
    static const uint32_t at[] = {0};
    assert(lines <= view->event_count);
    if (lines == 0) { return; }
    heading(canvas, titles, at);
    for (uint32_t i = view->event_count - lines; i < view->event_count; i++) {
        char time[TIME_TEXT_MAX];
        clock_format(view->events[i].wall_ms, time);
        canvas_put(canvas, INK_DIM, "%.*s", CLOCK_SIZE, time + CLOCK_AT);
        canvas_put(canvas, INK_PLAIN, "  %s", view->events[i].text);
        canvas_end_line(canvas);
    }
}
