/*
 * bench/bench_store.c: a shard written durably and restored by the store, beside the same bytes
 * written with write + fdatasync and read with read. Rounds are interleaved; told are medians and
 * quartiles of the rates and of the ratios within each round.
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

#include "common/base/clock.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"

enum { ROUNDS_MAX = 101, PIECE_BYTES = 1 << 20 };

/* What is measured, in GB/s; a round does each once. */
enum rate { RAW_WRITE, OUR_WRITE, RAW_READ, OUR_READ, RATES };

static char dir[PATH_MAX / 2];
static char raw_path[PATH_MAX];
static size_t bytes;
static struct buffer source, target;
static struct manifest manifest;
static double rates[RATES][ROUNDS_MAX];

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void must(enum tn_status status, const struct error *error)
{
    if (status == TN_OK) { return; }
    if (fprintf(stderr, "bench_store: %s\n", error->text) < 0) { exit(2); }
    exit(1);
}

/* So that reading measures the disk and not the kernel's memory. */
static void forget(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) { give_up(path); }
    close(fd);
}

static void raw_write(void)
{
    int fd = open(raw_path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (fd < 0) { give_up(raw_path); }
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        if (write(fd, (char *)source.data + at, piece) != (ssize_t)piece) { give_up(raw_path); }
    }
    if (fdatasync(fd) != 0 || close(fd) != 0) { give_up(raw_path); }
}

static void raw_read(void)
{
    int fd = open(raw_path, O_RDONLY);
    if (fd < 0) { give_up(raw_path); }
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        if (read(fd, (char *)target.data + at, piece) != (ssize_t)piece) { give_up(raw_path); }
    }
    close(fd);
}

static void our_write(void)
{
    struct error error;
    struct manifest_shard *part = &manifest.shards[0];
    struct store_write_request request = {.id = manifest.id,
                                          .count = bytes / 4,
                                          .shards = 1,
                                          .state_arrays = 1,
                                          .arrays = {{&source, 0}}};
    must(store_write(dir, &request, NULL, &part->digest, &part->bytes, &error), &error);
}

static void our_read(void)
{
    static struct store_metadata metadata;
    struct error error;
    struct store_read_request request = {
        .manifest = &manifest, .count = bytes / 4, .arrays = {{&target, 0}}};
    must(store_read_range(dir, &request, NULL, &metadata, &error), &error);
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
    must(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    rates[RAW_WRITE][round] = rate_of(raw_write);
    rates[OUR_WRITE][round] = rate_of(our_write);
    if (!store_path_of_shard(path, dir, manifest.id, 0, 1)) { exit(1); }
    forget(raw_path);
    forget(path);
    rates[RAW_READ][round] = rate_of(raw_read);
    rates[OUR_READ][round] = rate_of(our_read);
    if (memcmp(source.data, target.data, bytes) != 0) { give_up("compare"); }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tell(const char *what, const double *values, size_t count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    if (printf("%-28s %6.2f   [%.2f, %.2f]\n", what, sorted[count / 2], sorted[count / 4],
               sorted[count * 3 / 4]) < 0) {
        exit(2);
    }
}

static void tell_ratio(const char *what, enum rate ours, enum rate raw, size_t rounds)
{
    double ratios[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++) { ratios[i] = rates[ours][i] / rates[raw][i]; }
    tell(what, ratios, rounds);
}

static void *filled(size_t size)
{
    uint64_t *words = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (words == NULL) { give_up("memory"); }
    for (size_t i = 0; i < size / 8; i++) { words[i] = i * 0x9e3779b97f4a7c15ULL; }
    return words;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 15;
    bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || bytes == 0) { return 128; }
    int length = snprintf(dir, sizeof dir, "%s/tanist-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (length < 0 || (size_t)length >= sizeof dir || mkdtemp(dir) == NULL) { give_up("folder"); }
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
    if (printf("%zu MiB, %zu rounds, %s: median [quartiles]\n", bytes >> 20, rounds, dir) < 0) {
        return 2;
    }
    tell("raw write, GB/s", rates[RAW_WRITE], rounds);
    tell("store write, GB/s", rates[OUR_WRITE], rounds);
    tell_ratio("store write / raw", OUR_WRITE, RAW_WRITE, rounds);
    tell("raw read, GB/s", rates[RAW_READ], rounds);
    tell("store read, GB/s", rates[OUR_READ], rounds);
    tell_ratio("store read / raw", OUR_READ, RAW_READ, rounds);
    struct error error;
    must(store_discard(dir, manifest.id, &error), &error);
    (void)unlink(raw_path);
    free(source.data);
    free(target.data);
    return rmdir(dir) != 0;
}
