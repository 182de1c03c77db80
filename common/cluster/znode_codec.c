#include "common/cluster/znode_codec.h"

#include <assert.h>

#include "common/base/utf8.h"

enum { VERSION = 1 };

json_t *znode_build(const struct json_table *table, const void *record)
{
    json_t *object = json_object();
    if (object != NULL && json_codec_build(table, record, 0, object) &&
        json_object_set_new(object, "version", json_integer(VERSION)) == 0) {
        return object;
    }
    json_decref(object);
    return NULL;
}

size_t znode_encode(const struct json_table *table, const void *record,
                    char text[static ZNODE_JSON_MAX])
{
    json_t *object = znode_build(table, record);
    assert(object != NULL);
    const size_t length = json_dumpb(object, text, ZNODE_JSON_MAX - 1, JSON_COMPACT);
    assert(length > 0 && length < ZNODE_JSON_MAX);
    text[length] = '\0';
    json_decref(object);
    return length;
}

/* A JSON object of our version; NULL: see `error`. */
static json_t *open_object(const void *data, size_t size, struct error *error)
{
    json_error_t where;
    json_t *object = size > 0 ? json_loadb(data, size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (object == NULL) {
        error_set(error, TN_ECORRUPT, "not JSON: %s", size > 0 ? where.text : "empty");
        return NULL;
    }
    const json_t *version = json_object_get(object, "version");
    if (json_is_integer(version) && json_integer_value(version) == VERSION) { return object; }
    error_set(error, TN_ECORRUPT, "version is %" JSON_INTEGER_FORMAT ", this program reads %d",
              json_integer_value(version), VERSION);
    json_decref(object);
    return NULL;
}

enum tn_status znode_decode_object(const struct json_table *table, const char *what,
                                   const void *data, size_t size, void *out, json_t **object,
                                   struct error *error)
{
    assert(data != NULL || size == 0);
    *object = open_object(data, size, error);
    const enum tn_status status =
        *object != NULL ? json_codec_read(table, *object, "", out, error) : TN_ECORRUPT;
    if (status == TN_OK || error == NULL) { return status; }
    error_context(error, "%s", what);
    utf8_plain(error->text); /* It may quote the znode. */
    return status;
}

enum tn_status znode_decode(const struct json_table *table, const char *what, const void *data,
                            size_t size, void *out, struct error *error)
{
    json_t *object;
    const enum tn_status status = znode_decode_object(table, what, data, size, out, &object, error);
    json_decref(object);
    return status;
}
