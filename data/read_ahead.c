#include "data/read_ahead.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault_signals.h"
#include "common/cluster/slices.h"

enum entry_state { ENTRY_EMPTY, ENTRY_QUEUED, ENTRY_READING, ENTRY_DONE };

/* The examples of one slice at one step. */
struct entry {
    enum entry_state state;
    uint64_t step;
    enum tn_status status; /* Valid in ENTRY_DONE, as the error is. */
    struct error error;
    struct fields fields; /* Owned; as many as the slice's program reads. */
    uint64_t *indices;    /* [examples of the slice]; owned. */
};

struct read_ahead {
    struct read_ahead_config config;
    pthread_mutex_t mutex;
    pthread_cond_t queued, done;
    bool stopping;
    uint32_t thread_count;
    pthread_t *threads;
    struct entry entries[];
};

static uint32_t examples_of(const struct read_ahead *ahead, uint32_t slice)
{
    return slices_positions(ahead->config.slices, ahead->config.batch, slice).count;
}

static enum tn_status gather(const struct read_ahead *ahead, uint64_t step, uint32_t slice,
                             uint64_t *indices, const struct fields *fields, struct error *error)
{
    const struct read_ahead_config *config = &ahead->config;
    const struct slice_range range = slices_positions(config->slices, config->batch, slice);
    shuffle_batch(&config->order, config->batch, step, range.first, range.count, indices);
    const struct dataset_pass pass = {config->order.seed, step * config->batch + range.first};
    return dataset_gather(config->dataset, indices, range.count, &pass, fields, error);
}

/* ------------------------------------------------------------------ threads */

/* The entry that is needed first; NULL: none is queued. */
static struct entry *next_entry(struct read_ahead *ahead)
{
    struct entry *found = NULL;
    for (uint32_t v = 0; v < ahead->config.slices; v++) {
        struct entry *entry = &ahead->entries[v];
        if (entry->state != ENTRY_QUEUED) { continue; }
        if (found == NULL || entry->step < found->step) { found = entry; }
    }
    return found;
}

static void *serve(void *context)
{
    struct read_ahead *ahead = context;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stopping) {
        struct entry *entry = next_entry(ahead);
        if (entry == NULL) {
            pthread_cond_wait(&ahead->queued, &ahead->mutex);
            continue;
        }
        entry->state = ENTRY_READING;
        pthread_mutex_unlock(&ahead->mutex);
        entry->status = gather(ahead, entry->step, (uint32_t)(entry - ahead->entries),
                               entry->indices, &entry->fields, &entry->error);
        pthread_mutex_lock(&ahead->mutex);
        entry->state = ENTRY_DONE;
        pthread_cond_broadcast(&ahead->done);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* ------------------------------------------------------------------ opening */

static enum tn_status start_threads(struct read_ahead *ahead, struct error *error)
{
    ahead->threads = calloc(ahead->config.threads + 1, sizeof *ahead->threads);
    if (ahead->threads == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    sigset_t before;
    fault_signals_block_others(&before);
    while (ahead->thread_count < ahead->config.threads &&
           pthread_create(&ahead->threads[ahead->thread_count], NULL, serve, ahead) == 0) {
        ahead->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ahead->thread_count == ahead->config.threads) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "a thread that reads data cannot be created");
}

static bool reserve_indices(struct read_ahead *ahead)
{
    for (uint32_t v = 0; v < ahead->config.slices; v++) {
        struct entry *entry = &ahead->entries[v];
        entry->indices = calloc((size_t)examples_of(ahead, v) + 1, sizeof *entry->indices);
        if (entry->indices == NULL) { return false; }
    }
    return true;
}

enum tn_status read_ahead_open(const struct read_ahead_config *config, struct read_ahead **out,
                               struct error *error)
{
    assert(config->slices >= 1 && config->batch >= 1);
    *out = NULL;
    struct read_ahead *ahead = calloc(1, sizeof *ahead + config->slices * sizeof *ahead->entries);
    if (ahead == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    ahead->config = *config;
    (void)pthread_mutex_init(&ahead->mutex, NULL);
    (void)pthread_cond_init(&ahead->queued, NULL);
    (void)pthread_cond_init(&ahead->done, NULL);
    enum tn_status status = reserve_indices(ahead) ? start_threads(ahead, error)
                                                   : error_set(error, TN_ENOMEM, "out of memory");
    if (status == TN_OK) {
        *out = ahead;
    } else {
        read_ahead_close(ahead);
    }
    return status;
}

static void free_entry(struct entry *entry)
{
    free(entry->fields.inputs);
    free(entry->fields.input_bytes);
    free(entry->fields.labels);
    free(entry->fields.wide_labels);
    free(entry->fields.targets);
    free(entry->fields.keys);
    free(entry->indices);
}

void read_ahead_close(struct read_ahead *ahead)
{
    if (ahead == NULL) { return; }
    pthread_mutex_lock(&ahead->mutex);
    ahead->stopping = true;
    pthread_cond_broadcast(&ahead->queued);
    pthread_mutex_unlock(&ahead->mutex);
    for (uint32_t t = 0; t < ahead->thread_count; t++) { pthread_join(ahead->threads[t], NULL); }
    for (uint32_t v = 0; v < ahead->config.slices; v++) { free_entry(&ahead->entries[v]); }
    (void)pthread_cond_destroy(&ahead->queued);
    (void)pthread_cond_destroy(&ahead->done);
    (void)pthread_mutex_destroy(&ahead->mutex);
    free(ahead->threads);
    free(ahead);
}

/* ------------------------------------------------------------------- taking */

/* The bytes of each field of `count` examples. */
struct sizes {
    size_t inputs, input_bytes, labels, wide_labels, targets, keys;
};

static struct sizes sizes_of(const struct dataset *dataset, size_t count)
{
    return (struct sizes){
        .inputs = count * dataset->inputs * sizeof(float),
        .input_bytes = count * dataset->inputs,
        .labels = count * dataset->labels_each,
        .wide_labels = count * dataset->labels_each * sizeof(int32_t),
        .targets = count * dataset->outputs * sizeof(float),
        .keys = count * dataset->keys_each * sizeof(int64_t),
    };
}

/* Memory for a field that is read and has none yet. */
static bool reserve_field(const void *wanted, size_t size, void **field)
{
    if (wanted != NULL && *field == NULL) { *field = malloc(size); }
    return wanted == NULL || *field != NULL;
}

#define RESERVE(member) reserve_field(fields->member, sizes.member, (void **)&entry->fields.member)

static bool reserve(const struct read_ahead *ahead, uint32_t slice, const struct fields *fields,
                    struct entry *entry)
{
    const uint32_t count = examples_of(ahead, slice);
    const struct sizes sizes = sizes_of(ahead->config.dataset, count);
    return RESERVE(inputs) && RESERVE(input_bytes) && RESERVE(labels) && RESERVE(wide_labels) &&
           RESERVE(targets) && RESERVE(keys);
}

static void copy_field(void *to, const void *from, size_t size)
{
    if (to != NULL) { memcpy(to, from, size); }
}

static void copy_fields(const struct dataset *dataset, uint32_t count, const struct fields *from,
                        const struct fields *to)
{
    const struct sizes sizes = sizes_of(dataset, count);
    copy_field(to->inputs, from->inputs, sizes.inputs);
    copy_field(to->input_bytes, from->input_bytes, sizes.input_bytes);
    copy_field(to->labels, from->labels, sizes.labels);
    copy_field(to->wide_labels, from->wide_labels, sizes.wide_labels);
    copy_field(to->targets, from->targets, sizes.targets);
    copy_field(to->keys, from->keys, sizes.keys);
}

/* Whether the entry has the examples of `step`. It is empty from now on: no thread uses it. */
static bool claim(struct read_ahead *ahead, struct entry *entry, uint64_t step)
{
    pthread_mutex_lock(&ahead->mutex);
    while (entry->state == ENTRY_READING) { pthread_cond_wait(&ahead->done, &ahead->mutex); }
    const bool has = entry->state == ENTRY_DONE && entry->step == step;
    entry->state = ENTRY_EMPTY;
    pthread_mutex_unlock(&ahead->mutex);
    return has;
}

/* The entry is queued for the examples of `step`, or has them. */
static void put(struct read_ahead *ahead, struct entry *entry, enum entry_state state,
                uint64_t step)
{
    assert(state == ENTRY_QUEUED || state == ENTRY_DONE);
    pthread_mutex_lock(&ahead->mutex);
    assert(entry->state == ENTRY_EMPTY);
    entry->state = state;
    entry->step = step;
    if (state == ENTRY_QUEUED) { pthread_cond_signal(&ahead->queued); }
    pthread_mutex_unlock(&ahead->mutex);
}

/* The examples of an entry that has them. */
static enum tn_status copy_entry(const struct read_ahead *ahead, const struct entry *entry,
                                 const struct fields *fields, struct error *error)
{
    const uint32_t slice = (uint32_t)(entry - ahead->entries);
    if (entry->status != TN_OK) { return error_set(error, entry->status, "%s", entry->error.text); }
    copy_fields(ahead->config.dataset, examples_of(ahead, slice), &entry->fields, fields);
    return TN_OK;
}

enum tn_status read_ahead_take(struct read_ahead *ahead, uint64_t step, uint32_t slice,
                               const struct fields *fields, struct error *error)
{
    assert(slice < ahead->config.slices);
    struct entry *entry = &ahead->entries[slice];
    enum tn_status status = claim(ahead, entry, step)
                                ? copy_entry(ahead, entry, fields, error)
                                : gather(ahead, step, slice, entry->indices, fields, error);
    if (status != TN_OK || ahead->thread_count == 0) { return status; }
    /* Without memory for them, the next examples are gathered when they are taken. */
    if (reserve(ahead, slice, fields, entry)) { put(ahead, entry, ENTRY_QUEUED, step + 1); }
    return TN_OK;
}

enum tn_status read_ahead_keys(struct read_ahead *ahead, uint64_t step, uint32_t slice,
                               const struct fields *fields, struct error *error)
{
    const struct fields keys = {.keys = fields->keys, .keys_each = fields->keys_each};
    assert(slice < ahead->config.slices && fields->keys != NULL);
    struct entry *entry = &ahead->entries[slice];
    if (!claim(ahead, entry, step)) {
        if (!reserve(ahead, slice, fields, entry)) {
            return gather(ahead, step, slice, entry->indices, &keys, error);
        }
        entry->status = gather(ahead, step, slice, entry->indices, &entry->fields, &entry->error);
    }
    put(ahead, entry, ENTRY_DONE, step);
    return copy_entry(ahead, entry, &keys, error);
}
