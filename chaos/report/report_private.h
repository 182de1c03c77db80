/*
 * chaos/report/report_private.h: the parts of a report: the results of a round and of a campaign as
 * JSON, and that JSON as HTML. Private to chaos/report. Pure but for memory.
 *
 * Threads: any; nothing is shared.
 */
#ifndef CHAOS_REPORT_REPORT_PRIVATE_H
#define CHAOS_REPORT_REPORT_PRIVATE_H

#include <jansson.h>

#include "chaos/history/recovery.h"
#include "chaos/history/timeline.h"
#include "chaos/report/chart_frame.h"
#include "chaos/report/markup.h"
#include "common/base/embedded.h"

/* ------------------------------------------------------------- results (docs/chaos-report.md) */

/* An element of "rounds". `unread`: why the history at `path` cannot be read, if the timeline is
 * empty because of that. NULL: out of memory. */
json_t *report_round_facts(const struct timeline *timeline, const json_t *recoveries,
                           const char *path, const char *unread);

/* An empty report, to which rounds are added one by one. NULL: out of memory. */
json_t *report_begin(void);
/* Takes `round` and `recoveries`. */
void report_add(json_t *report, const struct timeline *timeline, json_t *round, json_t *recoveries);
/* Adds everything that needs all rounds: sums, checks, percentiles. */
void report_finish(json_t *report);

/* ------------------------------------------------------------- HTML */

/* The whole page; `rounds` are those of report_round(). */
void report_page(struct markup *out, const json_t *report, const struct markup *rounds);
/* A round, which is unfolded by a click, or at once if `open`. */
void report_round(struct markup *out, const struct timeline *timeline, const json_t *round,
                  const json_t *recoveries, bool open);
/* The picture of a round: lanes, faults, recoveries, steps per second. */
void report_timeline(struct markup *out, const struct timeline *timeline);

/* Steps per second as an area, steps that are done again in another colour, the rate of the
 * baseline run, and checkpoints. */
void report_rate_chart(struct markup *out, const struct chart_frame *frame,
                       const struct timeline *timeline);
/* A chart so small that it fits into a row. */
void report_sparkline(struct markup *out, const struct timeline *timeline);

/* Durations as a histogram with p50 and p99; sorts `values`. */
void report_histogram(struct markup *out, const char *title, double *values, size_t count);
/* The phases of a recovery as a bar; `scale_ms` is all of its `width` pixels. */
void report_phase_bar(struct markup *out, const double phases_ms[static RECOVERY_PHASES],
                      double scale_ms, double width);
/* The mean phases of recoveries that can be compared. */
void report_phase_chart(struct markup *out, const json_t *report);

void report_checks_table(struct markup *out, const json_t *report);
void report_spread_table(struct markup *out, const json_t *report);
void report_faults_table(struct markup *out, const json_t *report);
void report_slowest_table(struct markup *out, const json_t *report);
/* Rows of recoveries; `with_round` adds a column with the number of the round. */
void report_recovery_rows(struct markup *out, const json_t *recoveries, size_t most,
                          bool with_round);

/* Faults of a family look alike: a colour and an icon each. */
struct report_family {
    const char *name;   /* A CSS class: "process". */
    const char *title;  /* "process killed" */
    const char *symbol; /* The inside of an SVG symbol, 12 by 12. */
};
const struct report_family *report_family_of(const char *fault);
/* The family with this index, from 0 on; NULL after the last one. */
const struct report_family *report_family_at(size_t index);
void report_family_icon(struct markup *out, const struct report_family *family);

/* "style" and "script": the contents of <style> and <script>. */
extern const struct embedded_file report_assets[];

#endif
