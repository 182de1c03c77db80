/* The store with the real LMDB: shards are restored onto any number of ps, and damage is detected
 * before anything is used. The tests run on a disk and on a memory file system. */
#include "tests/contract/store_fixture.h"

#include <pthread.h>

/* PARAMETERS: several chunks in each shard. */
enum { PARAMETERS = 1700000, SMALL = 5000 };

/* Complete shards are read bit for bit, with their metadata. */
static void shards_round_trip(void **state)
{
    (void)state;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 3);
    struct error error;
    for (uint32_t i = 0; i < 3; i++) {
        struct store_metadata metadata;
        const struct manifest_shard *part = &manifest.shards[i];
        assert_int_equal(read_range(&manifest, part->first, part->count, &metadata, &error), TN_OK);
        assert_int_equal(metadata.optimizer_steps, 1000 + i);
        assert_int_equal(metadata.blob_bytes, BLOB_BYTES);
        assert_int_equal(metadata.blob[BLOB_BYTES - 1], 'a' + i);
    }
    assert_int_equal(store_verify(dir, &manifest, STORE_ALL_SHARDS, NULL, &error), TN_OK);
}

enum { PIECES = 5 };

/* Whether the floats of [first, first + count) are those that `moves` bring there. */
static bool are_moved(const struct arrays *found, const struct variable_move moves[static PIECES],
                      uint64_t first, uint64_t count)
{
    struct arrays flat;
    bool right = true;
    arrays_make(&flat, PARAMETERS);
    arrays_fill(&flat, 0, PARAMETERS);
    for (uint64_t i = first; i < first + count; i++) {
        uint32_t m = 0;
        while (i < moves[m].to || i >= moves[m].to + moves[m].count) { m++; }
        const uint64_t from = moves[m].from + (i - moves[m].to);
        for (uint32_t a = 0; a < ARRAYS; a++) {
            right = right && arrays_bits(found, a)[i - first] == arrays_bits(&flat, a)[from];
        }
    }
    arrays_free(&flat);
    return right;
}

/* A reader that has the parameters in another order gets each at its own place, in any range. */
static void another_order_is_read(void **state)
{
    (void)state;
    const uint64_t begins[PIECES + 1] = {0, 7, 200000, 700001, 1500000, PARAMETERS};
    const uint32_t order[PIECES] = {3, 1, 4, 0, 2};
    const uint64_t ranges[][2] = {{0, PARAMETERS}, {5, 3}, {799990, 20}, {300000, 1000000}};
    struct variable_move moves[PIECES];
    const struct manifest manifest = write_checkpoint(1, PARAMETERS, 3);
    uint64_t to = 0;
    for (uint32_t i = 0; i < PIECES; i++) {
        const uint64_t from = begins[order[i]], count = begins[order[i] + 1] - from;
        moves[order[i]] = (struct variable_move){from, to, count};
        to += count;
    }
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        struct store_metadata metadata;
        struct arrays arrays;
        struct store_read_request request = {.manifest = &manifest,
                                             .first = ranges[r][0],
                                             .count = ranges[r][1],
                                             .moves = {moves, PIECES}};
        arrays_make(&arrays, request.count);
        memcpy(request.arrays, arrays.array, sizeof request.arrays);
        assert_int_equal(store_read_range(dir, &request, NULL, &metadata, NULL), TN_OK);
        assert_int_equal(metadata.blob_bytes, 0);
        assert_true(are_moved(&arrays, moves, request.first, request.count));
        arrays_free(&arrays);
    }
}

/* The digest of the stored values is that of the flat parameter vector, whatever the shards. */
static void stored_digest_is_that_of_the_parameters(void **state)
{
    (void)state;
    struct arrays arrays;
    arrays_make(&arrays, PARAMETERS);
    arrays_fill(&arrays, 0, PARAMETERS);
    const struct digest expected = digest_of(arrays_bits(&arrays, 0), PARAMETERS * sizeof(float));
    for (uint32_t shards = 1; shards <= 5; shards += 2) {
        struct digest stored;
        struct manifest manifest = write_checkpoint(shards, PARAMETERS, shards);
        assert_int_equal(store_digest_values(dir, &manifest, &stored, NULL), TN_OK);
        assert_true(digest_equal(stored, expected));
    }
    arrays_free(&arrays);
}

/* One bit that was flipped before the shard was written, so that all of its own digests match. */
static void stored_digest_shows_a_bit_flipped_by_the_writer(void **state)
{
    (void)state;
    struct digest right, flipped;
    struct arrays arrays;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 1);
    assert_int_equal(store_digest_values(dir, &manifest, &right, NULL), TN_OK);
    arrays_make(&arrays, PARAMETERS);
    arrays_fill(&arrays, 0, PARAMETERS);
    arrays_bits(&arrays, 0)[PARAMETERS / 2] ^= 1;
    const struct store_write_request request = request_of(&manifest, 0, &arrays);
    assert_int_equal(store_write(dir, &request, NULL, NULL, &manifest.shards[0].digest,
                                 &manifest.shards[0].bytes, NULL),
                     TN_OK);
    arrays_free(&arrays);
    assert_int_equal(store_verify(dir, &manifest, STORE_ALL_SHARDS, NULL, NULL), TN_OK);
    assert_int_equal(store_digest_values(dir, &manifest, &flipped, NULL), TN_OK);
    assert_false(digest_equal(right, flipped));
}

static void restore_onto(uint32_t from, uint32_t to)
{
    struct manifest manifest = write_checkpoint(7, PARAMETERS, from);
    struct manifest wanted = manifest_make(7, PARAMETERS, to);
    for (uint32_t i = 0; i < to; i++) {
        struct store_metadata metadata;
        const struct manifest_shard *part = &wanted.shards[i];
        assert_int_equal(read_range(&manifest, part->first, part->count, &metadata, NULL), TN_OK);
        assert_true(metadata.optimizer_steps >= 1000 && metadata.optimizer_steps < 1000 + from);
        assert_int_equal(metadata.blob_bytes, 0);
    }
}

/* A checkpoint of three ps is restored onto two. */
static void three_shards_are_restored_onto_two(void **state)
{
    (void)state;
    restore_onto(3, 2);
}

/* A checkpoint of two ps is restored onto five. */
static void two_shards_are_restored_onto_five(void **state)
{
    (void)state;
    restore_onto(2, 5);
}

/* Ranges of zero to two floats at the edges of chunks and shards are read. */
static void ranges_at_edges_are_read(void **state)
{
    (void)state;
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 2);
    const uint64_t cut = manifest.shards[1].first;
    const uint64_t starts[] = {0,       STORE_CHUNK_FLOATS - 1,       STORE_CHUNK_FLOATS,
                               cut - 1, cut + STORE_CHUNK_FLOATS - 1, PARAMETERS - 2};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (uint64_t count = 0; count <= 2; count++) {
            assert_int_equal(read_range(&manifest, starts[i], count, &metadata, NULL), TN_OK);
        }
    }
    assert_int_equal(read_range(&manifest, PARAMETERS - 1, 2, &metadata, NULL), TN_EINVAL);
    assert_int_equal(read_range(&manifest, UINT64_MAX, 2, &metadata, NULL), TN_EINVAL);
}

/* An empty shard is written, verified and restored like any other. */
static void empty_shard_is_restored(void **state)
{
    (void)state;
    struct store_metadata metadata;
    struct manifest manifest = manifest_make(1, 1, 2);
    manifest.shards[0].count = 1;
    manifest.shards[1].first = 1;
    manifest.shards[1].count = 0;
    assert_int_equal(write_shard(&manifest, 0, NULL), TN_OK);
    assert_int_equal(write_shard(&manifest, 1, NULL), TN_OK);
    assert_int_equal(store_verify(dir, &manifest, STORE_ALL_SHARDS, NULL, NULL), TN_OK);
    assert_int_equal(read_range(&manifest, 0, 1, &metadata, NULL), TN_OK);
    assert_int_equal(read_range(&manifest, 1, 0, &metadata, NULL), TN_OK);
}

/* A shard of any size, number of arrays and blob fits the file that is reserved for it. All arrays
 * are the same memory here. */
static void shard_of_any_size_fits_its_file(void **state)
{
    (void)state;
    enum { LARGEST = 20 * STORE_CHUNK_FLOATS };
    static uint8_t blob[STORE_BLOB_MAX];
    static const uint64_t counts[] = {1, 500, 505, 1016, STORE_CHUNK_FLOATS, LARGEST - 1};
    struct arrays arrays;
    arrays_make(&arrays, LARGEST);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct error error = {.text = ""};
        struct manifest manifest = manifest_make(i + 1, counts[i], 1);
        struct manifest_shard *part = &manifest.shards[0];
        struct store_write_request request = request_of(&manifest, 0, &arrays);
        manifest.state_arrays = request.state_arrays = STORE_ARRAYS_MAX;
        for (uint32_t a = 1; a < STORE_ARRAYS_MAX; a++) { request.arrays[a] = arrays.array[0]; }
        request.blob = blob;
        request.blob_bytes = i % 2 == 0 ? sizeof blob : 1;
        enum tn_status status =
            store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, &error);
        if (status != TN_OK) { fail_msg("%ju floats: %s", (uintmax_t)counts[i], error.text); }
        assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_OK);
    }
    arrays_free(&arrays);
}

static void *hurry(void *pace)
{
    save_pace_hurry(pace);
    return NULL;
}

/* A shard that is written at a rate, past the page cache, has the same bytes as one at full speed,
 * also if it is hurried at any moment: without that, the second write would last for a day. */
static void rate_does_not_change_the_bytes(void **state)
{
    (void)state;
    enum { FLOATS = 20 * STORE_CHUNK_FLOATS + 1, DAY_MS = 24 * 3600 * 1000 };
    struct manifest first = write_checkpoint(1, FLOATS, 1);
    const uint64_t spreads_ms[] = {1, DAY_MS};
    struct arrays arrays;
    arrays_make(&arrays, FLOATS);
    arrays_fill(&arrays, 0, FLOATS);
    for (uint32_t i = 0; i < 2; i++) {
        struct save_pace pace;
        struct digest digest;
        uint64_t bytes;
        pthread_t thread;
        struct manifest manifest = manifest_make(1, FLOATS, 1);
        struct store_write_request request = request_of(&manifest, 0, &arrays);
        assert_int_equal(unlink(shard_path(&manifest, 0)), 0);
        save_pace_open(&pace);
        save_pace_begin(&pace, store_write_bytes(&request), spreads_ms[i], false);
        if (i == 1) { assert_int_equal(pthread_create(&thread, NULL, hurry, &pace), 0); }
        assert_int_equal(store_write(dir, &request, NULL, &pace, &digest, &bytes, NULL), TN_OK);
        if (i == 1) { pthread_join(thread, NULL); }
        (void)save_pace_end(&pace);
        save_pace_close(&pace);
        assert_int_equal(bytes, first.shards[0].bytes);
        assert_true(digest_equal(digest, first.shards[0].digest));
        assert_int_equal(store_verify(dir, &first, STORE_ALL_SHARDS, NULL, NULL), TN_OK);
    }
    arrays_free(&arrays);
}

/* Writing the same shard twice gives the same bytes and leaves no other files. */
static void second_write_gives_the_same_bytes(void **state)
{
    (void)state;
    struct manifest first = write_checkpoint(4, PARAMETERS, 1);
    struct manifest second = write_checkpoint(4, PARAMETERS, 1);
    assert_true(digest_equal(first.shards[0].digest, second.shards[0].digest));
    assert_int_equal(first.shards[0].bytes, second.shards[0].bytes);
    char folder[PATH_MAX];
    assert_true(store_path_of_shard_folder(folder, dir, 4, 0, 1));
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    size_t count = 0;
    while (readdir(entries) != NULL) { count++; }
    closedir(entries);
    assert_int_equal(count, 3); /* ".", ".." and data.mdb. */
}

/* A shard of a committed checkpoint is left unchanged; another step with its id is refused. */
static void committed_shard_is_unchanged(void **state)
{
    (void)state;
    struct stat before;
    struct stat after;
    struct error error;
    struct manifest manifest = write_checkpoint(4, SMALL, 2);
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    assert_int_equal(stat(shard_path(&manifest, 0), &before), 0);
    struct manifest again = write_checkpoint(4, SMALL, 2);
    assert_int_equal(stat(shard_path(&manifest, 0), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_true(digest_equal(again.shards[0].digest, manifest.shards[0].digest));
    again.step++;
    assert_int_equal(write_shard(&again, 0, &error), TN_EEXIST);
    assert_non_null(strstr(error.text, "already committed with step 40"));
    assert_int_equal(store_verify(dir, &manifest, STORE_ALL_SHARDS, NULL, NULL), TN_OK);
}

/* A damaged shard of a committed checkpoint is repaired when its save is ordered again. */
static void damaged_committed_shard_is_repaired(void **state)
{
    (void)state;
    struct manifest manifest = write_checkpoint(4, SMALL, 1);
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    flip_bit(shard_path(&manifest, 0), 80000);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_ECORRUPT);
    struct manifest again = write_checkpoint(4, SMALL, 1);
    assert_true(digest_equal(again.shards[0].digest, manifest.shards[0].digest));
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_OK);
}

/* A bit flipped in any page, and at 500 random places, is detected. */
static void flipped_bits_are_detected(void **state)
{
    (void)state;
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    const char *path = shard_path(&manifest, 0);
    uint64_t bits = manifest.shards[0].bytes * 8;
    uint64_t random = 88172645463325252ULL;
    for (uint64_t i = 0; i < bits / 8 / 4096 + 500; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        uint64_t bit = i < 500 ? (random >> 11) % bits : (i - 500) * 4096 * 8 + random % 4096;
        flip_bit(path, bit);
        assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, NULL), TN_ECORRUPT);
        flip_bit(path, bit);
    }
    assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, NULL), TN_OK);
}

/* A file that is truncated, empty or too long is detected by its size and never mapped. */
static void wrong_sizes_are_detected(void **state)
{
    (void)state;
    struct error error;
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    const char *path = shard_path(&manifest, 0);
    assert_int_equal(truncate(path, (off_t)manifest.shards[0].bytes + 1), 0);
    assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, &error), TN_ECORRUPT);
    for (uint64_t size = manifest.shards[0].bytes; size > 0; size = size * 3 / 4) {
        assert_int_equal(truncate(path, (off_t)size - 1), 0);
        assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, &error), TN_ECORRUPT);
    }
    assert_non_null(strstr(error.text, "has 0 bytes, the manifest has"));
}

/* The error for a missing shard names it and the place where it was written. */
static void missing_shard_is_named(void **state)
{
    (void)state;
    struct error error;
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, SMALL, 2);
    assert_int_equal(unlink(shard_path(&manifest, 1)), 0);
    assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "checkpoint 1: shard 1: "));
    assert_non_null(strstr(error.text, "written at here:"));
    assert_int_equal(read_range(&manifest, 0, 10, &metadata, &error), TN_OK);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_OK);
    assert_int_equal(store_verify(dir, &manifest, 1, NULL, &error), TN_ENOENT);
}

/* An intact shard of another checkpoint or of another ps is refused. */
static void swapped_shards_are_detected(void **state)
{
    (void)state;
    struct store_metadata metadata;
    struct manifest one = write_checkpoint(1, SMALL, 2);
    struct manifest two = write_checkpoint(2, SMALL, 2);
    char kept[PATH_MAX];
    snprintf(kept, sizeof kept, "%s/kept", dir);
    assert_int_equal(rename(shard_path(&one, 0), kept), 0);
    assert_int_equal(rename(shard_path(&two, 0), shard_path(&one, 0)), 0);
    assert_int_equal(read_range(&one, 0, SMALL, &metadata, NULL), TN_ECORRUPT);
    assert_int_equal(rename(kept, shard_path(&two, 1)), 0);
    assert_int_equal(read_range(&two, SMALL - 1, 1, &metadata, NULL), TN_ECORRUPT);
}

/* If the manifest has the digest of another file, the header of the shard contradicts it. */
static void header_contradicts_a_wrong_manifest(void **state)
{
    (void)state;
    struct error error;
    struct manifest one = write_checkpoint(1, SMALL, 1);
    struct manifest two = write_checkpoint(2, SMALL, 1);
    assert_int_equal(rename(shard_path(&two, 0), shard_path(&one, 0)), 0);
    adopt_damaged_file(&one, 0);
    assert_int_equal(store_verify(dir, &one, 0, NULL, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "its id is 2, the manifest has 1"));
}

/* Floats that changed while they were written are detected by the digest of their chunk. */
static void chunk_digest_names_the_chunk(void **state)
{
    (void)state;
    struct error error;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 1);
    uint64_t last_page = manifest.shards[0].bytes / 2 / 4096;
    flip_bit(shard_path(&manifest, 0), (last_page * 4096 + 2000) * 8);
    adopt_damaged_file(&manifest, 0);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "chunk"));
    assert_non_null(strstr(error.text, "data.mdb: array"));
}

/* Garbage of the right size is refused, also if the manifest has its digest. */
static void garbage_is_refused(void **state)
{
    (void)state;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    for (int kind = 0; kind < 2; kind++) {
        FILE *file = fopen(shard_path(&manifest, 0), "w");
        assert_non_null(file);
        for (uint64_t i = 0; i < manifest.shards[0].bytes; i++) {
            assert_true(fputc(kind == 0 ? 0 : (int)(i * 7919 % 251), file) != EOF);
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_ECORRUPT);
    }
    adopt_damaged_file(&manifest, 0);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_ECORRUPT);
}

/* A cancelled write ends at once and leaves no files. */
static void cancelled_write_leaves_nothing(void **state)
{
    (void)state;
    atomic_bool cancelled = true;
    struct arrays arrays;
    struct digest digest;
    uint64_t bytes;
    struct error error;
    struct manifest manifest = manifest_make(1, SMALL, 1);
    arrays_make(&arrays, SMALL);
    struct store_write_request request = request_of(&manifest, 0, &arrays);
    assert_int_equal(store_write(dir, &request, &cancelled, NULL, &digest, &bytes, &error),
                     TN_ECLOSED);
    arrays_free(&arrays);
    char folder[PATH_MAX];
    assert_true(store_path_of_shard_folder(folder, dir, 1, 0, 1));
    assert_int_equal(rmdir(folder), 0); /* Empty. */
}

static int run_in(const char *base)
{
    void *place = (void *)(uintptr_t)base;
#define TEST(name)                                                                                 \
    {                                                                                              \
        #name, name, make_dir, remove_dir, place                                                   \
    }
    const struct CMUnitTest tests[] = {
        TEST(shards_round_trip),
        TEST(another_order_is_read),
        TEST(stored_digest_is_that_of_the_parameters),
        TEST(stored_digest_shows_a_bit_flipped_by_the_writer),
        TEST(three_shards_are_restored_onto_two),
        TEST(two_shards_are_restored_onto_five),
        TEST(ranges_at_edges_are_read),
        TEST(empty_shard_is_restored),
        TEST(shard_of_any_size_fits_its_file),
        TEST(rate_does_not_change_the_bytes),
        TEST(second_write_gives_the_same_bytes),
        TEST(committed_shard_is_unchanged),
        TEST(damaged_committed_shard_is_repaired),
        TEST(flipped_bits_are_detected),
        TEST(wrong_sizes_are_detected),
        TEST(missing_shard_is_named),
        TEST(swapped_shards_are_detected),
        TEST(header_contradicts_a_wrong_manifest),
        TEST(chunk_digest_names_the_chunk),
        TEST(garbage_is_refused),
        TEST(cancelled_write_leaves_nothing),
    };
#undef TEST
    return cmocka_run_group_tests_name(base, tests, NULL, NULL);
}

int main(void)
{
    int failed = run_in("/tmp");
    if (access("/dev/shm", W_OK) == 0) { failed += run_in("/dev/shm"); }
    return failed;
}
