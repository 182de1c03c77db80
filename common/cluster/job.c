#include "common/cluster/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/nearest.h"
#include "common/cluster/job_keys.h"

enum { KEYS_MAX = 64, KEY_NAME_MAX = 96 };

void job_init(struct job *job)
{
    *job = (struct job){
        .name = "job",
        .seed = 1,
        .model = {.type = "mlp", .inputs = 784, .outputs = 10, .hidden_count = 1, .hidden = {128}},
        .data = {.type = "idx",
                 .path = "/usr/share/datasets/fashion-mnist",
                 .examples = 4096,
                 .test_examples = 1024,
                 .noise = 0.1},
        .train = {.mode = TRAIN_SYNC,
                  .steps = 1000,
                  .batch = 64,
                  .slices = 8,
                  .optimizer = OPTIMIZER_SGD,
                  .learning_rate = 0.1,
                  .momentum = 0.9,
                  .beta1 = 0.9,
                  .beta2 = 0.999,
                  .epsilon = 1e-8,
                  .max_staleness = STALENESS_FREE},
        .checkpoint = {.every_steps = 0, .every_seconds = 10, .keep = 3},
        .cluster = {.coordinators = 2, .ps = 2, .workers = 2, .min_workers = 1},
        .zookeeper = {.servers = 3, .session_timeout_ms = 4000},
        .on_chief_failure = CHIEF_FAILURE_CONTINUE,
    };
}

/* ------------------------------------------------------------- reading */

/* "train" is a section: some key begins with "train.". */
static bool is_section(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < job_key_count; i++) {
        if (strncmp(job_keys[i].name, name, length) == 0 && job_keys[i].name[length] == '.') {
            return true;
        }
    }
    return false;
}

static enum tn_status refuse_key(const char *name, struct error *error)
{
    const char *names[KEYS_MAX];
    size_t count = job_key_count < KEYS_MAX ? job_key_count : KEYS_MAX;
    for (size_t i = 0; i < count; i++) { names[i] = job_keys[i].name; }
    const char *near = nearest_word(name, names, count);
    if (near != NULL) {
        return error_set(error, TN_EINVAL, "unknown key \"%s\": did you mean \"%s\"?", name, near);
    }
    return error_set(error, TN_EINVAL, "unknown key \"%s\": `tanist help job` lists all keys",
                     name);
}

/* Keys of one object; `section` is "" or "train". */
static enum tn_status read_object(struct job *job, const json_t *object, const char *section,
                                  struct error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        char full[KEY_NAME_MAX];
        snprintf(full, sizeof full, "%s%s%s", section, *section ? "." : "", name);
        const struct job_key *key = job_key_find(full);
        enum tn_status status;
        if (key != NULL) {
            status = job_key_assign(key, value, job, error);
        } else if (*section || !is_section(full)) {
            status = refuse_key(full, error);
        } else if (!json_is_object(value)) {
            status =
                error_set(error, TN_EINVAL, "\"%s\" is a section: give an object { ... }", full);
        } else {
            status = read_object(job, value, full, error);
        }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status job_read_text(struct job *job, const char *text, size_t size, const char *source,
                             struct error *error)
{
    json_error_t where;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        return error_set(error, TN_EINVAL, "%s: line %d, column %d: not valid JSON: %s", source,
                         where.line, where.column, where.text);
    }
    struct job read = *job;
    enum tn_status status = TN_OK;
    if (!json_is_object(root)) {
        status = error_set(error, TN_EINVAL, "%s: a job file is one JSON object { ... }", source);
    } else if ((status = read_object(&read, root, "", error)) != TN_OK) {
        (void)error_context(error, "%s", source);
    }
    if (status == TN_OK) { *job = read; }
    json_decref(root);
    return status;
}

static enum tn_status errno_status(int number)
{
    return number == ENOENT ? TN_ENOENT : TN_EIO;
}

enum tn_status job_read_file(struct job *job, const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return error_set(error, errno_status(errno), "cannot open the job file %s: %s", path,
                         strerror(errno));
    }
    char *text = malloc(JOB_FILE_MAX + 1);
    size_t size = text != NULL ? fread(text, 1, JOB_FILE_MAX + 1, file) : 0;
    enum tn_status status;
    if (text == NULL) {
        status = error_set(error, TN_ENOMEM, "%s: out of memory", path);
    } else if (ferror(file)) {
        status = error_set(error, TN_EIO, "cannot read the job file %s: %s", path, strerror(errno));
    } else if (size > JOB_FILE_MAX) {
        status = error_set(error, TN_EINVAL, "%s is larger than 1 MiB: that is no job file", path);
    } else {
        status = job_read_text(job, text, size, path, error);
    }
    free(text);
    fclose(file);
    return status;
}

/* A value of --set as JSON: words need no quotes, lists no brackets. */
static json_t *value_from_flag(const struct job_key *key, const char *text)
{
    char list[256];
    bool word = key->type == KEY_TEXT || key->type == KEY_WORD || key->type == KEY_CHOICE;
    if (word) { return json_string(text); }
    if (key->type == KEY_COUNTS && *text != '[') {
        int length = snprintf(list, sizeof list, "[%s]", text);
        if (length > 0 && (size_t)length < sizeof list) { text = list; }
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    return value != NULL ? value : json_string(text);
}

enum tn_status job_set(struct job *job, const char *assignment, struct error *error)
{
    char name[KEY_NAME_MAX];
    const char *equals = strchr(assignment, '=');
    size_t length = equals != NULL ? (size_t)(equals - assignment) : 0;
    if (length == 0 || length >= sizeof name) {
        return error_set(error, TN_EINVAL,
                         "\"%s\" is no assignment: give key=value, like "
                         "train.steps=500",
                         assignment);
    }
    memcpy(name, assignment, length);
    name[length] = '\0';
    const struct job_key *key = job_key_find(name);
    if (key == NULL) { return refuse_key(name, error); }
    json_t *value = value_from_flag(key, equals + 1);
    if (value == NULL) {
        return error_set(error, TN_EINVAL, "%s: the value is not valid UTF-8", name);
    }
    enum tn_status status = job_key_assign(key, value, job, error);
    json_decref(value);
    return status;
}

/* ------------------------------------------------------------- checking */

static enum tn_status check_cluster(const struct job *job, struct error *error)
{
    if (job->cluster.min_workers > job->cluster.workers) {
        return error_set(error, TN_EINVAL,
                         "cluster.min_workers is %u but cluster.workers only %u: training could "
                         "never start; lower it",
                         job->cluster.min_workers, job->cluster.workers);
    }
    if (job->zookeeper.servers == 2) {
        return error_set(error, TN_EINVAL,
                         "zookeeper.servers is 2: two servers survive no failure; give 1 or 3");
    }
    return TN_OK;
}

static enum tn_status check_model(const struct job *job, struct error *error)
{
    bool mlp = strcmp(job->model.type, "mlp") == 0;
    if (mlp && job->model.hidden_count == 0) {
        return error_set(error, TN_EINVAL,
                         "model.hidden is empty: an mlp needs at least one hidden "
                         "layer; without one use model.type \"softmax\"");
    }
    if (strcmp(job->model.type, "linear") != 0 && job->model.outputs < 2) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %u: a classifier tells at least 2 classes apart",
                         job->model.outputs);
    }
    if (strcmp(job->data.type, "idx") == 0 && job->data.path[0] == '\0') {
        return error_set(error, TN_EINVAL, "data.path is empty: give the folder of the IDX files");
    }
    if (strcmp(job->model.type, "linear") == 0 && strcmp(job->data.type, "idx") == 0) {
        return error_set(error, TN_EINVAL,
                         "model.type is \"linear\" but the labels of \"idx\" data "
                         "are classes: use \"softmax\" or \"mlp\"");
    }
    return TN_OK;
}

enum tn_status job_check(const struct job *job, struct error *error)
{
    enum tn_status status = cluster_name_check(job->name, error);
    if (status != TN_OK) { return error_context(error, "name"); }
    if (job->train.batch % job->train.slices != 0) {
        return error_set(error, TN_EINVAL,
                         "train.batch is %u, no multiple of train.slices (%u): slices are equal "
                         "parts; give %u",
                         job->train.batch, job->train.slices,
                         (job->train.batch / job->train.slices + 1) * job->train.slices);
    }
    if ((status = check_cluster(job, error)) != TN_OK) { return status; }
    return check_model(job, error);
}

/* ------------------------------------------------------------- writing */

/* The object that `key` lives in, made when absent, and its name there. */
static json_t *section_of(json_t *root, const struct job_key *key, const char **leaf)
{
    char section[KEY_NAME_MAX];
    const char *dot = strchr(key->name, '.');
    *leaf = dot != NULL ? dot + 1 : key->name;
    if (dot == NULL) { return root; }
    snprintf(section, sizeof section, "%.*s", (int)(dot - key->name), key->name);
    json_t *object = json_object_get(root, section);
    if (object != NULL) { return object; }
    return json_object_set_new(root, section, json_object()) == 0 ? json_object_get(root, section)
                                                                  : NULL;
}

static char *to_json(const struct job *job, bool fixed_only, size_t flags)
{
    json_t *root = json_object();
    bool good = root != NULL;
    for (size_t i = 0; good && i < job_key_count; i++) {
        const struct job_key *key = &job_keys[i];
        const char *leaf = NULL;
        if (fixed_only && !key->fixed) { continue; }
        json_t *object = section_of(root, key, &leaf);
        good = object != NULL && json_object_set_new(object, leaf, job_key_value(key, job)) == 0;
    }
    char *text = good ? json_dumps(root, flags) : NULL;
    json_decref(root);
    return text;
}

char *job_to_json(const struct job *job)
{
    return to_json(job, false, JSON_INDENT(2));
}

uint64_t job_hash(const struct job *job)
{
    char *text = to_json(job, true, JSON_COMPACT);
    uint64_t hash = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    return hash;
}

static void key_text(const struct job_key *key, const struct job *job, char text[static 96])
{
    json_t *value = job_key_value(key, job);
    size_t size = value != NULL ? json_dumpb(value, text, 95, JSON_ENCODE_ANY | JSON_COMPACT) : 0;
    text[size < 95 ? size : 95] = '\0';
    json_decref(value);
}

bool job_difference(const struct job *a, const struct job *b, char *text, size_t size)
{
    for (size_t i = 0; i < job_key_count; i++) {
        char there[96], here[96];
        if (!job_keys[i].fixed) { continue; }
        key_text(&job_keys[i], a, there);
        key_text(&job_keys[i], b, here);
        if (strcmp(there, here) == 0) { continue; }
        snprintf(text, size, "%s is %s there and %s here", job_keys[i].name, there, here);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------- the reference */

static void print_allowed(FILE *out, const struct job_key *key)
{
    switch (key->type) {
    case KEY_TEXT: fprintf(out, "text"); break;
    case KEY_WORD:
    case KEY_CHOICE:
        for (int i = 0; key->choices[i] != NULL; i++) {
            fprintf(out, "%s`%s`", i == 0 ? "" : ", ", key->choices[i]);
        }
        break;
    case KEY_COUNTS: fprintf(out, "list of at most %d whole numbers", JOB_HIDDEN_MAX); break;
    case KEY_REAL: fprintf(out, "%g to %g", key->least, key->most); break;
    case KEY_OR_NONE: fprintf(out, "%.0f or more, or `none`", key->least); break;
    case KEY_COUNT:
    case KEY_LONG:
        if (key->most >= 1e15) {
            fprintf(out, "%.0f or more", key->least);
        } else {
            fprintf(out, "%.0f to %.0f", key->least, key->most);
        }
        break;
    }
}

char *job_reference(void)
{
    char *text = NULL;
    size_t size = 0;
    struct job defaults;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) { return NULL; }
    job_init(&defaults);
    fprintf(out, "| key | allowed | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < job_key_count; i++) {
        char value[96];
        key_text(&job_keys[i], &defaults, value);
        fprintf(out, "| `%s`%s | ", job_keys[i].name, job_keys[i].fixed ? " *" : "");
        print_allowed(out, &job_keys[i]);
        fprintf(out, " | `%s` | %s |\n", value, job_keys[i].help);
    }
    if (fclose(out) == 0) { return text; }
    free(text);
    return NULL;
}
