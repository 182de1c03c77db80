/*
 * agent/observe/summaries.h: DIR/summaries/events.out.tfevents.*, the curves of a run for
 * TensorBoard: scalars, histograms, texts and the graph. Each start of an agent opens a new file.
 * After a recovery to step r, a SessionLog START of step r + 1 makes TensorBoard drop the points
 * above r.
 *
 * Files are sequences of TFRecords: length, its masked CRC-32C, an Event, its masked CRC-32C. Not
 * synced; TensorBoard accepts a last record that was cut off.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef AGENT_OBSERVE_SUMMARIES_H
#define AGENT_OBSERVE_SUMMARIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/observe/proto.h"

#define SUMMARIES_FOLDER "summaries"

/* All zero: closed; nothing is written. */
struct summaries {
    int fd;      /* Less than 1: closed. */
    bool failed; /* The file ends in the middle of a record, or the failure was logged. */
};

/* Open a new file in `dir`/summaries. A failure is logged, and nothing will be written. Nor is it
 * after a record that the disk has refused: no record behind one that is cut off can be read. */
void summaries_open(struct summaries *summaries, const char *dir);
void summaries_close(struct summaries *summaries);

/* One value of a Summary, encoded. Frees `entry`. */
void summaries_value(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                     struct proto *entry);

void summaries_scalar(struct summaries *summaries, uint64_t wall_ms, uint64_t step, const char *tag,
                      double value);

/* The details of an evaluation: histograms, and the confusion matrix as a table; see
 * common/cluster/evaluation_file.h. NULL: nothing. Damaged parts are left out. */
void summaries_evaluation(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                          const json_t *evaluation);

/* Training continues at `step`: later points in all files of this folder are annulled. */
void summaries_start(struct summaries *summaries, uint64_t wall_ms, uint64_t step);

/* An encoded GraphDef. */
void summaries_graph(struct summaries *summaries, const struct proto *graph);

#endif
