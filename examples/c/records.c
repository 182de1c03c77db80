/*
 * A custom format: records of 3 little-endian floats, two inputs and the class 0 or 1.
 *
 *   cc -shared -fPIC records.c -o records.so $(pkg-config --cflags tanist)
 *
 * A job reads such files with
 *   "data": { "format": "library", "train": "train.bin", "test": "test.bin", "label": "class",
 *             "options": { "library": "records.so" } }
 */
#include <string.h>
#include <tanist/source.h>

enum { RECORD_BYTES = 3 * sizeof(float) };

static const struct tn_column columns[] = {
    {"x", TN_COLUMN_FLOATS, 1, {2}},
    {"class", TN_COLUMN_NUMBER, 0, {0}},
};

static enum tn_status open_records(const struct tn_file *file, struct tn_source_table *table,
                                   struct tn_error *error)
{
    if (file->size % RECORD_BYTES != 0) {
        strcpy(error->text, "the last record is cut off");
        return TN_EINVAL;
    }
    table->rows = file->size / RECORD_BYTES;
    table->column_count = 2;
    table->columns = columns;
    table->state = (void *)(uintptr_t)file->bytes; /* Mapped until it is closed. */
    return TN_OK;
}

static enum tn_status read_record(const struct tn_source_table *table, uint64_t number,
                                  struct tn_row *row, struct tn_error *error)
{
    float class;
    const uint8_t *record = (const uint8_t *)table->state + number * RECORD_BYTES;
    float *x = row->take(row, 2 * sizeof *x); /* The file need not be aligned for floats. */
    if (x == NULL) { return TN_ENOMEM; }
    memcpy(x, record, 2 * sizeof *x);
    memcpy(&class, record + 2 * sizeof *x, sizeof class);
    if (class != 0 && class != 1) {
        strcpy(error->text, "the class is neither 0 nor 1");
        return TN_EINVAL;
    }
    row->cells[0].data = x;
    row->cells[0].size = 2;
    row->cells[1].number = (double)class;
    return TN_OK;
}

TN_SOURCE("records", 1, open_records, read_record, NULL)
