#include "common/cluster/job_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const model_types[] = {"mlp", "softmax", "linear", NULL};
static const char *const data_types[] = {"idx", "synthetic", NULL};
static const char *const modes[] = {"sync", "async", NULL};
static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL};
static const char *const policies[] = {"continue", "restore", NULL};

#define FIELD(member) .offset = offsetof(struct job, member)
#define TEXT(key, member, is_fixed, words)                                                         \
    {                                                                                              \
        .name = key, .type = KEY_TEXT, FIELD(member), .most = sizeof((struct job *)0)->member,     \
        .fixed = is_fixed, .help = words                                                           \
    }
#define WORD(key, member, list, is_fixed, words)                                                   \
    {                                                                                              \
        .name = key, .type = KEY_WORD, FIELD(member), .most = sizeof((struct job *)0)->member,     \
        .choices = list, .fixed = is_fixed, .help = words                                          \
    }
#define CHOICE(key, member, list, is_fixed, words)                                                 \
    {                                                                                              \
        .name = key, .type = KEY_CHOICE, FIELD(member), .choices = list, .fixed = is_fixed,        \
        .help = words                                                                              \
    }
#define NUMBER(kind, key, member, low, high, is_fixed, words)                                      \
    {                                                                                              \
        .name = key, .type = kind, FIELD(member), .least = low, .most = high, .fixed = is_fixed,   \
        .help = words                                                                              \
    }

#define MANY 9e15 /* Whole numbers up to here are exact in a double, hence in JSON. */

const struct job_key job_keys[] = {
    TEXT("name", name, false, "Name of the job and of its cluster: the znode `/tanist/NAME`."),
    NUMBER(KEY_LONG, "seed", seed, 0, MANY, true,
           "Decides initial values and the order of examples. Same seed, same bits."),
    WORD("model.type", model.type, model_types, true,
         "`mlp`: hidden layers with ReLU, softmax classifier. `softmax`: softmax regression. "
         "`linear`: linear regression."),
    NUMBER(KEY_COUNT, "model.inputs", model.inputs, 1, 1 << 24, true, "Numbers per example."),
    NUMBER(KEY_COUNT, "model.outputs", model.outputs, 1, 1 << 20, true,
           "Classes; of a regression: numbers to predict."),
    {.name = "model.hidden",
     .type = KEY_COUNTS,
     FIELD(model.hidden),
     .length_offset = offsetof(struct job, model.hidden_count),
     .least = 1,
     .most = 1 << 20,
     .fixed = true,
     .help = "Widths of the hidden layers, a list: `[128]`. Of `mlp` only."},
    WORD("data.type", data.type, data_types, true,
         "`idx`: images and labels in IDX form, gzip'ed or not. `synthetic`: drawn from the seed."),
    TEXT("data.path", data.path, true,
         "Folder with `train-images-idx3-ubyte[.gz]` and the other three files."),
    NUMBER(KEY_COUNT, "data.examples", data.examples, 1, 1 << 30, true,
           "Training examples. Of `synthetic` only."),
    NUMBER(KEY_COUNT, "data.test_examples", data.test_examples, 1, 1 << 30, true,
           "Test examples. Of `synthetic` only."),
    NUMBER(
        KEY_REAL, "data.noise", data.noise, 0, 1e6, true,
        "Standard deviation of the noise: of a regression on the targets, of a classifier on the "
        "inputs. Of `synthetic` only."),
    CHOICE("train.mode", train.mode, modes, true,
           "`sync`: each step sums all slices of one global batch; the result does not depend on "
           "failures. `async`: each worker's gradient is applied at once."),
    NUMBER(KEY_LONG, "train.steps", train.steps, 1, MANY, false,
           "Updates of the parameters until the job is done."),
    NUMBER(KEY_COUNT, "train.batch", train.batch, 1, 1 << 24, true,
           "Examples per step, all workers together. A multiple of `train.slices`."),
    NUMBER(KEY_COUNT, "train.slices", train.slices, 1, 256, true,
           "Equal parts of a batch: the most workers that can share a step."),
    CHOICE("train.optimizer", train.optimizer, optimizers, true, "How a gradient is applied."),
    NUMBER(KEY_REAL, "train.learning_rate", train.learning_rate, 1e-12, 1e6, true, "Step size."),
    NUMBER(KEY_LONG, "train.decay_steps", train.decay_steps, 0, MANY, true,
           "The learning rate falls in a straight line and reaches `train.final_learning_rate` at "
           "this step, then stays; 0: it is the same at all steps."),
    NUMBER(KEY_REAL, "train.final_learning_rate", train.final_learning_rate, 0, 1e6, true,
           "See `train.decay_steps`."),
    NUMBER(KEY_REAL, "train.momentum", train.momentum, 0, 0.999999, true, "Of `momentum`."),
    NUMBER(KEY_REAL, "train.beta1", train.beta1, 0, 0.999999, true, "Of `adam`."),
    NUMBER(KEY_REAL, "train.beta2", train.beta2, 0, 0.999999, true, "Of `adam`."),
    NUMBER(KEY_REAL, "train.epsilon", train.epsilon, 1e-30, 1, true, "Of `adam`."),
    NUMBER(KEY_OR_NONE, "train.max_staleness", train.max_staleness, 0, MANY, false,
           "Async: how many updates a worker's parameters may be behind when its gradient is "
           "applied; 0: lock step; `none`: no bound."),
    NUMBER(KEY_REAL, "train.target_accuracy", train.target_accuracy, 0, 1, false,
           "Stop early when the test accuracy reaches this; 0: train all steps. Looked at when "
           "evaluated: see `evaluate.every_steps`."),
    NUMBER(KEY_LONG, "evaluate.every_steps", evaluate.every_steps, 0, MANY, false,
           "Evaluate on the test set every so many steps; 0: only at the end."),
    NUMBER(KEY_LONG, "checkpoint.every_steps", checkpoint.every_steps, 0, MANY, false,
           "Checkpoint every so many steps; 0: not by steps."),
    NUMBER(KEY_LONG, "checkpoint.every_seconds", checkpoint.every_seconds, 0, 1e6, false,
           "Checkpoint every so many seconds; 0: not by time. There is always one at the end."),
    NUMBER(KEY_COUNT, "checkpoint.keep", checkpoint.keep, 1, 1000, false,
           "Committed checkpoints that stay on disk."),
    NUMBER(KEY_COUNT, "cluster.coordinators", cluster.coordinators, 1, COORDINATORS_MAX, false,
           "Candidates for chief: one rules, the others wait to take over."),
    NUMBER(KEY_COUNT, "cluster.ps", cluster.ps, 1, PS_MAX, true,
           "Parameter servers; each owns one range of the parameters."),
    NUMBER(KEY_COUNT, "cluster.workers", cluster.workers, 1, WORKERS_MAX, false,
           "Workers. At most `train.slices` of them have work in sync mode."),
    NUMBER(KEY_COUNT, "cluster.min_workers", cluster.min_workers, 1, WORKERS_MAX, false,
           "Workers that must be there before training starts."),
    NUMBER(KEY_COUNT, "zookeeper.servers", zookeeper.servers, 1, 3, false,
           "Servers of the ensemble that `tanist run` starts: 1 or 3."),
    NUMBER(
        KEY_COUNT, "zookeeper.session_timeout_ms", zookeeper.session_timeout_ms, 200, 600000, false,
        "Silence after which ZooKeeper takes a node for dead (host loss, freeze). A process that "
        "dies is noticed at once, whatever this is."),
    CHOICE("on_chief_failure", on_chief_failure, policies, false,
           "`continue`: workers train on while the next chief takes office. `restore`: they pause, "
           "and all ps restore the last committed checkpoint."),
};
const size_t job_key_count = sizeof job_keys / sizeof *job_keys;

const struct job_key *job_key_find(const char *name)
{
    for (size_t i = 0; i < job_key_count; i++) {
        if (strcmp(job_keys[i].name, name) == 0) { return &job_keys[i]; }
    }
    return NULL;
}

/* The value as the user wrote it, cut short. */
static void value_text(const json_t *value, char text[static 64])
{
    size_t size = json_dumpb(value, text, 63, JSON_ENCODE_ANY | JSON_COMPACT);
    if (size > 63) { memcpy(text + 59, "...", 4); }
    text[size > 63 ? 62 : size] = '\0';
}

static enum tn_status refuse(const struct job_key *key, const json_t *value, const char *expected,
                             struct error *error)
{
    char text[64];
    value_text(value, text);
    return error_set(error, TN_EINVAL, "%s is %s: give %s", key->name, text, expected);
}

static enum tn_status assign_choice(const struct job_key *key, const json_t *value, void *field,
                                    struct error *error)
{
    char expected[128] = "";
    size_t length = 0;
    const char *text = json_string_value(value);
    for (int i = 0; key->choices[i] != NULL; i++) {
        if (text != NULL && strcmp(text, key->choices[i]) == 0) {
            if (key->type == KEY_WORD) {
                memcpy(field, text, strlen(text) + 1);
            } else {
                memcpy(field, &i, sizeof i);
            }
            return TN_OK;
        }
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%s\"%s\"",
                                   i == 0 ? "" : " or ", key->choices[i]);
    }
    return refuse(key, value, expected, error);
}

static enum tn_status assign_text(const struct job_key *key, const json_t *value, char *field,
                                  struct error *error)
{
    char expected[64];
    const char *text = json_string_value(value);
    size_t length = text != NULL ? json_string_length(value) : 0;
    if (text != NULL && strlen(text) == length && length + 1 <= (size_t)key->most) {
        memcpy(field, text, length + 1);
        return TN_OK;
    }
    snprintf(expected, sizeof expected, "a text of at most %.0f bytes", key->most - 1);
    return refuse(key, value, expected, error);
}

/* Also "1e3", which JSON makes a real, is a whole number. */
static bool number_within(const struct job_key *key, const json_t *value, double *out)
{
    if (!json_is_number(value)) { return false; }
    *out = json_number_value(value);
    if (key->type != KEY_REAL && *out != floor(*out)) { return false; }
    return *out >= key->least && *out <= key->most;
}

static enum tn_status assign_number(const struct job_key *key, const json_t *value, void *field,
                                    struct error *error)
{
    double number = 0;
    const char *text = json_string_value(value);
    bool none = key->type == KEY_OR_NONE && text != NULL && strcmp(text, "none") == 0;
    if (!none && !number_within(key, value, &number)) {
        char expected[96];
        snprintf(expected, sizeof expected, "a %snumber from %.10g to %.16g%s",
                 key->type == KEY_REAL ? "" : "whole ", key->least, key->most,
                 key->type == KEY_OR_NONE ? ", or \"none\"" : "");
        return refuse(key, value, expected, error);
    }
    if (key->type == KEY_REAL) {
        memcpy(field, &number, sizeof number);
    } else if (key->type == KEY_COUNT) {
        uint32_t count = (uint32_t)number;
        memcpy(field, &count, sizeof count);
    } else {
        uint64_t count = none ? UINT64_MAX : (uint64_t)number;
        memcpy(field, &count, sizeof count);
    }
    return TN_OK;
}

static enum tn_status assign_counts(const struct job_key *key, const json_t *value, char *job,
                                    struct error *error)
{
    uint32_t counts[JOB_HIDDEN_MAX] = {0}, length = (uint32_t)json_array_size(value);
    bool good = json_is_array(value) && json_array_size(value) <= JOB_HIDDEN_MAX;
    for (uint32_t i = 0; good && i < length; i++) {
        double number = 0;
        good = number_within(key, json_array_get(value, i), &number);
        counts[i] = good ? (uint32_t)number : 0;
    }
    if (!good) {
        return refuse(key, value, "a list of at most 8 whole numbers, like [128]", error);
    }
    memcpy(job + key->offset, counts, sizeof counts);
    memcpy(job + key->length_offset, &length, sizeof length);
    return TN_OK;
}

enum tn_status job_key_assign(const struct job_key *key, const json_t *value, struct job *job,
                              struct error *error)
{
    char *base = (char *)job;
    switch (key->type) {
    case KEY_TEXT: return assign_text(key, value, base + key->offset, error);
    case KEY_CHOICE:
    case KEY_WORD: return assign_choice(key, value, base + key->offset, error);
    case KEY_COUNTS: return assign_counts(key, value, base, error);
    case KEY_COUNT:
    case KEY_LONG:
    case KEY_OR_NONE:
    case KEY_REAL: return assign_number(key, value, base + key->offset, error);
    }
    return error_set(error, TN_EINTERNAL, "%s has no type", key->name);
}

static json_t *counts_value(const struct job_key *key, const char *job)
{
    uint32_t counts[JOB_HIDDEN_MAX], length;
    memcpy(counts, job + key->offset, sizeof counts);
    memcpy(&length, job + key->length_offset, sizeof length);
    json_t *list = json_array();
    for (uint32_t i = 0; list != NULL && i < length; i++) {
        if (json_array_append_new(list, json_integer(counts[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *job_key_value(const struct job_key *key, const struct job *job)
{
    const char *base = (const char *)job, *field = base + key->offset;
    uint32_t count;
    uint64_t number = 0;
    double real;
    int choice;
    switch (key->type) {
    case KEY_TEXT:
    case KEY_WORD: return json_string(field);
    case KEY_COUNTS: return counts_value(key, base);
    case KEY_CHOICE:
        memcpy(&choice, field, sizeof choice);
        return json_string(key->choices[choice]);
    case KEY_COUNT: memcpy(&count, field, sizeof count); return json_integer(count);
    case KEY_REAL: memcpy(&real, field, sizeof real); return json_real(real);
    case KEY_LONG:
    case KEY_OR_NONE: memcpy(&number, field, sizeof number); break;
    }
    return number == UINT64_MAX ? json_string("none") : json_integer((json_int_t)number);
}
