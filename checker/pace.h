/*
 * checker/pace.h: I14: every multiple of `evaluate.every_steps` is evaluated, and every multiple of
 * `checkpoint.every_steps` is committed or recorded as skipped. Part of the checker.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_PACE_H
#define CHECKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Multiples of one interval; further ones are not checked. */
enum { PACE_MULTIPLES_MAX = 1 << 16 };

struct pace {
    uint64_t every; /* 0: nothing is checked. */
    uint8_t seen[PACE_MULTIPLES_MAX / 8];
};

void pace_init(struct pace *pace, uint64_t every);
/* `step` was evaluated, committed or skipped. */
void pace_note(struct pace *pace, uint64_t step);
/* The run continues from `step`: later steps are repeated, earlier ones are not. */
void pace_rewind(struct pace *pace, uint64_t step);
/* The first multiple up to `step` that was not noted; 0: none. */
uint64_t pace_missing(const struct pace *pace, uint64_t step);

#endif
