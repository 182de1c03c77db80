#include "cli/model/prediction_rows.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "data/dataset.h"
#include "data/formats/npy.h"
#include "data/idx.h"
#include "data/source/file.h"
#include "data/source/number.h"

struct prediction_rows {
    const char *path; /* For errors. */
    uint32_t inputs;  /* Numbers of an example. */
    bool bytes;
    float *row;    /* One example. */
    uint64_t next; /* The number of examples read. */
    /* One of these. */
    FILE *text;
    struct npy npy; /* In `mapping`. */
    struct source_file mapping;
    struct dataset *dataset;
    /* Text. */
    char *line;
    size_t line_size;
    uint64_t line_number;
};

/* ------------------------------------------------------------------ opening */

static enum tn_status open_text(struct prediction_rows *rows, struct error *error)
{
    const bool is_stdin = strcmp(rows->path, "-") == 0;
    rows->text = is_stdin ? stdin : fopen(rows->path, "re");
    if (is_stdin) { rows->path = "stdin"; }
    return rows->text != NULL ? TN_OK : files_error(error, errno, "open", rows->path);
}

static enum tn_status open_npy(struct prediction_rows *rows, struct error *error)
{
    enum tn_status status = source_file_open(rows->path, &rows->mapping, error);
    if (status != TN_OK) { return status; }
    status = npy_parse(rows->mapping.bytes, rows->mapping.size, &rows->npy, error);
    if (status != TN_OK) {
        (void)error_context(error, "%s", rows->path);
        error->status = TN_EINVAL;
        return TN_EINVAL;
    }
    if (rows->npy.columns == rows->inputs) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s has %" PRIu64 " numbers in a row, but the model has %" PRIu32
                     " inputs: give an array of that width",
                     rows->path, rows->npy.columns, rows->inputs);
}

/* A folder as the job's data.path, of which the test set is used. */
static enum tn_status open_folder(struct prediction_rows *rows, const struct job *job,
                                  struct error *error)
{
    struct job *other = malloc(sizeof *other);
    if (other == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    *other = *job;
    enum tn_status status = TN_OK;
    if (snprintf(other->data.path, sizeof other->data.path, "%s", rows->path) >=
        (int)sizeof other->data.path) {
        status = error_set(error, TN_EINVAL, "--data: the path is longer than %d bytes",
                           JOB_PATH_MAX - 1);
    }
    if (status == TN_OK) { status = dataset_open(other, DATASET_TEST, &rows->dataset, error); }
    free(other);
    return status;
}

/* Images without labels. */
static enum tn_status open_images(struct prediction_rows *rows, struct error *error)
{
    struct idx images = {0};
    enum tn_status status = idx_read(rows->path, &images, error);
    if (status == TN_ECORRUPT) { status = error->status = TN_EINVAL; }
    if (status != TN_OK) { return status; }
    const size_t pixels = images.size / images.dimensions[0];
    rows->dataset = calloc(1, sizeof *rows->dataset);
    if (rows->dataset == NULL) {
        idx_free(&images);
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    rows->dataset->examples = images.dimensions[0];
    rows->dataset->inputs = rows->dataset->input_step = rows->inputs;
    rows->dataset->input_bytes = images.data;
    if (pixels == rows->inputs) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s: each image has %zu pixels, but the model has %" PRIu32
                     " inputs: give images of that size",
                     rows->path, pixels, rows->inputs);
}

/* Copy stdin to a file without a name, which can be read in any order. */
static enum tn_status copy_stdin(char path[static 64], int *file, struct error *error)
{
    char bytes[1 << 16];
    size_t count;
    *file = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file < 0) { return files_error(error, errno, "create a file in", "/var/tmp"); }
    snprintf(path, 64, "/proc/self/fd/%d", *file);
    while ((count = fread(bytes, 1, sizeof bytes, stdin)) > 0) {
        if (write(*file, bytes, count) != (ssize_t)count) {
            return files_error(error, errno, "write to a file in", "/var/tmp");
        }
    }
    return ferror(stdin) ? files_error(error, errno, "read", "stdin") : TN_OK;
}

/* Files in the format of the run. */
static enum tn_status open_columns(struct prediction_rows *rows, const struct job *job,
                                   const char *columns, struct error *error)
{
    int file = -1;
    char path[64];
    enum tn_status status = TN_OK;
    struct dataset_stored stored = {.columns = columns, .pattern = rows->path};
    if (strcmp(rows->path, "-") == 0) {
        status = copy_stdin(path, &file, error);
        stored.pattern = path;
    }
    if (status == TN_OK) { status = dataset_open_stored(job, &stored, &rows->dataset, error); }
    if (file >= 0) { (void)close(file); }
    return status;
}

static bool is_text(const char *path)
{
    return text_ends_with(path, ".csv") || text_ends_with(path, ".tsv") ||
           text_ends_with(path, ".txt");
}

static enum tn_status refuse_folder(const struct prediction_rows *rows, struct error *error)
{
    return error_set(
        error, TN_EINVAL,
        "--data %s is a folder, which only jobs with data.type \"idx\" have: give a file "
        "of lines of numbers (.csv, .tsv, .txt) or an array (.npy)",
        rows->path);
}

static enum tn_status open_path(struct prediction_rows *rows, const struct job *job,
                                struct error *error)
{
    struct stat info;
    const bool is_idx = strcmp(job->data.type, "idx") == 0;
    if (strcmp(rows->path, "-") == 0) { return open_text(rows, error); }
    if (stat(rows->path, &info) != 0) { return files_error(error, errno, "open", rows->path); }
    if (S_ISDIR(info.st_mode)) {
        return is_idx ? open_folder(rows, job, error) : refuse_folder(rows, error);
    }
    if (text_ends_with(rows->path, ".npy")) { return open_npy(rows, error); }
    if (is_idx && !is_text(rows->path)) { return open_images(rows, error); }
    return open_text(rows, error);
}

enum tn_status prediction_rows_open(const char *path, const struct job *job, const char *columns,
                                    bool bytes, struct prediction_rows **out, struct error *error)
{
    assert(path != NULL && job->model.inputs >= 1);
    struct prediction_rows *rows = calloc(1, sizeof *rows);
    *out = rows;
    if (rows == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    rows->path = path;
    rows->inputs = job->model.inputs;
    rows->bytes = bytes;
    rows->row = calloc(rows->inputs, sizeof *rows->row);
    enum tn_status status = rows->row == NULL ? error_set(error, TN_ENOMEM, "out of memory")
                            : columns != NULL ? open_columns(rows, job, columns, error)
                                              : open_path(rows, job, error);
    if (status == TN_OK) { return TN_OK; }
    prediction_rows_close(rows);
    *out = NULL;
    return status;
}

void prediction_rows_close(struct prediction_rows *rows)
{
    if (rows == NULL) { return; }
    if (rows->text != NULL && rows->text != stdin) { (void)fclose(rows->text); }
    source_file_close(&rows->mapping);
    dataset_close(rows->dataset);
    free(rows->row);
    free(rows->line);
    free(rows);
}

uint64_t prediction_rows_total(const struct prediction_rows *rows)
{
    assert(rows != NULL);
    if (rows->dataset != NULL) { return rows->dataset->examples; }
    return rows->npy.rows;
}

const struct dataset *prediction_rows_dataset(const struct prediction_rows *rows)
{
    assert(rows != NULL);
    return rows->dataset;
}

/* --------------------------------------------------------------------- text */

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* The end of the cell at `at`; sets `*value`, infinite if no float has it. NULL: it is a text. */
static char *parse_cell(char *at, float *value)
{
    char *end = at;
    const double number = strtod(at, &end);
    if (end == at) { return NULL; }
    *value = (float)number;
    end += strspn(end, " ");
    return strchr(",\t\r\n", *end) != NULL ? end : NULL; /* The zero at the end is a match, too. */
}

static enum tn_status refuse_cell(const struct prediction_rows *rows, const char *at,
                                  uint32_t column, const char *problem, struct error *error)
{
    return error_set(error, TN_EINVAL, "%s:%" PRIu64 ": column %" PRIu32 ": '%.*s' %s", rows->path,
                     rows->line_number, column + 1, (int)u64_min(strcspn(at, ",\t\r\n"), 60), at,
                     problem);
}

static bool is_end(char c)
{
    return c == '\0' || c == '\r' || c == '\n';
}

/* TN_ENOENT: the first line has no number in front: it is a header. */
static enum tn_status parse_line(const struct prediction_rows *rows, struct error *error)
{
    char *at = rows->line;
    uint32_t column = 0;
    float value = 0;
    if (rows->line_number == 1 && strncmp(at, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
        at += strlen(BYTE_ORDER_MARK);
    }
    for (;; column++) {
        char *end = parse_cell(at, &value);
        if (end == NULL && column == 0 && rows->line_number == 1) { return TN_ENOENT; }
        if (end == NULL || isnan(value)) {
            return refuse_cell(rows, at, column, "is not a number", error);
        }
        if (isinf(value)) { return refuse_cell(rows, at, column, NUMBER_OUT_OF_RANGE, error); }
        if (column < rows->inputs) { rows->row[column] = value; }
        at = end + 1;
        if (is_end(*end)) { break; }
    }
    if (column + 1 == rows->inputs) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s:%" PRIu64 ": %" PRIu32 " numbers, but the model has %" PRIu32 " inputs",
                     rows->path, rows->line_number, column + 1, rows->inputs);
}

/* `*count` is 0 at the end. */
static enum tn_status read_line(struct prediction_rows *rows, uint32_t *count, struct error *error)
{
    *count = 0;
    for (;;) {
        errno = 0;
        if (getline(&rows->line, &rows->line_size, rows->text) < 0) {
            if (feof(rows->text)) { return TN_OK; }
            return files_error(error, errno, "read", rows->path);
        }
        rows->line_number++;
        enum tn_status status = parse_line(rows, error);
        *count = status == TN_OK;
        if (status != TN_ENOENT) { return status; }
    }
}

/* -------------------------------------------------------------------- reading */

/* Copy the row to example `at` of the fields. */
static enum tn_status put_row(const struct prediction_rows *rows, const struct fields *into,
                              uint32_t at, struct error *error)
{
    const size_t first = (size_t)at * rows->inputs;
    if (!rows->bytes) {
        memcpy(into->inputs + first, rows->row, rows->inputs * sizeof *rows->row);
        return TN_OK;
    }
    for (uint32_t i = 0; i < rows->inputs; i++) {
        const float value = rows->row[i];
        if (!(value >= 0 && value <= UINT8_MAX && value == floorf(value))) {
            return error_set(error, TN_EINVAL,
                             "%s: example %" PRIu64 ": column %" PRIu32
                             ": %g is not a whole number from 0 to 255, as the model's ids are",
                             rows->path, rows->next + at + 1, i + 1, (double)value);
        }
        into->input_bytes[first + i] = (uint8_t)value;
    }
    return TN_OK;
}

static enum tn_status read_row(struct prediction_rows *rows, uint32_t at, uint32_t *count,
                               struct error *error)
{
    if (rows->text != NULL) { return read_line(rows, count, error); }
    *count = rows->next + at < rows->npy.rows;
    if (*count > 0) { npy_row(&rows->npy, rows->next + at, rows->row); }
    return TN_OK;
}

enum tn_status prediction_rows_read(struct prediction_rows *rows, uint32_t most,
                                    const struct fields *into, uint32_t *count, struct error *error)
{
    assert(rows != NULL && most >= 1);
    assert(rows->bytes ? into->input_bytes != NULL : into->inputs != NULL);
    enum tn_status status = TN_OK;
    *count = 0;
    if (rows->dataset != NULL) {
        *count = (uint32_t)u64_min(most, rows->dataset->examples - rows->next);
        status = dataset_gather_range(rows->dataset, rows->next, *count, into, error);
        if (status != TN_OK) { *count = 0; }
        rows->next += *count;
        return status;
    }
    while (*count < most) {
        uint32_t found = 0;
        status = read_row(rows, *count, &found, error);
        if (status == TN_OK && found > 0) { status = put_row(rows, into, *count, error); }
        if (status != TN_OK || found == 0) { break; }
        (*count)++;
    }
    rows->next += *count;
    return status;
}
