#include "data/columns/vocabulary.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/utf8.h"

#define FILE_MAX  (UINT64_C(1) << 30)
#define COUNT_MAX (UINT32_C(1) << 24)

struct entry {
    const char *text;
    size_t size;
    uint32_t number;
};

struct vocabulary {
    uint32_t count;
    json_t *list; /* Owns the texts, or NULL. */
    char *file;   /* Owns the texts, or NULL. */
    struct entry *by_number, *by_text;
};

static int compare_texts(const void *a, size_t a_size, const void *b, size_t b_size)
{
    const int order = memcmp(a, b, size_min(a_size, b_size));
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *one = a, *two = b;
    return compare_texts(one->text, one->size, two->text, two->size);
}

static enum tn_status add(struct vocabulary *vocabulary, const char *text, size_t size,
                          const char *where, struct error *error)
{
    if (vocabulary->count == COUNT_MAX) {
        return error_set(error, TN_EINVAL, "%s has over %" PRIu32 " texts: use \"hash\"", where,
                         COUNT_MAX);
    }
    vocabulary->by_number[vocabulary->count] = (struct entry){text, size, vocabulary->count};
    vocabulary->count++;
    return TN_OK;
}

/* Entries for `count` texts. */
static enum tn_status reserve(struct vocabulary *vocabulary, size_t count, struct error *error)
{
    vocabulary->by_number = calloc(count, sizeof *vocabulary->by_number);
    vocabulary->by_text = calloc(count, sizeof *vocabulary->by_text);
    if (vocabulary->by_number != NULL && vocabulary->by_text != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for a vocabulary");
}

static enum tn_status take_list(struct vocabulary *vocabulary, const json_t *value,
                                const char *where, struct error *error)
{
    size_t i;
    const json_t *item;
    enum tn_status status = reserve(vocabulary, json_array_size(value) + 1, error);
    vocabulary->list = json_deep_copy(value);
    if (status == TN_OK && vocabulary->list == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory for a vocabulary");
    }
    json_array_foreach(vocabulary->list, i, item)
    {
        if (status != TN_OK) { break; }
        if (!json_is_string(item)) {
            return error_set(error, TN_EINVAL, "%s: element %zu is not a text: write it in quotes",
                             where, i + 1);
        }
        status = add(vocabulary, json_string_value(item), json_string_length(item), where, error);
    }
    return status;
}

static enum tn_status take_file(struct vocabulary *vocabulary, const char *path, const char *where,
                                struct error *error)
{
    size_t size = 0, lines = 1;
    enum tn_status status = files_read(path, FILE_MAX, &vocabulary->file, &size, error);
    if (status != TN_OK) { return error_context(error, "%s", where); }
    if (utf8_valid_bytes(vocabulary->file, size) != size) {
        return error_set(error, TN_EINVAL, "%s: %s is not UTF-8", where, path);
    }
    for (size_t i = 0; i < size; i++) { lines += vocabulary->file[i] == '\n'; }
    status = reserve(vocabulary, lines, error);
    for (char *at = vocabulary->file, *end = at + size; at < end && status == TN_OK;) {
        char *line = memchr(at, '\n', (size_t)(end - at));
        char *stop = line != NULL ? line : end;
        char *next = line != NULL ? line + 1 : end;
        if (stop > at && stop[-1] == '\r') { stop--; }
        *stop = '\0'; /* files_read() has room for one behind the last byte. */
        status = add(vocabulary, at, (size_t)(stop - at), where, error);
        at = next;
    }
    return status;
}

static enum tn_status index_texts(struct vocabulary *vocabulary, const char *where,
                                  struct error *error)
{
    struct entry *sorted = vocabulary->by_text;
    if (vocabulary->count == 0) { return error_set(error, TN_EINVAL, "%s is empty", where); }
    memcpy(sorted, vocabulary->by_number, vocabulary->count * sizeof *sorted);
    qsort(sorted, vocabulary->count, sizeof *sorted, compare_entries);
    for (uint32_t i = 1; i < vocabulary->count; i++) {
        if (compare_entries(&sorted[i - 1], &sorted[i]) != 0) { continue; }
        return error_set(error, TN_EINVAL, "%s has '%s' twice", where, sorted[i].text);
    }
    return TN_OK;
}

enum tn_status vocabulary_open(const json_t *value, const char *where, struct vocabulary **out,
                               struct error *error)
{
    assert(where != NULL && out != NULL);
    *out = NULL;
    if (!json_is_array(value) && !json_is_string(value)) {
        return error_set(error, TN_EINVAL,
                         "%s must be a list of texts, or the name of a file with one text on each "
                         "line",
                         where);
    }
    struct vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
    if (vocabulary == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = json_is_array(value)
                                ? take_list(vocabulary, value, where, error)
                                : take_file(vocabulary, json_string_value(value), where, error);
    if (status == TN_OK) { status = index_texts(vocabulary, where, error); }
    if (status == TN_OK) {
        *out = vocabulary;
    } else {
        vocabulary_close(vocabulary);
    }
    return status;
}

void vocabulary_close(struct vocabulary *vocabulary)
{
    if (vocabulary == NULL) { return; }
    free(vocabulary->by_number);
    free(vocabulary->by_text);
    free(vocabulary->file);
    json_decref(vocabulary->list);
    free(vocabulary);
}

uint32_t vocabulary_count(const struct vocabulary *vocabulary)
{
    assert(vocabulary != NULL);
    return vocabulary->count;
}

uint32_t vocabulary_find(const struct vocabulary *vocabulary, const void *text, size_t size)
{
    uint32_t low = 0, high = vocabulary->count;
    assert(text != NULL || size == 0);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct entry *entry = &vocabulary->by_text[middle];
        const int order = compare_texts(text, size, entry->text, entry->size);
        if (order == 0) { return entry->number; }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return VOCABULARY_NONE;
}

const char *vocabulary_text(const struct vocabulary *vocabulary, uint32_t number)
{
    assert(number < vocabulary->count);
    return vocabulary->by_number[number].text;
}

json_t *vocabulary_build(const struct vocabulary *vocabulary)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < vocabulary->count && list != NULL; i++) {
        const struct entry *entry = &vocabulary->by_number[i];
        if (json_array_append_new(list, json_stringn(entry->text, entry->size)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
