/* The pass over a shard's file: with any number of threads it has the same result, for intact files
 * and for damaged ones. */
#include "tests/contract/store_fixture.h"

#include "ps/store/store_scan.h"

/* 21 chunks of each array; the ranges of the tests begin and end inside of chunks. */
enum { PARAMETERS = 20 * STORE_CHUNK_FLOATS + 1234, REPEATS = 20 };

/* The file of shard 0 of a checkpoint, and its values. */
struct opened {
    struct manifest manifest;
    struct store_values values;
    struct store_header header;
    int fd;
};

static struct opened open_shard(void)
{
    struct opened opened = {.manifest = write_checkpoint(1, PARAMETERS, 1)};
    const struct manifest_shard *part = &opened.manifest.shards[0];
    uint8_t header[STORE_HEADER_BYTES];
    opened.fd = open(shard_path(&opened.manifest, 0), O_RDONLY);
    assert_true(opened.fd >= 0);
    assert_int_equal(store_find_values(opened.fd, "shard", part->bytes, &opened.values, NULL),
                     TN_OK);
    const off_t at = (off_t)store_values_find(&opened.values, STORE_KEY_HEADER)->at;
    assert_int_equal(pread(opened.fd, header, sizeof header, at), sizeof header);
    assert_int_equal(store_header_decode(header, sizeof header, &opened.header, NULL), TN_OK);
    return opened;
}

static void close_shard(struct opened *opened)
{
    store_values_free(&opened->values);
    close(opened->fd);
}

static struct store_scan scan_of(const struct opened *opened, uint64_t first, uint64_t count,
                                 unsigned threads)
{
    static struct variable_move range;
    range = (struct variable_move){.from = first, .count = count};
    return (struct store_scan){.fd = opened->fd,
                               .path = "shard",
                               .bytes = opened->manifest.shards[0].bytes,
                               .values = &opened->values,
                               .header = &opened->header,
                               .moves = {&range, 1},
                               .threads = threads};
}

/* Each range is read bit for bit, and the digest is that of the whole file, also if the threads
 * read in turn. */
static void threads_read_the_same(void **state)
{
    (void)state;
    static const uint64_t ranges[][2] = {
        {0, PARAMETERS},
        {1, PARAMETERS - 2},
        {STORE_CHUNK_FLOATS - 1, 2},
        {3 * STORE_CHUNK_FLOATS, 2 * STORE_CHUNK_FLOATS},
        {7, 0},
    };
    struct opened opened = open_shard();
    for (size_t i = 0; i < 8 * sizeof ranges / sizeof ranges[0]; i++) {
        const uint64_t first = ranges[i / 8][0], count = ranges[i / 8][1];
        struct store_scan scan = scan_of(&opened, first, count, (unsigned)(i % 4) + 1);
        struct arrays arrays;
        struct digest digest;
        arrays_make(&arrays, count);
        scan.arrays = arrays.array;
        scan.in_turn = i % 8 >= 4;
        assert_int_equal(store_scan_run(&scan, &digest, NULL), TN_OK);
        assert_true(digest_equal(digest, opened.manifest.shards[0].digest));
        assert_true(arrays_are_right(&arrays, first, count));
        arrays_free(&arrays);
    }
    close_shard(&opened);
}

/* The parameters' stream gets array 0 in its order, whichever threads read it. */
static void parameters_come_in_order(void **state)
{
    (void)state;
    struct opened opened = open_shard();
    struct arrays arrays;
    arrays_make(&arrays, PARAMETERS);
    arrays_fill(&arrays, 0, PARAMETERS);
    const struct digest expected =
        digest_of(arrays_bits(&arrays, 0), (size_t)PARAMETERS * sizeof(float));
    for (unsigned threads = 1; threads <= STORE_SCAN_THREADS_MAX; threads++) {
        struct store_scan scan = scan_of(&opened, 0, PARAMETERS, threads);
        struct digest_stream parameters;
        struct digest digest;
        digest_begin(&parameters);
        scan.parameters = &parameters;
        assert_int_equal(store_scan_run(&scan, &digest, NULL), TN_OK);
        assert_true(digest_equal(digest_end(&parameters), expected));
    }
    arrays_free(&arrays);
    close_shard(&opened);
}

static void flip_chunk(const struct opened *opened, uint32_t array, uint64_t chunk)
{
    const struct store_value *value =
        store_values_find(&opened->values, store_key_of_chunk(array, chunk));
    assert_non_null(value);
    flip_bit(shard_path(&opened->manifest, 0), (value->at + value->bytes - 5) * 8);
}

/* The first one of several damaged chunks is named, also if another thread finds a later one
 * sooner. */
static void first_damage_is_named(void **state)
{
    (void)state;
    struct opened opened = open_shard();
    struct arrays arrays;
    arrays_make(&arrays, PARAMETERS);
    for (uint64_t chunk = 11; chunk < 16; chunk++) { flip_chunk(&opened, 0, chunk); }
    for (unsigned i = 0; i < REPEATS; i++) {
        struct store_scan scan =
            scan_of(&opened, 0, PARAMETERS, i / 2 % STORE_SCAN_THREADS_MAX + 1);
        struct error error = {.text = ""};
        struct digest digest;
        scan.arrays = arrays.array;
        scan.in_turn = i % 2 == 1;
        assert_int_equal(store_scan_run(&scan, &digest, &error), TN_ECORRUPT);
        assert_string_equal(error.text, "shard: array 0: chunk 11 is damaged");
    }
    arrays_free(&arrays);
    close_shard(&opened);
}

/* The header in front of a value is checked, also of one that is not wanted. */
static void damaged_header_of_a_value_is_named(void **state)
{
    (void)state;
    struct opened opened = open_shard();
    const struct store_value *value = store_values_find(&opened.values, store_key_of_chunk(1, 20));
    flip_bit(shard_path(&opened.manifest, 0), (value->at - STORE_PAGE_HEADER_BYTES) * 8);
    for (uint64_t count = 0; count <= PARAMETERS; count += PARAMETERS) {
        struct store_scan scan = scan_of(&opened, 0, count, 2);
        struct error error = {.text = ""};
        struct digest digest;
        assert_int_equal(store_scan_run(&scan, &digest, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "shard is damaged: page "));
    }
    close_shard(&opened);
}

/* A file that became shorter since its values were found. */
static void shorter_file_is_damage(void **state)
{
    (void)state;
    struct opened opened = open_shard();
    const off_t half = (off_t)opened.manifest.shards[0].bytes / 2;
    assert_int_equal(truncate(shard_path(&opened.manifest, 0), half), 0);
    for (unsigned threads = 1; threads <= STORE_SCAN_THREADS_MAX; threads++) {
        struct store_scan scan = scan_of(&opened, 0, PARAMETERS, threads);
        struct error error = {.text = ""};
        struct digest digest;
        assert_int_equal(store_scan_run(&scan, &digest, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "shard is truncated at byte "));
    }
    close_shard(&opened);
}

/* A cancelled scan ends at once. */
static void cancelled_scan_ends(void **state)
{
    (void)state;
    atomic_bool cancelled = true;
    struct opened opened = open_shard();
    struct store_scan scan = scan_of(&opened, 0, PARAMETERS, STORE_SCAN_THREADS_MAX);
    struct digest digest;
    scan.cancelled = &cancelled;
    assert_int_equal(store_scan_run(&scan, &digest, NULL), TN_ECLOSED);
    close_shard(&opened);
}

/* A damaged file is reported as damaged, also if its header has a later format or another
 * checkpoint, or if a chunk is damaged. */
static void digest_of_the_file_comes_first(void **state)
{
    (void)state;
    struct opened opened = open_shard();
    const char *path = shard_path(&opened.manifest, 0);
    const uint64_t header = store_values_find(&opened.values, STORE_KEY_HEADER)->at;
    const uint64_t bytes[] = {8, header + 8, header + 16,
                              store_values_find(&opened.values, store_key_of_chunk(0, 3))->at};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        struct error error = {.text = ""};
        struct store_metadata metadata;
        flip_bit(path, bytes[i] * 8);
        assert_int_equal(store_verify(dir, &opened.manifest, 0, NULL, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "its digest differs from the manifest"));
        assert_int_equal(read_range(&opened.manifest, 0, PARAMETERS, &metadata, &error),
                         TN_ECORRUPT);
        assert_non_null(strstr(error.text, "its digest differs from the manifest"));
        flip_bit(path, bytes[i] * 8);
    }
    assert_int_equal(store_verify(dir, &opened.manifest, 0, NULL, NULL), TN_OK);
    close_shard(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_read_the_same, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(parameters_come_in_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(first_damage_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damaged_header_of_a_value_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(shorter_file_is_damage, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(cancelled_scan_ends, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(digest_of_the_file_comes_first, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
