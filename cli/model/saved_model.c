#include "cli/model/saved_model.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "common/base/files.h"
#include "common/job/variable_order.h"
#include "data/source/index.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum { WARNINGS_MAX = 1024, ATTEMPTS = 4, COLUMNS_BYTES_MAX = 1 << 30 };

static enum tn_status read_job(struct saved_model *saved, const char *dir, struct error *error)
{
    char path[RUN_PATH_MAX];
    snprintf(path, sizeof path, "%s/job.json", dir);
    job_init_existing(&saved->job);
    enum tn_status status = job_read_file(&saved->job, path, error);
    if (status == TN_ENOENT) {
        return error_set(
            error, TN_EINVAL,
            "%s is not the folder of a run: it %s; give the --dir of `tanist run` (default "
            "runs/NAME)",
            dir, access(dir, F_OK) == 0 ? "has no job.json" : "does not exist");
    }
    return status == TN_OK ? job_check(&saved->job, error) : status;
}

/* In the folder; with `best`, the best one as of the newest, which is kept with it. */
static enum tn_status find_listed(struct saved_model *saved, bool best, struct error *error)
{
    char warnings[WARNINGS_MAX] = "";
    size_t count = 0;
    struct manifest *list = calloc(STORE_LIST_MAX, sizeof *list);
    if (list == NULL) { return error_set(error, TN_ENOMEM, "out of memory for manifests"); }
    enum tn_status status = store_list(saved->checkpoints, list, STORE_LIST_MAX, &count, warnings,
                                       sizeof warnings, error);
    if (status == TN_ENOENT || (status == TN_OK && count == 0)) {
        status = error_set(error, TN_EINVAL,
                           "%s has no committed checkpoint: wait for the first one, or see "
                           "`tanist checkpoints list`%s%s",
                           saved->checkpoints, *warnings ? "; " : "", warnings);
    }
    const uint64_t wanted = status != TN_OK ? 0 : best ? list[0].best.checkpoint : list[0].id;
    size_t at = 0;
    while (status == TN_OK && at < count && list[at].id != wanted) { at++; }
    if (status == TN_OK && at == count) {
        status =
            error_set(error, TN_EINVAL,
                      "%s has no best checkpoint: a run keeps one if its job has checkpoint.best; "
                      "see `tanist checkpoints list`",
                      saved->checkpoints);
    }
    if (status == TN_OK) { saved->manifest = list[at]; }
    if (status == TN_OK && *warnings) {
        output_message(LOG_WARN, "checkpoint %" PRIu64 " is used, but others cannot be read: %s",
                       wanted, warnings);
    }
    free(list);
    return status;
}

static enum tn_status parse_number(const char *text, uint64_t *id, struct error *error)
{
    char *end = NULL;
    errno = 0;
    *id = strtoull(text, &end, 10);
    if (errno == 0 && *id > 0 && end != text && *end == '\0' && text[0] != '-') { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "'%s' is not the number of a checkpoint: see `tanist checkpoints list`", text);
}

static enum tn_status find_checkpoint(struct saved_model *saved, const char *checkpoint,
                                      struct error *error)
{
    uint64_t id;
    const bool best = checkpoint != NULL && strcmp(checkpoint, "best") == 0;
    if (checkpoint == NULL || best) { return find_listed(saved, best, error); }
    enum tn_status status = parse_number(checkpoint, &id, error);
    if (status != TN_OK) { return status; }
    status = store_get_manifest(saved->checkpoints, id, &saved->manifest, error);
    if (status != TN_ENOENT) { return status; }
    return error_set(error, TN_EINVAL,
                     "%s has no checkpoint %" PRIu64 ": see `tanist checkpoints list`",
                     saved->checkpoints, id);
}

static enum tn_status check_model(const struct saved_model *saved, struct error *error)
{
    const struct manifest *manifest = &saved->manifest;
    const struct variable_table *table = &saved->model->table;
    const bool started = saved->warm_started; /* Then the hash covers the values as well. */
    uint32_t moves;
    enum tn_status status = TN_EINVAL;
    if (manifest->parameter_count == table->parameter_count) {
        if (started) { return TN_OK; }
        status = variable_order_of(manifest, &saved->job, table, NULL, &moves, error);
    }
    return status != TN_EINVAL
               ? status
               : error_set(error, TN_EINVAL,
                           "checkpoint %" PRIu64 " has %" PRIu64
                           " parameters of another model than the job's, which has %" PRIu64
                           ": use the program, library or file that the run was trained with",
                           manifest->id, manifest->parameter_count, table->parameter_count);
}

static enum tn_status read_array(const struct saved_model *saved, uint32_t array,
                                 const struct store_rows *rows, struct buffer **out,
                                 struct error *error)
{
    struct store_metadata metadata;
    const size_t bytes = saved->manifest.parameter_count * sizeof(float);
    assert(array < saved->manifest.state_arrays);
    *out = buffer_acquire(saved->pool, bytes);
    if (*out == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for %zu bytes of parameters", bytes);
    }
    (*out)->size = bytes;
    struct variable_move moves[VARIABLES_MAX];
    struct store_read_request request = {.manifest = &saved->manifest,
                                         .count = saved->manifest.parameter_count,
                                         .moves = {.list = moves},
                                         .rows = *rows};
    request.arrays[array].buffer = *out;
    enum tn_status status = TN_OK;
    if (!saved->warm_started) {
        status = variable_order_of(&saved->manifest, &saved->job, &saved->model->table, moves,
                                   &request.moves.count, error);
    }
    if (status == TN_OK) {
        status = store_read_range(saved->checkpoints, &request, NULL, &metadata, error);
    }
    if (status == TN_OK) { return TN_OK; }
    buffer_release(*out);
    *out = NULL;
    return status;
}

/* The values, and the rows of tables: of a run in one process they are in files of their own, of a
 * cluster beside the shards. */
static enum tn_status read_values(struct saved_model *saved, struct error *error)
{
    struct store_rows rows = {0};
    const bool own_files = saved->manifest.chain_count > 0;
    if (!own_files) {
        rows.tables = saved->tables.set.tables;
        rows.count = saved->tables.set.all;
    }
    enum tn_status status =
        read_array(saved, saved_model_evaluated_array(saved), &rows, &saved->values, error);
    if (status != TN_OK || !own_files) { return status; }
    status = tables_load(&saved->tables, saved->checkpoints, &saved->manifest, error);
    if (status == TN_OK) { return TN_OK; }
    buffer_release(saved->values);
    saved->values = NULL;
    return error_context(error, "checkpoint %" PRIu64, saved->manifest.id);
}

enum tn_status saved_model_read(const struct saved_model *saved, uint32_t array,
                                struct buffer **out, struct error *error)
{
    return read_array(saved, array, &(struct store_rows){0}, out, error);
}

/* A file that the manifest names is not in the folder: `error` has its name. */
static enum tn_status missing(struct error *error)
{
    const struct error found = *error;
    return error_set(error, TN_ECORRUPT,
                     "%.880s; copy it there, or use another checkpoint: see `tanist checkpoints "
                     "list`",
                     found.text);
}

/* A run in progress may remove its oldest checkpoint while it is being read. */
static enum tn_status load(struct saved_model *saved, const char *checkpoint, struct error *error)
{
    enum tn_status status = TN_ENOENT;
    for (int attempt = 0; attempt < ATTEMPTS && status == TN_ENOENT; attempt++) {
        const uint64_t before = saved->manifest.id;
        status = find_checkpoint(saved, checkpoint, error);
        if (status != TN_OK) { return status; }
        if (saved->manifest.id == before) { return missing(error); } /* The same file. */
        status = check_model(saved, error);
        if (status != TN_OK) { return status; }
        status = read_values(saved, error);
    }
    return status;
}

/* A run without rows has no columns. */
static enum tn_status read_columns(struct saved_model *saved, const char *dir, struct error *error)
{
    size_t size;
    char path[RUN_PATH_MAX + 16];
    if (!job_has_rows(&saved->job)) { return TN_OK; }
    index_look_up(dir);
    snprintf(path, sizeof path, "%s/columns.json", dir);
    return files_read(path, COLUMNS_BYTES_MAX, &saved->columns, &size, error);
}

enum tn_status saved_model_open(struct saved_model *saved, const char *dir, const char *checkpoint,
                                struct error *error)
{
    assert(saved != NULL && dir != NULL && error != NULL);
    *saved = (struct saved_model){.model = NULL};
    snprintf(saved->checkpoints, sizeof saved->checkpoints, "%s/checkpoints", dir);
    enum tn_status status = read_job(saved, dir, error);
    saved->warm_started = saved->job.model.warm_start[0] != '\0';
    saved->job.model.warm_start[0] = '\0'; /* Not needed, and it may have been removed. */
    saved->job.model.map_count = 0;
    if (status == TN_OK) { status = read_columns(saved, dir, error); }
    if (status == TN_OK) { status = model_open(&saved->job, &saved->model, error); }
    if (status == TN_OK) { status = tables_open(&saved->tables, &saved->job, saved->model, error); }
    if (status != TN_OK) { return status; }
    saved->pool = buffer_pool_create(0);
    if (saved->pool == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    return load(saved, checkpoint, error);
}

enum tn_status saved_model_use(struct saved_model *saved, const char *dir, const struct job *job,
                               struct model *model, struct error *error)
{
    assert(dir != NULL && model != NULL);
    *saved = (struct saved_model){.job = *job, .model = model};
    snprintf(saved->checkpoints, sizeof saved->checkpoints, "%.900s/checkpoints", dir);
    saved->warm_started = job->model.warm_start[0] != '\0';
    saved->pool = buffer_pool_create(0);
    return saved->pool != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

enum tn_status saved_model_load(struct saved_model *saved, uint64_t checkpoint, struct error *error)
{
    assert(checkpoint != 0);
    buffer_release(saved->values);
    saved->values = NULL;
    enum tn_status status =
        store_get_manifest(saved->checkpoints, checkpoint, &saved->manifest, error);
    if (status == TN_OK) { status = check_model(saved, error); }
    if (status != TN_OK) { return status; }
    return read_values(saved, error);
}

void saved_model_close(struct saved_model *saved)
{
    buffer_release(saved->values);
    tables_close(&saved->tables);
    model_close(saved->model);
    free(saved->columns);
    buffer_pool_destroy(saved->pool);
    saved->model = NULL;
    saved->columns = NULL;
    saved->pool = NULL;
    saved->values = NULL;
}

const struct row_source *saved_model_rows(const struct saved_model *saved)
{
    return saved->tables.set.count > 0 ? &saved->tables.source : NULL;
}

uint32_t saved_model_evaluated_array(const struct saved_model *saved)
{
    assert(saved->manifest.state_arrays >= 1);
    return saved->job.train.ema > 0 ? saved->manifest.state_arrays - 1 : 0;
}
