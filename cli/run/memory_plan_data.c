#include "cli/run/memory_plan_data.h"

#include "cli/run/validate.h"
#include "common/base/minmax.h"
#include "common/net/wire.h"
#include "data/dataset.h"
#include "model/training.h"
#include "worker/compute.h"
#include "worker/row_lookup.h"

static uint64_t bytes_of_data(const struct dataset *data)
{
    uint64_t each = 0;
    if (data->input_bytes != NULL) { each += data->input_step; }
    if (data->input_floats != NULL) { each += data->input_step * sizeof(float); }
    if (data->labels != NULL) { each += data->label_step; }
    if (data->targets != NULL) { each += data->outputs * sizeof(float); }
    return data->examples * each;
}

/* The memory of a lookup of the first `examples`, which is made, but asks no ps. */
static enum tn_status look_up(const struct job *job, const struct model *model,
                              const struct dataset *evaluated, uint32_t examples, uint64_t *bytes)
{
    struct error unused;
    struct training *training = NULL;
    struct row_lookup *lookup = NULL;
    uint64_t ps_set;
    const uint32_t chunk = compute_slice_examples(job);
    const struct row_lookup_config lookup_config = {.variables = &model->table,
                                                    .borders = &job->placement.rows,
                                                    .ps = job->cluster.ps,
                                                    .frame_bytes = WIRE_CHUNK_BYTES};
    enum tn_status status = row_lookup_open(&lookup_config, &lookup, &unused);
    if (status == TN_OK) {
        const struct training_config training_config = {
            .model = model,
            .kernels = "portable",
            .evaluation = {examples >= chunk ? chunk : 0, examples % chunk},
            .rows = row_lookup_source(lookup)};
        status = training_open(&training_config, &training, &unused);
    }
    if (status == TN_OK) {
        const struct fields fields =
            training_fields(training, TN_EVALUATE, (uint32_t)u64_min(examples, chunk));
        status = compute_check_fields(&fields, evaluated, &unused);
    }
    if (status == TN_OK) {
        row_lookup_begin(lookup, 0, 0);
        status = compute_list_examples(training, evaluated, examples, chunk,
                                       row_lookup_sink(lookup), &unused);
    }
    if (status == TN_OK) { status = row_lookup_settle(lookup, &ps_set, &unused); }
    if (status == TN_OK) { *bytes = row_lookup_bytes(lookup); }
    training_close(training);
    row_lookup_close(lookup);
    return status;
}

/* Without ps, or in one process, no worker asks for rows of the test set. */
static uint64_t bytes_of_rows(const struct job *job, const struct model *model,
                              const struct dataset *evaluated)
{
    uint64_t bytes = 0;
    const bool evaluates =
        job->cluster.ps > 0 && strategy_of_job(job)->on_cluster && strategy_members(job) == 1;
    if (model->table.row_table_count == 0 || !evaluates || evaluated->examples == 0) { return 0; }
    const uint32_t examples = (uint32_t)u64_min(evaluated->examples, PLANNED_EXAMPLES);
    if (look_up(job, model, evaluated, examples, &bytes) != TN_OK) { return 0; }
    return bytes * ((evaluated->examples + examples - 1) / examples);
}

enum tn_status memory_plan_data(const struct job *job, const struct model *model,
                                struct memory_plan *plan, struct error *error)
{
    struct dataset *train = NULL, *evaluated = NULL;
    struct error unused; /* `tanist data check` finds faults of data. */
    enum tn_status status = dataset_open(job, DATASET_TRAIN, &train, &unused);
    const enum tn_status batch = status == TN_OK ? validate_batch(job, train, error) : TN_OK;
    if (status == TN_OK && batch == TN_OK) {
        status = dataset_open_beside(job, dataset_evaluated_split(job), train, &evaluated, &unused);
    }
    plan->has_data = status == TN_OK && batch == TN_OK;
    const uint64_t data = plan->has_data ? bytes_of_data(train) + bytes_of_data(evaluated) : 0;
    const uint64_t rows = plan->has_data ? bytes_of_rows(job, model, evaluated) : 0;
    for (uint32_t m = 0; m < plan->members; m++) {
        plan->member[m].data = data;
        plan->member[m].rows = rows;
    }
    dataset_close(evaluated);
    dataset_close(train);
    return batch;
}
