#include "model/table_training.h"

#include <assert.h>
#include <inttypes.h>

#include "kernels/sparse/job_update.h"

enum tn_status table_training_check(const struct job *job, const char *table, struct error *error)
{
    struct sparse_optimizer ignored;
    assert(job != NULL && table != NULL);
    if (job->strategy.type == STRATEGY_TYPE_MIRROR) {
        return error_set(error, TN_EINVAL,
                         "strategy.type is \"mirror\", whose workers do not exchange rows of the "
                         "table '%s' yet: give strategy.type \"ps\" or \"local\"",
                         table);
    }
    if (job->cluster.evaluators > 0) {
        return error_set(error, TN_EINVAL,
                         "cluster.evaluators is %" PRIu32
                         ", but an evaluator does not read the rows of the table '%s' yet: remove "
                         "it; a worker evaluates then",
                         job->cluster.evaluators, table);
    }
    if (job->train.gpus > 1) {
        return error_set(error, TN_EINVAL,
                         "train.gpus is %" PRIu32
                         ", but the rows of the table '%s' are read for one GPU only: give --set "
                         "train.gpus=1",
                         job->train.gpus, table);
    }
    if (job->train.clip_norm > 0) {
        return error_set(error, TN_EINVAL,
                         "train.clip_norm is %g, which is not defined with the table '%s': remove "
                         "it, or give train.clip_value",
                         job->train.clip_norm, table);
    }
    if (job->train.ema > 0) {
        return error_set(error, TN_EINVAL,
                         "train.ema is %g, but rows of the table '%s' have no moving average: "
                         "remove it",
                         job->train.ema, table);
    }
    if (job->model.warm_start[0] != '\0') {
        return error_set(error, TN_EINVAL,
                         "model.warm_start is '%s', but it cannot give the rows of the table '%s': "
                         "remove it",
                         job->model.warm_start, table);
    }
    if (job->train.weight_decay > 0 && job->train.table_optimizer == TABLE_AUTO) {
        return error_set(
            error, TN_EINVAL,
            "train.weight_decay is %g, but rows of the table '%s' have none: remove it, "
            "or give train.table_optimizer to train them without",
            job->train.weight_decay, table);
    }
    return table_optimizer_of_job(job, &ignored, error);
}
