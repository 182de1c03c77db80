#include "data/formats/npy_header.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/minmax.h"

/* The text that is not read yet. */
struct cursor {
    const char *at, *end;
};

static void skip_spaces(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n')) {
        cursor->at++;
    }
}

/* Take this text after spaces. False, and nothing is taken: another one follows. */
static bool take(struct cursor *cursor, const char *text)
{
    const size_t length = strlen(text);
    skip_spaces(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, text, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

/* A text in single quotes, without escapes. */
static bool take_quoted(struct cursor *cursor, const char **text, size_t *length)
{
    if (!take(cursor, "'")) { return false; }
    const char *end = memchr(cursor->at, '\'', (size_t)(cursor->end - cursor->at));
    if (end == NULL) { return false; }
    *text = cursor->at;
    *length = (size_t)(end - cursor->at);
    cursor->at = end + 1;
    return true;
}

static bool take_number(struct cursor *cursor, uint64_t *out)
{
    skip_spaces(cursor);
    const char *start = cursor->at;
    uint64_t value = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        if (value > COUNTER_MAX / 16) { return false; }
        value = 10 * value + (uint64_t)(*cursor->at - '0');
    }
    *out = value;
    return cursor->at > start;
}

static enum tn_status damaged(struct error *error, const char *what)
{
    return error_set(error, TN_ECORRUPT, "the header is damaged: %s", what);
}

static enum tn_status refuse_type(const char *text, size_t length, struct error *error)
{
    return error_set(error, TN_EINVAL,
                     "elements of type '%.*s' are not read: convert the array with "
                     ".astype('float32') or .astype('int64')",
                     (int)size_min(length, 32), text);
}

static enum tn_status read_type(struct cursor *cursor, struct npy *out, struct error *error)
{
    static const struct {
        const char *name;
        enum npy_kind kind;
        uint32_t bytes;
    } types[] = {
        {"b1", NPY_BOOL, 1},     {"u1", NPY_UNSIGNED, 1}, {"u2", NPY_UNSIGNED, 2},
        {"u4", NPY_UNSIGNED, 4}, {"u8", NPY_UNSIGNED, 8}, {"i1", NPY_SIGNED, 1},
        {"i2", NPY_SIGNED, 2},   {"i4", NPY_SIGNED, 4},   {"i8", NPY_SIGNED, 8},
        {"f2", NPY_FLOAT, 2},    {"f4", NPY_FLOAT, 4},    {"f8", NPY_FLOAT, 8},
    };
    const char *text;
    size_t length;
    if (take(cursor, "[")) {
        return error_set(error, TN_EINVAL,
                         "a structured array is not read: save each field as a file of its own in "
                         "one folder");
    }
    if (!take_quoted(cursor, &text, &length)) { return damaged(error, "'descr' is not a text"); }
    if (length != 3 || strchr("<>|", text[0]) == NULL || text[0] == '\0') {
        return refuse_type(text, length, error);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (memcmp(types[i].name, text + 1, 2) != 0) { continue; }
        out->kind = types[i].kind;
        out->item_bytes = types[i].bytes;
        out->big_endian = text[0] == '>';
        return TN_OK;
    }
    return refuse_type(text, length, error);
}

static enum tn_status read_shape(struct cursor *cursor, struct npy *out, struct error *error)
{
    if (!take(cursor, "(")) { return damaged(error, "'shape' is not a tuple"); }
    uint32_t rank = 0;
    while (!take(cursor, ")")) {
        if (rank == NPY_RANK_MAX) {
            return error_set(error, TN_EINVAL, "over %d dimensions are not read", NPY_RANK_MAX);
        }
        if (!take_number(cursor, &out->dimensions[rank])) {
            return damaged(error, "a dimension of 'shape' is not a number");
        }
        rank++;
        if (!take(cursor, ",")) {
            if (!take(cursor, ")")) { return damaged(error, "'shape' does not end"); }
            break;
        }
    }
    if (rank == 0) { out->dimensions[rank++] = 1; }
    out->rank = rank;
    return TN_OK;
}

static enum tn_status read_order(struct cursor *cursor, bool *fortran, struct error *error)
{
    *fortran = take(cursor, "True");
    if (*fortran || take(cursor, "False")) { return TN_OK; }
    return damaged(error, "'fortran_order' is neither True nor False");
}

enum { DESCR = 1, ORDER = 2, SHAPE = 4 };

static enum tn_status read_entry(struct cursor *cursor, struct npy *out, unsigned *seen,
                                 bool *fortran, struct error *error)
{
    unsigned key;
    if (take(cursor, "'descr'")) {
        key = DESCR;
    } else if (take(cursor, "'fortran_order'")) {
        key = ORDER;
    } else if (take(cursor, "'shape'")) {
        key = SHAPE;
    } else {
        return damaged(error, "the keys are 'descr', 'fortran_order' and 'shape'");
    }
    if ((*seen & key) != 0) { return damaged(error, "a key is repeated"); }
    *seen |= key;
    if (!take(cursor, ":")) { return damaged(error, "a colon is missing"); }
    if (key == DESCR) { return read_type(cursor, out, error); }
    if (key == ORDER) { return read_order(cursor, fortran, error); }
    return read_shape(cursor, out, error);
}

/* Whether the elements have another order in the file than by rows: several dimensions over 1. */
static bool order_matters(const struct npy *npy)
{
    uint32_t wide = 0;
    for (uint32_t i = 0; i < npy->rank; i++) { wide += npy->dimensions[i] > 1 ? 1 : 0; }
    return wide > 1;
}

enum tn_status npy_header_parse(const char *text, size_t size, struct npy *out, struct error *error)
{
    assert(text != NULL);
    struct cursor cursor = {.at = text, .end = text + size};
    unsigned seen = 0;
    bool fortran = false;
    if (!take(&cursor, "{")) { return damaged(error, "it does not begin with '{'"); }
    while (!take(&cursor, "}")) {
        enum tn_status status = read_entry(&cursor, out, &seen, &fortran, error);
        if (status != TN_OK) { return status; }
        if (take(&cursor, ",")) { continue; }
        if (!take(&cursor, "}")) { return damaged(error, "it does not end with '}'"); }
        break;
    }
    skip_spaces(&cursor);
    if (cursor.at != cursor.end) { return damaged(error, "text follows the dictionary"); }
    if (seen != (DESCR | ORDER | SHAPE)) { return damaged(error, "a key is missing"); }
    if (fortran && order_matters(out)) {
        return error_set(error, TN_EINVAL,
                         "the array is stored by columns (fortran_order): save "
                         "numpy.ascontiguousarray(array)");
    }
    return TN_OK;
}
