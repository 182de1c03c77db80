#include "checker/ensemble_log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDER_MAX = 1024, FILE_PATH_MAX = FOLDER_MAX + 300, FILES_MAX = 4096 };

/* A transaction and the servers that logged it. */
struct logged {
    struct txn_log_entry entry;
    uint32_t servers; /* Bit N: server N. */
};

struct merge {
    struct logged *list;
    size_t count, capacity;
    size_t sorted; /* The first entries, from the servers read before. */
    uint32_t server;
    uint64_t last[ENSEMBLE_SERVERS_MAX + 1]; /* The highest zxid of each server. */
};

static uint64_t epoch_of(uint64_t zxid)
{
    return zxid >> 32;
}

static int by_zxid(const void *a, const void *b)
{
    uint64_t left = ((const struct logged *)a)->entry.txn->zxid;
    uint64_t right = ((const struct logged *)b)->entry.txn->zxid;
    return left < right ? -1 : left > right;
}

/* A copy without the reader's spare space for changes. */
static struct zk_txn *compact(const struct zk_txn *txn)
{
    size_t size = sizeof *txn + txn->count * sizeof txn->changes[0];
    struct zk_txn *copy = malloc(size);
    assert(copy != NULL);
    memcpy(copy, txn, size);
    copy->references = 1;
    for (size_t i = 0; i < copy->count; i++) {
        if (copy->changes[i].blob != NULL) { copy->changes[i].blob->references++; }
    }
    return copy;
}

static void visit(void *ctx, const struct txn_log_entry *entry)
{
    struct merge *merge = ctx;
    assert(merge->server >= 1 && merge->server <= ENSEMBLE_SERVERS_MAX);
    uint32_t bit = 1u << merge->server;
    uint64_t zxid = entry->txn->zxid;
    if (zxid <= merge->last[merge->server]) {
        return; /* An earlier file of the server contains it, too. */
    }
    merge->last[merge->server] = zxid;
    struct logged key = {.entry.txn = entry->txn};
    struct logged *known = NULL;
    if (merge->sorted > 0) {
        known = bsearch(&key, merge->list, merge->sorted, sizeof key, by_zxid);
    }
    if (known != NULL) {
        known->servers |= bit;
        return;
    }
    if (merge->count == merge->capacity) {
        merge->capacity = merge->capacity != 0 ? merge->capacity * 2 : 1024;
        merge->list = realloc(merge->list, merge->capacity * sizeof *merge->list);
        assert(merge->list != NULL);
    }
    struct logged *added = &merge->list[merge->count++];
    *added = (struct logged){.entry = *entry, .servers = bit};
    added->entry.txn = compact(entry->txn);
}

/* The names end in a hexadecimal number without leading zeros, so log.10 follows log.f. */
static int by_name(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    size_t l = strlen(*left), r = strlen(*right);
    return l != r ? (l < r ? -1 : 1) : strcmp(*left, *right);
}

/* Lists the log files of a folder, oldest first. Returns their number; 0 without a folder. */
static size_t list_logs(const char *folder, char *names[static FILES_MAX])
{
    DIR *dir = opendir(folder);
    assert(names != NULL);
    size_t count = 0;
    if (dir == NULL) { return 0; }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && count < FILES_MAX;) {
        if (strncmp(entry->d_name, "log.", 4) != 0) { continue; }
        char path[FILE_PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        names[count] = strdup(path);
        if (names[count] != NULL) { count++; }
    }
    (void)closedir(dir);
    qsort(names, count, sizeof names[0], by_name);
    return count;
}

static enum tn_status read_server(struct merge *merge, const char *folder, bool *found,
                                  struct error *error)
{
    char **names = calloc(FILES_MAX, sizeof *names);
    assert(names != NULL);
    enum tn_status status = TN_OK;
    size_t count = list_logs(folder, names);
    *found = count > 0;
    for (size_t i = 0; i < count; i++) {
        if (status == TN_OK && txn_log_read(names[i], visit, merge) < 0) {
            status = errno != 0
                         ? error_set(error, TN_EIO, "%s: %s", names[i], strerror(errno))
                         : error_set(error, TN_ECORRUPT, "%s is not a transaction log", names[i]);
        }
        free(names[i]);
    }
    free(names);
    if (merge->count > 0) { qsort(merge->list, merge->count, sizeof *merge->list, by_zxid); }
    merge->sorted = merge->count;
    return status;
}

/* Whether only one server logged it, and that server did not log any later epoch although others
 * did.
 */
static bool is_abandoned(const struct merge *merge, const struct logged *logged, uint64_t newest)
{
    assert(logged->servers != 0);
    if ((logged->servers & (logged->servers - 1)) != 0) { return false; }
    uint32_t server = (uint32_t)__builtin_ctz(logged->servers);
    uint64_t epoch = epoch_of(logged->entry.txn->zxid);
    return epoch == epoch_of(merge->last[server]) && epoch < epoch_of(newest);
}

static void keep(struct ensemble_log *out, const struct merge *merge)
{
    uint64_t newest = 0, before = 0;
    assert(merge->sorted == merge->count);
    if (merge->count == 0) { return; }
    newest = merge->list[merge->count - 1].entry.txn->zxid;
    out->entries = calloc(merge->count, sizeof *out->entries);
    assert(out->entries != NULL);
    for (size_t i = 0; i < merge->count; i++) {
        const struct logged *logged = &merge->list[i];
        uint64_t zxid = logged->entry.txn->zxid;
        if (is_abandoned(merge, logged, newest)) {
            out->abandoned++;
            zk_txn_release(logged->entry.txn);
            continue;
        }
        /* Numbers are consecutive, from 1 in each of ZooKeeper's epochs. */
        bool same = epoch_of(zxid) == epoch_of(before);
        out->missing += same ? zxid - before - 1 : (zxid & UINT32_MAX) - 1;
        before = zxid;
        out->entries[out->count++] = logged->entry;
    }
}

static void release_all(struct merge *merge)
{
    assert(merge->list != NULL || merge->count == 0);
    for (size_t i = 0; i < merge->count; i++) { zk_txn_release(merge->list[i].entry.txn); }
}

enum tn_status ensemble_log_read(const char *dir, struct ensemble_log *out, struct error *error)
{
    struct merge merge = {0};
    struct stat about;
    assert(dir != NULL);
    enum tn_status status = TN_OK;
    *out = (struct ensemble_log){0};
    if (stat(dir, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return error_set(error, TN_ENOENT, "the folder %s does not exist", dir);
    }
    for (uint32_t server = 1; server <= ENSEMBLE_SERVERS_MAX && status == TN_OK; server++) {
        char folder[FOLDER_MAX];
        bool found;
        (void)snprintf(folder, sizeof folder, "%s/%u/data/version-2", dir, server);
        merge.server = server;
        status = read_server(&merge, folder, &found, error);
        out->servers += found;
    }
    if (status == TN_OK) {
        keep(out, &merge);
    } else {
        release_all(&merge);
    }
    free(merge.list);
    return status;
}

void ensemble_log_free(struct ensemble_log *log)
{
    for (size_t i = 0; i < log->count; i++) { zk_txn_release(log->entries[i].txn); }
    free(log->entries);
    *log = (struct ensemble_log){0};
}
