#include "data/formats/libsvm.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/source/number.h"

enum { SHOWN = 40 }; /* Bytes of a wrong text in errors. */

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static void skip_spaces(struct libsvm_line *line)
{
    while (line->at < line->end && is_space(*line->at)) { line->at++; }
}

bool libsvm_begin(const uint8_t *bytes, size_t size, struct libsvm_line *out)
{
    assert(bytes != NULL);
    const uint8_t *comment = memchr(bytes, '#', size);
    *out = (struct libsvm_line){.at = bytes, .last = -1};
    out->end = comment != NULL ? comment : bytes + size;
    skip_spaces(out);
    return out->at < out->end;
}

/* The text up to the next space. */
static const uint8_t *take_word(struct libsvm_line *line, size_t *size)
{
    const uint8_t *word = line->at;
    while (line->at < line->end && !is_space(*line->at)) { line->at++; }
    *size = (size_t)(line->at - word);
    skip_spaces(line);
    return word;
}

static enum tn_status refuse(const uint8_t *word, size_t size, const char *expected,
                             struct error *error)
{
    return error_set(error, TN_EINVAL, "'%.*s' is not %s", (int)size_min(size, SHOWN),
                     (const char *)word, expected);
}

static enum tn_status refuse_range(const uint8_t *word, size_t size, struct error *error)
{
    return error_set(error, TN_EINVAL, "'%.*s' " NUMBER_OUT_OF_RANGE, (int)size_min(size, SHOWN),
                     (const char *)word);
}

enum tn_status libsvm_label(struct libsvm_line *line, double *out, struct error *error)
{
    size_t size;
    const uint8_t *word = take_word(line, &size);
    if (!number_parse(word, size, out)) {
        return refuse(word, size, "a label: give one number, then INDEX:VALUE pairs", error);
    }
    return isfinite(*out) ? TN_OK : refuse_range(word, size, error);
}

static bool parse_index(const uint8_t *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    if (size == 0 || size > 10) { return false; }
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') { return false; }
        value = 10 * value + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return true;
}

enum tn_status libsvm_pair(struct libsvm_line *line, struct libsvm_pair *out, bool *more,
                           struct error *error)
{
    size_t size;
    uint64_t index;
    *more = line->at < line->end;
    if (!*more) { return TN_OK; }
    const uint8_t *word = take_word(line, &size);
    const uint8_t *colon = memchr(word, ':', size);
    const size_t left = colon != NULL ? (size_t)(colon - word) : size;
    if (colon == NULL || !parse_index(word, left, &index) ||
        !number_parse(colon + 1, size - left - 1, &out->value)) {
        return refuse(word, size, "INDEX:VALUE with two numbers", error);
    }
    if (!isfinite((float)out->value)) { return refuse_range(word, size, error); }
    if (index > LIBSVM_INDEX_MAX) {
        return error_set(error, TN_EINVAL,
                         "index %" PRIu64 ": at most %d is read, for rows are "
                         "dense",
                         index, LIBSVM_INDEX_MAX);
    }
    if ((int64_t)index <= line->last) {
        return error_set(error, TN_EINVAL,
                         "index %" PRIu64 " follows %" PRId64 ": indices must ascend", index,
                         line->last);
    }
    line->last = (int64_t)index;
    out->index = (uint32_t)index;
    return TN_OK;
}
