/*
 * ps/store/save_pace.h: the thread that writes a checkpoint keeps the rate of ps/store/save_rate.h,
 * and leaves the processor and the disk to others while it is in time. Once the checkpoint is
 * awaited, it is hurried: it continues at full speed and with normal priority.
 *
 * Threads: one writer; save_pace_hurry() on any thread. Blocking: save_pace_wrote(), until the next
 * block is due or the save is hurried.
 */
#ifndef PS_STORE_SAVE_PACE_H
#define PS_STORE_SAVE_PACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ps/store/save_rate.h"
#include "ps/table/table_file.h"

struct save_pace {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool can_be_idle;  /* The kernel lets a thread return from the idle priority. */
    atomic_int idle;   /* The thread id of the writer while its priority is idle; else 0. */
    bool hurried;      /* Under the mutex. */
    uint64_t began_ms; /* When the last save began; 0: there was none. Only the writer uses this and
                          the rest. */
    uint64_t asked, waited_ms;
    struct save_rate rate;
};

void save_pace_open(struct save_pace *pace);
void save_pace_close(struct save_pace *pace);

/* A save of `bytes` begins, to be spread over `spread_ms`. */
void save_pace_begin(struct save_pace *pace, uint64_t bytes, uint64_t spread_ms, bool hurried);

/* `bytes` more were written. Returns when the next ones may be. */
void save_pace_wrote(struct save_pace *pace, uint64_t bytes);

/* Whether the save is hurried, or has no rate to keep. */
bool save_pace_is_hurried(struct save_pace *pace);

/* Normal priority until the next bytes: for work that is short, and of which others may wait. */
void save_pace_be_normal(struct save_pace *pace);

/* The save has ended. Returns for how long it waited. */
uint64_t save_pace_end(struct save_pace *pace);

/* The save in progress is awaited. Harmless if none is in progress. */
void save_pace_hurry(struct save_pace *pace);

/* For the writer of rows. `pace` outlives it. */
struct table_progress save_pace_of_rows(struct save_pace *pace);

#endif
