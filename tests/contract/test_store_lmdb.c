/* Shards that LMDB itself wrote, as the first versions of the store did, are read and verified like
 * those that the store writes. */
#include "tests/contract/store_fixture.h"

#include "ps/store/store_table.h"
#include "tests/lmdb_file.h"

enum { PARAMETERS = 700000 };

static void copy_record(const struct table *from, struct lmdb_file *to, uint64_t key)
{
    const uint8_t *data;
    size_t size;
    struct error error;
    assert_int_equal(table_get(from, key, &data, &size, &error), TN_OK);
    memcpy(lmdb_file_append(to, key, size), data, size);
}

/* Write the records of shard 0 through LMDB, without the last chunk unless it is `whole`, and adopt
 * the file. */
static void rewrite_by_lmdb(struct manifest *manifest, bool whole)
{
    struct table from;
    struct lmdb_file to;
    struct error error;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s.lmdb", shard_path(manifest, 0));
    assert_int_equal(table_open(&from, shard_path(manifest, 0), &error), TN_OK);
    lmdb_file_begin(&to, path, manifest->shards[0].bytes + (1 << 20));
    copy_record(&from, &to, STORE_KEY_HEADER);
    copy_record(&from, &to, STORE_KEY_BLOB);
    const uint64_t chunks = store_chunks(manifest->shards[0].count, STORE_CHUNK_FLOATS);
    for (uint32_t array = 0; array < ARRAYS; array++) {
        const uint64_t end = whole || array + 1 < ARRAYS ? chunks : chunks - 1;
        for (uint64_t chunk = 0; chunk < end; chunk++) {
            copy_record(&from, &to, store_key_of_chunk(array, chunk));
        }
    }
    lmdb_file_end(&to);
    table_close(&from);
    assert_int_equal(rename(path, shard_path(manifest, 0)), 0);
    adopt_damaged_file(manifest, 0);
}

/* The shard of an earlier version loads bit for bit. */
static void shards_of_lmdb_are_read(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 1);
    const struct manifest_shard own = manifest.shards[0];
    rewrite_by_lmdb(&manifest, true);
    assert_false(digest_equal(own.digest, manifest.shards[0].digest));
    if (store_verify(dir, &manifest, 0, NULL, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_equal(read_range(&manifest, 0, PARAMETERS, &metadata, &error), TN_OK);
    assert_int_equal(metadata.blob_bytes, BLOB_BYTES);
}

/* A shard that lacks a chunk is damaged, unless the chunk is not read. */
static void missing_chunks_are_named(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 1);
    rewrite_by_lmdb(&manifest, false);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "array 1: chunk 2 is missing"));
    assert_int_equal(read_range(&manifest, 0, PARAMETERS, &metadata, &error), TN_ECORRUPT);
    assert_int_equal(read_range(&manifest, 0, STORE_CHUNK_FLOATS, &metadata, &error), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shards_of_lmdb_are_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(missing_chunks_are_named, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
