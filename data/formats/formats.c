#include "data/formats/formats.h"

enum tn_status formats_wrong_file(enum tn_status status, const char *path, struct error *error)
{
    if (status == TN_OK) { return status; }
    const enum tn_status outside = status == TN_ECORRUPT ? TN_EINVAL : status;
    if (error == NULL) { return outside; }
    error->status = outside;
    return error_context(error, "%s", path);
}
