/*
 * bench/bench_store.c: compares writing a shard durably by the store with the same bytes written by
 * write() and fdatasync(); bench_load compares loading it. The measurements alternate. Printed are
 * the medians and quartiles of the rates, and of the ratio within each round.
 *
 *   bench_store [FOLDER [MEBIBYTES [ROUNDS]]]     default: /tmp 256 15
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum { PIECE_BYTES = 1 << 20 };

/* The measurements, in GB/s; each round has one of each. */
enum rate { RAW_WRITE, STORE_RATE_WRITE, RATES };

static char dir[PATH_MAX / 2];
static char raw_path[PATH_MAX];
static size_t bytes;
static struct buffer source;
static struct manifest manifest;
static double rates[RATES][ROUNDS_MAX];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void raw_write(void)
{
    int fd = open(raw_path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (fd < 0) { fail(raw_path); }
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        size_t piece = size_min(bytes - at, PIECE_BYTES);
        if (write(fd, (char *)source.data + at, piece) != (ssize_t)piece) { fail(raw_path); }
    }
    if (fdatasync(fd) != 0 || close(fd) != 0) { fail(raw_path); }
}

static void store_write_once(void)
{
    struct error error;
    struct manifest_shard *part = &manifest.shards[0];
    struct store_write_request request = {.id = manifest.id,
                                          .count = bytes / 4,
                                          .shards = 1,
                                          .state_arrays = 1,
                                          .arrays = {{&source, 0}}};
    measure_require(store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, &error),
                    &error);
}

static double rate_of(void (*work)(void))
{
    uint64_t began = clock_monotonic_ns();
    work();
    return (double)bytes / (double)(clock_monotonic_ns() - began);
}

static void one_round(size_t round)
{
    struct error error;
    measure_require(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    rates[RAW_WRITE][round] = rate_of(raw_write);
    rates[STORE_RATE_WRITE][round] = rate_of(store_write_once);
}

static void print_rates(size_t rounds)
{
    double ratios[ROUNDS_MAX];
    const double *raw = rates[RAW_WRITE], *ours = rates[STORE_RATE_WRITE];
    for (size_t i = 0; i < rounds; i++) { ratios[i] = ours[i] / raw[i]; }
    measure_print_quartiles("raw write, GB/s", raw, rounds);
    measure_print_quartiles("store write, GB/s", ours, rounds);
    measure_print_quartiles("ratio store / raw write", ratios, rounds);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 15;
    bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || bytes == 0) { return 128; }
    int length = snprintf(dir, sizeof dir, "%s/tanist-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (length < 0 || (size_t)length >= sizeof dir || mkdtemp(dir) == NULL) { fail("folder"); }
    if (snprintf(raw_path, sizeof raw_path, "%s/raw", dir) < 0) { return 1; }
    source.data = measure_filled(bytes);
    if (source.data == NULL) { fail("memory"); }
    manifest = (struct manifest){.id = 1,
                                 .parameter_count = bytes / 4,
                                 .state_arrays = 1,
                                 .shard_count = 1,
                                 .shards = {{.count = bytes / 4}}};
    one_round(0); /* Warm up. */
    for (size_t i = 0; i < rounds; i++) { one_round(i); }
    printf("%zu MiB, %zu rounds in %s: median [quartiles]\n", bytes >> 20, rounds, dir);
    print_rates(rounds);
    struct error error;
    measure_require(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    free(source.data);
    return rmdir(dir) != 0;
}
