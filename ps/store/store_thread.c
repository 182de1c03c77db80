#include "ps/store/store_thread.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault_signals.h"
#include "common/base/files.h"
#include "common/faults/failpoint.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

/* A copy of one request. */
struct job {
    uint64_t op;
    enum store_request request;
    struct store_write_request write;
    struct store_read_request read;
    struct manifest manifest; /* READ, VERIFY, PUT_MANIFEST. */
    char fallback_dir[PATH_MAX];
    uint8_t blob[STORE_BLOB_MAX];
    uint64_t keep[STORE_KEEP_MAX];
    size_t keep_count;
    uint64_t id; /* DISCARD: the checkpoint. COLLECT: `below_id`. */
    uint32_t shard;
    bool hurried; /* WRITE. */
};

struct store_thread {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    store_sink sink;
    void *sink_ctx;
    char dir[PATH_MAX];
    atomic_bool cancelled;

    /* Under the mutex: a ring. The job at `head` may be in progress. */
    bool stopping;
    bool writing; /* The job at `head` is a write in progress. */
    size_t head, count;
    struct job jobs[STORE_QUEUE_MAX];

    struct save_pace pace;

    /* Used by the thread only: results while they are delivered. */
    struct error error;
    struct store_metadata metadata;
    struct manifest listed[STORE_LIST_MAX];
    char warnings[STORE_TEXT_MAX];
};

/* -------------------------------------------------------------- the thread */

static uint32_t arrays_of(const struct job *job, const struct store_array **arrays)
{
    if (job->request == STORE_WRITE) {
        *arrays = job->write.arrays;
        return job->write.state_arrays;
    }
    *arrays = job->read.arrays;
    return job->request == STORE_READ ? job->manifest.state_arrays : 0;
}

static void retain_arrays(const struct job *job)
{
    const struct store_array *arrays;
    uint32_t count = arrays_of(job, &arrays);
    for (uint32_t i = 0; i < count; i++) { buffer_retain(arrays[i].buffer); }
}

static void release_arrays(const struct job *job)
{
    const struct store_array *arrays;
    uint32_t count = arrays_of(job, &arrays);
    for (uint32_t i = 0; i < count; i++) { buffer_release(arrays[i].buffer); }
}

static enum tn_status put_manifest(const char *dir, const struct job *job, struct error *error)
{
    enum tn_status status = FAILPOINT_STATUS("ckpt.before_copy", error);
    return status == TN_OK ? store_put_manifest(dir, &job->manifest, error) : status;
}

static enum tn_status collect(const char *dir, const struct job *job, struct store_event *event,
                              struct error *error)
{
    enum tn_status status = FAILPOINT_STATUS("ckpt.before_collect", error);
    if (status != TN_OK) { return status; }
    return store_collect(dir, job->keep, job->keep_count, job->id, &event->count, error);
}

/* Carry out `job` and fill the event. */
static enum tn_status carry_out(struct store_thread *thread, const struct job *job,
                                struct store_event *event)
{
    struct error *error = &thread->error;
    const char *dir = thread->dir;
    enum tn_status status;
    switch (job->request) {
    case STORE_WRITE:
        status = store_write(dir, &job->write, &thread->cancelled, &thread->pace, &event->digest,
                             &event->bytes, error);
        event->waited_ms = save_pace_end(&thread->pace);
        return status;
    case STORE_READ:
        event->metadata = &thread->metadata;
        return store_read_range(dir, &job->read, &thread->cancelled, &thread->metadata, error);
    case STORE_VERIFY:
        return store_verify(dir, &job->manifest, job->shard, &thread->cancelled, error);
    case STORE_LIST:
        event->manifests = thread->listed;
        status = store_highest_id(dir, &event->highest_id, error);
        if (status != TN_OK) { return status; }
        return store_list(dir, thread->listed, STORE_LIST_MAX, &event->count, thread->warnings,
                          sizeof thread->warnings, error);
    case STORE_PUT_MANIFEST: return put_manifest(dir, job, error);
    case STORE_COLLECT: return collect(dir, job, event, error);
    case STORE_DISCARD: return store_discard(dir, job->id, error);
    }
    return error_set(error, TN_EINTERNAL, "unknown request %d", (int)job->request);
}

static void answer(struct store_thread *thread, const struct job *job, struct store_event *event)
{
    thread->error.text[0] = '\0';
    thread->warnings[0] = '\0';
    if (atomic_load(&thread->cancelled)) {
        event->status = error_set(&thread->error, TN_ECLOSED, "the store is stopping");
    } else {
        event->status = carry_out(thread, job, event);
    }
    event->text = event->status == TN_OK ? thread->warnings : thread->error.text;
    if (event->status != TN_OK) {
        event->metadata = NULL;
        event->manifests = NULL;
        event->count = 0;
    }
}

/* Under the mutex. */
static void begin_write(struct store_thread *thread, const struct job *job)
{
    const bool hurried = job->hurried || thread->count > 1 || thread->stopping;
    if (job->request != STORE_WRITE) { return; }
    save_pace_begin(&thread->pace, store_write_bytes(&job->write), job->write.spread_ms, hurried);
    thread->writing = true;
}

/* The job leaves the queue before its answer is delivered, so that the receiver of the answer can
 * submit the next request at once. */
static void *serve(void *argument)
{
    struct store_thread *thread = argument;
    pthread_mutex_lock(&thread->mutex);
    for (;;) {
        while (thread->count == 0 && !thread->stopping) {
            pthread_cond_wait(&thread->wake, &thread->mutex);
        }
        if (thread->count == 0) { break; }
        assert(thread->head < STORE_QUEUE_MAX && thread->count <= STORE_QUEUE_MAX);
        struct job *job = &thread->jobs[thread->head];
        begin_write(thread, job);
        pthread_mutex_unlock(&thread->mutex);

        struct store_event event = {.op = job->op, .request = job->request};
        answer(thread, job, &event);
        release_arrays(job);

        pthread_mutex_lock(&thread->mutex);
        thread->writing = false;
        thread->head = (thread->head + 1) % STORE_QUEUE_MAX;
        thread->count--;
        pthread_mutex_unlock(&thread->mutex);

        thread->sink(thread->sink_ctx, &event);
        pthread_mutex_lock(&thread->mutex);
    }
    pthread_mutex_unlock(&thread->mutex);
    return NULL;
}

/* -------------------------------------------------------------- the port */

/* A free job, and the mutex is held; or NULL, and it is not. */
static struct job *reserve(struct store_thread *thread, uint64_t op, enum store_request request)
{
    pthread_mutex_lock(&thread->mutex);
    if (thread->stopping || thread->count == STORE_QUEUE_MAX) {
        pthread_mutex_unlock(&thread->mutex);
        return NULL;
    }
    struct job *job = &thread->jobs[(thread->head + thread->count) % STORE_QUEUE_MAX];
    job->op = op;
    job->request = request;
    job->hurried = false;
    return job;
}

static enum tn_status submit(struct store_thread *thread, const struct job *job)
{
    assert(thread->count < STORE_QUEUE_MAX);
    retain_arrays(job);
    thread->count++;
    if (thread->writing) { save_pace_hurry(&thread->pace); }
    pthread_cond_signal(&thread->wake);
    pthread_mutex_unlock(&thread->mutex);
    return TN_OK;
}

static enum tn_status port_write(void *ctx, uint64_t op, const struct store_write_request *request)
{
    assert(request->blob_bytes <= STORE_BLOB_MAX);
    assert(request->state_arrays <= STORE_ARRAYS_MAX);
    struct job *job = reserve(ctx, op, STORE_WRITE);
    if (job == NULL) { return TN_EREFUSED; }
    job->write = *request;
    if (request->blob_bytes > 0) { memcpy(job->blob, request->blob, request->blob_bytes); }
    job->write.blob = job->blob;
    return submit(ctx, job);
}

static enum tn_status port_read(void *ctx, uint64_t op, const struct store_read_request *request)
{
    assert(request->manifest->state_arrays <= STORE_ARRAYS_MAX);
    struct job *job = reserve(ctx, op, STORE_READ);
    if (job == NULL) { return TN_EREFUSED; }
    job->read = *request;
    job->manifest = *request->manifest;
    job->read.manifest = &job->manifest;
    const char *fallback = request->fallback_dir != NULL ? request->fallback_dir : "";
    snprintf(job->fallback_dir, sizeof job->fallback_dir, "%s", fallback);
    job->read.fallback_dir = job->fallback_dir;
    return submit(ctx, job);
}

static enum tn_status port_verify(void *ctx, uint64_t op, const struct manifest *manifest,
                                  uint32_t shard)
{
    assert(shard == STORE_ALL_SHARDS || shard < manifest->shard_count);
    struct job *job = reserve(ctx, op, STORE_VERIFY);
    if (job == NULL) { return TN_EREFUSED; }
    job->manifest = *manifest;
    job->shard = shard;
    return submit(ctx, job);
}

static enum tn_status port_list(void *ctx, uint64_t op)
{
    struct job *job = reserve(ctx, op, STORE_LIST);
    return job == NULL ? TN_EREFUSED : submit(ctx, job);
}

static enum tn_status port_put_manifest(void *ctx, uint64_t op, const struct manifest *manifest)
{
    assert(manifest->id != 0);
    struct job *job = reserve(ctx, op, STORE_PUT_MANIFEST);
    if (job == NULL) { return TN_EREFUSED; }
    job->manifest = *manifest;
    return submit(ctx, job);
}

static enum tn_status port_collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                                   uint64_t below_id)
{
    assert(count <= STORE_KEEP_MAX);
    assert(keep != NULL || count == 0);
    struct job *job = reserve(ctx, op, STORE_COLLECT);
    if (job == NULL) { return TN_EREFUSED; }
    if (count > 0) { memcpy(job->keep, keep, count * sizeof *keep); }
    job->keep_count = count;
    job->id = below_id;
    return submit(ctx, job);
}

static enum tn_status port_discard(void *ctx, uint64_t op, uint64_t id)
{
    assert(id != 0);
    struct job *job = reserve(ctx, op, STORE_DISCARD);
    if (job == NULL) { return TN_EREFUSED; }
    job->id = id;
    return submit(ctx, job);
}

static void port_hurry(void *ctx)
{
    struct store_thread *thread = ctx;
    pthread_mutex_lock(&thread->mutex);
    for (size_t i = 0; i < thread->count; i++) {
        thread->jobs[(thread->head + i) % STORE_QUEUE_MAX].hurried = true;
    }
    if (thread->writing) { save_pace_hurry(&thread->pace); }
    pthread_mutex_unlock(&thread->mutex);
}

struct store_port store_thread_port(struct store_thread *thread)
{
    return (struct store_port){
        .ctx = thread,
        .write = port_write,
        .read = port_read,
        .verify = port_verify,
        .list = port_list,
        .put_manifest = port_put_manifest,
        .collect = port_collect,
        .discard = port_discard,
        .hurry = port_hurry,
    };
}

/* --------------------------------------------------------- start and stop */

/* Signals are handled by the node's main thread. */
static int create_without_signals(struct store_thread *thread)
{
    sigset_t before;
    fault_signals_block_others(&before);
    int failed = pthread_create(&thread->thread, NULL, serve, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void free_thread(struct store_thread *thread)
{
    save_pace_close(&thread->pace);
    pthread_cond_destroy(&thread->wake);
    pthread_mutex_destroy(&thread->mutex);
    free(thread);
}

enum tn_status store_thread_start(const char *dir, store_sink sink, void *sink_ctx,
                                  struct store_thread **out, struct error *error)
{
    assert(sink != NULL);
    *out = NULL;
    size_t length = strlen(dir);
    if (length == 0 || length >= PATH_MAX) {
        return error_set(error, TN_EINVAL,
                         "the path of the checkpoint folder has %zu bytes, expected 1 to %d",
                         length, PATH_MAX - 1);
    }
    struct store_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the checkpoint store");
    }
    memcpy(thread->dir, dir, length + 1);
    thread->sink = sink;
    thread->sink_ctx = sink_ctx;
    pthread_mutex_init(&thread->mutex, NULL);
    pthread_cond_init(&thread->wake, NULL);
    save_pace_open(&thread->pace);
    int failed = create_without_signals(thread);
    if (failed != 0) {
        free_thread(thread);
        return files_error(error, failed, "start a thread for", dir);
    }
    *out = thread;
    return TN_OK;
}

void store_thread_stop(struct store_thread *thread, bool finish)
{
    if (thread == NULL) { return; }
    pthread_mutex_lock(&thread->mutex);
    assert(!thread->stopping);
    thread->stopping = true;
    if (!finish) { atomic_store(&thread->cancelled, true); }
    if (thread->writing) { save_pace_hurry(&thread->pace); }
    pthread_cond_signal(&thread->wake);
    pthread_mutex_unlock(&thread->mutex);
    pthread_join(thread->thread, NULL);
    free_thread(thread);
}
