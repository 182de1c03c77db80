/* The structure of a shard's file: what LMDB wrote passes, and its values are found; each damage
 * that would crash LMDB is found, and the error names the page and the field. */
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

#include "common/base/minmax.h"
#include "ps/store/store_pages.h"
#include "tests/lmdb_file.h"
#include "tests/shard_pages.h"

/* RECORDS: more than a leaf holds, so that the root is a branch. The last record has pages of its
 * own. */
enum { PAGE = 4096, RECORDS = 400, LARGE = 3 * PAGE, FILE_BYTES = 32 * PAGE };

static uint8_t intact[FILE_BYTES];
static uint8_t crafted[FILE_BYTES];

static uint64_t word(size_t at, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, intact + at, width);
    return value;
}

/* A file that exists in memory only. */
static int open_file(char path[static 64])
{
    int fd = memfd_create("shard", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Fills `intact` with a file of small records and a large one. */
static int write_file(void **state)
{
    (void)state;
    struct lmdb_file file;
    char path[64];
    int fd = open_file(path);
    lmdb_file_begin(&file, path, FILE_BYTES);
    for (uint64_t key = 0; key <= RECORDS; key++) {
        size_t size = key == RECORDS ? LARGE : 8;
        memset(lmdb_file_append(&file, key, size), (int)key, size);
    }
    lmdb_file_end(&file);
    assert_int_equal(pread(fd, intact, sizeof intact, 0), sizeof intact);
    return close(fd);
}

/* The result for the first `bytes` bytes of `crafted`, as a file of FILE_BYTES or of `bytes`. */
static enum tn_status check(size_t bytes, uint64_t claimed, struct error *error)
{
    char path[64];
    int fd = open_file(path);
    assert_int_equal(pwrite(fd, crafted, bytes, 0), bytes);
    struct store_values values;
    enum tn_status status = shard_pages_check(fd, "data.mdb", claimed, &values, error);
    store_values_free(&values);
    close(fd);
    return status;
}

/* The meta page in use; pages of the tree: its root, the first and last leaf; the large value. */
enum target { META_0, META_1, USED, ROOT, FIRST_LEAF, LAST_LEAF, RUN };

static size_t used_meta(void)
{
    return word(144, 8) < word(PAGE + 144, 8) ? 1 : 0;
}

static size_t number_of(enum target target)
{
    size_t root = word(used_meta() * PAGE + 88 + 40, 8);
    size_t last = (word(root * PAGE + 12, 2) - 16) / 2 - 1;
    size_t child = word(root * PAGE + word(root * PAGE + 16 + 2 * last, 2), 2);
    size_t node = word(child * PAGE + 12, 2) - 2; /* The offset of the last one's offset. */
    switch (target) {
    case META_0: return 0;
    case META_1: return 1;
    case USED: return used_meta();
    case ROOT: return root;
    case FIRST_LEAF: return word(root * PAGE + word(root * PAGE + 16, 2), 2);
    case LAST_LEAF: return child;
    case RUN: return word(child * PAGE + word(child * PAGE + node, 2) + 16, 8);
    }
    return 0;
}

/* The offset in its page of the first node, or of the last one. */
static size_t node_of(enum target target)
{
    size_t page = number_of(target) * PAGE;
    size_t at = target == LAST_LEAF ? word(page + 12, 2) - 2 : 16;
    return word(page + at, 2);
}

/* Set `width` bytes at an offset of a page, or of its node. */
struct damage {
    enum target target;
    int in_node;
    size_t at, width;
    uint64_t value;
    const char *field;
};

static void expect_damage(const struct damage *damage)
{
    char expected[128];
    struct error error = {.text = ""};
    size_t number = number_of(damage->target);
    size_t at = damage->at + (damage->in_node ? node_of(damage->target) : 0);
    memcpy(crafted, intact, sizeof crafted);
    memcpy(crafted + number * PAGE + at, &damage->value, damage->width);
    snprintf(expected, sizeof expected, "data.mdb is damaged: page %zu: its %s is ", number,
             damage->field);
    assert_int_equal(check(FILE_BYTES, FILE_BYTES, &error), TN_ECORRUPT);
    if (strncmp(error.text, expected, strlen(expected)) != 0) {
        fail_msg("found \"%s\", expected \"%s\"", error.text, expected);
    }
}

/* A file that LMDB wrote passes: the check and LMDB agree on the format. */
static void written_file_passes(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    memcpy(crafted, intact, sizeof crafted);
    if (check(FILE_BYTES, FILE_BYTES, &error) != TN_OK) { fail_msg("%s", error.text); }
}

/* Every record is found by its key, at the place of its bytes; other keys are not. */
static void values_are_found(void **state)
{
    (void)state;
    char path[64];
    struct store_values values;
    int fd = open_file(path);
    assert_int_equal(pwrite(fd, intact, sizeof intact, 0), sizeof intact);
    assert_int_equal(store_find_values(fd, "data.mdb", FILE_BYTES, &values, NULL), TN_OK);
    assert_int_equal(values.count, RECORDS + 1);
    for (uint64_t key = 0; key <= RECORDS; key++) {
        const struct store_value *value = store_values_find(&values, key);
        assert_non_null(value);
        assert_int_equal(value->bytes, key == RECORDS ? LARGE : 8);
        assert_int_equal(value->large, key == RECORDS);
        for (uint64_t i = 0; i < value->bytes; i++) {
            assert_int_equal(intact[value->at + i], (uint8_t)key);
        }
    }
    assert_null(store_values_find(&values, RECORDS + 1));
    assert_null(store_values_find(&values, UINT64_MAX));
    store_values_free(&values);
    close(fd);
}

/* Each field of both meta pages that LMDB uses. */
static void wrong_meta_pages_are_named(void **state)
{
    (void)state;
    static const struct damage cases[] = {
        {META_0, 0, 0, 8, 1, "number"},
        {META_0, 0, 10, 2, 0, "kind"},
        {META_0, 0, 16, 4, 1, "magic"},
        {META_0, 0, 20, 4, 2, "version"},
        {META_0, 0, 32, 8, 1ULL << 60, "map size"},
        {META_0, 0, 40, 4, 0, "page size"},
        {META_0, 0, 40, 4, 1, "page size"},
        {META_0, 0, 40, 4, 1U << 31, "page size"},
        {META_0, 0, 40, 4, 6000, "bits of the page size"},
        {META_1, 0, 10, 2, 2, "kind"},
        {META_1, 0, 16, 4, 0, "magic"},
        {META_1, 0, 32, 8, 0, "map size"},
        {META_1, 0, 40, 4, 0, "page size"},
        {META_1, 0, 40, 4, 8192, "page size"},
        {META_0, 0, 136, 8, FILE_BYTES / PAGE, "last page"},
        {META_1, 0, 136, 8, UINT64_MAX, "last page"},
        {USED, 0, 92, 2, 4, "flags of the table"}, /* Several values for a key. */
        {USED, 0, 94, 2, 0, "depth"},
        {USED, 0, 94, 2, 33, "depth"},
        {USED, 0, 96, 8, 2, "branch pages"},
        {USED, 0, 104, 8, 0, "leaf pages"},
        {USED, 0, 112, 8, 9, "overflow pages"},
        {USED, 0, 120, 8, 1, "entries"},
        {USED, 0, 128, 8, 0, "root"},
        {USED, 0, 128, 8, UINT64_MAX, "root"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { expect_damage(&cases[i]); }
}

/* Pages of the tree: kinds, bounds of the nodes, children and large values. */
static void wrong_tree_pages_are_named(void **state)
{
    (void)state;
    static const struct damage cases[] = {
        {ROOT, 0, 0, 8, 0, "number"},
        {ROOT, 0, 10, 2, 2, "kind"},
        {ROOT, 0, 12, 2, 18, "end of offsets"}, /* One child: LMDB aborts. */
        {ROOT, 0, 12, 2, 65534, "end of offsets"},
        {ROOT, 0, 12, 2, 21, "alignment of offsets"},
        {ROOT, 0, 14, 2, 0, "start of nodes"},
        {ROOT, 0, 14, 2, PAGE + 1, "start of nodes"},
        {ROOT, 0, 16, 2, 4094, "offset of a node"},
        {ROOT, 0, 16, 2, 0, "offset of a node"},
        {ROOT, 1, 6, 2, 60000, "key size"},
        {ROOT, 1, 0, 2, 1, "child"},
        {ROOT, 1, 0, 2, 60000, "child"},
        {ROOT, 1, 4, 2, 1, "child"}, /* The highest bits of the number. */
        {FIRST_LEAF, 0, 10, 2, 1, "kind"},
        {FIRST_LEAF, 0, 10, 2, 0x22, "kind"}, /* Keys without nodes. */
        {FIRST_LEAF, 0, 12, 2, 16, "end of offsets"},
        {FIRST_LEAF, 0, 16, 2, 4090, "offset of a node"},
        {FIRST_LEAF, 1, 4, 2, 2, "flags of a node"}, /* A table inside the table. */
        {FIRST_LEAF, 1, 6, 2, 9, "key size"},
        {FIRST_LEAF, 1, 8, 8, UINT64_MAX, "key"}, /* The next one is not above it. */
        {FIRST_LEAF, 1, 0, 2, 5000, "end of a record"},
        {FIRST_LEAF, 1, 2, 2, 65535, "end of a record"},
        {LAST_LEAF, 1, 16, 8, 1, "page of a large value"},
        {LAST_LEAF, 1, 16, 8, UINT64_MAX, "page of a large value"},
        {LAST_LEAF, 1, 2, 2, 65535, "pages of a large value"},
        {RUN, 0, 0, 8, 0, "number"},
        {RUN, 0, 10, 2, 2, "kind"},
        {RUN, 0, 12, 4, 3, "length in pages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { expect_damage(&cases[i]); }
}

/* A child that is the root itself. */
static void cycles_are_damage(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    uint16_t root = (uint16_t)number_of(ROOT);
    memcpy(crafted, intact, sizeof crafted);
    memcpy(crafted + (size_t)root * PAGE + node_of(ROOT), &root, sizeof root);
    assert_int_equal(check(FILE_BYTES, FILE_BYTES, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "its kind is 1, expected 2"));
}

/* Branches whose every child is the next branch: 2 to the power of 31 ways to the leaf. */
static void wide_walks_end(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    memcpy(crafted, intact, sizeof crafted);
    size_t root = number_of(ROOT);
    memcpy(crafted + used_meta() * PAGE + 94, &(uint16_t){32}, 2);
    for (size_t child = 0; child < (word(root * PAGE + 12, 2) - 16) / 2; child++) {
        size_t node = word(root * PAGE + 16 + 2 * child, 2);
        memcpy(crafted + root * PAGE + node, &(uint16_t){(uint16_t)root}, 2);
    }
    assert_int_equal(check(FILE_BYTES, FILE_BYTES, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "its place in the walk is "));
}

/* A file that ends before its last page, whatever size is claimed for it. */
static void truncated_files_are_damage(void **state)
{
    (void)state;
    memcpy(crafted, intact, sizeof crafted);
    for (size_t bytes = 0; bytes < (word(used_meta() * PAGE + 136, 8) + 1) * PAGE; bytes += 1000) {
        struct error error = {.text = ""};
        assert_int_equal(check(bytes, bytes, &error), TN_ECORRUPT);
        assert_int_equal(strncmp(error.text, "data.mdb is damaged: page ", 26), 0);
    }
    const size_t last = size_max(number_of(ROOT), number_of(LAST_LEAF));
    for (size_t bytes = 0; bytes <= last * PAGE; bytes += 1000) {
        struct error error = {.text = ""};
        assert_int_equal(check(bytes, FILE_BYTES, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "it is not in the file"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_file_passes),        cmocka_unit_test(values_are_found),
        cmocka_unit_test(wrong_meta_pages_are_named), cmocka_unit_test(wrong_tree_pages_are_named),
        cmocka_unit_test(cycles_are_damage),          cmocka_unit_test(wide_walks_end),
        cmocka_unit_test(truncated_files_are_damage),
    };
    return cmocka_run_group_tests(tests, write_file, NULL);
}
