#include "cli/model/evaluation_report.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/table.h"
#include "data/dataset.h"

enum tn_status evaluation_report_open(struct evaluation_report *report,
                                      struct predictor_shape shape, uint32_t top_k,
                                      struct error *error)
{
    assert(report->classes == NULL && report->numbers == NULL);
    report->shape = shape;
    report->top_k = top_k;
    if (!shape.classes) { return number_metrics_open(shape.width, &report->numbers, error); }
    report->results = calloc(shape.width, sizeof *report->results);
    if (report->results == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    return class_metrics_open(shape.width, top_k, &report->classes, error);
}

void evaluation_report_close(struct evaluation_report *report)
{
    class_metrics_close(report->classes);
    number_metrics_close(report->numbers);
    free(report->results);
}

enum tn_status evaluation_report_add(struct evaluation_report *report, const float *scores,
                                     const struct fields *fields, uint32_t count,
                                     struct error *error)
{
    const size_t rows = (size_t)count * report->shape.rows, width = report->shape.width;
    enum tn_status status = TN_OK;
    assert(scores != NULL);
    assert(report->classes != NULL || fields->targets != NULL);
    for (size_t row = 0; row < rows && status == TN_OK; row++) {
        if (report->numbers != NULL) {
            number_metrics_add(report->numbers, scores + row * width,
                               fields->targets + row * width);
        } else {
            const uint32_t label =
                fields->labels != NULL ? fields->labels[row] : (uint32_t)fields->wide_labels[row];
            status = class_metrics_add(report->classes, scores + row * width, label, error);
        }
    }
    return status;
}

enum tn_status evaluation_report_finish(struct evaluation_report *report, struct error *error)
{
    if (report->classes == NULL) { return TN_OK; }
    return class_metrics_results(report->classes, &report->summary, report->results, error);
}

double evaluation_report_loss(const struct evaluation_report *report)
{
    assert(report->sum.count > 0);
    return report->sum.loss / (double)report->sum.count;
}

double evaluation_report_accuracy(const struct evaluation_report *report)
{
    if (report->classes != NULL) { return report->summary.accuracy; }
    return number_metrics_all(report->numbers).r2;
}

/* --------------------------------------------------------------------- JSON */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *class_json(const struct evaluation_report *report, uint32_t class)
{
    const struct class_result *result = &report->results[class];
    return json_pack("{s:I, s:s*, s:I, s:I, s:o, s:o, s:o, s:o}", "class", (json_int_t) class,
                     "class_name", dataset_class_name(report->names, class), "support",
                     (json_int_t)result->support, "predicted", (json_int_t)result->predicted,
                     "precision", number(result->precision), "recall", number(result->recall), "f1",
                     number(result->f1), "auc", number(result->auc));
}

static json_t *confusion_json(const struct evaluation_report *report)
{
    if (!class_metrics_has_confusion(report->classes)) { return json_null(); }
    json_t *rows = json_array();
    for (uint32_t label = 0; label < report->shape.width; label++) {
        json_t *row = json_array();
        for (uint32_t c = 0; c < report->shape.width; c++) {
            const uint64_t count = class_metrics_confusion(report->classes, label, c);
            json_array_append_new(row, json_integer((json_int_t)count));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Above 1024 classes, only those that occur are listed. */
static bool is_listed(const struct evaluation_report *report, uint32_t class)
{
    const struct class_result *result = &report->results[class];
    return class_metrics_has_confusion(report->classes) || result->support > 0 ||
           result->predicted > 0;
}

static void add_classes(const struct evaluation_report *report, json_t *object)
{
    const struct class_summary *summary = &report->summary;
    json_t *classes = json_array();
    for (uint32_t c = 0; c < report->shape.width; c++) {
        if (is_listed(report, c)) { json_array_append_new(classes, class_json(report, c)); }
    }
    json_object_set_new(object, "accuracy", number(summary->accuracy));
    json_object_set_new(object, "precision", number(summary->precision));
    json_object_set_new(object, "recall", number(summary->recall));
    json_object_set_new(object, "f1", number(summary->f1));
    json_object_set_new(object, "auc", number(summary->auc));
    json_object_set_new(object, "top_k",
                        json_pack("{s:I, s:o}", "k", (json_int_t)report->top_k, "accuracy",
                                  number(summary->top_k)));
    json_object_set_new(object, "classes", classes);
    json_object_set_new(object, "confusion", confusion_json(report));
}

static void add_result(json_t *object, const struct number_result *result)
{
    json_object_set_new(object, "mae", number(result->mae));
    json_object_set_new(object, "rmse", number(result->rmse));
    json_object_set_new(object, "r2", number(result->r2));
}

static void add_numbers(const struct evaluation_report *report, json_t *object)
{
    const struct number_result all = number_metrics_all(report->numbers);
    json_t *outputs = json_array();
    add_result(object, &all);
    for (uint32_t i = 0; i < report->shape.width; i++) {
        const struct number_result result = number_metrics_of(report->numbers, i);
        json_t *output = json_pack("{s:I}", "output", (json_int_t)i);
        add_result(output, &result);
        json_array_append_new(outputs, output);
    }
    json_object_set_new(object, "outputs", outputs);
}

int evaluation_report_json(const struct evaluation_report *report)
{
    json_t *object =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:o}", "version", 1, "job", report->job, "checkpoint",
                  (json_int_t)report->checkpoint, "step", (json_int_t)report->step, "examples",
                  (json_int_t)report->sum.count, "loss", number(evaluation_report_loss(report)));
    if (report->classes != NULL) {
        add_classes(report, object);
    } else {
        add_numbers(report, object);
    }
    return output_json(object, JSON_INDENT(2));
}

/* --------------------------------------------------------------------- text */

static void cell(struct table *table, double value)
{
    if (isfinite(value)) {
        table_cell(table, "%.4f", value);
    } else {
        table_no_value(table);
    }
}

static bool print_classes(const struct evaluation_report *report)
{
    static const struct table_column columns[] = {
        {"CLASS", TABLE_RIGHT},  {"EXAMPLES", TABLE_RIGHT}, {"PRECISION", TABLE_RIGHT},
        {"RECALL", TABLE_RIGHT}, {"F1", TABLE_RIGHT},       {"AUC", TABLE_RIGHT},
        {"NAME", TABLE_LEFT},
    };
    struct table table;
    const bool named = dataset_class_name(report->names, 0) != NULL;
    table_init(&table, columns, sizeof columns / sizeof *columns - !named);
    for (uint32_t c = 0; c < report->shape.width; c++) {
        const struct class_result *result = &report->results[c];
        if (!is_listed(report, c)) { continue; }
        table_cell(&table, "%" PRIu32, c);
        table_cell(&table, "%" PRIu64, result->support);
        cell(&table, result->precision);
        cell(&table, result->recall);
        cell(&table, result->f1);
        cell(&table, result->auc);
        const char *name = dataset_class_name(report->names, c);
        if (named) { table_cell(&table, "%s", name != NULL ? name : ""); }
    }
    return table_print(&table, stdout);
}

/* A line for each class, a column for each prediction. */
static bool print_confusion(const struct evaluation_report *report)
{
    if (!class_metrics_has_confusion(report->classes)) {
        return puts("\nconfusion matrix: too many classes") >= 0;
    }
    bool printed =
        puts("\nconfusion matrix: examples of each class (line) by prediction (column)") >= 0;
    for (uint32_t label = 0; label < report->shape.width; label++) {
        for (uint32_t c = 0; c < report->shape.width; c++) {
            const uint64_t count = class_metrics_confusion(report->classes, label, c);
            printed = printf("%s%7" PRIu64, c > 0 ? " " : "", count) >= 0 && printed;
        }
        printed = puts("") >= 0 && printed;
    }
    return printed;
}

static bool print_summary(const struct evaluation_report *report)
{
    const struct class_summary *summary = &report->summary;
    const char *mean = report->shape.width > 2 ? "mean " : "";
    return printf("loss %.4f, accuracy %.4f, top %" PRIu32 " %.4f\n"
                  "%sprecision %.4f, %srecall %.4f, %sF1 %.4f, %sAUC %.4f\n\n",
                  evaluation_report_loss(report), summary->accuracy, report->top_k, summary->top_k,
                  mean, summary->precision, mean, summary->recall, mean, summary->f1, mean,
                  summary->auc) >= 0;
}

static bool print_numbers(const struct evaluation_report *report)
{
    static const struct table_column columns[] = {
        {"OUTPUT", TABLE_RIGHT}, {"MAE", TABLE_RIGHT}, {"RMSE", TABLE_RIGHT}, {"R2", TABLE_RIGHT}};
    const struct number_result all = number_metrics_all(report->numbers);
    struct table table;
    if (printf("loss %.4f, MAE %.4f, RMSE %.4f, R2 %.4f\n", evaluation_report_loss(report), all.mae,
               all.rmse, all.r2) < 0) {
        return false;
    }
    if (report->shape.width == 1) { return true; }
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < report->shape.width; i++) {
        const struct number_result result = number_metrics_of(report->numbers, i);
        table_cell(&table, "%" PRIu32, i);
        cell(&table, result.mae);
        cell(&table, result.rmse);
        cell(&table, result.r2);
    }
    return puts("") >= 0 && table_print(&table, stdout);
}

int evaluation_report_text(const struct evaluation_report *report)
{
    bool printed = printf("%s: checkpoint %" PRIu64 " (step %" PRIu64 "), %" PRIu64 " examples\n",
                          report->job, report->checkpoint, report->step, report->sum.count) >= 0;
    if (report->classes != NULL) {
        printed = print_summary(report) && print_classes(report) && printed;
        if (report->confusion) { printed = print_confusion(report) && printed; }
    } else {
        printed = print_numbers(report) && printed;
    }
    return printed ? TN_EXIT_OK : TN_EXIT_IO;
}
