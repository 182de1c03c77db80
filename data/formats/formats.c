#include "data/formats/formats.h"

#include <assert.h>

enum tn_status formats_wrong_file(enum tn_status status, const char *path, struct error *error)
{
    if (status == TN_OK) { return status; }
    const enum tn_status outside = status == TN_ECORRUPT ? TN_EINVAL : status;
    if (error == NULL) { return outside; }
    error->status = outside;
    return error_context(error, "%s", path);
}

enum tn_status formats_read_options(const char *text, const struct json_table *table, void *record,
                                    struct error *error)
{
    assert(record != NULL);
    if (text == NULL || text[0] == '\0') { return TN_OK; }
    json_error_t problem;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL) {
        return error_set(error, TN_EINVAL, "data.options is not JSON: %s", problem.text);
    }
    enum tn_status status = json_codec_read(table, object, "data.options", record, error);
    json_decref(object);
    return status;
}
