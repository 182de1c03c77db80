#include "data/job_columns.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/column_table.h"

enum { NAME_MAX_USED = 40 }; /* So that paths of variables are not too long. */

/* The letters of ASCII, digits, '-' and '.' stay; any other character becomes '_'. */
static void name_embedding(const char *feature, char out[static JOB_PATTERN_MAX])
{
    size_t length = 0;
    memset(out, 0, JOB_PATTERN_MAX);
    for (const char *c = feature; *c != '\0' && length < NAME_MAX_USED; c++) {
        const unsigned char byte = (unsigned char)*c;
        const bool is_inside = (byte & 0xC0) == 0x80; /* Not the first byte of a character. */
        if (is_inside) { continue; }
        const bool stays = byte < 0x80 && (isalnum(byte) != 0 || byte == '-' || byte == '.');
        out[length++] = stays ? *c : '_';
    }
}

/* Names of features differ, but their remaining parts may be equal: then the number of the input
 * follows. */
static void make_distinct(struct job_embedding *list, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(list[k].name, list[i].name) != 0) { continue; }
        const size_t length = strlen(list[i].name);
        (void)snprintf(list[i].name + length, JOB_PATTERN_MAX - length, ".%" PRIu32, list[i].input);
        return;
    }
}

/* Returns their number, which may exceed JOB_EMBEDDINGS_MAX. */
static uint32_t embeddings_of(const struct columns *columns,
                              struct job_embedding list[static JOB_EMBEDDINGS_MAX])
{
    struct columns_embedding found[JOB_EMBEDDINGS_MAX];
    const uint32_t count = columns_embedded(columns, found, JOB_EMBEDDINGS_MAX);
    for (uint32_t i = 0; i < u32_min(count, JOB_EMBEDDINGS_MAX); i++) {
        list[i] = (struct job_embedding){
            .input = found[i].input,
            .rows = found[i].ids,
            .width = found[i].width,
            .table = found[i].table,
        };
        name_embedding(found[i].feature, list[i].name);
        make_distinct(list, i);
    }
    return count;
}

static enum tn_status settle(struct job *job, const struct columns *columns, struct error *error)
{
    if (!job->model.inputs_given) { job->model.inputs = columns_inputs(columns); }
    job->model.inputs_given = true;
    if (job->model.embeddings_given) { return TN_OK; }
    memset(job->model.embeddings, 0, sizeof job->model.embeddings);
    const uint32_t count = embeddings_of(columns, job->model.embeddings);
    if (count > JOB_EMBEDDINGS_MAX) {
        return error_set(error, TN_EINVAL,
                         "data.columns: \"embed\" is given %" PRIu32 " times: give it at most %d "
                         "times",
                         count, JOB_EMBEDDINGS_MAX);
    }
    job->model.embedding_count = count;
    job->model.embeddings_given = true;
    return TN_OK;
}

enum tn_status job_columns_settle(struct job *job, struct error *error)
{
    const bool is_known = job->data.format[0] == '\0' || job->data.train[0] != '\0';
    const bool is_settled =
        job->model.inputs_given && (job->model.embeddings_given || job->data.columns[0] == '\0');
    if (!job_has_rows(job) || !is_known || is_settled) { return TN_OK; }
    struct source source = {0};
    struct columns *columns = NULL;
    enum tn_status status =
        columns_open(job->data.columns, column_table_label(job), &columns, error);
    if (status == TN_OK && job->model.inputs_given && columns_embedded(columns, NULL, 0) == 0) {
        columns_close(columns);
        return TN_OK;
    }
    if (status == TN_OK) { status = column_table_open_source(job, DATASET_TRAIN, &source, error); }
    if (status == TN_OK) { status = columns_bind(columns, &source, false, error); }
    if (status == TN_OK) { status = settle(job, columns, error); }
    source_close(&source);
    columns_close(columns);
    return status;
}

enum tn_status job_columns_check(const struct job *job, const struct columns *columns,
                                 struct error *error)
{
    struct job_embedding wanted[JOB_EMBEDDINGS_MAX];
    const uint32_t count = embeddings_of(columns, wanted);
    assert(job->model.embedding_count <= JOB_EMBEDDINGS_MAX);
    bool equal = count == job->model.embedding_count;
    uint32_t tables = 0;
    for (uint32_t i = 0; i < count && equal; i++) {
        const struct job_embedding *given = &job->model.embeddings[i];
        equal = given->input == wanted[i].input && given->rows == wanted[i].rows &&
                given->width == wanted[i].width && given->table == wanted[i].table;
        tables += wanted[i].table;
    }
    if (equal && (tables == columns_keys(columns) || job_has_code(job))) { return TN_OK; }
    if (equal) {
        return error_set(
            error, TN_EINVAL,
            "data.columns: \"table\" without \"embed\" gives a key that only models of "
            "C code read: give \"embed\", the width of the rows, too");
    }
    return error_set(error, TN_EINVAL,
                     "model.embeddings are not those of data.columns: remove model.embeddings, "
                     "which are then computed");
}
