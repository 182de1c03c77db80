/* Examples of a data set as the fields of programs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/column_table.h"
#include "data/dataset.h"
#include "kernels/kernels.h"

static void copy_inputs(const struct dataset *dataset, size_t from, float *row)
{
    const size_t first = from * dataset->input_step, inputs = dataset->inputs;
    if (dataset->input_bytes != NULL) {
        kernels_cpu()->divide_bytes(inputs, dataset->input_bytes + first, row);
    } else {
        memcpy(row, dataset->input_floats + first, inputs * sizeof *row);
    }
}

static void copy_targets(const struct dataset *dataset, size_t from, float *row)
{
    if (dataset->targets_are_inputs) {
        copy_inputs(dataset, from, row);
        return;
    }
    assert(dataset->targets != NULL);
    memcpy(row, dataset->targets + from * dataset->outputs, dataset->outputs * sizeof *row);
}

static void copy_example(const struct dataset *dataset, size_t from, const struct fields *fields,
                         size_t to)
{
    const size_t labels = dataset->labels_each;
    if (fields->inputs != NULL) {
        copy_inputs(dataset, from, fields->inputs + to * dataset->inputs);
    }
    if (fields->input_bytes != NULL) {
        assert(dataset->input_bytes != NULL);
        memcpy(fields->input_bytes + to * dataset->inputs,
               dataset->input_bytes + from * dataset->input_step, dataset->inputs);
    }
    if (fields->labels != NULL) {
        assert(dataset->labels != NULL);
        memcpy(fields->labels + to * labels, dataset->labels + from * dataset->label_step, labels);
    }
    for (size_t l = 0; fields->wide_labels != NULL && l < labels; l++) {
        fields->wide_labels[to * labels + l] = dataset->labels[from * dataset->label_step + l];
    }
    if (fields->targets != NULL) {
        copy_targets(dataset, from, fields->targets + to * dataset->outputs);
    }
}

static enum tn_status copy_row(const struct dataset *dataset, uint64_t from,
                               const struct columns_draw *draw, const struct fields *fields,
                               size_t to, struct source_row *row, struct error *error)
{
    int32_t label = 0;
    const bool copied = dataset->targets_are_inputs && fields->targets != NULL;
    float *targets = fields->targets != NULL ? fields->targets + to * dataset->outputs : NULL;
    float *inputs = fields->inputs != NULL ? fields->inputs + to * dataset->inputs : NULL;
    if (copied && inputs == NULL) { inputs = targets; }
    int64_t *keys = fields->keys != NULL ? fields->keys + to * dataset->keys_each : NULL;
    const struct column_table_example example = {
        .draw = draw,
        .inputs = inputs,
        .keys = keys,
        .label = fields->labels != NULL || fields->wide_labels != NULL ? &label : NULL,
        .targets = copied ? NULL : targets,
    };
    assert(fields->input_bytes == NULL);
    enum tn_status status = column_table_read(dataset->table, from, row, &example, error);
    if (fields->labels != NULL) { fields->labels[to] = (uint8_t)label; }
    if (fields->wide_labels != NULL) { fields->wide_labels[to] = label; }
    if (status == TN_OK && copied && inputs != targets) {
        memcpy(targets, inputs, dataset->outputs * sizeof *targets);
    }
    return status;
}

/* The examples of a batch are anywhere in memory. Their labels or targets are few. Inline always:
 * GCC 12 drops calls of a function that only prefetches, as they have no effect. */
static inline __attribute__((always_inline)) void prefetch_example(const struct dataset *dataset,
                                                                   uint64_t example)
{
    enum { LINE_BYTES = 64 };
    const bool has_bytes = dataset->input_bytes != NULL;
    const size_t size = has_bytes ? 1 : sizeof(float);
    const uint8_t *array = has_bytes ? dataset->input_bytes : (uint8_t *)dataset->input_floats;
    const uint8_t *begin = array + example * dataset->input_step * size;
    const uint8_t *last = begin + dataset->inputs * size - 1;
    for (const uint8_t *at = begin; at < last; at += LINE_BYTES) { __builtin_prefetch(at); }
    __builtin_prefetch(last);
    if (dataset->labels != NULL) {
        __builtin_prefetch(dataset->labels + example * dataset->label_step);
    }
    if (dataset->targets != NULL) {
        __builtin_prefetch(dataset->targets + example * dataset->outputs);
    }
}

/* How many examples are prefetched while one is copied: as many as fit into the nearest cache
 * beside it. */
static uint32_t prefetch_distance(const struct dataset *dataset)
{
    enum { NEAR_BYTES = 32 * 1024 };
    if (dataset->table != NULL || dataset->inputs == 0) { return 0; }
    const size_t size = dataset->input_bytes != NULL ? 1 : sizeof(float);
    return (uint32_t)(NEAR_BYTES / (dataset->inputs * size));
}

/* The examples indices[0..count), or with NULL from `first` on. */
static enum tn_status gather(const struct dataset *dataset, const uint64_t *indices, uint64_t first,
                             uint32_t count, const struct dataset_pass *pass,
                             const struct fields *fields, struct error *error)
{
    struct source_row row = {0};
    enum tn_status status = TN_OK;
    const uint32_t ahead = indices != NULL ? u32_min(prefetch_distance(dataset), count) : 0;
    if (dataset->table != NULL) {
        status = source_row_open(&row, dataset->table->source.column_count, error);
    }
    for (uint32_t i = 0; i < ahead; i++) { prefetch_example(dataset, indices[i]); }
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        const uint64_t from = indices != NULL ? indices[i] : first + i;
        if (ahead > 0 && i < count - ahead) { prefetch_example(dataset, indices[i + ahead]); }
        struct columns_draw draw = {.example = from};
        assert(from < dataset->examples);
        if (pass != NULL) {
            draw.seed = pass->seed;
            draw.epoch = (pass->position + i) / dataset->examples;
        }
        if (dataset->table != NULL) {
            status = copy_row(dataset, from, pass != NULL ? &draw : NULL, fields, i, &row, error);
        } else {
            copy_example(dataset, from, fields, i);
        }
    }
    source_row_close(&row);
    return status;
}

enum tn_status dataset_gather(const struct dataset *dataset, const uint64_t *indices,
                              uint32_t count, const struct dataset_pass *pass,
                              const struct fields *fields, struct error *error)
{
    assert(indices != NULL);
    return gather(dataset, indices, 0, count, pass, fields, error);
}

void dataset_skip(const struct dataset *dataset, uint32_t count, struct fields *fields)
{
    const size_t inputs = (size_t)count * dataset->inputs;
    const size_t labels = (size_t)count * dataset->labels_each;
    if (fields->inputs != NULL) { fields->inputs += inputs; }
    if (fields->input_bytes != NULL) { fields->input_bytes += inputs; }
    if (fields->labels != NULL) { fields->labels += labels; }
    if (fields->wide_labels != NULL) { fields->wide_labels += labels; }
    if (fields->targets != NULL) { fields->targets += (size_t)count * dataset->outputs; }
    if (fields->keys != NULL) { fields->keys += (size_t)count * dataset->keys_each; }
}

enum tn_status dataset_gather_range(const struct dataset *dataset, uint64_t first, uint32_t count,
                                    const struct fields *fields, struct error *error)
{
    assert(first <= dataset->examples && count <= dataset->examples - first);
    return gather(dataset, NULL, first, count, NULL, fields, error);
}
