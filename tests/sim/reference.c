#include "tests/sim/reference.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "local/trainer.h"

struct reference {
    struct job job;
    struct trainer trainer;
    /* values[s]: parameters after s steps, up to trainer.step, and behind them their averages. */
    float **values;
    float **rows;    /* By step, of the tables one after another: all rows. */
    double *metrics; /* By step, train.stop.metric: only of the multiples that are evaluated. */
};

static float *floats(size_t count)
{
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64 + 64;
    float *array = aligned_alloc(64, bytes);
    assert(array != NULL);
    memset(array, 0, bytes);
    return array;
}

static void keep_values(struct reference *reference)
{
    const struct trainer *trainer = &reference->trainer;
    float *copy = floats(2 * trainer->parameters);
    memcpy(copy, trainer_values(trainer), trainer->parameters * sizeof *copy);
    memcpy(copy + trainer->parameters, trainer_averages(trainer),
           trainer->parameters * sizeof *copy);
    reference->values[trainer->step] = copy;
}

/* The floats of all rows of the tables before `table`. */
static size_t rows_before(const struct reference *reference, uint32_t table)
{
    const struct variable_table *variables = &reference->trainer.config.model->table;
    size_t count = 0;
    for (uint32_t t = 0; t < table; t++) {
        count += (size_t)REFERENCE_KEYS * variables->row_tables[t].width;
    }
    return count;
}

static void keep_rows(struct reference *reference)
{
    const struct variable_table *variables = &reference->trainer.config.model->table;
    const struct row_source *source = &reference->trainer.tables.source;
    if (variables->row_table_count == 0) { return; }
    float *rows = floats(rows_before(reference, variables->row_table_count));
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        const struct row_table_shape *shape = &variables->row_tables[t];
        float *out = rows + rows_before(reference, t);
        for (uint64_t key = 0; key < REFERENCE_KEYS; key++) {
            source->read(source->ctx, t, &key, 1, out + key * shape->width);
        }
    }
    reference->rows[reference->trainer.step] = rows;
}

const float *reference_row(struct reference *reference, uint64_t step, uint32_t table, uint64_t key)
{
    const struct row_table_shape *shape = &reference->trainer.config.model->table.row_tables[table];
    assert(key < REFERENCE_KEYS);
    (void)reference_values(reference, step);
    return reference->rows[step] + rows_before(reference, table) + key * shape->width;
}

static void keep_metric(struct reference *reference)
{
    const struct job *job = &reference->job;
    const uint64_t step = reference->trainer.step;
    if (job->train.stop_patience == 0 || step % job->evaluate.every_steps != 0) { return; }
    const struct evaluation found = trainer_evaluate(&reference->trainer, NULL);
    const bool loss = job->train.stop_metric == METRIC_LOSS;
    reference->metrics[step] = loss ? -found.loss : found.accuracy;
}

struct reference *reference_create(const struct job *job, const struct model *model,
                                   const struct kernels *kernels, const struct dataset *train,
                                   const struct dataset *test)
{
    struct reference *reference = calloc(1, sizeof *reference);
    assert(reference != NULL);
    reference->job = *job;
    reference->job.train.mode = TRAIN_SYNC; /* In async mode, only the initial values are used. */
    struct error error;
    const struct compute_config config = {.job = &reference->job,
                                          .model = model,
                                          .programs = "reference",
                                          .kernels = kernels,
                                          .train = train,
                                          .test = test};
    enum tn_status status = trainer_open(&reference->trainer, &config, &error);
    assert(status == TN_OK);
    reference->values = calloc((size_t)job->train.steps + 2, sizeof *reference->values);
    assert(reference->values != NULL);
    reference->metrics = calloc((size_t)job->train.steps + 2, sizeof *reference->metrics);
    assert(reference->metrics != NULL);
    reference->rows = calloc((size_t)job->train.steps + 2, sizeof *reference->rows);
    assert(reference->rows != NULL);
    keep_values(reference);
    keep_rows(reference);
    return reference;
}

void reference_free(struct reference *reference)
{
    if (reference == NULL) { return; }
    for (uint64_t s = 0; s <= reference->trainer.step; s++) {
        free(reference->values[s]);
        free(reference->rows[s]);
    }
    free(reference->rows);
    trainer_close(&reference->trainer);
    free(reference->values);
    free(reference->metrics);
    free(reference);
}

const float *reference_values(struct reference *reference, uint64_t step)
{
    assert(step <= reference->job.train.steps);
    while (reference->trainer.step < step) {
        struct error error;
        enum tn_status status = trainer_step(&reference->trainer, &error);
        assert(status == TN_OK);
        keep_values(reference);
        keep_rows(reference);
        keep_metric(reference);
    }
    return reference->values[step];
}

const float *reference_averages(struct reference *reference, uint64_t step)
{
    return reference_values(reference, step) + reference->trainer.parameters;
}

size_t reference_parameters(const struct reference *reference)
{
    return (size_t)reference->trainer.parameters;
}

struct digest reference_digest(struct reference *reference, uint64_t step)
{
    return variable_table_digest(&reference->trainer.config.model->table,
                                 reference_values(reference, step));
}

uint64_t reference_end(struct reference *reference)
{
    const struct job *job = &reference->job;
    const uint64_t every = job->evaluate.every_steps, steps = job->train.steps;
    uint64_t waited = 0;
    double best = -INFINITY;
    if (job->train.stop_patience == 0) { return steps; }
    for (uint64_t step = every; step < steps; step += every) {
        (void)reference_values(reference, step);
        const bool better = reference->metrics[step] > best;
        waited = better ? 0 : waited + 1;
        if (better) { best = reference->metrics[step]; }
        if (waited == job->train.stop_patience) { return step; }
    }
    return steps;
}

/* ---------------------------------------------------------------- ledger */

struct model *ledger_open(uint32_t examples)
{
    const struct tn_variable_options zeros = {.init = TN_INIT_ZEROS};
    struct tn_graph *graph = NULL;
    struct model *model = NULL;
    struct error error;
    enum tn_status status = tn_graph_create(&graph, NULL);
    assert(status == TN_OK);
    tn_tensor inputs =
        tn_placeholder(graph, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, (int64_t)examples));
    tn_tensor uses = tn_variable(graph, "uses", TN_SHAPE((int64_t)examples), &zeros);
    tn_tensor own = tn_sum(graph, tn_multiply(graph, inputs, uses), (uint32_t[]){1}, 1);
    tn_loss(graph, tn_scale(graph, own, -1), 1);
    status = model_open_graph(graph, &model, &error);
    assert(status == TN_OK);
    return model;
}

struct model *ledger_rows_open(void)
{
    enum { COLUMNS = 3, COUNTS = 64 };
    static const char *const names[COLUMNS] = {"C1", "C2", "C3"};
    const struct tn_variable_options zeros = {.init = TN_INIT_ZEROS};
    const struct tn_table_options almost_zeros = {.scale = 1e-30F}; /* Lost in the first count. */
    struct tn_graph *graph = NULL;
    struct model *model = NULL;
    struct error error;
    enum tn_status status = tn_graph_create(&graph, NULL);
    assert(status == TN_OK);
    tn_tensor keys = tn_placeholder(graph, "keys", TN_INT64, TN_SHAPE(TN_BATCH, COLUMNS));
    tn_tensor uses = tn_variable(graph, "uses", TN_SHAPE(COUNTS), &zeros);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const tn_table table = tn_table_create(graph, names[c], 1, &almost_zeros);
        uses = tn_add(graph, uses, tn_lookup(graph, table, keys, c, 1, TN_POOL_SUM));
    }
    tn_tensor own = tn_sum(graph, uses, (uint32_t[]){1}, 1);
    tn_loss(graph, tn_scale(graph, own, -1), 1);
    status = model_open_graph(graph, &model, &error);
    assert(status == TN_OK);
    return model;
}

struct dataset *ledger_dataset(uint32_t examples)
{
    struct dataset *dataset = calloc(1, sizeof *dataset);
    assert(dataset != NULL);
    dataset->examples = examples;
    dataset->inputs = dataset->input_step = examples;
    dataset->outputs = dataset->labels_each = dataset->label_step = 1;
    dataset->input_floats = floats((size_t)examples * examples);
    dataset->targets = floats(examples);
    for (uint32_t e = 0; e < examples; e++) { dataset->input_floats[e * examples + e] = 1; }
    return dataset;
}
