#include "model/user_library.h"

#include <assert.h>

#include "common/base/shared_library.h"
#include "model/user_model.h"

enum tn_status user_library_open(const char *path, const char *symbol, const struct tn_model **out,
                                 struct error *error)
{
    const void *model = NULL;
    assert(path != NULL && symbol != NULL && out != NULL);
    *out = NULL;
    /* user_model_check() reads the members before the name first. */
    const size_t least = offsetof(struct tn_model, name);
    enum tn_status status = shared_library_find(path, "model.path", symbol, least, &model, error);
    if (status != TN_OK) { return status; }
    if (model == NULL) {
        return error_set(error, TN_EINVAL,
                         "model.path: %s exports no model \"%s\": define it with TN_MODEL() or "
                         "TN_MODEL_WITH(), or give model.symbol",
                         path, symbol);
    }
    status = user_model_check(model, path, error);
    if (status == TN_OK) { *out = model; }
    return status;
}
