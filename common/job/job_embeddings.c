#include "common/job/job_embeddings.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { ROWS_MAX = 1 << 24, TABLE_ROWS_MAX = 1 << 30, TABLE_WIDTH_MAX = 4096 };

#define AT(member) JSON_MEMBER(struct job_embedding, member)

static const struct json_field fields[] = {
    {.name = "name", .type = FIELD_TEXT, AT(name)},
    {.name = "input", .type = FIELD_UINT, AT(input), .most = 1 << 24},
    {.name = "rows", .type = FIELD_UINT, AT(rows), .most = TABLE_ROWS_MAX},
    {.name = "width", .type = FIELD_UINT, AT(width), .least = 1, .most = JOB_WIDTH_MAX},
    {.name = "table", .type = FIELD_BOOL, AT(table), .optional = true},
};

static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED,
    .status = TN_EINVAL,
};

const struct json_field job_embedding_field = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct job_embedding),
    .table = &table,
};

/* The reason why a job has no place for embeddings; NULL: it has one. */
static const char *obstacle(const struct job *job)
{
    static const char *const types[] = {"mlp", "softmax", "linear", "layers"};
    bool found = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i], job->model.type) == 0) { found = true; }
    }
    if (!found) {
        return "models of type \"mlp\", \"softmax\", \"linear\" and \"layers\" have them: remove "
               "\"embed\" from data.columns, or use one of these";
    }
    if (!job_has_rows(job)) {
        return "only columns of data.format or \"criteo-like\" data have them: remove it";
    }
    if (job->model.shape_count > 0) {
        return "model.shape is given: remove it, and begin model.layers with \"reshape\"";
    }
    if (job->model.targets == TARGETS_INPUTS) {
        return "model.targets is \"inputs\", and a number of a row is not a target: remove either";
    }
    return NULL;
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return *name != '\0' && name[strspn(name, allowed)] == '\0';
}

static bool is_taken(const struct job *job, uint32_t embedding)
{
    const struct job_embedding *all = job->model.embeddings;
    for (uint32_t k = 0; k < embedding; k++) {
        if (strcmp(all[k].name, all[embedding].name) == 0) { return true; }
    }
    return false;
}

enum tn_status job_check_embeddings(const struct job *job, struct error *error)
{
    const uint32_t count = job->model.embedding_count;
    assert(count <= JOB_EMBEDDINGS_MAX);
    const char *why = count > 0 ? obstacle(job) : NULL;
    if (why != NULL) { return error_set(error, TN_EINVAL, "model.embeddings: %s", why); }
    for (uint32_t i = 0; i < count; i++) {
        const struct job_embedding *one = &job->model.embeddings[i];
        const bool ascends = i == 0 || one->input > job->model.embeddings[i - 1].input;
        if (one->input >= job->model.inputs || !ascends) {
            return error_set(error, TN_EINVAL,
                             "model.embeddings[%" PRIu32 "].input is %" PRIu32
                             ": give ascending numbers below model.inputs, which is %" PRIu32
                             "; or remove model.embeddings, which is then computed",
                             i, one->input, job->model.inputs);
        }
        if (!one->table && (one->rows < 1 || one->rows > ROWS_MAX)) {
            return error_set(error, TN_EINVAL,
                             "model.embeddings[%" PRIu32 "].rows is %" PRIu32
                             ": give a number from 1 to %d, or \"table\": true",
                             i, one->rows, ROWS_MAX);
        }
        if (one->table && one->width > TABLE_WIDTH_MAX) {
            return error_set(error, TN_EINVAL,
                             "model.embeddings[%" PRIu32 "].width is %" PRIu32
                             ": rows of tables have at most %d numbers",
                             i, one->width, TABLE_WIDTH_MAX);
        }
        if (!is_name(one->name) || is_taken(job, i)) {
            return error_set(error, TN_EINVAL,
                             "model.embeddings[%" PRIu32 "].name is \"%s\": give each another one, "
                             "of letters, digits, '_', '-' and '.'",
                             i, one->name);
        }
    }
    return TN_OK;
}
