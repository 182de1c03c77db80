#include "group/examples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/time_spent.h"
#include "data/shuffle.h"
#include "worker/compute.h"

enum tn_status group_examples_open(struct group_examples *examples, const struct job *job,
                                   const struct dataset *train, const struct dataset *test,
                                   struct error *error)
{
    *examples = (struct group_examples){.job = job, .train = train, .test = test};
    examples->indices = calloc(compute_slice_examples(job), sizeof *examples->indices);
    if (examples->indices != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for the numbers of examples");
}

void group_examples_close(struct group_examples *examples)
{
    free(examples->indices);
    *examples = (struct group_examples){.job = NULL};
}

static uint32_t elements_each(const struct tn_view *view, uint32_t count)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < view->shape.rank; d++) { elements *= (uint64_t)view->shape.dims[d]; }
    return (uint32_t)(elements / count);
}

enum tn_status group_examples_fields(const char *field, struct tn_view view, uint32_t count,
                                     struct fields *out, struct error *error)
{
    *out = (struct fields){.inputs = NULL};
    if (strcmp(field, "inputs") == 0 && view.type == TN_FLOAT32) {
        out->inputs = view.data;
    } else if (strcmp(field, "inputs") == 0 && view.type == TN_UINT8) {
        out->input_bytes = view.data;
    } else if (strcmp(field, "labels") == 0 && view.type == TN_UINT8) {
        out->labels = view.data;
    } else if (strcmp(field, "labels") == 0 && view.type == TN_INT32) {
        out->wide_labels = view.data;
    } else if (strcmp(field, "targets") == 0 && view.type == TN_FLOAT32) {
        out->targets = view.data;
    } else {
        return error_set(error, TN_EINVAL,
                         "model: field '%s' is unknown or has another type than the data: read "
                         "\"inputs\" as float32 or uint8, \"labels\" as uint8 or int32, or "
                         "\"targets\" as float32",
                         field);
    }
    if (strcmp(field, "labels") == 0) { out->labels_each = elements_each(&view, count); }
    return TN_OK;
}

enum tn_status group_examples_slice(const struct group_examples *examples,
                                    const struct schedule_label *label, const char *field,
                                    struct tn_view view, struct error *error)
{
    const struct job *job = examples->job;
    const struct slice_range range =
        slices_positions(job->train.slices, job->train.batch, label->slice);
    const struct shuffle_order order = {job->seed, examples->train->examples, job->data.shuffle};
    const struct dataset_pass pass = {job->seed, label->step * job->train.batch + range.first};
    const uint64_t begun_ns = clock_monotonic_ns();
    struct fields fields;
    enum tn_status status = group_examples_fields(field, view, range.count, &fields, error);
    if (status == TN_OK) { status = compute_check_fields(&fields, examples->train, error); }
    if (status != TN_OK) { return status; }
    shuffle_batch(&order, job->train.batch, label->step, range.first, range.count,
                  examples->indices);
    status = dataset_gather(examples->train, examples->indices, range.count, &pass, &fields, error);
    time_spent_add(TIME_READ, begun_ns);
    return status;
}

enum tn_status group_examples_test(const struct group_examples *examples, uint64_t first,
                                   uint32_t count, const char *field, struct tn_view view,
                                   struct error *error)
{
    struct fields fields;
    enum tn_status status = group_examples_fields(field, view, count, &fields, error);
    if (status != TN_OK) { return status; }
    return dataset_gather_range(examples->test, first, count, &fields, error);
}
