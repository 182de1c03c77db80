/*
 * bench/bench_store.c: compares writing a shard durably and restoring it by the store with the same
 * bytes written by write() and fdatasync() and read by read(). The measurements alternate. Printed
 * are the medians and quartiles of the rates, and of the ratios within each round.
 *
 *   bench_store [FOLDER [MEBIBYTES [ROUNDS]]]     default: /tmp 256 15
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"

enum { PIECE_BYTES = 1 << 20 };

/* The measurements, in GB/s; each round has one of each. */
enum rate { RAW_WRITE, STORE_RATE_WRITE, RAW_READ, STORE_RATE_READ, RATES };

static char dir[PATH_MAX / 2];
static char raw_path[PATH_MAX];
static size_t bytes;
static struct buffer source, target;
static struct manifest manifest;
static double rates[RATES][ROUNDS_MAX];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Drop the file from the page cache, so that reading measures the disk. */
static void drop_cache(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) { fail(path); }
    close(fd);
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

static void raw_read(void)
{
    int fd = open(raw_path, O_RDONLY);
    if (fd < 0) { fail(raw_path); }
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        size_t piece = size_min(bytes - at, PIECE_BYTES);
        if (read(fd, (char *)target.data + at, piece) != (ssize_t)piece) { fail(raw_path); }
    }
    close(fd);
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

static void store_read_once(void)
{
    static struct store_metadata metadata;
    struct error error;
    struct store_read_request request = {
        .manifest = &manifest, .count = bytes / 4, .arrays = {{&target, 0}}};
    measure_require(store_read_range(dir, &request, NULL, &metadata, &error), &error);
}

static double rate_of(void (*work)(void))
{
    uint64_t began = clock_monotonic_ns();
    work();
    return (double)bytes / (double)(clock_monotonic_ns() - began);
}

static void one_round(size_t round)
{
    char path[PATH_MAX];
    struct error error;
    measure_require(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    rates[RAW_WRITE][round] = rate_of(raw_write);
    rates[STORE_RATE_WRITE][round] = rate_of(store_write_once);
    if (!store_path_of_shard(path, dir, manifest.id, 0, 1)) { exit(1); }
    drop_cache(raw_path);
    drop_cache(path);
    rates[RAW_READ][round] = rate_of(raw_read);
    rates[STORE_RATE_READ][round] = rate_of(store_read_once);
    if (memcmp(source.data, target.data, bytes) != 0) { fail("compare"); }
}

static void print_row(const char *what, const double *values, size_t count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    measure_sort(sorted, count);
    printf("%-28s %6.2f   [%.2f, %.2f]\n", what, measure_quantile(sorted, count, 0.5),
           measure_quantile(sorted, count, 0.25), measure_quantile(sorted, count, 0.75));
}

static void print_ratio(const char *what, enum rate ours, enum rate raw, size_t rounds)
{
    double ratios[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++) { ratios[i] = rates[ours][i] / rates[raw][i]; }
    print_row(what, ratios, rounds);
}

static void *filled(size_t size)
{
    uint64_t *values = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (values == NULL) { fail("memory"); }
    for (size_t i = 0; i < size / 8; i++) { values[i] = i * 0x9e3779b97f4a7c15ULL; }
    return values;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 15;
    bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || bytes == 0) { return 128; }
    int length = snprintf(dir, sizeof dir, "%s/tanist-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (length < 0 || (size_t)length >= sizeof dir || mkdtemp(dir) == NULL) { fail("folder"); }
    if (snprintf(raw_path, sizeof raw_path, "%s/raw", dir) < 0) { return 1; }
    source.data = filled(bytes);
    target.data = filled(bytes);
    manifest = (struct manifest){.id = 1,
                                 .parameter_count = bytes / 4,
                                 .state_arrays = 1,
                                 .shard_count = 1,
                                 .shards = {{.count = bytes / 4}}};
    one_round(0); /* Warm up. */
    for (size_t i = 0; i < rounds; i++) { one_round(i); }
    printf("%zu MiB, %zu rounds in %s: median [quartiles]\n", bytes >> 20, rounds, dir);
    print_row("raw write, GB/s", rates[RAW_WRITE], rounds);
    print_row("store write, GB/s", rates[STORE_RATE_WRITE], rounds);
    print_ratio("ratio store / raw write", STORE_RATE_WRITE, RAW_WRITE, rounds);
    print_row("raw read, GB/s", rates[RAW_READ], rounds);
    print_row("store read, GB/s", rates[STORE_RATE_READ], rounds);
    print_ratio("ratio store / raw read", STORE_RATE_READ, RAW_READ, rounds);
    struct error error;
    measure_require(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    free(source.data);
    free(target.data);
    return rmdir(dir) != 0;
}
