#include "common/base/shared_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum tn_status check_file(const char *path, const char *key, struct error *error)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return error_set(error, TN_EINVAL,
                         "%s: cannot open %s: %s: give the file of the "
                         "shared library on this host",
                         key, path, strerror(errno));
    }
    if (S_ISREG(file.st_mode)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s: %s is not a regular file: give a shared library", key,
                     path);
}

/* With all its symbols bound, so that a missing function is found now. */
static enum tn_status load(const char *path, const char *key, void **library, struct error *error)
{
    char *whole = realpath(path, NULL); /* A name without "/" would be searched elsewhere. */
    *library = whole != NULL ? dlopen(whole, RTLD_NOW | RTLD_LOCAL) : NULL;
    free(whole);
    if (*library != NULL) { return TN_OK; }
    const char *reason = dlerror();
    return error_set(error, TN_EINVAL,
                     "%s: %s cannot be loaded: %s: build it on this kind of machine as a "
                     "shared library, with the headers of this version of Tanist",
                     key, path, reason != NULL ? reason : "out of memory");
}

static bool is_object(void *symbol, size_t least)
{
    Dl_info info;
    const ElfW(Sym) *entry = NULL;
    if (dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) == 0 || entry == NULL) {
        return false;
    }
    return ELF64_ST_TYPE(entry->st_info) == STT_OBJECT && entry->st_size >= least;
}

enum tn_status shared_library_find(const char *path, const char *key, const char *symbol,
                                   size_t least, const void **out, struct error *error)
{
    void *library = NULL;
    assert(path != NULL && symbol != NULL && out != NULL);
    *out = NULL;
    enum tn_status status = check_file(path, key, error);
    if (status == TN_OK) { status = load(path, key, &library, error); }
    if (status != TN_OK) { return status; }
    void *found = dlsym(library, symbol);
    if (found != NULL && is_object(found, least)) { *out = found; }
    return TN_OK;
}
