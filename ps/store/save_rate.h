/*
 * ps/store/save_rate.h: how fast a checkpoint is written, so that training keeps its speed: the
 * bytes are spread over at most half of the interval between two checkpoints. The other half is
 * left for a slow disk.
 *
 * Threads: pure functions. Units: bytes, milliseconds.
 */
#ifndef PS_STORE_SAVE_RATE_H
#define PS_STORE_SAVE_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SAVE_BLOCK_BYTES = 4 << 20,         /* The writer asks for advice after each. */
    SAVE_INTERVAL_DEFAULT_MS = 2000,    /* Until an interval is known. */
    SAVE_BYTES_PER_MS_LEAST = 32 << 10, /* Small saves are written at this rate at least. */
};

/* A save in progress. */
struct save_rate {
    uint64_t bytes, written;
    uint64_t spread_ms;  /* save_rate_spread_ms() */
    uint64_t elapsed_ms; /* Since it began. */
    bool hurried;        /* The save is awaited. */
};

struct save_advice {
    uint64_t wait_ms; /* Before the next block. */
    bool idle;        /* The save is in time: the writer may leave the processor to others. */
};

/*
 * The time over which `bytes` are to be spread. The interval between saves is the shorter one of
 * `configured_ms` and `seen_ms`, that between the last two saves; 0: unknown. 0: at full speed.
 */
uint64_t save_rate_spread_ms(uint64_t bytes, uint64_t configured_ms, uint64_t seen_ms);

/* The advice before the next block is written. */
struct save_advice save_rate_advise(const struct save_rate *save);

#endif
