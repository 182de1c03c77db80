#include "data/dataset.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/column_table.h"
#include "data/criteo.h"
#include "data/idx.h"
#include "data/matches.h"
#include "data/synthetic.h"
#include "data/text_windows.h"

static const char remedy[] = "install Debian's dataset-fashion-mnist, or set data.path to the "
                             "folder of the IDX files";

/* Read data.path/name.gz or, if it does not exist, data.path/name. */
static enum tn_status read_part(const struct job *job, const char *name, struct idx *out,
                                struct error *error)
{
    char path[JOB_PATH_MAX + 64];
    const char *const endings[] = {".gz", ""};
    enum tn_status status = TN_ENOENT;
    for (int i = 0; i < 2 && status == TN_ENOENT; i++) {
        if (snprintf(path, sizeof path, "%s/%s%s", job->data.path, name, endings[i]) < 0) {
            return error_set(error, TN_EINTERNAL, "data.path cannot be formatted");
        }
        status = idx_read(path, out, error);
    }
    if (status == TN_EIO && access(path, R_OK) != 0 && errno != EIO) {
        return error_set(error, TN_EINVAL, "data.path: cannot read %s: %s: %s", path,
                         strerror(errno), remedy);
    }
    if (status == TN_ENOENT) {
        return error_set(error, status, "data.path '%s' has no file %s or %s.gz: %s",
                         job->data.path, name, name, remedy);
    }
    return status;
}

static enum tn_status check_shapes(const char *name, const struct idx *images,
                                   const struct idx *labels, const struct dataset *dataset,
                                   struct error *error)
{
    assert(images->data != NULL && labels->data != NULL);
    if (images->rank < 2) {
        return error_set(error, TN_ECORRUPT, "%s-images: rank is 1: images have at least 2", name);
    }
    if (labels->rank != 1) {
        return error_set(error, TN_ECORRUPT, "%s-labels: rank is %u: labels have 1", name,
                         labels->rank);
    }
    if (images->dimensions[0] != labels->dimensions[0]) {
        return error_set(
            error, TN_ECORRUPT,
            "%s-images has %u images, but %s-labels has %u labels: use the files of one "
            "data set",
            name, images->dimensions[0], name, labels->dimensions[0]);
    }
    size_t pixels = images->size / images->dimensions[0];
    if (pixels != dataset->inputs) {
        return error_set(error, TN_EINVAL,
                         "model.inputs is %u, but each image of %s-images has %zu pixels: set "
                         "model.inputs to %zu",
                         dataset->inputs, name, pixels, pixels);
    }
    return TN_OK;
}

/* An autoencoder has no classes, and no use for labels. */
static enum tn_status check_labels(const char *name, const struct idx *labels, uint32_t classes,
                                   struct error *error)
{
    assert(labels->data != NULL);
    for (size_t i = 0; classes > 0 && i < labels->size; i++) {
        if (labels->data[i] >= classes) {
            return error_set(error, TN_EINVAL,
                             "%s-labels: label %zu is %u, but model.outputs is %u: set it to the "
                             "number of classes",
                             name, i, labels->data[i], classes);
        }
    }
    return TN_OK;
}

static enum tn_status open_idx(const struct job *job, enum dataset_split split,
                               struct dataset *dataset, struct error *error)
{
    static const struct {
        const char *name, *images, *labels;
    } files[] = {
        [DATASET_TRAIN] = {"train", "train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
        [DATASET_TEST] = {"t10k", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
    };
    const char *name = files[split].name;
    struct idx images = {0}, labels = {0};
    enum tn_status status = read_part(job, files[split].labels, &labels, error);
    if (status == TN_OK) { status = read_part(job, files[split].images, &images, error); }
    if (status == TN_OK) { status = check_shapes(name, &images, &labels, dataset, error); }
    if (status == TN_OK) { status = check_labels(name, &labels, job_classes(job), error); }
    if (status == TN_OK) {
        dataset->examples = images.dimensions[0];
        dataset->input_bytes = images.data; /* The data set owns the arrays now. */
        dataset->labels = labels.data;
        images.data = labels.data = NULL;
    }
    idx_free(&images);
    idx_free(&labels);
    if (status != TN_ECORRUPT) { return status; }
    /* Files that hold something else are a wrong data.path; no disk has failed. */
    if (error != NULL) { error->status = TN_EINVAL; }
    return TN_EINVAL;
}

static const struct data_type {
    const char *name;
    bool has_targets; /* Else it has labels. */
    enum tn_status (*open)(const struct job *job, enum dataset_split split, struct dataset *dataset,
                           struct error *error);
} types[] = {
    {"idx", false, open_idx},
    {"text", false, text_windows_fill},
    {"synthetic", true, synthetic_fill},
    {"matches", false, matches_fill},
};

static enum tn_status open_typed(const struct job *job, enum dataset_split split,
                                 struct dataset *dataset, struct error *error)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, job->data.type) != 0) { continue; }
        if (job_classes(job) > JOB_BYTE_CLASSES) {
            return error_set(error, TN_EINVAL,
                             "model.outputs is %" PRIu32 ", but data.type '%s' has at most %d "
                             "classes: lower it, or use data.format",
                             job->model.outputs, job->data.type, JOB_BYTE_CLASSES);
        }
        bool needs_targets = job_is_regression(job) && !dataset->targets_are_inputs;
        if (types[i].has_targets || !needs_targets) {
            return types[i].open(job, split, dataset, error);
        }
        return error_set(error, TN_EINVAL,
                         "data.type '%s' has labels, but a regression (model.type '%s') needs "
                         "targets: use data.type 'synthetic', or model.targets 'inputs'",
                         job->data.type, job->model.type);
    }
    return error_set(error, TN_EINVAL,
                     "unknown data.type '%s': one of idx, text, synthetic, matches, criteo-like",
                     job->data.type);
}

static void adopt_table(struct dataset *dataset)
{
    dataset->examples = dataset->table->split.count;
    dataset->keys_each = columns_keys(dataset->table->columns);
}

static enum tn_status open_table(const struct job *job, enum dataset_split split,
                                 const struct dataset *train, struct dataset *dataset,
                                 struct error *error)
{
    const struct columns *fitted = train != NULL ? train->table->columns : NULL;
    enum tn_status status = column_table_open(job, split, fitted, &dataset->table, error);
    if (status == TN_OK) { adopt_table(dataset); }
    return status;
}

static struct dataset *new_dataset(const struct job *job)
{
    struct dataset *dataset = calloc(1, sizeof *dataset);
    if (dataset == NULL) { return NULL; }
    *dataset = (struct dataset){
        .inputs = job->model.inputs,
        .outputs = job->model.outputs,
        .labels_each = 1,
        .input_step = job->model.inputs,
        .label_step = 1,
        .targets_are_inputs = job->model.targets == TARGETS_INPUTS,
    };
    return dataset;
}

static enum tn_status open_any(const struct job *job, enum dataset_split split,
                               const struct dataset *train, struct dataset **out,
                               struct error *error)
{
    assert(split == DATASET_TRAIN || split == DATASET_TEST || split == DATASET_VALIDATION);
    *out = NULL;
    struct dataset *dataset = new_dataset(job);
    if (dataset == NULL) { return error_set(error, TN_ENOMEM, "data: out of memory"); }
    enum tn_status status = job_has_rows(job) ? open_table(job, split, train, dataset, error)
                                              : open_typed(job, split, dataset, error);
    if (status == TN_OK) {
        *out = dataset;
    } else {
        dataset_close(dataset);
    }
    return status;
}

enum tn_status dataset_open(const struct job *job, enum dataset_split split, struct dataset **out,
                            struct error *error)
{
    return open_any(job, split, NULL, out, error);
}

enum tn_status dataset_open_beside(const struct job *job, enum dataset_split split,
                                   const struct dataset *train, struct dataset **out,
                                   struct error *error)
{
    assert(train != NULL);
    return open_any(job, split, train, out, error);
}

enum tn_status dataset_open_stored(const struct job *job, const struct dataset_stored *stored,
                                   struct dataset **out, struct error *error)
{
    assert(job_has_rows(job) && stored->columns != NULL);
    *out = NULL;
    struct columns *columns = NULL;
    struct dataset *dataset = new_dataset(job);
    if (dataset == NULL) { return error_set(error, TN_ENOMEM, "data: out of memory"); }
    enum tn_status status = columns_read(stored->columns, &columns, error);
    if (status == TN_OK && stored->pattern == NULL) {
        status = column_table_open(job, stored->split, columns, &dataset->table, error);
    } else if (status == TN_OK) {
        status = column_table_open_files(job, stored->pattern, columns, stored->with_label,
                                         &dataset->table, error);
    }
    columns_close(columns);
    if (status == TN_OK) {
        adopt_table(dataset);
        *out = dataset;
    } else {
        dataset_close(dataset);
    }
    return status;
}

bool dataset_has_validation(const struct job *job)
{
    return job->data.validation[0] != '\0' || job->data.split_validation > 0;
}

enum dataset_split dataset_evaluated_split(const struct job *job)
{
    return dataset_has_validation(job) ? DATASET_VALIDATION : DATASET_TEST;
}

const char *dataset_split_name(enum dataset_split split)
{
    static const char *const names[] = {"training", "test", "validation"};
    assert(split <= DATASET_VALIDATION);
    return names[split];
}

void dataset_close(struct dataset *dataset)
{
    if (dataset == NULL) { return; }
    column_table_close(dataset->table);
    free(dataset->input_bytes);
    free(dataset->input_floats);
    free(dataset->labels);
    free(dataset->targets);
    free(dataset);
}

static void add_array(struct digest_stream *stream, const void *array, size_t bytes)
{
    const uint64_t size = array != NULL ? bytes : 0;
    digest_add(stream, &size, sizeof size);
    if (array != NULL) { digest_add(stream, array, bytes); }
}

static void add_split(struct digest_stream *stream, const struct dataset *data)
{
    if (data->table != NULL) {
        const struct digest digest = column_table_digest(data->table);
        digest_add(stream, &digest, sizeof digest);
        return;
    }
    const uint32_t shape[] = {(uint32_t)data->examples, data->inputs, data->outputs};
    const size_t last = (size_t)data->examples - 1;
    const size_t inputs = last * data->input_step + data->inputs;
    digest_add(stream, shape, sizeof shape);
    add_array(stream, data->input_bytes, inputs);
    add_array(stream, data->input_floats, inputs * sizeof(float));
    add_array(stream, data->labels, last * data->label_step + data->labels_each);
    add_array(stream, data->targets, (size_t)data->examples * data->outputs * sizeof(float));
}

struct digest dataset_digest(const struct dataset *train, const struct dataset *evaluated)
{
    struct digest_stream stream;
    assert(train != NULL && evaluated != NULL);
    digest_begin(&stream);
    add_split(&stream, train);
    add_split(&stream, evaluated);
    return digest_end(&stream);
}

enum tn_status dataset_columns(const struct dataset *dataset, char **out, struct error *error)
{
    *out = NULL;
    if (dataset->table == NULL) { return TN_OK; }
    *out = columns_write(dataset->table->columns);
    return *out != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory for columns");
}

/* --------------------------------------------------------------- questions */

static double target_of(const struct dataset *dataset, uint64_t example, uint32_t output)
{
    if (!dataset->targets_are_inputs) {
        return (double)dataset->targets[example * dataset->outputs + output];
    }
    const size_t at = (size_t)example * dataset->input_step + output;
    if (dataset->input_floats != NULL) { return (double)dataset->input_floats[at]; }
    return (double)((float)dataset->input_bytes[at] / 255.0F);
}

double dataset_spread(const struct dataset *dataset)
{
    double spread = 0;
    if (!dataset_has_targets(dataset)) { return 0; }
    if (dataset->table != NULL) { return dataset->table->spread; }
    for (uint32_t c = 0; c < dataset->outputs; c++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < dataset->examples; i++) { sum += target_of(dataset, i, c); }
        const double mean = sum / (double)dataset->examples;
        for (uint64_t i = 0; i < dataset->examples; i++) {
            const double deviation = target_of(dataset, i, c) - mean;
            squares += deviation * deviation;
        }
        spread += squares;
    }
    return spread;
}
