/* The folder of checkpoints: listing, manifests and removal. Other files are never touched. */
#include "tests/contract/store_fixture.h"

enum { SMALL = 100, LISTED = 4 };

static struct manifest listed[LISTED];

static struct manifest commit(uint64_t id)
{
    struct manifest manifest = write_checkpoint(id, SMALL, 1);
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    return manifest;
}

static const char *in_dir(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool exists(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static void touch(const char *name)
{
    int fd = open(in_dir(name), O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
}

/* The listed ids as text, "12 7". The test fails if the listing does. */
static const char *list_ids(size_t max, char *warnings, size_t size)
{
    static char text[256];
    size_t count;
    assert_int_equal(store_list(dir, listed, max, &count, warnings, size, NULL), TN_OK);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%ju", i == 0 ? "" : " ",
                 (uintmax_t)listed[i].id);
    }
    return text;
}

/* Committed checkpoints are listed newest first, as many as fit; uncommitted ones are left out, but
 * their ids are used, too. */
static void newest_is_listed_first(void **state)
{
    (void)state;
    char warnings[100];
    assert_string_equal(list_ids(LISTED, warnings, sizeof warnings), "");
    (void)commit(9);
    (void)commit(12);
    (void)commit(3);
    (void)write_checkpoint(15, SMALL, 1);
    assert_string_equal(list_ids(LISTED, warnings, sizeof warnings), "12 9 3");
    uint64_t highest = 0;
    assert_int_equal(store_highest_id(dir, &highest, NULL), TN_OK);
    assert_int_equal(highest, 15);
    assert_string_equal(list_ids(2, warnings, sizeof warnings), "12 9");
    assert_string_equal(warnings, "");
    assert_int_equal(listed[0].step, 120);
}

/* A damaged manifest, or one in the folder of another id, is skipped with a warning. */
static void damaged_manifest_is_skipped(void **state)
{
    (void)state;
    char warnings[1000];
    (void)commit(1);
    (void)commit(2);
    (void)commit(3);
    (void)commit(4);
    flip_bit(in_dir("0000000003/manifest.json"), 8 * 40);
    assert_int_equal(truncate(in_dir("0000000002/manifest.json"), 0), 0);
    char first[PATH_MAX];
    snprintf(first, sizeof first, "%s", in_dir("0000000001/manifest.json"));
    assert_int_equal(rename(first, in_dir("0000000004/manifest.json")), 0);
    assert_string_equal(list_ids(LISTED, warnings, sizeof warnings), "");
    assert_non_null(strstr(warnings, "0000000004/manifest.json is the manifest of checkpoint 1"));
    assert_non_null(strstr(warnings, "\n"));
    assert_non_null(strstr(warnings, "0000000002/manifest.json: not JSON"));
    /* A warning that does not fit is left out completely. */
    assert_string_equal(list_ids(LISTED, warnings, 10), "");
    assert_string_equal(warnings, "");
}

/* A shard is not written into a checkpoint whose manifest cannot be read. */
static void damaged_manifest_is_not_overwritten(void **state)
{
    (void)state;
    struct manifest manifest = commit(3);
    flip_bit(in_dir("0000000003/manifest.json"), 8 * 40);
    assert_int_equal(write_shard(&manifest, 0, NULL), TN_ECORRUPT);
}

/* Storing a manifest twice is harmless and leaves no other files. */
static void manifest_can_be_stored_twice(void **state)
{
    (void)state;
    struct manifest manifest = commit(5);
    struct manifest found;
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    assert_int_equal(store_get_manifest(dir, 5, &found, NULL), TN_OK);
    assert_memory_equal(&found, &manifest, sizeof found);
    assert_int_equal(store_get_manifest(dir, 6, &found, NULL), TN_ENOENT);
    assert_int_equal(unlink(in_dir("0000000005/manifest.json")), 0);
    assert_int_equal(unlink(in_dir("0000000005/shard-0-of-1/data.mdb")), 0);
    assert_int_equal(rmdir(in_dir("0000000005/shard-0-of-1")), 0);
    assert_int_equal(rmdir(in_dir("0000000005")), 0);
}

/* Collection removes older checkpoints that are not kept, aborted ones included, and nothing
 * else. */
static void collection_keeps_the_given_ids(void **state)
{
    (void)state;
    size_t removed;
    char warnings[100];
    for (uint64_t id = 1; id <= 6; id++) {
        (void)(id == 3 ? write_checkpoint(3, SMALL, 1) : commit(id));
    }
    touch("0000000001/shard-0-of-1/data.mdb.partial-7-0");
    touch("0000000001/.manifest.json.tmp-7-0");
    touch("0000000002/.manifest.json.tmp-7-0");
    touch("0000000005/.manifest.json.tmp-7-0");
    const uint64_t keep[] = {2, 6};
    assert_int_equal(store_collect(dir, keep, 2, 5, &removed, NULL), TN_OK);
    assert_int_equal(removed, 3);
    assert_string_equal(list_ids(LISTED, warnings, sizeof warnings), "6 5 2");
    assert_false(exists("0000000001"));
    assert_false(exists("0000000003"));
    assert_false(exists("0000000002/.manifest.json.tmp-7-0"));
    assert_true(exists("0000000002/manifest.json"));
    assert_true(exists("0000000005/.manifest.json.tmp-7-0")); /* May still be renamed. */
    assert_int_equal(store_collect(dir, NULL, 0, UINT64_MAX, &removed, NULL), TN_OK);
    assert_int_equal(removed, 3);
}

/* Files and folders with other names stay, also inside a checkpoint that is removed. */
static void foreign_names_stay(void **state)
{
    (void)state;
    size_t removed;
    (void)commit(1);
    static const char *const folders[] = {"1", "000000001", "00000000001", "0000000002x",
                                          "0000000001/notes"};
    for (size_t i = 0; i < 5; i++) { assert_int_equal(mkdir(in_dir(folders[i]), 0755), 0); }
    touch("0000000001/shard-0-of-1/mine.txt");
    touch("manifest.json");
    assert_int_equal(symlink("/", in_dir("0000000003")), 0);
    assert_int_equal(store_collect(dir, NULL, 0, 3, &removed, NULL), TN_OK);
    assert_int_equal(removed, 0);
    for (size_t i = 0; i < 5; i++) { assert_true(exists(folders[i])); }
    assert_true(exists("0000000001/shard-0-of-1/mine.txt"));
    assert_true(exists("manifest.json"));
    assert_false(exists("0000000001/manifest.json"));
    assert_false(exists("0000000001/shard-0-of-1/data.mdb"));
}

/* Thousands of files and folders among more manifests than the listing holds. */
static void folder_of_any_size_is_listed(void **state)
{
    (void)state;
    enum { FOREIGN = 2000, MANIFESTS = 2 * LISTED };
    char name[32];
    size_t removed;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    for (uint64_t id = 1; id <= MANIFESTS; id++) {
        assert_int_equal(store_make_folder(dir, id, 0, 0, NULL), TN_OK);
        manifest.id = id;
        assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    }
    for (int i = 0; i < FOREIGN; i++) {
        snprintf(name, sizeof name, "notes-%d", i);
        touch(name);
        snprintf(name, sizeof name, "%010d", 1000 + i);
        assert_int_equal(mkdir(in_dir(name), 0755), 0);
    }
    assert_string_equal(list_ids(LISTED, NULL, 0), "8 7 6 5");
    uint64_t highest = 0;
    assert_int_equal(store_highest_id(dir, &highest, NULL), TN_OK);
    assert_int_equal(highest, 1000 + FOREIGN - 1);
    const uint64_t keep[] = {MANIFESTS};
    assert_int_equal(store_collect(dir, keep, 1, 1000 + FOREIGN, &removed, NULL), TN_OK);
    assert_int_equal(removed, MANIFESTS - 1 + FOREIGN);
    assert_true(exists("notes-0"));
    assert_string_equal(list_ids(LISTED, NULL, 0), "8");
}

/* An aborted checkpoint can be discarded, also twice; a committed one is refused. */
static void only_aborted_checkpoints_are_discarded(void **state)
{
    (void)state;
    struct error error;
    (void)write_checkpoint(3, SMALL, 2);
    assert_int_equal(store_discard(dir, 3, NULL), TN_OK);
    assert_false(exists("0000000003"));
    assert_int_equal(store_discard(dir, 3, NULL), TN_OK);
    struct manifest manifest = commit(4);
    assert_int_equal(store_discard(dir, 4, &error), TN_EEXIST);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_OK);
}

/* A missing folder is not made; each request returns TN_ENOENT. */
static void missing_folder_is_an_error(void **state)
{
    (void)state;
    size_t count;
    char text[10];
    struct error error;
    struct manifest manifest = manifest_make(1, SMALL, 1);
    manifest.shards[0].bytes = 1;
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(write_shard(&manifest, 0, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "does not exist: is its disk mounted?"));
    manifest.shards[0].bytes = 1;
    assert_int_equal(store_put_manifest(dir, &manifest, &error), TN_ENOENT);
    assert_int_equal(store_list(dir, listed, 1, &count, text, sizeof text, &error), TN_ENOENT);
    assert_int_equal(store_collect(dir, NULL, 0, 9, &count, &error), TN_ENOENT);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, &error), TN_ENOENT);
    assert_int_equal(store_discard(dir, 1, &error), TN_ENOENT);
    assert_int_not_equal(access(dir, F_OK), 0);
}

/* A path that is too long is refused, not truncated. */
static void long_path_is_refused(void **state)
{
    (void)state;
    char path[PATH_MAX + 10];
    size_t count;
    struct manifest manifest = manifest_make(1, SMALL, 1);
    manifest.shards[0].bytes = 1;
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[PATH_MAX - 20] = '\0';
    assert_int_equal(store_put_manifest(path, &manifest, NULL), TN_EINVAL);
    assert_int_equal(store_verify(path, &manifest, 0, NULL, NULL), TN_EINVAL);
    assert_int_equal(store_discard(path, 1, NULL), TN_EINVAL);
    assert_int_not_equal(store_collect(path, NULL, 0, 1, &count, NULL), TN_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(newest_is_listed_first),
        TEST(damaged_manifest_is_skipped),
        TEST(damaged_manifest_is_not_overwritten),
        TEST(manifest_can_be_stored_twice),
        TEST(collection_keeps_the_given_ids),
        TEST(foreign_names_stay),
        TEST(folder_of_any_size_is_listed),
        TEST(only_aborted_checkpoints_are_discarded),
        TEST(missing_folder_is_an_error),
        TEST(long_path_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
