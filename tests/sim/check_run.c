/*
 * check_run: judge a real run by the checker of the simulated ones.
 *
 *   check_run DIR [--trace]
 *
 * Reads what the servers of DIR/zookeeper committed, from their own logs, and checks the rules of
 * tests/sim/checker.h that orders show (I1, I2, I3, I8), and that each order was conditional on its
 * chief's office. Exit status 1 if one is broken.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/checker.h"
#include "tests/sim/txn_log.h"

enum { FILES_MAX = 4096, NAME_MAX_BYTES = 512 };

struct replay {
    struct world world;
    struct checker checker;
    long count;
    uint64_t last_zxid;
};

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

/* An order is a write of /run by a chief, and every one of these must be fenced. */
static void check_fence(struct replay *replay, const struct txn_log_entry *entry)
{
    const struct zk_txn *txn = entry->txn;
    for (size_t i = 0; i < txn->count; i++) {
        const struct zk_change *change = &txn->changes[i];
        struct run run;
        if (change->kind != ZK_SET || !ends_with(change->path, "/run")) continue;
        if (run_decode(change->blob->data, change->blob->size, &run, NULL) != TN_OK) continue;
        if (run.phase == RUN_FORMING) continue; /* Also written by who starts the job. */
        bool fenced = false;
        for (size_t c = 0; c < entry->check_count; c++) {
            fenced = fenced || ends_with(entry->checks[c], "/chief");
        }
        if (!fenced) world_fail(&replay->world, "I2: an order was not conditional on its office");
    }
}

static void visit(void *ctx, const struct txn_log_entry *entry)
{
    struct replay *replay = ctx;
    struct zk_txn *txn = entry->txn;
    if (txn->zxid <= replay->last_zxid) return; /* Another file began earlier. */
    replay->last_zxid = txn->zxid;
    replay->count++;
    replay->world.now_us = txn->wall_ms * 1000;
    check_fence(replay, entry);
    checker_on_txn(&replay->checker, txn);
}

static int by_name(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    size_t l = strlen(*left), r = strlen(*right);
    return l != r ? (l < r ? -1 : 1) : strcmp(*left, *right);
}

/* The log files of one server, oldest first. Returns their number. */
static size_t list_logs(const char *folder, char *names[static FILES_MAX])
{
    DIR *dir = opendir(folder);
    size_t count = 0;
    if (dir == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && count < FILES_MAX;) {
        if (strncmp(entry->d_name, "log.", 4) != 0) continue;
        char path[NAME_MAX_BYTES * 2];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        names[count++] = strdup(path);
    }
    (void)closedir(dir);
    qsort(names, count, sizeof names[0], by_name);
    return count;
}

static bool replay_server(struct replay *replay, const char *folder, const struct job *job,
                          bool verbose)
{
    char *names[FILES_MAX];
    memset(replay, 0, sizeof *replay);
    world_init(&replay->world, 0, verbose);
    checker_init(&replay->checker, &(struct checker_config){.world = &replay->world, .job = job});
    size_t count = list_logs(folder, names);
    bool good = count > 0;
    for (size_t i = 0; i < count; i++) {
        if (good && txn_log_read(names[i], visit, replay) < 0) {
            (void)fprintf(stderr, "%s: %s\n", names[i],
                          errno != 0 ? strerror(errno) : "not a transaction log");
            good = false;
        }
        free(names[i]);
    }
    return good;
}

/* The server that knows most: one that came late got a snapshot instead of the first transactions.
 */
static int best_server(const char *dir, const struct job *job)
{
    int best = 0;
    uint64_t highest = 0;
    long most = 0;
    static struct replay replay;
    for (int server = 1; server <= 9; server++) {
        char folder[NAME_MAX_BYTES];
        (void)snprintf(folder, sizeof folder, "%s/zookeeper/%d/data/version-2", dir, server);
        bool readable = replay_server(&replay, folder, job, false);
        bool better =
            replay.last_zxid > highest || (replay.last_zxid == highest && replay.count > most);
        if (readable && better) {
            highest = replay.last_zxid;
            most = replay.count;
            best = server;
        }
        world_free(&replay.world);
    }
    return best;
}

int main(int argc, char **argv)
{
    static struct replay replay;
    struct job job;
    struct error error;
    char path[NAME_MAX_BYTES];
    bool trace = argc == 3 && strcmp(argv[2], "--trace") == 0;
    if (argc < 2 || (argc == 3 && !trace) || argc > 3) {
        (void)fprintf(stderr, "usage: check_run DIR [--trace]\n");
        return TN_EXIT_ARGUMENTS;
    }
    job_init(&job);
    (void)snprintf(path, sizeof path, "%s/job.json", argv[1]);
    if (job_read_file(&job, path, &error) != TN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return TN_EXIT_INVALID_INPUT;
    }
    int server = best_server(argv[1], &job);
    (void)snprintf(path, sizeof path, "%s/zookeeper/%d/data/version-2", argv[1], server);
    if (server == 0 || !replay_server(&replay, path, &job, trace)) {
        (void)fprintf(stderr, "no readable transaction log in %s/zookeeper\n", argv[1]);
        return TN_EXIT_IO;
    }
    bool good = !replay.world.failed;
    printf("%ld transactions of server %d: %" PRIu64 " elections, %" PRIu64 " loads (%" PRIu64
           " restores), %" PRIu64 " checkpoints, run %s: %s\n",
           replay.count, server, replay.checker.elections, replay.checker.loads,
           replay.checker.restores, replay.checker.commits,
           replay.checker.has_run ? run_phase_name(replay.checker.run.phase) : "absent",
           good ? "no rule broken" : replay.world.failure);
    world_free(&replay.world);
    return good ? 0 : 1;
}
