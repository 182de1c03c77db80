/*
 * cli/chaos/chaos_replay.h: a recorded round, read from its history, to run it again.
 *
 * Threads: the main thread. Blocking: recorded_round_open() until the baseline run is done.
 */
#ifndef CLI_CHAOS_CHAOS_REPLAY_H
#define CLI_CHAOS_CHAOS_REPLAY_H

#include "cli/chaos/chaos_session.h"

struct recorded_round {
    uint64_t seed;
    uint32_t round;
    struct schedule schedule;      /* Owned. */
    char job_file[CHAOS_PATH_MAX]; /* A temporary file with the recorded job; removed by
                                      recorded_round_free(). */
};

/* Read the history, and begin a campaign with its plan, seed and job. TN_EINVAL: the file is not a
 * history of a round; others as chaos_session_open(). */
MUST_CHECK enum tn_status recorded_round_open(const char *history, struct chaos_session *session,
                                              struct recorded_round *out, struct error *error);
void recorded_round_free(struct recorded_round *round);

#endif
