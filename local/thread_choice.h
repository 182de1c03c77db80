/*
 * local/thread_choice.h: whether small steps use all threads of a process, or one. All are faster
 * where processors are idle. Beside other programs they wait for each other, since a thread whose
 * processor is taken away keeps the others of its step waiting for milliseconds. So the other way
 * is tried for some steps from time to time, and kept if it is faster. The bits are the same.
 *
 * Pure: times of steps in, decisions out. Threads: one.
 */
#ifndef LOCAL_THREAD_CHOICE_H
#define LOCAL_THREAD_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

struct thread_choice {
    bool is_fixed; /* Always all threads. */
    bool all;      /* The way that was faster so far. */
    bool tries;    /* The present steps try the other way. */
    bool has_tried;
    uint32_t left;              /* Steps of the present way. */
    uint32_t rest;              /* Steps between two trials. */
    uint64_t trial_ns, last_ns; /* Sums: of a trial, and of as many steps before it. */
};

/* All threads first. `is_fixed`: no other way is tried. */
struct thread_choice thread_choice_begin(bool is_fixed);

/* Whether the next step uses all threads. */
bool thread_choice_is_all(const struct thread_choice *choice);

/* That step took `ns`. */
void thread_choice_took(struct thread_choice *choice, uint64_t ns);

#endif
