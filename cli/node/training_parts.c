#include "cli/node/training_parts.h"

#include <stdio.h>
#include <string.h>

#include "kernels/gpu/cublas_identity.h"
#include "kernels/job_kernels.h"

static void identify_inputs(struct training_parts *parts)
{
    const struct digest data = dataset_digest(parts->train, parts->evaluated);
    parts->inputs.data[0] = data.low;
    parts->inputs.data[1] = data.high;
}

/* With "cublas", the fingerprint also names the library, the type of the GPUs and the precision,
 * unless it is float32. */
static enum tn_status identify_kernels(struct training_parts *parts, const struct job *job,
                                       uint32_t worker, struct error *error)
{
    char *text = parts->inputs.fingerprint, gpus[FINGERPRINT_MAX];
    parts->kernels->fingerprint(text, sizeof parts->inputs.fingerprint);
    if (job->train.kernels != JOB_KERNELS_CUBLAS) { return TN_OK; }
    const enum tn_status status =
        cublas_identity(worker * job->train.gpus, job->train.gpus, gpus, sizeof gpus, error);
    const size_t length = strlen(text);
    const bool is_float = job->train.precision == JOB_PRECISION_FLOAT32;
    (void)snprintf(text + length, sizeof parts->inputs.fingerprint - length, "; %s%s%s", gpus,
                   is_float ? "" : ", ", is_float ? "" : precision_name(job->train.precision));
    return status;
}

enum tn_status training_parts_open(struct training_parts *parts, const struct job *job,
                                   uint32_t worker, struct error *error)
{
    *parts = (struct training_parts){.programs = job_programs(job)};
    enum tn_status status = kernels_open(job_kernels(job), &parts->kernels, error);
    if (status == TN_OK) { status = identify_kernels(parts, job, worker, error); }
    if (status == TN_OK) { status = model_open(job, &parts->model, error); }
    if (status == TN_OK) { status = dataset_open(job, DATASET_TRAIN, &parts->train, error); }
    if (status == TN_OK) {
        status = dataset_open_beside(job, dataset_evaluated_split(job), parts->train,
                                     &parts->evaluated, error);
    }
    if (status == TN_OK) { identify_inputs(parts); }
    return status;
}

struct worker_config training_parts_config(const struct training_parts *parts,
                                           const struct node_setup *setup,
                                           const struct node_ports *ports)
{
    return (struct worker_config){
        .identity = setup->identity,
        .ports = ports,
        .job = &setup->job,
        .model = parts->model,
        .programs = parts->programs,
        .kernels = parts->kernels,
        .train = parts->train,
        .test = parts->evaluated,
        .inputs = parts->inputs,
        .details = setup->session_file != NULL ? setup->dir : NULL,
    };
}

void training_parts_close(struct training_parts *parts)
{
    dataset_close(parts->evaluated);
    dataset_close(parts->train);
    model_close(parts->model);
    *parts = (struct training_parts){0};
}
