#include "data/source/index.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/files.h"
#include "common/base/log.h"

enum { ENTRY_MAX = 1 << 28, SETTLED_S = 2 };

static char folder[INDEX_PATH_MAX - 128]; /* "": none. */
static bool stores;

static void use(const char *dir, bool store)
{
    const int length = snprintf(folder, sizeof folder, "%s/index", dir != NULL ? dir : "");
    if (dir == NULL || length < 0 || (size_t)length >= sizeof folder) { folder[0] = '\0'; }
    stores = store;
}

void index_use(const char *dir)
{
    use(dir, true);
}

void index_look_up(const char *dir)
{
    assert(dir != NULL);
    if (folder[0] == '\0') { use(dir, false); }
}

static bool path_of(const char *kind, struct digest key, char path[static INDEX_PATH_MAX])
{
    char name[DIGEST_TEXT_BYTES];
    if (folder[0] == '\0') { return false; }
    digest_format(key, name);
    const int length = snprintf(path, INDEX_PATH_MAX, "%s/%s.%s", folder, name, kind);
    return length > 0 && length < INDEX_PATH_MAX;
}

bool index_find(const char *kind, struct digest key, char path[static INDEX_PATH_MAX])
{
    return path_of(kind, key, path) && access(path, R_OK) == 0;
}

bool index_place(const char *kind, struct digest key, char path[static INDEX_PATH_MAX])
{
    if (!stores || !path_of(kind, key, path)) { return false; }
    return mkdir(folder, 0700) == 0 || access(folder, W_OK) == 0;
}

void index_discard(void)
{
    DIR *entries = folder[0] != '\0' ? opendir(folder) : NULL;
    if (entries == NULL) { return; }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
    (void)rmdir(folder);
}

/* Ends each entry. It covers kind and key, so that an entry under another name is not used. */
static struct digest seal_of(const char *kind, struct digest key, const void *payload, size_t size)
{
    struct digest_stream stream;
    digest_begin(&stream);
    digest_add(&stream, kind, strlen(kind) + 1);
    digest_add(&stream, &key, sizeof key);
    digest_add(&stream, payload, size);
    return digest_end(&stream);
}

char *index_load(const char *kind, struct digest key, size_t *size)
{
    char path[INDEX_PATH_MAX], *bytes = NULL;
    struct error ignored;
    struct digest seal;
    if (!index_find(kind, key, path)) { return NULL; }
    if (files_read(path, ENTRY_MAX, &bytes, size, &ignored) != TN_OK) { return NULL; }
    if (*size >= sizeof seal) {
        *size -= sizeof seal;
        memcpy(&seal, bytes + *size, sizeof seal);
        bytes[*size] = '\0';
        if (digest_equal(seal, seal_of(kind, key, bytes, *size))) { return bytes; }
    }
    log_warn("%s is damaged: it is computed again", path);
    free(bytes);
    return NULL;
}

void index_store(const char *kind, struct digest key, const void *payload, size_t size)
{
    char path[INDEX_PATH_MAX];
    struct error error;
    const struct digest seal = seal_of(kind, key, payload, size);
    if (size > ENTRY_MAX - sizeof seal || !index_place(kind, key, path)) { return; }
    char *bytes = malloc(size + sizeof seal);
    if (bytes == NULL) { return; }
    memcpy(bytes, payload, size);
    memcpy(bytes + size, &seal, sizeof seal);
    if (files_write_atomic(path, bytes, size + sizeof seal, &error) != TN_OK) {
        log_debug("not stored: %s", error.text);
    }
    free(bytes);
}

bool index_key_of_file(const char *path, struct digest *key)
{
    struct stat about;
    if (folder[0] == '\0' || stat(path, &about) != 0) { return false; }
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    if (about.st_ctime > now - SETTLED_S || about.st_mtime > now - SETTLED_S) { return false; }
    const int64_t numbers[] = {
        (int64_t)about.st_dev,         (int64_t)about.st_ino, (int64_t)about.st_size,
        (int64_t)about.st_mtim.tv_sec, about.st_mtim.tv_nsec, (int64_t)about.st_ctim.tv_sec,
        about.st_ctim.tv_nsec,
    };
    *key = digest_of(numbers, sizeof numbers);
    return true;
}
