#include "kernels/sparse/job_update.h"

_Static_assert((int)TABLE_SGD == (int)SPARSE_SGD && (int)TABLE_MOMENTUM == (int)SPARSE_MOMENTUM &&
                   (int)TABLE_ADAGRAD == (int)SPARSE_ADAGRAD &&
                   (int)TABLE_ROW_ADAGRAD == (int)SPARSE_ROW_ADAGRAD &&
                   (int)TABLE_LAZY_ADAM == (int)SPARSE_LAZY_ADAM &&
                   (int)TABLE_FTRL == (int)SPARSE_FTRL &&
                   (int)TABLE_OPTIMIZERS == (int)SPARSE_KINDS,
               "the job names the optimizers of kernels/sparse/update.h");

/* The form of a dense optimizer for rows; TABLE_AUTO: it has none. */
static enum table_optimizer form_of(enum optimizer_kind kind)
{
    switch (kind) {
    case OPTIMIZER_SGD: return TABLE_SGD;
    case OPTIMIZER_MOMENTUM: return TABLE_MOMENTUM;
    case OPTIMIZER_ADAGRAD: return TABLE_ADAGRAD;
    case OPTIMIZER_ADAM: return TABLE_LAZY_ADAM;
    case OPTIMIZER_NESTEROV:
    case OPTIMIZER_RMSPROP:
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_LARS:
    case OPTIMIZER_LAMB:
    case OPTIMIZER_KINDS: break;
    }
    return TABLE_AUTO;
}

enum tn_status table_optimizer_of_job(const struct job *job, struct sparse_optimizer *out,
                                      struct error *error)
{
    enum table_optimizer kind = job->train.table_optimizer;
    if (kind == TABLE_AUTO) { kind = form_of(job->train.optimizer); }
    if (kind == TABLE_AUTO) {
        return error_set(error, TN_EINVAL,
                         "train.optimizer is \"%s\", which has no form for rows of tables: give "
                         "train.table_optimizer, as \"row_adagrad\" or \"lazy_adam\"",
                         optimizer_name(job->train.optimizer));
    }
    *out = (struct sparse_optimizer){
        .kind = (enum sparse_kind)kind,
        .momentum = job->train.momentum,
        .beta1 = job->train.beta1,
        .beta2 = job->train.beta2,
        .epsilon = job->train.epsilon,
        .l1 = job->train.ftrl_l1,
        .l2 = job->train.ftrl_l2,
        .beta = job->train.ftrl_beta,
        .clip_value = job->train.clip_value,
    };
    return TN_OK;
}
