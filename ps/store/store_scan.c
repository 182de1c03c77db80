#include "ps/store/store_scan.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "common/base/fault_signals.h"
#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/thread_team.h"
#include "common/faults/failpoint.h"
#include "ps/store/store_private.h"

/* PIECE: the most bytes of an item, which a chunk with its header does not exceed. */
enum { PIECE_BYTES = 1 << 20, BYTES_PER_THREAD = 8 << 20, ALIGNMENT = 4096 };
/* The items that may be in progress, so that a thread that the kernel has stopped does not stop the
 * others at once. */
enum { SLOTS = 8 };
enum { HEAD_BYTES = STORE_PAGE_HEADER_BYTES + DIGEST_BYTES };

static_assert(HEAD_BYTES + STORE_CHUNK_FLOATS * sizeof(float) <= PIECE_BYTES, "a chunk fits");

/* The next bytes of the file. */
struct item {
    uint64_t number, at;
    size_t bytes;
    const struct store_value *value; /* They begin with its header, or with it. NULL: with none. */
};

/* The chunks of an array that are wanted: [begin, end). */
struct wanted {
    uint64_t begin, end;
};

struct pass;

/* An item in progress. */
struct slot {
    struct pass *pass;
    struct item item;
    uint8_t *scratch; /* PIECE_BYTES */
    uint8_t head[HEAD_BYTES];
    struct iovec pieces[2]; /* The bytes of the item, in memory. */
    size_t piece_count;
    enum tn_status status;
    struct error error;
    bool ready; /* Under the mutex: it was read, with `status`. */
};

/* One pass over the file, or over its values. The threads share it. */
struct pass {
    const struct store_scan *scan;
    struct wanted wanted;
    bool whole;                  /* It reads all bytes, for the digest; otherwise only values. */
    size_t count;                /* Number of values. */
    struct digest_stream digest; /* Used by the thread that adds items. */
    struct slot slots[SLOTS];    /* Item `number` has slot `number % SLOTS`. */

    pthread_mutex_t mutex;
    pthread_cond_t changed; /* `turn`, `reading`, or `stopped`. */
    /* Under the mutex: */
    uint64_t at; /* The item to be taken next begins here. */
    size_t next; /* Its value, or that of a later item. */
    uint64_t taken, turn;
    bool reading; /* A thread reads the last item taken. */
    bool adding;  /* A thread adds items, from `turn`. */
    bool stopped; /* By the problem in `status`. */
    enum tn_status status;
    struct error error;
};

/* ---------------------------------------------------------------- the chunks */

static struct wanted wanted_of(const struct store_scan *scan)
{
    const struct store_header *header = scan->header;
    if (scan->values == NULL) { return (struct wanted){0, 0}; }
    const uint64_t end = header->first + header->count;
    struct variable_move part;
    uint64_t low = end, high = header->first;
    for (uint32_t i = 0; i < scan->moves.count; i++) {
        if (!variable_move_cut(&scan->moves.list[i], header->first, end, &part)) { continue; }
        low = u64_min(low, part.from);
        high = u64_max(high, part.from + part.count);
    }
    if (low >= high) { return (struct wanted){0, 0}; }
    return (struct wanted){(low - header->first) / header->chunk_floats,
                           store_chunks(high - header->first, header->chunk_floats)};
}

static uint32_t array_of(const struct store_value *value)
{
    return (uint32_t)(value->key >> 32) - 1;
}

static uint64_t chunk_of(const struct store_value *value)
{
    return value->key & UINT32_MAX;
}

static bool is_wanted(const struct pass *pass, const struct store_value *value)
{
    return value != NULL && value->key >> 32 >= 1 &&
           value->key >> 32 <= pass->scan->header->state_arrays &&
           chunk_of(value) >= pass->wanted.begin && chunk_of(value) < pass->wanted.end;
}

static enum tn_status damaged_chunk(const struct store_scan *scan, uint32_t array, uint64_t chunk,
                                    const char *problem, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "%s: array %" PRIu32 ": chunk %" PRIu64 " is %s",
                     scan->path, array, chunk, problem);
}

static uint64_t floats_of(const struct store_scan *scan, uint64_t chunk)
{
    return store_chunk_length(scan->header->count, scan->header->chunk_floats, chunk);
}

/* The chunks that are wanted have values of their sizes, so that an item has room for each. */
static enum tn_status check_sizes(const struct pass *pass, struct error *error)
{
    const struct store_scan *scan = pass->scan;
    const struct wanted *wanted = &pass->wanted;
    if (wanted->begin == wanted->end) { return TN_OK; }
    for (uint32_t array = 0; array < scan->header->state_arrays; array++) {
        for (uint64_t chunk = wanted->begin; chunk < wanted->end; chunk++) {
            const struct store_value *value =
                store_values_find(scan->values, store_key_of_chunk(array, chunk));
            if (value == NULL) { return damaged_chunk(scan, array, chunk, "missing", error); }
            if (value->bytes != DIGEST_BYTES + floats_of(scan, chunk) * sizeof(float)) {
                return damaged_chunk(scan, array, chunk, "damaged", error);
            }
        }
    }
    return TN_OK;
}

/* ------------------------------------------------------------------- reading */

static uint64_t begin_of(const struct store_value *value)
{
    return value->large ? value->at - STORE_PAGE_HEADER_BYTES : value->at;
}

/* The floats of a chunk, as places in the flat vector. */
struct floats {
    uint64_t from, to;
};

static struct floats floats_of_chunk(const struct store_scan *scan, uint64_t chunk)
{
    struct floats floats;
    floats.from = scan->header->first + chunk * scan->header->chunk_floats;
    floats.to = floats.from + floats_of(scan, chunk);
    return floats;
}

/* NULL: the array is not wanted. */
static uint8_t *array_bytes(const struct store_scan *scan, uint32_t array)
{
    if (scan->arrays == NULL || scan->arrays[array].buffer == NULL) { return NULL; }
    return store_array_bytes(&scan->arrays[array]);
}

/* The place of a chunk that one move has as a whole; NULL: there is none. */
static uint8_t *place_of_whole(const struct store_scan *scan, uint8_t *array,
                               const struct floats *floats)
{
    struct variable_move part;
    const uint32_t at = variable_moves_find(&scan->moves, floats->from);
    if (array == NULL || at == scan->moves.count ||
        !variable_move_cut(&scan->moves.list[at], floats->from, floats->to, &part) ||
        part.count != floats->to - floats->from) {
        return NULL;
    }
    return array + part.to * sizeof(float);
}

static void copy_floats(const struct store_scan *scan, const uint8_t *data,
                        const struct floats *floats, uint8_t *array)
{
    struct variable_move part;
    const struct variable_moves *moves = &scan->moves;
    for (uint32_t i = variable_moves_find(moves, floats->from); i < moves->count; i++) {
        if (!variable_move_cut(&moves->list[i], floats->from, floats->to, &part)) { return; }
        memcpy(array + part.to * sizeof(float), data + (part.from - floats->from) * sizeof(float),
               (size_t)part.count * sizeof(float));
    }
}

/* Where the bytes of an item are read to: the floats of a whole chunk to their array at once. */
static void choose_pieces(struct slot *slot)
{
    const struct store_scan *scan = slot->pass->scan;
    const struct item *item = &slot->item;
    slot->piece_count = 1;
    slot->pieces[0] = (struct iovec){slot->scratch, item->bytes};
    if (!is_wanted(slot->pass, item->value)) { return; }
    const struct floats floats = floats_of_chunk(scan, chunk_of(item->value));
    uint8_t *target = place_of_whole(scan, array_bytes(scan, array_of(item->value)), &floats);
    if (target == NULL) { return; }
    const size_t bytes = (size_t)(floats.to - floats.from) * sizeof(float);
    slot->piece_count = 2;
    slot->pieces[0] = (struct iovec){slot->head, item->bytes - bytes};
    slot->pieces[1] = (struct iovec){target, bytes};
    assert(item->bytes - bytes <= HEAD_BYTES);
}

static enum tn_status read_pieces(struct slot *slot)
{
    const struct store_scan *scan = slot->pass->scan;
    const struct item *item = &slot->item;
    struct iovec left[2];
    memcpy(left, slot->pieces, sizeof left);
    for (size_t done = 0; done < item->bytes;) {
        const ssize_t got =
            preadv(scan->fd, left, (int)slot->piece_count, (off_t)(item->at + done));
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { return files_error(&slot->error, errno, "read", scan->path); }
        if (got == 0) {
            return error_set(&slot->error, TN_ECORRUPT, "%s is truncated at byte %" PRIu64,
                             scan->path, item->at + done);
        }
        done += (size_t)got;
        store_drop_front(left, slot->piece_count, (size_t)got);
    }
    return TN_OK;
}

/* A wanted chunk was read: check its digest, and copy its floats if they are not in place. */
static enum tn_status check_chunk(struct slot *slot, const struct store_value *value)
{
    const struct store_scan *scan = slot->pass->scan;
    const struct floats floats = floats_of_chunk(scan, chunk_of(value));
    const size_t bytes = (size_t)(floats.to - floats.from) * sizeof(float);
    const uint8_t *digest =
        (const uint8_t *)slot->pieces[0].iov_base + (value->large ? STORE_PAGE_HEADER_BYTES : 0);
    const uint8_t *data = slot->piece_count == 2 ? slot->pieces[1].iov_base : digest + DIGEST_BYTES;
    if (!digest_equal(digest_decode(digest), digest_of(data, bytes))) {
        return damaged_chunk(scan, array_of(value), chunk_of(value), "damaged", &slot->error);
    }
    uint8_t *array = array_bytes(scan, array_of(value));
    if (slot->piece_count == 1 && array != NULL) { copy_floats(scan, data, &floats, array); }
    return TN_OK;
}

static enum tn_status read_item(struct slot *slot)
{
    if (store_is_cancelled(slot->pass->scan->cancelled)) {
        return store_cancelled_error(&slot->error);
    }
    choose_pieces(slot);
    return read_pieces(slot);
}

/* The part of the work that all threads do at the same time. */
static enum tn_status check_item(struct slot *slot)
{
    const struct store_scan *scan = slot->pass->scan;
    const struct item *item = &slot->item;
    enum tn_status status = TN_OK;
    if (item->value != NULL && item->value->large) {
        status = store_check_value(scan->values, item->value, slot->pieces[0].iov_base, scan->path,
                                   &slot->error);
    }
    if (status == TN_OK && is_wanted(slot->pass, item->value)) {
        status = check_chunk(slot, item->value);
    }
    return status;
}

/* The part that they do in turn, in the order of the items. */
static enum tn_status add_item(struct slot *slot)
{
    const struct item *item = &slot->item;
    struct pass *pass = slot->pass;
    const struct store_scan *scan = pass->scan;
    for (size_t i = 0; i < slot->piece_count && pass->whole; i++) {
        digest_add(&pass->digest, slot->pieces[i].iov_base, slot->pieces[i].iov_len);
    }
    if (!is_wanted(pass, item->value)) { return TN_OK; }
    if (scan->parameters != NULL && array_of(item->value) == 0) {
        const struct iovec *last = &slot->pieces[slot->piece_count - 1];
        const size_t bytes = floats_of(scan, chunk_of(item->value)) * sizeof(float);
        digest_add(scan->parameters, (uint8_t *)last->iov_base + last->iov_len - bytes, bytes);
    }
    return scan->arrays == NULL ? TN_OK : FAILPOINT_STATUS("load.mid_read", &slot->error);
}

/* ------------------------------------------------------------------- threads */

/* The next item. False: there is none. */
static bool next_item(struct pass *pass, struct item *item)
{
    const bool more = pass->next < pass->count;
    const struct store_value *value = more ? &pass->scan->values->list[pass->next] : NULL;
    const uint64_t begin = value != NULL ? begin_of(value) : pass->scan->bytes;
    const bool gap = pass->whole && pass->at < begin;
    if (!gap && value == NULL) { return false; }
    *item = (struct item){.number = pass->taken++, .value = gap ? NULL : value};
    item->at = gap ? pass->at : begin;
    item->bytes =
        (size_t)u64_min(gap ? begin - pass->at : value->at + value->bytes - begin, PIECE_BYTES);
    pass->at = item->at + item->bytes;
    pass->next += gap ? 0 : 1;
    return true;
}

/* Whether the next item cannot be taken yet. Under the mutex. */
static bool must_wait(const struct pass *pass)
{
    const bool is_free =
        pass->taken - pass->turn < SLOTS && !(pass->scan->in_turn && pass->reading);
    return !is_free && !pass->stopped;
}

/* Take the next item when its slot is free. NULL: there is none, or the pass has stopped. Under the
 * mutex. */
static struct slot *take_item(struct pass *pass)
{
    struct item item;
    while (must_wait(pass)) { pthread_cond_wait(&pass->changed, &pass->mutex); }
    if (pass->stopped || !next_item(pass, &item)) { return NULL; }
    struct slot *slot = &pass->slots[item.number % SLOTS];
    slot->item = item;
    slot->ready = false;
    pass->reading = true;
    return slot;
}

/* The thread adds all items that are ready, in their order, unless another one does. Under the
 * mutex, which is released meanwhile. */
static void add_ready(struct pass *pass)
{
    if (pass->adding) { return; }
    pass->adding = true;
    while (!pass->stopped && pass->turn < pass->taken && pass->slots[pass->turn % SLOTS].ready) {
        struct slot *slot = &pass->slots[pass->turn % SLOTS];
        assert(slot->item.number == pass->turn);
        pthread_mutex_unlock(&pass->mutex);
        if (slot->status == TN_OK) { slot->status = add_item(slot); }
        pthread_mutex_lock(&pass->mutex);
        pass->turn++;
        if (slot->status != TN_OK) {
            pass->stopped = true;
            pass->status = slot->status;
            pass->error = slot->error;
        }
        pthread_cond_broadcast(&pass->changed);
    }
    pass->adding = false;
}

/* The next item may be read, while this thread checks its own. */
static void end_reading(struct pass *pass)
{
    pthread_mutex_lock(&pass->mutex);
    pass->reading = false;
    pthread_cond_broadcast(&pass->changed);
    pthread_mutex_unlock(&pass->mutex);
}

static void *work(void *argument)
{
    struct pass *pass = argument;
    struct slot *slot;
    pthread_mutex_lock(&pass->mutex);
    while ((slot = take_item(pass)) != NULL) {
        pthread_mutex_unlock(&pass->mutex);
        slot->status = read_item(slot);
        if (pass->scan->in_turn) { end_reading(pass); }
        if (slot->status == TN_OK) { slot->status = check_item(slot); }
        pthread_mutex_lock(&pass->mutex);
        slot->ready = true;
        add_ready(pass);
    }
    pthread_mutex_unlock(&pass->mutex);
    return NULL;
}

/* Start up to `count` threads; a machine that refuses one has fewer. Signals are handled by the
 * threads that the process has anyway. */
static unsigned start_helpers(struct pass *pass, pthread_t *helpers, unsigned count)
{
    sigset_t before;
    unsigned started = 0;
    fault_signals_block_others(&before);
    while (started < count && pthread_create(&helpers[started], NULL, work, pass) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void run_threads(struct pass *pass, unsigned threads)
{
    pthread_t helpers[STORE_SCAN_THREADS_MAX];
    pthread_mutex_init(&pass->mutex, NULL);
    pthread_cond_init(&pass->changed, NULL);
    const unsigned count = start_helpers(pass, helpers, threads - 1);
    (void)work(pass);
    for (unsigned i = 0; i < count; i++) { pthread_join(helpers[i], NULL); }
    pthread_cond_destroy(&pass->changed);
    pthread_mutex_destroy(&pass->mutex);
}

/* Run the pass with one piece of memory, for all slots. */
static enum tn_status run_workers(struct pass *pass, unsigned threads, struct error *error)
{
    uint8_t *scratch = aligned_alloc(ALIGNMENT, (size_t)SLOTS * PIECE_BYTES);
    if (scratch == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory to read %s", pass->scan->path);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        pass->slots[i].pass = pass;
        pass->slots[i].scratch = scratch + i * PIECE_BYTES;
    }
    run_threads(pass, threads);
    free(scratch);
    if (pass->status != TN_OK && error != NULL) { *error = pass->error; }
    return pass->status;
}

/* -------------------------------------------------------------------- passes */

unsigned store_scan_threads(uint64_t bytes)
{
    const uint64_t most = u64_min(thread_team_processors(), STORE_SCAN_THREADS_MAX);
    return (unsigned)u64_max(1, u64_min(most, bytes / BYTES_PER_THREAD));
}

/* Whether the values lie in the file in the order of their keys, as the store writes them. LMDB,
 * which wrote the shards of Tanist 0.1, puts small ones in another order. */
static bool is_in_order(const struct store_values *values)
{
    uint64_t end = 0;
    for (size_t i = 0; i < values->count; i++) {
        const struct store_value *value = &values->list[i];
        if (begin_of(value) < end) { return false; }
        end = value->at + value->bytes;
    }
    return true;
}

static enum tn_status run_pass(const struct store_scan *scan, bool whole, bool with_values,
                               struct digest *digest, struct error *error)
{
    struct pass pass = {.scan = scan, .wanted = wanted_of(scan), .whole = whole};
    enum tn_status status = TN_OK;
    if (with_values) {
        pass.count = scan->values->count;
        status = check_sizes(&pass, error);
    }
    if (status != TN_OK) { return status; }
    digest_begin(&pass.digest);
    status = run_workers(&pass, scan->threads, error);
    if (whole) { *digest = digest_end(&pass.digest); }
    return status;
}

enum tn_status store_scan_run(const struct store_scan *scan, struct digest *digest,
                              struct error *error)
{
    assert(scan->fd >= 0);
    assert(scan->threads >= 1 && scan->threads <= STORE_SCAN_THREADS_MAX);
    assert(scan->values == NULL || scan->header->chunk_floats >= 1);
    if (scan->values == NULL) { return run_pass(scan, true, false, digest, error); }
    if (is_in_order(scan->values)) { return run_pass(scan, true, true, digest, error); }
    enum tn_status status = run_pass(scan, true, false, digest, error);
    return status == TN_OK ? run_pass(scan, false, true, digest, error) : status;
}
