/* coordinator/chief_private.h: what the files of the chief share; nobody else includes it. */
#ifndef COORDINATOR_CHIEF_PRIVATE_H
#define COORDINATOR_CHIEF_PRIVATE_H

#include "coordinator/chief.h"

/* How soon a plan must become a write. */
enum urgency { PLAN_NOTHING, PLAN_SOFT, PLAN_HARD };

/* A write in the making. Making it changes nothing of the chief: it may be made again later. */
struct plan {
    const struct chief *c;
    struct chief_write *w;
    struct run *run; /* Of `w`. */
    enum urgency urgency;
    bool clears_lost; /* All ps are as they should be. */
    bool missed;      /* A checkpoint was, ... */
    bool late;        /* ... for it was ordered too late. */
};

/* What should be written now, given all that is known. */
void chief_plan(struct plan *p);

/* Its parts in chief_save.c. */
void plan_checkpoints(struct plan *p);
void plan_evaluation(struct plan *p);
/* Its parts in chief_requests.c. */
void plan_requests(struct plan *p);
void plan_assignment(struct plan *p);

/* Workers stand still from here on; `task` and `cause` say why, unless they did already. */
void plan_interrupt(struct plan *p, enum recovery_kind kind, struct task task, const char *cause);
void plan_fail(struct plan *p, const char *why);
/* What is waited for, for people; until the next phase. */
void plan_reason(struct plan *p, const char *words);

/* Next evaluation after what is known; to be called when that or `until` changed. */
void plan_next_evaluation(struct plan *p);
/* The first place where everybody waits: the end, or with a target the next evaluation. */
uint64_t plan_boundary(const struct chief *c, uint64_t step);
bool chief_gates(const struct chief *c);

void plan_need(struct plan *p, enum urgency urgency);
/* A new entry in this write, with time, epoch, generation and step filled in. */
struct history_entry *plan_entry(struct plan *p, enum history_kind kind);

bool chief_worker_ready(const struct chief_peer *peer);
/* Of `run`'s generation, and there. */
bool chief_ps_holds(const struct chief *c, const struct run *run, uint32_t index);
/* Highest step any ps has told of in `run`'s generation; its start if none has. */
uint64_t chief_max_step(const struct chief *c, const struct run *run);
/* How many steps ahead an order reaches everybody in time. */
uint64_t chief_lead(const struct chief *c);

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
