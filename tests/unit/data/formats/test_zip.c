/* Stored members of ZIP archives from bytes: valid ones, and every kind of damage. */
#include "data/formats/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A member "a" of the bytes "xyz", its directory, and the record at the end. */
enum { LOCAL = 0, DATA = 31, DIRECTORY = 34, END = 81, SIZE = 103 };

static uint8_t archive[SIZE];

static void put(size_t at, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) { archive[at + i] = (uint8_t)(value >> 8 * i); }
}

static void build(void)
{
    memset(archive, 0, sizeof archive);
    memcpy(archive + LOCAL, "PK\3\4", 4);
    put(LOCAL + 26, 1, 2); /* The name's size. */
    archive[LOCAL + 30] = 'a';
    memcpy(archive + DATA, "xyz", 3);
    memcpy(archive + DIRECTORY, "PK\1\2", 4);
    put(DIRECTORY + 16, 0xeb8eba67, 4); /* The checksum. */
    put(DIRECTORY + 20, 3, 4);
    put(DIRECTORY + 24, 3, 4);
    put(DIRECTORY + 28, 1, 2);
    archive[DIRECTORY + 46] = 'a';
    memcpy(archive + END, "PK\5\6", 4);
    put(END + 10, 1, 2);
    put(END + 12, END - DIRECTORY, 4);
    put(END + 16, DIRECTORY, 4);
}

static enum tn_status read_all(size_t size, struct zip_member *member, struct error *error)
{
    struct zip_directory directory;
    enum tn_status status = zip_open(archive, size, &directory, error);
    for (uint64_t i = 0; status == TN_OK && i < directory.members; i++) {
        status = zip_next(&directory, member, error);
    }
    return status;
}

/* A stored member has its name, bytes and checksum. */
static void test_stored_members_are_found(void **state)
{
    (void)state;
    struct zip_member member;
    build();
    assert_int_equal(read_all(SIZE, &member, NULL), TN_OK);
    assert_int_equal(member.name_size, 1);
    assert_memory_equal(member.name, "a", 1);
    assert_int_equal(member.size, 3);
    assert_memory_equal(member.data, "xyz", 3);
    assert_int_equal(member.crc32, 0xeb8eba67);
}

/* An archive truncated anywhere is refused. */
static void test_truncated_archives_are_refused(void **state)
{
    (void)state;
    struct zip_member member;
    struct error error;
    build();
    for (size_t cut = 0; cut < SIZE; cut++) {
        assert_int_equal(read_all(cut, &member, &error), TN_ECORRUPT);
    }
}

/* Each number of the archive is checked; the error names what is wrong. */
static void test_damage_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
        uint32_t value;
        enum tn_status status;
        const char *text;
    } cases[] = {
        {LOCAL, 1, 'X', TN_ECORRUPT, "no local header"},
        {LOCAL + 26, 2, 2, TN_ECORRUPT, "another name"},
        {LOCAL + 28, 2, 0xffff, TN_ECORRUPT, "local header is cut off"},
        {LOCAL + 30, 1, 'b', TN_ECORRUPT, "another name"},
        {DIRECTORY, 1, 'X', TN_ECORRUPT, "an entry of its directory is missing"},
        {DIRECTORY + 8, 2, 1, TN_EINVAL, "the member 'a' is encrypted"},
        {DIRECTORY + 10, 2, 8, TN_EINVAL, "instead of savez_compressed()"},
        {DIRECTORY + 20, 4, 2, TN_ECORRUPT, "sizes of a stored member differ"},
        {DIRECTORY + 28, 2, 9, TN_ECORRUPT, "its directory is cut off"},
        {DIRECTORY + 42, 4, 102, TN_ECORRUPT, "a member begins outside"},
        {DIRECTORY + 42, 4, 0xffffffff, TN_ECORRUPT, "ZIP64 field"},
        {END, 1, 'X', TN_ECORRUPT, "not a ZIP archive"},
        {END + 10, 2, 2, TN_ECORRUPT, "too short for its members"},
        {END + 10, 2, 0xffff, TN_ECORRUPT, "ZIP64 has no"},
        {END + 12, 4, 90, TN_ECORRUPT, "its directory is outside"},
        {END + 16, 4, 0xfffffffe, TN_ECORRUPT, "its directory is outside"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zip_member member;
        struct error error = {.text = ""};
        build();
        put(cases[i].at, cases[i].value, cases[i].bytes);
        assert_int_equal(read_all(SIZE, &member, &error), cases[i].status);
        if (strstr(error.text, cases[i].text) == NULL) {
            fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].text, error.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_members_are_found),
        cmocka_unit_test(test_truncated_archives_are_refused),
        cmocka_unit_test(test_damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
