/*
 * checker/reached.h: the steps that training has reached in a generation, as seen in the frames of
 * nodes. Plain data.
 *
 * Without ps, the steps that a worker alone has made are lost with it: the others make them again
 * from their own values, which are exact. Therefore `all` counts every node, but rules about
 * the step at which training stands count only the ps and the workers that are registered.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_REACHED_H
#define CHECKER_REACHED_H

#include <stdint.h>

#include "checker/zk_tree.h"
#include "common/cluster/task.h"

struct reached {
    uint64_t all;                       /* The highest step whose values any node sent. */
    uint64_t ps;                        /* The highest step whose values a ps sent. */
    uint64_t incarnations[WORKERS_MAX]; /* The registered workers; 0: none. */
    uint64_t workers[WORKERS_MAX];      /* Their steps. */
};

/* A generation begins. */
void reached_begin(struct reached *reached, uint64_t load_step);
/* A znode changes; all but those of workers in /members are ignored. */
void reached_on_change(struct reached *reached, const struct zk_change *change);

void reached_by_ps(struct reached *reached, uint64_t step);
void reached_by_worker(struct reached *reached, uint32_t index, uint64_t incarnation,
                       uint64_t step);

/* The highest step of those that are registered. */
uint64_t reached_present(const struct reached *reached);

#endif
