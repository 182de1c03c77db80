/*
 * chaos/report/report_private.h: the parts of a report, for those who write it: what a round and a
 * campaign came to as JSON, and that JSON as HTML. Pure but for memory.
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

/* ------------------------------------------------------------- facts (docs/chaos-report.md) */

/* One of "rounds"; `recoveries` is borrowed. NULL: out of memory. */
json_t *report_round_facts(const struct timeline *timeline, const json_t *recoveries,
                           const char *path);

/* The same of a history that cannot be read. */
json_t *report_unread_facts(const char *path, const char *why);

/* An empty report, to which rounds are added one by one. NULL: out of memory. */
json_t *report_begin(void);
/* Takes `round` and `recoveries`. `timeline` NULL: it could not be read. */
void report_add(json_t *report, const struct timeline *timeline, json_t *round, json_t *recoveries);
/* Everything that needs all rounds: sums, checks, percentiles. */
void report_finish(json_t *report);

/* ------------------------------------------------------------- HTML */

/* The whole page; `rounds` are those of report_round(). */
void report_page(struct markup *out, const json_t *report, const struct markup *rounds);
/* A round that is unfolded by a click; `open`: at once. `timeline` NULL: it could not be read. */
void report_round(struct markup *out, const struct timeline *timeline, const json_t *round,
                  const json_t *recoveries, bool open);
/* Its picture: lanes, faults, recoveries, steps per second. */
void report_timeline(struct markup *out, const struct timeline *timeline);

/* Steps per second as an area, steps that are done again in another colour, calm's rate, and
 * checkpoints. */
void report_rate_chart(struct markup *out, const struct chart_frame *frame,
                       const struct timeline *timeline);
/* A line so small that it fits into a row. */
void report_sparkline(struct markup *out, const struct timeline *timeline);

/* Failovers or recoveries as a histogram with p50 and p99. */
void report_histogram(struct markup *out, const char *title, double *values, size_t count);
/* The phases of a recovery as a bar; `scale_ms` is all of its `width` pixels. */
void report_phase_bar(struct markup *out, const double phases_ms[static RECOVERY_PHASES],
                      double scale_ms, double width);
/* Mean phases of recoveries that can be compared. */
void report_phase_chart(struct markup *out, const json_t *report);

void report_checks_table(struct markup *out, const json_t *report);
void report_spread_table(struct markup *out, const json_t *report);
void report_faults_table(struct markup *out, const json_t *report);
void report_slowest_table(struct markup *out, const json_t *report);
/* Rows of recoveries; `with_round`: a column says which round. */
void report_recovery_rows(struct markup *out, const json_t *recoveries, size_t most,
                          bool with_round);

/* Kinds of fault that look alike: a colour and a sign each. */
struct report_family {
    const char *name;   /* A CSS class: "process". */
    const char *words;  /* "processes" */
    const char *symbol; /* The inside of an SVG symbol, 12 by 12. */
};
const struct report_family *report_family_of(const char *fault);
void report_family_icon(struct markup *out, const struct report_family *family);
/* All of them, NULL after the last. */
const struct report_family *report_family_at(size_t index);

/* "style" and "script": the contents of <style> and <script>. */
extern const struct embedded_file report_assets[];

#endif
