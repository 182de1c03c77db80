/* cli/chaos/chaos_replay.h: what a history says about how to do it again. Blocking: on the disk. */
#ifndef CLI_CHAOS_CHAOS_REPLAY_H
#define CLI_CHAOS_CHAOS_REPLAY_H

#include "cli/chaos/chaos_session.h"

struct recorded_round {
    uint64_t seed;
    uint32_t round;
    struct schedule schedule;      /* Owned. */
    char job_file[CHAOS_PATH_MAX]; /* The job as it was, in a file of ours: recorded_round_free()
                                      removes it. */
};

/* Read it, and begin a campaign with its plan, seed and job. TN_EINVAL: it is no history, or has no
 * job; others as chaos_session_open(). */
MUST_CHECK enum tn_status recorded_round_open(const char *history, struct chaos_session *session,
                                              struct recorded_round *out, struct error *error);
void recorded_round_free(struct recorded_round *round);

#endif
