/*
 * bench/bench_load.c: compares loading a shard of a checkpoint, which checks all its digests, with
 * read() of the same file to the same memory, in pieces of 1 MiB on one thread. Each round has
 * both, in alternating order, from the disk and from the page cache: before each reading from the
 * disk the file is dropped from the cache (not possible on tmpfs), and nothing is dropped before
 * the others, which follow a reading of the whole file.
 *
 *   bench_load [FOLDER [MEBIBYTES [ROUNDS [run]]]]     default: /tmp 1024 15
 *
 * Prints medians and quartiles of the rates in GB/s, and of the ratios within each round. With
 * `run`: for each round the four rates, load and read() from the disk, then from the cache.
 */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"

/* ARRAYS: those of Adam. */
enum { PIECE_BYTES = 1 << 20, ARRAYS = 3 };
enum rate { DISK_LOAD, DISK_RAW, CACHE_LOAD, CACHE_RAW, RATES };

static char dir[PATH_MAX / 2], path[PATH_MAX];
static struct buffer source, target;
static struct manifest manifest;
static double rates[RATES][ROUNDS_MAX];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void drop_cache(void)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) { fail(path); }
    close(fd);
}

static void raw_read(void)
{
    const size_t bytes = manifest.shards[0].bytes;
    int fd = open(path, O_RDONLY);
    if (fd < 0) { fail(path); }
    for (size_t at = 0; at < bytes;) {
        const ssize_t got = read(fd, (char *)target.data + at, size_min(bytes - at, PIECE_BYTES));
        if (got <= 0) { fail(path); }
        at += (size_t)got;
    }
    close(fd);
}

static void load(void)
{
    static struct store_metadata metadata;
    const uint64_t count = manifest.parameter_count;
    struct error error;
    struct store_read_request request = {.manifest = &manifest, .count = count};
    for (uint32_t a = 0; a < ARRAYS; a++) {
        request.arrays[a] = (struct store_array){&target, a * count * sizeof(float)};
    }
    measure_require(store_read_range(dir, &request, NULL, &metadata, &error), &error);
}

static double rate_of(void (*work)(void))
{
    const uint64_t began = clock_monotonic_ns();
    work();
    return (double)manifest.shards[0].bytes / (double)(clock_monotonic_ns() - began);
}

static void one_round(size_t round)
{
    static void (*const works[])(void) = {load, raw_read};
    for (size_t i = 0; i < 2; i++) {
        const size_t turn = (round + i) % 2;
        drop_cache();
        rates[DISK_LOAD + turn][round] = rate_of(works[turn]);
    }
    for (size_t i = 0; i < 2; i++) {
        const size_t turn = (round + i) % 2;
        rates[CACHE_LOAD + turn][round] = rate_of(works[turn]);
    }
    load();
    const size_t bytes = ARRAYS * manifest.parameter_count * sizeof(float);
    if (memcmp(source.data, target.data, bytes) != 0) { fail("compare"); }
}

static void print_rows(const char *place, enum rate ours, size_t rounds)
{
    double ratios[ROUNDS_MAX];
    char name[64];
    for (size_t i = 0; i < rounds; i++) { ratios[i] = rates[ours][i] / rates[ours + 1][i]; }
    snprintf(name, sizeof name, "%s: load, GB/s", place);
    measure_print_quartiles(name, rates[ours], rounds);
    snprintf(name, sizeof name, "%s: read(), GB/s", place);
    measure_print_quartiles(name, rates[ours + 1], rounds);
    snprintf(name, sizeof name, "%s: ratio load / read()", place);
    measure_print_quartiles(name, ratios, rounds);
}

static void print_round(size_t i)
{
    printf("%.6g %.6g %.6g %.6g\n", rates[DISK_LOAD][i], rates[DISK_RAW][i], rates[CACHE_LOAD][i],
           rates[CACHE_RAW][i]);
    (void)fflush(stdout);
}

static void write_shard(uint64_t count)
{
    struct error error;
    manifest = (struct manifest){.id = 1,
                                 .parameter_count = count,
                                 .state_arrays = ARRAYS,
                                 .shard_count = 1,
                                 .shards = {{.count = count}}};
    struct store_write_request request = {
        .id = manifest.id, .count = count, .shards = 1, .state_arrays = ARRAYS};
    for (uint32_t a = 0; a < ARRAYS; a++) {
        request.arrays[a] = (struct store_array){&source, a * count * sizeof(float)};
    }
    struct manifest_shard *part = &manifest.shards[0];
    measure_require(store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, &error),
                    &error);
    if (!store_path_of_shard(path, dir, manifest.id, 0, 1)) { exit(1); }
}

int main(int argc, char **argv)
{
    struct error error;
    const size_t mebibytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 1024;
    const size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 15;
    const uint64_t count = ((uint64_t)mebibytes << 20) / (ARRAYS * sizeof(float));
    if (rounds < 1 || rounds > ROUNDS_MAX || count == 0) { return 128; }
    int length = snprintf(dir, sizeof dir, "%s/tanist-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (length < 0 || (size_t)length >= sizeof dir || mkdtemp(dir) == NULL) { fail("folder"); }
    source.data = measure_filled(count * ARRAYS * sizeof(float));
    if (source.data == NULL) { fail("memory"); }
    write_shard(count);
    target.data = measure_filled(manifest.shards[0].bytes); /* Or for the file, which is larger. */
    if (target.data == NULL) { fail("memory"); }
    one_round(0); /* Warm up. */
    for (size_t i = 0; i < rounds; i++) {
        one_round(i);
        if (argc > 4) { print_round(i); }
    }
    if (argc <= 4) {
        printf("%zu MiB, %zu rounds in %s: median [quartiles]\n", mebibytes, rounds, dir);
        print_rows("from the disk", DISK_LOAD, rounds);
        print_rows("from the cache", CACHE_LOAD, rounds);
    }
    measure_require(store_discard(dir, manifest.id, &error), &error);
    free(source.data);
    free(target.data);
    return rmdir(dir) != 0;
}
