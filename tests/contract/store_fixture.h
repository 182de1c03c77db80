/*
 * tests/contract/store_fixture.h: checkpoints with known contents in a temporary folder. The bits
 * of parameter `i` of array `a` are a pure function of (a, i), NaNs included, so that any range
 * that is read can be checked bit for bit.
 */
#ifndef TESTS_CONTRACT_STORE_FIXTURE_H
#define TESTS_CONTRACT_STORE_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ps/store/store.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_layout.h"

enum { ARRAYS = 2, BLOB_BYTES = 100 };

static char dir[256]; /* The checkpoint folder of the running test. */

/* ----------------------------------------------------------------- folders */

static inline int remove_entry(const char *path, const struct stat *info, int kind,
                               struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* `*state` is the folder in which the test's folder is made, or NULL for /tmp. */
static inline int make_dir(void **state)
{
    const char *base = *state == NULL ? "/tmp" : *state;
    snprintf(dir, sizeof dir, "%s/tanist-store-XXXXXX", base);
    return mkdtemp(dir) == NULL;
}

static inline int remove_dir(void **state)
{
    (void)state;
    remove_tree(dir);
    return access(dir, F_OK) == 0;
}

/* ---------------------------------------------------------------- contents */

static inline uint32_t expected_bits(uint32_t array, uint64_t parameter)
{
    uint64_t mixed = (parameter * 8 + array + 1) * 0x9e3779b97f4a7c15ULL;
    return (uint32_t)(mixed >> 32);
}

struct arrays {
    struct store_array array[STORE_ARRAYS_MAX];
    struct buffer buffer[STORE_ARRAYS_MAX];
};

/* `offset_bytes` is 64, to check that it is used. */
static inline void arrays_make(struct arrays *arrays, uint64_t count)
{
    memset(arrays, 0, sizeof *arrays);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        arrays->buffer[a].data = calloc(count + 16, sizeof(uint32_t));
        assert_non_null(arrays->buffer[a].data);
        arrays->array[a] = (struct store_array){&arrays->buffer[a], 64};
    }
}

static inline uint32_t *arrays_bits(const struct arrays *arrays, uint32_t a)
{
    return (uint32_t *)arrays->buffer[a].data + 16;
}

static inline void arrays_fill(const struct arrays *arrays, uint64_t first, uint64_t count)
{
    for (uint32_t a = 0; a < ARRAYS; a++) {
        for (uint64_t i = 0; i < count; i++) {
            arrays_bits(arrays, a)[i] = expected_bits(a, first + i);
        }
    }
}

static inline bool arrays_are_right(const struct arrays *arrays, uint64_t first, uint64_t count)
{
    for (uint32_t a = 0; a < ARRAYS; a++) {
        for (uint64_t i = 0; i < count; i++) {
            if (arrays_bits(arrays, a)[i] != expected_bits(a, first + i)) { return false; }
        }
    }
    return true;
}

static inline void arrays_free(const struct arrays *arrays)
{
    for (uint32_t a = 0; a < ARRAYS; a++) { free(arrays->buffer[a].data); }
}

/* ------------------------------------------------------------- checkpoints */

/* A manifest of `shards` uneven shards, without sizes and digests, which writing them returns. */
static inline struct manifest manifest_make(uint64_t id, uint64_t parameters, uint32_t shards)
{
    struct manifest manifest = {
        .id = id,
        .generation = 3,
        .step = 10 * id,
        .epoch = 5,
        .parameter_count = parameters,
        .slices = 8,
        .state_arrays = ARRAYS,
        .shard_count = shards,
        .optimizer = "momentum",
        .mode = "sync",
        .kernels = "test",
    };
    uint64_t first = 0;
    for (uint32_t i = 0; i < shards; i++) {
        uint64_t count = i + 1 == shards ? parameters - first : parameters / shards + i;
        manifest.shards[i] = (struct manifest_shard){.first = first, .count = count};
        snprintf(manifest.shards[i].place, sizeof manifest.shards[i].place, "here:%.100s", dir);
        first += count;
    }
    return manifest;
}

static inline struct store_write_request request_of(const struct manifest *manifest, uint32_t shard,
                                                    const struct arrays *arrays)
{
    static uint8_t blob[BLOB_BYTES];
    memset(blob, 'a' + (int)shard, sizeof blob);
    struct store_write_request request = {
        .id = manifest->id,
        .generation = manifest->generation,
        .step = manifest->step,
        .epoch = manifest->epoch,
        .optimizer_steps = 1000 + shard,
        .first = manifest->shards[shard].first,
        .count = manifest->shards[shard].count,
        .shard = shard,
        .shards = manifest->shard_count,
        .state_arrays = ARRAYS,
        .blob = blob,
        .blob_bytes = sizeof blob,
    };
    memcpy(request.arrays, arrays->array, sizeof request.arrays);
    return request;
}

static inline enum tn_status write_shard(struct manifest *manifest, uint32_t shard,
                                         struct error *error)
{
    struct arrays arrays;
    struct manifest_shard *part = &manifest->shards[shard];
    arrays_make(&arrays, part->count);
    arrays_fill(&arrays, part->first, part->count);
    struct store_write_request request = request_of(manifest, shard, &arrays);
    enum tn_status status =
        store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, error);
    arrays_free(&arrays);
    return status;
}

/* Write all shards, without committing them. */
static inline struct manifest write_checkpoint(uint64_t id, uint64_t parameters, uint32_t shards)
{
    struct manifest manifest = manifest_make(id, parameters, shards);
    for (uint32_t i = 0; i < shards; i++) {
        struct error error = {.text = ""};
        if (write_shard(&manifest, i, &error) != TN_OK) { fail_msg("%s", error.text); }
    }
    return manifest;
}

/* Read a range; the test fails if the status is TN_OK and the bits are wrong. */
static inline enum tn_status read_range(const struct manifest *manifest, uint64_t first,
                                        uint64_t count, struct store_metadata *metadata,
                                        struct error *error)
{
    struct arrays arrays;
    struct store_read_request request = {.manifest = manifest, .first = first, .count = count};
    arrays_make(&arrays, count);
    memcpy(request.arrays, arrays.array, sizeof request.arrays);
    enum tn_status status = store_read_range(dir, &request, NULL, metadata, error);
    bool right = arrays_are_right(&arrays, first, count);
    arrays_free(&arrays);
    if (status == TN_OK) { assert_true(right); }
    return status;
}

/* ------------------------------------------------------------------- files */

static inline const char *shard_path(const struct manifest *manifest, uint32_t shard)
{
    static char paths[2][PATH_MAX]; /* Two results are valid at a time. */
    static unsigned turn;
    char *path = paths[turn++ % 2];
    assert_true(store_path_of_shard(path, dir, manifest->id, shard, manifest->shard_count));
    return path;
}

static inline void flip_bit(const char *path, uint64_t bit)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
    byte = (uint8_t)(byte ^ (1U << bit % 8));
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
    close(fd);
}

/* Set the manifest's size and digest to those of the damaged file. */
static inline void adopt_damaged_file(struct manifest *manifest, uint32_t shard)
{
    struct stat info;
    int fd = open(shard_path(manifest, shard), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    size_t size = (size_t)info.st_size;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, size), info.st_size);
    manifest->shards[shard].bytes = size;
    manifest->shards[shard].digest = digest_of(bytes, size);
    free(bytes);
    close(fd);
}

#endif
