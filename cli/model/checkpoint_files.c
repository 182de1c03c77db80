#include "cli/model/checkpoint_files.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "common/base/json_codec.h"
#include "common/base/text.h"
#include "local/tables.h"
#include "ps/store/store.h"

void checkpoint_files_free(struct checkpoint_files *files)
{
    free(files->list);
    *files = (struct checkpoint_files){0};
}

/* ------------------------------------------------------------------ reading */

static struct checkpoint_file *append(struct checkpoint_files *files, struct error *error)
{
    struct checkpoint_file *list =
        realloc(files->list, (files->count + (size_t)1) * sizeof *files->list);
    if (list == NULL) {
        (void)!error_set(error, TN_ENOMEM, "out of memory for a list of files");
        return NULL;
    }
    files->list = list;
    list[files->count] = (struct checkpoint_file){.status = TN_OK};
    return &list[files->count++];
}

static void note_problem(struct checkpoint_files *files, struct checkpoint_file *file,
                         enum tn_status status, const struct error *error)
{
    file->status = status;
    text_set(file->reason, sizeof file->reason, error->text);
    files->problems++;
}

static enum tn_status add_file(struct checkpoint_files *files, uint32_t shard,
                               const struct rows_file *named, uint64_t checkpoint,
                               struct error *error)
{
    struct error problem = {0};
    struct checkpoint_file *file = append(files, error);
    if (file == NULL) { return TN_ENOMEM; }
    text_set(file->path, sizeof file->path, named->path);
    file->shard = shard;
    file->checkpoint = checkpoint;
    file->bytes = named->bytes;
    enum tn_status status = rows_file_inspect(named, &file->info, &problem);
    if (status != TN_OK) { note_problem(files, file, status, &problem); }
    return TN_OK;
}

static enum tn_status add_shard(struct checkpoint_files *files, const char *dir,
                                const struct manifest *manifest, uint32_t shard,
                                struct rows_file *room, struct error *error)
{
    struct rows_chain chain;
    struct error problem = {0};
    enum tn_status status = store_row_files(dir, manifest, shard, room, &chain, &problem);
    if (status != TN_OK) {
        struct checkpoint_file *file = append(files, error);
        if (file == NULL) { return TN_ENOMEM; }
        file->shard = shard;
        file->checkpoint = manifest->id;
        file->bytes = manifest->shards[shard].bytes;
        note_problem(files, file, status, &problem);
        return TN_OK;
    }
    for (uint32_t f = 0; f < chain.count && status == TN_OK; f++) {
        status = add_file(files, shard, &room[f], chain.files[f].checkpoint, error);
    }
    return status;
}

enum tn_status checkpoint_files_read(struct checkpoint_files *files, const char *dir,
                                     const struct manifest *manifest, struct error *error)
{
    struct rows_file *room = calloc(MANIFEST_CHAIN_MAX, sizeof *room);
    enum tn_status status = TN_OK;
    assert(files->list == NULL);
    if (room == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a list of files"); }
    if (manifest->chain_count > 0) { /* A run in one process. */
        status = tables_files(dir, manifest, room, error);
        for (uint32_t f = 0; f < manifest->chain_count && status == TN_OK; f++) {
            status = add_file(files, 0, &room[f], manifest->chain[f].checkpoint, error);
        }
    } else {
        for (uint32_t s = 0; s < manifest->shard_count && status == TN_OK; s++) {
            status = add_shard(files, dir, manifest, s, room, error);
        }
    }
    free(room);
    return status;
}

/* ----------------------------------------------------------------- printing */

static const char *kind_of(const struct checkpoint_file *file)
{
    if (file->path[0] == '\0') { return "shard"; }
    if (file->status != TN_OK) { return NULL; }
    return file->info.full ? "full" : "delta";
}

static const char *state_of(const struct checkpoint_file *file)
{
    if (file->status == TN_OK) { return "intact"; }
    return file->status == TN_ENOENT ? "missing" : "damaged";
}

json_t *checkpoint_files_json(const struct checkpoint_files *files)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < files->count; i++) {
        const struct checkpoint_file *file = &files->list[i];
        const bool intact = file->status == TN_OK;
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:I, s:s?, s:o, s:I, s:s, s:o}", "shard", (int)file->shard,
                            "path", *file->path ? json_text(file->path) : json_null(), "checkpoint",
                            (json_int_t)file->checkpoint, "kind", kind_of(file), "rows",
                            intact ? json_integer((json_int_t)file->info.rows) : json_null(),
                            "bytes", (json_int_t)file->bytes, "state", state_of(file), "reason",
                            intact ? json_null() : json_text(file->reason)));
    }
    return list;
}

static void print_problems(const struct checkpoint_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct checkpoint_file *file = &files->list[i];
        if (file->status == TN_OK) { continue; }
        printf("shard %" PRIu32 ": %s: %s\n", file->shard, state_of(file), file->reason);
    }
}

bool checkpoint_files_print(const struct checkpoint_files *files)
{
    static const struct table_column columns[] = {
        {"SHARD", TABLE_RIGHT}, {"WRITTEN BY", TABLE_RIGHT}, {"KIND", TABLE_LEFT},
        {"ROWS", TABLE_RIGHT},  {"BYTES", TABLE_RIGHT},      {"STATE", TABLE_LEFT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct checkpoint_file *file = &files->list[i];
        const char *kind = kind_of(file);
        table_cell(&table, "%" PRIu32, file->shard);
        table_cell(&table, "%" PRIu64, file->checkpoint);
        table_cell(&table, "%s", kind != NULL ? kind : "-");
        table_number(&table, file->info.rows, file->status == TN_OK);
        table_cell(&table, "%" PRIu64, file->bytes);
        table_cell(&table, "%s", state_of(file));
    }
    const bool printed = table_print(&table, stdout);
    print_problems(files);
    return printed;
}
