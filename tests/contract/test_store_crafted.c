/* Shards whose structure was damaged and whose digest in the manifest was computed from the damaged
 * file: no digest shows the damage, and LMDB would end the process by a signal. */
#include "tests/contract/store_fixture.h"

enum { PAGE = 4096, SMALL = 5000 };

/* Set `width` bytes at `at` in both meta pages of shard 0, and adopt the file. */
static void craft(struct manifest *manifest, size_t at, size_t width, uint64_t value)
{
    int fd = open(shard_path(manifest, 0), O_RDWR);
    assert_true(fd >= 0);
    for (size_t meta = 0; meta < 2; meta++) {
        assert_int_equal(pwrite(fd, &value, width, (off_t)(meta * PAGE + at)), width);
    }
    close(fd);
    adopt_damaged_file(manifest, 0);
}

/* Whatever a crafted file contains, verifying and loading it report damage and its page. */
static void crafted_shards_are_damaged(void **state)
{
    (void)state;
    static const struct {
        size_t at, width;
        uint64_t value;
    } cases[] = {
        {40, 4, 0},           /* The size of pages: SIGFPE. */
        {40, 4, 1},           /* Another: SIGSEGV. */
        {32, 8, 1ULL << 60},  /* The size of the map. */
        {136, 8, 1ULL << 40}, /* The last page. */
        {94, 2, 60000},       /* The depth. */
        {92, 2, 4},           /* Several values for a key. */
        {128, 8, 0},          /* The root is a meta page, */
        {128, 8, 7},          /* a page of values, */
        {128, 8, 1ULL << 40}, /* or outside the file. */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {.text = ""};
        struct store_metadata metadata;
        struct manifest manifest = write_checkpoint(i + 1, SMALL, 1);
        craft(&manifest, cases[i].at, cases[i].width, cases[i].value);
        assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "data.mdb is damaged: page "));
        assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, &error), TN_ECORRUPT);
    }
}

/* A file that ends in the middle, with the size and the digest of the rest: SIGBUS. */
static void truncated_shards_are_damaged(void **state)
{
    (void)state;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    for (uint64_t size = manifest.shards[0].bytes - PAGE; size > 100; size /= 2) {
        struct error error = {.text = ""};
        assert_int_equal(truncate(shard_path(&manifest, 0), (off_t)size), 0);
        adopt_damaged_file(&manifest, 0);
        assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, "data.mdb is damaged: page "));
    }
}

/* 2,000 files with up to 8 bytes changed in the pages that LMDB reads first: each is either intact
 * for LMDB or damaged. */
static void no_crafted_byte_crashes(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252ULL;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    const struct manifest_shard intact = manifest.shards[0];
    const char *path = shard_path(&manifest, 0);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t bits[8];
        size_t count = i % 8 + 1;
        for (size_t j = 0; j < count; j++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            bits[j] = (random >> 20) % 8 * PAGE * 8 + (random >> 40) % (160 * 8);
            flip_bit(path, bits[j]);
        }
        adopt_damaged_file(&manifest, 0);
        (void)!store_verify(dir, &manifest, 0, NULL, NULL);
        for (size_t j = 0; j < count; j++) { flip_bit(path, bits[j]); }
    }
    manifest.shards[0] = intact;
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(crafted_shards_are_damaged, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(truncated_shards_are_damaged, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(no_crafted_byte_crashes, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
