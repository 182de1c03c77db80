#include "model/training.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "graph/core/node.h"
#include "graph/device_sums.h"
#include "graph/joined_slices.h"
#include "graph/next_fields.h"
#include "graph/placed_program.h"

enum { MODES = 2 };

/* A program with the addresses of its fields, which do not change. */
struct sized {
    uint32_t examples;             /* 0: not compiled. */
    struct tn_program *program;    /* NULL: it is in parts, on several GPUs: */
    struct placed_program *placed; /* NULL: it is not. */
    struct fields fields;
};

/* The program of several slices. */
struct joined_slices {
    uint32_t examples, slices; /* Each slice has `examples`. 0: not compiled. */
    bool possible;
    struct sized sized;
};

struct training {
    const struct model *model;
    const char *kernels;
    const char *const *placed; /* NULL: programs are not in parts. */
    bool is_classifier;
    const char *metrics[METRICS_OWN_MAX + 1]; /* Names in the graph, then NULL. */
    struct sized programs[MODES][TRAINING_SIZES_MAX];
    struct joined_slices joined[TRAINING_JOINED_MAX];
    const struct row_source *source; /* With tables; else NULL. */
    struct slice_rows *rows;
};

static enum tn_status failed(enum tn_status status, const struct tn_error *text,
                             struct error *error)
{
    return error_set(error, status, "model: %s", text->text);
}

static enum tn_status wrong_type(const char *field, const char *types, struct error *error)
{
    return error_set(error, TN_EINVAL,
                     "model: field '%s' has another type than the data: give it as %s", field,
                     types);
}

static struct tn_view field_of(const struct sized *sized, const char *name)
{
    return sized->placed != NULL ? placed_program_field(sized->placed, name)
                                 : tn_program_field(sized->program, name);
}

static struct tn_view output_of(const struct sized *sized, const char *name)
{
    return sized->placed != NULL ? placed_program_output(sized->placed, name)
                                 : tn_program_output(sized->program, name);
}

static uint64_t elements_of(const struct tn_shape *shape)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < shape->rank; d++) { elements *= (uint64_t)shape->dims[d]; }
    return elements;
}

/* Fields that the program does not read have no type and no memory. */
static enum tn_status bind_fields(struct sized *sized, struct error *error)
{
    struct tn_view inputs = field_of(sized, "inputs");
    struct tn_view labels = field_of(sized, "labels");
    struct tn_view targets = field_of(sized, "targets");
    struct tn_view keys = field_of(sized, "keys");
    bool bytes = inputs.data != NULL && inputs.type == TN_UINT8;
    if (inputs.data != NULL && !bytes && inputs.type != TN_FLOAT32) {
        return wrong_type("inputs", "float32 or uint8", error);
    }
    const bool wide = labels.data != NULL && labels.type == TN_INT32;
    if (labels.data != NULL && !wide && labels.type != TN_UINT8) {
        return wrong_type("labels", "uint8 or int32", error);
    }
    if (targets.data != NULL && targets.type != TN_FLOAT32) {
        return wrong_type("targets", "float32", error);
    }
    if (keys.data != NULL && keys.type != TN_INT64) { return wrong_type("keys", "int64", error); }
    sized->fields = (struct fields){
        .inputs = bytes ? NULL : inputs.data,
        .input_bytes = bytes ? inputs.data : NULL,
        .labels = wide ? NULL : labels.data,
        .wide_labels = wide ? labels.data : NULL,
        .targets = targets.data,
        .keys = keys.data,
        .keys_each = (uint32_t)(elements_of(&keys.shape) / sized->examples),
        .labels_each = (uint32_t)(elements_of(&labels.shape) / sized->examples),
        .targets_each = (uint32_t)(elements_of(&targets.shape) / sized->examples),
    };
    return TN_OK;
}

static enum tn_status create_program(const struct training *training,
                                     const struct tn_program_options *options, uint32_t slices,
                                     struct sized *out, struct error *error)
{
    struct tn_error text = {.text = ""};
    const struct tn_graph *graph = training->model->graph;
    if (training->placed != NULL) {
        const enum tn_status placed =
            placed_program_create(graph, options, training->placed, &out->placed, error);
        return placed == TN_OK ? TN_OK : error_context(error, "model");
    }
    const enum tn_status status =
        slices > 0 ? joined_slices_create(graph, options, slices, &out->program, &text)
                   : tn_program_create(graph, options, &out->program, &text);
    if (status != TN_OK) { return failed(status, &text, error); }
    assert(tn_program_parameters(out->program) == training->model->table.parameter_count);
    return TN_OK;
}

/* `slices`: 0, or the program of this number of slices. */
static enum tn_status open_program(struct training *training, enum tn_mode mode, uint32_t examples,
                                   uint32_t slices, struct sized *out, struct error *error)
{
    const struct variable_table *table = &training->model->table;
    uint64_t offsets[VARIABLES_MAX];
    for (uint32_t i = 0; i < table->count; i++) {
        offsets[table->variables[i].number] = table->variables[i].offset;
    }
    const struct tn_program_options options = {
        .struct_size = sizeof options,
        .variable_offsets = offsets,
        .mode = mode,
        .examples = examples,
        .kernels = training->kernels,
    };
    if (examples == 0) { return TN_OK; }
    enum tn_status status = create_program(training, &options, slices, out, error);
    if (status != TN_OK) { return status; }
    out->examples = examples;
    if (mode == TN_EVALUATE) { training->is_classifier = output_of(out, "accuracy").data != NULL; }
    return bind_fields(out, error);
}

static void list_metrics(struct training *training)
{
    const struct tn_graph *graph = training->model->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        const struct mark *mark = &graph->marks[i];
        if (mark->kind != MARK_METRIC || strcmp(mark->name, "accuracy") == 0) { continue; }
        if (count == METRICS_OWN_MAX || strlen(mark->name) >= METRIC_NAME_BYTES) {
            log_warn("the metric '%s' of the model is not reported: %s", mark->name,
                     count == METRICS_OWN_MAX ? "at most 16 are, besides accuracy"
                                              : "its name has more than 47 bytes");
            continue;
        }
        training->metrics[count++] = mark->name;
    }
}

const char *training_metric(const struct training *training, uint32_t index)
{
    assert(index <= METRICS_OWN_MAX);
    return training->metrics[index];
}

static enum tn_status open_rows(struct training *training, const struct training_config *config,
                                struct error *error)
{
    uint32_t most = 1;
    for (int i = 0; i < TRAINING_SIZES_MAX; i++) {
        most = u32_max(most, u32_max(config->gradient[i], config->evaluation[i]));
    }
    training->source = config->rows;
    return slice_rows_open(config->model, most, &training->rows, error);
}

enum tn_status training_open(const struct training_config *config, struct training **out,
                             struct error *error)
{
    assert(config->model != NULL && out != NULL);
    *out = NULL;
    struct training *training = calloc(1, sizeof *training);
    if (training == NULL) { return error_set(error, TN_ENOMEM, "out of memory for programs"); }
    training->model = config->model;
    training->kernels = config->kernels;
    training->placed = config->placed;
    list_metrics(training);
    enum tn_status status = TN_OK;
    for (int i = 0; i < TRAINING_SIZES_MAX && status == TN_OK; i++) {
        status = open_program(training, TN_TRAIN, config->gradient[i], 0,
                              &training->programs[TN_TRAIN][i], error);
        if (status != TN_OK) { break; }
        status = open_program(training, TN_EVALUATE, config->evaluation[i], 0,
                              &training->programs[TN_EVALUATE][i], error);
    }
    if (status == TN_OK && config->rows != NULL) { status = open_rows(training, config, error); }
    if (status == TN_OK) {
        *out = training;
    } else {
        training_close(training);
    }
    return status;
}

void training_close(struct training *training)
{
    if (training == NULL) { return; }
    slice_rows_close(training->rows);
    for (int mode = 0; mode < MODES; mode++) {
        for (int i = 0; i < TRAINING_SIZES_MAX; i++) {
            tn_program_destroy(training->programs[mode][i].program);
            placed_program_destroy(training->programs[mode][i].placed);
        }
    }
    for (int i = 0; i < TRAINING_JOINED_MAX; i++) {
        tn_program_destroy(training->joined[i].sized.program);
    }
    free(training);
}

/* The entry of these numbers, or the first free one. NULL: there is neither. */
static const struct joined_slices *find_joined(const struct training *training, uint32_t examples,
                                               uint32_t slices)
{
    for (int i = 0; i < TRAINING_JOINED_MAX; i++) {
        const struct joined_slices *joined = &training->joined[i];
        if (joined->slices == 0) { return joined; }
        if (joined->slices == slices && joined->examples == examples) { return joined; }
    }
    return NULL;
}

bool training_joins(struct training *training, uint32_t examples, uint32_t slices)
{
    assert(examples >= 1 && slices >= 1);
    if (training->placed != NULL) { return false; }
    const struct joined_slices *found = find_joined(training, examples, slices);
    if (found == NULL) { return false; }
    struct joined_slices *joined = &training->joined[found - training->joined];
    if (joined->slices != 0) { return joined->possible; }
    joined->examples = examples;
    joined->slices = slices;
    struct error error;
    joined->possible = open_program(training, TN_TRAIN, slices * examples, slices, &joined->sized,
                                    &error) == TN_OK;
    if (!joined->possible) { log_debug("%s", error.text); }
    return joined->possible;
}

static const struct sized *joined_program(const struct training *training, uint32_t examples,
                                          uint32_t slices)
{
    const struct joined_slices *joined = find_joined(training, examples, slices);
    assert(joined != NULL && joined->slices != 0 && joined->possible);
    return &joined->sized;
}

struct fields training_joined_fields(const struct training *training, uint32_t examples,
                                     uint32_t slices)
{
    return joined_program(training, examples, slices)->fields;
}

double training_joined_loss(const struct training *training, uint32_t examples, uint32_t slices,
                            uint32_t slice)
{
    return joined_slices_loss(joined_program(training, examples, slices)->program, slice);
}

static const struct sized *find(const struct training *training, enum tn_mode mode,
                                uint32_t examples)
{
    assert(training != NULL && examples >= 1);
    const struct sized *sized = training->programs[mode];
    if (sized->examples != examples) { sized++; }
    assert(sized->examples == examples);
    return sized;
}

struct fields training_fields(const struct training *training, enum tn_mode mode, uint32_t examples)
{
    return find(training, mode, examples)->fields;
}

/* The keys of tables are read again after a run. */
void training_fill_next(struct training *training, uint32_t examples, bool (*fill)(void *user),
                        void *user)
{
    if (training->source != NULL || training->placed != NULL) { return; }
    next_fields_fill(find(training, TN_TRAIN, examples)->program, fill, user);
}

void training_use_next(struct training *training, uint32_t examples)
{
    next_fields_use(find(training, TN_TRAIN, examples)->program);
}

double training_flops(const struct training *training)
{
    struct tn_program_facts facts = {.struct_size = sizeof facts};
    const struct sized *sized = &training->programs[TN_TRAIN][0];
    if (sized->placed != NULL) { return placed_program_flops(sized->placed); }
    if (sized->program == NULL) { return 0; }
    tn_program_describe(sized->program, &facts);
    return facts.flops;
}

bool training_is_classifier(const struct training *training)
{
    assert(training != NULL);
    return training->is_classifier;
}

enum tn_status training_list_rows(struct training *training, enum tn_mode mode, uint32_t examples,
                                  const struct row_sink *sink, struct error *error)
{
    assert(training->rows != NULL);
    return slice_rows_list(training->rows, find(training, mode, examples)->program, sink, error);
}

/* Rows of tables are in place before the program runs. */
static enum tn_status run_program(struct training *training, const struct sized *sized,
                                  struct tn_run *run, struct error *error)
{
    struct tn_error text = {.text = ""};
    struct tn_program *program = sized->program;
    assert(training->source != NULL || training->model->table.row_table_count == 0);
    if (sized->placed != NULL) {
        const enum tn_status placed = placed_program_run(sized->placed, run, error);
        return placed == TN_OK ? TN_OK : error_context(error, "model");
    }
    if (training->source != NULL) {
        enum tn_status filled = slice_rows_fill(training->rows, program, training->source, error);
        if (filled != TN_OK) { return filled; }
    }
    enum tn_status status = tn_program_run(program, run, &text);
    return status == TN_OK ? TN_OK : failed(status, &text, error);
}

/* A run of a program, and the run of the slice that it computes. */
struct watched_run {
    struct tn_run program;
    struct slice_run *slice;
};

static void became_final(void *user, uint64_t first)
{
    const struct watched_run *run = user;
    run->slice->loss_sum = run->program.loss_sum;
    run->slice->became_final(run->slice->user, first);
}

enum tn_status training_open_sums(const struct training *training, uint32_t vectors,
                                  struct device_sums **out, struct error *error)
{
    const struct tn_program *program = training->programs[TN_TRAIN][0].program;
    assert(program != NULL);
    return device_sums_open(program, vectors, out, error);
}

static enum tn_status no_gradient(const struct training *training, const struct slice_run *run,
                                  struct error *error)
{
    const size_t parameters = (size_t)training->model->table.parameter_count;
    if (run->sums != NULL) { return device_sums_clear(run->sums, run->vector, error); }
    memset(run->gradient, 0, parameters * sizeof *run->gradient);
    if (run->row_sums != NULL) { row_sums_clear(run->row_sums); }
    if (run->became_final != NULL) { run->became_final(run->user, 0); }
    return TN_OK;
}

enum tn_status training_gradient(struct training *training, struct slice_run *run,
                                 struct error *error)
{
    assert(run->values != NULL && (run->gradient != NULL || run->sums != NULL));
    assert(run->sums == NULL || (run->row_sums == NULL && run->became_final == NULL));
    run->loss_sum = 0;
    if (run->count == 0) { return no_gradient(training, run, error); }
    struct watched_run watched = {.slice = run};
    watched.program = (struct tn_run){
        .struct_size = sizeof watched.program,
        .values = run->values,
        .version = run->version,
        .seed = run->seed,
        .step = run->step,
        .first = run->first,
        .scale = run->scale,
        .gradient = run->gradient,
        .became_final = run->became_final != NULL ? became_final : NULL,
        .user = &watched,
    };
    const struct sized *sized =
        run->slices > 0 ? joined_program(training, run->count / run->slices, run->slices)
                        : find(training, TN_TRAIN, run->count);
    assert(sized->placed == NULL || (run->sums == NULL && run->row_sums == NULL));
    if (sized->program != NULL) { device_sums_keep(sized->program, run->sums != NULL); }
    enum tn_status status = run_program(training, sized, &watched.program, error);
    run->loss_sum = watched.program.loss_sum;
    if (status == TN_OK && run->sums != NULL) {
        return device_sums_take(run->sums, run->vector, sized->program, error);
    }
    if (status != TN_OK || run->row_sums == NULL) { return status; }
    assert(run->slices == 0); /* Sums of rows are by slice. */
    return slice_rows_collect(training->rows, sized->program, run->row_sums, error);
}

/* Sums in ascending order. */
static double sum_output(const struct sized *sized, const char *name)
{
    return evaluation_sum_floats(output_of(sized, name).data, sized->examples);
}

enum tn_status training_evaluate(struct training *training, const float *values, uint32_t examples,
                                 struct evaluation_sum *add_to, struct error *error)
{
    assert(values != NULL && add_to != NULL);
    const struct sized *sized = find(training, TN_EVALUATE, examples);
    struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
    enum tn_status status = run_program(training, sized, &run, error);
    if (status != TN_OK) { return status; }
    add_to->loss += run.loss_sum;
    add_to->correct += sum_output(sized, "accuracy");
    for (uint32_t i = 0; training->metrics[i] != NULL; i++) {
        add_to->metrics[i] += sum_output(sized, training->metrics[i]);
    }
    const struct tn_view outputs = output_of(sized, "outputs");
    add_to->squares += evaluation_sum_squares(&outputs, sized->fields.targets,
                                              (uint64_t)examples * sized->fields.targets_each);
    add_to->count += examples;
    return TN_OK;
}

struct tn_view training_output(const struct training *training, uint32_t examples, const char *name)
{
    assert(name != NULL);
    return output_of(find(training, TN_EVALUATE, examples), name);
}
