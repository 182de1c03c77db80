#include "cli/run/validate.h"

#include <string.h>

#include "worker/dataset.h"
#include "worker/models/model.h"

static enum tn_status check_data(const struct job *job, enum dataset_split split,
                                 struct error *error)
{
    struct dataset *dataset = NULL;
    enum tn_status status = dataset_open(job, split, &dataset, error);
    if (status != TN_OK) { return status; }
    if (split == DATASET_TRAIN && dataset->examples < job->train.batch) {
        status = error_set(error, TN_EINVAL,
                           "train.batch is %u, but there are only %u training examples: lower it",
                           job->train.batch, dataset->examples);
    }
    dataset_close(dataset);
    return status;
}

enum tn_status validate_job(const struct job *job, struct variable_table *variables,
                            struct error *error)
{
    const struct model_config model = model_config_of_job(job);
    memset(variables, 0, sizeof *variables);
    enum tn_status status = job_check(job, error);
    if (status == TN_OK) { status = model_describe(&model, variables, error); }
    if (status == TN_OK) { status = variable_table_check_ps(variables, job->cluster.ps, error); }
    if (status == TN_OK) { status = check_data(job, DATASET_TEST, error); }
    if (status == TN_OK) { status = check_data(job, DATASET_TRAIN, error); }
    return status;
}
