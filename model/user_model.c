#include "model/user_model.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "graph/fields.h"
#include "model/user_library.h"

static const struct tn_model *program_model;

enum tn_status user_model_check(const struct tn_model *model, const char *source,
                                struct error *error)
{
    assert(model != NULL && source != NULL);
    const uint32_t version = model->api_version;
    if (version >> 16 != TN_API_MAJOR || (version & 0xffff) > TN_API_MINOR) {
        return error_set(error, TN_EINVAL,
                         "%s: the model was compiled for the interface %" PRIu32 ".%" PRIu32
                         " of libtanist, but this is %d.%d: compile it with the headers of this "
                         "version",
                         source, version >> 16, version & 0xffff, TN_API_MAJOR, TN_API_MINOR);
    }
    if (model->struct_size != sizeof *model) {
        return error_set(error, TN_EINVAL,
                         "%s: struct_size of the model is %zu, but struct tn_model has %zu bytes: "
                         "give sizeof(struct tn_model)",
                         source, model->struct_size, sizeof *model);
    }
    const struct tn_hooks *hooks = model->hooks;
    if (hooks != NULL && hooks->struct_size != sizeof *hooks) {
        return error_set(error, TN_EINVAL,
                         "%s: struct_size of the hooks is %zu, but struct tn_hooks has %zu bytes: "
                         "give sizeof(struct tn_hooks)",
                         source, hooks->struct_size, sizeof *hooks);
    }
    const char *missing = model->name == NULL ? "name" : model->build == NULL ? "build" : NULL;
    if (missing == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s: the model has no %s: set it", source, missing);
}

enum tn_status user_model_set_program(const struct tn_model *model, struct error *error)
{
    enum tn_status status = user_model_check(model, "tn_main()", error);
    if (status != TN_OK) { return status; }
    status = job_set_program(model->name, model->job != NULL ? model->job : "{}", error);
    if (status != TN_OK) { return error_context(error, "tn_main(): model \"%s\"", model->name); }
    program_model = model;
    return TN_OK;
}

enum tn_status user_model_find(const struct job *job, const struct tn_model **out,
                               struct error *error)
{
    assert(job_has_code(job) && out != NULL);
    if (strcmp(job->model.type, "library") == 0) {
        return user_library_open(job->model.path, job->model.symbol, out, error);
    }
    *out = program_model;
    if (program_model != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "model.type is \"program\", but this program has no model of its own: use the "
                     "program whose job this is (it calls tn_main()), or another model.type");
}

/* ------------------------------------------------------------- the fields */

static uint64_t numbers_of(const struct tn_shape *shape)
{
    uint64_t numbers = 1;
    for (uint32_t d = 1; d < shape->rank; d++) { numbers *= (uint64_t)shape->dims[d]; }
    return numbers;
}

static enum tn_status check_size(const char *field, const struct tn_shape *shape, uint32_t numbers,
                                 const char *key, struct error *error)
{
    if (numbers_of(shape) == numbers) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "model: the field \"%s\" has %" PRIu64
                     " numbers per example, but %s is %" PRIu32 ": make them equal",
                     field, numbers_of(shape), key, numbers);
}

/* The number of labels is checked where the data are known. */
static enum tn_status check_field(const void *ctx, const char *field, const struct tn_shape *shape,
                                  struct error *error)
{
    const struct job *job = ctx;
    const bool regression = job_is_regression(job);
    if (strcmp(field, "inputs") == 0) {
        return check_size(field, shape, job->model.inputs, "model.inputs", error);
    }
    if (strcmp(field, regression ? "targets" : "labels") == 0) {
        return regression ? check_size(field, shape, job->model.outputs, "model.outputs", error)
                          : TN_OK;
    }
    if (strcmp(field, "keys") == 0 && job_has_rows(job)) { return TN_OK; } /* As labels. */
    return error_set(error, TN_EINVAL,
                     "model: the field \"%s\" does not exist: by model.loss and model.targets of "
                     "the job, the data have \"inputs\" and \"%s\", and \"keys\" where "
                     "data.columns have \"table\": true",
                     field, regression ? "targets" : "labels");
}

enum tn_status user_model_build(const struct job *job, struct tn_graph *graph, struct error *error)
{
    const struct tn_model *model = NULL;
    const struct tn_build build = {
        .struct_size = sizeof build,
        .options = job->model.options[0] != '\0' ? job->model.options : "{}",
        .inputs = job->model.inputs,
        .outputs = job->model.outputs,
        .batch = job->train.batch,
        .slices = job->train.slices,
    };
    assert(graph != NULL);
    enum tn_status status = user_model_find(job, &model, error);
    if (status != TN_OK) { return status; }
    model->build(graph, &build, model->user);
    if (tn_graph_status(graph, NULL) != TN_OK) { return TN_OK; } /* The caller reports it. */
    return graph_fields(graph, check_field, job, error);
}
