/*
 * model/export/npz.c: a zip file of .npy files, not compressed, in the form ZIP64 throughout, so
 * that no size has a limit. Its bytes depend on the values alone: all times are 1980-01-01.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/minmax.h"
#include "model/export/tensors.h"

enum {
    NPY_HEADER = 128, /* A multiple of 64 that holds the text of any shape. */
    RECORD_MAX = 128 + EXPORT_NAME_MAX,
    VERSION = 45,       /* The version that has ZIP64. */
    DATE = 1 << 5 | 1,  /* 1980-01-01 */
    CRC_PIECE = 1 << 30 /* zlib takes 32-bit sizes. */
};

struct entry {
    uint32_t crc;
    uint64_t bytes, at;
};

/* Numbers with the low byte first. */
struct record {
    uint8_t bytes[RECORD_MAX];
    size_t size;
};

static void put(struct record *record, uint64_t value, size_t size)
{
    assert(record->size + size <= RECORD_MAX);
    for (size_t i = 0; i < size; i++) {
        record->bytes[record->size++] = (uint8_t)(value >> (8 * i));
    }
}

static void put_name(struct record *record, const char *name)
{
    const size_t length = strlen(name);
    assert(record->size + length <= RECORD_MAX);
    memcpy(record->bytes + record->size, name, length);
    record->size += length;
}

static void write_record(struct partial_file *file, const struct record *record)
{
    partial_file_write(file, record->bytes, record->size);
}

/* Version, flags, method "stored", time and checksum, as both headers of an entry have them. */
static void put_common(struct record *record, const struct entry *entry)
{
    put(record, VERSION, 2);
    put(record, 0, 2);
    put(record, 0, 2);
    put(record, 0, 2);
    put(record, DATE, 2);
    put(record, entry->crc, 4);
    put(record, UINT32_MAX, 4); /* The sizes are in the extra field. */
    put(record, UINT32_MAX, 4);
}

static void write_local(struct partial_file *file, const struct entry *entry, const char *name)
{
    struct record record = {.size = 0};
    put(&record, 0x04034b50, 4);
    put_common(&record, entry);
    put(&record, strlen(name), 2);
    put(&record, 20, 2);
    put_name(&record, name);
    put(&record, 1, 2);
    put(&record, 16, 2);
    put(&record, entry->bytes, 8);
    put(&record, entry->bytes, 8);
    write_record(file, &record);
}

static void write_central(struct partial_file *file, const struct entry *entry, const char *name)
{
    struct record record = {.size = 0};
    put(&record, 0x02014b50, 4);
    put(&record, VERSION, 2);
    put_common(&record, entry);
    put(&record, strlen(name), 2);
    put(&record, 28, 2);
    put(&record, 0, 2); /* Comment, disk, attributes. */
    put(&record, 0, 2);
    put(&record, 0, 2);
    put(&record, 0, 4);
    put(&record, UINT32_MAX, 4);
    put_name(&record, name);
    put(&record, 1, 2);
    put(&record, 24, 2);
    put(&record, entry->bytes, 8);
    put(&record, entry->bytes, 8);
    put(&record, entry->at, 8);
    write_record(file, &record);
}

static void write_end(struct partial_file *file, uint64_t central, size_t count)
{
    struct record record = {.size = 0};
    const uint64_t end = file->bytes;
    put(&record, 0x06064b50, 4);
    put(&record, 44, 8);
    put(&record, VERSION, 2);
    put(&record, VERSION, 2);
    put(&record, 0, 8);
    put(&record, count, 8);
    put(&record, count, 8);
    put(&record, end - central, 8);
    put(&record, central, 8);
    put(&record, 0x07064b50, 4);
    put(&record, 0, 4);
    put(&record, end, 8);
    put(&record, 1, 4);
    put(&record, 0x06054b50, 4);
    put(&record, 0, 4);
    put(&record, UINT16_MAX, 2);
    put(&record, UINT16_MAX, 2);
    put(&record, UINT32_MAX, 4);
    put(&record, UINT32_MAX, 4);
    put(&record, 0, 2);
    write_record(file, &record);
}

/* The header of a .npy file, version 1.0. */
static void make_npy_header(const struct export_tensor *tensor, char header[static NPY_HEADER])
{
    static const char magic[] = "\x93NUMPY\x01";
    char shape[96] = "";
    size_t length = 0;
    for (uint32_t d = 0; d < tensor->rank; d++) {
        length += (size_t)snprintf(shape + length, sizeof shape - length, "%" PRIu64 ", ",
                                   tensor->shape[d]);
    }
    memset(header, ' ', NPY_HEADER);
    memcpy(header, magic, sizeof magic);
    header[8] = (char)(NPY_HEADER - 10);
    header[9] = 0;
    const int text = snprintf(header + 10, NPY_HEADER - 10,
                              "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }",
                              tensor->keys ? "i8" : "f4", shape);
    assert(text > 0 && text < NPY_HEADER - 11);
    header[10 + text] = ' ';
    header[NPY_HEADER - 1] = '\n';
}

static uint32_t checksum(uLong crc, const void *data, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += CRC_PIECE) {
        const uInt size = (uInt)u64_min(bytes - at, CRC_PIECE);
        crc = crc32(crc, (const Bytef *)data + at, size);
    }
    return (uint32_t)crc;
}

static void name_of(const struct export_tensor *tensor, char name[static EXPORT_NAME_MAX + 8])
{
    snprintf(name, EXPORT_NAME_MAX + 8, "%s.npy", tensor->name);
}

static struct entry write_tensor(struct partial_file *file, const struct export_tensor *tensor,
                                 const void *values)
{
    char header[NPY_HEADER], name[EXPORT_NAME_MAX + 8];
    const size_t size = export_element(tensor);
    const uint64_t bytes = tensor->count * size;
    const uint8_t *first = (const uint8_t *)values + tensor->offset * size;
    make_npy_header(tensor, header);
    name_of(tensor, name);
    const uLong crc = crc32(0, (const Bytef *)header, NPY_HEADER);
    const struct entry entry = {
        .crc = checksum(crc, first, bytes), .bytes = NPY_HEADER + bytes, .at = file->bytes};
    write_local(file, &entry, name);
    partial_file_write(file, header, NPY_HEADER);
    partial_file_write(file, first, bytes);
    return entry;
}

/* The description of the columns; numpy gives members that are not arrays as bytes. */
static const char text_name[] = "columns.json";

static const char *text_of(const struct export_source *source)
{
    const struct export_fact *fact = source->facts;
    while (fact->key != NULL && strcmp(fact->key, "columns") != 0) { fact++; }
    return fact->value;
}

static struct entry write_text(struct partial_file *file, const char *text)
{
    const uint64_t bytes = strlen(text);
    const struct entry entry = {
        .crc = checksum(crc32(0, NULL, 0), text, bytes), .bytes = bytes, .at = file->bytes};
    write_local(file, &entry, text_name);
    partial_file_write(file, text, bytes);
    return entry;
}

enum tn_status export_npz(const struct export_source *source, struct partial_file *file,
                          struct error *error)
{
    assert(source->count >= 1 && source->array != NULL);
    struct entry *entries = calloc(source->count, sizeof *entries);
    if (entries == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a directory"); }
    const void *values = NULL;
    enum tn_status status = TN_OK;
    for (size_t i = 0; i < source->count && status == TN_OK; i++) {
        const struct export_tensor *tensor = &source->tensors[i];
        if (i == 0 || tensor->array != tensor[-1].array) {
            status = source->array(source->ctx, tensor->array, &values, error);
        }
        if (status == TN_OK) { entries[i] = write_tensor(file, tensor, values); }
    }
    struct entry text_entry = {0};
    const char *text = text_of(source);
    if (status == TN_OK && text != NULL) { text_entry = write_text(file, text); }
    const uint64_t central = file->bytes;
    for (size_t i = 0; i < source->count && status == TN_OK; i++) {
        char name[EXPORT_NAME_MAX + 8];
        name_of(&source->tensors[i], name);
        write_central(file, &entries[i], name);
    }
    if (status == TN_OK && text != NULL) { write_central(file, &text_entry, text_name); }
    if (status == TN_OK) { write_end(file, central, source->count + (text != NULL)); }
    free(entries);
    return status;
}
