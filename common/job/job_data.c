#include "common/job/job_data.h"

#include <assert.h>
#include <string.h>

#include "common/job/job_column_ranges.h"

/* An empty value is the empty text. Numbers have 17 digits, so that reading the text gives the same
 * text. */
static bool write_text(const json_t *value, bool is_empty, char *at, size_t room)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);
    memset(at, 0, room);
    if (is_empty) { return true; }
    const size_t size = json_dumpb(value, at, room, flags);
    return size > 0 && size < room;
}

static json_t *build_columns(const void *member)
{
    const char *text = member;
    assert(memchr(text, '\0', JOB_COLUMNS_MAX) != NULL);
    return *text == '\0' ? json_object() : json_loads(text, 0, NULL);
}

static bool read_columns(const json_t *value, void *member)
{
    if (!json_is_object(value)) { return false; }
    json_t *columns = job_column_ranges_expand(value);
    const bool written = columns != NULL && write_text(columns, json_object_size(columns) == 0,
                                                       member, JOB_COLUMNS_MAX);
    json_decref(columns);
    return written;
}

static json_t *build_label(const void *member)
{
    const char *text = member;
    assert(memchr(text, '\0', JOB_LABEL_MAX) != NULL);
    return *text == '\0' ? json_string("") : json_loads(text, JSON_DECODE_ANY, NULL);
}

static bool read_label(const json_t *value, void *member)
{
    const bool valid = json_is_string(value) || json_is_array(value) || json_is_object(value);
    const bool is_empty = json_is_string(value) && json_string_length(value) == 0;
    return valid && write_text(value, is_empty, member, JOB_LABEL_MAX);
}

static json_t *build_shuffle(const void *member)
{
    const struct job_shuffle *shuffle = member;
    switch (shuffle->order) {
    case ORDER_PERMUTATION: return json_string("permutation");
    case ORDER_NONE: return json_string("none");
    case ORDER_BLOCKS: break;
    }
    return json_pack("{s:I, s:I}", "block", (json_int_t)shuffle->block, "window",
                     (json_int_t)shuffle->window);
}

static bool read_size(const json_t *value, uint32_t *out)
{
    const json_int_t number = json_integer_value(value);
    *out = (uint32_t)number;
    return number >= 1 && number <= 1 << 24;
}

static bool read_shuffle(const json_t *value, void *member)
{
    struct job_shuffle *shuffle = member;
    const char *text = json_string_value(value);
    *shuffle = (struct job_shuffle){.order = ORDER_PERMUTATION};
    if (text != NULL) {
        if (strcmp(text, "none") == 0) { shuffle->order = ORDER_NONE; }
        return shuffle->order == ORDER_NONE || strcmp(text, "permutation") == 0;
    }
    shuffle->order = ORDER_BLOCKS;
    return json_object_size(value) == 2 &&
           read_size(json_object_get(value, "block"), &shuffle->block) &&
           read_size(json_object_get(value, "window"), &shuffle->window);
}

const struct json_converter job_columns_converter = {
    .build = build_columns,
    .read = read_columns,
    .wanted = "an object, {...}, with each name once and a text of less than 16384 bytes",
};

const struct json_converter job_label_converter = {
    .build = build_label,
    .read = read_label,
    .wanted = "a column's name, a list of names, or an object, with a text of less than 4096 bytes",
};

const struct json_converter job_shuffle_converter = {
    .build = build_shuffle,
    .read = read_shuffle,
    .wanted = "\"permutation\", \"none\" or {\"block\": N, \"window\": N}",
};

/* A key that only jobs with data.format have; NULL: there is none. */
static const char *key_of_format(const struct job *job)
{
    if (job->data.train[0] != '\0') { return "data.train"; }
    if (job->data.test[0] != '\0') { return "data.test"; }
    if (job->data.validation[0] != '\0') { return "data.validation"; }
    if (job->data.label[0] != '\0') { return "data.label"; }
    if (job->data.columns[0] != '\0') { return "data.columns"; }
    if (job->data.split_test != 0) { return "data.split.test"; }
    return job->data.split_validation != 0 ? "data.split.validation" : NULL;
}

/* Rows that are computed have columns, but no files. */
static enum tn_status check_computed(const struct job *job, struct error *error)
{
    const char *key = job->data.train[0] != '\0'        ? "data.train"
                      : job->data.test[0] != '\0'       ? "data.test"
                      : job->data.validation[0] != '\0' ? "data.validation"
                      : job->data.split_test != 0       ? "data.split.test"
                      : job->data.split_validation != 0 ? "data.split.validation"
                                                        : NULL;
    if (key == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s is given, but data.type \"%s\" computes its examples: remove it, and give "
                     "data.examples and data.test_examples",
                     key, job->data.type);
}

enum tn_status job_check_data(const struct job *job, struct error *error)
{
    assert(job != NULL);
    if (job->data.format[0] == '\0') {
        if (job_has_rows(job)) { return check_computed(job, error); }
        const char *key = key_of_format(job);
        if (key == NULL) { return TN_OK; }
        return error_set(error, TN_EINVAL,
                         "%s is given, but data.format is empty: give the format of the files, "
                         "like \"csv\"",
                         key);
    }
    if (strcmp(job->data.type, "idx") != 0) {
        return error_set(error, TN_EINVAL,
                         "data.type is \"%s\", but data.format \"%s\" is given, too: remove one "
                         "of them",
                         job->data.type, job->data.format);
    }
    if (job->data.train[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "data.train is empty: data.format \"%s\" needs the files for training",
                         job->data.format);
    }
    const bool test = job->data.test[0] != '\0';
    if (test == (job->data.split_test > 0)) {
        return error_set(error, TN_EINVAL,
                         test ? "data.test and data.split.test are given: remove one of them"
                              : "there are no test examples: give data.test, the files, or "
                                "data.split.test, a part of those for training like 0.1");
    }
    if (job->data.validation[0] != '\0' && job->data.split_validation > 0) {
        return error_set(error, TN_EINVAL,
                         "data.validation and data.split.validation are given: remove one of them");
    }
    if (job->data.split_test + job->data.split_validation < 1) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "data.split leaves nothing for training: give smaller parts");
}
