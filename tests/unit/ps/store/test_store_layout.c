/* The format of a shard on disk. Later versions must be able to read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ps/store/store_layout.h"

static struct store_header sample(void)
{
    return (struct store_header){
        .id = 1,
        .generation = 2,
        .step = 3,
        .epoch = 4,
        .optimizer_steps = 5,
        .first = 6,
        .count = 7,
        .blob_bytes = 8,
        .shard = 0,
        .shards = 1,
        .state_arrays = 2,
        .chunk_floats = STORE_CHUNK_FLOATS,
    };
}

/* A full chunk, its digest and LMDB's page header fill exactly 1 MiB. */
static void chunk_fills_its_pages(void **state)
{
    (void)state;
    assert_int_equal(STORE_CHUNK_FLOATS * 4 + DIGEST_BYTES + STORE_PAGE_HEADER_BYTES, 1 << 20);
}

/* Decoding returns the encoded header, and its first bytes are those of format 1. */
static void header_round_trip(void **state)
{
    (void)state;
    struct store_header header = sample();
    struct store_header decoded;
    uint8_t bytes[STORE_HEADER_BYTES];
    static const uint8_t start[] = {'T', 'A', 'N', 'I', 'S', 'T', 'S', 'H', 1, 0, 0, 0,
                                    0,   0,   0,   0,   1,   0,   0,   0,   0, 0, 0, 0};
    store_header_encode(&header, bytes);
    assert_memory_equal(bytes, start, sizeof start);
    assert_int_equal(store_header_decode(bytes, sizeof bytes, &decoded, NULL), TN_OK);
    assert_memory_equal(&decoded, &header, sizeof header);
}

/* Another size, another magic or fields out of range are damage; another format is not
 * supported. */
static void wrong_headers_are_refused(void **state)
{
    (void)state;
    struct store_header header = sample();
    struct store_header decoded;
    uint8_t bytes[STORE_HEADER_BYTES];
    store_header_encode(&header, bytes);
    assert_int_equal(store_header_decode(bytes, sizeof bytes - 1, &decoded, NULL), TN_ECORRUPT);
    bytes[8] = 2;
    assert_int_equal(store_header_decode(bytes, sizeof bytes, &decoded, NULL), TN_EINVAL);
    bytes[0] = 'X';
    assert_int_equal(store_header_decode(bytes, sizeof bytes, &decoded, NULL), TN_ECORRUPT);
    header.chunk_floats = 0;
    store_header_encode(&header, bytes);
    assert_int_equal(store_header_decode(bytes, sizeof bytes, &decoded, NULL), TN_ECORRUPT);
    header = sample();
    header.state_arrays = MANIFEST_ARRAYS_MAX + 1;
    store_header_encode(&header, bytes);
    assert_int_equal(store_header_decode(bytes, sizeof bytes, &decoded, NULL), TN_ECORRUPT);
}

/* Each field that identifies the shard must match the manifest; the epoch may differ. */
static void header_must_match_the_manifest(void **state)
{
    (void)state;
    struct manifest manifest = {.id = 1,
                                .generation = 2,
                                .step = 3,
                                .epoch = 9,
                                .shard_count = 1,
                                .state_arrays = 2,
                                .shards = {{.first = 6, .count = 7}}};
    struct store_header header = sample();
    struct error error;
    assert_int_equal(store_header_match(&header, &manifest, 0, NULL), TN_OK);
    struct store_header wrong[7];
    for (size_t i = 0; i < 7; i++) { wrong[i] = header; }
    wrong[0].id++;
    wrong[1].generation++;
    wrong[2].step++;
    wrong[3].shards++;
    wrong[4].first++;
    wrong[5].count++;
    wrong[6].state_arrays++;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(store_header_match(&wrong[i], &manifest, 0, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "the manifest has"));
    }
}

/* Chunks cover an array without gap or overlap; only the last one may be shorter. */
static void chunks_cover_the_array(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, 9, 10, 11, 20, 99};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t sum = 0;
        for (uint64_t chunk = 0; chunk < store_chunks(counts[i], 10); chunk++) {
            uint32_t length = store_chunk_length(counts[i], 10, chunk);
            assert_true(length >= 1 && length <= 10);
            sum += length;
        }
        assert_int_equal(sum, counts[i]);
    }
}

/* A shard of 100 GiB with the state of Adam: every float has its chunk, every chunk its key. */
static void large_shards_have_keys(void **state)
{
    (void)state;
    const uint64_t count = UINT64_C(100) << 28;
    const uint64_t chunks = store_chunks(count, STORE_CHUNK_FLOATS);
    const uint64_t last = store_chunk_length(count, STORE_CHUNK_FLOATS, chunks - 1);
    assert_int_equal((chunks - 1) * STORE_CHUNK_FLOATS + last, count);
    assert_true(store_key_of_chunk(0, chunks - 1) < store_key_of_chunk(1, 0));
}

/* Keys grow in the order of writing: header, blob, then array after array. */
static void keys_grow(void **state)
{
    (void)state;
    assert_true(store_key_of_chunk(0, 0) > STORE_KEY_BLOB);
    assert_true(store_key_of_chunk(0, UINT32_MAX) < store_key_of_chunk(1, 0));
}

/* A checkpoint's name is ten digits, or more without a leading zero. Other names are ignored. */
static void other_names_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(store_id_of_name("0000000012"), 12);
    assert_int_equal(store_id_of_name("12345678901"), 12345678901);
    static const char *const ids[] = {"12", "00000000012", "000000001a", "0000000012.tmp",
                                      "",   "..",          "0000000000", "99999999999999999999"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(store_id_of_name(ids[i]), 0);
    }
    assert_true(store_is_shard_folder("shard-0-of-3"));
    static const char *const folders[] = {"shard-0-of-", "shard--of-3", "shard-0-of-3x",
                                          "shard-",      "shards",      ""};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        assert_false(store_is_shard_folder(folders[i]));
    }
}

/* Paths are the documented ones. */
static void paths_are_the_documented_ones(void **state)
{
    (void)state;
    char path[PATH_MAX];
    assert_true(store_path_of_shard(path, "/d", 12, 0, 3));
    assert_string_equal(path, "/d/0000000012/shard-0-of-3/data.mdb");
    assert_true(store_path_of_manifest(path, "/d", 12345678901));
    assert_string_equal(path, "/d/12345678901/manifest.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunk_fills_its_pages),
        cmocka_unit_test(header_round_trip),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(header_must_match_the_manifest),
        cmocka_unit_test(chunks_cover_the_array),
        cmocka_unit_test(large_shards_have_keys),
        cmocka_unit_test(keys_grow),
        cmocka_unit_test(other_names_are_ignored),
        cmocka_unit_test(paths_are_the_documented_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
