/* The pages in front of a shard's values: with any number of records they pass the check of the
 * structure, and LMDB and the reader find each value where the plan has put it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ps/store/store_pages.h"
#include "ps/store/store_table.h"
#include "ps/store/store_tree.h"
#include "tests/shard_pages.h"

enum { PAGE = 4096, CHUNK_FLOATS = 1500 };

static int file = -1;
static char path[64];

/* Make a file of the planned pages, in memory: each value has its header and its own key. */
static void write_file(const struct store_tree *tree)
{
    uint8_t *pages = calloc(tree->first_value, PAGE);
    assert_non_null(pages);
    store_tree_encode(tree, pages);
    file = memfd_create("shard", MFD_CLOEXEC);
    assert_true(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_int_equal(ftruncate(file, (off_t)(tree->pages * PAGE)), 0);
    assert_int_equal(pwrite(file, pages, tree->first_value * PAGE, 0), tree->first_value * PAGE);
    uint64_t page = tree->first_value;
    for (uint64_t i = 0; i < tree->records; i++) {
        const struct store_record record = store_tree_record(tree, i);
        uint8_t value[STORE_PAGE_HEADER_BYTES + sizeof record.key];
        store_tree_encode_value_header(page, record.pages, value);
        memcpy(value + STORE_PAGE_HEADER_BYTES, &record.key, sizeof record.key);
        assert_int_equal(pwrite(file, value, sizeof value, (off_t)(page * PAGE)), sizeof value);
        page += record.pages;
    }
    assert_int_equal(page, tree->pages);
    free(pages);
}

/* LMDB finds every record of the plan, with its size and its value, and the walk its place. */
static void check_file(const struct store_tree *tree)
{
    struct error error = {.text = ""};
    struct table table;
    struct store_values values;
    uint64_t page = tree->first_value;
    if (shard_pages_check(file, "data.mdb", tree->pages * PAGE, &values, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(values.count, tree->records);
    assert_int_equal(table_open(&table, path, &error), TN_OK);
    for (uint64_t i = 0; i < tree->records; i++) {
        const struct store_record record = store_tree_record(tree, i);
        const uint8_t *data;
        size_t size;
        assert_int_equal(table_get(&table, record.key, &data, &size, &error), TN_OK);
        assert_int_equal(size, record.bytes);
        assert_memory_equal(data, &record.key, sizeof record.key);
        const struct store_value *value = store_values_find(&values, record.key);
        assert_ptr_equal(value, &values.list[i]);
        assert_int_equal(value->bytes, record.bytes);
        assert_int_equal(value->at, page * PAGE + STORE_PAGE_HEADER_BYTES);
        page += record.pages;
    }
    store_values_free(&values);
    table_close(&table);
    close(file);
}

static void check_shard(uint64_t chunks, uint64_t blob_bytes, uint32_t state_arrays)
{
    const struct store_header header = {.count = chunks * CHUNK_FLOATS - (chunks > 0 ? 7 : 0),
                                        .blob_bytes = blob_bytes,
                                        .state_arrays = state_arrays,
                                        .chunk_floats = CHUNK_FLOATS};
    struct store_tree tree;
    store_tree_plan(&tree, &header, PAGE);
    assert_int_equal(tree.records, (blob_bytes > 0 ? 2 : 1) + chunks * state_arrays);
    write_file(&tree);
    check_file(&tree);
}

/* From no values at all to trees of two levels, around the room of a leaf (156 records). */
static void lmdb_finds_all_records(void **state)
{
    (void)state;
    static const uint64_t chunks[] = {0, 1, 2, 77, 78, 153, 154, 155, 156, 157, 312, 1000};
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        check_shard(chunks[i], 0, 1);
        check_shard(chunks[i], 100, 1);
    }
    check_shard(78, 4096, 2);
    check_shard(52, 4080, 3);
}

/* A root with the most leaves, and one leaf more: two branches below a root, with no lone child. */
static void lmdb_finds_all_records_of_deep_trees(void **state)
{
    (void)state;
    enum { LEAVES = 226, RECORDS_IN_LEAF = 156 };
    check_shard(LEAVES * RECORDS_IN_LEAF - 1, 0, 1);
    check_shard(LEAVES * RECORDS_IN_LEAF, 0, 1);
}

/* A shard of 100 GiB with the state of Adam: the file has a hundredth of a percent more. */
static void large_shards_have_small_trees(void **state)
{
    (void)state;
    const struct store_header header = {
        .count = UINT64_C(100) << 28, .state_arrays = 3, .chunk_floats = STORE_CHUNK_FLOATS};
    const uint64_t bytes = 3 * header.count * sizeof(float);
    struct store_tree tree;
    store_tree_plan(&tree, &header, PAGE);
    assert_true(tree.pages * PAGE > bytes);
    assert_true(tree.pages * PAGE < bytes + bytes / 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lmdb_finds_all_records),
        cmocka_unit_test(lmdb_finds_all_records_of_deep_trees),
        cmocka_unit_test(large_shards_have_small_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
