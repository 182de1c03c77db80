#include "chaos/cluster/round_folder.h"

#include <assert.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTORS = 16 };

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    const char *name = path + where->base;
    (void)info;
    (void)type;
    bool kept = where->level == 0 || (where->level == 1 && strcmp(name, "history.jsonl") == 0);
    if (!kept) { (void)remove(path); }
    return 0;
}

void folder_keep_history(const char *dir)
{
    assert(dir != NULL);
    (void)nftw(dir, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
