#include "cli/model/prediction_writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/files.h"
#include "data/dataset.h"
#include "model/metrics/classes.h"

enum { NPY_HEADER = 128 };

/* ----------------------------------------------------------------- one row */

static bool has_names(const struct prediction_writer *writer)
{
    return writer->shape.classes && writer->names != NULL &&
           dataset_class_name(writer->names, 0) != NULL;
}

static void write_csv_header(const struct prediction_writer *writer)
{
    const struct predictor_shape *shape = &writer->shape;
    if (shape->classes) { fputs("class,", writer->out); }
    for (uint32_t i = 0; i < shape->width; i++) {
        fprintf(writer->out, "%s%s_%" PRIu32, i > 0 ? "," : "",
                shape->classes ? "probability" : "output", i);
    }
    if (has_names(writer)) { fputs(",class_name", writer->out); }
    fputc('\n', writer->out);
}

/* Nine digits give the same float again. JSON has no infinities and NaNs: they are null. */
static void write_list(const struct prediction_writer *writer, const float *row)
{
    for (uint32_t i = 0; i < writer->shape.width; i++) {
        if (i > 0) { fputc(',', writer->out); }
        if (isfinite(row[i]) || writer->format != PREDICTION_JSON) {
            fprintf(writer->out, "%.9g", (double)row[i]);
        } else {
            fputs("null", writer->out);
        }
    }
}

/* The name as a value of CSV: RFC 4180. */
static void write_csv_name(FILE *out, const char *name)
{
    if (strpbrk(name, ",\"\r\n") == NULL) {
        fputs(name, out);
        return;
    }
    fputc('"', out);
    for (; *name != '\0'; name++) {
        if (*name == '"') { fputc('"', out); }
        fputc(*name, out);
    }
    fputc('"', out);
}

static void write_json_name(FILE *out, const char *name)
{
    json_t *text = json_string(name);
    fputs(",\"class_name\":", out);
    if (text == NULL || json_dumpf(text, out, JSON_ENCODE_ANY) != 0) { fputs("null", out); }
    json_decref(text);
}

static void write_csv(const struct prediction_writer *writer, const float *row)
{
    const uint32_t class = class_of_scores(row, writer->shape.width);
    if (writer->shape.classes) { fprintf(writer->out, "%" PRIu32 ",", class); }
    write_list(writer, row);
    if (has_names(writer)) {
        const char *name = dataset_class_name(writer->names, class);
        fputc(',', writer->out);
        if (name != NULL) { write_csv_name(writer->out, name); }
    }
    fputc('\n', writer->out);
}

static void write_json(const struct prediction_writer *writer, const float *row)
{
    if (writer->shape.classes) {
        const uint32_t class = class_of_scores(row, writer->shape.width);
        fprintf(writer->out, "{\"class\":%" PRIu32, class);
        const char *name = has_names(writer) ? dataset_class_name(writer->names, class) : NULL;
        if (name != NULL) { write_json_name(writer->out, name); }
        fputs(",\"probabilities\":[", writer->out);
    } else {
        fputs("{\"outputs\":[", writer->out);
    }
    write_list(writer, row);
    fputs("]}\n", writer->out);
}

/* ------------------------------------------------------------------- arrays */

/* float32 [examples][width], or [examples][rows][width]. */
static void write_npy_header(const struct prediction_writer *writer)
{
    const struct predictor_shape *shape = &writer->shape;
    /* Version 1.0, and the size of the text. */
    static const uint8_t begin[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, NPY_HEADER - 10, 0};
    char header[NPY_HEADER], rows[24] = "";
    memset(header, ' ', sizeof header);
    memcpy(header, begin, sizeof begin);
    if (shape->rows > 1) { snprintf(rows, sizeof rows, "%" PRIu32 ", ", shape->rows); }
    const int length = snprintf(header + 10, sizeof header - 10,
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64
                                ", %s%" PRIu32 "), }",
                                writer->examples, rows, shape->width);
    assert(length > 0 && length < NPY_HEADER - 11);
    header[10 + length] = ' ';
    header[NPY_HEADER - 1] = '\n';
    (void)!fwrite(header, 1, sizeof header, writer->out);
}

static enum tn_status begin_npy(struct prediction_writer *writer, struct error *error)
{
    writer->start = ftell(writer->out);
    if (writer->start < 0) {
        return error_set(error, TN_EINVAL,
                         "stdout is not a file, but the header of an array has the number of rows: "
                         "give --to FILE");
    }
    write_npy_header(writer);
    return TN_OK;
}

static enum tn_status end_npy(const struct prediction_writer *writer, struct error *error)
{
    if (fseek(writer->out, writer->start, SEEK_SET) != 0) {
        return files_error(error, errno, "seek in", writer->name);
    }
    write_npy_header(writer);
    if (fseek(writer->out, 0, SEEK_END) != 0) {
        return files_error(error, errno, "seek in", writer->name);
    }
    return TN_OK;
}

/* ------------------------------------------------------------------- the file */

enum tn_status prediction_writer_open(struct prediction_writer *writer,
                                      enum prediction_format format, struct predictor_shape shape,
                                      const struct dataset *names, const char *path,
                                      struct error *error)
{
    enum tn_status status = TN_OK;
    *writer = (struct prediction_writer){
        .format = format, .shape = shape, .names = names, .out = stdout, .name = "stdout"};
    if (path != NULL) {
        status = partial_file_open(&writer->file, path, error);
        writer->out = writer->file.file;
        writer->name = path;
    }
    if (status != TN_OK) { return status; }
    if (format == PREDICTION_NPY) { return begin_npy(writer, error); }
    if (format == PREDICTION_CSV) { write_csv_header(writer); }
    return TN_OK;
}

enum tn_status prediction_writer_add(struct prediction_writer *writer, const float *scores,
                                     uint32_t count, struct error *error)
{
    const size_t rows = (size_t)count * writer->shape.rows, width = writer->shape.width;
    assert(writer->out != NULL && scores != NULL);
    if (writer->format == PREDICTION_NPY) {
        (void)!fwrite(scores, sizeof *scores, rows * width, writer->out);
    }
    for (size_t row = 0; row < rows && writer->format != PREDICTION_NPY; row++) {
        if (writer->format == PREDICTION_CSV) {
            write_csv(writer, scores + row * width);
        } else {
            write_json(writer, scores + row * width);
        }
    }
    writer->examples += count;
    if (fflush(writer->out) == 0 && !ferror(writer->out)) { return TN_OK; }
    return files_error(error, errno != 0 ? errno : EIO, "write", writer->name);
}

enum tn_status prediction_writer_close(struct prediction_writer *writer, enum tn_status status,
                                       struct error *error)
{
    if (status == TN_OK && writer->format == PREDICTION_NPY) { status = end_npy(writer, error); }
    if (status == TN_OK && writer->out == stdout && fflush(stdout) != 0) {
        status = files_error(error, errno, "write", writer->name);
    }
    return partial_file_close(&writer->file, status, error);
}
