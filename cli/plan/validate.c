#include "cli/plan/validate.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/job/strategy.h"
#include "common/job/table_rules.h"
#include "common/job/variable_rules.h"
#include "data/dataset.h"
#include "data/job_columns.h"
#include "kernels/optimizer.h"
#include "model/model.h"
#include "model/training.h"
#include "worker/compute_gpus.h"

enum tn_status read_job_argument(struct job *job, const char *path, struct error *error)
{
    job_init(job);
    assert(path != NULL || job_has_program());
    return path != NULL ? job_read_file(job, path, error) : TN_OK;
}

void options_settings(struct options *options, struct option_texts *settings)
{
    options_texts(options, "set", settings, "KEY=VALUE",
                  "Override a key of the job file (see `tanist help job`).");
}

enum tn_status override_keys(struct job *job, const struct option_texts *settings,
                             struct error *error)
{
    assert(settings->count <= OPTION_TEXTS_MAX);
    for (size_t i = 0; i < settings->count; i++) {
        enum tn_status status = job_set(job, settings->items[i], error);
        if (status != TN_OK) { return error_context(error, "--set"); }
    }
    return TN_OK;
}

enum tn_status override_job(struct job *job, const struct option_texts *settings,
                            struct error *error)
{
    enum tn_status status = override_keys(job, settings, error);
    strategy_settle(job);
    return status == TN_OK ? job_columns_settle(job, error) : status;
}

enum tn_status load_job(struct job *job, const char *path, const struct option_texts *settings,
                        struct error *error)
{
    enum tn_status status = read_job_argument(job, path, error);
    if (status == TN_OK) { status = override_job(job, settings, error); }
    return status == TN_OK ? job_check(job, error) : status;
}

enum tn_status require_cluster(const struct job *job, struct error *error)
{
    if (strategy_of_job(job)->on_cluster) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "strategy.type is local: the job runs in one process, without nodes; use "
                     "`tanist run`, or give --set strategy.type=ps");
}

enum tn_status validate_batch(const struct job *job, const struct dataset *train,
                              struct error *error)
{
    if (train->examples >= job->train.batch) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.batch is %u, but there %s only %" PRIu64
                     " training example%s: lower it",
                     job->train.batch, train->examples == 1 ? "is" : "are", train->examples,
                     train->examples == 1 ? "" : "s");
}

/* The nodes may use other kernels, which this machine may lack; the fields are the same. */
static enum tn_status check_fields(const struct model *model, const struct dataset *train,
                                   struct error *error)
{
    struct training *training = NULL;
    const struct training_config config = {
        .model = model, .kernels = "portable", .evaluation = {1}};
    enum tn_status status = training_open(&config, &training, error);
    if (status == TN_OK) {
        const struct fields fields = training_fields(training, TN_EVALUATE, 1);
        status = compute_check_fields(&fields, train, error);
    }
    training_close(training);
    return status;
}

/* All splits use the statistics of the training set. */
static enum tn_status check_data(const struct job *job, char **columns, struct memory_data *memory,
                                 struct error *error)
{
    struct dataset *train = NULL, *test = NULL, *validation = NULL;
    struct model *model = NULL;
    enum tn_status status = dataset_open(job, DATASET_TRAIN, &train, error);
    if (status == TN_OK) { status = validate_batch(job, train, error); }
    if (status == TN_OK) { status = model_open(job, &model, error); }
    if (status == TN_OK) { status = check_fields(model, train, error); }
    if (status == TN_OK) { status = dataset_open_beside(job, DATASET_TEST, train, &test, error); }
    if (status == TN_OK && dataset_has_validation(job)) {
        status = dataset_open_beside(job, DATASET_VALIDATION, train, &validation, error);
    }
    if (status == TN_OK) { status = dataset_columns(train, columns, error); }
    if (status == TN_OK && memory != NULL) {
        memory_data_read(model, train, validation != NULL ? validation : test, memory);
    }
    model_close(model);
    dataset_close(validation);
    dataset_close(test);
    dataset_close(train);
    return status;
}

/* The sums of norms have leaves at fixed places of the flat vector. */
enum tn_status validate_placement(const struct job *job, const struct variable_table *variables,
                                  struct error *error)
{
    if (variables->shard_count == 0) { return TN_OK; }
    const struct optimizer optimizer = optimizer_of_job(job, variables);
    if (!optimizer_needs_norms(&optimizer)) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "placement.strategy is \"%s\", but train.clip_norm, and optimizers that adapt "
                     "to norms, need \"ranges\": give that, or remove them",
                     placement_strategy_name(job->placement.strategy));
}

/* The GPUs of a worker are those that its model names. */
static enum tn_status check_gpus(const struct job *job, struct error *error)
{
    struct model *model = NULL;
    struct gpu_placement placement;
    if (!job_has_gpus(job)) { return TN_OK; }
    enum tn_status status = model_open(job, &model, error);
    if (status == TN_OK) { status = compute_gpu_check(job, model->graph, &placement, error); }
    model_close(model);
    return status;
}

enum tn_status validate_model(const struct job *job, struct variable_table *variables,
                              struct error *error)
{
    memset(variables, 0, sizeof *variables);
    enum tn_status status = job_check(job, error);
    if (status == TN_OK) { status = model_describe(job, variables, error); }
    if (status == TN_OK) { status = check_gpus(job, error); }
    if (status == TN_OK) { status = variable_rules_check(job, variables, error); }
    if (status == TN_OK) { status = table_rules_check(job, variables, error); }
    if (status == TN_OK && strategy_of_job(job)->on_cluster) {
        status = variable_table_check_ps(variables, strategy_shards(job), error);
    }
    return status == TN_OK ? validate_placement(job, variables, error) : status;
}

enum tn_status validate_job(const struct job *job, struct variable_table *variables, char **columns,
                            struct memory_data *memory, struct error *error)
{
    *columns = NULL;
    enum tn_status status = validate_model(job, variables, error);
    return status == TN_OK ? check_data(job, columns, memory, error) : status;
}
