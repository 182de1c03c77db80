/* The results of evaluations: see summaries.h. */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/summaries.h"

/* The numbers of fields and values in TensorFlow's summary.proto and tensor.proto. */
enum { VALUE_TAG = 1, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1 };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRINGS = 8, TYPE_STRING = 7 };
enum { HISTOGRAM_MIN = 1, HISTOGRAM_LIMITS = 6, HISTOGRAM_COUNTS = 7 };

/* Packed doubles. */
static void put_numbers(struct proto *out, uint32_t field, const json_t *list)
{
    size_t index;
    json_t *number;
    const size_t count = json_array_size(list);
    uint8_t *bytes = malloc(8 * count + 1);
    if (bytes == NULL) {
        out->failed = true;
        return;
    }
    json_array_foreach((json_t *)(uintptr_t)list, index, number)
    {
        const double value = json_number_value(number);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        for (int b = 0; b < 8; b++) { bytes[8 * index + (size_t)b] = (uint8_t)(bits >> (8 * b)); }
    }
    proto_bytes(out, field, bytes, 8 * count);
    free(bytes);
}

static void write_histogram(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                            const json_t *histogram)
{
    static const char *const names[] = {"least", "most", "count", "sum", "squares"};
    struct proto entry = {0}, data = {0};
    const char *name = json_string_value(json_object_get(histogram, "name"));
    const json_t *limits = json_object_get(histogram, "limits");
    const json_t *counts = json_object_get(histogram, "counts");
    if (name == NULL || json_array_size(limits) == 0 ||
        json_array_size(limits) != json_array_size(counts)) {
        return;
    }
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        proto_double(&data, HISTOGRAM_MIN + i,
                     json_number_value(json_object_get(histogram, names[i])));
    }
    put_numbers(&data, HISTOGRAM_LIMITS, limits);
    put_numbers(&data, HISTOGRAM_COUNTS, counts);
    proto_text(&entry, VALUE_TAG, name);
    proto_message(&entry, VALUE_HISTOGRAM, &data);
    summaries_value(summaries, wall_ms, step, &entry);
}

static void write_text(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                       const char *tag, const char *text)
{
    struct proto entry = {0}, tensor = {0}, shape = {0}, metadata = {0}, plugin = {0};
    proto_text(&entry, VALUE_TAG, tag);
    proto_uint(&tensor, TENSOR_TYPE, TYPE_STRING);
    proto_message(&tensor, TENSOR_SHAPE, &shape);
    proto_text(&tensor, TENSOR_STRINGS, text);
    proto_message(&entry, VALUE_TENSOR, &tensor);
    proto_text(&plugin, PLUGIN_NAME, "text");
    proto_message(&metadata, METADATA_PLUGIN, &plugin);
    proto_message(&entry, VALUE_METADATA, &metadata);
    summaries_value(summaries, wall_ms, step, &entry);
}

/* ------------------------------------------------------------- confusion matrix */

/* Markdown, in which a name must not end its cell. */
static void print_name(FILE *out, const json_t *names, size_t class)
{
    const char *name = json_string_value(json_array_get(names, class));
    if (name == NULL) {
        fprintf(out, "%zu", class);
        return;
    }
    for (; *name != '\0'; name++) {
        const bool special = strchr("|\\`*_<>[]", *name) != NULL;
        if (special) { fputc('\\', out); }
        fputc((unsigned char)*name < ' ' ? ' ' : *name, out);
    }
}

static void print_matrix(FILE *out, const json_t *matrix, const json_t *names)
{
    const size_t classes = json_array_size(matrix);
    fputs("| label \\ predicted |", out);
    for (size_t c = 0; c < classes; c++) {
        fputc(' ', out);
        print_name(out, names, c);
        fputs(" |", out);
    }
    fputs("\n|---|", out);
    for (size_t c = 0; c < classes; c++) { fputs("---:|", out); }
    for (size_t label = 0; label < classes; label++) {
        fputs("\n| ", out);
        print_name(out, names, label);
        fputs(" |", out);
        for (size_t c = 0; c < classes; c++) {
            const json_t *cell = json_array_get(json_array_get(matrix, label), c);
            fprintf(out, " %" JSON_INTEGER_FORMAT " |", json_integer_value(cell));
        }
    }
    fputc('\n', out);
}

static void write_matrix(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                         const json_t *evaluation)
{
    char *text = NULL;
    size_t size = 0;
    const json_t *matrix = json_object_get(evaluation, "confusion");
    FILE *out = json_array_size(matrix) > 0 ? open_memstream(&text, &size) : NULL;
    if (out == NULL) { return; }
    print_matrix(out, matrix, json_object_get(evaluation, "names"));
    if (fclose(out) == 0) { write_text(summaries, wall_ms, step, "confusion_matrix", text); }
    free(text);
}

/* ------------------------------------------------------------------ everything */

void summaries_evaluation(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                          const json_t *evaluation)
{
    json_t *value;
    size_t index;
    if (summaries->fd <= 0) { return; }
    json_array_foreach(json_object_get(evaluation, "histograms"), index, value)
    {
        write_histogram(summaries, wall_ms, step, value);
    }
    write_matrix(summaries, wall_ms, step, evaluation);
}
