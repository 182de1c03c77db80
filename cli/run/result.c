#include "cli/run/result.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "common/base/json_codec.h"
#include "data/dataset.h"

void result_init(struct result *result, const struct job *job)
{
    assert(job != NULL);
    *result = (struct result){.job = job,
                              .recoveries = json_array(),
                              .evaluations = json_array(),
                              .tables = json_array()};
}

void result_free(struct result *result)
{
    json_decref(result->recoveries);
    json_decref(result->evaluations);
    json_decref(result->tables);
    result->recoveries = result->evaluations = result->tables = NULL;
}

/* After a restore steps are evaluated again, with the same result in sync mode. */
static void note_evaluation(json_t *evaluations, const struct history_entry *entry)
{
    assert(entry->kind == HISTORY_EVALUATED);
    for (size_t i = json_array_size(evaluations); i-- > 0;) {
        const json_t *last = json_array_get(evaluations, i);
        if ((uint64_t)json_integer_value(json_object_get(last, "step")) < entry->step) { break; }
        json_array_remove(evaluations, i);
    }
    json_array_append_new(evaluations,
                          json_pack("{s:I, s:o, s:o, s:o}", "step", (json_int_t)entry->step, "loss",
                                    event_text_number(entry->loss), "accuracy",
                                    event_text_number(entry->accuracy), "metrics",
                                    metrics_json(&entry->metrics)));
}

void result_note(struct result *result, const struct history_entry *entry)
{
    if (entry->kind == HISTORY_EVALUATED) { note_evaluation(result->evaluations, entry); }
    if (entry->kind == HISTORY_RECOVERED) {
        json_array_append_new(result->recoveries, event_text_recovery_json(entry));
    }
}

void result_note_table(struct result *result, const char *name, uint64_t rows, uint64_t bytes)
{
    assert(name != NULL);
    json_array_append_new(result->tables, json_pack("{s:s, s:I, s:I}", "name", name, "rows",
                                                    (json_int_t)rows, "bytes", (json_int_t)bytes));
}

bool result_run_was_stopped(const struct run *run)
{
    return run->phase == RUN_FAILED && strcmp(run->reason, RUN_STOPPED_REASON) == 0;
}

static json_t *test_json(const struct result *result)
{
    if (!result->has_test) { return json_null(); }
    return json_pack("{s:o, s:o}", "loss", event_text_number(result->test_loss), "accuracy",
                     event_text_number(result->test_accuracy));
}

static json_t *best_json(const struct best *best)
{
    if (best->checkpoint == 0) { return json_null(); }
    return json_pack("{s:I, s:I, s:s, s:o}", "checkpoint", (json_int_t)best->checkpoint, "step",
                     (json_int_t)best->step, "metric", best_metric_names[best->metric], "value",
                     event_text_number(best->value));
}

char *result_json(const struct result *result, const struct run *run, const char *status)
{
    char digest[33];
    bool evaluated = run->evaluation.step != STEP_NONE;
    assert(status != NULL);
    uint64_t steps = cluster_recorded_step(run);
    event_text_digest(run->evaluation.digest, digest);
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:I, s:I, s:o, s:o, s:s?, s:f, s:I, s:O, s:I, s:I, s:{s:I, s:I}}",
        "version", 1, "status", status, "mode", cluster_mode_name(result->job), "steps",
        (json_int_t)steps, "examples", (json_int_t)(steps * result->job->train.batch), "loss",
        evaluated ? event_text_number(run->evaluation.loss) : json_null(), "accuracy",
        evaluated ? event_text_number(run->evaluation.accuracy) : json_null(), "parameters_digest",
        evaluated && !result->digest_unknown ? digest : NULL, "seconds", result->seconds,
        "elections", (json_int_t)run->elections, "recoveries", result->recoveries, "epoch",
        (json_int_t)run->epoch, "generation", (json_int_t)run->generation, "checkpoint", "id",
        (json_int_t)run->committed_checkpoint, "step", (json_int_t)run->committed_step);
    if (root != NULL) {
        const char *stored = result->checkpoint_digest;
        json_object_set_new(root, "checkpoint_digest", *stored ? json_string(stored) : json_null());
        json_object_set_new(root, "metrics",
                            evaluated ? metrics_json(&run->evaluation.metrics) : json_null());
        json_object_set(root, "evaluations", result->evaluations);
        json_object_set_new(root, "skipped_checkpoints",
                            json_integer((json_int_t)run->skipped_checkpoints));
    }
    if (root != NULL) { json_object_set_new(root, "best", best_json(&run->best_checkpoint)); }
    if (root != NULL) {
        json_object_set_new(root, "auc",
                            event_text_number(metrics_value(&run->evaluation.metrics, "auc")));
    }
    if (root != NULL) { json_object_set_new(root, "test", test_json(result)); }
    if (root != NULL) { json_object_set(root, "tables", result->tables); }
    const char *reason = run->phase == RUN_FAILED ? run->reason : result->damage.text;
    if (root != NULL && *reason) { json_object_set_new(root, "reason", json_text(reason)); }
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(root);
    return text;
}

char *result_text(const struct result *result, const struct run *run, const char *status)
{
    char *text = NULL, digest[33];
    size_t size = 0;
    assert(status != NULL);
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) { return NULL; }
    event_text_digest(run->evaluation.digest, digest);
    fprintf(out, "%s: %" PRIu64 " steps (%s) in %.1f s\n", status, cluster_recorded_step(run),
            cluster_mode_name(result->job), result->seconds);
    if (run->evaluation.step != STEP_NONE) {
        const char *split = dataset_split_name(dataset_evaluated_split(result->job));
        fprintf(out, "%s loss %.4f, %s accuracy %.4f; digest of the parameters %s\n", split,
                run->evaluation.loss, split, run->evaluation.accuracy,
                result->digest_unknown ? "unknown" : digest);
    }
    const double auc = metrics_value(&run->evaluation.metrics, "auc");
    if (isfinite(auc)) { fprintf(out, "AUC %.4f\n", auc); }
    fprintf(out,
            "elections: %" PRIu64 "; recoveries: %zu; last checkpoint: %" PRIu64 " (step %" PRIu64
            ")\n",
            run->elections, json_array_size(result->recoveries), run->committed_checkpoint,
            run->committed_step);
    if (result->has_test) {
        fprintf(out, "test loss %.4f, test accuracy %.4f\n", result->test_loss,
                result->test_accuracy);
    }
    const struct best *best = &run->best_checkpoint;
    if (best->checkpoint != 0) {
        fprintf(out, "best checkpoint: %" PRIu64 " (step %" PRIu64 "), %s %.4f\n", best->checkpoint,
                best->step, best_metric_names[best->metric], best->value);
    }
    if (run->skipped_checkpoints != 0) {
        fprintf(out, "skipped checkpoints: %" PRIu64 "; the log of the chief names each one\n",
                run->skipped_checkpoints);
    }
    if (*result->checkpoint_digest) {
        fprintf(out, "digest of the parameters in the last checkpoint, read from the disk: %s\n",
                result->checkpoint_digest);
    }
    if (fclose(out) == 0) { return text; }
    free(text);
    return NULL;
}
