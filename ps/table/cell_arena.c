#include "ps/table/cell_arena.h"

#include <assert.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20 };

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; the headers of the C library may be older. */
#endif

/* The set of a block whose owner is about to be stored. */
#define CLAIMED UINT64_MAX

struct cell_block {
    _Atomic uint64_t set; /* 0: it is free. */
    uint32_t table, number;
};

static size_t directory_bytes(struct cell_arena_size size)
{
    const size_t bytes = size.blocks * sizeof(struct cell_block);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

size_t cell_arena_bytes(struct cell_arena_size size)
{
    return size.blocks * size.block_bytes + directory_bytes(size);
}

void cell_arena_open(struct cell_arena *arena, void *memory, struct cell_arena_size size)
{
    static_assert(sizeof(struct cell_block) == 16, "no padding");
    assert(size.blocks > 0 && size.block_bytes > 0);
    uint8_t *directory = (uint8_t *)memory + size.blocks * size.block_bytes;
    *arena = (struct cell_arena){
        .directory = (struct cell_block *)(void *)directory,
        .blocks = memory,
        .size = size,
    };
}

void cell_arena_close(struct cell_arena *arena)
{
    arena->closed = true;
}

static uint8_t *block_at(const struct cell_arena *arena, uint32_t i)
{
    assert(i < arena->size.blocks);
    return arena->blocks + i * arena->size.block_bytes;
}

static void make_free(struct cell_arena *arena, uint32_t i)
{
    /* Memory without a file keeps its pages. */
    (void)madvise(block_at(arena, i), arena->size.block_bytes, MADV_REMOVE);
    atomic_store_explicit(&arena->directory[i].set, 0, memory_order_release);
}

void cell_arena_keep(struct cell_arena *arena, uint64_t set)
{
    assert(!arena->closed);
    for (uint32_t i = 0; i < arena->size.blocks; i++) {
        const uint64_t owner = atomic_load(&arena->directory[i].set);
        if (owner != 0 && (owner != set || owner == CLAIMED)) { make_free(arena, i); }
    }
    arena->last_set = set;
}

struct cell_owner cell_arena_new_set(struct cell_arena *arena)
{
    if (arena == NULL) { return (struct cell_owner){.arena = NULL}; }
    do {
        arena->last_set++;
    } while (arena->last_set == 0 || arena->last_set == CLAIMED);
    return (struct cell_owner){.arena = arena, .set = arena->last_set};
}

void *cell_arena_take(struct cell_owner owner, uint32_t table, uint32_t number)
{
    assert(owner.set != 0 && owner.set != CLAIMED);
    for (uint32_t i = 0; i < owner.arena->size.blocks; i++) {
        struct cell_block *block = &owner.arena->directory[i];
        uint64_t unowned = 0;
        if (atomic_load_explicit(&block->set, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong(&block->set, &unowned, CLAIMED)) {
            continue;
        }
        block->table = table;
        block->number = number;
        atomic_store_explicit(&block->set, owner.set, memory_order_release);
        return block_at(owner.arena, i);
    }
    return NULL;
}

bool cell_arena_has(const struct cell_arena *arena, const void *block)
{
    const uintptr_t at = (uintptr_t)block, first = (uintptr_t)arena->blocks;
    return at >= first && at - first < arena->size.blocks * arena->size.block_bytes;
}

void cell_arena_give(struct cell_arena *arena, void *block)
{
    assert(cell_arena_has(arena, block));
    const uint64_t offset = (uint64_t)((uint8_t *)block - arena->blocks);
    if (!arena->closed) { make_free(arena, (uint32_t)(offset / arena->size.block_bytes)); }
}

void *cell_arena_block(struct cell_owner owner, uint32_t table, uint32_t i, uint32_t *number)
{
    const struct cell_block *block = &owner.arena->directory[i];
    if (atomic_load(&block->set) != owner.set || block->table != table) { return NULL; }
    *number = block->number;
    return block_at(owner.arena, i);
}

void cell_arena_first_use(const struct cell_arena *arena, void *bytes, size_t size)
{
    const uintptr_t at = (uintptr_t)bytes, mask = HUGE_PAGE_BYTES - 1;
    const size_t before = ((at + mask) & ~mask) - at;
    if (before >= size || arena->size.block_bytes % HUGE_PAGE_BYTES != 0) { return; }
    char *page = (char *)bytes + before;
    /* Only a page that exists is collapsed. Without huge pages it is only slower. */
    (void)*(volatile const char *)page;
    (void)madvise(page, HUGE_PAGE_BYTES, MADV_COLLAPSE);
}
