#include "local/saver.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault_signals.h"
#include "common/base/log.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum saver_state {
    SAVER_IDLE,
    SAVER_WRITING,
    SAVER_WRITTEN, /* `result` was not reported yet. */
    SAVER_ENDING,
};

struct saver {
    struct saver_config config;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool busy;         /* The owner's: begun and not reported. */
    uint64_t begun_ms; /* The owner's: the last save; 0: none. */
    struct save_pace pace;
    /* Guarded by `mutex`. While SAVER_WRITING, the rest belongs to the thread. */
    enum saver_state state;
    struct manifest manifest;
    struct store_write_request request;
    struct tables *tables; /* That save; NULL: none do. */
    struct saver_result result;
    uint64_t kept[CHECKPOINT_KEEP_MAX]; /* Committed, ascending; the last `keep`. */
    uint64_t best[CHECKPOINT_KEEP_MAX]; /* The best one as of each of these; 0: unknown. */
    uint32_t kept_count;
    uint64_t former; /* The last one that shares no file of table rows with the newest; 0: none. */
    uint64_t unloadable[RUN_UNLOADABLE_MAX];
    uint32_t unloadable_count;
};

/* ---------------------------------------------------------- on the thread */

static void add_kept(struct saver *saver, uint64_t checkpoint, uint64_t best)
{
    assert(saver->kept_count <= saver->config.keep);
    const uint64_t last = saver->kept_count > 0 ? saver->kept[saver->kept_count - 1] : 0;
    if (last < manifest_chain_begin(checkpoint)) { saver->former = last; }
    if (saver->kept_count == saver->config.keep) {
        memmove(saver->kept, saver->kept + 1, (saver->kept_count - 1) * sizeof saver->kept[0]);
        memmove(saver->best, saver->best + 1, (saver->kept_count - 1) * sizeof saver->best[0]);
        saver->kept_count--;
    }
    saver->best[saver->kept_count] = best;
    saver->kept[saver->kept_count++] = checkpoint;
}

static void remove_old(struct saver *saver)
{
    uint64_t ids[2 * CHECKPOINT_KEEP_MAX + RUN_UNLOADABLE_MAX + 1];
    size_t removed = 0;
    struct error error;
    const uint32_t kept = saver->kept_count, unloadable = saver->unloadable_count;
    memcpy(ids, saver->kept, kept * sizeof ids[0]);
    memcpy(ids + kept, saver->best, kept * sizeof ids[0]);
    memcpy(ids + 2 * kept, saver->unloadable, unloadable * sizeof ids[0]);
    ids[2 * kept + unloadable] = saver->manifest.chain_count > 0 ? saver->former : 0;
    if (store_collect(saver->config.dir, ids, 2 * kept + unloadable + 1, saver->manifest.id,
                      &removed, &error) != TN_OK) {
        log_warn("old checkpoints cannot be removed: %s", error.text);
    }
    if (saver->manifest.chain_count > 0 &&
        tables_collect(saver->config.dir, saver->manifest.id, &error) != TN_OK) {
        log_warn("files of table rows that no checkpoint needs cannot be removed: %s", error.text);
    }
}

static enum tn_status write_checkpoint(struct saver *saver, struct error *error)
{
    struct manifest_shard *shard = &saver->manifest.shards[0];
    assert(saver->manifest.shard_count == 1);
    const struct table_progress progress = save_pace_of_rows(&saver->pace);
    enum tn_status status = store_write(saver->config.dir, &saver->request, NULL, &saver->pace,
                                        &shard->digest, &shard->bytes, error);
    if (status == TN_OK) {
        status = tables_write(saver->tables, saver->config.dir, &saver->manifest, &progress, error);
    }
    (void)save_pace_end(&saver->pace);
    if (status == TN_OK) {
        status = store_put_manifest(saver->config.dir, &saver->manifest, error);
    }
    struct error ignored;
    if (status != TN_OK) {
        (void)!store_discard(saver->config.dir, saver->manifest.id, &ignored);
        return status;
    }
    add_kept(saver, saver->manifest.id, saver->manifest.best.checkpoint);
    remove_old(saver);
    return TN_OK;
}

static void release_request(struct saver *saver)
{
    for (uint32_t a = 0; a < saver->request.state_arrays; a++) {
        buffer_release(saver->request.arrays[a].buffer);
    }
    saver->request.state_arrays = 0;
}

static void *serve(void *ctx)
{
    struct saver *saver = ctx;
    pthread_mutex_lock(&saver->mutex);
    while (saver->state != SAVER_ENDING) {
        if (saver->state != SAVER_WRITING) {
            pthread_cond_wait(&saver->changed, &saver->mutex);
            continue;
        }
        pthread_mutex_unlock(&saver->mutex);
        struct saver_result result = {.checkpoint = saver->manifest.id,
                                      .step = saver->manifest.step};
        result.status = write_checkpoint(saver, &result.error);
        release_request(saver);
        pthread_mutex_lock(&saver->mutex);
        saver->result = result;
        saver->state = SAVER_WRITTEN;
        pthread_cond_broadcast(&saver->changed);
    }
    pthread_mutex_unlock(&saver->mutex);
    return NULL;
}

/* ------------------------------------------------------------- the owner's */

/* Signals are for the main thread; they must not interrupt a write. */
static int start_thread(struct saver *saver)
{
    sigset_t before;
    fault_signals_block_others(&before);
    const int reason = pthread_create(&saver->thread, NULL, serve, saver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reason;
}

enum tn_status saver_start(const struct saver_config *config, struct saver **out,
                           struct error *error)
{
    assert(config->keep >= 1 && config->keep <= CHECKPOINT_KEEP_MAX);
    struct saver *saver = calloc(1, sizeof *saver);
    *out = NULL;
    if (saver == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    saver->config = *config;
    pthread_mutex_init(&saver->mutex, NULL);
    pthread_cond_init(&saver->changed, NULL);
    save_pace_open(&saver->pace);
    const int reason = start_thread(saver);
    if (reason != 0) {
        save_pace_close(&saver->pace);
        pthread_cond_destroy(&saver->changed);
        pthread_mutex_destroy(&saver->mutex);
        free(saver);
        return error_set(error, TN_EIO, "no thread for checkpoints can be started: %s",
                         strerror(reason));
    }
    *out = saver;
    return TN_OK;
}

void saver_stop(struct saver *saver)
{
    struct saver_result ignored;
    if (saver == NULL) { return; }
    (void)saver_finish(saver, true, &ignored);
    pthread_mutex_lock(&saver->mutex);
    saver->state = SAVER_ENDING;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->mutex);
    pthread_join(saver->thread, NULL);
    save_pace_close(&saver->pace);
    pthread_cond_destroy(&saver->changed);
    pthread_mutex_destroy(&saver->mutex);
    free(saver);
}

void saver_know(struct saver *saver, uint64_t checkpoint, uint64_t best)
{
    assert(!saver->busy);
    add_kept(saver, checkpoint, best);
}

void saver_know_unloadable(struct saver *saver, uint64_t checkpoint)
{
    assert(!saver->busy);
    if (saver->unloadable_count < RUN_UNLOADABLE_MAX) {
        saver->unloadable[saver->unloadable_count++] = checkpoint;
    }
}

/* The thread has no save, so its data belong to the owner. */
static void begin_pace(struct saver *saver)
{
    const uint64_t now_ms = clock_monotonic_ms();
    const uint64_t seen_ms = saver->begun_ms != 0 ? now_ms - saver->begun_ms : 0;
    const uint64_t bytes =
        store_write_bytes(&saver->request) + tables_save_bytes(saver->tables, saver->manifest.step);
    saver->begun_ms = now_ms;
    save_pace_begin(&saver->pace, bytes,
                    save_rate_spread_ms(bytes, saver->config.interval_ms, seen_ms), false);
}

void saver_begin(struct saver *saver, const struct manifest *manifest, const char *place,
                 struct trainer *trainer)
{
    assert(!saver->busy);
    assert(manifest->state_arrays == trainer->arrays);
    assert(manifest->parameter_count == trainer->parameters);
    pthread_mutex_lock(&saver->mutex);
    saver->manifest = *manifest;
    saver->manifest.shard_count = 1;
    saver->manifest.rows = (struct row_borders){.count = 0};
    saver->manifest.shards[0] = (struct manifest_shard){.count = trainer->parameters};
    snprintf(saver->manifest.shards[0].place, sizeof saver->manifest.shards[0].place, "%s", place);
    saver->request = (struct store_write_request){.id = manifest->id,
                                                  .generation = manifest->generation,
                                                  .step = manifest->step,
                                                  .epoch = manifest->epoch,
                                                  .optimizer_steps = trainer->step,
                                                  .count = trainer->parameters,
                                                  .shards = 1,
                                                  .state_arrays = trainer->arrays};
    for (uint32_t a = 0; a < trainer->arrays; a++) {
        saver->request.arrays[a].buffer = buffer_retain(trainer->current[a]);
    }
    saver->busy = true;
    saver->state = SAVER_WRITING;
    struct saver_result failed = {.checkpoint = manifest->id, .step = manifest->step};
    failed.status = tables_begin_save(&trainer->tables, manifest->id, &failed.error);
    saver->tables = failed.status == TN_OK ? &trainer->tables : NULL;
    if (failed.status == TN_OK) {
        begin_pace(saver);
    } else {
        release_request(saver);
        saver->result = failed;
        saver->state = SAVER_WRITTEN;
    }
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->mutex);
}

bool saver_finish(struct saver *saver, bool wait, struct saver_result *result)
{
    if (!saver->busy) { return false; }
    if (wait) { save_pace_hurry(&saver->pace); }
    pthread_mutex_lock(&saver->mutex);
    while (wait && saver->state == SAVER_WRITING) {
        pthread_cond_wait(&saver->changed, &saver->mutex);
    }
    const bool ended = saver->state == SAVER_WRITTEN;
    if (ended) {
        *result = saver->result;
        saver->state = SAVER_IDLE;
        saver->busy = false;
        if (saver->tables != NULL) { tables_end_save(saver->tables, result->status == TN_OK); }
        saver->tables = NULL;
    }
    pthread_mutex_unlock(&saver->mutex);
    return ended;
}

bool saver_is_busy(const struct saver *saver)
{
    return saver->busy;
}
