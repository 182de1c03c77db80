#include "agent/ensemble/zoo_repair.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Magic, version and database id, before the first transaction. */
enum { LOG_HEADER_BYTES = 16 };

static DIR *open_folder(const char *data_dir)
{
    char path[PATH_MAX];
    assert(data_dir != NULL);
    int length = snprintf(path, sizeof path, "%s/version-2", data_dir);
    return length < (int)sizeof path ? opendir(path) : NULL;
}

/* The name of a log ends in the number of its first transaction: "log.1000002a7". */
static bool is_broken_log(int folder, const char *name)
{
    static const char prefix[] = "log.";
    struct stat info;
    assert(folder >= 0);
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) { return false; }
    const char *number = name + sizeof prefix - 1;
    if (*number == '\0' || strspn(number, "0123456789abcdef") != strlen(number)) { return false; }
    return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
           info.st_size < LOG_HEADER_BYTES;
}

bool zoo_repair_needed(const char *data_dir)
{
    DIR *folder = open_folder(data_dir);
    bool found = false;
    if (folder == NULL) { return false; }
    for (const struct dirent *entry; !found && (entry = readdir(folder));) {
        found = is_broken_log(dirfd(folder), entry->d_name);
    }
    closedir(folder);
    return found;
}

uint32_t zoo_repair(const char *data_dir)
{
    DIR *folder = open_folder(data_dir);
    uint32_t removed = 0;
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (is_broken_log(dirfd(folder), entry->d_name) &&
            unlinkat(dirfd(folder), entry->d_name, 0) == 0) {
            removed++;
        }
    }
    closedir(folder);
    return removed;
}
