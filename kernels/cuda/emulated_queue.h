/*
 * kernels/cuda/emulated_queue.h: the work of the emulated driver's streams. Work is queued, and is
 * done when a call waits for it: only what this call needs, so that a missing wait is found.
 * Between streams, work has the order that events give it, and otherwise the one that `order`
 * chooses (emulated_driver.h).
 *
 * A copy destroys what it will overwrite as soon as it may begin, and writes when it is done.
 *
 * Threads: callers are between emulated_enter() and emulated_leave(). Private to the driver.
 */
#ifndef KERNELS_CUDA_EMULATED_QUEUE_H
#define KERNELS_CUDA_EMULATED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_context;
struct gpu_event;
struct emulation_kernel;

struct gpu_stream {
    struct gpu_stream *home; /* The default stream of its context, which is its own. */
    bool is_blocking;        /* Its work and that of the default stream have one order. */
    uint64_t seen, blocking_seen;
};

struct gpu_event {
    const struct gpu_stream *home; /* The default stream of its context. */
    bool is_timed;
    uint64_t recorded; /* The number of its last record; 0: none. */
    uint64_t launches; /* When this was done. */
};

enum emulated_kind { WORK_COPY, WORK_FILL, WORK_LAUNCH, WORK_CALL, WORK_RECORD, WORK_WAIT };

struct emulated_work {
    enum emulated_kind kind;
    /* A copy or a fill: its target; a copy, a launch or a call: its source, or the arguments. */
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
    bool is_staged;      /* `from` is read now: it is pageable memory, or arguments. */
    unsigned char value; /* The byte of a fill. */
    const struct emulation_kernel *kernel;
    unsigned blocks, threads;
    void (*call)(const void *arguments); /* A call: work of another library. */
    struct gpu_event *event;             /* The event of a record or a wait. */
};

/* Read order=, seed=, operations= and error= of TANIST_EMULATED_GPU, if they have changed. */
void emulated_queue_configure(const char *settings);

/* Queue work; the stream is not NULL. Returns its number; 0: out of memory. */
uint64_t emulated_queue_add(struct gpu_stream *stream, const struct emulated_work *work);

/* Do the work `number`, and what it needs; 0 and finished work are allowed. Returns the code of
 * the first operation that failed since the machine was made. */
int emulated_queue_finish(uint64_t number);
/* The same for all work of a stream, and of all streams of the context with this default stream. */
int emulated_queue_finish_stream(const struct gpu_stream *stream);
int emulated_queue_finish_context(const struct gpu_stream *home);

bool emulated_queue_is_pending(uint64_t number);
/* Its record is done without it. */
void emulated_queue_forget_event(const struct gpu_event *event);
/* Drop all work of the context with this default stream; NULL: of all contexts. */
void emulated_queue_drop(const struct gpu_stream *home);

#endif
