/* Tar archives and shards of WebDataset from bytes: valid ones, and every kind of damage. */
#include "data/formats/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/formats/formats.h"

static uint8_t archive[64 * TAR_BLOCK];
static size_t size;

static void seal(uint8_t *header)
{
    unsigned sum = 0;
    char text[16];
    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++) { sum += header[i]; }
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(header + 148, text, 7);
}

static void add(const char *name, char type, const void *bytes, size_t length)
{
    uint8_t *header = archive + size;
    memset(header, 0, TAR_BLOCK * 2);
    strncpy((char *)header, name, 100);
    char text[16];
    snprintf(text, sizeof text, "%011o", (unsigned)length);
    memcpy(header + 124, text, 12);
    header[156] = (uint8_t)type;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    seal(header);
    memcpy(header + TAR_BLOCK, bytes, length);
    size += TAR_BLOCK * (1 + (length + TAR_BLOCK - 1) / TAR_BLOCK);
}

static void add_text(const char *name, const char *text)
{
    add(name, '0', text, strlen(text));
}

static void finish(void)
{
    memset(archive + size, 0, 2 * (size_t)TAR_BLOCK);
    size += 2 * (size_t)TAR_BLOCK;
}

static enum tn_status open_shard(struct source *source, struct error *error)
{
    const struct source_input input = {.path = "s.tar", .bytes = archive, .size = size};
    *source = (struct source){.type = &tar_type};
    return tar_type.open(&input, source, error);
}

static void expect_refused(const char *text)
{
    struct source source;
    struct error error = {.text = ""};
    assert_int_equal(open_shard(&source, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
    assert_null(source.state);
    assert_null(source.columns);
}

/* Members are found with their names and contents; folders have none. */
static void test_members_are_found(void **state)
{
    (void)state;
    struct tar_member member;
    bool more;
    size = 0;
    add("d", '5', "", 0);
    add_text("d/a.txt", "text");
    finish();
    assert_int_equal(tar_next(archive, size, 0, &member, &more, NULL), TN_OK);
    assert_true(more);
    assert_false(member.is_file);
    assert_int_equal(tar_next(archive, size, member.next, &member, &more, NULL), TN_OK);
    assert_true(more && member.is_file);
    assert_string_equal(member.name, "d/a.txt");
    assert_int_equal(member.size, 4);
    assert_memory_equal(member.bytes, "text", 4);
    assert_int_equal(tar_next(archive, size, member.next, &member, &more, NULL), TN_OK);
    assert_false(more);
}

/* Long names come as GNU tar, POSIX and ustar write them; POSIX also has sizes. */
static void test_long_names_are_read(void **state)
{
    (void)state;
    struct tar_member member;
    bool more;
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    size = 0;
    add("././@LongLink", 'L', name, 201);
    add_text("nnn", "x");
    add_text("posix", "18 path=dir/a.txt\n9 size=1\n11 mtime=1\n");
    archive[size - 2 * TAR_BLOCK + 156] = 'x';
    seal(archive + size - 2 * (size_t)TAR_BLOCK);
    add_text("nnn", "xyz");
    add_text("file.txt", "x");
    strcpy((char *)archive + size - 2 * TAR_BLOCK + 345, "prefix");
    seal(archive + size - 2 * (size_t)TAR_BLOCK);
    finish();
    assert_int_equal(tar_next(archive, size, 0, &member, &more, NULL), TN_OK);
    assert_string_equal(member.name, name);
    assert_int_equal(tar_next(archive, size, member.next, &member, &more, NULL), TN_OK);
    assert_string_equal(member.name, "dir/a.txt");
    assert_int_equal(member.size, 1);
    assert_int_equal(tar_next(archive, size, member.next, &member, &more, NULL), TN_OK);
    assert_string_equal(member.name, "prefix/file.txt");
}

/* Members with one key are an example; columns are ordered by name, and absent ones are missing. */
static void test_members_become_examples(void **state)
{
    (void)state;
    struct source source;
    struct source_row row;
    size = 0;
    add_text("d/1.cls", " 7\n");
    add_text("d/1.TXT", "caf\xc3\xa9");
    add_text("d/1.other", "not a column");
    add_text("no-ending", "not an example");
    add_text("d/2.a.b.txt", "x");
    add_text("d/2.cls", "-3");
    finish();
    assert_int_equal(open_shard(&source, NULL), TN_OK);
    assert_int_equal(source.count, 2);
    assert_int_equal(source.column_count, 3);
    assert_string_equal(source.columns[0].name, "a.b.txt");
    assert_string_equal(source.columns[1].name, "cls");
    assert_string_equal(source.columns[2].name, "txt");
    assert_int_equal(source_row_open(&row, 3, NULL), TN_OK);
    assert_int_equal(source_read(&source, 1, &row, NULL), TN_OK);
    assert_memory_equal(row.cells[0].bytes, "x", 1);
    assert_true(row.cells[1].number == -3.0);
    assert_true(row.cells[2].missing);
    assert_int_equal(source_read(&source, 0, &row, NULL), TN_OK);
    assert_true(row.cells[0].missing);
    assert_true(row.cells[1].number == 7.0);
    assert_int_equal(row.cells[2].size, 5);
    source_row_close(&row);
    source_close(&source);
}

/* An archive truncated anywhere is refused, and so is any damaged byte of a header. */
static void test_damaged_archives_are_refused(void **state)
{
    (void)state;
    size = 0;
    add_text("1.cls", "7");
    add_text("1.txt", "text");
    finish();
    const size_t whole = size;
    for (size = 1; size < whole - TAR_BLOCK; size++) { expect_refused("s.tar: "); }
    size = whole;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        if (i == 155) { continue; } /* Behind the checksum: unused. */
        archive[2 * TAR_BLOCK + i] ^= 1;
        expect_refused("s.tar: byte 1024: ");
        archive[2 * TAR_BLOCK + i] ^= 1;
    }
}

/* Contents that are not what the ending promises: the error names the member. */
static void test_wrong_contents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *contents, *text;
    } cases[] = {
        {"1.txt", "1.cls", "seven", "s.tar: '1.cls': not a whole number"},
        {"1.txt", "1.cls", "1234567890123456", "s.tar: '1.cls': not a whole number of up to 15"},
        {"1.txt", "2.txt", "caf\xe9", "s.tar: '2.txt': byte 3 is not valid UTF-8"},
        {"1.txt", "1.jpg", "text", "s.tar: '1.jpg': not a JPEG or PNG image"},
        {"1.txt", "1.npy", "text", "s.tar: '1.npy': not a .npy file"},
        {"1.txt", "1.txt", "text", "s.tar: '1.txt': the example has two members"},
        {"README", "LICENSE", "text", "s.tar: the archive has no examples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size = 0;
        add_text(cases[i].first, "text");
        add_text(cases[i].second, cases[i].contents);
        finish();
        expect_refused(cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_found),
        cmocka_unit_test(test_long_names_are_read),
        cmocka_unit_test(test_members_become_examples),
        cmocka_unit_test(test_damaged_archives_are_refused),
        cmocka_unit_test(test_wrong_contents_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
