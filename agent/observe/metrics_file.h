/*
 * agent/observe/metrics_file.h: DIR/metrics.jsonl, the curves and events of a run, one JSON object
 * a line: docs/metrics.md. Lines are only appended. A line {"event": "loaded", "step": r} annuls
 * the metrics of steps above r before it: these steps were not saved and are done again.
 *
 * Not synced. A disk that refuses a line is logged once, and the line is lost.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef AGENT_OBSERVE_METRICS_FILE_H
#define AGENT_OBSERVE_METRICS_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/observe/table_totals.h"
#include "agent/observe/training_curve.h"
#include "common/base/error.h"
#include "common/cluster/znodes.h"

#define METRICS_FILE "metrics.jsonl"
enum { METRICS_MORE_MAX = 256 };

#define METRICS_LOADED "loaded" /* The event that annuls. */

/* All zero: closed; nothing is written. */
struct metrics_file {
    int fd;       /* Less than 1: closed. */
    bool cut_off; /* The last line has no end. */
    bool failed;  /* The failure was logged. */
    /* From the lines of earlier starts: the last generation that was loaded, the last step, and
     * when it was written. */
    uint64_t generation, step;
};

/* Open the file of `dir` to continue it. A failure is logged, and nothing will be written. */
void metrics_file_open(struct metrics_file *file, const char *dir);
void metrics_file_close(struct metrics_file *file);

/* `metrics`: more members of the object, each behind a comma; at most METRICS_MORE_MAX bytes. */
void metrics_file_point(struct metrics_file *file, const struct training_curve_point *point,
                        uint64_t wall_ms, uint64_t paused_ms, const char *metrics);

/* The tables as of about step `step`; nothing without tables. */
void metrics_file_tables(struct metrics_file *file, const struct table_totals *totals,
                         uint64_t step, uint64_t wall_ms);

/* Training begins or continues: the generation that /run orders is loaded. */
void metrics_file_loaded(struct metrics_file *file, const struct run *run, uint64_t wall_ms);

/* An entry of the history: an event, or the metrics of an evaluation. */
void metrics_file_entry(struct metrics_file *file, const struct history_entry *entry);

/* A key of the job has another value from `step` on, or since the start before. */
void metrics_file_changed(struct metrics_file *file, uint64_t step, const char *key,
                          const json_t *from, const json_t *to);

/* Call `line` for each line of the file of `dir`, the oldest first, with a borrowed object. Lines
 * that cannot be read are left out. TN_ENOENT, TN_EIO, TN_ENOMEM. */
MUST_CHECK enum tn_status metrics_file_read(const char *dir,
                                            void (*line)(void *ctx, const json_t *object),
                                            void *ctx, struct error *error);

#endif
