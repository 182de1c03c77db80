#include "kernels/cuda/module_file.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"

#define NAME "tanist-cuda.fatbin"

enum { MODULE_BYTES_MAX = 256 << 20 };

/* Whether `name` exists in the folder of `file`; then it is in `path`. */
static bool find_beside(const char *file, const char *name, char *path)
{
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    if (slash == NULL) { return false; }
    const int length = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - file), file, name);
    return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

static bool find_installed(char *path)
{
    char program[PATH_MAX] = "";
    Dl_info self = {.dli_fname = NULL};
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) { program[0] = '\0'; }
    return find_beside(program, NAME, path) ||
           find_beside(program, TANIST_LIBRARY_PATH "/" NAME, path) ||
           (dladdr(NAME, &self) != 0 && find_beside(self.dli_fname, "tanist/" NAME, path));
}

enum tn_status module_file_read(char **image, char *path, struct error *error)
{
    size_t size = 0;
    const char *named = getenv("TANIST_CUDA_MODULE");
    assert(image != NULL && path != NULL);
    *image = NULL;
    if (named != NULL && *named != '\0') {
        (void)snprintf(path, PATH_MAX, "%s", named);
        const enum tn_status status = files_read(path, MODULE_BYTES_MAX, image, &size, error);
        return status == TN_OK ? TN_OK : error_context(error, "TANIST_CUDA_MODULE");
    }
    if (find_installed(path)) { return files_read(path, MODULE_BYTES_MAX, image, &size, error); }
    return error_set(error, TN_ENOENT,
                     "the kernels for GPUs (" NAME ") are neither beside the program, nor in %s of "
                     "its folder: build and install tanist where nvcc is installed, or name the "
                     "file in TANIST_CUDA_MODULE",
                     TANIST_LIBRARY_PATH);
}
