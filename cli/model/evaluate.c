/* cli/model/evaluate.c: `tanist evaluate`: loss and metrics of a checkpoint on examples. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/model/evaluate.h"
#include "cli/model/evaluation_report.h"
#include "cli/model/progress_note.h"
#include "cli/model/saved_model.h"
#include "cli/output.h"
#include "common/base/minmax.h"
#include "data/dataset.h"
#include "kernels/job_kernels.h"
#include "kernels/kernels.h"
#include "worker/compute.h"

enum { TOP_K = 5 };

static const char *const split_names[] = {"test", "validation", "train", NULL};
static const struct {
    const char *name;
    enum dataset_split split;
} splits[] = {{"test", DATASET_TEST},
              {"validation", DATASET_VALIDATION},
              {"train", DATASET_TRAIN},
              {NULL, DATASET_TEST}};

struct evaluating {
    const char *dir, *data, *split, *output;
    const char *checkpoint;
    struct option_number top_k;
    bool confusion;
    struct saved_model saved;
    struct dataset *dataset;     /* Owned. */
    struct predictor *predictor; /* Owned. */
    struct evaluation_report report;
};

/* ------------------------------------------------------------------ opening */

static enum tn_status set_path(struct job *job, const char *path, struct error *error)
{
    const int length = snprintf(job->data.path, sizeof job->data.path, "%s", path);
    if (length < (int)sizeof job->data.path) { return TN_OK; }
    return error_set(error, TN_EINVAL, "--data: the path is longer than %d bytes",
                     JOB_PATH_MAX - 1);
}

static enum tn_status find_split(const struct evaluating *evaluating, enum dataset_split *out,
                                 struct error *error)
{
    const char *name = evaluating->split;
    *out = DATASET_TEST;
    if (name == NULL) { return TN_OK; }
    if (evaluating->data != NULL) {
        return error_set(error, TN_EINVAL,
                         "--split and --data: give one of them; --data is evaluated as a whole");
    }
    for (int i = 0; splits[i].name != NULL; i++) {
        if (strcmp(splits[i].name, name) == 0) { *out = splits[i].split; }
    }
    if (*out != DATASET_VALIDATION || dataset_has_validation(&evaluating->saved.job)) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "--split validation: the job has no such split, see data.validation and "
                     "data.split.validation");
}

/* Other types generate their examples, but rows of columns can also be those of a file. */
static bool reads_files(const struct saved_model *saved)
{
    const struct job *job = &saved->job;
    return saved->columns != NULL || job->data.format[0] != '\0' ||
           strcmp(job->data.type, "idx") == 0 || strcmp(job->data.type, "text") == 0;
}

static enum tn_status open_data(struct evaluating *evaluating, struct error *error)
{
    struct saved_model *saved = &evaluating->saved;
    enum dataset_split split;
    enum tn_status status = find_split(evaluating, &split, error);
    if (status != TN_OK) { return status; }
    if (evaluating->data != NULL && !reads_files(saved)) {
        return error_set(
            error, TN_EINVAL,
            "--data: the examples of data.type \"%s\" are generated, not read: leave it "
            "out, or give --split",
            saved->job.data.type);
    }
    if (saved->columns != NULL) {
        const struct dataset_stored stored = {
            .columns = saved->columns,
            .pattern = evaluating->data,
            .split = split,
            .with_label = true,
        };
        return dataset_open_stored(&saved->job, &stored, &evaluating->dataset, error);
    }
    if (evaluating->data != NULL) { status = set_path(&saved->job, evaluating->data, error); }
    if (status == TN_OK) { status = dataset_open(&saved->job, split, &evaluating->dataset, error); }
    if (status == TN_OK && evaluating->dataset->examples == 0) {
        status = error_set(error, TN_EINVAL, "there are no examples to evaluate");
    }
    return status;
}

static enum tn_status open_predictor(struct evaluating *evaluating, struct error *error)
{
    const struct job *job = &evaluating->saved.job;
    const struct kernels *kernels = NULL;
    enum tn_status status = kernels_open(job_kernels(job), &kernels, error);
    if (status != TN_OK) { return status; }
    /* The batches of the run's own evaluations: sums get the same bits. */
    const struct predictor_config config = {
        .job = job,
        .model = evaluating->saved.model,
        .values = evaluating->saved.values->data,
        .kernels = job_programs_on_cpu(job),
        .rows = saved_model_rows(&evaluating->saved),
        .batch = (uint32_t)u64_min(compute_slice_examples(job), evaluating->dataset->examples),
    };
    return predictor_open(&config, &evaluating->predictor, error);
}

static enum tn_status open_report(struct evaluating *evaluating, struct error *error)
{
    const struct predictor_shape shape = predictor_shape(evaluating->predictor);
    const uint64_t k = evaluating->top_k.given ? evaluating->top_k.value : TOP_K;
    if (evaluating->top_k.given && (k == 0 || !shape.classes || k > shape.width)) {
        return error_set(error, TN_EINVAL,
                         "--top-k %" PRIu64 ": give 1 to the number of classes, of a classifier",
                         k);
    }
    evaluating->report.confusion = evaluating->confusion;
    evaluating->report.names = evaluating->dataset;
    return evaluation_report_open(&evaluating->report, shape, (uint32_t)u64_min(k, shape.width),
                                  error);
}

/* --------------------------------------------------------------- evaluating */

static enum tn_status evaluate(struct evaluating *evaluating, struct error *error)
{
    const uint64_t examples = evaluating->dataset->examples;
    const uint64_t batch = u64_min(compute_slice_examples(&evaluating->saved.job), examples);
    struct progress_note progress = progress_note_begin("evaluate", examples);
    enum tn_status status = TN_OK;
    for (uint64_t first = 0; first < examples && status == TN_OK;) {
        const uint32_t count = (uint32_t)u64_min(examples - first, batch);
        const float *scores = NULL;
        struct fields fields;
        status = predictor_fields(evaluating->predictor, count, &fields, error);
        if (status == TN_OK) {
            status = dataset_gather_range(evaluating->dataset, first, count, &fields, error);
        }
        if (status != TN_OK) { break; }
        status =
            predictor_run(evaluating->predictor, count, &evaluating->report.sum, &scores, error);
        if (status == TN_OK) {
            status = evaluation_report_add(&evaluating->report, scores, &fields, count, error);
        }
        first += count;
        progress_note(&progress, first);
    }
    return status;
}

static enum tn_status open_and_evaluate(struct evaluating *evaluating, struct error *error)
{
    enum tn_status status =
        saved_model_open(&evaluating->saved, evaluating->dir, evaluating->checkpoint, error);
    if (status == TN_OK) { status = open_data(evaluating, error); }
    if (status == TN_OK) { status = open_predictor(evaluating, error); }
    if (status == TN_OK) { status = open_report(evaluating, error); }
    if (status == TN_OK) { status = evaluate(evaluating, error); }
    return status == TN_OK ? evaluation_report_finish(&evaluating->report, error) : status;
}

static void close_evaluating(struct evaluating *evaluating)
{
    evaluation_report_close(&evaluating->report);
    predictor_close(evaluating->predictor);
    dataset_close(evaluating->dataset);
    saved_model_close(&evaluating->saved);
}

enum tn_status evaluate_test_set(const char *dir, double *loss, double *accuracy,
                                 struct error *error)
{
    struct evaluating *evaluating = calloc(1, sizeof *evaluating);
    if (evaluating == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    evaluating->dir = dir;
    const enum tn_status status = open_and_evaluate(evaluating, error);
    if (status == TN_OK) {
        *loss = evaluation_report_loss(&evaluating->report);
        *accuracy = evaluation_report_accuracy(&evaluating->report);
    }
    close_evaluating(evaluating);
    free(evaluating);
    return status;
}

static int work(struct evaluating *evaluating)
{
    struct error error = {0};
    const enum tn_status status = open_and_evaluate(evaluating, &error);
    int exit_code = TN_EXIT_OK;
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        evaluating->report.job = evaluating->saved.job.name;
        evaluating->report.checkpoint = evaluating->saved.manifest.id;
        evaluating->report.step = evaluating->saved.manifest.step;
        exit_code = output_is_json(evaluating->output)
                        ? evaluation_report_json(&evaluating->report)
                        : evaluation_report_text(&evaluating->report);
    }
    close_evaluating(evaluating);
    return exit_code;
}

int command_evaluate(int argc, char **argv)
{
    int exit_code = 0;
    struct evaluating *evaluating = calloc(1, sizeof *evaluating);
    struct options options = {
        .command = "evaluate",
        .synopsis = "DIR [OPTION]...",
        .about =
            "Evaluate a checkpoint of the run in DIR on its test set, or on other examples of the "
            "same kind:\nloss; for a classifier accuracy, precision, recall, F1, area under the "
            "ROC curve and top-k, also for\neach class; otherwise mean absolute error, root of the "
            "mean squared error and R squared. The run may\nbe active or not.",
        .examples = "  tanist evaluate runs/fashion-mnist\n"
                    "  tanist evaluate runs/fashion-mnist --data other-images --confusion\n"
                    "  tanist evaluate runs/fashion-mnist --checkpoint 12 -o json\n"};
    if (evaluating == NULL) { return TN_EXIT_ERROR; }
    options_folder(&options, &evaluating->dir, true, RUN_FOLDER_HELP);
    options_text(&options, "data", &evaluating->data, "PATH",
                 "Other data of the job's data.type, instead of data.path.");
    options_choice(&options, 0, "split", &evaluating->split, split_names,
                   "The examples of the job: test (default), validation, or train.");
    options_text(&options, "checkpoint", &evaluating->checkpoint, "N",
                 "A checkpoint of `tanist checkpoints list`, or `best`; default the newest.");
    options_number(&options, "top-k", &evaluating->top_k, "K",
                   "How many of the highest scores may contain the label; default 5.");
    options_flag(&options, 0, "confusion", &evaluating->confusion,
                 "Print the confusion matrix, too.");
    output_option_text(&options, &evaluating->output);
    if (options_parse(&options, argc, argv, &exit_code)) { exit_code = work(evaluating); }
    free(evaluating);
    return exit_code;
}
