/*
 * bench/bench_writer.c: copies bytes from memory to the disk, over and over, past the page cache
 * and with idle priority: the least that a program does which saves this memory. It runs beside a
 * training for `run`, until it is killed.
 *
 *   bench_writer FILE MEBIBYTES-PER-SECOND
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/thread_priority.h"

enum {
    BLOCK_BYTES = 2 << 20,
    BLOCKS = 512, /* 1 GiB of memory, so that no cache holds it, and as much on the disk. */
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int create(const char *path)
{
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)BLOCKS * BLOCK_BYTES) != 0) { fail(path); }
    return fd;
}

/* The block `number` is due after `began_ns` by the time that the rate gives it. */
static void wait_for_block(uint64_t began_ns, uint64_t number, double bytes_per_ns)
{
    const uint64_t due_ns = began_ns + (uint64_t)((double)(number * BLOCK_BYTES) / bytes_per_ns);
    const uint64_t now_ns = clock_monotonic_ns();
    if (due_ns > now_ns) { (void)usleep((useconds_t)((due_ns - now_ns) / 1000)); }
}

int main(int argc, char **argv)
{
    const double rate = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (rate <= 0) { return 128; }
    const double bytes_per_ns = rate * (1 << 20) / 1e9;
    uint8_t *memory = measure_filled((size_t)BLOCKS * BLOCK_BYTES);
    uint8_t *block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
    if (memory == NULL || block == NULL) { fail("memory"); }
    const int fd = create(argv[1]);
    (void)thread_priority_set(thread_priority_self(), THREAD_IDLE);
    const uint64_t began_ns = clock_monotonic_ns();
    for (uint64_t number = 0;; number++) {
        const size_t at = (size_t)(number % BLOCKS) * BLOCK_BYTES;
        memcpy(block, memory + at, BLOCK_BYTES);
        if (pwrite(fd, block, BLOCK_BYTES, (off_t)at) != BLOCK_BYTES) { fail(argv[1]); }
        wait_for_block(began_ns, number + 1, bytes_per_ns);
    }
}
