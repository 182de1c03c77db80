#include "common/base/buffer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/minmax.h"

enum {
    CLASS_SMALLEST_BYTES = 4096,
    CLASS_COUNT = 17,              /* The largest is 1 MiB. */
    LIST_CHUNKS = CLASS_COUNT - 1, /* 1 MiB each: chunks of arrays. */
    LIST_LARGE = CLASS_COUNT,
    LIST_COUNT,
    PAGE_BYTES = 4096,
    HUGE_PAGE_BYTES = 2 << 20,
    LINE_BYTES = 64,
};

/* Linux 5.14 and 6.1; the headers of the C library may be older. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* A buffer with the fields that free it. */
struct owned_buffer {
    struct buffer buffer; /* First, so that both have the same address. */
    void *memory;         /* To be freed; NULL: it is a slot. */
    char *start;          /* The first page of a slot. */
    unsigned list;
    uint32_t slot;
    atomic_bool collapsed; /* A slot that has got what huge pages there are. */
};

/* Memory of others. */
struct wrapped_buffer {
    struct buffer buffer; /* Must be the first member. */
    void (*release)(void *ctx);
    void *ctx;
};

/* The buffers of a list that were free all the time during its last releases. */
struct idle_count {
    size_t free, least; /* Free now, and at least since the count began. */
    uint32_t releases;  /* Since then. */
};

struct buffer_pool {
    pthread_mutex_t mutex;
    /* Released buffers of each class, and larger ones of any size, newest first. */
    struct buffer *free[LIST_COUNT];
    struct idle_count idle; /* The list LIST_CHUNKS. */
    size_t bytes;           /* Capacity of all buffers, in use and free. */
    size_t limit_bytes;
    size_t in_use; /* Buffers with references. */
    bool has_slots;
    uint64_t held_back;          /* Bits of slots. */
    struct owned_buffer **slots; /* By their numbers. */
    uint32_t slot_count;
    unsigned color;
};

static struct owned_buffer *owned(struct buffer *buffer)
{
    return (struct owned_buffer *)(void *)buffer;
}

/* Class 0 is 4 KiB, 1 is 6 KiB, 2 is 8 KiB, 3 is 12 KiB and so on. */
static size_t class_bytes(unsigned size_class)
{
    assert(size_class < CLASS_COUNT);
    size_t power = (size_t)CLASS_SMALLEST_BYTES << (size_class / 2);
    return size_class % 2 == 0 ? power : power + power / 2;
}

static unsigned list_of(size_t size)
{
    unsigned list = 0;
    while (list < CLASS_COUNT && class_bytes(list) < size) { list++; }
    return list;
}

/* Large buffers have whole pages, but no more than they need: a process has few of them, and few
 * sizes of them. */
static size_t capacity_for(unsigned list, size_t size)
{
    if (list < CLASS_COUNT) { return class_bytes(list); }
    return (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

struct buffer_pool *buffer_pool_create(size_t limit_bytes)
{
    struct buffer_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) { return NULL; }
    pool->limit_bytes = limit_bytes;
    pthread_mutex_init(&pool->mutex, NULL);
    return pool;
}

size_t buffer_slot_bytes(size_t size)
{
    /* One page more for the color. */
    return capacity_for(LIST_LARGE, size) + PAGE_BYTES;
}

/* The data of buffer number `color` starts this far after a page boundary (cache coloring): arrays
 * that all start on a boundary compete for the same cache sets when a kernel walks several of them
 * in step. */
static size_t shift_of(unsigned color)
{
    return (size_t)(1 + color % (PAGE_BYTES / LINE_BYTES - 1)) * LINE_BYTES;
}

struct buffer_pool *buffer_pool_of_slots(void *memory, size_t size, uint32_t count)
{
    assert((uintptr_t)memory % PAGE_BYTES == 0);
    struct buffer_pool *pool = buffer_pool_create(0);
    if (pool == NULL) { return NULL; }
    pool->has_slots = true;
    pool->slots = calloc(count, sizeof *pool->slots);
    if (pool->slots == NULL && count > 0) {
        buffer_pool_destroy(pool);
        return NULL;
    }
    pool->slot_count = count;
    const size_t capacity = capacity_for(LIST_LARGE, size);
    for (uint32_t slot = count; slot-- > 0;) {
        struct owned_buffer *made = malloc(sizeof *made);
        if (made == NULL) {
            buffer_pool_destroy(pool);
            return NULL;
        }
        *made = (struct owned_buffer){.list = LIST_LARGE, .slot = slot};
        made->start = (char *)memory + slot * buffer_slot_bytes(size);
        made->buffer = (struct buffer){
            .data = made->start + shift_of(slot),
            .capacity = capacity,
            .pool = pool,
            .next_free = pool->free[LIST_LARGE],
        };
        pool->free[LIST_LARGE] = &made->buffer;
        pool->slots[slot] = made;
        pool->bytes += capacity;
    }
    return pool;
}

static void free_list(struct buffer *list)
{
    while (list != NULL) {
        struct buffer *next = list->next_free;
        if (owned(list)->list == LIST_CHUNKS) { /* free() may keep its pages. */
            (void)madvise(owned(list)->memory, list->capacity, MADV_DONTNEED);
        }
        free(owned(list)->memory);
        free(list);
        list = next;
    }
}

void buffer_pool_destroy(struct buffer_pool *pool)
{
    if (pool == NULL) { return; }
    assert(pool->in_use == 0);
    for (unsigned i = 0; i < LIST_COUNT; i++) { free_list(pool->free[i]); }
    pthread_mutex_destroy(&pool->mutex);
    free(pool->slots);
    free(pool);
}

static void note_taken(struct buffer_pool *pool, unsigned list)
{
    struct idle_count *idle = &pool->idle;
    if (list != LIST_CHUNKS) { return; }
    assert(idle->free > 0);
    idle->free--;
    idle->least = size_min(idle->least, idle->free);
}

/* After so many releases that each could have been in use twice, take the buffers out of the pool
 * that were free all the time: the oldest. Many may have been needed at once at the start. The
 * caller frees them without the lock. */
static struct buffer *note_released(struct buffer_pool *pool, unsigned list)
{
    enum { RELEASES_LEAST = 64 };
    struct idle_count *idle = &pool->idle;
    if (list != LIST_CHUNKS) { return NULL; }
    idle->free++;
    if (++idle->releases < RELEASES_LEAST + 2 * idle->free) { return NULL; }
    struct buffer **at = &pool->free[LIST_CHUNKS];
    for (size_t i = idle->least; i < idle->free; i++) { at = &(*at)->next_free; }
    struct buffer *taken = *at;
    *at = NULL;
    pool->bytes -= idle->least * class_bytes(LIST_CHUNKS);
    idle->free -= idle->least;
    *idle = (struct idle_count){.free = idle->free, .least = idle->free};
    return taken;
}

static bool over_limit(const struct buffer_pool *pool, size_t more)
{
    if (pool->has_slots) { return true; }
    if (pool->limit_bytes == 0) { return false; }
    return more > pool->limit_bytes || pool->bytes > pool->limit_bytes - more;
}

/* Take free buffers of any size out of the pool until `more` bytes fit. The caller frees them
 * without the lock. */
static struct buffer *evict_for(struct buffer_pool *pool, size_t more)
{
    struct buffer *evicted = NULL;
    for (unsigned i = 0; i < LIST_COUNT; i++) {
        while (pool->free[i] != NULL && over_limit(pool, more)) {
            struct buffer *buffer = pool->free[i];
            pool->free[i] = buffer->next_free;
            note_taken(pool, i);
            assert(pool->bytes >= buffer->capacity);
            pool->bytes -= buffer->capacity;
            buffer->next_free = evicted;
            evicted = buffer;
        }
    }
    return evicted;
}

/* The pages of a large buffer are allocated as they are first written, by the thread that writes;
 * those of a small one now. */
static struct buffer *make_buffer(struct buffer_pool *pool, unsigned list, size_t capacity,
                                  unsigned color)
{
    struct owned_buffer *made = malloc(sizeof *made);
    if (made == NULL) { return NULL; }
    size_t shift = shift_of(color);
    size_t pages = (capacity + shift + PAGE_BYTES - 1) / PAGE_BYTES;
    made->memory = aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES);
    if (made->memory == NULL) {
        free(made);
        return NULL;
    }
    if (list == LIST_LARGE) {
        /* A hint; without huge pages everything works, but more slowly. */
        (void)madvise(made->memory, capacity, MADV_HUGEPAGE);
    } else {
        memset(made->memory, 0, capacity + shift);
    }
    made->list = list;
    made->slot = BUFFER_NO_SLOT;
    made->buffer = (struct buffer){
        .data = (char *)made->memory + shift,
        .capacity = capacity,
        .pool = pool,
    };
    return &made->buffer;
}

static bool is_held_back(const struct buffer_pool *pool, const struct buffer *buffer)
{
    const uint32_t slot = ((const struct owned_buffer *)(const void *)buffer)->slot;
    return slot < 64 && (pool->held_back >> slot & 1) != 0;
}

void buffer_pool_hold_back(struct buffer_pool *pool, uint64_t slots)
{
    assert(pool->has_slots && pool->slot_count <= 64);
    pthread_mutex_lock(&pool->mutex);
    pool->held_back = slots;
    pthread_mutex_unlock(&pool->mutex);
}

/* Take a free buffer of this capacity out of the list. NULL: there is none. */
static struct buffer *take_free(struct buffer_pool *pool, unsigned number, size_t capacity)
{
    struct buffer **list = &pool->free[number];
    while (*list != NULL && ((*list)->capacity != capacity || is_held_back(pool, *list))) {
        list = &(*list)->next_free;
    }
    struct buffer *buffer = *list;
    if (buffer == NULL) { return NULL; }
    assert(buffer->references == 0);
    *list = buffer->next_free;
    return buffer;
}

/* A free buffer; or NULL, and `*reserved` is whether bytes for a new one are reserved. */
static struct buffer *take_or_reserve(struct buffer_pool *pool, unsigned list, size_t capacity,
                                      bool *reserved, unsigned *color, struct buffer **evicted)
{
    pthread_mutex_lock(&pool->mutex);
    struct buffer *buffer = take_free(pool, list, capacity);
    if (buffer != NULL) {
        note_taken(pool, list);
    } else {
        if (over_limit(pool, capacity) && !pool->has_slots) {
            *evicted = evict_for(pool, capacity);
        }
        *reserved = !over_limit(pool, capacity);
        if (*reserved) { pool->bytes += capacity; }
        *color = pool->color++;
    }
    if (buffer != NULL || *reserved) { pool->in_use++; }
    pthread_mutex_unlock(&pool->mutex);
    return buffer;
}

/* Give a slot huge pages before it is first used, unless `*stop` (NULL: never) becomes true; its
 * contents stay. Memory files get none on their own unless the administrator asks for it
 * (shmem_enabled), and an update that walks several arrays in step waits for translations of small
 * ones. A page that is in use is collapsed with those around it, which costs no copy as long as
 * these do not exist. A hint: where Linux is older or memory is short, small pages stay. */
static void collapse_slot(struct owned_buffer *slot, const atomic_bool *stop)
{
    if (atomic_load(&slot->collapsed)) { return; }
    const uintptr_t start = (uintptr_t)slot->start, mask = (uintptr_t)HUGE_PAGE_BYTES - 1,
                    end = (start + slot->buffer.capacity + PAGE_BYTES) & ~mask;
    for (uintptr_t at = (start + mask) & ~mask; at < end; at += HUGE_PAGE_BYTES) {
        char *page = slot->start + (at - start);
        if (stop != NULL && atomic_load(stop)) { return; }
        if (madvise(page, PAGE_BYTES, MADV_POPULATE_READ) != 0 ||
            madvise(page, HUGE_PAGE_BYTES, MADV_COLLAPSE) != 0) {
            break;
        }
    }
    atomic_store(&slot->collapsed, true);
}

void buffer_pool_prefault(struct buffer_pool *pool, uint32_t count, const atomic_bool *stop)
{
    assert(pool->has_slots && count <= pool->slot_count);
    for (uint32_t slot = count; slot-- > 0;) { collapse_slot(pool->slots[slot], stop); }
}

/* The data of a slot that nothing else uses begin at this line of its first page. */
static void place(struct buffer *slot, uint32_t line)
{
    struct owned_buffer *made = owned(slot);
    const bool any = line == BUFFER_ANY_LINE;
    assert(any || line < PAGE_BYTES / LINE_BYTES);
    slot->data = made->start + (any ? shift_of(made->slot) : (size_t)line * LINE_BYTES);
}

struct buffer *buffer_acquire(struct buffer_pool *pool, size_t size)
{
    return buffer_acquire_line(pool, size, BUFFER_ANY_LINE);
}

struct buffer *buffer_acquire_line(struct buffer_pool *pool, size_t size, uint32_t line)
{
    assert(pool != NULL);
    if (size > SIZE_MAX / 2) { return NULL; }
    const unsigned list = pool->has_slots ? LIST_LARGE : list_of(size);
    const size_t capacity = capacity_for(list, size);
    bool reserved = false;
    unsigned color = 0;
    struct buffer *evicted = NULL;
    struct buffer *buffer = take_or_reserve(pool, list, capacity, &reserved, &color, &evicted);
    free_list(evicted);
    if (reserved) {
        buffer = make_buffer(pool, list, capacity, color);
        if (buffer == NULL) {
            pthread_mutex_lock(&pool->mutex);
            pool->bytes -= capacity;
            pool->in_use--;
            pthread_mutex_unlock(&pool->mutex);
        }
    }
    if (buffer == NULL) { return NULL; }
    if (pool->has_slots) {
        collapse_slot(owned(buffer), NULL);
        place(buffer, line);
    }
    buffer->size = size;
    buffer->next_free = NULL;
    __atomic_store_n(&buffer->references, 1, __ATOMIC_RELAXED);
    return buffer;
}

struct buffer *buffer_acquire_slot(struct buffer_pool *pool, uint32_t slot, size_t size,
                                   uint32_t line)
{
    pthread_mutex_lock(&pool->mutex);
    struct buffer **at = &pool->free[LIST_LARGE];
    while (pool->has_slots && *at != NULL && owned(*at)->slot != slot) { at = &(*at)->next_free; }
    struct buffer *found = pool->has_slots ? *at : NULL;
    if (found != NULL) {
        *at = found->next_free;
        pool->in_use++;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (found == NULL) { return NULL; }
    assert(size <= found->capacity && found->references == 0);
    collapse_slot(owned(found), NULL);
    place(found, line);
    found->size = size;
    found->next_free = NULL;
    found->references = 1;
    return found;
}

uint32_t buffer_slot(const struct buffer_pool *pool, const struct buffer *buffer)
{
    if (buffer->pool != pool || !pool->has_slots) { return BUFFER_NO_SLOT; }
    return ((const struct owned_buffer *)(const void *)buffer)->slot;
}

struct buffer *buffer_part(struct buffer *whole, size_t offset, size_t size)
{
    assert(offset <= whole->size && size <= whole->size - offset);
    struct buffer *part = malloc(sizeof *part);
    if (part == NULL) { return NULL; }
    *part = (struct buffer){
        .data = (char *)whole->data + offset,
        .size = size,
        .capacity = size,
        .whole = buffer_retain(whole),
        .references = 1,
    };
    return part;
}

struct buffer *buffer_wrap(void *data, size_t size, void (*release)(void *ctx), void *ctx)
{
    assert(data != NULL && release != NULL);
    struct wrapped_buffer *wrapped = malloc(sizeof *wrapped);
    if (wrapped == NULL) { return NULL; }
    *wrapped = (struct wrapped_buffer){
        .buffer = {.data = data, .size = size, .capacity = size, .references = 1},
        .release = release,
        .ctx = ctx,
    };
    return &wrapped->buffer;
}

struct buffer *buffer_retain(struct buffer *buffer)
{
    uint32_t before = __atomic_fetch_add(&buffer->references, 1, __ATOMIC_RELAXED);
    assert(before > 0);
    return buffer;
}

bool buffer_is_exclusive(const struct buffer *buffer)
{
    assert(buffer->whole == NULL);
    /* All reads of earlier holders happen before the writes of the caller. */
    return __atomic_load_n(&buffer->references, __ATOMIC_ACQUIRE) == 1;
}

bool buffer_is_spare(const struct buffer *buffer)
{
    const struct buffer_pool *pool = buffer->pool; /* NULL: a part, or wrapped memory. */
    return pool != NULL && !pool->has_slots && buffer_is_exclusive(buffer);
}

void buffer_release(struct buffer *buffer)
{
    if (buffer == NULL) { return; }
    /* Acquire and release order: all reads and writes of earlier holders happen before the next
     * owner writes. */
    uint32_t before = __atomic_fetch_sub(&buffer->references, 1, __ATOMIC_ACQ_REL);
    assert(before > 0);
    if (before > 1) { return; }
    if (buffer->whole != NULL) {
        buffer_release(buffer->whole);
        free(buffer);
        return;
    }
    assert(buffer->size <= buffer->capacity);
    struct buffer_pool *pool = buffer->pool;
    if (pool == NULL) {
        const struct wrapped_buffer *wrapped = (const struct wrapped_buffer *)(void *)buffer;
        wrapped->release(wrapped->ctx);
        free(buffer);
        return;
    }
    const unsigned list = owned(buffer)->list;
    pthread_mutex_lock(&pool->mutex);
    buffer->next_free = pool->free[list];
    pool->free[list] = buffer;
    assert(pool->in_use > 0);
    pool->in_use--;
    struct buffer *idle = note_released(pool, list);
    pthread_mutex_unlock(&pool->mutex);
    free_list(idle);
}

size_t buffer_pool_bytes(const struct buffer_pool *pool)
{
    /* Locking does not change what the caller sees. */
    pthread_mutex_t *mutex = (pthread_mutex_t *)&pool->mutex;
    pthread_mutex_lock(mutex);
    size_t bytes = pool->bytes;
    pthread_mutex_unlock(mutex);
    return bytes;
}
