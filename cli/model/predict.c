/* cli/model/predict.c: `tanist predict`: the predictions of a checkpoint for new examples. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/model/prediction_rows.h"
#include "cli/model/prediction_writer.h"
#include "cli/model/progress_note.h"
#include "cli/model/saved_model.h"
#include "cli/output.h"
#include "kernels/job_kernels.h"
#include "kernels/kernels.h"

enum { BATCH = 256 };

static const char *const formats[] = {
    [PREDICTION_CSV] = "csv", [PREDICTION_JSON] = "json", [PREDICTION_NPY] = "npy", NULL};

struct predicting {
    const char *dir, *data, *format, *to;
    const char *checkpoint;
    struct saved_model saved;
    struct predictor *predictor;  /* Owned. */
    struct prediction_rows *rows; /* Owned. */
    struct fields batch;          /* Owned: the inputs of the next examples. */
    struct prediction_writer writer;
};

static enum tn_status open_predictor(struct predicting *predicting, struct error *error)
{
    const struct job *job = &predicting->saved.job;
    const struct kernels *kernels = NULL;
    enum tn_status status = kernels_open(job_kernels(job), &kernels, error);
    if (status != TN_OK) { return status; }
    const struct predictor_config config = {
        .job = job,
        .model = predicting->saved.model,
        .values = predicting->saved.values->data,
        .kernels = job_programs_on_cpu(job),
        .rows = saved_model_rows(&predicting->saved),
        .batch = BATCH,
    };
    return predictor_open(&config, &predicting->predictor, error);
}

/* Memory for a batch, because the number of examples in it is known only when they are read. */
static enum tn_status open_batch(struct predicting *predicting, struct error *error)
{
    struct fields fields;
    const size_t inputs = (size_t)BATCH * predicting->saved.job.model.inputs;
    enum tn_status status = predictor_fields(predicting->predictor, BATCH, &fields, error);
    if (status != TN_OK) { return status; }
    if (fields.input_bytes != NULL) {
        predicting->batch.input_bytes = calloc(inputs, sizeof *predicting->batch.input_bytes);
    } else {
        predicting->batch.inputs = calloc(inputs, sizeof *predicting->batch.inputs);
    }
    if (fields.keys != NULL) {
        predicting->batch.keys_each = fields.keys_each;
        predicting->batch.keys =
            calloc((size_t)BATCH * fields.keys_each, sizeof *predicting->batch.keys);
    }
    const bool has_inputs =
        predicting->batch.input_bytes != NULL || predicting->batch.inputs != NULL;
    if (!has_inputs || (fields.keys != NULL && predicting->batch.keys == NULL)) {
        return error_set(error, TN_ENOMEM, "out of memory for a batch");
    }
    return prediction_rows_open(predicting->data, &predicting->saved.job, predicting->saved.columns,
                                fields.input_bytes != NULL, &predicting->rows, error);
}

static enum tn_status find_format(const struct predicting *predicting, struct error *error,
                                  enum prediction_format *out)
{
    if (predicting->data == NULL) {
        return error_set(error, TN_EINVAL,
                         "no examples: give --data FILE, or --data - for lines from stdin");
    }
    for (*out = PREDICTION_CSV; *out < PREDICTION_NPY; (*out)++) {
        if (strcmp(formats[*out], predicting->format) == 0) { break; }
    }
    return TN_OK;
}

static enum tn_status predict_batch(struct predicting *predicting, uint32_t count,
                                    struct error *error)
{
    struct fields fields;
    const float *scores = NULL;
    const size_t inputs = (size_t)count * predicting->saved.job.model.inputs;
    enum tn_status status = predictor_fields(predicting->predictor, count, &fields, error);
    if (status != TN_OK) { return status; }
    if (fields.input_bytes != NULL) {
        assert(predicting->batch.input_bytes != NULL);
        memcpy(fields.input_bytes, predicting->batch.input_bytes, inputs);
    } else if (fields.inputs != NULL) {
        assert(predicting->batch.inputs != NULL);
        memcpy(fields.inputs, predicting->batch.inputs, inputs * sizeof *fields.inputs);
    }
    if (fields.keys != NULL) {
        const size_t keys = (size_t)count * fields.keys_each;
        memcpy(fields.keys, predicting->batch.keys, keys * sizeof *fields.keys);
    }
    status = predictor_run(predicting->predictor, count, NULL, &scores, error);
    return status == TN_OK ? prediction_writer_add(&predicting->writer, scores, count, error)
                           : status;
}

static enum tn_status predict(struct predicting *predicting, struct error *error)
{
    struct progress_note progress =
        progress_note_begin("predict", prediction_rows_total(predicting->rows));
    for (;;) {
        uint32_t count = 0;
        enum tn_status status =
            prediction_rows_read(predicting->rows, BATCH, &predicting->batch, &count, error);
        /* The rows before a bad line are predicted. */
        struct error failed = *error;
        if (count > 0) {
            enum tn_status predicted = predict_batch(predicting, count, error);
            if (predicted != TN_OK) { return predicted; }
        }
        if (status != TN_OK) { *error = failed; }
        if (status != TN_OK || count == 0) { return status; }
        progress_note(&progress, predicting->writer.examples);
    }
}

static enum tn_status predict_all(struct predicting *predicting, struct error *error)
{
    enum prediction_format format = PREDICTION_CSV;
    enum tn_status status = find_format(predicting, error, &format);
    if (status == TN_OK) {
        status =
            saved_model_open(&predicting->saved, predicting->dir, predicting->checkpoint, error);
    }
    if (status == TN_OK) { status = open_predictor(predicting, error); }
    if (status == TN_OK) { status = open_batch(predicting, error); }
    if (status != TN_OK) { return status; }
    status =
        prediction_writer_open(&predicting->writer, format, predictor_shape(predicting->predictor),
                               prediction_rows_dataset(predicting->rows), predicting->to, error);
    if (status == TN_OK) { status = predict(predicting, error); }
    return prediction_writer_close(&predicting->writer, status, error);
}

/* Rows of stdin are read from a file without a name. */
static void name_stdin(struct error *error)
{
    static const char prefix[] = "/proc/self/fd/", name[] = "stdin";
    char *at = strstr(error->text, prefix);
    if (at == NULL) { return; }
    const char *rest = at + sizeof prefix - 1;
    rest += strspn(rest, "0123456789");
    memcpy(at, name, sizeof name - 1);
    memmove(at + sizeof name - 1, rest, strlen(rest) + 1);
}

static int work(struct predicting *predicting)
{
    struct error error = {0};
    const enum tn_status status = predict_all(predicting, &error);
    const bool from_stdin = predicting->data != NULL && strcmp(predicting->data, "-") == 0;
    if (status != TN_OK && from_stdin) { name_stdin(&error); }
    prediction_rows_close(predicting->rows);
    free(predicting->batch.inputs);
    free(predicting->batch.input_bytes);
    free(predicting->batch.keys);
    predictor_close(predicting->predictor);
    saved_model_close(&predicting->saved);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}

int command_predict(int argc, char **argv)
{
    int exit_code = 0;
    struct predicting *predicting = calloc(1, sizeof *predicting);
    struct options options = {
        .command = "predict",
        .synopsis = "DIR --data FILE [OPTION]...",
        .about = "Predict with a checkpoint of the run in DIR: for each example, in the order of "
                 "FILE, the class and\nthe probabilities of all classes, or numbers. FILE has the "
                 "inputs of the model and no labels: a line\nof numbers for each example, "
                 "separated by commas or tabs, with or without a header; an array in\n.npy; or "
                 "images in IDX. `-` reads lines from stdin.",
        .examples =
            "  tanist predict runs/fashion-mnist --data new.npy >predictions.csv\n"
            "  tanist predict runs/house-prices --data - -o json <new.csv\n"
            "  tanist predict runs/house-prices --data new.csv -o npy --to predicted.npy\n"};
    if (predicting == NULL) { return TN_EXIT_ERROR; }
    options_folder(&options, &predicting->dir, true, RUN_FOLDER_HELP);
    predicting->format = formats[PREDICTION_CSV];
    options_text(&options, "data", &predicting->data, "FILE", "The examples; `-` is stdin.");
    options_choice(&options, 'o', "output", &predicting->format, formats,
                   "Format of the predictions; default csv. json: one object a line.");
    options_text(&options, "to", &predicting->to, "FILE",
                 "Write to FILE, which appears when it is complete; default stdout.");
    options_text(&options, "checkpoint", &predicting->checkpoint, "N",
                 "A checkpoint of `tanist checkpoints list`, or `best`; default the newest.");
    if (options_parse(&options, argc, argv, &exit_code)) { exit_code = work(predicting); }
    free(predicting);
    return exit_code;
}
