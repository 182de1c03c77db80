#include "cli/run/training_parts.h"

#include "kernels/job_kernels.h"

static void identify_inputs(struct training_parts *parts)
{
    const struct digest data = dataset_digest(parts->train, parts->evaluated);
    parts->kernels->fingerprint(parts->inputs.fingerprint, sizeof parts->inputs.fingerprint);
    parts->inputs.data[0] = data.low;
    parts->inputs.data[1] = data.high;
}

enum tn_status training_parts_open(struct training_parts *parts, const struct job *job,
                                   struct error *error)
{
    *parts = (struct training_parts){.programs = job_programs(job)};
    enum tn_status status = kernels_open(job_kernels(job), &parts->kernels, error);
    if (status == TN_OK) { status = model_open(job, &parts->model, error); }
    if (status == TN_OK) { status = dataset_open(job, DATASET_TRAIN, &parts->train, error); }
    if (status == TN_OK) {
        status = dataset_open_beside(job, dataset_evaluated_split(job), parts->train,
                                     &parts->evaluated, error);
    }
    if (status == TN_OK) { identify_inputs(parts); }
    return status;
}

void training_parts_close(struct training_parts *parts)
{
    dataset_close(parts->evaluated);
    dataset_close(parts->train);
    model_close(parts->model);
    *parts = (struct training_parts){0};
}
