#include "cli/run/stored_digest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buffer.h"
#include "common/job/variable_order.h"
#include "local/tables.h"
#include "model/model.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"
#include "ps/table/row_set.h"

static enum tn_status compare(const struct run *run, struct digest stored, struct error *error)
{
    const struct evaluation *evaluation = &run->evaluation;
    const struct digest evaluated = {evaluation->digest[0], evaluation->digest[1]};
    char texts[2][DIGEST_TEXT_BYTES];
    if (evaluation->step != run->committed_step || digest_equal(stored, evaluated)) {
        return TN_OK;
    }
    digest_format(stored, texts[0]);
    digest_format(evaluated, texts[1]);
    return error_set(error, TN_ECORRUPT,
                     "checkpoint %" PRIu64 " (step %" PRIu64
                     "): the disk holds parameters with the "
                     "digest %s, but a worker evaluated %s at this step: do not use this "
                     "checkpoint; check the memory and the disks of the hosts of the ps, then "
                     "train again from an older one",
                     run->committed_checkpoint, run->committed_step, texts[0], texts[1]);
}

static enum tn_status read_and_digest(const char *folder, const struct manifest *manifest,
                                      const struct variable_table *variables, const struct job *job,
                                      struct buffer_pool *pool, struct digest *out,
                                      struct error *error)
{
    assert(manifest->state_arrays >= 1);
    struct variable_move moves[VARIABLES_MAX];
    struct store_read_request request = {
        .manifest = manifest, .count = manifest->parameter_count, .moves = {.list = moves}};
    struct store_metadata metadata;
    enum tn_status status = TN_OK;
    if (job != NULL) {
        status = variable_order_of(manifest, job, variables, moves, &request.moves.count, error);
    }
    for (uint32_t a = 0; a < manifest->state_arrays && status == TN_OK; a++) {
        size_t bytes = manifest->parameter_count * sizeof(float);
        request.arrays[a].buffer = buffer_acquire(pool, bytes);
        if (request.arrays[a].buffer == NULL) {
            status = error_set(error, TN_ENOMEM, "out of memory to read a checkpoint");
            break;
        }
        request.arrays[a].buffer->size = bytes;
    }
    if (status == TN_OK) { status = store_read_range(folder, &request, NULL, &metadata, error); }
    if (status == TN_OK) {
        *out = variable_table_digest(variables, request.arrays[0].buffer->data);
    }
    for (uint32_t a = 0; a < manifest->state_arrays; a++) {
        buffer_release(request.arrays[a].buffer);
    }
    return status;
}

/* Shards of placed variables are in another order than that of the digest. */
static enum tn_status digest_stored(const char *folder, const struct manifest *manifest,
                                    const struct variable_table *variables, const struct job *job,
                                    struct digest *out, struct error *error)
{
    const bool in_order =
        variables->shard_count == 0 &&
        (job == NULL || manifest->variables_hash == variable_table_hash(variables));
    if (in_order) { return store_digest_values(folder, manifest, out, error); }
    struct buffer_pool *pool = buffer_pool_create(0);
    if (pool == NULL) { return error_set(error, TN_ENOMEM, "out of memory to read a checkpoint"); }
    enum tn_status status = read_and_digest(folder, manifest, variables, job, pool, out, error);
    buffer_pool_destroy(pool);
    return status;
}

/* The rows of a checkpoint of a run in one process. */
static enum tn_status add_chain(const char *folder, const struct manifest *manifest,
                                const struct job *job, struct digest *digest, struct error *error)
{
    struct model *model = NULL;
    struct tables tables = {0};
    enum tn_status status = model_open(job, &model, error);
    if (status == TN_OK) { status = tables_open(&tables, job, model, error); }
    if (status == TN_OK) { status = tables_load(&tables, folder, manifest, error); }
    if (status == TN_OK) { status = row_set_digest(&tables.set, *digest, digest, error); }
    tables_close(&tables);
    model_close(model);
    return status;
}

static void note_tables(const struct row_set *set, struct result *result)
{
    for (uint32_t t = 0; t < set->count && result != NULL; t++) {
        const struct row_table_stats stats = row_set_stats(set, t);
        result_note_table(result, row_table_spec_of(set->tables[t])->name, stats.rows, stats.bytes);
    }
}

/* The rows that belong to the shards of a cluster. */
static enum tn_status add_shards(const char *folder, const struct manifest *manifest,
                                 const struct variable_table *variables, const struct job *job,
                                 struct digest *digest, struct result *result, struct error *error)
{
    struct row_set set;
    struct store_metadata metadata;
    enum tn_status status = row_set_open(&set, job, variables, (struct row_part){.ps_count = 0},
                                         true, (struct cell_owner){.arena = NULL}, error);
    if (status != TN_OK) { return status; }
    const struct store_read_request request = {
        .manifest = manifest,
        .count = manifest->parameter_count,
        .rows = {.tables = set.tables, .count = set.all},
    };
    status = store_read_range(folder, &request, NULL, &metadata, error);
    if (status == TN_OK) { status = row_set_digest(&set, *digest, digest, error); }
    if (status == TN_OK) { note_tables(&set, result); }
    row_set_close(&set);
    return status;
}

/* The digest of all parameters, compared with that of the evaluation, which in a cluster is that of
 * the variables alone. */
static enum tn_status digest_all(const char *folder, const struct run *run,
                                 const struct manifest *manifest,
                                 const struct variable_table *variables, const struct job *job,
                                 struct result *result, char text[static DIGEST_TEXT_BYTES],
                                 struct error *error)
{
    struct digest digest;
    enum tn_status status = digest_stored(folder, manifest, variables, job, &digest, error);
    if (status == TN_OK && manifest->chain_count > 0 && job != NULL) {
        status = add_chain(folder, manifest, job, &digest, error);
    }
    if (status != TN_OK) { return status; }
    digest_format(digest, text);
    status = compare(run, digest, error);
    if (status != TN_OK || manifest->chain_count > 0 || variables->row_table_count == 0 ||
        job == NULL) {
        return status;
    }
    status = add_shards(folder, manifest, variables, job, &digest, result, error);
    if (status == TN_OK) { digest_format(digest, text); }
    return status;
}

enum tn_status stored_digest_check(const char *folder, const struct run *run,
                                   const struct variable_table *variables, const struct job *job,
                                   char text[static DIGEST_TEXT_BYTES], struct result *result,
                                   struct error *error)
{
    assert(folder != NULL && variables != NULL);
    text[0] = '\0';
    if (run->committed_checkpoint == 0) {
        return error_set(error, TN_ENOENT, "no checkpoint was committed");
    }
    struct manifest *manifest = malloc(sizeof *manifest);
    if (manifest == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a manifest"); }
    enum tn_status status = store_get_manifest(folder, run->committed_checkpoint, manifest, error);
    if (status == TN_OK) {
        status = digest_all(folder, run, manifest, variables, job, result, text, error);
        /* Unlike a manifest, which is copied after the commit, a shard must exist. */
        if (status == TN_ENOENT) { status = error->status = TN_ECORRUPT; }
    }
    free(manifest);
    return status;
}
