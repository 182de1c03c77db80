/* tests/unit/coordinator/depart_scene.h: a chief under test without ps, whose workers leave. */
#ifndef TESTS_DEPART_SCENE_H
#define TESTS_DEPART_SCENE_H

#include "tests/unit/coordinator/chief_scene.h"

enum { WORKERS = 3, FIRST_INCARNATION = 20 };

/* A worker has the values of the present generation. */
static inline void is_at(uint32_t worker, uint64_t step)
{
    holds(worker, chief.run.generation, step);
}

static inline void leaves(uint32_t worker)
{
    reports[1][worker].leaving = 1;
    report(ROLE_WORKER, worker);
}

/* It has read that it owns no slices, and has reached `step`. */
static inline void owns_nothing(uint32_t worker, uint64_t step)
{
    reports[1][worker].leaving = LEAVING_WITHOUT_SLICES;
    is_at(worker, step);
    write_all();
}

static inline void joins(uint32_t worker)
{
    member(ROLE_WORKER, worker, FIRST_INCARNATION + worker, NULL);
    worker_ready(worker);
}

/* A worker reports again, after the time in which a death becomes known. */
static inline void reports_again(uint32_t worker, uint64_t step)
{
    pass(CHIEF_DEPART_MS);
    is_at(worker, step);
    write_all();
}

static inline bool is_released(uint32_t worker)
{
    return run_has_released(&chief.run, FIRST_INCARNATION + worker);
}

/* Without ps; two workers have the values, and own two slices each. The third one is absent. */
static inline int setup(void **state)
{
    (void)state;
    configure();
    config.strategy = STRATEGY_MIRROR;
    config.ps = 0;
    config.workers = WORKERS;
    config.manifest.shard_count = 1;
    config.manifest.shards[0] = (struct manifest_shard){.count = 64};
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    member(ROLE_WORKER, 2, 0, NULL);
    joins(0);
    write_all();
    is_at(0, 0);
    write_all();
    joins(1);
    is_at(1, 0);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(owned_by(0), 2);
    return 0;
}

#endif
