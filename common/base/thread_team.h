/*
 * common/base/thread_team.h: threads that do one piece of work together, again and again: each
 * round, every member does its part, and the caller, member 0, waits for all of them. Rounds may
 * follow each other within microseconds, so a member first waits actively for the next one, for at
 * most THREAD_TEAM_SPIN_NS, and then sleeps; it sleeps at once if there are more members than
 * processors.
 *
 * Threads: one owner; the others belong to the team, and block all signals but those of faults.
 * Blocking: thread_team_run() until all members are done; thread_team_close() likewise.
 */
#ifndef COMMON_BASE_THREAD_TEAM_H
#define COMMON_BASE_THREAD_TEAM_H

#include <stdint.h>

#include "common/base/error.h"

enum { THREAD_TEAM_MAX = 128, THREAD_TEAM_SPIN_NS = 50000 };

struct thread_team;

/* A team of `count` members, 1 to THREAD_TEAM_MAX, of which count - 1 are new threads. TN_ENOMEM,
 * also if a thread cannot be created: nothing is owned. */
MUST_CHECK enum tn_status thread_team_open(uint32_t count, struct thread_team **out,
                                           struct error *error);
void thread_team_close(struct thread_team *team); /* NULL is allowed. */

/* The number of members; 1 without a team (NULL). */
uint32_t thread_team_count(const struct thread_team *team);

/* Call `work` once for each member, at the same time; the caller is member 0. A member is the same
 * thread in all rounds. What the caller wrote before is visible to all, and what they wrote is
 * visible to the caller afterwards. NULL: the caller does all the work as the only member. */
typedef void thread_team_work(void *context, uint32_t member);
void thread_team_run(struct thread_team *team, thread_team_work *work, void *context);

/* The part of `count` elements that belongs to a member. All parts but the last begin and end at
 * multiples of `multiple`, and differ by at most that. */
struct thread_share {
    uint64_t first, end;
};
struct thread_share thread_team_share(uint32_t members, uint32_t member, uint64_t count,
                                      uint64_t multiple);

/* The processors that this process may keep busy, at least 1: those of its affinity, and as many as
 * the quota of its control group allows. Reads files of the system. */
uint32_t thread_team_processors(void);

#endif
