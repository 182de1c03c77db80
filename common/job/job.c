#include "common/job/job.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/files.h"
#include "common/base/json_reals.h"
#include "common/base/utf8.h"
#include "common/cluster/row_borders.h"
#include "common/job/job_data.h"
#include "common/job/job_embeddings.h"
#include "common/job/job_keys.h"
#include "common/job/job_model.h"
#include "common/job/job_schedule.h"
#include "common/job/job_strategy.h"
#include "common/job/strategy.h"

enum { KEY_NAME_MAX = 96, KEY_TEXT_MAX = 96, MLP_WIDTH = 128 };

/* Hidden layers that the user did not give are those of the type: one of an mlp, none of others. */
static void settle_hidden(struct job *job)
{
    assert(job->model.hidden_count <= JOB_HIDDEN_MAX);
    if (job->model.hidden_given) { return; }
    memset(job->model.hidden, 0, sizeof job->model.hidden);
    job->model.hidden_count = strcmp(job->model.type, "mlp") == 0;
    if (job->model.hidden_count > 0) { job->model.hidden[0] = MLP_WIDTH; }
}

/* The defaults of a program with a model of its own; the name is "" in any other. */
static struct job program_defaults;

static void init_plain(struct job *job)
{
    *job = (struct job){
        .name = "job",
        .seed = 1,
        .model = {.type = "mlp",
                  .symbol = "tanist_model",
                  .inputs = 784,
                  .outputs = 10,
                  .hidden_count = 1,
                  .hidden = {MLP_WIDTH}},
        .data = {.type = "idx",
                 .path = "/usr/share/datasets/fashion-mnist",
                 .examples = 4096,
                 .test_examples = 1024,
                 .noise = 0.1},
        .train = {.mode = TRAIN_SYNC,
                  .kernels = JOB_KERNELS_PORTABLE,
                  .gpus = 1,
                  .steps = 1000,
                  .batch = 64,
                  .slices = 8,
                  .optimizer = OPTIMIZER_SGD,
                  .table_optimizer = TABLE_AUTO,
                  .ftrl_beta = 1,
                  .learning_rate = 0.1,
                  .momentum = 0.9,
                  .beta1 = 0.9,
                  .beta2 = 0.999,
                  .rho = 0.9,
                  .epsilon = 1e-8,
                  .trust = 0.001,
                  .schedule = {.type = SCHEDULE_LINEAR},
                  .max_staleness = STALENESS_FREE,
                  .same_bits = true},
        .checkpoint = {.every_steps = 0, .every_seconds = 10, .keep = 3},
        .metrics = {.every_steps = 100, .summaries = true, .histograms = true},
        .strategy = {.members = 2, .keep_sums = 1},
        .cluster =
            {.coordinators = 2, .ps = 2, .workers = 2, .min_workers = 1, .workers_per_process = 1},
        .zookeeper = {.servers = 3, .session_timeout_ms = 4000},
        .on_chief_failure = CHIEF_FAILURE_CONTINUE,
    };
}

bool job_has_program(void)
{
    return program_defaults.name[0] != '\0';
}

void job_init(struct job *job)
{
    if (job_has_program()) {
        *job = program_defaults;
    } else {
        init_plain(job);
    }
}

enum tn_status job_set_program(const char *name, const char *text, struct error *error)
{
    struct job job;
    assert(name != NULL && text != NULL);
    enum tn_status status = cluster_name_check(name, error);
    if (status != TN_OK) { return status; }
    init_plain(&job);
    snprintf(job.name, sizeof job.name, "%s", name);
    strcpy(job.model.type, "program");
    settle_hidden(&job);
    status = job_read_text(&job, text, strlen(text), "the program's defaults", error);
    if (status == TN_OK) { program_defaults = job; }
    return status;
}

void job_init_existing(struct job *job)
{
    job_init(job);
    job->train.kernels = JOB_KERNELS_OPENBLAS;
}

/* ------------------------------------------------------------- reading */

/* At once, because the name is also that of the folder. */
static enum tn_status check_name(const struct job *job, struct error *error)
{
    enum tn_status status = cluster_name_check(job->name, error);
    return status == TN_OK ? TN_OK : error_context(error, "name");
}

/* Whether a job file has a key of the model, in its section or with its full name. */
static bool names_key(const json_t *root, const char *full, const char *key)
{
    return json_object_get(root, full) != NULL ||
           json_object_get(json_object_get(root, "model"), key) != NULL;
}

static enum tn_status refuse_json(const char *source, const json_error_t *where,
                                  struct error *error)
{
    if (json_error_code(where) == json_error_numeric_overflow) {
        return error_set(error, TN_EINVAL,
                         "%s: line %d, column %d: a number is out of range (%s): whole numbers end "
                         "at %" PRId64 ", others at 1.7e308",
                         source, where->line, where->column, where->text, INT64_MAX);
    }
    return error_set(error, TN_EINVAL, "%s: line %d, column %d: not valid JSON: %s", source,
                     where->line, where->column, where->text);
}

enum tn_status job_read_text(struct job *job, const char *text, size_t size, const char *source,
                             struct error *error)
{
    assert(text != NULL && source != NULL);
    static const char order_mark[] = "\xef\xbb\xbf"; /* Some editors begin a file with it. */
    const size_t mark = sizeof order_mark - 1;
    const bool marked = size >= mark && memcmp(text, order_mark, mark) == 0;
    json_error_t where;
    json_t *root = json_loadb(marked ? text + mark : text, marked ? size - mark : size,
                              JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) { return refuse_json(source, &where, error); }
    struct job read = *job;
    enum tn_status status = json_codec_read(&job_keys, root, "", &read, error);
    if (status == TN_OK) { status = check_name(&read, error); }
    if (status == TN_OK) {
        if (names_key(root, "model.hidden", "hidden")) { read.model.hidden_given = true; }
        if (names_key(root, "model.inputs", "inputs")) { read.model.inputs_given = true; }
        if (names_key(root, "model.embeddings", "embeddings")) {
            read.model.embeddings_given = true;
        }
        settle_hidden(&read);
        *job = read;
    } else {
        (void)error_context(error, "%s", source);
    }
    json_decref(root);
    return status;
}

/* A file that the user may not read, or a folder, is a wrong argument. */
static enum tn_status errno_status(int number)
{
    if (number == ENOENT || number == ENOTDIR) { return TN_ENOENT; }
    return number == EACCES || number == EISDIR ? TN_EINVAL : files_status_of(number);
}

enum tn_status job_read_file(struct job *job, const char *path, struct error *error)
{
    assert(path != NULL);
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
        status = error_set(error, errno_status(errno), "cannot read the job file %s: %s", path,
                           strerror(errno));
    } else if (size > JOB_FILE_MAX) {
        status = error_set(error, TN_EINVAL, "%s is larger than 1 MiB: it is not a job file", path);
    } else {
        status = job_read_text(job, text, size, path, error);
    }
    free(text);
    fclose(file);
    return status;
}

/* A value of --set as JSON: texts need no quotes, lists no brackets. */
static json_t *value_from_flag(const struct json_field *key, const char *text)
{
    char list[256];
    bool is_text = key->type == FIELD_TEXT || key->type == FIELD_CHOICE || key->type == FIELD_ENUM;
    if (is_text) { return json_string(text); }
    if (key->type == FIELD_LIST && *text != '[') {
        int length = snprintf(list, sizeof list, "[%s]", text);
        if (length > 0 && (size_t)length < sizeof list) { text = list; }
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    return value != NULL ? value : json_string(text);
}

enum tn_status job_set(struct job *job, const char *assignment, struct error *error)
{
    assert(assignment != NULL);
    char name[KEY_NAME_MAX];
    const char *equals = strchr(assignment, '=');
    size_t length = equals != NULL ? (size_t)(equals - assignment) : 0;
    if (length == 0 || length >= sizeof name) {
        return error_set(error, TN_EINVAL,
                         "\"%s\" is not an assignment: give key=value, like train.steps=500",
                         assignment);
    }
    memcpy(name, assignment, length);
    name[length] = '\0';
    const struct json_field *key = json_codec_find(&job_keys, name);
    if (key == NULL) { return json_codec_refuse_key(&job_keys, "", name, error); }
    if (!utf8_is_valid(equals + 1)) {
        return error_set(error, TN_EINVAL, "%s: the value is not valid UTF-8", name);
    }
    json_t *value = value_from_flag(key, equals + 1);
    if (value == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    struct job changed = *job;
    enum tn_status status = json_codec_read_field(&job_keys, key, value, "", &changed, error);
    if (status == TN_OK) { status = check_name(&changed, error); }
    if (status == TN_OK) {
        if (strcmp(name, "model.hidden") == 0) { changed.model.hidden_given = true; }
        if (strcmp(name, "model.inputs") == 0) { changed.model.inputs_given = true; }
        if (strcmp(name, "model.embeddings") == 0) { changed.model.embeddings_given = true; }
        if (strcmp(name, "model.type") == 0) { settle_hidden(&changed); }
        *job = changed;
    }
    json_decref(value);
    return status;
}

/* ------------------------------------------------------------- checking */

static enum tn_status check_cluster(const struct job *job, struct error *error)
{
    if (job->cluster.min_workers > job_workers_least(job)) {
        return error_set(error, TN_EINVAL,
                         "cluster.min_workers is %" PRIu32 ", but cluster.workers %s %" PRIu32
                         ": training would never start; lower it",
                         job->cluster.min_workers,
                         job->cluster.workers_least != 0 ? "begins at" : "only",
                         job_workers_least(job));
    }
    if (job->zookeeper.servers == 2) {
        return error_set(error, TN_EINVAL,
                         "zookeeper.servers is 2: two servers tolerate no failure; give 1 or 3");
    }
    if (job->cluster.evaluators > 0 && job->checkpoint.every_steps == 0 &&
        job->checkpoint.every_seconds == 0) {
        return error_set(error, TN_EINVAL,
                         "cluster.evaluators is %" PRIu32
                         ", but there is no checkpoint before the end to evaluate: give "
                         "checkpoint.every_steps or checkpoint.every_seconds",
                         job->cluster.evaluators);
    }
    return TN_OK;
}

/* Each evaluation is of a step that has a checkpoint, too. */
static enum tn_status check_best(const struct job *job, struct error *error)
{
    const uint64_t evaluate = job->evaluate.every_steps, save = job->checkpoint.every_steps;
    if (job->checkpoint.best == BEST_NONE || job->cluster.evaluators > 0) { return TN_OK; }
    if (!strategy_of_job(job)->exact_steps) {
        return error_set(error, TN_EINVAL,
                         "checkpoint.best needs train.mode sync: in async mode checkpoints do not "
                         "have the values that were evaluated");
    }
    if (evaluate != 0 && save != 0 && evaluate % save == 0) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "checkpoint.best needs checkpoints of the steps that are evaluated: "
                     "evaluate.every_steps is %" PRIu64
                     ", not a multiple of checkpoint.every_steps (%" PRIu64 "); give equal numbers",
                     evaluate, save);
}

enum tn_status job_check(const struct job *job, struct error *error)
{
    assert(job->train.slices > 0);
    enum tn_status status = check_name(job, error);
    if (status != TN_OK) { return status; }
    if (job->train.batch % job->train.slices != 0) {
        return error_set(error, TN_EINVAL,
                         "train.batch is %" PRIu32 ", not a multiple of train.slices (%" PRIu32
                         "): slices are equal parts; give %" PRIu32,
                         job->train.batch, job->train.slices,
                         (job->train.batch / job->train.slices + 1) * job->train.slices);
    }
    if (job->train.stop_patience > 0 && job->evaluate.every_steps == 0 &&
        job->cluster.evaluators == 0) {
        return error_set(
            error, TN_EINVAL,
            "train.stop.patience is %" PRIu64 ", but evaluate.every_steps is 0: there "
            "is one evaluation, at the end; give evaluate.every_steps, or an evaluator",
            job->train.stop_patience);
    }
    if ((status = job_check_strategy(job, error)) != TN_OK) { return status; }
    if ((status = check_best(job, error)) != TN_OK) { return status; }
    if ((status = check_cluster(job, error)) != TN_OK) { return status; }
    if ((status = job_check_data(job, error)) != TN_OK) { return status; }
    if ((status = job_check_schedule(job, error)) != TN_OK) { return status; }
    if ((status = job_check_embeddings(job, error)) != TN_OK) { return status; }
    return job_check_model(job, error);
}

/* ------------------------------------------------------------- writing */

/* The keys that feature columns decide (data/job_columns.h), and did not yet, are not written. */
static void leave_out_unsettled(const struct job *job, json_t *root)
{
    json_t *model = json_object_get(root, "model");
    if (!job_has_rows(job)) { return; }
    if (!job->model.inputs_given) { (void)json_object_del(model, "inputs"); }
    if (!job->model.embeddings_given) { (void)json_object_del(model, "embeddings"); }
}

/* So the hash of a job with float32 is that of a program that knows nothing else. */
static void leave_out_precision(const struct job *job, json_t *train)
{
    if (job->train.precision == JOB_PRECISION_FLOAT32) {
        (void)json_object_del(train, "precision");
    }
}

static char *to_json(const struct job *job, unsigned tags, size_t flags)
{
    assert(job != NULL);
    json_t *root = json_object();
    bool built = root != NULL && json_codec_build(&job_keys, job, tags, root);
    if (built && tags == 0) { leave_out_unsettled(job, root); }
    /* So the hash of a job without borders is that of a program that does not know them. */
    row_borders_leave_out(&job->placement.rows, json_object_get(root, "placement"), "buckets");
    if (tags == JOB_KEY_FIXED) { leave_out_precision(job, json_object_get(root, "train")); }
    char *text = built ? json_dumps(root, flags) : NULL;
    json_decref(root);
    return text;
}

char *job_to_json(const struct job *job)
{
    char *text = to_json(job, 0, JSON_INDENT(2));
    if (text != NULL) { json_reals_shorten(text); }
    return text;
}

uint64_t job_hash(const struct job *job)
{
    char *text = to_json(job, JOB_KEY_FIXED, JSON_COMPACT);
    uint64_t hash = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    return hash;
}

/* The part of `text` from `first` on, cut short. */
static void cut_text(const char *text, size_t first, char out[static KEY_TEXT_MAX])
{
    int length = snprintf(out, KEY_TEXT_MAX, "%s%s", first > 0 ? "..." : "", text + first);
    if (length >= KEY_TEXT_MAX) { memcpy(out + KEY_TEXT_MAX - sizeof "...", "...", sizeof "..."); }
    utf8_clean(out);
}

/* Where to begin to show two values, so that their first difference is seen. */
static size_t first_shown(const char *a, const char *b)
{
    enum { CONTEXT = 24 };
    size_t same = 0;
    assert(a != NULL && b != NULL);
    while (a[same] != '\0' && a[same] == b[same]) { same++; }
    return same > KEY_TEXT_MAX / 2 ? same - CONTEXT : 0;
}

/* Whether the values of a key differ, and both, cut short. */
static bool key_differs(const struct json_field *key, const struct job *a, const struct job *b,
                        char there[static KEY_TEXT_MAX], char here[static KEY_TEXT_MAX])
{
    char *texts[2] = {job_key_text(key, a, 0), job_key_text(key, b, 0)};
    bool differs = texts[0] == NULL || texts[1] == NULL || strcmp(texts[0], texts[1]) != 0;
    if (texts[0] != NULL && texts[1] != NULL) {
        size_t first = first_shown(texts[0], texts[1]);
        cut_text(texts[0], first, there);
        cut_text(texts[1], first, here);
    } else {
        cut_text("?", 0, there);
        cut_text("?", 0, here);
    }
    free(texts[0]);
    free(texts[1]);
    return differs;
}

bool job_difference(const struct job *a, const struct job *b, char text[static JOB_DIFFERENCE_MAX])
{
    static const char cut[] = ", and others";
    size_t used = 0;
    assert(a != NULL && b != NULL);
    for (size_t i = 0; i < json_codec_count(&job_keys); i++) {
        const struct json_field *key = json_codec_row(&job_keys, i);
        char there[KEY_TEXT_MAX], here[KEY_TEXT_MAX], one[320];
        if ((key->tags & JOB_KEY_FIXED) == 0 || !key_differs(key, a, b, there, here)) { continue; }
        int length = snprintf(one, sizeof one, "%s%s is %s there and %s here", used > 0 ? ", " : "",
                              key->name, there, here);
        if (used + (size_t)length + sizeof cut > JOB_DIFFERENCE_MAX) {
            memcpy(text + used, cut, sizeof cut);
            return true;
        }
        memcpy(text + used, one, (size_t)length + 1);
        used += (size_t)length;
    }
    return used > 0;
}

void job_changes(const struct job *from, const struct job *to,
                 void (*changed)(void *ctx, const char *key, json_t *from, json_t *to), void *ctx)
{
    for (size_t i = 0; i < json_codec_count(&job_keys); i++) {
        const struct json_field *key = json_codec_row(&job_keys, i);
        json_t *before = json_codec_build_field(key, from);
        json_t *after = json_codec_build_field(key, to);
        const bool known = before != NULL && after != NULL && strcmp(key->name, "name") != 0;
        if (known && !json_equal(before, after)) { changed(ctx, key->name, before, after); }
        json_decref(before);
        json_decref(after);
    }
}
