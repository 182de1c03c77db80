/* Rows of tables: those that slices and the test set read, and their gradients. */
#include <assert.h>

#include "common/base/minmax.h"
#include "common/cluster/slices.h"
#include "worker/compute.h"
#include "worker/compute_team.h"

const struct row_sums *compute_node_rows(const struct compute *compute)
{
    assert(compute->config.rows != NULL && compute->rows[0].tables != NULL);
    return &compute->rows[0];
}

void compute_take_node_rows(struct compute *compute, struct row_sums *out)
{
    const struct row_sums rows = *compute_node_rows(compute);
    compute->rows[0] = *out;
    *out = rows;
}

/* The keys of a slice, in the fields of its program; none if it has no examples, or keys. */
static enum tn_status read_keys(struct compute *compute, uint64_t step, uint32_t slice,
                                uint32_t *examples, struct error *error)
{
    const struct job *job = compute->config.job;
    const uint32_t count = slices_positions(job->train.slices, job->train.batch, slice).count;
    *examples = 0;
    if (count == 0) { return TN_OK; }
    const struct fields fields = training_fields(compute->training, TN_TRAIN, count);
    if (fields.keys == NULL) { return TN_OK; }
    *examples = count;
    return read_ahead_keys(compute->reader, step, slice, &fields, error);
}

void compute_read_keys(struct compute *compute, uint64_t step, uint32_t slice)
{
    uint32_t ignored;
    struct error again;
    (void)!read_keys(compute, step, slice, &ignored, &again);
}

static enum tn_status list_slice(struct compute *compute, uint64_t step, uint32_t slice,
                                 const struct row_sink *sink, struct error *error)
{
    uint32_t examples;
    enum tn_status status = read_keys(compute, step, slice, &examples, error);
    if (status != TN_OK || examples == 0) { return status; }
    return training_list_rows(compute->training, TN_TRAIN, examples, sink, error);
}

enum tn_status compute_list_slices(struct compute *compute, uint64_t step,
                                   const struct slice_set *slices, const struct row_sink *sink,
                                   struct error *error)
{
    enum tn_status status = TN_OK;
    if (compute->team != NULL && !compute->alone) {
        compute_team_read(compute->team, step, slices);
    }
    for (uint32_t v = 0; v < compute->config.job->train.slices && status == TN_OK; v++) {
        if (!slice_set_has_all(slices, (struct slice_node){v, 1})) { continue; }
        status = list_slice(compute, step, v, sink, error);
    }
    return status;
}

enum tn_status compute_list_examples(struct training *training, const struct dataset *test,
                                     uint64_t examples, uint32_t chunk, const struct row_sink *sink,
                                     struct error *error)
{
    enum tn_status status = TN_OK;
    assert(chunk >= 1 && examples <= test->examples);
    for (uint64_t first = 0; first < examples && status == TN_OK;) {
        const uint32_t count = (uint32_t)u64_min(examples - first, chunk);
        const struct fields all = training_fields(training, TN_EVALUATE, count);
        const struct fields fields = {.keys = all.keys, .keys_each = all.keys_each};
        if (fields.keys == NULL) { return TN_OK; }
        status = dataset_gather_range(test, first, count, &fields, error);
        if (status != TN_OK) { break; }
        status = training_list_rows(training, TN_EVALUATE, count, sink, error);
        first += count;
    }
    return status;
}

enum tn_status compute_list_test(struct compute *compute, const struct row_sink *sink,
                                 struct error *error)
{
    const struct dataset *test = compute->config.test;
    if (test == NULL) { return TN_OK; }
    return compute_list_examples(compute->training, test, test->examples, compute->slice_examples,
                                 sink, error);
}
