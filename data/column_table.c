#include "data/column_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "data/criteo.h"
#include "data/job_columns.h"
#include "data/open.h"
#include "data/source/index.h"

/* ------------------------------------------------------------------ opening */

static const char *pattern_of(const struct job *job, enum dataset_split split)
{
    const char *test = job->data.test, *validation = job->data.validation;
    if (split == DATASET_TEST && *test != '\0') { return test; }
    if (split == DATASET_VALIDATION && *validation != '\0') { return validation; }
    return job->data.train;
}

static const char *key_of(const struct job *job, enum dataset_split split)
{
    const char *pattern = pattern_of(job, split);
    if (pattern == job->data.test) { return "data.test"; }
    return pattern == job->data.validation ? "data.validation" : "data.train";
}

static bool is_computed(const struct job *job)
{
    assert(job_has_rows(job));
    return job->data.format[0] == '\0';
}

const char *column_table_label(const struct job *job)
{
    return *job->data.label == '\0' && is_computed(job) ? "\"click\"" : job->data.label;
}

static enum tn_status open_computed(const struct job *job, bool test, struct source *out,
                                    struct error *error)
{
    const struct criteo_config config = {
        .seed = job->seed,
        .rows = test ? job->data.test_examples : job->data.examples,
        .test = test,
        .options = job->data.options,
    };
    return criteo_open(&config, out, error);
}

enum tn_status column_table_open_source(const struct job *job, enum dataset_split split,
                                        struct source *out, struct error *error)
{
    if (is_computed(job)) { return open_computed(job, split != DATASET_TRAIN, out, error); }
    const struct source_config config = {
        .format = job->data.format,
        .pattern = pattern_of(job, split),
        .options = job->data.options,
    };
    enum tn_status status = source_open(&config, out, error);
    return status == TN_OK ? TN_OK : error_context(error, "%s", key_of(job, split));
}

/* The hashes of a split's rows: test rows come first, then those for validation. Files of their own
 * are whole. */
static enum tn_status open_split(const struct job *job, enum dataset_split split,
                                 struct column_table *table, struct error *error)
{
    const double test = *job->data.test != '\0' ? 0 : job->data.split_test;
    const double validation = *job->data.validation != '\0' ? 0 : job->data.split_validation;
    double low = 0, high = 1;
    if (split == DATASET_TRAIN && !is_computed(job)) { low = test + validation; }
    if (!is_computed(job) && split != DATASET_TRAIN && pattern_of(job, split) == job->data.train) {
        low = split == DATASET_TEST ? 0 : test;
        high = split == DATASET_TEST ? test : test + validation;
    }
    enum tn_status status =
        split_open(&table->split, table->source.count, job->seed, low, high, error);
    if (status != TN_OK || table->split.count > 0) { return status; }
    return error_set(error, TN_EINVAL,
                     "%s: no row belongs to the %s split: give %s, or a larger data.split.%s",
                     key_of(job, split), dataset_split_name(split),
                     split == DATASET_VALIDATION ? "data.validation" : "data.test",
                     split == DATASET_VALIDATION ? "validation" : "test");
}

static enum tn_status copy_columns(const struct columns *fitted, struct columns **out,
                                   struct error *error)
{
    char *text = columns_write(fitted);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory for columns"); }
    enum tn_status status = columns_read(text, out, error);
    free(text);
    return status;
}

static enum tn_status add_rows(struct column_table *table, struct error *error)
{
    struct source_row row;
    enum tn_status status = source_row_open(&row, table->source.column_count, error);
    for (uint64_t k = 0; k < table->split.count && status == TN_OK; k++) {
        const uint64_t i = split_row(&table->split, k);
        status = source_read(&table->source, i, &row, error);
        if (status == TN_OK) {
            status = columns_add(table->columns, &table->source, i, &row, error);
        }
    }
    source_row_close(&row);
    return status;
}

/* Take columns with statistics of the same rows from the index. */
static bool take_fitted(struct column_table *table, struct digest key)
{
    size_t size;
    struct error ignored;
    struct columns *fitted = NULL;
    char *text = index_load("columns", key, &size);
    const bool found = text != NULL && columns_read(text, &fitted, &ignored) == TN_OK &&
                       columns_bind(fitted, &table->source, true, &ignored) == TN_OK;
    free(text);
    struct columns *unused = found ? table->columns : fitted;
    if (found) { table->columns = fitted; }
    columns_close(unused);
    return found;
}

static enum tn_status fit(struct column_table *table, struct error *error)
{
    if (!columns_need_rows(table->columns)) {
        columns_finish(table->columns);
        return TN_OK;
    }
    const struct digest key = column_table_digest(table);
    if (take_fitted(table, key)) { return TN_OK; }
    log_info("computing the statistics of columns from %" PRIu64 " rows", table->split.count);
    enum tn_status status = add_rows(table, error);
    if (status != TN_OK) { return status; }
    columns_finish(table->columns);
    char *text = columns_write(table->columns);
    if (text != NULL) { index_store("columns", key, text, strlen(text)); }
    free(text);
    return TN_OK;
}

/* The columns of the training split, fitted. */
static enum tn_status fit_elsewhere(const struct job *job, struct columns **out,
                                    struct error *error)
{
    struct column_table *train;
    enum tn_status status = column_table_open(job, DATASET_TRAIN, NULL, &train, error);
    if (status == TN_OK) { status = copy_columns(train->columns, out, error); }
    column_table_close(train);
    return status;
}

static enum tn_status open_columns(const struct job *job, enum dataset_split split,
                                   const struct columns *fitted, struct column_table *table,
                                   struct error *error)
{
    enum tn_status status;
    if (fitted != NULL) {
        status = copy_columns(fitted, &table->columns, error);
    } else if (split != DATASET_TRAIN) {
        status = fit_elsewhere(job, &table->columns, error);
    } else {
        status = columns_open(job->data.columns, column_table_label(job), &table->columns, error);
    }
    if (status == TN_OK) { status = columns_bind(table->columns, &table->source, true, error); }
    if (status == TN_OK && split == DATASET_TRAIN && fitted == NULL) { status = fit(table, error); }
    return status;
}

/* ----------------------------------------------------------------- checking */

/* A class without an example is a slip, often the default of model.outputs. Labels that are numbers
 * of a table do not give the number of classes. */
static enum tn_status check_classes(const char *pattern, const struct column_table *table,
                                    struct error *error)
{
    const uint32_t named = columns_classes(table->columns), known = table->source.classes;
    if (named > 0 && table->classes == 0) {
        return error_set(error, TN_EINVAL,
                         "data.label has a vocabulary, but the model predicts numbers: remove it, "
                         "or use a model for classes");
    }
    if (named > 0 && named != table->classes) {
        return error_set(error, TN_EINVAL,
                         "the vocabulary of data.label has %" PRIu32
                         " classes, but the model has %" PRIu32 ": give model.outputs %" PRIu32,
                         named, table->classes, named);
    }
    if (named > 0 || known == 0 || table->classes == 0 || known == table->classes) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s has %" PRIu32
                     " classes, one for each subfolder, but the model has %" PRIu32
                     ": give model.outputs %" PRIu32 ", and the same subfolders to each split",
                     pattern, known, table->classes, known);
}

static enum tn_status check_model(const struct job *job, const char *pattern,
                                  const struct column_table *table, struct error *error)
{
    const struct columns *columns = table->columns;
    const bool inputs = job->model.targets == TARGETS_INPUTS;
    const uint32_t targets = columns_targets_count(columns);
    if (columns_inputs(columns) != job->model.inputs) {
        return error_set(error, TN_EINVAL,
                         "model.inputs is %" PRIu32 ", but the columns give %" PRIu32
                         " numbers: remove model.inputs, which is then computed",
                         job->model.inputs, columns_inputs(columns));
    }
    enum tn_status status = job_columns_check(job, columns, error);
    if (status != TN_OK) { return status; }
    if (!inputs && !columns_have_label(columns)) {
        return error_set(error, TN_EINVAL,
                         "data.label is empty: give the name of the column to be predicted");
    }
    status = check_classes(pattern, table, error);
    if (status != TN_OK) { return status; }
    const uint32_t wanted = table->classes > 0 ? 1 : job->model.outputs;
    if (inputs || targets == wanted) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "data.label gives %" PRIu32
                     " numbers for each row, but the model needs %" PRIu32
                     ": correct data.label or model.outputs",
                     targets, wanted);
}

/* Sums of squared deviations from the mean, one for each target, as Welford has them. */
struct spread {
    double mean, squares;
};

static void add_targets(struct spread *spreads, uint32_t count, uint64_t rows, const float *targets)
{
    for (uint32_t o = 0; o < count; o++) {
        const double deviation = (double)targets[o] - spreads[o].mean;
        spreads[o].mean += deviation / (double)rows;
        spreads[o].squares += deviation * ((double)targets[o] - spreads[o].mean);
    }
}

/* Read every row, and compute the spread of the targets. */
enum tn_status column_table_check(const struct job *job, struct column_table *table,
                                  struct error *error)
{
    int32_t label;
    const bool labels = table->classes > 0, inputs = job->model.targets == TARGETS_INPUTS;
    const uint32_t outputs = labels ? 1 : job->model.outputs;
    struct source_row row = {0};
    float *numbers = calloc(columns_inputs(table->columns), sizeof *numbers);
    float *targets = calloc(outputs, sizeof *targets);
    struct spread *spreads = calloc(outputs, sizeof *spreads);
    const struct column_table_example example = {
        .inputs = numbers,
        .label = labels && !inputs ? &label : NULL,
        .targets = labels || inputs ? NULL : targets,
    };
    enum tn_status status = numbers != NULL && targets != NULL && spreads != NULL
                                ? source_row_open(&row, table->source.column_count, error)
                                : error_set(error, TN_ENOMEM, "out of memory for a row");
    for (uint64_t k = 0; k < table->split.count && status == TN_OK; k++) {
        status = column_table_read(table, k, &row, &example, error);
        if (labels || status != TN_OK) { continue; }
        add_targets(spreads, outputs, k + 1, inputs ? numbers : targets);
    }
    table->spread = 0;
    for (uint32_t o = 0; o < outputs && spreads != NULL; o++) {
        table->spread += spreads[o].squares;
    }
    source_row_close(&row);
    free(numbers);
    free(targets);
    free(spreads);
    return status;
}

/* Covers all that a check of the rows depends on. */
static struct digest key_of_check(const struct job *job, const struct column_table *table)
{
    struct digest_stream stream;
    const struct digest rows = column_table_digest(table);
    const uint32_t model[] = {table->classes, job->model.outputs, (uint32_t)job->model.targets};
    digest_begin(&stream);
    digest_add(&stream, &rows, sizeof rows);
    digest_add(&stream, model, sizeof model);
    return digest_end(&stream);
}

/* Once for all processes. */
static enum tn_status check_once(const struct job *job, struct column_table *table,
                                 struct error *error)
{
    size_t size = 0;
    const struct digest key = key_of_check(job, table);
    char *payload = index_load("checked", key, &size);
    const bool found = payload != NULL && size == sizeof table->spread;
    if (found) { memcpy(&table->spread, payload, sizeof table->spread); }
    free(payload);
    if (found) { return TN_OK; }
    log_info("checking %" PRIu64 " rows for evaluations", table->split.count);
    enum tn_status status = column_table_check(job, table, error);
    if (status == TN_OK) { index_store("checked", key, &table->spread, sizeof table->spread); }
    return status;
}

enum tn_status column_table_open(const struct job *job, enum dataset_split split,
                                 const struct columns *fitted, struct column_table **out,
                                 struct error *error)
{
    *out = NULL;
    struct column_table *table = calloc(1, sizeof *table);
    if (table == NULL) { return error_set(error, TN_ENOMEM, "out of memory for data"); }
    table->classes = job_classes(job);
    enum tn_status status = column_table_open_source(job, split, &table->source, error);
    if (status == TN_OK) { status = open_split(job, split, table, error); }
    if (status == TN_OK) { status = open_columns(job, split, fitted, table, error); }
    if (status == TN_OK) { status = check_model(job, pattern_of(job, split), table, error); }
    if (status == TN_OK && split != DATASET_TRAIN) { status = check_once(job, table, error); }
    if (status == TN_OK) {
        *out = table;
    } else {
        column_table_close(table);
    }
    return status;
}

/* Files for a run that computes its rows are texts with the same columns. */
static enum tn_status open_given(const struct job *job, const char *pattern, struct source *out,
                                 struct error *error)
{
    const bool computed = is_computed(job);
    const struct source_config config = {
        .format = computed ? "csv" : job->data.format,
        .pattern = pattern,
        .options = computed ? "" : job->data.options,
    };
    return source_open(&config, out, error);
}

static enum tn_status open_files(const struct job *job, const char *pattern,
                                 const struct columns *fitted, bool with_label,
                                 struct column_table *table, struct error *error)
{
    enum tn_status status = open_given(job, pattern, &table->source, error);
    if (status == TN_OK) {
        status = split_open(&table->split, table->source.count, job->seed, 0, 1, error);
    }
    if (status == TN_OK) { status = copy_columns(fitted, &table->columns, error); }
    if (status == TN_OK) {
        status = columns_bind(table->columns, &table->source, with_label, error);
    }
    if (status != TN_OK || !with_label) { return status; }
    status = check_model(job, pattern, table, error);
    return status == TN_OK ? column_table_check(job, table, error) : status;
}

enum tn_status column_table_open_files(const struct job *job, const char *pattern,
                                       const struct columns *fitted, bool with_label,
                                       struct column_table **out, struct error *error)
{
    assert(pattern != NULL && fitted != NULL);
    *out = NULL;
    struct column_table *table = calloc(1, sizeof *table);
    if (table == NULL) { return error_set(error, TN_ENOMEM, "out of memory for data"); }
    table->classes = job_classes(job);
    enum tn_status status = open_files(job, pattern, fitted, with_label, table, error);
    if (status == TN_OK) {
        *out = table;
    } else {
        column_table_close(table);
    }
    return status;
}

void column_table_close(struct column_table *table)
{
    if (table == NULL) { return; }
    split_close(&table->split);
    columns_close(table->columns);
    source_close(&table->source);
    free(table);
}

enum tn_status column_table_read(const struct column_table *table, uint64_t k,
                                 struct source_row *row, const struct column_table_example *example,
                                 struct error *error)
{
    const struct source *source = &table->source;
    const struct columns *columns = table->columns;
    const uint64_t i = split_row(&table->split, k);
    enum tn_status status = source_read(source, i, row, error);
    if (status == TN_OK && (example->inputs != NULL || example->keys != NULL)) {
        status = columns_apply(columns, source, i, row, example->draw, example->inputs,
                               example->keys, error);
    }
    if (status == TN_OK && example->label != NULL) {
        status = columns_label(columns, source, i, row, table->classes, example->label, error);
    }
    if (status == TN_OK && example->targets != NULL) {
        status = columns_targets(columns, source, i, row, example->targets, error);
    }
    return status;
}

struct digest column_table_digest(const struct column_table *table)
{
    struct digest_stream stream;
    const struct split *split = &table->split;
    const uint64_t numbers[] = {table->source.digest.low, table->source.digest.high, split->count,
                                split->seed};
    const float part[] = {split->low, split->high};
    char *columns = columns_write(table->columns);
    digest_begin(&stream);
    digest_add(&stream, numbers, sizeof numbers);
    digest_add(&stream, part, sizeof part);
    /* Without memory, the digest is that of no other node, which is refused. */
    if (columns != NULL) { digest_add(&stream, columns, strlen(columns)); }
    free(columns);
    return digest_end(&stream);
}
