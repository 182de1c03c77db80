/*
 * Fuzz target: in a file that passes the checks of its structure, LMDB reads every record without a
 * crash, and store_find_values() has found the same bytes. An input edits a file that LMDB wrote:
 * its first byte, modulo 4, is one less than the number of edits; each edit is a page, an offset (2
 * bytes; from the end of the page if odd) and a width with its bytes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/minmax.h"
#include "ps/store/store_table.h"
#include "tests/lmdb_file.h"
#include "tests/shard_pages.h"

enum { PAGE = 4096, RECORDS = 400, LARGE = 3 * PAGE, FILE_BYTES = 24 * PAGE, EDITS_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint8_t intact[FILE_BYTES];
static int file = -1;
static char path[64];

/* The file that is edited exists in memory only. */
static void make_file(void)
{
    struct lmdb_file written;
    file = memfd_create("shard", MFD_CLOEXEC);
    assert(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    lmdb_file_begin(&written, path, FILE_BYTES);
    for (uint64_t key = 0; key <= RECORDS; key++) {
        size_t size = key == RECORDS ? LARGE : 8;
        memset(lmdb_file_append(&written, key, size), (int)key, size);
    }
    lmdb_file_end(&written);
    ssize_t got = pread(file, intact, sizeof intact, 0);
    assert(got == sizeof intact);
    struct store_values values;
    enum tn_status status = shard_pages_check(file, path, FILE_BYTES, &values, NULL);
    assert(status == TN_OK && values.count == RECORDS + 1);
    store_values_free(&values);
}

static void write_at(const void *bytes, size_t size, size_t at)
{
    ssize_t written = pwrite(file, bytes, size, (off_t)at);
    assert(written == (ssize_t)size);
}

/* Carry out the edit at the start of `bytes`. Returns its length; 0: there is none. */
static size_t edit(const uint8_t *bytes, size_t size)
{
    enum { HEAD = 4 };
    if (size < HEAD) { return 0; }
    size_t width = (size_t)1 << bytes[3] % 4;
    size_t offset = (bytes[1] | (size_t)bytes[2] << 8) / 2 % PAGE;
    if (bytes[1] % 2 != 0) { offset = PAGE - 8 - offset % 512; }
    if (size < HEAD + width) { return 0; }
    size_t at = size_min(bytes[0] % (FILE_BYTES / PAGE) * PAGE + offset, FILE_BYTES - width);
    write_at(bytes + HEAD, width, at);
    return HEAD + width;
}

static void check_same(const struct store_values *values, uint64_t key, const uint8_t *data,
                       size_t size)
{
    static uint8_t read[FILE_BYTES];
    const struct store_value *value = store_values_find(values, key);
    assert(value != NULL && value->bytes == size);
    ssize_t got = pread(file, read, size, (off_t)value->at);
    assert(got == (ssize_t)size && memcmp(read, data, size) == 0);
}

/* LMDB opens the file, and every byte of every record can be read. */
static void read_all(const struct store_values *values)
{
    struct table table;
    enum tn_status status = table_open(&table, path, NULL);
    for (uint64_t key = 0; status == TN_OK && key <= RECORDS; key++) {
        const uint8_t *data;
        size_t size;
        if (table_get(&table, key, &data, &size, NULL) == TN_OK) {
            check_same(values, key, data, size);
        }
    }
    table_close(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error error = {.text = ""};
    if (file < 0) { make_file(); }
    if (size == 0) { return 0; }
    write_at(intact, sizeof intact, 0);
    size_t edits = bytes[0] % EDITS_MAX + 1U;
    size_t at = 1;
    for (size_t i = 0; i < edits; i++) {
        size_t length = edit(bytes + at, size - at);
        if (length == 0) { break; }
        at += length;
    }
    struct store_values values;
    enum tn_status status = shard_pages_check(file, path, FILE_BYTES, &values, &error);
    assert(status == TN_OK || (status == TN_ECORRUPT && error.text[0] != '\0'));
    if (status == TN_OK) { read_all(&values); }
    store_values_free(&values);
    return 0;
}
