#include "common/base/thread_team.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/cgroup.h"
#include "common/base/clock.h"
#include "common/base/fault_signals.h"
#include "common/base/minmax.h"

enum { CHECKS_PER_READING = 32 /* Between two readings of the clock. */ };

struct member {
    struct thread_team *team;
    uint32_t number;
    pthread_t thread;
};

struct thread_team {
    uint32_t count, started;
    uint64_t spin_ns;
    thread_team_work *work; /* These two belong to the present round. */
    void *context;
    _Atomic uint64_t round;   /* The rounds that have begun. */
    _Atomic uint32_t working; /* The members that have not finished the present one. */
    _Atomic bool stopping;
    /* A thread that is about to sleep is counted here before it looks for the last time, and the
     * one that wakes it looks here after its change: one of them sees the other. */
    _Atomic uint32_t sleeping;
    _Atomic bool owner_sleeps;
    pthread_mutex_t mutex;
    pthread_cond_t begun, done;
    struct member members[];
};

/* ------------------------------------------------------------ waiting */

/* Let the other thread of this core proceed. */
static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool has_begun(struct thread_team *team, uint64_t round)
{
    return atomic_load(&team->round) != round || atomic_load(&team->stopping);
}

static bool is_done(struct thread_team *team, uint64_t round)
{
    (void)round;
    return atomic_load(&team->working) == 0;
}

/* Wait actively. False: nothing has happened. */
static bool spin(struct thread_team *team, uint64_t round,
                 bool (*happened)(struct thread_team *team, uint64_t round))
{
    if (happened(team, round)) { return true; }
    if (team->spin_ns == 0) { return false; }
    const uint64_t end_ns = clock_monotonic_ns() + team->spin_ns;
    do {
        for (int i = 0; i < CHECKS_PER_READING; i++) {
            if (happened(team, round)) { return true; }
            relax();
        }
    } while (clock_monotonic_ns() < end_ns);
    return false;
}

static void await_round(struct thread_team *team, uint64_t round)
{
    if (spin(team, round, has_begun)) { return; }
    (void)pthread_mutex_lock(&team->mutex);
    (void)atomic_fetch_add(&team->sleeping, 1);
    while (!has_begun(team, round)) { (void)pthread_cond_wait(&team->begun, &team->mutex); }
    (void)atomic_fetch_sub(&team->sleeping, 1);
    (void)pthread_mutex_unlock(&team->mutex);
}

static void wake_members(struct thread_team *team)
{
    if (atomic_load(&team->sleeping) == 0) { return; }
    (void)pthread_mutex_lock(&team->mutex);
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->mutex);
}

static void await_members(struct thread_team *team)
{
    if (spin(team, 0, is_done)) { return; }
    (void)pthread_mutex_lock(&team->mutex);
    atomic_store(&team->owner_sleeps, true);
    while (!is_done(team, 0)) { (void)pthread_cond_wait(&team->done, &team->mutex); }
    atomic_store(&team->owner_sleeps, false);
    (void)pthread_mutex_unlock(&team->mutex);
}

static void finish_part(struct thread_team *team)
{
    if (atomic_fetch_sub(&team->working, 1) > 1 || !atomic_load(&team->owner_sleeps)) { return; }
    (void)pthread_mutex_lock(&team->mutex);
    (void)pthread_cond_signal(&team->done);
    (void)pthread_mutex_unlock(&team->mutex);
}

static void *serve(void *context)
{
    struct member *member = context;
    struct thread_team *team = member->team;
    for (uint64_t round = 0;; round++) {
        await_round(team, round);
        if (atomic_load(&team->stopping)) { return NULL; }
        team->work(team->context, member->number);
        finish_part(team);
    }
}

/* ------------------------------------------------------------ the team */

static bool start_threads(struct thread_team *team)
{
    sigset_t before;
    fault_signals_block_others(&before);
    for (team->started = 1; team->started < team->count; team->started++) {
        struct member *member = &team->members[team->started];
        *member = (struct member){.team = team, .number = team->started};
        if (pthread_create(&member->thread, NULL, serve, member) != 0) { break; }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return team->started == team->count;
}

enum tn_status thread_team_open(uint32_t count, struct thread_team **out, struct error *error)
{
    assert(count >= 1 && count <= THREAD_TEAM_MAX);
    *out = NULL;
    struct thread_team *team = calloc(1, sizeof *team + count * sizeof team->members[0]);
    if (team == NULL) { return error_set(error, TN_ENOMEM, "out of memory for threads"); }
    team->count = count;
    team->spin_ns = count <= thread_team_processors() ? THREAD_TEAM_SPIN_NS : 0;
    (void)pthread_mutex_init(&team->mutex, NULL);
    (void)pthread_cond_init(&team->begun, NULL);
    (void)pthread_cond_init(&team->done, NULL);
    if (start_threads(team)) {
        *out = team;
        return TN_OK;
    }
    const uint32_t started = team->started;
    thread_team_close(team);
    return error_set(error, TN_ENOMEM, "thread %u of %u cannot be created: the system has too few",
                     started + 1, count);
}

void thread_team_close(struct thread_team *team)
{
    if (team == NULL) { return; }
    atomic_store(&team->stopping, true);
    wake_members(team);
    for (uint32_t i = 1; i < team->started; i++) {
        (void)pthread_join(team->members[i].thread, NULL);
    }
    (void)pthread_cond_destroy(&team->done);
    (void)pthread_cond_destroy(&team->begun);
    (void)pthread_mutex_destroy(&team->mutex);
    free(team);
}

uint32_t thread_team_count(const struct thread_team *team)
{
    return team == NULL ? 1 : team->count;
}

void thread_team_run(struct thread_team *team, thread_team_work *work, void *context)
{
    assert(work != NULL);
    if (team == NULL) {
        work(context, 0);
        return;
    }
    team->work = work;
    team->context = context;
    atomic_store(&team->working, team->count - 1);
    (void)atomic_fetch_add(&team->round, 1);
    wake_members(team);
    work(context, 0);
    await_members(team);
}

struct thread_share thread_team_share(uint32_t members, uint32_t member, uint64_t count,
                                      uint64_t multiple)
{
    assert(member < members && multiple >= 1);
    const uint64_t units = count / multiple + (count % multiple != 0);
    const uint64_t each = units / members, more = units % members;
    const uint64_t first = member * each + u64_min(member, more);
    const uint64_t end = first + each + (member < more ? 1 : 0);
    return (struct thread_share){.first = u64_min(first * multiple, count),
                                 .end = u64_min(end * multiple, count)};
}

uint32_t thread_team_processors(void)
{
    cpu_set_t set;
    struct cgroup_limits limits;
    if (sched_getaffinity(0, sizeof set, &set) != 0) { return 1; }
    const uint32_t own = u32_max(1, (uint32_t)CPU_COUNT(&set));
    cgroup_limits_read(&limits);
    return limits.processors > 0 ? u32_min(own, limits.processors) : own;
}
