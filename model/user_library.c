#include "model/user_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/user_model.h"

static enum tn_status check_file(const char *path, struct error *error)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return error_set(error, TN_EINVAL,
                         "model.path: cannot open %s: %s: give the file of the "
                         "shared library on this host",
                         path, strerror(errno));
    }
    if (S_ISREG(file.st_mode)) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "model.path: %s is not a regular file: give a shared library", path);
}

/* With all its symbols bound, so that a missing function is found now. */
static enum tn_status load(const char *path, void **library, struct error *error)
{
    char *whole = realpath(path, NULL); /* A name without "/" would be searched elsewhere. */
    *library = whole != NULL ? dlopen(whole, RTLD_NOW | RTLD_LOCAL) : NULL;
    free(whole);
    if (*library != NULL) { return TN_OK; }
    const char *reason = dlerror();
    return error_set(error, TN_EINVAL,
                     "model.path: %s cannot be loaded: %s: build it on this kind of machine as a "
                     "shared library, with the headers of this version of Tanist",
                     path, reason != NULL ? reason : "out of memory");
}

/* Whether the symbol is an object with room for the members that user_model_check() reads first. */
static bool is_model(void *symbol)
{
    Dl_info info;
    const ElfW(Sym) *entry = NULL;
    if (dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) == 0 || entry == NULL) {
        return false;
    }
    const bool is_object = ELF64_ST_TYPE(entry->st_info) == STT_OBJECT;
    return is_object && entry->st_size >= offsetof(struct tn_model, name);
}

enum tn_status user_library_open(const char *path, const char *symbol, const struct tn_model **out,
                                 struct error *error)
{
    void *library = NULL;
    assert(path != NULL && symbol != NULL && out != NULL);
    *out = NULL;
    enum tn_status status = check_file(path, error);
    if (status == TN_OK) { status = load(path, &library, error); }
    if (status != TN_OK) { return status; }
    const struct tn_model *model = dlsym(library, symbol);
    if (model == NULL || !is_model((void *)(uintptr_t)model)) {
        return error_set(error, TN_EINVAL,
                         "model.path: %s exports no model \"%s\": define it with TN_MODEL() or "
                         "TN_MODEL_WITH(), or give model.symbol",
                         path, symbol);
    }
    status = user_model_check(model, path, error);
    if (status == TN_OK) { *out = model; }
    return status;
}
