#include "cli/plan/memory_plan_data.h"

#include <assert.h>

#include "cli/plan/validate.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "model/distinct_keys.h"
#include "model/training.h"
#include "worker/compute.h"

enum {
    BLOCK = 256,
    READ_MS = 10000, /* Data that are slow to read, such as pictures beside keys. */
};

static uint64_t bytes_of(const struct dataset *data)
{
    uint64_t each = 0;
    if (data == NULL) { return 0; }
    if (data->input_bytes != NULL) { each += data->input_step; }
    if (data->input_floats != NULL) { each += data->input_step * sizeof(float); }
    if (data->labels != NULL) { each += data->label_step; }
    if (data->targets != NULL) { each += data->outputs * sizeof(float); }
    return data->examples * each;
}

/* ------------------------------------------------------------ different keys */

/* Programs are only asked which rows they read. */
static void read_nothing(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                         float *out)
{
    (void)ctx;
    (void)table;
    (void)keys;
    (void)count;
    (void)out;
    assert(false);
}

static const struct row_source no_rows = {.read = read_nothing};

/* The examples of a split whose keys are read. */
struct sample {
    const struct dataset *data;
    struct training *training;
    struct distinct_keys *keys;
    uint64_t examples, blocks;
};

static enum tn_status list_block(struct sample *sample, uint64_t block, struct error *error)
{
    const bool is_whole = sample->examples == sample->data->examples;
    const uint64_t first = is_whole ? block * BLOCK
                                    : (uint64_t)((double)block / (double)sample->blocks *
                                                 (double)(sample->data->examples - BLOCK));
    const uint32_t count = (uint32_t)u64_min(BLOCK, sample->data->examples - first);
    const struct fields all = training_fields(sample->training, TN_EVALUATE, count);
    const struct fields fields = {.keys = all.keys, .keys_each = all.keys_each};
    if (fields.keys == NULL) { return TN_OK; }
    enum tn_status status = dataset_gather_range(sample->data, first, count, &fields, error);
    if (status != TN_OK) { return status; }
    return training_list_rows(sample->training, TN_EVALUATE, count,
                              distinct_keys_sink(sample->keys), error);
}

/* Each fourth block, then those in the middle between them, then the others: each mark has seen
 * blocks from everywhere. */
static enum tn_status list_keys(struct sample *sample, uint32_t tables, struct key_growth *growths,
                                struct error *error)
{
    static const struct {
        uint64_t first, step;
    } marks[KEY_MARKS] = {{0, 4}, {2, 4}, {1, 2}};
    const uint64_t end_ms = clock_monotonic_ms() + READ_MS;
    for (uint32_t m = 0; m < KEY_MARKS; m++) {
        for (uint64_t b = marks[m].first; b < sample->blocks; b += marks[m].step) {
            if (clock_monotonic_ms() >= end_ms) {
                return error_set(error, TN_ETIMEDOUT, "the data are slow to read");
            }
            enum tn_status status = list_block(sample, b, error);
            if (status != TN_OK) { return status; }
        }
        for (uint32_t t = 0; t < tables; t++) {
            growths[t].examples = sample->examples;
            growths[t].distinct[m] = distinct_keys_count(sample->keys, t);
        }
    }
    return TN_OK;
}

static enum tn_status open_training(const struct model *model, struct sample *sample,
                                    struct error *error)
{
    const uint64_t examples = sample->data->examples;
    const struct training_config config = {
        .model = model,
        .kernels = "portable",
        .evaluation = {examples >= BLOCK ? BLOCK : 0, (uint32_t)(examples % BLOCK)},
        .rows = &no_rows};
    enum tn_status status = training_open(&config, &sample->training, error);
    if (status != TN_OK) { return status; }
    const struct fields fields =
        training_fields(sample->training, TN_EVALUATE, (uint32_t)u64_min(examples, BLOCK));
    return compute_check_fields(&fields, sample->data, error);
}

static void read_keys(const struct model *model, const struct dataset *data,
                      struct key_growth *growths)
{
    struct error unused;
    const uint32_t tables = model->table.row_table_count;
    struct sample sample = {.data = data, .examples = u64_min(data->examples, PLANNED_EXAMPLES)};
    if (sample.examples == 0) { return; }
    sample.blocks = (sample.examples + BLOCK - 1) / BLOCK;
    sample.keys = distinct_keys_open(tables);
    enum tn_status status = sample.keys != NULL ? TN_OK : TN_ENOMEM;
    if (status == TN_OK) { status = open_training(model, &sample, &unused); }
    if (status == TN_OK) { status = list_keys(&sample, tables, growths, &unused); }
    for (uint32_t t = 0; t < tables && status != TN_OK; t++) {
        growths[t] = (struct key_growth){.examples = 0};
    }
    training_close(sample.training);
    distinct_keys_close(sample.keys);
}

void memory_data_read(const struct model *model, const struct dataset *train,
                      const struct dataset *evaluated, struct memory_data *out)
{
    *out = (struct memory_data){
        .known = true,
        .bytes = bytes_of(train) + bytes_of(evaluated),
        .trained = train->examples,
        .evaluated = evaluated != NULL ? evaluated->examples : 0,
    };
    if (model->table.row_table_count == 0) { return; }
    read_keys(model, train, out->trained_keys);
    if (evaluated != NULL) { read_keys(model, evaluated, out->evaluated_keys); }
}

enum tn_status memory_data_open(const struct job *job, struct memory_data *out, struct error *error)
{
    struct dataset *train = NULL, *evaluated = NULL;
    struct model *model = NULL;
    struct error unused;
    *out = (struct memory_data){.known = false};
    enum tn_status status = model_open(job, &model, error);
    if (status != TN_OK) { return status; }
    enum tn_status opened = dataset_open(job, DATASET_TRAIN, &train, &unused);
    if (opened == TN_OK) { status = validate_batch(job, train, error); }
    if (opened == TN_OK && status == TN_OK) {
        opened = dataset_open_beside(job, dataset_evaluated_split(job), train, &evaluated, &unused);
    }
    if (opened == TN_OK && status == TN_OK) { memory_data_read(model, train, evaluated, out); }
    dataset_close(evaluated);
    dataset_close(train);
    model_close(model);
    return status;
}
