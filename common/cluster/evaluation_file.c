#include "common/cluster/evaluation_file.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/log.h"

enum { PATH_BYTES = 1024, FILE_BYTES_MAX = 256 << 20 };

static void path_of(const char *dir, uint64_t step, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.900s/evaluations/%" PRIu64 ".json", dir, step);
}

void evaluation_file_prepare(const char *dir)
{
    char path[PATH_BYTES];
    struct error error;
    assert(dir != NULL);
    snprintf(path, sizeof path, "%.900s/evaluations", dir);
    if (files_make_folders(path, &error) != TN_OK) {
        log_warn("the curves lack metrics of evaluations: %s", error.text);
    }
}

enum tn_status evaluation_file_write(const char *dir, uint64_t step, const json_t *object,
                                     struct error *error)
{
    char path[PATH_BYTES];
    assert(dir != NULL && object != NULL);
    snprintf(path, sizeof path, "%.900s/evaluations", dir);
    if (access(path, F_OK) != 0) { return TN_OK; }
    path_of(dir, step, path);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text == NULL) { return error_set(error, TN_ENOMEM, "no memory to write %s", path); }
    enum tn_status status = files_write_unsynced(path, text, strlen(text), error);
    free(text);
    return status;
}

static bool is_of(const json_t *object, double loss)
{
    const json_t *own = json_object_get(object, "loss");
    return json_is_number(own) ? json_number_value(own) == loss : !isfinite(loss);
}

json_t *evaluation_file_take(const char *dir, uint64_t step, double loss)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    struct error ignored;
    assert(dir != NULL);
    path_of(dir, step, path);
    if (files_read(path, FILE_BYTES_MAX, &text, &size, &ignored) != TN_OK) { return NULL; }
    (void)unlink(path);
    json_t *object = json_loadb(text, size, 0, NULL);
    free(text);
    if (json_is_object(object) && is_of(object, loss)) { return object; }
    json_decref(object);
    return NULL;
}
