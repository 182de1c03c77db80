#include "cli/run/warm_options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/model/export.h"
#include "cli/run_folder.h"
#include "common/base/files.h"

void warm_options_add(struct options *options, struct warm_options *given)
{
    options_text(options, "warm-start", &given->from, "FILE|DIR",
                 "Start with the parameters in a safetensors file, or with those of another run.");
    options_texts(
        options, "map", &given->map, "VARIABLES=TENSORS",
        "Names of tensors that differ from those of their variables: 'hidden1/*=encoder/*'.");
    options_texts(options, "freeze", &given->freeze, "PATTERN",
                  "Do not train the variables whose names match the pattern.");
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The file that begins the run in `dir`: exported, unless the run there is to continue with it. */
static enum tn_status export_run(const char *from, const char *dir, bool resume,
                                 char file[static RUN_PATH_MAX], bool *exported,
                                 struct error *error)
{
    char job[RUN_PATH_MAX + 16];
    const size_t length = strlen(dir);
    const int end = (int)(length > 1 && dir[length - 1] == '/' ? length - 1 : length);
    const int written = snprintf(file, RUN_PATH_MAX, "%.*s.warm-start.safetensors", end, dir);
    if (written < 0 || written >= RUN_PATH_MAX) {
        return error_set(error, TN_EINVAL, "--dir: the path is too long");
    }
    snprintf(job, sizeof job, "%s/job.json", dir);
    const bool continues = access(job, F_OK) == 0 && (resume || !run_folder_has_result(dir));
    if (continues && access(file, F_OK) == 0) { return TN_OK; }
    char *copy = strdup(file);
    if (copy == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    char *slash = strrchr(copy, '/');
    enum tn_status status = TN_OK;
    if (slash != NULL && slash != copy) {
        *slash = '\0';
        status = files_make_folders(copy, error);
    }
    free(copy);
    if (status == TN_OK) { status = export_newest(from, file, error); }
    *exported = status == TN_OK;
    return status;
}

/* The nodes of a run may have another folder. */
static enum tn_status set_file(struct job *job, const char *file, struct error *error)
{
    char *path = realpath(file, NULL);
    if (path == NULL) { return files_error(error, errno, "open", file); }
    const int length = snprintf(job->model.warm_start, sizeof job->model.warm_start, "%s", path);
    free(path);
    if (length < (int)sizeof job->model.warm_start) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the path is longer than %d bytes", JOB_PATH_MAX - 1);
}

static enum tn_status copy_texts(const char *option, const struct option_texts *texts, char *out,
                                 size_t size, uint32_t most, uint32_t *count, struct error *error)
{
    if (texts->count == 0) { return TN_OK; }
    if (texts->count > most) {
        return error_set(error, TN_EINVAL, "%s is given %zu times: at most %u", option,
                         texts->count, most);
    }
    for (*count = 0; *count < texts->count; (*count)++) {
        const char *text = texts->items[*count];
        if (strlen(text) >= size) {
            return error_set(error, TN_EINVAL, "%s '%.60s...' is longer than %zu bytes", option,
                             text, size - 1);
        }
        memcpy(out + *count * size, text, strlen(text) + 1);
    }
    return TN_OK;
}

enum tn_status warm_options_apply(const struct warm_options *given, const char *dir, bool resume,
                                  struct job *job, bool *exported, struct error *error)
{
    char file[RUN_PATH_MAX] = "";
    enum tn_status status = TN_OK;
    assert(dir != NULL && job != NULL);
    *exported = false;
    if (given->from != NULL) {
        const char *from = given->from;
        if (is_folder(from)) {
            status = export_run(from, dir, resume, file, exported, error);
            from = file;
        }
        if (status == TN_OK) { status = set_file(job, from, error); }
        if (status != TN_OK) { return error_context(error, "--warm-start"); }
    }
    status = copy_texts("--map", &given->map, job->model.map[0], sizeof job->model.map[0],
                        JOB_MAP_MAX, &job->model.map_count, error);
    if (status != TN_OK) { return status; }
    return copy_texts("--freeze", &given->freeze, job->model.freeze[0], sizeof job->model.freeze[0],
                      JOB_FREEZE_MAX, &job->model.freeze_count, error);
}
