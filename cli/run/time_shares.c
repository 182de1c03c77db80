#include "cli/run/time_shares.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"

enum { PATH_BYTES = 1280, LEAST_MS = 20 };

static const struct {
    const char *name;
    bool is_worker;
} phases[TIME_PHASES] = {
    [TIME_READ] = {"worker_read", true},
    [TIME_COMPUTE] = {"worker_compute", true},
    [TIME_EVALUATE] = {"worker_evaluate", true},
    [TIME_APPLY] = {"ps_apply", false},
    [TIME_SAVE] = {"ps_save", false},
};

struct totals {
    uint64_t counts[TIME_PHASES];
    uint32_t workers, ps; /* Both 0: a run in one process. */
};

static void folder_of(const struct time_shares *shares, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.900s/times", shares->dir);
}

static void add_file(struct totals *totals, int folder, const char *path, const char *name,
                     bool remove)
{
    char file[PATH_BYTES + 300];
    uint64_t counts[TIME_PHASES];
    const bool worker = strncmp(name, "worker-", 7) == 0;
    unsigned first = 0, last = 0;
    if (!worker && strncmp(name, "ps-", 3) != 0) { return; }
    if (remove) { (void)unlinkat(folder, name, 0); }
    snprintf(file, sizeof file, "%s/%s", path, name);
    if (remove || !time_spent_read(file, counts)) { return; }
    for (int p = 0; p < TIME_PHASES; p++) { totals->counts[p] += counts[p]; }
    const bool several = sscanf(name, "worker-%u-%u", &first, &last) == 2 && last > first;
    totals->workers += worker ? (several ? last - first + 1 : 1) : 0;
    totals->ps += !worker;
}

static void visit_files(const struct time_shares *shares, struct totals *totals, bool remove)
{
    char path[PATH_BYTES];
    folder_of(shares, path);
    DIR *folder = opendir(path);
    if (folder == NULL) { return; }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        add_file(totals, dirfd(folder), path, entry->d_name, remove);
    }
    closedir(folder);
}

void time_shares_open(struct time_shares *shares, const char *dir, double now_ms)
{
    char path[PATH_BYTES];
    struct totals ignored = {.workers = 0};
    struct error error;
    assert(dir != NULL);
    *shares = (struct time_shares){.dir = dir, .taken_at_ms = now_ms};
    folder_of(shares, path);
    if (files_make_folders(path, &error) != TN_OK) { shares->dir = NULL; }
    if (shares->dir != NULL) { visit_files(shares, &ignored, true); }
}

static void put(struct time_shares *shares, const char *name, double share)
{
    shares->list[shares->count++] = (struct time_share){name, double_max(share, 0)};
}

/* Waiting is the rest; a process that has both roles does not wait for itself. */
static void fill(struct time_shares *shares, const struct totals *now, double elapsed_ns)
{
    double rest[2] = {1, 1};
    shares->count = 0;
    for (int p = 0; p < TIME_PHASES; p++) {
        const bool worker = phases[p].is_worker;
        const uint64_t before = shares->counts[p], after = now->counts[p];
        const double tasks = u32_max(worker ? now->workers : now->ps, 1);
        const double share = after > before ? (double)(after - before) / (elapsed_ns * tasks) : 0;
        put(shares, phases[p].name, share);
        if (p != TIME_SAVE) { rest[worker] -= share; }
    }
    if (now->workers > 0) { put(shares, "worker_wait", rest[1]); }
    if (now->ps > 0) { put(shares, "ps_wait", rest[0]); }
}

bool time_shares_take(struct time_shares *shares, double now_ms)
{
    struct totals now = {.workers = 0};
    uint64_t most = 0;
    const double elapsed_ms = now_ms - shares->taken_at_ms;
    if (shares->dir == NULL || elapsed_ms < LEAST_MS) { return false; }
    time_spent_get(now.counts);
    visit_files(shares, &now, false);
    for (int p = 0; p < TIME_PHASES; p++) { most = u64_max(most, now.counts[p]); }
    fill(shares, &now, elapsed_ms * 1e6);
    memcpy(shares->counts, now.counts, sizeof shares->counts);
    shares->taken_at_ms = now_ms;
    return most > 0;
}
